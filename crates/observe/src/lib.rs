//! Hosts of the database, local or remote: finding the server's processes there, and sampling them and their devices.
//!
//! An [`Observer`] samples one host, either from this process or through ssh, where `slob observe` runs [`serve`]. Both run
//! the same code. Replies from a remote host are untrusted input, and are checked.
//!
//! Nothing here opens a port or changes anything on a host. Only `--observe-copy` writes a file, which has no name.
#![forbid(unsafe_code)]

mod find;
mod local;
mod observer;
mod protocol;
mod remote;
mod sample;
mod server;
mod ssh;

pub use observer::{NEVER, Observation, Observer, PendingSample};
pub use protocol::{Answer, Hello, PROTOCOL, Reply, serve};
pub use sample::{FoundServer, HostInterval, HostSample, ServerFigures, ServerSample};
