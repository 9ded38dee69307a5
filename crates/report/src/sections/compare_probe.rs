//! The same device with a database and without: what the buffer cache costs.

use slob_host::{ProbeResult, ProbeStep, StepFigures, StepKind};
use slob_record::{Record, SavedProbe};

use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::format::{fixed, micros, or_absent, or_bound, percent, plural, significant};
use crate::page::{Column, Page, Table};

/// Why there is no comparison of a run with a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    /// The record holds no probe.
    #[error(
        "the record holds no probe of its device: run `slob probe FOLDER` on the device, then the test again"
    )]
    NoProbe,
    /// The run measured nothing.
    #[error("the run ended before its measured window: there is nothing to compare")]
    NoWindow,
    /// The probe went through the page cache, or its blocks are of another size.
    #[error(
        "the probe does not fit the run: it needs direct I/O and blocks of {block_bytes} bytes; run `slob probe \
         --block-bytes {block_bytes} FOLDER`, then the test again"
    )]
    Unlike {
        /// Bytes of the run's blocks.
        block_bytes: u32,
    },
    /// No step of random reads ended well.
    #[error("no step of random reads of the probe was completed: run `slob probe FOLDER` again")]
    NoReads,
}

/// A line of the comparison. What is not known is `None`.
struct Line {
    name: String,
    iops: Option<f64>,
    mean_us: Option<f64>,
    p99_us: Option<f64>,
    p99_is_bound: bool,
    cpu_us: Option<f64>,
}

/// The three lines, and the synchronous step that the last one is compared with.
struct Comparison<'a> {
    lines: Vec<Line>,
    sync: Option<&'a StepFigures>,
    sync_sessions: Option<u32>,
}

/// How a run's reads compare with reads of the same device without a database, as Oracle's CALIBRATE_IO makes
/// them: IOPS, latency and CPU time of a read.
///
/// # Errors
/// [`NoComparison`] says what is missing, and what to do about it.
pub fn compare_probe_text(record: &Record) -> Result<String, NoComparison> {
    let figures = Figures::of(record);
    let comparison = compare(record, &figures)?;
    let mut page = Page::new();
    page.fact("Run", &record.id);
    show(&mut page, record, &figures, &comparison);
    Ok(page.into_text())
}

/// The comparison as a section; nothing if there is none.
pub(super) fn write(page: &mut Page, figures: &Figures<'_>) {
    let record = figures.record;
    if let Ok(comparison) = compare(record, figures) {
        show(page, record, figures, &comparison);
    }
}

fn compare<'a>(record: &'a Record, figures: &Figures<'_>) -> Result<Comparison<'a>, NoComparison> {
    let probe = record.probe.as_ref().ok_or(NoComparison::NoProbe)?;
    if !figures.is_measured() {
        return Err(NoComparison::NoWindow);
    }
    let block_bytes = record.server.block_bytes;
    if !probe.result.plan.direct || probe.result.plan.block_bytes != block_bytes {
        return Err(NoComparison::Unlike { block_bytes });
    }
    let sessions = record.workload.sessions();
    let queued = clean(&probe.result, StepKind::AsyncRead).max_by(|a, b| a.1.iops.total_cmp(&b.1.iops));
    let distance = |step: &ProbeStep| step.sessions_or_depth.abs_diff(sessions);
    let sync = clean(&probe.result, StepKind::SyncRead).min_by_key(|(step, _)| distance(step));
    if queued.is_none() && sync.is_none() {
        return Err(NoComparison::NoReads);
    }
    let parallel = |found: Option<(&ProbeStep, &StepFigures)>| found.map(|(step, _)| step.sessions_or_depth);
    let depth = parallel(queued).map(|depth| format!(", {depth} in flight")).unwrap_or_default();
    let beside = parallel(sync).map(|n| format!(", {}", plural(n.into(), "session"))).unwrap_or_default();
    let lines = vec![
        of_step(format!("Device, asynchronous reads{depth}"), queued),
        of_step(format!("Device, synchronous reads{beside}"), sync),
        of_database(sessions, figures),
    ];
    let sync_sessions = parallel(sync);
    Ok(Comparison { lines, sync: sync.map(|(_, figures)| figures), sync_sessions })
}

/// Steps of a kind that ran to their end.
fn clean(result: &ProbeResult, kind: StepKind) -> impl Iterator<Item = (&ProbeStep, &StepFigures)> {
    let steps = result.steps.iter().filter(move |step| step.kind == kind && step.error.is_none());
    steps.filter_map(|step| Some((step, step.figures.as_ref()?)))
}

fn of_step(name: String, found: Option<(&ProbeStep, &StepFigures)>) -> Line {
    let step = found.map(|(_, figures)| figures);
    Line {
        name,
        iops: step.map(|step| step.iops),
        mean_us: step.map(|step| step.mean_us),
        p99_us: step.map(|step| step.p99_us),
        p99_is_bound: false,
        cpu_us: step.and_then(|step| step.cpu_us_per_op),
    }
}

fn of_database(sessions: u32, figures: &Figures<'_>) -> Line {
    Line {
        name: format!("Through the database, {}", plural(sessions.into(), "session")),
        iops: figure::PHYSICAL_READS_PER_S.of(figures),
        mean_us: figure::PHYSICAL_READ_MEAN_US.of(figures),
        p99_us: figure::PHYSICAL_READ_P99_US.of(figures),
        p99_is_bound: figure::PHYSICAL_READ_P99_US.is_bound(figures),
        cpu_us: figure::DB_CPU_US_PER_PHYSICAL_READ.of(figures),
    }
}

fn show(page: &mut Page, record: &Record, figures: &Figures<'_>, comparison: &Comparison<'_>) {
    page.section("The device, and the device through the database");
    let heads = ["IOPS", "Mean us", "p99 us", "CPU us/read"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Random reads of one block")], heads.into()].concat());
    for line in &comparison.lines {
        table.row([
            line.name.clone(),
            or_absent(line.iops, |iops| fixed(iops, 0)),
            or_absent(line.mean_us, micros),
            or_bound(line.p99_us, line.p99_is_bound, micros),
            or_absent(line.cpu_us, significant),
        ]);
    }
    page.table(&table);
    costs(page, record, figures, comparison);
    if let Some(probe) = &record.probe {
        page.paragraph(&when(probe));
    }
}

/// What the difference between the last two lines is, in words.
fn costs(page: &mut Page, record: &Record, figures: &Figures<'_>, comparison: &Comparison<'_>) {
    let sync = comparison.sync;
    let share = figure::PHYSICAL_READS_PER_S
        .of(figures)
        .zip(sync)
        .and_then(|(db, sync)| ratio(100.0 * db, sync.iops));
    if let Some((share, sessions)) = share.zip(comparison.sync_sessions) {
        page.paragraph(&format!(
            "Through the database: {} % of what {} without one.",
            percent(share),
            match sessions {
                1 => "1 session reads".to_owned(),
                many => format!("{many} sessions read"),
            }
        ));
    }
    let cpu = figure::DB_CPU_US_PER_PHYSICAL_READ.of(figures).zip(sync.and_then(|sync| sync.cpu_us_per_op));
    if let Some((db, device)) = cpu {
        page.paragraph(&format!(
            "CPU: {} us for a read through the database, {} us without: the difference pays for the buffer cache, the \
             SQL, and everything else that is done with a block.",
            significant(db),
            significant(device)
        ));
    }
    if record.workload.update_pct > 0 {
        page.paragraph("The run's updates are in its CPU time, and their log and writes shared the device.");
    }
    let cached = figure::DATABASE_READS_PER_S.of(figures).zip(figure::PHYSICAL_READS_PER_S.of(figures));
    if cached.is_some_and(|(device, physical)| device < 0.95 * physical) {
        page.paragraph(NOT_COMPARABLE);
    }
}

/// What is said where a cache below the database took part.
const NOT_COMPARABLE: &str = "Caution: a cache below the database served part of its physical reads, the \
    page cache for instance. Its figures are not the device's: see the verdict 'Physical?'.";

fn when(probe: &SavedProbe) -> String {
    format!(
        "Probed in {} on {}. Latencies: of each read, as its program saw it.",
        probe.result.plan.dir.display(),
        probe.taken.strftime("%Y-%m-%d %H:%M UTC")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_device_beside_the_database() {
        insta::assert_snapshot!(compare_probe_text(&fixture::direct_read_run()).unwrap());
    }

    #[test]
    fn what_a_cache_served_is_not_compared_without_a_word() {
        let text = compare_probe_text(&fixture::page_cache_run()).unwrap();
        assert!(text.contains("Caution"), "{text}");
        assert!(!compare_probe_text(&fixture::direct_read_run()).unwrap().contains("Caution"));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(compare_probe_text(&fixture::update_run()), Err(NoComparison::NoProbe));
        let mut record = fixture::direct_read_run();
        record.server.block_bytes = 16_384;
        assert_eq!(compare_probe_text(&record), Err(NoComparison::Unlike { block_bytes: 16_384 }));
        let mut record = fixture::direct_read_run();
        record.probe.as_mut().unwrap().result.steps.clear();
        assert_eq!(compare_probe_text(&record), Err(NoComparison::NoReads));
        record.window = None;
        assert_eq!(compare_probe_text(&record), Err(NoComparison::NoWindow));
    }
}
