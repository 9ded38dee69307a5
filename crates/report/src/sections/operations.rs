//! How long operations took.

use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::ratio;
use crate::format::{count, duration_us, fixed, micros, or_absent};
use crate::latencies::{all_operations, all_responses, mean_us, percentile_us};
use crate::page::{Column, Page, Table};

/// Seconds of arrivals that may be under way without being a backlog.
const BACKLOG_S: f64 = 0.5;

pub(super) fn write(page: &mut Page, record: &Record) {
    page.section("Operation latency (us)");
    let heads = ["Count", "Mean", "p50", "p90", "p95", "p99", "p99.9", "Max"];
    let heads = heads.map(Column::right);
    let mut table = Table::new([vec![Column::left("Kind")], heads.into()].concat());
    for (kind, figures) in &record.operations {
        table.row(row(kind.name(), &figures.latency));
    }
    if record.operations.len() > 1 {
        table.row(row("all", &all_operations(record)));
    }
    if table.is_empty() {
        page.paragraph("No operation ended within the window.");
        return;
    }
    page.table(&table);
    response(page, record);
    let beyond = all_operations(record).beyond_range();
    if beyond > 0 {
        page.paragraph(&format!(
            "{} operations took longer than 73 minutes; they count as such.",
            count(beyond)
        ));
    }
}

/// In an open loop: how long a user would have waited.
fn response(page: &mut Page, record: &Record) {
    let (Some(rate), Some(window)) = (record.workload.rate_per_s, record.window) else { return };
    let response = all_responses(record);
    let heads = ["Count", "Mean", "p50", "p90", "p95", "p99", "p99.9", "Max"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Open loop")], heads.into()].concat());
    table.row(row("service", &all_operations(record)));
    table.row(row("response", &response));
    page.table(&table);
    let held = response.count() as f64 / window.seconds;
    let arrivals = record.workload.arrivals.as_deref().unwrap_or_default();
    page.paragraph(&format!(
        "{} operations/s were to start ({arrivals} arrivals), {} were done ({}). Service time is that of the operation, \
         response time counts from the intended start.",
        count(u64::from(rate)),
        fixed(held, 1),
        or_absent(ratio(100.0 * held, f64::from(rate)), |share| format!("{share:.1} %")),
    ));
    if let Some(backlog) = record.backlog.filter(|backlog| *backlog as f64 > BACKLOG_S * f64::from(rate)) {
        page.paragraph(&format!(
            "The system did not keep up: at the end of the window {} operations were due and not done, {} of work.",
            count(backlog),
            or_absent(ratio(backlog as f64, held), |seconds| duration_us(seconds * 1e6))
        ));
    }
}

fn row(name: &str, latency: &Histogram) -> Vec<String> {
    let at = |percent| or_absent(percentile_us(latency, percent), micros);
    let mean = or_absent(mean_us(latency), micros);
    let percentiles = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(at);
    [vec![name.to_owned(), count(latency.count()), mean], percentiles.into()].concat()
}
