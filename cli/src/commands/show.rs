//! `slob show`: a record as it is, or one field of it.

use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::Value;
use slob_record::{find_run, read_record};
use slob_report::field::field;

use crate::failure::{Failure, Outcome};
use crate::{output, settings};

pub(crate) fn show(matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let name = matches.get_one::<String>("run").map_or("latest", String::as_str);
    let record = read_record(&find_run(&results, name)?)?;
    let text = match matches.get_one::<String>("field") {
        Some(path) => match field(&record, path).map_err(Failure::usage)? {
            // A word by itself is what a shell wants.
            Value::String(text) => text,
            value => format!("{value:#}"),
        },
        None => serde_json::to_string_pretty(&record)
            .map_err(|error| Failure::failed(format!("writing the record as JSON: {error}")))?,
    };
    output::print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}
