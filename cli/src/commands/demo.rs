//! `slob demo`: the whole method in about a minute, with no server and no arguments.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use slob_engine::{Engine, Purpose};
use slob_host::ProbePlan;
use slob_record::save_probe;
use slob_spec::{LoadSpec, Settings};

use super::{probe, run, setup};
use crate::failure::{Failure, Outcome};
use crate::{interrupt, output, registry, settings};

const FOLDER: &str = "slob-demo";

pub(crate) fn demo(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve_without_file(matches, &parameters())?;
    let stop = interrupt::flag()?;
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).map_err(|error| {
        Failure::usage(format!("creating ./{FOLDER}: {error}; change to a folder you can write to"))
    })?;
    let result = measure(&settings, folder, matches.get_flag("plain"), &stop);
    let cleaned = if matches.get_flag("keep") {
        output::say(&format!("The data stay in ./{FOLDER}"));
        Ok(())
    } else {
        clean_up(&settings, folder)
    };
    let kept = result?;
    let printed = kept.print(matches.get_flag("full"));
    cleaned?;
    printed?;
    run::conclude(&kept.record, false)
}

fn measure(settings: &Settings, folder: &Path, plain: bool, stop: &AtomicBool) -> Result<run::Kept, Failure> {
    output::say("1. Loading four small schemas, one row per block");
    let display = if plain { setup::Display::Lines } else { setup::Display::Bar };
    output::say(&setup::load_all(settings, display, stop)?);
    output::say("2. Probing the device without a database");
    let plan = ProbePlan {
        file_bytes: 512 << 20,
        seconds_per_step: 1.0,
        sync_sessions: vec![1, 2, 4, 8],
        async_depths: vec![16, 64],
        ..ProbePlan::new(folder)
    };
    let results = settings::results_dir(settings);
    let probe = probe::measure(&plan, stop)?;
    if probe.result.interrupted {
        return Err(Failure::interrupted("probing the device was interrupted; `slob demo` begins again"));
    }
    save_probe(&results, &probe).map_err(Failure::failed)?;
    output::say("3. Running eight sessions with 10 % updates");
    run::measure(settings, run::Watch { plain, ..run::Watch::default() }, stop)
}

/// Removes what the demo loaded, and its folder if nothing else lies there.
fn clean_up(settings: &Settings, folder: &Path) -> Result<(), Failure> {
    let spec = LoadSpec::from_settings(settings)?.spec;
    let engine: Box<dyn Engine> = registry::open(&spec.target, &spec.options, Purpose::Use)?;
    for state in engine.schemas()? {
        engine.drop_schema(state.schema).map_err(Failure::failed)?;
    }
    drop(engine);
    // Fails if something else lies there: that is not ours.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// What the demo sets; what the user says goes before it.
fn parameters() -> Vec<(String, String)> {
    let target = format!("{}:./{FOLDER}", registry::DEMO_SCHEME);
    let defaults = [
        ("TARGET", target.as_str()),
        ("SCHEMAS", "4"),
        ("THREADS_PER_SCHEMA", "2"),
        ("SCALE", "128M"),
        ("UPDATE_PCT", "10"),
        ("RUN_TIME", "20"),
        ("WARMUP", "3"),
        ("RUN_NAME", "demo"),
    ];
    defaults.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}
