//! Sessions: one connection each, as the account of their schema.

mod arrays;
mod decode;
mod interrupt;

use std::ops::Range;
use std::time::{Duration, Instant};

use slob_engine::{Alarm, EngineError, ErrorKind, Outcome, SchemaState, Session, SessionPlan};
use slob_method::{Batch, SchemaNo};
use slob_server::{Cancellable, Work, time_left};

use self::arrays::fill;
use self::decode::decode;
use self::interrupt::BreakCall;
use crate::access::Access;
use crate::batch::block;
use crate::catalog;
use crate::client::{Client, Fault};
use crate::database::Database;
use crate::error::failed;

/// Operations of one call; an array holds 32,767 elements, and an answer has three for each operation.
const CALL_OPS: usize = 2048;

/// What every session is set to. A statement does not become parallel, cursors are shared by text alone, and what was
/// learnt from one execution does not change the plan of the next.
const SETTINGS: &[&str] = &[
    "ALTER SESSION SET CURRENT_SCHEMA = {user}",
    "ALTER SESSION DISABLE PARALLEL QUERY",
    "ALTER SESSION DISABLE PARALLEL DML",
    "ALTER SESSION SET CURSOR_SHARING = EXACT",
];

/// The settings of a session of that account.
pub(crate) fn settings(user: &str) -> Vec<String> {
    SETTINGS.iter().map(|text| text.replace("{user}", user)).collect()
}

/// Opens a session.
///
/// # Errors
/// If a schema that it needs is not loaded, or the server refuses another connection.
pub(crate) fn open(database: &Database, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
    let Database { connector, complete, .. } = database;
    let endpoints = connector.endpoints();
    let endpoint = plan.endpoint(endpoints.len());
    let place = Access::shown(endpoints.get(endpoint).map_or("", String::as_str));
    let step = format!("opening session {} on {place}", plan.number);
    complete.require(
        plan,
        &step,
        |schema| connector.prefix.user(schema),
        |schema| look(database, schema, &step),
    )?;
    let mut client = connector.connect_session(plan.home, endpoint)?;
    let user = connector.prefix.user(plan.home);
    for sql in settings(&user) {
        client.execute(&sql, &[]).map_err(|fault| failed(step.as_str(), &fault))?;
    }
    let interrupt = BreakCall(client.breaker());
    let mut work = Blocks {
        plain: block(plan, &connector.prefix, None),
        pausing: block(plan, &connector.prefix, Some(database.version.sleep())),
        step: format!("session {} on {place}, executing a batch", plan.number),
        plan: plan.clone(),
        client,
    };
    // Has the block compiled before the clock of the run ticks.
    work.call(Instant::now(), &Batch::default(), 0..0, None, false, &mut Outcome::new())?;
    Ok(Box::new(Cancellable::new(work, endpoint, interrupt)))
}

/// All schemas at once: a run has as many as sessions. Of one that is not complete, what is known of it alone.
fn look(database: &Database, schema: SchemaNo, step: &str) -> Result<Vec<SchemaState>, EngineError> {
    let Database { connector, .. } = database;
    let mut states = database.look(|client| catalog::schemas(client, connector))?;
    if !states.iter().any(|state| state.schema == schema && state.state.layout().is_some()) {
        states.retain(|state| state.schema != schema);
        states.push(database.look(|client| catalog::schema(client, connector, schema, step))?.state);
    }
    Ok(states)
}

/// Has the server execute batches, each as a block.
struct Blocks {
    client: Box<dyn Client>,
    plan: SessionPlan,
    /// The block, without and with pauses: what pauses must be granted before release 18, so who needs none is not
    /// asked for it.
    plain: String,
    pausing: String,
    step: String,
}

impl Blocks {
    /// Carries out some operations of a batch, which was handed over at `begun`, in one call, and returns how many were done.
    fn call(
        &mut self,
        begun: Instant,
        batch: &Batch,
        ops: Range<usize>,
        left: Option<Duration>,
        paused: bool,
        outcome: &mut Outcome,
    ) -> Result<usize, EngineError> {
        let ops = &batch.ops()[ops];
        let arrays = fill(ops, &self.plan, left, paused)?;
        let text = if paused { &self.pausing } else { &self.plain };
        let start = Instant::now();
        let answer = self.client.batch(text, &arrays).map_err(|fault| self.failed(&fault))?;
        let done = decode(&answer, ops.len(), start - begun, start.elapsed(), outcome).ok_or_else(|| {
            let message = format!(
                "{} operations went there, and {} numbers came back",
                ops.len(),
                answer.moments.len()
            );
            EngineError::new(ErrorKind::Data, self.step.as_str(), message)
        })?;
        match &answer.fault {
            None => Ok(done),
            Some(fault) => {
                let op = ops.get(done).map_or_else(String::new, |op| format!(", {op}"));
                Err(failed(format!("{}{op}", self.step), fault))
            }
        }
    }

    fn failed(&self, fault: &Fault) -> EngineError {
        let error = failed(self.step.as_str(), fault);
        // PLS-00201 and its like come as 6550, compiling the block.
        if fault.code == Some(6550) && fault.message.contains("DBMS_LOCK") {
            return error.with_advice(
                "as SYS: GRANT EXECUTE ON DBMS_LOCK TO the accounts, or set THINK_TM_FREQUENCY=0",
            );
        }
        error
    }

    /// In a closed loop, as many operations in each call as fit.
    fn work_on(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        let begun = Instant::now();
        let count = batch.ops().len();
        let paused = batch.ops().iter().any(|op| op.pause_us > 0);
        let mut first = 0;
        while first < count {
            let Some(left) = time_left(deadline, Instant::now()) else { return Ok(()) };
            let end = count.min(first + CALL_OPS);
            if self.call(begun, batch, first..end, left, paused, outcome)? < end - first {
                return Ok(());
            }
            first = end;
        }
        Ok(())
    }

    /// In an open loop, the wait for the next operation that is due is spent here: pauses of the server are whole
    /// hundredths of a second. What is late already goes in one call.
    fn work_when_due(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        alarm: &Alarm,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        let begun = Instant::now();
        let count = batch.ops().len();
        let due = |index: usize| batch.not_before(index).unwrap_or_default();
        let mut first = 0;
        while first < count {
            alarm.sleep(due(first).saturating_sub(begun.elapsed()), deadline)?;
            let Some(left) = time_left(deadline, Instant::now()) else { return Ok(()) };
            let now = begun.elapsed();
            let mut end = first + 1;
            while end < count.min(first + CALL_OPS) && due(end) <= now {
                end += 1;
            }
            if self.call(begun, batch, first..end, left, false, outcome)? < end - first {
                return Ok(());
            }
            first = end;
        }
        Ok(())
    }
}

impl Work for Blocks {
    /// What was done before an error is in `outcome`, unless the connection broke: then only what earlier calls of the
    /// batch did is.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        alarm: &Alarm,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        match batch.dues_ns() {
            Some(_) => self.work_when_due(batch, deadline, alarm, outcome),
            None => self.work_on(batch, deadline, outcome),
        }
    }
}
