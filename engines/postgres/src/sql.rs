//! Statements outside of sessions, their names, and the errors of all.

use std::error::Error;
use std::io;
use std::iter;

use postgres::{Client, GenericClient, SimpleQueryMessage};
use slob_engine::{Answer, EngineError, ErrorKind, Result};
use slob_method::{SchemaNo, Table};
use slob_server::errors::{LOST, known_error};
use slob_server::{Row, schema_name};

pub(crate) fn namespace(schema: SchemaNo) -> String {
    quoted(&schema_name(schema))
}

pub(crate) fn table(schema: SchemaNo, table: Table) -> String {
    format!("{}.\"{}\"", namespace(schema), table.name())
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The simple protocol.
pub(crate) trait Ask {
    fn texts(&mut self, sql: &str) -> Result<Answer, postgres::Error>;

    fn run(&mut self, step: &str, sql: &str) -> Result<()>;

    fn rows(&mut self, step: &str, sql: &str) -> Result<Vec<Row>> {
        let (_, rows) = self.texts(sql).in_step(step)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    /// Without a row, it has no columns.
    fn row(&mut self, step: &str, sql: &str) -> Result<Row> {
        Ok(self.rows(step, sql)?.into_iter().next().unwrap_or_default())
    }
}

impl<C: GenericClient> Ask for C {
    fn texts(&mut self, sql: &str) -> Result<Answer, postgres::Error> {
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        for message in self.simple_query(sql)? {
            match message {
                SimpleQueryMessage::RowDescription(described) => {
                    columns = described.iter().map(|column| column.name().to_owned()).collect();
                }
                SimpleQueryMessage::Row(row) => {
                    rows.push((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect());
                }
                _ => {}
            }
        }
        Ok((columns, rows))
    }

    fn run(&mut self, step: &str, sql: &str) -> Result<()> {
        self.batch_execute(sql).in_step(step)
    }
}

pub(crate) trait InStep<T> {
    fn in_step(self, step: &str) -> Result<T>;
}

impl<T> InStep<T> for Result<T, postgres::Error> {
    fn in_step(self, step: &str) -> Result<T> {
        self.map_err(|error| failed(step, &error))
    }
}

/// The server's own process of a connection.
pub(crate) fn process(client: &mut Client, step: &str) -> Result<u64> {
    client.row(step, "SELECT pg_backend_pid()")?.need(0, step)
}

const ERRORS: &str = include_str!("errors.txt");

pub(crate) fn failed(step: &str, error: &postgres::Error) -> EngineError {
    let Some(db) = error.as_db_error() else {
        let is_lost = causes(error).any(|cause| cause.is::<io::Error>()) || error.is_closed();
        let kind = if is_lost { ErrorKind::Connection } else { ErrorKind::Fatal };
        return EngineError::new(kind, step, with_causes(error)).advised(is_lost.then_some(LOST));
    };
    let code = db.code().code();
    let (kind, advice) = known_error(ERRORS, code).unwrap_or((ErrorKind::Fatal, None));
    let mut message = db.message().to_owned();
    for (name, text) in [("detail", db.detail()), ("hint", db.hint())] {
        if let Some(text) = text {
            message = format!("{message} ({name}: {text})");
        }
    }
    EngineError::new(kind, step, message).with_code(format!("SQLSTATE {code}")).advised(advice)
}

pub(crate) fn has_code(error: &postgres::Error, code: &str) -> bool {
    error.code().is_some_and(|found| found.code() == code)
}

pub(crate) fn causes<'a>(error: &'a postgres::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(error.source(), |cause| (*cause).source())
}

/// Has no repetitions.
pub(crate) fn with_causes(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_server::errors::table as table_of_errors;

    #[test]
    fn quotes_cannot_be_escaped_from() {
        assert_eq!(quoted("fast disks"), "\"fast disks\"");
        assert_eq!(quoted("a\"; DROP TABLE x; --"), "\"a\"\"; DROP TABLE x; --\"");
    }

    #[test]
    fn every_line_of_the_table_of_errors_is_read() {
        for code in table_of_errors(ERRORS).flat_map(|[codes, ..]| codes.split(' ')) {
            assert!(known_error(ERRORS, code.split(['-', '*']).next().unwrap()).is_some(), "{code}");
        }
    }

    #[rstest]
    #[case("57014", ErrorKind::Cancelled)]
    #[case("40P01", ErrorKind::Retryable)]
    #[case("40001", ErrorKind::Retryable)]
    #[case("08006", ErrorKind::Connection)]
    #[case("57P01", ErrorKind::Connection)]
    #[case("53100", ErrorKind::Space)]
    #[case("53300", ErrorKind::Usage)]
    #[case("28P01", ErrorKind::Privilege)]
    #[case("42501", ErrorKind::Privilege)]
    #[case("XX001", ErrorKind::Data)]
    #[case("42601", ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: &str, #[case] kind: ErrorKind) {
        assert_eq!(known_error(ERRORS, code).map_or(ErrorKind::Fatal, |(kind, _)| kind), kind);
    }
}
