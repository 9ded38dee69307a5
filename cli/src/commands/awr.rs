//! `slob awr`: reading the reports that a database vendor's tools wrote.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, ArgMatches, Args, Subcommand};
use jiff::civil::DateTime;
use serde_json::{Value as Json, json};
use slob_awr::checks::Checks;
use slob_awr::histogram::{EVENTS, Point, sort};
use slob_awr::info::{Head, Named, Row, Work, columns, part_of_file};
use slob_awr::trend::log_file_sync_us;
use slob_awr::{Figure, Period, Scope, Sheet, diff as tables, duration, duration_us};
use slob_facts::format::{ABSENT, Format, or_absent, plural, significant};
use slob_facts::table::{Cell, Column, Table};
use slob_page::{AwrInterval, Begins, awr_page, check_text, diff_table, printed_table};

use super::awr_export::{self, AwrExportArgs};
use super::awr_files::{EXIT_CODES, Files, ReadReports};
use crate::failure::{Failure, JUDGED, Outcome, PARTLY};
use crate::output;
use crate::tables::Form;

/// Read AWR and Statspack reports, and check them for contradictions
#[derive(Args)]
#[command(long_about = "\
Reads AWR reports (of an instance, a cluster, a PDB, or comparing two periods) and Statspack reports of releases 10g to 23ai, \
as text or HTML. No database is needed.")]
pub(super) struct AwrArgs {
    #[command(subcommand)]
    command: AwrCommand,
}

#[derive(Subcommand)]
enum AwrCommand {
    Info(AwrInfoArgs),
    Histogram(HistogramArgs),
    Check(CheckArgs),
    Diff(AwrDiffArgs),
    Page(PageArgs),
    Export(AwrExportArgs),
}

pub(super) fn awr(args: &AwrArgs, _: &ArgMatches) -> Outcome {
    match &args.command {
        AwrCommand::Info(args) => info(args),
        AwrCommand::Histogram(args) => histogram(args),
        AwrCommand::Check(args) => check(args),
        AwrCommand::Diff(args) => diff(args),
        AwrCommand::Page(args) => page(args),
        AwrCommand::Export(args) => awr_export::export(args),
    }
}

/// Print one line per report, in the columns of awr_info or awr-parser
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob awr info awr.txt.*                 for SLOB's spreadsheets; SESSIONS from the name
  slob awr info --csv reports/ > all.csv  for awr-parser's, with more columns
  slob awr info --csv --of sql reports/   a row for each SQL statement, or for each segment
  slob awr info --json awrrpt_1_2_3.html  everything that was read
{EXIT_CODES}"))]
#[command(group = ArgGroup::new("form").args(["awr_info", "csv", "json"]))]
struct AwrInfoArgs {
    #[command(flatten)]
    reports: Files,
    /// Pipe-delimited, as awr_info prints it [default where stdout is no terminal]
    #[arg(long)]
    awr_info: bool,
    /// Comma-separated, with the columns of awr-parser and those it lacks
    #[arg(long)]
    csv: bool,
    /// Everything read from each report, as a JSON array
    #[arg(long)]
    json: bool,
    /// With --csv: a row for each report, SQL statement or segment
    #[arg(long, value_name = "WHAT", value_parser = ["reports", "sql", "segments"], default_value = "reports")]
    #[arg(requires_ifs = [("sql", "csv"), ("segments", "csv")])]
    of: String,
}

fn info(args: &AwrInfoArgs) -> Outcome {
    let paths = &args.reports.files;
    let asked = [(args.awr_info, Form::Pipes), (args.csv, Form::Csv), (args.json, Form::Json)];
    let (text, code) = match Form::of(asked, Form::Pipes) {
        Form::Json => {
            let read = ReadReports::read(paths, Scope::Tables, |named| json_of(&named))?;
            let code = read.exit_code();
            let all =
                read.kept.into_iter().collect::<Result<Vec<Json>, String>>().map_err(Failure::failed)?;
            (format!("{:#}\n", Json::Array(all)), code)
        }
        Form::Csv => match work(&args.of) {
            Some(work) => {
                let read = ReadReports::read(paths, Scope::All, |named| work.rows(&named))?;
                let columns = work.heads().into_iter().map(Column::left);
                (Table::new(columns).with_rows(read.kept.concat()).csv(), read.exit_code())
            }
            None => {
                let columns = columns();
                let row =
                    |named: Named| columns.iter().map(|column| column.value(&named)).collect::<Vec<_>>();
                let read = ReadReports::read(paths, Scope::All, row)?;
                let (heads, code) =
                    (columns.iter().map(|column| Column::left(&column.name)), read.exit_code());
                (Table::new(heads).with_rows(read.kept).csv(), code)
            }
        },
        Form::Table => {
            let read = ReadReports::read(paths, Scope::Row, |named| info_cells(&named))?;
            let code = read.exit_code();
            (Table::new(info_columns()).with_rows(read.kept).terminal(output::width()), code)
        }
        Form::Pipes => {
            let read = ReadReports::read(paths, Scope::Row, |named| Row::of(&named))?;
            let columns = Head::ALL.iter().map(|head| Column::left(head.text()));
            (Table::new(columns).with_rows(read.kept.iter().map(Row::cells)).pipes(), read.exit_code())
        }
    };
    // Print what was read before failing because of the rest.
    output::print(&text)?;
    code
}

fn work(of: &str) -> Option<Work> {
    match of {
        "sql" => Some(Work::Statements),
        "segments" => Some(Work::Segments),
        _ => None,
    }
}

fn json_of(named: &Named) -> Result<Json, String> {
    let report = serde_json::to_value(&named.report)
        .map_err(|error| format!("writing {} as JSON: {error}", named.file))?;
    let file = part_of_file(&named.file, named.nth);
    Ok(json!({ "file": file, "sessions": named.sessions(), "report": report }))
}
fn info_columns() -> Vec<Column> {
    let column = |head: &Head| match head {
        Head::DbTime => Column::right("AAS"),
        head if head.is_text() => Column::left(head.text()),
        head => Column::right(head.text()),
    };
    let mut columns: Vec<Column> = Head::ALL.iter().map(column).collect();
    columns.insert(columns.len() - 1, Column::right("LFS_LAT"));
    columns.splice(1..1, [Column::left("DATABASE"), Column::left("BEGIN")]);
    columns
}

fn info_cells(named: &Named) -> Vec<Cell> {
    let report = &named.report;
    let row = Row::of(named);
    let mut cells: Vec<Cell> = Head::ALL.iter().map(|head| row.cell(*head).into()).collect();
    cells.insert(cells.len() - 1, Format::Significant.cell(log_file_sync_us(report)));
    let begin = report.interval.begin.as_ref().and_then(|snapshot| snapshot.time);
    cells.splice(1..1, [report.database.name.clone().into(), begin.map(minute).into()]);
    cells
}

fn minute(moment: DateTime) -> String {
    moment.strftime("%Y-%m-%d %H:%M").to_string()
}

const LONGEST_US: f64 = 86_400e6;
const EVENTS_NAMED: usize = 12;

/// Show how long waits took, report by report: averages hide what a histogram shows
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob awr histogram awr_*.txt
  slob awr histogram --event 'log file sync' --over 10ms awr_*.txt
  slob awr histogram --html waits.html awr_*.html
{EXIT_CODES}"))]
struct HistogramArgs {
    #[command(flatten)]
    reports: Files,
    /// A wait event; may be repeated [default: single-block reads and log writes]
    #[arg(long, value_name = "NAME")]
    event: Vec<String>,
    /// Show the share of waits that took longer, such as 500us, 8ms, 1s
    #[arg(long, value_name = "TIME", default_value = "8ms")]
    over: String,
    /// Write heat maps over time to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the histograms as JSON
    #[arg(long)]
    json: bool,
}

fn histogram(args: &HistogramArgs) -> Outcome {
    let asked: Vec<&str> = args.event.iter().map(String::as_str).collect();
    let events = if asked.is_empty() { EVENTS.to_vec() } else { asked.clone() };
    let limit = args.over.as_str();
    let limit_us = duration_us(limit, None).map(|figure| figure.value);
    let limit_us = limit_us.filter(|us| *us > 0.0 && *us <= LONGEST_US).ok_or_else(|| {
        usage!("--over {limit}: not a duration of up to a day; use a number with us, ms or s, such as 8ms")
    })?;
    let of_report = |named: Named| {
        let points: Vec<_> = events.iter().map(|event| Point::of(&named, event, limit_us)).collect();
        // A report names its events if none of those asked for is among them.
        let has_none = asked.iter().all(|event| Point::of(&named, event, 1.0).is_none());
        let known = named.report.histograms.iter().filter(|_| has_none).map(|own| own.event.clone());
        (AwrInterval::of(&named, points.clone()), points, known.collect::<Vec<String>>())
    };
    let read = ReadReports::read(&args.reports.files, Scope::All, of_report)?;
    let code = read.exit_code()?;
    let points_of = |at: usize| {
        let mut points: Vec<Point> = read.kept.iter().filter_map(|(_, all, _)| all[at].clone()).collect();
        sort(&mut points);
        points
    };
    let series = events.iter().enumerate().map(|(at, event)| (*event, points_of(at)));
    let series: Vec<(&str, Vec<Point>)> = series.filter(|(_, points)| !points.is_empty()).collect();
    if series.is_empty() {
        let known = read.kept.iter().flat_map(|(.., events)| events.iter().map(String::as_str));
        let known: Vec<&str> = known.take(EVENTS_NAMED).collect();
        let hint = match known.is_empty() {
            true => "the reports have no wait-event histograms".to_owned(),
            false => format!("there are {} ...", known.join(", ")),
        };
        return Err(usage!("no histogram of {}: {hint}", events.join(", ")));
    }
    if args.json {
        let points: Vec<&Vec<Point>> = series.iter().map(|(_, points)| points).collect();
        output::print(&output::json("the histograms", &points)?)?;
    } else {
        let texts = series.iter().map(|(event, points)| histogram_text(event, points, limit_us));
        output::print(&texts.collect::<Vec<_>>().join("\n"))?;
    }
    if let Some(path) = &args.html {
        let intervals = read.kept.into_iter().map(|(interval, ..)| interval).collect();
        output::write_whole(path, &awr_page(intervals, &events, Begins::WithWaits))
            .map_err(|error| usage!("writing {}: {error}; name another file", path.display()))?;
        say!("wrote {}", path.display());
    }
    Ok(code)
}

fn histogram_text(event: &str, points: &[Point], limit_us: f64) -> String {
    let buckets = points.iter().flat_map(|point| &point.histogram.buckets);
    let mut edges: Vec<f64> = buckets.map(|bucket| bucket.from_us).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let share = |point: &Point, edge: f64| {
        let bucket = point.histogram.buckets.iter().find(|bucket| bucket.from_us == edge)?;
        Some(bucket.percent)
    };
    // Columns without a wait in any report are left out.
    edges.retain(|edge| points.iter().filter_map(|point| share(point, *edge)).any(|share| share.value > 0.0));
    let heads = [
        Column::left("Report"),
        Column::left("Begin"),
        Column::right("Waits"),
        Column::right("Mean"),
        Column::right(format!("over {}", duration(limit_us))),
    ];
    let start = |edge: &f64| if *edge == 0.0 { "from 0".to_owned() } else { duration(*edge) };
    let starts = edges.iter().map(|edge| Column::right(start(edge)));
    let row = |point: &Point| {
        let over = match point.over.most_percent - point.over.least_percent {
            gap if gap.abs() < 0.05 => format!("{:.1} %", point.over.least_percent),
            _ => format!("{:.1} to {:.1} %", point.over.least_percent, point.over.most_percent),
        };
        let cells = [
            point.file.clone(),
            or_absent(point.begin, minute),
            or_absent(point.histogram.waits, |waits| significant(waits.value)),
            or_absent(point.mean_us.and_then(Figure::known), duration),
            over,
        ];
        let shares = edges.iter().map(|edge| match share(point, *edge) {
            None => ABSENT.to_owned(),
            Some(share) if share.value == 0.0 && share.resolution == 0.0 => String::new(),
            Some(share) => format!("{:.1}", share.value),
        });
        cells.into_iter().chain(shares).collect::<Vec<String>>()
    };
    let columns = heads.into_iter().chain(starts);
    let rows = Table::new(columns).with_rows(points.iter().map(row)).terminal(output::width());
    let words: String =
        points.iter().filter_map(|point| Some(format!("  {}: {}.\n", point.file, point.words()?))).collect();
    format!("{event}: percent of waits by duration, each column from its head up to the next\n{rows}{words}")
}

/// Write a page of reports over time: DB time, top events and SQL, throughput, heat maps
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob awr page reports/ -o week.html
  slob awr page -o - awr_*.html > week.html
{EXIT_CODES}"))]
struct PageArgs {
    #[command(flatten)]
    reports: Files,
    /// The file to write; `-` means stdout [default: awr.html]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn page(args: &PageArgs) -> Outcome {
    let (page, code) = page_of(&args.reports.files)?;
    output::write_page(&page, args.output.as_deref().unwrap_or(Path::new("awr.html")))?;
    Ok(code)
}

pub(super) fn page_of<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(String, ExitCode), Failure> {
    const LIMIT_US: f64 = 8.0 * 1024.0;
    let read = ReadReports::read(paths, Scope::All, |named| {
        let points = EVENTS.iter().map(|event| Point::of(&named, event, LIMIT_US)).collect();
        AwrInterval::of(&named, points)
    })?;
    let code = read.exit_code()?;
    Ok((awr_page(read.kept, &EVENTS, Begins::WithTime), code))
}

/// Compare the figures that a report states twice, and point out the impossible
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob awr check awrrpt_1_2_3.txt
  slob awr check --json reports/
{EXIT_CODES}
With --strict, also 1 if figures that should agree do not."))]
struct CheckArgs {
    #[command(flatten)]
    reports: Files,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Show the pairs that agree, as well
    #[arg(long, short)]
    verbose: bool,
    /// Exit with code 1 if two figures of a report contradict each other
    #[arg(long)]
    strict: bool,
}

fn check(args: &CheckArgs) -> Outcome {
    let read = ReadReports::read(&args.reports.files, Scope::All, |named| Checks::of(&named))?;
    if args.json {
        output::print(&output::json("the pairs", &read.kept)?)?;
    } else {
        let (all, width) = (args.verbose, output::width());
        output::print(&read.kept.iter().map(|checks| check_text(checks, all, width)).collect::<String>())?;
        // The meaning of a word is the same in all reports.
        if let Some(general) = read.kept.iter().flat_map(|checks| &checks.warnings).find(|one| one.is_general)
        {
            output::print(&format!("{}: {}.\n", general.weight.word(), general.text))?;
        }
    }
    let code = read.exit_code()?;
    if args.strict && read.kept.iter().any(Checks::is_contradictory) {
        return Ok(ExitCode::from(JUDGED));
    }
    Ok(code)
}

/// Compare two reports, or the two periods of a compare-period report
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob awr diff before.txt after.html
  slob awr diff awrdiff_1_2.txt")]
struct AwrDiffArgs {
    /// The first report, or a compare-period report alone
    first: PathBuf,
    /// The second report
    second: Option<PathBuf>,
    /// Every statistic and event, not only the largest
    #[arg(long)]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn diff(args: &AwrDiffArgs) -> Outcome {
    let paths: Vec<&PathBuf> = [&args.first].into_iter().chain(&args.second).collect();
    let asked = paths.len();
    let read = ReadReports::read(paths, Scope::Tables, |named| named)?;
    let [first, second] = &read.kept[..] else {
        let error = match (asked, read.kept.len()) {
            (_, 0) => "no report could be read".to_owned(),
            (1, _) => "there is only one report: name a second one, or a compare-period report".to_owned(),
            (_, found) => format!(
                "{found} periods were read, but only two can be compared: name two reports, or one compare-period report"
            ),
        };
        return Err(Failure::usage(error));
    };
    let tables = tables(&first.report, &second.report);
    // The other tables of a comparison have both periods.
    let is_one_report = first.report.kind.is_comparison() && second.report.period == Some(Period::Second);
    let sheets = first.report.tables.iter().filter(|sheet| is_one_report && !sheet.is_typed);
    if args.json {
        let sheets: Vec<&Sheet> = sheets.collect();
        let json =
            json!({ "first": first.label(), "second": second.label(), "tables": tables, "printed": sheets });
        output::print(&format!("{json:#}\n"))?;
    } else {
        let (all, width) = (args.all, output::width());
        let head = format!("First:  {}\nSecond: {}\n", first.label(), second.label());
        let mut text = tables.iter().fold(head, |text, table| text + &diff_table(table, all, width));
        match sheets.clone().count() {
            _ if all => text.extend(sheets.map(|sheet| printed_table(sheet, width))),
            0 => {}
            others => {
                let others = plural(others as u64, "more table");
                text += &format!("\n{others} as printed: --all shows them\n");
            }
        }
        output::print(&text)?;
    }
    read.exit_code().or(Ok(ExitCode::from(PARTLY)))
}
