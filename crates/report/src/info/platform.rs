//! What it cost, what the device did, and what the figures are worth.

use super::column::{Column, Columns, Row};
use crate::counters::ratio;
use crate::verdicts::{Question, verdicts_by};

const HOST: &str = "/proc/stat of the host";
const DB_CPU: &str = "CPU time of the database's processes";
const KERNEL: &str = "the kernel's counters of the device, for everybody on the host";
const PROBE: &str = "the probe of the device that the record holds";

macro_rules! figure {
    ($name:ident, $unit:literal, $source:expr, $group:ident) => {
        Column::number(stringify!($name), $unit, $source, |row| row.figures.$group.$name)
    };
}

pub(super) const CPU: Columns = &[
    Column::count("host_cpus", "", "CPUs (hardware threads) of the host", |row| {
        row.figures.cpu.host_cpus.map(u64::from)
    }),
    Column::number("db_cpus", "", "DB CPU per second: CPUs that the database kept busy, on average", |row| {
        ratio(row.figures.cpu.db_cpu_s?, row.figures.window_s?)
    }),
    figure!(db_cpu_s, "s", DB_CPU, cpu),
    figure!(db_cpu_percent_of_host, "%", DB_CPU, cpu),
    figure!(db_cpu_percent_of_db_time, "%", DB_CPU, cpu),
    figure!(client_cpu_s, "s", "CPU time of this program", cpu),
    figure!(host_busy_percent, "%", HOST, cpu),
    figure!(host_steal_percent, "%", HOST, cpu),
    figure!(foreign_cpu_percent, "%", "CPU time of others than the database and this program", cpu),
    figure!(physical_reads_per_db_cpu_s, "blocks/s", "physical reads by CPU time of the database", cpu),
    figure!(logical_reads_per_db_cpu_s, "blocks/s", "logical reads by CPU time of the database", cpu),
    figure!(physical_reads_per_host_cpu_s, "blocks/s", "physical reads by CPU time of the host", cpu),
    figure!(db_cpu_us_per_physical_read, "us", "CPU time of the database by physical reads", cpu),
];

pub(super) const DEVICE: Columns = &[
    Column::number("device_reads_per_s", "1/s", KERNEL, |row| row.figures.device.reads_per_s),
    Column::number("device_read_mb_per_s", "MB/s", KERNEL, |row| row.figures.device.read_mb_per_s),
    Column::number("device_read_await_us", "us", KERNEL, |row| row.figures.device.read_await_us),
    Column::number("device_writes_per_s", "1/s", KERNEL, |row| row.figures.device.writes_per_s),
    Column::number("device_write_mb_per_s", "MB/s", KERNEL, |row| row.figures.device.write_mb_per_s),
    Column::number("device_write_await_us", "us", KERNEL, |row| row.figures.device.write_await_us),
    Column::number("device_queue", "", KERNEL, |row| row.figures.device.queue),
    Column::number("device_busy_percent", "%", KERNEL, |row| row.figures.device.utilisation_percent),
    figure!(database_reads_per_s, "blocks/s", "reads that the device served for the database", device),
    figure!(foreign_read_mb_per_s, "MB/s", "reads of the device for others than this run", device),
    figure!(ceiling_iops, "1/s", PROBE, probe),
    figure!(sync_iops, "1/s", PROBE, probe),
    figure!(percent_of_ceiling, "%", PROBE, probe),
    figure!(percent_of_sync, "%", PROBE, probe),
];

pub(super) const VERDICTS: Columns = &[
    Column::text("physical", "the verdict 'Physical?'", |row| answer(row, Question::Physical)).of_series(),
    Column::text("accounted", "the verdict 'Accounted?'", |row| answer(row, Question::Accounted)).of_series(),
    Column::text("cpu_bound", "the verdict 'CPU-bound?'", |row| answer(row, Question::CpuBound)).of_series(),
    Column::text("steady", "the verdict 'Steady?'", |row| answer(row, Question::Steady)).of_series(),
    Column::text("complete", "the verdict 'Complete?'", |row| answer(row, Question::Complete)).of_series(),
];

fn answer(row: &Row<'_>, question: Question) -> Option<String> {
    let verdicts = verdicts_by(row.record, &row.figures);
    verdicts
        .iter()
        .find(|verdict| verdict.question == question)
        .map(|verdict| verdict.answer.word().to_owned())
}
