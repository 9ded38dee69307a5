//! Connections through Oracle's own client library, loaded at run time (ODPI-C).

use std::sync::Arc;
use std::time::Duration;

use oracle::sql_type::{OracleType, ToSql};
use oracle::{Connection, Connector, Privilege, SqlValue, Statement};
use slob_method::COLUMN_BYTES;

use crate::client::{Bind, BlockInput, BlockOutput, Cancellation, Client, Driver, Fault, Login, Row};
use crate::load::SliceRows;

/// The library counts four bytes for each character. It makes a temporary LOB, with round trips and logical reads, of what may
/// exceed PL/SQL's 32,767 bytes.
const TEXT_CHARACTERS: u32 = 32_767 / 4;
const TEXT: OracleType = OracleType::Varchar2(TEXT_CHARACTERS);
const ERROR_TEXT: OracleType = OracleType::Varchar2(4000);
const FETCH_ROWS: u32 = 256;

pub(crate) struct Native;

impl Driver for Native {
    fn connect(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault> {
        let (user, password) =
            login.user.as_ref().map_or(("", ""), |(user, password)| (user, password.expose()));
        let mut connector = Connector::new(user, password, service);
        connector.external_auth(login.user.is_none());
        if login.sysdba {
            connector.privilege(Privilege::Sysdba);
        }
        let connection = connector.connect().map_err(fault)?;
        Ok(Box::new(NativeClient { connection: Arc::new(connection), block: None }))
    }

    fn name(&self) -> String {
        let version = client_version().map_or_else(String::new, |version| format!(" {version}"));
        format!("OCI, Oracle's client library{version}")
    }
}

/// `None` without a library.
pub(crate) fn client_version() -> Option<String> {
    oracle::Version::client().ok().map(|version| version.to_string())
}

struct NativeClient {
    connection: Arc<Connection>,
    block: Option<(String, Statement)>,
}

impl Client for NativeClient {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<(), Fault> {
        self.connection.execute(sql, &values(binds)).map(drop).map_err(fault)
    }

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        let mut statement =
            self.connection.statement(sql).fetch_array_size(FETCH_ROWS).build().map_err(fault)?;
        let rows = statement.query(&values(binds)).map_err(fault)?;
        let texts = |row: oracle::Row| (0..row.column_info().len()).map(|column| row.get(column)).collect();
        rows.map(|row| row.and_then(texts).map_err(fault)).collect()
    }

    fn answer(&mut self, sql: &str) -> Result<u64, Fault> {
        let mut statement = self.connection.statement(sql).build().map_err(fault)?;
        statement.bind("answer", &OracleType::Int64).map_err(fault)?;
        statement.execute(&[]).map_err(fault)?;
        statement.bind_value("answer").map_err(fault)
    }

    fn insert(&mut self, sql: &str, rows: &mut SliceRows<'_>) -> Result<(), Fault> {
        let mut batch = self.connection.batch(sql, rows.count().max(1)).build().map_err(fault)?;
        let column = OracleType::Varchar2(COLUMN_BYTES as u32);
        batch.set_type(1, &OracleType::Int64).map_err(fault)?;
        for index in 2..=batch.bind_count() {
            batch.set_type(index, &column).map_err(fault)?;
        }
        while let Some((key, columns)) = rows.next_row()? {
            let mut values: Vec<&dyn ToSql> = vec![&key];
            values.extend(columns.iter().map(|text| text as &dyn ToSql));
            batch.append_row(&values).map_err(fault)?;
        }
        batch.execute().map_err(fault)
    }

    fn batch(&mut self, block: &str, input: &BlockInput) -> Result<BlockOutput, Fault> {
        let mut statement = match self.block.take() {
            Some((prepared, statement)) if prepared == block => statement,
            _ => self.connection.statement(block).build().map_err(fault)?,
        };
        let output = execute_block(&mut statement, input);
        self.block = Some((block.to_owned(), statement));
        output.map_err(fault)
    }

    fn limit(&mut self, most: Option<Duration>) {
        // Old libraries refuse a limit, which only ends calls that hang.
        let _ = self.connection.set_call_timeout(most);
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.connection.commit().map_err(fault)
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.connection.rollback().map_err(fault)
    }

    fn cancellation(&mut self) -> Cancellation {
        let connection = Arc::clone(&self.connection);
        // A failure means that the connection and its call are gone.
        Cancellation::Break(Arc::new(move || drop(connection.break_execution())))
    }

    fn longest_text(&self) -> usize {
        TEXT_CHARACTERS as usize
    }
}

fn execute_block(statement: &mut Statement, input: &BlockInput) -> oracle::Result<BlockOutput> {
    statement.bind("work", &(&input.ops, &TEXT))?;
    if let Some(stamps) = &input.stamps {
        statement.bind("stamps", &(stamps, &TEXT))?;
    }
    statement.bind("run_us", &input.run_us)?;
    statement.bind("took_us", &OracleType::Int64)?;
    statement.bind("error_code", &OracleType::Int64)?;
    statement.bind("error_text", &ERROR_TEXT)?;
    statement.execute(&[])?;
    Ok(BlockOutput::new(
        statement.bind_value("work")?,
        statement.bind_value("took_us")?,
        statement.bind_value("error_code")?,
        statement.bind_value("error_text")?,
    ))
}

/// The crate binds NVARCHAR2, for which the server would convert the compared columns.
impl ToSql for Bind {
    fn oratype(&self, _: &Connection) -> oracle::Result<OracleType> {
        Ok(match self {
            Self::Number(_) => OracleType::Int64,
            Self::Text(text) => OracleType::Varchar2(u32::try_from(text.len().max(1)).unwrap_or(u32::MAX)),
        })
    }

    fn to_sql(&self, value: &mut SqlValue<'_>) -> oracle::Result<()> {
        match self {
            Self::Number(number) => value.set(number),
            Self::Text(text) => value.set(text),
        }
    }
}

fn values(binds: &[Bind]) -> Vec<&dyn ToSql> {
    binds.iter().map(|bind| bind as &dyn ToSql).collect()
}

#[allow(clippy::needless_pass_by_value)]
fn fault(error: oracle::Error) -> Fault {
    Fault::new(error.oci_code(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::failed;
    use slob_spec::Secret;

    #[test]
    fn oci_binds_of_a_batch_are_no_lobs() {
        let OracleType::Varchar2(characters) = TEXT else { panic!("{TEXT}") };
        // ODPI-C allocates four bytes for a character, and binds a buffer above 32,767 bytes as a LOB.
        assert!(characters * 4 <= 32_767, "{characters}");
        // Operations and results are of one width; stamps are narrower.
        let ops = crate::session::call_ops(TEXT_CHARACTERS as usize);
        assert!(ops > 200 && ops * crate::session::WIDTH <= characters as usize, "{ops}");
    }

    /// With a client library nobody listens on that port, without one there is none.
    #[test]
    fn without_library_or_server_a_connection_is_an_ordinary_error() {
        let login = Login { user: Some(("u".into(), Secret::new("S3CRET-word"))), sysdba: false };
        let fault = Native.connect(&login, "//127.0.0.1:1/none").err().unwrap();
        let error = failed("connecting", &fault).to_string();
        assert!(error.contains("DPI-1047") || fault.code.is_some(), "{error}");
        assert!(!error.contains("S3CRET"), "{error}");
        if error.contains("DPI-1047") {
            assert!(error.contains("LD_LIBRARY_PATH") && error.contains("oracle.com"), "{error}");
        }
    }
}
