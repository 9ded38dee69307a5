//! From a production database to the test that matters.

use std::path::PathBuf;

use clap::{Arg, Command, value_parser};
use clap_complete::ArgValueCompleter;
use slob_profile::By;

use super::{LOAD_ONLY, is_common, is_results_dir, switch, with_params};
use crate::completing;

/// All of them.
pub(super) fn commands() -> [Command; 3] {
    [profile(), plan(), headroom()]
}

fn path(name: &'static str) -> Arg {
    Arg::new(name).value_parser(value_parser!(PathBuf))
}

/// A saved profile that is read.
fn saved(name: &'static str) -> Arg {
    path(name).add(ArgValueCompleter::new(completing::profiles))
}

fn output(help: &'static str) -> Arg {
    path("output").short('o').long("output").value_name("FILE").help(help)
}

fn html() -> Arg {
    path("html").long("html").value_name("FILE").help("Write a page with charts to this file, `-` for stdout")
}

fn of_profile(command: Command) -> Command {
    command
        .arg(
            Arg::new("database")
                .long("database")
                .value_name("NAME")
                .help("Of several databases, only this one, by its name or number"),
        )
        .arg(
            Arg::new("instance")
                .long("instance")
                .value_name("NAME")
                .help("Of a cluster, only this instance [default: all together]"),
        )
        .arg(switch("json").help("Print the profile and its summary as JSON"))
        .arg(html())
}

fn profile() -> Command {
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
    let diff = Command::new("diff")
        .about("Compare two profiles")
        .arg(saved("first").required(true).value_name("FIRST"))
        .arg(saved("second").required(true).value_name("SECOND"));
    let command = Command::new("profile")
        .about("Show what a database does per second, from AWR reports, a live server, or runs")
        .after_help(examples)
        .args_conflicts_with_subcommands(true)
        .arg(
            path("inputs")
                .num_args(1..)
                .value_name("FILE|FOLDER|RUN")
                .help("Reports, runs, profiles, or folders of them"),
        )
        .arg(output("Where the profile is kept [default: profile.json]"))
        .arg(
            Arg::new("every")
                .long("every")
                .value_name("TIME")
                .default_value("60s")
                .help("How often a live server is asked"),
        )
        .arg(
            Arg::new("for")
                .long("for")
                .value_name("TIME")
                .default_value("1d")
                .help("How long a live server is watched"),
        )
        .subcommand(show)
        .subcommand(diff);
    with_params(of_profile(command), |param| is_common(param) || is_results_dir(param))
}

/// Which point of a profile, and how much more.
fn of_demand(command: Command) -> Command {
    let names: Vec<&str> = By::NAMES.iter().map(|(name, _)| *name).collect();
    command
        .arg(
            saved("profile")
                .default_value("profile.json")
                .value_name("PROFILE")
                .help("What `slob profile` wrote"),
        )
        .arg(
            Arg::new("at")
                .long("at")
                .value_name("POINT")
                .default_value("peak")
                .help("peak, p95, median, or a moment such as '2026-11-20 10:00'"),
        )
        .arg(
            Arg::new("by")
                .long("by")
                .value_name("FIGURE")
                .default_value("reads")
                .value_parser(names)
                .help("What peak, p95 and median are by; `each` takes each figure at its own"),
        )
        .arg(
            Arg::new("grow")
                .long("grow")
                .value_name("TIMES")
                .default_value("1")
                .value_parser(value_parser!(f64))
                .help("Plan for this many times the demand"),
        )
        .arg(
            Arg::new("peak-factor")
                .long("peak-factor")
                .value_name("TIMES")
                .value_parser(value_parser!(f64))
                .help("By how much the busiest minutes of a long interval exceeded its mean"),
        )
        .arg(
            Arg::new("instance")
                .long("instance")
                .value_name("NAME")
                .help("Of a cluster, only this instance [default: all together]"),
        )
        .arg(
            Arg::new("calibration")
                .long("calibration")
                .value_name("TIME")
                .default_value("15s")
                .help("Length of each of the up to three short runs that measure what operations cost"),
        )
        .arg(
            Arg::new("max-sessions")
                .long("max-sessions")
                .value_name("N")
                .default_value("256")
                .value_parser(value_parser!(u32).range(1..=65_535))
                .help("The most sessions"),
        )
        .arg(switch("json").help("Print everything as JSON"))
}

fn plan() -> Command {
    let examples = "\
Examples:
  slob plan profile.json > slob.conf                                the parameters that make the demand of the peak
  slob plan profile.json --target \"$NEW\" > slob.conf                measured there: up to three short runs
  slob plan profile.json --at p95 --grow 1.5
  slob plan profile.json --at '2026-11-20 10:00' --by commits
Reads, redo, commits and writes are each met within 5 %, or it says which are not, and why. Load the data first
(`slob setup`): more than the database's cache holds, or the reads will not be physical.";
    let command = Command::new("plan")
        .about("Turn a profile into a test with the same demand: a commented slob.conf")
        .after_help(examples)
        .arg(output("Write slob.conf to this file, and print the table (or --json) alone"));
    with_params(of_demand(command), |param| !LOAD_ONLY.contains(&param.key))
}

fn headroom() -> Command {
    let examples = "\
Examples:
  slob headroom profile.json --target \"$NEW\"                         how many times production's peak does it carry?
  slob headroom profile.json --at p95 --limit read-p99=2ms --run-time 60 --html headroom.html
  slob headroom profile.json --directory headroom/array-b            the same command goes on where it was stopped
The demand is made at 1x, then twice as much and so on, until a limit breaks; then the gap is divided. A limit is a latency,
and that the rate is kept within 5 %. Each step is an ordinary run of WARMUP + RUN_TIME; there are about ten to fifteen. A step whose
reads the page cache served does not count.";
    let command = Command::new("headroom")
        .about("Find how many times a profile's demand a platform carries, and what breaks beyond")
        .after_help(examples)
        .arg(Arg::new("limit").long("limit").value_name("WHAT=TIME").num_args(1).action(clap::ArgAction::Append).help("A latency not to be passed, as of `slob saturate`; may be given several times [default: production's own mean read and commit]"))
        .arg(path("directory").long("directory").value_name("DIR").default_value("headroom").help("Where its runs are kept"))
        .arg(Arg::new("most").long("most").value_name("TIMES").default_value("64").value_parser(value_parser!(f64)).help("The most times the demand to try"))
        .arg(Arg::new("repeats").long("repeats").value_name("N").default_value("3").value_parser(value_parser!(u32).range(1..=20)).help("How often both ends are measured, in all"))
        .arg(switch("count-cached").help("Count steps whose reads the page cache served"))
        .arg(html());
    with_params(of_demand(command), |param| !LOAD_ONLY.contains(&param.key))
}
