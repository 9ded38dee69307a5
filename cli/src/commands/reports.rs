//! The commands that read saved runs: `report`, `info`, `list`, `diff`, `show`, `export`, and `gate`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgAction, ArgGroup, ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value as Json;
use slob_facts::table::Cell;
use slob_facts::{Lead, claim, figure, thresholds};
use slob_record::{Record, SeriesWanted, list_runs, read_record, run_folder, series_csv};
use slob_report::diff::{Diff, NamedRuns};
use slob_report::export::hlog;
use slob_report::field::field;
use slob_report::gate::{self, Gate, MaxLoss, Requirement};
use slob_report::html::run_page;
use slob_report::info::{
    self, AWR_COLUMNS, Column, all_columns, cells, column, did_you_mean, status_word, table,
};
use slob_report::{Confidence, HTML_REPORT, compact_summary, compare_probe_text, text_report, with_digest};

use super::awr;
use super::awr_files::are_reports;
use crate::answer::Forms;
use crate::failure::{Failure, Outcome, PARTLY, judged};
use crate::flags::{NAMING, STRICT};
use crate::tables::{Form, Records, Runs};
use crate::{completing, index, output, settings};

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
    output::done(&match &args.field {
        Some(path) => match field(&record, path).map_err(Failure::usage)? {
            // Shells take words without quotes.
            Json::String(text) => text + "\n",
            value => format!("{value:#}\n"),
        },
        None => output::json("the record", &record)?,
    })
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

/// Print one line per run, in the columns of awr_info or your own choice
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob info                                     every run of the results folder
  slob info runs-a runs-b > all.txt             two folders of runs, for a spreadsheet
  slob info --csv latest~2 latest~1 latest
  slob info --columns id,operations_per_s,operation_p99_us,device_read_await_us
  slob list --columns help                      all columns, with unit and source
Exit codes: 0 all records were read; 1 only some were; 2 none was.
{NAMING}"))]
#[command(group = ArgGroup::new("form").args(["awr_info", "csv", "json"]))]
pub(super) struct InfoArgs {
    /// Runs, or folders of runs [default: RESULTS_DIR]
    #[arg(value_name = "RUN|FOLDER", num_args = 0.., add = ArgValueCompleter::new(completing::runs))]
    runs: Vec<String>,
    /// Columns to print instead of those of awr_info; `help` lists them all
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set)]
    columns: Vec<String>,
    /// Pipe-delimited, as awr_info prints it [default where stdout is no terminal]
    #[arg(long)]
    awr_info: bool,
    /// Comma-separated
    #[arg(long)]
    csv: bool,
    /// A JSON array with an object for each run
    #[arg(long)]
    json: bool,
}

pub(super) fn info(args: &InfoArgs, matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir_of(matches)?;
    let asked: Vec<&str> = args.columns.iter().map(|name| name.trim()).collect();
    if asked.contains(&"help") {
        let width =
            |of: fn(&Column) -> &str| all_columns().map(|column| of(&column).len()).max().unwrap_or(0);
        let (name, unit) = (width(|column| column.name), width(|column| column.unit));
        let line =
            |column: Column| format!("{:<name$}  {:<unit$}  {}\n", column.name, column.unit, column.source);
        let awr = AWR_COLUMNS.map(|(head, column)| format!("{} = {}", head.text(), column.name));
        let lines: String = all_columns().map(line).collect();
        let text = format!("{lines}\nThose of awr_info, which are the default: {}\n", awr.join(", "));
        return output::done(&text);
    }
    let find = |name: &&str| column_named(name, " all").map(|column| (column.name, column));
    let (heads, columns): (Vec<&str>, Vec<Column>) = match asked.is_empty() {
        true => AWR_COLUMNS.into_iter().map(|(head, column)| (head.text(), column)).unzip(),
        false => asked.iter().map(find).collect::<Result<_, _>>()?,
    };
    let needs_verdicts = columns.iter().any(|column| column.needs_series);
    let of_record = |record: Record| cells(&slob_facts::Run::of(&record), &columns);
    let everything = args.runs.is_empty();
    let runs = match everything {
        true => list_runs(&results)?.into(),
        false => Runs::named(&results, texts(&args.runs)),
    };
    let read = match needs_verdicts {
        true => Records::judged(&runs, |figures| cells(figures, &columns)),
        false => Records::read(&runs, SeriesWanted::Empty, of_record),
    };
    if everything && read.kept.is_empty() {
        say!("{} holds no runs", results.display());
    }
    let code = read.exit_code()?;
    let table = table(heads, &columns, read.kept);
    let asked = [(args.awr_info, Form::Pipes), (args.csv, Form::Csv), (args.json, Form::Json)];
    output::print(&Form::of(asked, Form::Pipes).text(&table))?;
    Ok(code)
}

pub(super) fn column_named(name: &str, which: &str) -> Result<Column, Failure> {
    column(name).ok_or_else(|| {
        let near = did_you_mean(name);
        usage!("there is no column '{name}'{near}: `slob list --columns help` lists them{which}")
    })
}

/// The start is left out: the id has it.
const LIST_COLUMNS: [(&str, Column); 14] = [
    ("ID", info::ID),
    ("STATUS", info::STATUS),
    ("TARGET", info::TARGET),
    ("SESSIONS", Column::figure(&figure::SESSIONS)),
    ("IOPS", Column::figure(&figure::PHYSICAL_READS_PER_S)),
    ("READ P99", Column::figure(&figure::PHYSICAL_READ_P99_US)),
    ("OP/S", Column::figure(&figure::OPERATIONS_PER_S)),
    ("RESPONSE P99", Column::figure(&figure::RESPONSE_P99_US)),
    ("OP P99", Column::figure(&figure::OPERATION_P99_US)),
    ("IN FLIGHT", Column::figure(&figure::AVERAGE_ACTIVE_SESSIONS)),
    ("VERDICTS", info::VERDICTS_IN_SHORT),
    ("NAME", info::NAME),
    ("STARTED", info::STARTED),
    ("LEADS", info::LEADS),
];

/// Columns that a table of these runs does not show.
fn left_out(lead: Lead) -> &'static [&'static str] {
    match lead {
        Lead::Operation => &["STARTED", "LEADS", "RESPONSE P99", "IN FLIGHT"],
        Lead::Response => &["STARTED", "LEADS"],
    }
}

/// Columns that a narrow terminal does not show, from the first: the id has the name too, and a verdict says how a run ended.
const SPARED: &[&str] = &["NAME", "TARGET", "STATUS", "SESSIONS", "IN FLIGHT"];

/// List the runs in the results folder, newest last
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob list
  slob list --name raw --status completed --since 2026-11-01
  slob list --target db1 --json
  slob list --html                    all runs on one page, index.html in the results folder; each run renews it")]
#[command(group = ArgGroup::new("form").args(["csv", "json", "html"]))]
pub(super) struct ListArgs {
    /// Only runs whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only runs whose target contains TEXT
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only runs that ended this way
    #[arg(long, value_parser = ["completed", "interrupted", "aborted", "failed"])]
    status: Option<String>,
    /// Only runs started at or after this date or time (UTC unless it has an offset)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Comma-separated
    #[arg(long)]
    csv: bool,
    /// A JSON array with an object for each run
    #[arg(long)]
    json: bool,
    /// Write index.html: every run on one page, sortable and filterable
    #[arg(long, conflicts_with_all = ["name", "target", "status", "since", "from"])]
    html: bool,
    #[arg(long, help = STRICT)]
    strict: bool,
}

pub(super) fn list(args: &ListArgs, matches: &ArgMatches) -> Outcome {
    let (results, strict) = (settings::results_dir_of(matches)?, args.strict);
    if args.html {
        let written = index::write(&results)?;
        written.unread.iter().for_each(|error| say!("slob: {error}"));
        say!("wrote {}", results.join(index::INDEX).display());
        return Ok(match written.unread.is_empty() {
            true => judged(strict, written.are_good),
            false => ExitCode::from(PARTLY),
        });
    }
    let [name, target, status] = [&args.name, &args.target, &args.status].map(Option::as_deref);
    let since = args.since.as_deref().map(moment).transpose()?;
    let is_wanted = |record: &Record| {
        name.is_none_or(|name| record.name.contains(name))
            && target.is_none_or(|target| record.target.contains(target))
            && status.is_none_or(|wanted| status_word(&record.status) == wanted)
            && since.is_none_or(|since| record.started >= since)
    };
    let is_data = args.csv || args.json;
    let (heads, columns): (Vec<&str>, Vec<Column>) = LIST_COLUMNS.into_iter().unzip();
    let row = |figures: &slob_facts::Run<'_>| {
        let cells = || match is_data {
            true => cells(figures, &columns),
            false => columns.iter().map(|column| column.shown(figures)).collect(),
        };
        let row = || (figures.record.started, cells(), !strict || figures.is_good(), figures.lead());
        is_wanted(figures.record).then(row)
    };
    let read = Records::judged(&list_runs(&results)?.into(), row);
    let code = read.exit_code()?;
    let none_at_all = read.kept.is_empty();
    let mut rows: Vec<(Timestamp, Vec<Cell>, bool, Lead)> = read.kept.into_iter().flatten().collect();
    rows.sort_by_key(|(started, ..)| *started);
    let are_good = rows.iter().all(|(_, _, is_good, _)| *is_good);
    let lead = Lead::of_all(rows.iter().map(|(.., lead)| *lead));
    let rows = rows.into_iter().map(|(_, cells, ..)| cells);
    let table = table(heads, &columns, rows);
    let table = if is_data { table } else { table.without(left_out(lead)) };
    let asked = [(args.csv, Form::Csv), (args.json, Form::Json)];
    let form = Form::of(asked, Form::Table);
    let width = output::width().filter(|_| form == Form::Table);
    let (table, left_out) = width.map_or((table.clone(), Vec::new()), |width| table.narrowed(width, SPARED));
    output::print(&form.text(&table))?;
    if !(table.is_empty() || left_out.is_empty()) {
        let left_out = left_out.join(", ");
        output::say(&format!("Not shown: {left_out}; --csv or a wider terminal has them"));
    }
    if table.is_empty() {
        let what = if none_at_all { "no runs" } else { "no runs like that" };
        say!("{} holds {what}", results.display());
    }
    Ok(if code == ExitCode::SUCCESS { judged(strict, are_good) } else { code })
}

/// `2026-11-20`, `2026-11-20T10:45` or `2026-11-20T10:45:00Z`; UTC without an offset.
fn moment(text: &str) -> Result<Timestamp, Failure> {
    let civil = || text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from)).ok();
    let in_utc = || civil()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    text.parse::<Timestamp>().ok().or_else(in_utc).ok_or_else(|| {
        usage!("--since is '{text}'; use a date or a time such as 2026-11-20 or 2026-11-20T10:45:00Z")
    })
}

/// Compare runs, or groups of repeated runs, side by side
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob diff latest~1 latest
  slob diff runs-ext4 runs-xfs                  two folders of repeated runs
  slob diff runs-ext4 runs-xfs runs-zfs         three or more, a column each: which is best, beyond noise?
  slob diff --first r1 r2 r3 --second r4 r5 r6  repeats: is the difference more than noise?
  slob diff --group r1 r2 --group r3 r4 --group r5 r6
  slob diff latest~1 latest --html              the charts of both on top of each other, in compare.html
{NAMING}"))]
#[command(group = ArgGroup::new("sides").args(["inputs", "first", "group"]).required(true))]
pub(super) struct DiffArgs {
    /// A run or a folder of runs for each group, two or more
    #[arg(value_name = "RUN|FOLDER", num_args = 2.., action = ArgAction::Set)]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    inputs: Vec<String>,
    /// The runs of the first group
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set, requires = "second")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    first: Vec<String>,
    /// The runs of the second group
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set, requires = "first")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    second: Vec<String>,
    /// The runs of a group; once for each group
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., add = ArgValueCompleter::new(completing::runs))]
    group: Vec<String>,
    /// The confidence level for groups, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    confidence: Confidence,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn diff(args: &DiffArgs, matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir_of(matches)?;
    let named = groups_of(args, matches);
    if let [(only, _)] = named.as_slice() {
        return Err(usage!("{only}: there is nothing to compare it with; name another group"));
    }
    // Only charts show the histograms of intervals.
    let forms = args.forms.checked()?;
    let series = if forms.has_charts() { SeriesWanted::Whole } else { SeriesWanted::Counts };
    let read = |(name, runs): (String, Vec<&str>)| {
        let runs = Runs::named(&results, runs);
        Records::read(&runs, series, |record| record).all().map(|runs| (name, runs))
    };
    // Each group that can't be read is named, and not the first alone.
    let read: Vec<Result<(String, Vec<Record>), Failure>> = named.into_iter().map(read).collect();
    let read: Vec<(String, Vec<Record>)> = read.into_iter().collect::<Result<_, _>>()?;
    let groups: Vec<NamedRuns<'_>> =
        read.iter().map(|(name, records)| (name.as_str(), records.as_slice())).collect();
    let mut diff = Diff::of(&groups, args.confidence).map_err(Failure::usage)?;
    if forms.has_charts() {
        diff = diff.with_charts(&groups);
    }
    forms.done(&diff, false)
}

/// Decide for scripts whether runs are good enough
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob gate --require 'read-p99 < 2ms' --require physical        the latest run
  slob gate --require 'iops_per_db_cpu_s > 40000' --require 'steady = doubt' r1 r2 r3
  slob gate runs-new --baseline runs-old --max-loss 'iops 3 %'   is more than 3 % lost, beyond noise?
  slob gate --junit gate.xml latest                              what GATE of its slob.conf requires
A figure goes by its name (`slob list --columns help`) or that of tables: iops, p99, read-p99. A verdict (physical, accounted, cpu-to-spare,
steady, complete) must be GOOD, with `= doubt` at least DOUBT. Without --require and --max-loss, GATE of the runs' configuration counts.
Exit codes: 0 all passed; 1 one failed; 2 bad usage; 4 none failed, and one is not known.
{NAMING}"))]
pub(super) struct GateArgs {
    /// Runs, or folders of runs [default: latest]
    #[arg(value_name = "RUN|FOLDER", num_args = 0.., add = ArgValueCompleter::new(completing::runs))]
    runs: Vec<String>,
    /// A figure within a bound, or a verdict; once for each
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<Requirement>,
    /// The runs to compare with
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set)]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    baseline: Vec<String>,
    /// How much worse than the baseline a figure may be; once for each
    #[arg(long, value_name = "FIGURE PERCENT", requires = "baseline")]
    max_loss: Vec<MaxLoss>,
    /// The confidence level for repeated runs, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    confidence: Confidence,
    /// Write the results as JUnit's XML to this file too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn gate(args: &GateArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let results = settings::results_dir_of(matches)?;
    let read = |names| {
        let all = Records::read(&Runs::named(&results, names), SeriesWanted::Counts, |record| record).all();
        let (replaced, runs): (Vec<Record>, Vec<Record>) = all?.into_iter().partition(gate::is_replaced);
        replaced
            .iter()
            .for_each(|run| say!("slob: {} was interrupted, and is left out of its series", run.id));
        Ok::<_, Failure>(runs)
    };
    let runs = read(if args.runs.is_empty() { vec!["latest"] } else { texts(&args.runs) })?;
    let baseline = read(texts(&args.baseline))?;
    let mut requirements = args.require.clone();
    if requirements.is_empty() && args.max_loss.is_empty() {
        requirements = configured(&runs)?;
    }
    let gate = Gate::of(&requirements, &args.max_loss, &runs, &baseline, args.confidence);
    if let Some(path) = &args.junit {
        output::write_file(path, &gate.junit())?;
    }
    forms.done(&gate, false)
}

pub(super) fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn configured(runs: &[Record]) -> Result<Vec<Requirement>, Failure> {
    let mut texts = runs.iter().map(gate::required_of);
    let first = texts.next().unwrap_or_default();
    if texts.any(|text| text != first) {
        return Err(Failure::usage("these runs have different GATEs: say with --require what must hold"));
    }
    let required = required(first)?;
    if required.is_empty() {
        return Err(Failure::usage(
            "nothing is required: name a verdict or a bound as in --require physical --require 'iops > 20000', use --max-loss, or set \
             GATE for runs",
        ));
    }
    Ok(required)
}

pub(super) fn required(gate: &str) -> Result<Vec<Requirement>, Failure> {
    gate::requirements(gate).map_err(|error| usage!("GATE: {error}"))
}

fn groups_of<'a>(args: &'a DiffArgs, matches: &'a ArgMatches) -> Vec<(String, Vec<&'a str>)> {
    let listed = || matches.get_occurrences::<String>("group").unwrap_or_default();
    let mut groups: Vec<Vec<&str>> = match !args.group.is_empty() {
        true => listed().map(|runs| runs.map(String::as_str).collect()).collect(),
        false => args.inputs.iter().map(|name| vec![name.as_str()]).collect(),
    };
    if groups.is_empty() {
        groups = vec![texts(&args.first), texts(&args.second)];
    }
    if let [first, second] = groups.as_slice() {
        return vec![("first".to_owned(), first.clone()), ("second".to_owned(), second.clone())];
    }
    let mut named: Vec<(String, Vec<&str>)> = Vec::new();
    for (runs, place) in groups.into_iter().zip(1..) {
        // The end of a path tells enough, unless another path ends so too.
        let short = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let names = match runs.as_slice() {
            [only] => vec![short(only).unwrap_or_default(), (*only).to_owned()],
            _ => vec![format!("group {place}")],
        };
        let is_free = |name: &String| !name.is_empty() && named.iter().all(|(other, _)| other != name);
        let name = names.into_iter().find(is_free).unwrap_or_else(|| format!("{} ({place})", runs[0]));
        named.push((name, runs));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc_unless_they_have_an_offset() {
        let parsed = |text: &str| moment(text).unwrap().to_string();
        assert_eq!(parsed("2026-11-20"), "2026-11-20T00:00:00Z");
        assert_eq!(parsed("2026-11-20T10:45"), "2026-11-20T10:45:00Z");
        assert_eq!(parsed("2026-11-20 10:45:01"), "2026-11-20T10:45:01Z");
        assert_eq!(parsed("2026-11-20T10:45:00+02:00"), "2026-11-20T08:45:00Z");
        assert!(moment("yesterday").is_err());
    }
}
