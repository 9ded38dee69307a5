use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{
    Cancel, CancelToken, EngineError, ErrorKind, Outcome, Perform, Result, Session, SessionPlan, execute_each,
};
use slob_method::{Action, Batch, COLUMN_BYTES, KeyRange, Op, SchemaNo};

use crate::operations::not_opened_for;
use crate::{Kind, classify, homes};

/// Requests to end a batch are repeated at this interval.
const ASK_AGAIN: Duration = Duration::from_millis(100);
const MOST_TRIES: u32 = 100;

pub trait Work: Send {
    /// Works as [`Session::execute`], with an empty outcome; `alarm` ends pauses in this process.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        alarm: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<()>;

    /// Works as [`Session::publish`].
    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}

pub trait Interrupt: Send + Sync {
    /// Each call of the result sends one request. It serves one cancellation in one thread, so it may keep a connection. Requests
    /// that can't be sent are dropped.
    fn asker(&self) -> Box<dyn FnMut() + '_>;

    /// Advice on other causes of the end of a batch.
    fn others(&self) -> &'static str;
}

pub struct Cancellable<W> {
    work: W,
    endpoint: usize,
    canceller: Canceller,
}

impl<W: Work> Cancellable<W> {
    pub fn new(work: W, endpoint: usize, interrupt: impl Interrupt + 'static) -> Self {
        let [cancelled, running] = [false; 2].map(AtomicBool::new);
        let (alarm, interrupt) = (CancelToken::default(), Box::new(interrupt));
        let canceller = Canceller(Arc::new(CancelState { cancelled, running, alarm, interrupt }));
        Self { work, endpoint, canceller }
    }
}

impl<W: Work> Session for Cancellable<W> {
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        outcome.clear();
        let Self { work, canceller, .. } = self;
        canceller.0.guard(|| work.work(batch, deadline, &canceller.0.alarm, outcome))
    }

    fn publish(&mut self) -> Result<()> {
        let Self { work, canceller, .. } = self;
        canceller.0.guard(|| work.publish())
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.canceller.clone()))
    }
}

#[derive(Clone)]
struct Canceller(Arc<CancelState>);

struct CancelState {
    cancelled: AtomicBool,
    running: AtomicBool,
    alarm: CancelToken,
    interrupt: Box<dyn Interrupt>,
}

impl CancelState {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// The error is [`ErrorKind::Cancelled`] only after a cancellation by the handle.
    fn guard<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let cancelled = |why: String| EngineError::new(ErrorKind::Cancelled, "executing a batch", why);
        self.running.store(true, Ordering::SeqCst);
        let result = match self.is_cancelled() {
            true => Err(cancelled("the session was cancelled".to_owned())),
            false => work(),
        };
        self.running.store(false, Ordering::SeqCst);
        match result {
            Err(error) if self.is_cancelled() => Err(cancelled(error.to_string())),
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                let others = self.interrupt.others();
                Err(EngineError::new(ErrorKind::Fatal, "executing a batch", error.to_string())
                    .with_advice(format!("somebody else ended it, perhaps with {others}")))
            }
            result => result,
        }
    }
}

impl Cancel for Canceller {
    fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.0.alarm.cancel();
        // A request between two statements is lost on the server, so it is repeated. There may be hundreds of sessions, hence a
        // thread.
        let state = Arc::clone(&self.0);
        let asking = move || {
            let mut ask = state.interrupt.asker();
            for _ in 0..MOST_TRIES {
                if !state.running.load(Ordering::SeqCst) {
                    break;
                }
                ask();
                thread::sleep(ASK_AGAIN);
            }
        };
        // Without a thread, one request must do.
        if thread::Builder::new().spawn(asking).is_err() && self.0.running.load(Ordering::SeqCst) {
            (self.0.interrupt.asker())();
        }
    }
}

/// `None` after the deadline, `Some(None)` without one.
#[allow(clippy::option_option)]
pub fn time_left(deadline: Option<Instant>, now: Instant) -> Option<Option<Duration>> {
    let Some(deadline) = deadline else { return Some(None) };
    let left = deadline.saturating_duration_since(now);
    (!left.is_zero()).then_some(Some(left))
}

pub trait Statements: Send {
    type Statement: Clone + Send;
    type Error;

    fn prepare(&mut self, kind: Kind, schema: SchemaNo) -> Result<Self::Statement, Self::Error>;

    fn count(&mut self, statement: &Self::Statement, keys: Option<KeyRange>) -> Result<u64, Self::Error>;

    /// Returns the number of rows. It commits, or leaves the transaction open for the next UPDATE.
    fn update(
        &mut self,
        statement: &Self::Statement,
        keys: KeyRange,
        values: &[&str],
        commits: bool,
    ) -> Result<u64, Self::Error>;

    /// Rolls back if it can.
    fn roll_back(&mut self);

    /// Rolls back an open transaction.
    fn failed(&mut self, schema: SchemaNo, step: &str, error: Self::Error) -> EngineError;

    /// Commits an open transaction after each batch.
    fn batch_done(&mut self) -> Result<()> {
        Ok(())
    }

    /// Works as [`Session::publish`].
    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}

pub struct ClientLoop<S: Statements> {
    connection: S,
    plan: SessionPlan,
    prepared: Vec<((Kind, bool), S::Statement)>,
}

impl<S: Statements> ClientLoop<S> {
    pub fn new(mut connection: S, plan: &SessionPlan, step: &str) -> Result<Self> {
        let mut prepared = Vec::new();
        for (schema, hot) in homes(plan.home, plan.hot_schema) {
            for kind in Kind::of_session(plan) {
                let statement = connection.prepare(kind, schema);
                let statement = statement.map_err(|error| connection.failed(schema, step, error))?;
                prepared.push(((kind, hot), statement));
            }
        }
        Ok(Self { connection, plan: plan.clone(), prepared })
    }
}

impl<S: Statements> Perform for ClientLoop<S> {
    fn perform(&mut self, op: &Op) -> Result<u64> {
        let class = classify(op, &self.plan)?;
        let statement = self.prepared.iter().find(|(known, _)| *known == class);
        let statement = statement.map(|(_, statement)| statement.clone());
        let statement = statement.ok_or_else(|| not_opened_for(op, &self.plan))?;
        let result = match op.action {
            Action::Select(keys) => self.connection.count(&statement, Some(keys)),
            Action::Scan => self.connection.count(&statement, None),
            Action::Update(keys, stamp) => {
                let text = |column: &usize| {
                    let mut text = [0; COLUMN_BYTES];
                    self.plan.update_text.fill_column(*column, stamp, &mut text);
                    text
                };
                let texts: Vec<[u8; COLUMN_BYTES]> = class.0.updated_columns().iter().map(text).collect();
                // Letters and digits of ASCII.
                let texts: Vec<&str> =
                    texts.iter().map(|text| std::str::from_utf8(text).unwrap_or_default()).collect();
                self.connection.update(&statement, keys, &texts, op.commits)
            }
        };
        result.map_err(|error| {
            let step = format!("session {}, {op}", self.plan.number);
            self.connection.failed(op.schema, &step, error)
        })
    }
}

impl<S: Statements> Work for ClientLoop<S> {
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        alarm: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<()> {
        execute_each(self, batch, deadline, alarm, outcome).inspect_err(|_| self.connection.roll_back())?;
        self.connection.batch_done()
    }

    fn publish(&mut self) -> Result<()> {
        self.connection.publish()
    }
}
