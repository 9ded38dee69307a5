//! The figures of a run, each defined once: what it is called, in which unit, which way is better, where it comes from,
//! and how it follows from a record.
//!
//! Views iterate over them or refer to them, as `figure::PHYSICAL_READS_PER_S.of(figures)`; a name is looked up only where
//! a person typed it. Every figure is of the measured window but those of the workload, which were set; one that can't be
//! known is `None`. Names carry the unit; `mb` is 10^6 bytes.

/// Defines figures and the list of them: name, title, unit, which way is better, source, and how it is got.
macro_rules! figures {
    ($list:ident: $($(#[$doc:meta])* $figure:ident =
        $name:literal, $title:literal, $unit:literal, $better:ident, $source:expr, $get:expr;)*) => {
        $(
            #[doc = concat!($title, ", `", $name, "`.")]
            $(#[$doc])*
            pub const $figure: $crate::figure::Figure = $crate::figure::Figure {
                name: $name,
                title: $title,
                unit: $unit,
                better: $crate::figure::Better::$better,
                source: $source,
                get: $get,
            };
        )*
        pub(super) const $list: &[$crate::figure::Figure] = &[$($figure),*];
    };
}

mod awr_info;
mod cpu;
mod device;
mod latency;
mod load;
mod measured;
mod probe;
mod workload;

use serde::Serialize;
use slob_measure::LatencyKind;
use slob_record::Record;
use slob_stats::Histogram;

pub use self::awr_info::*;
pub use self::cpu::*;
pub use self::device::*;
pub use self::latency::*;
pub use self::load::*;
pub use self::probe::*;
pub use self::workload::*;

use self::measured::Measured;
use crate::latencies::{is_coarse, latency_percentile_us, percentile_us};

/// Where figures are listed, in the order in which they are shown.
const GROUPS: [&[Figure]; 7] = [WORKLOAD, LOAD, LATENCY, AWR_INFO, CPU, DEVICE, PROBED];

/// Every figure there is.
pub fn all() -> impl Iterator<Item = &'static Figure> {
    GROUPS.into_iter().flatten()
}

/// A figure by its name, as a person typed it.
#[must_use]
pub fn named(name: &str) -> Option<&'static Figure> {
    all().find(|figure| figure.name == name)
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better, as of rates.
    Higher,
    /// Less is better, as of latencies.
    Lower,
    /// It depends.
    Neither,
}

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name, which carries the unit; stable, for machines too.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Its unit in words; empty for what has none.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// What it is and where it comes from.
    pub source: &'static str,
    get: Get,
}

/// How a figure follows from a run.
#[derive(Clone, Copy, Debug)]
enum Get {
    /// A whole number that was set.
    Set(fn(&Record) -> Option<u64>),
    /// A length of time that was set, in seconds.
    SetTime(fn(&Record) -> f64),
    /// A whole number that was measured.
    Count(fn(&Measured<'_>) -> Option<u64>),
    /// What was measured.
    Number(fn(&Measured<'_>) -> Option<f64>),
    /// A percentile in microseconds; 100 is the largest value, exactly.
    Percentile(Latencies, f64),
}

/// What took time.
#[derive(Clone, Copy, Debug)]
enum Latencies {
    /// The operations themselves.
    Operations,
    /// In an open loop, operations from the moment at which they were due.
    Responses,
    /// What the database timed.
    Database(LatencyKind),
}

/// A figure's value for a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number, exact.
    Count(u64),
    /// A measured figure.
    Measured(f64),
}

impl Figure {
    /// Its value; `None` if it is not known. What is not finite is not known either.
    #[must_use]
    pub fn number(&self, figures: &Figures<'_>) -> Option<Number> {
        let run = || figures.measured.as_ref();
        let number = match self.get {
            Get::Set(get) => return get(figures.record).map(Number::Count),
            Get::Count(get) => return get(run()?).map(Number::Count),
            Get::SetTime(get) => get(figures.record),
            Get::Number(get) => get(run()?)?,
            Get::Percentile(of, percent) => run()?.percentile_us(of, percent)?,
        };
        number.is_finite().then_some(Number::Measured(number))
    }

    /// The same where it does not matter whether it is whole.
    #[must_use]
    pub fn of(&self, figures: &Figures<'_>) -> Option<f64> {
        self.number(figures).map(|number| match number {
            Number::Count(count) => count as f64,
            Number::Measured(number) => number,
        })
    }

    /// Whether it was measured; else it was set.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !matches!(self.get, Get::Set(_) | Get::SetTime(_))
    }

    /// Whether it is as exact as the buckets of a histogram are wide, and no more.
    #[must_use]
    pub fn is_percentile(&self) -> bool {
        matches!(self.get, Get::Percentile(_, percent) if percent < 100.0)
    }

    /// Whether it is an upper bound: of the bucket that the database sorts a latency into, the value is more than half of it.
    #[must_use]
    pub fn is_bound(&self, figures: &Figures<'_>) -> bool {
        matches!(self.get, Get::Percentile(Latencies::Database(kind), _) if is_coarse(figures.record, kind))
    }
}

/// A run, of which figures are got.
#[derive(Debug)]
pub struct Figures<'a> {
    /// Its record.
    pub record: &'a Record,
    measured: Option<Measured<'a>>,
}

impl<'a> Figures<'a> {
    /// The figures of a record; what would have been measured is not known if it has no window.
    #[must_use]
    pub fn of(record: &'a Record) -> Self {
        Self { record, measured: Measured::of(record) }
    }

    /// Whether there was a window in which something was measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// Whether the run had more reads than the probe's best step, by more than they may differ by chance: then the probe
    /// did not find the ceiling, and no share of it is known.
    pub(crate) fn is_above_probe(&self) -> bool {
        self.measured.as_ref().is_some_and(probe::is_above)
    }
}

impl Measured<'_> {
    fn percentile_us(&self, of: Latencies, percent: f64) -> Option<f64> {
        let at = |histogram: &Histogram| percentile_us(histogram, percent);
        match of {
            Latencies::Operations => at(self.operations()),
            Latencies::Responses => at(self.responses()),
            Latencies::Database(kind) => latency_percentile_us(self.record, kind, percent),
        }
    }
}

#[cfg(test)]
mod tests;
