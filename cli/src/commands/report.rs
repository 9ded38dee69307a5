//! `slob report`: a run's report, from its record alone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{Record, find_run, read_record, run_folder};
use slob_report::html::run_page;
use slob_report::verdicts::thresholds;
use slob_report::{compact_summary, compare_probe_text, text_report};

use super::run::HTML_REPORT;
use super::{awr_files, awr_page};
use crate::failure::{Failure, Outcome};
use crate::output::write_page;
use crate::{output, settings};

pub(crate) fn report(matches: &ArgMatches) -> Outcome {
    if matches.get_flag("limits") {
        output::print(&thresholds::markdown())?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = matches.get_one::<String>("run").map_or("latest", String::as_str);
    if awr_files::are_reports(Path::new(name)) {
        return awr_html(Path::new(name), matches);
    }
    let path = find_run(&settings::results_dir(&settings::resolve(matches, &[])?), name)?;
    let record = read_record(&path)?;
    if matches.get_flag("html") {
        return html(&record, &path, matches.get_one::<PathBuf>("output"));
    }
    let text = if matches.get_flag("compare-probe") {
        compare_probe_text(&record).map_err(Failure::usage)?
    } else if matches.get_flag("summary") {
        compact_summary(&record)
    } else {
        text_report(&record)
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// AWR and Statspack reports over time, as one page.
fn awr_html(path: &Path, matches: &ArgMatches) -> Outcome {
    if !matches.get_flag("html") {
        let path = path.display();
        return Err(Failure::usage(format!(
            "{path}: these are reports already; use --html for a page of them over time, or use `slob awr info {path}`"
        )));
    }
    let (page, code) = awr_page::page_of([&path.to_owned()])?;
    let beside =
        || PathBuf::from(format!("{}.over-time.html", path.display().to_string().trim_end_matches('/')));
    let output = matches.get_one::<PathBuf>("output").cloned().unwrap_or_else(beside);
    write_page(&page, &output)?;
    Ok(code)
}

/// Writes the page to a file, beside the record if none is named, or to stdout for `-`.
fn html(record: &Record, run: &Path, output: Option<&PathBuf>) -> Outcome {
    let folder = run_folder(run);
    let path = output.cloned().unwrap_or_else(|| folder.join(HTML_REPORT));
    write_page(&run_page(record), &path)?;
    Ok(ExitCode::SUCCESS)
}
