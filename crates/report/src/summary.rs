//! The lines that end a run on a terminal.

use slob_record::{Record, Status};

use crate::figure::{self, Figure, Figures};
use crate::format::{count, duration_us, fixed, or_absent, or_bound, percent, plural, seconds};
use crate::page::Page;
use crate::sections::{ABOVE_PROBE, verdict_lines};
use crate::verdicts::{Question, verdicts_by};

/// A run in about eight lines: how it ended, its key figures, its verdicts.
#[must_use]
pub fn compact_summary(record: &Record) -> String {
    let figures = Figures::of(record);
    let mut page = Page::new();
    let sessions = plural(u64::from(record.workload.sessions()), "session");
    let measured = match record.window {
        Some(window) => format!("{} measured with {sessions}", seconds(window.seconds)),
        None => "nothing was measured".into(),
    };
    page.line(&format!("Run {}: {}, {measured}", record.id, ending(&record.status)));
    if figures.is_measured() {
        page.paragraph(&load(&figures));
        page.paragraph(&cost(&figures));
    }
    // Of a run without a window there is only one thing to say.
    let says = |question| figures.is_measured() || question == Question::Complete;
    for verdict in verdicts_by(&figures).iter().filter(|verdict| says(verdict.question)) {
        verdict_lines(&mut page, verdict);
    }
    page.into_text()
}

fn ending(status: &Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Interrupted => "INTERRUPTED",
        Status::Failed { .. } => "FAILED",
    }
}

fn load(figures: &Figures<'_>) -> String {
    let rate = |figure: &Figure| or_absent(figure.of(figures), |rate| count(rate.round() as u64));
    let us = |figure: &Figure| or_bound(figure.of(figures), figure.is_bound(figures), duration_us);
    format!(
        "{} physical reads/s (mean {}, p99 {}); {} operations/s (mean {}, p99 {})",
        rate(&figure::PHYSICAL_READS_PER_S),
        us(&figure::PHYSICAL_READ_MEAN_US),
        us(&figure::PHYSICAL_READ_P99_US),
        rate(&figure::OPERATIONS_PER_S),
        us(&figure::OPERATION_MEAN_US),
        us(&figure::OPERATION_P99_US),
    )
}

fn cost(figures: &Figures<'_>) -> String {
    let share =
        |value: Option<f64>| value.map_or_else(|| "- %".into(), |share| format!("{} %", percent(share)));
    let ceiling = match figures.is_above_probe() {
        true => format!("reads from the device: {}", ABOVE_PROBE.trim_end_matches('.')),
        false => format!("{} of the device's ceiling", share(figure::PERCENT_OF_CEILING.of(figures))),
    };
    format!(
        "{} logical reads/s; {} IOPS per DB-CPU-s; {} redo MB/s; {ceiling}",
        or_absent(figure::LOGICAL_READS_PER_S.of(figures), |rate| fixed(rate, 0)),
        or_absent(figure::PHYSICAL_READS_PER_DB_CPU_S.of(figures), |rate| fixed(rate, 0)),
        or_absent(figure::REDO_MB_PER_S.of(figures), |mb| fixed(mb, 1)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_good_run() {
        insta::assert_snapshot!(compact_summary(&fixture::direct_read_run()));
    }

    #[test]
    fn a_failed_run() {
        insta::assert_snapshot!(compact_summary(&fixture::failed_run()));
    }
}
