//! `slob verify`: every row, every byte; or a run's figures once more.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_engine::Purpose;
use slob_run::Acknowledged;
use slob_spec::LoadSpec;

use super::verify_run::verify_run;
use crate::failure::{JUDGED, Outcome};
use crate::progress::Progress;
use crate::{interrupt, output, registry, settings};

pub(crate) fn verify(matches: &ArgMatches) -> Outcome {
    if let Some(name) = matches.get_one::<String>("run") {
        return verify_run(matches, name);
    }
    let settings = settings::resolve(matches, &[])?;
    let spec = LoadSpec::from_settings(&settings)?.spec;
    let journal = matches.get_one::<PathBuf>("durability");
    let acknowledged = journal.map(|path| Acknowledged::read(path)).transpose()?;
    let stop = interrupt::flag()?;
    let engine = registry::open(&spec.target, &spec.options, Purpose::Use)?;
    let progress = Progress::new("verifying");
    let on_rows = |rows, of| progress.at(rows, of, "rows read");
    let streams = spec.streams.get();
    let found = slob_run::verify(engine.as_ref(), streams, acknowledged.as_ref(), &stop, &on_rows);
    progress.finish();
    let found = found?;
    let mut text = String::new();
    for fault in &found.faults {
        text += &format!("{fault}\n");
    }
    let unnamed = found.faulty - found.faults.len() as u64;
    if unnamed > 0 {
        text += &format!("and {unnamed} more\n");
    }
    text += &format!(
        "{}: {} rows read back, {} of them updated since the load, {} faulty\n",
        spec.target, found.rows, found.updated, found.faulty
    );
    if let Some((journal, acknowledged)) = journal.zip(acknowledged) {
        text += &format!(
            "{}: {} acknowledged updates of {} rows, {} rows lost one\n",
            journal.display(),
            acknowledged.updates,
            acknowledged.rows(),
            found.lost
        );
    }
    output::print(&text)?;
    Ok(ExitCode::from(if found.faulty > 0 { JUDGED } else { 0 }))
}
