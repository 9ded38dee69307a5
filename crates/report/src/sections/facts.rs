//! What was run, on what.

use slob_host::{Device, Disk};
use slob_record::{
    HostRecord, HotSpotRecord, ObservedRecord, Record, ServerRecord, Status, ThinkTimeRecord, UntilSteady,
    WorkloadRecord,
};

use crate::counters::ratio;
use crate::format::{ABSENT, count, every, fixed, limits, or_absent, plural, seconds, size};
use crate::page::{Page, WIDTH};

/// The head of the text: which run, and how it ended.
pub(super) fn title(page: &mut Page, record: &Record) {
    let (left, right) = ("OPENSLOB RUN REPORT", format!("OpenSLOB {}", record.slob_version));
    page.line(&format!("{left}{right:>width$}", width = WIDTH - left.len()));
    page.rule('=');
    page.fact("Run", &record.id);
    status(page, record);
    page.fact("Target", &record.target);
}

pub(super) fn write(page: &mut Page, record: &Record) {
    page.section("Test");
    page.fact("Started", &utc(record.started));
    page.fact("Ended", &utc(record.ended));
    page.fact("Server", &server(&record.server));
    host(page, record.host.as_ref());
    record.observed.iter().for_each(|server| observed(page, server));
    workload(page, record);
}

/// Anything but a completed run stands out.
fn status(page: &mut Page, record: &Record) {
    match &record.status {
        Status::Completed => page.fact("Status", "completed"),
        Status::Interrupted if record.window.is_none() => {
            page.fact(
                "Status",
                "*** INTERRUPTED *** by the user before the measured window: nothing was measured",
            );
        }
        Status::Interrupted => {
            page.fact("Status", "*** INTERRUPTED *** by the user; the results up to then are valid");
        }
        Status::Failed { error } => page.fact("Status", &format!("*** FAILED *** {error}")),
    }
}

fn utc(moment: impl std::fmt::Display) -> String {
    // A timestamp shows itself as 2026-11-20T10:45:00.123Z.
    let text = moment.to_string();
    let whole = text.split('.').next().unwrap_or_default();
    format!("{} UTC", whole.trim_end_matches('Z').replace('T', " "))
}

fn server(server: &ServerRecord) -> String {
    let place = if server.embedded { "embedded in this program" } else { "a server" };
    let batches = match (server.batches_in_server, server.joined_selects) {
        (true, true) => "batches run inside it, consecutive SELECTs as one statement",
        (true, false) => "batches run inside it",
        (false, _) => "operations are sent one by one",
    };
    let io = match server.direct_io {
        Some(true) => "direct I/O",
        Some(false) => "reads through the page cache",
        None => "direct I/O not known",
    };
    let product = format!("{} {}", server.product, server.version);
    let place = if server.embedded { place.to_owned() } else { format!("{place}, {batches}") };
    format!("{product}, {place}; blocks of {} bytes; {io}", count(u64::from(server.block_bytes)))
}

fn host(page: &mut Page, host: Option<&HostRecord>) {
    let Some(host) = host else {
        page.fact("Host", "- (host counters were switched off, or the run ended before they were read)");
        return;
    };
    let info = &host.info;
    let cpus = or_absent(info.cpus_online, |n| count(u64::from(n)));
    let usable = info.cpus_usable.filter(|usable| Some(*usable) != info.cpus_online);
    let usable = usable.map(|n| format!(" ({n} usable by this program)")).unwrap_or_default();
    let model = info.cpu_model.as_deref().unwrap_or(ABSENT);
    let kind = info.virtualisation.as_deref().map(|kind| format!("; virtual: {kind}")).unwrap_or_default();
    let os = info.os.as_deref().unwrap_or(ABSENT);
    page.fact(
        "Host",
        &format!("{}; {os}, kernel {}, {}{kind}", info.hostname, info.kernel, info.architecture),
    );
    page.fact("CPUs", &format!("{cpus}{usable}; {model}"));
    page.fact("Memory", &or_absent(info.memory_bytes, size));
    match &host.device {
        Some(record) => device(page, &record.device),
        None => page.fact("Device", &format!("- {}", host.device_note.as_deref().unwrap_or_default())),
    }
}

/// How a server was seen on its host, and what it may use there.
fn observed(page: &mut Page, server: &ObservedRecord) {
    let of = server.endpoint.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let host = server.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    let seen = match server.process {
        Some(pid) => format!("{of}{}{host}: process {pid} {}", server.by, server.found),
        None => format!("{of}{}{host}: not seen, {}", server.by, server.found),
    };
    let trip = server.round_trip_s.map(|trip_s| format!("; asked within {} ms", fixed(1e3 * trip_s, 1)));
    page.fact("Seen by", &(seen + &trip.unwrap_or_default()));
    if let Some(group) = &server.limits {
        page.fact("Limits", &limits(group));
    }
    if let Some(log) = &server.log_device {
        page.fact("Log", &format!("on {}, another device", log.device.stack.join(" > ")));
    }
}

/// What a device is.
pub(super) fn device(page: &mut Page, device: &Device) {
    let disk = |disk: &Disk| {
        let spins = disk.rotational.map(|spins| if spins { "rotating" } else { "not rotating" });
        let facts = [
            Some(disk.model.clone().unwrap_or_else(|| "model not known".into())),
            disk.size_bytes.map(size),
            spins.map(str::to_owned),
            disk.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        format!("{} ({})", disk.id.name, facts.join(", "))
    };
    let disks: Vec<String> = device.disks.iter().map(disk).collect();
    // The counters are those of the device on top, so that is the one to name first.
    let top = device.top.as_ref().filter(|top| device.disks.iter().all(|disk| disk.id != **top));
    let parts: Vec<String> = match (top, disks.is_empty()) {
        (Some(top), false) => vec![format!("{}, on {}", top.name, disks.join("; "))],
        (Some(top), true) => vec![top.name.clone()],
        (None, _) => disks,
    };
    page.fact("Device", if parts.is_empty() { ABSENT.into() } else { parts.join("; ") }.as_str());
    page.fact(
        "File system",
        &format!("{} on {}, of {}", device.file_system, device.mount_point.display(), device.mount_source),
    );
    if !device.stack.is_empty() {
        page.fact("Stack", &device.stack.join(" > "));
    }
    if let Some(note) = &device.note {
        page.fact("", note);
    }
}

fn workload(page: &mut Page, record: &Record) {
    let workload = &record.workload;
    page.fact(
        "Sessions",
        &format!(
            "{} = {} x {}",
            count(u64::from(workload.sessions())),
            plural(u64::from(workload.schemas), "schema"),
            plural(u64::from(workload.threads_per_schema), "thread")
        ),
    );
    page.fact("Scale", &scale(workload, record.server.block_bytes));
    page.fact("Operations", &operations(workload));
    page.fact("Window", &window(record));
    if let Some(asked) = &record.until_steady {
        page.fact("Until steady", &until_steady(asked));
    }
    page.fact("Seed", &format!("{}; nonce of the updates {}", workload.seed, workload.nonce));
}

fn scale(workload: &WorkloadRecord, block_bytes: u32) -> String {
    let mib = |blocks: u64| fixed(blocks as f64 * f64::from(block_bytes) / f64::from(1 << 20), 0);
    let all = workload.scale_blocks.saturating_mul(u64::from(workload.schemas));
    format!(
        "{} blocks = {} MiB in each schema, {} MiB in all",
        count(workload.scale_blocks),
        mib(workload.scale_blocks),
        mib(all)
    )
}

fn operations(workload: &WorkloadRecord) -> String {
    let mut parts = vec![
        format!("work unit {} blocks (UPDATE {})", workload.work_unit, workload.update_work_unit),
        format!("UPDATE_PCT {}, SCAN_PCT {}", workload.update_pct, workload.scan_pct),
        format!("redo {}", workload.redo_stress),
    ];
    parts.extend(workload.hot_spot.iter().map(hot_spot));
    parts.extend(workload.hot_schema_every.iter().map(|n| format!("{} to schema 1", every(*n, "operation"))));
    parts.extend(workload.think_time.iter().map(think_time));
    parts.join("; ")
}

fn hot_spot(hot: &HotSpotRecord) -> String {
    let last = hot.first_block.saturating_add(hot.blocks).saturating_sub(1);
    format!("hot spot blocks {} to {last} on {}", hot.first_block, every(hot.every, "operation"))
}

fn think_time(think: &ThinkTimeRecord) -> String {
    let seconds = |us: u32| f64::from(us) / 1e6;
    let (min, max) = (seconds(think.min_us), seconds(think.max_us));
    format!("think time {min} to {max} s after {}", every(think.every, "operation"))
}

fn until_steady(asked: &UntilSteady) -> String {
    let tolerance = format!("{} % asked for", fixed(asked.tolerance_percent, 0));
    let rates = &asked.operations_per_s;
    let Some(since_s) = asked.since_s else {
        return format!("not known: the run ended before there was enough to compare; {tolerance}");
    };
    let each: Vec<String> = rates.iter().map(|rate| fixed(*rate, 0)).collect();
    let (low, high) =
        rates.iter().fold((f64::MAX, f64::MIN), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    let spread = ratio(100.0 * (high - low), rates.iter().sum::<f64>() / rates.len() as f64);
    format!(
        "{}: the last {} windows of {} s, from second {since_s} on, did {} operations/s, {} % apart; {tolerance}",
        if asked.reached { "reached" } else { "NOT reached" },
        rates.len(),
        asked.window_s,
        each.join(", "),
        or_absent(spread, |spread| fixed(spread, 1)),
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_steady_says_what_came_of_it() {
        let asked = UntilSteady {
            reached: true,
            tolerance_percent: 3.0,
            window_s: 10,
            since_s: Some(20),
            operations_per_s: vec![990.0, 1000.0, 1010.0],
        };
        let said = until_steady(&asked);
        assert!(said.starts_with("reached: the last 3 windows of 10 s, from second 20 on"), "{said}");
        assert!(said.contains("990, 1,000, 1,010 operations/s, 2.0 % apart; 3 % asked for"), "{said}");
        assert!(until_steady(&UntilSteady { reached: false, ..asked.clone() }).starts_with("NOT reached"));
        let short = UntilSteady { reached: false, since_s: None, operations_per_s: Vec::new(), ..asked };
        assert!(until_steady(&short).starts_with("not known"));
    }
}
