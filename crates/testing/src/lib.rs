//! What tests of several rooms share: real servers in temporary folders, and a small load with operations on it.
//!
//! A server is made in a folder of its own, reachable through a unix socket there and on loopback, ended and removed with the
//! value, and ended by the system if the test itself is killed. No part of this is in the program.
#![forbid(unsafe_code)]

mod account;
pub mod mariadb;
pub mod postgres;
mod process;
mod start;
pub mod tries;
pub mod work;
