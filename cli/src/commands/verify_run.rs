//! `slob verify --run`: a run's figures, from its record, once more.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{Record, find_run, read_operations, read_record, run_folder};
use slob_report::format::count;
use slob_report::{Recheck, digest_in_report, digest_of_figures, recheck, recheck_operations};
use slob_run::replay;
use slob_spec::{RunSpec, Settings};

use super::run::TEXT_REPORT;
use crate::failure::{Failure, JUDGED, Outcome};
use crate::progress::Progress;
use crate::{output, registry, settings};

/// What was held against something else.
enum Line {
    Checked(Recheck),
    /// What can't be known is no fault.
    Unknown(String),
}

pub(crate) fn verify_run(matches: &ArgMatches, name: &str) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let path = find_run(&results, name)?;
    let record = read_record(&path)?;
    let mut lines: Vec<Line> = recheck(&record).into_iter().map(Line::Checked).collect();
    lines.extend(list_of_operations(&record, run_folder(&path)));
    lines.extend(report_beside(&record, run_folder(&path)));
    lines.extend(plan(&record));
    let agrees = !lines.iter().any(|line| matches!(line, Line::Checked(check) if !check.agrees));
    let all = if agrees { "everything in it agrees" } else { "it contradicts itself" };
    let text: String = lines.iter().map(text).collect();
    output::print(&format!("{text}{}: {all}\n", record.id))?;
    Ok(ExitCode::from(if agrees { 0 } else { JUDGED }))
}

fn text(line: &Line) -> String {
    let (word, words) = match line {
        Line::Checked(Recheck { agrees: true, words }) => ("agrees", words),
        Line::Checked(Recheck { agrees: false, words }) => ("DIFFERS", words),
        Line::Unknown(words) => ("unknown", words),
    };
    format!("{word:<8} {words}\n")
}

/// Whether the report that lies beside the record is one of it.
fn report_beside(record: &Record, directory: &Path) -> Option<Line> {
    let told = digest_in_report(&fs::read_to_string(directory.join(TEXT_REPORT)).ok()?)?;
    let own = digest_of_figures(record);
    let words = format!("the digest of the figures {own}, in {TEXT_REPORT} {told}");
    Some(Line::Checked(Recheck { agrees: own == told, words }))
}

fn list_of_operations(record: &Record, directory: &Path) -> Vec<Line> {
    match read_operations(directory) {
        Ok(None) => Vec::new(),
        Ok(Some(kept)) if kept.whole => {
            recheck_operations(record, &kept.operations).into_iter().map(Line::Checked).collect()
        }
        Ok(Some(_)) => vec![Line::Unknown("the list of operations ends before the run does".into())],
        Err(error) => vec![Line::Checked(Recheck { agrees: false, words: error.to_string() })],
    }
}

/// Whether the sessions did what their plans have.
fn plan(record: &Record) -> Vec<Line> {
    let differs = |words: String| Line::Checked(Recheck { agrees: false, words });
    let spec = match spec_of(record) {
        Ok(spec) => spec,
        Err(error) => {
            return vec![differs(format!(
                "the record's configuration is not that of a run: {}",
                error.text()
            ))];
        }
    };
    let progress = Progress::new("replaying the plan");
    let on_operations = |done, of| progress.at(done, of, "operations replayed");
    let replay = replay(record, &spec, &on_operations);
    progress.finish();
    let replay = match replay {
        Ok(replay) => replay,
        Err(why) => return vec![Line::Unknown(format!("the plan can't be replayed: {why}"))],
    };
    if replay.faulty == 0 {
        let (operations, sessions) = (count(replay.operations), count(u64::from(replay.sessions)));
        let words = format!(
            "operations within the window {operations}, by kind and rows those that the plans have; sessions {sessions}"
        );
        return vec![Line::Checked(Recheck { agrees: true, words })];
    }
    let more = u64::from(replay.faulty).saturating_sub(replay.faults.len() as u64);
    let more = (more > 0).then(|| format!("and {} sessions more", count(more)));
    replay.faults.into_iter().chain(more).map(differs).collect()
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
