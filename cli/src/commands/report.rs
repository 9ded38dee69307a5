//! One saved run: its `report`, its record (`show`), and its series and histograms (`export`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use serde_json::Value as Json;
use slob_facts::ceiling::limited_probe;
use slob_facts::{Claim, Run, Standing, claim, figure_named, thresholds};
use slob_record::{Record, read_record, run_folder, series_csv};
use slob_report::field::field;
use slob_report::hlog;
use slob_report::html::run_page;
use slob_report::{HTML_REPORT, compact_summary, compare_probe_text, text_report, with_digest};

use super::awr;
use super::awr_files::are_reports;
use crate::failure::{Failure, Outcome};
use crate::flags::NAMING;
use crate::{completing, output, settings};

#[derive(Args)]
pub(super) struct SavedRun {
    /// The run: a folder, an id or name or part of it, `latest` or `latest~1`
    #[arg(default_value = "latest", add = ArgValueCompleter::new(completing::runs))]
    run: String,
}

impl SavedRun {
    fn read(&self, matches: &ArgMatches) -> Result<(PathBuf, Record), Failure> {
        let path = settings::results_dir_of(matches)?.find_run(&self.run)?;
        let record = read_record(&path)?;
        Ok((path, record))
    }
}

/// Print the report of a run, or write it as a page with charts
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob report                                the latest run, as text
  slob report 20261120T231840Z-demo --html   rewrite its report.html
  slob report latest --html -o /tmp/r.html
  slob report latest --compare-probe
  slob report --html awr-reports/            AWR reports over time, as one page")]
pub(super) struct ReportArgs {
    #[command(flatten)]
    saved: SavedRun,
    /// Print only the verdicts and key figures
    #[arg(long, conflicts_with_all = ["html", "compare_probe"])]
    summary: bool,
    /// Write the report with charts as one HTML file, next to the record
    #[arg(long, conflicts_with = "compare_probe")]
    html: bool,
    /// Where to write the HTML file; `-` means stdout
    #[arg(long, short, value_name = "FILE", requires = "html")]
    output: Option<PathBuf>,
    /// Print only the comparison with the bare device: what the database costs
    #[arg(long)]
    compare_probe: bool,
    /// Print the table of limits of docs/reference/verdicts.md
    #[arg(long, hide = true)]
    limits: bool,
    /// Print the tables of claims of docs/reference/verdicts.md
    #[arg(long, hide = true)]
    claims: bool,
}

pub(super) fn report(args: &ReportArgs, matches: &ArgMatches) -> Outcome {
    if args.limits {
        return output::done(&thresholds::markdown());
    }
    if args.claims {
        return output::done(&claim::markdown());
    }
    let path = Path::new(&args.saved.run);
    if are_reports(path) {
        return awr_reports(path, args);
    }
    let (path, record) = args.saved.read(matches)?;
    if args.html {
        let beside = run_folder(&path).join(HTML_REPORT);
        output::write_page(&with_digest(&run_page(&record)), args.output.as_deref().unwrap_or(&beside))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::done(&if args.compare_probe {
        compare_probe_text(&record, output::width()).map_err(Failure::usage)?
    } else if args.summary {
        compact_summary(&record, output::width())
    } else {
        text_report(&record, output::width())
    })
}

fn awr_reports(path: &Path, args: &ReportArgs) -> Outcome {
    if !args.html {
        let path = path.display();
        return Err(usage!(
            "{path}: these are reports already; use --html for a page of them over time, or use `slob awr info {path}`"
        ));
    }
    let (page, code) = awr::page_of([&path.to_owned()])?;
    let name = path.display().to_string();
    let beside = PathBuf::from(format!("{}.over-time.html", name.trim_end_matches('/')));
    output::write_page(&page, args.output.as_deref().unwrap_or(&beside))?;
    Ok(code)
}

/// Print a run's record as JSON, or one field of it
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob show latest                                     the whole record
  slob show latest --field window.seconds
  slob show latest --field operations.select.latency.p99_us
  slob show latest --field figures.physical_reads_per_s
  slob show latest --field configuration.UPDATE_PCT.value
Histograms have count, min_us, mean_us, max_us, p50_us, p90_us, p99_us, p999_us and so on. `figures` holds every
column of `slob list --columns help`.
{NAMING}"))]
pub(super) struct ShowArgs {
    #[command(flatten)]
    saved: SavedRun,
    /// The whole record
    #[arg(long, conflicts_with = "field")]
    json: bool,
    /// Only this field: names joined by dots
    #[arg(long, value_name = "PATH")]
    field: Option<String>,
}

pub(super) fn show(args: &ShowArgs, matches: &ArgMatches) -> Outcome {
    let (_, record) = args.saved.read(matches)?;
    for known in args.field.iter().flat_map(|path| known_of(path, &record)) {
        say!("slob: {known}");
    }
    output::done(&match &args.field {
        Some(path) => match field(&record, path).map_err(Failure::usage)? {
            // Shells take words without quotes.
            Json::String(text) => text + "\n",
            value => format!("{value:#}\n"),
        },
        None => output::json("the record", &record)?,
    })
}

/// A verdict that makes a figure worthless, and limits of the probe it rests on.
fn known_of(path: &str, record: &Record) -> Vec<String> {
    let named = path.strip_prefix("figures.").map(figure_named);
    let Some(Ok(figure)) = named else { return Vec::new() };
    let run = Run::of(record);
    let bad = match run.standing(figure, Claim::Storage) {
        Standing::Invalid(question) => run.judged().iter().find(|judged| judged.question == question),
        _ => None,
    };
    let bad = bad.map(|judged| format!("{}; {} rests on it", judged.words(), figure.name));
    bad.into_iter().chain(limited_probe(record).filter(|_| figure.is_of_probe())).collect()
}

/// Export a run for other tools: CSV series, HdrHistogram log
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob export latest --series -o series.csv
  slob export latest --hlog -o run.hlog         for HdrHistogram's tools; values are nanoseconds
{NAMING}"))]
#[command(group = ArgGroup::new("format").args(["series", "hlog"]).required(true))]
pub(super) struct ExportArgs {
    #[command(flatten)]
    saved: SavedRun,
    /// The run second by second, as CSV
    #[arg(long)]
    series: bool,
    /// A histogram of operation latency per interval, as HdrHistogram log 1.3
    #[arg(long)]
    hlog: bool,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn export(args: &ExportArgs, matches: &ArgMatches) -> Outcome {
    let (_, record) = args.saved.read(matches)?;
    let text = if args.hlog { hlog(&record).map_err(Failure::failed)? } else { series_csv(&record) };
    match &args.output {
        Some(path) => output::write_file(path, &text)?,
        None => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
