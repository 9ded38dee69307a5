//! The commands, by subject. [`all`] lists them; arguments are above their handlers.

mod about;
mod analyses;
mod awr;
mod awr_export;
mod awr_files;
mod campaign_runs;
mod campaigns;
mod capture;
mod decided;
mod demands;
mod diff;
mod doctor;
mod gate;
mod ladder;
mod ledger;
mod list;
mod measuring;
mod probe;
mod profile;
mod publish;
mod replays;
mod report;
mod runs;
mod searches;
mod selftest;
mod serve;
mod several;
mod together;
mod trend;
mod verify;

use clap::{ArgMatches, Args, Command};
use slob_spec::Param;

use self::several::Several;
use crate::failure::{Failure, Outcome};
use crate::flags::{
    from_board, is_common, is_left_by_plan, is_of_demo, is_of_drop, is_of_ladder, is_of_load, is_of_plan,
    is_of_probe, is_of_selftest, is_of_setup, is_of_verify, is_results_dir, with_params,
};
use crate::registry::{ENGINES, is_of_run};

pub(crate) struct Entry {
    name: &'static str,
    command: Box<dyn Fn() -> Command>,
    call: Box<dyn Fn(&ArgMatches) -> Outcome>,
}

impl Entry {
    /// A part of another command, or one that few people need.
    fn hidden(self) -> Self {
        Self { command: Box::new(move || (self.command)().hide(true)), ..self }
    }
}

fn with<A: Args + 'static>(
    name: &'static str,
    is_used: fn(&Param) -> bool,
    handler: fn(&A, &ArgMatches) -> Outcome,
) -> Entry {
    let entry = alone(name, handler);
    Entry { command: Box::new(move || with_params((entry.command)(), is_used)), ..entry }
}

/// A command that reads saved runs, of the results folder or of a board.
fn reading<A: Args + 'static>(name: &'static str, handler: fn(&A, &ArgMatches) -> Outcome) -> Entry {
    let entry = with(name, is_results_dir, handler);
    Entry { command: Box::new(move || (entry.command)().arg(from_board())), ..entry }
}

fn alone<A: Args + 'static>(name: &'static str, handler: fn(&A, &ArgMatches) -> Outcome) -> Entry {
    Entry {
        name,
        command: Box::new(move || A::augment_args(Command::new(name))),
        call: Box::new(move |matches| {
            handler(&A::from_arg_matches(matches).map_err(Failure::usage)?, matches)
        }),
    }
}

fn several(several: &'static Several) -> Entry {
    Entry {
        name: several.name,
        command: Box::new(|| several.command()),
        call: Box::new(|matches| several.call(matches)),
    }
}

/// The commands of the help, in its order.
fn groups() -> [(&'static str, Vec<Entry>); 4] {
    let start = vec![
        with("demo", is_of_demo, runs::demo),
        with("doctor", |param| is_of_load(param) || is_of_probe(param), doctor::doctor),
        with("setup", is_of_setup, runs::setup),
        with("run", is_of_run, runs::run),
        several(&several::REPORT),
        with("drop", is_of_drop, runs::remove),
    ];
    let limits = vec![
        several(&several::PROBE),
        several(&several::SEARCH),
        with("campaign", is_results_dir, campaigns::campaign),
        with("profile", |param| is_common(param) || is_results_dir(param), profile::profile),
        with("plan", is_of_plan, searches::plan),
    ];
    let compare = vec![
        several(&several::LIST),
        several(&several::COMPARE),
        reading("gate", gate::gate),
        reading("trend", trend::trend),
        reading("publish", publish::publish),
        reading("serve", serve::serve),
    ];
    let around = vec![
        with("mark", is_results_dir, runs::mark),
        with("verify", is_of_verify, verify::verify),
        alone("awr", awr::awr),
        with("conf", |_| true, about::conf),
    ];
    [("Start", start), ("Find limits", limits), ("Compare", compare), ("Around a run", around)]
}

/// The groups of the help with the names of their commands.
pub(crate) fn named_groups() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    groups().into_iter().map(|(group, entries)| (group, entries.iter().map(|entry| entry.name).collect()))
}

fn all() -> Vec<Entry> {
    let hidden = [
        reading("info", list::info),
        reading("show", report::show),
        reading("export", report::export),
        reading("diff", diff::diff),
        reading("analyze", analyses::analyze),
        reading("ledger", ledger::ledger),
        with("saturate", is_of_run, searches::saturate),
        with("headroom", is_left_by_plan, searches::headroom),
        with("ladder", is_of_ladder, ladder::ladder),
        with("selftest", is_of_selftest, selftest::selftest),
        alone("observe", probe::observe),
        alone("completions", about::completions),
        alone("man", about::man),
    ];
    let engines = ENGINES.iter().filter(|engine| engine.scripts.is_some()).map(|engine| Entry {
        name: engine.scheme,
        command: Box::new(|| runs::prepare_server(engine)),
        call: Box::new(|matches| runs::init(engine, matches)),
    });
    let listed = groups().into_iter().flat_map(|(_, entries)| entries);
    listed.chain(hidden.into_iter().chain(engines).map(Entry::hidden)).collect()
}

fn usual_parts() -> [Entry; 3] {
    [with("device", is_of_probe, probe::probe), reading("runs", list::list), reading("text", report::report)]
}

fn entry(name: &str) -> Option<Entry> {
    all().into_iter().chain(usual_parts()).find(|entry| entry.name == name)
}

pub(crate) fn command_named(name: &str) -> Option<Command> {
    all().into_iter().find(|entry| entry.name == name).map(|entry| (entry.command)())
}

pub(crate) fn commands() -> impl Iterator<Item = Command> {
    all().into_iter().map(|entry| (entry.command)())
}

pub(crate) fn dispatch(matches: &ArgMatches) -> Outcome {
    let Some((name, matches)) = matches.subcommand() else { return about::start(matches) };
    (entry(name).ok_or_else(|| Failure::usage("no such command"))?.call)(matches)
}
