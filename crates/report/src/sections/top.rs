//! What a reader wants first: the verdicts and the few figures that the field compares.

use super::probe::ABOVE_PROBE;
use crate::figure::{self, Figure, Figures};
use crate::format::{duration_us, fixed, or_bound, percent};
use crate::page::{Column, Page, Table};
use crate::verdicts::Verdict;

pub(super) fn verdicts(page: &mut Page, verdicts: &[Verdict]) {
    page.section("Verdicts");
    for verdict in verdicts {
        verdict_lines(page, verdict);
        for detail in &verdict.details {
            page.hanging(&format!("{:<22} -", ""), detail);
        }
    }
}

/// A verdict without its details.
pub(crate) fn verdict_lines(page: &mut Page, verdict: &Verdict) {
    let head = format!("  {:<11} {:<8}", verdict.question.title(), verdict.answer.word());
    page.hanging(&head, &verdict.sentence);
}

pub(super) fn key_figures(page: &mut Page, figures: &Figures<'_>) {
    page.section("Key figures");
    let show = |figure: &Figure, show: fn(f64) -> String| {
        or_bound(figure.of(figures), figure.is_bound(figures), show)
    };
    let rate: fn(f64) -> String = |rate| fixed(rate, 0);
    let columns: [(&str, String); 7] = [
        ("Physical reads/s (IOPS)", show(&figure::PHYSICAL_READS_PER_S, rate)),
        ("Operations/s", show(&figure::OPERATIONS_PER_S, rate)),
        ("p99 of an operation", show(&figure::OPERATION_P99_US, duration_us)),
        ("p99 of a phys. read", show(&figure::PHYSICAL_READ_P99_US, duration_us)),
        ("IOPS per DB-CPU-s", show(&figure::PHYSICAL_READS_PER_DB_CPU_S, rate)),
        ("Redo MB/s", show(&figure::REDO_MB_PER_S, |mb| fixed(mb, 1))),
        ("% of device's ceiling", show(&figure::PERCENT_OF_CEILING, percent)),
    ];
    let mut table = Table::new(columns.each_ref().map(|(title, _)| Column::right(title).at_most(12)));
    table.row(columns.map(|(_, value)| value));
    page.table(&table);
    if figures.is_above_probe() {
        page.paragraph(&format!("Reads from the device: {ABOVE_PROBE}"));
    }
}
