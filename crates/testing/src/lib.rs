//! Shared parts of tests: real servers in temporary folders, small loads with operations on them, and damaged schemas.
//!
//! A server is made in a folder of its own, reachable through a unix socket there and on loopback, ended and removed with the
//! value, and ended by the system if the test itself is killed. No part of this is in the program.
#![forbid(unsafe_code)]

mod account;
mod container;
pub mod damage;
pub mod mariadb;
pub mod postgres;
mod process;
mod sshd;
mod start;
pub mod tries;
pub mod work;

use std::path::{Path, PathBuf};

pub use account::as_nobody;
pub use container::Container;
pub use sshd::Sshd;

/// A folder of `target/test-servers`, where `.ci/install-test-servers` puts servers beside the machine's own.
fn test_servers(name: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_workspace = |folder: &&Path| folder.join("Cargo.lock").is_file();
    package.ancestors().find(is_workspace).unwrap_or(package).join("target/test-servers").join(name)
}
