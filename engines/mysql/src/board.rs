//! A database of MySQL or MariaDB as a board.

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Value as Stored};
use slob_engine::{Board, BoardKind, EngineError, ErrorKind, Result, Value};
use slob_server::{Connector as _, Environment};
use slob_spec::Target;

use crate::connect::Connector;
use crate::sql::InStep;

const LOCK: &str = "waiting for the board's lock";

pub(crate) const KIND: BoardKind = BoardKind { form: "mysql://USER@HOST/DATABASE", open };

struct MysqlBoard(Conn);

fn open(target: &Target) -> Result<Box<dyn Board>> {
    if target.database().is_none() {
        let advice = "name one, as in mysql://USER@HOST/results";
        return Err(EngineError::new(ErrorKind::Usage, "opening the board", "the address names no database")
            .with_advice(advice));
    }
    let mut conn = Connector::new(target, &Environment::process())?.connect_any()?;
    conn.query_drop("SET NAMES utf8mb4").in_step("preparing a connection")?;
    Ok(Box::new(MysqlBoard(conn)))
}

fn bound(values: &[Value]) -> Params {
    let value = |value: &Value| match value {
        Value::Null => Stored::NULL,
        Value::Whole(count) => Stored::Int(*count),
        Value::Number(number) => Stored::Double(*number),
        Value::Text(text) => Stored::Bytes(text.clone().into_bytes()),
    };
    match values {
        [] => Params::Empty,
        values => Params::Positional(values.iter().map(value).collect()),
    }
}

fn values(row: Row) -> Vec<Value> {
    let value = |stored: Stored| match stored {
        Stored::Int(count) => Value::Whole(count),
        Stored::UInt(count) => Value::from(count),
        Stored::Float(number) => Value::Number(f64::from(number)),
        Stored::Double(number) => Value::Number(number),
        Stored::Bytes(text) => Value::Text(String::from_utf8_lossy(&text).into_owned()),
        _ => Value::Null,
    };
    row.unwrap().into_iter().map(value).collect()
}

impl Board for MysqlBoard {
    fn words(&self) -> [&'static str; 2] {
        // Ids that differ in case are different ones.
        ["LONGTEXT", " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"]
    }

    /// The lock is the connection's. It outlives statements that create tables, which commit.
    fn begin(&mut self) -> Result<()> {
        let taken = self.query(LOCK, "SELECT GET_LOCK('slob board', 60)", &[])?;
        if taken != [[Value::Whole(1)]] {
            let message = "another program has published for a minute";
            return Err(EngineError::new(ErrorKind::Retryable, LOCK, message).with_advice("publish again"));
        }
        self.0.query_drop("START TRANSACTION").in_step("beginning a transaction")
    }

    fn commit(&mut self) -> Result<()> {
        self.0.query_drop("COMMIT").in_step("committing")?;
        self.query("releasing the board's lock", "SELECT RELEASE_LOCK('slob board')", &[]).map(drop)
    }

    fn roll_back(&mut self) {
        let _ = self.0.query_drop("ROLLBACK");
        let _ = self.0.query_drop("SELECT RELEASE_LOCK('slob board')");
    }

    fn execute(&mut self, step: &str, sql: &str, values: &[Value]) -> Result<()> {
        // Statements that create have no prepared form in older servers.
        match values {
            [] => self.0.query_drop(sql).in_step(step),
            values => self.0.exec_drop(sql, bound(values)).in_step(step),
        }
    }

    fn query(&mut self, step: &str, sql: &str, asked: &[Value]) -> Result<Vec<Vec<Value>>> {
        let rows: Vec<Row> = self.0.exec(sql, bound(asked)).in_step(step)?;
        Ok(rows.into_iter().map(values).collect())
    }
}
