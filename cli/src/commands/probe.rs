//! `slob probe`: what the device can do by itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ArgMatches;
use jiff::Timestamp;
use slob_host::{Device, HostInfo, ProbeEvent, ProbePlan, run_probe};
use slob_observe::Observer;
use slob_record::{SavedProbe, save_probe};
use slob_report::probe_text;
use slob_spec::{Entry, Observe, Origin, Settings, SshHost, Value};

use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::progress::Progress;
use crate::{interrupt, output, settings};

pub(crate) fn probe(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let results = settings::results_dir(&settings);
    let host = host(&settings)?;
    let plan = plan(matches)?;
    let stop = interrupt::flag()?;
    let probe = match host {
        Some(host) => measure_far(&host, settings::copies_observer(&settings), &plan, &stop)?,
        None => measure(&plan, &stop)?,
    };
    let text =
        if matches.get_flag("json") { output::json("the result", &probe)? } else { probe_text(&probe) };
    output::print(&text)?;
    if probe.result.interrupted {
        output::say("interrupted: only what was measured until then is shown, and it is not saved");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if !matches.get_flag("no-save") {
        let path = save_probe(&results, &probe).map_err(Failure::failed)?;
        output::say(&format!("saved in {}; later runs on this device are compared with it", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The host that is meant, if it is another one than this.
fn host(settings: &Settings) -> Result<Option<SshHost>, Failure> {
    let entry = settings.entry("OBSERVE");
    let Some(Value::Observe(observers)) = entry.and_then(Entry::value) else { return Ok(None) };
    match observers.of_endpoint(0) {
        Observe::Ssh(host) if observers.count() == 1 => {
            let host = host.at("localhost").map_err(Failure::usage)?;
            Ok(Some(host))
        }
        _ if entry.is_some_and(|entry| *entry.origin() == Origin::Flag) => {
            let message = format!(
                "--observe {observers} names no single host: use --observe ssh:HOST, or leave it out for this host"
            );
            Err(Failure::usage(message))
        }
        // Written down for runs; a probe without a flag is of this host.
        _ => Ok(None),
    }
}

/// Has an observer probe the device behind a folder of its host.
fn measure_far(
    host: &SshHost,
    copy: bool,
    plan: &ProbePlan,
    stop: &AtomicBool,
) -> Result<SavedProbe, Failure> {
    if !plan.dir.is_absolute() {
        return Err(Failure::usage(format!(
            "{} is no absolute path: name the folder on {host} from its root on",
            plan.dir.display()
        )));
    }
    let mut observer = Observer::remote(host.clone(), copy);
    let hello = observer.hello().map_err(|why| Failure::usage(format!("no observer on {host}: {why}")))?;
    let hostname = hello.host.hostname.clone();
    let progress = Progress::new("probing");
    let taken = Timestamp::now();
    let probed = observer.probe(plan, &mut |done, of, at| {
        progress.at(done, of, at);
        !stop.load(Ordering::Relaxed)
    });
    progress.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::interrupted(format!(
            "probing {hostname} was interrupted; nothing of it is kept"
        )));
    }
    let (result, device) = probed.map_err(|why| Failure::failed(format!("probing {hostname}: {why}")))?;
    Ok(SavedProbe { taken, host: hostname, device, result })
}

fn plan(matches: &ArgMatches) -> Result<ProbePlan, Failure> {
    fn one<T: Copy + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Result<T, Failure> {
        matches.get_one::<T>(name).copied().ok_or_else(|| Failure::usage(format!("--{name} has no value")))
    }
    let many = |name: &str| matches.get_many::<u32>(name).unwrap_or_default().copied().collect();
    let folder = matches.get_one::<PathBuf>("path").cloned().unwrap_or_else(|| PathBuf::from("."));
    let seconds_per_step: f64 = one(matches, "seconds")?;
    if !(0.1..=3600.0).contains(&seconds_per_step) {
        return Err(Failure::usage(format!("--seconds is {seconds_per_step}; it must be 0.1 to 3600")));
    }
    Ok(ProbePlan {
        file_bytes: one::<u64>(matches, "size-mb")? << 20,
        block_bytes: one(matches, "block-bytes")?,
        seconds_per_step,
        sync_sessions: many("sessions"),
        async_depths: many("depths"),
        write: matches.get_flag("write"),
        direct: !matches.get_flag("buffered"),
        ..ProbePlan::new(folder)
    })
}

/// Probes, telling of it on stderr.
pub(crate) fn measure(plan: &ProbePlan, stop: &AtomicBool) -> Result<SavedProbe, Failure> {
    let progress = Progress::new("probing");
    let mut on_event = |event: ProbeEvent| match event {
        ProbeEvent::Filling { written_bytes, total_bytes } => {
            progress.at(written_bytes, total_bytes, "writing the scratch file");
        }
        ProbeEvent::StepStarted { number, of, .. } => {
            progress.at(number as u64 - 1, of as u64, &format!("step {number} of {of}"));
        }
        ProbeEvent::StepFinished(_) => {}
    };
    let taken = Timestamp::now();
    let result = run_probe(plan, &mut on_event, stop);
    progress.finish();
    Ok(SavedProbe {
        taken,
        host: HostInfo::read().hostname,
        device: Device::behind(existing(&plan.dir)).ok(),
        result: result?,
    })
}

fn existing(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
