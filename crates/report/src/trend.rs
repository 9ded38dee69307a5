//! Runs over time: when a figure changed, by how much, and what else differed then. Runs with a BAD verdict that the figure rests
//! on do not count.

mod views;

use std::collections::BTreeSet;
use std::ops::Range;

use itertools::Itertools;
use jiff::Timestamp;
use serde::Serialize;
use slob_stats::summary::median;
use slob_stats::{Comparison, Drift as StatsDrift, LEAST_FOR_CHANGES, MOST_FOR_CHANGES, change_points};

use crate::Confidence;
use crate::change::compared;
use crate::group::{Group, JudgedRun, not_alike};
use slob_facts::figure::Better;
use slob_facts::format::plural;
use slob_facts::settings::{DifferingSetting, differing, set_limits};
use slob_facts::{Claim, Figure, Grade, GroupVerdicts, Question, Run, Standing};
use slob_page::Outcome;

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
    /// A change of few runs is none of the figure, but their limits are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct FigureTrend {
    #[serde(skip)]
    pub figure: &'static Figure,
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    pub values: Vec<Option<f64>>,
    /// Places of runs that do not count: a verdict that the figure rests on is BAD, or it is 0.
    pub invalid: Vec<usize>,
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
    pub at: usize,
    pub run: String,
    pub since: Timestamp,
    /// The runs up to the next change, against those since the one before.
    #[serde(flatten)]
    pub comparison: Comparison,
    pub is_worse: Option<bool>,
    pub differs: Vec<DifferingSetting>,
}

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
    /// A figure that was asked for is not known where no run knows it; of another one nothing is said then.
    pub fn of(
        histories: Vec<History>,
        figures: &[&'static Figure],
        are_asked: bool,
    ) -> Result<Self, NoTrend> {
        let histories = histories.into_iter().map(|history| HistoryTrend::of(history, figures, are_asked));
        let histories: Vec<HistoryTrend> = histories.collect::<Result<_, _>>()?;
        let is_empty = histories.iter().all(|history| history.runs.is_empty());
        if is_empty { Err(NoTrend::NoRuns) } else { Ok(Self { histories }) }
    }

    /// Failed if a figure became worse; unknown if none did and one is unknown.
    pub fn worsened(&self) -> Outcome {
        let is_known = |history: &HistoryTrend| {
            let mut figures = history.figures.iter();
            !history.figures.is_empty() && figures.all(|figure| matches!(figure.found, Found::Known(_)))
        };
        let mut changes = self.histories.iter().flat_map(HistoryTrend::changes);
        match changes.any(|(_, change)| change.is_worse == Some(true)) {
            true => Outcome::Failed,
            false if self.histories.iter().all(is_known) => Outcome::Passed,
            false => Outcome::NotKnown,
        }
    }
}

impl HistoryTrend {
    fn of(history: History, figures: &[&'static Figure], are_asked: bool) -> Result<Self, NoTrend> {
        let History { name, mut runs, missed } = history;
        if runs.len() > MOST_FOR_CHANGES {
            return Err(NoTrend::TooMany { name, runs: runs.len() });
        }
        runs.sort_by(|a, b| a.record.started.cmp(&b.record.started).then_with(|| a.id().cmp(b.id())));
        let group = Group::of_judged(&name, &runs);
        let at = |run: &Run<'_>| RunAt {
            id: run.record.id.clone(),
            started: run.record.started,
            verdict: GroupVerdicts::of([(run.record.id.as_str(), run.judged())]).in_short(),
            limits: set_limits(run.record),
        };
        Ok(Self {
            runs: group.runs.iter().map(at).collect(),
            figures: figures
                .iter()
                .filter_map(|figure| FigureTrend::of(figure, &group.runs, are_asked))
                .collect(),
            verdicts: group.verdicts,
            missed,
            name,
        })
    }
}

impl FigureTrend {
    /// `None` if it is 0 in all runs that know it, or if none does and nobody asked.
    fn of(figure: &'static Figure, runs: &[Run<'_>], is_asked: bool) -> Option<Self> {
        let mut bad = BTreeSet::new();
        let known = runs.iter().map(|run| {
            let value = figure.of(run)?;
            match run.standing(figure, Claim::Compared) {
                Standing::Sound => Some((value, value > 0.0)),
                Standing::Invalid(question) => {
                    bad.insert(question);
                    Some((value, false))
                }
            }
        });
        let known: Vec<Option<(f64, bool)>> = known.collect();
        let is_known = known.iter().any(Option::is_some);
        if (is_known || !is_asked) && known.iter().flatten().all(|(value, _)| *value == 0.0) {
            return None;
        }
        let values = known.iter().map(|known| known.map(|(value, _)| value)).collect();
        let known = known.into_iter().enumerate().filter_map(|(at, known)| Some((at, known?)));
        let (sound, invalid): (Vec<_>, Vec<_>) = known.partition(|(_, (_, counts))| *counts);
        let sound = sound.into_iter().map(|(at, (value, _))| (at, value)).collect_vec();
        Some(Self {
            figure,
            name: figure.name,
            unit: figure.unit,
            better: figure.better,
            values,
            invalid: invalid.into_iter().map(|(at, _)| at).collect(),
            bad,
            found: Course::of(figure, runs, &sound).map_or_else(Found::NotKnown, Found::Known),
        })
    }

    /// `3 of 60 runs do not count, as Physical? is BAD`
    fn invalid_words(&self) -> Option<String> {
        let bad = self.bad.iter().map(|question| format!("{} is {}", question.title(), Grade::Bad.word()));
        let has_zero = self.invalid.iter().any(|at| self.values[*at] == Some(0.0));
        let reasons = bad.chain(has_zero.then(|| "it is 0".to_owned())).join(" or ");
        let runs = plural(self.values.len() as u64, "run");
        let count = if self.invalid.len() == 1 { "does not count" } else { "do not count" };
        let words = format!("{} of {runs} {count}, as {reasons}", self.invalid.len());
        (!self.invalid.is_empty()).then_some(words)
    }
}

impl Course {
    /// `sound` holds the places and values of sound runs.
    fn of(figure: &Figure, runs: &[Run<'_>], sound: &[(usize, f64)]) -> Result<Self, String> {
        if sound.len() < LEAST_FOR_CHANGES {
            let count = if sound.len() == 1 { "counts" } else { "count" };
            let runs = plural(sound.len() as u64, "run");
            return Err(format!("{runs} {count}; a trend needs {LEAST_FOR_CHANGES}"));
        }
        if let Some(why) = not_alike(sound.iter().map(|(at, _)| &runs[*at]), figure) {
            return Err(why);
        }
        let values: Vec<f64> = sound.iter().map(|(_, value)| *value).collect();
        let found = change_points(&values).ok_or("it has no ratios")?;
        let ends = [0].into_iter().chain(found).chain([values.len()]);
        let stretches = ends.tuple_windows().map(|(begin, end)| begin..end).collect_vec();
        let change = |(before, after): (&Range<usize>, &Range<usize>)| {
            let [first, second] = [before, after].map(|part| &values[part.clone()]);
            let comparison = compared(figure, first, second, Confidence::default())?;
            let records = |part: &Range<usize>| {
                let all = &runs[sound[part.start].0..=sound[part.end - 1].0];
                all.iter().map(|run| run.record).collect_vec()
            };
            let at = sound[after.start].0;
            Some(ChangePoint {
                at,
                run: runs[at].record.id.clone(),
                since: runs[at].record.started,
                comparison,
                is_worse: match figure.better {
                    Better::Higher => Some(comparison.percent < 0.0),
                    Better::Lower => Some(comparison.percent > 0.0),
                    Better::Neither => None,
                },
                differs: differing(&[records(before), records(after)]),
            })
        };
        const DAY_S: f64 = 86_400.0;
        let second = |at: usize| runs[at].record.started.as_second();
        let origin = second(sound[0].0);
        let logarithm = |(at, value): &(usize, f64)| ((second(*at) - origin) as f64 / DAY_S, value.ln());
        let logarithms = sound.iter().map(logarithm).collect_vec();
        // A slope of minutes says nothing about days.
        let is_long = logarithms.last().is_some_and(|(days, _)| *days >= 1.0);
        let in_stretches = stretches.iter().map(|part| &logarithms[part.clone()]).collect_vec();
        let percent = |logarithm: f64| 100.0 * logarithm.exp_m1();
        Ok(Self {
            levels: stretches.iter().filter_map(|part| median(&values[part.clone()])).collect(),
            changes: stretches.iter().tuple_windows().filter_map(change).collect(),
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
