//! What the device did when it was probed without a database.

use slob_host::{ProbeStep, StepKind};
use slob_record::{Record, SavedProbe};

use crate::figure::{self, Figures};
use crate::format::{fixed, micros, or_absent, percent, plural, seconds, size};
use crate::page::{Column, Page, Table};

/// What is said of a run with more reads than the probe's best step.
pub(crate) const ABOVE_PROBE: &str = "more than the probe: probe again with more sessions or depth.";

pub(super) fn write(page: &mut Page, figures: &Figures<'_>) {
    let record = figures.record;
    if record.probe.is_none() && record.window.is_none() {
        return;
    }
    page.section("Device without a database (probe)");
    let Some(probe) = &record.probe else {
        page.paragraph(
            "The device has not been probed: `slob probe` shows what it can do without a database.",
        );
        return;
    };
    steps(page, probe);
    if record.window.is_some() {
        page.paragraph(&shares(record, figures));
    }
}

/// What a ceiling that was measured without a server does not contain.
const CHECKED: &str = " The server also verifies the checksum of each block it reads, which takes CPU time that the device's \
    ceiling does not include.";

/// How it was probed, and what each step showed.
pub(super) fn steps(page: &mut Page, probe: &SavedProbe) {
    let plan = &probe.result.plan;
    let how = if plan.direct { "direct I/O" } else { "through the page cache" };
    page.paragraph(&format!(
        "Probed on {} in {}: a file of {}, blocks of {}, {how}, {} for each step.",
        probe.taken.strftime("%Y-%m-%d %H:%M UTC"),
        plan.dir.display(),
        size(plan.file_bytes),
        size(u64::from(plan.block_bytes)),
        seconds(plan.seconds_per_step),
    ));
    let heads = ["Number", "IOPS", "MB/s", "p50 us", "p99 us", "p99.9 us", "CPU us/op"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Step")], heads.into()].concat());
    probe.result.steps.iter().for_each(|step| table.row(row(step)));
    page.table(&table);
    for step in &probe.result.steps {
        let said = [&step.error, &step.note].into_iter().flatten();
        said.for_each(|said| page.paragraph(&format!("{} {}: {said}", name(step), step.sessions_or_depth)));
    }
}

fn name(step: &ProbeStep) -> &'static str {
    match step.kind {
        StepKind::SyncRead => "random read, sessions",
        StepKind::AsyncRead => "random read, in flight",
        StepKind::SyncWrite => "random write, sessions",
        StepKind::SequentialWrite => "sequential write",
    }
}

fn row(step: &ProbeStep) -> Vec<String> {
    let figures = step.figures.as_ref();
    let cell = |value: Option<f64>, show: fn(f64) -> String| or_absent(value, show);
    vec![
        name(step).to_owned(),
        step.sessions_or_depth.to_string(),
        cell(figures.map(|step| step.iops), |iops| fixed(iops, 0)),
        cell(figures.map(|step| step.mb_per_s), |mb| fixed(mb, 1)),
        cell(figures.map(|step| step.p50_us), micros),
        cell(figures.map(|step| step.p99_us), micros),
        cell(figures.map(|step| step.p999_us), micros),
        cell(figures.and_then(|step| step.cpu_us_per_op), |us| fixed(us, 1)),
    ]
}

/// What the run had of what the probe showed, as far as they can be compared.
fn shares(record: &Record, figures: &Figures<'_>) -> String {
    let ceiling = figure::CEILING_IOPS.of(figures);
    let reads = figure::DATABASE_READS_PER_S.of(figures).or(figure::PHYSICAL_READS_PER_S.of(figures));
    let (Some(reads), Some(ceiling)) = (reads, ceiling) else {
        return match ceiling {
            Some(_) => "This run's reads from the device are not known: there is nothing to compare.".into(),
            None => {
                "This probe is not a ceiling for this run: that needs direct I/O, the run's block size and a \
                 completed step of random reads."
                    .into()
            }
        };
    };
    let (reads, ceiling) = (fixed(reads, 0), fixed(ceiling, 0));
    let Some(share) = figure::PERCENT_OF_CEILING.of(figures) else {
        return format!(
            "This run had {reads} reads/s from the device, {ABOVE_PROBE} Its best step had {ceiling} IOPS."
        );
    };
    let sync = figure::PERCENT_OF_SYNC.of(figures).zip(figure::SYNC_IOPS.of(figures)).map(|(share, iops)| {
        format!(
            ", {} % of the {} IOPS that {} reach without a database",
            percent(share),
            fixed(iops, 0),
            plural(u64::from(record.workload.sessions()), "synchronous session"),
        )
    });
    format!(
        "This run had {reads} reads/s from the device: {} % of its ceiling of {ceiling} IOPS{}.{}",
        percent(share),
        sync.unwrap_or_default(),
        if record.server.checks_blocks == Some(true) { CHECKED } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_server_that_checks_each_block_is_told_beside_its_share_of_the_ceiling() {
        let mut record = fixture::direct_read_run();
        for (checks, told) in [(Some(true), true), (Some(false), false), (None, false)] {
            record.server.checks_blocks = checks;
            let shares = shares(&record, &Figures::of(&record));
            assert!(shares.contains(" % of its ceiling of "), "{shares}");
            assert_eq!(shares.contains("checksum"), told, "{shares}");
        }
    }
}
