//! Accounted? The same work by counters that know nothing of each other.

use std::borrow::Cow;
use std::fmt;

use itertools::Itertools;
use serde::Serialize;
use slob_measure::{Counter, OpKind, Peer, Span};
use slob_record::{EdgeRecord, ObservedRecord, Record, SessionRecord};
use slob_spec::Every;
use slob_stats::Histogram;

use super::{COUNTERS_MISSING, DOUBT, GOOD, Judgement, OBSERVATION, UNKNOWN, bad_if, findings, worst_first};
use crate::figure::Figures;
use crate::format::{Count, Percent, SignedPercent, Thousandths, capitalised, plural};
use crate::ladder::database_reads;
use crate::measured::{
    SessionsTime, all_operations, bypasses_page_cache, counter, counter_of_all, db_time_s, device_counters,
    misses_counters, named_neighbours, neighbours_count, neighbours_read_bytes,
    operations_within_and_touching, own_read_bytes, physical_read_bytes_of_all, ratio, saturating_sum,
    total_operations, total_rows, transactions,
};
use crate::thresholds::{
    COUNTERS_DIFFER, INCIDENTAL_READS, LOG_READ_BACK, LONG_ROUND_TRIP, OTHERS_BYTES, OTHERS_MUCH,
    OTHERS_READS, OTHERS_VISITS, OTHERS_WORK, UNWRITTEN_AHEAD,
};

const DEVICE_BYTES: &str = "bytes read by the device";
const OWN_BYTES: &str = "bytes fetched for this process";
const SERVERS_BYTES: &str = "bytes fetched for the server's processes";
const GROUP_BYTES: &str = "bytes read by the server's control group";
const REQUESTED_BYTES: &str = "bytes of physical reads";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    Equal,
    AtLeast,
    Shown,
}

type Counted = (Cow<'static, str>, u64);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub rule: Rule,
    pub left: Counted,
    pub right: Counted,
    tolerance: f64,
    slack: f64,
    incidental: f64,
}

impl Pair {
    pub fn new(
        rule: Rule,
        left: (impl Into<Cow<'static, str>>, u64),
        right: (impl Into<Cow<'static, str>>, u64),
    ) -> Self {
        let (left, right) = ((left.0.into(), left.1), (right.0.into(), right.1));
        Self { rule, left, right, tolerance: COUNTERS_DIFFER.share(), slack: 0.0, incidental: 0.0 }
    }

    pub fn exactly(self) -> Self {
        Self { tolerance: 0.0, ..self }
    }

    fn with_slack(self, slack: f64) -> Self {
        Self { slack, ..self }
    }

    pub fn agrees(&self) -> bool {
        match self.rule {
            Rule::Equal => self.is_equal(),
            Rule::AtLeast => self.left.1 as f64 + self.allowed() >= self.right.1 as f64,
            Rule::Shown => true,
        }
    }

    fn allowed(&self) -> f64 {
        self.tolerance * self.left.1.max(self.right.1) as f64 + self.slack
    }

    fn is_equal(&self) -> bool {
        let (left, right, allowed) = (self.left.1 as f64, self.right.1 as f64, self.allowed());
        match allowed + self.incidental == 0.0 {
            true => self.left.1 == self.right.1,
            false => right - left <= allowed && left - right <= allowed + self.incidental,
        }
    }

    fn is_at_least(&self) -> bool {
        self.rule == Rule::AtLeast && !self.is_equal() && self.agrees()
    }

    fn difference_percent(&self) -> Option<f64> {
        let (left, right) = (self.left.1 as f64, self.right.1 as f64);
        if left == right { Some(0.0) } else { ratio(100.0 * (left - right), right) }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((left, left_count), (right, right_count)) = (&self.left, &self.right);
        let than = if self.is_at_least() { "at least " } else { "" };
        write!(out, "{left} {}, {than}{right} {}", Count(*left_count), Count(*right_count))?;
        self.difference_percent().map_or(Ok(()), |more| write!(out, " ({} %)", SignedPercent(more)))
    }
}

findings! {
    AccountedFinding {
        CountersMissing = UNKNOWN => "{COUNTERS_MISSING}.";
        NoCounters = UNKNOWN => "the database has no counters to compare this program's own with.";
        /// `widest` differs most; `at_least` pairs have a larger left count, as they may.
        Agreement { pairs: usize, at_least: usize, widest: Option<Pair> } = GOOD.by(&COUNTERS_DIFFER) =>
            "{}.", agreement_words(*pairs + *at_least, widest.as_ref());
        /// No pair is equal, but none breaks its rule.
        NoContradiction { pairs: usize } = GOOD.by(&COUNTERS_DIFFER) =>
            "{} passed; none compares counts that must be equal.", checks(*pairs);
        Others { work: OthersWork, by: Vec<Peer> } = others_judgement(work, by) =>
            "others in this server did {} % of its {}, {} of {}: {}.",
            work.percent(), work.what, Count(work.others), Count(work.all), named(by);
        /// A lost session takes its latest counts with it.
        OthersOrLost { work: OthersWork } = UNKNOWN.by(&OTHERS_WORK) =>
            "{} % of the server's {}, {} of {}, were of others, or of this run's own sessions that were lost \
             before they were counted.",
            work.percent(), work.what, Count(work.others), Count(work.all);
        OfAllClients { counters: Vec<OthersWork> } = OBSERVATION =>
            "Of this run, and of all clients: {}.",
            counters.iter().map(|work| work.beside()).join("; ");
        /// Counters that the server does not attribute.
        OnTotals { counters: Vec<&'static str> } = OBSERVATION =>
            "Counted for the whole server, other clients included: {}.",
            counters.join(", ");
        Disagreement { pair: Pair } = DOUBT.by(&COUNTERS_DIFFER) => "{pair}.";
        AgreeingPair { pair: Pair } = OBSERVATION => "{}.", capitalised(&pair.to_string());
        NeighboursReads { percent: Percent, names: String } = OBSERVATION =>
            "Of what the device read, {percent} % was for the runs beside this one: {names}.";
        OthersReads { percent: Percent } = OBSERVATION.by(&OTHERS_READS) =>
            "The device read {percent} % more than the database: other programs' reads.";
        /// The kernel's count of the database's own reads is unknown.
        OthersReadsOrReadAhead { percent: Percent } = OBSERVATION.by(&OTHERS_READS) =>
            "The device read {percent} % more than the database: other programs' reads, or read ahead.";
        LongRoundTrip { host: String, seconds: Thousandths, percent: Percent } = OBSERVATION.by(&LONG_ROUND_TRIP) =>
            "Asking {host} took {seconds} s at an edge, {percent} % of the window: its figures may be of a window that \
             much longer or shorter.";
        OwnTotals = OBSERVATION => "This program's own totals agree: by kind, by session, by second.";
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OthersWork {
    what: &'static str,
    others: u64,
    all: u64,
}

impl OthersWork {
    fn share(&self) -> f64 {
        ratio(self.others as f64, self.all as f64).unwrap_or(0.0)
    }

    fn percent(&self) -> Percent {
        Percent(100.0 * self.share())
    }

    fn beside(&self) -> String {
        format!("{} {} and {}", self.what, Count(self.all - self.others), Count(self.all))
    }
}

/// BAD needs a peer: the server's own processes work too.
fn others_judgement(work: &OthersWork, by: &[Peer]) -> Judgement {
    let is_bad = work.share() > OTHERS_MUCH.share() && !by.is_empty();
    bad_if(is_bad, &OTHERS_MUCH, &OTHERS_WORK).remedy("Repeat the run while they rest.")
}

fn named(peers: &[Peer]) -> String {
    /// More names do not help.
    const MOST: usize = 3;
    let names = peers.iter().take(MOST).map(ToString::to_string);
    let more = peers.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!("{more} more"));
    match peers.len() {
        0 => "no other client was seen at work".to_owned(),
        _ => names.chain(more).join("; "),
    }
}

fn checks(pairs: usize) -> String {
    plural(pairs as u64, "counter check")
}

fn agreement_words(pairs: usize, widest: Option<&Pair>) -> String {
    match widest.and_then(|pair| Some((pair, pair.difference_percent()?))) {
        Some((Pair { left, right, .. }, difference)) => {
            let percent = Percent(difference.abs());
            format!("{} passed; {} and {} differ by {percent} %", checks(pairs), left.0, right.0)
        }
        None => format!("{} passed", checks(pairs)),
    }
}

pub(super) fn judge(figures: &Figures<'_>) -> Vec<AccountedFinding> {
    let record = figures.record;
    let (independent, own) = (independent_pairs(record), own_pairs(record));
    let disagreeing = independent.iter().chain(&own).filter(|pair| !pair.agrees());
    let mut findings: Vec<AccountedFinding> =
        disagreeing.map(|pair| AccountedFinding::Disagreement { pair: pair.clone() }).collect();
    findings.extend(others(record));
    let mut findings = worst_first(findings, AccountedFinding::judgement);
    if findings.is_empty() {
        findings.push(match misses_counters(record) {
            true => AccountedFinding::CountersMissing,
            false => agreement(&independent),
        });
    }
    findings.extend(of_all_clients(record));
    findings.extend(on_totals(record));
    let agreeing = independent.iter().filter(|pair| pair.agrees());
    findings.extend(agreeing.map(|pair| AccountedFinding::AgreeingPair { pair: pair.clone() }));
    findings.extend(neighbours_reads(record));
    findings.extend(others_reads(&independent));
    findings.extend(record.observed.iter().filter_map(long_round_trip));
    if !own.is_empty() && own.iter().all(Pair::agrees) {
        findings.push(AccountedFinding::OwnTotals);
    }
    findings
}

pub fn counter_pairs(record: &Record) -> Vec<Pair> {
    if record.window.is_none() {
        return Vec::new();
    }
    let attributed = attributed(record).map(|(counter, own, all)| {
        Pair::new(Rule::AtLeast, (format!("{} of all clients", words(counter)), all), (words(counter), own))
    });
    let pairs = independent_pairs(record).into_iter().chain(own_pairs(record)).chain(attributed);
    pairs.filter(|pair| pair.rule != Rule::Shown).collect()
}

fn agreement(independent: &[Pair]) -> AccountedFinding {
    let compared = || independent.iter().filter(|pair| pair.rule != Rule::Shown);
    let at_least = compared().filter(|pair| pair.is_at_least()).count();
    let equal: Vec<&Pair> = compared().filter(|pair| pair.is_equal()).collect();
    if equal.is_empty() {
        return match at_least {
            0 => AccountedFinding::NoCounters,
            pairs => AccountedFinding::NoContradiction { pairs },
        };
    }
    let differences = equal.iter().filter_map(|pair| Some((pair.difference_percent()?.abs(), pair)));
    let widest = differences.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, pair)| (*pair).clone());
    AccountedFinding::Agreement { pairs: equal.len(), at_least, widest }
}

fn attributed(record: &Record) -> impl Iterator<Item = (Counter, u64, u64)> {
    let both = |(counter, all): (Counter, u64)| Some((counter, record.counters.get(counter)?, all));
    record.server_counters.iter().filter_map(both)
}

fn words(counter: Counter) -> String {
    counter.name().replace('_', " ")
}

fn others(record: &Record) -> Option<AccountedFinding> {
    let rows = counter(record, Counter::TableRowsRead).and_then(|all| {
        let slack = under_way_at_edges(record) * largest_operation(record);
        let others = all.saturating_sub(total_rows(record));
        (others as f64 > slack).then_some(OthersWork { what: "rows read in the run's tables", others, all })
    });
    let by_counter = attributed(record).filter_map(|(counter, own, all)| {
        let others = all.saturating_sub(own).saturating_sub(neighbours_count(record, counter));
        let (floor, what) = match counter {
            Counter::LogicalReads => (OTHERS_VISITS.value, "logical reads"),
            Counter::PhysicalReads => (mebibytes() / f64::from(record.server.block_bytes), "physical reads"),
            Counter::RowsRead => (OTHERS_VISITS.value, "rows read"),
            Counter::RowsChanged => (OTHERS_VISITS.value, "rows changed"),
            Counter::Commits => (OTHERS_VISITS.value, "commits"),
            // The server's own processes log too.
            Counter::RedoBytes if !record.other_clients.is_empty() => (mebibytes(), "bytes of redo"),
            _ => return None,
        };
        (others as f64 > floor).then_some(OthersWork { what, others, all })
    });
    let most = by_counter.chain(rows).max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let ended = record.sessions.iter().filter(|session| session.error.is_some()).count();
    let lost = ended.max(record.losses.len());
    // A lost session may have done about its share.
    let explained = ratio(lost as f64, record.sessions.len() as f64).unwrap_or(0.0) + OTHERS_WORK.share();
    (most.share() > OTHERS_WORK.share()).then(|| match lost > 0 && most.share() <= explained {
        true => AccountedFinding::OthersOrLost { work: most },
        false => AccountedFinding::Others { work: most, by: record.other_clients.clone() },
    })
}

fn mebibytes() -> f64 {
    OTHERS_BYTES.value * f64::from(1 << 20)
}

const OF_FIGURES: [(Counter, &str); 4] = [
    (Counter::LogicalReads, "logical reads"),
    (Counter::PhysicalReads, "physical reads"),
    (Counter::RedoBytes, "bytes of redo"),
    (Counter::Commits, "commits"),
];

fn of_all_clients(record: &Record) -> Option<AccountedFinding> {
    let beside = |(counter, what): (Counter, &'static str)| {
        let (own, all) = (record.counters.get(counter)?, record.server_counters.get(counter)?);
        (all >= own).then(|| OthersWork { what, others: all - own, all })
    };
    let counters: Vec<OthersWork> = OF_FIGURES.into_iter().filter_map(beside).collect();
    (!counters.is_empty()).then_some(AccountedFinding::OfAllClients { counters })
}

fn on_totals(record: &Record) -> Option<AccountedFinding> {
    let is_total = |of| counter(record, of).is_some() && record.server_counters.get(of).is_none();
    let counters = OF_FIGURES.into_iter().filter(|(of, _)| is_total(*of)).map(|(_, what)| what).collect_vec();
    (!record.server.embedded && !counters.is_empty()).then_some(AccountedFinding::OnTotals { counters })
}

/// The edges of a host's figures lie anywhere within the queries' round trips.
fn long_round_trip(server: &ObservedRecord) -> Option<AccountedFinding> {
    let (seconds, window_s) = (server.round_trip_s?, server.seconds?);
    let percent = ratio(100.0 * seconds, window_s).filter(|share| *share > LONG_ROUND_TRIP.value)?;
    Some(AccountedFinding::LongRoundTrip {
        host: server.host.clone().unwrap_or_else(|| "the database's host".into()),
        seconds: Thousandths(seconds),
        percent: Percent(percent),
    })
}

fn neighbours_reads(record: &Record) -> Option<AccountedFinding> {
    let (theirs, all) = (neighbours_read_bytes(record), device_counters(record)?.used.read_bytes);
    let percent = ratio(100.0 * theirs as f64, all as f64).filter(|percent| *percent > 0.0)?.min(100.0);
    Some(AccountedFinding::NeighboursReads { percent: Percent(percent), names: named_neighbours(record) })
}

fn others_reads(pairs: &[Pair]) -> Option<AccountedFinding> {
    let device =
        pairs.iter().find(|pair| pair.left.0.starts_with(DEVICE_BYTES) && pair.rule == Rule::AtLeast)?;
    let percent = device.difference_percent().filter(|more| *more > OTHERS_READS.value)?;
    let by_kernel = pairs.iter().any(|pair| pair.left.0 == OWN_BYTES || pair.left.0 == SERVERS_BYTES);
    let percent = Percent(percent);
    Some(match by_kernel {
        true => AccountedFinding::OthersReads { percent },
        false => AccountedFinding::OthersReadsOrReadAhead { percent },
    })
}

/// An operation under way at a snapshot may be on different sides of an edge in two counters.
fn independent_pairs(record: &Record) -> Vec<Pair> {
    let under_way = under_way_at_edges(record);
    let edge_blocks = under_way * largest_operation(record);
    let edge_bytes = edge_blocks * f64::from(record.server.block_bytes);
    // Index pages and the second visit of a change come on top of the rows.
    let logical = counter(record, Counter::LogicalReads).map(|logical| {
        let rows = ("rows of operations", total_rows(record));
        Pair::new(Rule::AtLeast, ("logical reads", logical), rows).with_slack(edge_blocks)
    });
    let transactions = transactions(record).filter(|transactions| *transactions > 0);
    // A transaction ends where its batch is cut, at the edges of the window.
    let is_each = record.workload.commit_every == Every::ONE;
    let slack = if is_each { under_way } else { under_way.max(f64::from(record.workload.sessions())) };
    let commits = counter(record, Counter::Commits).zip(transactions).map(|(commits, transactions)| {
        // Servers also count transactions that only read, and those of other sessions.
        let rule = if record.server.embedded { Rule::Equal } else { Rule::AtLeast };
        let name = if is_each { "UPDATEs with commit" } else { "UPDATEs by COMMIT_EVERY" };
        let updates = (name, transactions);
        Pair::new(rule, ("commits of the database", commits), updates).with_slack(slack)
    });
    let rows = counter(record, Counter::TableRowsRead).map(|read| {
        let rows = ("rows of operations", total_rows(record));
        Pair::new(Rule::AtLeast, ("rows read in the run's tables", read), rows).with_slack(edge_blocks)
    });
    let reads = read_pairs(record, edge_bytes);
    logical.into_iter().chain(rows).chain(commits).chain(reads).chain(traced_pair(record)).collect()
}

/// One of each session if they did not rest at the edge.
fn under_way_at_edges(record: &Record) -> f64 {
    let at_edge = |edge: &EdgeRecord| edge.operations_under_way as f64;
    record.edges.as_ref().map_or_else(
        || f64::from(record.workload.sessions()),
        |edges| at_edge(&edges.begin).max(at_edge(&edges.end)),
    )
}

fn largest_operation(record: &Record) -> f64 {
    let workload = &record.workload;
    let keyed = u64::from(workload.work_unit.max(workload.update_work_unit).get());
    let scanned = record.load.as_ref().filter(|_| workload.scans()).map_or(0, |load| load.scan_blocks);
    keyed.max(scanned) as f64
}

/// More at the device is others' reads, less is a cache. 'Physical?' judges differences that a page cache explains.
fn read_pairs(record: &Record, edge_bytes: f64) -> Vec<Pair> {
    let none = counter(record, Counter::PhysicalReads) == Some(0);
    let Some(bytes) = physical_read_bytes_of_all(record).filter(|_| !none) else { return Vec::new() };
    let direct = bypasses_page_cache(record);
    let pair = |rule, name: Cow<'static, str>, read: u64| {
        let rule = if direct { rule } else { Rule::Shown };
        let slack = edge_bytes + unwritten_bytes(record);
        let pair = Pair::new(rule, (name, read), (REQUESTED_BYTES, bytes)).with_slack(slack);
        Pair { incidental: incidental_bytes(record), ..pair }
    };
    let process = own_read_bytes(record).map(|fetched| match record.server.embedded {
        true => pair(Rule::Equal, OWN_BYTES.into(), fetched),
        // A server also reads logs, catalogues, and for other sessions.
        false => pair(Rule::AtLeast, SERVERS_BYTES.into(), fetched),
    });
    let groups: Option<Vec<u64>> = record.observed.iter().map(|server| server.group?.read_bytes).collect();
    let groups = groups.filter(|each| !each.is_empty()).map(saturating_sum);
    let groups = groups.map(|read| pair(Rule::AtLeast, GROUP_BYTES.into(), read));
    let device = device_counters(record).map(|device| {
        // The device's further reads are others' if the process's own count agrees. A server's counters leave no read out.
        let others_known = !record.server.embedded || process.as_ref().is_some_and(Pair::agrees);
        let rule = if others_known { Rule::AtLeast } else { Rule::Equal };
        // Windows that start together differ by milliseconds, in which a busy neighbour reads much.
        let theirs = neighbours_read_bytes(record);
        let name = match theirs {
            0 => Cow::Borrowed(DEVICE_BYTES),
            _ => format!("{DEVICE_BYTES} less those of {}", named_neighbours(record)).into(),
        };
        let pair = pair(rule, name, device.used.read_bytes.saturating_sub(theirs));
        let slack = pair.slack + COUNTERS_DIFFER.share() * theirs as f64;
        pair.with_slack(slack)
    });
    process.into_iter().chain(groups).chain(device).collect()
}

/// Requests without read calls are asynchronous reads, whose calls are unknown.
fn traced_pair(record: &Record) -> Option<Pair> {
    let trace = record.trace.as_ref()?;
    let kernel = &trace.kernel;
    let count = |span| kernel.span(span).map_or(0, Histogram::count);
    let is_synchronous = count(Span::ReadFromDevice) as f64
        >= (1.0 - COUNTERS_DIFFER.share()) * count(Span::ReadInDevice) as f64;
    let reads = database_reads(trace)?;
    let calls = ("read calls that the kernel traced", kernel.reads().count());
    let slack = f64::from(record.workload.sessions());
    is_synchronous.then(|| {
        Pair::new(Rule::AtLeast, calls, ("reads counted by the database then", reads)).with_slack(slack)
    })
}

pub(super) fn incidental_bytes(record: &Record) -> f64 {
    let redo = counter(record, Counter::RedoBytes).unwrap_or(0);
    INCIDENTAL_READS.value * f64::from(1 << 20) + LOG_READ_BACK.share() * redo as f64
}

/// The extent at a table's end has pages that were never written: the file system supplies zeros. One extent per scan at most.
pub(super) fn unwritten_bytes(record: &Record) -> f64 {
    let block_bytes = f64::from(record.server.block_bytes);
    let extent = UNWRITTEN_AHEAD.value * block_bytes.max(f64::from(1 << 14));
    let scans = record.operations.get(&OpKind::Scan).map_or(0, |scans| scans.operations);
    let ahead = counter_of_all(record, Counter::PhysicalReadsAhead).unwrap_or(0);
    (ahead as f64 * block_bytes).min(scans as f64 * extent)
}

fn own_pairs(record: &Record) -> Vec<Pair> {
    let kinds = ("operations by kind", total_operations(record));
    let mut pairs = Vec::new();
    // Each of a session's times is cut to whole microseconds.
    let cut_us = |times: usize| (times * record.sessions.len()) as f64;
    if let Some(db_time_s) = db_time_s(record) {
        let by_session = saturating_sum(record.sessions.iter().map(SessionRecord::operations));
        pairs.push(Pair::new(Rule::Equal, ("operations by session", by_session), kinds));
        let busy = ("us of all sessions", (db_time_s * 1e6) as u64);
        let durations = ("us of all operations", all_operations(record).sum() / 1000);
        pairs.push(Pair::new(Rule::Equal, busy, durations).with_slack(cut_us(1)));
    }
    // Little's law: throughput times the mean of response and think time is the number of sessions.
    if let Some(time) = SessionsTime::of(record) {
        let all = ("us of all sessions in the window", time.window_us);
        let spent = ("us in responses and think time", time.responses_us.saturating_add(time.idle_us));
        let counted = ("us in operations and waiting", time.busy_and_waiting_us);
        let responses = ("us in responses", time.responses_us);
        pairs.push(Pair::new(Rule::Equal, all, spent).with_slack(cut_us(3)));
        pairs.push(Pair::new(Rule::Equal, counted, responses).with_slack(cut_us(3)));
    }
    if let Some((within, touching)) = operations_within_and_touching(record) {
        let inner = ("operations of the seconds within the window", within);
        let outer = ("operations of the seconds that touch the window", touching);
        pairs.push(Pair::new(Rule::AtLeast, kinds, inner));
        pairs.push(Pair::new(Rule::AtLeast, outer, kinds));
    }
    pairs
}
