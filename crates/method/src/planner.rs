//! The operation planner: from a workload and a seed to batches of plain numbers.

use std::num::NonZeroU32;
use std::time::Duration;

use slob_spec::{ArrivalProcess, Percent, RateSchedule, ThinkTime, WorkUnit, Workload};

use crate::content::Stamp;
use crate::operations::{Action, Batch, KeyRange, Op, SchemaNo};
use crate::rng::{self, Rng};

/// Separates the random numbers of arrivals from those of keys.
const ARRIVALS: u64 = 0x0a22_17a1;

/// Plans the operations of one session: an endless stream that depends only on the workload, whose seed
/// it takes, and the session's number. Batch sizes do not change the stream.
#[derive(Clone, Debug)]
pub struct Planner {
    workload: Workload,
    home: SchemaNo,
    session: u32,
    rng: Rng,
    arrivals_rng: Rng,
    updates: Deck,
    scans: Deck,
    planned: u64,
    keyed: u64,
    /// UPDATEs that were drawn: those of a transaction wait for its last one.
    updated: u64,
    waiting: u32,
    /// UPDATEs of the transaction that is being planned, still to come.
    of_transaction: u32,
    postponed: Option<Op>,
    schedule: Option<Schedule>,
}

impl Planner {
    /// Planner of session number `session` (any numbering without repeats), whose schema is `home`. The workload
    /// must pass [`Workload::check`]. With a rate, operations get due times, which do not change their work.
    pub fn new(workload: Workload, session: u32, home: SchemaNo) -> Self {
        // A separate generator, so that the rate does not change the keys.
        let mut arrivals_rng = Rng::new(rng::key(&[workload.seed, u64::from(session), ARRIVALS]));
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
            schedule: Schedule::new(&workload, session, &mut arrivals_rng),
            arrivals_rng,
            workload,
        }
    }

    /// Due time of the next operation, in nanoseconds after the start of the run; `None` in a closed loop.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.schedule.as_ref().map(|schedule| schedule.next_ns)
    }

    /// Replaces the content of `batch` by at most `count` operations that are due before `until_ns` after the start of
    /// the run; none in a closed loop. A transaction that was begun is ended beyond both limits.
    pub fn fill_due(&mut self, batch: &mut Batch, count: usize, until_ns: u64) {
        batch.clear();
        while batch.ops().len() < count || self.of_transaction > 0 {
            let due = self.next_due_ns().filter(|due_ns| *due_ns < until_ns || self.of_transaction > 0);
            let Some(due_ns) = due else { return };
            if let Some(schedule) = &mut self.schedule {
                schedule.advance(&mut self.arrivals_rng);
            }
            batch.push_due(self.next_op(), due_ns);
        }
    }

    /// Replaces the content of `batch` by the next `count` operations, and those that end a transaction. Allocates only to
    /// grow the batch.
    pub fn fill(&mut self, batch: &mut Batch, count: usize) {
        self.fill_within(batch, count, Duration::MAX);
    }

    /// Fills a batch, but ends it when its pauses add up to `pauses`, and puts an operation with a longer pause into a
    /// batch of its own, so that sessions report operations soon. The stream is the same.
    pub fn fill_within(&mut self, batch: &mut Batch, count: usize, pauses: Duration) {
        let most_us = u64::try_from(pauses.as_micros()).unwrap_or(u64::MAX);
        let mut paused_us = 0;
        batch.clear();
        while (batch.ops().len() < count && paused_us < most_us) || self.of_transaction > 0 {
            let op = self.postponed.take().unwrap_or_else(|| self.next_op());
            if u64::from(op.pause_us) > most_us && !batch.ops().is_empty() && !is_in_transaction(batch) {
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
        Op { action, schema: self.next_schema(), pause_us, commits: self.of_transaction == 0 }
    }

    /// Draws cards until an operation can be planned: those of UPDATEs wait until there are enough for a transaction, whose
    /// UPDATEs follow each other.
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

    /// Draws keys, for an UPDATE from the session's own one of the `parts` of the schema.
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

    fn next_schema(&self) -> SchemaNo {
        match self.workload.hot_schema_every {
            Some(every) if is_nth(self.planned, every) => SchemaNo::FIRST,
            _ => self.home,
        }
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

/// True if a batch ends within a transaction.
fn is_in_transaction(batch: &Batch) -> bool {
    batch.ops().last().is_some_and(|op| !op.commits)
}

/// Decks of 100 cards, each shuffled anew, with exactly `percent` marked ones over every 100 decks: percentages are exact, their
/// order is random. Two decks differ by one marked card at most, so that a part of them is as exact as can be.
#[derive(Clone, Debug)]
struct Deck {
    cards: [bool; 100],
    drawn: usize,
    hundredths: u32,
    /// The number of this deck among 100.
    number: u32,
    marked: u32,
}

impl Deck {
    /// Sessions begin at different decks.
    fn new(percent: Percent, session: u32) -> Self {
        // Coprime to 100 and near the golden section, so that the first sessions spread evenly.
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

    /// Gives a new deck its number of marked cards. They keep their places, which the next shuffle changes.
    fn mark(&mut self) {
        let up_to = |decks: u32| decks * self.hundredths / 100;
        let wanted = up_to(self.number + 1) - up_to(self.number);
        let is_marked = wanted < self.marked;
        let changed = self.cards.iter_mut().filter(|card| **card == is_marked);
        changed.take(wanted.abs_diff(self.marked) as usize).for_each(|card| *card = !is_marked);
        self.marked = wanted;
        self.number = (self.number + 1) % 100;
    }

    /// Draws a card by one step of the Fisher-Yates shuffle.
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

const SECOND_US: u128 = 1_000_000;
const SECOND_NS: f64 = 1e9;

/// Arrivals of one session in an open loop, whose operations start on schedule even if earlier ones are late. Poisson arrivals
/// are a Poisson process for each session and for all together.
#[derive(Clone, Debug)]
struct Schedule {
    rate: RateSchedule,
    /// Length of the warm-up, after which the rate's own time begins.
    warmup_us: u64,
    /// Number of sessions that share the rate.
    sessions: u32,
    process: ArrivalProcess,
    session: u32,
    arrived: u64,
    /// The rate's step in which the latest operation is due.
    step: usize,
    /// Millionths of operations, of all sessions, that were due when the step began.
    due_before: u128,
    /// Due time of the next operation, in nanoseconds after the start of the run.
    next_ns: u64,
}

impl Schedule {
    /// Spreads the first arrivals of the sessions evenly if gaps are steady. `None` in a closed loop.
    fn new(workload: &Workload, session: u32, rng: &mut Rng) -> Option<Self> {
        let (rate, process) = workload.rate_per_s.clone().zip(workload.arrivals)?;
        let warmup_us = (workload.warmup_s * 1e6).round() as u64;
        let sessions = workload.sessions();
        let (arrived, step, due_before, next_ns) = (0, 0, 0, 0);
        let mut schedule =
            Self { rate, warmup_us, sessions, process, session, arrived, step, due_before, next_ns };
        schedule.next_ns = schedule.arrival_ns(rng);
        Some(schedule)
    }

    fn advance(&mut self, rng: &mut Rng) {
        self.arrived += 1;
        self.next_ns = self.arrival_ns(rng);
    }

    fn arrival_ns(&mut self, rng: &mut Rng) -> u64 {
        match self.process {
            ArrivalProcess::Steady => self.steady_ns(),
            ArrivalProcess::Poisson => self.poisson_ns(rng),
        }
    }

    fn per_second(&self) -> u32 {
        self.rate.steps()[self.step].per_second
    }

    /// Begin of a step in microseconds after the start of the run; that of the one after the last is never.
    fn begin_us(&self, step: usize) -> u64 {
        match self.rate.steps().get(step) {
            _ if step == 0 => 0,
            None => u64::MAX,
            Some(step) => {
                let from_us = u64::try_from(step.from.as_micros()).unwrap_or(u64::MAX);
                from_us.saturating_add(self.warmup_us)
            }
        }
    }

    /// Computes from the begin of the step, in whole numbers, so that rounding errors don't add up.
    fn steady_ns(&mut self) -> u64 {
        let nth =
            u128::from(self.arrived) * u128::from(self.sessions) + u128::from(self.session % self.sessions);
        let due = nth * SECOND_US;
        loop {
            let (begin_us, end_us) = (self.begin_us(self.step), self.begin_us(self.step + 1));
            let due_at_end = self.due_before + u128::from(end_us - begin_us) * u128::from(self.per_second());
            if due < due_at_end {
                let since_ns = (due - self.due_before) * 1000 / u128::from(self.per_second());
                return u64::try_from(u128::from(begin_us) * 1000 + since_ns).unwrap_or(u64::MAX);
            }
            if end_us == u64::MAX {
                return u64::MAX;
            }
            self.step += 1;
            self.due_before = due_at_end;
        }
    }

    /// Inverts the exponential distribution. A gap that reaches into the next step goes on there at its rate.
    fn poisson_ns(&mut self, rng: &mut Rng) -> u64 {
        // 53 random bits, from just above 0 to 1.
        let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let mut mean_gaps = -uniform.ln();
        let mut from_ns = self.next_ns;
        loop {
            let end_ns = self.begin_us(self.step + 1).saturating_mul(1000);
            if self.per_second() > 0 {
                let mean_ns = SECOND_NS * f64::from(self.sessions) / f64::from(self.per_second());
                let due_ns = from_ns.saturating_add((mean_gaps * mean_ns) as u64);
                if due_ns < end_ns {
                    return due_ns;
                }
                mean_gaps = (mean_gaps - (end_ns - from_ns) as f64 / mean_ns).max(0.0);
            }
            if end_ns == u64::MAX {
                return u64::MAX;
            }
            self.step += 1;
            from_ns = end_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, prop_assume, proptest};

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

    fn dues(open_loop: &Workload, session: u32, count: usize) -> Vec<u64> {
        let mut rng = Rng::new(open_loop.seed);
        let mut schedule = Schedule::new(open_loop, session, &mut rng).unwrap();
        let mut next = || {
            let due = schedule.next_ns;
            schedule.advance(&mut rng);
            due
        };
        (0..count).map(|_| next()).collect()
    }

    fn open_loop(rate: &str, sessions: u32, process: ArrivalProcess) -> Workload {
        Workload {
            threads_per_schema: NonZeroU32::new(sessions).unwrap(),
            rate_per_s: Some(rate.parse().unwrap()),
            arrivals: Some(process),
            ..Workload::selects(100, WorkUnit::new(1).unwrap())
        }
    }

    proptest! {
        #[test]
        fn steady_arrivals_of_all_sessions_are_evenly_spaced(rate in 1_u32..1_000_000, sessions in 1_u32..200) {
            let steady = open_loop(&rate.to_string(), sessions, ArrivalProcess::Steady);
            let mut all: Vec<u64> = (0..sessions).flat_map(|session| dues(&steady, session, 20)).collect();
            all.sort_unstable();
            for (number, due) in all.iter().enumerate() {
                let exact = number as f64 * 1e9 / f64::from(rate);
                prop_assert!((*due as f64 - exact).abs() <= 1.0, "arrival {number} at {due}, not {exact}");
            }
        }
    }

    /// Due times of all sessions before the end, sorted.
    fn dues_before(open_loop: &Workload, end_ns: u64) -> Vec<u64> {
        let of_session = |session| {
            let mut rng = Rng::new(u64::from(session) + open_loop.seed);
            let mut schedule = Schedule::new(open_loop, session, &mut rng).unwrap();
            let mut dues = Vec::new();
            while schedule.next_ns < end_ns {
                dues.push(schedule.next_ns);
                schedule.advance(&mut rng);
            }
            dues
        };
        let mut all: Vec<u64> = (0..open_loop.sessions()).flat_map(of_session).collect();
        all.sort_unstable();
        all
    }

    fn within(dues: &[u64], from_us: u64, to_us: u64) -> u64 {
        (dues.partition_point(|due| *due < to_us * 1000) - dues.partition_point(|due| *due < from_us * 1000))
            as u64
    }

    proptest! {
        #[test]
        fn each_step_of_a_schedule_has_its_exact_number_of_arrivals(
            steps in proptest::collection::vec((0_u32..3000, 1_u64..3_000_000), 1..8),
            sessions in 1_u32..20,
            warmup_us in 0_u64..2_000_000,
        ) {
            let mut from_us = 0;
            let step = |&(per_second, length_us): &(u32, u64)| {
                let step = format!("{per_second}@{}.{:06}s", from_us / 1_000_000, from_us % 1_000_000);
                from_us += length_us;
                step
            };
            let text = steps.iter().map(step).collect::<Vec<_>>().join(",");
            prop_assume!(steps.iter().any(|step| step.0 > 0));
            let steady = open_loop(&text, sessions, ArrivalProcess::Steady);
            let steady = Workload { warmup_s: warmup_us as f64 / 1e6, ..steady };
            let dues = dues_before(&steady, (warmup_us + from_us) * 1000);
            let (mut begin_us, mut before) = (0, 0_u64);
            for (nth, (per_second, length_us)) in steps.into_iter().enumerate() {
                let length_us = if nth == 0 { length_us + warmup_us } else { length_us };
                let after = before + u64::from(per_second) * length_us;
                // Arrival number n is due once n operations are.
                let exact = after.div_ceil(1_000_000) - before.div_ceil(1_000_000);
                prop_assert_eq!(within(&dues, begin_us, begin_us + length_us), exact, "step {} of {}", nth, text);
                (begin_us, before) = (begin_us + length_us, after);
            }
        }
    }

    #[test]
    fn random_arrivals_follow_each_step_of_a_schedule() {
        let poisson = Workload { seed: 3, ..open_loop("4000@0s,0@5s,1000@6s", 4, ArrivalProcess::Poisson) };
        let dues = dues_before(&poisson, 16_000_000_000);
        let seconds = |from: u64, to: u64| within(&dues, from * 1_000_000, to * 1_000_000) as f64;
        assert_eq!(seconds(5, 6), 0.0);
        // Five standard deviations of counts with these means.
        assert!((seconds(0, 5) - 20_000.0).abs() < 707.0, "{}", seconds(0, 5));
        assert!((seconds(6, 16) - 10_000.0).abs() < 500.0, "{}", seconds(6, 16));
    }

    #[test]
    fn a_schedule_that_ends_at_0_has_no_more_arrivals() {
        for process in [ArrivalProcess::Steady, ArrivalProcess::Poisson] {
            let due = *dues(&open_loop("10@0s,0@1s", 2, process), 0, 40).last().unwrap();
            assert_eq!(due, u64::MAX);
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential_distribution() {
        let poisson = Workload { seed: 7, ..open_loop("1000", 4, ArrivalProcess::Poisson) };
        let times = dues(&poisson, 2, 50_000);
        assert!(times.is_sorted());
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // 4 ms on average; the standard error of 50,000 gaps is 0.5 %.
        assert!((mean / 4.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt());
    }
}
