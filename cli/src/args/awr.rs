//! `slob awr`: the database vendor's own reports.

use clap::{Arg, ArgAction, ArgGroup, Command};

use super::{file, option, output, path, switch};

/// The group of these commands in `slob --help`.
pub(super) const HEADING: &str = "Oracle's reports";

const EXIT_CODES: &str =
    "Exit codes: 0 all files were read; 1 only some were, or one is truncated; 2 none was.";

pub(super) fn command() -> Command {
    Command::new("awr")
        .about("Read AWR and Statspack reports, and check them for contradictions")
        .long_about(
            "Reads AWR reports (of an instance, a cluster, a PDB, or comparing two periods) and Statspack reports of \
             releases 10g to 23ai, as text or HTML. No database is needed.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([info(), histogram(), check(), diff(), page(), export()])
}

fn files() -> Arg {
    path("files")
        .required(true)
        .num_args(1..)
        .value_name("FILE|FOLDER")
        .help("Reports, also packed with gzip or zip, folders of nothing but reports, or - for stdin")
}

fn info() -> Command {
    let of = option("of", "WHAT", "With --csv: a row for each report, SQL statement or segment")
        .value_parser(["reports", "sql", "segments"])
        .default_value("reports")
        .requires_ifs([("sql", "csv"), ("segments", "csv")]);
    Command::new("info")
        .about("Print one line per report, in the columns of awr_info or awr-parser")
        .after_help(format!(
            "Examples:\n  slob awr info awr.txt.*                 for SLOB's spreadsheets; SESSIONS from the name\n  \
             slob awr info --csv reports/ > all.csv  for awr-parser's, with more columns\n  \
             slob awr info --csv --of sql reports/   a row for each SQL statement, or for each segment\n  \
             slob awr info --json awrrpt_1_2_3.html  everything that was read\n{EXIT_CODES}"
        ))
        .args([
            files(),
            switch("awr-info", "Pipe-delimited, as awr_info prints it [default where stdout is no terminal]"),
            switch("csv", "Comma-separated, with the columns of awr-parser and those it lacks"),
            switch("json", "Everything read from each report, as a JSON array"),
            of,
        ])
        .group(ArgGroup::new("form").args(["awr-info", "csv", "json"]))
}

fn histogram() -> Command {
    let event = "A wait event; may be repeated [default: single-block reads and log writes]";
    let over = "Show the share of waits that took longer, such as 500us, 8ms, 1s";
    Command::new("histogram")
        .about("Show how long waits took, report by report: averages hide what a histogram shows")
        .after_help(format!(
            "Examples:\n  slob awr histogram awr_*.txt\n  \
             slob awr histogram --event 'log file sync' --over 10ms awr_*.txt\n  \
             slob awr histogram --html waits.html awr_*.html\n{EXIT_CODES}"
        ))
        .args([
            files(),
            option("event", "NAME", event).action(ArgAction::Append),
            option("over", "TIME", over).default_value("8ms"),
            file("html", "Write heat maps over time to this file"),
            switch("json", "Print the histograms as JSON"),
        ])
}

fn check() -> Command {
    Command::new("check")
        .about("Compare the figures that a report states twice, and point out the impossible")
        .after_help(format!(
            "Examples:\n  slob awr check awrrpt_1_2_3.txt\n  slob awr check --json reports/\n{EXIT_CODES}\n\
             With --strict, also 1 if figures that should agree do not."
        ))
        .args([
            files(),
            switch("json", "Print as JSON"),
            switch("verbose", "Show the pairs that agree, as well").short('v'),
            switch("strict", "Exit with code 1 if two figures of a report contradict each other"),
        ])
}

fn page() -> Command {
    Command::new("page")
        .about("Write a page of reports over time: DB time, top events and SQL, throughput, heat maps")
        .after_help(format!(
            "Examples:\n  slob awr page reports/ -o week.html\n  slob awr page -o - awr_*.html > week.html\n{EXIT_CODES}"
        ))
        .args([files(), output("The file to write; `-` means stdout [default: awr.html]")])
}

fn export() -> Command {
    Command::new("export")
        .about("Write reports as tables of one database, or as CSV files")
        .long_about(
            "Writes reports as tables of one database, or as a CSV file for each table: reports, load_profile, time_model, \
             statistics, os_statistics, events, histograms, sql, segments, io, files, parameters. docs/awr.md has their columns.",
        )
        .after_help(format!(
            "Examples:\n  slob awr export reports/ -o awr.db\n  slob awr export reports/ --csv -o tables/\n{EXIT_CODES}"
        ))
        .args([
            files(),
            output("The file to write, or with --csv the folder [default: awr.sqlite]"),
            switch("csv", "A CSV file for each table, in a folder"),
        ])
}

fn diff() -> Command {
    Command::new("diff")
        .about("Compare two reports, or the two periods of a compare-period report")
        .after_help("Examples:\n  slob awr diff before.txt after.html\n  slob awr diff awrdiff_1_2.txt")
        .args([
            path("first")
                .value_name("FIRST")
                .required(true)
                .help("The first report, or a compare-period report alone"),
            path("second").value_name("SECOND").help("The second report"),
            switch("all", "Every statistic and event, not only the largest"),
            switch("json", "Print as JSON"),
        ])
}
