//! The columns of `awr_info`, in its order and under its heads.
//!
//! Its latencies are those of Oracle's wait events, which have names: where a record has an event of that name whose
//! waits were counted, the latency is its mean. Elsewhere the column holds the same thing as this database measured it,
//! or nothing. What the block device counted is never put in their place: behind a page cache it is a time of other
//! reads (it has a column of its own, `device_read_await_us`).

use slob_awr::info::Head;

use super::column::{Column, Columns, Row};
use crate::counters::PHYSICAL_WRITE;
use crate::figures::latency_mean_us;
use crate::text::timed_events;

/// A column under the head that `awr_info` gives it.
#[derive(Clone, Copy, Debug)]
pub struct AwrColumn {
    /// The head.
    pub head: &'static str,
    /// What stands below it.
    pub column: &'static Column,
}

/// The name of what stands below a head of `awr_info` here.
pub(crate) fn awr_column_name(head: Head) -> &'static str {
    match head {
        Head::File => "id",
        Head::Sessions => "sessions",
        Head::Elapsed => "window_s",
        Head::DbCpu => "db_cpus",
        Head::DbTime => "average_active_sessions",
        Head::Executes => "operations_per_s",
        Head::LogicalReads => "logical_reads_per_s",
        Head::Reads => "physical_reads_per_s",
        Head::ReadMib => "physical_read_mib_per_s",
        Head::Writes => "physical_writes_per_s",
        Head::WriteMib => "physical_write_mib_per_s",
        Head::RedoMib => "redo_mib_per_s",
        Head::SingleBlockRead => "single_read_mean_us",
        Head::DirectRead => "direct_read_mean_us",
        Head::ParallelRead => "parallel_read_mean_us",
        Head::BlockWrite => "block_write_mean_us",
        Head::LogWrite => "log_write_mean_us",
        Head::TopWait => "top_wait",
    }
}

/// The columns of `awr_info`, in its order.
pub fn awr_columns() -> impl Iterator<Item = AwrColumn> {
    Head::ALL.into_iter().filter_map(|head| {
        Some(AwrColumn { head: head.text(), column: super::column(awr_column_name(head))? })
    })
}

/// Its megabytes are 2^20 bytes.
fn mib(mb: Option<f64>) -> Option<f64> {
    mb.map(|mb| mb * 1e6 / 1_048_576.0)
}

pub(super) const COLUMNS: Columns = &[
    Column::number(
        "physical_read_mib_per_s",
        "MiB/s",
        "physical_read_mb_per_s in 2^20 bytes, as awr_info has it",
        |row| mib(row.figures.load.physical_read_mb_per_s),
    ),
    Column::number(
        "physical_write_mib_per_s",
        "MiB/s",
        "physical_write_mb_per_s in 2^20 bytes, as awr_info has it",
        |row| mib(row.figures.load.physical_write_mb_per_s),
    ),
    Column::number("redo_mib_per_s", "MiB/s", "redo_mb_per_s in 2^20 bytes, as awr_info has it", |row| {
        mib(row.figures.load.redo_mb_per_s)
    }),
    Column::number(
        "single_read_mean_us",
        "us",
        "mean wait for one block: event 'db file sequential read', or else physical_read_mean_us",
        |row| event_mean_us(row, "db file sequential read").or(row.figures.latency.physical_read_mean_us),
    ),
    Column::number("direct_read_mean_us", "us", "mean wait of event 'direct path read'", |row| {
        event_mean_us(row, "direct path read")
    }),
    Column::number("parallel_read_mean_us", "us", "mean wait of event 'db file parallel read'", |row| {
        event_mean_us(row, "db file parallel read")
    }),
    Column::number(
        "block_write_mean_us",
        "us",
        "mean write of table and index blocks: event 'db file parallel write', or else as the database measured it",
        |row| {
            event_mean_us(row, "db file parallel write")
                .or_else(|| latency_mean_us(row.record, PHYSICAL_WRITE))
        },
    ),
    Column::number(
        "log_write_mean_us",
        "us",
        "mean write of the log: event 'log file parallel write', or else redo_sync_mean_us",
        |row| event_mean_us(row, "log file parallel write").or(row.figures.latency.redo_sync_mean_us),
    ),
    Column::text("top_wait", "what took most of DB time: the first of the top timed events", |row| {
        timed_events(row.record, &row.figures).into_iter().next().map(|event| event.name)
    }),
];

/// Mean of an event whose waits were counted; sampled events have no waits.
fn event_mean_us(row: &Row<'_>, name: &str) -> Option<f64> {
    row.record.window?;
    let events = || row.record.events.iter().filter(|event| event.name == name);
    // What sessions waited for, or else the server's own processes: those write blocks and log.
    let event = events().find(|event| !event.background).or_else(|| events().next())?;
    event.waits.filter(|waits| *waits > 0).map(|waits| event.time_us as f64 / waits as f64)
}
