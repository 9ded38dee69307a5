//! Sessions: one connection each, as the account of their schema.

mod decode;
mod encode;
mod interrupt;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slob_engine::{Alarm, EngineError, ErrorKind, Outcome, SchemaState, Session, SessionPlan};
use slob_method::{Batch, SchemaNo};
use slob_server::{Cancellable, Work, time_left};

pub(crate) use self::encode::WIDTH;

use self::decode::decode;
use self::encode::encode;
use self::interrupt::EndCall;
use crate::access::Access;
use crate::batch::block;
use crate::catalog;
use crate::client::{Client, Ending, Fault};
use crate::database::Database;
use crate::error::failed;
use crate::version::Version;

/// Operations of one call: so many fit into the 32,767 bytes that a text has in PL/SQL.
const CALL_OPS: usize = 1024;
/// How much longer than it may begin operations a call may take, where the server must be told to end it in another
/// connection, which may fail.
const GRACE: Duration = Duration::from_secs(60);
/// How long a call without a deadline may take there.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// What every connection is set to that loads, looks at plans or works, whoever made settings for the database. Cursors are
/// shared by text alone, a statement does not become parallel, and no result comes from a cache.
const SETTINGS: &[&str] = &[
    "ALTER SESSION DISABLE PARALLEL QUERY",
    "ALTER SESSION DISABLE PARALLEL DML",
    "ALTER SESSION SET CURSOR_SHARING = EXACT",
    "ALTER SESSION SET RESULT_CACHE_MODE = MANUAL",
];
/// An Autonomous Database ignores hints unless it is told not to. Earlier releases don't know it.
const HINTS: &str = "ALTER SESSION SET OPTIMIZER_IGNORE_HINTS = FALSE";

/// The settings of every connection to a server of that release.
pub(crate) fn settings(version: &Version) -> Vec<&'static str> {
    SETTINGS.iter().copied().chain(version.can_ignore_hints().then_some(HINTS)).collect()
}

/// Where names without an owner are those of the account of the schema.
pub(crate) fn current_schema(user: &str) -> String {
    format!("ALTER SESSION SET CURRENT_SCHEMA = {user}")
}

/// Opens a session.
///
/// # Errors
/// If a schema that it needs is not loaded, or the server refuses another connection.
pub(crate) fn open(database: &Arc<Database>, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
    let Database { connector, complete, .. } = &**database;
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
    client.execute(&current_schema(&user), &[]).map_err(|fault| failed(step.as_str(), &fault))?;
    let ending = client.ending();
    let block = |sleep| block(plan, &connector.prefix, database.options.commit, sleep);
    let mut work = Blocks {
        plain: block(None),
        pausing: block(Some(database.version.sleep())),
        step: format!("session {} on {place}, executing a batch", plan.number),
        plan: plan.clone(),
        is_bounded: matches!(ending, Ending::Statement(_)),
        client,
    };
    // Has the block compiled before the clock of the run ticks.
    work.call(Instant::now(), &Batch::default(), 0..0, None, false, &mut Outcome::new())?;
    let interrupt = EndCall { ending, database: Arc::clone(database) };
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
    /// Whether calls have a limit of time: those that nobody can end by their own connection.
    is_bounded: bool,
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
        let work = encode(ops, &self.plan, left)?;
        let text = if paused { &self.pausing } else { &self.plain };
        if self.is_bounded {
            self.client.limit(Some(left.unwrap_or(LONGEST_CALL) + GRACE));
        }
        let start = Instant::now();
        let answer = match self.client.batch(text, &work) {
            Ok(answer) => answer,
            Err(fault) => {
                // The block had no chance to. Where the connection is gone, so is the transaction.
                let _ = self.client.rollback();
                return Err(self.failed(&fault));
            }
        };
        let done = decode(&answer, ops.len(), start - begun, start.elapsed(), outcome).ok_or_else(|| {
            let message = format!(
                "{} operations went there, and what came back of them makes no sense: '{:.60}'",
                ops.len(),
                answer.text
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
    /// What was done before an error is in `outcome`, unless the call was ended or the connection broke: then only what
    /// earlier calls of the batch did is.
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
