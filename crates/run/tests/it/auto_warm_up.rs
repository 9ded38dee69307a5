//! WARMUP=auto, on sessions whose operations take as long as a test says.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use slob_engine::{
    Cancel, CancelToken, Debt, Engine, EngineError, ErrorKind, Outcome, Perform, Result, Session,
    SessionPlan, execute_each,
};
use slob_method::{Batch, Op};
use slob_record::{AutoWarmUp, Record, Status};
use slob_run::{RunEvent, RunObserver};
use slob_testing::tries::{ensure, shown_within};

use crate::support::{self, Changes, measure};

/// What earlier work has left so long after the first operation.
type Owes = fn(Duration) -> Result<Vec<Debt>>;

/// Time of an operation that begins so long after the first one.
type Pace = fn(Duration) -> Duration;

struct Paced {
    pace: Pace,
    owes: Owes,
    first: Arc<OnceLock<Instant>>,
}

impl Changes for Paced {
    fn session(&self, _: &dyn Engine, _: &SessionPlan) -> Result<Box<dyn Session>> {
        let first = Arc::clone(&self.first);
        Ok(Box::new(PacedSession { pace: self.pace, first, token: Arc::default() }))
    }

    fn debts(&self) -> Result<Vec<Debt>> {
        (self.owes)(self.first.get_or_init(Instant::now).elapsed())
    }
}

struct PacedSession {
    pace: Pace,
    first: Arc<OnceLock<Instant>>,
    token: Arc<CancelToken>,
}

impl Perform for PacedSession {
    fn perform(&mut self, op: &Op) -> Result<u64> {
        let since = self.first.get_or_init(Instant::now).elapsed();
        self.token.sleep((self.pace)(since), None)?;
        Ok(op.rows().unwrap_or(0))
    }
}

impl Session for PacedSession {
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        outcome.clear();
        let token = Arc::clone(&self.token);
        execute_each(self, batch, deadline, &token, outcome)
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::<CancelToken>::clone(&self.token))
    }
}

/// Counts seconds in which the time left is the most that it may be.
#[derive(Default)]
struct Ticks {
    at_most: u32,
    exact: u32,
}

impl RunObserver for Ticks {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Tick(tick) = event {
            *(if tick.is_most { &mut self.at_most } else { &mut self.exact }) += 1;
        }
    }
}

fn run(pace: Pace, parameters: &[(&str, &str)]) -> (Record, Ticks) {
    run_with_debts(pace, |_| Ok(Vec::new()), parameters)
}

fn run_with_debts(pace: Pace, owes: Owes, parameters: &[(&str, &str)]) -> (Record, Ticks) {
    fn spec(results: &Path, parameters: &[(&str, &str)]) -> slob_spec::RunSpec {
        let results = results.display().to_string();
        let fixed = [
            ("TARGET", "null:"),
            ("RESULTS_DIR", results.as_str()),
            ("THREADS_PER_SCHEMA", "4"),
            ("UPDATE_PCT", "0"),
            ("RUN_TIME", "1"),
        ];
        support::spec(&[&fixed[..], parameters].concat())
    }
    let folder = tempfile::tempdir().unwrap();
    let changes = Paced { pace, owes, first: Arc::default() };
    let mut ticks = Ticks::default();
    let spec = spec(folder.path(), parameters);
    let record = measure(&spec, changes, &mut ticks, &AtomicBool::new(false)).unwrap().record;
    assert_eq!(record.status, Status::Completed);
    (record, ticks)
}

fn warm_up(record: &Record) -> &AutoWarmUp {
    let warm_up = record.warm_up.as_ref().unwrap();
    let window = record.window.unwrap();
    assert!((warm_up.seconds - window.begin_s).abs() < 1e-6, "{warm_up:?}, {window:?}");
    assert_eq!(record.workload.warmup_s, window.begin_s);
    warm_up
}

/// Operations are fast from the second `SETTLED` on.
const SETTLED: Duration = Duration::from_secs(2);

fn settling(since: Duration) -> Duration {
    Duration::from_millis(if since < SETTLED { 40 } else { 20 })
}

#[test]
fn a_warm_up_ends_soon_after_the_load_has_settled_and_not_before() {
    // On a busy machine the rate may vary by more than 3 %, but not each time.
    shown_within(4, || {
        let (record, ticks) = run(settling, &[("WARMUP", "auto:15s")]);
        let warm_up = warm_up(&record);
        // The sessions' first operations precede the clock's begin, so that a part of the second before may be fast.
        let since_s = warm_up.steady.since_s.unwrap();
        assert!(!warm_up.steady.reached || since_s >= SETTLED.as_secs() - 1, "{warm_up:?}");
        assert!(ticks.at_most > 3, "{}", ticks.at_most);
        ensure(warm_up.steady.reached && warm_up.seconds < 14.0 && ticks.exact > 0, || format!("{warm_up:?}"))
    });
}

#[test]
fn a_load_that_never_settles_warms_up_to_the_limit_and_the_record_says_so() {
    // Twice as slow from second to second.
    let pace = |since: Duration| Duration::from_secs_f64(0.001 * since.as_secs_f64().exp2());
    let (record, _) = run(pace, &[("WARMUP", "auto:6")]);
    let warm_up = warm_up(&record);
    assert!(!warm_up.steady.reached && warm_up.seconds >= 6.0, "{warm_up:?}");
    let note = "The warm-up ended at its limit of 6 s: the load was not steady.";
    assert!(record.notes.iter().any(|said| said == note), "{:?}", record.notes);
    let [first, .., last] = &warm_up.steady.operations_per_s[..] else { panic!("{warm_up:?}") };
    assert!(*first > 1.2 * last, "{warm_up:?}");
    assert!(warm_up.responses_us.last() > warm_up.responses_us.first(), "{warm_up:?}");
}

#[test]
fn the_schedule_of_a_rate_begins_with_the_window() {
    shown_within(4, || {
        let rate =
            [("RATE", "100@0s,20@1s"), ("ARRIVALS", "steady"), ("RUN_TIME", "3"), ("WARMUP", "auto:12s")];
        let (record, _) = run(|_| Duration::from_millis(10), &rate);
        let warm_up = warm_up(&record);
        let (window, steps) = (record.window.unwrap(), &record.rate_steps);
        let due = record.workload.due_between(window.begin_s, window.begin_s + 3.0).unwrap();
        assert!((due - 140.0).abs() < 1e-6, "{due}");
        let done: u64 = record.operations.values().map(|kind| kind.operations).sum();
        ensure(warm_up.steady.reached && done.abs_diff(140) <= 6 && record.backlog.unwrap() <= 6, || {
            format!("{done} done, {:?} left, {} steps: {warm_up:?}", record.backlog, steps.len())
        })
    });
}

fn even(_: Duration) -> Duration {
    Duration::from_millis(20)
}

/// The load is steady after 3 s at the earliest.
const BUSY: Duration = Duration::from_secs(6);

#[test]
fn a_checkpoint_that_a_load_left_behind_is_waited_for() {
    fn owes(since: Duration) -> Result<Vec<Debt>> {
        Ok(if since < BUSY { vec![Debt::under_way("checkpoint", 1, "")] } else { Vec::new() })
    }
    shown_within(4, || {
        let (record, _) = run_with_debts(even, owes, &[("WARMUP", "auto:15")]);
        let warm_up = warm_up(&record);
        assert!(warm_up.seconds > 5.5, "{warm_up:?}");
        assert_eq!(warm_up.debts_at_begin, [Debt::under_way("checkpoint", 1, "")]);
        let is_early = warm_up.steady.reached && warm_up.seconds < 14.0;
        ensure(is_early && warm_up.debts_at_end.is_empty(), || format!("{warm_up:?}"))
    });
}

#[test]
fn work_that_does_not_end_in_time_is_in_the_record_and_in_a_note() {
    let checkpoint = || vec![Debt::under_way("checkpoint", 1, "")];
    let (record, _) = run_with_debts(
        even,
        move |_| Ok(vec![Debt::under_way("checkpoint", 1, "")]),
        &[("WARMUP", "auto:5")],
    );
    let left = warm_up(&record);
    assert!(left.seconds >= 5.0, "{left:?}");
    assert_eq!((&left.debts_at_begin, &left.debts_at_end), (&checkpoint(), &checkpoint()));
    let is_said = |said: &String| {
        said.starts_with("The warm-up ended at its limit of 5 s") && said.contains("(left: checkpoint)")
    };
    assert!(record.notes.iter().any(is_said), "{:?}", record.notes);
}

#[test]
fn a_server_that_does_not_tell_its_debts_is_asked_once_and_a_note_says_why() {
    let refused = |_| Err(EngineError::new(ErrorKind::Privilege, "asking", "permission denied"));
    let (record, _) = run_with_debts(even, refused, &[("WARMUP", "auto:4")]);
    let known = |said: &&String| {
        said.contains("What earlier work left to the server is not known: asking: permission denied")
    };
    assert_eq!(record.notes.iter().filter(known).count(), 1, "{:?}", record.notes);
}
