//! The loop in the client: the statements of the method, prepared and sent one by one.

use std::time::Instant;

use slob_engine::{CancelToken, EngineError, Outcome, Perform, SessionPlan, execute_each};
use slob_method::{Action, Batch, COLUMN_BYTES, KeyRange, Op, SchemaNo};

use crate::operation::not_opened_for;
use crate::{Kind, Work, classify, homes};

/// Prepares and executes statements in one connection.
pub trait Statements: Send {
    /// A prepared statement.
    type Statement: Clone + Send;
    /// The client library's errors.
    type Error;

    /// Prepares the statement of a kind of operation on a schema.
    ///
    /// # Errors
    /// If the server refuses it.
    fn prepare(&mut self, kind: Kind, schema: SchemaNo) -> Result<Self::Statement, Self::Error>;

    /// Counts the rows of some keys, or of a whole table.
    ///
    /// # Errors
    /// If it fails.
    fn count(&mut self, statement: &Self::Statement, keys: Option<KeyRange>) -> Result<u64, Self::Error>;

    /// Updates the rows of some keys with these values, commits, and returns how many rows there were.
    ///
    /// # Errors
    /// If it fails.
    fn update(
        &mut self,
        statement: &Self::Statement,
        keys: KeyRange,
        values: &[&str],
    ) -> Result<u64, Self::Error>;

    /// What failed in a step on a schema; whatever is still open is rolled back.
    fn failed(&mut self, schema: SchemaNo, step: String, error: Self::Error) -> EngineError;

    /// Called after each batch.
    ///
    /// # Errors
    /// If it fails.
    fn batch_done(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// As [`slob_engine::Session::publish`].
    ///
    /// # Errors
    /// As there.
    fn publish(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Sends operation by operation.
pub struct ClientLoop<S: Statements> {
    connection: S,
    plan: SessionPlan,
    prepared: Vec<((Kind, bool), S::Statement)>,
}

impl<S: Statements> ClientLoop<S> {
    /// Prepares the statements that the plan needs.
    ///
    /// # Errors
    /// If one can't be prepared.
    pub fn new(mut connection: S, plan: &SessionPlan, step: &str) -> Result<Self, EngineError> {
        let mut prepared = Vec::new();
        for (schema, hot) in homes(plan.home, plan.hot_schema) {
            for kind in Kind::of_session(plan) {
                let statement = connection.prepare(kind, schema);
                let statement =
                    statement.map_err(|error| connection.failed(schema, step.to_owned(), error))?;
                prepared.push(((kind, hot), statement));
            }
        }
        Ok(Self { connection, plan: plan.clone(), prepared })
    }

    fn statement(&self, class: (Kind, bool)) -> Option<S::Statement> {
        self.prepared.iter().find(|(known, _)| *known == class).map(|(_, statement)| statement.clone())
    }
}

impl<S: Statements> Perform for ClientLoop<S> {
    fn perform(&mut self, op: &Op) -> Result<u64, EngineError> {
        let class = classify(op, &self.plan)?;
        let statement = self.statement(class).ok_or_else(|| not_opened_for(op, &self.plan))?;
        let result = match op.action {
            Action::Select(keys) => self.connection.count(&statement, Some(keys)),
            Action::Scan => self.connection.count(&statement, None),
            Action::Update(keys, stamp) => {
                let columns = class.0.updated_columns();
                let texts: Vec<[u8; COLUMN_BYTES]> = columns
                    .iter()
                    .map(|column| {
                        let mut text = [0; COLUMN_BYTES];
                        self.plan.update_text.fill_column(*column, stamp, &mut text);
                        text
                    })
                    .collect();
                // Letters and digits of ASCII.
                let texts: Vec<&str> =
                    texts.iter().map(|text| std::str::from_utf8(text).unwrap_or_default()).collect();
                self.connection.update(&statement, keys, &texts)
            }
        };
        result.map_err(|error| {
            let step = format!("session {}, {op}", self.plan.number);
            self.connection.failed(op.schema, step, error)
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
    ) -> Result<(), EngineError> {
        execute_each(self, batch, deadline, alarm, outcome)?;
        self.connection.batch_done()
    }

    fn publish(&mut self) -> Result<(), EngineError> {
        self.connection.publish()
    }
}
