//! `slob awr`: the database vendor's own reports.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, Command, value_parser};

use super::switch;

/// What these commands are listed under.
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
        .subcommand(info())
        .subcommand(histogram())
        .subcommand(check())
        .subcommand(diff())
        .subcommand(page())
}

fn files() -> Arg {
    Arg::new("files")
        .required(true)
        .num_args(1..)
        .value_name("FILE|FOLDER")
        .value_parser(value_parser!(PathBuf))
        .help("Reports, also packed with gzip or bzip2, folders of nothing but reports, or - for stdin")
}

fn info() -> Command {
    Command::new("info")
        .about("Print one line per report, in the columns of awr_info or awr-parser")
        .after_help(format!(
            "Examples:\n  slob awr info awr.txt.*                 for SLOB's spreadsheets; SESSIONS from the name\n  \
             slob awr info --csv reports/ > all.csv  for awr-parser's, with more columns\n  \
             slob awr info --csv --of sql reports/   a row for each SQL statement, or for each segment\n  \
             slob awr info --json awrrpt_1_2_3.html  everything that was read\n{EXIT_CODES}"
        ))
        .arg(files())
        .arg(switch("awr-info").help("Pipe-delimited, as awr_info prints it [default where stdout is no terminal]"))
        .arg(switch("csv").help("Comma-separated, with the columns of awr-parser and those it lacks"))
        .arg(switch("json").help("Everything read from each report, as a JSON array"))
        .arg(
            Arg::new("of")
                .long("of")
                .value_name("WHAT")
                .value_parser(["reports", "sql", "segments"])
                .default_value("reports")
                .requires_ifs([("sql", "csv"), ("segments", "csv")])
                .help("With --csv: a row for each report, SQL statement or segment"),
        )
        .group(ArgGroup::new("form").args(["awr-info", "csv", "json"]))
}

fn histogram() -> Command {
    Command::new("histogram")
        .about("Show how long waits took, report by report: averages hide what a histogram shows")
        .after_help(format!(
            "Examples:\n  slob awr histogram awr_*.txt\n  \
             slob awr histogram --event 'log file sync' --over 10ms awr_*.txt\n  \
             slob awr histogram --html waits.html awr_*.html\n{EXIT_CODES}"
        ))
        .arg(files())
        .arg(
            Arg::new("event")
                .long("event")
                .value_name("NAME")
                .action(clap::ArgAction::Append)
                .help("A wait event; may be repeated [default: single-block reads and log writes]"),
        )
        .arg(
            Arg::new("over")
                .long("over")
                .value_name("TIME")
                .default_value("8ms")
                .help("Show the share of waits that took longer, such as 500us, 8ms, 1s"),
        )
        .arg(
            Arg::new("html")
                .long("html")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write heat maps over time to this file"),
        )
        .arg(switch("json").help("Print the histograms as JSON"))
}

fn check() -> Command {
    Command::new("check")
        .about("Compare the figures that a report states twice, and point out the impossible")
        .after_help(format!(
            "Examples:\n  slob awr check awrrpt_1_2_3.txt\n  slob awr check --json reports/\n{EXIT_CODES}\n\
             With --strict, also 1 if figures that should agree do not."
        ))
        .arg(files())
        .arg(switch("json").help("Print as JSON"))
        .arg(switch("verbose").short('v').help("Show the pairs that agree, as well"))
        .arg(switch("strict").help("Exit with code 1 if two figures of a report contradict each other"))
}

fn page() -> Command {
    Command::new("page")
        .about("Write a page of reports over time: DB time, top events and SQL, throughput, heat maps")
        .after_help(format!(
            "Examples:\n  slob awr page reports/ -o week.html\n  slob awr page -o - awr_*.html > week.html\n{EXIT_CODES}"
        ))
        .arg(files())
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The file to write; `-` means stdout [default: awr.html]"),
        )
}

fn diff() -> Command {
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).value_name(name.to_ascii_uppercase()).value_parser(value_parser!(PathBuf)).help(help)
    };
    Command::new("diff")
        .about("Compare two reports, or the two periods of a compare-period report")
        .after_help("Examples:\n  slob awr diff before.txt after.html\n  slob awr diff awrdiff_1_2.txt")
        .arg(file("first", "The first report, or a compare-period report alone").required(true))
        .arg(file("second", "The second report"))
        .arg(switch("all").help("Every statistic and event, not only the largest"))
        .arg(switch("json").help("Print as JSON"))
}
