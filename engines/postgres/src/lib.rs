//! OpenSLOB: the PostgreSQL engine, for versions 13 to 18.
//!
//! Each schema of the method is a namespace of its own (`slob1`, `slob2`, ...) with two tables, whose rows are as large
//! as no second one fits beside them. A batch is one CALL of a procedure in that namespace: static SQL in a loop over
//! arrays of numbers, so that an operation costs the server no parsing, no planning and no network.
//!
//! A plain role that may create schemas in its database is all it takes. What a role without more rights can't see or
//! do is absent, or said before a run.
#![forbid(unsafe_code)]

mod before_run;
mod capacity;
mod catalog;
mod clues;
mod connect;
mod connections;
mod copy_rows;
mod counters;
mod database;
mod engine;
mod error;
mod finish;
mod load;
mod locks;
mod namespace;
mod options;
mod place;
mod plans;
mod procedure;
mod publisher;
mod read_rows;
mod sampler;
mod servers;
mod session;
mod settings;
mod statement;
mod testimony;
mod version;
mod workload;

pub use engine::KIND;
