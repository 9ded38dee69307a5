//! The loop in the server: a batch is one CALL.

use std::sync::Arc;
use std::time::Instant;

use postgres::{Client, Statement};
use slob_engine::{Cancel, Canceller, EngineError, ErrorKind, Outcome, Session, SessionPlan};
use slob_method::Batch;

use super::arrays::Arrays;
use super::interrupt::CancelRequest;
use super::times::{Moment, decode};
use crate::catalog::get;
use crate::engine::Inner;
use crate::error::failed;
use crate::locks;
use crate::procedure;

/// A session whose batches run in the server.
pub(super) struct ServerSession {
    inner: Arc<Inner>,
    client: Client,
    endpoint: usize,
    call: Statement,
    plan: SessionPlan,
    step: String,
    arrays: Arrays,
    canceller: Canceller,
}

impl ServerSession {
    /// Prepares the call, and has the procedure compiled before the clock of the run ticks.
    ///
    /// # Errors
    /// If the procedure is missing, or writes other texts than the plan's.
    pub(super) fn open(
        inner: &Arc<Inner>,
        mut client: Client,
        plan: &SessionPlan,
        step: String,
    ) -> Result<Self, EngineError> {
        if inner.update_text(plan.home).is_some_and(|text| text != *plan.update_text) {
            let message = "its procedure writes other texts than the run is to write";
            return Err(EngineError::new(ErrorKind::Usage, step, message));
        }
        let call = client.prepare(&procedure::call(plan.home)).map_err(|error| {
            failed(step.as_str(), &error).with_advice("drop the schema and load it again, or set LOOP=client")
        })?;
        let (token, connector) = (client.cancel_token(), Arc::clone(&inner.connector));
        let canceller = Canceller::new(CancelRequest { token, connector });
        let step = format!(
            "session {} on {}, executing a batch",
            plan.number,
            inner.connector.endpoint(plan.endpoint(inner.connector.endpoints()))
        );
        let plan = plan.clone();
        let endpoint = plan.endpoint(inner.connector.endpoints());
        let mut session = Self {
            inner: Arc::clone(inner),
            client,
            endpoint,
            call,
            plan,
            step,
            arrays: Arrays::default(),
            canceller,
        };
        session.call(None)?;
        Ok(session)
    }

    fn call(&mut self, run_us: Option<i64>) -> Result<(Vec<Moment>, Vec<i64>), EngineError> {
        let Arrays { kinds, firsts, ends, stamps, pauses, dues } = &self.arrays;
        let row = self
            .client
            .query_one(&self.call, &[kinds, firsts, ends, stamps, pauses, dues, &run_us])
            .map_err(|error| locks::named(&self.inner, self.plan.home, failed(self.step.as_str(), &error)))?;
        Ok((get(&row, 0, &self.step)?, get(&row, 1, &self.step)?))
    }
}

impl Session for ServerSession {
    /// When it fails, what the call did is not known here, however much of it the server committed: `outcome` is then
    /// empty. Repeating it changes nothing, since its UPDATEs write the same values again.
    fn execute(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        outcome.clear();
        let canceller = self.canceller.clone();
        canceller.guard(|| {
            self.arrays.fill(batch, &self.plan)?;
            let begun = Instant::now();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(begun));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            let run_us = left.map(|left| i64::try_from(left.as_micros()).unwrap_or(i64::MAX));
            let (times, seen) = self.call(run_us)?;
            if decode(batch, &times, &seen, begun.elapsed(), outcome) {
                return Ok(());
            }
            outcome.clear();
            let message = format!("{} times and {} counts came back", times.len(), seen.len());
            Err(EngineError::new(ErrorKind::Data, self.step.as_str(), message)
                .with_advice("the procedure is not ours: drop the schema and load it again"))
        })
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.canceller.clone()))
    }
}
