//! OpenSLOB: the MySQL and MariaDB engine, for MySQL 8.0 to 9 and MariaDB 10.6 or later with InnoDB.
//!
//! Each schema of the method is a database of its own (`slob1`, `slob2`, ...) with two tables. InnoDB keeps a table in
//! the order of its primary key, which is the position here; `custid` is a unique index beside it, so that a range of
//! keys leads to as many pages, far apart. A batch is one CALL of a procedure in that database, or statement by statement
//! from the client.
//!
//! A role with all rights on its databases is nearly enough. What a role without more rights can't see or do is absent, or
//! noted before a run.
#![forbid(unsafe_code)]

mod batch;
mod before_run;
mod catalog;
mod connect;
mod counters;
mod engine;
mod facts;
mod globals;
mod load;
mod procedure;
mod rows;
mod server;
mod session;
mod settings;
mod sql;
mod statement;

pub use engine::KIND;
