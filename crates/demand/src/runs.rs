//! Runs as samples of a profile.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use jiff::tz::TimeZone;
use slob_facts::{Grade, Run, figure};
use slob_measure::{Bound, Counter, Facts, LatencyKind, OpCounts, OpKind, WorkingSet};
use slob_record::{Interval, KindRecord, RateStepRecord, Record, Status, Window};
use slob_spec::{RateSchedule, Workload};
use slob_stats::{Histogram, Merge, Point, Series};

use crate::{Bucket, Figure, Figures, Histograms, Measured, Sample, Subject};

pub fn sample_of_run(record: &Record) -> Sample {
    let window = record.window;
    let started = record.started.to_zoned(TimeZone::system()).datetime();
    let after = |seconds: f64| {
        let length = jiff::SignedDuration::try_from_secs_f64(seconds).unwrap_or_default();
        started.saturating_add(length)
    };
    let fault = match (&record.status, window) {
        (Status::Failed { error }, _) => Some(format!("the run failed: {error}")),
        (_, None) => Some("the run ended before its measured window".to_owned()),
        _ => None,
    };
    Sample {
        subject: Subject {
            name: record.target.clone(),
            version: Some(format!("{} {}", record.server.product, record.server.version)),
            block_bytes: Some(record.server.block_bytes),
            cpus: record.host.as_ref().and_then(|host| host.info.cpus_online),
            facts: facts(record),
            ..Subject::default()
        },
        source: record.id.clone(),
        instance: None,
        begin: window.map(|window| after(window.begin_s)),
        end: None,
        seconds: window.map(|window| window.seconds),
        figures: figures(record),
        histograms: histograms(record),
        bad: Run::of(record).judged().iter().filter(|one| one.answer == Grade::Bad).cloned().collect(),
        faults: fault.into_iter().collect(),
    }
}

/// The operations of a run visit all blocks of its SCALE.
fn facts(record: &Record) -> Facts {
    let Some(load) = &record.load else { return Facts::default() };
    let blocks: u64 = load.schemas.iter().map(|schema| schema.all_blocks).sum();
    let visited = record.workload.scale_blocks.saturating_mul(load.schemas.len() as u64);
    let bytes = |blocks: u64| blocks.saturating_mul(u64::from(record.server.block_bytes));
    let method = "SCALE x schemas of the run".to_owned();
    Facts {
        database_bytes: Some(bytes(blocks)),
        cache_bytes: None,
        working_set: Some(WorkingSet::Estimate { bytes: bytes(visited), bound: Bound::About, method }),
    }
}

pub(crate) fn figures(record: &Record) -> Figures {
    let of = Run::of(record);
    let known = [
        (Figure::LogicalReads, figure::LOGICAL_READS_PER_S, 1.0),
        (Figure::ReadRequests, figure::PHYSICAL_READ_REQUESTS_PER_S, 1.0),
        (Figure::ReadBlocks, figure::PHYSICAL_READS_PER_S, 1.0),
        (Figure::ReadBytes, figure::PHYSICAL_READ_MB_PER_S, 1e6),
        (Figure::WriteBlocks, figure::PHYSICAL_WRITES_PER_S, 1.0),
        (Figure::RedoBytes, figure::REDO_MB_PER_S, 1e6),
        // Some databases also count commits of transactions without writes, which need no log.
        (Figure::Commits, figure::UPDATES_PER_S, 1.0 / record.workload.commit_every.get()),
        (Figure::Executions, figure::OPERATIONS_PER_S, 1.0),
        (Figure::DbTime, figure::AVERAGE_ACTIVE_SESSIONS, 1.0),
        (Figure::DbCpu, figure::DB_CPUS, 1.0),
        (Figure::ReadUs, figure::PHYSICAL_READ_MEAN_US, 1.0),
        (Figure::CommitUs, figure::REDO_SYNC_MEAN_US, 1.0),
    ];
    let value = |(name, figure, scale): (Figure, figure::Figure, f64)| Some((name, figure.of(&of)? * scale));
    known.into_iter().filter_map(value).collect()
}

/// The whole steps of a schedule, each as a record, by the second of the window at which it begins.
pub(crate) fn steps(record: &Record) -> Vec<(f64, Record)> {
    record.rate_steps.iter().map(|step| (step.from_s, record_of_step(record, step))).collect()
}

fn record_of_step(run: &Record, step: &RateStepRecord) -> Record {
    record_of(run, step, intervals_of_step(run, step))
}

/// A stretch of a run with its operations. Names every field, so that a new one needs a decision: the stretch's own, or the same
/// in the whole run. Others are absent.
pub(crate) fn record_of(run: &Record, step: &RateStepRecord, operations: Interval) -> Record {
    let RateStepRecord { mut counters, server_counters, latencies, events, .. } = step.clone();
    // Records of older releases have no counts of all clients for a step. A time of everybody's reads, which no server told apart by
    // clients, then has no number of reads.
    let is_everybodys = run.server_counters.get(Counter::PhysicalReadTimeNs).is_none();
    if server_counters.is_empty() && !run.server_counters.is_empty() && is_everybodys {
        counters.remove(Counter::PhysicalReadTimeNs);
    }
    Record {
        record_version: run.record_version,
        slob_version: run.slob_version.clone(),
        id: run.id.clone(),
        name: run.name.clone(),
        status: run.status.clone(),
        started: run.started,
        ended: run.ended,
        target: run.target.clone(),
        server: run.server.clone(),
        configuration: run.configuration.clone(),
        workload: Workload { rate_per_s: rate_of_step(run, step), ..run.workload.clone() },
        load: run.load.clone(),
        window: Some(Window { begin_s: step.begin_s, seconds: step.seconds }),
        operations: by_kind(operations),
        backlog: None,
        dispatch: Histogram::new(),
        conflicts: BTreeMap::new(),
        losses: Vec::new(),
        marks: Vec::new(),
        edges: None,
        until_steady: None,
        warm_up: None,
        look: None,
        sessions: Vec::new(),
        counters,
        server_counters,
        other_clients: Vec::new(),
        latencies,
        events,
        rate_steps: Vec::new(),
        server_report: None,
        endpoints: Vec::new(),
        db_cpu: None,
        db_io: None,
        client_cpu: None,
        client_io: None,
        client_peak_memory_bytes: None,
        host: None,
        observed: Vec::new(),
        trace: None,
        client_host: None,
        together: None,
        probe: run.probe.clone(),
        verification: None,
        series: Series::new(0, 2),
        notes: Vec::new(),
        files: BTreeMap::new(),
        digest: None,
    }
}

fn rate_of_step(run: &Record, step: &RateStepRecord) -> Option<RateSchedule> {
    let mut spans = run.workload.rate_per_s.as_ref()?.spans();
    let (.., per_second) = spans.find(|(from_s, ..)| *from_s == step.from_s)?;
    NonZeroU32::new(per_second).map(RateSchedule::constant)
}

/// The intervals whose middle lies in the step, merged.
fn intervals_of_step(run: &Record, step: &RateStepRecord) -> Interval {
    let middle = |point: &Point<'_, Interval>| point.start_s as f64 + run.series.width_s() as f64 / 2.0;
    let of_step = step.begin_s..step.begin_s + step.seconds;
    let own = run.series.points().filter(|point| of_step.contains(&middle(point)));
    let mut all = Interval::default();
    own.filter_map(|point| point.value).for_each(|interval| all.merge(interval));
    all
}

/// Durations are not kept by kind: the most frequent kind has all of them.
fn by_kind(all: Interval) -> BTreeMap<OpKind, KindRecord> {
    let OpCounts { selects, updates, scans } = all.ops;
    let counts = [(OpKind::Select, selects), (OpKind::Update, updates), (OpKind::Scan, scans)];
    let (latency, response) = (Histogram::new(), Histogram::new());
    let none = KindRecord { operations: 0, rows: 0, latency, response };
    let kind = |(kind, operations)| (kind, KindRecord { operations, ..none.clone() });
    let mut kinds: BTreeMap<OpKind, KindRecord> =
        counts.into_iter().filter(|(_, operations)| *operations > 0).map(kind).collect();
    if let Some(most) = kinds.values_mut().max_by_key(|kind| kind.operations) {
        (most.rows, most.latency, most.response) = (all.rows, all.latency, all.response);
    }
    kinds
}

pub fn measured_by_run(record: &Record) -> Option<Measured> {
    let seconds = record.window?.seconds;
    let per_s = |kind| record.operations.get(&kind).map_or(0.0, |of| of.operations as f64 / seconds);
    Some(Measured {
        seconds,
        figures: figures(record),
        selects_per_s: per_s(OpKind::Select),
        updates_per_s: per_s(OpKind::Update),
        scans_per_s: per_s(OpKind::Scan),
    })
}

pub(crate) fn histograms(record: &Record) -> Histograms {
    let named = [("read", LatencyKind::PhysicalRead), ("commit", LatencyKind::RedoSync)];
    let of = |(name, kind): (&str, LatencyKind)| {
        let histogram = &record.latencies.get(kind)?.histogram;
        let mut buckets: Vec<Bucket> = Vec::new();
        for (low, high, waits) in histogram.buckets() {
            let power = ((low + high) as f64 / 2.0).max(1.0).log2().floor();
            let (from_us, to_us) = (power.exp2() / 1e3, (power + 1.0).exp2() / 1e3);
            match buckets.last_mut().filter(|last| last.from_us == from_us) {
                Some(last) => last.waits += waits as f64,
                None => buckets.push(Bucket { from_us, to_us: Some(to_us), waits: waits as f64 }),
            }
        }
        (!buckets.is_empty()).then(|| (name.to_owned(), buckets))
    };
    named.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use slob_measure::{Counters, Latencies};

    use super::*;
    use slob_testing::records;

    #[test]
    fn a_step_of_a_schedule_is_a_record_with_its_own_figures() {
        let mut record = records::direct_read_run();
        let step = |from_s: f64, share: u64| RateStepRecord {
            from_s,
            begin_s: 10.0 + from_s,
            seconds: 30.0,
            counters: record.counters.iter().map(|(counter, count)| (counter, count / share)).collect(),
            server_counters: Counters::default(),
            latencies: record.latencies.clone(),
            events: Vec::new(),
        };
        record.rate_steps = vec![step(0.0, 2), step(30.0, 4)];
        let whole = figures(&record);
        let steps = steps(&record);
        assert_eq!(steps.iter().map(|(from_s, _)| *from_s).collect::<Vec<_>>(), [0.0, 30.0]);
        for ((_, step), share) in steps.iter().zip([1.0, 0.5]) {
            let of = figures(step);
            // 300 operations a second, of which 30 s have 9,000.
            assert_eq!(of.get(Figure::Executions).map(f64::round), Some(300.0));
            let [reads, all] = [&of, &whole].map(|figures| figures.get(Figure::ReadBlocks).unwrap());
            assert!((reads / all / share - 1.0).abs() < 0.01, "{reads} of {all}");
        }
    }

    #[test]
    fn the_read_time_of_a_step_is_divided_by_its_own_reads() {
        let mut record = records::page_cache_run();
        let counts = |time_ns, requests| {
            Counters::from([
                (Counter::PhysicalReadTimeNs, time_ns),
                (Counter::PhysicalReadRequests, requests),
                (Counter::PhysicalReads, requests),
            ])
        };
        let of_all = |reads| {
            Counters::from([Counter::PhysicalReadRequests, Counter::PhysicalReads].map(|of| (of, reads)))
        };
        (record.counters, record.server_counters) = (counts(9_000_000_000, 800_000), of_all(889_246));
        let step = |server_counters| RateStepRecord {
            from_s: 0.0,
            begin_s: 10.0,
            seconds: 5.0,
            counters: counts(77_553_000, 7_000),
            server_counters,
            latencies: Latencies::default(),
            events: Vec::new(),
        };
        record.rate_steps = vec![step(of_all(7_264)), step(Counters::default())];
        // The kernel traced the whole run.
        record = records::traced(record, 0);
        let means = steps(&record).into_iter().map(|(_, step)| figures(&step).get(Figure::ReadUs));
        assert_eq!(means.collect::<Vec<_>>(), [Some(77_553.0 / 7_264.0), None]);
    }
}
