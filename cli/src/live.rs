//! What a run or a load shows while it goes on.

mod display;
mod frame;
mod metrics;
mod state;

pub(crate) use display::{LoadDisplay, RunDisplay, RunTalk, restore as restore_terminal, takes_unicode};
pub(crate) use metrics::{Figures, MetricsServer};
