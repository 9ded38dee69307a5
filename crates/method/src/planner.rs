//! The operation planner: from a workload and a seed to batches of plain numbers.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::arrivals::{Arrivals, Schedule};
use crate::batch::Batch;
use crate::deck::Deck;
use crate::op::{Action, KeyRange, Op};
use crate::rng::{self, Rng};
use crate::schema_no::SchemaNo;
use crate::stamp::Stamp;
use crate::workload::{ThinkPause, Workload};
use slob_spec::WorkUnit;

/// Tells the numbers of the arrivals from those of the keys.
const ARRIVALS: u64 = 0x0a22_17a1;

/// What makes a plan the plan it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanSeed {
    /// Decides every key, kind and pause.
    pub seed: u64,
    /// Different for each run; it changes only the values that UPDATEs write, so that they always differ from
    /// those already there.
    pub nonce: u64,
}

/// Plans the operations of one session: an endless stream that depends on nothing but the workload, the seed
/// and the session's number. The sizes of the batches do not change the stream.
#[derive(Clone, Debug)]
pub struct Planner {
    workload: Workload,
    home: SchemaNo,
    session: u32,
    nonce: u64,
    rng: Rng,
    arrivals_rng: Rng,
    updates: Deck,
    scans: Deck,
    planned: u64,
    keyed: u64,
    postponed: Option<Op>,
    schedule: Option<Schedule>,
}

impl Planner {
    /// The planner of session number `session` (any numbering without repeats), whose schema is `home`. The
    /// workload must have passed [`Workload::check`].
    #[must_use]
    pub fn new(workload: Workload, seed: PlanSeed, session: u32, home: SchemaNo) -> Self {
        Self {
            workload,
            home,
            session,
            nonce: seed.nonce,
            rng: Rng::new(rng::key(&[seed.seed, u64::from(session)])),
            arrivals_rng: Rng::new(0),
            updates: Deck::new(workload.update_pct.get()),
            scans: Deck::new(workload.scan_pct.get()),
            planned: 0,
            keyed: 0,
            postponed: None,
            schedule: None,
        }
    }

    /// The same planner in an open loop: its operations are due at moments of their own. What they do is the same.
    #[must_use]
    pub fn with_arrivals(mut self, arrivals: Arrivals, seed: PlanSeed) -> Self {
        // Numbers of their own, so that the rate does not change the keys.
        self.arrivals_rng = Rng::new(rng::key(&[seed.seed, u64::from(self.session), ARRIVALS]));
        self.schedule = Some(Schedule::new(arrivals, self.session, &mut self.arrivals_rng));
        self
    }

    /// When the next operation is due, in nanoseconds after the start of the run; `None` in a closed loop.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.schedule.as_ref().map(Schedule::next_ns)
    }

    /// Replaces the content of `batch` by the next operations that are due before `until_ns` after the start of the
    /// run, at most `count`; none in a closed loop.
    pub fn fill_due(&mut self, batch: &mut Batch, count: usize, until_ns: u64) {
        batch.clear();
        while batch.ops().len() < count {
            let Some(due_ns) = self.next_due_ns().filter(|due_ns| *due_ns < until_ns) else { return };
            if let Some(schedule) = &mut self.schedule {
                schedule.advance(&mut self.arrivals_rng);
            }
            batch.push_due(self.next_op(), due_ns);
        }
    }

    /// Replaces the content of `batch` by the next `count` operations. Allocates nothing once the batch has held
    /// that many.
    pub fn fill(&mut self, batch: &mut Batch, count: usize) {
        self.fill_within(batch, count, Duration::MAX);
    }

    /// The same, but an operation whose pause is longer than `pauses` gets a batch of its own, and no batch pauses
    /// for much longer than that altogether: so what is done is never reported long afterwards. The stream is the
    /// same; a batch may hold fewer operations than `count`.
    pub fn fill_within(&mut self, batch: &mut Batch, count: usize, pauses: Duration) {
        let most_us = u64::try_from(pauses.as_micros()).unwrap_or(u64::MAX);
        let mut paused_us = 0;
        batch.clear();
        while batch.ops().len() < count && paused_us < most_us {
            let op = self.postponed.take().unwrap_or_else(|| self.next_op());
            if u64::from(op.pause_us) > most_us && !batch.ops().is_empty() {
                self.postponed = Some(op);
                return;
            }
            paused_us += u64::from(op.pause_us);
            batch.push(op);
        }
    }

    fn next_op(&mut self) -> Op {
        self.planned += 1;
        let action = if self.updates.draw(&mut self.rng) {
            let range = self.next_range(self.workload.update_unit);
            Action::Update(range, Stamp::new(self.nonce, self.session, self.planned))
        } else if self.scans.draw(&mut self.rng) {
            Action::Scan
        } else {
            Action::Select(self.next_range(self.workload.select_unit))
        };
        let pause_us = self.workload.think.map_or(0, |think| self.next_pause(think));
        Op { action, schema: self.next_schema(), pause_us }
    }

    fn next_range(&mut self, unit: WorkUnit) -> KeyRange {
        self.keyed += 1;
        let (first, blocks) = match self.workload.hot_spot {
            Some(hot) if is_nth(self.keyed, hot.every) => (hot.first, hot.blocks),
            _ => (1, self.workload.scale),
        };
        let places = blocks - u64::from(unit.get()) + 1;
        KeyRange { first: first + self.rng.below(places), blocks: unit.get() }
    }

    fn next_schema(&self) -> SchemaNo {
        match self.workload.hot_schema_every {
            Some(every) if is_nth(self.planned, every) => SchemaNo::FIRST,
            _ => self.home,
        }
    }

    fn next_pause(&mut self, think: ThinkPause) -> u32 {
        if !is_nth(self.planned, think.every) {
            return 0;
        }
        think.min_us + self.rng.below(u64::from(think.max_us - think.min_us) + 1) as u32
    }
}

fn is_nth(count: u64, every: NonZeroU32) -> bool {
    count.is_multiple_of(u64::from(every.get()))
}
