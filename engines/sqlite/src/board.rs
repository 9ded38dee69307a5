//! A file of SQLite as a board. It is no target: it has the pages of SQLite's own defaults.

use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};
use slob_engine::{Board, BoardKind, EngineError, ErrorKind, Result, Value};
use slob_spec::Target;

use crate::error::kind_of;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const KIND: BoardKind = BoardKind { form: "sqlite:FILE", open };

struct SqliteBoard(Connection);

fn open(target: &Target) -> Result<Box<dyn Board>> {
    // Settings of the whole process come before SQLite's first use.
    crate::initialise()?;
    let step = format!("opening {}", target.path());
    // The journal is a file beside it, which readers of an older version or another program understand.
    let opened = Connection::open_with_flags(target.path(), OpenFlags::default());
    let database = opened.map_err(|error| failed(&step, &error))?;
    database.busy_timeout(PATIENCE).map_err(|error| failed(&step, &error))?;
    Ok(Box::new(SqliteBoard(database)))
}

/// A board is no target: TARGET and `slob drop` mean nothing to it.
fn failed(step: &str, error: &rusqlite::Error) -> EngineError {
    let kind = error.sqlite_error_code().map_or(ErrorKind::Fatal, kind_of);
    let advice = match kind {
        ErrorKind::Retryable => Some("another program uses the file; publish again when it has ended"),
        ErrorKind::Space => Some("make room and publish again: what is on the board stays"),
        ErrorKind::Privilege | ErrorKind::Connection => {
            Some("check that its folder exists, and that this user may write to the file and its folder")
        }
        ErrorKind::Data => Some("it is no board, or damaged: name another file, and publish the runs again"),
        _ => None,
    };
    EngineError::new(kind, step, error.to_string()).advised(advice)
}

struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Owned(Stored::Null),
            Value::Whole(count) => ToSqlOutput::Owned(Stored::Integer(*count)),
            Value::Number(number) => ToSqlOutput::Owned(Stored::Real(*number)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn value(stored: ValueRef<'_>) -> Value {
    match stored {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(count) => Value::Whole(count),
        ValueRef::Real(number) => Value::Number(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Value::Text(String::from_utf8_lossy(text).into_owned())
        }
    }
}

impl Board for SqliteBoard {
    fn words(&self) -> [&'static str; 2] {
        ["TEXT", ""]
    }

    fn begin(&mut self) -> Result<()> {
        self.execute("waiting for the board's lock", "BEGIN IMMEDIATE", &[])
    }

    fn commit(&mut self) -> Result<()> {
        self.execute("committing", "COMMIT", &[])
    }

    fn roll_back(&mut self) {
        let _ = self.0.execute_batch("ROLLBACK");
    }

    fn execute(&mut self, step: &str, sql: &str, values: &[Value]) -> Result<()> {
        let done = self.0.execute(sql, params_from_iter(values.iter().map(Bound)));
        done.map(drop).map_err(|error| failed(step, &error))
    }

    fn query(&mut self, step: &str, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.0.prepare(sql)?;
            let columns = statement.column_count();
            let rows = statement.query_map(params_from_iter(values.iter().map(Bound)), |row| {
                (0..columns).map(|column| row.get_ref(column).map(value)).collect()
            })?;
            rows.collect()
        };
        read().map_err(|error| failed(step, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The remedy was `slob drop`, which removes what it finds.
    #[test]
    fn a_damaged_board_is_not_to_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("board.db");
        fs::write(&file, [7; 4096]).unwrap();
        let mut board = open(&format!("sqlite:{}", file.display()).parse().unwrap()).unwrap();
        let error = board.execute("reading", "SELECT * FROM runs", &[]).unwrap_err().to_string();
        assert!(error.contains("name another file") && !error.contains("slob drop"), "{error}");
    }
}
