//! What the device did when it was probed without a database.

use slob_host::{ProbeStep, StepKind};
use slob_record::{Record, SavedProbe};

use super::Page;
use super::table::{Column, Table};
use crate::figures::Figures;
use crate::format::{ABSENT, fixed, micros, or_absent, percent, seconds, size};

pub(super) fn write(page: &mut Page, record: &Record, figures: &Figures) {
    if record.probe.is_none() && record.window.is_none() {
        return;
    }
    page.section("Device without a database (probe)");
    let Some(probe) = &record.probe else {
        page.paragraph("The device has not been probed: `slob probe` shows what it can do by itself.");
        return;
    };
    steps(page, probe);
    shares(page, record, figures);
}

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

fn shares(page: &mut Page, record: &Record, figures: &Figures) {
    let probe = &figures.probe;
    let rate = |value| or_absent(value, |rate| fixed(rate, 0));
    let share =
        |value: Option<f64>| value.map_or_else(|| ABSENT.into(), |share| format!("{} %", percent(share)));
    let reads = figures.device.database_reads_per_s.or(figures.load.physical_reads_per_s);
    page.paragraph(&format!(
        "This run had {} reads/s from the device: {} of its ceiling of {} IOPS, {} of the {} IOPS that {} \
         synchronous sessions reach without a database.",
        rate(reads),
        share(probe.percent_of_ceiling),
        rate(probe.ceiling_iops),
        share(probe.percent_of_sync),
        rate(probe.sync_iops),
        record.workload.sessions(),
    ));
}
