//! The common part of tests: real servers in temporary folders, and a small load.
//!
//! A server listens on loopback and a unix socket, ends with the value, and ends if the test is killed.
#![forbid(unsafe_code)]

mod container;
pub mod damage;
pub mod evidence;
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
pub use process::{Served, as_nobody, available, children, is_full, openssl, send, skipped};
pub use sshd::Sshd;

/// `.ci/install-test-servers` puts servers there.
fn test_servers(name: &str) -> PathBuf {
    target_folder().join("test-servers").join(name)
}

fn target_folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_workspace = |folder: &&Path| folder.join("Cargo.lock").is_file();
    package.ancestors().find(is_workspace).unwrap_or(package).join("target")
}
