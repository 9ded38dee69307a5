//! A connection, as far as this engine needs one.
//!
//! [`crate::native`] makes them by Oracle's client library, [`crate::thin`] without one; tests put a script behind the same trait.

use std::sync::Arc;
use std::time::Duration;

/// A value that goes into a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    /// A whole number.
    Number(i64),
    /// Text.
    Text(String),
}

impl Bind {
    /// A count; none of ours comes near the limit.
    pub(crate) fn count(value: u64) -> Self {
        Self::Number(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// A row of an answer: each value as text, `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

/// What a server, or the client library, says of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The number of an ORA- error; `None` if it has another origin.
    pub(crate) code: Option<i32>,
    /// The words.
    pub(crate) message: String,
    /// What to do about it, where a driver knows.
    pub(crate) remedy: Option<&'static str>,
}

impl Fault {
    /// With the number of an ORA- error, if it has one.
    pub(crate) fn new(code: impl Into<Option<i32>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), remedy: None }
    }

    /// With what to do about it.
    #[cfg(feature = "thin")]
    pub(crate) fn with_remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

/// One row for an insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewRow<'a> {
    pub(crate) custid: i64,
    /// c2 to c20.
    pub(crate) columns: Vec<&'a str>,
}

/// Gives out the rows of an insert one by one; false ends it.
pub(crate) trait NewRows {
    /// Calls `take` with the next row.
    ///
    /// # Errors
    /// Of `take`.
    fn next(&mut self, take: &mut dyn FnMut(&NewRow<'_>) -> Result<(), Fault>) -> Result<bool, Fault>;

    /// How many there are in all.
    fn count(&self) -> usize;
}

/// What the block of a batch takes; the form of its texts is told in [`crate::session`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// The operations.
    pub(crate) text: String,
    /// Their stamps; `None` if the block takes none.
    pub(crate) stamps: Option<String>,
    /// How long operations may begin, in microseconds.
    pub(crate) run_us: Option<i64>,
}

/// What the block of a batch answers. A call that the server was told to end, or whose session was, has no answer: no
/// handler within the block is given such an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The operations that were done: when they began and ended, and their rows.
    pub(crate) text: String,
    /// How long the block worked, in microseconds.
    pub(crate) took_us: i64,
    /// The error that ended it.
    pub(crate) fault: Option<Fault>,
}

/// How a call is ended from another thread.
#[derive(Clone)]
pub(crate) enum Ending {
    /// By the connection itself.
    Break(Arc<dyn Break>),
    /// By this statement, in the connection of the account that looks: the way of the driver without a client library.
    #[cfg_attr(not(any(test, feature = "thin")), expect(dead_code, reason = "no other driver needs it"))]
    Statement(String),
}

/// One connection.
pub(crate) trait Client: Send {
    /// Executes a statement other than a query and returns the rows that it changed. Nothing is committed.
    ///
    /// # Errors
    /// Of the server.
    fn execute(&mut self, sql: &str, binds: &[Bind]) -> Result<u64, Fault>;

    /// Executes a query and returns all its rows.
    ///
    /// # Errors
    /// Of the server.
    fn query(&mut self, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Fault>;

    /// Executes a block that leaves a whole number in `:answer`.
    ///
    /// # Errors
    /// Of the server, or if it leaves none.
    fn number(&mut self, sql: &str) -> Result<u64, Fault>;

    /// Executes an INSERT once, with all rows bound as arrays.
    ///
    /// # Errors
    /// Of the server, and of `rows`.
    fn insert(&mut self, sql: &str, rows: &mut dyn NewRows) -> Result<(), Fault>;

    /// Executes the block of a batch.
    ///
    /// # Errors
    /// If the block itself fails, or the call or its session was ended; what else fails within it is in the answer.
    fn batch(&mut self, sql: &str, work: &Work) -> Result<Answer, Fault>;

    /// From now on a call may take so long; `None` for as long as it takes. A client library before 18 knows no limit.
    fn limit(&mut self, most: Option<Duration>);

    /// Ends the transaction.
    ///
    /// # Errors
    /// Of the server.
    fn commit(&mut self) -> Result<(), Fault>;

    /// Undoes the transaction.
    ///
    /// # Errors
    /// Of the server.
    fn rollback(&mut self) -> Result<(), Fault>;

    /// What ends a call from another thread.
    fn ending(&mut self) -> Ending;
}

/// Ends the call that a connection is in.
pub(crate) trait Break: Send + Sync {
    /// Asks the server to end the call; without one, the next one may end.
    fn break_call(&self);
}

/// Who connects.
#[derive(Clone, Debug)]
pub(crate) enum Login {
    /// As the account of the operating system, with SYSDBA or as an externally identified account.
    OperatingSystem {
        /// With the privilege.
        sysdba: bool,
    },
    /// With a password.
    Password {
        user: String,
        password: slob_spec::Secret,
        /// With the privilege.
        sysdba: bool,
    },
}

/// What makes connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// In a few words, with the version where that is known.
    pub(crate) name: String,
    /// Why it is this one, where nobody chose it.
    pub(crate) note: Option<String>,
}

/// Makes connections.
pub(crate) trait Dial: Send + Sync {
    /// Connects to a service: a net service name, an easy connect string, or nothing for the instance of this machine.
    ///
    /// # Errors
    /// If there is no client library, or the server refuses.
    fn dial(&self, login: &Login, service: &str) -> Result<Box<dyn Client>, Fault>;

    /// What makes the connections, with its version.
    fn driver(&self) -> Driver;
}
