//! OpenSLOB: the PostgreSQL engine, for versions 13 to 18.
//!
//! Each schema of the method is a namespace of its own (`slob1`, `slob2`, ...) with two tables, whose rows are so large that
//! no second one fits beside them. A batch is one CALL of a procedure in that namespace: static SQL in a loop over arrays of
//! numbers, so that an operation costs the server no parsing, no planning and no network.
//!
//! A plain role that may create schemas in its database is enough. What a role without more rights can't see or do is
//! absent, or noted before a run.
#![forbid(unsafe_code)]

mod batch;
mod before_run;
mod catalog;
mod connect;
mod counters;
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
