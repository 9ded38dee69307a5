//! Hosts of the database: finding the server's processes, and sampling them and their devices.
//!
//! An [`Observer`] samples this host, or another one through ssh, where `slob observe` runs [`serve`]. Remote replies are
//! untrusted and checked. Only `--observe-copy` writes a file, which has no name.
#![forbid(unsafe_code)]

mod find;
mod local;
mod observer;
mod protocol;
mod remote;
mod sample;
mod server;
mod ssh;

pub use observer::{Observation, Observer, PendingSample};
pub use protocol::{Answer, Hello, PROTOCOL, Reply, serve};
pub use sample::{FoundServer, HostInterval, HostSample, ServerFigures, ServerSample};
pub use ssh::NEVER;
