//! ABORT_ON: a run ends early where a figure is out of bounds second after second, as `read-p99 > 50ms for 30s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use slob_facts::bound::shown;
use slob_facts::figure::{self, Figure, Figures};
use slob_facts::{BadBound, Bound};
use slob_record::{Interval, RateStepRecord, Record};
use slob_spec::Kind;

use crate::options::parse_time;
use crate::runs::record_of;

/// Figures of one second: rates, and durations of what ended in it.
const SAMPLED: [Figure; 29] = [
    figure::OPERATIONS_PER_S,
    figure::SELECTS_PER_S,
    figure::UPDATES_PER_S,
    figure::SCANS_PER_S,
    figure::ROWS_PER_S,
    figure::LOGICAL_READS_PER_S,
    figure::PHYSICAL_READS_PER_S,
    figure::PHYSICAL_READ_REQUESTS_PER_S,
    figure::PHYSICAL_WRITES_PER_S,
    figure::REDO_MB_PER_S,
    figure::OPERATION_MEAN_US,
    figure::OPERATION_P50_US,
    figure::OPERATION_P90_US,
    figure::OPERATION_P95_US,
    figure::OPERATION_P99_US,
    figure::OPERATION_P999_US,
    figure::OPERATION_MAX_US,
    figure::RESPONSE_MEAN_US,
    figure::RESPONSE_P50_US,
    figure::RESPONSE_P90_US,
    figure::RESPONSE_P95_US,
    figure::RESPONSE_P99_US,
    figure::RESPONSE_P999_US,
    figure::RESPONSE_MAX_US,
    figure::PHYSICAL_READ_MEAN_US,
    figure::PHYSICAL_READ_P50_US,
    figure::PHYSICAL_READ_P99_US,
    figure::REDO_SYNC_MEAN_US,
    figure::REDO_SYNC_P99_US,
];

const LENGTH: Kind = Kind::Duration { min_s: 1, max_s: 86_400 };

#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The run ends where it holds.
    bound: Bound,
    length: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    #[error("ABORT_ON: '{0}' does not say for how long; use one such as 'read-p99 > 50ms for 30s'")]
    Form(String),
    #[error("ABORT_ON: '{text}' is no time; it must be {permitted}")]
    Time { text: String, permitted: String },
    #[error("ABORT_ON: {0}")]
    Bound(#[from] BadBound),
    #[error("ABORT_ON: {name} is not known second by second; these figures are: {}",
        SAMPLED.map(|figure| figure.name).join(", "))]
    NotSampled { name: &'static str },
}

impl FromStr for Rule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, BadRule> {
        let (bound, length) = text.rsplit_once(" for ").ok_or_else(|| BadRule::Form(text.to_owned()))?;
        let bound: Bound = bound.parse()?;
        let name = bound.asked.figure.name;
        if !SAMPLED.iter().any(|figure| figure.name == name) {
            return Err(BadRule::NotSampled { name });
        }
        let bad = || BadRule::Time { text: length.to_owned(), permitted: LENGTH.permitted() };
        Ok(Self { bound, length: parse_time(LENGTH, length.trim()).ok_or_else(bad)? })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {} s", self.bound, self.length.as_secs_f64())
    }
}

/// Watches a run by samples, each of the stretch since the one before it.
#[derive(Clone, Debug, Default)]
pub struct AbortWatch {
    rules: Vec<Watched>,
}

#[derive(Clone, Debug)]
struct Watched {
    rule: Rule,
    /// Seconds for which it has held.
    held_s: f64,
    is_known: bool,
}

impl FromStr for AbortWatch {
    type Err = BadRule;

    /// Semicolons separate rules, as in GATE.
    fn from_str(text: &str) -> Result<Self, BadRule> {
        let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
        let watched = |rule: &str| Ok(Watched { rule: rule.parse()?, held_s: 0.0, is_known: false });
        Ok(Self { rules: rules.map(watched).collect::<Result<_, BadRule>>()? })
    }
}

impl AbortWatch {
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns why the run is to end. The sample's counters are in `stretch`, its operations in `interval`; `run` says what ran.
    pub fn add(&mut self, run: &Record, stretch: &RateStepRecord, interval: Interval) -> Option<String> {
        let record = record_of(run, stretch, interval);
        let figures = Figures::of(&record);
        self.add_figures(stretch.seconds, |figure| figure.of(&figures))
    }

    /// A second in which nothing ended has no durations: it neither counts nor ends the time that a rule has held.
    fn add_figures(&mut self, seconds: f64, value: impl Fn(&Figure) -> Option<f64>) -> Option<String> {
        let mut why = None;
        for Watched { rule, held_s, is_known } in &mut self.rules {
            let figure = rule.bound.asked.figure;
            let Some(value) = value(figure) else { continue };
            *is_known = true;
            *held_s = if rule.bound.holds(value) { *held_s + seconds } else { 0.0 };
            // Samples are a few milliseconds early or late.
            if held_s.round() >= rule.length.as_secs_f64() {
                why.get_or_insert_with(|| format!("{rule}, {} at last", shown(figure, value)));
            }
        }
        why
    }

    /// A rule whose figure the database never gave watched nothing.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let unknown = self.rules.iter().filter(|watched| !watched.is_known);
        unknown.map(|Watched { rule, .. }| {
            format!("ABORT_ON watched nothing by '{rule}': no second of the run knows that figure.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn watch(text: &str) -> AbortWatch {
        text.parse().unwrap()
    }

    /// The sample at which it ends the run, from 1.
    fn ends_at(watch: &mut AbortWatch, samples: &[Option<f64>]) -> Option<usize> {
        samples.iter().position(|value| watch.add_figures(1.003, |_| *value).is_some()).map(|at| at + 1)
    }

    #[test]
    fn a_run_ends_when_a_bound_was_broken_for_its_whole_time_without_a_pause() {
        let samples = |values: &[f64]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
        let rule = "operation-p99 > 50ms for 3s";
        let slow = 60_000.0;
        assert_eq!(ends_at(&mut watch(rule), &samples(&[slow, slow, slow, slow])), Some(3));
        assert_eq!(ends_at(&mut watch(rule), &samples(&[slow, slow, 50_000.0, slow, slow])), None);
        assert_eq!(ends_at(&mut watch(rule), &samples(&[1.0, slow, slow, 1.0, slow, slow, slow])), Some(7));
    }

    #[test]
    fn a_second_without_the_figure_neither_counts_nor_ends_the_time() {
        let slow = Some(60_000.0);
        let rule = "operation-p99 > 50ms for 3s";
        assert_eq!(ends_at(&mut watch(rule), &[slow, None, slow, None, None, slow]), Some(6));
        let mut silent = watch(rule);
        assert_eq!(ends_at(&mut silent, &[None; 10]), None);
        assert!(silent.notes().next().unwrap().contains("operation_p99_us > 50.0 ms for 3 s"));
        assert_eq!(ends_at(&mut silent, &[slow]), None);
        assert_eq!(silent.notes().next(), None);
    }

    #[test]
    fn each_of_several_rules_ends_the_run_and_says_why() {
        let mut both = watch("operations_per_s < 100 for 10s; read-p99 > 2ms for 1s;");
        let value =
            |reads: f64| move |of: &Figure| Some(if of.name == "operations_per_s" { 500.0 } else { reads });
        assert_eq!(both.add_figures(1.0, value(1000.0)), None);
        let why = both.add_figures(1.0, value(3000.0)).unwrap();
        assert_eq!(why, "physical_read_p99_us > 2.00 ms for 1 s, 3.00 ms at last");
        assert!(watch("").is_empty());
    }

    #[rstest]
    #[case("read-p99 > 50ms", "does not say for how long")]
    #[case("read-p99 > 50 for 3s", "has no unit")]
    #[case("fast > 3 for 3s", "there is no figure 'fast'")]
    #[case("read-p99 > 50ms for ever", "'ever' is no time")]
    #[case("read-p99 > 50ms for 0", "'0' is no time")]
    #[case(
        "percent_of_ceiling < 50 for 3s",
        "percent_of_ceiling is not known second by second; these figures are: operations_per_s"
    )]
    fn what_is_no_rule_is_refused(#[case] text: &str, #[case] words: &str) {
        let error = text.parse::<AbortWatch>().unwrap_err().to_string();
        assert!(error.starts_with("ABORT_ON: ") && error.contains(words), "{error}");
    }

    #[test]
    fn a_sample_has_the_figures_of_its_own_stretch() {
        let mut run = slob_testing::records::direct_read_run();
        let point = run.series.points().find_map(|point| point.value.filter(|value| value.ops.total() > 0));
        let interval = point.unwrap().clone();
        let stretch = RateStepRecord {
            from_s: 0.0,
            begin_s: 10.0,
            seconds: 2.0,
            counters: std::mem::take(&mut run.counters),
            server_counters: std::mem::take(&mut run.server_counters),
            latencies: std::mem::take(&mut run.latencies),
            events: Vec::new(),
        };
        let reads = stretch.counters.get(slob_measure::Counter::PhysicalReads).unwrap() as f64 / 2.0;
        let rate = interval.ops.total() as f64 / 2.0;
        for (text, ends) in [
            (format!("operations_per_s > {} for 2s", rate * 1.01), false),
            (format!("operations_per_s > {} for 2s", rate * 0.99), true),
            (format!("iops < {} for 2s", reads * 0.99), false),
            (format!("iops < {} for 2s", reads * 1.01), true),
            ("p99 > 1us for 2s".to_owned(), true),
            ("read-p99 > 1us for 2s".to_owned(), true),
            ("read-p99 > 1us for 3s".to_owned(), false),
        ] {
            let why = watch(&text).add(&run, &stretch, interval.clone());
            assert_eq!(why.is_some(), ends, "{text}: {why:?}");
        }
    }
}
