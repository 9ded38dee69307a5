//! Whole runs on the null engine and on engines that fail.
#![allow(clippy::unwrap_used)]

mod auto_warm_up;
mod failing_sessions;
mod on_the_null_engine;
mod server_report;
mod support;
