//! OpenSLOB: what a user sees while something works: lines and bars, the dashboard of a run or a load, figures for Prometheus,
//! runs under way, and the HTTP server that shows them.
#![forbid(unsafe_code)]

mod display;
mod exposition;
mod frame;
mod http;
mod metrics;
mod progress;
mod state;
mod talk;
mod under_way;

pub use display::{LoadDisplay, RunDisplay, RunTalk, restore as restore_terminal, second};
pub use http::{Asked, Pages, Reply, ServeError, Server};
pub use metrics::Figures;
pub use progress::{Progress, duration, line};
pub use talk::{is_interactive, say};
pub use under_way::{UnderWay, end_watch, runs_under_way, watch};
