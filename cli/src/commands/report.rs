//! `slob report`: a run's report, from its record alone.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{find_run, read_record};
use slob_report::{compact_summary, text_report};

use crate::failure::Outcome;
use crate::{output, settings};

pub(crate) fn report(matches: &ArgMatches) -> Outcome {
    let name = matches.get_one::<String>("run").map_or("last", String::as_str);
    let record = read_record(&find_run(&settings::results_dir(&settings::resolve(matches, &[])?), name)?)?;
    let summary = matches.get_flag("summary");
    output::print(&if summary { compact_summary(&record) } else { text_report(&record) })?;
    Ok(ExitCode::SUCCESS)
}
