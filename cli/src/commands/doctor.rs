//! `slob doctor`: what would spoil a test, and what to do about it.

mod hosts;

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::ArgMatches;
use rustix::fs::{Mode, OFlags};
use slob_engine::{Engine, Purpose, Server};
use slob_host::{CpuTimes, Device, DeviceCounters, HostInfo, free_space};
use slob_observe::HostInterval;
use slob_record::latest_probe;
use slob_report::format::{fixed, percent};
use slob_report::verdicts::thresholds::FOREIGN_CPU;
use slob_run::{Hosts, LoadPlan, Loaded, LocalData, check_observers, page_cache_advice, prepare};
use slob_spec::{Entry, LoadSpec, RunSpec, Settings};

use crate::checks::{self, Check, Grade};
use crate::failure::{Failure, JUDGED, Outcome};
use crate::{as_loaded, next_step, output, registry, settings};

/// How long other programs are watched.
const WATCHED: Duration = Duration::from_secs(1);
/// And this much I/O of others, in bytes per second.
const IO_BYTES_PER_S: u64 = 1_000_000;

/// What was looked at in one place.
struct Section {
    heading: String,
    checks: Vec<Check>,
}

pub(crate) fn doctor(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let target = settings.entry("TARGET").and_then(Entry::displayed).unwrap_or_default();
    let mut checks = vec![build()];
    checks.extend(checks::machine());
    checks.push(checks::results(&settings::results_dir(&settings)));
    let mut at_target = at_target(&settings);
    let watched = Watched::watch(&mut at_target.site);
    checks.extend(watched.this_machine.as_ref().map(cpu_use));
    checks.extend(at_target.checks);
    let mut sections = vec![Section { heading: format!("Before a test of {target}"), checks }];
    if let Some(server) = &at_target.server {
        match &at_target.site {
            Site::Nowhere => {}
            Site::Here(here) => {
                let below = below(&settings, here, server);
                sections[0].checks.extend(below);
                sections[0].checks.extend(watched.device.as_ref().map(device_use));
            }
            Site::Servers(hosts) => {
                sections.extend(hosts::sections(&settings, hosts, &watched.hosts, server));
            }
        }
    }
    output::print(&page(&sections))?;
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
            let _ = writeln!(text, "  {grade:<7}  {:<width$}  {}", check.subject, check.said);
            if let Some(remedy) = &check.remedy {
                let _ = writeln!(text, "  {:<7}  {:<width$}  -> {remedy}", "", "");
            }
        }
    }
    let count = |grade: Grade| all().filter(|check| check.grade == grade).count() as u64;
    let _ = match (count(Grade::Problem), count(Grade::Warning)) {
        (0, 0) => writeln!(text, "Nothing would spoil a test."),
        (0, warnings) => writeln!(text, "{}: a test is possible.", output::plural(warnings, "warning")),
        (problems, warnings) => writeln!(
            text,
            "{}, {}: a test is not possible yet.",
            output::plural(problems, "problem"),
            output::plural(warnings, "warning")
        ),
    };
    text
}

fn build() -> Check {
    if cfg!(debug_assertions) {
        return Check::warning("Build", "a debug build: its figures are of no use", "build with --release");
    }
    Check::good("Build", "optimised")
}

/// What others did meanwhile.
struct Watched {
    this_machine: Option<CpuTimes>,
    /// The hosts of the servers.
    hosts: Vec<Option<HostInterval>>,
    /// The device behind the data of a database that is part of this program.
    device: Option<DeviceCounters>,
}

impl Watched {
    fn watch(site: &mut Site) -> Self {
        let io = |site: &Site| site.device().and_then(|device| device.counters().ok().flatten());
        let (cpu, before) = (CpuTimes::read().ok(), io(site));
        let hosts = match site {
            Site::Servers(hosts) => hosts.watch(WATCHED),
            Site::Here(_) | Site::Nowhere => {
                sleep(WATCHED);
                Vec::new()
            }
        };
        let (after_cpu, after) = (CpuTimes::read().ok(), io(site));
        Self {
            this_machine: cpu.zip(after_cpu).map(|(before, after)| after.since(&before)),
            hosts,
            device: before.zip(after).and_then(|(before, after)| after.since(&before)),
        }
    }
}

fn cpu_use(used: &CpuTimes) -> Check {
    let subject = "Other programs";
    let stolen = 100.0 * used.steal_s / used.total_s().max(f64::MIN_POSITIVE);
    match used.busy_percent() {
        Some(busy) if busy >= FOREIGN_CPU.value => Check::warning(
            subject,
            format!(
                "the CPUs are {} % busy (stolen by the hypervisor: {} %)",
                percent(busy),
                percent(stolen)
            ),
            "stop other programs, or expect 'Steady?' to name them",
        ),
        Some(busy) => Check::good(subject, format!("the CPUs are {} % busy", percent(busy))),
        None => Check::warning(subject, "the CPU's clocks did not move", "try again"),
    }
}

fn device_use(used: &DeviceCounters) -> Check {
    let subject = "Device in use";
    let moved = used.used.read_bytes.saturating_add(used.used.write_bytes);
    let said = format!("other programs move {} MB/s", fixed(moved as f64 / 1e6 / WATCHED.as_secs_f64(), 1));
    if moved >= IO_BYTES_PER_S {
        return Check::warning(subject, said, "stop other programs, or expect 'Steady?' to name them");
    }
    Check::good(subject, said)
}

/// Where the data lie.
enum Site {
    /// There are none, or there is no place to look at.
    Nowhere,
    /// In a folder of this machine: the database is part of this program.
    Here(Box<LocalData>),
    /// Servers have them, which were looked for as OBSERVE says.
    Servers(Hosts),
}

impl Site {
    fn of(engine: &dyn Engine, server: &Server, settings: &Settings) -> Result<Self, Failure> {
        if !server.capabilities.stores_data {
            return Ok(Self::Nowhere);
        }
        let observers = settings::observers(settings);
        check_observers(engine, &observers)?;
        if server.capabilities.embedded {
            return Ok(LocalData::find(engine, true).map_or(Self::Nowhere, |here| Self::Here(Box::new(here))));
        }
        Ok(Self::Servers(Hosts::find(engine, &observers, settings::copies_observer(settings))))
    }

    fn device(&self) -> Option<&Device> {
        match self {
            Self::Here(here) => here.device.as_ref().ok(),
            Self::Servers(_) | Self::Nowhere => None,
        }
    }

    /// A place for data, and what is free there in bytes, if both can be seen.
    fn room(&self) -> Option<(String, u64)> {
        match self {
            Self::Nowhere => None,
            Self::Here(here) => {
                let folder = here.folder();
                Some((folder.display().to_string(), free_space(folder).ok()?))
            }
            Self::Servers(hosts) => hosts::room(&hosts.topology),
        }
    }
}

/// What the target is like.
struct AtTarget {
    checks: Vec<Check>,
    server: Option<Server>,
    site: Site,
}

fn at_target(settings: &Settings) -> AtTarget {
    let refused = |failure: Failure, server| AtTarget {
        checks: vec![Check::problem("Target", failure.text())],
        server,
        site: Site::Nowhere,
    };
    let opened = LoadSpec::from_settings(settings).map_err(Failure::from).and_then(|load| {
        let engine = registry::open(&load.spec.target, &load.spec.options, Purpose::Load)?;
        let server = engine.server()?;
        Ok((load.spec, engine, server))
    });
    let (load, engine, server) = match opened {
        Ok(opened) => opened,
        Err(failure) => return refused(failure, None),
    };
    let site = match Site::of(engine.as_ref(), &server, settings) {
        Ok(site) => site,
        Err(failure) => return refused(failure, Some(server)),
    };
    let place = if server.capabilities.embedded { "built in" } else { "reached" };
    let mut checks = vec![Check::good("Target", format!("{} {}, {place}", server.product, server.version))];
    if server.capabilities.stores_data {
        checks.extend(data(settings, &load, engine.as_ref(), &server, &site));
    }
    if server.capabilities.stores_data && server.capabilities.direct_io == Some(false) {
        checks.push(Check::warning(
            "Direct I/O",
            "off: reads that the operating system's page cache holds never reach the device",
            "switch it on, or load far more data than its host has memory",
        ));
    }
    let advice = |advice: &String| {
        Check::warning("Server", advice.clone(), "change it, or keep it the same in all runs")
    };
    checks.extend(server.advice.iter().map(advice));
    AtTarget { checks, server: Some(server), site }
}

/// What is loaded, by the checks of a run; or whether it could be, by those of a load.
fn data(
    settings: &Settings,
    load: &LoadSpec,
    engine: &dyn Engine,
    server: &Server,
    site: &Site,
) -> Vec<Check> {
    let subject = "Data";
    let loaded = match Loaded::at(engine) {
        Ok(Some(loaded)) => loaded,
        Ok(None) => return vec![not_loaded(load, engine, server, site)],
        Err(error) => return vec![Check::problem(subject, error.to_string())],
    };
    let ready = as_loaded::of_run(settings)
        .and_then(|settings| Ok(prepare(engine, &RunSpec::from_settings(&settings)?.spec)?));
    let prepared = match ready {
        Ok(prepared) => prepared,
        Err(failure) => return vec![Check::problem(subject, failure.text())],
    };
    let schemas = output::plural(u64::from(loaded.schemas), "schema");
    let good = Check::good(subject, format!("{schemas} of {}: a run can start", loaded.scale()));
    let cached = match site {
        Site::Servers(hosts) => page_cache_advice(&prepared, &hosts.topology),
        Site::Here(_) | Site::Nowhere => None,
    };
    [good].into_iter().chain(cached.map(|advice| Check::advice(subject, advice))).collect()
}

fn not_loaded(load: &LoadSpec, engine: &dyn Engine, server: &Server, site: &Site) -> Check {
    let subject = "Data";
    let planned = LoadPlan::new(engine, load, server).and_then(|plan| {
        let room = site.room();
        room.as_ref().map_or(Ok(()), |(place, free_bytes)| plan.check_room(place, *free_bytes))?;
        Ok((plan.bytes() as f64 / 1e9, room.is_some()))
    });
    let said = match planned {
        Ok((gb, true)) => format!("nothing is loaded; there is room for the {gb:.2} GB that are configured"),
        Ok((gb, false)) => {
            format!(
                "nothing is loaded; whether there is room for the {gb:.2} GB that are configured is not seen"
            )
        }
        Err(error) => return Check::problem(subject, error.to_string()),
    };
    Check::warning(subject, said, "slob setup 4")
}

/// What lies below the data of a database that is part of this program.
fn below(settings: &Settings, here: &LocalData, server: &Server) -> Vec<Check> {
    let there = here.folder();
    let mut all = Vec::new();
    if server.capabilities.direct_io == Some(true) {
        all.push(direct_io(there));
    }
    match &here.device {
        Ok(found) => {
            all.push(device("Device", found));
            let command = format!("slob probe {}", next_step::quoted(&there.display().to_string()));
            all.push(probe(settings, &HostInfo::read().hostname, found, server, command));
        }
        Err(why) => all.push(Check::warning("Device", why.as_str(), FEWER)),
    }
    all
}

/// What comes of a device that can't be seen.
const FEWER: &str = "'Physical?' will rest on fewer counters";

fn device(subject: &'static str, device: &Device) -> Check {
    match (&device.top, &device.note) {
        (Some(top), None) => Check::good(subject, format!("{} ({})", top.name, device.file_system)),
        (_, note) => Check::warning(
            subject,
            note.clone().unwrap_or_else(|| "no block device".to_owned()),
            format!("{FEWER}; use a file system on a block device"),
        ),
    }
}

/// Whether it is known what the device can do; `command` makes it known.
fn probe(settings: &Settings, host: &str, device: &Device, server: &Server, command: String) -> Check {
    let probe = latest_probe(&settings::results_dir(settings), host, device, server.block_bytes);
    match probe.and_then(|probe| probe.result.ceiling_iops()) {
        Some(ceiling) => Check::good("Probe", format!("the device's ceiling is {} IOPS", fixed(ceiling, 0))),
        None => {
            Check::warning("Probe", "the device has not been probed, so its ceiling is not known", command)
        }
    }
}

/// Whether the file system lets the page cache be bypassed.
fn direct_io(folder: &Path) -> Check {
    let subject = "Direct I/O";
    let tried = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        let flags = OFlags::RDONLY | OFlags::DIRECT;
        Ok(rustix::fs::open(file.path(), flags, Mode::empty())?)
    });
    match tried {
        Ok(_) => Check::good(subject, format!("supported by the file system of {}", folder.display())),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Check::problem(
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
