//! `slob setup`: loading.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use slob_engine::Purpose;
use slob_run::{LoadSummary, load, plan_load};
use slob_spec::{LoadSpec, Settings};

use crate::commands::print_sql;
use crate::failure::{Failure, Outcome};
use crate::live::LoadDisplay;
use crate::progress::LoadTalk;
use crate::{as_loaded, checks, interrupt, next_step, output, registry, settings};

pub(crate) fn setup(matches: &ArgMatches) -> Outcome {
    let settings = settings::resolve(matches, &in_place(matches)?)?;
    if matches.get_flag("print-sql") {
        return print_sql::of_setup(&settings);
    }
    let stop = interrupt::flag()?;
    let display = if matches.get_flag("plain") { Display::Lines } else { Display::Dashboard };
    let loaded = load_all(&settings, display, &stop)?;
    output::say(&format!("{loaded}; next: `{}`", next_step::run(matches, &settings)));
    Ok(ExitCode::SUCCESS)
}

/// `SCHEMAS`, or `TABLESPACE SCHEMAS`, as parameters.
fn in_place(matches: &ArgMatches) -> Result<Vec<(String, String)>, Failure> {
    let words: Vec<&String> = matches.get_many("tablespace-and-schemas").unwrap_or_default().collect();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    match words[..] {
        [] => Ok(Vec::new()),
        [schemas] if schemas.bytes().all(|byte| byte.is_ascii_digit()) => Ok(vec![pair("SCHEMAS", schemas)]),
        [tablespace, schemas] => Ok(vec![pair("TABLESPACE", tablespace), pair("SCHEMAS", schemas)]),
        _ => Err(Failure::usage(format!(
            "'{}' is not a number of schemas; use `slob setup 4`, or `slob setup TABLESPACE 4`",
            words[0]
        ))),
    }
}

/// How a load is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Display {
    /// A screen of its own, where there is a terminal.
    Dashboard,
    /// A bar below what was said before, where there is a terminal.
    Bar,
    /// Lines.
    Lines,
}

/// Loads what the settings ask for, telling of it on stderr. Returns what came of it, in words.
pub(crate) fn load_all(settings: &Settings, display: Display, stop: &AtomicBool) -> Result<String, Failure> {
    let checked = LoadSpec::from_settings(settings)?;
    settings::warn(&checked.warnings);
    let spec = checked.spec;
    let engine =
        registry::open_for_load(&spec.target, &spec.options, Purpose::Load, spec.tablespace.clone())?;
    if let Some(name) = &spec.tablespace
        && !engine.server()?.capabilities.tablespaces
    {
        output::say(&format!(
            "warning: TABLESPACE={name} has no effect here: this target has no tablespaces, data go where TARGET says"
        ));
    }
    let taken = as_loaded::of_load(settings, engine.as_ref())?;
    as_loaded::say(settings, &taken);
    let spec = LoadSpec::from_settings(&taken)?.spec;
    checks::warn(&checks::machine());
    let plan = plan_load(engine.as_ref(), &spec)?;
    for schema in plan.replaced() {
        output::say(&format!(
            "schema {schema}: its load was interrupted and this machine has been restarted since; those data may \
             never have reached the disk, so it is loaded again from the start"
        ));
    }
    let summary = match display {
        Display::Dashboard => load(engine.as_ref(), &plan, stop, &LoadDisplay::new(&spec)),
        Display::Bar | Display::Lines => {
            let talk = LoadTalk::new(display == Display::Lines);
            let result = load(engine.as_ref(), &plan, stop, &talk);
            talk.finish();
            result
        }
    }?;
    Ok(sentence(&spec, &summary))
}

fn sentence(spec: &LoadSpec, summary: &LoadSummary) -> String {
    let there = match summary.complete_before {
        0 => String::new(),
        count => format!(" ({count} of {} schemas were there already)", spec.schemas),
    };
    if summary.rows == 0 && summary.layouts.is_empty() {
        let schemas = output::plural(u64::from(spec.schemas.get()), "schema");
        return format!("{}: {schemas} already loaded, nothing to do", spec.target);
    }
    let seconds = summary.took.as_secs_f64();
    format!(
        "{}: {} rows, one per block, {:.2} GB in {seconds:.1} s, {:.0} MB/s{there}",
        spec.target,
        summary.rows,
        summary.bytes as f64 / 1e9,
        summary.bytes as f64 / 1e6 / seconds.max(1e-9)
    )
}
