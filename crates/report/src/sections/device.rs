//! The device with the database and without.

use slob_host::{Flush, ProbeResult, ProbeStep, StepFigures, StepKind};
use slob_record::{Record, SavedProbe};

use super::probed::cliff_words;
use slob_facts::ceiling::commits_of_device;
use slob_facts::ceiling::probe_limits;
use slob_facts::format::{ABSENT, Format, fixed, limits, percent, plural, seconds, significant, size};
use slob_facts::measured::{device_counters, device_name, ratio};
use slob_facts::table::{Cell, Table};
use slob_facts::{Figure, Run, figure};
use slob_page::{Block, Column, Page};

pub(crate) fn above_probe(figures: &Run<'_>) -> &'static str {
    match probe_limits(figures.record) {
        Some(_) => "more than the probe, which was held back by limits: probe again without them.",
        None => "more than the probe: probe again with more sessions or depth.",
    }
}

pub(super) fn device(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    page.section("Device and database");
    let heads = ["Reads/s", "Read MB/s", "Mean us", "Writes/s", "Write MB/s", "Mean us", "Queue", "Busy %"];
    let mut table = Table::of_numbers(Column::left("").at_most(20), heads);
    let of_all = |of: &[&Figure]| of.iter().map(|figure| figure.cell(figures)).collect::<Vec<_>>();
    let mut row = |name: &str, cells: Vec<Cell>| table.row(std::iter::once(name.into()).chain(cells));
    let reads = [&figure::PHYSICAL_READS_PER_S, &figure::PHYSICAL_READ_MB_PER_S];
    let writes = [&figure::PHYSICAL_WRITES_PER_S, &figure::PHYSICAL_WRITE_MB_PER_S];
    let redo = [&figure::REDO_WRITES_PER_S, &figure::REDO_MB_PER_S];
    let nothing = || vec!["".into()];
    let reads_and_time = || of_all(&[reads.as_slice(), &[&figure::PHYSICAL_READ_MEAN_US]].concat());
    row("Database", [reads_and_time(), of_all(&writes)].concat());
    row("Redo", [nothing(), nothing(), nothing(), of_all(&redo)].concat());
    if figure::IO_PER_S.of(figures).is_some() {
        let of_both = |at: usize| Some(writes[at].of(figures)? + redo[at].of(figures)?);
        let written = vec![Format::Whole.cell(of_both(0)), Format::Tenths.cell(of_both(1))];
        row("Database and redo", [of_all(&reads), nothing(), written].concat());
    }
    row(
        &format!("Device {}", device_name(record).unwrap_or(ABSENT)),
        of_all(&[
            &figure::DEVICE_READS_PER_S,
            &figure::DEVICE_READ_MB_PER_S,
            &figure::DEVICE_READ_AWAIT_US,
            &figure::DEVICE_WRITES_PER_S,
            &figure::DEVICE_WRITE_MB_PER_S,
            &figure::DEVICE_WRITE_AWAIT_US,
            &figure::DEVICE_QUEUE,
            &figure::DEVICE_BUSY_PERCENT,
        ]),
    );
    page.table(&table);
    page.paragraph(
        "Database: blocks. Redo: writes and bytes of log. Device: requests of everybody on this host; times include \
         queueing.",
    );
    if figure::IO_PER_S.of(figures).is_some() {
        let [per_s, mb_per_s] = [&figure::IO_PER_S, &figure::IO_MB_PER_S].map(|figure| figure.show(figures));
        page.paragraph(&format!("Reads, writes and redo together: {per_s}/s, {mb_per_s} MB/s."));
    }
    if let Some(disks) = disks_below(record, figure::WINDOW_S.of(figures)) {
        page.paragraph(&disks);
    }
    if figure::REDO_SYNCS_PER_S.of(figures).is_some() {
        let mean = figure::REDO_SYNC_MEAN_US.of(figures);
        let mean = mean.map(|_| format!(", each in {} on average", figure::REDO_SYNC_MEAN_US.show(figures)));
        let share = figure::REDO_PERCENT_OF_CEILING.of(figures).zip(commits_of_device(record));
        let share = share.map(|(share, (streams, per_s))| {
            let streams = plural(streams.into(), "stream");
            let (share, per_s) = (percent(share), fixed(per_s, 0));
            format!(": {share} % of the {per_s} durable writes/s of {streams} without a database")
        });
        page.paragraph(&format!(
            "The log was flushed to stable storage {} times/s{}{}.",
            figure::REDO_SYNCS_PER_S.show(figures),
            mean.unwrap_or_default(),
            share.unwrap_or_default()
        ));
    }
}

fn disks_below(record: &Record, window_s: Option<f64>) -> Option<String> {
    let read_mb = device_counters(record)?.disk_read_bytes? as f64 / 1e6;
    let device = &record.host.as_ref()?.device.as_ref()?.device;
    let names: Vec<&str> = device.disks.iter().map(|disk| disk.id.name.as_str()).collect();
    let rate = fixed(ratio(read_mb, window_s?)?, 1);
    Some(format!("The disks below it ({}) read {rate} MB/s, for everybody.", names.join(", ")))
}

pub(super) fn probe(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    if record.probe.is_none() && record.window.is_none() {
        return;
    }
    page.section("Device without a database (probe)");
    let Some(probe) = &record.probe else {
        return page.paragraph(
            "The device has not been probed: `slob probe` shows what it can do without a database.",
        );
    };
    steps(page, probe);
    if record.window.is_some() {
        page.paragraph(&share_of_probe(figures));
    }
}

pub(super) fn steps(page: &mut Page, probe: &SavedProbe) {
    let plan = &probe.result.plan;
    let how = if plan.direct { "direct I/O" } else { "through the page cache" };
    let of_file = match plan.is_durable_only() {
        true => String::new(),
        false => format!(
            ": a file of {}, blocks of {}, {how}, {} for each step",
            size(plan.file_bytes),
            size(u64::from(plan.block_bytes)),
            seconds(plan.seconds_per_step),
        ),
    };
    let taken = probe.taken.strftime("%Y-%m-%d %H:%M UTC");
    page.paragraph(&format!("Probed on {taken} in {}{of_file}.", plan.dir.display()));
    if let Some(group) = &probe.result.limits {
        page.paragraph(&format!("These figures may be those of the probe's own limits: {}.", limits(group)));
    }
    let (durable, others): (Vec<_>, Vec<_>) =
        probe.result.steps.iter().partition(|step| step.kind.durable().is_some());
    page.table(&steps_table(others));
    if !durable.is_empty() {
        durable_writes(page, &durable);
    }
    for step in &probe.result.steps {
        let remarks = step.error.iter().chain(&step.note);
        let name = format!("{} {}", step_name(step), step.sessions_or_depth);
        remarks.for_each(|remark| page.paragraph(&format!("{name}: {remark}")));
    }
    if let Some(until) = &probe.result.until_cliff {
        page.paragraph(&cliff_words(until, plan.block_bytes));
    }
}

pub(super) fn steps_table<'a>(steps: impl IntoIterator<Item = &'a ProbeStep>) -> Table {
    let heads = ["Number", "IOPS", "MB/s", "p50 us", "p99 us", "p99.9 us", "CPU us/op"];
    let row = |step: &ProbeStep| {
        let cell = |format: Format, of: fn(&StepFigures) -> Option<f64>| {
            format.cell(step.figures.as_ref().and_then(of))
        };
        [
            step_name(step).into(),
            // A parameter has no separators.
            step.sessions_or_depth.to_string().into(),
            cell(Format::Whole, |step| Some(step.iops)),
            cell(Format::Tenths, |step| Some(step.mb_per_s)),
            cell(Format::Micros, |step| Some(step.p50_us)),
            cell(Format::Micros, |step| Some(step.p99_us)),
            cell(Format::Micros, |step| Some(step.p999_us)),
            cell(Format::Tenths, |step| step.cpu_us_per_op),
        ]
    };
    Table::of_numbers(Column::left("Step"), heads).with_rows::<Cell>(steps.into_iter().map(row))
}

/// How many commits the device can promise.
fn durable_writes(page: &mut Page, steps: &[&ProbeStep]) {
    let heads = ["Streams", "Flushes/s", "Records/s", "Mean us", "p50 us", "p99 us", "p99.9 us", "Blocks"];
    let row = |step: &&ProbeStep| {
        let cell = |format: Format, of: fn(&StepFigures) -> f64| format.cell(step.figures.as_ref().map(of));
        let records = f64::from(step.kind.durable().map_or(1, |write| write.records));
        [
            step_name(step).into(),
            step.sessions_or_depth.to_string().into(),
            cell(Format::Whole, |step| step.iops),
            Format::Whole.cell(step.figures.as_ref().map(|figures| records * figures.iops)),
            cell(Format::Micros, |step| step.mean_us),
            cell(Format::Micros, |step| step.p50_us),
            cell(Format::Micros, |step| step.p99_us),
            cell(Format::Micros, |step| step.p999_us),
            Format::Tenths.cell(step.blocks_beside_data()),
        ]
    };
    page.table(
        &Table::of_numbers(Column::left("Durable write"), heads).with_rows::<Cell>(steps.iter().map(row)),
    );
    page.paragraph(
        "A durable write is on stable storage before the next begins, as commits are: overwritten and with fdatasync, where not \
         named. Each stream has a file. Blocks: of 4 KiB that the device wrote for a flush beside the data, for the file \
         system's journal or other programs.",
    );
}

pub(super) fn step_name(step: &ProbeStep) -> String {
    match step.kind {
        StepKind::SyncRead => "random read, sessions".into(),
        StepKind::AsyncRead => "random read, in flight".into(),
        StepKind::SyncWrite => "random write, sessions".into(),
        StepKind::SequentialWrite => "sequential write".into(),
        StepKind::DurableWrite(write) => {
            let records = if write.records > 1 { format!("{} x ", write.records) } else { String::new() };
            let place = if write.appended { ", appended" } else { "" };
            let flush = if write.flush == Flush::Dsync { ", O_DSYNC" } else { "" };
            format!("{records}{}{place}{flush}", size(write.bytes.into()))
        }
    }
}

fn share_of_probe(figures: &Run<'_>) -> String {
    let reads = figure::DATABASE_READS_PER_S.of(figures).or(figure::PHYSICAL_READS_PER_S.of(figures));
    let (Some(reads), Some(ceiling)) = (reads, figure::CEILING_IOPS.of(figures)) else {
        let unknown = "This run's reads from the device are not known: there is nothing to compare.";
        let no_ceiling = "This probe is not a ceiling for this run: that needs direct I/O, the run's block size and a \
                          completed step of random reads.";
        return if figure::CEILING_IOPS.of(figures).is_some() { unknown } else { no_ceiling }.into();
    };
    let (reads, ceiling) = (fixed(reads, 0), fixed(ceiling, 0));
    let Some(share) = figure::PERCENT_OF_CEILING.of(figures) else {
        let best = format!("Its best step had {ceiling} IOPS.");
        return format!("This run had {reads} reads/s from the device, {} {best}", above_probe(figures));
    };
    let sync = figure::PERCENT_OF_SYNC.of(figures).zip(figure::SYNC_IOPS.of(figures)).map(|(share, iops)| {
        format!(
            ", {} % of the {} IOPS that {} reach without a database",
            percent(share),
            fixed(iops, 0),
            plural(u64::from(figures.record.workload.sessions()), "synchronous session"),
        )
    });
    // The ceiling does not include this work of a server.
    let checks = " The server also verifies the checksum of each block it reads, which takes CPU time that the device's \
                  ceiling does not include.";
    let checks = if figures.record.server.checks_blocks == Some(true) { checks } else { "" };
    format!(
        "This run had {reads} reads/s from the device: {} % of its ceiling of {ceiling} IOPS{}.{checks}",
        percent(share),
        sync.unwrap_or_default(),
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    #[error(
        "the record holds no probe of its device: run `slob probe FOLDER` on the device, then the test again"
    )]
    NoProbe,
    #[error("the run ended before its measured window: there is nothing to compare")]
    NoWindow,
    #[error(
        "the probe does not fit the run: it needs direct I/O and blocks of {block_bytes} bytes; run `slob probe \
         --block-bytes {block_bytes} FOLDER`, then the test again"
    )]
    Unlike { block_bytes: u32 },
    #[error("no step of random reads of the probe was completed: run `slob probe FOLDER` again")]
    NoReads,
}

/// Oracle's CALIBRATE_IO makes such reads of the device without a database.
pub fn compare_probe_text(record: &Record, columns: Option<usize>) -> Result<String, NoComparison> {
    let figures = Run::of(record);
    let probed = Probed::of(&figures)?;
    let mut page = Page::default();
    page.fact("Run", &record.id);
    comparison(&mut page, &figures, &probed);
    Ok(page.into_text(columns))
}

pub(crate) fn beside_probe(figures: &Run<'_>) -> Vec<Block> {
    let mut page = Page::default();
    if let Ok(probed) = Probed::of(figures) {
        comparison(&mut page, figures, &probed);
    }
    page.blocks
}

type Step<'a> = (&'a ProbeStep, &'a StepFigures);

struct Probed<'a> {
    probe: &'a SavedProbe,
    queued: Option<Step<'a>>,
    sync: Option<Step<'a>>,
}

impl<'a> Probed<'a> {
    fn of(figures: &Run<'a>) -> Result<Self, NoComparison> {
        let record = figures.record;
        let probe = record.probe.as_ref().ok_or(NoComparison::NoProbe)?;
        if !figures.is_measured() {
            return Err(NoComparison::NoWindow);
        }
        let block_bytes = record.server.block_bytes;
        if !probe.result.plan.direct || probe.result.plan.block_bytes != block_bytes {
            return Err(NoComparison::Unlike { block_bytes });
        }
        let sessions = record.workload.sessions();
        let [queued, sync] =
            [StepKind::AsyncRead, StepKind::SyncRead].map(|kind| completed(&probe.result, kind));
        let queued = queued.max_by(|a, b| a.1.iops.total_cmp(&b.1.iops));
        let sync = sync.min_by_key(|(step, _)| step.sessions_or_depth.abs_diff(sessions));
        if queued.is_none() && sync.is_none() {
            return Err(NoComparison::NoReads);
        }
        Ok(Self { probe, queued, sync })
    }
}

fn completed(result: &ProbeResult, kind: StepKind) -> impl Iterator<Item = Step<'_>> {
    let steps = result.steps.iter().filter(move |step| step.kind == kind && step.error.is_none());
    steps.filter_map(|step| Some((step, step.figures.as_ref()?)))
}

fn comparison(page: &mut Page, figures: &Run<'_>, probed: &Probed<'_>) {
    page.section("The device, and the device through the database");
    let heads = ["IOPS", "Mean us", "p99 us", "CPU us/read"];
    let mut table = Table::of_numbers(Column::left("Random reads of one block"), heads);
    let mut of_step = |name: String, step: Option<Step<'_>>| {
        let cell = |format: Format, of: fn(&StepFigures) -> Option<f64>| {
            format.cell(step.and_then(|(_, figures)| of(figures)))
        };
        table.row([
            name.into(),
            cell(Format::Whole, |step| Some(step.iops)),
            cell(Format::Micros, |step| Some(step.mean_us)),
            cell(Format::Micros, |step| Some(step.p99_us)),
            cell(Format::Significant, |step| step.cpu_us_per_op),
        ]);
    };
    let number = |step: Option<Step<'_>>| step.map(|(step, _)| step.sessions_or_depth);
    let depth = number(probed.queued).map(|depth| format!(", {depth} in flight")).unwrap_or_default();
    of_step(format!("Device, asynchronous reads{depth}"), probed.queued);
    let beside =
        number(probed.sync).map(|n| format!(", {}", plural(n.into(), "session"))).unwrap_or_default();
    of_step(format!("Device, synchronous reads{beside}"), probed.sync);
    let sessions = plural(figures.record.workload.sessions().into(), "session");
    let of_run = [
        &figure::PHYSICAL_READS_PER_S,
        &figure::PHYSICAL_READ_MEAN_US,
        &figure::PHYSICAL_READ_P99_US,
        &figure::DB_CPU_US_PER_PHYSICAL_READ,
    ];
    let by = if figure::PHYSICAL_READ_MEAN_US.is_kernels(figures) { ", timed by the kernel" } else { "" };
    let name = format!("Through the database, {sessions}{by}").into();
    table.row(std::iter::once(name).chain(of_run.map(|figure| figure.cell(figures))));
    page.table(&table);
    costs(page, figures, probed.sync);
    page.paragraph(&format!(
        "Probed in {} on {}. Latencies: of each read, as its program saw it.",
        probed.probe.result.plan.dir.display(),
        probed.probe.taken.strftime("%Y-%m-%d %H:%M UTC")
    ));
}

fn costs(page: &mut Page, figures: &Run<'_>, sync: Option<Step<'_>>) {
    let reads = figure::PHYSICAL_READS_PER_S.of(figures);
    if let Some((reads, (step, sync))) = reads.zip(sync)
        && let Some(share) = ratio(100.0 * reads, sync.iops)
    {
        let without = match step.sessions_or_depth {
            1 => "1 session reads".to_owned(),
            many => format!("{many} sessions read"),
        };
        page.paragraph(&format!("Through the database: {} % of what {without} without one.", percent(share)));
    }
    let of_device = sync.and_then(|(_, sync)| sync.cpu_us_per_op);
    if let Some((database, device)) = figure::DB_CPU_US_PER_PHYSICAL_READ.of(figures).zip(of_device) {
        let why = match database > device {
            true => {
                "the difference pays for the buffer cache, the SQL, and everything else that is done with a block"
            }
            false => "the two were not measured beside the same other work",
        };
        let [database, device] = [database, device].map(significant);
        page.paragraph(&format!(
            "CPU: {database} us for a read through the database, {device} us without: {why}."
        ));
    }
    if !figures.record.workload.update_pct.is_zero() {
        page.paragraph("The run's updates are in its CPU time, and their log and writes shared the device.");
    }
    let delivered = figure::DATABASE_READS_PER_S.of(figures).zip(reads);
    if delivered.is_some_and(|(delivered, reads)| delivered < 0.95 * reads) {
        page.paragraph(
            "Caution: a cache below the database served part of its physical reads, the page cache for instance. Its \
             figures are not the device's: see the verdict 'Physical?'.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_testing::records;

    #[test]
    fn the_checksums_of_a_server_are_mentioned_beside_its_share_of_the_ceiling() {
        let mut record = records::direct_read_run();
        for (checks, mentioned) in [(Some(true), true), (Some(false), false), (None, false)] {
            record.server.checks_blocks = checks;
            let words = share_of_probe(&Run::of(&record));
            assert!(words.contains(" % of its ceiling of "), "{words}");
            assert_eq!(words.contains("checksum"), mentioned, "{words}");
        }
    }

    #[test]
    fn the_device_beside_the_database() {
        insta::assert_snapshot!(compare_probe_text(&records::direct_read_run(), None).unwrap());
    }

    #[test]
    fn a_comparison_warns_of_reads_from_a_cache() {
        let text = compare_probe_text(&records::page_cache_run(), None).unwrap();
        assert!(text.contains("Caution"), "{text}");
        assert!(!compare_probe_text(&records::direct_read_run(), None).unwrap().contains("Caution"));
    }

    #[test]
    fn a_missing_comparison_has_its_reason() {
        assert_eq!(compare_probe_text(&records::update_run(), None), Err(NoComparison::NoProbe));
        let mut record = records::direct_read_run();
        record.server.block_bytes = 16_384;
        assert_eq!(compare_probe_text(&record, None), Err(NoComparison::Unlike { block_bytes: 16_384 }));
        let mut record = records::direct_read_run();
        record.probe.as_mut().unwrap().result.steps.clear();
        assert_eq!(compare_probe_text(&record, None), Err(NoComparison::NoReads));
        record.window = None;
        assert_eq!(compare_probe_text(&record, None), Err(NoComparison::NoWindow));
    }
}
