//! Runs over time: when a figure changed, by how much, and what else differed then. Runs with a BAD verdict that the figure rests
//! on do not count.

mod views;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;
use slob_record::Record;
use slob_stats::summary::median;
use slob_stats::{Comparison, Drift as StatsDrift, LEAST_FOR_CHANGES, MOST_FOR_CHANGES, change_points};

use crate::change::compared;
use crate::group::JudgedRun;
use crate::settings::{DifferingSetting, differing};
use crate::{Confidence, Outcome};
use slob_facts::figure::Better;
use slob_facts::format::plural;
use slob_facts::{Claim, Figure, Grade, GroupVerdicts, Judged, Question, Run, Standing};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissedSlot {
    pub begin: Timestamp,
    pub end: Timestamp,
    pub why: String,
}

#[derive(Clone, Debug)]
pub struct History {
    pub name: String,
    pub runs: Vec<JudgedRun>,
    pub missed: Vec<MissedSlot>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Trend {
    pub histories: Vec<HistoryTrend>,
}

#[derive(Clone, Debug, Serialize)]
pub struct HistoryTrend {
    pub name: String,
    pub runs: Vec<RunAt>,
    pub missed: Vec<MissedSlot>,
    pub verdicts: GroupVerdicts,
    pub figures: Vec<FigureTrend>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunAt {
    pub id: String,
    pub started: Timestamp,
    pub verdict: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct FigureTrend {
    #[serde(skip)]
    pub figure: &'static Figure,
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    /// Absent if the run does not know it.
    pub values: Vec<Option<f64>>,
    /// Places of runs that do not count: a verdict that the figure rests on is BAD, or it is 0.
    pub invalid: Vec<usize>,
    /// The verdicts that forbid them.
    #[serde(skip)]
    bad: BTreeSet<Question>,
    pub found: Found,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    NotKnown(String),
    Known(Course),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// Medians between the changes; one more than there are changes.
    pub levels: Vec<f64>,
    pub changes: Vec<ChangePoint>,
    /// Absent for less than a day, or for fewer than ten runs between changes.
    pub drift: Option<Drift>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The place of the first run after it.
    pub at: usize,
    pub run: String,
    pub since: Timestamp,
    /// The runs up to the next change, against those since the one before.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Absent for a figure without a better direction.
    pub is_worse: Option<bool>,
    pub differs: Vec<DifferingSetting>,
}

/// Percent per day between the changes, with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drift {
    pub percent_per_day: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTrend {
    #[error("there is no run with a measured window")]
    NoRuns,
    #[error(
        "{name} has {runs} runs; a trend is of {MOST_FOR_CHANGES} at most: use --last {MOST_FOR_CHANGES}"
    )]
    TooMany { name: String, runs: usize },
}

impl Trend {
    pub fn of(histories: Vec<History>, figures: &[&'static Figure]) -> Result<Self, NoTrend> {
        let histories: Vec<HistoryTrend> = histories
            .into_iter()
            .map(|history| HistoryTrend::of(history, figures))
            .collect::<Result<_, _>>()?;
        if histories.iter().all(|history| history.runs.is_empty()) {
            Err(NoTrend::NoRuns)
        } else {
            Ok(Self { histories })
        }
    }

    /// Failed if a figure became worse; unknown if none did and one is unknown.
    pub fn worsened(&self) -> Outcome {
        let figures = || self.histories.iter().flat_map(|history| &history.figures);
        let is_worse = |figure: &FigureTrend| match &figure.found {
            Found::Known(course) => course.changes.iter().any(|change| change.is_worse == Some(true)),
            Found::NotKnown(_) => false,
        };
        match figures().any(is_worse) {
            true => Outcome::Failed,
            false if figures().all(|figure| matches!(figure.found, Found::Known(_))) => Outcome::Passed,
            false => Outcome::NotKnown,
        }
    }
}

impl HistoryTrend {
    fn of(history: History, figures: &[&'static Figure]) -> Result<Self, NoTrend> {
        let History { name, mut runs, missed } = history;
        if runs.len() > MOST_FOR_CHANGES {
            return Err(NoTrend::TooMany { name, runs: runs.len() });
        }
        runs.sort_by(|a, b| a.record.started.cmp(&b.record.started).then_with(|| a.id().cmp(b.id())));
        let (records, verdicts): (Vec<Record>, Vec<Vec<Judged>>) =
            runs.into_iter().map(|run| (run.record, run.verdicts)).unzip();
        let judged = || {
            records.iter().zip(&verdicts).map(|(record, verdicts)| (record.id.as_str(), verdicts.as_slice()))
        };
        let at = |(record, judged): (&Record, _)| RunAt {
            id: record.id.clone(),
            started: record.started,
            verdict: GroupVerdicts::of([judged]).in_short(),
        };
        let figure = |figure: &&'static Figure| FigureTrend::of(figure, &records, &verdicts);
        Ok(Self {
            name,
            runs: records.iter().zip(judged()).map(at).collect(),
            missed,
            verdicts: GroupVerdicts::of(judged()),
            figures: figures.iter().filter_map(figure).collect(),
        })
    }
}

impl FigureTrend {
    /// `None` if no run knows the figure, or if it is 0 in all.
    fn of(figure: &'static Figure, records: &[Record], verdicts: &[Vec<Judged>]) -> Option<Self> {
        let runs = records.iter().zip(verdicts);
        let mut bad = BTreeSet::new();
        let known = runs.map(|(record, verdicts)| {
            let figures = Run::judged_before(record, verdicts.clone());
            let value = figure.of(&figures)?;
            match figures.standing(figure, Claim::Compared) {
                Standing::Sound => Some((value, value > 0.0)),
                Standing::Invalid(question) => {
                    bad.insert(question);
                    Some((value, false))
                }
            }
        });
        let known: Vec<Option<(f64, bool)>> = known.collect();
        if known.iter().flatten().all(|(value, _)| *value == 0.0) {
            return None;
        }
        let places = |that_count: bool| {
            let one = move |(at, known): (usize, &Option<(f64, bool)>)| {
                known.filter(|(_, counts)| *counts == that_count).map(|(value, _)| (at, value))
            };
            known.iter().enumerate().filter_map(one)
        };
        let sound: Vec<(usize, f64)> = places(true).collect();
        Some(Self {
            figure,
            name: figure.name,
            unit: figure.unit,
            better: figure.better,
            values: known.iter().map(|known| known.map(|(value, _)| value)).collect(),
            invalid: places(false).map(|(at, _)| at).collect(),
            bad,
            found: Course::of(figure, records, &sound).map_or_else(Found::NotKnown, Found::Known),
        })
    }

    /// `3 of 60 runs do not count, as Physical? is BAD`
    fn invalid_words(&self) -> Option<String> {
        let bad = self.bad.iter().map(|question| format!("{} is {}", question.title(), Grade::Bad.word()));
        let has_zero = self.invalid.iter().any(|at| self.values[*at] == Some(0.0));
        let reasons: Vec<String> = bad.chain(has_zero.then(|| "it is 0".to_owned())).collect();
        let runs = plural(self.values.len() as u64, "run");
        let words = format!("{} of {runs} do not count, as {}", self.invalid.len(), reasons.join(" or "));
        (!self.invalid.is_empty()).then_some(words)
    }
}

impl Course {
    /// `sound` holds the places and values of sound runs.
    fn of(figure: &Figure, records: &[Record], sound: &[(usize, f64)]) -> Result<Self, String> {
        if sound.len() < LEAST_FOR_CHANGES {
            return Err(format!(
                "{} that count; a trend needs {LEAST_FOR_CHANGES}",
                plural(sound.len() as u64, "run")
            ));
        }
        let values: Vec<f64> = sound.iter().map(|(_, value)| *value).collect();
        let found = change_points(&values).ok_or("it has no ratios")?;
        let ends = [&[0], found.as_slice(), &[values.len()]].concat();
        let stretches: Vec<_> = ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
        let change = |pair: &[std::ops::Range<usize>]| {
            let [before, after] = [&pair[0], &pair[1]].map(Clone::clone);
            let comparison =
                compared(figure, &values[before.clone()], &values[after.clone()], Confidence::default())?;
            let records_of =
                |part: std::ops::Range<usize>| &records[sound[part.start].0..=sound[part.end - 1].0];
            let first = &records[sound[after.start].0];
            Some(ChangePoint {
                at: sound[after.start].0,
                run: first.id.clone(),
                since: first.started,
                comparison,
                is_worse: match figure.better {
                    Better::Higher => Some(comparison.percent < 0.0),
                    Better::Lower => Some(comparison.percent > 0.0),
                    Better::Neither => None,
                },
                differs: differing(&[records_of(before), records_of(after)]),
            })
        };
        const DAY_S: f64 = 86_400.0;
        let second = |at: usize| records[at].started.as_second();
        let origin = second(sound[0].0);
        let logarithm = |(at, value): &(usize, f64)| ((second(*at) - origin) as f64 / DAY_S, value.ln());
        let logarithms: Vec<(f64, f64)> = sound.iter().map(logarithm).collect();
        // A slope of minutes says nothing about days.
        let is_long = logarithms.last().is_some_and(|(days, _)| *days >= 1.0);
        let in_stretches: Vec<&[(f64, f64)]> =
            stretches.iter().map(|part| &logarithms[part.clone()]).collect();
        let percent = |logarithm: f64| 100.0 * logarithm.exp_m1();
        Ok(Self {
            levels: stretches.iter().filter_map(|part| median(&values[part.clone()])).collect(),
            changes: stretches.windows(2).filter_map(change).collect(),
            drift: StatsDrift::within(&in_stretches).filter(|_| is_long).map(|drift| Drift {
                percent_per_day: percent(drift.slope),
                low: percent(drift.low),
                high: percent(drift.high),
            }),
        })
    }
}

#[cfg(test)]
mod tests;
