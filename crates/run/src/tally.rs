//! Counts of the operations of all sessions: the run's clock, the tally, and the series.
//!
//! Sessions report to one of a few shards after each batch. Memory grows neither with sessions nor with operations.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, Instant};

use slob_engine::OpOutcome;
use slob_measure::{OpCounts, OpKind};
use slob_method::{Action, Batch, Op};
use slob_record::{Interval, KeptOperation, KindRecord, LongestWait};
use slob_stats::{Histogram, Merge, Series, nanoseconds};

use crate::lock;
use crate::sampler::Sample;

/// Slow operations may take it besides pauses. It is less than the grace of a stop.
pub(crate) const LONGEST_BATCH: Duration = Duration::from_secs(1);

/// It stops while sessions rest: a second of the series is a second of work, and open loops fall due on it.
#[derive(Debug)]
pub(crate) struct RunClock {
    start: Instant,
    rested_ns: AtomicU64,
}

impl RunClock {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, rested_ns: AtomicU64::new(0) }
    }

    /// `moment` must follow the last rest.
    pub(crate) fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.start).saturating_sub(self.rested())
    }

    /// The inverse of [`RunClock::at`], until the next rest.
    pub(crate) fn moment(&self, time: Duration) -> Instant {
        self.start + self.rested() + time
    }

    pub(crate) fn rested(&self) -> Duration {
        Duration::from_nanos(self.rested_ns.load(Ordering::Relaxed))
    }

    /// The rest ends now.
    pub(crate) fn rest(&self, length: Duration) {
        self.rested_ns.fetch_add(nanoseconds(length), Ordering::Relaxed);
    }

    pub(crate) fn ns(&self, moment: Instant) -> u64 {
        nanoseconds(self.at(moment))
    }
}

/// All moments are nanoseconds of the run's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionTotals {
    pub(crate) before_window: u64,
    pub(crate) operations: OpCounts,
    pub(crate) rows: u64,
    pub(crate) busy_ns: u64,
    pub(crate) max_ns: Option<u64>,
    /// Think time, and time without work.
    pub(crate) idle_ns: u64,
    /// Ready for the next operation, outside of operations.
    pub(crate) waiting_ns: u64,
    /// The part of it that belongs to a response without an end in the window.
    pub(crate) unfinished_ns: u64,
    /// Failed attempts count too, also outside the window.
    last_end_ns: u64,
    /// The last pause ended, so the next operation may start.
    ready_ns: u64,
    /// All time of the window up to here is busy, idle or waiting.
    accounted_ns: u64,
    /// Begin and length; no operation ended.
    longest_wait: Option<(u64, u64)>,
}

impl SessionTotals {
    fn add(&mut self, kind: OpKind, done: &OpOutcome) {
        self.operations.count(kind);
        self.rows += done.rows;
        self.busy_ns += done.duration_ns;
        self.max_ns = self.max_ns.max(Some(done.duration_ns));
    }

    /// A failed attempt or reconnection is busy time.
    pub(crate) fn was_busy_until(&mut self, ns: u64) {
        self.last_end_ns = self.last_end_ns.max(ns);
    }

    pub(crate) fn begin_phase(&mut self, begin_ns: u64) {
        (self.ready_ns, self.accounted_ns) = (begin_ns, begin_ns);
    }

    /// Time since the last operation. Time in this one is waiting too unless it is counted.
    fn spend(&mut self, window: &Range<u64>, due_ns: u64, start_ns: u64, end_ns: u64, is_counted: bool) {
        let within = |from: u64, to: u64| to.min(window.end).saturating_sub(from.max(window.start));
        let ready_ns = self.ready_ns.max(due_ns).clamp(self.accounted_ns, start_ns.max(self.accounted_ns));
        self.idle_ns += within(self.accounted_ns, ready_ns);
        let unfinished_ns = if is_counted { 0 } else { within(ready_ns, end_ns) };
        self.waiting_ns += if is_counted { within(ready_ns, start_ns) } else { unfinished_ns };
        self.unfinished_ns += unfinished_ns;
        self.accounted_ns = end_ns.max(self.accounted_ns);
    }

    /// The next operation is due at `due_ns`.
    pub(crate) fn finish(&mut self, window: &Range<u64>, due_ns: u64) {
        self.spend(window, due_ns, window.end, window.end, false);
        if self.ready_ns.max(due_ns) < window.end {
            self.waited(window, window.end, due_ns);
        }
    }

    /// Time from the intended start of an operation to its end; in a closed loop, from the moment at which the session was ready
    /// for it. If the session was idle when the operation became due, the delay is the timer's and not the database's: the
    /// response time is then the duration.
    fn response_ns(&self, due_ns: Option<u64>, end_ns: u64, done: &OpOutcome) -> u64 {
        match due_ns {
            Some(due_ns) if self.last_end_ns <= due_ns => done.duration_ns,
            _ => end_ns.saturating_sub(due_ns.unwrap_or(self.ready_ns)).max(done.duration_ns),
        }
    }

    /// In an open loop, a wait begins when the operation is due at the earliest.
    fn waited(&mut self, window: &Range<u64>, until_ns: u64, due_ns: u64) {
        let since_ns = self.ready_ns.max(due_ns).max(window.start);
        let wait_ns = until_ns.saturating_sub(since_ns);
        if self.longest_wait.is_none_or(|(_, longest_ns)| wait_ns > longest_ns) {
            self.longest_wait = Some((since_ns, wait_ns));
        }
    }

    fn ready_after(&mut self, end_ns: u64, pause_us: u32) {
        self.ready_ns = end_ns + u64::from(pause_us) * 1000;
    }

    pub(crate) fn longest_wait(&self) -> Option<LongestWait> {
        self.longest_wait.map(|(at_ns, ns)| LongestWait { at_s: seconds(at_ns), seconds: seconds(ns) })
    }
}

pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

const SHARDS: usize = 16;
/// The timeline must not wait longer for all shards.
const SPIN: Duration = Duration::from_millis(2);
/// About 200 MB, and as much memory with a slow disk.
pub(crate) const MOST_KEPT: u64 = 5_000_000;

#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) clock: RunClock,
    window_begin: OnceLock<Instant>,
    window_end: OnceLock<Instant>,
    /// The run's clock.
    phase_begin_ns: AtomicU64,
    /// Later ends count to this second: operations in flight do not belong to the next phase.
    last_second: AtomicU64,
    /// Work for a trace behind the window is not counted.
    is_closed: AtomicBool,
    /// `None` if unknown.
    clock_step: Option<NonZeroU64>,
    keeps_operations: bool,
    /// In each second of a closed loop too, whose sessions take turns.
    keeps_responses: bool,
    /// Includes those beyond [`MOST_KEPT`].
    kept: AtomicU64,
    /// Without what is still in the shards. Whoever locks both locks it first.
    window: Mutex<Window>,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    places: BTreeMap<Place, [Counted; OpKind::ALL.len()]>,
    /// Waits for the first operation of each batch.
    dispatch: Histogram,
    /// Operations from the start of the run to the end of the window.
    until_end: u64,
    /// The next drain takes them.
    kept: Vec<KeptOperation>,
}

/// Operations of one place are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    second: u64,
    endpoint: usize,
    in_window: bool,
    /// The series keeps responses.
    keeps_responses: bool,
}

/// Operations of a kind.
#[derive(Debug, Default)]
struct Counted {
    operations: u64,
    rows: u64,
    /// Most responses are durations: they are recorded once.
    both: Histogram,
    /// The other operations responded later than they took.
    latency: Histogram,
    response: Histogram,
}

impl Counted {
    #[inline]
    fn add(&mut self, done: &OpOutcome, response_ns: u64) {
        self.operations += 1;
        self.rows += done.rows;
        if response_ns == done.duration_ns {
            self.both.record(response_ns);
        } else {
            self.latency.record(done.duration_ns);
            self.response.record(response_ns);
        }
    }

    fn merge_into(&self, record: &mut KindRecord) {
        record.operations += self.operations;
        record.rows += self.rows;
        [&self.both, &self.latency].into_iter().for_each(|part| record.latency.merge(part));
        [&self.both, &self.response].into_iter().for_each(|part| record.response.merge(part));
    }
}

/// The key is endpoint and kind.
type Window = BTreeMap<(usize, OpKind), KindRecord>;

fn merge_into_window(window: &mut Window, place: Place, counted: &[Counted]) {
    let filled =
        OpKind::ALL.into_iter().zip(counted).filter(|(_, counted)| place.in_window && counted.operations > 0);
    filled.for_each(|(kind, counted)| counted.merge_into(window.entry((place.endpoint, kind)).or_default()));
}

fn merge_into_interval(interval: &mut Interval, place: Place, counted: &[Counted]) {
    let [selects, updates, scans] = OpKind::ALL.map(|kind| counted[kind as usize].operations);
    interval.ops.merge(&OpCounts { selects, updates, scans });
    for Counted { rows, both, latency, response, .. } in counted {
        interval.rows += rows;
        [both, latency].into_iter().for_each(|part| interval.latency.merge(part));
        if place.keeps_responses {
            [both, response].into_iter().for_each(|part| interval.response.merge(part));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drain {
    All,
    /// Skips shards locked for [`SPIN`]; the next drain gets them. With thousands of sessions per CPU a lock's owner may not run
    /// for seconds.
    Unlocked,
}

impl Tally {
    pub(crate) fn new(clock: RunClock, clock_step: Option<NonZeroU64>, keeps_operations: bool) -> Self {
        Self {
            clock,
            window_begin: OnceLock::new(),
            window_end: OnceLock::new(),
            phase_begin_ns: AtomicU64::new(0),
            last_second: AtomicU64::new(u64::MAX),
            is_closed: AtomicBool::new(false),
            clock_step,
            keeps_operations,
            keeps_responses: false,
            kept: AtomicU64::new(0),
            window: Mutex::default(),
            shards: Default::default(),
        }
    }

    pub(crate) fn with_responses(self, keeps_responses: bool) -> Self {
        Self { keeps_responses, ..self }
    }

    /// `None` behind the window.
    pub(crate) fn phase_begin_ns(&self) -> Option<u64> {
        let is_closed = self.is_closed.load(Ordering::Relaxed);
        (!is_closed).then(|| self.phase_begin_ns.load(Ordering::Relaxed))
    }

    /// It may end at `end` of the clock.
    pub(crate) fn begin_phase(&self, begin: Instant, end: Option<Duration>) {
        self.phase_begin_ns.store(self.clock.ns(begin), Ordering::Relaxed);
        self.end_phase(end.unwrap_or(Duration::MAX));
    }

    /// It ends at `end` of the clock.
    pub(crate) fn end_phase(&self, end: Duration) {
        let last = end.saturating_sub(Duration::from_nanos(1)).as_secs();
        self.last_second.store(last, Ordering::Relaxed);
    }

    /// The first call counts.
    pub(crate) fn begin_window(&self, at: Instant) {
        let _ = self.window_begin.set(at);
    }

    /// The first call counts.
    pub(crate) fn end_window(&self, at: Instant) {
        let _ = self.window_end.set(at);
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// The batch began at `begun`. The end of an operation decides its second and its window.
    pub(crate) fn add(
        &self,
        session: u32,
        endpoint: usize,
        begun: Instant,
        batch: &Batch,
        outcomes: &[OpOutcome],
        totals: &mut SessionTotals,
    ) {
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        let handed_over_ns = self.clock.ns(begun);
        let window = self.window_ns();
        let last_second = self.last_second.load(Ordering::Relaxed);
        let keeps = self.keeps(outcomes.len());
        let dues_ns = batch.dues_ns();
        let keeps_responses = self.keeps_responses || dues_ns.is_some();
        let place_of = |end_ns: u64| Place {
            second: (end_ns / 1_000_000_000).min(last_second),
            endpoint,
            in_window: end_ns >= window.start && end_ns <= window.end,
            keeps_responses,
        };
        let Some(first) = outcomes.first() else { return };
        let mut shard = self.free_shard(session);
        let Shard { places, dispatch, until_end, kept } = &mut *shard;
        // Operations of a batch share one or two places.
        let mut place = place_of(handed_over_ns + first.start_ns + first.duration_ns);
        let mut counted = places.entry(place).or_default();
        for (index, (op, done)) in batch.ops().iter().zip(outcomes).enumerate() {
            let kind = kind_of(op);
            let start_ns = handed_over_ns + done.start_ns;
            let end_ns = start_ns + done.duration_ns;
            let own = place_of(end_ns);
            if own != place {
                (place, counted) = (own, places.entry(own).or_default());
            }
            let (in_window, is_after) = (place.in_window, end_ns > window.end);
            let due_of_schedule_ns = dues_ns.and_then(|dues| dues.get(index)).copied();
            let due_ns = due_of_schedule_ns.unwrap_or(0);
            let response_ns = totals.response_ns(due_of_schedule_ns, end_ns, done);
            totals.last_end_ns = end_ns;
            totals.spend(&window, due_ns, start_ns, end_ns, in_window);
            *until_end += u64::from(!is_after);
            counted[kind as usize].add(done, response_ns);
            if end_ns >= window.start {
                totals.waited(&window, end_ns.min(window.end), due_ns);
            }
            if in_window && index == 0 {
                dispatch.record(start_ns.saturating_sub(totals.ready_ns.max(due_ns)));
            }
            totals.ready_after(end_ns, op.pause_us);
            if keeps {
                let OpOutcome { duration_ns, rows, .. } = *done;
                kept.push(KeptOperation { session, kind, start_ns, duration_ns, rows, in_window });
            }
            if in_window {
                totals.add(kind, done);
            } else if !is_after {
                totals.before_window += 1;
            }
        }
    }

    /// The first one whose lock is free, so that few take memory. Kept operations stay in order, in their session's own shard.
    fn free_shard(&self, session: u32) -> MutexGuard<'_, Shard> {
        let mut shards = self.shards.iter().map(Mutex::try_lock);
        let free = if self.keeps_operations { None } else { shards.find_map(Result::ok) };
        free.unwrap_or_else(|| lock(&self.shards[session as usize % SHARDS]))
    }

    /// An unset edge is in the future. It is set microseconds after its snapshot, so at most one operation per session is on the
    /// wrong side.
    pub(crate) fn window_ns(&self) -> Range<u64> {
        let ns = |edge: &OnceLock<Instant>| edge.get().map_or(u64::MAX, |at| self.clock.ns(*at));
        ns(&self.window_begin)..ns(&self.window_end)
    }

    fn keeps(&self, more: usize) -> bool {
        let more = more as u64;
        self.keeps_operations && self.kept.fetch_add(more, Ordering::Relaxed) + more <= MOST_KEPT
    }

    pub(crate) fn kept_too_few(&self) -> bool {
        self.kept.load(Ordering::Relaxed) > MOST_KEPT
    }

    /// Includes the warm-up.
    pub(crate) fn done_until_end(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).until_end).sum()
    }

    /// The last call took earlier reports.
    pub(crate) fn drain_seconds(&self, drain: Drain) -> BTreeMap<u64, Interval> {
        let mut window = lock(&self.window);
        let mut seconds: BTreeMap<u64, Interval> = BTreeMap::new();
        for mut shard in self.guards(drain) {
            let taken = std::mem::take(&mut shard.places);
            drop(shard);
            for (place, counted) in taken {
                merge_into_interval(seconds.entry(place.second).or_default(), place, &counted);
                merge_into_window(&mut window, place, &counted);
            }
        }
        for interval in seconds.values_mut() {
            interval.latency.set_clock_step(self.clock_step);
            interval.response.set_clock_step(self.clock_step);
        }
        seconds
    }

    /// A session's operations are in order.
    pub(crate) fn drain_kept(&self, drain: Drain) -> Vec<KeptOperation> {
        self.guards(drain).flat_map(|mut shard| std::mem::take(&mut shard.kept)).collect()
    }

    fn guards(&self, drain: Drain) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        let limit = Instant::now() + SPIN;
        self.shards.iter().filter_map(move |shard| match drain {
            Drain::All => Some(lock(shard)),
            Drain::Unlocked => lock_before(shard, limit),
        })
    }

    /// Waits of ready sessions for the first operation of a batch.
    pub(crate) fn dispatch(&self) -> Histogram {
        let mut all = Histogram::new();
        self.guards(Drain::All).for_each(|shard| all.merge(&shard.dispatch));
        all
    }

    /// `endpoint` limits it to that endpoint's sessions.
    pub(crate) fn window(&self, endpoint: Option<usize>) -> BTreeMap<OpKind, KindRecord> {
        let drained = lock(&self.window);
        let mut all = drained.clone();
        for shard in self.guards(Drain::All) {
            shard.places.iter().for_each(|(place, counted)| merge_into_window(&mut all, *place, counted));
        }
        drop(drained);
        let mut window: BTreeMap<OpKind, KindRecord> = BTreeMap::new();
        for ((at, kind), record) in all {
            if endpoint.is_none_or(|asked| asked == at) {
                let sum = window.entry(kind).or_default();
                sum.operations += record.operations;
                sum.rows += record.rows;
                sum.latency.merge(&record.latency);
                sum.response.merge(&record.response);
            }
        }
        for sum in window.values_mut() {
            sum.latency.set_clock_step(self.clock_step);
            sum.response.set_clock_step(self.clock_step);
        }
        window
    }
}

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

fn merge_into(seconds: &mut BTreeMap<u64, Interval>, second: u64, interval: &Interval) {
    seconds.entry(second).or_default().merge(interval);
}

pub(crate) fn kind_of(op: &Op) -> OpKind {
    match op.action {
        Action::Select(_) => OpKind::Select,
        Action::Update(..) => OpKind::Update,
        Action::Scan => OpKind::Scan,
    }
}

/// Longer runs get wider intervals. Keeps a series below 70 MB of memory, and mostly below a third of that.
const MOST_POINTS: usize = 1800;
/// Reports may be so many seconds late.
const LATE: u64 = 60;

/// Open seconds may still get late reports.
#[derive(Debug)]
pub(crate) struct GrowingSeries {
    settled: Series<Interval>,
    open: BTreeMap<u64, Interval>,
    /// [`GrowingSeries::collect`] takes it.
    sampled: Interval,
}

impl Default for GrowingSeries {
    fn default() -> Self {
        Self { settled: Series::new(0, MOST_POINTS), open: BTreeMap::new(), sampled: Interval::default() }
    }
}

impl GrowingSeries {
    /// Sessions report only after each batch.
    pub(crate) fn complete_s(now: Duration) -> u64 {
        now.saturating_sub(LONGEST_BATCH).as_secs()
    }

    /// The second that holds most of the interval counts.
    pub(crate) fn add_sampled(&mut self, clock: &RunClock, from: &Sample, to: &Sample) {
        let interval = to.interval_since(from);
        self.sampled.merge(&interval);
        let middle = (clock.at(from.taken) + clock.at(to.taken)) / 2;
        merge_into(&mut self.open, middle.as_secs(), &interval);
    }

    /// Also returns samples since the last call.
    pub(crate) fn collect(&mut self, tally: &Tally, drain: Drain) -> Interval {
        self.take_in(tally.drain_seconds(drain))
    }

    fn take_in(&mut self, reported: BTreeMap<u64, Interval>) -> Interval {
        let mut recent = std::mem::take(&mut self.sampled);
        for (second, interval) in reported {
            recent.merge(&interval);
            // Reports later than LATE count to the oldest open second.
            let oldest = self.open.keys().next().copied().unwrap_or(second);
            merge_into(&mut self.open, second.max(oldest), &interval);
        }
        let newest = self.open.keys().next_back().copied().unwrap_or(0);
        self.settle(newest.saturating_sub(LATE));
        recent
    }

    /// `None` for a settled second, and for one without operations and samples.
    pub(crate) fn second(&self, second: u64) -> Option<&Interval> {
        self.open.get(&second)
    }

    fn settle(&mut self, before: u64) {
        let still_open = self.open.split_off(&before);
        for (second, mut interval) in std::mem::replace(&mut self.open, still_open) {
            interval.latency.trim();
            interval.response.trim();
            // Seconds come in order, so none is refused.
            let _ = self.settled.push(second, interval);
        }
    }

    /// Incomplete seconds would look like a standstill.
    pub(crate) fn so_far(&self, now: Duration) -> Self {
        let complete = self.open.range(..Self::complete_s(now));
        let open = complete.map(|(second, interval)| (*second, interval.clone())).collect();
        Self { settled: self.settled.clone(), open, sampled: Interval::default() }
    }

    pub(crate) fn into_series(mut self) -> Series<Interval> {
        self.settle(u64::MAX);
        self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_method::{KeyRange, SchemaNo};

    #[test]
    fn the_clock_stops_during_a_rest() {
        let start = Instant::now();
        let clock = RunClock::new(start);
        let s = Duration::from_secs;
        assert_eq!((clock.at(start + s(5)), clock.moment(s(5))), (s(5), start + s(5)));
        clock.rest(s(2));
        assert_eq!((clock.at(start + s(7)), clock.moment(s(6))), (s(5), start + s(8)));
        assert_eq!((clock.ns(start + s(1)), clock.rested()), (0, s(2)));
    }

    #[test]
    fn pauses_and_operations_not_yet_due_are_no_waits() {
        let mut totals = SessionTotals::default();
        let ms = |ms: u64| ms * 1_000_000;
        let window = 0..ms(3000);
        totals.waited(&window, ms(10), 0);
        totals.ready_after(ms(10), 500_000);
        totals.waited(&window, ms(530), 0);
        totals.ready_after(ms(530), 0);
        totals.waited(&window, ms(2025), ms(2000));
        let longest = totals.longest_wait().unwrap();
        assert_eq!((longest.at_s, longest.seconds), (2.0, 0.025));
        totals.ready_after(ms(2025), 0);
        totals.waited(&window, ms(2100), ms(2001));
        let longest = totals.longest_wait().unwrap();
        assert_eq!((longest.at_s, longest.seconds), (2.025, 0.075));
    }

    /// Operations of a session in a window from 1 s to 3 s: when each is due, starts and ends, and its pause, in milliseconds.
    /// The second value is the sum of responses.
    fn times_of(operations: &[(u64, u64, u64, u32)], next_due: u64) -> (SessionTotals, u64) {
        let (ms, start) = (|ms: u64| ms * 1_000_000, Instant::now());
        let tally = Tally::new(RunClock::new(start), None, false);
        tally.begin_window(start + Duration::from_secs(1));
        tally.end_window(start + Duration::from_secs(3));
        let mut totals = SessionTotals::default();
        totals.begin_phase(ms(1000));
        for &(due, begin, end, pause) in operations {
            let op = Op { pause_us: pause * 1000, ..select() };
            let batch = if due > 0 { Batch::due([(op, ms(due))]) } else { vec![op].into() };
            let done = OpOutcome { start_ns: 0, duration_ns: ms(end - begin), rows: 4 };
            tally.add(0, 0, start + Duration::from_millis(begin), &batch, &[done], &mut totals);
        }
        totals.finish(&tally.window_ns(), ms(next_due));
        let responses_ns = tally.window(None).values().map(|kind| kind.response.sum()).sum();
        (totals, responses_ns)
    }

    #[rstest]
    #[case::closed(&[(0, 1200, 1500, 0), (0, 1500, 1800, 0)], 0, [600, 0, 1400])]
    #[case::think_time(&[(0, 1100, 1500, 500), (0, 2040, 3000, 100)], 0, [1360, 500, 140])]
    #[case::a_pause_over_the_end(&[(0, 1000, 2500, 900)], 0, [1500, 500, 0])]
    #[case::open(&[(1300, 1310, 1500, 0), (1400, 1500, 1600, 0)], 2900, [290, 1600, 110])]
    #[case::no_operation(&[], 0, [0, 0, 2000])]
    #[case::all_done(&[(0, 1000, 1600, 0)], 1 << 40, [600, 1400, 0])]
    fn each_second_of_a_session_is_accounted_once(
        #[case] operations: &[(u64, u64, u64, u32)],
        #[case] next_due: u64,
        #[case] busy_idle_waiting_ms: [u64; 3],
    ) {
        let (totals, _) = times_of(operations, next_due);
        let found = [totals.busy_ns, totals.idle_ns, totals.waiting_ns].map(|ns| ns / 1_000_000);
        assert_eq!(found, busy_idle_waiting_ms);
        assert_eq!(found.iter().sum::<u64>(), 2000);
    }

    /// Little's law, in a closed loop: responses, think time and the response without an end fill the window.
    #[rstest]
    #[case::a_wait_at_the_end(&[(0, 1200, 1500, 0), (0, 1500, 1800, 0)], [800, 0, 1200])]
    #[case::think_time(&[(0, 1100, 1500, 500), (0, 2040, 2900, 0)], [1400, 500, 100])]
    #[case::a_pause_over_the_end(&[(0, 1000, 2500, 900)], [1500, 500, 0])]
    #[case::an_operation_over_the_end(&[(0, 1000, 1400, 100), (0, 1600, 3300, 0)], [400, 100, 1500])]
    #[case::no_operation(&[], [0, 0, 2000])]
    fn a_response_without_an_end_counts_up_to_the_end_of_the_window(
        #[case] operations: &[(u64, u64, u64, u32)],
        #[case] responses_idle_unfinished_ms: [u64; 3],
    ) {
        let (totals, responses_ns) = times_of(operations, 0);
        let found = [responses_ns, totals.idle_ns, totals.unfinished_ns].map(|ns| ns / 1_000_000);
        assert_eq!(found, responses_idle_unfinished_ms);
        assert_eq!(found.iter().sum::<u64>(), 2000);
    }

    #[test]
    fn a_session_without_an_operation_waited_for_the_whole_window() {
        let longest = times_of(&[], 0).0.longest_wait().unwrap();
        assert_eq!((longest.at_s, longest.seconds), (1.0, 2.0));
        assert_eq!(times_of(&[], 5000).0.longest_wait(), None, "nothing was due");
    }

    #[test]
    fn response_times_of_a_closed_loop_begin_when_the_session_is_ready() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start), None, false);
        tally.begin_window(start);
        let ms = |ms: u64| ms * 1_000_000;
        let outcomes = [(30, 5), (35, 5)].map(|(start, duration)| OpOutcome {
            start_ns: ms(start),
            duration_ns: ms(duration),
            rows: 4,
        });
        let mut totals = SessionTotals::default();
        for begun in [0, 50] {
            let begun = start + Duration::from_millis(begun);
            tally.add(0, 0, begun, &vec![select(); 2].into(), &outcomes, &mut totals);
        }
        let record = &tally.window(None)[&OpKind::Select];
        assert_eq!((record.latency.sum(), record.response.sum()), (ms(20), ms(90)), "N = X R");
        let seconds = tally.drain_seconds(Drain::All);
        assert_eq!(
            (seconds[&0].latency.sum(), seconds[&0].response.count()),
            (ms(20), 0),
            "no turns are taken"
        );
        let dispatch = tally.dispatch();
        assert_eq!((dispatch.count(), dispatch.sum(), dispatch.max()), (2, ms(30 + 40), Some(ms(40))));
        assert_eq!(totals.waiting_ns, dispatch.sum());
    }

    fn select() -> Op {
        let range = KeyRange { first: 1, blocks: 4 };
        Op { action: Action::Select(range), schema: SchemaNo::FIRST, pause_us: 0, commits: true }
    }

    #[test]
    fn operations_count_where_they_end() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start), None, false);
        tally.begin_window(start + Duration::from_millis(1500));
        tally.end_window(start + Duration::from_millis(2500));
        let outcomes: Vec<OpOutcome> = [0u64, 1400, 1600, 2400]
            .map(|ms| OpOutcome { start_ns: ms * 1_000_000, duration_ns: 200_000_000, rows: 4 })
            .into();
        let mut totals = SessionTotals::default();
        tally.add(3, 1, start, &vec![select(); 4].into(), &outcomes, &mut totals);
        // They end at 0.2, 1.6, 1.8 and 2.6 s.
        assert_eq!((totals.operations.selects, totals.rows, totals.busy_ns), (2, 8, 400_000_000));
        assert_eq!(totals.before_window, 1);
        assert_eq!(tally.window(None)[&OpKind::Select].operations, 2);
        assert_eq!(tally.window(Some(1)), tally.window(None));
        assert!(tally.window(Some(0)).is_empty());
        let window = tally.window(None);
        let seconds: Vec<_> =
            tally.drain_seconds(Drain::All).into_iter().map(|(s, i)| (s, i.ops.selects)).collect();
        assert_eq!(seconds, [(0, 1), (1, 2), (2, 1)]);
        assert_eq!(
            (tally.window(None), tally.window(Some(0)).len()),
            (window, 0),
            "a drain takes nothing from it"
        );
        assert!(tally.drain_seconds(Drain::All).is_empty());
    }

    #[test]
    fn latencies_of_the_window_and_of_each_second_know_the_step_of_the_clock() {
        let start = Instant::now();
        let step = NonZeroU64::new(1_000_000);
        let tally = Tally::new(RunClock::new(start), step, false);
        tally.begin_window(start);
        let done = OpOutcome { start_ns: 0, duration_ns: 0, rows: 4 };
        let batch = Batch::due([(select(), 0)]);
        tally.add(0, 0, start, &batch, &[done], &mut SessionTotals::default());
        let (of_window, of_second) = (tally.window(None), tally.drain_seconds(Drain::All));
        let (of_window, of_second) = (&of_window[&OpKind::Select], &of_second[&0]);
        let all = [&of_window.latency, &of_window.response, &of_second.latency, &of_second.response];
        assert_eq!(all.map(|of| (of.count(), of.clock_step(), of.percentile(50.0))), [(1, step, None); 4]);
    }

    #[test]
    fn nothing_counts_before_the_window_is_open() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start), None, false);
        let done = OpOutcome { start_ns: 0, duration_ns: 5, rows: 4 };
        tally.add(0, 0, start, &vec![select()].into(), &[done], &mut SessionTotals::default());
        assert!(tally.window(None).is_empty());
    }

    #[test]
    fn response_time_begins_when_an_operation_is_due() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start), None, false);
        tally.begin_window(start);
        let ms = |ms: u64| ms * 1_000_000;
        // The second is due while the first is at work; the third when the session is idle, which wakes up late.
        let batch = Batch::due([(select(), ms(100)), (select(), ms(110)), (select(), ms(500))]);
        let outcomes = [(100, 50), (150, 20), (501, 30)].map(|(start, duration)| OpOutcome {
            start_ns: ms(start),
            duration_ns: ms(duration),
            rows: 4,
        });
        tally.add(0, 0, start, &batch, &outcomes, &mut SessionTotals::default());
        let record = &tally.window(None)[&OpKind::Select];
        assert_eq!((record.latency.sum(), record.latency.count()), (ms(100), 3));
        assert_eq!(record.response.sum(), ms(50 + 60 + 30));
        assert_eq!(tally.done_until_end(), 3);
    }

    #[test]
    fn response_time_holds_the_attempts_that_failed() {
        let start = Instant::now();
        let tally = Tally::new(RunClock::new(start), None, false);
        tally.begin_window(start);
        let ms = |ms: u64| ms * 1_000_000;
        // Begun when it was due, and refused 900 ms later.
        let mut totals = SessionTotals::default();
        totals.was_busy_until(ms(1000));
        let done = OpOutcome { start_ns: ms(1000), duration_ns: ms(5), rows: 4 };
        tally.add(0, 0, start, &Batch::due([(select(), ms(100))]), &[done], &mut totals);
        assert_eq!(tally.window(None)[&OpKind::Select].response.sum(), ms(905));
    }

    #[test]
    fn a_series_so_far_ends_with_its_last_complete_second() {
        let second = |second: u64| {
            let mut interval = Interval::default();
            interval.ops.count(OpKind::Select);
            (second, interval)
        };
        let mut series = GrowingSeries::default();
        series.take_in((0..6).map(second).collect());
        let seconds_at = |ms| series.so_far(Duration::from_millis(ms)).into_series().points().count();
        assert_eq!([900, 1900, 2000, 5900, 7000].map(seconds_at), [0, 0, 1, 4, 6]);
        assert_eq!(series.into_series().points().count(), 6, "no second is lost");
    }
}
