//! Sessions that fail or panic: nothing hangs, and what was measured is kept.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Engine, EngineError, ErrorKind, OpOutcome, Outcome, Result, Session, SessionPlan};
use slob_measure::OpKind;
use slob_method::Batch;
use slob_record::{Record, Status};
use slob_run::{RunError, RunEvent, RunObserver};

use crate::support::{Changes, measure, spec};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    PanicsWhenOpened,
    PanicsAtWork,
    FailsAtWork,
    ConflictsNowAndThen,
    /// Only its first connection is lost.
    IsLost,
    /// Its server, where the loop runs, becomes ten thousand times slower and reports a batch only at its end.
    Stalls,
    /// Its first counted call outlasts the warm-up and the rest after it, and the host's observer takes long.
    OutlastsTheWarmUp,
}

struct FaultySession {
    inner: Box<dyn Session>,
    fault: Fault,
    batches: AtomicU32,
    opened: Instant,
}

impl Session for FaultySession {
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        let batches = self.batches.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::PanicsAtWork if batches == 3 => panic!("as planned"),
            Fault::FailsAtWork if batches == 3 => {
                outcome.clear();
                outcome.push(OpOutcome { start_ns: 0, duration_ns: 1, rows: 64 });
                Err(EngineError::new(ErrorKind::Connection, "executing", "the server went away"))
            }
            Fault::IsLost if batches == 3 => {
                outcome.clear();
                Err(EngineError::new(ErrorKind::Connection, "executing", "the server went away"))
            }
            Fault::ConflictsNowAndThen if batches % 2 == 1 => {
                outcome.clear();
                Err(EngineError::new(ErrorKind::Retryable, "executing", "conflict"))
            }
            Fault::OutlastsTheWarmUp if batches == 1 => {
                thread::sleep(Duration::from_secs(5));
                self.inner.execute(batch, deadline, outcome)
            }
            Fault::Stalls => {
                self.inner.execute(batch, None, outcome)?;
                self.stall(deadline, outcome)
            }
            _ => self.inner.execute(batch, deadline, outcome),
        }
    }
}

impl FaultySession {
    /// Half a second after the first batch each operation takes 20 ms.
    fn stall(&self, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        const EACH: Duration = Duration::from_millis(20);
        let begun = Instant::now();
        if begun < self.opened + Duration::from_millis(500) {
            return Ok(());
        }
        let mut ops: Vec<OpOutcome> = Vec::new();
        for op in outcome.ops() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            if begun.elapsed() > Duration::from_secs(3) {
                outcome.clear();
                return Err(EngineError::new(ErrorKind::Cancelled, "executing", "all of it is lost"));
            }
            thread::sleep(EACH);
            let start_ns = begun.elapsed().saturating_sub(EACH).as_nanos() as u64;
            ops.push(OpOutcome { start_ns, duration_ns: EACH.as_nanos() as u64, ..*op });
        }
        outcome.clear();
        ops.into_iter().for_each(|op| outcome.push(op));
        Ok(())
    }
}

impl Changes for Fault {
    fn snapshot(&self, null: &dyn Engine) -> Result<slob_engine::Snapshot> {
        let snapshot = null.snapshot();
        if *self == Fault::OutlastsTheWarmUp {
            thread::sleep(Duration::from_millis(700));
        }
        snapshot
    }

    fn session(&self, null: &dyn Engine, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        let inner = null.session(plan)?;
        if plan.number != 1 || (*self == Fault::IsLost && plan.attempt > 2) {
            return Ok(inner);
        }
        if plan.attempt > 0 {
            return Err(EngineError::new(ErrorKind::Connection, "connecting", "nobody answers"));
        }
        assert!(*self != Fault::PanicsWhenOpened, "as planned");
        let (batches, opened) = (AtomicU32::new(0), Instant::now());
        Ok(Box::new(FaultySession { inner, fault: *self, batches, opened }))
    }
}

struct Silent;

impl RunObserver for Silent {
    fn on_run(&mut self, _: &RunEvent<'_>) {}
}

fn run(fault: Fault, flags: &[(&str, &str)]) -> Result<Record, RunError> {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().display().to_string();
    let usual = [
        ("TARGET", "null:?latency_us=200"),
        ("RESULTS_DIR", &results),
        ("WARMUP", "0"),
        ("THREADS_PER_SCHEMA", "3"),
        ("UPDATE_PCT", "0"),
    ];
    let spec = spec(&[&usual[..], flags].concat());
    Ok(measure(&spec, fault, &mut Silent, &AtomicBool::new(false))?.record)
}

fn run_tolerating(loss: &str, fault: Fault, length: (&str, &str)) -> Record {
    run(fault, &[("TOLERATE_SESSION_LOSS", loss), length]).unwrap()
}

/// The rest may be longer than the time before it on a busy host.
#[test]
fn a_slow_sample_beside_a_session_at_work_moves_no_edge() {
    let record = run(Fault::OutlastsTheWarmUp, &[("WARMUP", "1"), ("RUN_TIME", "1")]).unwrap();
    let (window, edges) = (record.window.unwrap(), record.edges.unwrap());
    assert_eq!(edges.begin.sessions_at_work, 1);
    assert!(window.begin_s >= 0.99, "{window:?}");
}

#[test]
fn a_session_that_panics_when_opened_ends_the_run_before_its_start() {
    let error = run(Fault::PanicsWhenOpened, &[("RUN_TIME", "600")]).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[test]
fn a_session_that_fails_or_panics_at_work_fails_the_run_and_keeps_what_was_measured() {
    for (fault, words) in [(Fault::PanicsAtWork, "panicked"), (Fault::FailsAtWork, "the server went away")] {
        let record = run(fault, &[("RUN_TIME", "600")]).unwrap();
        let Status::Failed { error } = &record.status else { panic!("{:?}", record.status) };
        assert!(error.starts_with("session 1: ") && error.contains(words), "{error}");
        assert!(record.operations[&OpKind::Select].operations > 0);
        assert!(record.window.is_some());
        let whole: Vec<bool> = record.sessions.iter().map(|session| session.whole_window).collect();
        assert_eq!(whole, [true, false, true]);
    }
}

#[test]
fn conflicts_are_repeated_counted_and_lose_no_operation() {
    let record = run(Fault::ConflictsNowAndThen, &[("WORK_LOOP", "500")]).unwrap();
    assert_eq!(record.status, Status::Completed);
    assert!(record.sessions.iter().all(|session| session.selects == 500));
    assert!(record.notes.iter().any(|note| note.contains("repeated")), "{:?}", record.notes);
}

/// A batch is sized for quick operations.
#[test]
fn operations_that_become_slow_are_not_lost_with_their_batch() {
    let record = run(Fault::Stalls, &[("RUN_TIME", "3")]).unwrap();
    assert_eq!(record.status, Status::Completed);
    let slow = record.sessions[1].max_us.unwrap();
    assert!(slow >= 20_000.0, "{slow} us was the slowest");
    let latency = &record.operations[&OpKind::Select].latency;
    assert!(latency.count_in(19_000_000, u64::MAX) > 20, "{latency:?}");
}

#[test]
fn a_session_that_connects_again_does_all_its_operations() {
    let record = run_tolerating("reconnect", Fault::IsLost, ("WORK_LOOP", "500"));
    assert_eq!(record.status, Status::Completed);
    assert!(
        record.sessions.iter().all(|session| session.selects == 500),
        "no operation is lost or done twice"
    );
    let [loss] = &record.losses[..] else { panic!("{:?}", record.losses) };
    assert_eq!((loss.session, loss.error.contains("went away")), (1, true));
    assert!(loss.back_s.unwrap() > loss.at_s, "{loss:?}");
    let whole: Vec<bool> = record.sessions.iter().map(|session| session.whole_window).collect();
    assert_eq!(whole, [true, false, true]);
}

#[test]
fn a_session_that_is_dropped_ends_and_the_others_go_on() {
    let record = run_tolerating("drop", Fault::IsLost, ("WORK_LOOP", "500"));
    assert_eq!(record.status, Status::Completed);
    let selects: Vec<u64> = record.sessions.iter().map(|session| session.selects).collect();
    assert!(selects[0] == 500 && selects[1] < 500 && selects[2] == 500, "{selects:?}");
    assert!(record.sessions[1].error.is_some() && record.losses[0].back_s.is_none());
}

#[test]
fn a_session_that_never_connects_again_does_not_hold_up_the_end() {
    // FailsAtWork refuses every later connection too.
    let begun = Instant::now();
    let record = run_tolerating("reconnect", Fault::FailsAtWork, ("RUN_TIME", "2"));
    assert!(begun.elapsed().as_secs() < 30);
    assert_eq!(record.status, Status::Completed);
    assert_eq!((record.losses.len(), record.losses[0].back_s), (1, None));
    let refused = record.losses[0].refused.as_ref().unwrap();
    assert!(refused.contains("nobody answers"), "{refused}");
}
