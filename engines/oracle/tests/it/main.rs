//! The Oracle engine on real connections, and its statements read by the grammars of others.
#![allow(clippy::unwrap_used)]

mod contract;
#[cfg(feature = "thin")]
mod grammars;
#[cfg(feature = "thin")]
mod wire;
