//! What a run or a load shows while it goes on.
//!
//! A *state* gathers what the events tell. Everything shown is a function of it: the dashboard's frame, the metrics.
//! Which display there is, is decided once: the dashboard on a terminal, lines elsewhere.

mod dashboard;
mod frame;
mod hints;
mod lines;
mod load;
mod metrics;
mod paint;
mod screen;
mod second;
mod server;
mod state;
mod terminal;

pub(crate) use dashboard::{LoadDisplay, RunDisplay};
pub(crate) use lines::RunTalk;
pub(crate) use metrics::Figures;
pub(crate) use server::MetricsServer;
pub(crate) use terminal::{restore as restore_terminal, takes_unicode};
