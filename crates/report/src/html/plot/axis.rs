//! Axes.

use serde_json::{Value, json};

use super::number;

/// What an axis counts: decides how its ticks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds, written with the prefix that fits: 150 µs, 2 ms.
    Seconds,
    /// Anything counted: 12,000.
    Count,
    /// Percent, from 0 to 100.
    Percent,
    /// A plain number.
    Plain,
}

impl Unit {
    /// Format of a tick, in d3's language, and what follows it.
    fn ticks(self) -> (&'static str, &'static str) {
        match self {
            Self::Seconds => ("~s", "s"),
            Self::Count => (",~r", ""),
            Self::Percent => ("~g", " %"),
            Self::Plain => ("", ""),
        }
    }

    /// How a value of a trace is shown under the pointer, for the coordinate named.
    pub(super) fn hover(self, coordinate: &str) -> String {
        match self {
            Self::Seconds => format!("%{{{coordinate}:.3s}}s"),
            Self::Count => format!("%{{{coordinate}:,.0f}}"),
            Self::Percent => format!("%{{{coordinate}:.1f}} %"),
            Self::Plain => format!("%{{{coordinate}:.4~g}}"),
        }
    }
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What is on it.
    pub(crate) title: String,
    /// In which unit.
    pub(crate) unit: Unit,
    /// Whether it is logarithmic.
    pub(crate) log: bool,
    /// Its ends, if they do not follow from the data.
    pub(crate) range: Option<(f64, f64)>,
    /// Names of places on it, if the numbers themselves are not to be shown.
    pub(crate) names: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis that begins at zero, where nothing is below that.
    pub(crate) fn linear(title: impl Into<String>, unit: Unit) -> Self {
        Self { title: title.into(), unit, log: false, range: None, names: Vec::new() }
    }

    /// A logarithmic axis.
    pub(crate) fn log(title: impl Into<String>, unit: Unit) -> Self {
        Self { log: true, ..Self::linear(title, unit) }
    }

    /// The same from one end to the other.
    pub(crate) fn ranging(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    pub(super) fn to_json(&self) -> Value {
        let (format, suffix) = self.unit.ticks();
        let end = |value: f64| number::of(if self.log { value.log10() } else { value });
        let mut axis = json!({
            "title": { "text": super::escape::label(&self.title) },
            "type": if self.log { "log" } else { "linear" },
            "tickformat": format,
            "ticksuffix": suffix,
        });
        if let Some((low, high)) = self.range {
            axis["range"] = json!([end(low), end(high)]);
        }
        if !self.names.is_empty() {
            axis["tickvals"] = self.names.iter().map(|(at, _)| number::of(*at)).collect();
            axis["ticktext"] = self
                .names
                .iter()
                .map(|(_, name)| Value::from(super::escape::label(name).replace('\n', "<br>")))
                .collect();
        }
        axis
    }
}
