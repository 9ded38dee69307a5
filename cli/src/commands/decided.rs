//! `slob run --until-decided`: as many runs as a gate needs to say yes or no.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use clap::{ArgAction, Args, value_parser};
use clap_complete::ArgValueCompleter;
use slob_record::{Look, Record, SeriesWanted, Status};
use slob_report::gate::{BadRequirement, Gate, MaxLoss, Requirement};
use slob_report::{Answer, Confidence};
use slob_spec::Settings;

use super::reports::texts;
use super::runs::{Watch, conclude, measure, new_group};
use crate::failure::{Failure, Outcome, decided};
use crate::tables::{Records, Runs};
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
    /// Make the baseline's runs too, in turns, from this file; their names end in -baseline
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

    pub(super) fn run(&self, settings: &Settings, watch: &Watch<'_>, stop: &AtomicBool) -> Outcome {
        let name = new_group(settings, "--until-decided")?;
        let (mut losses, mut requirements) = (Vec::new(), Vec::new());
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
        let saved = Records::read(&named, SeriesWanted::Counts, |record| record).all()?;
        let mut side = Side { settings: settings.clone(), runs: Vec::new() };
        let mut other = self.other(&name, settings)?;
        let mut last = None;
        for number in 1..=self.most {
            say!("run {number} of at most {}", self.most);
            let look = Look { number: number - 1, most: self.most - 1 };
            // Each side is first in every other round: drift meets both alike.
            let mut sides: Vec<&mut Side> = [Some(&mut side), other.as_mut()].into_iter().flatten().collect();
            if number % 2 == 0 {
                sides.reverse();
            }
            for side in sides {
                if let Some(cut_short) = side.add(look, watch, stop)? {
                    self.say_how_to_judge(&name);
                    return cut_short;
                }
            }
            // One run shows no noise.
            if look.number == 0 {
                continue;
            }
            let baseline = other.as_ref().map_or(&saved, |other| &other.runs);
            let gate = Gate::of(&requirements, &losses, &side.runs, baseline, Confidence::default());
            let is_over = gate.outcome != slob_report::Outcome::NotKnown || number == self.most;
            match is_over {
                true => output::print(&gate.text(output::width())).map_err(Failure::after_work)?,
                false => output::say(gate.text(output::width()).trim_end()),
            }
            last = Some(gate.outcome);
            if is_over {
                break;
            }
        }
        self.say_how_to_judge(&name);
        Ok(last.map_or(ExitCode::SUCCESS, decided))
    }

    fn other(&self, name: &str, settings: &Settings) -> Result<Option<Side>, Failure> {
        let Some(file) = &self.baseline_conf else { return Ok(None) };
        let results = settings::results_dir(settings).display().to_string();
        let given = [("RUN_NAME", format!("{name}-baseline")), ("RESULTS_DIR", results)]
            .map(|(key, value)| (key.to_owned(), value));
        let settings = settings::of_file_with(file, &given)?;
        new_group(&settings, "--baseline-conf")?;
        Ok(Some(Side { settings, runs: Vec::new() }))
    }

    /// From the saved runs, in any form.
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
