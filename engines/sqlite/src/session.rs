//! A session: executes batches, operation by operation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{ErrorCode, InterruptHandle};
use slob_engine::{
    Alarm, Cancel, EngineError, ErrorKind, Outcome, Perform, Session, SessionPlan, execute_each,
};
use slob_method::{Action, Batch, Op, SchemaNo};

use crate::engine::Inner;
use crate::error::failed;
use crate::link::Link;
use crate::tally::SessionCounts;

/// How often, at most, a session tells its block visits: asking SQLite takes about as long as visiting one.
const PUBLISH_EVERY: Duration = Duration::from_millis(1);

/// A session of this engine.
pub(crate) struct SqliteSession {
    /// Its own schema, and schema 1 if it goes there.
    links: Vec<(SchemaNo, Link)>,
    counts: Arc<SessionCounts>,
    canceller: Arc<Canceller>,
    /// When the block visits were last told.
    published: Instant,
    inner: Arc<Inner>,
}

struct Canceller {
    alarm: Alarm,
    running: Vec<InterruptHandle>,
}

impl Cancel for Canceller {
    fn cancel(&self) {
        // First the alarm, so that no operation begins, then whatever is running.
        self.alarm.cancel();
        self.running.iter().for_each(InterruptHandle::interrupt);
    }
}

impl SqliteSession {
    /// Opens a session.
    ///
    /// # Errors
    /// If a schema that it needs is not loaded, or can't be opened.
    pub(crate) fn open(inner: &Arc<Inner>, plan: &SessionPlan) -> Result<Self, EngineError> {
        let counts = inner.tally.open();
        // From here on, dropping the session takes the counts back.
        let canceller = Arc::new(Canceller { alarm: Alarm::default(), running: Vec::new() });
        let inner = Arc::clone(inner);
        let mut session = Self { links: Vec::new(), counts, canceller, published: Instant::now(), inner };
        session.link(plan.home, plan)?;
        if plan.hot_schema && plan.home != SchemaNo::FIRST {
            session.link(SchemaNo::FIRST, plan)?;
        }
        let running = session.links.iter().map(|(_, link)| link.interrupt_handle()).collect();
        session.canceller = Arc::new(Canceller { alarm: Alarm::default(), running });
        Ok(session)
    }

    fn link(&mut self, schema: SchemaNo, plan: &SessionPlan) -> Result<(), EngineError> {
        let Inner { place, session_meter, .. } = &*self.inner;
        let turn = self.inner.write_turn(schema);
        let link = Link::open(place, schema, plan, session_meter, &self.counts, turn)?;
        self.links.push((schema, link));
        Ok(())
    }

    fn failed(&self, op: &Op, error: &rusqlite::Error) -> EngineError {
        // A statement that an interrupt ended may say so, or that its transaction is gone.
        let rolled_back = error.sqlite_error_code() == Some(ErrorCode::OperationAborted);
        if rolled_back && self.canceller.alarm.rung() {
            return EngineError::new(ErrorKind::Cancelled, op.to_string(), "cancelled");
        }
        failed(op.to_string(), error, &self.inner.session_meter)
    }

    fn publish_visits(&mut self) {
        self.links.iter_mut().for_each(|(_, link)| link.publish_visits());
    }
}

impl Perform for SqliteSession {
    fn perform(&mut self, op: &Op) -> Result<u64, EngineError> {
        let link = self.links.iter_mut().find(|(schema, _)| *schema == op.schema).map(|(_, link)| link);
        let result = match (link, op.action) {
            (Some(link), Action::Select(range)) => link.select(range).map(Some),
            (Some(link), Action::Update(range, stamp)) => link.update(range, stamp),
            (Some(link), Action::Scan) => link.scan(),
            (None, _) => Ok(None),
        };
        match result {
            Ok(Some(rows)) => Ok(rows),
            Ok(None) => {
                let message = "the session was not opened for such an operation";
                Err(EngineError::new(ErrorKind::Usage, op.to_string(), message))
            }
            Err(error) => Err(self.failed(op, &error)),
        }
    }

    fn performed(&mut self, ended: Instant) {
        if ended - self.published >= PUBLISH_EVERY {
            self.publish_visits();
            self.published = ended;
        }
    }
}

impl Session for SqliteSession {
    fn execute(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        outcome.clear();
        self.published = Instant::now();
        let canceller = Arc::clone(&self.canceller);
        let result = execute_each(self, batch, deadline, &canceller.alarm, outcome);
        self.publish_visits();
        result
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        let canceller: Arc<dyn Cancel> = Arc::<Canceller>::clone(&self.canceller);
        Some(canceller)
    }
}

impl Drop for SqliteSession {
    fn drop(&mut self) {
        // The last connection to a file checkpoints what is left in its log. No operation waits for that, and the
        // test may still be measuring others.
        for (_, link) in &self.links {
            // Only a connection without our VFS could refuse; then nothing was counted either.
            let _ = link.stop_counting();
        }
        self.links.clear();
        self.inner.tally.close(&self.counts);
    }
}
