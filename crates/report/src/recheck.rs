//! The sums of a record once more: whatever it holds twice must be the same twice.

use slob_record::{KindRecord, Record, SessionRecord};

use crate::figures::Figures;
use crate::format::count;
use crate::verdicts::counter_pairs;

/// Something that a record holds twice, or that another counter counted too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recheck {
    /// Whether both are the same, as far as they must be.
    pub agrees: bool,
    /// Both, in words.
    pub words: String,
}

/// All that can be held against each other in a record: its own totals exactly, independent counters within 1 %.
#[must_use]
pub fn recheck(record: &Record) -> Vec<Recheck> {
    let pairs = counter_pairs(record).into_iter();
    let pairs = pairs.map(|pair| Recheck { agrees: pair.agrees(), words: pair.words() });
    exact_sums(record).into_iter().chain(pairs).chain(time_within_window(record)).collect()
}

fn exact_sums(record: &Record) -> Vec<Recheck> {
    let kinds = |of: fn(&KindRecord) -> u64| record.operations.values().map(of).sum::<u64>();
    let sessions = |of: fn(&SessionRecord) -> u64| record.sessions.iter().map(of).sum::<u64>();
    let operations = kinds(|kind| kind.operations);
    let mut sums = vec![
        equal("operations", operations, "durations in histograms", kinds(|kind| kind.latency.count())),
        equal("rows", kinds(|kind| kind.rows), "rows of the sessions", sessions(|session| session.rows)),
        equal("operations", operations, "operations of the sessions", sessions(operations_of)),
    ];
    if !record.endpoints.is_empty() {
        let of_endpoints = record.endpoints.iter().flat_map(|endpoint| endpoint.operations.values());
        let of_endpoints = of_endpoints.map(|kind| kind.operations).sum();
        sums.push(equal("operations", operations, "operations of the endpoints", of_endpoints));
    }
    let longest_us = record.operations.values().filter_map(|kind| kind.latency.max()).max().map(to_us);
    let of_sessions = record.sessions.iter().filter_map(|session| session.max_us).map(|us| us as u64).max();
    // A session that did not end in time has its operations in the sums, and no line of its own.
    if let Some((histogram, session)) = longest_us.zip(of_sessions) {
        sums.push(equal("us of the longest operation", histogram, "us of the sessions' longest", session));
    }
    sums
}

fn operations_of(session: &SessionRecord) -> u64 {
    session.selects + session.updates + session.scans
}

fn to_us(ns: u64) -> u64 {
    ns / 1000
}

fn equal(left: &str, left_count: u64, right: &str, right_count: u64) -> Recheck {
    let words = format!("{left} {}, {right} {}", count(left_count), count(right_count));
    Recheck { agrees: left_count == right_count, words }
}

/// Little's law at its plainest: sessions can't have been busy for longer than there was time, but for the operation that
/// each was at when the window began.
fn time_within_window(record: &Record) -> Option<Recheck> {
    let window_s = Figures::of(record).window_s?;
    let sessions = record.sessions.len() as f64;
    let longest_s = record.operations.values().filter_map(|kind| kind.latency.max()).max()? as f64 / 1e9;
    let busy_s = record.sessions.iter().map(|session| session.busy_us as f64 / 1e6).sum::<f64>();
    let there_s = sessions * window_s;
    let words =
        format!("seconds of all operations {busy_s:.3}, sessions times seconds of the window {there_s:.3}");
    Some(Recheck { agrees: busy_s <= there_s + sessions * longest_s, words })
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_run_that_failed_before_its_window_has_nothing_that_disagrees() {
        assert_eq!(disagreements(&fixture::failed_run()), [""; 0]);
    }
}
