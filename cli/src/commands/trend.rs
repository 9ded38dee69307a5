//! `slob trend`: runs over time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use jiff::Timestamp;
use slob_campaign::{Schedule, State, read_campaign};
use slob_facts::figure_named;
use slob_facts::{Figure, Run, figure};
use slob_report::info::Column;
use slob_report::trend::{History, JudgedRun, MissedSlot, Trend};

use super::reports::column_named;
use crate::answer::Forms;
use crate::args::Given;
use crate::failure::{Failure, Outcome, decided};
use crate::settings;
use crate::tables::Records;

pub(super) fn trend(matches: &ArgMatches) -> Outcome {
    let forms = Forms::of(matches)?;
    let results = settings::results_dir_of(matches)?;
    let figures = matches.texts("metric").into_iter().map(|name| figure_named(name.trim()));
    let figures: Vec<&'static Figure> = figures.collect::<Result<_, _>>().map_err(Failure::usage)?;
    let by = matches.text("by").map(|name| column_named(name, "")).transpose()?;
    let mut inputs = Inputs { by, ..Inputs::default() };
    let named = matches.texts("inputs");
    let whole = results.display().to_string();
    for input in if named.is_empty() { vec![whole.as_str()] } else { named } {
        inputs.add(&results, input)?;
    }
    let histories = inputs.histories(matches.try_get_one("last").ok().flatten().copied());
    let figures = if figures.is_empty() { figure::KEY.to_vec() } else { figures };
    let trend = Trend::of(histories, &figures).map_err(Failure::usage)?;
    forms.write(&trend)?;
    Ok(match matches.get_flag("fail-on-change").then(|| trend.worsened()) {
        Some(worsened) if !inputs.unread && worsened != slob_report::Outcome::Passed => decided(worsened),
        _ => forms.exit_code(&trend, inputs.unread),
    })
}

#[derive(Default)]
struct Inputs {
    by: Option<Column>,
    histories: BTreeMap<String, (Vec<JudgedRun>, Vec<MissedSlot>)>,
    unread: bool,
}

impl Inputs {
    fn add(&mut self, results: &Path, input: &str) -> Result<(), Failure> {
        let path = Path::new(input);
        if let Some((schedule, state)) = read_campaign(path)?.filter(|_| self.by.is_none()) {
            return self.add_campaign(path, &schedule, &state);
        }
        let by = self.by;
        let keep = |figures: &Run<'_>| {
            let name = by.map(|column| column.cell(figures).plain());
            figures
                .is_measured()
                .then(|| (name.unwrap_or_else(|| "all runs".to_owned()), JudgedRun::of(figures)))
        };
        let read = Records::judged(results, [input], keep);
        self.unread |= read.exit_code()? != ExitCode::SUCCESS;
        for (name, run) in read.kept.into_iter().flatten() {
            self.histories.entry(name).or_default().0.push(run);
        }
        Ok(())
    }

    /// A history for each variant, model and number of sessions, with the slots that were missed up to now.
    fn add_campaign(&mut self, directory: &Path, schedule: &Schedule, state: &State) -> Result<(), Failure> {
        if !schedule.demand.is_empty() {
            let place = directory.display();
            return Err(Failure::usage(format!(
                "{place} is a campaign of searches for headroom: use `slob analyze`"
            )));
        }
        let completed =
            schedule.steps.iter().filter_map(|step| Some((state.completed_run(step)?, step.cell())));
        let cells: BTreeMap<&str, String> = completed.collect();
        let paths: Vec<PathBuf> = cells.keys().map(|run| directory.join(run)).collect();
        let read = Records::judged_paths(&paths, JudgedRun::of);
        self.unread |= !paths.is_empty() && read.exit_code()? != ExitCode::SUCCESS;
        for run in read.kept {
            let Some(cell) = cells.get(run.id()) else { continue };
            self.histories.entry(cell.clone()).or_default().0.push(run);
        }
        for missed in state.missed(schedule, Timestamp::now()) {
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
