//! Groups of runs that are judged and compared together.

use itertools::Itertools;
use jiff::Timestamp;
use slob_facts::format::fixed;
use slob_facts::verdicts::{Worst, refusal};
use slob_facts::{Figure, Grade, GroupVerdicts, Judged, Lead, Question, Run, figure};
use slob_record::Record;
use slob_stats::summary::{coefficient_of_variation, maximum, mean, mean_interval, minimum};

use crate::change::{Confidence, shown_percent};
use slob_page::{Column, Page, Table};

/// `xfs-read-1x8-r3` is `xfs-read-1x8`.
pub(crate) fn without_repeat(name: &str) -> &str {
    match name.rsplit_once("-r") {
        Some((rest, repeat)) if repeat.parse::<u32>().is_ok() => rest,
        _ => name,
    }
}

#[derive(Clone, Debug)]
pub struct JudgedRun {
    pub(crate) record: Record,
    pub(crate) verdicts: Vec<Judged>,
}

impl JudgedRun {
    pub fn of(figures: &Run<'_>) -> Self {
        Self { record: figures.record.clone(), verdicts: figures.judged().to_vec() }
    }

    pub fn id(&self) -> &str {
        &self.record.id
    }

    pub fn started(&self) -> Timestamp {
        self.record.started
    }

    pub fn lead(&self) -> Lead {
        Run::of(&self.record).lead()
    }
}

pub(crate) struct Group<'a> {
    pub(crate) name: String,
    pub(crate) runs: Vec<Run<'a>>,
    pub(crate) verdicts: GroupVerdicts,
}

impl<'a> Group<'a> {
    pub(crate) fn of(name: &str, records: &'a [Record]) -> Self {
        Self::new(name, records.iter().map(Run::of).collect())
    }

    pub(crate) fn of_judged(name: &str, runs: &'a [JudgedRun]) -> Self {
        let run = |run: &'a JudgedRun| Run::judged_before(&run.record, run.verdicts.clone());
        Self::new(name, runs.iter().map(run).collect())
    }

    fn new(name: &str, runs: Vec<Run<'a>>) -> Self {
        let verdicts = GroupVerdicts::of(runs.iter().map(|run| (run.record.id.as_str(), run.judged())));
        Self { name: name.to_owned(), runs, verdicts }
    }

    pub(crate) fn lead(&self) -> Lead {
        Lead::of_all(self.runs.iter().map(|run| run.lead()))
    }

    pub(crate) fn values(&self, figure: &Figure) -> Vec<f64> {
        self.runs.iter().filter_map(|run| figure.of(run)).collect()
    }

    /// Fails with the reason why the runs can't be judged by the figure.
    pub(crate) fn known(&self, figure: &Figure) -> Result<Vec<f64>, String> {
        if let Some(refusal) = refusal(&[(&self.name, &self.verdicts)], figure.rests_on) {
            return Err(refusal);
        }
        if let Some(unlike) = self.unlike() {
            return Err(format!("{unlike}: name repeats of one test"));
        }
        let value = |run: &Run<'_>| {
            figure.of(run).ok_or_else(|| format!("{} does not know {}", run.record.id, figure.name))
        };
        self.runs.iter().map(value).collect()
    }

    /// Says of the first run with that answer what is not known.
    pub(crate) fn unknown_words(&self, question: Question) -> Option<String> {
        self.runs.iter().find_map(|run| {
            let is_unknown =
                |judged: &&Judged| judged.question == question && judged.answer == Grade::Unknown;
            run.judged()
                .iter()
                .find(is_unknown)
                .map(|judged| format!("{}: {}", run.record.id, judged.words()))
        })
    }

    /// Runs with different settings are no repeats, and their mean is of nothing.
    pub(crate) fn unlike(&self) -> Option<String> {
        let set = figure::ALL.iter().filter(|figure| figure.is_of_workload());
        let differs = |figure: &Figure| {
            let values = self.runs.iter().map(|run| figure.cell(run).show()).unique().collect_vec();
            (values.len() > 1).then(|| format!("{} ({})", figure.name, values.join(", ")))
        };
        let differing = set.filter_map(differs).join(", ");
        (!differing.is_empty()).then(|| format!("{} differ in {differing}", self.name))
    }

    /// A mean over some of the runs must not look like one over all, nor equal bounds of buckets like no noise.
    pub(crate) fn is_comparable(&self, figure: &Figure) -> bool {
        self.runs.iter().all(|run| figure.of(run).is_some() && !figure.is_bound(run))
    }

    pub(crate) fn records(&self) -> Vec<&'a Record> {
        self.runs.iter().map(|run| run.record).collect()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.runs.iter().map(|run| run.record.id.clone()).collect()
    }
}

/// False if the kernel timed some runs, and the database others.
pub(crate) fn is_one_clock<'r, 'a: 'r>(runs: impl Iterator<Item = &'r Run<'a>>, figure: &Figure) -> bool {
    runs.map(|run| figure.is_kernels(run)).all_equal()
}

/// Why values of the figure can't be told apart by their size, if so.
pub(crate) fn not_alike<'r, 'a: 'r>(
    runs: impl Iterator<Item = &'r Run<'a>> + Clone,
    figure: &Figure,
) -> Option<String> {
    let name = figure.name;
    if runs.clone().any(|run| figure.is_bound(run)) {
        return Some(format!("{name} is the upper bound of one of the database's wide buckets"));
    }
    (!is_one_clock(runs, figure))
        .then(|| format!("the kernel timed {name} of some runs, the database that of others"))
}

pub(crate) fn write_verdicts(page: &mut Page, groups: &[(&str, &GroupVerdicts)]) {
    let judged = || groups.iter().filter(|(_, verdicts)| !verdicts.is_empty());
    if judged().next().is_none() {
        return;
    }
    let titles = Question::ALL.map(|question| Column::left(question.title()));
    let mut table = Table::new([&[Column::left("Verdicts").at_most(30)][..], &titles].concat());
    for (name, verdicts) in judged() {
        let cell = |question| verdicts.worst(question).map_or_else(String::new, Worst::cell);
        table.row([(*name).to_owned()].into_iter().chain(Question::ALL.map(cell)));
    }
    page.table(&table);
    for answer in [Grade::Bad, Grade::Doubt] {
        judged().for_each(|(name, verdicts)| {
            page.list(verdicts.of_answer(answer).map(|worst| worst.words(name)));
        });
    }
}

/// A figure that a BAD verdict forbids has the reason instead of a mean.
pub fn repeats_text(name: &str, records: &[Record], columns: Option<usize>) -> String {
    let group = Group::of(name, records);
    let mut page = Page::default();
    page.section(&format!("{} runs of {name}", records.len()));
    write_verdicts(&mut page, &[(name, &group.verdicts)]);
    let heads = ["Mean", "Smallest", "Largest", "CV %", "Noise %"];
    let mut table = Table::of_numbers(Column::left("Figure"), heads);
    let mut refused = Vec::new();
    for figure in group.lead().key_in_rows() {
        let values = match group.known(figure) {
            Ok(values) => values,
            Err(why) => {
                refused.push(format!("{}: {why}.", figure.heading));
                continue;
            }
        };
        let Some(mean) = mean(&values) else { continue };
        let shown = |value: Option<f64>| value.map(|value| figure.in_unit(value)).unwrap_or_default();
        let interval = mean_interval(&values, Confidence::default().ratio());
        let noise = interval.map(|(low, high)| 100.0 * (high - low) / 2.0 / mean);
        table.row([
            figure.heading.to_owned(),
            shown(Some(mean)),
            shown(minimum(&values)),
            shown(maximum(&values)),
            coefficient_of_variation(&values).map(|cv| fixed(100.0 * cv, 1)).unwrap_or_default(),
            noise.filter(|noise| noise.is_finite()).map(shown_percent).unwrap_or_default(),
        ]);
    }
    page.table(&table);
    page.list(refused);
    page.paragraph(&format!(
        "The mean of more such runs lies within the noise of this one, at {} % confidence. Compare: `slob compare {name} OTHER`.",
        fixed(100.0 * Confidence::default().ratio(), 0)
    ));
    page.into_text(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_testing::records;

    #[test]
    fn repeats_of_a_crowded_run_show_responses_before_operations() {
        let text = repeats_text("full", &[records::crowded_run(), records::crowded_run()], None);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
        assert!(
            at("p99 of a response") < at("p99 of an operation")
                && at("p99 of an operation") < at("In flight")
        );
    }

    #[test]
    fn repeats_have_a_mean_a_spread_and_a_noise_and_bad_ones_a_reason() {
        let good = [records::direct_read_run(), records::direct_read_run()];
        let text = repeats_text("raw", &good, None);
        assert!(text.contains("2 runs of raw") && text.contains("Noise %"), "{text}");
        let bad = [records::direct_read_run(), records::page_cache_run()];
        let text = repeats_text("raw", &bad, None);
        assert!(text.contains("Physical? of raw is BAD (1 of 2 runs"), "{text}");
    }
}
