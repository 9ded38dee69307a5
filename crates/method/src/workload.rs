//! A validated workload: everything a planner needs to know, in blocks.

use std::num::NonZeroU32;

use crate::scatter::MAX_SCALE;
use slob_spec::{Percent, RedoStress, WorkUnit};

/// The hot spot: a range of keys that every Nth keyed operation stays within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotRange {
    /// The first key of the hot spot, counted from 1.
    pub first: u64,
    /// Its number of keys, hence of blocks.
    pub blocks: u64,
    /// Every how many SELECTs and UPDATEs one goes there.
    pub every: NonZeroU32,
}

/// Think time: every Nth operation is followed by a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkPause {
    /// Every how many operations a pause follows.
    pub every: NonZeroU32,
    /// The shortest pause, in microseconds.
    pub min_us: u32,
    /// The longest pause, in microseconds; pauses are drawn uniformly.
    pub max_us: u32,
}

/// What the sessions of a run do. Make one, then [`Workload::check`] it: planners take it as true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Blocks of each schema that the test covers: keys are drawn from `1..=scale`.
    pub scale: u64,
    /// Share of operations that are UPDATEs.
    pub update_pct: Percent,
    /// Share of the others that are short scans.
    pub scan_pct: Percent,
    /// Blocks of a SELECT.
    pub select_unit: WorkUnit,
    /// Blocks of an UPDATE.
    pub update_unit: WorkUnit,
    /// How much of a row an UPDATE changes.
    pub redo: RedoStress,
    /// The hot spot, if there is one.
    pub hot_spot: Option<HotRange>,
    /// Every how many operations one goes to schema 1.
    pub hot_schema_every: Option<NonZeroU32>,
    /// Think time, if there is any.
    pub think: Option<ThinkPause>,
}

/// Why a workload can't be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// The scale is zero or beyond [`MAX_SCALE`].
    #[error("SCALE is {0} blocks; it must be 1 to {MAX_SCALE}")]
    Scale(u64),
    /// An operation would touch more blocks than there are.
    #[error(
        "an operation of {unit} blocks does not fit into {room} blocks ({what}); lower WORK_UNIT or raise {raise}"
    )]
    Unit {
        /// Blocks of the operation.
        unit: u16,
        /// Blocks that there are.
        room: u64,
        /// What is too small.
        what: &'static str,
        /// The parameter to raise.
        raise: &'static str,
    },
    /// The hot spot ends beyond the active data set.
    #[error(
        "the hot spot ends at block {end}, but SCALE is {scale} blocks; lower HOTSPOT_OFFSET_MB or HOTSPOT_MB, or raise SCALE"
    )]
    HotSpot {
        /// Its last block.
        end: u64,
        /// Blocks of the active data set.
        scale: u64,
    },
    /// The shortest pause is longer than the longest.
    #[error("THINK_TM_MIN is more than THINK_TM_MAX")]
    Think,
}

impl Workload {
    /// How much of a row its UPDATEs change; `None` if it makes none.
    #[must_use]
    pub fn redo_of_updates(&self) -> Option<RedoStress> {
        (self.update_pct.get() > 0).then_some(self.redo)
    }

    /// Whether it scans.
    #[must_use]
    pub fn scans(&self) -> bool {
        self.scan_pct.get() > 0 && self.update_pct.get() < 100
    }

    /// The largest number of blocks that one operation of this workload touches.
    #[must_use]
    pub fn largest_unit(&self) -> WorkUnit {
        if self.update_pct.get() == 0 { self.select_unit } else { self.select_unit.max(self.update_unit) }
    }

    /// Checks that every operation the planner may draw exists.
    ///
    /// # Errors
    /// The first contradiction, with the parameter to change.
    pub fn check(&self) -> Result<(), WorkloadError> {
        if !(1..=MAX_SCALE).contains(&self.scale) {
            return Err(WorkloadError::Scale(self.scale));
        }
        let unit = self.largest_unit().get();
        if u64::from(unit) > self.scale {
            return Err(WorkloadError::Unit { unit, room: self.scale, what: "the scale", raise: "SCALE" });
        }
        if let Some(hot) = self.hot_spot {
            self.check_hot_spot(hot)?;
        }
        match self.think {
            Some(think) if think.min_us > think.max_us => Err(WorkloadError::Think),
            _ => Ok(()),
        }
    }

    fn check_hot_spot(&self, hot: HotRange) -> Result<(), WorkloadError> {
        let unit = self.largest_unit().get();
        if hot.blocks < u64::from(unit) {
            return Err(WorkloadError::Unit {
                unit,
                room: hot.blocks,
                what: "the hot spot",
                raise: "HOTSPOT_MB",
            });
        }
        let end = (hot.first - 1).saturating_add(hot.blocks);
        if end > self.scale {
            return Err(WorkloadError::HotSpot { end, scale: self.scale });
        }
        Ok(())
    }
}
