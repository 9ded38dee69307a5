//! The MySQL engine on real servers.

mod contract;
mod encryption;
mod endpoints;
mod loaded;
mod mysql9;
mod running;
mod schemas;
mod stretches;
