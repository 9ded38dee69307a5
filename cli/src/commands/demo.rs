//! `slob demo`: the whole method in about a minute, with no server and no arguments.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_host::ProbePlan;
use slob_record::save_probe;
use slob_report::{compact_summary, text_report};

use super::{probe, run, setup};
use crate::failure::{Failure, Outcome};
use crate::{interrupt, output, registry, settings};

const FOLDER: &str = "slob-demo";
const SCHEMAS: &str = "4";

pub(crate) fn demo(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve_without_file(matches, &parameters())?;
    let stop = interrupt::flag()?;
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).map_err(|error| {
        Failure::usage(format!("creating ./{FOLDER}: {error}; go to a folder that you may write to"))
    })?;

    output::say("1. What can the device do by itself?");
    let results = settings::results_dir(&settings);
    let plan = ProbePlan {
        file_bytes: 512 << 20,
        seconds_per_step: 1.0,
        sync_sessions: vec![1, 2, 4, 8],
        async_depths: vec![16, 64],
        ..ProbePlan::new(folder)
    };
    save_probe(&results, &probe::measure(&plan, &stop)?).map_err(Failure::failed)?;

    output::say("2. Loading four small schemas, one row in each block");
    let (engine, _) = setup::load_all(&settings, &stop)?;
    output::say("3. Eight sessions, 10 % updates");
    let measured = run::measure(&settings, &stop);

    if matches.get_flag("keep") {
        output::say(&format!("the data stay in ./{FOLDER}"));
    } else {
        for state in engine.schemas()? {
            engine.drop_schema(state.schema).map_err(Failure::failed)?;
        }
        drop(engine);
        // Only if it is empty: whatever else lies there is not ours.
        let _ = fs::remove_dir(folder);
    }
    let (record, kept) = measured?;
    output::print(&text_report(&record))?;
    output::say(&format!(
        "\n{}\nThe report is {}; `slob report last` prints it again",
        compact_summary(&record).trim_end(),
        kept.join("report.txt").display()
    ));
    run::conclude(&record, false).map(|_| ExitCode::SUCCESS)
}

/// What the demo sets; what the user says goes before it.
fn parameters() -> Vec<(String, String)> {
    let target = format!("{}:./{FOLDER}", registry::DEMO_SCHEME);
    let defaults = [
        ("TARGET", target.as_str()),
        ("SCHEMAS", SCHEMAS),
        ("THREADS_PER_SCHEMA", "2"),
        ("SCALE", "128M"),
        ("UPDATE_PCT", "10"),
        ("RUN_TIME", "20"),
        ("WARMUP", "3"),
        ("RUN_NAME", "demo"),
    ];
    defaults.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}
