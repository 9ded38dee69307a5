//! Runs as samples of a profile.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use slob_measure::{Bound, Facts, LatencyKind, OpCounts, OpKind, WorkingSet};
use slob_profile::{Bucket, Figure, Figures, Histograms, Measured, Sample, Subject};
use slob_record::{Interval, KindRecord, RateStepRecord, Record, Status, Window};
use slob_stats::{Histogram, Merge, Point, Series};

use crate::{Figures as RecordFigures, figure};

/// The sample of a run, of the database at its target.
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

pub(super) fn figures(record: &Record) -> Figures {
    let of = RecordFigures::of(record);
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

/// The whole steps of a run whose RATE is a schedule, by the second of the window at which each begins: a record of each step
/// alone, without what is known of the whole run only.
pub(super) fn steps(record: &Record) -> Vec<(f64, Record)> {
    let base = Record {
        series: Series::new(0, 2),
        sessions: Vec::new(),
        db_cpu: None,
        db_io: None,
        host: None,
        observed: Vec::new(),
        ..record.clone()
    };
    let step = |step: &RateStepRecord| {
        let middle =
            |point: &Point<'_, Interval>| point.start_s as f64 + record.series.width_s() as f64 / 2.0;
        let is_within = |point: &Point<'_, Interval>| {
            (step.begin_s..step.begin_s + step.seconds).contains(&middle(point))
        };
        let mut all = Interval::default();
        record
            .series
            .points()
            .filter(is_within)
            .filter_map(|point| point.value)
            .for_each(|own| all.merge(own));
        let window = Some(Window { begin_s: step.begin_s, seconds: step.seconds });
        let (counters, latencies) = (step.counters.clone(), step.latencies.clone());
        let record = Record {
            window,
            counters,
            latencies,
            events: step.events.clone(),
            operations: by_kind(all),
            ..base.clone()
        };
        (step.from_s, record)
    };
    record.rate_steps.iter().map(step).collect()
}

/// The operations of an interval by kind. Their durations are not told apart: the most frequent kind has all of them.
fn by_kind(all: Interval) -> BTreeMap<OpKind, KindRecord> {
    let OpCounts { selects, updates, scans } = all.ops;
    let counts = [(OpKind::Select, selects), (OpKind::Update, updates), (OpKind::Scan, scans)];
    let mut kinds: BTreeMap<OpKind, KindRecord> = counts
        .into_iter()
        .filter(|(_, operations)| *operations > 0)
        .map(|(kind, operations)| {
            (kind, KindRecord { operations, rows: 0, latency: Histogram::new(), response: Histogram::new() })
        })
        .collect();
    if let Some(most) = kinds.values_mut().max_by_key(|kind| kind.operations) {
        (most.rows, most.latency, most.response) = (all.rows, all.latency, all.response);
    }
    kinds
}

/// The figures of a run with its rates of operations, to calibrate a plan; `None` without a window.
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

/// Latencies of reads and of log syncs, in buckets that double.
pub(super) fn histograms(record: &Record) -> Histograms {
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
    use super::*;
    use crate::fixture;

    #[test]
    fn a_step_of_a_schedule_is_a_record_with_its_own_figures() {
        let mut record = fixture::direct_read_run();
        let step = |from_s: f64, share: u64| RateStepRecord {
            from_s,
            begin_s: 10.0 + from_s,
            seconds: 30.0,
            counters: record.counters.iter().map(|(counter, count)| (counter, count / share)).collect(),
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
}
