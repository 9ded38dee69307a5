//! Every figure of a run in one table, to be copied.

use slob_record::Record;
use slob_stats::Histogram;

use super::blocks::framed;
use super::escape;
use crate::figure::{self, Figures};
use crate::latencies::{mean_us, percentile_us};

/// What was measured: its name, which carries the unit, and its value if it is known.
type Row = (String, Option<f64>);

/// The table: name, what it is, value, source.
pub(super) fn table(figures: &Figures<'_>) -> String {
    let record = figures.record;
    let measured = figure::all().filter(|figure| figure.is_measured());
    let measured = measured.map(|it| row(it.name, it.title, it.of(figures), it.source));
    let more = [
        ("counted by the database within the window", counters(record)),
        ("the clock around each operation", operations(record)),
        ("measured by the database", latencies(record)),
    ];
    let more = more
        .iter()
        .flat_map(|(source, rows)| rows.iter().map(move |(name, value)| row(name, "", *value, source)));
    let heads = "<th>Figure</th><th>What it is</th><th class=\"n\">Value</th><th>Source</th>";
    framed(heads, &measured.chain(more).collect::<String>())
}

fn row(name: &str, title: &str, value: Option<f64>, source: &str) -> String {
    format!(
        "<tr><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
        escape::text(name),
        escape::prose(title),
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
        let html = table(&Figures::of(&record));
        assert!(
            html.contains("<code>counters.physical_reads</code></td><td></td><td class=\"n\">1170432</td>"),
            "{html}"
        );
        assert!(
            html.contains("<code>redo_mb_per_s</code></td><td>Redo (MB)</td><td class=\"n\"></td>"),
            "{html}"
        );
    }
}
