//! The statements that the loop in the client sends.

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};
use slob_engine::EngineError;
use slob_method::{KeyRange, SchemaNo};
use slob_server::Kind;

use crate::error::failed;
use crate::statement::statement;

/// A connection that prepares and executes them.
pub(super) struct Statements(pub(super) Conn);

impl slob_server::Statements for Statements {
    type Statement = Statement;
    type Error = mysql::Error;

    fn prepare(&mut self, kind: Kind, schema: SchemaNo) -> Result<Statement, mysql::Error> {
        self.0.prep(statement(kind, schema, ["?", "?"], |_| "?".into()))
    }

    fn count(&mut self, statement: &Statement, keys: Option<KeyRange>) -> Result<u64, mysql::Error> {
        let parameters =
            keys.map_or(Params::Empty, |keys| Params::Positional(bounds(keys).into_iter().collect()));
        Ok(self.0.exec_first::<u64, _, _>(statement, parameters)?.unwrap_or_default())
    }

    fn update(
        &mut self,
        statement: &Statement,
        keys: KeyRange,
        values: &[&str],
    ) -> Result<u64, mysql::Error> {
        let parameters = values.iter().map(|value| Value::from(*value)).chain(bounds(keys)).collect();
        self.0.exec_drop(statement, Params::Positional(parameters))?;
        let changed = self.0.affected_rows();
        self.0.query_drop("COMMIT")?;
        Ok(changed)
    }

    /// MariaDB counts the pages of a transaction when it ends, and SELECTs alone end none.
    fn batch_done(&mut self) -> Result<(), EngineError> {
        self.0.query_drop("ROLLBACK").map_err(|error| failed("ending a batch", &error))
    }

    /// After a lock wait the transaction is still open, with what it had done.
    fn failed(&mut self, _: SchemaNo, step: String, error: mysql::Error) -> EngineError {
        let _ = self.0.query_drop("ROLLBACK");
        failed(step, &error)
    }
}

fn bounds(keys: KeyRange) -> [Value; 2] {
    [Value::from(keys.first), Value::from(keys.end())]
}
