//! A gate: what must hold of runs, so that a script can decide.
//!
//! A requirement passes, fails, or is not known: because a run does not know the figure, because a verdict that the figure rests
//! on is BAD, or because the noise of the runs reaches over the threshold. Then the number of runs that would tell is given.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::Serialize;
use slob_record::Record;
use slob_stats::summary::{mean, mean_interval, runs_to_tell};
use slob_stats::{Comparison, PercentInterval};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use crate::Confidence;
use crate::diff::compared;
use crate::info::did_you_mean;
use slob_facts::figure::{self, Better};
use slob_facts::format::{Format, fixed, percent, plural, significant};
use slob_facts::table::{Cell, Column, Table};
use slob_facts::verdicts::refusal;
use slob_facts::{Answer, Figure, GroupVerdicts, Question, Run};

/// Side of a threshold on which a figure must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr)]
enum Bound {
    #[strum(serialize = "<=")]
    AtMost,
    #[strum(serialize = ">=")]
    AtLeast,
    #[strum(serialize = "<")]
    Below,
    #[strum(serialize = ">")]
    Above,
}

impl Bound {
    fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::AtMost => value <= threshold,
            Self::AtLeast => value >= threshold,
            Self::Below => value < threshold,
            Self::Above => value > threshold,
        }
    }
}

/// A requirement on runs: `read-p99 < 2ms`, `physical`, or `steady = doubt` where that is good enough.
#[derive(Clone, Debug)]
pub enum Requirement {
    #[expect(private_interfaces, reason = "requirements are made from text")]
    Figure {
        figure: &'static Figure,
        bound: Bound,
        threshold: f64,
    },
    Verdict {
        question: Question,
        worst: Answer,
    },
}

/// How much worse than the baseline a figure may be: `iops 3 %`.
#[derive(Clone, Debug)]
pub struct MaxLoss {
    figure: &'static Figure,
    percent: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequirement {
    #[error("'{0}' is no requirement; use one such as 'read-p99 < 2ms', 'physical' or 'steady = doubt'")]
    Form(String),
    #[error("'{0}' is no loss; use one such as 'iops 3 %'")]
    Loss(String),
    #[error("there is no figure '{name}'{near}: `slob info --columns help` lists them", near = did_you_mean(name))]
    Name { name: String },
    #[error("'{amount}' is no amount of {figure}; its unit is {unit}")]
    Amount { amount: String, figure: &'static str, unit: &'static str },
    #[error("{0} has no better direction, so that nothing can be lost; require a bound for it")]
    Neither(&'static str),
}

/// A figure by its name, or its short name in tables; hyphens and spaces stand for underscores.
pub fn figure_named(name: &str) -> Result<&'static Figure, BadRequirement> {
    let plain = |name: &str| name.trim().to_lowercase().replace(['-', ' '], "_");
    let wanted = plain(name);
    let by_short = || figure::ALL.iter().find(|figure| plain(figure.short) == wanted);
    figure::named(&wanted).or_else(by_short).ok_or(BadRequirement::Name { name: wanted.clone() })
}

/// A number in the unit of a figure. Durations have a unit of their own.
fn amount(figure: &'static Figure, text: &str) -> Result<f64, BadRequirement> {
    let bad = || BadRequirement::Amount { amount: text.to_owned(), figure: figure.name, unit: figure.unit };
    if figure.unit == "us" {
        return slob_awr::duration_us(text, Some(1.0)).map(|duration| duration.value).ok_or_else(bad);
    }
    let end = text.find(|char: char| !matches!(char, '0'..='9' | '.' | '-' | '+')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let is_its = unit.trim().is_empty() || unit.trim().eq_ignore_ascii_case(figure.unit);
    let number = number.parse().ok().filter(|number: &f64| is_its && number.is_finite());
    number.ok_or_else(bad)
}

fn question_named(name: &str) -> Option<Question> {
    let plain = |name: &str| name.trim_end_matches('?').to_lowercase().replace(['_', ' '], "-");
    Question::ALL.into_iter().find(|question| plain(question.title()) == plain(name.trim()))
}

impl FromStr for Requirement {
    type Err = BadRequirement;

    fn from_str(text: &str) -> Result<Self, BadRequirement> {
        let form = || BadRequirement::Form(text.to_owned());
        for bound in Bound::iter() {
            if let Some((name, threshold)) = text.split_once(<&str>::from(bound)) {
                let figure = figure_named(name)?;
                return Ok(Self::Figure { figure, bound, threshold: amount(figure, threshold.trim())? });
            }
        }
        let (name, worst) = match text.split_once('=') {
            None => (text, Answer::Good),
            Some((name, worst)) => match worst.trim().to_lowercase().as_str() {
                "good" => (name, Answer::Good),
                "doubt" => (name, Answer::Doubt),
                _ => return Err(form()),
            },
        };
        Ok(Self::Verdict { question: question_named(name).ok_or_else(form)?, worst })
    }
}

impl FromStr for MaxLoss {
    type Err = BadRequirement;

    fn from_str(text: &str) -> Result<Self, BadRequirement> {
        let bad = || BadRequirement::Loss(text.to_owned());
        let (name, percent) = text.trim().trim_end_matches('%').trim().rsplit_once(' ').ok_or_else(bad)?;
        let percent: f64 = percent.parse().map_err(|_| bad())?;
        let figure = figure_named(name)?;
        match figure.better {
            Better::Neither => Err(BadRequirement::Neither(figure.name)),
            _ if !(0.0..100.0).contains(&percent) => Err(bad()),
            _ => Ok(Self { figure, percent }),
        }
    }
}

/// A value of a figure with its unit.
fn shown(figure: &Figure, value: f64) -> String {
    match figure.unit {
        "us" => Cell::Number(value, Format::Duration).show(),
        "" => significant(value),
        unit => format!("{} {unit}", significant(value)),
    }
}

/// A value beside a threshold, with as many digits as tell them apart.
fn shown_beside(figure: &Figure, value: f64, threshold: f64) -> String {
    const MOST_DECIMALS: usize = 12;
    let words = shown(figure, value);
    if value == threshold || words != shown(figure, threshold) {
        return words;
    }
    let longer =
        |decimals| Some(fixed(value, decimals)).filter(|number| *number != fixed(threshold, decimals));
    match (1..=MOST_DECIMALS).find_map(longer) {
        Some(number) => format!("{number} {}", figure.unit).trim_end().to_owned(),
        None => words,
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure { figure, bound, threshold } => {
                write!(f, "{} {} {}", figure.name, <&str>::from(bound), shown(figure, *threshold))
            }
            Self::Verdict { question, worst: Answer::Good } => f.write_str(question.title()),
            Self::Verdict { question, worst } => write!(f, "{} {} or better", question.title(), worst.word()),
        }
    }
}

impl fmt::Display for MaxLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at most {} % worse", self.figure.name, percent(self.percent))
    }
}

/// From the best to the worst for a script: what is not known must not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "title_case")]
pub enum Outcome {
    Passed,
    NotKnown,
    Failed,
}

/// A requirement with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    pub requirement: String,
    pub outcome: Outcome,
    /// The mean of the runs, or the difference in percent from the baseline.
    pub found: Option<f64>,
    pub reason: String,
}

impl Check {
    fn new(requirement: &dyn fmt::Display, (outcome, found, reason): (Outcome, Option<f64>, String)) -> Self {
        Self { requirement: requirement.to_string(), outcome, found, reason }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    pub outcome: Outcome,
    pub runs: Vec<String>,
    pub baseline: Vec<String>,
    pub confidence: Confidence,
    pub checks: Vec<Check>,
}

/// Requirements with semicolons between, as in GATE.
pub fn requirements(text: &str) -> Result<Vec<Requirement>, BadRequirement> {
    text.split(';').map(str::trim).filter(|text| !text.is_empty()).map(str::parse).collect()
}

/// The text of GATE in the configuration of a run; empty without one.
pub fn required_of(record: &Record) -> &str {
    let entry = record.configuration.iter().find(|entry| entry.key == "GATE");
    entry.map_or("", |entry| &entry.value)
}

/// Runs with their verdicts.
struct Side<'a> {
    name: &'static str,
    runs: Vec<Run<'a>>,
    verdicts: GroupVerdicts,
}

type Found = (Outcome, Option<f64>, String);

fn not_known(reason: impl Into<String>) -> Found {
    (Outcome::NotKnown, None, reason.into())
}

impl<'a> Side<'a> {
    fn of(name: &'static str, records: &'a [Record]) -> Self {
        let runs: Vec<Run<'a>> = records.iter().map(Run::of).collect();
        let verdicts = GroupVerdicts::of(runs.iter().map(Run::judged));
        Self { name, runs, verdicts }
    }

    /// Values of all runs. Fails with the reason why they are not to be judged by.
    fn values(&self, figure: &Figure) -> Result<Vec<f64>, String> {
        if let Some(refusal) = refusal(&[(self.name, &self.verdicts)], figure.rests_on) {
            return Err(refusal);
        }
        let value = |run: &Run<'_>| {
            figure.of(run).ok_or_else(|| format!("{} does not know {}", run.record.id, figure.name))
        };
        self.runs.iter().map(value).collect()
    }

    fn names(&self) -> Vec<String> {
        self.runs.iter().map(|run| run.record.id.clone()).collect()
    }
}

impl Gate {
    /// Judges runs. Losses are against the baseline.
    pub fn of(
        requirements: &[Requirement],
        losses: &[MaxLoss],
        runs: &[Record],
        baseline: &[Record],
        confidence: Confidence,
    ) -> Self {
        let (side, baseline) = (Side::of("the runs", runs), Side::of("the baseline", baseline));
        let required = requirements.iter().map(|one| Check::new(one, one.found(&side, confidence)));
        let lost = losses.iter().map(|one| Check::new(one, one.found(&baseline, &side, confidence)));
        let checks: Vec<Check> = required.chain(lost).collect();
        let outcome = checks.iter().map(|check| check.outcome).max().unwrap_or(Outcome::NotKnown);
        Self { outcome, runs: side.names(), baseline: baseline.names(), confidence, checks }
    }

    pub fn table(&self) -> Table {
        let heads = ["Result", "Requirement", "Found"].map(Column::left);
        let row = |check: &Check| {
            let result = <&str>::from(check.outcome).to_uppercase();
            [result.into(), check.requirement.as_str().into(), check.reason.as_str().into()]
        };
        Table::new(heads).with_rows(self.checks.iter().map(row).map(|row: [Cell; 3]| row.to_vec()))
    }

    /// JUnit's XML: a requirement that is not known is an error.
    pub fn junit(&self) -> String {
        let count = |outcome| self.checks.iter().filter(|check| check.outcome == outcome).count();
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuite name=\"slob gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
            self.checks.len(),
            count(Outcome::Failed),
            count(Outcome::NotKnown)
        );
        for check in &self.checks {
            let [name, reason] = [&check.requirement, &check.reason].map(|text| xml_text(text));
            let _ = write!(xml, "  <testcase classname=\"slob.gate\" name=\"{name}\">");
            let _ = match check.outcome {
                Outcome::Passed => write!(xml, "<system-out>{reason}</system-out>"),
                Outcome::Failed => write!(xml, "<failure message=\"{reason}\"/>"),
                Outcome::NotKnown => write!(xml, "<error message=\"{reason}\"/>"),
            };
            xml.push_str("</testcase>\n");
        }
        xml + "</testsuite>\n"
    }
}

/// Text for an element or a quoted attribute; XML has no other control characters than these.
fn xml_text(raw: &str) -> String {
    let permitted: String =
        raw.chars().filter(|char| !char.is_control() || matches!(char, '\t' | '\n')).collect();
    maud::html! { (permitted) }.into_string()
}

impl Requirement {
    fn found(&self, side: &Side<'_>, confidence: Confidence) -> Found {
        match *self {
            Self::Figure { figure, bound, threshold } => match side.values(figure) {
                Ok(values) => within(figure, &values, bound, threshold, confidence),
                Err(reason) => not_known(reason),
            },
            Self::Verdict { question, worst } => {
                let Some(found) = side.verdicts.worst(question) else {
                    return not_known("nothing judged these runs");
                };
                let outcome = match found.answer {
                    Answer::Unknown => Outcome::NotKnown,
                    answer if answer <= worst => Outcome::Passed,
                    _ => Outcome::Failed,
                };
                (outcome, None, found.words(side.name))
            }
        }
    }
}

fn within(figure: &Figure, values: &[f64], bound: Bound, threshold: f64, confidence: Confidence) -> Found {
    let Some(mean) = mean(values) else { return not_known("there are no runs") };
    let holds = |value| bound.holds(value, threshold);
    let outcome = |holds| if holds { Outcome::Passed } else { Outcome::Failed };
    let found = shown_beside(figure, mean, threshold);
    let Some((low, high)) = mean_interval(values, confidence.ratio()) else {
        return (outcome(holds(mean)), Some(mean), format!("{found} in a single run, which shows no noise"));
    };
    let n = values.len();
    let words = format!("{found} ({} to {}) in {n} runs", shown(figure, low.max(0.0)), shown(figure, high));
    if holds(low) == holds(high) {
        return (outcome(holds(mean)), Some(mean), words);
    }
    let needed = runs_to_tell(n, 0.5 * (high - low), (mean - threshold).abs(), confidence.ratio());
    (Outcome::NotKnown, Some(mean), format!("{words}: noise reaches over the threshold; {}", advice(needed)))
}

fn advice(needed: Option<usize>) -> String {
    match needed {
        Some(runs) => format!("about {} would tell", plural(runs as u64, "run")),
        None => "no number of runs would tell, it lies at the threshold".into(),
    }
}

impl MaxLoss {
    fn found(&self, baseline: &Side<'_>, side: &Side<'_>, confidence: Confidence) -> Found {
        let (first, second) = match (baseline.values(self.figure), side.values(self.figure)) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(reason), _) | (_, Err(reason)) => return not_known(reason),
        };
        let Some(Comparison { percent: change, interval, .. }) =
            compared(self.figure, &first, &second, confidence)
        else {
            return not_known(format!("{} is 0 or less in a run, or there is no baseline", self.figure.name));
        };
        let words = format!("{} % against the baseline", slob_facts::format::signed_percent(change));
        let Some(interval) = interval else {
            let words = format!("{words}: two or more runs of each are needed to tell it from noise");
            return (Outcome::NotKnown, Some(change), words);
        };
        let PercentInterval { low, high, .. } = interval;
        let words = format!(
            "{words} ({} to {})",
            slob_facts::format::signed_percent(low),
            slob_facts::format::signed_percent(high)
        );
        let (least, most) = match self.figure.better {
            Better::Higher => (-high, -low),
            Better::Lower | Better::Neither => (low, high),
        };
        if most <= self.percent {
            return (Outcome::Passed, Some(change), words);
        }
        if least > self.percent {
            return (Outcome::Failed, Some(change), words);
        }
        let distance = (0.5 * (least + most) - self.percent).abs();
        let n = first.len().min(second.len());
        let needed = runs_to_tell(n, interval.noise_percent(), distance, confidence.ratio());
        (
            Outcome::NotKnown,
            Some(change),
            format!("{words}: noise reaches over the limit; {} of each", advice(needed)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_testing::records;

    fn gate(requirements: &[&str], losses: &[&str], runs: &[Record], baseline: &[Record]) -> Gate {
        let requirements: Vec<_> = requirements.iter().map(|text| text.parse().unwrap()).collect();
        let losses: Vec<_> = losses.iter().map(|text| text.parse().unwrap()).collect();
        Gate::of(&requirements, &losses, runs, baseline, Confidence::default())
    }

    /// Runs whose operations differ from those of the fixture by these shares.
    fn runs(shares: &[f64]) -> Vec<Record> {
        let run = |share: &f64| {
            let mut record = records::direct_read_run();
            let window = record.window.as_mut().unwrap();
            window.seconds /= share;
            record
        };
        shares.iter().map(run).collect()
    }

    fn outcome(requirement: &str, runs: &[Record]) -> Outcome {
        gate(&[requirement], &[], runs, &[]).outcome
    }

    #[rstest]
    #[case("read-p99 < 2ms", "physical_read_p99_us < 2.00 ms")]
    #[case("iops>=40000", "physical_reads_per_s >= 40,000 blocks/s")]
    #[case("operation_p99_us <= 1500", "operation_p99_us <= 1.50 ms")]
    #[case("Physical?", "Physical?")]
    #[case("cpu-bound = doubt", "CPU-bound? DOUBT or better")]
    fn requirements_are_read_and_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(text.parse::<Requirement>().unwrap().to_string(), shown);
    }

    #[test]
    fn a_value_just_below_its_threshold_is_told_from_it() {
        let busy = figure::named("device_busy_percent").unwrap();
        assert_eq!(shown_beside(busy, 99.997, 100.0), "99.997 %");
        assert_eq!(shown_beside(busy, 100.0, 100.0), shown(busy, 100.0));
        assert_eq!(shown_beside(busy, 97.0, 100.0), shown(busy, 97.0));
        let reads = figure::named("physical_read_p99_us").unwrap();
        assert_eq!(shown_beside(reads, 1999.999, 2000.0), "1,999.999 us");
    }

    #[rstest]
    #[case("", "is no requirement")]
    #[case("fast", "is no requirement")]
    #[case("steady = bad", "is no requirement")]
    #[case("operation_p99 < 2ms", "did you mean operation_p99_us")]
    #[case("iops < 2ms", "'2ms' is no amount of physical_reads_per_s")]
    #[case("p99 < x", "'x' is no amount")]
    fn what_is_no_requirement_is_refused_with_advice(#[case] text: &str, #[case] words: &str) {
        let error = text.parse::<Requirement>().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[rstest]
    #[case("iops", "'iops' is no loss")]
    #[case("iops -3 %", "is no loss")]
    #[case("sessions 3 %", "no better direction")]
    fn what_is_no_loss_is_refused(#[case] text: &str, #[case] words: &str) {
        let error = text.parse::<MaxLoss>().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn one_run_is_judged_by_its_figure_and_several_by_their_interval() {
        let rate = figure::OPERATIONS_PER_S.of(&Run::of(&runs(&[1.0])[0])).unwrap();
        let [over, under] = [0.9, 1.1].map(|share| format!("operations_per_s > {}", rate * share));
        assert_eq!(outcome(&over, &runs(&[1.0])), Outcome::Passed);
        assert_eq!(outcome(&under, &runs(&[1.0])), Outcome::Failed);
        assert_eq!(outcome(&over, &runs(&[1.0, 1.01, 0.99])), Outcome::Passed);
        assert_eq!(outcome(&under, &runs(&[1.0, 1.01, 0.99])), Outcome::Failed);
        let noisy = gate(&[&over], &[], &runs(&[1.0, 1.2, 0.8]), &[]);
        assert_eq!(noisy.outcome, Outcome::NotKnown);
        assert!(noisy.checks[0].reason.contains("runs would tell"), "{}", noisy.checks[0].reason);
    }

    #[test]
    fn a_loss_is_told_from_noise_or_the_runs_needed_are_named() {
        let (base, same) = (runs(&[1.0, 1.005, 0.995]), runs(&[1.001, 0.996, 1.004]));
        let loss = |runs: &[Record], base: &[Record]| gate(&[], &["operations_per_s 3 %"], runs, base);
        assert_eq!(loss(&same, &base).outcome, Outcome::Passed);
        let slower = loss(&runs(&[0.9, 0.905, 0.895]), &base);
        assert_eq!(slower.outcome, Outcome::Failed);
        assert!(slower.checks[0].reason.starts_with("-10"), "{}", slower.checks[0].reason);
        let noisy = loss(&runs(&[1.0, 1.1, 0.9]), &base);
        assert_eq!(noisy.outcome, Outcome::NotKnown);
        assert!(noisy.checks[0].reason.contains("would tell of each"), "{}", noisy.checks[0].reason);
        let single = loss(&runs(&[1.0]), &base);
        assert!(single.checks[0].reason.contains("two or more runs of each"), "{}", single.checks[0].reason);
        assert_eq!(loss(&same, &[]).outcome, Outcome::NotKnown);
    }

    #[test]
    fn figures_that_rest_on_a_bad_verdict_are_not_known() {
        let cached = [records::page_cache_run()];
        let found = gate(&["iops > 1", "physical", "complete = doubt"], &[], &cached, &[]);
        let outcomes: Vec<Outcome> = found.checks.iter().map(|check| check.outcome).collect();
        assert_eq!(outcomes[..2], [Outcome::NotKnown, Outcome::Failed]);
        assert_eq!(found.outcome, Outcome::Failed);
        assert!(
            found.checks[0].reason.contains("Physical? of the runs is BAD"),
            "{}",
            found.checks[0].reason
        );
    }

    #[test]
    fn junit_has_a_case_for_each_requirement_and_escapes_it() {
        let cached = [records::page_cache_run()];
        let xml = gate(&["iops < 1", "physical", "complete = doubt"], &[], &cached, &[]).junit();
        assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"1\""), "{xml}");
        assert!(xml.contains("name=\"physical_reads_per_s &lt; 1.000 blocks/s\"><error message="), "{xml}");
        assert_eq!((xml.matches("<testcase ").count(), xml.matches("</testcase>").count()), (3, 3));
    }
}
