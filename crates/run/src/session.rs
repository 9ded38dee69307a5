//! One session's thread: connect, wait for the start, execute batch after batch, report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Cancel, Engine, EngineError, ErrorKind, Outcome, Session, SessionPlan};
use slob_method::{Batch, Planner};
use slob_spec::SessionLoss;

use crate::batch_size::{BATCH, BatchSize, LONGEST_BATCH};
use crate::journal::Journal;
use crate::losses::{Conflicts, Losses};
use crate::rendezvous::{Place, Rendezvous};
use crate::session_totals::SessionTotals;
use crate::tally::{Doer, Tally};

/// How long a session that lost its database waits between two attempts to have it again: at first, and at most.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// A conflict that does not go away after this many tries in a row is a failure.
const MOST_RETRIES: u32 = 100;

/// What the sessions of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) rendezvous: Rendezvous,
    pub(crate) tally: Arc<Tally>,
    operations: AtomicU64,
    journal: Option<Journal>,
}

impl Shared {
    /// With a journal, if the run is to have one.
    pub(crate) fn new(tally: Arc<Tally>, journal: Option<Journal>) -> Self {
        Self { rendezvous: Rendezvous::default(), tally, operations: AtomicU64::new(0), journal }
    }

    /// Operations done by all sessions so far.
    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }
}

/// What a session tells the timeline.
pub(crate) enum Message {
    /// Connected and waiting; with the handle to cancel it.
    Ready(u32, Option<Arc<dyn Cancel>>),
    /// A session has done all its operations, and rests.
    DoneAll(u32),
    /// Ended: by the stop, after its last operation, or by an error.
    Ended(Box<SessionEnd>),
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct SessionEnd {
    pub(crate) session: u32,
    pub(crate) totals: SessionTotals,
    /// The endpoint it worked on last.
    pub(crate) endpoint: usize,
    /// Operations carried out in all, warm-up included.
    pub(crate) operations: u64,
    /// Operations that had to be repeated because of a conflict.
    pub(crate) conflicts: Conflicts,
    /// When it lost its database, and had it again.
    pub(crate) losses: Losses,
    /// It ended because it lost its database, which is tolerated.
    pub(crate) dropped: bool,
    pub(crate) error: Option<EngineError>,
}

/// Everything that one session needs.
pub(crate) struct Worker {
    pub(crate) plan: SessionPlan,
    pub(crate) planner: Planner,
    /// With WORK_LOOP: how many operations to do.
    pub(crate) operations: Option<u64>,
    /// How many operations its first batch holds, and what the next ones may.
    pub(crate) size: BatchSize,
    /// What to do when it loses its database.
    pub(crate) on_loss: SessionLoss,
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: Sender<Message>,
}

impl Worker {
    /// The body of the session's thread.
    pub(crate) fn work(mut self, engine: &dyn Engine) {
        let number = self.plan.number;
        let mut end = SessionEnd {
            session: number,
            totals: SessionTotals::default(),
            endpoint: 0,
            operations: 0,
            conflicts: Conflicts::default(),
            losses: Losses::default(),
            dropped: false,
            error: None,
        };
        // An engine that panics must not leave the others waiting for this session.
        let worked = catch_unwind(AssertUnwindSafe(|| self.connect_and_execute(engine, &mut end)));
        end.error = worked.unwrap_or_else(|_| Err(panicked("the session"))).err();
        // A receiver that is gone means that the run is over; then there is nobody to tell.
        let _ = self.messages.send(Message::Ended(Box::new(end)));
    }

    /// The connection is open until the session is to leave, whether it has done all before or not: a server's process that
    /// is gone can't tell any more what CPU it used.
    fn connect_and_execute(&mut self, engine: &dyn Engine, end: &mut SessionEnd) -> Result<(), EngineError> {
        let mut session = engine.session(&self.plan)?;
        end.endpoint = session.endpoint();
        let _ = self.messages.send(Message::Ready(self.plan.number, session.canceller()));
        let shared = Arc::clone(&self.shared);
        let mut place = Place::new(&shared.rendezvous);
        let mut work = Work::new(self.size);
        let mut is_at_work = place.rest();
        while is_at_work {
            let Err(error) = self.execute_all(session.as_mut(), &place, &mut work, end) else {
                publish(session.as_mut());
                if place.is_working() {
                    place.step_out();
                    let _ = self.messages.send(Message::DoneAll(self.plan.number));
                }
                is_at_work = place.rest();
                continue;
            };
            if error.kind() != ErrorKind::Connection {
                publish(session.as_mut());
                return Err(error);
            }
            if self.on_loss == SessionLoss::Fail {
                return Err(error);
            }
            end.losses.begin(shared.tally.clock().ns(Instant::now()), end.endpoint, &error);
            if self.on_loss == SessionLoss::Drop {
                end.dropped = true;
                return Err(error);
            }
            place.step_out();
            // Before the new one is opened, so that the server does not hold both.
            drop(session);
            match self.reconnect(engine, &place, &mut end.losses) {
                Some(again) => session = again,
                None => return Ok(()),
            }
            end.endpoint = session.endpoint();
            let back_ns = shared.tally.clock().ns(Instant::now());
            end.losses.end(back_ns, end.endpoint);
            end.totals.was_busy_until(back_ns);
            is_at_work = place.step_in() || place.rest();
        }
        Ok(())
    }

    /// Opens the session again, on the next endpoint, and on the one after it, until one answers; `None` when the run
    /// ends before that.
    fn reconnect(
        &mut self,
        engine: &dyn Engine,
        place: &Place<'_>,
        losses: &mut Losses,
    ) -> Option<Box<dyn Session>> {
        let mut wait = SHORTEST_WAIT;
        while !place.is_to_leave() {
            self.plan.attempt += 1;
            match engine.session(&self.plan) {
                Ok(session) => {
                    let _ = self.messages.send(Message::Ready(self.plan.number, session.canceller()));
                    return Some(session);
                }
                Err(error) => losses.refused(&error),
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        None
    }

    /// Works until the phase is over, or everything is done.
    fn execute_all(
        &mut self,
        session: &mut dyn Session,
        place: &Place<'_>,
        work: &mut Work,
        end: &mut SessionEnd,
    ) -> Result<(), EngineError> {
        let shared = Arc::clone(&self.shared);
        let tally = &*shared.tally;
        while place.is_working() {
            if work.batch.ops().is_empty() {
                let now_ns = tally.clock().ns(Instant::now());
                match self.plan_next(&mut work.batch, work.size.fitting(), end.operations, now_ns) {
                    Next::Planned => {}
                    Next::DueIn(wait) => {
                        place.sleep(wait);
                        continue;
                    }
                    Next::AllDone => return Ok(()),
                }
            }
            let Some(under_way) = place.begin(work.batch.ops().len()) else { break };
            let begun = Instant::now();
            work.batch.hand_over(tally.clock().ns(begun));
            let planned_pauses = work.batch.pauses();
            let journal = shared.journal.as_ref();
            journal.map_or(Ok(()), |journal| journal.sending(self.plan.number, work.batch.ops()))?;
            let deadline = deadline(under_way.until, begun, &work.batch, planned_pauses);
            let result = session.execute(&work.batch, deadline, &mut work.outcome);
            let elapsed = begun.elapsed();
            end.endpoint = session.endpoint();
            let doer = Doer { number: self.plan.number, endpoint: end.endpoint };
            tally.add(doer, begun, &work.batch, work.outcome.ops(), &mut end.totals);
            drop(under_way);
            let answered = &work.batch.ops()[..work.outcome.ops().len()];
            journal.map_or(Ok(()), |journal| journal.answered(self.plan.number, answered))?;
            let done = work.learn(elapsed.saturating_sub(planned_pauses));
            end.operations += done as u64;
            shared.operations.fetch_add(done as u64, Ordering::Relaxed);
            match result {
                Ok(()) => work.tries = 0,
                Err(error) if error.kind() == ErrorKind::Cancelled => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Retryable && work.tries < MOST_RETRIES => {
                    work.tries = if done > 0 { 1 } else { work.tries + 1 };
                    end.conflicts.count(&error);
                    end.totals.was_busy_until(tally.clock().ns(begun + elapsed));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Plans the next batch, at `now_ns` after the start of the run.
    fn plan_next(&mut self, batch: &mut Batch, size: usize, done: u64, now_ns: u64) -> Next {
        let left = self.operations.map_or(u64::MAX, |all| all - done);
        let count = size.min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return Next::AllDone;
        }
        let Some(due_ns) = self.planner.next_due_ns() else {
            self.planner.fill_within(batch, count, BATCH);
            return Next::Planned;
        };
        let horizon_ns = now_ns + BATCH.as_nanos() as u64;
        if due_ns >= horizon_ns {
            return Next::DueIn(Duration::from_nanos(due_ns - horizon_ns + 1));
        }
        self.planner.fill_due(batch, count, horizon_ns);
        Next::Planned
    }
}

/// When a batch that is handed over at `begun` ends, should its operations take much longer than expected: what came of a
/// long batch is known at its end only, and gone if it is cancelled. A single operation has nobody to wait for it but the phase's end.
fn deadline(of_phase: Option<Instant>, begun: Instant, batch: &Batch, pauses: Duration) -> Option<Instant> {
    let of_batch = (batch.ops().len() > 1).then(|| begun + pauses + LONGEST_BATCH);
    of_phase.into_iter().chain(of_batch).min()
}

/// Has the database count what the session did. Where that can't be had, its counters lack it, which is found by those who
/// compare them with our own; an error that matters is that of the next operation.
fn publish(session: &mut dyn Session) {
    let _ = session.publish();
}

/// What a session is at; it outlives a connection.
struct Work {
    batch: Batch,
    outcome: Outcome,
    size: BatchSize,
    /// How often in a row a conflict has had the same operation repeated.
    tries: u32,
}

impl Work {
    fn new(size: BatchSize) -> Self {
        Self { batch: Batch::default(), outcome: Outcome::default(), size, tries: 0 }
    }

    /// Takes away what was done of the batch, and learns from the time that it took, pauses left out. Returns how many
    /// operations that are.
    fn learn(&mut self, took: Duration) -> usize {
        let done = self.outcome.ops().len();
        let took = match self.batch.dues_ns() {
            // Waiting for what is due later is not work.
            Some(_) => Duration::from_nanos(self.outcome.ops().iter().map(|op| op.duration_ns).sum()),
            None => took,
        };
        self.size.learn(done, took);
        self.batch.advance(done);
        done
    }
}

/// What a session does next.
enum Next {
    /// The batch that was planned.
    Planned,
    /// In an open loop: nothing is due for a batch to begin now.
    DueIn(Duration),
    /// It has done all it has to do.
    AllDone,
}

/// The error of a thread that panicked; what it said is on stderr.
pub(crate) fn panicked(who: &str) -> EngineError {
    EngineError::new(ErrorKind::Fatal, who, "panicked: this is a fault of this program, please report it")
}
