//! OpenSLOB: the PostgreSQL engine, for versions 13 to 18.
//!
//! Each schema is a namespace (`slob1`, ...) with two tables, in whose blocks no second row fits. A batch is one CALL of a
//! procedure with static SQL, so an operation costs no parsing, planning or network.
//!
//! A plain role that may create schemas in its database is enough.
#![forbid(unsafe_code)]

mod array;
mod batch;
mod before_run;
mod board;
mod catalog;
mod connect;
mod counters;
mod database;
mod engine;
mod facts;
mod load;
mod procedure;
mod rows;
mod server;
mod session;
mod settings;
mod sql;
mod statement;

pub use engine::KIND;
