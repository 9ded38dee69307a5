//! The device behind a folder, here or on another host, and `observe`, which answers there.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgAction, ArgMatches, Args, value_parser};
use jiff::Timestamp;
use slob_host::{Device, HostInfo, ProbeEvent, ProbePlan, ProbeStep, run_probe};
use slob_live::Progress;
use slob_observe::Observer;
use slob_page::Answer;
use slob_record::{SavedProbe, latest_probe, save_probe};
use slob_report::ProbeAnswer;
use slob_spec::{Entry, Observe, Origin, Settings, SshHost, Value};

use super::profile::time_given;
use crate::answer::Forms;
use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::{interrupt, output, settings};

/// Measure the device behind a folder, without a database
#[derive(Args)]
#[command(after_help = "\
Reads random blocks of a scratch file in that folder, writes durably to others, then removes them.
The result is kept in the results folder; later runs on the same device are compared with the best.
Examples:
  slob probe /data                       the device behind a folder of this host
  slob probe --durable only /data        how many commits per second it can promise
  slob probe --until-cliff /data         how long the burst credits of a cloud volume last, in up to 45 minutes
  slob probe --observe ssh:db1 /data     the same on the database's host; the result is kept here under its name")]
pub(super) struct ProbeArgs {
    /// A folder on the device
    #[arg(value_name = "path", default_value = ".")]
    path: PathBuf,
    /// Measure random writes as well
    #[arg(long)]
    write: bool,
    /// Measure durable writes, as commits are: at most ten seconds more, or all there is
    #[arg(long, value_name = "durable", default_value = "yes", value_parser = ["yes", "no", "only"])]
    durable: String,
    /// Read through the operating system's page cache
    #[arg(long)]
    buffered: bool,
    /// Seconds per step
    #[arg(long, value_name = "seconds", default_value = "2")]
    seconds: f64,
    /// Size of the scratch file in MiB
    #[arg(long, value_name = "size-mb", default_value = "1024", value_parser = value_parser!(u64).range(16..=1_048_576))]
    size_mb: u64,
    /// Block size in bytes
    #[arg(long, value_name = "block-bytes", default_value = "8192")]
    #[arg(value_parser = value_parser!(u32).range(512..=1_048_576))]
    block_bytes: u32,
    /// Numbers of sessions reading synchronously
    #[arg(long, value_name = "sessions", default_value = "1,2,4,8,16", value_delimiter = ',')]
    #[arg(action = ArgAction::Set, value_parser = value_parser!(u32).range(1..=4096))]
    sessions: Vec<u32>,
    /// Queue depths of asynchronous reads
    #[arg(long, value_name = "depths", default_value = "16,64", value_delimiter = ',')]
    #[arg(action = ArgAction::Set, value_parser = value_parser!(u32).range(1..=4096))]
    depths: Vec<u32>,
    /// Read on until burst credits are spent, for at most this time: the cliff of a cloud volume
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "DURATION", default_missing_value = "45m")]
    until_cliff: Option<String>,
    #[command(flatten)]
    forms: Forms,
    /// Do not save the result
    #[arg(long)]
    no_save: bool,
}

pub(super) fn probe(args: &ProbeArgs, matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let results = settings::results_dir(&settings);
    let host = remote_host(&settings)?;
    let plan = probe_plan(args)?;
    let forms = args.forms.checked()?;
    let stop = interrupt::flag()?;
    let probe = match host {
        Some(host) => measure_remote(&host, settings::copies_observer(&settings), &plan, &stop)?,
        None => measure_device(&plan, &stop)?,
    };
    let answer = ProbeAnswer(&probe);
    forms.write(&answer)?;
    if forms.is_page_alone() {
        output::print(&answer.text(output::width()))?;
    }
    // All steps are whole where the reads until the cliff were cut short.
    if probe.result.interrupted && probe.result.until_cliff.is_none() {
        output::say("interrupted: only what was measured until then is shown, and it is not saved");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if !args.no_save {
        let path = save_probe(&results, &probe).map_err(Failure::failed)?;
        say!("saved in {}; {}", path.display(), compared_with(&results, &probe));
    }
    if probe.result.interrupted {
        output::say("interrupted: the reads until the cliff were cut short");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(forms.exit_code(&answer, false))
}

/// Later runs are compared with the probe that [`latest_probe`] finds.
fn compared_with(results: &Path, probe: &SavedProbe) -> String {
    let SavedProbe { taken, host, device, result } = probe;
    let of = |device| latest_probe(results, host, device, result.plan.block_bytes);
    let Some(best) = device.as_ref().and_then(of) else {
        return "no run is compared with it: that needs direct I/O and a known device".to_owned();
    };
    let own = |step: &ProbeStep| result.steps.iter().any(|own| own.figures == step.figures);
    let lent = best.result.steps.iter().any(|step| step.kind.durable().is_some() && own(step));
    let with = match best.taken.strftime("%Y-%m-%d %H:%M UTC") {
        _ if best.taken == *taken => "it".to_owned(),
        at if lent => format!("its durable writes, and with the reads of the probe of {at}"),
        at => format!("the probe of {at}, which has a larger file or a higher ceiling"),
    };
    format!("later runs on this device are compared with {with}")
}

fn remote_host(settings: &Settings) -> Result<Option<SshHost>, Failure> {
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
        // OBSERVE of a configuration is for runs; without the flag, a probe is of this host.
        _ => Ok(None),
    }
}

fn measure_remote(
    host: &SshHost,
    copy: bool,
    plan: &ProbePlan,
    stop: &AtomicBool,
) -> Result<SavedProbe, Failure> {
    if !plan.dir.is_absolute() {
        return Err(usage!(
            "{} is no absolute path: name the folder on {host} from its root on",
            plan.dir.display()
        ));
    }
    let mut observer = Observer::remote(host.clone(), copy, stop);
    let interrupted =
        |hostname: &str| interrupted!("probing {hostname} was interrupted; nothing of it is kept");
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted(&host.to_string()));
    }
    let hello = observer.hello().map_err(|why| usage!("no observer on {host}: {why}"))?;
    let hostname = hello.host.hostname.clone();
    let progress = Progress::new("probing");
    let taken = Timestamp::now();
    let mut on_progress = |done, of, at: &str| {
        progress.at(done, of, at);
        !stop.load(Ordering::Relaxed)
    };
    let probed = observer.probe(plan, &mut on_progress, stop);
    progress.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(interrupted(&hostname));
    }
    let (result, device) = probed.map_err(|why| failed!("probing {hostname}: {why}"))?;
    Ok(SavedProbe { taken, host: hostname, device, result })
}

fn probe_plan(args: &ProbeArgs) -> Result<ProbePlan, Failure> {
    let seconds_per_step = args.seconds;
    if !(0.1..=3600.0).contains(&seconds_per_step) {
        return Err(usage!("--seconds is {seconds_per_step}; it must be 0.1 to 3600"));
    }
    let until_cliff = args.until_cliff.as_deref().map(|time| time_given("until-cliff", time));
    let until_cliff_s = until_cliff.transpose()?.map(|time| time.as_secs_f64());
    if until_cliff_s.is_some() && args.durable == "only" {
        return Err(usage!("--until-cliff reads, and --durable only does not: leave one out"));
    }
    let unless_alone = |counts: &[u32]| if args.durable == "only" { Vec::new() } else { counts.to_vec() };
    Ok(ProbePlan {
        file_bytes: args.size_mb << 20,
        block_bytes: args.block_bytes,
        seconds_per_step,
        sync_sessions: unless_alone(&args.sessions),
        async_depths: unless_alone(&args.depths),
        write: args.write,
        durable: args.durable != "no",
        until_cliff_s,
        direct: !args.buffered,
        ..ProbePlan::new(&args.path)
    })
}

pub(super) fn measure_device(plan: &ProbePlan, stop: &AtomicBool) -> Result<SavedProbe, Failure> {
    let progress = Progress::new("probing");
    let mut on_event = |event: ProbeEvent| {
        if let Some((done, of, at)) = event.progress() {
            progress.at(done, of, &at);
        }
    };
    let folder = if plan.dir.as_os_str().is_empty() { Path::new(".") } else { &plan.dir };
    let taken = Timestamp::now();
    let result = run_probe(plan, &mut on_event, stop);
    progress.finish();
    let (host, device) = (HostInfo::read().hostname, Device::behind(folder).ok());
    Ok(SavedProbe { taken, host, device, result: result? })
}

/// Watch this host for a run elsewhere: started here by `slob run --observe ssh:HOST`
#[derive(Args)]
#[command(after_help = "\
Reads questions from stdin and answers each on stdout with a line of JSON, until stdin ends. It opens no port and
changes nothing except for the scratch file of a probe.
Example: slob observe < /dev/null     the greeting: release, protocol, host")]
pub(super) struct ObserveArgs {}

pub(super) fn observe(_: &ObserveArgs, _: &ArgMatches) -> Outcome {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    match slob_observe::serve(&mut input, &mut output) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // The run was killed.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(usage!(
            "observing: {error}; this command is started by `slob run --observe ssh:HOST`, and reads its questions from stdin"
        )),
    }
}
