//! The commands that lead from a production database to a test with its demand.

use clap::{Arg, Command};
use clap_complete::ArgValueCompleter;

use super::{file, is_common, is_results_dir, option, output, path, switch, with_params};
use crate::completing;

fn saved(name: &'static str) -> Arg {
    path(name).add(ArgValueCompleter::new(completing::profiles))
}

fn html() -> Arg {
    file("html", "Write a page with charts to this file, `-` for stdout")
}

fn instance() -> Arg {
    option("instance", "NAME", "Of a cluster, only this instance [default: all together]")
}

fn of_profile(command: Command) -> Command {
    command.args([
        option("database", "NAME", "Of several databases, only this one, by its name or number"),
        instance(),
        switch("json", "Print the profile and its summary as JSON"),
        html(),
    ])
}

pub(crate) fn profile() -> Command {
    let examples = "\
Examples:
  slob profile awr/                                   weeks of AWR or Statspack reports, to profile.json
  slob profile awr/*.html --html week.html            with a page of charts
  slob profile --target \"$PROD\" --every 60s --for 1d  a live server, read only; the same command goes on
  slob profile runs/20261120T231840Z-run -o run.json  a run of this program
  slob profile a.json b.json -o both.json             profiles of the same database become one
  slob profile show profile.json
  slob profile diff before.json after.json
Reports of several databases become a profile each. What is not sound (a restart within an interval, a counter that wrapped, a
clock that jumped, the same interval twice) is named and left out.
Exit codes: 0 good; 1 some could not be read; 2 none could, or bad usage; 130 interrupted, what there was is kept.";
    let show = of_profile(Command::new("show").about("Show a saved profile"))
        .arg(saved("profile").default_value("profile.json").value_name("PROFILE"));
    let diff = Command::new("diff").about("Compare two profiles").args([
        saved("first").required(true).value_name("FIRST"),
        saved("second").required(true).value_name("SECOND"),
    ]);
    let command = Command::new("profile")
        .about("Show what a database does per second, from AWR reports, a live server, or runs")
        .after_help(examples)
        .args_conflicts_with_subcommands(true)
        .args([
            path("inputs")
                .num_args(1..)
                .value_name("FILE|FOLDER|RUN")
                .help("Reports, runs, profiles, or folders of them"),
            output("Where the profile is kept [default: profile.json]"),
            option("every", "TIME", "How often a live server is asked").default_value("60s"),
            option("for", "TIME", "How long a live server is watched").default_value("1d"),
        ])
        .subcommands([show, diff]);
    with_params(of_profile(command), |param| is_common(param) || is_results_dir(param))
}
