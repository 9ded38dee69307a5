//! How long operations took.

use slob_record::Record;
use slob_stats::Histogram;

use super::Page;
use super::table::{Column, Table};
use crate::figures::{all_operations, mean_us, percentile_us};
use crate::format::{count, micros, or_absent};

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
    let beyond = all_operations(record).beyond_range();
    if beyond > 0 {
        page.paragraph(&format!(
            "{} operations took longer than 73 minutes; they count as such.",
            count(beyond)
        ));
    }
}

fn row(name: &str, latency: &Histogram) -> Vec<String> {
    let at = |percent| or_absent(percentile_us(latency, percent), micros);
    let mean = or_absent(mean_us(latency), micros);
    let percentiles = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(at);
    [vec![name.to_owned(), count(latency.count()), mean], percentiles.into()].concat()
}
