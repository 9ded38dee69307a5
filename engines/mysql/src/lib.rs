//! OpenSLOB: the MySQL and MariaDB engine, for MySQL 8.0 to 9 and MariaDB 10.6 or later with InnoDB.
//!
//! Each schema is a database (`slob1`, ...) with two tables. InnoDB orders a table by its primary key, the position; `custid` is
//! a unique index beside it, so a range of keys leads to as many pages, far apart.
//!
//! A batch is one CALL of a procedure, or statement by statement from the client. A role with all rights on its databases is
//! nearly enough.
#![forbid(unsafe_code)]

mod batch;
mod before_run;
mod board;
mod catalog;
mod connect;
mod counters;
mod databases;
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
