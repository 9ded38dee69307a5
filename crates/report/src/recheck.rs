//! The sums of a record once more: whatever it holds twice must be the same twice.

mod list;
mod told_twice;

use slob_measure::{Counter, LatencyKind};
use slob_record::{Interval, KindRecord, Record, SessionRecord, Status};

use crate::counters::{counter, latency};
use crate::figure::{self, Figures};
use crate::format::count;
use crate::sums::total;
use crate::verdicts::{Rule, counter_pairs};
use crate::window::{intervals_touching, window_intervals};

pub use self::list::recheck_operations;

/// Something that a record holds twice, or that another counter counted too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recheck {
    /// Whether both are the same, as far as they must be.
    pub agrees: bool,
    /// Both, in words.
    pub words: String,
}

/// How far counters of the same thing may be apart.
const TOLERANCE: f64 = 0.01;

/// All that can be held against each other in a record: its own totals exactly, independent counters within 1 %.
#[must_use]
pub fn recheck(record: &Record) -> Vec<Recheck> {
    let pairs = counter_pairs(record).into_iter();
    let pairs = pairs.map(|pair| {
        let ((left, left_count), (right, right_count)) = (pair.left, pair.right);
        let than = if pair.rule == Rule::AtLeast { "at least " } else { "" };
        let words = format!("{left} {}, {than}{right} {}", count(left_count), count(right_count));
        Recheck { agrees: pair.agrees(), words }
    });
    let mut checks = exact_sums(record);
    checks.extend(has_window(record));
    checks.extend(pairs);
    checks.extend(embedded_counters(record));
    checks.extend(series_against_counters(record));
    checks.extend(series_in_itself(record));
    checks.extend(time_within_window(record));
    checks.extend(told_twice::told_twice(record));
    checks
}

fn exact_sums(record: &Record) -> Vec<Recheck> {
    let kinds = |of: fn(&KindRecord) -> u64| total(record.operations.values().map(of));
    let sessions = |of: fn(&SessionRecord) -> u64| total(record.sessions.iter().map(of));
    let operations = kinds(|kind| kind.operations);
    let mut sums = vec![
        equal("operations", operations, "durations in histograms", kinds(|kind| kind.latency.count())),
        equal("rows", kinds(|kind| kind.rows), "rows of the sessions", sessions(|session| session.rows)),
        equal("operations", operations, "operations of the sessions", sessions(SessionRecord::operations)),
    ];
    if !record.endpoints.is_empty() {
        let of_endpoints = record.endpoints.iter().flat_map(|endpoint| endpoint.operations.values());
        let of_endpoints = total(of_endpoints.map(|kind| kind.operations));
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

fn to_us(ns: u64) -> u64 {
    ns / 1000
}

fn equal(left: &str, left_count: u64, right: &str, right_count: u64) -> Recheck {
    let words = format!("{left} {}, {right} {}", count(left_count), count(right_count));
    Recheck { agrees: left_count == right_count, words }
}

fn nearly_equal(left: &str, left_count: u64, right: &str, right_count: u64) -> Recheck {
    let far = left_count.abs_diff(right_count) as f64 > TOLERANCE * left_count.max(right_count) as f64;
    Recheck { agrees: !far, ..equal(left, left_count, right, right_count) }
}

/// A run that was completed has a window.
fn has_window(record: &Record) -> Option<Recheck> {
    let lacks = record.window.is_none() && record.status == Status::Completed;
    lacks.then(|| Recheck { agrees: false, words: "the run was completed, and has no window".into() })
}

/// A database within this program counts the same reads and writes in several ways.
fn embedded_counters(record: &Record) -> Vec<Recheck> {
    let known = |name| counter(record, name);
    let timed = |kind| latency(record, kind).map(slob_stats::Histogram::count);
    let bytes = |blocks| known(blocks).map(|blocks| blocks.saturating_mul(record.server.block_bytes.into()));
    let pairs = [
        (
            "physical reads",
            known(Counter::PhysicalReads),
            "those that were timed",
            timed(LatencyKind::PhysicalRead),
        ),
        (
            "physical writes",
            known(Counter::PhysicalWrites),
            "those that were timed",
            timed(LatencyKind::PhysicalWrite),
        ),
        (
            "syncs of the log",
            known(Counter::RedoSyncs),
            "those that were timed",
            timed(LatencyKind::RedoSync),
        ),
        (
            "bytes of physical reads",
            known(Counter::PhysicalReadBytes),
            "blocks of them",
            bytes(Counter::PhysicalReads),
        ),
        (
            "bytes of physical writes",
            known(Counter::PhysicalWriteBytes),
            "blocks of them",
            bytes(Counter::PhysicalWrites),
        ),
    ];
    let there = pairs.into_iter().filter_map(|(left, a, right, b)| Some(nearly_equal(left, a?, right, b?)));
    there.filter(|_| record.server.embedded).collect()
}

/// What a counter rose by lies between what the intervals within the window saw and what those that touch it did. Sessions
/// report their rows to each of them; the rest is of those which have a sample.
fn series_against_counters(record: &Record) -> Vec<Recheck> {
    type Of = fn(&Interval) -> Option<u64>;
    let counted: [(&str, Counter, Of); 3] = [
        ("logical reads", Counter::LogicalReads, |interval| interval.logical_reads),
        ("physical reads", Counter::PhysicalReads, |interval| interval.physical_reads),
        ("bytes of redo", Counter::RedoBytes, |interval| interval.redo_bytes),
    ];
    let rows = total(record.operations.values().map(|kind| kind.rows));
    let of_rows: Vec<u64> = intervals_touching(record).map(|interval| interval.rows).collect();
    let rows = between(record, "rows", rows, |interval| Some(interval.rows), &of_rows);
    let of_counters = counted.into_iter().filter_map(|(name, which, of)| {
        // One whose sample failed leaves a hole.
        let touching = sampled(record).map(of).collect::<Option<Vec<u64>>>()?;
        between(record, name, counter(record, which)?, of, &touching)
    });
    rows.into_iter().chain(of_counters).collect()
}

fn between(
    record: &Record,
    name: &str,
    counted: u64,
    of: fn(&Interval) -> Option<u64>,
    touching: &[u64],
) -> Option<Recheck> {
    if touching.is_empty() {
        return None;
    }
    let within = total(window_intervals(record).into_iter().filter_map(|(_, interval)| of(interval?)));
    let touching = total(touching.iter().copied());
    let slack = TOLERANCE * counted as f64;
    let agrees = within as f64 <= counted as f64 + slack && touching as f64 + slack >= counted as f64;
    let (within, counted, touching) = (count(within), count(counted), count(touching));
    Some(Recheck { agrees, words: format!("{name} {counted}, in the series {within} to {touching}") })
}

/// The intervals that touch the window and have a sample, of which one that failed lacks its counters.
fn sampled(record: &Record) -> impl Iterator<Item = &Interval> {
    intervals_touching(record).filter(|interval| interval.sampled_s.is_some())
}

/// Each interval has as many durations as operations.
fn series_in_itself(record: &Record) -> Option<Recheck> {
    let intervals: Vec<&Interval> = record.series.points().filter_map(|point| point.value).collect();
    let differ = intervals.iter().filter(|interval| interval.ops.total() != interval.latency.count()).count();
    let words =
        format!("operations and durations of {} intervals of the series; {differ} differ", intervals.len());
    (!intervals.is_empty()).then_some(Recheck { agrees: differ == 0, words })
}

/// Little's law at its plainest: sessions can't have been busy for longer than there was time, but for the operation that
/// each was at when the window began.
fn time_within_window(record: &Record) -> Option<Recheck> {
    let window_s = figure::WINDOW_S.of(&Figures::of(record))?;
    let sessions = record.sessions.len() as f64;
    let longest_s = record.operations.values().filter_map(|kind| kind.latency.max()).max()? as f64 / 1e9;
    let busy_s = record.sessions.iter().map(|session| session.busy_us as f64 / 1e6).sum::<f64>();
    let there_s = sessions * window_s;
    let words = format!(
        "seconds of all operations {busy_s:.3}, at most sessions times seconds of the window {there_s:.3}"
    );
    Some(Recheck { agrees: busy_s <= there_s + sessions * longest_s, words })
}

#[cfg(test)]
mod tests;
