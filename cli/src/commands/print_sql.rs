//! `--print-sql`, and `init` of the engines that have it: what would be executed, printed and not executed.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_engine::{EngineKind, OpenSpec, Purpose};
use slob_run::{script_of_load, script_of_run, script_of_server};
use slob_spec::{LoadSpec, RunSpec, Settings};

use crate::failure::{Failure, Outcome};
use crate::{output, registry, settings};

/// The statements of `slob setup`.
pub(crate) fn of_setup(settings: &Settings) -> Outcome {
    let spec = load_spec(settings)?;
    let engine = registry::engine_of(&spec.target)?;
    print(&script_of_load(engine, &open_spec(engine, &spec), &spec)?)
}

/// The statements of `slob run`.
pub(crate) fn of_run(settings: &Settings) -> Outcome {
    let checked = RunSpec::from_settings(settings)?;
    settings::warn(&checked.warnings);
    let spec = checked.spec;
    let engine = registry::engine_of(&spec.target)?;
    let open = registry::open_spec(engine, &spec.target, &spec.options, Purpose::Use, None);
    print(&script_of_run(engine, &open, &spec)?)
}

/// `slob ENGINE init`: what prepares a server of that engine. The target need not be one of its own: it is not
/// connected to.
pub(crate) fn init(scheme: &str, matches: &ArgMatches) -> Outcome {
    let Some(("init", matches)) = matches.subcommand() else { return Err(Failure::usage("no such command")) };
    let settings = settings::resolve(matches, &[])?;
    let spec = load_spec(&settings)?;
    let engine = registry::ENGINES.iter().find(|engine| engine.scheme == scheme);
    let engine = engine.ok_or_else(|| Failure::usage("no such command"))?;
    let sessions = RunSpec::from_settings(&settings)?.spec.sessions().max(spec.streams.get());
    print(&script_of_server(engine, &open_spec(engine, &spec), &spec, sessions)?)
}

fn load_spec(settings: &Settings) -> Result<LoadSpec, Failure> {
    let checked = LoadSpec::from_settings(settings)?;
    settings::warn(&checked.warnings);
    Ok(checked.spec)
}

fn open_spec(engine: &EngineKind, spec: &LoadSpec) -> OpenSpec {
    registry::open_spec(engine, &spec.target, &spec.options, Purpose::Load, spec.tablespace.clone())
}

fn print(text: &str) -> Outcome {
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}
