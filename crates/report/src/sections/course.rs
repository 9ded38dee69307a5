//! The course of a run: endpoints and their hosts, slices of the window, sessions, losses, marks, the server's own report.

use std::cmp::Ordering;

use itertools::Itertools;
use slob_host::DeviceCounters;
use slob_measure::Counter;
use slob_record::{DeviceRecord, EndpointRecord, Interval, LossRecord, Mark, ObservedRecord, Record};
use slob_stats::{Merge, summary};

use slob_facts::format::{ABSENT, Format, count, duration_us, fixed, or_absent};
use slob_facts::measured::{
    Role, alike, merged, percentile_us, ratio, server_used_percent, session_mean_us, throttled_percent,
    window_intervals,
};
use slob_facts::table::{Cell, Table};
use slob_facts::{Run, figure};
use slob_page::{Column, Page};

pub(super) fn endpoints(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    let (false, Some(window)) = (record.endpoints.is_empty(), record.window) else { return };
    page.section("Endpoints");
    let (operations, redo) = (figure::OPERATIONS_PER_S.short, figure::REDO_MB_PER_S.short);
    let heads = ["Sessions", operations, "p50 us", "p99 us", "Logical/s", "Physical/s", redo];
    let row = |endpoint: &EndpointRecord| {
        let latency = merged(endpoint.operations.values().map(|kind| &kind.latency));
        let counted = |name| Some(endpoint.counters.as_ref()?.get(name)? as f64 / window.seconds);
        [
            endpoint.endpoint.as_str().into(),
            u64::from(endpoint.sessions).into(),
            Format::Whole.cell(latency.count() as f64 / window.seconds),
            Format::Micros.cell(percentile_us(&latency, 50.0)),
            Format::Micros.cell(percentile_us(&latency, 99.0)),
            Format::Whole.cell(counted(Counter::LogicalReads)),
            Format::Whole.cell(counted(Counter::PhysicalReads)),
            Format::Tenths.cell(counted(Counter::RedoBytes).map(|bytes| bytes / 1e6)),
        ]
    };
    let table = Table::of_numbers(Column::left("Endpoint").at_most(32), heads);
    page.table(&table.with_rows::<Cell>(record.endpoints.iter().map(row)));
    for EndpointRecord { endpoint, shares_with, .. } in &record.endpoints {
        if let Some(first) = shares_with {
            page.paragraph(&format!(
                "{endpoint} is the same server as {first}; its counters stand for both."
            ));
        }
    }
}

pub(super) fn hosts(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    if record.observed.len() < 2 {
        return;
    }
    // A server without figures comes last.
    let nearest = |a: &&ObservedRecord, b: &&ObservedRecord| {
        limits(b).partial_cmp(&limits(a)).unwrap_or(Ordering::Equal)
    };
    let servers = record.observed.iter().sorted_by(nearest).collect_vec();
    let table = |page: &mut Page, heads: [&str; 7], cells: fn(&ObservedRecord) -> [Cell; 7]| {
        let row = |server: &&ObservedRecord| {
            let name = server.endpoint.as_deref().unwrap_or_default().into();
            std::iter::once(name).chain(cells(server)).collect::<Vec<Cell>>()
        };
        let name = Column::left("Endpoint").at_most(20);
        page.table(&Table::of_numbers(name, heads).with_rows(servers.iter().map(row)));
    };
    page.section("Hosts of the endpoints");
    let heads = ["Host CPU %", "Server CPUs", "May use", "Used %", "Held up %", "Held up s", "Trip ms"];
    table(page, heads, host_cpu_cells);
    page.paragraph(
        "The first one came nearest to a limit: of its host's CPUs, of those that the server may use, or of its device's \
         time. Held up: in percent of its quota's periods, and in seconds summed over CPUs (throttling). Trip: the host was looked at \
         within that time of each edge of the window.",
    );
    page.line("");
    let heads = ["Reads/s", "Read MB/s", "Mean us", "Writes/s", "Busy %", "Log writes/s", "Log MB/s"];
    table(page, heads, host_device_cells);
    page.paragraph(
        "Reads and writes: of the device behind the data, for everybody on that host. Log: of the device behind the log, where \
         that is another one.",
    );
}

fn host_cpu_cells(server: &ObservedRecord) -> [Cell; 7] {
    let used = server.cpu.zip(server.seconds).and_then(|(cpu, seconds)| ratio(cpu.total_s(), seconds));
    [
        Format::Percent.cell(host_busy(server)),
        Format::Hundredths.cell(used),
        Format::Hundredths.cell(server.cpus),
        Format::Percent.cell(server_used_percent(server)),
        Format::Percent.cell(throttled_percent(server)),
        Format::Tenths.cell(server.group.and_then(|group| group.throttled_s)),
        Format::Tenths.cell(server.round_trip_s.map(|trip_s| 1e3 * trip_s)),
    ]
}

fn host_device_cells(server: &ObservedRecord) -> [Cell; 7] {
    type Of = fn(&DeviceCounters, f64) -> Option<f64>;
    let rate = |device: Option<&DeviceRecord>, of: Of| {
        let counters = device.and_then(|device| device.counters);
        counters.zip(server.seconds).and_then(|(counters, seconds)| of(&counters, seconds))
    };
    let data = |of: Of| rate(server.device.as_ref(), of);
    let log = |format: Format, of: Of| match &server.log_device {
        Some(log) => format.cell(rate(Some(log), of)),
        None => "".into(),
    };
    let mean_us = server.device.as_ref().and_then(|device| device.counters?.used.mean_read_us());
    [
        Format::Whole.cell(data(|device, s| device.used.reads_per_s(s))),
        Format::Tenths.cell(data(|device, s| device.used.read_mb_per_s(s))),
        Format::Micros.cell(mean_us),
        Format::Whole.cell(data(|device, s| device.used.writes_per_s(s))),
        Format::Percent.cell(device_busy(server)),
        log(Format::Whole, |device, s| device.used.writes_per_s(s)),
        log(Format::Tenths, |device, s| device.used.write_mb_per_s(s)),
    ]
}

fn host_busy(server: &ObservedRecord) -> Option<f64> {
    server.host_cpu?.busy_percent()
}

fn device_busy(server: &ObservedRecord) -> Option<f64> {
    server.device.as_ref()?.counters?.used.utilisation_percent(server.seconds?)
}

/// In percent, the highest first: servers of one host differ by the others.
fn limits(server: &ObservedRecord) -> Vec<f64> {
    let shares = [host_busy(server), server_used_percent(server), device_busy(server)];
    shares.into_iter().flatten().sorted_by(|a, b| b.total_cmp(a)).collect()
}

pub(super) fn slices(page: &mut Page, figures: &Run<'_>) {
    const SLICES: usize = 10;
    let intervals = window_intervals(figures.record);
    if intervals.is_empty() {
        return;
    }
    page.section("The window in slices");
    let (operations, redo) = (figure::OPERATIONS_PER_S.short, figure::REDO_MB_PER_S.short);
    let device = figure::DEVICE_READS_PER_S.short;
    let heads = [operations, "p50 us", "p99 us", "Phys. reads/s", redo, "Host CPU %", device];
    let columns = heads.map(|head| Column::right(head).at_most(12));
    let table = Table::new(std::iter::once(Column::left("From second")).chain(columns));
    let slices = intervals.chunks(intervals.len().div_ceil(SLICES));
    page.table(&table.with_rows(slices.map(|slice| slice_row(slice, figures.record.series.width_s()))));
}

fn slice_row(intervals: &[(u64, Option<&Interval>)], width_s: u64) -> [Cell; 8] {
    let mut sum = Interval::default();
    intervals.iter().filter_map(|(_, interval)| *interval).for_each(|interval| sum.merge(interval));
    let seconds = (intervals.len() as u64 * width_s) as f64;
    // Samples are a little off the seconds: their rates are over the time between them.
    let per_s = |amount: Option<u64>| amount.zip(sum.sampled_s).and_then(|(n, s)| ratio(n as f64, s));
    [
        intervals[0].0.to_string().into(),
        Format::Whole.cell(ratio(sum.ops.total() as f64, seconds)),
        Format::Micros.cell(percentile_us(&sum.latency, 50.0)),
        Format::Micros.cell(percentile_us(&sum.latency, 99.0)),
        Format::Whole.cell(per_s(sum.physical_reads)),
        Format::Tenths.cell(per_s(sum.redo_bytes).map(|bytes| bytes / 1e6)),
        Format::Percent.cell(sum.host_cpu.and_then(|cpu| cpu.busy_percent())),
        Format::Whole.cell(per_s(sum.device.map(|device| device.reads))),
    ]
}

pub(super) fn sessions(page: &mut Page, figures: &Run<'_>) {
    /// From this spread on the slowest session is named.
    const WIDE_PERCENT: f64 = 20.0;
    const ERRORS: usize = 5;
    let record = figures.record;
    if record.sessions.is_empty() {
        return;
    }
    page.section("Sessions");
    let heads = ["Least", "Median", "Most", "Spread %"];
    let mut table = Table::of_numbers(Column::left(""), heads);
    let mut is_wide = false;
    for (role, sessions) in alike(record) {
        let of_role = role.map_or("", |role| match role {
            Role::Reader => ", readers",
            Role::Writer => ", writers",
        });
        let operations = sessions.iter().map(|session| session.operations() as f64).collect_vec();
        let means = sessions.iter().filter_map(|session| session_mean_us(record, session)).collect_vec();
        table.row(spread_row(&format!("Operations{of_role}"), &operations, Format::Whole));
        table.row(spread_row(&format!("Mean latency (us){of_role}"), &means, Format::Micros));
        let window_us = figure::WINDOW_S.of(figures).map(|seconds| seconds * 1e6);
        let waiting =
            sessions.iter().filter_map(|session| ratio(100.0 * session.waiting_us? as f64, window_us?));
        let waiting = waiting.collect_vec();
        if !waiting.is_empty() {
            let name = format!("Waiting outside operations (%){of_role}");
            table.row(spread_row(&name, &waiting, Format::Percent));
        }
        is_wide |= spread_percent(&means).is_some_and(|spread| spread > WIDE_PERCENT);
    }
    page.table(&table);
    let sessions = || record.sessions.iter();
    let by_mean = sessions().filter_map(|session| Some((session, session_mean_us(record, session)?)));
    let slowest = by_mean.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((session, mean)) = slowest.filter(|_| is_wide) {
        page.paragraph(&format!(
            "Slowest: session {} on schema {}, {} for an operation, longest {}.",
            session.session,
            session.schema,
            duration_us(mean),
            or_absent(session.max_us, duration_us)
        ));
    }
    let failed = || sessions().filter_map(|session| Some((session.session, session.error.as_ref()?)));
    for (session, error) in failed().take(ERRORS) {
        page.paragraph(&format!("Session {session} ended with an error: {error}"));
    }
    let more = failed().count().saturating_sub(ERRORS);
    if more > 0 {
        page.paragraph(&format!("{more} more sessions ended with errors."));
    }
}

fn spread_row(name: &str, values: &[f64], format: Format) -> [Cell; 5] {
    let [least, median, most] = [summary::minimum(values), summary::median(values), summary::maximum(values)]
        .map(|of| format.cell(of));
    [name.into(), least, median, most, Format::Percent.cell(spread_percent(values))]
}

fn spread_percent(values: &[f64]) -> Option<f64> {
    let (least, most) = (summary::minimum(values)?, summary::maximum(values)?);
    ratio(100.0 * (most - least), summary::median(values)?)
}

pub(super) fn losses(page: &mut Page, figures: &Run<'_>) {
    const SHOWN: usize = 20;
    let record = figures.record;
    let Some(first) = record.losses.first() else { return };
    page.section("Lost sessions");
    let outages = record.losses.iter().filter_map(|loss| Some(loss.back_s? - loss.at_s)).collect_vec();
    page.paragraph(&format!(
        "{} {} of a session's database, the first {} s after the start; {} reconnected, after {} s at most. \
         Operations under way at that moment failed; sessions that reconnected repeated them.",
        count(record.losses.len() as u64),
        if record.losses.len() == 1 { "loss" } else { "losses" },
        fixed(first.at_s, 1),
        count(outages.len() as u64),
        fixed(outages.iter().copied().fold(0.0, f64::max), 2)
    ));
    let [at, session, after] = ["At s", "Session", "Back after s"].map(Column::right);
    let [endpoint, on] = ["Endpoint", "On"].map(|head| Column::left(head).at_most(24));
    let columns = [at, session, endpoint, after, on, Column::left("Error").at_most(40)];
    let rows = record.losses.iter().take(SHOWN).map(|loss| loss_row(record, loss));
    page.table(&Table::new(columns).with_rows(rows));
    more_in_record(page, record.losses.len(), SHOWN);
}

fn loss_row(record: &Record, loss: &LossRecord) -> [String; 6] {
    let name = |index: u32| {
        let endpoint = record.endpoints.get(index as usize);
        endpoint.map_or_else(|| ABSENT.to_owned(), |endpoint| endpoint.endpoint.clone())
    };
    let after = loss.back_s.map(|back_s| fixed(back_s - loss.at_s, 2));
    // A refusal that keeps a session away is more telling than the loss itself.
    let error = loss.refused.as_ref().filter(|_| loss.back_s.is_none()).unwrap_or(&loss.error);
    [
        fixed(loss.at_s, 2),
        loss.session.to_string(),
        name(loss.endpoint),
        after.unwrap_or_else(|| "never".to_owned()),
        or_absent(loss.back_endpoint, name),
        error.clone(),
    ]
}

fn more_in_record(page: &mut Page, all: usize, shown: usize) {
    if all > shown {
        page.paragraph(&format!("{} more are in run.json.", all - shown));
    }
}

pub(super) fn marks(page: &mut Page, figures: &Run<'_>) {
    const SHOWN: usize = 40;
    let record = figures.record;
    if record.marks.is_empty() {
        return;
    }
    page.section("Marks");
    let columns = [Column::right("At s"), Column::left("In the window"), Column::left("Mark").at_most(70)];
    let row = |mark: &Mark| [fixed(mark.at_s, 1), place_in_window(record, mark), mark.text.clone()];
    page.table(&Table::new(columns).with_rows(record.marks.iter().take(SHOWN).map(row)));
    more_in_record(page, record.marks.len(), SHOWN);
}

fn place_in_window(record: &Record, mark: &Mark) -> String {
    match record.window {
        Some(window) if mark.at_s < window.begin_s => "before it".to_owned(),
        Some(window) if mark.at_s < window.begin_s + window.seconds => {
            format!("second {}", fixed(mark.at_s - window.begin_s, 1))
        }
        Some(_) => "after it".to_owned(),
        None => "there is none".to_owned(),
    }
}

pub(super) fn server_report(page: &mut Page, figures: &Run<'_>) {
    /// The intervals of both do not begin and end at the same moments.
    const AGREE_PERCENT: f64 = 5.0;
    let record = figures.record;
    let Some(report) = &record.server_report else { return };
    page.section("The server's own report");
    let [first, last] = report.snapshots;
    page.fact("Kind", &format!("{}, snapshots {first} and {last}", report.kind));
    if !report.files.is_empty() {
        page.fact("Files", &format!("{}, beside the record", report.files.join(", ")));
    }
    if let Some((seconds, window)) = report.seconds.zip(record.window) {
        page.fact("Seconds", &format!("{}; the window has {}", fixed(seconds, 1), fixed(window.seconds, 1)));
    }
    if report.pairs.is_empty() {
        return;
    }
    let window = record.window.filter(|_| report.seconds.is_some());
    if window.is_some_and(|window| !report.covers(window.seconds)) {
        page.paragraph("Report and window cover different times: their figures are not compared.");
        return;
    }
    let table = Table::of_numbers(Column::left("Figure"), ["This run", "Server's report", "Difference %"]);
    page.table(&table.with_rows(report.pairs.iter().map(|pair| {
        let [ours, reported] = [pair.ours, pair.reported].map(|value| Format::Significant.cell(value));
        let difference = Format::SignedPercent.cell(pair.difference_percent());
        [pair.what.as_str().into(), ours, reported, difference]
    })));
    let differs = |percent: Option<f64>| percent.is_none_or(|percent| percent.abs() > AGREE_PERCENT);
    let agreement = match report.pairs.iter().filter(|pair| differs(pair.difference_percent())).count() {
        0 => format!("All agree within {AGREE_PERCENT} %."),
        count => format!(
            "{count} of {} differ by more than {AGREE_PERCENT} %: read both before you build on either.",
            report.pairs.len()
        ),
    };
    page.paragraph(&format!(
        "{agreement} The server's interval encloses the window, and counts what its own snapshots cost."
    ));
}
