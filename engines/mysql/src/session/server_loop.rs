//! The loop in the server: a batch is one CALL, or a few.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};
use slob_engine::{CancelToken, EngineError, ErrorKind, Outcome, SessionPlan};
use slob_method::{Batch, Op};
use slob_server::advice::{FOREIGN_PROCEDURE, NO_PROCEDURE};
use slob_server::{Work, nanoseconds, time_left, whole_microseconds};

use super::answers::{decode, decode_stretch};
use super::packed::{Form, first_piece, pack};
use crate::error::failed;
use crate::procedure::{self, BATCH, SELECTS};
use crate::stretch;

/// Operations of one call: bounds how long a plan and an answer grow, which every look into them copies.
const CALL_OPS: usize = 2048;

/// Has the server execute batches.
pub(super) struct ServerLoop {
    conn: Conn,
    batch: Statement,
    selects: Statement,
    /// By the keys of each operation.
    stretches: BTreeMap<u16, Statement>,
    /// Operations of so many keys at most are joined.
    joined: u16,
    plan: SessionPlan,
    step: String,
}

impl ServerLoop {
    /// Prepares the calls, and has the procedures compiled before the clock of the run ticks. SELECTs of up to `joined` keys that
    /// follow each other are one statement. `name` is the session's.
    ///
    /// # Errors
    /// If a procedure is missing.
    pub(super) fn open(
        mut conn: Conn,
        plan: &SessionPlan,
        joined: u16,
        name: &str,
    ) -> Result<Self, EngineError> {
        let mut prepare = |procedure| {
            conn.prep(procedure::call(plan.home, procedure))
                .map_err(|error| failed(name, &error).with_advice(NO_PROCEDURE))
        };
        let (batch, selects) = (prepare(BATCH)?, prepare(SELECTS)?);
        let step = format!("{name}, executing a batch");
        let stretches = BTreeMap::new();
        let mut session = Self { conn, batch, selects, stretches, joined, plan: plan.clone(), step };
        for form in [Form::Any, Form::Selects(1)] {
            session.call(&[], form, None, |_| 0)?;
        }
        Ok(session)
    }

    /// The answer, and the error that ended the call after it.
    fn call(
        &mut self,
        ops: &[Op],
        form: Form,
        run_us: Option<u64>,
        due_us: impl Fn(usize) -> u64,
    ) -> Result<(Vec<u8>, Option<EngineError>), EngineError> {
        let text = Value::Bytes(pack(ops, form, &self.plan, due_us)?);
        let count = Value::from(ops.len());
        let run_us = Value::from(run_us);
        let (statement, values) = match form {
            Form::Selects(width) => (&self.selects, vec![text, count, Value::from(width), run_us]),
            Form::Any | Form::Open => {
                (&self.batch, vec![text, count, Value::from(form == Form::Open), run_us])
            }
            Form::Stretch(width) => return Ok((self.stretch(width, text, run_us)?, None)),
        };
        let fail = |error: mysql::Error| failed(self.step.as_str(), &error);
        let mut result = self.conn.exec_iter(statement, Params::Positional(values)).map_err(fail)?;
        let mut answer = Vec::new();
        if let Some(rows) = result.iter() {
            for row in rows {
                answer = row.map_err(fail)?.take::<Vec<u8>, _>(0).unwrap_or_default();
            }
        }
        // What follows is the end of the call: good, or the error that its handler passed on.
        let mut error = None;
        while let Some(rows) = result.iter() {
            error = rows.filter_map(Result::err).last().map(fail).or(error);
        }
        Ok((answer, error))
    }
}

/// SELECTs as one statement.
impl ServerLoop {
    /// Prepares the statement of a form that has one of its own, if that has not been done.
    fn ready(&mut self, form: Form) -> Result<(), EngineError> {
        let Form::Stretch(width) = form else { return Ok(()) };
        if let Entry::Vacant(missing) = self.stretches.entry(width) {
            let sql = stretch::statement(self.plan.home, width);
            missing.insert(self.conn.prep(sql).map_err(|error| failed(self.step.as_str(), &error))?);
        }
        Ok(())
    }

    /// The statement must be ready. Nothing comes back of one that an error ended.
    fn stretch(&mut self, width: u16, firsts: Value, run_us: Value) -> Result<Vec<u8>, EngineError> {
        let limit = if run_us == Value::NULL { Value::from(i64::MAX) } else { run_us };
        let answer = self
            .conn
            .exec_first(&self.stretches[&width], Params::Positional(vec![firsts, limit]))
            .map_err(|error| failed(self.step.as_str(), &error))?;
        // MariaDB counts the pages of a transaction when it ends.
        self.conn.query_drop("ROLLBACK").map_err(|error| failed(self.step.as_str(), &error))?;
        Ok(answer.flatten().unwrap_or_default())
    }
}

impl Work for ServerLoop {
    /// What was done before an error is in `outcome`, unless the connection broke or the call was killed: then only
    /// what earlier calls of the batch did is.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        _: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        let begun = Instant::now();
        let is_open = batch.dues_ns().is_some();
        let mut done = 0;
        while done < batch.ops().len() {
            let rest = &batch.ops()[done..];
            let (form, count) = match is_open {
                true => (Form::Open, rest.len().min(CALL_OPS)),
                false => first_piece(rest, &self.plan, self.joined, CALL_OPS),
            };
            let ops = &rest[..count];
            self.ready(form)?;
            let start = Instant::now();
            let Some(left) = time_left(deadline, start) else { return Ok(()) };
            let run_us = left.map(|left| u64::try_from(left.as_micros()).unwrap_or(i64::MAX.cast_unsigned()));
            let due_us = |index| due_us(batch, done + index, start - begun);
            let (answer, error) = self.call(ops, form, run_us, due_us)?;
            let before = outcome.ops().len();
            let (begun_ns, took) = (nanoseconds(start - begun), start.elapsed());
            let fits = match form {
                Form::Stretch(_) => decode_stretch(ops, &answer, begun_ns, took, outcome),
                _ => decode(ops, &answer, is_open, begun_ns, took, outcome),
            };
            if !fits {
                let message =
                    format!("{} operations went there, and {} bytes came back", ops.len(), answer.len());
                return Err(EngineError::new(ErrorKind::Data, self.step.as_str(), message)
                    .with_advice(FOREIGN_PROCEDURE));
            }
            if let Some(error) = error {
                return Err(error);
            }
            if outcome.ops().len() - before < ops.len() {
                return Ok(());
            }
            done += count;
        }
        Ok(())
    }
}

/// When an operation is due after the call that brings it, in microseconds, rounded up; `later` is how long after the
/// batch was handed over that call begins.
fn due_us(batch: &Batch, index: usize, later: Duration) -> u64 {
    whole_microseconds(batch.not_before(index).unwrap_or_default().saturating_sub(later))
}
