//! Repeated runs of several variants: tables, intervals, and differences that are more than noise.
//!
//! Tables are those of Brian Pardy's SLOB.R (2013): means after dropping every value equal to the extremes.
//! Pairs are compared by [`slob_stats::Comparison`]. All statements of a table hold together with the requested confidence
//! (Bonferroni's inequality: Dunn, "Multiple comparisons among means", *JASA* 56 (1961) 52).

mod curve;
mod neighbours;
mod runs;
#[cfg(test)]
mod tests;
mod views;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use serde::Serialize;
use slob_stats::summary::{self, mean_interval, mean_without_extremes};
use slob_stats::{Comparison, mean_over};

pub use self::curve::Curve;
pub use self::neighbours::{NeighbourRun, Neighbours, Round};
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
        let own = runs.iter().filter(|run| variant.has(run)).collect_vec();
        let is_unknown = |part: &&Part| !own.iter().any(|run| run.figures.contains_key(part.name));
        let unknown = parts.iter().filter(is_unknown).map(|part| part.name).join(" and ");
        let why = match unknown.as_str() {
            "" => format!("its {} runs know reads or writes, but none knows both", own.len()),
            _ => format!("nothing counted {unknown} in its {}", plural(own.len() as u64, "run")),
        };
        let (title, name, noun) = (&self.title, &variant.name, self.metric.noun());
        format!("{title}: {name} has no {noun}: {why}. Leave it out, or choose another figure with --metric.")
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
    pub confidence: Confidence,
    pub scale: Option<String>,
    pub variants: Vec<Variant>,
    pub tables: Vec<MetricTable>,
    pub notes: Vec<String>,
    /// True if the plan of their campaign can repeat the runs.
    #[serde(skip)]
    pub is_of_campaign: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricTable {
    pub title: String,
    pub model: String,
    pub metric: String,
    pub lacking: Vec<String>,
    pub latency: Option<LatencyOf>,
    pub rests_on: Vec<Question>,
    pub sessions: Vec<u32>,
    pub rows: Vec<VariantRow>,
    pub pairs: Vec<VariantPair>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantRow {
    pub variant: String,
    pub verdicts: GroupVerdicts,
    pub cells: Vec<Repeats>,
    pub overall: Repeats,
}

impl VariantRow {
    fn label(&self, rests_on: &[Question]) -> String {
        match self.verdicts.against(rests_on, Claim::Storage) {
            Some(bad) => format!("{} ({} {})", self.variant, bad.question.title(), bad.answer.word()),
            None => self.variant.clone(),
        }
    }

    fn cell(&self, at: usize) -> &Repeats {
        self.cells.get(at).unwrap_or(&self.overall)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Repeats {
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top_waits: Vec<TopWait>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopWait {
    pub event: String,
    pub runs: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantPair {
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
        let known = || variants.iter().map(|variant| variant.name.as_str()).join(", ");
        // Names of files begin alike: the part that tells them apart is enough.
        let scale = options.scale.as_ref().map(|name| {
            let parts = variants.iter().filter(|variant| variant.name.contains(name.as_str())).collect_vec();
            let whole = parts.iter().find(|variant| &variant.name == name).or(match parts.as_slice() {
                [only] => Some(only),
                _ => None,
            });
            let unknown = || AnalysisError::NoSuchVariant { name: name.clone(), known: known() };
            whole.map(|variant| variant.name.clone()).ok_or_else(unknown)
        });
        let options = &Options { scale: scale.transpose()?, ..options.clone() };
        let table = |spec| MetricTable::of(runs, variants, spec, options);
        let tables: Vec<MetricTable> = tables.iter().filter_map(table).collect();
        if tables.is_empty() {
            return Err(AnalysisError::Nothing(match known().as_str() {
                "" => "these runs have no variants".to_owned(),
                known => format!("no run belongs to any of the variants {known}"),
            }));
        }
        if tables.iter().all(|table| table.rows.is_empty()) {
            return Err(AnalysisError::NoFigure(tables.iter().flat_map(|table| &table.lacking).join(" ")));
        }
        let compared = runs.iter().filter(|run| variants.iter().any(|variant| variant.has(run)));
        let mut notes = unlike(&compared.collect_vec());
        notes.extend(limits(runs, variants));
        let (confidence, scale, variants) = (options.confidence, options.scale.clone(), variants.to_vec());
        Ok(Self { confidence, scale, variants, tables, notes, is_of_campaign: false })
    }

    pub fn answers(&self) -> impl Iterator<Item = String> {
        let all = self.tables.iter().flat_map(|table| table.pairs.iter().map(move |pair| (table, pair)));
        all.map(|(table, pair)| format!("{}: {}", table.title, pair.verdict))
    }
}

fn unlike(runs: &[&Run]) -> Vec<String> {
    let products = runs.iter().filter_map(|run| run.product.clone()).sorted().dedup();
    let sizes = runs.iter().filter_map(|run| run.figures.get(figure::SCALE_BLOCKS.name));
    let sizes = sizes.map(|blocks| *blocks as u64).sorted().dedup().map(count);
    let listed = |(what, values): (&str, Vec<String>)| {
        let is_different = values.len() > 1;
        is_different.then(|| format!("Mind that these runs are of different {what}: {}.", values.join(", ")))
    };
    let all = [("products", products.collect()), ("SCALE (blocks of each schema)", sizes.collect())];
    all.into_iter().filter_map(listed).collect()
}

fn limits(runs: &[Run], variants: &[Variant]) -> Option<String> {
    let all = variants.iter().map(|variant| {
        let own = runs.iter().filter(|run| variant.has(run));
        (&variant.name, own.flat_map(|run| &run.limits).sorted().dedup().join(", "))
    });
    let all = all.collect_vec();
    if all.iter().map(|(_, limits)| limits).all_equal() {
        return None;
    }
    let limited = all.iter().filter(|(_, limits)| !limits.is_empty());
    let limited = limited.map(|(name, limits)| format!("{name} has {limits}")).join("; ");
    Some(format!("Mind that the variants have different limits: {limited}."))
}

pub(crate) fn number_or_empty(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

impl MetricTable {
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
                Repeats::of(&repeats.collect_vec(), &parts, latency, options.confidence)
            };
            let cells: Vec<Repeats> = sessions.iter().map(cell).collect();
            let all = Repeats::of(&own, &parts, None, options.confidence);
            let overall = all.over(&cells, options.confidence);
            let mut repeats: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
            own.iter().for_each(|run| repeats.entry(&run.sessions).or_default().push(run));
            let verdicts = GroupVerdicts::joined(repeats.values().map(|runs| {
                GroupVerdicts::of(runs.iter().map(|run| (run.id.as_str(), run.verdicts.as_slice())))
            }));
            VariantRow { variant: variant.name.clone(), verdicts, cells, overall }
        };
        let mut rows: Vec<VariantRow> = variants.iter().map(row).collect();
        let rests_on = parts.iter().flat_map(|part| part.figure.rests_on).copied();
        let rests_on: Vec<Question> = rests_on.sorted().dedup().collect();
        let words = spec.metric.words_of_change();
        let pairs = pairs(variants, &rows, options.confidence, &rests_on, words);
        if let Some(base) = rows.iter().find(|row| Some(&row.variant) == options.scale.as_ref()).cloned() {
            let is_sound = |row: &VariantRow| row.verdicts.against(&rests_on, Claim::Compared).is_none();
            for row in rows.iter_mut().filter(|row| is_sound(row) && is_sound(&base)) {
                row.overall.scale_by(&base.overall);
                row.cells.iter_mut().zip(&base.cells).for_each(|(cell, base)| cell.scale_by(base));
            }
        }
        let is_lacking =
            |(_, row): &(&Variant, &VariantRow)| row.overall.runs == 0 && row.overall.runs_without > 0;
        let of_figure = variants.iter().zip(&rows).filter(is_lacking);
        let of_figure = of_figure.map(|(variant, _)| spec.lacks(variant, &runs, &parts));
        let is_known = |of: &LatencyOf| runs.iter().any(|run| run.figures.contains_key(of.mean().name));
        let of_latency = options.latency.filter(|of| !is_known(of));
        let of_latency = of_latency
            .map(|of| format!("{}: none of these runs has the latency of a {}.", spec.title, of.noun()));
        let lacking = of_figure.chain(of_latency).collect();
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

impl Repeats {
    fn of(runs: &[&Run], parts: &[Part], latency: Option<LatencyOf>, confidence: Confidence) -> Self {
        let known = |name: &str| runs.iter().filter_map(|run| run.figures.get(name).copied()).collect_vec();
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
        let own = cells.iter().map(|cell| cell.values.as_slice()).filter(|own| !own.is_empty()).collect_vec();
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
    let waits = runs.iter().filter_map(|run| run.top_wait.clone()).counts().into_iter();
    let waits = waits.map(|(event, runs)| TopWait { event, runs });
    waits.sorted_by_key(|wait| (Reverse(wait.runs), wait.event.clone())).collect()
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
    (0..all.len()).tuple_combinations().filter(is_compared).collect()
}

fn pairs(
    variants: &[Variant],
    rows: &[VariantRow],
    confidence: Confidence,
    rests_on: &[Question],
    words: [&str; 2],
) -> Vec<VariantPair> {
    let mut places = compared_places(variants, |variant| (&variant.name, variant.twin_of.as_deref()));
    places.retain(|&(first, second)| rows[first].overall.runs > 0 && rows[second].overall.runs > 0);
    let confidence = confidence.of_each(places.len());
    let pair = |&(first, second): &(usize, usize)| {
        let same_thing = variants[second].twin_of.is_some();
        let (first, second) = (&rows[first], &rows[second]);
        let both = [first, second].map(|row| (row.variant.as_str(), &row.verdicts));
        match refusal(&both, rests_on) {
            Some(reason) => VariantPair::refused(first, second, same_thing, &reason),
            None => VariantPair::of(first, second, same_thing, confidence, words),
        }
    };
    places.iter().map(pair).collect()
}

impl VariantPair {
    fn refused(first: &VariantRow, second: &VariantRow, same_thing: bool, reason: &str) -> Self {
        let (by_sessions, overall) = (vec![None; first.cells.len()], None);
        let (first, second) = (first.variant.clone(), second.variant.clone());
        let verdict = format!("{second} can't be compared with {first}. {reason}");
        Self { first, second, same_thing, overall, by_sessions, verdict }
    }

    fn of(
        first: &VariantRow,
        second: &VariantRow,
        same_thing: bool,
        confidence: Confidence,
        words: [&str; 2],
    ) -> Self {
        let cells = first.cells.iter().zip(&second.cells);
        let values = cells.map(|(a, b)| (a.values.as_slice(), b.values.as_slice())).collect_vec();
        // The marks of all numbers of sessions hold together too.
        let of_each = confidence.of_each(values.len()).ratio();
        let by_sessions = values.iter().map(|(a, b)| Comparison::of(a, b, of_each)).collect();
        let over = |least: usize| {
            let repeated = values.iter().copied().filter(|(a, b)| a.len().min(b.len()) >= least);
            Comparison::over(&repeated.collect_vec(), confidence.ratio())
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
