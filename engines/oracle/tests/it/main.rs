//! The Oracle engine on real connections.

mod contract;
#[cfg(feature = "thin")]
mod wire;
