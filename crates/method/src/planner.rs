//! Plans operations from a workload and a seed.

use std::num::NonZeroU32;
use std::time::Duration;

use slob_spec::{Percent, ThinkTime, WorkUnit, Workload};

use crate::due_times::DueTimes;
use crate::operations::{Action, Batch, KeyRange, Op, SchemaNo};
use crate::rng::{self, Rng};
use crate::stamp::Stamp;

/// An endless stream that depends only on workload and session. Batch sizes do not change it.
#[derive(Clone, Debug)]
pub struct Planner {
    workload: Workload,
    home: SchemaNo,
    session: u32,
    rng: Rng,
    updates: Deck,
    scans: Deck,
    planned: u64,
    keyed: u64,
    /// They wait for the last one of their transaction.
    updated: u64,
    waiting: u32,
    /// Some are still to come.
    of_transaction: u32,
    postponed: Option<Op>,
    due_times: Option<DueTimes>,
}

impl Planner {
    /// The schema is `home`. The workload must pass [`Workload::check`]. A rate adds due times, which do not change the work.
    pub fn new(workload: Workload, session: u32, home: SchemaNo) -> Self {
        Self {
            home,
            session,
            rng: Rng::new(rng::key(&[workload.seed, u64::from(session)])),
            updates: Deck::new(workload.of_session(session).update_pct, session),
            scans: Deck::new(workload.scan_pct, session),
            planned: 0,
            keyed: 0,
            updated: 0,
            waiting: 0,
            of_transaction: 0,
            postponed: None,
            due_times: DueTimes::new(&workload, session),
            workload,
        }
    }

    /// The same kind of work on other blocks, so that none of the session's own is read beforehand.
    #[must_use]
    pub fn rehearsal(&self) -> Self {
        let seed = rng::key(&[self.workload.seed, u64::MAX]);
        Self::new(Workload { seed, ..self.workload.clone() }, self.session, self.home)
    }

    /// Nanoseconds after the start of the run; `None` in a closed loop.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.due_times.as_ref().map(|due_times| due_times.next_ns)
    }

    /// The rate's schedule begins at `ns` after the start of the run, if that is before the planned end of the warm-up.
    pub fn begin_window(&mut self, ns: u64) {
        self.due_times.iter_mut().for_each(|due_times| due_times.begin_window(ns));
    }

    /// At most `count` operations due before `until_ns`; none in a closed loop. Transactions end beyond both limits.
    pub fn fill_due(&mut self, batch: &mut Batch, count: usize, until_ns: u64) {
        batch.clear();
        while batch.ops().len() < count || self.of_transaction > 0 {
            let due = self.next_due_ns().filter(|due_ns| *due_ns < until_ns || self.of_transaction > 0);
            let Some(due_ns) = due else { return };
            self.due_times.iter_mut().for_each(DueTimes::advance);
            batch.push_due(self.next_op(), due_ns);
        }
    }

    /// The next `count` operations, and those that end a transaction. Allocates only to grow the batch.
    pub fn fill(&mut self, batch: &mut Batch, count: usize) {
        self.fill_within(batch, count, Duration::MAX);
    }

    /// Ends a batch when its pauses add up to `pauses`, so that sessions report operations soon.
    pub fn fill_within(&mut self, batch: &mut Batch, count: usize, pauses: Duration) {
        let most_us = u64::try_from(pauses.as_micros()).unwrap_or(u64::MAX);
        let mut paused_us = 0;
        batch.clear();
        while (batch.ops().len() < count && paused_us < most_us) || self.of_transaction > 0 {
            let op = self.postponed.take().unwrap_or_else(|| self.next_op());
            let ends_transaction = batch.ops().last().is_some_and(|last| last.commits);
            if u64::from(op.pause_us) > most_us && ends_transaction {
                self.postponed = Some(op);
                return;
            }
            paused_us += u64::from(op.pause_us);
            batch.push(op);
        }
    }

    fn next_op(&mut self) -> Op {
        self.planned += 1;
        let action = if self.next_is_update() {
            let range = self.next_range(self.workload.update_work_unit, self.workload.update_parts());
            Action::Update(range, Stamp::new(self.workload.nonce, self.session, self.planned))
        } else if self.scans.draw(&mut self.rng) {
            Action::Scan
        } else {
            Action::Select(self.next_range(self.workload.work_unit, 1))
        };
        // The last operation of a WORK_LOOP ends the transaction.
        if self.workload.work_loop == Some(self.planned) {
            self.of_transaction = 0;
        }
        let pause_us = self.workload.think_time.map_or(0, |think| self.next_pause(think));
        let is_hot = self.workload.hot_schema_every.is_some_and(|every| is_nth(self.planned, every));
        let schema = if is_hot { SchemaNo::FIRST } else { self.home };
        Op { action, schema, pause_us, commits: self.of_transaction == 0 }
    }

    /// UPDATEs wait until there are enough for a transaction, whose UPDATEs follow each other.
    fn next_is_update(&mut self) -> bool {
        if self.of_transaction == 0 {
            loop {
                if !self.updates.draw(&mut self.rng) {
                    return false;
                }
                self.updated += 1;
                self.waiting += 1;
                if self.workload.commit_every.is_nth(self.updated) {
                    break;
                }
            }
            self.of_transaction = std::mem::take(&mut self.waiting);
        }
        self.of_transaction -= 1;
        true
    }

    /// UPDATEs keep to the session's own one of the `parts`.
    fn next_range(&mut self, unit: WorkUnit, parts: u64) -> KeyRange {
        self.keyed += 1;
        let (first, blocks) = match self.workload.hot_spot {
            Some(hot) if hot.every.is_nth(self.keyed) => (hot.first_block, hot.blocks),
            _ => (1, self.workload.scale_blocks),
        };
        let part = u64::from(self.session / self.workload.schemas.get()) % parts;
        let (first, blocks) = (first + part * (blocks / parts), blocks / parts);
        let places = blocks - u64::from(unit.get()) + 1;
        KeyRange { first: first + self.rng.below(places), blocks: unit.get() }
    }

    fn next_pause(&mut self, think: ThinkTime) -> u32 {
        if !is_nth(self.planned, think.every) {
            return 0;
        }
        think.min_us + self.rng.below(u64::from(think.max_us - think.min_us) + 1) as u32
    }
}

fn is_nth(count: u64, every: NonZeroU32) -> bool {
    count.is_multiple_of(u64::from(every.get()))
}

/// Decks of 100 cards: exactly `percent` are marked over 100 decks, in random order. Decks differ by one marked card at most.
#[derive(Clone, Debug)]
struct Deck {
    cards: [bool; 100],
    drawn: usize,
    hundredths: u32,
    /// Its number among 100 decks.
    number: u32,
    marked: u32,
}

impl Deck {
    /// Sessions begin at different decks.
    fn new(percent: Percent, session: u32) -> Self {
        // Coprime to 100 and near the golden section, so that first sessions spread evenly.
        const STRIDE: u32 = 61;
        let mut deck = Self {
            cards: [false; 100],
            drawn: 0,
            hundredths: percent.hundredths().into(),
            number: session % 100 * STRIDE % 100,
            marked: 0,
        };
        deck.mark();
        deck
    }

    /// The next shuffle moves the marked cards.
    fn mark(&mut self) {
        let up_to = |decks: u32| decks * self.hundredths / 100;
        let wanted = up_to(self.number + 1) - up_to(self.number);
        let is_marked = wanted < self.marked;
        let changed = self.cards.iter_mut().filter(|card| **card == is_marked);
        changed.take(wanted.abs_diff(self.marked) as usize).for_each(|card| *card = !is_marked);
        self.marked = wanted;
        self.number = (self.number + 1) % 100;
    }

    /// One step of the Fisher-Yates shuffle.
    #[inline]
    fn draw(&mut self, rng: &mut Rng) -> bool {
        let left = self.cards.len() - self.drawn;
        self.cards.swap(self.drawn, self.drawn + rng.below(left as u64) as usize);
        let card = self.cards[self.drawn];
        self.drawn += 1;
        if self.drawn == self.cards.len() {
            self.drawn = 0;
            self.mark();
        }
        card
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    #[test]
    fn every_hundred_draws_hold_the_exact_share() {
        for percent in 0..=100_u8 {
            let of_percent = Percent::new(percent).unwrap();
            let (mut deck, mut rng) = (Deck::new(of_percent, percent.into()), Rng::new(u64::from(percent)));
            for _ in 0..20 {
                let marks = (0..100).filter(|_| deck.draw(&mut rng)).count();
                assert_eq!(marks, usize::from(percent));
            }
        }
    }

    proptest! {
        #[test]
        fn every_ten_thousand_draws_hold_the_exact_share_and_every_hundred_nearly(
            hundredths in 0..=10_000_u64, session: u32, seed: u64,
        ) {
            let percent = Percent::of_hundredths(hundredths).unwrap();
            let (mut deck, mut rng) = (Deck::new(percent, session), Rng::new(seed));
            let mut hundred = || (0..100).filter(|_| deck.draw(&mut rng)).count() as u64;
            let hundreds: Vec<u64> = (0..100).map(|_| hundred()).collect();
            prop_assert_eq!(hundreds.iter().sum::<u64>(), hundredths);
            prop_assert!(hundreds.iter().all(|marks| marks.abs_diff(hundredths / 100) <= 1), "{hundreds:?}");
        }
    }

    #[test]
    fn the_first_decks_of_sessions_hold_about_their_share() {
        let marks = |session| Deck::new(Percent::of_hundredths(50).unwrap(), session).marked;
        assert_eq!((0..8).map(marks).sum::<u32>(), 4);
    }

    #[test]
    fn every_place_is_marked_equally_often() {
        let (mut deck, mut rng) = (Deck::new(Percent::new(30).unwrap(), 0), Rng::new(5));
        let mut marks = [0u32; 100];
        for _ in 0..10_000 {
            for mark in &mut marks {
                *mark += u32::from(deck.draw(&mut rng));
            }
        }
        // Binomial(10000, 0.3): mean 3000, standard deviation 46; five of them on each side.
        assert!(marks.iter().all(|m| (2770..=3230).contains(m)), "{marks:?}");
    }
}
