//! Commands that answer several questions, each of which is also a hidden command.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::builder::{Resettable, ValueParser};
use clap::{Arg, ArgMatches, Command};
use slob_campaign::Folder;

use super::awr_files::are_reports;
use super::entry;
use crate::args;
use crate::failure::{Failure, Outcome};
use crate::flags::is_given;

/// A command, and what its own flags are for.
type Part = (&'static str, &'static str);

pub(super) struct Several {
    pub(super) name: &'static str,
    about: &'static str,
    examples: &'static str,
    parts: &'static [Part],
    rare: &'static [&'static str],
    meant: fn(&ArgMatches) -> &'static str,
}

pub(super) const SEARCH: Several = Several {
    name: "search",
    about: "Find the most that a platform does: sessions, a rate, or times a profile's demand",
    examples: "\
Examples:
  slob search -s 4 --run-time 20       the sessions beyond which throughput stops
  slob search --limit p99=2ms          the most that keep a latency limit
  slob search profile.json --quick     how many times production's demand it carries
  slob search -s 1 -t 16 --by rate --limit response-p99=10ms   the highest rate that keeps a response time
  slob search profile.json --replay day --compress 360   the day of the peak in 4 minutes, interval by interval
Without a PROFILE it raises sessions or the rate (`slob saturate` explains more), with one the demand (`slob headroom`).",
    parts: &[("saturate", "Without a PROFILE"), ("headroom", "With a PROFILE")],
    rare: &["SCALE", "RUN_NAME"],
    meant: |matches| match is_given(matches, "profile") || is_given(matches, "replay") {
        true => "headroom",
        false => "saturate",
    },
};

pub(super) const PROBE: Several = Several {
    name: "probe",
    about: "Measure the device behind a folder, and with --ladder each layer up to the database",
    examples: "\
Examples:
  slob probe /data                     the device behind a folder of this host
  slob probe --observe ssh:db1 /data   the same on the database's host
  slob probe --until-cliff /data       how long burst credits last
  slob probe --ladder                  device, file system, page cache, database
  slob probe --ladder -s 1 -t 8 --seconds 20   eight sessions on each rung
Reads random blocks of a scratch file in that folder, then removes the file. The result is kept in the results folder; later
runs on the same device are compared with the best.",
    parts: &[("device", "Of the device"), ("ladder", "With --ladder")],
    rare: &[],
    meant: |matches| if matches.get_flag("ladder") { "ladder" } else { "device" },
};

pub(super) const LIST: Several = Several {
    name: "list",
    about: "List the runs in the results folder, or figures of your choice of each",
    examples: "\
Examples:
  slob list
  slob list --name raw --status completed --since 2026-11-01
  slob list --columns id,iops,read-p99,verdicts
  slob list --columns help             all columns, with unit and source
  slob list runs-a runs-b --awr-info   two folders of runs, in the columns of awr_info
  slob list --html                     all runs on one page, index.html",
    parts: &[("runs", "Of the list"), ("info", "With columns")],
    rare: &[],
    meant: |matches| match ["runs", "columns", "awr_info"].iter().any(|given| is_given(matches, given)) {
        true => "info",
        false => "runs",
    },
};

pub(super) const REPORT: Several = Several {
    name: "report",
    about: "Print a run: its report, its page with charts, its record, one field, or a series",
    examples: "\
Examples:
  slob report                          the latest run, as text
  slob report latest --html -o r.html  as a page with charts
  slob report --field figures.iops     one field; --json prints the whole record
  slob report latest --series -o series.csv   second by second; --hlog for HdrHistogram's tools
  slob report latest --compare-probe   what the database costs beside the bare device
  slob report --html awr-reports/      AWR reports over time, as one page",
    parts: &[("text", "Of the report"), ("show", "Of the record"), ("export", "For other tools")],
    rare: &[],
    meant: |matches| {
        let any = |flags: &[&str]| flags.iter().any(|flag| is_given(matches, flag));
        match () {
            () if any(&["json", "field"]) => "show",
            () if any(&["series", "hlog"]) => "export",
            () => "text",
        }
    },
};

pub(super) const COMPARE: Several = Several {
    name: "compare",
    about: "Compare runs, groups of runs, variants of a campaign, AWR reports, or platforms",
    examples: "\
Examples:
  slob compare latest~1 latest         what differs, and is it more than noise?
  slob compare runs-ext4 runs-xfs      two folders of repeated runs
  slob compare campaigns/fs --html     the variants of a campaign, with charts
  slob compare awr_info.txt --variants XFS,EXT3   the output of awr_info; variants are parts of FILE
  slob compare runs --by target        a folder of runs, by a column of `slob list --columns help`
  slob compare --platforms runs sheets.toml   IOPS per core, licence and price
Two or more runs or folders are compared side by side; one folder, a campaign or a table by its variants.",
    parts: &[
        ("analyze", "Of variants"),
        ("diff", "Of runs or groups side by side"),
        ("ledger", "Of platforms"),
    ],
    rare: &[],
    meant: |matches| {
        const OF_VARIANTS: [&str; 6] = ["variants", "by", "metric", "latency", "name_pattern", "relative_to"];
        let inputs: Vec<&String> = matches.get_many("inputs").unwrap_or_default().collect();
        let are_groups = ["first", "second", "group"].iter().any(|flag| is_given(matches, flag));
        match () {
            () if matches.get_flag("platforms") => "ledger",
            () if are_groups => "diff",
            () if OF_VARIANTS.iter().any(|flag| is_given(matches, flag)) => "analyze",
            () if inputs.len() < 2 || inputs.iter().any(|input| is_of_variants(Path::new(input))) => {
                "analyze"
            }
            () => "diff",
        }
    },
};

fn is_of_variants(path: &Path) -> bool {
    are_reports(path)
        || path.is_file() && path.extension().is_none_or(|extension| extension != "json")
        || path.is_dir() && matches!(Folder::read(path), Ok(Some(_)))
}

/// If another part has an argument of this name, its value may be of either kind.
fn with_argument(command: Command, argument: &Arg, heading: &'static str) -> Command {
    let is_same = |known: &&Arg| match argument.is_positional() {
        true => known.is_positional(),
        false => known.get_id() == argument.get_id() || known.get_long() == argument.get_long(),
    };
    let known = command.get_arguments().find(is_same).map(|known| known.get_id().clone());
    let Some(known) = known else {
        let own = argument.get_help_heading().map(str::to_owned);
        let heading = own.or_else(|| (!argument.is_positional()).then(|| heading.to_owned()));
        let argument = argument.clone().required(false).requires(Resettable::Reset);
        let argument = argument.conflicts_with(Resettable::Reset);
        return command.arg(match heading {
            Some(heading) => argument.help_heading(heading),
            None => argument,
        });
    };
    command.mut_arg(known, |known| match known.get_action().takes_values() && !known.is_positional() {
        true => known.value_parser(ValueParser::string()),
        false => known,
    })
}

impl Several {
    /// Each part checks what its arguments require or exclude.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(self.name).about(self.about).after_help(self.examples);
        for (part, heading) in self.parts {
            for argument in entry(part).map(|part| (part.command)()).iter().flat_map(Command::get_arguments) {
                command = with_argument(command, argument, heading);
            }
        }
        command.mut_args(|argument| match self.rare.contains(&argument.get_id().as_str()) {
            true => argument.hide_short_help(true),
            false => argument,
        })
    }

    pub(super) fn call(&self, matches: &ArgMatches) -> Outcome {
        let part = entry((self.meant)(matches)).ok_or_else(|| Failure::usage("no such command"))?;
        let name = OsString::from(format!("slob {}", self.name));
        let words = std::iter::once(name).chain(env::args_os().skip(2));
        let mut command = (part.command)().bin_name(format!("slob {}", self.name));
        if command.get_arguments().any(|argument| argument.get_id() == "html") {
            // A word after `--html` is an input, and no file to write over.
            command = command.mut_arg("html", |page| {
                let takes_values = page.get_action().takes_values();
                page.require_equals(takes_values)
            });
        }
        match command.try_get_matches_from(words) {
            Ok(matches) => (part.call)(&matches),
            Err(error) => Ok(args::exit_with(error)),
        }
    }
}
