//! Prometheus' text exposition format.

use std::fmt::{Display, Write};
use std::num::NonZeroU64;

use slob_stats::Histogram;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Kind {
    Gauge,
    Counter,
    Histogram,
}

pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

/// 1, 2 and 5 of each power of ten from 10 us to 100 s.
fn bounds_us() -> impl Iterator<Item = u64> {
    let bounds = (1..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    bounds.take_while(|us| *us <= 100_000_000)
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    text: String,
}

impl Metrics {
    pub(crate) fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a String can't fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(crate) fn one(
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

    pub(crate) fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let pairs: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    /// Nanoseconds become seconds. The first bucket holds all below the step of the clock.
    pub(crate) fn histogram(&mut self, name: &str, labels: Labels<'_>, values: &Histogram) {
        let step_ns = values.clock_step().map_or(0, NonZeroU64::get);
        let finite = bounds_us()
            .filter(|us| us * 1_000 >= step_ns)
            .map(|us| ((us as f64 / 1e6).to_string(), values.count_in(0, us * 1_000)));
        for (bound, count) in finite.chain([("+Inf".to_owned(), values.count())]) {
            self.sample(&format!("{name}_bucket"), &[labels, &[("le", &bound)]].concat(), count);
        }
        self.sample(&format!("{name}_sum"), labels, values.sum() as f64 / 1e9);
        self.sample(&format!("{name}_count"), labels, values.count());
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::OpKind;
    use slob_testing::records;

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let mut metrics = Metrics::default();
        let record = records::update_run();
        metrics.histogram("slob_durations", &[], &record.operations[&OpKind::Update].latency);
        let text = metrics.into_text();
        let counts: Vec<u64> = text
            .lines()
            .filter(|line| line.starts_with("slob_durations_bucket"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(
            (bounds_us().count(), bounds_us().next(), bounds_us().last()),
            (22, Some(10), Some(100_000_000))
        );
        assert_eq!(counts.len(), bounds_us().count() + 1);
        assert!(counts.is_sorted());
        assert_eq!(counts.last(), Some(&7_200));
    }

    #[test]
    fn unknown_values_are_left_out_and_labels_do_not_break_a_line() {
        let mut metrics = Metrics::default();
        metrics.one("unknown", Kind::Gauge, "Not known.", &[], None::<u64>);
        metrics.one("known", Kind::Gauge, "Known.", &[("target", "a\"b\\c\nd")], Some(1));
        let text = metrics.into_text();
        assert!(!text.contains("unknown") && text.contains(r#"known{target="a\"b\\c\nd"} 1"#), "{text}");
    }

    #[test]
    fn no_bucket_is_finer_than_the_clock() {
        let mut durations = Histogram::new();
        durations.record_n(0, 17_000);
        durations.record_n(1_000_000, 1_000);
        durations.set_clock_step(NonZeroU64::new(1_000_000));
        let mut metrics = Metrics::default();
        metrics.histogram("slob_durations", &[], &durations);
        let metrics = metrics.into_text();
        let buckets: Vec<&str> = metrics.lines().filter(|line| line.contains("_bucket")).collect();
        assert!(buckets[0].contains("le=\"0.001\"") && buckets[0].ends_with(" 17000"), "{buckets:#?}");
    }
}
