//! The commands, in chapters by subject. Each stands in one line of [`all`]; its arguments stand above its handler.

mod about;
mod awr;
mod awr_export;
mod campaigns;
mod capture;
mod demands;
mod ladder;
mod ledger;
mod machine;
mod measuring;
mod profile;
mod replays;
mod reports;
mod runs;
mod searches;
mod selftest;
mod together;
mod trend;
mod verify;

use clap::{ArgMatches, Args, Command};
use slob_campaign::is_set_by_plan;
use slob_engine::EngineKind;
use slob_spec::{Group, Param};

pub(crate) use self::awr::HEADING as AWR_HEADING;
use crate::args::with_params;
use crate::failure::{Failure, Outcome};
use crate::registry::{self, ENGINES, is_of_run};
use crate::settings;

pub(crate) struct Entry {
    name: &'static str,
    command: Box<dyn Fn() -> Command>,
    call: Box<dyn Fn(&ArgMatches) -> Outcome>,
}

/// A command with its arguments, the parameters that are its flags, and its handler.
fn with<A: Args + 'static>(
    name: &'static str,
    is_used: fn(&Param) -> bool,
    handler: fn(&A, &ArgMatches) -> Outcome,
) -> Entry {
    let entry = alone(name, handler);
    Entry { command: Box::new(move || with_params((entry.command)(), is_used)), ..entry }
}

/// A command that needs no configuration.
fn alone<A: Args + 'static>(name: &'static str, handler: fn(&A, &ArgMatches) -> Outcome) -> Entry {
    Entry {
        name,
        command: Box::new(move || A::augment_args(Command::new(name))),
        call: Box::new(move |matches| {
            handler(&A::from_arg_matches(matches).map_err(Failure::usage)?, matches)
        }),
    }
}

/// `slob ENGINE init`.
fn of_engine(engine: &'static EngineKind) -> Entry {
    Entry {
        name: engine.scheme,
        command: Box::new(|| runs::prepare_server(engine)),
        call: Box::new(|matches| runs::init(engine, matches)),
    }
}

/// Every command, in the order of the manual.
fn all() -> Vec<Entry> {
    let mut all = vec![
        with("demo", is_of_demo, runs::demo),
        with("setup", is_of_setup, runs::setup),
        with("run", is_of_run, runs::run),
        with("mark", is_results_dir, runs::mark),
        with("report", is_results_dir, reports::report),
        with("info", is_results_dir, reports::info),
        with("list", is_results_dir, reports::list),
        with("diff", is_results_dir, reports::diff),
        with("gate", is_results_dir, reports::gate),
        with("ledger", is_results_dir, ledger::ledger),
        with("show", is_results_dir, reports::show),
        with("export", is_results_dir, reports::export),
        with("campaign", is_results_dir, campaigns::campaign),
        with("saturate", is_of_run, searches::saturate),
        with("analyze", is_results_dir, reports::analyze),
        with("trend", is_results_dir, trend::trend),
        with("profile", is_of_profile, profile::profile),
        with("plan", is_of_plan, searches::plan),
        with("headroom", is_left_by_plan, searches::headroom),
        alone("awr", awr::awr),
        with("probe", is_of_probe, machine::probe),
        with("ladder", is_of_ladder, ladder::ladder),
        alone("observe", machine::observe),
        with("conf", |_| true, about::conf),
        with("verify", is_of_verify, verify::verify),
        with("drop", is_common, runs::remove),
        with("doctor", is_of_doctor, machine::doctor),
        with("selftest", is_of_selftest, selftest::selftest),
    ];
    all.extend(ENGINES.iter().filter(|engine| engine.scripts.is_some()).map(of_engine));
    all.extend([alone("completions", about::completions), alone("man", about::man)]);
    all
}

pub(crate) fn commands() -> impl Iterator<Item = Command> {
    all().into_iter().map(|entry| (entry.command)())
}

pub(crate) fn dispatch(matches: &ArgMatches) -> Outcome {
    let Some((name, matches)) = matches.subcommand() else { return about::start(matches) };
    let entry = all().into_iter().find(|entry| entry.name == name);
    (entry.ok_or_else(|| Failure::usage("no such command"))?.call)(matches)
}

/// A message of a command with these arguments: the commands that it offers get its flags.
pub(crate) fn offered(message: &str, matches: &ArgMatches) -> String {
    let commands: [(&str, settings::Takes); 3] =
        [("slob setup", is_of_setup), ("slob drop", is_common), ("slob probe", is_results_dir)];
    settings::with_flags(message, matches, &commands)
}

/// Parameters of the target and of the way to it.
fn is_common(param: &Param) -> bool {
    matches!(param.key, "TARGET" | "ENDPOINTS") || matches!(param.group, Group::Access | Group::Engine(_))
}

fn is_observer(param: &Param) -> bool {
    param.key.starts_with("OBSERVE")
}

fn is_results_dir(param: &Param) -> bool {
    param.key == "RESULTS_DIR"
}

/// Parameters that decide what is loaded.
fn is_of_load(param: &Param) -> bool {
    matches!(param.group, Group::Target | Group::Data) || is_common(param)
}

fn is_of_demo(param: &Param) -> bool {
    is_results_dir(param) || param.key == "RUN_TIME" || param.group == Group::Engine(registry::DEMO_SCHEME)
}

fn is_of_setup(param: &Param) -> bool {
    is_of_load(param) || is_results_dir(param) || param.key == "SEED"
}

/// A parameter of a run that no plan sets.
fn is_left_by_plan(param: &Param) -> bool {
    is_of_run(param) && !is_set_by_plan(param.key)
}

fn is_of_plan(param: &Param) -> bool {
    is_left_by_plan(param) && !["RUN_TIME", "UNTIL_STEADY"].contains(&param.key) || is_results_dir(param)
}

fn is_of_probe(param: &Param) -> bool {
    is_results_dir(param) || is_observer(param)
}

fn is_of_profile(param: &Param) -> bool {
    is_common(param) || is_results_dir(param)
}

fn is_of_ladder(param: &Param) -> bool {
    is_common(param) || is_of_probe(param) || ["SCHEMAS", "THREADS_PER_SCHEMA", "SCALE"].contains(&param.key)
}

fn is_of_verify(param: &Param) -> bool {
    is_common(param) || is_results_dir(param) || param.key == "LOAD_PARALLEL_DEGREE"
}

fn is_of_doctor(param: &Param) -> bool {
    is_of_load(param) || is_of_probe(param)
}

fn is_of_selftest(param: &Param) -> bool {
    is_common(param)
        || is_observer(param)
        || ["TABLESPACE", "BLOCK_SZ", "DATABASE_STATISTICS_TYPE"].contains(&param.key)
}
