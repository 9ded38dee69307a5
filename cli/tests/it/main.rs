//! The program from outside. One binary is linked once, and its tests fill all CPUs; tests that need the machine alone are in
//! `alone`.
#![allow(clippy::unwrap_used)]

mod analyze;
mod architecture;
mod awr;
mod awr_page;
mod browser;
mod campaign;
mod captures;
#[path = "../common/mod.rs"]
mod common;
mod completing;
mod design;
mod doctor;
mod drills;
mod exports;
mod first_minute;
mod fuzz;
mod galera;
mod gates;
mod headrooms;
mod html_report;
mod index_page;
mod installing;
mod ledger;
mod live;
mod main_job;
mod marks;
mod neighbours;
mod next_steps;
mod observe;
mod plans;
mod postgres_load;
mod profiles;
mod recipes;
mod records;
mod refusals;
mod replays;
mod saturate;
mod sealed;
mod selftest;
mod server_jobs;
mod tls_together;
mod tracing;
mod trend;
mod without_library;
