//! `slob trend`: runs over time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgAction, ArgMatches, Args, value_parser};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use slob_campaign::Folder;
use slob_facts::{Figure, Lead, Run, figure_named};
use slob_report::JudgedRun;
use slob_report::columns::Column;
use slob_report::trend::{History, MissedSlot, Trend};

use super::campaign_runs::runs_of_campaign;
use super::list::column_named;
use crate::answer::Forms;
use crate::failure::{Failure, Outcome, outcome_code};
use crate::saved::Results;
use crate::tables::{Records, Runs};
use crate::{completing, settings};

/// Find when figures of runs changed over days, and what else did
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob trend                                        every run of the results folder
  slob trend campaigns/fs                           a campaign in slots: a history for each of its variants
  slob trend runs --by target --last 200            a history for each target
  slob trend runs --metric iops,read-p99 --html     other figures, with charts, in trend.html
  slob trend runs --last 50 --fail-on-change        for scripts: did a figure become worse?
A figure goes by its name (`slob list --columns help`) or that of tables: iops, p99, read-p99. Runs with a BAD verdict that a
figure rests on are marked and do not count in it. A history needs 16 runs that count.
Exit codes: 0 good; 1 a record could not be read, with --strict a verdict is not good, with --fail-on-change a figure became
worse; 2 there is nothing to look at; 4 with --fail-on-change: none became worse, and one is not known.")]
pub(super) struct TrendArgs {
    /// Runs, folders of runs, or campaigns [default: RESULTS_DIR]
    #[arg(value_name = "RUN|FOLDER|CAMPAIGN", num_args = 0.., add = ArgValueCompleter::new(completing::campaigns))]
    inputs: Vec<String>,
    /// Only the latest so many runs of each history
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    last: Option<u32>,
    /// A column of `slob info` with a history for each of its values, such as target
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Figures to look at [default: the key figures of a run]
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set)]
    metric: Vec<String>,
    /// Exit with code 1 if a figure became worse in these runs
    #[arg(long)]
    fail_on_change: bool,
    #[command(flatten)]
    forms: Forms,
}

pub(super) fn trend(args: &TrendArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let results = settings::results_dir_of(matches)?;
    let figures = args.metric.iter().map(|name| figure_named(name.trim()));
    let figures: Vec<&'static Figure> = figures.collect::<Result<_, _>>().map_err(Failure::usage)?;
    let by = args.by.as_deref().map(|name| column_named(name, "")).transpose()?;
    let mut inputs = Inputs { by, ..Inputs::default() };
    let named: Vec<&str> = args.inputs.iter().map(String::as_str).collect();
    let whole = results.display().to_string();
    for input in if named.is_empty() { vec![whole.as_str()] } else { named } {
        inputs.add(&results, input)?;
    }
    let histories = inputs.histories(args.last);
    let lead = || Lead::of_all(histories.iter().flat_map(|history| &history.runs).map(JudgedRun::lead));
    let are_asked = !figures.is_empty();
    let figures = if are_asked { figures } else { lead().key().to_vec() };
    let trend = Trend::of(histories, &figures, are_asked).map_err(Failure::usage)?;
    forms.write(&trend)?;
    Ok(match args.fail_on_change.then(|| trend.worsened()) {
        Some(worsened) if !inputs.unread && worsened != slob_page::Outcome::Passed => outcome_code(worsened),
        _ => forms.exit_code(&trend, inputs.unread),
    })
}

/// Each target's runs in a folder over time, by the key figures; `None` without enough of them.
pub(super) fn trend_of_targets(folder: &Path) -> Result<Option<Trend>, Failure> {
    let mut inputs = Inputs { by: Some(column_named("target", "")?), ..Inputs::default() };
    inputs.add(&folder.into(), &folder.display().to_string())?;
    let histories = inputs.histories(None);
    let lead = Lead::of_all(histories.iter().flat_map(|history| &history.runs).map(JudgedRun::lead));
    Ok(Trend::of(histories, lead.key(), false).ok())
}

#[derive(Default)]
struct Inputs {
    by: Option<Column>,
    histories: BTreeMap<String, (Vec<JudgedRun>, Vec<MissedSlot>)>,
    unread: bool,
}

impl Inputs {
    fn add(&mut self, results: &Results, input: &str) -> Result<(), Failure> {
        if let Some(folder) = Folder::read(&results.path(input))?.filter(|_| self.by.is_none()) {
            return self.add_campaign(&folder);
        }
        let by = self.by;
        let keep = |figures: &Run<'_>| {
            let name = by.map(|column| column.cell(figures).plain());
            figures
                .is_measured()
                .then(|| (name.unwrap_or_else(|| "all runs".to_owned()), JudgedRun::of(figures)))
        };
        let read = Records::judged(&Runs::named(results, [input]), keep);
        self.unread |= read.exit_code()? != ExitCode::SUCCESS;
        for (name, run) in read.kept.into_iter().flatten() {
            self.histories.entry(name).or_default().0.push(run);
        }
        Ok(())
    }

    fn add_campaign(&mut self, folder: &Folder) -> Result<(), Failure> {
        let (runs, is_whole) = runs_of_campaign(folder, JudgedRun::of)?;
        self.unread |= !is_whole;
        let is_own = |step, run: &JudgedRun| folder.state.completed_run(step) == Some(run.id());
        for (step, run) in runs.into_iter().filter(|(step, run)| is_own(step, run)) {
            self.histories.entry(step.cell()).or_default().0.push(run);
        }
        for missed in folder.missed(Timestamp::now()) {
            let slot = MissedSlot { begin: missed.slot.begin, end: missed.slot.end, why: missed.why };
            self.histories.entry(missed.cell).or_default().1.push(slot);
        }
        Ok(())
    }

    fn histories(&mut self, last: Option<u32>) -> Vec<History> {
        let history = |(name, (mut runs, mut missed)): (String, (Vec<JudgedRun>, Vec<MissedSlot>))| {
            runs.sort_by_key(JudgedRun::started);
            // A run that two inputs name is one run.
            runs.dedup_by(|a, b| a.id() == b.id());
            if let Some(last) = last {
                runs.drain(..runs.len().saturating_sub(last as usize));
                missed.retain(|slot| runs.first().is_none_or(|first| slot.end > first.started()));
            }
            History { name, runs, missed }
        };
        std::mem::take(&mut self.histories).into_iter().map(history).collect()
    }
}
