use std::collections::BTreeMap;

use slob_measure::{Counter, OpKind};
use slob_record::KeptOperation;
use slob_stats::Histogram;

use super::*;
use crate::fixture;

fn disagreements(record: &Record) -> Vec<String> {
    recheck(record).into_iter().filter(|check| !check.agrees).map(|check| check.words).collect()
}

#[test]
fn a_sound_record_agrees_with_itself() {
    let record = fixture::direct_read_run();
    assert_eq!(disagreements(&record), [""; 0]);
    assert!(recheck(&record).len() >= 6, "{:?}", recheck(&record));
}

#[test]
fn one_operation_more_or_a_row_less_shows() {
    let mut record = fixture::direct_read_run();
    record.sessions[1].selects += 1;
    assert!(disagreements(&record)[0].contains("operations of the sessions"));
    let mut record = fixture::direct_read_run();
    record.sessions[2].rows -= 1;
    assert!(disagreements(&record)[0].contains("rows of the sessions"));
    let mut record = fixture::direct_read_run();
    record.sessions[0].busy_us += 90_000_000 * 4;
    assert!(disagreements(&record).iter().any(|words| words.contains("times seconds of the window")));
}

fn operation(duration_ns: u64) -> KeptOperation {
    KeptOperation { session: 0, kind: OpKind::Select, start_ns: 0, duration_ns, rows: 64, in_window: true }
}

#[test]
fn a_list_of_operations_agrees_with_the_histogram_made_of_it_and_with_no_other() {
    let mut record = fixture::direct_read_run();
    let list: Vec<KeptOperation> = (1..=1000).map(|i| operation(i * i * 1000)).collect();
    let mut latency = Histogram::new();
    list.iter().for_each(|operation| latency.record(operation.duration_ns));
    let kind = KindRecord { operations: 1000, rows: 64_000, latency, ..KindRecord::default() };
    record.operations = BTreeMap::from([(OpKind::Select, kind)]);
    record.series = slob_stats::Series::new(0, 1800);
    record.sessions.truncate(1);
    record.sessions[0].selects = 1000;
    let doubts = |list: &[KeptOperation]| {
        let checks = recheck_operations(&record, list);
        checks.into_iter().filter(|check| !check.agrees).map(|check| check.words).collect::<Vec<_>>()
    };
    assert_eq!(doubts(&list), [""; 0]);
    let mut slower = list.clone();
    slower[990..].iter_mut().for_each(|operation| operation.duration_ns += 20_000_000);
    let told = doubts(&slower).join("\n");
    assert!(told.contains("ns of SELECTs") && told.contains("p99.9") && !told.contains("p50"), "{told}");
    assert!(doubts(&list[1..])[0].contains("1,000, in the list 999"));
}

#[test]
fn a_run_that_failed_before_its_window_has_nothing_that_disagrees() {
    assert_eq!(disagreements(&fixture::failed_run()), [""; 0]);
}

#[test]
fn a_counter_that_was_changed_shows_in_what_else_counted_it() {
    let mut record = fixture::direct_read_run();
    let reads = record.counters.get(Counter::PhysicalReads).unwrap();
    record.counters.set(Counter::PhysicalReads, 2 * reads);
    let told = disagreements(&record).join("\n");
    assert!(told.contains("physical reads") && told.contains("timed"), "{told}");
    let mut record = fixture::direct_read_run();
    record.window = None;
    assert!(disagreements(&record).join("\n").contains("has no window"));
}

#[test]
fn damaged_numbers_are_no_panic() {
    let mut record = fixture::direct_read_run();
    record.sessions.iter_mut().for_each(|session| (session.selects, session.rows) = (u64::MAX, u64::MAX));
    record.operations.values_mut().for_each(|kind| kind.rows = u64::MAX);
    assert!(disagreements(&record).len() > 2);
    let huge = KeptOperation { start_ns: u64::MAX, ..operation(u64::MAX) };
    assert!(!recheck_operations(&record, &[huge, huge]).is_empty());
}
