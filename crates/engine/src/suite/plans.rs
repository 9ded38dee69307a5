//! Plans for the checks.

use std::num::NonZeroU32;

use slob_method::{Action, Batch, Op, PlanSeed, Planner, SchemaNo, ThinkPause, Workload};
use slob_spec::{Percent, RedoStress, WorkUnit};

use super::LOAD;

pub(super) fn workload(update_pct: u8, unit: u16) -> Result<Workload, String> {
    let unit = WorkUnit::new(unit).map_err(|error| error.to_string())?;
    Ok(Workload {
        scale: LOAD.scale,
        update_pct: Percent::new(update_pct).map_err(|error| error.to_string())?,
        scan_pct: Percent::new(0).map_err(|error| error.to_string())?,
        select_unit: unit,
        update_unit: unit,
        redo: RedoStress::Lite,
        hot_spot: None,
        hot_schema_every: None,
        think: None,
    })
}

/// The first `count` operations of a workload; each `nonce` writes other values.
pub(super) fn batch(workload: Workload, nonce: u64, home: SchemaNo, count: usize) -> Result<Batch, String> {
    workload.check().map_err(|error| error.to_string())?;
    let mut batch = Batch::with_capacity(count);
    Planner::new(workload, PlanSeed { seed: nonce, nonce }, 0, home).fill(&mut batch, count);
    Ok(batch)
}

/// One operation that does next to nothing and then pauses.
pub(super) fn pausing(workload: Workload, pause_us: u32, count: usize) -> Result<Batch, String> {
    let think = ThinkPause { every: NonZeroU32::MIN, min_us: pause_us, max_us: pause_us };
    batch(Workload { think: Some(think), ..workload }, 1, SchemaNo::FIRST, count)
}

pub(super) fn scan(schema: SchemaNo) -> Batch {
    Batch::from(vec![Op { action: Action::Scan, schema, pause_us: 0 }])
}
