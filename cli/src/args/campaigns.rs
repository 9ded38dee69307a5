//! The commands that make many runs, and the one that analyses them.

use clap::{Arg, Args, Command, value_parser};
use clap_complete::ArgValueCompleter;

use super::records::confidence;
use super::{is_results_dir, option, path, position, strict, switch, with_params};
use crate::answer::Forms;
use crate::completing;

pub(crate) fn campaign() -> Command {
    let examples = "\
Examples:
  slob campaign fs.toml --dry-run        every run in order, and the time they take
  slob campaign fs.toml                  run them; the same command resumes an interrupted campaign
  slob campaign fs.toml --amend          continue with a changed plan
  slob campaign fs.toml --every 1h --for 7d   each run once an hour for a week; killed and started again it goes on
  slob analyze campaigns/fs              the results
  slob trend campaigns/fs                when they changed, over days

A plan:
  name = \"fs\"
  sessions = [8, 16, \"2x16\"]             8 and 16 schemas with one session each; two schemas with 16 each
  models = [\"read\", \"redo\", \"read-write\"]
  repeats = 10
  warmup_runs = 1                        runs to discard after each switch to another variant
  noise = true                           runs the first variant twice, to measure the noise
  settings = { SCALE = \"1G\", RUN_TIME = 60 }
  [[variant]]
  name = \"xfs\"
  target = \"...\"
  bounce = \"restart-database xfs\"        also prepare, before_run, after_run: shell commands
  [[variant]]
  name = \"ext4\"
  target = \"...\"
Neighbours: two to eight [[neighbour]] with `name`, `target` and `settings` instead of sessions and models. Each is measured
alone, then each pair and all together from a common start: who slows whom? A variant's hooks can set a limit.
  [[neighbour]]
  name = \"shop\"
  target = \"...\"
  settings = { THREADS_PER_SCHEMA = 4, UPDATE_PCT = 20 }
docs/campaigns.md describes everything a plan can hold.";
    let directory = "The campaign's folder [default: as the plan says, or campaigns/NAME]";
    let order =
        "interleaved: in rounds, so that drift affects all variants alike; blocked: variant by variant";
    let command = Command::new("campaign")
        .about("Run a plan of variants, models, session counts and repeats; resumes if interrupted")
        .after_help(examples)
        .args([
            path("plan").required(true).value_name("PLAN.toml").help("The plan file"),
            path("directory").long("directory").value_name("DIR").help(directory),
            option("order", "ORDER", order).value_parser(["interleaved", "blocked"]),
            option(
                "every",
                "TIME",
                "Make each run once in every slot of this length, instead of the plan's repeats",
            )
            .requires("for"),
            option("for", "TIME", "How long the slots go on").requires("every"),
            switch("dry-run", "Print every run in order and the time they will take; run nothing"),
            switch("amend", "Accept a changed plan; finished runs that are still part of it are kept"),
            switch("retry-failed", "Retry runs that have used up the attempts the plan allows"),
            strict(),
        ]);
    with_params(command, is_results_dir)
}

pub(crate) fn analyze() -> Command {
    let examples = "\
Examples:
  slob analyze campaigns/fs                         a campaign
  slob analyze campaigns/fs --relative-to raw       figures relative to one variant
  slob analyze awr_info.txt --variants XFS,EXT3     the output of awr_info; variants are parts of FILE
  slob analyze campaigns/fs --html -o fs.html       a page with charts
  slob analyze reports                              a folder of awr.txt.N files, or AWR-XFS-run.writers.readers
  slob analyze reports --name-pattern '{variant}_w{writers}_r{readers}_{run}.lst'
  slob analyze runs --by target                     a folder of runs, by a column of `slob info`
  slob analyze runs --metric physical_read_p99_us   another figure of the same runs
  slob analyze runs --latency operation --html      latency of operations instead of reads in the charts
Exit codes: 0 good; 1 a variant lacks a figure, a record could not be read, or with --strict a verdict is not good; 2 there is nothing to analyse.";
    let inputs = "A campaign, a folder of runs, a run, a file in the form of awr_info (older or newer), or AWR reports";
    let variants = "Variants, each part of a run's name [default: the campaign's, or found from the names]";
    let command = Command::new("analyze")
        .about("Compare variants over repeated runs: which is better, by how much, is it noise?")
        .after_help(examples)
        .args([
            Arg::new("inputs")
                .required(true)
                .num_args(1..)
                .value_name("DIR|FILE")
                .add(ArgValueCompleter::new(completing::campaigns))
                .help(inputs),
            option("variants", "LIST", variants)
                .add(ArgValueCompleter::new(completing::variants))
                .value_delimiter(','),
            option("by", "COLUMN", "A column of `slob info` whose values are the variants, such as target")
                .conflicts_with("variants"),
            option(
                "metric",
                "LIST",
                "Figures to compare instead: reads, redo, writes, read-write or a column of `slob info`",
            )
            .value_delimiter(','),
            option(
                "latency",
                "OF",
                "Latency to show: of a read or of an operation [default: read, where it is known]",
            )
            .value_parser(["read", "operation"]),
            option(
                "name-pattern",
                "PATTERN",
                "How files of AWR reports are named [default: as harnesses do]",
            )
            .conflicts_with("by"),
            option("relative-to", "VARIANT", "Show figures relative to this variant's")
                .add(ArgValueCompleter::new(completing::variants)),
            Arg::new("scale").long("scale").hide(true).value_parser(no_scale),
            confidence("The confidence level in percent"),
        ]);
    with_params(Forms::augment_args(command), is_results_dir)
}

pub(crate) fn trend() -> Command {
    let examples = "\
Examples:
  slob trend                                        every run of the results folder
  slob trend campaigns/fs                           a campaign in slots: a history for each of its variants
  slob trend runs --by target --last 200            a history for each target
  slob trend runs --metric iops,read-p99 --html     other figures, with charts, in trend.html
  slob trend runs --last 50 --fail-on-change        for scripts: did a figure become worse?
A figure goes by its name (`slob info --columns help`) or that of tables: iops, p99, read-p99. Runs with a BAD verdict that a
figure rests on are marked and do not count in it. A history needs 16 runs that count.
Exit codes: 0 good; 1 a record could not be read, with --strict a verdict is not good, with --fail-on-change a figure became
worse; 2 there is nothing to look at; 4 with --fail-on-change: none became worse, and one is not known.";
    let command = Command::new("trend")
        .about("Find when figures of runs changed over days, and what else did")
        .after_help(examples)
        .args([
            position(
                "inputs",
                "RUN|FOLDER|CAMPAIGN",
                "Runs, folders of runs, or campaigns [default: RESULTS_DIR]",
            )
            .num_args(0..)
            .add(ArgValueCompleter::new(completing::campaigns)),
            option("last", "N", "Only the latest so many runs of each history")
                .value_parser(value_parser!(u32).range(1..)),
            option(
                "by",
                "COLUMN",
                "A column of `slob info` with a history for each of its values, such as target",
            ),
            option("metric", "LIST", "Figures to look at [default: the key figures of a run]")
                .value_delimiter(','),
            switch("fail-on-change", "Exit with code 1 if a figure became worse in these runs"),
        ]);
    with_params(Forms::augment_args(command), is_results_dir)
}

/// `--relative-to` had this name once; everywhere else it is the size of the data.
fn no_scale(variant: &str) -> Result<String, String> {
    Err(format!(
        "--scale is the size of the data, here as everywhere; for figures relative to a variant, use --relative-to {variant}"
    ))
}
