//! The live display of runs and loads, and their live figures for Prometheus.

mod display;
mod frame;
mod metrics;
mod state;
mod under_way;

pub(crate) use display::{
    LoadDisplay, RunDisplay, RunTalk, restore as restore_terminal, second, takes_unicode,
};
pub(crate) use metrics::Figures;
pub(crate) use under_way::{end_watch, runs_under_way, watch};
