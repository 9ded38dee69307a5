//! The live display of runs and loads, and their live figures for Prometheus.

mod display;
mod frame;
mod metrics;
mod state;

pub(crate) use display::{
    LoadDisplay, RunDisplay, RunTalk, restore as restore_terminal, second, takes_unicode,
};
pub(crate) use metrics::{Figures, MetricsServer};
