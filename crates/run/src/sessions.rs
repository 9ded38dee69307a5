//! Sessions of a run: their threads, and the timeline's view of them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Cancel, Engine, EngineError, ErrorKind, OpOutcome, Outcome, Result, Session, SessionPlan};
use slob_host::CpuTimes;
use slob_method::{Action, Batch, Op, Planner};
use slob_record::{EdgeRecord, LossRecord, error_of_session};
use slob_spec::SessionLoss;

use crate::error::panicked;
use crate::journal::Journal;
use crate::lock;
use crate::rendezvous::{Participant, Rendezvous};
use crate::tally::{LONGEST_BATCH, SessionTotals, Tally, seconds};
use crate::turns::Turns;

/// A session that lost its database waits before it connects again.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) rendezvous: Rendezvous,
    pub(crate) tally: Arc<Tally>,
    pub(crate) operations: AtomicU64,
    pub(crate) connecting: ConnectLimit,
    pub(crate) turns: Turns,
    pub(crate) journal: Option<Journal>,
}

/// Servers queue at least 50 connections. Beyond that, the kernel drops some, and resets those that it answered with SYN cookies.
const CONNECTING: u32 = 32;

#[derive(Debug)]
pub(crate) struct ConnectLimit {
    free: Mutex<u32>,
    freed: Condvar,
}

impl Default for ConnectLimit {
    fn default() -> Self {
        Self { free: Mutex::new(CONNECTING), freed: Condvar::new() }
    }
}

impl ConnectLimit {
    fn pass<T>(&self, work: impl FnOnce() -> T) -> T {
        let free = || lock(&self.free);
        let waited = self.freed.wait_while(free(), |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        let result = work();
        *free() += 1;
        self.freed.notify_one();
        result
    }
}

pub(crate) enum Message {
    /// The handle cancels the session, which rests.
    Ready(u32, Option<Arc<dyn Cancel>>),
    /// The session rests.
    DoneAll(u32),
    /// Causes are an order, its last operation, or an error.
    Ended(Box<SessionEnd>),
}

#[derive(Debug, Default)]
pub(crate) struct SessionEnd {
    pub(crate) session: u32,
    pub(crate) totals: SessionTotals,
    pub(crate) endpoint: usize,
    /// Includes the warm-up.
    pub(crate) operations: u64,
    pub(crate) next_due_ns: u64,
    pub(crate) conflicts: Conflicts,
    /// The first [`MOST_LOSSES`]; the rest are counted.
    pub(crate) losses: Vec<LossRecord>,
    pub(crate) unlisted_losses: u64,
    /// It lost its database and ended, which the user tolerates.
    pub(crate) dropped: bool,
    pub(crate) error: Option<EngineError>,
}

const MOST_LOSSES: usize = 100;

impl SessionEnd {
    fn begin_loss(&mut self, at_ns: u64, error: &EngineError) {
        if self.losses.len() == MOST_LOSSES {
            self.unlisted_losses += 1;
            return;
        }
        self.losses.push(LossRecord {
            session: self.session,
            endpoint: self.endpoint as u32,
            at_s: seconds(at_ns),
            error: error.to_string(),
            back_s: None,
            back_endpoint: None,
            refused: None,
        });
    }

    fn current_loss(&mut self) -> Option<&mut LossRecord> {
        self.losses.last_mut().filter(|_| self.unlisted_losses == 0)
    }
}

/// More retries in a row are a failure.
const MOST_RETRIES: u32 = 100;

/// Conflicts with other sessions, such as deadlocks: the server rolled an operation back, and it is repeated.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    /// The key is the server's code.
    pub(crate) by_code: BTreeMap<String, u64>,
    /// Consecutive conflicts of the same operation.
    tries: u32,
}

impl Conflicts {
    /// `done` operations precede it. False for another error, and after too many retries.
    fn may_retry(&mut self, error: &EngineError, done: usize) -> bool {
        if error.kind() != ErrorKind::Retryable || self.tries >= MOST_RETRIES {
            return false;
        }
        self.tries = if done > 0 { 1 } else { self.tries + 1 };
        *self.by_code.entry(error.code().unwrap_or("conflict").to_owned()).or_default() += 1;
        true
    }
}

pub(crate) struct Worker {
    pub(crate) plan: SessionPlan,
    pub(crate) planner: Planner,
    pub(crate) operations: Option<u64>,
    pub(crate) size: BatchSize,
    pub(crate) on_loss: SessionLoss,
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: Sender<Message>,
    /// A new connection repeats the open operations.
    pub(crate) batch: Batch,
    pub(crate) outcome: Outcome,
}

impl Worker {
    pub(crate) fn work(mut self, engine: &dyn Engine) {
        let mut end = SessionEnd { session: self.plan.number, ..SessionEnd::default() };
        // If an engine panics, the others must not wait for this session.
        let worked = catch_unwind(AssertUnwindSafe(|| self.connect_and_execute(engine, &mut end)));
        let is_done = self.operations.is_some_and(|all| all == end.operations);
        let planned_ns = self.batch.dues_ns().and_then(|dues| dues.first().copied());
        let due_ns = planned_ns.or_else(|| self.planner.next_due_ns()).unwrap_or(0);
        end.next_due_ns = if is_done { u64::MAX } else { due_ns };
        end.error = worked.unwrap_or_else(|_| Err(panicked("the session"))).err();
        // Without a receiver, the run is over.
        let _ = self.messages.send(Message::Ended(Box::new(end)));
    }

    /// Stays connected even without work: a server's process that is gone can't report its CPU time.
    fn connect_and_execute(&mut self, engine: &dyn Engine, end: &mut SessionEnd) -> Result<()> {
        let mut session = Arc::clone(&self.shared).connecting.pass(|| {
            let mut session = engine.session(&self.plan)?;
            self.try_out(session.as_mut())?;
            session.publish()?;
            Ok(session)
        })?;
        end.endpoint = session.endpoint();
        let _ = self.messages.send(Message::Ready(self.plan.number, session.canceller()));
        let shared = Arc::clone(&self.shared);
        let clock = &shared.tally.clock;
        let mut participant = Participant::new(&shared.rendezvous);
        let rest = |participant: &mut Participant<'_>, end: &mut SessionEnd| {
            let is_at_work = participant.rest();
            if is_at_work && let Some(begin_ns) = shared.tally.phase_begin_ns() {
                end.totals.begin_phase(begin_ns);
            }
            is_at_work
        };
        let mut is_at_work = rest(&mut participant, end);
        while is_at_work {
            let Err(error) = self.execute_all(session.as_mut(), &participant, end) else {
                // An error that matters returns with the next operation.
                let _ = session.publish();
                if participant.is_working() {
                    participant.step_out();
                    let _ = self.messages.send(Message::DoneAll(self.plan.number));
                }
                is_at_work = rest(&mut participant, end);
                continue;
            };
            if error.kind() != ErrorKind::Connection {
                let _ = session.publish();
                return Err(error);
            }
            if self.on_loss == SessionLoss::Fail {
                return Err(error);
            }
            end.begin_loss(clock.ns(Instant::now()), &error);
            if self.on_loss == SessionLoss::Drop {
                end.dropped = true;
                return Err(error);
            }
            participant.step_out();
            // Otherwise the server may hold both connections.
            drop(session);
            match self.reconnect(engine, &participant, end) {
                Some(again) => session = again,
                None => return Ok(()),
            }
            let (back_ns, endpoint) = (clock.ns(Instant::now()), session.endpoint());
            end.endpoint = endpoint;
            if let Some(loss) = end.current_loss() {
                (loss.back_s, loss.back_endpoint) = (Some(seconds(back_ns)), Some(endpoint as u32));
            }
            end.totals.was_busy_until(back_ns);
            is_at_work = participant.step_in() || rest(&mut participant, end);
        }
        Ok(())
    }

    /// No session's first operation lies in the window then.
    fn try_out(&mut self, session: &mut dyn Session) -> Result<()> {
        let mut first = Batch::default();
        self.planner.rehearsal().fill(&mut first, 1);
        let Some(Action::Select(keys) | Action::Update(keys, _)) = first.ops().first().map(|op| op.action)
        else {
            return Ok(());
        };
        let op = Op { action: Action::Select(keys), schema: self.plan.home, pause_us: 0, commits: true };
        session.execute(&vec![op].into(), None, &mut self.outcome)
    }

    /// Goes round the endpoints; `None` if the run ends.
    fn reconnect(
        &mut self,
        engine: &dyn Engine,
        participant: &Participant<'_>,
        end: &mut SessionEnd,
    ) -> Option<Box<dyn Session>> {
        let mut wait = SHORTEST_WAIT;
        while !participant.is_to_leave() {
            self.plan.attempt += 1;
            match engine.session(&self.plan) {
                Ok(session) => {
                    let _ = self.messages.send(Message::Ready(self.plan.number, session.canceller()));
                    return Some(session);
                }
                Err(error) => {
                    if let Some(loss) = end.current_loss() {
                        loss.refused = Some(error.to_string());
                    }
                }
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        None
    }

    fn execute_all(
        &mut self,
        session: &mut dyn Session,
        participant: &Participant<'_>,
        end: &mut SessionEnd,
    ) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let (tally, journal, number) = (&*shared.tally, shared.journal.as_ref(), self.plan.number);
        while participant.is_working() {
            if self.batch.ops().is_empty() {
                // WARMUP=auto ends before its limit.
                self.planner.begin_window(tally.window_ns().start);
                match self.plan_next(end.operations, tally.clock.ns(Instant::now())) {
                    NextBatch::Planned => {}
                    NextBatch::DueIn(wait) => {
                        participant.sleep(wait);
                        continue;
                    }
                    NextBatch::AllDone => return Ok(()),
                }
            }
            let needs_turn = self.batch.dues_ns().is_none() && self.batch.pauses().is_zero();
            let turn = match needs_turn.then(|| shared.turns.take(|| participant.is_working())) {
                Some(None) => break,
                turn => turn,
            };
            let Some(in_flight) = participant.begin(self.batch.ops().len()) else { break };
            let begun = Instant::now();
            self.batch.hand_over(tally.clock.ns(begun));
            // Outside of the engine, the end of a phase ends the last pause, and what was done before it is counted at once.
            let last_pause_us = self.batch.replace_last_pause(0);
            let planned_pauses = self.batch.pauses();
            journal.map_or(Ok(()), |journal| journal.sending(number, self.batch.ops()))?;
            let deadline = deadline(in_flight.until, begun, &self.batch, planned_pauses);
            let result = session.execute(&self.batch, deadline, &mut self.outcome);
            let elapsed = begun.elapsed();
            self.batch.replace_last_pause(last_pause_us);
            if result.is_err() {
                // The rest was rolled back.
                self.outcome.truncate(self.batch.committed(self.outcome.ops().len()));
            }
            end.endpoint = session.endpoint();
            tally.add(number, end.endpoint, begun, &self.batch, self.outcome.ops(), &mut end.totals);
            drop((in_flight, turn));
            let answered = &self.batch.ops()[..self.outcome.ops().len()];
            journal.map_or(Ok(()), |journal| journal.answered(number, answered))?;
            let done = self.outcome.ops().len();
            self.size.learn(self.outcome.ops());
            self.batch.advance(done);
            end.operations += done as u64;
            shared.operations.fetch_add(done as u64, Ordering::Relaxed);
            match result {
                Ok(()) => end.conflicts.tries = 0,
                Err(error) if error.kind() == ErrorKind::Cancelled => return Ok(()),
                Err(error) if end.conflicts.may_retry(&error, done) => {
                    end.totals.was_busy_until(tally.clock.ns(begun + elapsed));
                }
                Err(error) => return Err(error),
            }
            if self.batch.ops().is_empty() && last_pause_us > 0 {
                participant.sleep(Duration::from_micros(last_pause_us.into()));
            }
        }
        Ok(())
    }

    /// `done` operations precede it; the clock shows `now_ns`.
    fn plan_next(&mut self, done: u64, now_ns: u64) -> NextBatch {
        let left = self.operations.map_or(u64::MAX, |all| all - done);
        let count = self.size.fitting.min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return NextBatch::AllDone;
        }
        let Some(due_ns) = self.planner.next_due_ns() else {
            self.planner.fill_within(&mut self.batch, count, BATCH);
            return NextBatch::Planned;
        };
        let horizon_ns = now_ns + BATCH.as_nanos() as u64;
        if due_ns >= horizon_ns {
            return NextBatch::DueIn(Duration::from_nanos(due_ns - horizon_ns + 1));
        }
        self.planner.fill_due(&mut self.batch, count, horizon_ns);
        NextBatch::Planned
    }
}

enum NextBatch {
    Planned,
    /// Open loops wait for due times.
    DueIn(Duration),
    AllDone,
}

/// Outcomes of a batch are lost at a cancellation, so slow batches end early. A single operation or transaction may last to the
/// phase's end.
fn deadline(of_phase: Option<Instant>, begun: Instant, batch: &Batch, pauses: Duration) -> Option<Instant> {
    let is_one = batch.ops().iter().rev().skip(1).all(|op| !op.commits);
    let of_batch = (!is_one).then(|| begun + pauses + LONGEST_BATCH);
    of_phase.into_iter().chain(of_batch).min()
}

/// Bounds how late a stop is noticed, and keeps live figures fresh.
const BATCH: Duration = Duration::from_millis(200);
/// One batch of each session, where sessions share this host's CPUs with their server.
const ROUND: Duration = Duration::from_millis(500);
/// Larger ones cost no less per operation.
const LARGEST: usize = 8192;
/// All sessions share this bound. An operation takes about 250 bytes, with its messages.
const OPERATIONS_AT_ONCE: usize = 1 << 16;
/// Such a batch takes as much memory as its session.
const SMALLEST_BOUND: usize = 256;
/// Many sessions report each second even with longer batches.
const MANY_SESSIONS: u32 = 16;
/// The median is of so many operations.
const SAMPLED: usize = 15;

/// Learned from the last batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchSize {
    fitting: usize,
    largest: usize,
    /// Of median operations. With shared CPUs, some operations include other sessions' turns. By the mean, lucky sessions would
    /// get more CPU for good.
    work: Duration,
    /// Mean operations fill it.
    most: Duration,
    /// Longer batches for operations so slow that [`BATCH`] holds one or two. They differ between sessions, so that counters grow
    /// steadily.
    few: Option<(usize, Duration)>,
}

impl BatchSize {
    /// `shared_cpus` are shared with the server, if they are.
    pub(crate) fn new(number: u32, sessions: u32, shared_cpus: Option<u32>) -> Self {
        let largest = (OPERATIONS_AT_ONCE / (sessions as usize).max(1)).clamp(SMALLEST_BOUND, LARGEST);
        let few = (sessions >= MANY_SESSIONS).then(|| {
            let kind = number % 8;
            (8 + kind as usize, Duration::from_millis(400) + Duration::from_millis(50) * kind)
        });
        let turn = shared_cpus.map(|cpus| ROUND * cpus / sessions);
        let (work, most) = turn.map_or((BATCH, BATCH), |turn| (turn.min(BATCH), LONGEST_BATCH / 2));
        Self { fitting: 1, largest, work, most, few }
    }

    fn learn(&mut self, done: &[OpOutcome]) {
        if done.is_empty() {
            return;
        }
        let within = |time: Duration, each_ns: f64| (time.as_nanos() as f64 / each_ns.max(1e-3)) as usize;
        let sum_ns: u64 = done.iter().map(|op| op.duration_ns).sum();
        let mean_ns = sum_ns as f64 / done.len() as f64;
        let few = self.few.map_or(0, |(operations, time)| within(time, mean_ns).min(operations));
        let fitting = within(self.work, median_ns(done) as f64).min(within(self.most, mean_ns)).max(few);
        self.fitting = fitting.clamp(1, (self.fitting * 4).min(self.largest));
    }
}

/// Samples are spread over all.
fn median_ns(done: &[OpOutcome]) -> u64 {
    let count = done.len().min(SAMPLED);
    let mut sampled = [0; SAMPLED];
    for (index, ns) in sampled[..count].iter_mut().enumerate() {
        *ns = done[index * done.len() / count].duration_ns;
    }
    *sampled[..count].select_nth_unstable(count / 2).1
}

/// The run then goes on without the sessions' rest, or cancels them.
const GRACE: Duration = Duration::from_secs(2);
/// The others had their grace before.
const GRACE_OF_RESTING: Duration = Duration::from_millis(200);
/// The run then goes on without cancelled sessions.
const PATIENCE: Duration = Duration::from_secs(30);
/// Thousands that wake at once share few CPUs.
const PATIENCE_PER_SESSION: Duration = Duration::from_millis(10);

pub(crate) struct Sessions {
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) cancellers: BTreeMap<u32, Arc<dyn Cancel>>,
    pub(crate) ended: Vec<(Instant, SessionEnd)>,
    pub(crate) count: u32,
    done: BTreeSet<u32>,
    /// CPU times when the bound of [`Turns`] was adapted.
    cpus: Option<CpuTimes>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseEnd {
    /// No operation was to begin from here on.
    pub(crate) closed: Instant,
    /// The end of operations in flight at that moment.
    pub(crate) last_work: Instant,
    pub(crate) stragglers: EdgeRecord,
}

impl PhaseEnd {
    pub(crate) fn is_idle(&self) -> bool {
        self.stragglers == EdgeRecord::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyEnd {
    Interrupted,
    Aborted,
    Failed,
    AllDone,
}

impl Sessions {
    pub(crate) fn new(shared: Arc<Shared>, messages: Receiver<Message>, count: u32) -> Self {
        let (cancellers, ended, done) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        Self { shared, messages, cancellers, ended, count, done, cpus: None }
    }

    pub(crate) fn wait_until(&mut self, moment: Instant, stop: &AtomicBool) -> Option<EarlyEnd> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Some(EarlyEnd::Interrupted);
            }
            self.shared.turns.adapt(&mut self.cpus);
            let left = moment.saturating_duration_since(Instant::now());
            // The user's wish to stop is then noticed soon.
            match self.messages.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(message) => {
                    if let Some(reason) = self.receive(message) {
                        return Some(reason);
                    }
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Some(EarlyEnd::AllDone),
            }
        }
    }

    fn receive(&mut self, message: Message) -> Option<EarlyEnd> {
        let end = match message {
            Message::Ended(end) => end,
            Message::DoneAll(number) => {
                self.done.insert(number);
                return self.all_done();
            }
            // A session has reconnected.
            Message::Ready(number, canceller) => {
                self.cancellers.extend(canceller.map(|canceller| (number, canceller)));
                return None;
            }
        };
        let failed = end.error.is_some() && !end.dropped;
        self.cancellers.remove(&end.session);
        self.done.remove(&end.session);
        self.ended.push((Instant::now(), *end));
        if failed { Some(EarlyEnd::Failed) } else { self.all_done() }
    }

    fn all_done(&self) -> Option<EarlyEnd> {
        ((self.ended.len() + self.done.len()) as u32 == self.count).then_some(EarlyEnd::AllDone)
    }

    pub(crate) fn alive(&self) -> u32 {
        self.count - self.ended.len() as u32
    }

    /// `until` is the planned end of the phase.
    pub(crate) fn rest(&self, until: Option<Instant>, reason: Option<EarlyEnd>) -> PhaseEnd {
        let rendezvous = &self.shared.rendezvous;
        rendezvous.close();
        let now = Instant::now();
        let closed = until.map_or(now, |until| until.min(now));
        let stragglers = rendezvous.wait_for_rest(GRACE + PATIENCE_PER_SESSION * self.count);
        let last_work = rendezvous.last_work().unwrap_or(closed);
        let last_work = if reason == Some(EarlyEnd::AllDone) { last_work } else { last_work.max(closed) };
        PhaseEnd { closed, last_work, stragglers }
    }

    fn patience(&self) -> Duration {
        GRACE + PATIENCE + PATIENCE_PER_SESSION * self.count
    }

    /// Resting sessions leave; the others finish their batch or are cancelled.
    pub(crate) fn stop(&mut self, last_phase: &PhaseEnd) {
        self.shared.rendezvous.leave();
        let grace = if last_phase.is_idle() { GRACE } else { GRACE_OF_RESTING };
        let begun = Instant::now();
        let mut cancelled = false;
        while self.alive() > 0 && begun.elapsed() < self.patience() {
            if !cancelled && begun.elapsed() >= grace {
                cancelled = true;
                self.cancellers.values().for_each(|canceller| canceller.cancel());
            }
            match self.messages.recv_timeout(Duration::from_millis(20)) {
                Ok(message) => drop(self.receive(message)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    pub(crate) fn unanswered(&self) -> String {
        format!(
            "{} of {} sessions have not answered for {} s after they were told to stop: their server does not answer, or \
             can't be reached",
            self.alive(),
            self.count,
            self.patience().as_secs()
        )
    }

    /// Errors after the window do not affect what was measured.
    pub(crate) fn error(&self, window_end: Option<Instant>) -> Option<String> {
        if self.alive() == 0 && self.ended.iter().all(|(_, end)| end.dropped) {
            return Some("every session lost its database".into());
        }
        let within = |at: Instant| window_end.is_none_or(|end| at < end);
        let mut ends = self.ended.iter().filter(|(at, end)| within(*at) && !end.dropped);
        ends.find_map(|(_, end)| Some(error_of_session(end.session, &end.error.as_ref()?.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_stats::nanoseconds;

    fn done(count: usize, each: Duration) -> Vec<OpOutcome> {
        vec![OpOutcome { start_ns: 0, duration_ns: nanoseconds(each), rows: 1 }; count]
    }

    #[test]
    fn batches_grow_towards_their_time_and_shrink_at_once() {
        let mut size = BatchSize::new(0, 1, None);
        size.learn(&done(1, Duration::from_micros(10)));
        assert_eq!(size.fitting, 4);
        size.learn(&done(4, Duration::from_micros(10)));
        assert_eq!(size.fitting, 16);
        size.learn(&done(16, Duration::from_secs(1)));
        assert_eq!(size.fitting, 1);
        size.fitting = 8000;
        size.learn(&done(8000, Duration::ZERO));
        assert_eq!(size.fitting, LARGEST);
    }

    #[test]
    fn slow_operations_of_many_sessions_share_longer_batches() {
        let fitting = |number, sessions, each_ms| {
            let mut size = BatchSize { fitting: 100, ..BatchSize::new(number, sessions, None) };
            size.learn(&done(10, Duration::from_millis(each_ms)));
            size.fitting
        };
        assert_eq!([1, 10, 30, 100, 900].map(|each_ms| fitting(7, 15, each_ms)), [200, 20, 6, 2, 1]);
        assert_eq!([1, 10, 30, 100, 900].map(|each_ms| fitting(7, 16, each_ms)), [200, 20, 15, 7, 1]);
        assert_eq!([1, 10, 30, 100, 900].map(|each_ms| fitting(8, 16, each_ms)), [200, 20, 8, 4, 1]);
    }

    #[test]
    fn sessions_that_share_cpus_take_turns_of_the_same_work() {
        let fitting = |sessions, waits_ms: &[u64]| {
            let mut size = BatchSize { fitting: 4000, ..BatchSize::new(0, sessions, Some(2)) };
            let mut batch = done(40, Duration::from_micros(50));
            batch.iter_mut().zip(waits_ms).for_each(|(op, ms)| op.duration_ns += ms * 1_000_000);
            size.learn(&batch);
            size.fitting
        };
        assert_eq!([1, 2, 3, 64, 512].map(|sessions| fitting(sessions, &[])), [4000, 4000, 4000, 312, 39]);
        assert_eq!(fitting(512, &[200, 100]), 39, "a wait for a CPU changes nothing");
        assert_eq!(fitting(512, &[1000, 1000]), 9, "but no batch lasts for seconds");
    }

    #[test]
    fn batches_of_all_sessions_together_are_bounded() {
        let largest = [1, 64, 1024, 1 << 20].map(|sessions| BatchSize::new(0, sessions, None).largest);
        assert_eq!(largest, [8192, 1024, 256, 256]);
    }
}
