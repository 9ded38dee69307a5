//! The commands that work on a target: `setup`, `run`, `drop`, `demo` and `mark`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::{ArgAction, ArgMatches, Args, Command, value_parser};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use slob_demand::AbortWatch;
use slob_engine::{Engine, EngineKind, OpenSpec, Purpose, SchemaState};
use slob_facts::format::plural;
use slob_facts::{Grade, verdicts};
use slob_host::ProbePlan;
use slob_page::Answer;
use slob_record::{
    LoadCost, Look, Record, SavedLoad, SigningKey, Status, leave_mark, runs_named, save_load, save_probe,
};
use slob_report::gate::{Gate, Requirement};
use slob_report::{Confidence, compact_summary, repeats_text};
use slob_run::{
    LoadSummary, PageCache, Site, load, plan_load, script_of_load, script_of_run, script_of_server,
};
use slob_spec::{LoadSpec, Param, RunSpec, Settings, Size};

use super::decided::UntilDecided;
use super::doctor::{machine_checks, refuse_tablespace, warn_of};
use super::gate::required;
use super::measuring::{Extras, KeptRun, measure_spec};
use super::probe::measure_device;
use super::replays::{self, ReplayedRun};
use super::together;
use crate::failure::{Failure, INTERRUPTED, JUDGED, Outcome, outcome_code, strict_code};
use crate::flags::{PLAIN, PRINT_SQL, STRICT, is_of_load, with_params};
use crate::{completing, interrupt, output, registry, settings};
use slob_live::Progress;
use slob_live::Server;
use slob_live::{Figures, LoadDisplay, RunDisplay};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Display {
    Dashboard,
    Bar,
    Lines,
}

/// Load the schemas of a test; resumes an interrupted load
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob setup 4
  slob setup --scale 1G --load-parallel-degree 4 8
  slob setup IOPS 8        as in the original kit: tablespace, then schemas
  slob setup IOPS --yes    128 schemas, as in the original kit, without a question
A schema that is already loaded is left alone. More schemas are loaded like those already there, unless you say otherwise.")]
pub(super) struct SetupArgs {
    /// The number of schemas, preceded by a tablespace where the database has them; 128 for a tablespace alone
    #[arg(num_args = 1..=2, action = ArgAction::Set, value_names = ["TABLESPACE", "SCHEMAS"])]
    #[arg(conflicts_with = "SCHEMAS")]
    tablespace_and_schemas: Vec<String>,
    /// Do not ask before 128 schemas are loaded, for a tablespace alone
    #[arg(long, short)]
    yes: bool,
    #[arg(long, help = PRINT_SQL)]
    print_sql: bool,
    #[arg(long, help = PLAIN)]
    plain: bool,
}

pub(super) fn setup(args: &SetupArgs, matches: &ArgMatches) -> Outcome {
    let words: Vec<&str> = args.tablespace_and_schemas.iter().map(String::as_str).collect();
    let settings = settings::resolve(matches, &tablespace_and_schemas(&words)?)?;
    if args.print_sql {
        let spec = settings::warned(LoadSpec::from_settings(&settings)?);
        let engine = registry::engine_of(&spec.target)?;
        return output::done(&script_of_load(engine, &request_of_load(engine, &spec), &spec)?);
    }
    let stop = interrupt::flag()?;
    let display = if args.plain { Display::Lines } else { Display::Dashboard };
    let is_many = matches!(words[..], [word] if !is_number(word));
    let consent = if is_many && !args.yes { Consent::Asked } else { Consent::Given };
    let loaded = load_all(&settings, display, consent, &stop)?;
    // The number of schemas follows the flags, and a run has a seed of its own.
    let takes = |param: &Param| registry::is_of_run(param) && !["SCHEMAS", "SEED"].contains(&param.key);
    let flags = settings::flags_for(matches, takes);
    let schemas = settings::shown(&settings, "SCHEMAS").map(|schemas| format!(" {schemas}"));
    say!("{loaded}; next: `slob run{flags}{}`", schemas.unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}

fn tablespace_and_schemas(words: &[&str]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    match *words {
        [] => Ok(Vec::new()),
        [schemas] if is_number(schemas) => Ok(vec![pair("SCHEMAS", schemas)]),
        [word, ..] if no_tablespace(word).is_some() => {
            Err(Failure::usage(no_tablespace(word).unwrap_or_default()))
        }
        [tablespace] => Ok(vec![pair("TABLESPACE", tablespace), pair("SCHEMAS", SCHEMAS_OF_A_TABLESPACE)]),
        [tablespace, schemas] => Ok(vec![pair("TABLESPACE", tablespace), pair("SCHEMAS", schemas)]),
        [_, _, ..] => Err(Failure::usage("too many words; use `slob setup 4`, or `slob setup TABLESPACE 4`")),
    }
}

fn no_tablespace(word: &str) -> Option<String> {
    const NUMBERS: [&str; 10] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let meant = match NUMBERS.iter().position(|number| word.eq_ignore_ascii_case(number)) {
        Some(below) => format!("write `slob setup {}` for that many schemas", below + 1),
        None if word.parse::<Size>().is_ok() => {
            format!("write `slob setup --scale {word} 4` for four schemas of that size")
        }
        // No database takes it as a name without quotes.
        None if word.starts_with(|first: char| first.is_ascii_digit()) => {
            "write `slob setup 4` for four schemas, and their size as in --scale 1G".to_owned()
        }
        None => return None,
    };
    Some(format!("'{word}' is not the name of a tablespace: {meant}; --tablespace takes any name"))
}

/// `setup.sh IOPS` of the original kit loads them without a question.
const SCHEMAS_OF_A_TABLESPACE: &str = "128";

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consent {
    Given,
    Asked,
}

fn load_all(
    settings: &Settings,
    display: Display,
    consent: Consent,
    stop: &AtomicBool,
) -> Result<String, Failure> {
    let spec = settings::warned(LoadSpec::from_settings(settings)?);
    let engine = registry::open_target(&spec.target, &spec.options, Purpose::Load, spec.tablespace.clone())?;
    refuse_tablespace(&spec, &engine.server()?)?;
    // This precedes the look at what is loaded, which must not change until the end.
    let _lock = engine.lock()?;
    let taken = settings::of_load_as_loaded(settings, engine.as_ref())?;
    settings::say_as_loaded(settings, &taken);
    let spec = LoadSpec::from_settings(&taken)?.spec;
    warn_of(&machine_checks());
    let plan = plan_load(engine.as_ref(), &spec)?;
    if plan.bytes() > 0 {
        warn_of_page_cache(engine.as_ref(), settings, &spec, plan.bytes(), stop)?;
    }
    let gb = plan.bytes() as f64 / 1e9;
    let question = || {
        let place =
            spec.tablespace.as_deref().map(|name| format!(" (TABLESPACE {name})")).unwrap_or_default();
        format!("Load {gb:.1} GB, {} schemas, into {}{place}?", spec.schemas, spec.target)
    };
    if consent == Consent::Asked && plan.bytes() > 0 && !output::confirm(&question())? {
        return Err(Failure::usage("nothing was loaded; `slob setup TABLESPACE 4` loads 4 schemas"));
    }
    for schema in plan.replaced() {
        say!(
            "schema {schema}: its load was interrupted and this machine has been restarted since; those data may \
             never have reached the disk, so it is loaded again from the start"
        );
    }
    let summary = match display {
        Display::Dashboard => load(engine.as_ref(), &plan, stop, &LoadDisplay::new(&spec)),
        Display::Bar | Display::Lines => {
            let progress = Progress::of_load(display == Display::Lines);
            let result = load(engine.as_ref(), &plan, stop, &progress);
            progress.finish();
            result
        }
    }?;
    if let Some(seed) = plan.seed().filter(|_| summary.rows > 0) {
        let (rows, bytes, seconds) = (summary.rows, summary.bytes, summary.took.as_secs_f64());
        let cost = LoadCost { ended: Timestamp::now(), rows, bytes, seconds };
        let load = SavedLoad { target: spec.target.to_string(), seed, cost };
        if let Err(error) = save_load(&settings::results_dir(settings), &load) {
            say!("warning: size and duration of this load are not kept: {error}");
        }
    }
    Ok(load_sentence(&spec, &summary))
}

fn warn_of_page_cache(
    engine: &dyn Engine,
    settings: &Settings,
    spec: &LoadSpec,
    missing_bytes: u64,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let server = engine.server()?;
    let (observers, copy) = (settings::observers(settings), settings::copies_observer(settings));
    // A load needs no observer: one that does not fit is the run's to refuse.
    let Ok(site) = Site::find(engine, &server, &observers, copy, stop) else { return Ok(()) };
    let block_bytes = u64::from(server.block_bytes);
    let all = u64::from(spec.schemas.get()) * spec.scale.blocks(server.block_bytes) * block_bytes;
    let page_cache =
        PageCache::of(&server, site.topology(), &spec.target, all.max(missing_bytes), missing_bytes);
    let warned = page_cache.and_then(|cache| Some((cache.warning()?, cache.remedy())));
    if let Some((warning, remedy)) = warned {
        say!("warning: of a test of these data, {warning}. {remedy}");
    }
    Ok(())
}

fn load_sentence(spec: &LoadSpec, summary: &LoadSummary) -> String {
    let before = match summary.complete_before {
        0 => String::new(),
        count => format!(" ({count} of {} schemas were there already)", spec.schemas),
    };
    if summary.rows == 0 && summary.layouts.is_empty() {
        let schemas = plural(u64::from(spec.schemas.get()), "schema");
        return format!("{}: {schemas} already loaded, nothing to do", spec.target);
    }
    let seconds = summary.took.as_secs_f64();
    format!(
        "{}: {} rows, one per block, {:.2} GB in {seconds:.1} s, {:.0} MB/s{before}",
        spec.target,
        summary.rows,
        summary.bytes as f64 / 1e9,
        summary.bytes as f64 / 1e6 / seconds.max(1e-9)
    )
}

pub(super) fn prepare_server(engine: &EngineKind) -> Command {
    let init = Command::new("init")
        .about("Print a parameter file, a tablespace for the planned load and an I/O calibration")
        .after_help("Makes no connection. Read the output before you use it: it is meant for dedicated test databases only.");
    let product = engine.summary.split(':').next().unwrap_or(engine.summary);
    Command::new(engine.scheme)
        .about(format!("Prepare a server: {product}"))
        .subcommand_required(true)
        .subcommand(with_params(init, is_of_load))
}

/// Nothing connects, so the target may be of another engine.
pub(super) fn init(engine: &EngineKind, matches: &ArgMatches) -> Outcome {
    let Some(("init", matches)) = matches.subcommand() else { return Err(Failure::usage("no such command")) };
    let settings = settings::resolve_unconnected(matches, &[])?;
    let spec = settings::warned(LoadSpec::from_settings(&settings)?);
    let sessions = RunSpec::from_settings(&settings)?.spec.workload.sessions().max(spec.streams.get());
    output::done(&script_of_server(engine, &request_of_load(engine, &spec), &spec, sessions)?)
}

fn request_of_load(engine: &EngineKind, spec: &LoadSpec) -> OpenSpec {
    registry::open_spec(engine, &spec.target, &spec.options, Purpose::Load, spec.tablespace.clone())
}

/// `SCHEMAS`, or `WRITERS READERS`, which must not be flags too.
fn schemas_or_roles(numbers: &[String], matches: &ArgMatches) -> Result<Vec<(String, String)>, Failure> {
    let flags = settings::flags(matches);
    let keys: &[&str] = if numbers.len() == 2 { &["WRITERS", "READERS"] } else { &["SCHEMAS"] };
    let pairs = keys.iter().zip(numbers).map(|(key, number)| {
        let place = format!("{key} is given in its place, as {number}");
        match flags.iter().any(|(flag, _)| flag == key) {
            true => Err(usage!("{place}: leave out --{}", key.to_lowercase())),
            false => Ok(((*key).to_owned(), number.to_owned())),
        }
    });
    pairs.collect()
}

/// Run a test and print its summary
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob run                 one session on each loaded schema, over all of its data
  slob run -t 4 --run-time 60 --update-pct 20
  slob run --repeat 3 --name before        three runs, with mean, spread and noise
  slob run -s 1 -t 16      sixteen sessions on one schema
  slob run 4 8             four sessions that only update beside eight that only read
  slob run --until-decided 'iops 3 %' --baseline before --name after   as many runs as it takes to tell
  slob run --until-steady --run-time 30m   stop as soon as the rate is steady, after 30 minutes at most
  slob run --abort-on 'read-p99 > 50ms for 30s'   stop where that holds for half a minute
  slob run --observe ssh:db1               the database is on db1: watch its CPU and device through ssh
  slob run --rate 100@0s,400@60s           100 operations/s in the first minute, then 400
  slob run --demand profile.json --from 2026-11-20 --compress 24   that day of production in an hour
  slob run --metrics 9187  serve live figures at http://127.0.0.1:9187/metrics
SCHEMAS, SCALE and SCAN_TABLE_SZ, if you do not set them, are those of the loaded data.")]
pub(super) struct RunArgs {
    /// The number of schemas; or of sessions that only update, and of sessions that only read
    #[arg(num_args = 1..=2, action = ArgAction::Set, value_names = ["SCHEMAS|WRITERS", "READERS"])]
    #[arg(add = ArgValueCompleter::new(completing::schemas))]
    schemas_or_roles: Vec<String>,
    #[arg(long, help = STRICT)]
    strict: bool,
    /// Print the full report instead of its summary
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print the record as JSON instead of the summary
    #[arg(long)]
    json: bool,
    #[arg(hide_short_help = true, long, help = PRINT_SQL)]
    print_sql: bool,
    #[arg(hide_short_help = true, long, help = PLAIN)]
    plain: bool,
    /// Log every update that the database acknowledges to FILE, for `slob verify --durability FILE` after a crash
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    durability: Option<PathBuf>,
    /// Sign the record with this private key of OpenSSH (ssh-ed25519), for `slob verify --run RUN --signed-by KEY.pub`
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    sign: Option<PathBuf>,
    /// Serve live figures for Prometheus at /metrics; a bare port binds to 127.0.0.1, port 0 picks a free one
    #[arg(hide_short_help = true, long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,
    /// Make this many runs, a group by the name of --name, and print their mean, spread and noise
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(2..=100), conflicts_with_all = ["json", "full", "print_sql", "durability", "demand"])]
    repeat: Option<u32>,
    /// Take settings and start from the program that started this one
    #[arg(long, hide = true)]
    member: bool,
    #[command(flatten)]
    decided: UntilDecided,
    #[command(flatten)]
    demand: ReplayedRun,
}

pub(super) fn run(args: &RunArgs, matches: &ArgMatches) -> Outcome {
    if args.member {
        return together::member();
    }
    let numbers = schemas_or_roles(&args.schemas_or_roles, matches)?;
    let settings = settings::resolve(matches, &numbers)?;
    let settings = replays::of_run(&args.demand, &settings)?.unwrap_or(settings);
    if args.print_sql {
        let spec = settings::warned(RunSpec::from_settings(&settings)?);
        let engine = registry::engine_of(&spec.target)?;
        let open = registry::open_spec(engine, &spec.target, &spec.options, Purpose::Use, None);
        return output::done(&script_of_run(engine, &open, &spec)?);
    }
    let required = required(&settings::shown(&settings, "GATE").unwrap_or_default())?;
    let abort_on = settings::shown(&settings, "ABORT_ON").unwrap_or_default();
    abort_on.parse::<AbortWatch>().map_err(Failure::usage)?;
    let key = args.sign.as_deref().map(SigningKey::read).transpose()?;
    let served = args.metrics.as_deref().map(serve_metrics).transpose()?;
    let stop = interrupt::flag()?;
    let watch = Watch {
        plain: args.plain,
        strict: args.strict,
        required,
        figures: served.as_ref().map(|(_, figures)| figures.clone()),
        extras: Extras {
            journal: args.durability.as_deref(),
            key: key.as_ref(),
            prints_json: args.json,
            ..Extras::default()
        },
    };
    if let Some(times) = args.repeat {
        return repeated(&settings, times, &watch, &stop);
    }
    if args.decided.is_asked() {
        return args.decided.run(&settings, (matches, &numbers), &watch, &stop);
    }
    let kept = measure(&settings, &watch, &stop)?;
    drop(served);
    let record = &kept.record;
    // The record's folder is named even if stdout fails.
    let printed = if args.json {
        let printed = output::print(&output::json("the record", record)?).map_err(Failure::after_work);
        say!("\n{}\n{}", compact_summary(record, output::width()).trim_end(), kept.place());
        printed
    } else {
        kept.print(args.full)
    };
    kept.end(&stop)?;
    printed?;
    watch.conclude(std::slice::from_ref(record), args.json)
}

fn serve_metrics(address: &str) -> Result<(Server, Figures), Failure> {
    let figures = Figures::default();
    let server = Server::start("--metrics", address, |address| {
        say!("serving metrics at http://{address}/metrics during the run");
        if !address.ip().is_loopback() {
            output::say(
                "warning: anybody who can reach that address can read the run's name, target and figures",
            );
        }
        figures.clone()
    })?;
    Ok((server, figures))
}

#[derive(Clone, Default)]
pub(super) struct Watch<'a> {
    plain: bool,
    strict: bool,
    pub(super) required: Vec<Requirement>,
    figures: Option<Figures>,
    extras: Extras<'a>,
}

impl Watch<'_> {
    pub(super) fn of_look(&self, look: Look) -> Self {
        Self { extras: Extras { look: Some(look), ..self.extras }, ..self.clone() }
    }

    /// The code of the first run that is not good, or else that of the gate, which is on stderr beside JSON.
    fn conclude(&self, records: &[Record], beside_json: bool) -> Outcome {
        for record in records {
            let code = conclude(record, self.strict)?;
            if code != ExitCode::SUCCESS {
                return Ok(code);
            }
        }
        if self.required.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let gate = Gate::of(&self.required, &[], records, &[], Confidence::default());
        let table = format!("\n{}", gate.text(output::width()));
        match beside_json {
            true => output::say(table.trim_end()),
            false => output::print(&table).map_err(Failure::after_work)?,
        }
        Ok(outcome_code(gate.outcome))
    }
}

/// The name of a group that `flag` makes.
pub(super) fn new_group(settings: &Settings, flag: &str) -> Result<String, Failure> {
    let name = settings::shown(settings, "RUN_NAME").unwrap_or_default();
    if !settings::is_set(settings, "RUN_NAME") {
        return Err(usage!("{flag} makes a group by its name: add one, such as --name before"));
    }
    match runs_named(&settings::results_dir(settings), &name) {
        Ok(runs) if !runs.is_empty() => {
            let runs = plural(runs.len() as u64, "run");
            Err(usage!("{runs} of the name {name} would belong to the group: choose another --name"))
        }
        _ => Ok(name),
    }
}

fn repeated(settings: &Settings, times: u32, watch: &Watch<'_>, stop: &AtomicBool) -> Outcome {
    let name = new_group(settings, "--repeat")?;
    let (mut records, mut cut_short) = (Vec::new(), None);
    for number in 1..=times {
        say!("run {number} of {times}");
        let kept = match measure(settings, watch, stop) {
            Err(failure) if !records.is_empty() => {
                output::print(&repeats_text(&name, &records, output::width()))
                    .map_err(Failure::after_work)?;
                return Err(failure.after_work());
            }
            measured => measured?,
        };
        output::say(kept.in_brief().trim_end());
        kept.end(stop)?;
        if kept.record.status != Status::Completed {
            cut_short = Some(kept.record);
            break;
        }
        records.push(kept.record);
    }
    if !records.is_empty() {
        output::print(&repeats_text(&name, &records, output::width())).map_err(Failure::after_work)?;
    }
    match cut_short {
        Some(record) => conclude(&record, watch.strict),
        None => watch.conclude(&records, false),
    }
}

/// Keeps the record of a failed run too.
pub(super) fn measure(asked: &Settings, watch: &Watch<'_>, stop: &AtomicBool) -> Result<KeptRun, Failure> {
    let settings = settings::of_run_as_loaded(asked)?;
    let spec = settings::warned(RunSpec::from_settings(&settings)?);
    settings::say_as_loaded(asked, &settings);
    warn_of(&machine_checks());
    let mut display = RunDisplay::new(&spec, watch.plain, watch.figures.clone());
    measure_spec(&settings, &spec, watch.extras, stop, &mut display)
}

pub(super) fn conclude(record: &Record, strict: bool) -> Outcome {
    match &record.status {
        Status::Failed { error } => Err(failed!("the run failed: {error}; the results up to then are kept")),
        Status::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        Status::Aborted { reason } => {
            say!("slob: the run was aborted: {reason}; the results up to then are kept");
            Ok(ExitCode::from(JUDGED))
        }
        Status::Completed => {
            let good = verdicts(record).iter().all(|verdict| verdict.answer == Grade::Good);
            Ok(strict_code(strict, good))
        }
    }
}

/// Note an event in a run that is under way
#[derive(Args)]
#[command(after_help = "\
The mark appears in the record, the series and the reports, and as a line in the charts.
Examples:
  slob mark rebalance begins
  slob mark --run 20261120T231840Z-run fstrim done   if several runs are under way
  slob mark --results-dir campaigns/fs backup begins
EXTERNAL_SCRIPT, and anything it starts, can call `slob mark TEXT` without naming the run.")]
pub(super) struct MarkArgs {
    /// What is happening, in one line
    #[arg(required = true)]
    text: Vec<String>,
    /// The run, by its id or name [default: the only one under way]
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(completing::under_way))]
    run: Option<String>,
}

pub(super) fn mark(args: &MarkArgs, matches: &ArgMatches) -> Outcome {
    // The mark has the time of the call: little may precede it.
    let text = args.text.join(" ");
    let run = args.run.clone().or_else(|| std::env::var(settings::RUN_ID).ok()).filter(|run| !run.is_empty());
    let id = leave_mark(&settings::results_dir_of(matches)?, run.as_deref(), &text)?;
    say!("marked in {id}");
    Ok(ExitCode::SUCCESS)
}

const DEMO_FOLDER: &str = "slob-demo";

/// See the whole method here: load, probe the device, run for 20 s, report, clean up
#[derive(Args)]
#[command(after_help = "The data go to ./slob-demo and are removed at the end; the report stays in ./runs.")]
// The flags of parameters come later.
#[command(defer(|command| command.mut_arg("RUN_TIME", |arg| arg.help("seconds to measure [RUN_TIME=20]"))))]
pub(super) struct DemoArgs {
    /// Keep the data
    #[arg(long)]
    keep: bool,
    /// Print the full report instead of its summary
    #[arg(long)]
    full: bool,
    #[arg(long, help = PLAIN)]
    plain: bool,
}

pub(super) fn demo(args: &DemoArgs, matches: &ArgMatches) -> Outcome {
    let target = format!("{}:./{DEMO_FOLDER}", registry::DEMO_SCHEME);
    // Flags precede them.
    let defaults = [
        ("TARGET", target.as_str()),
        ("SCHEMAS", "4"),
        ("THREADS_PER_SCHEMA", "2"),
        ("SCALE", "128M"),
        ("UPDATE_PCT", "10"),
        ("RUN_TIME", "20"),
        ("WARMUP", "auto:10s"),
        ("RUN_NAME", "demo"),
    ];
    let defaults = defaults.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let settings = settings::resolve_with(None, matches, &defaults)?;
    let stop = interrupt::flag()?;
    let folder = Path::new(DEMO_FOLDER);
    fs::create_dir_all(folder)
        .map_err(|error| usage!("creating ./{DEMO_FOLDER}: {error}; change to a folder you can write to"))?;
    let result = load_probe_and_run(&settings, folder, args.plain, &stop);
    let cleaned = if args.keep {
        say!("The data stay in ./{DEMO_FOLDER}");
        Ok(())
    } else {
        remove_demo(&settings, folder)
    };
    let kept = result?;
    let printed = kept.print(args.full);
    cleaned?;
    printed?;
    conclude(&kept.record, false)
}

fn load_probe_and_run(
    settings: &Settings,
    folder: &Path,
    plain: bool,
    stop: &AtomicBool,
) -> Result<KeptRun, Failure> {
    output::say("1. Loading four small schemas, one row per block");
    let display = if plain { Display::Lines } else { Display::Bar };
    output::say(&load_all(settings, display, Consent::Given, stop)?);
    output::say("2. Probing the device without a database");
    let plan = ProbePlan {
        file_bytes: 512 << 20,
        seconds_per_step: 1.0,
        sync_sessions: vec![1, 2, 4, 8],
        async_depths: vec![16, 64],
        ..ProbePlan::new(folder)
    };
    let probe = measure_device(&plan, stop)?;
    if probe.result.interrupted {
        return Err(Failure::interrupted("probing the device was interrupted; `slob demo` begins again"));
    }
    save_probe(&settings::results_dir(settings), &probe).map_err(Failure::failed)?;
    output::say("3. Running eight sessions with 10 % updates");
    measure(settings, &Watch { plain, ..Watch::default() }, stop)
}

/// Keeps the folder if it holds other files.
fn remove_demo(settings: &Settings, folder: &Path) -> Result<(), Failure> {
    let (_, engine) = settings::open(settings)?;
    let lock = engine.lock()?;
    drop_schemas(engine.as_ref(), &engine.schemas()?)?;
    drop((lock, engine));
    // Fails if the folder holds other files.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// Remove the schemas that slob loaded, and nothing else
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob drop                            all schemas of the target; asks first
  slob drop --yes                      without a question")]
pub(super) struct DropArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn remove(args: &DropArgs, matches: &ArgMatches) -> Outcome {
    let spec = LoadSpec::from_settings(&settings::resolve(matches, &[])?)?.spec;
    // As for a load: where nothing was ever loaded there is nothing to remove.
    let engine = registry::open_target(&spec.target, &spec.options, Purpose::Load, None)?;
    let nothing = || say!("{}: no schemas loaded by slob, nothing to remove", spec.target);
    if engine.schemas()?.is_empty() {
        nothing();
        return Ok(ExitCode::SUCCESS);
    }
    let _lock = engine.lock()?;
    let schemas = engine.schemas()?;
    if schemas.is_empty() {
        nothing();
        return Ok(ExitCode::SUCCESS);
    }
    let what = format!("{} from {}", plural(schemas.len() as u64, "schema"), spec.target);
    if !args.yes && !output::confirm(&format!("Remove {what}?"))? {
        output::say("nothing was removed");
        return Ok(ExitCode::SUCCESS);
    }
    drop_schemas(engine.as_ref(), &schemas)?;
    say!("removed {what}");
    Ok(ExitCode::SUCCESS)
}

fn drop_schemas(engine: &dyn Engine, schemas: &[SchemaState]) -> Result<(), Failure> {
    for state in schemas {
        engine.drop_schema(state.schema).map_err(Failure::failed)?;
    }
    Ok(())
}
