//! The row of `awr_info`, whoever gives it: a report, or what `awr_info` printed of one.

use std::collections::BTreeMap;

use super::{MIB, Named, Value};
use super::{db_cpu_per_s, db_time_per_s, executes_per_s, load, logical_reads_per_s, redo_per_s};
use super::{profile, single_block_read};
use crate::figure::Figure;
use crate::report::WaitEvent;

/// A column of `awr_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Head {
    /// What the row is of.
    File,
    /// Sessions of the test.
    Sessions,
    /// Between the snapshots, in seconds.
    Elapsed,
    /// CPUs that the database kept busy.
    DbCpu,
    /// Sessions in calls, on average.
    DbTime,
    /// Executions per second.
    Executes,
    /// Logical reads, in blocks per second.
    LogicalReads,
    /// Reads per second. AWR counts requests; what `slob info` prints of its own runs are blocks.
    Reads,
    /// MiB read per second, all I/O.
    ReadMib,
    /// Writes per second; counted as `Reads` are.
    Writes,
    /// MiB written per second, all I/O.
    WriteMib,
    /// MiB of redo per second.
    RedoMib,
    /// Mean read of one block, in microseconds.
    SingleBlockRead,
    /// Mean `direct path read`, in microseconds.
    DirectRead,
    /// Mean `db file parallel read`, in microseconds.
    ParallelRead,
    /// Mean `db file parallel write`, in microseconds.
    BlockWrite,
    /// Mean `log file parallel write`, in microseconds.
    LogWrite,
    /// The first of the top events.
    TopWait,
}

impl Head {
    /// All of them, in the order of `awr_info`.
    pub const ALL: [Self; 18] = [
        Self::File,
        Self::Sessions,
        Self::Elapsed,
        Self::DbCpu,
        Self::DbTime,
        Self::Executes,
        Self::LogicalReads,
        Self::Reads,
        Self::ReadMib,
        Self::Writes,
        Self::WriteMib,
        Self::RedoMib,
        Self::SingleBlockRead,
        Self::DirectRead,
        Self::ParallelRead,
        Self::BlockWrite,
        Self::LogWrite,
        Self::TopWait,
    ];

    /// As `awr_info` prints it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::File => "FILE",
            Self::Sessions => "SESSIONS",
            Self::Elapsed => "ELAPSED",
            Self::DbCpu => "DB CPU",
            Self::DbTime => "DB Tm",
            Self::Executes => "EXECUTES",
            Self::LogicalReads => "LIO",
            Self::Reads => "PREADS",
            Self::ReadMib => "READ_MBS",
            Self::Writes => "PWRITES",
            Self::WriteMib => "WRITE_MBS",
            Self::RedoMib => "REDO_MBS",
            Self::SingleBlockRead => "DFSR_LAT",
            Self::DirectRead => "DPR_LAT",
            Self::ParallelRead => "DFPR_LAT",
            Self::BlockWrite => "DFPW_LAT",
            Self::LogWrite => "LFPW_LAT",
            Self::TopWait => "TOP WAIT",
        }
    }

    /// Whether what stands below it is words.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::File | Self::TopWait)
    }
}

/// A row. What is not known is absent, never 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What it is of.
    pub file: String,
    /// How many sessions wrote, and how many read: the older form of `awr_info` has these instead of SESSIONS.
    pub writers_and_readers: Option<[u32; 2]>,
    /// The first of the top events.
    pub top_wait: Option<String>,
    pub(super) figures: BTreeMap<Head, f64>,
}

impl Row {
    /// The number below a head, in the unit of that head.
    #[must_use]
    pub fn figure(&self, head: Head) -> Option<f64> {
        self.figures.get(&head).copied()
    }

    /// What stands below a head.
    #[must_use]
    pub fn cell(&self, head: Head) -> Option<Value> {
        match head {
            Head::File => Some(Value::Text(self.file.clone())),
            Head::TopWait => self.top_wait.clone().map(Value::Text),
            head => self.figure(head).map(Value::Number),
        }
    }

    /// What stands below each head, in the order of [`Head::ALL`].
    pub fn cells(&self) -> impl Iterator<Item = Option<Value>> {
        Head::ALL.iter().map(|head| self.cell(*head))
    }

    /// The row of a report.
    ///
    /// The definitions of `awr_info` are kept: PREADS and PWRITES are the application's requests, READ_MBS and WRITE_MBS are
    /// all I/O in MiB, DB CPU has the background's where the load profile has it. Latencies are means with the best precision
    /// of the report; one that is printed as 0 because its unit is too coarse stays empty.
    #[must_use]
    pub fn of(named: &Named) -> Self {
        let report = &named.report;
        let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
        let mib = |figure: Option<Figure>| figure.map(|figure| figure.value / MIB);
        let rate = |name: &str| report.statistic_per_s(name);
        let read =
            rate("physical read total bytes").or_else(|| profile(report, "Total (MB)", |line| line.read));
        let written =
            rate("physical write total bytes").or_else(|| profile(report, "Total (MB)", |line| line.written));
        let figures = [
            (Head::Sessions, named.sessions().map(f64::from)),
            (Head::Elapsed, report.elapsed_s()),
            (Head::DbCpu, value(db_cpu_per_s(report))),
            (Head::DbTime, value(db_time_per_s(report))),
            (Head::Executes, value(executes_per_s(report))),
            (Head::LogicalReads, value(logical_reads_per_s(report))),
            (
                Head::Reads,
                value(rate("physical read IO requests").or_else(|| load(report, &["Read IO requests"]))),
            ),
            (Head::ReadMib, mib(read)),
            (
                Head::Writes,
                value(rate("physical write IO requests").or_else(|| load(report, &["Write IO requests"]))),
            ),
            (Head::WriteMib, mib(written)),
            (Head::RedoMib, mib(redo_per_s(report))),
            (Head::SingleBlockRead, mean_us(single_block_read(report))),
            (Head::DirectRead, mean_us(report.foreground("direct path read"))),
            (Head::ParallelRead, mean_us(report.foreground("db file parallel read"))),
            (Head::BlockWrite, mean_us(report.background("db file parallel write"))),
            (Head::LogWrite, mean_us(report.background("log file parallel write"))),
        ];
        let known = figures.into_iter().filter_map(|(head, figure)| Some((head, figure?)));
        Self {
            file: named.label(),
            writers_and_readers: None,
            top_wait: report.top_wait().map(|event| event.name.clone()),
            figures: known.filter(|(_, figure)| figure.is_finite()).collect(),
        }
    }
}

/// The mean, unless the report prints it too coarsely to tell it from 0.
fn mean_us(event: Option<WaitEvent>) -> Option<f64> {
    event?.mean_us()?.known()
}
