//! Accounted? The same work as seen by counters that know nothing of each other.

mod pair;

use slob_measure::{Counter, OpKind};
use slob_record::{EdgeRecord, ObservedRecord, Record};

use self::pair::Pair;
pub(crate) use self::pair::Rule;
use super::{Answer, Finding, NO_WINDOW, Question, Verdict};
use crate::counters::{counter, db_time_s, operations, own_read_bytes, physical_read_bytes, ratio};
use crate::figure::Figures;
use crate::format::{capitalised, fixed, percent};
use crate::latencies::all_operations;
use crate::sums::total;
use crate::window::operations_within_and_touching;

/// What a pair calls the device's own count.
const DEVICE_BYTES: &str = "bytes read by the device";
/// And the kernel's count of an embedded database, and of a server.
const OWN_BYTES: &str = "bytes fetched for this process";
const SERVERS_BYTES: &str = "bytes fetched for the server's processes";
/// The kernel's count for the control group that the server runs in, such as a container.
const GROUP_BYTES: &str = "bytes read by the server's control group";
/// From this share of the window on, a round trip to an observer is pointed out, in percent.
const LONG_TRIP_PERCENT: f64 = 1.0;
/// Above this difference the device's further reads are pointed out.
const OTHERS_READS_PERCENT: f64 = 5.0;

pub(super) fn judge(figures: &Figures<'_>) -> Verdict {
    let record = figures.record;
    if !figures.is_measured() {
        return Verdict::unknown(Question::Accounted, NO_WINDOW);
    }
    let (independent, own) = (independent_pairs(record), own_pairs(record));
    let disagreement = |pair: &Pair| {
        (!pair.agrees()).then(|| Finding::new(Answer::Doubt, format!("Not quite: {}.", pair.words())))
    };
    let findings: Vec<Finding> = independent.iter().chain(&own).filter_map(disagreement).collect();
    let judged = independent.iter().filter(|pair| pair.rule != Rule::Shown).count();
    let mut good = match judged {
        0 => Verdict::unknown(
            Question::Accounted,
            "Not known: the database has no counters to compare this program's own with.",
        ),
        _ => Verdict::new(Question::Accounted, Answer::Good, agreement(&independent, judged)),
    };
    let agreeing = independent.iter().filter(|pair| pair.agrees());
    good.details = agreeing.map(|pair| format!("{}.", capitalised(&pair.words()))).collect();
    good.details.extend(others_reads(&independent));
    good.details.extend(record.observed.iter().filter_map(long_trip));
    if !own.is_empty() && own.iter().all(Pair::agrees) {
        let totals = "This program's own totals agree: by kind, by session, by second.";
        good.details.push(totals.into());
    }
    Verdict::worst_of(findings, good)
}

/// All pairs of counters that must agree.
pub(crate) fn counter_pairs(record: &Record) -> Vec<Pair> {
    if record.window.is_none() {
        return Vec::new();
    }
    independent_pairs(record)
        .into_iter()
        .chain(own_pairs(record))
        .filter(|pair| pair.rule != Rule::Shown)
        .collect()
}

/// The edges of a host's figures lie anywhere within the round trips that asked for them.
fn long_trip(server: &ObservedRecord) -> Option<String> {
    let (trip_s, window_s) = (server.round_trip_s?, server.seconds?);
    let share = ratio(100.0 * trip_s, window_s).filter(|share| *share > LONG_TRIP_PERCENT)?;
    let host = server.host.as_deref().unwrap_or("the database's host");
    Some(format!(
        "Asking {host} took {} s at an edge, {} % of the window: its figures may be of a window that much longer or shorter.",
        fixed(trip_s, 3),
        percent(share)
    ))
}

/// What the device read beyond what it was asked for.
fn others_reads(pairs: &[Pair]) -> Option<String> {
    let device = pairs.iter().find(|pair| pair.left.0 == DEVICE_BYTES && pair.rule == Rule::AtLeast)?;
    let more = device.difference_percent().filter(|more| *more > OTHERS_READS_PERCENT)?;
    let own = pairs.iter().any(|pair| pair.left.0 == OWN_BYTES || pair.left.0 == SERVERS_BYTES);
    let whose = if own { "other programs' reads" } else { "other programs' reads, or read ahead" };
    Some(format!("The device read {} % more than the database: {whose}.", percent(more)))
}

fn agreement(independent: &[Pair], judged: usize) -> String {
    let equal = independent.iter().filter(|pair| pair.rule == Rule::Equal);
    let apart = equal.filter_map(|pair| Some((pair.difference_percent()?.abs(), pair)));
    let widest = apart.max_by(|a, b| a.0.total_cmp(&b.0));
    let pairs = match judged {
        1 => "a pair of independent counters agrees".into(),
        n => format!("{n} pairs of independent counters agree"),
    };
    match widest {
        Some((difference, pair)) => {
            let (left, right) = (pair.left.0, pair.right.0);
            format!("Yes: {pairs}; {left} and {right} differ by {} %.", percent(difference))
        }
        None => format!("Yes: {pairs}."),
    }
}

/// What this program counted against what the database, the kernel and the device counted.
///
/// An operation that was under way while a snapshot was taken may be on different sides of an edge in two counters: that much
/// difference is allowed on top of the percentage.
fn independent_pairs(record: &Record) -> Vec<Pair> {
    let under_way = under_way_at_edges(record);
    let edge_blocks = under_way * largest_operation(record);
    let edge_bytes = edge_blocks * f64::from(record.server.block_bytes);
    let rows = total(record.operations.values().map(|kind| kind.rows));
    let logical = counter(record, Counter::LogicalReads).map(|logical| {
        // Pages of indexes, and the second visit that a change takes, come on top of the rows.
        Pair::new(Rule::AtLeast, ("logical reads", logical), ("rows of operations", rows), edge_blocks)
    });
    let updates = operations(record).and_then(|kinds| kinds.get(&OpKind::Update).copied());
    let commits = counter(record, Counter::Commits).zip(updates.filter(|updates| *updates > 0)).map(
        |(commits, updates)| {
            // Servers count transactions that only read, and other sessions', as commits too.
            let rule = if record.server.embedded { Rule::Equal } else { Rule::AtLeast };
            Pair::new(rule, ("commits of the database", commits), ("UPDATEs with commit", updates), under_way)
        },
    );
    [logical, commits].into_iter().flatten().chain(read_pairs(record, edge_bytes)).collect()
}

/// Operations that were under way at an edge of the window: of each session one, where sessions did not rest there.
fn under_way_at_edges(record: &Record) -> f64 {
    let at_edge = |edge: &EdgeRecord| edge.operations_under_way as f64;
    record.edges.as_ref().map_or_else(
        || f64::from(record.workload.sessions()),
        |edges| at_edge(&edges.begin).max(at_edge(&edges.end)),
    )
}

/// Blocks of the largest operation of a run: a scan, where it scans.
fn largest_operation(record: &Record) -> f64 {
    let workload = &record.workload;
    let keyed = u64::from(workload.work_unit.max(workload.update_work_unit));
    let scans = workload.scan_pct > 0 && workload.update_pct < 100;
    let scanned = record.load.as_ref().filter(|_| scans).map_or(0, |load| load.scan_blocks);
    keyed.max(scanned) as f64
}

/// Physical reads against what the kernel fetched for the database's processes and what the device read, for whomever: more at
/// the device are others' reads, less is a cache between. Where the page cache takes part they may differ by any
/// amount: then they are shown and not judged here but by the first verdict.
fn read_pairs(record: &Record, edge_bytes: f64) -> Vec<Pair> {
    let Some(bytes) =
        physical_read_bytes(record).filter(|_| counter(record, Counter::PhysicalReads) != Some(0))
    else {
        return Vec::new();
    };
    let direct = record.server.direct_io == Some(true);
    let rule = |rule| if direct { rule } else { Rule::Shown };
    let process = own_read_bytes(record).map(|fetched| {
        // A server's processes also read logs, catalogues and what other sessions ask for.
        let (name, strict) = match record.server.embedded {
            true => (OWN_BYTES, Rule::Equal),
            false => (SERVERS_BYTES, Rule::AtLeast),
        };
        Pair::new(rule(strict), (name, fetched), ("bytes of physical reads", bytes), edge_bytes)
    });
    let device = record.host.as_ref().and_then(|host| host.device.as_ref()?.counters).map(|counters| {
        // Others are known to have read once the process's own count agrees. A server's reads are not counted apart
        // from others', but its own counters leave none out.
        let others_known = !record.server.embedded || process.as_ref().is_some_and(Pair::agrees);
        let strict = if others_known { Rule::AtLeast } else { Rule::Equal };
        let read = (DEVICE_BYTES, counters.used.read_bytes);
        Pair::new(rule(strict), read, ("bytes of physical reads", bytes), edge_bytes)
    });
    let groups = groups_read_bytes(record).map(|fetched| {
        Pair::new(rule(Rule::AtLeast), (GROUP_BYTES, fetched), ("bytes of physical reads", bytes), edge_bytes)
    });
    process.into_iter().chain(groups).chain(device).collect()
}

/// What the control groups of all servers read, others that run in them included; `None` if one of them is not known.
fn groups_read_bytes(record: &Record) -> Option<u64> {
    let each: Option<Vec<u64>> = record.observed.iter().map(|server| server.group?.read_bytes).collect();
    each.filter(|each| !each.is_empty()).map(total)
}

/// This program's own totals, which are added up on different ways.
fn own_pairs(record: &Record) -> Vec<Pair> {
    let by_kind = total(record.operations.values().map(|kind| kind.operations));
    let by_sessions = total(record.sessions.iter().map(slob_record::SessionRecord::operations));
    let kinds = ("operations by kind", by_kind);
    let mut pairs = Vec::new();
    if let Some(db_time_s) = db_time_s(record) {
        pairs.push(Pair::new(Rule::Equal, ("operations by session", by_sessions), kinds, 0.0));
        let busy_us = (db_time_s * 1e6) as u64;
        let durations_us = all_operations(record).sum() / 1000;
        let durations = ("us of all operations", durations_us);
        // Each session's time is cut to whole microseconds.
        let slack = record.sessions.len() as f64;
        pairs.push(Pair::new(Rule::Equal, ("us of all sessions", busy_us), durations, slack));
    }
    if let Some((within, touching)) = operations_within_and_touching(record) {
        pairs.push(Pair::new(
            Rule::AtLeast,
            kinds,
            ("operations of the seconds within the window", within),
            0.0,
        ));
        let outer = ("operations of the seconds that touch the window", touching);
        pairs.push(Pair::new(Rule::AtLeast, outer, kinds, 0.0));
    }
    pairs
}

#[cfg(test)]
mod tests;
