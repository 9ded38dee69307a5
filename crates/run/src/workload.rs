//! The workload of a run: from its specification to the planner and to the record.

use std::num::NonZeroU32;
use std::time::Duration;

use slob_method::{Arrivals, HotRange, PlanSeed, SchemaNo, ThinkPause, Workload};
use slob_record::{HotSpotRecord, ThinkTimeRecord, WorkloadRecord};
use slob_spec::{Length, RunSpec};

pub(crate) fn workload_of(spec: &RunSpec, block_bytes: u32) -> Workload {
    Workload {
        scale: spec.scale.blocks(block_bytes),
        update_pct: spec.update_pct,
        scan_pct: spec.scan_pct,
        select_unit: spec.work_unit,
        update_unit: spec.update_work_unit,
        redo: spec.redo,
        hot_spot: spec.hot_spot.map(|hot| HotRange {
            first: hot.first_key(block_bytes),
            blocks: hot.blocks(block_bytes),
            every: hot.every,
        }),
        hot_schema_every: spec.hot_schema_every,
        think: spec.think.map(|think| ThinkPause {
            every: think.every,
            min_us: microseconds(think.min),
            max_us: microseconds(think.max),
        }),
    }
}

/// Think times are at most an hour, which fits.
fn microseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// The home schema of each session, round-robin: the first sessions do not share one.
pub(crate) fn homes_of(spec: &RunSpec, schemas: u16) -> impl Iterator<Item = SchemaNo> {
    (0..spec.threads_per_schema.get()).flat_map(move |_| SchemaNo::up_to(schemas))
}

pub(crate) fn warmup_of(spec: &RunSpec) -> Duration {
    match spec.length {
        Length::Time(_) => spec.warmup,
        // Every operation of a WORK_LOOP counts.
        Length::Operations(_) => Duration::ZERO,
    }
}

pub(crate) fn arrivals_of(spec: &RunSpec) -> Option<Arrivals> {
    let sessions = spec.schemas.saturating_mul(spec.threads_per_schema);
    spec.rate.map(|rate| Arrivals { per_second: rate.per_second, sessions, process: rate.process })
}

pub(crate) fn workload_record(spec: &RunSpec, workload: &Workload, seed: PlanSeed) -> WorkloadRecord {
    let Workload { scale, update_pct, scan_pct, select_unit, update_unit, redo, hot_spot, think, .. } =
        *workload;
    let (run_time_s, work_loop) = match spec.length {
        Length::Time(time) => (Some(time.as_secs_f64()), None),
        Length::Operations(count) => (None, Some(count)),
    };
    let arrivals = arrivals_of(spec);
    WorkloadRecord {
        schemas: spec.schemas.get(),
        threads_per_schema: spec.threads_per_schema.get(),
        scale_blocks: scale,
        work_unit: select_unit.get(),
        update_work_unit: update_unit.get(),
        update_pct: update_pct.get(),
        scan_pct: scan_pct.get(),
        redo_stress: redo.as_str().to_owned(),
        run_time_s,
        work_loop,
        warmup_s: warmup_of(spec).as_secs_f64(),
        seed: seed.seed,
        nonce: seed.nonce,
        hot_spot: hot_spot.map(|hot| HotSpotRecord {
            first_block: hot.first,
            blocks: hot.blocks,
            every: hot.every.get(),
        }),
        rate_per_s: arrivals.map(|arrivals| arrivals.per_second.get()),
        arrivals: arrivals.map(|arrivals| arrivals.process.as_str().to_owned()),
        hot_schema_every: workload.hot_schema_every.map(NonZeroU32::get),
        think_time: think.map(|think| ThinkTimeRecord {
            every: think.every.get(),
            min_us: think.min_us,
            max_us: think.max_us,
        }),
    }
}
