//! `slob` alone: what it is, and what to do next from where the user stands.

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_engine::Purpose;
use slob_record::{SeriesWanted, list_runs, read_record_with};
use slob_report::info::status_word;
use slob_run::Loaded;
use slob_spec::{Entry, LoadSpec, Settings};

use crate::failure::{Failure, Outcome};
use crate::{next_step, output, registry, settings};

/// Three lines: what it does, how, and what comes of it.
const WHAT_IT_IS: &str = "\
OpenSLOB measures what a platform can do for a database: random single-block I/O by real SQL,
through the database's own buffer cache, for as little CPU as possible. It reports IOPS, latencies
and what they cost in CPU, and says in five verdicts whether those figures can be trusted.";

/// What a user has got so far.
enum Place {
    /// Nothing is loaded at the target, or it can't be seen: then with the reason.
    Empty { target: String, why: Option<String> },
    /// That many schemas are loaded, and nothing has run yet.
    Loaded { target: String, schemas: u32, scale: String },
    /// There is one run; `again` repeats it, if what it ran on is still loaded.
    Run { results: String, latest: String, status: &'static str, again: Option<String> },
    /// There are several.
    Runs { results: String, count: usize, latest: String, status: Option<&'static str> },
}

/// A command with what it is good for.
type Step = (Cow<'static, str>, &'static str);

const fn step(command: &'static str, why: &'static str) -> Step {
    (Cow::Borrowed(command), why)
}

const CHECK: Step = step("slob doctor", "check this machine and the target before you test");
const LOAD: Step =
    step("slob setup --scale 1G 4", "load four schemas of 1 GiB (--target names another database)");
const REPORT: Step = step("slob report", "the latest run's report; --html makes a page with charts");
const LIST: Step = step("slob list", "every run; --html makes one page of them");

pub(crate) fn start(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &[])?;
    let (here, next) = Place::of(matches, &settings)?.words();
    let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let next: String = next.iter().map(|(command, why)| format!("  {command:<width$}  {why}\n")).collect();
    output::print(&format!("{WHAT_IT_IS}\n\n{here} Next:\n{next}`slob --help` lists every command.\n"))?;
    Ok(ExitCode::SUCCESS)
}

impl Place {
    fn of(matches: &ArgMatches, settings: &Settings) -> Result<Self, Failure> {
        let results = settings::results_dir(settings);
        let runs = list_runs(&results)?;
        let Some(latest) = runs.last() else { return Ok(Self::without_runs(settings)) };
        let record = read_record_with(latest, SeriesWanted::Empty).ok();
        let id = latest.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let status = record.as_ref().map(|record| status_word(&record.status));
        let (results, count) = (results.display().to_string(), runs.len());
        Ok(match record.zip(status).filter(|_| count == 1) {
            Some((record, status)) => {
                Self::Run { results, latest: id, status, again: again(matches, settings, record.target)? }
            }
            None => Self::Runs { results, count, latest: id, status },
        })
    }

    /// A target that can't be asked is no error here: to be told so is a help.
    fn without_runs(settings: &Settings) -> Self {
        let target = target(settings);
        match loaded(settings) {
            Ok(Some(loaded)) => Self::Loaded { target, schemas: loaded.schemas, scale: loaded.scale() },
            Ok(None) => Self::Empty { target, why: None },
            Err(failure) => Self::Empty { target, why: Some(failure.text()) },
        }
    }

    /// Where the user stands, and three commands with what they are good for.
    fn words(self) -> (String, [Step; 3]) {
        match self {
            Self::Empty { target, why } => (
                match why {
                    Some(why) => format!("The target {target} can't be used yet: {why}."),
                    None => format!("Nothing is loaded at {target} yet."),
                },
                [step("slob demo", "see the whole method in about a minute; needs no server"), CHECK, LOAD],
            ),
            Self::Loaded { target, schemas, scale } => (
                format!(
                    "{} of {scale} loaded at {target}; no runs yet.",
                    output::plural(u64::from(schemas), "schema")
                ),
                [
                    CHECK,
                    step("slob run --run-time 60", "one session on each schema, for a minute"),
                    step(
                        "slob saturate --run-time 20",
                        "find the number of sessions beyond which throughput stops growing",
                    ),
                ],
            ),
            Self::Run { results, latest, status, again } => (
                format!("1 run in {results}: {latest} ({status})."),
                [REPORT, again.map_or(LOAD, |again| (again.into(), "another run, to compare it with")), LIST],
            ),
            Self::Runs { results, count, latest, status } => (
                format!(
                    "{} in {results}; the latest is {latest}{}.",
                    output::plural(count as u64, "run"),
                    status.map(|status| format!(" ({status})")).unwrap_or_default()
                ),
                [REPORT, step("slob diff latest~1 latest", "what changed between the last two runs"), LIST],
            ),
        }
    }
}

fn target(settings: &Settings) -> String {
    settings.entry("TARGET").and_then(Entry::displayed).unwrap_or_default()
}

/// What is loaded at the target; `None` if nothing is.
fn loaded(settings: &Settings) -> Result<Option<Loaded>, Failure> {
    let spec = LoadSpec::from_settings(settings)?.spec;
    let is_folder = spec.target.host().is_none() && spec.target.user().is_none();
    if is_folder && !Path::new(spec.target.path()).exists() {
        // Nothing can be loaded where nothing is.
        return Ok(None);
    }
    let engine = registry::open(&spec.target, &spec.options, Purpose::Use)?;
    Ok(Loaded::at(engine.as_ref())?)
}

/// The command for another run like one on that target; `None` if nothing is loaded there any more, as after a demo.
fn again(matches: &ArgMatches, settings: &Settings, ran_on: String) -> Result<Option<String>, Failure> {
    let command = match target(settings) == ran_on {
        true => "slob run".to_owned(),
        false => format!("slob run --target {}", next_step::quoted(&ran_on)),
    };
    let there = settings::resolve(matches, &[("TARGET".to_owned(), ran_on)])?;
    // A target that can't be asked from here may have all of it still.
    Ok((!matches!(loaded(&there), Ok(None))).then_some(command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    /// What is offered can be typed.
    #[test]
    fn every_command_that_is_offered_is_one() {
        let text = || "x".to_owned();
        let places = [
            Place::Empty { target: text(), why: None },
            Place::Loaded { target: text(), schemas: 2, scale: text() },
            Place::Run { results: text(), latest: text(), status: "completed", again: None },
            Place::Run { results: text(), latest: text(), status: "failed", again: Some("slob run".into()) },
            Place::Runs { results: text(), count: 2, latest: text(), status: Some("completed") },
            Place::Runs { results: text(), count: 1, latest: text(), status: None },
        ];
        for (command, _) in places.into_iter().flat_map(|place| place.words().1) {
            let parsed = args::command().try_get_matches_from(command.split(' '));
            assert!(parsed.is_ok(), "{command}: {parsed:?}");
        }
    }
}
