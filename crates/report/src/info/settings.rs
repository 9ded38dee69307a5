//! What was run, on what.

use jiff::Timestamp;
use slob_record::Status;

use super::column::{Column, Columns};

const RECORD: &str = "the record";

pub(super) const COLUMNS: Columns = &[
    Column::text("id", "the run's folder", |row| Some(row.record.id.clone())),
    Column::text("name", "RUN_NAME", |row| Some(row.record.name.clone())),
    Column::text("status", "completed, interrupted or failed", |row| {
        Some(status_word(&row.record.status).into())
    }),
    Column::text("started", "when the sessions were started (UTC)", |row| Some(second(row.record.started))),
    Column::text("ended", "when they had all stopped (UTC)", |row| Some(second(row.record.ended))),
    Column::text("target", "TARGET, without a password", |row| Some(row.record.target.clone())),
    Column::text("product", "the server's product", |row| Some(row.record.server.product.clone())),
    Column::text("version", "the server's version", |row| Some(row.record.server.version.clone())),
    Column::text("slob_version", "the release that ran the test", |row| {
        Some(row.record.slob_version.clone())
    }),
    Column::text("host", "the host's name", |row| Some(row.record.host.as_ref()?.info.hostname.clone())),
    Column::text("device", "the block device behind the data", |row| {
        let device = row.record.host.as_ref()?.device.as_ref()?;
        Some(device.device.top.as_ref()?.name.clone())
    }),
    Column::text("file_system", "the file system of the data", |row| {
        Some(row.record.host.as_ref()?.device.as_ref()?.device.file_system.clone())
    }),
    Column::count("sessions", "", "schemas x threads", |row| Some(u64::from(row.record.workload.sessions()))),
    Column::count("schemas", "", "SCHEMAS", |row| Some(u64::from(row.record.workload.schemas))),
    Column::count("threads_per_schema", "", "THREADS_PER_SCHEMA", |row| {
        Some(u64::from(row.record.workload.threads_per_schema))
    }),
    Column::count("scale_blocks", "blocks", "active data set of each schema", |row| {
        Some(row.record.workload.scale_blocks)
    }),
    Column::count("block_bytes", "bytes", "a block of the server", |row| {
        Some(u64::from(row.record.server.block_bytes))
    }),
    Column::count("work_unit", "blocks", "blocks of a SELECT", |row| {
        Some(u64::from(row.record.workload.work_unit))
    }),
    Column::count("update_work_unit", "blocks", "blocks of an UPDATE", |row| {
        Some(u64::from(row.record.workload.update_work_unit))
    }),
    Column::count("update_pct", "%", "operations that are UPDATEs", |row| {
        Some(u64::from(row.record.workload.update_pct))
    }),
    Column::count("scan_pct", "%", "of the others: short scans", |row| {
        Some(u64::from(row.record.workload.scan_pct))
    }),
    Column::text("redo_stress", "REDO_STRESS", |row| Some(row.record.workload.redo_stress.clone())),
    Column::count("seed", "", "seed of the plan", |row| Some(row.record.workload.seed)),
    Column::count("rate_per_s", "1/s", "RATE, in an open loop", |row| {
        row.record.workload.rate_per_s.map(u64::from)
    }),
    Column::number("window_s", "s", "length of the measured window, by which rates are divided", |row| {
        row.figures.window_s
    }),
    Column::number("warmup_s", "s", RECORD, |row| Some(row.record.workload.warmup_s)),
];

/// A moment to the second, in UTC, as in a run's id but for people.
fn second(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// How a run ended, in a word.
#[must_use]
pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Interrupted => "interrupted",
        Status::Failed { .. } => "failed",
    }
}
