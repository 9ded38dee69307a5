//! The loop in the server: a batch is one CALL.

use std::sync::Arc;
use std::time::Instant;

use postgres::{Client, Statement};
use slob_engine::{CancelToken, EngineError, ErrorKind, Outcome, SessionPlan};
use slob_method::Batch;
use slob_server::advice::{FOREIGN_PROCEDURE, NO_PROCEDURE};
use slob_server::{LoopPlace, Work, time_left};

use super::arrays::Arrays;
use super::times::{Moment, decode};
use crate::catalog::get;
use crate::database::Database;
use crate::error::failed;
use crate::{locks, procedure, publisher};

/// Has the server execute batches.
pub(super) struct ServerLoop {
    database: Arc<Database>,
    client: Client,
    call: Statement,
    plan: SessionPlan,
    step: String,
    arrays: Arrays,
}

impl ServerLoop {
    /// Prepares the call, and has the procedure compiled before the clock of the run ticks. `name` is the session's.
    ///
    /// # Errors
    /// If the procedure is missing, or writes other texts than the plan's.
    pub(super) fn open(
        database: &Arc<Database>,
        mut client: Client,
        plan: &SessionPlan,
        name: &str,
    ) -> Result<Self, EngineError> {
        let step = format!("opening {name}");
        database.complete.check_update_text(plan, &step)?;
        let call = client
            .prepare(&procedure::call(plan.home))
            .map_err(|error| failed(step, &error).with_advice(NO_PROCEDURE))?;
        let mut session = Self {
            database: Arc::clone(database),
            client,
            call,
            plan: plan.clone(),
            step: format!("{name}, executing a batch"),
            arrays: Arrays::default(),
        };
        session.call(None)?;
        Ok(session)
    }

    fn call(&mut self, run_us: Option<i64>) -> Result<(Vec<Moment>, Vec<i64>), EngineError> {
        let Arrays { kinds, firsts, ends, stamps, pauses, dues, bounds } = &self.arrays;
        let row = self
            .client
            .query_one(&self.call, &[kinds, firsts, ends, stamps, pauses, dues, bounds, &run_us])
            .map_err(|error| {
                let error = failed(self.step.as_str(), &error);
                locks::named(self.database.links(), self.plan.home, error, locks::patience_of_sessions)
            })?;
        Ok((get(&row, 0, &self.step)?, get(&row, 1, &self.step)?))
    }
}

impl Work for ServerLoop {
    /// When it fails, what the call did is not known here, however much of it the server committed: `outcome` is then
    /// empty. Repeating it changes nothing, since its UPDATEs write the same values again.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        _: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        let joined = self.database.options.loop_place == LoopPlace::Server;
        self.arrays.fill(batch, &self.plan, joined)?;
        let begun = Instant::now();
        let Some(left) = time_left(deadline, begun) else { return Ok(()) };
        let run_us = left.map(|left| i64::try_from(left.as_micros()).unwrap_or(i64::MAX));
        let (times, seen) = self.call(run_us)?;
        if decode(batch, &times, &seen, begun.elapsed(), outcome) {
            return Ok(());
        }
        outcome.clear();
        let message = format!("{} times and {} counts came back", times.len(), seen.len());
        Err(EngineError::new(ErrorKind::Data, self.step.as_str(), message).with_advice(FOREIGN_PROCEDURE))
    }
    fn publish(&mut self) -> Result<(), EngineError> {
        publisher::publish(&mut self.client, self.database.version)
    }
}
