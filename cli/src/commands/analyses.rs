//! `slob analyze`: the variants of a campaign, of runs, or of reports.

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use clap::{ArgAction, ArgMatches, Args};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use slob_awr::info::{is_pipes, read_pipes};
use slob_awr::{NamePattern, Scope};
use slob_campaign::{Folder, ModelEntry, Sessions, VariantEntry};
use slob_report::Confidence;
use slob_report::analysis::{
    Analysis, Metric, Options, Run, TableSpec, Variant, run_of, run_of_report, run_of_row, slob_r_tables,
    stem, variants_of,
};

use super::awr_files::{ReadReports, are_reports};
use super::campaign_runs::{compare_headrooms, compare_neighbours, runs_of_campaign};
use super::list::column_named;
use crate::answer::Forms;
use crate::failure::{Failure, Outcome};
use crate::saved::Results;
use crate::tables::{Records, Runs, texts};
use crate::{completing, settings};

/// Compare variants over repeated runs: which is better, by how much, is it noise?
#[derive(Args)]
#[command(after_help = "\
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
Exit codes: 0 good; 1 a variant lacks a figure, a record could not be read, or with --strict a verdict is not good; 2 there is nothing to analyse.")]
pub(super) struct AnalyzeArgs {
    /// A campaign, a folder of runs, a run, a file in the form of awr_info (older or newer), or AWR reports
    #[arg(required_unless_present = "from", value_name = "DIR|FILE", add = ArgValueCompleter::new(completing::campaigns))]
    inputs: Vec<String>,
    /// Variants, each part of a run's name [default: the campaign's, or found from the names]
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set)]
    #[arg(add = ArgValueCompleter::new(completing::variants))]
    variants: Vec<String>,
    /// A column of `slob info` whose values are the variants, such as target
    #[arg(long, value_name = "COLUMN", conflicts_with = "variants")]
    by: Option<String>,
    /// Figures to compare instead: reads, redo, writes, read-write or a column of `slob info`
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set)]
    metric: Vec<String>,
    /// Latency to show: of a read, an operation or a response [default: response where it leads, else read where it is known]
    #[arg(long, value_name = "OF", value_parser = ["read", "operation", "response"])]
    latency: Option<String>,
    /// How files of AWR reports are named [default: as harnesses do]
    #[arg(long, value_name = "PATTERN", conflicts_with = "by")]
    name_pattern: Option<String>,
    /// Show figures relative to this variant's
    #[arg(long, value_name = "VARIANT", add = ArgValueCompleter::new(completing::variants))]
    relative_to: Option<String>,
    #[arg(long, hide = true, value_name = "scale", value_parser = no_scale)]
    scale: Option<String>,
    /// The confidence level in percent
    #[arg(long, value_name = "PERCENT", default_value = "95")]
    confidence: Confidence,
    #[command(flatten)]
    forms: Forms,
}

/// Elsewhere `--scale` means the size of the data.
fn no_scale(variant: &str) -> Result<String, String> {
    Err(format!(
        "--scale is the size of the data, here as everywhere; for figures relative to a variant, use --relative-to {variant}"
    ))
}

pub(super) fn analyze(args: &AnalyzeArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let results = settings::results_dir_of(matches)?;
    let only = match &args.inputs[..] {
        [input] => Folder::read(&results.path(input))?,
        _ => None,
    };
    if let Some(folder) = only.as_ref().filter(|folder| !folder.schedule.demand.is_empty()) {
        args.refuse_flags_of_runs("searches for headroom")?;
        return forms.done(&compare_headrooms(folder, args.confidence)?, false);
    }
    if let Some(folder) = only.as_ref().filter(|folder| folder.schedule.has_neighbours()) {
        args.refuse_flags_of_runs("neighbours")?;
        let compared = compare_neighbours(folder, args.confidence);
        return forms.done(&compared, !compared.holes.is_empty());
    }
    let pattern = args.name_pattern.as_deref().map(str::parse::<NamePattern>).transpose();
    let pattern = pattern.map_err(Failure::usage)?;
    let mut inputs = Inputs { labelled: pattern.is_some(), ..Inputs::default() };
    match &only {
        Some(folder) => inputs.add_campaign(folder)?,
        None => {
            let (by, pattern) = (args.by.as_deref(), pattern.as_ref());
            let whole = [results.display().to_string()];
            let named = if args.inputs.is_empty() { &whole[..] } else { &args.inputs };
            named.iter().try_for_each(|input| inputs.add(&results, input, by, pattern))?;
        }
    }
    let is_partial = inputs.unread;
    let options = Options {
        confidence: args.confidence,
        scale: args.relative_to.clone(),
        latency: args.latency.as_deref().and_then(|of| of.parse().ok()),
    };
    let metrics = args.metric.iter().map(|name| Metric::named(name.trim()));
    let metrics = metrics.collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
    let analysis = inputs.analysis(&texts(&args.variants), &metrics, &options)?;
    forms.write(&analysis)?;
    let lacking: Vec<&String> = analysis.tables.iter().flat_map(|table| &table.lacking).collect();
    lacking.iter().for_each(|reason| say!("slob: {reason}"));
    Ok(forms.exit_code(&analysis, is_partial || !lacking.is_empty()))
}

impl AnalyzeArgs {
    /// Flags of runs have no meaning for a campaign of another kind.
    fn refuse_flags_of_runs(&self, kind: &str) -> Result<(), Failure> {
        let of_runs = [
            ("by", self.by.is_some()),
            ("variants", !self.variants.is_empty()),
            ("relative-to", self.relative_to.is_some()),
            ("metric", !self.metric.is_empty()),
            ("latency", self.latency.is_some()),
        ];
        match of_runs.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => {
                let input = &self.inputs[0];
                Err(usage!("--{flag}: {input} is a campaign of {kind}: take it out"))
            }
            None => Ok(()),
        }
    }
}

pub(super) fn analysis_of(folder: &Folder) -> Result<Analysis, Failure> {
    let mut inputs = Inputs::default();
    inputs.add_campaign(folder)?;
    inputs.analysis(&[], &[], &Options { confidence: Confidence::default(), scale: None, latency: None })
}

#[derive(Default)]
struct Inputs {
    runs: Vec<Run>,
    campaign: Option<(Vec<Variant>, Vec<TableSpec>)>,
    notes: Vec<String>,
    labelled: bool,
    unread: bool,
    has_others: bool,
}

impl Inputs {
    fn add(
        &mut self,
        results: &Results,
        input: &str,
        by: Option<&str>,
        pattern: Option<&NamePattern>,
    ) -> Result<(), Failure> {
        let path = &results.path(input);
        if path.is_dir()
            && let Some(folder) = Folder::read(path)?
        {
            return self.add_campaign(&folder);
        }
        self.has_others = true;
        if are_reports(path) {
            let read = ReadReports::read([path], Scope::Row, |named| run_of_report(&named, pattern))?;
            self.unread |= read.exit_code()? != ExitCode::SUCCESS;
            self.runs.extend(read.kept);
            return Ok(());
        }
        if path.is_file() {
            let text = fs::read(path).map_err(|error| usage!("reading {input}: {error}"))?;
            let text = String::from_utf8_lossy(&text);
            if is_pipes(&text) {
                let rows = read_pipes(&text).map_err(|error| usage!("{input}: {error}"))?;
                self.runs.extend(rows.iter().map(run_of_row));
                return Ok(());
            }
        }
        self.add_records(results, input, by)
    }

    fn add_records(&mut self, results: &Results, input: &str, by: Option<&str>) -> Result<(), Failure> {
        let column = by.map(|name| column_named(name, "")).transpose()?;
        let keep = |figures: &slob_facts::Run<'_>| {
            let mut run = run_of(figures)?;
            if let Some(column) = column {
                run.label = column.cell(figures).plain();
            }
            Some(run)
        };
        let read = Records::judged(&Runs::named(results, [input]), keep);
        self.unread |= read.exit_code()? != ExitCode::SUCCESS;
        self.labelled |= column.is_some();
        let all = read.kept.len();
        let completed: Vec<_> = read.kept.into_iter().flatten().collect();
        let left_out = all - completed.len();
        self.runs.extend(completed);
        if left_out > 0 {
            self.notes.push(format!("{input}: {left_out} of {all} runs did not complete and are left out."));
        }
        Ok(())
    }

    fn add_campaign(&mut self, folder: &Folder) -> Result<(), Failure> {
        let Folder { schedule, state, .. } = folder;
        let (runs, is_whole) = runs_of_campaign(folder, run_of)?;
        self.unread |= !is_whole;
        self.runs.extend(runs.into_iter().filter_map(|(step, run)| {
            let sessions = step.sessions.map(Sessions::total).into_iter().collect();
            let models = BTreeSet::from([step.model.clone()]);
            Some(Run { label: step.variant.clone(), models, sessions, ..run? })
        }));
        let all = schedule.steps.len();
        let done = schedule.steps.iter().filter(|step| state.completed_run(step).is_some()).count();
        if done < all {
            let missed = folder.missed(Timestamp::now()).len();
            let parts = [(all - done - missed, "not done yet"), (missed, "missed: their slots have passed")];
            let notes = parts.into_iter().filter(|(runs, _)| *runs > 0);
            let note = |(runs, how)| format!("{runs} of the campaign's {all} runs are {how}.");
            self.notes.extend(notes.map(note));
        }
        let variant = |entry: &VariantEntry| Variant::whole(&entry.name).twin_of(entry.twin_of.clone());
        let variants: Vec<Variant> = schedule.variants().into_iter().map(variant).collect();
        let table = |model: &ModelEntry| {
            let metric = Metric::named(&model.metric).map_err(Failure::usage)?;
            Ok(TableSpec { title: model.name.clone(), model: model.name.clone(), metric })
        };
        let tables = schedule.models.iter().map(table).collect::<Result<Vec<_>, Failure>>()?;
        if self.campaign.replace((variants, tables)).is_some() {
            return Err(Failure::usage("more than one campaign: analyse one at a time"));
        }
        Ok(())
    }

    /// AWR reports lack the number of sessions; the names of their files may have it.
    fn check_sessions(&mut self) -> Result<(), Failure> {
        const NAMES: &str = "name the files by them, such as awr.txt.16 or AWR-XFS-1.4.8 (run.writers.readers), or say how they are named with \
             --name-pattern";
        let (all, without) =
            (self.runs.len(), self.runs.iter().filter(|run| run.sessions.is_empty()).count());
        if without > 0 && without == all {
            return Err(usage!(
                "no number of sessions is known of any of the {all} runs, so there is nothing to compare: {NAMES}"
            ));
        }
        if without > 0 {
            self.notes.push(format!(
                "{without} of {all} runs are left out, since their number of sessions is not known: {NAMES}."
            ));
        }
        Ok(())
    }

    fn analysis(
        mut self,
        variants: &[&str],
        metrics: &[Metric],
        options: &Options,
    ) -> Result<Analysis, Failure> {
        if self.campaign.is_some() && self.has_others {
            return Err(Failure::usage("a campaign and other runs: analyse the campaign separately"));
        }
        let asked: Vec<Variant> = variants.iter().map(|name| Variant::part(name.trim())).collect();
        let is_of_campaign = self.campaign.is_some();
        let (variants, tables) = match self.campaign.take() {
            Some((own, tables)) => (if asked.is_empty() { own } else { asked }, tables),
            None if !asked.is_empty() => (asked, slob_r_tables()),
            None if self.labelled => {
                // The names of files that have another form are no variants.
                let known = self.runs.iter().filter(|run| !run.sessions.is_empty());
                let labels: BTreeSet<&str> = known.map(|run| run.label.as_str()).collect();
                (labels.into_iter().map(Variant::whole).collect(), slob_r_tables())
            }
            None => {
                self.runs.iter_mut().for_each(|run| run.label = stem(&run.label));
                (variants_of(self.runs.iter().map(|run| run.label.as_str())), slob_r_tables())
            }
        };
        // Metrics that are asked for have a table each for each model.
        let of_model = |model: &String| {
            let spec =
                |metric: &Metric| TableSpec { title: model.clone(), model: model.clone(), metric: *metric };
            metrics.iter().map(spec).collect::<Vec<_>>()
        };
        let models: BTreeSet<&String> = tables.iter().map(|table| &table.model).collect();
        let wanted: Vec<TableSpec> = models.into_iter().flat_map(of_model).collect();
        let tables = if wanted.is_empty() { tables } else { wanted };
        self.check_sessions()?;
        let is_one = self.runs.len() == 1 && metrics.is_empty();
        let refused = |error| match is_one {
            true => Failure::usage(
                "one run is nothing to compare: name another, as in `slob compare latest~1 latest`",
            ),
            false => Failure::usage(error),
        };
        let mut analysis = Analysis::of(&self.runs, &variants, &tables, options).map_err(refused)?;
        analysis.notes.append(&mut self.notes);
        analysis.is_of_campaign = is_of_campaign;
        Ok(analysis)
    }
}
