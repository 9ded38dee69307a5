//! The loop in the client: the same statements, prepared and sent one by one.

use std::sync::Arc;
use std::time::Instant;

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};
use slob_engine::{
    Cancel, Canceller, EngineError, ErrorKind, Outcome, Perform, Session, SessionPlan, execute_each,
};
use slob_method::{Action, Batch, COLUMN_BYTES, KeyRange, Op, SchemaNo, Stamp};
use slob_spec::RedoStress;

use super::interrupt::KillQuery;
use crate::engine::Inner;
use crate::error::failed;
use crate::statement::{Kind, classify, statement};

/// A session that sends operation by operation.
pub(super) struct ClientSession {
    conn: Conn,
    endpoint: usize,
    plan: SessionPlan,
    /// By kind and whether they go to schema 1 from another home.
    statements: Vec<((Kind, bool), Statement)>,
    canceller: Canceller,
}

impl ClientSession {
    /// Prepares the statements that the plan needs.
    ///
    /// # Errors
    /// If one can't be prepared.
    pub(super) fn open(
        inner: &Inner,
        mut conn: Conn,
        plan: &SessionPlan,
        step: &str,
    ) -> Result<Self, EngineError> {
        let mut kinds = vec![Kind::Select];
        kinds.extend(plan.redo.map(|redo| match redo {
            RedoStress::Lite => Kind::Lite,
            RedoStress::Heavy => Kind::Heavy,
        }));
        kinds.extend(plan.scans.then_some(Kind::Scan));
        let hot = plan.hot_schema && plan.home != SchemaNo::FIRST;
        let mut statements = Vec::new();
        for (schema, hot) in [(plan.home, false)].into_iter().chain(hot.then_some((SchemaNo::FIRST, true))) {
            for kind in &kinds {
                let prepared = conn.prep(statement(*kind, schema, ["?", "?"], |_| "?".into()));
                statements.push(((*kind, hot), prepared.map_err(|error| failed(step, &error))?));
            }
        }
        let endpoint = plan.endpoint(inner.connector.endpoints());
        let (connection, connector) = (conn.connection_id(), Arc::clone(&inner.connector));
        let canceller = Canceller::new(KillQuery { connection, endpoint, connector });
        Ok(Self { conn, endpoint, plan: plan.clone(), statements, canceller })
    }

    fn count(&mut self, statement: &Statement, keys: Vec<Value>) -> Result<u64, mysql::Error> {
        let parameters = if keys.is_empty() { Params::Empty } else { Params::Positional(keys) };
        Ok(self.conn.exec_first::<u64, _, _>(statement, parameters)?.unwrap_or_default())
    }

    fn update(
        &mut self,
        statement: &Statement,
        kind: Kind,
        range: KeyRange,
        stamp: Stamp,
    ) -> Result<u64, mysql::Error> {
        let text = |column| {
            let mut bytes = [0; COLUMN_BYTES];
            self.plan.update_text.fill_column(column, stamp, &mut bytes);
            Value::Bytes(bytes.to_vec())
        };
        let parameters = kind.updated_columns().into_iter().map(text).chain(keys(range)).collect();
        self.conn.exec_drop(statement, Params::Positional(parameters))?;
        let changed = self.conn.affected_rows();
        self.conn.query_drop("COMMIT")?;
        Ok(changed)
    }
}

fn keys(range: KeyRange) -> Vec<Value> {
    vec![Value::from(range.first), Value::from(range.end())]
}

impl Perform for ClientSession {
    fn perform(&mut self, op: &Op) -> Result<u64, EngineError> {
        let class = classify(op, &self.plan)?;
        let step = || format!("session {}, {op}", self.plan.number);
        let Some((_, statement)) = self.statements.iter().find(|(key, _)| *key == class).cloned() else {
            let message = "the session was not opened for such an operation";
            return Err(EngineError::new(ErrorKind::Usage, step(), message));
        };
        let result = match op.action {
            Action::Select(range) => self.count(&statement, keys(range)),
            Action::Scan => self.count(&statement, Vec::new()),
            Action::Update(range, stamp) => self.update(&statement, class.0, range, stamp),
        };
        result.map_err(|error| {
            // After a lock wait the transaction is still open, with what it had done.
            let _ = self.conn.query_drop("ROLLBACK");
            failed(format!("session {}, {op}", self.plan.number), &error)
        })
    }
}

impl Session for ClientSession {
    fn execute(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        outcome.clear();
        let canceller = self.canceller.clone();
        canceller.guard(|| execute_each(self, batch, deadline, canceller.alarm(), outcome))
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.canceller.clone()))
    }
}
