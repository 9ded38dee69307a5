//! `slob analyze`: repeated runs of several variants, from a campaign, from records, from what `awr_info` printed, or from
//! AWR reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use serde::Serialize;
use slob_awr::Scope;
use slob_awr::info::{is_pipes, read_pipes};
use slob_campaign::{Schedule, State, read_campaign};
use slob_record::{Record, SeriesWanted};
use slob_report::Figures;
use slob_report::analysis::{
    Analysis, Metric, Options, Run, TableSpec, Variant, run_of, run_of_report, run_of_row, slob_r_tables,
    stem, variants_of,
};
use slob_report::html::analysis_page;
use slob_report::info;
use slob_report::profiles::{Headrooms, headrooms_page, headrooms_text};

use super::awr_files::{self, Files};
use super::headrooms;
use crate::failure::{Failure, Outcome};
use crate::tables::Records;
use crate::{output, settings};

/// Where the page is written if nothing else is said.
const HTML: &str = "analysis.html";

pub(crate) fn analyze(matches: &ArgMatches) -> Outcome {
    if let Some(compared) = headrooms_of(matches)? {
        let forms = Forms { text: headrooms_text, csv: Headrooms::csv, page: headrooms_page };
        forms.write(matches, &compared)?;
        return Ok(ExitCode::SUCCESS);
    }
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let mut inputs = Inputs::default();
    for input in matches.get_many::<String>("inputs").unwrap_or_default() {
        inputs.add(&results, input, matches.get_one::<String>("by").map(String::as_str))?;
    }
    let code = if inputs.unread == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::failure::PARTLY) };
    let options = Options {
        confidence: matches.get_one("confidence").copied().unwrap_or_default(),
        scale: matches.get_one::<String>("relative-to").cloned(),
    };
    let analysis = inputs.analysis(matches, &options)?;
    let forms = Forms { text: Analysis::text, csv: Analysis::csv, page: analysis_page };
    forms.write(matches, &analysis)?;
    Ok(code)
}

/// What an analysis can be shown as.
struct Forms<T> {
    text: fn(&T) -> String,
    csv: fn(&T) -> String,
    page: fn(&T) -> String,
}

impl<T: Serialize> Forms<T> {
    /// The one that was asked for, where it was asked for.
    fn write(&self, matches: &ArgMatches, analysis: &T) -> Result<(), Failure> {
        let output = matches.get_one::<PathBuf>("output").map(PathBuf::as_path);
        if matches.get_flag("html") {
            return output::write_page(&(self.page)(analysis), output.unwrap_or(Path::new(HTML)));
        }
        let text = if matches.get_flag("json") {
            output::json("the analysis", analysis)?
        } else if matches.get_flag("csv") {
            (self.csv)(analysis)
        } else {
            (self.text)(analysis)
        };
        match output.filter(|path| path.as_os_str() != "-") {
            Some(path) => output::write_whole(path, &text)
                .map_err(|error| Failure::failed(format!("writing {}: {error}", path.display()))),
            None => output::print(&text),
        }
    }
}

/// Of a campaign of searches for headroom there is a comparison, and no table of runs.
fn headrooms_of(matches: &ArgMatches) -> Result<Option<Headrooms>, Failure> {
    let inputs: Vec<&String> = matches.get_many("inputs").unwrap_or_default().collect();
    let [input] = inputs[..] else { return Ok(None) };
    let Some((schedule, state)) = read_campaign(Path::new(input))? else { return Ok(None) };
    if schedule.demand.is_empty() {
        return Ok(None);
    }
    let of_runs = ["by", "variants", "relative-to"].into_iter().find(|flag| matches.contains_id(flag));
    if let Some(flag) = of_runs {
        return Err(Failure::usage(format!(
            "--{flag}: {input} is a campaign of searches for headroom: take it out"
        )));
    }
    let confidence = matches.get_one("confidence").copied().unwrap_or_default();
    headrooms::compared(Path::new(input), &schedule, &state, confidence).map(Some)
}

/// All that is to be analysed.
#[derive(Default)]
struct Inputs {
    runs: Vec<Run>,
    /// The campaign's own variants and tables, if the input is one.
    campaign: Option<(Vec<Variant>, Vec<TableSpec>)>,
    notes: Vec<String>,
    /// Whether labels are the variants' names already.
    labelled: bool,
    unread: usize,
    others: bool,
}

impl Inputs {
    fn add(&mut self, results: &Path, input: &str, by: Option<&str>) -> Result<(), Failure> {
        let path = Path::new(input);
        if path.is_dir()
            && let Some((schedule, state)) = read_campaign(path)?
        {
            return self.add_campaign(path, &schedule, &state);
        }
        self.others = true;
        if awr_files::are_reports(path) {
            return self.add_reports(path);
        }
        if path.is_file() {
            let text = fs::read(path).map_err(|error| Failure::usage(format!("reading {input}: {error}")))?;
            let text = String::from_utf8_lossy(&text);
            if is_pipes(&text) {
                let rows = read_pipes(&text).map_err(|error| Failure::usage(format!("{input}: {error}")))?;
                self.runs.extend(rows.iter().map(run_of_row));
                return Ok(());
            }
        }
        self.add_records(results, input, by)
    }

    /// AWR and Statspack reports, by SLOB.R's rules.
    fn add_reports(&mut self, path: &Path) -> Result<(), Failure> {
        let read = Files::read([&path.to_owned()], Scope::Row, |named| run_of_report(&named))?;
        self.unread += usize::from(read.exit_code()? != ExitCode::SUCCESS);
        self.runs.extend(read.kept);
        Ok(())
    }

    fn add_records(&mut self, results: &Path, input: &str, by: Option<&str>) -> Result<(), Failure> {
        let column = match by {
            None => None,
            Some(name) => Some(info::column(name).ok_or_else(|| {
                let near = info::did_you_mean(name);
                Failure::usage(format!(
                    "there is no column '{name}'{near}: `slob info --columns help` lists them"
                ))
            })?),
        };
        let keep = |record: Record| {
            let mut run = run_of(&record)?;
            if let Some(column) = column {
                run.label = column.cell(&Figures::of(&record)).plain();
            }
            Some(run)
        };
        let read = Records::read(results, [input], SeriesWanted::Empty, keep);
        self.unread += usize::from(read.exit_code()? != ExitCode::SUCCESS);
        let all = read.kept.len();
        self.labelled |= column.is_some();
        let completed: Vec<_> = read.kept.into_iter().flatten().collect();
        let left_out = all - completed.len();
        self.runs.extend(completed);
        if left_out > 0 {
            self.notes.push(format!("{input}: {left_out} of {all} runs did not complete and are left out."));
        }
        Ok(())
    }

    /// A campaign says itself which run is of which variant and model; what it does not list is no part of it.
    fn add_campaign(&mut self, directory: &Path, schedule: &Schedule, state: &State) -> Result<(), Failure> {
        if !schedule.demand.is_empty() {
            let place = directory.display();
            return Err(Failure::usage(format!(
                "{place} is a campaign of searches for headroom: analyse it separately"
            )));
        }
        let mut steps = BTreeMap::new();
        for step in &schedule.steps {
            if let Some(run) = state.completed_run(step) {
                steps.insert(run.to_owned(), step);
            }
        }
        let paths: Vec<PathBuf> = steps.keys().map(|run| directory.join(run)).collect();
        let read = Records::read_paths(&paths, SeriesWanted::Empty, |record| run_of(&record));
        self.unread += usize::from(!paths.is_empty() && read.exit_code()? != ExitCode::SUCCESS);
        for mut run in read.kept.into_iter().flatten() {
            let Some(step) = steps.get(&run.id) else { continue };
            run.label.clone_from(&step.variant);
            run.models = BTreeSet::from([step.model.clone()]);
            run.sessions = step.sessions.map(slob_campaign::Sessions::total).into_iter().collect();
            self.runs.push(run);
        }
        let left = schedule.steps.len() - steps.len();
        if left > 0 {
            self.notes
                .push(format!("{left} of the campaign's {} runs are not done yet.", schedule.steps.len()));
        }
        let mut variants: Vec<Variant> = schedule
            .variants
            .iter()
            .map(|variant| Variant::whole(&variant.name).twin_of(variant.twin_of.clone()))
            .collect();
        // Others are compared with the baseline, so it comes first.
        variants.sort_by_key(|variant| variant.name != schedule.baseline);
        let table = |model: &slob_campaign::ModelEntry| {
            let metric = Metric::named(&model.metric).map_err(Failure::usage)?;
            Ok(TableSpec { title: model.name.clone(), model: model.name.clone(), metric })
        };
        let tables = schedule.models.iter().map(table).collect::<Result<Vec<_>, Failure>>()?;
        if self.campaign.replace((variants, tables)).is_some() {
            return Err(Failure::usage("more than one campaign: analyse one at a time"));
        }
        Ok(())
    }

    /// Reports don't say with how many sessions they were taken: the names of their files do, or nobody.
    fn check_sessions(&mut self) -> Result<(), Failure> {
        const NAMES: &str = "name the files by them, such as awr.txt.16";
        let (all, without) =
            (self.runs.len(), self.runs.iter().filter(|run| run.sessions.is_empty()).count());
        if without > 0 && without == all {
            return Err(Failure::usage(format!(
                "no number of sessions is known of any of the {all} runs, so there is nothing to compare: {NAMES}"
            )));
        }
        if without > 0 {
            self.notes.push(format!(
                "{without} of {all} runs are left out, since their number of sessions is not known: {NAMES}."
            ));
        }
        Ok(())
    }

    fn analysis(mut self, matches: &ArgMatches, options: &Options) -> Result<Analysis, Failure> {
        if self.campaign.is_some() && self.others {
            return Err(Failure::usage("a campaign and other runs: analyse the campaign separately"));
        }
        let said: Vec<Variant> = matches
            .get_many::<String>("variants")
            .unwrap_or_default()
            .map(|name| Variant::part(name.trim()))
            .collect();
        let (variants, tables) = match self.campaign.take() {
            Some((own, tables)) => (if said.is_empty() { own } else { said }, tables),
            None if !said.is_empty() => (said, slob_r_tables()),
            None if self.labelled => {
                let labels: BTreeSet<&str> = self.runs.iter().map(|run| run.label.as_str()).collect();
                (labels.into_iter().map(Variant::whole).collect(), slob_r_tables())
            }
            None => {
                self.runs.iter_mut().for_each(|run| run.label = stem(&run.label));
                (variants_of(self.runs.iter().map(|run| run.label.as_str())), slob_r_tables())
            }
        };
        self.check_sessions()?;
        let mut analysis = Analysis::of(&self.runs, &variants, &tables, options).map_err(Failure::usage)?;
        analysis.notes.append(&mut self.notes);
        Ok(analysis)
    }
}
