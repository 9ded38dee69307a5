//! Metrics in Prometheus' text exposition format, version 0.0.4.

use std::fmt::{Display, Write};

use slob_stats::Histogram;

/// Upper bounds of buckets, in microseconds: 1, 2 and 5 of each power of ten from 10 us to 100 s.
pub(super) const BOUNDS_US: [u64; 22] = [
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];

/// A metric's type, as its TYPE line says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It goes up and down.
    Gauge,
    /// It only grows.
    Counter,
    /// Counts by upper bound, with their sum.
    Histogram,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }
}

/// Names and values of labels.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A text that grows by metrics.
#[derive(Debug, Default)]
pub struct Metrics {
    text: String,
}

impl Metrics {
    /// Begins a metric: all its samples follow.
    pub fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a String can't fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.word());
    }

    /// A metric of one sample, if it is known.
    pub fn one(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        labels: Labels<'_>,
        value: Option<impl Display>,
    ) {
        if let Some(value) = value {
            self.begin(name, kind, help);
            self.sample(name, labels, value);
        }
    }

    /// A sample of the metric that was begun last.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let pairs: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    /// Durations in nanoseconds as the samples of a histogram in seconds.
    pub fn histogram(&mut self, name: &str, labels: Labels<'_>, values: &Histogram) {
        let bucket = format!("{name}_bucket");
        for us in BOUNDS_US {
            let bound = (us as f64 / 1e6).to_string();
            self.sample(
                &bucket,
                &[labels, &[("le", bound.as_str())]].concat(),
                values.count_in(0, us * 1_000),
            );
        }
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), values.count());
        self.sample(&format!("{name}_sum"), labels, values.sum() as f64 / 1e9);
        self.sample(&format!("{name}_count"), labels, values.count());
    }

    /// All of it.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A name that the format allows, of a name that may hold anything.
#[must_use]
pub fn name_of(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}
