//! `slob mark`: a moment of a run that is under way, marked from outside.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::leave_mark;

use crate::failure::Outcome;
use crate::{output, settings};

pub(crate) fn mark(matches: &ArgMatches) -> Outcome {
    // The mark has the time of the call: little may come before it.
    let words: Vec<&str> =
        matches.get_many::<String>("text").unwrap_or_default().map(String::as_str).collect();
    let said = matches.get_one::<String>("run").cloned();
    let run = said.or_else(|| std::env::var(settings::RUN_ID).ok()).filter(|run| !run.is_empty());
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let id = leave_mark(&results, run.as_deref(), &words.join(" "))?;
    output::say(&format!("marked in {id}"));
    Ok(ExitCode::SUCCESS)
}
