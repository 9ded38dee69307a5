//! The commands that work on saved records.

use clap::{Arg, ArgAction, ArgGroup, Args, Command, value_parser};
use clap_complete::ArgValueCompleter;
use slob_report::Confidence;
use slob_report::gate::{MaxLoss, Requirement};

use super::{NAMING, file, is_results_dir, option, position, with_params};
use crate::answer::Forms;
use crate::completing;

pub(super) fn confidence(help: &'static str) -> Arg {
    option("confidence", "PERCENT", help).default_value("95").value_parser(value_parser!(Confidence))
}

pub(crate) fn diff() -> Command {
    let examples = "\
Examples:
  slob diff latest~1 latest
  slob diff runs-ext4 runs-xfs                  two folders of repeated runs
  slob diff runs-ext4 runs-xfs runs-zfs         three or more, a column each: which is best, beyond noise?
  slob diff --first r1 r2 r3 --second r4 r5 r6  repeats: is the difference more than noise?
  slob diff --group r1 r2 --group r3 r4 --group r5 r6
  slob diff latest~1 latest --html              the charts of both on top of each other, in diff.html";
    let runs = || ArgValueCompleter::new(completing::runs);
    let side = |name, help| option(name, "RUN|FOLDER", help).num_args(1..).add(runs());
    let group = "The runs of a group; once for each group";
    let command = Command::new("diff")
        .about("Compare runs, or groups of repeated runs, side by side")
        .after_help(format!("{examples}\n{NAMING}"))
        .args([
            Arg::new("groups")
                .num_args(2..)
                .value_name("RUN|FOLDER")
                .add(runs())
                .help("A run or a folder of runs for each group, two or more"),
            side("first", "The runs of the first group").requires("second"),
            side("second", "The runs of the second group").requires("first"),
            side("group", group).action(ArgAction::Append),
            confidence("The confidence level for groups, in percent"),
        ])
        .group(ArgGroup::new("sides").args(["groups", "first", "group"]).required(true));
    with_params(Forms::augment_args(command), is_results_dir)
}

pub(crate) fn gate() -> Command {
    let examples = "\
Examples:
  slob gate --require 'read-p99 < 2ms' --require physical        the latest run
  slob gate --require 'iops_per_db_cpu_s > 40000' --require 'steady = doubt' r1 r2 r3
  slob gate runs-new --baseline runs-old --max-loss 'iops 3 %'   is more than 3 % lost, beyond noise?
  slob gate --junit gate.xml latest                              what GATE of its slob.conf requires
A figure goes by its name (`slob info --columns help`) or that of tables: iops, p99, read-p99. A verdict (physical, accounted, cpu-bound,
steady, complete) must be GOOD, with `= doubt` at least DOUBT. Without --require and --max-loss, GATE of the runs' configuration counts.
Exit codes: 0 all passed; 1 one failed; 2 bad usage; 4 none failed, and one is not known.";
    let runs = || ArgValueCompleter::new(completing::runs);
    let command = Command::new("gate")
        .about("Decide for scripts whether runs are good enough")
        .after_help(format!("{examples}\n{NAMING}"))
        .args([
            position("runs", "RUN|FOLDER", "Runs, or folders of runs [default: latest]")
                .num_args(0..)
                .add(runs()),
            option("require", "REQUIREMENT", "A figure within a bound, or a verdict; once for each")
                .action(ArgAction::Append)
                .value_parser(value_parser!(Requirement)),
            option("baseline", "RUN|FOLDER", "The runs to compare with").num_args(1..).add(runs()),
            option(
                "max-loss",
                "FIGURE PERCENT",
                "How much worse than the baseline a figure may be; once for each",
            )
            .action(ArgAction::Append)
            .value_parser(value_parser!(MaxLoss))
            .requires("baseline"),
            confidence("The confidence level for repeated runs, in percent"),
            file("junit", "Write the results as JUnit's XML to this file too"),
        ]);
    with_params(Forms::augment_args(command), is_results_dir)
}

pub(crate) fn ledger() -> Command {
    let examples = "\
Examples:
  slob ledger runs                              the runs of a folder: IOPS per core; repeats are one row
  slob ledger latest awr_db1.txt sheets.toml    measured, reported and claimed in one table
  slob ledger runs sheets.toml --html           as a page, in ledger.html

sheets.toml holds what no run and no report knows, a [[platform]] each:
  [[platform]]
  name = \"Two sockets of 6 cores\"
  iops = 625_000
  cores = 12
  iops_per_core = 52_093                 if it is stated; else it follows from the cores
  cost_per_hour = \"4.20 EUR\"
  source = \"who claims it, and where\"
  [[platform]]
  from = \"awr_db1.txt\"                 a run or a report, whose price this is
  cost_per_hour = \"9.60 EUR\"
  licensed_cores = 8
Runs know their price from COST_PER_HOUR and LICENSED_CORES. Figures that rest on a BAD verdict are left out.
Exit codes: 0 good; 1 only some inputs were read, or with --strict a verdict of a run is not good; 2 bad input.";
    let inputs = "Runs, folders of runs, AWR or Statspack reports, and .toml files of claims and prices";
    let command = Command::new("ledger")
        .about("Put platforms into one table: IOPS per core, per licensed core and per price")
        .after_help(format!("{examples}\n{NAMING}"))
        .args([position("inputs", "RUN|FILE|FOLDER", inputs)
            .required(true)
            .num_args(1..)
            .add(ArgValueCompleter::new(completing::runs))]);
    with_params(Forms::augment_args(command), is_results_dir)
}
