//! The common part of tests of several rooms: real servers in temporary folders, and a small load with operations on it.
//!
//! A server is made in a folder of its own, reachable through a unix socket there and on loopback, ended and removed with the
//! value, and ended by the system if the test itself is killed. No part of this is in the program.
#![forbid(unsafe_code)]

mod container;
pub mod damage;
mod galera;
pub mod jobs;
pub mod mariadb;
pub mod oracle;
pub mod postgres;
mod process;
pub mod records;
mod sshd;
pub mod tries;
pub mod work;

use std::path::{Path, PathBuf};

pub use container::{Container, Network};
pub use process::{Served, as_nobody, available, children, send};
pub use sshd::Sshd;

/// A folder of `target/test-servers`, where `.ci/install-test-servers` puts servers beside the machine's own.
fn test_servers(name: &str) -> PathBuf {
    target_folder().join("test-servers").join(name)
}

/// The workspace's folder `target`.
fn target_folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_workspace = |folder: &&Path| folder.join("Cargo.lock").is_file();
    package.ancestors().find(is_workspace).unwrap_or(package).join("target")
}
