//! Connections through Oracle's own client library, loaded at run time (ODPI-C).

use std::sync::Arc;
use std::time::Duration;

use oracle::sql_type::{OracleType, ToSql};
use oracle::{Connection, Connector, Privilege, Statement};
use slob_method::COLUMN_BYTES;

use crate::client::{
    Answer, Bind, Break, Client, Dial, Driver, Ending, Fault, Login, NewRow, NewRows, Row, Work,
};

/// Bytes of the longest text that PL/SQL takes and gives.
const TEXT: OracleType = OracleType::Varchar2(32_767);
/// Characters of the longest error text.
const ERROR_TEXT: u32 = 4000;
/// Rows fetched at once.
const FETCH_ROWS: u32 = 256;

/// The client library of this machine.
pub(crate) struct Native;

impl Dial for Native {
    fn dial(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault> {
        let (mut connector, sysdba) = match login {
            Login::OperatingSystem { sysdba } => {
                let mut connector = Connector::new("", "", service);
                connector.external_auth(true);
                (connector, *sysdba)
            }
            Login::Password { user, password, sysdba } => {
                (Connector::new(user.as_str(), password.expose(), service), *sysdba)
            }
        };
        if sysdba {
            connector.privilege(Privilege::Sysdba);
        }
        let connection = connector.connect().map_err(fault)?;
        Ok(Box::new(NativeClient { connection: Arc::new(connection), block: None }))
    }

    fn driver(&self) -> Driver {
        let version = client_version().map_or_else(String::new, |version| format!(" {version}"));
        Driver { name: format!("OCI, Oracle's client library{version}"), note: None }
    }
}

/// The version of the client library; `None` if there is none.
pub(crate) fn client_version() -> Option<String> {
    oracle::Version::client().ok().map(|version| version.to_string())
}

struct NativeClient {
    connection: Arc<Connection>,
    /// The block of the last batch, prepared.
    block: Option<(String, Statement)>,
}

struct NativeBreak(Arc<Connection>);

impl Break for NativeBreak {
    fn break_call(&self) {
        // If it can't be asked, the connection is gone, and with it the call.
        let _ = self.0.break_execution();
    }
}

impl Client for NativeClient {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<u64, Fault> {
        let values = bound(binds);
        let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
        let statement = self.connection.execute(sql, &values).map_err(fault)?;
        statement.row_count().map_err(fault)
    }

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        let values = bound(binds);
        let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
        let mut statement =
            self.connection.statement(sql).fetch_array_size(FETCH_ROWS).build().map_err(fault)?;
        let mut rows = Vec::new();
        for row in statement.query(&values).map_err(fault)? {
            let row = row.map_err(fault)?;
            let width = row.column_info().len();
            let texts: Result<Row, _> =
                (0..width).map(|column| row.get::<_, Option<String>>(column)).collect();
            rows.push(texts.map_err(fault)?);
        }
        Ok(rows)
    }

    fn number(&mut self, sql: &str) -> Result<u64, Fault> {
        let mut statement = self.connection.statement(sql).build().map_err(fault)?;
        statement.bind("answer", &OracleType::Int64).map_err(fault)?;
        statement.execute(&[]).map_err(fault)?;
        statement.bind_value("answer").map_err(fault)
    }

    fn insert(&mut self, sql: &str, rows: &mut dyn NewRows) -> Result<(), Fault> {
        let mut batch = self.connection.batch(sql, rows.count().max(1)).build().map_err(fault)?;
        let column = OracleType::Varchar2(COLUMN_BYTES as u32);
        batch.set_type(1, &OracleType::Int64).map_err(fault)?;
        for index in 2..=batch.bind_count() {
            batch.set_type(index, &column).map_err(fault)?;
        }
        let mut append = |row: &NewRow<'_>| {
            let mut values: Vec<&dyn ToSql> = vec![&row.custid];
            values.extend(row.columns.iter().map(|text| text as &dyn ToSql));
            batch.append_row(&values).map_err(fault)
        };
        while rows.next(&mut append)? {}
        batch.execute().map_err(fault)
    }

    fn batch(&mut self, sql: &str, work: &Work) -> Result<Answer, Fault> {
        let mut statement = match self.block.take() {
            Some((known, statement)) if known == sql => statement,
            _ => self.connection.statement(sql).build().map_err(fault)?,
        };
        let answer = execute_block(&mut statement, work);
        self.block = Some((sql.to_owned(), statement));
        answer.map_err(fault)
    }

    fn limit(&mut self, most: Option<Duration>) {
        // What an old client can't do is not needed: it only ends a call that hangs.
        let _ = self.connection.set_call_timeout(most);
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.connection.commit().map_err(fault)
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.connection.rollback().map_err(fault)
    }

    fn ending(&mut self) -> Ending {
        Ending::Break(Arc::new(NativeBreak(Arc::clone(&self.connection))))
    }
}

fn execute_block(statement: &mut Statement, work: &Work) -> oracle::Result<Answer> {
    statement.bind("work", &(&work.text, &TEXT))?;
    if let Some(stamps) = &work.stamps {
        statement.bind("stamps", &(stamps, &TEXT))?;
    }
    statement.bind("run_us", &work.run_us)?;
    for name in ["took_us", "error_code"] {
        statement.bind(name, &OracleType::Int64)?;
    }
    statement.bind("error_text", &OracleType::Varchar2(ERROR_TEXT))?;
    statement.execute(&[])?;
    let text: Option<String> = statement.bind_value("work")?;
    let code: i32 = statement.bind_value("error_code")?;
    let message: Option<String> = statement.bind_value("error_text")?;
    let fault = (code != 0).then(|| Fault::new(code.abs(), message.unwrap_or_default()));
    Ok(Answer { text: text.unwrap_or_default(), took_us: statement.bind_value("took_us")?, fault })
}

fn bound(binds: &[Bind]) -> Vec<Box<dyn ToSql>> {
    let value = |bind: &Bind| -> Box<dyn ToSql> {
        match bind {
            Bind::Number(number) => Box::new(*number),
            Bind::Text(text) => Box::new(text.clone()),
        }
    };
    binds.iter().map(value).collect()
}

/// By value, so that it can be handed to `map_err` as it is.
#[allow(clippy::needless_pass_by_value)]
fn fault(error: oracle::Error) -> Fault {
    Fault::new(error.oci_code(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_spec::Secret;

    /// Holds on every machine: with a client library nobody listens on that port, without one there is none.
    #[test]
    fn without_library_or_server_a_connection_is_an_ordinary_error() {
        let login = Login::Password { user: "u".into(), password: Secret::new("S3CRET-word"), sysdba: false };
        let fault = Native.dial(&login, "//127.0.0.1:1/none").err().unwrap();
        let told = crate::error::failed("connecting", &fault).to_string();
        assert!(told.contains("DPI-1047") || fault.code.is_some(), "{told}");
        assert!(!told.contains("S3CRET"), "{told}");
        if told.contains("DPI-1047") {
            assert!(told.contains("LD_LIBRARY_PATH") && told.contains("oracle.com"), "{told}");
        }
    }
}
