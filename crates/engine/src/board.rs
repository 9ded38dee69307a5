//! A database as the place of published runs: plain statements, in the words that all products share.

use slob_spec::Target;

use crate::error::Result;

/// How a product's databases become boards.
#[derive(Clone, Copy)]
pub struct BoardKind {
    /// Form of its address, for help.
    pub form: &'static str,
    /// Connects, and changes nothing.
    pub open: fn(&Target) -> Result<Box<dyn Board>>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known.
    Null,
    /// A count.
    Whole(i64),
    /// A measured number.
    Number(f64),
    /// UTF-8.
    Text(String),
}

impl Value {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Null }
    }
}

impl From<u64> for Value {
    /// A count beyond the range is its end.
    fn from(count: u64) -> Self {
        Self::Whole(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A connection to a board. Parameters of statements are `?`. Errors name the step.
pub trait Board {
    /// The type of texts of any length, and the end of CREATE TABLE.
    fn words(&self) -> [&'static str; 2];

    /// Begins a transaction, in which nobody else writes to a board of this database. Waits for a minute.
    fn begin(&mut self) -> Result<()>;

    /// Ends it, with all that was written.
    fn commit(&mut self) -> Result<()>;

    /// Ends it without. A lost connection does so too.
    fn roll_back(&mut self);

    /// Executes a statement.
    fn execute(&mut self, step: &str, sql: &str, values: &[Value]) -> Result<()>;

    /// Rows of counts, numbers and texts.
    fn query(&mut self, step: &str, sql: &str, values: &[Value]) -> Result<Vec<Vec<Value>>>;
}
