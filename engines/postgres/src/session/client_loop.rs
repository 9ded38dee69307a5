//! The statements that the loop in the client sends, each a transaction of its own.

use std::sync::Arc;

use postgres::types::ToSql;
use postgres::{Client, Statement};
use slob_engine::EngineError;
use slob_method::{KeyRange, SchemaNo};
use slob_server::Kind;

use crate::database::Database;
use crate::error::failed;
use crate::locks;
use crate::publisher;
use crate::statement::statement;

/// A connection that prepares and executes them.
pub(super) struct Statements {
    database: Arc<Database>,
    client: Client,
}

impl Statements {
    /// Takes a connection over.
    pub(super) fn new(database: &Arc<Database>, client: Client) -> Self {
        Self { database: Arc::clone(database), client }
    }
}

impl slob_server::Statements for Statements {
    type Statement = Statement;
    type Error = postgres::Error;

    fn prepare(&mut self, kind: Kind, schema: SchemaNo) -> Result<Statement, postgres::Error> {
        self.client.prepare(&numbered(kind, schema))
    }

    fn count(&mut self, statement: &Statement, keys: Option<KeyRange>) -> Result<u64, postgres::Error> {
        let keys = keys.map(bounds);
        let keys: Vec<&(dyn ToSql + Sync)> =
            keys.iter().flatten().map(|key| key as &(dyn ToSql + Sync)).collect();
        let count: i64 = self.client.query_one(statement, &keys)?.try_get(0)?;
        Ok(count.cast_unsigned())
    }

    fn update(
        &mut self,
        statement: &Statement,
        keys: KeyRange,
        values: &[&str],
    ) -> Result<u64, postgres::Error> {
        let [first, end] = bounds(keys);
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&first, &end];
        parameters.extend(values.iter().map(|value| value as &(dyn ToSql + Sync)));
        self.client.execute(statement, &parameters)
    }

    fn failed(&mut self, schema: SchemaNo, step: String, error: postgres::Error) -> EngineError {
        let error = failed(step, &error);
        locks::named(self.database.links(), schema, error, locks::patience_of_sessions)
    }

    fn batch_done(&mut self) -> Result<(), EngineError> {
        publisher::hint(&mut self.client, self.database.version)
    }

    fn publish(&mut self) -> Result<(), EngineError> {
        publisher::publish(&mut self.client, self.database.version)
    }
}

/// The statement of a kind with numbered parameters: the keys, then the columns that it sets, in their order.
fn numbered(kind: Kind, schema: SchemaNo) -> String {
    statement(kind, schema, ["$1", "$2"], |column| {
        let place = kind.updated_columns().iter().position(|other| *other == column).unwrap_or_default();
        format!("${}", place + 3)
    })
}

fn bounds(keys: KeyRange) -> [i64; 2] {
    [keys.first, keys.end()].map(u64::cast_signed)
}
