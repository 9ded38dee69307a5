//! The PostgreSQL engine on real servers.

#[allow(dead_code, reason = "the engine uses the rest")]
#[path = "../../src/connect/mod.rs"]
mod connect;
mod connecting;
mod contract;
mod loaded;
mod loading;
mod running;
#[allow(dead_code, reason = "the engine uses the rest")]
#[path = "../../src/sql.rs"]
mod sql;
mod stretches;
