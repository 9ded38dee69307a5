//! Tables of saved runs: `list`, and `info` with columns of choice.

use std::process::ExitCode;

use clap::{ArgAction, ArgGroup, ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use slob_facts::ceiling::limited_probe;
use slob_facts::table::{Cell, wrapped};
use slob_facts::{Lead, figure};
use slob_record::{Record, SeriesWanted, list_runs};
use slob_report::columns::{
    self, AWR_COLUMNS, Column, all_columns, cells, column, did_you_mean, status_word, table,
};

use crate::failure::{Failure, Outcome, PARTLY, strict_code};
use crate::flags::{NAMING, STRICT};
use crate::tables::{Form, Records, Runs, texts};
use crate::{completing, index, output, settings};

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
    let are_of_probe = columns.iter().any(Column::is_of_probe);
    let of_run = |run: &slob_facts::Run<'_>| {
        (cells(run, &columns), limited_probe(run.record).filter(|_| are_of_probe))
    };
    let everything = args.runs.is_empty();
    let runs = match everything {
        true => list_runs(&results)?.into(),
        false => Runs::named(&results, texts(&args.runs)),
    };
    let read = match needs_verdicts {
        true => Records::judged(&runs, of_run),
        false => Records::read(&runs, SeriesWanted::Empty, |record| of_run(&slob_facts::Run::of(&record))),
    };
    if everything && read.kept.is_empty() {
        say!("{} holds no runs", results.display());
    }
    let code = read.exit_code()?;
    let (rows, limited): (Vec<_>, Vec<_>) = read.kept.into_iter().unzip();
    limited.iter().flatten().for_each(|limited| say!("{limited}"));
    let table = table(heads, &columns, rows);
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
    ("ID", columns::ID),
    ("STATUS", columns::STATUS),
    ("TARGET", columns::TARGET),
    ("SESSIONS", Column::figure(&figure::SESSIONS)),
    ("IOPS", Column::figure(&figure::PHYSICAL_READS_PER_S)),
    ("READ P99", Column::figure(&figure::PHYSICAL_READ_P99_US)),
    ("OP/S", Column::figure(&figure::OPERATIONS_PER_S)),
    ("RESPONSE P99", Column::figure(&figure::RESPONSE_P99_US)),
    ("OP P99", Column::figure(&figure::OPERATION_P99_US)),
    ("IN FLIGHT", Column::figure(&figure::AVERAGE_ACTIVE_SESSIONS)),
    ("VERDICTS", columns::VERDICTS_IN_SHORT),
    ("NAME", columns::NAME),
    ("STARTED", columns::STARTED),
    ("LEADS", columns::LEADS),
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
            true => strict_code(strict, written.are_good),
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
    if let Some(width) = width.filter(|_| !(table.is_empty() || left_out.is_empty())) {
        let words = format!("Not shown: {}; --csv or a wider terminal has them", left_out.join(", "));
        wrapped(&words, width).iter().for_each(|line| output::say(line));
    }
    if table.is_empty() {
        let what = if none_at_all { "no runs" } else { "no runs like that" };
        say!("{} holds {what}", results.display());
    }
    Ok(if code == ExitCode::SUCCESS { strict_code(strict, are_good) } else { code })
}

/// `2026-11-20`, `2026-11-20T10:45` or `2026-11-20T10:45:00Z`; UTC without an offset.
fn moment(text: &str) -> Result<Timestamp, Failure> {
    let civil = || text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from)).ok();
    let in_utc = || civil()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    text.parse::<Timestamp>().ok().or_else(in_utc).ok_or_else(|| {
        usage!("--since is '{text}'; use a date or a time such as 2026-11-20 or 2026-11-20T10:45:00Z")
    })
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
