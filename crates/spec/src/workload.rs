//! The work of a run, in blocks: for the planner, and `workload` in the record.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::rate::RateSchedule;
use crate::types::{ArrivalProcess, Every, MAX_SCALE_BLOCKS, Percent, RedoStress, WorkUnit};

/// Planners rely on [`Workload::check`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub schemas: NonZeroU32,
    pub threads_per_schema: NonZeroU32,
    pub scale_blocks: u64,
    pub work_unit: WorkUnit,
    pub update_work_unit: WorkUnit,
    /// Their share of operations, or of sessions with `writers`.
    pub update_pct: Percent,
    #[serde(default = "each", skip_serializing_if = "is_each")]
    pub commit_every: Every,
    /// The first sessions only update; the others only read. `None`: all are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writers: Option<NonZeroU32>,
    /// Their share of the other operations.
    pub scan_pct: Percent,
    pub redo_stress: RedoStress,
    /// `None` with WORK_LOOP.
    pub run_time_s: Option<f64>,
    /// Operations of each session.
    pub work_loop: Option<u64>,
    /// In a plan with WARMUP=auto, the most that it may be; in a record, its length.
    pub warmup_s: f64,
    /// Decides every key, kind and pause.
    pub seed: u64,
    /// It makes the values that UPDATEs write differ from those in the table.
    pub nonce: u64,
    pub hot_spot: Option<HotSpot>,
    /// Every Nth operation goes to schema 1.
    pub hot_schema_every: Option<NonZeroU32>,
    pub think_time: Option<ThinkTime>,
    /// Open loop: operations per second of all sessions. A schedule begins at the end of the warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<RateSchedule>,
    /// Open loop: gaps between arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
}

fn each() -> Every {
    Every::ONE
}

fn is_each(every: &Every) -> bool {
    *every == Every::ONE
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{writers} sessions only update, {readers} only read")]
pub struct Roles {
    pub writers: u32,
    pub readers: u32,
}

impl Roles {
    /// 0 % or 100 % only if all sessions are alike.
    pub fn update_pct(self) -> Percent {
        let (writers, readers) = (u64::from(self.writers), u64::from(self.readers));
        match (writers, readers) {
            (0, _) => Percent::default(),
            (_, 0) => Percent::ALL,
            _ => Percent::new((100 * writers / (writers + readers)).clamp(1, 99) as u8).unwrap_or_default(),
        }
    }

    /// The run has readers too.
    pub fn mixed_writers(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.writers).filter(|_| self.readers > 0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotSpot {
    /// The first key, from 1.
    pub first_block: u64,
    pub blocks: u64,
    /// Every Nth SELECT or UPDATE goes there.
    pub every: Every,
}

impl HotSpot {
    pub fn last_block(&self) -> u64 {
        self.first_block.saturating_sub(1).saturating_add(self.blocks)
    }
}

/// Lengths are uniformly distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTime {
    /// A pause follows every Nth operation.
    pub every: NonZeroU32,
    pub min_us: u32,
    pub max_us: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

impl Workload {
    /// UPDATEs are as large, but there are none yet. One session has no pauses.
    pub fn selects(scale_blocks: u64, unit: WorkUnit) -> Self {
        Self {
            schemas: NonZeroU32::MIN,
            threads_per_schema: NonZeroU32::MIN,
            scale_blocks,
            work_unit: unit,
            update_work_unit: unit,
            update_pct: Percent::default(),
            commit_every: Every::ONE,
            writers: None,
            scan_pct: Percent::default(),
            redo_stress: RedoStress::Lite,
            run_time_s: None,
            work_loop: None,
            warmup_s: 0.0,
            seed: 1,
            nonce: 1,
            hot_spot: None,
            hot_schema_every: None,
            think_time: None,
            rate_per_s: None,
            arrivals: None,
        }
    }

    pub fn sessions(&self) -> u32 {
        self.schemas.get().saturating_mul(self.threads_per_schema.get())
    }

    pub fn roles(&self) -> Option<Roles> {
        let writers = self.writers?.get();
        Some(Roles { writers, readers: self.sessions().saturating_sub(writers) })
    }

    /// A writer or a reader knows its own share alone.
    pub fn of_session(&self, number: u32) -> Self {
        let Some(writers) = self.writers else { return self.clone() };
        let update_pct = if number < writers.get() { Percent::ALL } else { Percent::default() };
        Self { update_pct, writers: None, ..self.clone() }
    }

    /// Moments are those of the run's clock. Sessions that have done their WORK_LOOP owe nothing more.
    pub fn due_between(&self, begin_s: f64, end_s: f64) -> Option<f64> {
        let schedule = self.rate_per_s.as_ref()?;
        let due = schedule.operations_between(begin_s - self.warmup_s, end_s - self.warmup_s);
        let most = self.work_loop.map(|each| each as f64 * f64::from(self.sessions()));
        Some(most.map_or(due, |most| due.min(most)))
    }

    /// `None` without UPDATEs.
    pub fn redo_of_updates(&self) -> Option<RedoStress> {
        (!self.update_pct.is_zero()).then_some(self.redo_stress)
    }

    pub fn scans(&self) -> bool {
        !self.scan_pct.is_zero() && self.update_pct < Percent::ALL
    }

    fn largest_unit(&self) -> WorkUnit {
        if self.update_pct.is_zero() { self.work_unit } else { self.work_unit.max(self.update_work_unit) }
    }

    /// A session updates one part of each schema: transactions of several UPDATEs would otherwise wait in circles.
    pub fn update_parts(&self) -> u64 {
        if self.commit_every == Every::ONE { 1 } else { u64::from(self.threads_per_schema.get()) }
    }

    /// Fails with the first contradiction, and the parameter to change.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let scale = self.scale_blocks;
        if !(1..=MAX_SCALE_BLOCKS).contains(&scale) {
            return Err(WorkloadError(format!(
                "SCALE is {scale} blocks; it must be 1 to {MAX_SCALE_BLOCKS}"
            )));
        }
        if self.roles().is_some_and(|roles| roles.readers == 0 || roles.update_pct() != self.update_pct) {
            return Err(WorkloadError(
                "the writers do not fit the sessions and their share of UPDATEs".to_owned(),
            ));
        }
        self.check_room(scale, "the scale", "SCALE")?;
        self.check_parts()?;
        if let Some(hot) = self.hot_spot {
            self.check_room(hot.blocks, "the hot spot", "HOTSPOT_MB")?;
            let end = hot.last_block();
            if end > scale {
                return Err(WorkloadError(format!(
                    "the hot spot ends at block {end}, but SCALE is {scale} blocks; lower HOTSPOT_OFFSET_MB or \
                     HOTSPOT_MB, or raise SCALE"
                )));
            }
        }
        match self.think_time {
            Some(think) if think.min_us > think.max_us => {
                Err(WorkloadError("THINK_TM_MIN is more than THINK_TM_MAX".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// An UPDATE must fit into its session's part of a schema and of the hot spot.
    fn check_parts(&self) -> Result<(), WorkloadError> {
        let (parts, every) = (self.update_parts(), self.commit_every);
        if self.update_pct.is_zero() || every == Every::ONE {
            return Ok(());
        }
        if self.hot_schema_every.is_some() {
            return Err(WorkloadError(format!(
                "COMMIT_EVERY={every} has each session update rows of its own, but HOT_SCHEMA_FREQUENCY sends all of them to \
                 schema 1; set one of them to its default"
            )));
        }
        let unit = self.update_work_unit;
        let rooms =
            [(self.scale_blocks, "SCALE"), (self.hot_spot.map_or(u64::MAX, |hot| hot.blocks), "HOTSPOT_MB")];
        match rooms.into_iter().find(|(room, _)| room / parts < u64::from(unit.get())) {
            Some((room, key)) => Err(WorkloadError(format!(
                "with COMMIT_EVERY={every} each of {parts} sessions of a schema updates {} of {room} blocks, and an UPDATE of \
                 {unit} does not fit in; lower UPDATE_WORK_UNIT or THREADS_PER_SCHEMA, or raise {key}",
                room / parts
            ))),
            None => Ok(()),
        }
    }

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
