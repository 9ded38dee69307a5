//! Every figure of a run in one table, to be copied.

use slob_record::Record;
use slob_stats::Histogram;

use super::blocks::framed;
use super::escape;
use crate::figures::{
    CpuFigures, DeviceFigures, Figures, LatencyFigures, LoadFigures, ProbeFigures, mean_us, percentile_us,
};

/// A figure: its name, which carries the unit, and its value if it is known.
type Row = (String, Option<f64>);

/// The table: name, value, source.
pub(super) fn table(record: &Record, figures: &Figures) -> String {
    let groups = [
        ("follows from the database's counters and the window", load(figures.window_s, &figures.load)),
        ("the clock around each operation, and the database's around each read", latency(&figures.latency)),
        ("/proc", cpu(&figures.cpu)),
        ("the kernel's counters of the device", device(&figures.device)),
        ("the saved probe", probe(&figures.probe)),
        ("counted by the database within the window", counters(record)),
        ("the clock around each operation", operations(record)),
        ("measured by the database", latencies(record)),
    ];
    let rows: String = groups
        .iter()
        .flat_map(|(source, rows)| rows.iter().map(move |(name, value)| row(name, *value, source)))
        .collect();
    framed("<th>Figure</th><th class=\"n\">Value</th><th>Source</th>", &rows)
}

fn row(name: &str, value: Option<f64>, source: &str) -> String {
    format!(
        "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td>{}</td></tr>\n",
        escape::text(name),
        value.map(plain).unwrap_or_default(),
        escape::text(source)
    )
}

/// A number for spreadsheets: no separators; whole as it is, else with about seven digits.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (6 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{value:.decimals$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn rows<const N: usize>(figures: [(&str, Option<f64>); N]) -> Vec<Row> {
    figures.map(|(name, value)| (name.to_owned(), value)).into()
}

fn load(window_s: Option<f64>, load: &LoadFigures) -> Vec<Row> {
    rows([
        ("window_s", window_s),
        ("operations", load.operations.map(|n| n as f64)),
        ("operations_per_s", load.operations_per_s),
        ("selects_per_s", load.selects_per_s),
        ("updates_per_s", load.updates_per_s),
        ("scans_per_s", load.scans_per_s),
        ("rows_per_s", load.rows_per_s),
        ("commits", load.commits.map(|n| n as f64)),
        ("commits_per_s", load.commits_per_s),
        ("logical_reads_per_s", load.logical_reads_per_s),
        ("physical_reads_per_s", load.physical_reads_per_s),
        ("physical_read_requests_per_s", load.physical_read_requests_per_s),
        ("physical_read_mb_per_s", load.physical_read_mb_per_s),
        ("physical_writes_per_s", load.physical_writes_per_s),
        ("physical_write_mb_per_s", load.physical_write_mb_per_s),
        ("redo_writes_per_s", load.redo_writes_per_s),
        ("redo_mb_per_s", load.redo_mb_per_s),
        ("redo_syncs_per_s", load.redo_syncs_per_s),
        ("checkpoints_per_s", load.checkpoints_per_s),
        ("hit_percent", load.hit_percent),
        ("db_time_s", load.db_time_s),
        ("average_active_sessions", load.average_active_sessions),
    ])
}

fn latency(latency: &LatencyFigures) -> Vec<Row> {
    rows([
        ("operation_mean_us", latency.operation_mean_us),
        ("operation_p50_us", latency.operation_p50_us),
        ("operation_p99_us", latency.operation_p99_us),
        ("operation_p999_us", latency.operation_p999_us),
        ("operation_max_us", latency.operation_max_us),
        ("physical_read_mean_us", latency.physical_read_mean_us),
        ("physical_read_p50_us", latency.physical_read_p50_us),
        ("physical_read_p99_us", latency.physical_read_p99_us),
        ("redo_sync_mean_us", latency.redo_sync_mean_us),
        ("redo_sync_p99_us", latency.redo_sync_p99_us),
    ])
}

fn cpu(cpu: &CpuFigures) -> Vec<Row> {
    rows([
        ("host_cpus", cpu.host_cpus.map(f64::from)),
        ("host_busy_percent", cpu.host_busy_percent),
        ("host_steal_percent", cpu.host_steal_percent),
        ("host_busy_s", cpu.host_busy_s),
        ("db_cpu_s", cpu.db_cpu_s),
        ("db_cpu_percent_of_host", cpu.db_cpu_percent_of_host),
        ("db_cpu_percent_of_db_time", cpu.db_cpu_percent_of_db_time),
        ("client_cpu_s", cpu.client_cpu_s),
        ("run_percent_of_host", cpu.run_percent_of_host),
        ("foreign_cpu_percent", cpu.foreign_cpu_percent),
        ("physical_reads_per_db_cpu_s", cpu.physical_reads_per_db_cpu_s),
        ("logical_reads_per_db_cpu_s", cpu.logical_reads_per_db_cpu_s),
        ("physical_reads_per_host_cpu_s", cpu.physical_reads_per_host_cpu_s),
        ("db_cpu_us_per_physical_read", cpu.db_cpu_us_per_physical_read),
    ])
}

fn device(device: &DeviceFigures) -> Vec<Row> {
    rows([
        ("device_reads_per_s", device.reads_per_s),
        ("device_read_mb_per_s", device.read_mb_per_s),
        ("device_read_await_us", device.read_await_us),
        ("device_writes_per_s", device.writes_per_s),
        ("device_write_mb_per_s", device.write_mb_per_s),
        ("device_write_await_us", device.write_await_us),
        ("device_queue", device.queue),
        ("device_utilisation_percent", device.utilisation_percent),
        ("device_database_reads_per_s", device.database_reads_per_s),
        ("device_foreign_read_mb_per_s", device.foreign_read_mb_per_s),
    ])
}

fn probe(probe: &ProbeFigures) -> Vec<Row> {
    rows([
        ("probe_ceiling_iops", probe.ceiling_iops),
        ("probe_sync_iops", probe.sync_iops),
        ("percent_of_ceiling", probe.percent_of_ceiling),
        ("device_percent_of_ceiling", probe.device_percent_of_ceiling),
        ("percent_of_sync", probe.percent_of_sync),
    ])
}

fn counters(record: &Record) -> Vec<Row> {
    record
        .counters
        .iter()
        .map(|(counter, value)| (format!("counters.{}", counter.name()), Some(value as f64)))
        .collect()
}

fn operations(record: &Record) -> Vec<Row> {
    let kinds = record.operations.iter();
    kinds
        .flat_map(|(kind, figures)| {
            let name = format!("operations.{}", kind.name().to_lowercase());
            let counts = [("operations", figures.operations), ("rows", figures.rows)];
            let counts = counts.map(|(what, n)| (format!("{name}.{what}"), Some(n as f64)));
            counts.into_iter().chain(distribution(&name, &figures.latency)).collect::<Vec<_>>()
        })
        .collect()
}

fn latencies(record: &Record) -> Vec<Row> {
    let named = record.latencies.iter();
    named
        .flat_map(|(kind, latency)| distribution(&format!("latencies.{}", kind.name()), &latency.histogram))
        .collect()
}

fn distribution(name: &str, histogram: &Histogram) -> Vec<Row> {
    let at = |percent| percentile_us(histogram, percent);
    let figures = [
        ("count", Some(histogram.count() as f64)),
        ("mean_us", mean_us(histogram)),
        ("p50_us", at(50.0)),
        ("p90_us", at(90.0)),
        ("p95_us", at(95.0)),
        ("p99_us", at(99.0)),
        ("p999_us", at(99.9)),
        ("max_us", at(100.0)),
    ];
    figures.map(|(what, value)| (format!("{name}.{what}"), value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn numbers_are_plain_and_what_is_absent_is_empty() {
        assert_eq!(
            (plain(1_234_567.0), plain(0.000_123_456_789), plain(19_507.2)),
            ("1234567".into(), "0.0001234568".into(), "19507.2".into())
        );
        let record = fixture::direct_read_run();
        let html = table(&record, &Figures::of(&record));
        assert!(
            html.contains("<code>counters.physical_reads</code></td><td class=\"n\">1170432</td>"),
            "{html}"
        );
        assert!(html.contains("<code>redo_mb_per_s</code></td><td class=\"n\"></td>"), "{html}");
    }
}
