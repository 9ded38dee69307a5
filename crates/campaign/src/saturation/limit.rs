//! A limit of latency, as people say it: `p99=2ms`.

use std::fmt;
use std::str::FromStr;

/// Names and the columns of `slob info` that they mean.
const METRICS: [(&str, &str); 14] = [
    ("mean", "operation_mean_us"),
    ("p50", "operation_p50_us"),
    ("p90", "operation_p90_us"),
    ("p95", "operation_p95_us"),
    ("p99", "operation_p99_us"),
    ("p99.9", "operation_p999_us"),
    ("max", "operation_max_us"),
    ("response-mean", "response_mean_us"),
    ("response-p99", "response_p99_us"),
    ("read-mean", "physical_read_mean_us"),
    ("read-p50", "physical_read_p50_us"),
    ("read-p99", "physical_read_p99_us"),
    ("redo-mean", "redo_sync_mean_us"),
    ("redo-p99", "redo_sync_p99_us"),
];

/// A latency that must not be passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What people call it.
    pub name: &'static str,
    /// The column of `slob info` that it is about, in microseconds.
    pub column: &'static str,
    /// The most it may be, in microseconds.
    pub us: f64,
}

/// A text that is no limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a limit; use WHAT=TIME such as p99=2ms or mean=500us, with WHAT one of {names}", names = names())]
pub struct BadLimit(String);

fn names() -> String {
    METRICS.map(|(name, _)| name).join(", ")
}

impl FromStr for Limit {
    type Err = BadLimit;

    fn from_str(text: &str) -> Result<Self, BadLimit> {
        let parse = || {
            let (what, time) = text.split_once('=')?;
            let (name, column) = METRICS.into_iter().find(|(name, _)| *name == what.trim())?;
            Some(Self { name, column, us: microseconds(time.trim())? })
        };
        parse().ok_or_else(|| BadLimit(text.to_owned()))
    }
}

fn microseconds(text: &str) -> Option<f64> {
    let split = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    let us = number.trim().parse::<f64>().ok()? * factor;
    (us.is_finite() && us > 0.0).then_some(us)
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.us {
            us if us >= 1e6 => write!(f, "{}={}s", self.name, us / 1e6),
            us if us >= 1e3 => write!(f, "{}={}ms", self.name, us / 1e3),
            us => write!(f, "{}={us}us", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_shown() {
        for (text, column, us) in [
            ("p99=2ms", "operation_p99_us", 2000.0),
            ("mean=500us", "operation_mean_us", 500.0),
            ("read-p99=1.5ms", "physical_read_p99_us", 1500.0),
            ("response-p99=20ms", "response_p99_us", 20e3),
            ("p99.9=1s", "operation_p999_us", 1e6),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!((limit.column, limit.us), (column, us));
            assert_eq!(limit.to_string(), text);
        }
        for bad in ["p99", "p99=2", "p98=2ms", "p99=-2ms", "p99=0ms", "p99=xms", "=2ms"] {
            let error = bad.parse::<Limit>().unwrap_err().to_string();
            assert!(error.contains(bad) && error.contains("p99=2ms"), "{error}");
        }
    }
}
