//! The commands that lead from a production database to a test with its demand.

use clap::{Arg, ArgAction, Command, value_parser};
use clap_complete::ArgValueCompleter;
use slob_campaign::is_set_by_plan;
use slob_profile::By;
use slob_spec::Param;

use super::campaigns::{most_sessions, repeats};
use super::{file, is_common, is_results_dir, number, option, output, path, strict, switch, with_params};
use crate::completing;
use crate::registry::is_of_run;

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

/// The point of a profile, and the multiple of its demand.
fn of_demand(command: Command) -> Command {
    let names: Vec<&str> = By::ALL.iter().map(|by| by.name()).collect();
    let by = "What peak, p95 and median are by; `each` takes each figure at its own";
    let peak_factor = "By how much the busiest minutes of a long interval exceeded its mean";
    let calibration = "Length of each of the up to four short runs that measure what operations cost";
    command.args([
        saved("profile")
            .default_value("profile.json")
            .value_name("PROFILE")
            .help("What `slob profile` wrote"),
        option("at", "POINT", "peak, p95, median, or a moment such as '2026-11-20 10:00'")
            .default_value("peak"),
        option("by", "FIGURE", by).default_value("reads").value_parser(names),
        number("grow", "TIMES", "1", "Plan for this many times the demand"),
        option("peak-factor", "TIMES", peak_factor).value_parser(value_parser!(f64)),
        instance(),
        option("calibration", "TIME", calibration).default_value("15s"),
        most_sessions("The most sessions"),
        switch("json", "Print everything as JSON"),
    ])
}

pub(crate) fn plan() -> Command {
    let examples = "\
Examples:
  slob plan profile.json > slob.conf                                the parameters that make the demand of the peak
  slob plan profile.json --target \"$NEW\" > slob.conf                measured there: up to four short runs
  slob plan profile.json --at p95 --grow 1.5
  slob plan profile.json --at '2026-11-20 10:00' --by commits
Reads, redo, commits and hits are each met within 5 %, or it says which are not, and why. Load the data first
(`slob setup`): more than the database's cache holds, or the reads will not be physical.
Exit codes: 0 all are met, or --force; 1 some are not, and no slob.conf is written; 2 bad usage; 3 a run failed.";
    let command = Command::new("plan")
        .about("Turn a profile into a test with the same demand: a commented slob.conf")
        .after_help(examples)
        .arg(output("Write slob.conf to this file, and print the table (or --json) alone"))
        .arg(switch("force", "Write slob.conf though the plan misses some figures"));
    let is_used = |param: &Param| {
        is_results_dir(param)
            || (is_left_by_plan(param) && !["RUN_TIME", "UNTIL_STEADY"].contains(&param.key))
    };
    with_params(of_demand(command), is_used)
}

/// A parameter of a run that no plan sets.
fn is_left_by_plan(param: &Param) -> bool {
    is_of_run(param) && !is_set_by_plan(param.key)
}

pub(crate) fn headroom() -> Command {
    let examples = "\
Examples:
  slob headroom profile.json --target \"$NEW\"                         how many times production's peak does it carry?
  slob headroom profile.json --quick                                 a rough answer within 5 minutes
  slob headroom profile.json --at p95 --limit read-p99=2ms --run-time 60 --html headroom.html
  slob headroom profile.json --directory headroom/array-b            the same command goes on where it was stopped
  slob headroom profile.json --replay day --compress 360             the day of the peak in 4 minutes, interval by interval
  slob headroom profile.json --replay 2026-11-20 --multiply 2        that day in an hour, with twice the work
The demand is made at low load, at 1x, then twice as much and so on, until a limit breaks; then the gap is divided. Limits: latencies, and
the rate within 5 %. Each step is a run of WARMUP + RUN_TIME (45 s unless set; 8 s with --quick); there are about ten to twenty. A step that others
spoil is repeated; one whose reads the page cache served does not count.
Exit codes: 0 the demand is carried; 1 it is not, or a verdict is not good with --strict; 2 bad usage; 3 a run failed; 4 it is not known; 130 interrupted, what is
known is printed.";
    let limit = "A latency not to be passed, as of `slob saturate`; may be given several times [default: twice the larger of production's mean read and commit, and this platform's at low load]";
    let command = Command::new("headroom")
        .about("Find how many times a profile's demand a platform carries, and what breaks beyond")
        .after_help(examples)
        .args([
            option("limit", "WHAT=TIME", limit).num_args(1).action(ArgAction::Append),
            path("directory")
                .long("directory")
                .value_name("DIR")
                .default_value("headroom")
                .help("Where its runs are kept"),
            number("most", "TIMES", "64", "The most times the demand to try"),
            repeats("How often both ends are measured, in all"),
            switch("quick", "Steps of 8 s and calibrations of 5 s, unless their lengths are set, and none repeated because others spoil it: within 5 minutes"),
            option("replay", "WHEN", "Replay the day of production's peak instead (`day`), or 24 h from a moment such as 2026-11-20")
                .conflicts_with_all(["most", "repeats", "quick"]),
            number("compress", "TIMES", "24", "How many times as fast a replay is").requires("replay"),
            number("multiply", "TIMES", "1", "Replay this many times the work").requires("replay"),
            switch("count-cached", "Count steps whose reads the page cache served"),
            html(),
            strict(),
        ]);
    with_params(of_demand(command), is_left_by_plan)
}
