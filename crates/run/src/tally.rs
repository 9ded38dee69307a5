//! Where the sessions' operations are added up while they run.
//!
//! Sessions report after each batch, to one of a few shards: memory does not grow with the number of sessions
//! nor with the number of operations, and no session waits for another one's lock for long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use slob_engine::OpOutcome;
use slob_measure::OpKind;
use slob_method::{Action, Batch, Op};
use slob_record::{Interval, KeptOperation, KindRecord};
use slob_stats::Merge;

use crate::run_clock::RunClock;
use crate::session_totals::SessionTotals;

const SHARDS: usize = 16;
/// How long all shards together may be waited for where nobody must wait.
const SPIN: Duration = Duration::from_millis(2);

/// The most operations that a list of all of them has: some 200 MB, and as much memory at most where the disk is slow.
pub(crate) const MOST_KEPT: u64 = 5_000_000;

/// The edges of the measured window, once they are known.
#[derive(Debug, Default)]
pub(crate) struct WindowEdges {
    begin: OnceLock<Instant>,
    end: OnceLock<Instant>,
}

impl WindowEdges {
    /// Sets the beginning. The first call counts.
    pub(crate) fn begin(&self, at: Instant) {
        let _ = self.begin.set(at);
    }

    /// Sets the end. The first call counts.
    pub(crate) fn end(&self, at: Instant) {
        let _ = self.end.set(at);
    }

    /// Whether an operation that ended at that moment belongs to the window. An edge that is not known yet is
    /// taken to lie later; it is set microseconds after the snapshot that it is the moment of, so at most an
    /// operation per session that ended in between counts on the wrong side.
    pub(crate) fn holds(&self, moment: Instant) -> bool {
        self.begin.get().is_some_and(|begin| moment >= *begin) && !self.is_over(moment)
    }

    /// Whether the window had ended before that moment.
    fn is_over(&self, moment: Instant) -> bool {
        self.end.get().is_some_and(|end| moment > *end)
    }
}

/// Adds up the operations of all sessions.
#[derive(Debug)]
pub(crate) struct Tally {
    clock: RunClock,
    edges: WindowEdges,
    /// What ends later counts to this second: what a phase leaves under way is none of the next one's.
    last_second: AtomicU64,
    /// Whether every single operation is kept.
    keeps: bool,
    /// How many were to be.
    kept_all: AtomicU64,
    shards: Vec<Mutex<Shard>>,
}

#[derive(Debug, Default)]
struct Shard {
    /// By endpoint and kind.
    window: BTreeMap<(usize, OpKind), KindRecord>,
    seconds: BTreeMap<u64, Interval>,
    /// Operations that ended before the end of the window, from the start of the run.
    until_end: u64,
    /// Every operation since they were last taken, if they are kept.
    kept: Vec<KeptOperation>,
}

/// Locks a shard if that is possible before `limit`.
fn lock_before(shard: &Mutex<Shard>, limit: Instant) -> Option<MutexGuard<'_, Shard>> {
    loop {
        match shard.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= limit => return None,
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}

/// Who did an operation, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doer {
    pub(crate) number: u32,
    pub(crate) endpoint: usize,
}

impl Tally {
    /// A tally whose seconds are those of `clock`.
    pub(crate) fn new(clock: RunClock) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let (edges, last_second) = (WindowEdges::default(), AtomicU64::new(u64::MAX));
        Self { clock, edges, last_second, keeps: false, kept_all: AtomicU64::new(0), shards }
    }

    /// The same, keeping every single operation if `keeps`.
    pub(crate) fn keeping(mut self, keeps: bool) -> Self {
        self.keeps = keeps;
        self
    }

    pub(crate) fn clock(&self) -> &RunClock {
        &self.clock
    }

    /// Begins a phase of the run that lasts until the clock shows `end`, if that is known.
    pub(crate) fn begin_phase(&self, end: Option<Duration>) {
        let last = end.map_or(u64::MAX, |end| end.saturating_sub(Duration::from_nanos(1)).as_secs());
        self.last_second.store(last, Ordering::Relaxed);
    }

    pub(crate) fn edges(&self) -> &WindowEdges {
        &self.edges
    }

    /// Adds what came of the first operations of a batch that was handed over at `begun`. An operation belongs to
    /// the second, and to the side of the window's edges, in which it ended.
    pub(crate) fn add(
        &self,
        session: Doer,
        begun: Instant,
        batch: &Batch,
        outcomes: &[OpOutcome],
        totals: &mut SessionTotals,
    ) {
        let handed_over_ns = self.clock.ns(begun);
        let last_second = self.last_second.load(Ordering::Relaxed);
        let keeps = self.keeps(outcomes.len());
        let mut shard =
            self.shards[session.number as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner);
        for (index, (op, done)) in batch.ops().iter().zip(outcomes).enumerate() {
            let end = begun + Duration::from_nanos(done.start_ns + done.duration_ns);
            let kind = kind_of(op);
            let end_ns = handed_over_ns + done.start_ns + done.duration_ns;
            let due_ns = batch.dues_ns().and_then(|dues| dues.get(index));
            let response_ns = due_ns.map(|due_ns| totals.response_ns(*due_ns, end_ns, done));
            totals.ended(end_ns);
            shard.until_end += u64::from(!self.edges.is_over(end));
            let second = self.clock.at(end).as_secs().min(last_second);
            shard.add_to_series(second, kind, done, response_ns);
            let in_window = self.edges.holds(end);
            if let Some(until_ns) = self.ns_in_window(end) {
                totals.waited(until_ns, due_ns.copied());
            }
            totals.ready_after(end_ns, op.pause_us);
            if keeps {
                shard.keep(session.number, kind, handed_over_ns, done, in_window);
            }
            if in_window {
                let record = shard.window.entry((session.endpoint, kind)).or_default();
                record.operations += 1;
                record.rows += done.rows;
                record.latency.record(done.duration_ns);
                response_ns.into_iter().for_each(|ns| record.response.record(ns));
                totals.add(kind, done);
            } else if !self.edges.is_over(end) {
                totals.before_window += 1;
            }
        }
    }

    /// Up to where a wait that ended at that moment lies before the end of the window, if it does not lie before its begin.
    fn ns_in_window(&self, moment: Instant) -> Option<u64> {
        self.edges.begin.get().filter(|begin| moment >= **begin)?;
        Some(self.clock.ns(self.edges.end.get().map_or(moment, |end| moment.min(*end))))
    }

    /// Operations that ended before the end of the window, those of the warm-up included.
    pub(crate) fn done_until_end(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).until_end).sum()
    }

    /// Takes what was reported for each second since the last call.
    pub(crate) fn drain_seconds(&self) -> BTreeMap<u64, Interval> {
        self.drain(|shard| Some(shard.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The same without waiting for sessions that are just reporting: where there are thousands of them to a CPU, one that
    /// holds a shard may not go on for seconds, and the timeline must. What is in that shard comes with the next call.
    pub(crate) fn drain_free_seconds(&self) -> BTreeMap<u64, Interval> {
        let limit = Instant::now() + SPIN;
        self.drain(|shard| lock_before(shard, limit))
    }

    fn drain<'a>(
        &'a self,
        lock: impl Fn(&'a Mutex<Shard>) -> Option<MutexGuard<'a, Shard>>,
    ) -> BTreeMap<u64, Interval> {
        let mut seconds = BTreeMap::new();
        for mut shard in self.shards.iter().filter_map(lock) {
            let taken = std::mem::take(&mut shard.seconds);
            drop(shard);
            for (second, interval) in taken {
                merge_into(&mut seconds, second, &interval);
            }
        }
        seconds
    }

    /// Takes the operations that were kept since the last call; those of a session are in order.
    pub(crate) fn drain_kept(&self) -> Vec<KeptOperation> {
        let kept = |shard: &Mutex<Shard>| {
            std::mem::take(&mut shard.lock().unwrap_or_else(PoisonError::into_inner).kept)
        };
        self.shards.iter().flat_map(kept).collect()
    }

    /// The same without waiting, as [`Tally::drain_free_seconds`].
    pub(crate) fn drain_free_kept(&self) -> Vec<KeptOperation> {
        let limit = Instant::now() + SPIN;
        let free = self.shards.iter().filter_map(|shard| lock_before(shard, limit));
        free.flat_map(|mut shard| std::mem::take(&mut shard.kept)).collect()
    }

    /// Whether there were more operations than are kept.
    pub(crate) fn kept_too_few(&self) -> bool {
        self.kept_all.load(Ordering::Relaxed) > MOST_KEPT
    }

    /// Whether so many more operations are to be kept.
    fn keeps(&self, more: usize) -> bool {
        self.keeps && self.kept_all.fetch_add(more as u64, Ordering::Relaxed) + more as u64 <= MOST_KEPT
    }

    /// The operations within the window, by kind.
    pub(crate) fn window(&self) -> BTreeMap<OpKind, KindRecord> {
        self.window_of(|_| true)
    }

    /// Those of one endpoint's sessions.
    pub(crate) fn window_of_endpoint(&self, endpoint: usize) -> BTreeMap<OpKind, KindRecord> {
        self.window_of(|other| other == endpoint)
    }

    fn window_of(&self, is_asked_for: impl Fn(usize) -> bool) -> BTreeMap<OpKind, KindRecord> {
        let mut window: BTreeMap<OpKind, KindRecord> = BTreeMap::new();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for ((_, kind), record) in
                shard.window.iter().filter(|((endpoint, _), _)| is_asked_for(*endpoint))
            {
                let into = window.entry(*kind).or_default();
                into.operations += record.operations;
                into.rows += record.rows;
                into.latency.merge(&record.latency);
                into.response.merge(&record.response);
            }
        }
        window
    }
}

/// Merges an interval into those of other sources.
pub(crate) fn merge_into(seconds: &mut BTreeMap<u64, Interval>, second: u64, interval: &Interval) {
    seconds.entry(second).or_default().merge(interval);
}

fn kind_of(op: &Op) -> OpKind {
    match op.action {
        Action::Select(_) => OpKind::Select,
        Action::Update(..) => OpKind::Update,
        Action::Scan => OpKind::Scan,
    }
}

impl Shard {
    fn keep(&mut self, session: u32, kind: OpKind, handed_over_ns: u64, done: &OpOutcome, in_window: bool) {
        self.kept.push(KeptOperation {
            session,
            kind,
            start_ns: handed_over_ns + done.start_ns,
            duration_ns: done.duration_ns,
            rows: done.rows,
            in_window,
        });
    }

    fn add_to_series(&mut self, second: u64, kind: OpKind, done: &OpOutcome, response_ns: Option<u64>) {
        let interval = self.seconds.entry(second).or_default();
        interval.ops.count(kind);
        interval.rows += done.rows;
        interval.latency.record(done.duration_ns);
        response_ns.into_iter().for_each(|ns| interval.response.record(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{KeyRange, SchemaNo};

    fn select() -> Op {
        let range = KeyRange { first: 1, blocks: 4 };
        Op { action: Action::Select(range), schema: SchemaNo::FIRST, pause_us: 0 }
    }

    #[test]
    fn operations_count_where_they_end() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start));
        tally.edges().begin(start + Duration::from_millis(1500));
        tally.edges().end(start + Duration::from_millis(2500));
        let outcomes: Vec<OpOutcome> = [0u64, 1400, 1600, 2400]
            .map(|ms| OpOutcome { start_ns: ms * 1_000_000, duration_ns: 200_000_000, rows: 4 })
            .into();
        let mut totals = SessionTotals::default();
        tally.add(Doer { number: 3, endpoint: 1 }, start, &vec![select(); 4].into(), &outcomes, &mut totals);
        // They end at 0.2, 1.6, 1.8 and 2.6 s.
        assert_eq!((totals.operations.selects, totals.rows, totals.busy_ns), (2, 8, 400_000_000));
        assert_eq!(totals.before_window, 1);
        assert_eq!(tally.window()[&OpKind::Select].operations, 2);
        assert_eq!(tally.window_of_endpoint(1), tally.window());
        assert!(tally.window_of_endpoint(0).is_empty());
        let seconds: Vec<_> = tally.drain_seconds().into_iter().map(|(s, i)| (s, i.ops.selects)).collect();
        assert_eq!(seconds, [(0, 1), (1, 2), (2, 1)]);
        assert!(tally.drain_seconds().is_empty());
    }

    #[test]
    fn nothing_counts_before_the_window_is_open() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start));
        let done = OpOutcome { start_ns: 0, duration_ns: 5, rows: 4 };
        let doer = Doer { number: 0, endpoint: 0 };
        tally.add(doer, start, &vec![select()].into(), &[done], &mut SessionTotals::default());
        assert!(tally.window().is_empty());
    }

    #[test]
    fn response_time_begins_when_an_operation_is_due() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start));
        tally.edges().begin(start);
        let ms = |ms: u64| ms * 1_000_000;
        // The second is due while the first is at work; the third when the session is idle, which wakes up late.
        let batch = Batch::due([(select(), ms(100)), (select(), ms(110)), (select(), ms(500))]);
        let outcomes = [(100, 50), (150, 20), (501, 30)].map(|(start, duration)| OpOutcome {
            start_ns: ms(start),
            duration_ns: ms(duration),
            rows: 4,
        });
        let doer = Doer { number: 0, endpoint: 0 };
        tally.add(doer, start, &batch, &outcomes, &mut SessionTotals::default());
        let record = &tally.window()[&OpKind::Select];
        assert_eq!((record.latency.sum(), record.latency.count()), (ms(100), 3));
        assert_eq!(record.response.sum(), ms(50 + 60 + 30));
        assert_eq!(tally.done_until_end(), 3);
    }

    #[test]
    fn response_time_holds_the_attempts_that_failed() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start));
        tally.edges().begin(start);
        let ms = |ms: u64| ms * 1_000_000;
        // Begun when it was due, and refused 900 ms later.
        let mut totals = SessionTotals::default();
        totals.was_busy_until(ms(1000));
        let done = OpOutcome { start_ns: ms(1000), duration_ns: ms(5), rows: 4 };
        let doer = Doer { number: 0, endpoint: 0 };
        tally.add(doer, start, &Batch::due([(select(), ms(100))]), &[done], &mut totals);
        assert_eq!(tally.window()[&OpKind::Select].response.sum(), ms(905));
    }
}
