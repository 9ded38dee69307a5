//! Repeated runs of several variants: tables, intervals, and differences that are more than noise.
//!
//! Tables are those of Brian Pardy's SLOB.R (2013): means after dropping every value equal to the extremes.
//! Pairs are compared by [`slob_stats::Comparison`]. All statements of a table hold together with the requested confidence
//! (Bonferroni's inequality: Dunn, "Multiple comparisons among means", *JASA* 56 (1961) 52).

mod curve;
mod curve_page;
mod neighbours;
mod runs;
#[cfg(test)]
mod tests;
mod views;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use slob_stats::summary::{self, mean_interval, mean_without_extremes};
use slob_stats::{Comparison, mean_over};

pub use self::curve::Curve;
pub use self::neighbours::{Neighbours, Round, Taking};
pub use self::runs::{
    LatencyOf, Metric, Run, UnknownMetric, run_of, run_of_report, run_of_row, slob_r_tables, stem,
    variants_of,
};

use self::runs::{IoUnit, Part};
use crate::Confidence;
use crate::change::{Change, noise, range};
use slob_facts::figure::Better;
use slob_facts::format::{count, plural};
use slob_facts::verdicts::refusal;
use slob_facts::{Claim, Figure, GroupVerdicts, Question, figure};

pub const RETRY_BAD: &str =
    "`slob campaign PLAN.toml --retry-bad` makes BAD runs again; the folders of the old ones stay.";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    pub name: String,
    /// The identical variant, in an A/A pair.
    pub twin_of: Option<String>,
    /// False if the label only contains the name, as in SLOB.R.
    #[serde(skip)]
    is_whole_label: bool,
}

impl Variant {
    pub fn part(name: &str) -> Self {
        Self { name: name.to_owned(), twin_of: None, is_whole_label: false }
    }

    pub fn whole(name: &str) -> Self {
        Self { is_whole_label: true, ..Self::part(name) }
    }

    pub fn twin_of(self, original: Option<String>) -> Self {
        Self { twin_of: original, ..self }
    }

    fn has(&self, run: &Run) -> bool {
        if self.is_whole_label { run.label == self.name } else { run.label.contains(&self.name) }
    }
}

#[derive(Clone, Debug)]
pub struct TableSpec {
    pub title: String,
    pub model: String,
    pub metric: Metric,
}

impl TableSpec {
    fn lacks(&self, variant: &Variant, runs: &[&Run], parts: &[Part]) -> String {
        let own: Vec<_> = runs.iter().filter(|run| variant.has(run)).collect();
        let is_unknown = |part: &&Part| !own.iter().any(|run| run.figures.contains_key(part.name));
        let unknown: Vec<&str> = parts.iter().filter(is_unknown).map(|part| part.name).collect();
        let count = own.len();
        format!(
            "{}: {} has no {}: {}. Leave it out, or choose another figure with --metric.",
            self.title,
            variant.name,
            self.metric.noun(),
            match unknown.is_empty() {
                true => format!("its {count} runs know reads or writes, but none knows both"),
                false => format!(
                    "nothing counted {} in its {}",
                    unknown.join(" and "),
                    plural(count as u64, "run")
                ),
            }
        )
    }
}

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub confidence: Confidence,
    pub scale: Option<String>,
    pub latency: Option<LatencyOf>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Holds for all pairs of a table together.
    pub confidence: Confidence,
    pub scale: Option<String>,
    pub variants: Vec<Variant>,
    pub tables: Vec<Table>,
    pub notes: Vec<String>,
    /// True if the plan of their campaign can repeat the runs.
    #[serde(skip)]
    pub is_of_campaign: bool,
}

/// Rows are variants, columns numbers of sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub title: String,
    pub model: String,
    pub metric: String,
    /// Sentences on variants that lack the figure.
    pub lacking: Vec<String>,
    /// Absent if the runs know none.
    pub latency: Option<LatencyOf>,
    /// Verdicts that make the figure worthless if they are BAD.
    pub rests_on: Vec<Question>,
    pub sessions: Vec<u32>,
    pub rows: Vec<Row>,
    pub pairs: Vec<Pair>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub variant: String,
    pub verdicts: GroupVerdicts,
    pub cells: Vec<Cell>,
    pub overall: Cell,
}

impl Row {
    fn label(&self, rests_on: &[Question]) -> String {
        match self.verdicts.against(rests_on, Claim::Storage) {
            Some(bad) => format!("{} ({} {})", self.variant, bad.question.title(), bad.answer.word()),
            None => self.variant.clone(),
        }
    }

    fn cell(&self, at: usize) -> &Cell {
        self.cells.get(at).unwrap_or(&self.overall)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    pub runs: usize,
    pub runs_without: usize,
    /// Drops every value equal to the extremes. Reads and writes together are the sum of both means. Absent if nothing is left.
    pub slob_r_mean: Option<f64>,
    pub scaled: Option<f64>,
    pub mean: Option<f64>,
    /// Absent with fewer than two runs of a number of sessions.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub median: Option<f64>,
    /// In percent of the mean; absent for different numbers of sessions.
    pub cv_percent: Option<f64>,
    pub latency_us: Option<f64>,
    pub latency_p99_us: Option<f64>,
    pub values: Vec<f64>,
    /// The most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top_waits: Vec<TopWait>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopWait {
    pub event: String,
    pub runs: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub first: String,
    pub second: String,
    /// In an A/A pair a difference can only be noise.
    pub same_thing: bool,
    /// Over all numbers of sessions that both have repeats of, each with the same weight.
    pub overall: Option<Comparison>,
    pub by_sessions: Vec<Option<Comparison>>,
    pub verdict: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    #[error(
        "there is nothing to compare: {0}; name two runs or groups (`slob compare latest~1 latest`), or say with --variants or --by what differs"
    )]
    Nothing(String),
    #[error("{0}")]
    NoFigure(String),
    #[error("there is no variant '{name}' to scale by; there are {known}")]
    NoSuchVariant { name: String, known: String },
}

impl Analysis {
    pub fn of(
        runs: &[Run],
        variants: &[Variant],
        tables: &[TableSpec],
        options: &Options,
    ) -> Result<Self, AnalysisError> {
        let known = || variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ");
        // Names of files begin alike: the part that tells them apart is enough.
        let scale = options.scale.as_ref().map(|name| {
            let is_part = |variant: &&Variant| variant.name.contains(name.as_str());
            let parts: Vec<&Variant> = variants.iter().filter(is_part).collect();
            let whole = parts
                .iter()
                .find(|variant| &variant.name == name)
                .or(parts.first().filter(|_| parts.len() == 1));
            let unknown = || AnalysisError::NoSuchVariant { name: name.clone(), known: known() };
            whole.map(|variant| variant.name.clone()).ok_or_else(unknown)
        });
        let options = &Options { scale: scale.transpose()?, ..options.clone() };
        let tables: Vec<Table> =
            tables.iter().filter_map(|spec| Table::of(runs, variants, spec, options)).collect();
        if tables.is_empty() {
            return Err(AnalysisError::Nothing(match known().as_str() {
                "" => "these runs have no variants".to_owned(),
                known => format!("no run belongs to any of the variants {known}"),
            }));
        }
        if tables.iter().all(|table| table.rows.is_empty()) {
            let reasons: Vec<&str> =
                tables.iter().flat_map(|table| &table.lacking).map(String::as_str).collect();
            return Err(AnalysisError::NoFigure(reasons.join(" ")));
        }
        let (confidence, scale) = (options.confidence, options.scale.clone());
        let compared = runs.iter().filter(|run| variants.iter().any(|variant| variant.has(run)));
        let mut notes = unlike(&compared.collect::<Vec<_>>());
        notes.extend(limits(runs, variants));
        Ok(Self { confidence, scale, variants: variants.to_vec(), tables, notes, is_of_campaign: false })
    }
}

fn unlike(runs: &[&Run]) -> Vec<String> {
    let products: BTreeSet<&str> = runs.iter().filter_map(|run| run.product.as_deref()).collect();
    let sizes = runs.iter().filter_map(|run| run.figures.get(figure::SCALE_BLOCKS.name));
    let sizes: BTreeSet<u64> = sizes.map(|blocks| *blocks as u64).collect();
    let sizes: Vec<String> = sizes.into_iter().map(count).collect();
    let listed = |what: &str, values: Vec<&str>| {
        let is_different = values.len() > 1;
        is_different.then(|| format!("Mind that these runs are of different {what}: {}.", values.join(", ")))
    };
    let products = listed("products", products.into_iter().collect());
    let sizes = listed("SCALE (blocks of each schema)", sizes.iter().map(String::as_str).collect());
    products.into_iter().chain(sizes).collect()
}

fn limits(runs: &[Run], variants: &[Variant]) -> Option<String> {
    let of_variant = |variant: &Variant| -> BTreeSet<&str> {
        let own = runs.iter().filter(|run| variant.has(run));
        own.flat_map(|run| run.limits.iter().map(String::as_str)).collect()
    };
    let all: Vec<_> = variants.iter().map(|variant| (&variant.name, of_variant(variant))).collect();
    if all.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return None;
    }
    let limited = all.iter().filter(|(_, limits)| !limits.is_empty());
    let limited: Vec<String> = limited
        .map(|(name, limits)| format!("{name} has {}", Vec::from_iter(limits.iter().copied()).join(", ")))
        .collect();
    Some(format!("Mind that the variants have different limits: {}.", limited.join("; ")))
}

pub(crate) fn number_or_empty(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

impl Table {
    fn of(runs: &[Run], variants: &[Variant], spec: &TableSpec, options: &Options) -> Option<Self> {
        let is_of_variant = |run: &Run| variants.iter().any(|variant| variant.has(run));
        let belongs = |run: &&Run| run.models.contains(&spec.model) && is_of_variant(run);
        let runs: Vec<&Run> = runs.iter().filter(belongs).collect();
        if runs.is_empty() {
            return None;
        }
        let unit = IoUnit::known_to(&runs);
        let latency = options.latency.or_else(|| LatencyOf::known_to(&runs));
        let parts = spec.metric.parts(unit);
        let sessions: BTreeSet<u32> = runs.iter().flat_map(|run| run.sessions.iter().copied()).collect();
        let row = |variant: &Variant| {
            let own: Vec<&Run> = runs.iter().copied().filter(|run| variant.has(run)).collect();
            let cell = |sessions: &u32| {
                let repeats = own.iter().copied().filter(|run| run.sessions.contains(sessions));
                Cell::of(&repeats.collect::<Vec<_>>(), &parts, latency, options.confidence)
            };
            let cells: Vec<Cell> = sessions.iter().map(cell).collect();
            let all = Cell::of(&own, &parts, None, options.confidence);
            let overall = all.over(&cells, options.confidence);
            let mut repeats: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
            own.iter().for_each(|run| repeats.entry(&run.sessions).or_default().push(run));
            let judged = |runs: &Vec<&Run>| {
                GroupVerdicts::of(runs.iter().map(|run| (run.id.as_str(), run.verdicts.as_slice())))
            };
            Row {
                variant: variant.name.clone(),
                verdicts: GroupVerdicts::joined(repeats.values().map(judged)),
                cells,
                overall,
            }
        };
        let mut rows: Vec<Row> = variants.iter().map(row).collect();
        let mut rests_on: Vec<Question> =
            parts.iter().flat_map(|part| part.figure.rests_on).copied().collect();
        rests_on.sort_unstable();
        rests_on.dedup();
        let words = spec.metric.words_of_change();
        let pairs = pairs(variants, &rows, options.confidence, &rests_on, words);
        let base =
            options.scale.as_ref().and_then(|scale| rows.iter().find(|row| &row.variant == scale)).cloned();
        if let Some(base) = base {
            let is_sound = |row: &Row| row.verdicts.against(&rests_on, Claim::Compared).is_none();
            for row in rows.iter_mut().filter(|row| is_sound(row) && is_sound(&base)) {
                row.overall.scale_by(&base.overall);
                row.cells.iter_mut().zip(&base.cells).for_each(|(cell, base)| cell.scale_by(base));
            }
        }
        let is_lacking = |(_, row): &(&Variant, &Row)| row.overall.runs == 0 && row.overall.runs_without > 0;
        let lacking = variants.iter().zip(&rows).filter(is_lacking);
        let mut lacking: Vec<String> =
            lacking.map(|(variant, _)| spec.lacks(variant, &runs, &parts)).collect();
        let is_known = |of: &LatencyOf| runs.iter().any(|run| run.figures.contains_key(of.mean().name));
        lacking.extend(
            options
                .latency
                .filter(|of| !is_known(of))
                .map(|of| format!("{}: none of these runs has the latency of a {}.", spec.title, of.noun())),
        );
        rows.retain(|row| row.overall.runs > 0);
        Some(Self {
            title: spec.title.clone(),
            model: spec.model.clone(),
            metric: spec.metric.words(unit),
            lacking,
            latency,
            rests_on,
            sessions: sessions.into_iter().collect(),
            rows,
            pairs,
        })
    }

    fn rests_on_with_latency(&self) -> Vec<Question> {
        let of_latency = self.latency.map_or(&[][..], |of| of.mean().rests_on);
        [self.rests_on.as_slice(), of_latency].concat()
    }

    fn sessions_and_overall(&self) -> impl Iterator<Item = String> {
        self.sessions.iter().map(u32::to_string).chain(["Overall".to_owned()])
    }
}

impl Cell {
    fn of(runs: &[&Run], parts: &[Part], latency: Option<LatencyOf>, confidence: Confidence) -> Self {
        let known = |name: &str| -> Vec<f64> {
            runs.iter().filter_map(|run| run.figures.get(name).copied()).collect()
        };
        let sum =
            |run: &&Run| parts.iter().map(|part| run.figures.get(part.name).copied()).sum::<Option<f64>>();
        let values: Vec<f64> = runs.iter().filter_map(sum).collect();
        let interval = mean_interval(&values, confidence.ratio());
        let latency = |of: fn(LatencyOf) -> &'static Figure| summary::mean(&known(of(latency?).name));
        Self {
            runs: values.len(),
            runs_without: runs.len() - values.len(),
            slob_r_mean: parts.iter().map(|part| mean_without_extremes(&known(part.name))).sum(),
            scaled: None,
            mean: summary::mean(&values),
            // The interval of two very different runs reaches below 0, which no rate or time does.
            low: interval.map(|(low, _)| low.max(0.0)),
            high: interval.map(|(_, high)| high),
            median: summary::median(&values),
            cv_percent: summary::coefficient_of_variation(&values).map(|ratio| 100.0 * ratio),
            latency_us: latency(LatencyOf::mean),
            latency_p99_us: latency(LatencyOf::p99),
            values,
            top_waits: top_waits(runs),
        }
    }

    /// Runs with different numbers of sessions are no repeats: their spread is not noise.
    fn over(self, cells: &[Self], confidence: Confidence) -> Self {
        let own: Vec<&[f64]> =
            cells.iter().map(|cell| cell.values.as_slice()).filter(|own| !own.is_empty()).collect();
        // SLOB.R may count a run in two cells, which are not independent then.
        let are_apart = own.iter().map(|values| values.len()).sum::<usize>() == self.runs;
        let over = mean_over(&own, confidence.ratio()).filter(|_| are_apart);
        let (low, high) = over.map(|(_, (low, high))| (low.max(0.0), high)).unzip();
        Self { mean: over.map(|(mean, _)| mean).or(self.mean), low, high, cv_percent: None, ..self }
    }

    fn scale_by(&mut self, base: &Self) {
        let ratio = self.slob_r_mean.zip(base.slob_r_mean).map(|(mean, base)| mean / base);
        self.scaled = ratio.filter(|ratio| ratio.is_finite());
    }
}

fn top_waits(runs: &[&Run]) -> Vec<TopWait> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for event in runs.iter().filter_map(|run| run.top_wait.as_deref()) {
        *counts.entry(event).or_default() += 1;
    }
    let mut waits: Vec<TopWait> =
        counts.into_iter().map(|(event, runs)| TopWait { event: event.to_owned(), runs }).collect();
    waits.sort_by_key(|wait| Reverse(wait.runs));
    waits
}

/// Every pair, but a twin with its original alone. `names` returns a name and the name of the original.
pub(crate) fn compared_places<T>(
    all: &[T],
    names: impl Fn(&T) -> (&str, Option<&str>),
) -> Vec<(usize, usize)> {
    let is_compared = |&(first, second): &(usize, usize)| match (names(&all[first]), names(&all[second])) {
        ((original, _), (_, Some(twin_of))) => twin_of == original,
        ((_, of_first), (_, None)) => of_first.is_none(),
    };
    let all_pairs =
        (0..all.len()).flat_map(|first| (first + 1..all.len()).map(move |second| (first, second)));
    all_pairs.filter(is_compared).collect()
}

/// All statements together have this confidence; `words` are those for more and for less.
fn pairs(
    variants: &[Variant],
    rows: &[Row],
    confidence: Confidence,
    rests_on: &[Question],
    words: [&str; 2],
) -> Vec<Pair> {
    let mut places = compared_places(variants, |variant| (&variant.name, variant.twin_of.as_deref()));
    places.retain(|&(first, second)| rows[first].overall.runs > 0 && rows[second].overall.runs > 0);
    let confidence = confidence.of_each(places.len());
    let pair = |&(first, second): &(usize, usize)| {
        let same_thing = variants[second].twin_of.is_some();
        let (first, second) = (&rows[first], &rows[second]);
        let both = [first, second].map(|row| (row.variant.as_str(), &row.verdicts));
        match refusal(&both, rests_on) {
            Some(reason) => Pair::refused(first, second, same_thing, &reason),
            None => Pair::of(first, second, same_thing, confidence, words),
        }
    };
    places.iter().map(pair).collect()
}

impl Analysis {
    pub fn answers(&self) -> impl Iterator<Item = String> {
        let of_table = |table: &'_ Table| {
            let title = table.title.clone();
            let answers = table.pairs.iter().map(move |pair| format!("{title}: {}", pair.verdict));
            answers.collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table)
    }
}

impl Pair {
    fn refused(first: &Row, second: &Row, same_thing: bool, reason: &str) -> Self {
        let (by_sessions, overall) = (vec![None; first.cells.len()], None);
        let (first, second) = (first.variant.clone(), second.variant.clone());
        let verdict = format!("{second} can't be compared with {first}. {reason}");
        Self { first, second, same_thing, overall, by_sessions, verdict }
    }

    fn of(first: &Row, second: &Row, same_thing: bool, confidence: Confidence, words: [&str; 2]) -> Self {
        let cells = first.cells.iter().zip(&second.cells);
        let values: Vec<(&[f64], &[f64])> =
            cells.map(|(a, b)| (a.values.as_slice(), b.values.as_slice())).collect();
        // The marks of all numbers of sessions hold together too.
        let of_each = confidence.of_each(values.len()).ratio();
        let by_sessions = values.iter().map(|(a, b)| Comparison::of(a, b, of_each)).collect();
        let over = |least: usize| {
            let repeated: Vec<_> =
                values.iter().copied().filter(|(a, b)| a.len().min(b.len()) >= least).collect();
            Comparison::over(&repeated, confidence.ratio())
        };
        // Single runs say nothing of noise, and count only where there are no repeats.
        let overall = over(2).or_else(|| over(1).map(|single| Comparison { interval: None, ..single }));
        let (first, second) = (first.variant.clone(), second.variant.clone());
        let verdict = match overall {
            None => format!(
                "{second} can't be compared with {first}: they have no sessions in common, or a run has a 0."
            ),
            Some(overall) if same_thing => noise_verdict(&first, &overall),
            Some(overall) => {
                let change = Change { first: &first, second: &second, words, better: Better::Neither };
                change.sentence(&overall)
            }
        };
        Self { first, second, same_thing, overall, by_sessions, verdict }
    }
}

fn noise_verdict(name: &str, comparison: &Comparison) -> String {
    match comparison.interval {
        None => format!("A/A: {name} against itself needs two runs or more on each side to show noise."),
        Some(interval) if interval.excludes_zero() => format!(
            "A/A: {name} differs from itself by {}: something other than the variant changed between the runs. Do \
             not trust differences of that size.",
            range(&interval)
        ),
        Some(interval) => format!("A/A: {name} against itself: {}", noise(&interval)),
    }
}
