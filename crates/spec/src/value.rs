//! A value of any type, and how it is taken out again.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use crate::types::{
    ArrivalProcess, MASK, Observers, Percent, RedoStress, RunName, Secret, SessionLoss, Size, StatisticsType,
    Target, WorkUnit, seconds,
};

/// A checked value of a parameter.
///
/// [`fmt::Display`] writes it as `slob.conf` would have it, but never a password: a secret is masked and a
/// target shown without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A percentage.
    Percent(Percent),
    /// A whole number.
    Count(u64),
    /// An amount of data.
    Size(Size),
    /// A span of time.
    Duration(Duration),
    /// TRUE or FALSE.
    Flag(bool),
    /// One of the words of a choice, spelt as the choice has it.
    Choice(&'static str),
    /// Text.
    Text(String),
    /// A path.
    Path(PathBuf),
    /// A name of a run.
    Name(RunName),
    /// How hosts are seen.
    Observe(Observers),
    /// The address of a database.
    Target(Target),
    /// A password.
    Secret(Secret),
}

impl Value {
    /// Whether it must never be shown.
    #[must_use]
    pub const fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(value) => value.fmt(f),
            Self::Count(value) => value.fmt(f),
            Self::Size(value) => value.fmt(f),
            Self::Duration(value) => f.write_str(&seconds::format(*value)),
            Self::Flag(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Self::Choice(value) => f.write_str(value),
            Self::Text(value) => f.write_str(value),
            Self::Path(value) => value.display().fmt(f),
            Self::Name(value) => value.fmt(f),
            Self::Observe(value) => value.fmt(f),
            Self::Target(value) => value.fmt(f),
            Self::Secret(_) => f.write_str(MASK),
        }
    }
}

/// A type that some value can be taken out as.
pub(crate) trait FromValue: Sized {
    /// `None` if the value is of another kind or does not fit.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $pattern:pat => $taken:expr;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $pattern => $taken,
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    Percent: Value::Percent(value) => Some(*value);
    u64: Value::Count(value) => Some(*value);
    NonZeroU32: Value::Count(value) => u32::try_from(*value).ok().and_then(Self::new);
    NonZeroU64: Value::Count(value) => Self::new(*value);
    WorkUnit: Value::Count(value) => u16::try_from(*value).ok().and_then(|blocks| Self::new(blocks).ok());
    Size: Value::Size(value) => Some(*value);
    Duration: Value::Duration(value) => Some(*value);
    bool: Value::Flag(value) => Some(*value);
    RedoStress: Value::Choice(value) => Self::from_choice(value);
    ArrivalProcess: Value::Choice(value) => Self::from_choice(value);
    SessionLoss: Value::Choice(value) => Self::from_choice(value);
    StatisticsType: Value::Choice(value) => Self::from_choice(value);
    &'static str: Value::Choice(value) => Some(*value);
    String: Value::Text(value) => Some(value.clone());
    PathBuf: Value::Path(value) => Some(value.clone());
    RunName: Value::Name(value) => Some(value.clone());
    Observers: Value::Observe(value) => Some(value.clone());
    Target: Value::Target(value) => Some(value.clone());
    Secret: Value::Secret(value) => Some(value.clone());
}
