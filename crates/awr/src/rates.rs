//! The figures of a report that a run's own can be held against.

use crate::figure::Figure;
use crate::info;
use crate::report::{Report, WaitEvent};

/// Rates per second of the report's interval, and mean waits; `None` is what the report does not have, or prints too
/// coarsely to tell it from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Block visits in the buffer cache.
    pub logical_reads: Option<f64>,
    /// Blocks read by the application.
    pub physical_reads: Option<f64>,
    /// Requests for those blocks.
    pub physical_read_requests: Option<f64>,
    /// Bytes of those blocks.
    pub physical_read_bytes: Option<f64>,
    /// Blocks written by the application.
    pub physical_writes: Option<f64>,
    /// Bytes of redo.
    pub redo_bytes: Option<f64>,
    /// Commits of sessions.
    pub commits: Option<f64>,
    /// Seconds of DB time.
    pub db_time_s: Option<f64>,
    /// Waits of foreground sessions for one block.
    pub single_block_reads: Option<f64>,
    /// Mean wait of foreground sessions for one block, in microseconds.
    pub single_block_read_us: Option<f64>,
    /// Mean wait of foreground sessions for the log, in microseconds.
    pub log_file_sync_us: Option<f64>,
}

impl Rates {
    /// Those of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let known = |figure: Option<Figure>| figure.and_then(Figure::known);
        let mean = |event: Option<WaitEvent>| known(event.and_then(|event| event.mean_us()));
        let statistic = |name| known(report.statistic_per_s(name));
        Self {
            logical_reads: known(info::logical_reads_per_s(report)),
            physical_reads: known(info::physical_reads_per_s(report)),
            physical_read_requests: statistic("physical read IO requests"),
            physical_read_bytes: statistic("physical read bytes"),
            physical_writes: known(info::physical_writes_per_s(report)),
            redo_bytes: known(info::redo_per_s(report)),
            commits: statistic("user commits"),
            db_time_s: known(info::db_time_per_s(report)),
            single_block_reads: info::single_block_read(report)
                .and_then(|event| known(report.per_second(event.waits))),
            single_block_read_us: mean(info::single_block_read(report)),
            log_file_sync_us: mean(report.foreground("log file sync")),
        }
    }
}
