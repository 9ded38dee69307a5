//! OpenSLOB: the MySQL and MariaDB engine, for MySQL 8.0 to 9 and MariaDB 10.6 or later with InnoDB.
//!
//! Each schema of the method is a database of its own (`slob1`, `slob2`, ...) with two tables. InnoDB keeps a table in
//! the order of its primary key, which is the position here; `custid` is a unique index beside it, so that a range of
//! keys leads to as many pages, far apart. A batch is one CALL of a procedure in that database, or statement by statement
//! from here.
//!
//! A role with all rights on its databases is nearly all it takes. What a role without more rights can't see or do
//! is absent, or said before a run.
#![forbid(unsafe_code)]

mod before_run;
mod capacity;
mod catalog;
mod clues;
mod connect;
mod connections;
mod counters;
mod data_reads;
mod databases;
mod engine;
mod error;
mod finish;
mod flush;
mod globals;
mod layout;
mod load;
mod names;
mod plans;
mod procedure;
mod product;
mod quiet;
mod read_rows;
mod rows;
mod sampler;
mod servers;
mod session;
mod settings;
mod statement;
mod stretch;
mod testimony;
mod waits;
mod workload;

pub use engine::KIND;
