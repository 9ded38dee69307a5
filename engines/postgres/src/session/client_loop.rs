//! The loop in the client: the same statements, prepared and sent one by one, each a transaction of its own.

use std::sync::Arc;
use std::time::Instant;

use postgres::types::ToSql;
use postgres::{Client, Statement};
use slob_engine::{
    Cancel, Canceller, EngineError, ErrorKind, Outcome, Perform, Session, SessionPlan, execute_each,
};
use slob_method::{Action, Batch, COLUMN_BYTES, COLUMNS, KeyRange, Op, SchemaNo, Stamp};
use slob_spec::RedoStress;

use super::classify;
use super::interrupt::CancelRequest;
use crate::engine::Inner;
use crate::error::failed;
use crate::locks;
use crate::procedure::{Kind, statement, updated_columns};

/// A session that sends operation by operation.
pub(super) struct ClientSession {
    inner: Arc<Inner>,
    client: Client,
    endpoint: usize,
    plan: SessionPlan,
    /// By kind and whether they go to schema 1 from another home.
    statements: Vec<((Kind, bool), Statement)>,
    /// Tells the server to publish its statistics at the end of a batch, where it can be told.
    flush: Option<Statement>,
    texts: [String; COLUMNS],
    canceller: Canceller,
}

impl ClientSession {
    /// Prepares the statements that the plan needs.
    ///
    /// # Errors
    /// If one can't be prepared.
    pub(super) fn open(
        inner: &Arc<Inner>,
        mut client: Client,
        plan: &SessionPlan,
        step: String,
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
                let prepared = client.prepare(&numbered(*kind, schema));
                statements.push(((*kind, hot), prepared.map_err(|error| failed(step.as_str(), &error))?));
            }
        }
        let flush = inner.version.can_flush().then(|| client.prepare("SELECT pg_stat_force_next_flush()"));
        let flush = flush.transpose().map_err(|error| failed(step, &error))?;
        let (token, connector) = (client.cancel_token(), Arc::clone(&inner.connector));
        let canceller = Canceller::new(CancelRequest { token, connector });
        let texts = std::array::from_fn(|_| String::with_capacity(COLUMN_BYTES));
        let endpoint = plan.endpoint(inner.connector.endpoints());
        Ok(Self {
            inner: Arc::clone(inner),
            client,
            endpoint,
            plan: plan.clone(),
            statements,
            flush,
            texts,
            canceller,
        })
    }

    fn count(
        &mut self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, postgres::Error> {
        let count: i64 = self.client.query_one(statement, parameters)?.try_get(0)?;
        Ok(count.cast_unsigned())
    }

    fn update(
        &mut self,
        statement: &Statement,
        kind: Kind,
        range: KeyRange,
        stamp: Stamp,
    ) -> Result<u64, postgres::Error> {
        let columns = updated_columns(kind);
        for column in columns {
            let mut bytes = [0; COLUMN_BYTES];
            self.plan.update_text.fill_column(*column, stamp, &mut bytes);
            self.texts[*column].clear();
            self.texts[*column].extend(bytes.iter().map(|byte| char::from(*byte)));
        }
        let (first, end) = (key(range.first), key(range.end()));
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&first, &end];
        parameters.extend(columns.iter().map(|column| &self.texts[*column] as &(dyn ToSql + Sync)));
        self.client.execute(statement, &parameters)
    }

    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        let canceller = self.canceller.clone();
        execute_each(self, batch, deadline, canceller.alarm(), outcome)?;
        if let Some(flush) = &self.flush {
            self.client.query_one(flush, &[]).map_err(|error| failed("publishing statistics", &error))?;
        }
        Ok(())
    }
}

impl Perform for ClientSession {
    fn perform(&mut self, op: &Op) -> Result<u64, EngineError> {
        let class = classify(op, &self.plan)?;
        let statement =
            self.statements.iter().find(|(key, _)| *key == class).map(|(_, statement)| statement.clone());
        let step = || format!("session {}, {op}", self.plan.number);
        let statement = statement.ok_or_else(|| {
            EngineError::new(ErrorKind::Usage, step(), "the session was not opened for such an operation")
        })?;
        let result = match op.action {
            Action::Select(range) => self.count(&statement, &[&key(range.first), &key(range.end())]),
            Action::Scan => self.count(&statement, &[]),
            Action::Update(range, stamp) => self.update(&statement, class.0, range, stamp),
        };
        result.map_err(|error| {
            let error = failed(format!("session {}, {op}", self.plan.number), &error);
            locks::named(&self.inner, op.schema, error)
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
        canceller.guard(|| self.work(batch, deadline, outcome))
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.canceller.clone()))
    }
}

/// The statement of a kind with numbered parameters: the keys, then the columns that it sets, in their order.
fn numbered(kind: Kind, schema: SchemaNo) -> String {
    let columns = updated_columns(kind);
    statement(kind, schema, ["$1", "$2"], |column| {
        let place = columns.iter().position(|other| *other == column).unwrap_or_default();
        format!("${}", place + 3)
    })
}

fn key(key: u64) -> i64 {
    key.cast_signed()
}
