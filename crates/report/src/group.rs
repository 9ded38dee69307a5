//! Groups of runs that are compared: how their verdicts are shown.

use slob_facts::verdicts::Worst;
use slob_facts::{Answer, GroupVerdicts, Question};

use crate::page::{Column, Page, Table};

/// A line for each group that was judged, and a sentence for each answer that is BAD or DOUBT.
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
    for answer in [Answer::Bad, Answer::Doubt] {
        for (name, verdicts) in judged() {
            verdicts.of_answer(answer).for_each(|worst| page.hanging("  -", &worst.words(name)));
        }
    }
}
