//! `slob probe`: what the device can do by itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use jiff::Timestamp;
use slob_host::{Device, HostInfo, Probe, ProbeEvent, ProbePlan};
use slob_record::{SavedProbe, save_probe};
use slob_report::probe_text;

use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::progress::Progress;
use crate::{interrupt, output, settings};

pub(crate) fn probe(matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let plan = plan(matches)?;
    let stop = interrupt::flag()?;
    let probe = measure(&plan, &stop)?;
    let text = if matches.get_flag("json") {
        let json = serde_json::to_string_pretty(&probe);
        json.map_err(|error| Failure::failed(format!("writing the result as JSON: {error}")))? + "\n"
    } else {
        probe_text(&probe)
    };
    output::print(&text)?;
    if probe.result.interrupted {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if !matches.get_flag("no-save") {
        let path = save_probe(&results, &probe).map_err(Failure::failed)?;
        output::say(&format!("saved in {}; later runs on this device are compared with it", path.display()));
    }
    Ok(ExitCode::SUCCESS)
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
    let result = Probe::run(plan, &mut on_event, stop);
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
