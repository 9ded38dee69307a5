//! Connections without a client library, by Oracle's own driver in Rust.
//!
//! Every release of it so far is a preview. What it can't do, and what is done about it here:
//! - It binds no arrays to PL/SQL: batches are text.
//! - A call can't be broken by its own connection: ALTER SYSTEM CANCEL SQL ends it, and every call of a session has a limit of
//!   time.
//! - It knows no account of the operating system, and no local instance.
//! - It waits for ever for a listener that is silent, and panics at some answers: connections are made in a thread of their own,
//!   and panics become errors. One in the midst of a statement can't: the driver's clean-up then panics again, which ends the
//!   program.

mod fault;
mod guard;

use std::time::Duration;

use oracledb::{Config, Connection, DB_TYPE_NUMBER, DB_TYPE_VARCHAR, OracleNumber, ToDbValue};
use slob_engine::within;

use self::fault::{fault_of, of_panic};
use self::guard::guarded;
use crate::client::{Answer, Bind, Client, Dial, Driver, Ending, Fault, Login, NewRow, NewRows, Row, Work};

/// The release of the driver; a test holds it against the one that is built in.
pub(crate) const VERSION: &str = "26.0.0-beta.5";
/// Rows fetched at once.
const FETCH_ROWS: u32 = 256;
/// What the driver calls SYSDBA.
const SYSDBA: u8 = 4;
/// How long the network may take to connect, and all of it until the account is let in.
const REACH: Duration = Duration::from_secs(10);
const LOGIN: Duration = Duration::from_secs(20);
/// How long a server may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(5);

/// The driver.
pub(crate) struct Thin {
    /// Whether the target asks for it.
    chosen: bool,
    /// How long it may take until the account is let in.
    patience: Duration,
}

impl Thin {
    /// The driver; `chosen` if the target asks for it.
    pub(crate) fn new(chosen: bool) -> Self {
        Self { chosen, patience: LOGIN }
    }
}

impl Dial for Thin {
    fn dial(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault> {
        let Login::Password { user, password, sysdba } = login else {
            return Err(Fault::new(
                None,
                "the thin driver can't connect as the account of the operating system",
            )
            .with_remedy("install Oracle's client library and leave ?driver=thin out, or name a user"));
        };
        if service.is_empty() {
            return Err(Fault::new(None, "the thin driver can't connect to the local instance without a listener")
                .with_remedy(
                    "write the target as oracle://user@//host:port/service, or install Oracle's client library and leave \
                     ?driver=thin out",
                ));
        }
        // The driver would take another one, and two are built in: whoever asks for the process's own must find one set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = Config::default()
            .set_credentials(user, password.expose())
            .set_driver_name("slob")
            .set_transport_connect_timeout(Some(REACH))
            .set_connect_string(service)
            .map_err(|error| fault_of(&error))?;
        if *sysdba {
            config = config.set_auth_mode(SYSDBA);
        }
        let connected = within(self.patience, move || guarded(|| oracledb::connect(config)));
        let connection = match connected {
            Ok(Ok(connection)) => connection.map_err(|error| fault_of(&error))?,
            Ok(Err(panic)) => return Err(of_panic(&panic)),
            Err(silence) => return Err(Fault::new(TIMED_OUT, silence.to_string())),
        };
        Ok(Box::new(ThinClient { connection: Some(connection) }))
    }

    fn driver(&self) -> Driver {
        let name = format!("thin, oracledb {VERSION}");
        let why = if self.chosen { "" } else { ", since no client library of Oracle's was found" };
        let note =
            format!("Connections are made by Oracle's thin driver (oracledb {VERSION}, a preview){why}.");
        Driver { name, note: Some(note) }
    }
}

/// 'TNS: connect timeout occurred'.
const TIMED_OUT: i32 = 12170;
/// 'end-of-file on communication channel'.
const GONE: i32 = 3113;

struct ThinClient {
    /// `None` after a panic, which leaves it in no state to go on.
    connection: Option<Connection>,
}

impl ThinClient {
    fn with<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, oracledb::Error>) -> Result<T, Fault> {
        let Some(connection) = &self.connection else {
            return Err(Fault::new(GONE, "the thin driver failed earlier, and the connection with it"));
        };
        match guarded(|| work(connection)) {
            Ok(result) => result.map_err(|error| fault_of(&error)),
            Err(panic) => {
                self.connection.take().into_iter().for_each(part);
                Err(of_panic(&panic))
            }
        }
    }
}

/// Closes a connection: the driver asks the server, and waits for its answer.
fn part(connection: Connection) {
    let _ = within(FAREWELL, move || guarded(|| drop(connection)));
}

impl Drop for ThinClient {
    fn drop(&mut self) {
        self.connection.take().into_iter().for_each(part);
    }
}

impl Client for ThinClient {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<u64, Fault> {
        self.with(|connection| Ok(connection.execute(sql, &values(binds))?.rows_affected()))
    }

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        self.with(|connection| {
            let statement =
                connection.statement(sql)?.prefetch_rows(FETCH_ROWS).fetch_array_size(FETCH_ROWS).build()?;
            statement.query(&values(binds))?.map(|row| texts(&row?)).collect()
        })
    }

    fn number(&mut self, sql: &str) -> Result<u64, Fault> {
        self.with(|connection| {
            connection.execute_named(sql, &[("answer", &DB_TYPE_NUMBER)])?.out_bind_data().get("answer")
        })
    }

    fn insert(&mut self, sql: &str, rows: &mut dyn NewRows) -> Result<(), Fault> {
        let mut taken: Vec<(i64, Vec<String>)> = Vec::with_capacity(rows.count());
        let mut take = |row: &NewRow<'_>| {
            taken.push((row.custid, row.columns.iter().map(|text| (*text).to_owned()).collect()));
            Ok(())
        };
        while rows.next(&mut take)? {}
        if taken.is_empty() {
            return Ok(());
        }
        let bound: Vec<Vec<&dyn ToDbValue>> =
            taken.iter().map(|(custid, texts)| bound(custid, texts)).collect();
        let bound: Vec<&[&dyn ToDbValue]> = bound.iter().map(Vec::as_slice).collect();
        self.with(|connection| connection.execute_batch(sql, bound.as_slice()).map(drop))
    }

    fn batch(&mut self, sql: &str, work: &Work) -> Result<Answer, Fault> {
        self.with(|connection| {
            let mut named: Vec<(&str, &dyn ToDbValue)> = vec![
                ("work", &work.text),
                ("run_us", &work.run_us),
                ("took_us", &DB_TYPE_NUMBER),
                ("error_code", &DB_TYPE_NUMBER),
                ("error_text", &DB_TYPE_VARCHAR),
            ];
            if let Some(stamps) = &work.stamps {
                named.push(("stamps", stamps));
            }
            let answer = connection.execute_named(sql, &named)?.out_bind_data();
            let text: Option<String> = answer.get("work")?;
            let code: i32 = answer.get("error_code")?;
            let message: Option<String> = answer.get("error_text")?;
            let fault = (code != 0).then(|| Fault::new(code.abs(), message.unwrap_or_default()));
            Ok(Answer { text: text.unwrap_or_default(), took_us: answer.get("took_us")?, fault })
        })
    }

    fn limit(&mut self, most: Option<Duration>) {
        // A connection that is gone says so at the next call.
        let _ = self.with(|connection| connection.set_call_timeout(most));
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.with(Connection::commit)
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.with(Connection::rollback)
    }

    fn ending(&mut self) -> Ending {
        let rows = self.query(include_str!("../../sql/instance_number.sql"), &[]).unwrap_or_default();
        let instance = rows.into_iter().flatten().flatten().next().map(|number| format!(", @{number}"));
        let ids = self.with(|connection| Ok((connection.session_id()?, connection.serial_num()?)));
        let (id, serial) = ids.unwrap_or_default();
        Ending::Statement(cancel_sql(id, serial, &instance.unwrap_or_default()))
    }
}

/// Ends the call that a session is in; known from 18c on.
pub(crate) fn cancel_sql(id: usize, serial: usize, instance: &str) -> String {
    include_str!("../../sql/cancel.sql").trim_end().replace("{session}", &format!("{id}, {serial}{instance}"))
}

fn values(binds: &[Bind]) -> Vec<&dyn ToDbValue> {
    fn value(bind: &Bind) -> &dyn ToDbValue {
        match bind {
            Bind::Number(number) => number,
            Bind::Text(text) => text,
        }
    }
    binds.iter().map(value).collect()
}

fn bound<'a>(custid: &'a i64, texts: &'a [String]) -> Vec<&'a dyn ToDbValue> {
    let custid: &dyn ToDbValue = custid;
    [custid].into_iter().chain(texts.iter().map(|text| text as &dyn ToDbValue)).collect()
}

/// Each value as text.
fn texts(row: &oracledb::Row) -> Result<Row, oracledb::Error> {
    let text = |(index, column): (usize, &oracledb::Metadata)| {
        if column.db_type().is_string_type() {
            return row.get::<Option<String>>(index);
        }
        // All else that our queries ask for are numbers.
        Ok(row.get::<Option<OracleNumber>>(index)?.map(|number| number.to_string()))
    };
    row.columns().iter().enumerate().map(text).collect()
}

#[cfg(test)]
mod tests;
