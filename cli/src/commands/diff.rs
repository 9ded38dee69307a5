//! Runs or groups of runs side by side.

use std::path::Path;

use clap::{ArgAction, ArgGroup, ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use slob_record::{Record, SeriesWanted};
use slob_report::Confidence;
use slob_report::diff::{Diff, NamedRuns};

use crate::answer::Forms;
use crate::failure::{Failure, Outcome};
use crate::flags::NAMING;
use crate::tables::{Records, Runs, texts};
use crate::{completing, settings};

/// Compare runs, or groups of repeated runs, side by side
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  slob diff latest~1 latest
  slob diff runs-ext4 runs-xfs                  two folders of repeated runs
  slob diff runs-ext4 runs-xfs runs-zfs         three or more, a column each: which is best, beyond noise?
  slob diff --first r1 r2 r3 --second r4 r5 r6  repeats: is the difference more than noise?
  slob diff --group r1 r2 --group r3 r4 --group r5 r6
  slob diff latest~1 latest --html              the charts of both on top of each other, in compare.html
{NAMING}"))]
#[command(group = ArgGroup::new("sides").args(["inputs", "first", "group"]).required(true))]
pub(super) struct DiffArgs {
    /// A run or a folder of runs for each group, two or more
    #[arg(value_name = "RUN|FOLDER", num_args = 2.., action = ArgAction::Set)]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    inputs: Vec<String>,
    /// The runs of the first group
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set, requires = "second")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    first: Vec<String>,
    /// The runs of the second group
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set, requires = "first")]
    #[arg(add = ArgValueCompleter::new(completing::runs))]
    second: Vec<String>,
    /// The runs of a group; once for each group
    #[arg(long, value_name = "RUN|FOLDER", num_args = 1.., add = ArgValueCompleter::new(completing::runs))]
    group: Vec<String>,
    /// The confidence level for groups, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    confidence: Confidence,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn diff(args: &DiffArgs, matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir_of(matches)?;
    let named = groups_of(args, matches);
    if let [(only, _)] = named.as_slice() {
        return Err(usage!("{only}: there is nothing to compare it with; name another group"));
    }
    // Only charts show the histograms of intervals.
    let forms = args.forms.checked()?;
    let series = if forms.has_charts() { SeriesWanted::Whole } else { SeriesWanted::Counts };
    let read = |(name, runs): (String, Vec<&str>)| {
        let runs = Runs::named(&results, runs);
        Records::read(&runs, series, |record| record).all().map(|runs| (name, runs))
    };
    // Each group that can't be read is named, and not the first alone.
    let read: Vec<Result<(String, Vec<Record>), Failure>> = named.into_iter().map(read).collect();
    let read: Vec<(String, Vec<Record>)> = read.into_iter().collect::<Result<_, _>>()?;
    let groups: Vec<NamedRuns<'_>> =
        read.iter().map(|(name, records)| (name.as_str(), records.as_slice())).collect();
    let mut diff = Diff::of(&groups, args.confidence).map_err(Failure::usage)?;
    if forms.has_charts() {
        diff = diff.with_charts(&groups);
    }
    forms.done(&diff, false)
}

fn groups_of<'a>(args: &'a DiffArgs, matches: &'a ArgMatches) -> Vec<(String, Vec<&'a str>)> {
    let listed = || matches.get_occurrences::<String>("group").unwrap_or_default();
    let mut groups: Vec<Vec<&str>> = match !args.group.is_empty() {
        true => listed().map(|runs| runs.map(String::as_str).collect()).collect(),
        false => args.inputs.iter().map(|name| vec![name.as_str()]).collect(),
    };
    if groups.is_empty() {
        groups = vec![texts(&args.first), texts(&args.second)];
    }
    if let [first, second] = groups.as_slice() {
        return vec![("first".to_owned(), first.clone()), ("second".to_owned(), second.clone())];
    }
    let mut named: Vec<(String, Vec<&str>)> = Vec::new();
    for (runs, place) in groups.into_iter().zip(1..) {
        // The end of a path tells enough, unless another path ends so too.
        let short = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let names = match runs.as_slice() {
            [only] => vec![short(only).unwrap_or_default(), (*only).to_owned()],
            _ => vec![format!("group {place}")],
        };
        let is_free = |name: &String| !name.is_empty() && named.iter().all(|(other, _)| other != name);
        let name = names.into_iter().find(is_free).unwrap_or_else(|| format!("{} ({place})", runs[0]));
        named.push((name, runs));
    }
    named
}
