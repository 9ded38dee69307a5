//! The workload: everything that a planner needs, in blocks.

use std::num::NonZeroU32;

use slob_spec::{Percent, RedoStress, WorkUnit};

use crate::scatter::MAX_SCALE;

/// Hot spot: a range of keys that every Nth SELECT or UPDATE stays within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotRange {
    /// The first key of the hot spot, counted from 1.
    pub first: u64,
    /// Its number of keys, hence of blocks.
    pub blocks: u64,
    /// N: every Nth SELECT or UPDATE goes there.
    pub every: NonZeroU32,
}

/// Think time: every Nth operation is followed by a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkPause {
    /// N: a pause follows every Nth operation.
    pub every: NonZeroU32,
    /// The shortest pause, in microseconds.
    pub min_us: u32,
    /// The longest pause, in microseconds; pauses are drawn uniformly.
    pub max_us: u32,
}

/// Work of the sessions of a run. Planners rely on [`Workload::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Blocks of each schema in use: keys are drawn from `1..=scale`.
    pub scale: u64,
    /// Share of operations that are UPDATEs.
    pub update_pct: Percent,
    /// Share of the others that are short scans.
    pub scan_pct: Percent,
    /// Blocks of a SELECT.
    pub select_unit: WorkUnit,
    /// Blocks of an UPDATE.
    pub update_unit: WorkUnit,
    /// Columns that an UPDATE changes.
    pub redo: RedoStress,
    /// Hot spot, if any.
    pub hot_spot: Option<HotRange>,
    /// N: every Nth operation goes to schema 1.
    pub hot_schema_every: Option<NonZeroU32>,
    /// Think time, if any.
    pub think: Option<ThinkPause>,
}

/// Contradiction in a workload, with the parameter to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

impl Workload {
    /// Columns that UPDATEs change; `None` without UPDATEs.
    #[must_use]
    pub fn redo_of_updates(&self) -> Option<RedoStress> {
        (self.update_pct.get() > 0).then_some(self.redo)
    }

    /// True if some operations are scans.
    #[must_use]
    pub fn scans(&self) -> bool {
        self.scan_pct.get() > 0 && self.update_pct.get() < 100
    }

    /// Largest number of blocks of an operation.
    fn largest_unit(&self) -> WorkUnit {
        if self.update_pct.get() == 0 { self.select_unit } else { self.select_unit.max(self.update_unit) }
    }

    /// Checks that every operation fits into the data.
    ///
    /// # Errors
    /// The first contradiction, with the parameter to change.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let scale = self.scale;
        if !(1..=MAX_SCALE).contains(&scale) {
            return Err(WorkloadError(format!("SCALE is {scale} blocks; it must be 1 to {MAX_SCALE}")));
        }
        self.check_room(scale, "the scale", "SCALE")?;
        if let Some(hot) = self.hot_spot {
            self.check_room(hot.blocks, "the hot spot", "HOTSPOT_MB")?;
            let end = (hot.first - 1).saturating_add(hot.blocks);
            if end > scale {
                return Err(WorkloadError(format!(
                    "the hot spot ends at block {end}, but SCALE is {scale} blocks; lower HOTSPOT_OFFSET_MB or \
                     HOTSPOT_MB, or raise SCALE"
                )));
            }
        }
        match self.think {
            Some(think) if think.min_us > think.max_us => {
                Err(WorkloadError("THINK_TM_MIN is more than THINK_TM_MAX".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the largest operation fits into so many blocks.
    fn check_room(&self, room: u64, what: &str, raise: &str) -> Result<(), WorkloadError> {
        let unit = self.largest_unit().get();
        if u64::from(unit) <= room {
            return Ok(());
        }
        Err(WorkloadError(format!(
            "an operation of {unit} blocks does not fit into {room} blocks ({what}); lower WORK_UNIT or raise {raise}"
        )))
    }
}
