//! Connections by Oracle's own driver in Rust, so far a preview. Its limits:
//! - It binds no arrays to PL/SQL: batches are text.
//! - It can't break its own call: ALTER SYSTEM CANCEL SQL ends it, and each call has a time limit.
//! - It waits for a silent listener without end, and panics at some answers: a thread makes each connection, and panics become
//!   errors. A panic in the midst of a statement aborts the program, as the clean-up panics again.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use oracledb::{Config, Connection, DB_TYPE_NUMBER, DB_TYPE_VARCHAR, ErrorKind, OracleNumber, ToDbValue};
use slob_engine::within;
use slob_server::{CONNECT_TIMEOUT, LOGIN_TIMEOUT};

use crate::client::{Bind, BlockInput, BlockOutput, Cancellation, Client, Driver, Fault, Login, Row};
use crate::load::SliceRows;
use crate::wallet::{self, Wallet};

/// A test compares it with the manifest.
pub(crate) const VERSION: &str = "26.0.0-beta.5";
const FETCH_ROWS: u32 = 256;
const SYSDBA: u8 = 4;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Thin {
    wallet: Wallet,
    /// TNS_ADMIN.
    admin: Option<PathBuf>,
    is_chosen: bool,
    login_timeout: Duration,
}

impl Thin {
    pub(crate) fn new(is_chosen: bool, wallet: Wallet) -> Self {
        let admin = std::env::var_os("TNS_ADMIN").map(PathBuf::from);
        Self { wallet, admin, is_chosen, login_timeout: LOGIN_TIMEOUT }
    }

    /// A target's wallet wins over Oracle's files and TNS_ADMIN. True if a plain service is meant to be reached by TLS: files
    /// also serve plain connections.
    fn wallet_for(&self, service: &str) -> (Option<String>, bool) {
        if self.wallet.folder.is_some() {
            return (self.wallet.folder.clone(), true);
        }
        if let Some(folder) = wallet::named_by_files(service, self.admin.as_deref()) {
            return (Some(folder), false);
        }
        let beside = self.admin.as_ref().filter(|folder| folder.join(wallet::FILE).is_file());
        (beside.and_then(|folder| folder.to_str()).map(str::to_owned), beside.is_some())
    }

    /// An Autonomous Database has wallet and net service names in one folder.
    fn with_wallet(&self, mut config: Config, folder: Option<&str>) -> Config {
        if let Some(named) =
            self.wallet.folder.as_ref().filter(|named| Path::new(named).join("tnsnames.ora").is_file())
        {
            config = config.set_config_dir(named);
        }
        let Some(folder) = folder else { return config };
        config = config.set_wallet_location(folder);
        match &self.wallet.password {
            Some(password) => config.set_wallet_password(password.expose()),
            None => config,
        }
    }
}

impl Driver for Thin {
    fn connect(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault> {
        let Some((user, password)) = &login.user else {
            let message = "the thin driver can't connect as the account of the operating system";
            return Err(Fault::new(None, message)
                .with_remedy("install Oracle's client library and leave ?driver=thin out, or name a user"));
        };
        if service.is_empty() {
            let message = "the thin driver can't connect to the local instance without a listener";
            return Err(Fault::new(None, message).with_remedy(
                "write the target as oracle://user@//host:port/service, or install Oracle's client library and leave \
                 ?driver=thin out",
            ));
        }
        // The driver picks another provider unless one is installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (folder, by_tls) = self.wallet_for(service);
        let scheme = if by_tls && service.starts_with("//") { "tcps:" } else { "" };
        let config = Config::default()
            .set_credentials(user, password.expose())
            .set_driver_name("slob")
            .set_transport_connect_timeout(Some(CONNECT_TIMEOUT));
        let mut config = self
            .with_wallet(config, folder.as_deref())
            .set_connect_string(&format!("{scheme}{service}"))
            .map_err(|error| fault_of(&error))?;
        if login.sysdba {
            config = config.set_auth_mode(SYSDBA);
        }
        match within(self.login_timeout, move || catch_panic(|| oracledb::connect(config))) {
            Ok(Ok(Ok(connection))) => Ok(Box::new(ThinClient { connection: Some(connection) })),
            Ok(Ok(Err(error))) if folder.as_deref().is_some_and(wallet::has_key) => {
                Err(untrusted(fault_of(&error)))
            }
            Ok(Ok(Err(error))) => Err(fault_of(&error)),
            Ok(Err(panic)) => Err(fault_of_panic(&panic)),
            Err(silence) => Err(Fault::new(TIMED_OUT, silence.to_string())),
        }
    }

    fn name(&self) -> String {
        format!("thin, oracledb {VERSION}")
    }

    fn note(&self) -> Option<String> {
        let why = if self.is_chosen { "" } else { ", since no client library of Oracle's was found" };
        Some(format!("Connections are made by Oracle's thin driver (oracledb {VERSION}, a preview){why}."))
    }
}

struct ThinClient {
    /// A panic leaves the connection unusable.
    connection: Option<Connection>,
}

impl ThinClient {
    fn with<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T, oracledb::Error>) -> Result<T, Fault> {
        let Some(connection) = &self.connection else {
            return Err(Fault::new(GONE, "the thin driver failed earlier, and the connection with it"));
        };
        match catch_panic(|| work(connection)) {
            Ok(result) => result.map_err(|error| fault_of(&error)),
            Err(panic) => {
                self.close();
                Err(fault_of_panic(&panic))
            }
        }
    }

    /// The driver waits for the server's answer to its close.
    fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = within(CLOSE_TIMEOUT, move || catch_panic(|| drop(connection)));
        }
    }
}

impl Drop for ThinClient {
    fn drop(&mut self) {
        self.close();
    }
}

impl Client for ThinClient {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<(), Fault> {
        self.with(|connection| connection.execute(sql, &values(binds)).map(drop))
    }

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault> {
        self.with(|connection| {
            let statement =
                connection.statement(sql)?.prefetch_rows(FETCH_ROWS).fetch_array_size(FETCH_ROWS).build()?;
            statement.query(&values(binds))?.map(|row| texts(&row?)).collect()
        })
    }

    fn answer(&mut self, sql: &str) -> Result<u64, Fault> {
        self.with(|connection| {
            connection.execute_named(sql, &[("answer", &DB_TYPE_NUMBER)])?.out_bind_data().get("answer")
        })
    }

    fn insert(&mut self, sql: &str, rows: &mut SliceRows<'_>) -> Result<(), Fault> {
        let mut taken: Vec<(i64, Vec<String>)> = Vec::with_capacity(rows.count());
        while let Some((key, columns)) = rows.next_row()? {
            taken.push((key, columns.map(str::to_owned).to_vec()));
        }
        if taken.is_empty() {
            return Ok(());
        }
        let bound: Vec<Vec<&dyn ToDbValue>> =
            taken.iter().map(|(key, columns)| bound_row(key, columns)).collect();
        let bound: Vec<&[&dyn ToDbValue]> = bound.iter().map(Vec::as_slice).collect();
        self.with(|connection| connection.execute_batch(sql, bound.as_slice()).map(drop))
    }

    fn batch(&mut self, block: &str, input: &BlockInput) -> Result<BlockOutput, Fault> {
        self.with(|connection| {
            let mut named: Vec<(&str, &dyn ToDbValue)> = vec![
                ("work", &input.ops),
                ("run_us", &input.run_us),
                ("took_us", &DB_TYPE_NUMBER),
                ("error_code", &DB_TYPE_NUMBER),
                ("error_text", &DB_TYPE_VARCHAR),
            ];
            if let Some(stamps) = &input.stamps {
                named.push(("stamps", stamps));
            }
            let output = connection.execute_named(block, &named)?.out_bind_data();
            Ok(BlockOutput::new(
                output.get("work")?,
                output.get("took_us")?,
                output.get("error_code")?,
                output.get("error_text")?,
            ))
        })
    }

    fn limit(&mut self, most: Option<Duration>) {
        // A lost connection reports it at the next call.
        let _ = self.with(|connection| connection.set_call_timeout(most));
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.with(Connection::commit)
    }

    fn rollback(&mut self) -> Result<(), Fault> {
        self.with(Connection::rollback)
    }

    fn cancellation(&mut self) -> Cancellation {
        let instance = self.value(include_str!("../sql/instance_number.sql")).ok().flatten();
        let instance = instance.map_or_else(String::new, |number| format!(", @{number}"));
        let ids = self.with(|connection| Ok((connection.session_id()?, connection.serial_num()?)));
        let (id, serial) = ids.unwrap_or_default();
        Cancellation::Statement(cancel_sql(id, serial, &instance))
    }
}

fn bound_row<'a>(key: &'a i64, columns: &'a [String]) -> Vec<&'a dyn ToDbValue> {
    let key: &dyn ToDbValue = key;
    [key].into_iter().chain(columns.iter().map(|text| text as &dyn ToDbValue)).collect()
}

/// Servers have it since 18c.
pub(crate) fn cancel_sql(id: usize, serial: usize, instance: &str) -> String {
    include_str!("../sql/cancel.sql").trim_end().replace("{session}", &format!("{id}, {serial}{instance}"))
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

fn texts(row: &oracledb::Row) -> Result<Row, oracledb::Error> {
    let text = |(index, column): (usize, &oracledb::Metadata)| {
        if column.db_type().is_string_type() {
            return row.get::<Option<String>>(index);
        }
        Ok(row.get::<Option<OracleNumber>>(index)?.map(|number| number.to_string()))
    };
    row.columns().iter().enumerate().map(text).collect()
}

/// The client library has these numbers, so both have the same advice.
const TIMED_OUT: i32 = 12170;
const CLOSED: i32 = 12537;
const NO_LISTENER: i32 = 12541;
const NO_HOST: i32 = 12545;
const GONE: i32 = 3113;
/// Errors about the server's certificate.
const UNTRUSTED: &str = "peer certificate";

impl Fault {
    fn with_remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

fn fault_of(error: &oracledb::Error) -> Fault {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::DbError(error) => Fault::new(i32::try_from(error.code()).ok(), error.message()),
        ErrorKind::InvalidServiceName(..) => Fault::new(12514, message),
        ErrorKind::InvalidSid(..) => Fault::new(12505, message),
        ErrorKind::ListenerRefusedConnection(_, _, _, code) => Fault::new(i32::try_from(*code).ok(), message),
        ErrorKind::UnexpectedRefuse(_) => Fault::new(12564, message),
        ErrorKind::TnsAliasNotFound(..) | ErrorKind::NoConfigDir | ErrorKind::InvalidConnectString(..) => {
            Fault::new(12154, message)
        }
        _ if message.contains(UNTRUSTED) => Fault::new(None, message).with_remedy(
            "the server's certificate is not trusted: name a folder whose ewallet.pem has the certificate of who signed it as \
             ?wallet=FOLDER in the target, or as TNS_ADMIN; it must also carry the host's name that the target uses",
        ),
        _ if message.contains("fatal alert") => Fault::new(None, message).with_remedy(
            "the server refuses this client: if it demands a certificate, name a wallet whose ewallet.pem has one with its key, \
             as ?wallet=FOLDER in the target",
        ),
        _ if message.contains("wallet") => Fault::new(None, message)
            .with_remedy("?wallet= names a folder with a readable ewallet.pem; ORACLE_WALLET_PASSWORD is the password of its key"),
        ErrorKind::StreamOperation => fault_of_stream(&message),
        ErrorKind::CallTimeoutExceeded => Fault::new(3156, "no answer within the time that a call may take"),
        ErrorKind::DeadConnection => Fault::new(CLOSED, message),
        ErrorKind::UnableToRecover | ErrorKind::NotConnected | ErrorKind::LockPoisoned => {
            Fault::new(GONE, message)
        }
        ErrorKind::ServerVersionNotSupported => Fault::new(None, message)
            .with_remedy("the thin driver reaches servers from 19c on: install Oracle's client library"),
        _ => Fault::new(None, format!("the thin driver says: {message}")),
    }
}

/// With a private key in the wallet, the driver trusts public authorities alone.
fn untrusted(fault: Fault) -> Fault {
    if !fault.message.contains(UNTRUSTED) {
        return fault;
    }
    fault.with_remedy(
        "with a private key in the wallet the thin driver trusts public authorities alone: use a wallet of the authority's \
         certificate without a key if the server demands none of the client, or Oracle's client library",
    )
}

/// The driver keeps such errors only as text.
fn fault_of_stream(message: &str) -> Fault {
    let words = message.strip_prefix("stream operation failed: ").unwrap_or(message);
    let code = match words {
        _ if words.starts_with("Connection refused") => NO_LISTENER,
        _ if words.starts_with("failed to lookup address") => NO_HOST,
        _ if words.contains("timed out") => TIMED_OUT,
        _ => CLOSED,
    };
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    Fault::new(code, first.into_iter().chain(letters).collect::<String>())
}

fn fault_of_panic(Panic { place, words }: &Panic) -> Fault {
    let gave_up = |why: &str| Fault::new(None, format!("the thin driver gave up ({place}: {words}): {why}"));
    if place.starts_with("messages/connect.rs") {
        return gave_up("the server demands native network encryption, or what answers is no listener of Oracle's").with_remedy(
            "look at the port; or set SQLNET.ENCRYPTION_SERVER and SQLNET.CRYPTO_CHECKSUM_SERVER to ACCEPTED on the server, or \
             use TLS (a net service name with PROTOCOL=TCPS), or install Oracle's client library, which can encrypt so",
        );
    }
    if place.starts_with("messages/auth.rs") {
        return gave_up("the account has only a password verifier of 11g, or what answers is no database of Oracle's").with_remedy(
            "set the account's password again where SQLNET.ALLOWED_LOGON_VERSION_SERVER is 12 or more, or install Oracle's client \
             library",
        );
    }
    gave_up("it did not expect what the server said").with_remedy(
        "install Oracle's client library, and report this line to us, with the release of the server",
    )
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Panic {
    place: String,
    words: String,
}

thread_local! {
    /// Caught panics are not printed.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| if IS_CAUGHT.get() { remember(info) } else { before(info) }));
    });
    let outer = IS_CAUGHT.replace(true);
    // The connection is closed, so half-done state is not used again.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(outer);
    result.map_err(|_| LAST.take().unwrap_or_default())
}

fn remember(info: &PanicHookInfo<'_>) {
    let short = |file: &str| file.rsplit_once("/src/").map_or(file, |(_, file)| file).to_owned();
    let place = info.location().map(|place| format!("{}:{}", short(place.file()), place.line()));
    let payload = info.payload();
    let words = payload.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    LAST.set(Some(Panic { place: place.unwrap_or_default(), words }));
}

#[cfg(test)]
mod tests;
