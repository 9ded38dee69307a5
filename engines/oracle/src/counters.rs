//! Counters, waits and latencies, from V$ or GV$ views. No licensed pack is used.
//!
//! Waits are those of foreground processes. A wait counts as the upper bound of its bucket, a power of two. The total time is
//! exact.

use std::collections::BTreeMap;
use std::time::Duration;

use slob_engine::{
    Counter, Counters, Figures, Latency, LatencyKind, Result, ServerSnapshot, Snapshot, WaitEvent, WaitTotal,
};
use slob_server::literals;
use slob_stats::Histogram;

use crate::client::{Client, During, Row, number, text};
use crate::database::{Database, Role};
use crate::release::{CONTAINERS, MICROSECOND_HISTOGRAMS, Scope, Version};
use crate::statements::fill;

const STATISTICS: &[(&str, Counter)] = &[
    ("session logical reads", Counter::LogicalReads),
    ("physical reads", Counter::PhysicalReads),
    ("physical read IO requests", Counter::PhysicalReadRequests),
    ("physical read bytes", Counter::PhysicalReadBytes),
    ("physical writes", Counter::PhysicalWrites),
    ("physical write bytes", Counter::PhysicalWriteBytes),
    ("redo size", Counter::RedoBytes),
    ("redo writes", Counter::RedoWrites),
    ("redo synch writes", Counter::RedoSyncs),
    ("user commits", Counter::Commits),
    ("background checkpoints completed", Counter::Checkpoints),
];

const CLEANOUTS: &str = "cleanouts only - consistent read gets";
const LOB_WRITES: &str = "lob writes";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unwanted {
    cleanouts: u64,
    lob_writes: u64,
}

impl Unwanted {
    pub(crate) fn count(database: &Database) -> Option<Self> {
        let sql = database.views.fill(include_str!("../sql/sysstat.sql"));
        let sql = fill(&sql, &[("names", &literals([CLEANOUTS, LOB_WRITES]))]);
        let rows =
            database.with_counters(|client| client.query(&sql, &[]).during("counting cleanouts")).ok()?;
        let of = |name| {
            rows.iter().filter(|row| text(row, 1) == Some(name)).filter_map(|row| number(row, 2)).sum()
        };
        Some(Self { cleanouts: of(CLEANOUTS), lob_writes: of(LOB_WRITES) })
    }

    pub(crate) fn notes_since(self, before: Self, updates: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let cleanouts = self.cleanouts.saturating_sub(before.cleanouts);
        if cleanouts > 0 && !updates {
            notes.push(format!(
                "SELECTs cleaned {cleanouts} blocks out (statistic '{CLEANOUTS}', with the warm-up): earlier loads or UPDATEs left \
                 them, and this made redo, dirty blocks and writes in a run without UPDATEs. Repeat it for figures without them."
            ));
        }
        let lobs = self.lob_writes.saturating_sub(before.lob_writes);
        if lobs > 0 {
            notes.push(format!(
                "{lobs} LOBs were written (statistic '{LOB_WRITES}'): by other sessions, or since the client library made LOBs of \
                 the texts of batches, which costs round trips and logical reads. If nothing else was at work, report it to us."
            ));
        }
        notes
    }
}

const READS: [&str; 7] = [
    "db file sequential read",
    "db file scattered read",
    "db file parallel read",
    "direct path read",
    "cell single block physical read",
    "cell multiblock physical read",
    "cell list of blocks physical read",
];

/// Exadata has events of its own. DBWR submits a batch of writes with one `db file parallel write`.
const LATENCIES: &[(&str, LatencyKind)] = &[
    ("db file sequential read", LatencyKind::PhysicalRead),
    ("cell single block physical read", LatencyKind::PhysicalRead),
    ("db file parallel write", LatencyKind::PhysicalWrite),
    ("log file sync", LatencyKind::RedoSync),
];

/// The server's own reports have this class.
const CPU: &str = "CPU";
/// Events count this I/O too.
const BY_FUNCTION: &str = "I/O by function";
/// A server that hangs holds up the timeline no longer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Since 19c, Exadata's reads name a cache after a colon, as in 'cell single block physical read: RDMA'.
fn is_variety_of(event: &str, known: &str) -> bool {
    event.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Views {
    Instance,
    Cluster,
}

impl Views {
    pub(crate) fn fill(self, template: &str) -> String {
        self.fill_with(template, "")
    }

    /// The last column is the container of a row.
    fn fill_with(self, template: &str, con_id: &str) -> String {
        let (prefix, instance, by_instance) = match self {
            Self::Instance => ("v$", "1", ""),
            Self::Cluster => ("gv$", "inst_id", "inst_id, "),
        };
        let values =
            [("con_id", con_id), ("v", prefix), ("instance", instance), ("by_instance", by_instance)];
        fill(template, &values)
    }
}

pub(crate) const QUERIES: [&str; 5] = ["statistics", "waits", "time model", "histograms", "I/O by function"];

/// The first column is the instance.
pub(crate) fn queries(views: Views, version: &Version) -> [String; 5] {
    let statistics: Vec<&str> = STATISTICS.iter().map(|(name, _)| *name).collect();
    let events: Vec<&str> = LATENCIES.iter().map(|(name, _)| *name).collect();
    let varieties: String = events.iter().map(|name| format!(" OR event LIKE '{name}: %'")).collect();
    let con_id = if version.has(CONTAINERS) { ", MAX(con_id) AS con_id" } else { "" };
    let query = |template, names: &[&str]| {
        fill(
            &views.fill_with(template, con_id),
            &[("names", &literals(names.iter().copied())), ("varieties", &varieties)],
        )
    };
    let histogram = if version.has(MICROSECOND_HISTOGRAMS) {
        include_str!("../sql/histogram_micro.sql")
    } else {
        include_str!("../sql/histogram_milli.sql")
    };
    [
        query(include_str!("../sql/sysstat.sql"), &statistics),
        query(include_str!("../sql/system_event.sql"), &[]),
        query(include_str!("../sql/time_model.sql"), &[]),
        query(histogram, &events),
        query(include_str!("../sql/iostat_function.sql"), &[]),
    ]
}

type ByInstance = BTreeMap<u64, Figures>;

pub(crate) fn snapshot(database: &Database) -> Result<Snapshot> {
    let mut figures = database.with_counters(|client| by_instance(client, database))?;
    let Some(instances) = database.instances.get_or_init(|| instances(database)) else {
        // Without an instance of an earlier sum, the difference would be wrong.
        let summed = database.summed.get_or_init(|| figures.keys().copied().collect());
        let all = match figures.keys().eq(summed) {
            true => ServerSnapshot::Figures(Figures::sum(figures.into_values())),
            false => ServerSnapshot::Unreachable,
        };
        // All services lead to one database, whose views count all of it.
        let others = database.connections.access.services.len().saturating_sub(1);
        let seen = [all].into_iter().chain((0..others).map(|_| ServerSnapshot::SameAs(0)));
        return Ok(Snapshot::of_servers(seen.collect()));
    };
    let seen = |(endpoint, instance): (usize, &u64)| {
        let first = instances.iter().position(|other| other == instance).unwrap_or(endpoint);
        match figures.remove(instance) {
            Some(figures) => ServerSnapshot::Figures(figures),
            None if first < endpoint => ServerSnapshot::SameAs(first),
            None => ServerSnapshot::Unreachable,
        }
    };
    Ok(Snapshot::of_servers(instances.iter().enumerate().map(seen).collect()))
}

/// `None` unless every instance has an endpoint.
fn instances(database: &Database) -> Option<Vec<u64>> {
    let endpoints = database.connections.access.services.len();
    if database.views == Views::Instance || endpoints < 2 {
        return None;
    }
    let instance = |endpoint| {
        let mut client = database.connections.connect_to_endpoint(Role::Admin, endpoint).ok()?;
        client.visible_number(include_str!("../sql/instance_number.sql"))
    };
    let instances: Vec<u64> = (0..endpoints).map(instance).collect::<Option<_>>()?;
    let all = database.with_counters(|client| by_instance(client, database)).ok()?;
    all.keys().all(|instance| instances.contains(instance)).then_some(instances)
}

fn by_instance(client: &mut dyn Client, database: &Database) -> Result<ByInstance> {
    client.limit(Some(QUERY_TIMEOUT));
    let figures = query_figures(client, database);
    client.limit(None);
    figures
}

fn query_figures(client: &mut dyn Client, database: &Database) -> Result<ByInstance> {
    let [statistics, waits, model, histograms, io] = queries(database.views, &database.version);
    let mut query = |sql: &str| client.query(sql, &[]).during("reading counters");
    let answers = [
        query(&statistics)?,
        query(&waits)?,
        query(&model)?,
        query(&histograms)?,
        // Not every service shows it, and no figure needs it.
        query(&io).unwrap_or_default(),
    ];
    Ok(figures(answers, &database.scope))
}

pub(crate) fn figures(answers: [Vec<Row>; 5], scope: &Scope) -> ByInstance {
    let mut answers = answers.map(split_by_instance);
    let instances: Vec<u64> = answers[0].keys().copied().collect();
    let mut of_instance = |instance: u64| {
        let [statistics, waits, model, histograms, io] =
            answers.each_mut().map(|rows| rows.remove(&instance).unwrap_or_default());
        let mut counters = counters(&statistics);
        let mut events = wait_events(&waits);
        if let Some(time_ns) = read_time_ns(&events) {
            counters.set(Counter::PhysicalReadTimeNs, time_ns);
        }
        let totals = totals(&events);
        events.extend(cpu(&model));
        events.extend(io_by_function(&io));
        scope.events(&mut events);
        // Releases without containers have no such column.
        let con_id = histograms.iter().filter_map(|row| number(row, 3)).max();
        let latency = |(kind, histogram)| {
            let latency = Latency { histogram, exact: totals.get(&kind).copied() };
            Some((kind, scope.latency(kind, latency, con_id)?))
        };
        let latencies = latencies(&histograms).into_iter().filter_map(latency).collect();
        Figures { counters: scope.counters(&counters), latencies, events, ..Figures::default() }
    };
    instances.into_iter().map(|instance| (instance, of_instance(instance))).collect()
}

fn split_by_instance(rows: Vec<Row>) -> BTreeMap<u64, Vec<Row>> {
    let mut split: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
    for mut row in rows {
        if let Some(instance) = number(&row, 0) {
            row.remove(0);
            split.entry(instance).or_default().push(row);
        }
    }
    split
}

fn counters(rows: &[Row]) -> Counters {
    let counter = |row: &Row| {
        let name = text(row, 0)?;
        let (_, counter) = STATISTICS.iter().find(|(known, _)| *known == name)?;
        Some((*counter, number(row, 1)?))
    };
    rows.iter().filter_map(counter).collect()
}

/// `None` without such waits.
fn read_time_ns(events: &[WaitEvent]) -> Option<u64> {
    let is_read = |event: &&WaitEvent| READS.iter().any(|known| is_variety_of(&event.name, known));
    let reads = events.iter().filter(|event| !event.background).filter(is_read);
    let mut times = reads.map(|event| event.time_us.saturating_mul(1000)).peekable();
    times.peek()?;
    Some(times.sum())
}

fn latency_kind(event: &str) -> Option<LatencyKind> {
    LATENCIES.iter().find(|(known, _)| is_variety_of(event, known)).map(|(_, kind)| *kind)
}

fn latencies(rows: &[Row]) -> BTreeMap<LatencyKind, Histogram> {
    let mut latencies: BTreeMap<LatencyKind, Histogram> = BTreeMap::new();
    for row in rows {
        if let Some(kind) = text(row, 0).and_then(latency_kind)
            && let (Some(bound_us), Some(waits)) = (number(row, 1), number(row, 2))
            && waits > 0
        {
            latencies.entry(kind).or_default().record_n(bound_us.saturating_mul(1000), waits);
        }
    }
    latencies
}

/// Sessions wait for reads and the log, the server's own processes for writes.
fn totals(events: &[WaitEvent]) -> BTreeMap<LatencyKind, WaitTotal> {
    let mut totals: BTreeMap<LatencyKind, WaitTotal> = BTreeMap::new();
    for event in events {
        let counts = |kind: &LatencyKind| !event.background || *kind == LatencyKind::PhysicalWrite;
        if let Some((kind, waits)) = latency_kind(&event.name).filter(counts).zip(event.waits) {
            let total = totals.entry(kind).or_default();
            total.waits += waits;
            total.time_us += event.time_us;
        }
    }
    totals
}

fn wait_event(row: &Row, class: &str, columns: [usize; 2], background: bool) -> Option<WaitEvent> {
    let waits = number(row, columns[0]).filter(|waits| *waits > 0)?;
    let (name, time_us) = (text(row, 0)?.to_owned(), number(row, columns[1])?);
    Some(WaitEvent { name, class: class.into(), waits: Some(waits), time_us, background })
}

/// Columns: event, class, and waits and microseconds of foreground processes, then of the server's own.
fn wait_events(rows: &[Row]) -> Vec<WaitEvent> {
    let of = |row, columns, background| wait_event(row, text(row, 1)?, columns, background);
    rows.iter().flat_map(|row| [of(row, [2, 3], false), of(row, [4, 5], true)]).flatten().collect()
}

fn io_by_function(rows: &[Row]) -> Vec<WaitEvent> {
    rows.iter().filter_map(|row| wait_event(row, BY_FUNCTION, [1, 2], true)).collect()
}

fn cpu(rows: &[Row]) -> Option<WaitEvent> {
    let row = rows.iter().find(|row| text(row, 0) == Some("DB CPU"))?;
    let time_us = number(row, 1)?;
    Some(WaitEvent { name: "DB CPU".into(), class: CPU.into(), waits: None, time_us, background: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::rows;
    use rstest::rstest;

    #[test]
    fn every_statistic_is_a_counter_of_its_own() {
        let values: Vec<Row> = STATISTICS
            .iter()
            .zip(1..)
            .flat_map(|((name, _), value)| rows(&format!("{name} | {value}")))
            .collect();
        let counters = counters(&values);
        assert_eq!(counters.iter().count(), STATISTICS.len());
        for ((_, counter), value) in STATISTICS.iter().zip(1..) {
            assert_eq!(counters.get(*counter), Some(value));
        }
    }

    #[test]
    fn missing_statistics_are_absent_counters() {
        let counters = counters(&rows("redo size | 4096\nunknown | 7\nphysical reads | NULL"));
        assert_eq!(counters.get(Counter::RedoBytes), Some(4096));
        assert_eq!(counters.iter().count(), 1);
        assert_eq!(read_time_ns(&[]), None);
    }

    #[rstest]
    #[case("db file sequential read 5, log file sync 70, direct path read 2, direct path read temp 90", 7)]
    #[case(
        "cell single block physical read: RDMA 30, cell multiblock physical read: flash cache 4, cell single block physical read 1",
        35
    )]
    fn time_of_reads_is_that_of_their_events(#[case] events: &str, #[case] read_us: u64) {
        let event = |text: &str| {
            let (name, time_us) = text.rsplit_once(' ').unwrap();
            let (name, class, time_us) = (name.to_owned(), "User I/O".to_owned(), time_us.parse().unwrap());
            WaitEvent { name, class, waits: Some(1), time_us, background: false }
        };
        let events: Vec<WaitEvent> = events.split(", ").map(event).collect();
        assert_eq!(read_time_ns(&events), Some(read_us * 1000));
    }

    #[test]
    fn queries_are_those_of_views_and_release() {
        let of = |views, release| queries(views, &Version::parse(release));
        let [cluster, instance] = [Views::Cluster, Views::Instance].map(|views| of(views, "19.0.0.0.0"));
        assert!(
            cluster[0].contains("FROM gv$sysstat") && cluster[0].contains("GROUP BY inst_id, name"),
            "{cluster:?}"
        );
        assert!(instance[0].contains("FROM v$sysstat") && !instance[0].contains('{'), "{instance:?}");
        assert!(instance[0].contains("MAX(con_id)"), "{instance:?}");
        assert!(instance[3].contains("v$event_histogram_micro"), "{instance:?}");
        assert!(instance[3].contains("OR event LIKE 'cell single block physical read: %'"), "{instance:?}");
        let old = of(Views::Instance, "11.2.0.4.0");
        assert!(!old[0].contains("con_id"), "there are no containers: {old:?}");
        assert!(old[3].contains("v$event_histogram\n") && old[3].contains("* 1000"), "{old:?}");
    }

    #[test]
    fn buckets_become_histograms_of_their_events() {
        let latencies = latencies(&rows(
            "db file sequential read | 512 | 10
             cell single block physical read | 256 | 5
             log file sync | 1024 | 3
             log file sync | 2048 | 0
             enq: TX - row lock contention | 1024 | 9",
        ));
        assert_eq!(latencies.len(), 2);
        let reads = &latencies[&LatencyKind::PhysicalRead];
        assert_eq!((reads.count(), reads.max(), reads.min()), (15, Some(512_000), Some(256_000)));
        assert_eq!(latencies[&LatencyKind::RedoSync].count(), 3);
    }

    #[test]
    fn reads_from_the_caches_of_an_exadata_are_physical_reads() {
        let varieties = ["", ": RDMA", ": flash cache", ": pmem cache", ": xrmem cache", "s of another kind"];
        let varieties = varieties.map(|rest| format!("cell single block physical read{rest} | 256 | 2"));
        assert_eq!(latencies(&rows(&varieties.join("\n")))[&LatencyKind::PhysicalRead].count(), 10);
    }

    /// The last bucket has no end, and counts as its lower bound.
    #[test]
    fn histograms_of_old_releases_are_read_too() {
        let latencies = latencies(&rows(
            "db file sequential read | 1000 | 700
             db file sequential read | 2000 | 40
             db file parallel write | 4194304000 | 1",
        ));
        assert_eq!(latencies[&LatencyKind::PhysicalRead].count(), 740);
        assert_eq!(latencies[&LatencyKind::PhysicalWrite].count(), 1);
    }

    /// A read of 257 us is in the bucket of 512 us.
    #[test]
    fn totals_come_from_events_rather_than_bounds_of_buckets() {
        let waits = rows(
            "db file sequential read | User I/O | 10 | 2570 | 3 | 9000
             cell single block physical read: RDMA | User I/O | 5 | 100 | 0 | 0
             log file sync | Commit | 4 | 2000 | 1 | 70
             db file parallel write | System I/O | 0 | 0 | 8 | 640
             db file scattered read | User I/O | 7 | 7000 | 0 | 0",
        );
        let total = |waits, time_us| WaitTotal { waits, time_us };
        let expected = [
            (LatencyKind::PhysicalRead, total(15, 2670)),
            (LatencyKind::PhysicalWrite, total(8, 640)),
            (LatencyKind::RedoSync, total(4, 2000)),
        ];
        assert_eq!(totals(&wait_events(&waits)), expected.into());
    }

    #[test]
    fn cpu_is_a_wait_without_a_count() {
        let cpu = cpu(&rows("DB time | 900\nDB CPU | 250")).unwrap();
        assert_eq!((cpu.name.as_str(), cpu.waits, cpu.time_us), ("DB CPU", None, 250));
    }

    /// A busy instance of 19c has sums that only NUMBER holds.
    #[test]
    fn waits_of_sessions_and_of_the_servers_own_processes_are_apart() {
        let waits = wait_events(&rows(
            "db file sequential read | User I/O | 90210514 | 38719205519 | 17204 | 9120733
             log file sync | Commit | 1849271 | 1402887213 | 0 | 0
             db file parallel write | System I/O | 0 | 0 | 2760011 | 1019822154
             log file parallel write | System I/O | 0 | 0 | 1790225 | 691200981
             cursor: pin S | Concurrency | 0 | 0 | 0 | 0",
        ));
        let seen: Vec<_> = waits.iter().map(|event| (event.name.as_str(), event.background)).collect();
        assert_eq!(
            seen,
            [
                ("db file sequential read", false),
                ("db file sequential read", true),
                ("log file sync", false),
                ("db file parallel write", true),
                ("log file parallel write", true)
            ]
        );
        assert_eq!((waits[0].waits, waits[0].time_us), (Some(90_210_514), 38_719_205_519));
        assert_eq!((waits[3].waits, waits[3].time_us), (Some(2_760_011), 1_019_822_154));
    }

    #[test]
    fn io_by_function_is_background_work() {
        let io = io_by_function(&rows(
            "Buffer Cache Reads | 90001211 | 38600112000
             LGWR | 1790225 | 690000000
             Smart Scan | 0 | 0
             XDB | 1 | NULL",
        ));
        assert_eq!(io.len(), 2);
        assert!(io.iter().all(|event| event.background && event.class == "I/O by function"));
        assert_eq!((io[1].waits, io[1].time_us), (Some(1_790_225), 690_000_000));
    }
}
