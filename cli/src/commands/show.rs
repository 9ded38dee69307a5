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
            Value::String(text) => text + "\n",
            value => format!("{value:#}\n"),
        },
        None => output::json("the record", &record)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
