//! `slob doctor`: what would spoil a test, and what to do about it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::ArgMatches;
use rustix::fs::{Mode, OFlags};
use slob_engine::{Engine, Purpose, Server};
use slob_host::{CpuTimes, Device, DeviceCounters, HostInfo};
use slob_record::latest_probe;
use slob_report::format::{fixed, percent};
use slob_run::{DataHere, Loaded, plan_load_there, prepare};
use slob_spec::{Entry, LoadSpec, RunSpec, Settings};

use crate::checks::{self, Check, Grade};
use crate::failure::{Failure, JUDGED, Outcome};
use crate::{as_loaded, next_step, output, registry, settings};

/// How long other programs are watched.
const WATCHED: Duration = Duration::from_secs(1);
/// From this share on, others' CPU use moves a result: the limit of the verdict 'Steady?'.
const BUSY_PERCENT: f64 = 5.0;
/// And this much I/O of others, in bytes per second.
const IO_BYTES_PER_S: u64 = 1_000_000;

pub(crate) fn doctor(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let mut all = vec![build()];
    all.extend(checks::machine());
    all.push(checks::results(&settings::results_dir(&settings)));
    let at_target = at_target(&settings);
    let device = at_target.device.as_ref();
    all.extend(others(device));
    all.extend(at_target.checks);
    let target = settings.entry("TARGET").and_then(Entry::displayed).unwrap_or_default();
    output::print(&page(&target, &all))?;
    let code = if all.iter().any(|check| check.grade == Grade::Problem) { JUDGED } else { 0 };
    Ok(ExitCode::from(code))
}

fn page(target: &str, all: &[Check]) -> String {
    let mut text = format!("Before a test of {target}:\n");
    let width = all.iter().map(|check| check.subject.len()).max().unwrap_or(0);
    for check in all {
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
    let count = |grade: Grade| all.iter().filter(|check| check.grade == grade).count() as u64;
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

/// Who else is at work on this host and on the device.
fn others(device: Option<&Device>) -> Vec<Check> {
    let io = |device: Option<&Device>| device.and_then(|device| device.counters().ok().flatten());
    let (cpu, before) = (CpuTimes::read(), io(device));
    sleep(WATCHED);
    let (after_cpu, after) = (CpuTimes::read(), io(device));
    let mut all = Vec::new();
    if let (Ok(before), Ok(after)) = (cpu, after_cpu) {
        all.push(cpu_use(&after.since(&before)));
    }
    all.extend(before.zip(after).map(|(before, after)| device_use(&before, &after)));
    all
}

fn cpu_use(used: &CpuTimes) -> Check {
    let subject = "Other programs";
    let stolen = 100.0 * used.steal_s / used.total_s().max(f64::MIN_POSITIVE);
    match used.busy_percent() {
        Some(busy) if busy >= BUSY_PERCENT => Check::warning(
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

fn device_use(before: &DeviceCounters, after: &DeviceCounters) -> Check {
    let subject = "Device in use";
    let bytes =
        |counters: &DeviceCounters| counters.used.read_bytes.saturating_add(counters.used.write_bytes);
    let moved = bytes(after).saturating_sub(bytes(before));
    let said = format!("other programs move {} MB/s", fixed(moved as f64 / 1e6 / WATCHED.as_secs_f64(), 1));
    if moved >= IO_BYTES_PER_S {
        return Check::warning(subject, said, "stop other programs, or expect 'Steady?' to name them");
    }
    Check::good(subject, said)
}

/// What the target is like.
#[derive(Default)]
struct AtTarget {
    checks: Vec<Check>,
    device: Option<Device>,
}

fn at_target(settings: &Settings) -> AtTarget {
    let mut found = AtTarget::default();
    let opened = LoadSpec::from_settings(settings).map_err(Failure::from).and_then(|load| {
        let engine = registry::open(&load.spec.target, &load.spec.options, Purpose::Load)?;
        let server = engine.server()?;
        Ok((load.spec, engine, server))
    });
    let (load, engine, server) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            found.checks.push(Check::problem("Target", failure.text()));
            return found;
        }
    };
    let place = if server.capabilities.embedded { "built in" } else { "reached" };
    found.checks.push(Check::good("Target", format!("{} {}, {place}", server.product, server.version)));
    if server.capabilities.stores_data {
        let here = DataHere::find(engine.as_ref(), server.capabilities.embedded);
        let path = here.as_ref().ok().map(|here| here.path.clone());
        found.checks.push(data(settings, &load, engine.as_ref(), &server, path));
        match here {
            Ok(here) => {
                found.checks.extend(below(settings, &here, &server));
                found.device = here.device.ok();
            }
            Err(lacking) => found.checks.push(unseen(&lacking)),
        }
    }
    let advice = |advice: &String| {
        Check::warning("Server", advice.clone(), "change it, or keep it the same in all runs")
    };
    found.checks.extend(server.advice.iter().map(advice));
    found
}

/// What is loaded, by the checks of a run; or whether it could be, by those of a load.
fn data(
    settings: &Settings,
    load: &LoadSpec,
    engine: &dyn Engine,
    server: &Server,
    path: Option<PathBuf>,
) -> Check {
    let subject = "Data";
    let loaded = match Loaded::at(engine) {
        Ok(loaded) => loaded,
        Err(error) => return Check::problem(subject, error.to_string()),
    };
    let Some(loaded) = loaded else {
        return match plan_load_there(engine, load, server, path) {
            Ok(plan) => {
                let gb = plan.bytes() as f64 / 1e9;
                Check::warning(
                    subject,
                    format!("nothing is loaded; there is room for the {gb:.2} GB that are configured"),
                    "slob setup 4",
                )
            }
            Err(error) => Check::problem(subject, error.to_string()),
        };
    };
    let ready = as_loaded::of_run(settings)
        .and_then(|settings| Ok(prepare(engine, &RunSpec::from_settings(&settings)?.spec)?));
    match ready {
        Ok(_) => {
            let schemas = output::plural(u64::from(loaded.schemas), "schema");
            Check::good(subject, format!("{schemas} of {}: a run can start", loaded.scale()))
        }
        Err(failure) => Check::problem(subject, failure.text()),
    }
}

fn unseen(lacking: &str) -> Check {
    Check::warning(
        "Device",
        format!("the database's files can't be seen from here: {lacking}"),
        "'Physical?' and 'CPU-bound?' will know less",
    )
}

/// What lies below the data.
fn below(settings: &Settings, here: &DataHere, server: &Server) -> Vec<Check> {
    let mut all = Vec::new();
    let there = here.folder();
    if server.capabilities.embedded && server.capabilities.direct_io == Some(true) {
        all.push(direct_io(there));
    } else if server.capabilities.direct_io == Some(false) {
        all.push(Check::warning(
            "Direct I/O",
            "off: reads that the operating system's page cache holds never reach the device",
            "switch it on, or load far more data than this machine has memory",
        ));
    }
    let device = match &here.device {
        Ok(device) => device,
        Err(why) => {
            all.push(Check::warning("Device", why.as_str(), "'Physical?' will rest on fewer counters"));
            return all;
        }
    };
    all.push(match (&device.top, &device.note) {
        (Some(top), None) => Check::good("Device", format!("{} ({})", top.name, device.file_system)),
        (_, note) => Check::warning(
            "Device",
            note.clone().unwrap_or_else(|| "no block device".to_owned()),
            "'Physical?' will rest on fewer counters; use a file system on a block device",
        ),
    });
    let results = settings::results_dir(settings);
    let probe = latest_probe(&results, &HostInfo::read().hostname, device, server.block_bytes);
    all.push(match probe.and_then(|probe| probe.result.ceiling_iops()) {
        Some(ceiling) => Check::good("Probe", format!("the device's ceiling is {} IOPS", fixed(ceiling, 0))),
        None => Check::warning(
            "Probe",
            "the device has not been probed, so its ceiling is not known",
            format!("slob probe {}", next_step::quoted(&there.display().to_string())),
        ),
    });
    all
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
