//! `slob verify --run`: a run's figures, from its record, once more.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{Record, find_run, read_operations, read_record};
use slob_report::{recheck, recheck_operations};
use slob_run::replay;
use slob_spec::{RunSpec, Settings};

use crate::failure::{Failure, JUDGED, Outcome};
use crate::progress::Progress;
use crate::{output, registry, settings};

pub(crate) fn verify_run(matches: &ArgMatches, name: &str) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let path = find_run(&results, name)?;
    let record = read_record(&path)?;
    let mut checks = recheck(&record);
    let directory = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(Path::new(".")) };
    if let Some(operations) = read_operations(directory)? {
        checks.extend(recheck_operations(&record, &operations));
    }
    let mut lines: Vec<String> =
        checks.iter().map(|check| format!("{:<8} {}\n", word(check.agrees), check.words)).collect();
    let repeated = repeat_plan(&record);
    let plan_agrees = match &repeated {
        Ok((agrees, words)) => {
            lines.extend(words.iter().map(|words| format!("{:<8} {words}\n", word(*agrees))));
            *agrees
        }
        // What is not known is no fault.
        Err(why) => {
            lines.push(format!("{:<8} the plan can't be repeated: {}\n", "unknown", why.text()));
            true
        }
    };
    let agrees = plan_agrees && checks.iter().all(|check| check.agrees);
    let all = if agrees { "all that it holds agrees" } else { "it contradicts itself" };
    output::print(&format!("{}{}: {all}\n", lines.concat(), record.id))?;
    Ok(ExitCode::from(if agrees { 0 } else { JUDGED }))
}

fn word(agrees: bool) -> &'static str {
    if agrees { "agrees" } else { "DIFFERS" }
}

/// Whether the sessions did what their plans have, in words.
fn repeat_plan(record: &Record) -> Result<(bool, Vec<String>), Failure> {
    let spec = spec_of(record)?;
    let progress = Progress::new("repeating the plan");
    let on_operations = |done, of| progress.at(done, of, "operations planned again");
    let replay = replay(record, &spec, &on_operations);
    progress.finish();
    let replay = replay.map_err(|error| Failure::usage(error.to_string()))?;
    if replay.faulty == 0 {
        let (sessions, operations) = (replay.sessions, replay.operations);
        return Ok((
            true,
            vec![format!("{operations} operations of {sessions} sessions, kinds and rows, and their plans")],
        ));
    }
    let more = u64::from(replay.faulty) - replay.faults.len() as u64;
    let more = (more > 0).then(|| format!("and {more} sessions more"));
    Ok((false, replay.faults.into_iter().chain(more).collect()))
}

/// What the run was asked for, from the configuration in its record.
fn spec_of(record: &Record) -> Result<RunSpec, Failure> {
    let table = registry::table();
    let known = |key: &str| table.params().iter().any(|param| param.key == key);
    let entries = record.configuration.iter().filter(|entry| known(&entry.key));
    let flags: Vec<(String, String)> =
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    let settings = Settings::resolve(&table, None, &[], &flags)?.settings;
    Ok(RunSpec::from_settings(&settings)?.spec)
}
