//! OpenSLOB: the Oracle Database engine, for releases 11.2 to 23ai.
//!
//! Each schema of the method is an account of its own (`SLOB1`, `SLOB2`, ...) with the tables `CF1` and `CF2`, whose rows
//! have a block each (PCTFREE 99). A batch is one anonymous PL/SQL block: static SQL in a loop over bound arrays, so that an
//! operation costs the server no parsing and no network.
//!
//! Oracle's client library is loaded when a target is opened, not before. No Oracle server was at hand when this was
//! written: what was checked without one, and what not, is in `docs/engines.md`. So all that this engine does with a
//! server goes through one trait, `client::Client`, behind which tests put a script.
#![forbid(unsafe_code)]

mod access;
mod advice;
mod batch;
mod before_run;
mod catalog;
mod client;
mod connector;
mod counters;
mod database;
mod drivers;

mod engine;
mod error;
mod events;
mod figures;
mod finish;
mod init;
mod kit;
mod link;
mod load;
mod names;
mod native;
mod options;
mod passwords;
mod plans;
mod read_rows;
mod scope;
mod script;
#[cfg(test)]
mod scripted;
mod server_report;
mod session;
mod settings;
mod statement;
mod tables;
mod testimony;
#[cfg(feature = "thin")]
mod thin;
mod version;

pub use engine::KIND;
