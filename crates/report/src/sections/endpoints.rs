//! What each of several endpoints did.

use slob_measure::Counter;
use slob_record::{EndpointRecord, Record};
use slob_stats::Histogram;

use crate::format::{count, fixed, micros, or_absent};
use crate::latencies::percentile_us;
use crate::page::{Column, Page, Table};

pub(super) fn write(page: &mut Page, record: &Record) {
    let (false, Some(window)) = (record.endpoints.is_empty(), record.window) else { return };
    page.section("Endpoints");
    let heads = ["Sessions", "Operations/s", "p50 us", "p99 us", "Logical/s", "Physical/s", "Redo MB/s"];
    let mut table =
        Table::new([vec![Column::left("Endpoint").at_most(32)], heads.map(Column::right).into()].concat());
    for endpoint in &record.endpoints {
        table.row(row(endpoint, window.seconds));
    }
    page.table(&table);
    for endpoint in &record.endpoints {
        if let Some(first) = &endpoint.shares_with {
            page.paragraph(&format!(
                "{} is the same server as {first}; its counters stand for both.",
                endpoint.endpoint
            ));
        }
    }
}

fn row(endpoint: &EndpointRecord, seconds: f64) -> Vec<String> {
    let mut latency = Histogram::new();
    endpoint.operations.values().for_each(|kind| latency.merge(&kind.latency));
    let counter = |name| {
        let value = endpoint.counters.as_ref().and_then(|counters| counters.get(name));
        value.map(|value| value as f64 / seconds)
    };
    let whole = |value| or_absent(value, |value: f64| fixed(value, 0));
    vec![
        endpoint.endpoint.clone(),
        count(u64::from(endpoint.sessions)),
        fixed(latency.count() as f64 / seconds, 0),
        or_absent(percentile_us(&latency, 50.0), micros),
        or_absent(percentile_us(&latency, 99.0), micros),
        whole(counter(Counter::LogicalReads)),
        whole(counter(Counter::PhysicalReads)),
        or_absent(counter(Counter::RedoBytes), |bytes| fixed(bytes / 1e6, 1)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_endpoint_has_its_row_and_a_shared_server_is_named() {
        let mut record = fixture::direct_read_run();
        assert_eq!(Page::text_by(write, &record), "", "one server needs no table");
        let endpoint = |name: &str, shares_with: Option<&str>| EndpointRecord {
            endpoint: name.into(),
            sessions: 2,
            operations: record.operations.clone(),
            counters: shares_with.is_none().then(|| record.counters.clone()),
            shares_with: shares_with.map(str::to_owned),
        };
        record.endpoints = vec![endpoint("a:1", None), endpoint("b:1", Some("a:1"))];
        let text = Page::text_by(write, &record);
        let line = |name: &str| {
            text.lines().map(str::trim).find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
        };
        assert_eq!(line("a:1").split_whitespace().count(), 8, "{text}");
        assert_eq!(line("b:1").split_whitespace().rev().take(3).collect::<Vec<_>>(), ["-"; 3], "{text}");
        assert!(text.contains("b:1 is the same server as a:1"), "{text}");
    }
}
