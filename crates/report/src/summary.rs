//! The lines that end a run on a terminal.

use slob_record::{Record, Status};

use crate::figures::Figures;
use crate::format::{count, duration_us, fixed, or_absent, or_bound, percent, plural, seconds};
use crate::text::{ABOVE_PROBE, Page, verdict_lines};
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
    if figures.window_s.is_some() {
        page.paragraph(&load(&figures));
        page.paragraph(&cost(&figures));
    }
    // Of a run without a window there is only one thing to say.
    let says = |question| figures.window_s.is_some() || question == Question::Complete;
    for verdict in verdicts_by(record, &figures).iter().filter(|verdict| says(verdict.question)) {
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

fn load(figures: &Figures) -> String {
    let (load, latency) = (&figures.load, &figures.latency);
    let rate = |value: Option<f64>| or_absent(value, |rate| count(rate.round() as u64));
    let us = |value| or_absent(value, duration_us);
    format!(
        "{} physical reads/s (mean {}, p99 {}); {} operations/s (mean {}, p99 {})",
        rate(load.physical_reads_per_s),
        us(latency.physical_read_mean_us),
        or_bound(latency.physical_read_p99_us, latency.physical_read_is_bound, duration_us),
        rate(load.operations_per_s),
        us(latency.operation_mean_us),
        us(latency.operation_p99_us),
    )
}

fn cost(figures: &Figures) -> String {
    let share =
        |value: Option<f64>| value.map_or_else(|| "- %".into(), |share| format!("{} %", percent(share)));
    let ceiling = match figures.probe.run_is_above_probe {
        true => format!("reads from the device: {}", ABOVE_PROBE.trim_end_matches('.')),
        false => format!("{} of the device's ceiling", share(figures.probe.percent_of_ceiling)),
    };
    format!(
        "{} logical reads/s; {} IOPS per DB-CPU-s; {} redo MB/s; {ceiling}",
        or_absent(figures.load.logical_reads_per_s, |rate| fixed(rate, 0)),
        or_absent(figures.cpu.physical_reads_per_db_cpu_s, |rate| fixed(rate, 0)),
        or_absent(figures.load.redo_mb_per_s, |mb| fixed(mb, 1)),
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
