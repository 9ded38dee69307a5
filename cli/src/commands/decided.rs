//! `slob run --until-decided`: as many runs as a gate needs to say yes or no.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use clap::{ArgAction, ArgMatches, Args, value_parser};
use clap_complete::ArgValueCompleter;
use slob_facts::format::plural;
use slob_page::Answer;
use slob_record::{ConfigEntry, Look, Record, SeriesWanted, Status, runs_named};
use slob_report::Confidence;
use slob_report::gate::{BadRequirement, Gate, MaxLoss, Requirement, is_replaced};
use slob_spec::Settings;

use super::runs::{Watch, conclude, measure, new_group};
use crate::failure::{Failure, Outcome, outcome_code};
use crate::tables::{Records, Runs, texts};
use crate::{completing, output, settings};

#[derive(Args)]
pub(super) struct UntilDecided {
    /// Make runs until this is decided, a loss of the baseline as in 'iops 3 %' or a requirement of `slob gate`; once for each
    #[arg(hide_short_help = true, long, value_name = "QUESTION")]
    #[arg(conflicts_with_all = ["repeat", "json", "full", "print_sql", "durability", "demand"])]
    until_decided: Vec<Question>,
    /// The runs to compare with
    #[arg(hide_short_help = true, long, value_name = "RUN|FOLDER", num_args = 1.., action = ArgAction::Set)]
    #[arg(requires = "until_decided", conflicts_with = "baseline_conf", add = ArgValueCompleter::new(completing::runs))]
    baseline: Vec<String>,
    /// Make the baseline's runs too, in turns, from this slob.conf and the other flags; their names end in -baseline
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "until_decided")]
    baseline_conf: Option<PathBuf>,
    /// Runs after which it ends undecided
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "12", value_parser = value_parser!(u32).range(2..=100))]
    most: u32,
}

#[derive(Clone, Debug)]
enum Question {
    Loss(MaxLoss),
    Requirement(Requirement),
}

impl FromStr for Question {
    type Err = BadRequirement;

    fn from_str(text: &str) -> Result<Self, BadRequirement> {
        match text.trim().ends_with('%') && !text.contains(['<', '>']) {
            true => text.parse().map(Self::Loss),
            false => text.parse().map(Self::Requirement),
        }
    }
}

/// Runs of one configuration, more with each round.
struct Side {
    settings: Settings,
    runs: Vec<Record>,
}

impl UntilDecided {
    pub(super) fn is_asked(&self) -> bool {
        !self.until_decided.is_empty()
    }

    /// The same command goes on with a series that was stopped.
    pub(super) fn run(
        &self,
        settings: &Settings,
        given: (&ArgMatches, &[(String, String)]),
        watch: &Watch<'_>,
        stop: &AtomicBool,
    ) -> Outcome {
        let mut side = Side::of(settings.clone(), "--until-decided", self.most)?;
        let name = settings::shown(settings, "RUN_NAME").unwrap_or_default();
        let (mut losses, mut requirements) = (Vec::new(), watch.required.clone());
        for question in &self.until_decided {
            match question {
                Question::Loss(loss) => losses.push(loss.clone()),
                Question::Requirement(required) => requirements.push(required.clone()),
            }
        }
        if !losses.is_empty() && self.baseline.is_empty() && self.baseline_conf.is_none() {
            return Err(Failure::usage(
                "a loss needs runs to compare with: name them with --baseline, or have them made with --baseline-conf FILE",
            ));
        }
        let named = Runs::named(&settings::results_dir(settings).as_path().into(), texts(&self.baseline));
        let mut saved = Records::read(&named, SeriesWanted::Counts, |record| record).all()?;
        saved.retain(|run| !is_replaced(run));
        if saved.len() == 1 {
            return Err(Failure::usage("one run shows no noise: --baseline needs two or more"));
        }
        let mut other = self.other(&name, settings, given)?;
        let mut last = None;
        for number in 1..=self.most {
            let look = Look { number: number - 1, most: self.most - 1 };
            // Each side is first in every other round: drift meets both alike.
            let mut sides: Vec<&mut Side> = [Some(&mut side), other.as_mut()].into_iter().flatten().collect();
            if number % 2 == 0 {
                sides.reverse();
            }
            for side in sides.into_iter().filter(|side| side.runs.len() < number as usize) {
                say!("run {number} of at most {}", self.most);
                if let Some(cut_short) = side.add(look, watch, stop)? {
                    self.say_how_to_judge(&name);
                    return cut_short;
                }
            }
            let baseline = other.as_ref().map_or(&saved, |other| &other.runs);
            if side.runs.len().max(other.as_ref().map_or(0, |other| other.runs.len())) > number as usize {
                // It had this look before it was stopped.
                continue;
            }
            let gate = Gate::of(&requirements, &losses, &side.runs, baseline, Confidence::default());
            // One run shows no noise.
            let is_decided = look.number > 0 && gate.outcome != slob_page::Outcome::NotKnown;
            let is_over = is_decided || gate.is_beyond_runs() || number == self.most;
            match is_over {
                false if look.number == 0 => continue,
                true => output::print(&gate.text(output::width())).map_err(Failure::after_work)?,
                false => output::say(gate.text(output::width()).trim_end()),
            }
            last = Some(gate.outcome);
            if is_over {
                break;
            }
        }
        self.say_how_to_judge(&name);
        Ok(last.map_or(ExitCode::SUCCESS, outcome_code))
    }

    fn other(
        &self,
        name: &str,
        settings: &Settings,
        (matches, extra): (&ArgMatches, &[(String, String)]),
    ) -> Result<Option<Side>, Failure> {
        let Some(file) = &self.baseline_conf else { return Ok(None) };
        let results = settings::results_dir(settings).display().to_string();
        let own = [("RUN_NAME", format!("{name}-baseline")), ("RESULTS_DIR", results)];
        let settings = settings::resolve_file(Some(file), matches, extra)?;
        let settings = settings::overridden(&settings, &own, "--baseline-conf")?;
        Side::of(settings, "--baseline-conf", self.most).map(Some)
    }

    /// Another gate can judge the saved runs in any form.
    fn say_how_to_judge(&self, name: &str) {
        let baseline = match &self.baseline_conf {
            Some(_) => format!(" --baseline {name}-baseline"),
            None if self.baseline.is_empty() => String::new(),
            None => format!(" --baseline {}", self.baseline.join(" ")),
        };
        say!(
            "`slob gate {name}{baseline}` with these --max-loss or --require judges them again, and counts the looks"
        );
    }
}

impl Side {
    /// Takes up the runs of a series that was stopped. Fails if the name has others.
    fn of(settings: Settings, flag: &str, most: u32) -> Result<Self, Failure> {
        let name = settings::shown(&settings, "RUN_NAME").unwrap_or_default();
        let named = runs_named(&settings::results_dir(&settings), &name)?;
        if named.is_empty() {
            new_group(&settings, flag)?;
            return Ok(Self { settings, runs: Vec::new() });
        }
        let runs = Records::read(&Runs::from(named), SeriesWanted::Counts, |record| record).all()?;
        let runs: Vec<Record> = runs.into_iter().filter(|run| !is_replaced(run)).collect();
        let as_loaded = settings::for_record(&settings::of_run_as_loaded(&settings)?);
        let values = |of: &[ConfigEntry]| {
            of.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect::<Vec<_>>()
        };
        let is_next = |(number, run): (u32, &Record)| {
            run.look == Some(Look { number, most: most - 1 })
                && run.status == Status::Completed
                && values(&run.configuration) == values(&as_loaded)
        };
        if !(0..).zip(&runs).all(is_next) {
            new_group(&settings, flag)?;
        }
        say!("{} of {name}, of the same series, are there already", plural(runs.len() as u64, "run"));
        Ok(Self { settings, runs })
    }

    /// The outcome of a run that did not complete, which ends the series.
    fn add(&mut self, look: Look, watch: &Watch<'_>, stop: &AtomicBool) -> Result<Option<Outcome>, Failure> {
        let kept = measure(&self.settings, &watch.of_look(look), stop);
        let kept =
            kept.map_err(|failure| if self.runs.is_empty() { failure } else { failure.after_work() })?;
        output::say(kept.in_brief().trim_end());
        kept.end(stop)?;
        if kept.record.status != Status::Completed {
            return Ok(Some(conclude(&kept.record, false)));
        }
        self.runs.push(kept.record);
        Ok(None)
    }
}
