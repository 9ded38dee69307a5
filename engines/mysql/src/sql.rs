//! Statements outside of sessions, their names, and the errors of all.

use std::io;

use mysql::prelude::Queryable;
use mysql::{Conn, Error, Value};
use slob_engine::{Answer, EngineError, ErrorKind, Result};
use slob_method::{SchemaNo, Table};
use slob_server::errors::{LOST, known_error};
use slob_server::{Row, column_list, schema_name};

pub(crate) fn database(schema: SchemaNo) -> String {
    format!("`{}`", schema_name(schema))
}

pub(crate) fn table(schema: SchemaNo, table: Table) -> String {
    format!("{}.`{}`", database(schema), table.name())
}

pub(crate) fn loaded_columns() -> String {
    format!("pos, custid, {}, filler", column_list())
}

/// The longest answer in memory, with so many bytes for each value besides its letters.
const ANSWER_BYTES: usize = 64 << 20;
const VALUE_BYTES: usize = 100;

/// The text protocol.
pub(crate) trait Ask {
    fn texts(&mut self, sql: &str) -> Result<Answer, Error>;

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

impl Ask for Conn {
    fn texts(&mut self, sql: &str) -> Result<Answer, Error> {
        let mut result = self.query_iter(sql)?;
        let columns = result.columns().as_ref().iter().map(|column| column.name_str().into_owned()).collect();
        let text = |value: Value| match value {
            Value::NULL => None,
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for row in result.by_ref() {
            let row: Vec<Option<String>> = row?.unwrap().into_iter().map(text).collect();
            bytes +=
                row.iter().map(|value| VALUE_BYTES + value.as_ref().map_or(0, String::len)).sum::<usize>();
            rows.push(row);
            if bytes > ANSWER_BYTES {
                // Dropping the answer would read it to its end.
                std::mem::forget(result);
                return Err(io::Error::other(format!("more than {ANSWER_BYTES} bytes came")).into());
            }
        }
        Ok((columns, rows))
    }

    fn run(&mut self, step: &str, sql: &str) -> Result<()> {
        self.query_drop(sql).in_step(step)
    }
}

pub(crate) trait InStep<T> {
    fn in_step(self, step: &str) -> Result<T>;
}

impl<T> InStep<T> for Result<T, Error> {
    fn in_step(self, step: &str) -> Result<T> {
        self.map_err(|error| failed(step, &error))
    }
}

const ERRORS: &str = include_str!("errors.txt");

pub(crate) fn failed(step: &str, error: &Error) -> EngineError {
    let lost = |message| EngineError::new(ErrorKind::Connection, step, message).with_advice(LOST);
    match error {
        Error::MySqlError(server) => {
            let known = known_error(ERRORS, &server.code.to_string());
            let (kind, advice) = known.unwrap_or((ErrorKind::Fatal, None));
            let failure = EngineError::new(kind, step, server.message.clone());
            failure.with_code(format!("error {}", server.code)).advised(advice)
        }
        Error::IoError(error) => lost(error.to_string()),
        Error::TlsError(error) => lost(format!("{error:?}")),
        Error::CodecError(error) => lost(error.to_string()),
        Error::DriverError(error) => lost(error.to_string()),
        other => EngineError::new(ErrorKind::Fatal, step, other.to_string()),
    }
}

/// `None` if the server did not report the error.
pub(crate) fn code_of(error: &Error) -> Option<u16> {
    match error {
        Error::MySqlError(server) => Some(server.code),
        _ => None,
    }
}

pub(crate) fn is_denied(error: &Error) -> bool {
    failed("", error).kind() == ErrorKind::Privilege
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_server::errors::table as table_of_errors;

    #[test]
    fn names_are_quoted_and_a_load_fills_all_columns() {
        assert_eq!(table(SchemaNo::FIRST, Table::Main), "`slob1`.`cf1`");
        let columns = loaded_columns();
        assert!(columns.starts_with("pos, custid, c2, c3, ") && columns.ends_with(", c20, filler"));
    }

    #[test]
    fn every_line_of_the_table_of_errors_is_read() {
        for code in table_of_errors(ERRORS).flat_map(|[codes, ..]| codes.split(' ')) {
            assert!(known_error(ERRORS, code.split(['-', '*']).next().unwrap()).is_some(), "{code}");
        }
    }

    #[rstest]
    #[case(1317, ErrorKind::Cancelled)]
    #[case(1213, ErrorKind::Retryable)]
    #[case(1205, ErrorKind::Retryable)]
    #[case(3101, ErrorKind::Retryable)]
    #[case(1047, ErrorKind::Connection)]
    #[case(1180, ErrorKind::Connection)]
    #[case(1290, ErrorKind::Connection)]
    #[case(1792, ErrorKind::Connection)]
    #[case(1836, ErrorKind::Connection)]
    #[case(1927, ErrorKind::Connection)]
    #[case(2006, ErrorKind::Connection)]
    #[case(2013, ErrorKind::Connection)]
    #[case(1053, ErrorKind::Connection)]
    #[case(1114, ErrorKind::Space)]
    #[case(1040, ErrorKind::Usage)]
    #[case(1045, ErrorKind::Privilege)]
    #[case(1142, ErrorKind::Privilege)]
    #[case(1877, ErrorKind::Data)]
    #[case(1064, ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: u16, #[case] kind: ErrorKind) {
        assert_eq!(known_error(ERRORS, &code.to_string()).map_or(ErrorKind::Fatal, |(kind, _)| kind), kind);
    }

    /// A node of a cluster that does not serve must send a session to the next one, and say what to look at.
    #[rstest]
    #[case(1047, "wsrep_cluster_status")]
    #[case(1180, "wsrep_cluster_status")]
    #[case(1290, "name the primary")]
    fn a_node_that_does_not_serve_is_a_lost_one(#[case] code: u16, #[case] advice: &str) {
        let server = mysql::MySqlError {
            state: "08S01".into(),
            message: "WSREP has not yet prepared node".into(),
            code,
        };
        let error = failed("session 3", &Error::MySqlError(server));
        assert_eq!((error.kind(), error.code()), (ErrorKind::Connection, Some(&*format!("error {code}"))));
        assert!(error.to_string().contains(advice), "{error}");
    }

    #[test]
    fn a_broken_connection_is_a_lost_one() {
        for kind in [std::io::ErrorKind::ConnectionReset, std::io::ErrorKind::UnexpectedEof] {
            let error = failed("session 3", &Error::IoError(kind.into()));
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        }
    }
}
