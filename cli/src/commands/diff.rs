//! `slob diff`: two runs, or two groups of repeated runs, side by side.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{Record, SeriesWanted};
use slob_report::diff::Diff;
use slob_report::html::diff_page;

use crate::failure::{Failure, Outcome};
use crate::output::write_page;
use crate::tables::Records;
use crate::{output, settings};

/// Where the page is written if nothing else is said.
const HTML: &str = "diff.html";

pub(crate) fn diff(matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let many = |name: &str| -> Vec<&str> {
        matches.get_many::<String>(name).unwrap_or_default().map(String::as_str).collect()
    };
    let (first, second) = match many("pair").as_slice() {
        [first, second] => (vec![*first], vec![*second]),
        _ => (many("first"), many("second")),
    };
    let html = matches.get_flag("html");
    let series = if html { SeriesWanted::Whole } else { SeriesWanted::Empty };
    let (first, second) = (read(&results, first, series)?, read(&results, second, series)?);
    let confidence = matches.get_one("confidence").copied().unwrap_or_default();
    let diff = Diff::of(&first, &second, confidence).map_err(Failure::usage)?;
    if html {
        let page = diff_page(&diff, &first, &second);
        write_page(&page, matches.get_one("output").map_or(Path::new(HTML), PathBuf::as_path))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = if matches.get_flag("json") { output::json("the comparison", &diff)? } else { diff.text() };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// All runs of a side: a comparison without some of them would not be the one that was asked for.
fn read(results: &Path, names: Vec<&str>, series: SeriesWanted) -> Result<Vec<Record>, Failure> {
    Records::read(results, names, series, |record| record).all()
}
