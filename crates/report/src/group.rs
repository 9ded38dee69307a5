//! Groups of runs that are judged and compared together.

use jiff::Timestamp;
use slob_facts::verdicts::{Worst, refusal};
use slob_facts::{Figure, Grade, GroupVerdicts, Judged, Question, Run, figure};
use slob_record::Record;

use crate::page::{Column, Page, Table};

/// The record has no series.
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

    /// Runs with different settings are no repeats, and their mean is of nothing.
    pub(crate) fn unlike(&self) -> Option<String> {
        let set = figure::ALL.iter().filter(|figure| figure.is_of_workload());
        let differs = |figure: &Figure| {
            let mut values: Vec<String> = Vec::new();
            for value in self.runs.iter().map(|run| figure.cell(run).show()) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            (values.len() > 1).then(|| format!("{} ({})", figure.name, values.join(", ")))
        };
        let differing: Vec<String> = set.filter_map(differs).collect();
        (!differing.is_empty()).then(|| format!("{} differ in {}", self.name, differing.join(", ")))
    }

    /// A mean over some of the runs must not look like one over all, nor equal bounds of buckets like no noise.
    pub(crate) fn is_comparable(&self, figure: &Figure) -> bool {
        self.runs.iter().all(|run| figure.of(run).is_some() && !figure.is_bound(run))
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.runs.iter().map(|run| run.record.id.clone()).collect()
    }
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
        for (name, verdicts) in judged() {
            verdicts.of_answer(answer).for_each(|worst| page.hanging("  -", &worst.words(name)));
        }
    }
}
