//! The test, the server and its host, the data, the configuration, notes and sources.

use std::num::NonZeroU32;

use itertools::Itertools;
use slob_host::{Device, Disk};
use slob_measure::Debt;
use slob_record::{
    AutoWarmUp, ConfigEntry, HostRecord, LoadRecord, Look, ObservedRecord, Record, SchemaRecord,
    ServerRecord, UntilSteady,
};
use slob_spec::{Every, HotSpot, ThinkTime, Workload};
use slob_stats::summary;

use slob_facts::format::{ABSENT, Format, count, every, fixed, limits, or_absent, plural, seconds, size};
use slob_facts::measured::{ratio, saturating_sum};
use slob_facts::recheck::digest_words;
use slob_facts::table::{Cell, Table};
use slob_facts::{Run, figure};
use slob_page::{Column, Page};

pub(super) fn test(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    page.section("Test");
    page.fact("Started", &utc(record.started));
    page.fact("Ended", &utc(record.ended));
    page.fact("Server", &server_words(&record.server));
    match &record.host {
        Some(host) => self::host(page, host),
        None => {
            page.fact("Host", "- (host counters were switched off, or the run ended before they were read)");
        }
    }
    record.observed.iter().for_each(|server| observed(page, server));
    workload(page, record);
}

fn utc(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn server_words(server: &ServerRecord) -> String {
    let place = match (server.embedded, server.batches_in_server, server.joined_selects) {
        (true, ..) => "embedded in this program",
        (_, true, true) => "a server, batches run inside it, consecutive SELECTs as one statement",
        (_, true, false) => "a server, batches run inside it",
        (_, false, _) => "a server, operations are sent one by one",
    };
    let io = match server.direct_io {
        Some(true) => "direct I/O",
        Some(false) => "reads through the page cache",
        None => "direct I/O not known",
    };
    let block_bytes = count(u64::from(server.block_bytes));
    format!("{} {}, {place}; blocks of {block_bytes} bytes; {io}", server.product, server.version)
}

fn host(page: &mut Page, host: &HostRecord) {
    let info = &host.info;
    let cpus = or_absent(info.cpus_online, |n| count(u64::from(n)));
    let usable = info.cpus_usable.filter(|usable| Some(*usable) != info.cpus_online);
    let usable = usable.map(|n| format!(" ({n} usable by this program)")).unwrap_or_default();
    let model = info.cpu_model.as_deref().unwrap_or(ABSENT);
    let kind = info.virtualisation.as_deref().map(|kind| format!("; virtual: {kind}")).unwrap_or_default();
    let os = info.os.as_deref().unwrap_or(ABSENT);
    let (name, kernel) = (&info.hostname, &info.kernel);
    page.fact("Host", &format!("{name}; {os}, kernel {kernel}, {}{kind}", info.architecture));
    let cores = info.cores.map(|n| format!(", {}", plural(u64::from(n), "core"))).unwrap_or_default();
    let sockets = info.sockets.map(|n| format!(" in {}", plural(u64::from(n), "socket"))).unwrap_or_default();
    page.fact("CPUs", &format!("{cpus}{usable}{cores}{sockets}; {model}"));
    page.fact("Memory", &or_absent(info.memory_bytes, size));
    match &host.device {
        Some(record) => device(page, &record.device),
        None => page.fact("Device", &format!("- {}", host.device_note.as_deref().unwrap_or_default())),
    }
}

fn observed(page: &mut Page, server: &ObservedRecord) {
    let of = server.endpoint.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let host = server.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let seen = match server.process {
        Some(pid) => format!("process {pid} {}", server.found),
        None => format!("not seen, {}", server.found),
    };
    let trip = server.round_trip_s.map(|trip_s| format!("; asked within {} ms", fixed(1e3 * trip_s, 1)));
    page.fact("Seen by", &format!("{of}{}{host}: {seen}{}", server.by, trip.unwrap_or_default()));
    if let Some(group) = &server.limits {
        page.fact("Limits", &limits(group));
    }
    if let Some(log) = &server.log_device {
        page.fact("Log", &format!("on {}, another device", log.device.stack.join(" > ")));
    }
}

pub(super) fn device(page: &mut Page, device: &Device) {
    let disk = |disk: &Disk| {
        let spins = disk.rotational.map(|spins| if spins { "rotating" } else { "not rotating" });
        let facts = [
            Some(disk.model.clone().unwrap_or_else(|| "model not known".into())),
            disk.size_bytes.map(size),
            spins.map(str::to_owned),
            disk.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        ];
        format!("{} ({})", disk.id.name, facts.into_iter().flatten().join(", "))
    };
    let disks = device.disks.iter().map(disk).join("; ");
    // The counters are those of the device on top, so that it is named first.
    let top = device.top.as_ref().filter(|top| device.disks.iter().all(|disk| disk.id != **top));
    let name = match (top, disks.is_empty()) {
        (Some(top), false) => format!("{}, on {disks}", top.name),
        (Some(top), true) => top.name.clone(),
        (None, false) => disks,
        (None, true) => ABSENT.into(),
    };
    page.fact("Device", &name);
    let (place, source) = (device.mount_point.display(), &device.mount_source);
    page.fact("File system", &format!("{} on {place}, of {source}", device.file_system));
    if !device.stack.is_empty() {
        page.fact("Stack", &device.stack.join(" > "));
    }
    if let Some(note) = &device.note {
        page.fact("", note);
    }
}

fn workload(page: &mut Page, record: &Record) {
    let workload = &record.workload;
    let sessions = count(u64::from(workload.sessions()));
    let schemas = plural(u64::from(workload.schemas.get()), "schema");
    let threads = plural(u64::from(workload.threads_per_schema.get()), "thread");
    page.fact("Sessions", &format!("{sessions} = {schemas} x {threads}"));
    page.fact("Scale", &scale(workload, record.server.block_bytes));
    page.fact("Operations", &operations(workload));
    page.fact("Window", &window(record));
    if let Some(warm_up) = &record.warm_up {
        page.fact("Warm-up", &warm_up_words(warm_up));
    }
    if let Some(until_steady) = &record.until_steady {
        page.fact("Until steady", &until_steady_words(until_steady));
    }
    if let Some(Look { number, most }) = record.look {
        page.fact("Until decided", &format!("look {number} of {most} at most"));
    }
    page.fact("Seed", &format!("{}; nonce of the updates {}", workload.seed, workload.nonce));
}

fn scale(workload: &Workload, block_bytes: u32) -> String {
    let mib = |blocks: u64| fixed(blocks as f64 * f64::from(block_bytes) / f64::from(1 << 20), 0);
    let all = workload.scale_blocks.saturating_mul(u64::from(workload.schemas.get()));
    let (blocks, each, all) = (count(workload.scale_blocks), mib(workload.scale_blocks), mib(all));
    format!("{blocks} blocks = {each} MiB in each schema, {all} MiB in all")
}

fn operations(workload: &Workload) -> String {
    let hot_spot = |hot: &HotSpot| {
        format!("hot spot blocks {} to {} on {}", hot.first_block, hot.last_block(), hot_share(hot.every))
    };
    let think_time = |think: &ThinkTime| {
        let (min, max) = (f64::from(think.min_us) / 1e6, f64::from(think.max_us) / 1e6);
        format!("think time {min} to {max} s after {}", every(think.every, "operation"))
    };
    let mut parts = vec![
        format!("work unit {} blocks (UPDATE {})", workload.work_unit, workload.update_work_unit),
        match workload.roles() {
            Some(roles) => format!("{roles}, SCAN_PCT {}", workload.scan_pct),
            None => format!("UPDATE_PCT {}, SCAN_PCT {}", workload.update_pct, workload.scan_pct),
        },
        format!("redo {}", workload.redo_stress.as_str()),
    ];
    if workload.commit_every != Every::ONE {
        parts.push(format!("a COMMIT for {} UPDATEs", workload.commit_every));
    }
    parts.extend(workload.hot_spot.iter().map(hot_spot));
    parts.extend(workload.hot_schema_every.iter().map(|n| format!("{} to schema 1", every(*n, "operation"))));
    parts.extend(workload.think_time.iter().map(think_time));
    parts.join("; ")
}

fn hot_share(share: Every) -> String {
    match share.whole().and_then(|n| NonZeroU32::new(n.try_into().ok()?)) {
        Some(n) => every(n, "operation"),
        None => format!("{} % of the operations", fixed(100.0 / share.get(), 2)),
    }
}

fn until_steady_words(until: &UntilSteady) -> String {
    let tolerance = format!("{} % asked for", fixed(until.tolerance_percent, 0));
    let Some(windows) = last_windows(until) else {
        return format!("not known: the run ended before there was enough to compare; {tolerance}");
    };
    let reached = if until.reached { "reached" } else { "NOT reached" };
    format!("{reached}: {windows} operations/s, {} % apart; {tolerance}", spread(&until.operations_per_s))
}

/// `None` without enough seconds.
fn last_windows(until: &UntilSteady) -> Option<String> {
    let (since_s, rates) = (until.since_s?, &until.operations_per_s);
    let each = rates.iter().map(|rate| fixed(*rate, 0)).join(", ");
    let (number, window_s) = (rates.len(), until.window_s);
    Some(format!("the last {number} windows of {window_s} s, from second {since_s} on, did {each}"))
}

fn spread(values: &[f64]) -> String {
    let ends = summary::minimum(values).zip(summary::maximum(values)).zip(summary::mean(values));
    let spread = ends.and_then(|((low, high), mean)| ratio(100.0 * (high - low), mean));
    or_absent(spread, |spread| fixed(spread, 1))
}

fn warm_up_words(warm_up: &AutoWarmUp) -> String {
    let AutoWarmUp { at_most_s, seconds: took_s, steady, responses_us, debts_at_begin, debts_at_end } =
        warm_up;
    let (took, at_most) = (seconds(*took_s), seconds(*at_most_s));
    let debts = [debts_at_begin, debts_at_end].map(|debts| debts_words(debts));
    let left = match debts {
        [None, None] => String::new(),
        both => {
            let [begin, end] = both.map(|debts| debts.unwrap_or_else(|| "nothing".to_owned()));
            format!("; earlier work had left {begin} at its begin, {end} at its end")
        }
    };
    let Some(windows) = last_windows(steady) else {
        return format!("NOT steady after {took}: {at_most} at most are too few to compare{left}");
    };
    let state = if steady.reached { "steady" } else { "NOT steady" };
    format!(
        "{state} after {took} of at most {at_most}: {windows} operations/s, {} % apart, their response times {} %; {} % is steady{left}",
        spread(&steady.operations_per_s),
        spread(responses_us),
        fixed(steady.tolerance_percent, 0),
    )
}

/// `None` without any.
fn debts_words(debts: &[Debt]) -> Option<String> {
    let words = |debt: &Debt| match debt.unit.as_str() {
        "" => debt.name.clone(),
        unit => format!("{} ({} {unit})", debt.name, count(debt.amount)),
    };
    (!debts.is_empty()).then(|| debts.iter().map(words).join(", "))
}

fn window(record: &Record) -> String {
    let workload = &record.workload;
    let measured = match record.window {
        Some(window) => format!("{} s measured", fixed(window.seconds, 2)),
        None => format!("{ABSENT} (nothing was measured)"),
    };
    let planned = match (workload.run_time_s, workload.work_loop) {
        (_, Some(operations)) => format!("planned {} by each session", plural(operations, "operation")),
        (Some(run_time_s), None) => format!("planned {}", seconds(run_time_s)),
        (None, None) => format!("planned {ABSENT}"),
    };
    format!("{measured}; {planned} after a warm-up of {}", seconds(workload.warmup_s))
}

pub(super) fn server(page: &mut Page, figures: &Run<'_>) {
    let server = &figures.record.server;
    let columns = [Column::left("Setting").at_most(36), Column::left("Value").at_most(60)];
    let rows = server.settings.iter().map(|setting| [setting.name.clone(), setting.value.clone()]);
    page.table_under("Settings that change results", &Table::new(columns).with_rows(rows));
    if !server.advice.is_empty() {
        page.section("Advice");
        page.list(&server.advice);
    }
}

pub(super) fn layout(page: &mut Page, figures: &Run<'_>) {
    const MOST_SCHEMAS: usize = 8;
    let Some(load) = &figures.record.load else { return };
    page.section("Data");
    let fill = if load.obfuscated { "incompressible columns" } else { "compressible columns" };
    page.paragraph(&format!(
        "Loaded with {} in each main table and {} in each scan table; seed {}; {fill}.",
        plural(load.scale_blocks, "block"),
        plural(load.scan_blocks, "block"),
        load.seed
    ));
    if let Some(cost) = load.cost {
        let [mb, per_s, took_s] =
            [&figure::LOAD_MB, &figure::LOAD_MB_PER_S, &figure::LOAD_S].map(|figure| figure.show(figures));
        page.paragraph(&format!(
            "The last load of these data, {}: {} rows, {mb} MB in {took_s} s, {per_s} MB/s.",
            cost.ended.strftime("%Y-%m-%d %H:%M UTC"),
            count(cost.rows)
        ));
    }
    if load.schemas.is_empty() {
        return;
    }
    let heads = ["Rows", "Blocks with rows", "All blocks", "Rows per block"];
    let mut table = Table::of_numbers(Column::left("Schema"), heads);
    if load.schemas.len() <= MOST_SCHEMAS {
        load.schemas.iter().for_each(|schema| table.row(layout_row(schema.schema.to_string(), schema)));
        page.table(&table);
        return;
    }
    table.row(layout_row(format!("all {}", load.schemas.len()), &summed(load)));
    page.table(&table);
    // An odd schema must not hide in the sum.
    let known = || load.schemas.iter().filter_map(rows_per_block);
    let show = |rows: Option<f64>| Format::Thousandths.cell(rows).show();
    let (least, most) = (show(known().reduce(f64::min)), show(known().reduce(f64::max)));
    page.paragraph(&format!("Rows per block range from {least} to {most}."));
}

fn rows_per_block(schema: &SchemaRecord) -> Option<f64> {
    ratio(schema.rows as f64, schema.row_blocks as f64)
}

fn layout_row(name: String, schema: &SchemaRecord) -> [Cell; 5] {
    [
        name.into(),
        schema.rows.into(),
        schema.row_blocks.into(),
        schema.all_blocks.into(),
        Format::Thousandths.cell(rows_per_block(schema)),
    ]
}

fn summed(load: &LoadRecord) -> SchemaRecord {
    let sum = |of: fn(&SchemaRecord) -> u64| saturating_sum(load.schemas.iter().map(of));
    SchemaRecord {
        schema: 0,
        rows: sum(|schema| schema.rows),
        row_blocks: sum(|schema| schema.row_blocks),
        all_blocks: sum(|schema| schema.all_blocks),
    }
}

/// The record holds the defaults too.
pub(super) fn configuration(page: &mut Page, figures: &Run<'_>) {
    let record = figures.record;
    if record.configuration.is_empty() {
        return;
    }
    page.section("Configuration");
    let is_set = |entry: &&ConfigEntry| !entry.origin.starts_with("default");
    let set = record.configuration.iter().filter(is_set).collect_vec();
    let columns = [("Parameter", 30), ("Value", 36), ("Set by", 26)];
    let columns = columns.map(|(head, most)| Column::left(head).at_most(most));
    let rows = set.iter().map(|entry| [entry.key.clone(), entry.value.clone(), entry.origin.clone()]);
    page.table(&Table::new(columns).with_rows(rows));
    let defaults = record.configuration.len() - set.len();
    if defaults > 0 {
        let defaults = plural(defaults as u64, "default");
        page.paragraph(&format!("{defaults} not shown: slob show {} --field configuration", record.id));
    }
}

pub(super) fn notes(page: &mut Page, figures: &Run<'_>) {
    let notes = &figures.record.notes;
    if !notes.is_empty() {
        page.section("Notes");
        page.list(notes);
    }
}

pub(super) fn sources(page: &mut Page, figures: &Run<'_>) {
    page.line("");
    page.rule('-');
    page.fact("Sources", &source_words(figures.record));
}

pub(crate) fn source_words(record: &Record) -> String {
    let in_server = record.server.batches_in_server && !record.server.embedded;
    let whose = if in_server { "the server's" } else { "this program's" };
    let coarse = ", but those marked '<=' are upper bounds: the database counts these latencies in buckets, each twice as \
                  wide as the one before; their mean is exact";
    let is_exact = record.latencies.iter().all(|(_, latency)| latency.exact.is_none());
    let coarse = if is_exact { "" } else { coarse };
    format!(
        "Operation latency: {whose} clock around each operation. Reads, writes, redo, commits, events: the database's own counters, between two \
         snapshots that bound the window. CPU: /proc. Device: the kernel's block statistics. Percentiles are within \
         0.8 % of the exact value{coarse}; '-' means not known. MB = 10^6 bytes, MiB = 2^20. {}.",
        digest_words(record)
    )
}
