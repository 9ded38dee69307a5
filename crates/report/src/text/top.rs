//! What a reader wants first: the verdicts and the few figures that the field compares.

use super::Page;
use super::probe::ABOVE_PROBE;
use super::table::{Column, Table};
use crate::figures::Figures;
use crate::format::{duration_us, fixed, or_absent, or_bound, percent};
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

pub(super) fn key_figures(page: &mut Page, figures: &Figures) {
    page.section("Key figures");
    let (load, latency) = (&figures.load, &figures.latency);
    let rate = |value| or_absent(value, |rate| fixed(rate, 0));
    let columns: [(&str, String); 7] = [
        ("Physical reads/s (IOPS)", rate(load.physical_reads_per_s)),
        ("Operations/s", rate(load.operations_per_s)),
        ("p99 of an operation", or_absent(latency.operation_p99_us, duration_us)),
        (
            "p99 of a phys. read",
            or_bound(latency.physical_read_p99_us, latency.physical_read_is_bound, duration_us),
        ),
        ("IOPS per DB-CPU-s", rate(figures.cpu.physical_reads_per_db_cpu_s)),
        ("Redo MB/s", or_absent(load.redo_mb_per_s, |mb| fixed(mb, 1))),
        ("% of device's ceiling", or_absent(figures.probe.percent_of_ceiling, percent)),
    ];
    let mut table = Table::new(columns.each_ref().map(|(title, _)| Column::right(title).at_most(12)));
    table.row(columns.map(|(_, value)| value));
    page.table(&table);
    if figures.probe.run_is_above_probe {
        page.paragraph(&format!("Reads from the device: {ABOVE_PROBE}"));
    }
}
