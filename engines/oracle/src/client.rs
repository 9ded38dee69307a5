//! Connections behind one trait, their drivers, and their errors. Without a named driver, a target uses OCI if its library is
//! found, else the thin driver.

use std::sync::Arc;
use std::time::Duration;

use slob_engine::{EngineError, ErrorKind, Result};
use slob_server::errors::known_error;
use slob_spec::{Secret, Target};

use crate::load::SliceRows;
use crate::native::{Native, client_version};
use crate::wallet::Wallet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    Number(i64),
    Text(String),
}

impl Bind {
    pub(crate) fn count(value: u64) -> Self {
        Self::Number(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// `None` is NULL.
pub(crate) type Row = Vec<Option<String>>;

pub(crate) fn text(row: &Row, column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

pub(crate) fn number(row: &Row, column: usize) -> Option<u64> {
    parse_number(text(row, column)?)
}

fn parse_number(text: &str) -> Option<u64> {
    let fraction = || text.parse::<f64>().ok().filter(|value| *value >= 0.0);
    text.parse().ok().or_else(|| fraction().map(|value| value as u64))
}

/// [`crate::session`] describes the form of the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockInput {
    pub(crate) ops: String,
    pub(crate) stamps: Option<String>,
    /// Operations may begin within this time.
    pub(crate) run_us: Option<i64>,
}

/// A call that the server cancelled or killed has no output: no exception handler receives such an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockOutput {
    pub(crate) ops: String,
    pub(crate) took_us: i64,
    pub(crate) fault: Option<Fault>,
}

impl BlockOutput {
    pub(crate) fn new(ops: Option<String>, took_us: i64, code: i32, message: Option<String>) -> Self {
        let fault = (code != 0).then(|| Fault::new(code.abs(), message.unwrap_or_default()));
        Self { ops: ops.unwrap_or_default(), took_us, fault }
    }
}

#[derive(Clone)]
pub(crate) enum Cancellation {
    Break(Arc<dyn Fn() + Send + Sync>),
    /// Another connection must execute this statement.
    #[cfg_attr(not(any(test, feature = "thin")), expect(dead_code, reason = "only the thin driver needs it"))]
    Statement(String),
}

pub(crate) trait Client: Send {
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<(), Fault>;

    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault>;

    /// The block leaves a whole number in `:answer`.
    fn answer(&mut self, sql: &str) -> Result<u64, Fault>;

    fn insert(&mut self, sql: &str, rows: &mut SliceRows<'_>) -> Result<(), Fault>;

    /// Errors of operations are in the output.
    fn batch(&mut self, block: &str, input: &BlockInput) -> Result<BlockOutput, Fault>;

    /// Client libraries before 18 ignore it.
    fn limit(&mut self, most: Option<Duration>);

    fn commit(&mut self) -> Result<(), Fault>;

    fn rollback(&mut self) -> Result<(), Fault>;

    fn cancellation(&mut self) -> Cancellation;

    /// PL/SQL takes 32,767 characters.
    fn longest_text(&self) -> usize {
        32_767
    }

    fn value(&mut self, sql: &str) -> Result<Option<String>, Fault> {
        Ok(self.query(sql, &[])?.into_iter().flatten().flatten().next())
    }

    fn visible_number(&mut self, sql: &str) -> Option<u64> {
        parse_number(&self.value(sql).ok()??)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Login {
    /// `None` is the account of the operating system.
    pub(crate) user: Option<(String, Secret)>,
    pub(crate) sysdba: bool,
}

impl Login {
    pub(crate) fn name(&self) -> &str {
        self.user.as_ref().map_or("the account of the operating system", |(user, _)| user)
    }
}

pub(crate) trait Driver: Send + Sync {
    fn connect(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault>;

    fn name(&self) -> String;

    fn note(&self) -> Option<String> {
        None
    }
}

pub(crate) const DRIVERS: [&str; 2] = ["oci", THIN];
const THIN: &str = "thin";

pub(crate) fn driver_of(target: &Target, wallet: Wallet) -> Result<Box<dyn Driver>> {
    let asked = target.query_value("driver").map(str::to_ascii_lowercase);
    match asked.as_deref() {
        Some(THIN) => thin(true, wallet),
        None if cfg!(feature = "thin") && (wallet.folder.is_some() || client_version().is_none()) => {
            thin(false, wallet)
        }
        _ if wallet.folder.is_some() => {
            let message = "the client library takes no ?wallet=";
            Err(EngineError::new(ErrorKind::Usage, "reading the target", message).with_advice(
                "name the wallet as WALLET_LOCATION in the sqlnet.ora of TNS_ADMIN, or use ?driver=thin",
            ))
        }
        // Its error says how to get the library.
        _ => Ok(Box::new(Native)),
    }
}

#[cfg(feature = "thin")]
#[allow(clippy::unnecessary_wraps)]
fn thin(is_chosen: bool, wallet: Wallet) -> Result<Box<dyn Driver>> {
    Ok(Box::new(crate::thin::Thin::new(is_chosen, wallet)))
}

#[cfg(not(feature = "thin"))]
fn thin(_: bool, _: Wallet) -> Result<Box<dyn Driver>> {
    let message = "this build has no thin driver (its feature `thin` is off)";
    Err(EngineError::new(ErrorKind::Usage, "reading the target", message).with_advice(
        "`cargo install --path cli --features thin` adds it, and packages have it; or leave ?driver=thin out, with Oracle's client library",
    ))
}

pub(crate) fn available_drivers() -> String {
    let library = client_version().map_or_else(
        || "no client library found".to_owned(),
        |version| format!("client library {version} found"),
    );
    #[cfg(feature = "thin")]
    let thin = format!("thin driver oracledb {}, ", crate::thin::VERSION);
    #[cfg(not(feature = "thin"))]
    let thin = "no thin driver (`cargo install --path cli --features thin` adds it), ";
    format!("{thin}OCI by ODPI-C ({library})")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// `None` if it is no ORA- error.
    pub(crate) code: Option<i32>,
    pub(crate) message: String,
    pub(crate) remedy: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(code: impl Into<Option<i32>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), remedy: None }
    }

    pub(crate) fn is_one_of(&self, codes: &[i32]) -> bool {
        self.code.is_some_and(|code| codes.contains(&code))
    }
}

pub(crate) trait During<T> {
    fn during(self, step: &str) -> Result<T>;
}

impl<T> During<T> for Result<T, Fault> {
    fn during(self, step: &str) -> Result<T> {
        self.map_err(|fault| failed(step, &fault))
    }
}

/// Missing numbers are fatal.
const ERRORS: &str = include_str!("errors.txt");

pub(crate) fn failed(step: &str, fault: &Fault) -> EngineError {
    let message = fault.message.trim();
    let plain = message.strip_prefix("OCI Error: ").or(message.strip_prefix("DPI Error: "));
    let message = plain.unwrap_or(message);
    let Some(code) = fault.code else {
        return match fault.remedy {
            Some(remedy) => EngineError::new(ErrorKind::Usage, step, message).with_advice(remedy),
            None => library_failed(step, message),
        };
    };
    let (kind, advice) = known_error(ERRORS, &code.to_string()).unwrap_or((ErrorKind::Fatal, None));
    EngineError::new(kind, step, message).with_code(format!("ORA-{code:05}")).advised(fault.remedy.or(advice))
}

const WITHOUT_LIBRARY: &str = if cfg!(feature = "thin") {
    "leave ?driver=oci out"
} else {
    "`cargo install --path cli --features thin`"
};

fn library_failed(step: &str, message: &str) -> EngineError {
    let is = |codes: &[&str]| codes.iter().any(|code| message.contains(code));
    if is(&["DPI-1047"]) {
        return EngineError::new(ErrorKind::Usage, step, "DPI-1047: Oracle's client library is not found").with_advice(
            format!(
                "{WITHOUT_LIBRARY}, for servers from 19c on; or unpack Instant Client \
                 (https://www.oracle.com/database/technologies/instant-client.html) and set LD_LIBRARY_PATH to its folder, on a \
                 database server to $ORACLE_HOME/lib"
            ),
        );
    }
    if is(&["DPI-1072", "DPI-1050"]) {
        return EngineError::new(ErrorKind::Usage, step, message)
            .with_advice("Oracle's client library is too old: one of 19 reaches servers from 11.2 on");
    }
    let is_lost = is(&["DPI-1080", "DPI-1010", "DPI-1067"]);
    EngineError::new(if is_lost { ErrorKind::Connection } else { ErrorKind::Fatal }, step, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_server::errors::table;

    #[rstest]
    #[case(1013, ErrorKind::Cancelled)]
    #[case(60, ErrorKind::Retryable)]
    #[case(3113, ErrorKind::Connection)]
    #[case(12541, ErrorKind::Connection)]
    #[case(12520, ErrorKind::Usage)]
    #[case(12154, ErrorKind::Usage)]
    #[case(1653, ErrorKind::Space)]
    #[case(1017, ErrorKind::Privilege)]
    #[case(1031, ErrorKind::Privilege)]
    #[case(20, ErrorKind::Usage)]
    #[case(1578, ErrorKind::Data)]
    #[case(1555, ErrorKind::Retryable)]
    #[case(3156, ErrorKind::Connection)]
    #[case(2391, ErrorKind::Usage)]
    #[case(900, ErrorKind::Fatal)]
    fn codes_have_their_kinds(#[case] code: i32, #[case] kind: ErrorKind) {
        let fault = Fault::new(code, "OCI Error: ORA-x");
        let error = failed("trying", &fault);
        assert_eq!((error.kind(), error.code()), (kind, Some(format!("ORA-{code:05}").as_str())));
        assert!(error.to_string().starts_with("trying: ORA-x"), "{error}");
    }

    #[test]
    fn common_failures_say_what_to_do_next() {
        for (code, word) in [
            (12154, "TNS_ADMIN"),
            (3134, "one of 19"),
            (12541, "lsnrctl"),
            (12514, "lsnrctl"),
            (12170, "firewall"),
            (1017, "SYSDBA_PASSWD"),
            (1031, "ORACLE_ACCOUNTS=existing"),
            (1950, "quota"),
            (1653, "tablespace"),
            (1652, "temporary"),
            (28000, "UNLOCK"),
            (28001, "expired"),
            (942, "SELECT_CATALOG_ROLE"),
            (955, "mark"),
            (1555, "undo"),
            (1940, "V$SESSION"),
            (28003, "profile"),
            (4031, "shared_pool_size"),
        ] {
            let fault = Fault::new(code, "said by the server");
            let error = failed("trying", &fault).to_string();
            assert!(error.contains(word), "ORA-{code:05}: {error}");
        }
    }

    #[test]
    fn a_missing_library_says_where_to_get_it() {
        let fault = Fault::new(None, "DPI Error: DPI-1047: Cannot locate a library");
        let error = failed("connecting", &fault);
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("LD_LIBRARY_PATH"), "{error}");
    }

    #[test]
    fn every_line_of_the_table_of_errors_is_read() {
        let lines = ERRORS.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(table(ERRORS).count(), lines.count());
        for code in table(ERRORS).flat_map(|[codes, ..]| codes.split(' ')) {
            assert!(known_error(ERRORS, code.split('-').next().unwrap()).is_some(), "{code}");
        }
    }

    fn driver(target: &str) -> String {
        driver_of(&target.parse().unwrap(), Wallet::default()).unwrap().name()
    }

    #[test]
    fn a_target_names_its_driver() {
        assert!(driver("oracle://u@//h/s?driver=oci").starts_with("OCI"));
        #[cfg(feature = "thin")]
        {
            assert!(driver("oracle://u@//h/s?driver=THIN").starts_with("thin, oracledb "));
            let unsaid = driver("oracle://u@//h/s");
            assert_eq!(unsaid.starts_with("OCI"), client_version().is_some(), "{unsaid}");
        }
    }
}
