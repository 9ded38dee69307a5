//! `slob export`: a run in the format of another tool.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{find_run, read_record, series_csv};
use slob_report::export::{hlog, prometheus};

use crate::failure::{Failure, Outcome};
use crate::{output, settings};

pub(crate) fn export(matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let name = matches.get_one::<String>("run").map_or("latest", String::as_str);
    let record = read_record(&find_run(&results, name)?)?;
    let text = if matches.get_flag("hlog") {
        hlog(&record).map_err(Failure::failed)?
    } else if matches.get_flag("prometheus") {
        prometheus(&record)
    } else {
        series_csv(&record)
    };
    match matches.get_one::<PathBuf>("output") {
        Some(path) => output::write_whole(path, &text)
            .map_err(|error| Failure::failed(format!("writing {}: {error}", path.display())))?,
        None => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
