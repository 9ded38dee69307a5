//! `slob verify`: the rows of the loaded data, or a run's record with the files beside it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use slob_facts::Recheck;
use slob_facts::format::count;
use slob_live::Progress;
use slob_record::{Record, Signers, find_run};
use slob_report::check_run;
use slob_run::{Acknowledged, replay};
use slob_spec::{RunSpec, Settings};

use crate::failure::{Failure, JUDGED, Outcome};
use crate::{completing, interrupt, output, registry, settings};

/// Check every byte of the loaded data, or a run's record
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob verify --target ...     every row of every schema
  slob verify --run latest     checks the run's sums and counters and the files of its folder, and replays its plan; makes no connection
  slob verify --run latest --signed-by ~/.ssh/id_ed25519.pub
Exit codes: 0 everything is correct; 1 something is not; 2 bad usage; 3 not everything could be read; 130 interrupted.")]
pub(super) struct VerifyArgs {
    /// Check a run's record instead of the data
    #[arg(long, conflicts_with = "durability", add = ArgValueCompleter::new(completing::runs))]
    run: Option<String>,
    /// The record must be signed with this public key, or with one of the allowed signers in this file
    #[arg(long, value_name = "FILE", requires = "run")]
    signed_by: Option<PathBuf>,
    /// Check as well that no acknowledged update is missing, using the journal of `slob run --durability FILE`
    #[arg(long, value_name = "FILE")]
    durability: Option<PathBuf>,
}

pub(super) fn verify(args: &VerifyArgs, matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    if let Some(name) = &args.run {
        return verify_run(args, &settings::results_dir(&settings), name);
    }
    let journal = args.durability.as_deref();
    let acknowledged = journal.map(Acknowledged::read).transpose()?;
    let stop = interrupt::flag()?;
    let (spec, engine) = settings::open(&settings)?;
    let progress = Progress::new("verifying");
    let on_rows = |rows, of| progress.at(rows, of, "rows read");
    let streams = spec.streams.get();
    let found = slob_run::verify(engine.as_ref(), streams, acknowledged.as_ref(), &stop, &on_rows);
    progress.finish();
    let found = found?;
    let mut text: String = found.faults.iter().map(|fault| format!("{fault}\n")).collect();
    let unnamed = found.faulty - found.faults.len() as u64;
    if unnamed > 0 {
        text += &format!("and {unnamed} more\n");
    }
    text += &format!(
        "{}: {} rows read back, {} of them updated since the load, {} faulty\n",
        spec.target, found.rows, found.updated, found.faulty
    );
    if let Some((journal, acknowledged)) = journal.zip(acknowledged) {
        let (journal, updates, rows) = (journal.display(), acknowledged.updates, acknowledged.rows());
        let lost = found.lost;
        text += &format!("{journal}: {updates} acknowledged updates of {rows} rows, {lost} rows lost one\n");
    }
    output::print(&text)?;
    Ok(ExitCode::from(if found.faulty > 0 { JUDGED } else { 0 }))
}

fn verify_run(args: &VerifyArgs, results: &Path, name: &str) -> Outcome {
    let signers = args.signed_by.as_deref().map(Signers::read).transpose()?;
    let (record, checks) = checked(&find_run(results, name)?, signers.as_ref())?;
    let line = |check: &Recheck| {
        let result = match check.agrees {
            Some(true) => "agrees",
            Some(false) => "DIFFERS",
            None => "unknown",
        };
        format!("{result:<8} {}\n", check.words)
    };
    let text: String = checks.iter().map(line).collect();
    let agrees = !checks.iter().any(Recheck::differs);
    let all = if agrees { "everything agrees" } else { "not everything agrees" };
    output::print(&format!("{text}{}: {all}\n", record.id))?;
    Ok(ExitCode::from(if agrees { 0 } else { JUDGED }))
}

/// A record with all that can be checked of it.
pub(super) fn checked(run: &Path, signers: Option<&Signers>) -> Result<(Record, Vec<Recheck>), Failure> {
    let (record, mut checks) = check_run(run, signers)?;
    checks.extend(check_plan(&record).unwrap_or_else(|failed| vec![failed]));
    Ok((record, checks))
}

/// The checks of a replayed plan, or the one without which there is no replay.
fn check_plan(record: &Record) -> Result<Vec<Recheck>, Recheck> {
    let spec = spec_of(record).map_err(|error| {
        let error = error.text();
        Recheck::new(false, format!("the record's configuration is not that of a run: {error}"))
    })?;
    let progress = Progress::new("replaying the plan");
    let replay = replay(record, &spec, &|done, of| progress.at(done, of, "operations replayed"));
    progress.finish();
    let replay = replay.map_err(|why| Recheck::unknown(format!("the plan can't be replayed: {why}")))?;
    if replay.faulty == 0 {
        let (operations, sessions) = (count(replay.operations), count(u64::from(replay.sessions)));
        let words = format!(
            "operations within the window {operations}, by kind and rows those that the plans have; sessions {sessions}"
        );
        return Ok(vec![Recheck::new(true, words)]);
    }
    let more = u64::from(replay.faulty).saturating_sub(replay.faults.len() as u64);
    let more = (more > 0).then(|| format!("and {} sessions more", count(more)));
    Ok(replay.faults.into_iter().chain(more).map(|fault| Recheck::new(false, fault)).collect())
}

fn spec_of(record: &Record) -> Result<RunSpec, Failure> {
    let table = registry::table();
    let known = |key: &str| table.params().iter().any(|param| param.key == key);
    let entries = record.configuration.iter().filter(|entry| known(&entry.key));
    let flags: Vec<(String, String)> =
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    Ok(RunSpec::from_settings(&Settings::resolve(&table, None, &[], &flags)?.settings)?.spec)
}
