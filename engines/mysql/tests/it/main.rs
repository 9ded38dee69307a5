//! The MySQL engine on real servers.

mod contract;
mod encryption;
mod endpoints;
mod loaded;
mod running;
mod schemas;
