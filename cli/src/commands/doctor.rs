//! Checks of a machine and a target. A load and a run warn of what they find.

use std::fmt::Write;
use std::io::ErrorKind;
use std::iter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{ArgMatches, Args};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use slob_engine::{Engine, Purpose, Server};
use slob_facts::format::{fixed, limits, percent, plural};
use slob_facts::table::wrapped;
use slob_facts::thresholds::FOREIGN_CPU;
use slob_host::{
    CpuTimes, Device, DeviceCounters, DurableWrite, HostInfo, MachineSettings, ProbeResult, ProbeStep,
    free_space,
};
use slob_observe::{FoundServer, Hello, HostInterval};
use slob_record::latest_probe;
use slob_run::{
    Hosts, LoadPlan, Loaded, LocalData, ObservedHost, ObservedServer, PageCache, Site, prepare, turns_advice,
};
use slob_spec::{LoadSpec, Observe, RunSpec, Settings};
use slob_trace::Tracer;

use crate::failure::{Failure, JUDGED, Outcome};
use crate::flags::offered;
use crate::{interrupt, output, registry, settings};

/// Space for a record with its pages, without KEEP_OPERATIONS.
const RECORD_BYTES: u64 = 100 << 20;
/// Free space that a server needs for its log.
const LOG_BYTES: u64 = 256 << 20;
const WATCHED: Duration = Duration::from_secs(1);
const IO_BYTES_PER_S: u64 = 1_000_000;
const FEWER_COUNTERS: &str = "'Physical?' will rest on fewer counters";
const STOP_OTHERS: &str = "stop other programs, or expect 'Steady?' to name them";
const LESS_KNOWN: &str = "'CPU to spare?' and 'Physical?' will know less";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Grade {
    Good,
    /// Figures would be smaller, less even, or less certain.
    Warning,
    /// A test is impossible.
    Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    subject: &'static str,
    grade: Grade,
    finding: String,
    remedy: Option<String>,
}

impl Check {
    fn good(subject: &'static str, finding: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Good, finding: finding.into(), remedy: None }
    }

    fn warning(subject: &'static str, finding: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::advice(subject, finding) }
    }

    /// Contains its remedy.
    fn advice(subject: &'static str, finding: impl Into<String>) -> Self {
        Self { grade: Grade::Warning, ..Self::good(subject, finding) }
    }

    fn problem(subject: &'static str, finding: impl Into<String>) -> Self {
        Self { grade: Grade::Problem, ..Self::good(subject, finding) }
    }
}

pub(super) fn warn_of(checks: &[Check]) {
    for check in checks.iter().filter(|check| check.grade != Grade::Good) {
        let remedy = check.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        say!("warning: {}: {}{remedy}", check.subject, check.finding);
    }
}

pub(super) fn machine_checks() -> Vec<Check> {
    let machine = MachineSettings::read();
    vec![governor(&machine), clock(&machine)]
}

fn governor(machine: &MachineSettings) -> Check {
    match machine.slow_governor() {
        Some(slow) => {
            let said = format!("the governor '{slow}' slows down CPUs that wait for I/O");
            Check::warning("CPU frequency", said, "cpupower frequency-set -g performance")
        }
        None if machine.governors.is_empty() => Check::good("CPU frequency", "not set by this kernel"),
        None => Check::good("CPU frequency", "governor 'performance'"),
    }
}

fn clock(machine: &MachineSettings) -> Check {
    match (machine.slow_clocksource(), &machine.clocksource) {
        (Some(slow), _) => Check::warning(
            "Clock",
            format!("'{slow}' takes a microsecond or more to read, and every operation is timed"),
            "write tsc or kvm-clock to /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        (None, Some(clock)) => Check::good("Clock", format!("'{clock}'")),
        (None, None) => Check::good("Clock", "the kernel does not say which"),
    }
}

/// Loads and removes the programs of a trace.
fn tracing(site: &mut Site, stop: &AtomicBool) -> Check {
    /// Any will do: nothing is read.
    const BLOCK_BYTES: u32 = 8192;
    let obstacles = match site {
        Site::Servers(hosts) => hosts.trace(BLOCK_BYTES, stop),
        Site::Here(_) | Site::Nowhere => {
            Tracer::start(BLOCK_BYTES).err().map(|why| why.to_string()).into_iter().collect()
        }
    };
    match obstacles.first() {
        None => Check::good("Tracing", "possible: `slob run --trace` shows where the time of a read goes"),
        // No test needs it.
        Some(why) => Check::good("Tracing", format!("not possible: {}", why.trim_end_matches('.'))),
    }
}

fn results(folder: &Path) -> Check {
    let subject = "Results";
    // A run creates missing folders.
    let there = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    if let Err(error) = tempfile::tempfile_in(there) {
        return Check::problem(
            subject,
            format!("{} can't be written: {error}; name another folder with --results-dir", folder.display()),
        );
    }
    match free_space(there) {
        Ok(free_bytes) if free_bytes < RECORD_BYTES => Check::warning(
            subject,
            format!("only {} MB are free for {}", free_bytes / 1_000_000, folder.display()),
            "make room, or name another folder with --results-dir",
        ),
        Ok(free_bytes) => {
            Check::good(subject, format!("{}: {:.1} GB free", folder.display(), free_bytes as f64 / 1e9))
        }
        Err(error) => Check::problem(subject, error.to_string()),
    }
}

#[derive(Serialize)]
struct Section {
    heading: String,
    checks: Vec<Check>,
}

/// Check this machine and the target for anything that would spoil a test
#[derive(Args)]
#[command(after_help = "\
Changes nothing. Takes a second or two, in which it watches other programs. `slob setup` and `slob run` use the same checks.
Examples:
  slob doctor
  slob doctor --target ... --scale 4G -s 8
  slob doctor --target ... --observe ssh:db1
Exit codes: 0 a test is possible, with or without warnings; 1 it is not; 2 bad usage.")]
pub(super) struct DoctorArgs {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn doctor(args: &DoctorArgs, matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let target = settings::shown(&settings, "TARGET").unwrap_or_default();
    let mut checks = vec![build()];
    checks.extend(machine_checks());
    checks.extend(preloaded());
    checks.push(results(&settings::results_dir(&settings)));
    let stop = interrupt::flag()?;
    let mut at_target = AtTarget { checks: Vec::new(), server: None, site: Site::Nowhere };
    if let Err(failure) = at_target.see(&settings, &stop) {
        at_target.checks.push(Check::problem("Target", failure.text()));
    }
    let interrupted = || match stop.load(Ordering::Relaxed) {
        true => Err(interrupted!("looking at {target} was interrupted")),
        false => Ok(()),
    };
    interrupted()?;
    let activity = at_target.site.watch(WATCHED);
    checks.extend(activity.cpu.as_ref().map(cpu_use));
    checks.extend(at_target.checks);
    let mut sections = vec![Section { heading: format!("Before a test of {target}"), checks }];
    sections[0].checks.push(tracing(&mut at_target.site, &stop));
    if let Some(server) = &at_target.server {
        match &at_target.site {
            Site::Nowhere => {}
            Site::Here(here) => {
                sections[0].checks.extend(device_below(&settings, here, server));
                sections[0].checks.extend(activity.device.as_ref().map(device_use));
            }
            Site::Servers(hosts) => {
                sections.extend(server_sections(&settings, hosts, &activity.hosts, server));
            }
        }
    }
    interrupted()?;
    for check in sections.iter_mut().flat_map(|section| &mut section.checks) {
        check.finding = offered(&check.finding, matches);
        check.remedy = check.remedy.take().map(|remedy| offered(&remedy, matches));
    }
    output::print(&if args.json { output::json("the checks", &sections)? } else { page(&sections) })?;
    let is_problem = |check: &Check| check.grade == Grade::Problem;
    let code = if sections.iter().flat_map(|section| &section.checks).any(is_problem) { JUDGED } else { 0 };
    Ok(ExitCode::from(code))
}

fn page(sections: &[Section]) -> String {
    let mut text = String::new();
    let all = || sections.iter().flat_map(|section| &section.checks);
    let width = all().map(|check| check.subject.len()).max().unwrap_or(0);
    for Section { heading, checks } in sections {
        let _ = writeln!(text, "{heading}:");
        for check in checks {
            let grade = match check.grade {
                Grade::Good => "ok",
                Grade::Warning => "WARNING",
                Grade::Problem => "PROBLEM",
            };
            hang(&mut text, &format!("  {grade:<7}  {:<width$}  ", check.subject), &check.finding);
            let mut remedy = check.remedy.iter().flat_map(|remedy| remedy.lines());
            let head = |head: &str| format!("  {:<7}  {:<width$}  {head} ", "", "");
            remedy.next().into_iter().for_each(|way| hang(&mut text, &head("->"), way));
            // Commands can be copied.
            for command in remedy {
                let _ = writeln!(text, "{}{command}", head("  "));
            }
        }
    }
    let count = |grade: Grade| all().filter(|check| check.grade == grade).count() as u64;
    let _ = match (count(Grade::Problem), count(Grade::Warning)) {
        (0, 0) => writeln!(text, "Nothing would spoil a test."),
        (0, warnings) => writeln!(text, "{}: a test is possible.", plural(warnings, "warning")),
        (problems, warnings) => writeln!(
            text,
            "{}, {}: a test is not possible yet.",
            plural(problems, "problem"),
            plural(warnings, "warning")
        ),
    };
    text
}

/// A line, whose words go on below themselves in a narrow terminal.
fn hang(text: &mut String, head: &str, words: &str) {
    let lines = match output::width() {
        Some(columns) => wrapped(words, columns.saturating_sub(head.len()).max(20)),
        None => vec![words.to_owned()],
    };
    let indent = head.len();
    for (line, head) in lines.iter().zip(iter::once(head).chain(iter::repeat(""))) {
        let _ = writeln!(text, "{head:<indent$}{line}");
    }
}

fn build() -> Check {
    if cfg!(debug_assertions) {
        return Check::warning("Build", "a debug build: its figures are of no use", "build with --release");
    }
    Check::good("Build", "optimised")
}

fn cpu_use(used: &CpuTimes) -> Check {
    let subject = "Other programs";
    let stolen = 100.0 * used.steal_s / used.total_s().max(f64::MIN_POSITIVE);
    match used.busy_percent() {
        Some(busy) if busy >= FOREIGN_CPU.value => {
            let (busy, stolen) = (percent(busy), percent(stolen));
            let said = format!("the CPUs are {busy} % busy (stolen by the hypervisor: {stolen} %)");
            Check::warning(subject, said, STOP_OTHERS)
        }
        Some(busy) => Check::good(subject, format!("the CPUs are {} % busy", percent(busy))),
        None => Check::warning(subject, "the CPU's clocks did not move", "try again"),
    }
}

fn device_use(used: &DeviceCounters) -> Check {
    let subject = "Device in use";
    let moved = used.used.read_bytes.saturating_add(used.used.write_bytes);
    let said = format!("other programs move {} MB/s", fixed(moved as f64 / 1e6 / WATCHED.as_secs_f64(), 1));
    if moved >= IO_BYTES_PER_S {
        return Check::warning(subject, said, STOP_OTHERS);
    }
    Check::good(subject, said)
}

struct AtTarget {
    checks: Vec<Check>,
    server: Option<Server>,
    site: Site,
}

impl AtTarget {
    fn see(&mut self, settings: &Settings, stop: &AtomicBool) -> Result<(), Failure> {
        let load = LoadSpec::from_settings(settings)?.spec;
        let tablespace = load.tablespace.clone();
        let engine = registry::open_target(&load.target, &load.options, Purpose::Load, tablespace)?;
        let server = engine.server()?;
        refuse_tablespace(&load, &server)?;
        let Self { checks, server: seen, site } = self;
        let server = seen.insert(server);
        let (observers, copy) = (settings::observers(settings), settings::copies_observer(settings));
        *site = Site::find(engine.as_ref(), server, &observers, copy, stop)?;
        let place = if server.capabilities.embedded { "built in" } else { "reached" };
        checks.push(Check::good("Target", format!("{} {}, {place}", server.product, server.version)));
        // Another account may have loaded.
        let only_runs = || {
            let is_loaded = Loaded::at(engine.as_ref()).is_ok_and(|loaded| loaded.is_some());
            is_loaded && engine.check_account(Purpose::Use).is_ok()
        };
        match engine.check_account(Purpose::Load) {
            Err(error) if only_runs() => {
                let said = format!("may run with what is loaded, but load nothing: {error}");
                checks.push(Check::advice("Account", said));
            }
            Err(error) => checks.push(Check::problem("Account", error.to_string())),
            Ok(()) if server.capabilities.embedded => {}
            Ok(()) => checks.push(Check::good("Account", "may load, as far as the server says")),
        }
        if server.capabilities.stores_data {
            let found = data(settings, &load, engine.as_ref(), server, site);
            checks.extend(found.unwrap_or_else(|failure| vec![Check::problem("Data", failure.text())]));
        }
        let remedy = "change it, or keep it the same in all runs";
        checks.extend(server.advice.iter().map(|advice| Check::warning("Server", advice, remedy)));
        Ok(())
    }
}

/// Data must not go elsewhere if the tablespace that names their place is missing.
pub(super) fn refuse_tablespace(spec: &LoadSpec, server: &Server) -> Result<(), Failure> {
    let Some(name) = spec.tablespace.as_ref().filter(|_| !server.capabilities.tablespaces) else {
        return Ok(());
    };
    Err(usage!(
        "TABLESPACE={name}: {} has no tablespaces. Nothing was loaded; `slob setup {}` loads without one, and a database that has \
         them is named as in SLOB_TARGET={}",
        spec.target,
        spec.schemas,
        registry::TABLESPACES_TARGET
    ))
}

fn data(
    settings: &Settings,
    load: &LoadSpec,
    engine: &dyn Engine,
    server: &Server,
    site: &Site,
) -> Result<Vec<Check>, Failure> {
    let topology = site.topology();
    let through = |page_cache: PageCache| match page_cache.warning() {
        Some(warning) => Check::warning("Page cache", warning, page_cache.remedy()),
        None => {
            Check::good("Page cache", "reads pass through it, but it can hold only a small part of the data")
        }
    };
    let Some(loaded) = Loaded::at(engine)? else {
        let plan = LoadPlan::new(engine, load, server)?;
        let (free_space, bytes) = (site.free_space(), plan.bytes());
        free_space.as_ref().map_or(Ok(()), |(place, free_bytes)| plan.check_room(place, *free_bytes))?;
        let room = match free_space {
            Some(_) => "there is room",
            None => "it is not seen whether there is room",
        };
        let gb = bytes as f64 / 1e9;
        let said = format!("nothing is loaded; {room} for the {gb:.2} GB that are configured");
        // As many as were asked for, and some for a first test.
        let schemas = if settings::is_set(settings, "SCHEMAS") { load.schemas.get() } else { 4 };
        let page_cache = PageCache::of(server, topology, &load.target, bytes, bytes);
        // The page cache would serve a small load: doctor offers no two loads that contradict each other.
        let remedy = match page_cache.as_ref().is_some_and(|page_cache| page_cache.warning().is_some()) {
            true => format!("as 'Page cache' says; `slob setup {schemas}` for a first look"),
            false => format!("`slob setup {schemas}`"),
        };
        let lacking = Check::warning("Data", said, remedy);
        return Ok([lacking].into_iter().chain(page_cache.map(through)).collect());
    };
    let spec = RunSpec::from_settings(&settings::of_run_as_loaded(settings)?)?.spec;
    let prepared = prepare(engine, &spec)?;
    let schemas = plural(u64::from(loaded.schemas), "schema");
    let good = Check::good("Data", format!("{schemas} of {}: a run can start", loaded.scale()));
    let cached = prepared.page_cache(topology, &load.target).map(through);
    let turns = match site {
        Site::Servers(_) => turns_advice(topology, server, prepared.homes.len() as u32),
        Site::Here(_) | Site::Nowhere => None,
    };
    let turns = turns.map(|advice| Check::advice("Sessions", advice));
    Ok([good].into_iter().chain(cached).chain(turns).collect())
}

fn device_below(settings: &Settings, here: &LocalData, server: &Server) -> Vec<Check> {
    let there = here.folder();
    let mut all = Vec::new();
    if server.capabilities.direct_io == Some(true) {
        all.push(direct_io(there));
    }
    match &here.device {
        Ok(found) => {
            all.push(device("Device", found));
            let there = output::quoted(&there.display().to_string());
            all.extend(probe_of(settings, &HostInfo::read().hostname, found, server, &there));
        }
        Err(why) => all.push(Check::warning("Device", why.as_str(), FEWER_COUNTERS)),
    }
    all
}

fn device(subject: &'static str, device: &Device) -> Check {
    match (&device.top, &device.note) {
        (Some(top), None) => Check::good(subject, format!("{} ({})", top.name, device.file_system)),
        (_, note) => {
            let remedy = format!("{FEWER_COUNTERS}; use a file system on a block device");
            Check::warning(subject, note.as_deref().unwrap_or("no block device"), remedy)
        }
    }
}

/// Block size of a probe that is asked for no other.
const PROBED_BLOCK: u32 = 8192;

fn probe_of(settings: &Settings, host: &str, device: &Device, server: &Server, there: &str) -> Vec<Check> {
    let probe = latest_probe(&settings::results_dir(settings), host, device, server.block_bytes);
    let ceiling = match probe.as_ref().and_then(|probe| probe.result.ceiling_iops()) {
        Some(ceiling) => Check::good("Probe", format!("the device's ceiling is {} IOPS", fixed(ceiling, 0))),
        None => {
            // A probe with blocks of another size does not count.
            let blocks = Some(server.block_bytes).filter(|bytes| *bytes != PROBED_BLOCK);
            let blocks = blocks.map(|bytes| format!("--block-bytes {bytes} ")).unwrap_or_default();
            let of_blocks = if blocks.is_empty() { "" } else { " with its blocks" };
            let finding = format!("the device has not been probed{of_blocks}, so its ceiling is not known");
            Check::warning("Probe", finding, format!("`slob probe {blocks}{there}`"))
        }
    };
    iter::once(ceiling).chain(probe.and_then(|probe| flushes(&probe.result))).collect()
}

/// A preloaded library leaves out each flush of an embedded database and of the probe.
fn preloaded() -> Option<Check> {
    let preloaded = std::env::var("LD_PRELOAD").ok().filter(|names| names.contains("eatmydata"))?;
    let said = format!("LD_PRELOAD={preloaded} turns fsync off, for an embedded database and for the probe");
    Some(Check::warning("Flushes", said, "unset LD_PRELOAD"))
}

/// Judges the commits of one stream.
fn flushes(probed: &ProbeResult) -> Option<Check> {
    /// Flash needs longer to program a page, and a disk to turn.
    const CACHED_US: f64 = 100.0;
    /// A disk of 5,400 turns a minute needs 11 ms for one.
    const DEAR_US: f64 = 10_000.0;
    /// Other programs can only add to the device's writes.
    const LEAST_WRITES: f64 = 0.9;
    let of_one =
        |step: &ProbeStep| step.sessions_or_depth == 1 && step.kind.durable() == Some(DurableWrite::COMMIT);
    let (step, figures) = probed.clean_steps().find(|(step, _)| of_one(step))?;
    let (flushes, mean_us) = (figures.operations, figures.mean_us);
    let said = format!(
        "the device promised {} durable writes/s, each in {} us",
        fixed(figures.iops, 0),
        fixed(mean_us, 0)
    );
    let written = step.device.map(|device| device.used.writes);
    let warning = |why: &str, remedy: &str| Check::warning("Flushes", format!("{said}: {why}"), remedy);
    Some(match written.filter(|writes| (*writes as f64) < LEAST_WRITES * flushes as f64) {
        Some(writes) => warning(
            &format!("it saw only {writes} writes for {flushes} flushes, so most did not reach it"),
            "find what leaves them out (LD_PRELOAD with libeatmydata, a mount option), then probe again",
        ),
        None if mean_us < CACHED_US => warning(
            &format!("flash needs {CACHED_US} us to program a page, so a cache answers"),
            "make sure that it survives a power loss, and that the hypervisor does not leave flushes out",
        ),
        None if mean_us > DEAR_US => warning(
            "each commit waits that long",
            "put the log on a faster device, or let commits share flushes",
        ),
        None => Check::good("Flushes", said),
    })
}

fn direct_io(folder: &Path) -> Check {
    let subject = "Direct I/O";
    let tried = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        let flags = OFlags::RDONLY | OFlags::DIRECT;
        Ok(rustix::fs::open(file.path(), flags, Mode::empty())?)
    });
    match tried {
        Ok(_) => Check::good(subject, format!("supported by the file system of {}", folder.display())),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Check::problem(
            subject,
            format!(
                "the file system of {} does not support it; name a folder on one that does (ext4, xfs) with --target, or \
                 use --buffered",
                folder.display()
            ),
        ),
        Err(error) => Check::problem(
            subject,
            format!("{} can't be written: {error}; name another folder with --target", folder.display()),
        ),
    }
}

fn server_sections(
    settings: &Settings,
    hosts: &Hosts,
    watched: &[Option<HostInterval>],
    server: &Server,
) -> Vec<Section> {
    let topology = &hosts.topology;
    let section = |place: &ObservedServer| {
        let host = place.observed_at.and_then(|(host, _)| topology.hosts.get(host));
        let between = place.observed_at.and_then(|(host, _)| watched.get(host)?.as_ref());
        let mut checks = observer_and_server(place, host);
        if let Some((host, found)) = host.zip(place.found.as_ref().ok()) {
            checks.extend(server_limits(place, host, found));
            checks.extend(server_devices(settings, host, found, server));
            let figures = place.observed_at.and_then(|(_, number)| between?.servers.get(number)?.as_ref());
            checks.extend(figures.and_then(|figures| figures.data.as_ref()).map(device_use));
        }
        // The first section describes this machine.
        if let Some(host) = host.filter(|host| !host.is_here) {
            let machine = host.hello.as_ref().and_then(|hello| hello.machine.as_ref());
            checks.extend(machine.map(governor));
            checks.extend(between.and_then(|between| between.cpu.as_ref()).map(cpu_use));
        }
        Section { heading: heading(place, host), checks }
    };
    topology.servers.iter().map(section).collect()
}

fn heading(place: &ObservedServer, host: Option<&ObservedHost>) -> String {
    let whose = match &place.endpoint {
        Some(name) => format!("The host of {name}"),
        None => "The database's host".to_owned(),
    };
    let which = match host {
        Some(host) if host.is_here && place.found.is_ok() => ", which is this one".to_owned(),
        Some(host) if host.ssh.is_some() => {
            host.info().map(|info| format!(", {}", info.hostname)).unwrap_or_default()
        }
        _ => String::new(),
    };
    format!("{whose}{which} (OBSERVE={})", place.by)
}

fn observer_and_server(place: &ObservedServer, host: Option<&ObservedHost>) -> Vec<Check> {
    let subject = "Observer";
    if place.by == Observe::None.to_string() {
        return vec![Check::good(
            subject,
            "none is wanted: the verdicts rest on what the server itself says",
        )];
    }
    let ours = env!("CARGO_PKG_VERSION");
    let ssh = host.and_then(|host| Some((host.ssh.as_ref()?, host.hello.as_ref())));
    let observer = match (&place.found, ssh) {
        (Err(lacking), Some((ssh, None))) => {
            let said = format!("there is none on {ssh}: {lacking}");
            return vec![Check::warning(subject, said, LESS_KNOWN)];
        }
        (_, Some((ssh, Some(Hello { version, .. })))) if version == ours => {
            Some(Check::good(subject, format!("slob {ours} answers on {ssh}")))
        }
        (_, Some((ssh, Some(Hello { version, .. })))) => {
            let said = format!("the slob on {ssh} is release {version}, this one {ours}");
            let remedy = "install this release there, or let a copy be sent (--observe-copy)";
            Some(Check::warning(subject, said, remedy))
        }
        _ => None,
    };
    let server = match place.found.as_deref() {
        Ok(FoundServer { pid, name, how, .. }) => {
            Check::good("Server", format!("process {pid} '{name}', found {how}"))
        }
        Err(lacking) => Check::warning("Server", format!("it was not found: {lacking}"), LESS_KNOWN),
    };
    observer.into_iter().chain([server]).collect()
}

fn server_limits(place: &ObservedServer, host: &ObservedHost, found: &FoundServer) -> Vec<Check> {
    let lacking = found.lacking.iter().map(|lacking| Check::advice("Server", lacking.trim_end_matches('.')));
    let mut checks: Vec<Check> = lacking.collect();
    let Some(group) = &found.limits else { return checks };
    let of_host = host.info().and_then(|info| info.cpus_online).map(f64::from);
    let is_held = place.cpus(host).zip(of_host).is_some_and(|(cpus, of_host)| cpus < of_host);
    let remedy = "the figures will be those of the limit: lift it, or keep it the same in all runs";
    checks.push(match is_held || !group.io.is_empty() {
        true => Check::warning("Limits", limits(group), remedy),
        false => Check::good("Limits", limits(group)),
    });
    checks
}

fn server_devices(
    settings: &Settings,
    host: &ObservedHost,
    found: &FoundServer,
    server: &Server,
) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(data) = &found.data {
        checks.push(device("Device", data));
        let folder = found.path.as_ref().unwrap_or(&data.path);
        // Its scratch file must not lie among the server's own files: beside them is the same device, but for a mount point.
        let is_mounted = data.path == data.mount_point;
        let beside = folder.parent().filter(|_| !is_mounted).unwrap_or(folder).display().to_string();
        let far = host.ssh.as_ref().map(|ssh| format!("--observe ssh:{ssh} ")).unwrap_or_default();
        let there = format!("{far}{}", output::quoted(&beside));
        let hostname = host.info().map(|info| info.hostname.as_str()).unwrap_or_default();
        checks.extend(probe_of(settings, hostname, data, server, &there));
    }
    checks.extend(found.log.as_ref().map(|log| device("Log's device", log)));
    checks.extend(found.free_bytes.map(|free_bytes| {
        let (mb, gb) = (free_bytes / 1_000_000, free_bytes as f64 / 1e9);
        if free_bytes >= LOG_BYTES {
            return Check::good("Space", format!("{gb:.1} GB free on the file system of the data"));
        }
        let said = format!("only {mb} MB are free on the file system of the data");
        Check::warning("Space", said, "make room there: a server that can't write its log ends")
    }));
    checks
}

#[cfg(test)]
mod tests {
    use slob_host::{ProbePlan, StepKind};

    use super::*;

    #[test]
    fn a_results_folder_may_be_missing_but_not_impossible() {
        let folder = tempfile::tempdir().unwrap();
        assert_ne!(results(&folder.path().join("a/b")).grade, Grade::Problem);
        std::fs::write(folder.path().join("file"), "").unwrap();
        let refused = results(&folder.path().join("file/runs"));
        assert!(refused.grade == Grade::Problem && refused.finding.contains("--results-dir"), "{refused:?}");
    }

    #[test]
    fn flushes_that_are_too_cheap_or_too_dear_are_found() {
        let found = |mean_us: f64, writes: Option<u64>| {
            let figures = serde_json::json!({"operations": 1000, "seconds": 1.0, "iops": 1e6 / mean_us, "mb_per_s": 1.0,
                "mean_us": mean_us, "p50_us": 1.0, "p99_us": 1.0, "p999_us": 1.0, "max_us": 1.0, "cpu_us_per_op": null,
                "latency_ns": slob_stats::Histogram::new()});
            let step = ProbeStep {
                kind: StepKind::DurableWrite(DurableWrite::COMMIT),
                sessions_or_depth: 1,
                interface: None,
                figures: Some(serde_json::from_value(figures).unwrap()),
                error: None,
                note: None,
                device: writes.map(|writes| {
                    let mut device = DeviceCounters::default();
                    device.used.writes = writes;
                    device
                }),
            };
            let check = flushes(&ProbeResult {
                plan: ProbePlan::new("."),
                steps: vec![step],
                until_cliff: None,
                limits: None,
                interrupted: false,
            });
            check.map(|check| (check.grade, check.finding)).unwrap()
        };
        let cases = [
            (400.0, Some(1000), Grade::Good, "2500 durable writes/s"),
            (400.0, Some(899), Grade::Warning, "only 899 writes for 1000 flushes"),
            (99.0, Some(1000), Grade::Warning, "a cache answers"),
            (99.0, None, Grade::Warning, "a cache answers"),
            (10_001.0, None, Grade::Warning, "waits that long"),
            (10_000.0, None, Grade::Good, "each in"),
        ];
        for (mean_us, writes, grade, words) in cases {
            let (found, said) = found(mean_us, writes);
            assert!(found == grade && said.replace(',', "").contains(words), "{mean_us} {writes:?}: {said}");
        }
        assert_eq!(
            flushes(&ProbeResult {
                plan: ProbePlan::new("."),
                steps: vec![],
                until_cliff: None,
                limits: None,
                interrupted: false
            }),
            None
        );
    }
}
