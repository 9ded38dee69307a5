//! `slob profile`: what a database does, from whatever tells it.

mod inputs;
pub(super) mod live;
pub(super) mod records;
mod reports;
pub(super) mod saved;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use clap::parser::ValueSource;
use slob_profile::{Profile, Source};
use slob_report::profiles::{profile_diff_text, profile_page, profile_text};

use crate::failure::{Failure, Outcome, PARTLY};
use crate::output;

/// Where a profile goes if nothing else is said.
pub(super) const FILE: &str = "profile.json";

pub(crate) fn profile(matches: &ArgMatches) -> Outcome {
    match matches.subcommand() {
        Some(("show", matches)) => show(matches),
        Some(("diff", matches)) => compare(matches),
        _ if matches.get_many::<PathBuf>("inputs").is_some() => from_files(matches),
        _ => live::profile(matches),
    }
}

/// From reports, runs and other profiles.
fn from_files(matches: &ArgMatches) -> Outcome {
    let is_said = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
    if is_said("every") || is_said("for") {
        return Err(Failure::usage("--every and --for are of a live server: leave the files out, or these"));
    }
    let paths = matches.get_many::<PathBuf>("inputs").unwrap_or_default();
    let (profiles, partly) = inputs::read(matches, paths)?;
    let profiles = chosen(matches, profiles)?;
    show_and_save(matches, &profiles, true)?;
    Ok(ExitCode::from(if partly { PARTLY } else { 0 }))
}

/// Of the databases and instances that were asked for.
fn chosen(matches: &ArgMatches, profiles: Vec<Profile>) -> Result<Vec<Profile>, Failure> {
    let names: Vec<String> = profiles.iter().map(|profile| told_apart(profile, &profiles)).collect();
    let wanted = matches.get_one::<String>("database");
    let mut profiles: Vec<Profile> = profiles
        .into_iter()
        .filter(|profile| wanted.is_none_or(|wanted| is_called(profile, wanted)))
        .collect();
    if let Some(wanted) = wanted.filter(|_| profiles.is_empty()) {
        let names = names.join(", ");
        return Err(Failure::usage(format!("nothing is of the database {wanted}; there are {names}")));
    }
    if let Some(instance) = matches.get_one::<String>("instance") {
        for profile in &mut profiles {
            if !profile.instances().contains(&instance.as_str()) {
                let names = profile.instances().join(", ");
                let known =
                    if names.is_empty() { "it has none".into() } else { format!("there are {names}") };
                let database = profile.subject.words();
                return Err(Failure::usage(format!(
                    "no interval of {database} is of instance {instance}; {known}"
                )));
            }
            *profile = profile.of_instance(instance);
        }
    }
    Ok(profiles)
}

/// By its name, or by its number, since names come again.
fn is_called(profile: &Profile, wanted: &str) -> bool {
    let subject = &profile.subject;
    subject.name.eq_ignore_ascii_case(wanted) || subject.id.as_deref() == Some(wanted)
}

/// Its name, with its number if others have the same one.
fn told_apart(profile: &Profile, all: &[Profile]) -> String {
    let words = profile.subject.words();
    let is_alone = all.iter().filter(|other| other.subject.words() == words).count() == 1;
    match profile.subject.id.as_ref().filter(|_| !is_alone) {
        Some(id) => format!("{words} {id}"),
        None => words,
    }
}

/// Prints profiles and writes them, each of several to a file of its own.
fn show_and_save(matches: &ArgMatches, profiles: &[Profile], save: bool) -> Result<(), Failure> {
    if let Some(path) = matches.get_one::<PathBuf>("html") {
        output::write_page(&profile_page(profiles), path)?;
    }
    if matches.get_flag("json") {
        let each: Vec<_> = profiles.iter().map(saved::Whole::of).collect();
        let text = match &each[..] {
            [only] => output::json("the profile", only),
            several => output::json("the profiles", &several),
        };
        output::print(&text?)?;
    } else {
        let texts: Vec<String> = profiles.iter().map(profile_text).collect();
        output::print(&texts.join("\n\n"))?;
    }
    let asked = matches.try_get_one::<PathBuf>("output").ok().flatten();
    if !save || (matches.get_flag("json") && asked.is_none()) {
        return Ok(());
    }
    let path = asked.cloned().unwrap_or_else(|| FILE.into());
    match profiles {
        [only] => saved::save_over(only, &path),
        several => {
            let names: Vec<String> = several.iter().map(|profile| told_apart(profile, several)).collect();
            output::say(&format!(
                "these are {} databases, each with its own profile: {}; --database NAME or NUMBER chooses one",
                several.len(),
                names.join(", ")
            ));
            let paths = saved::paths(several, &path);
            several.iter().zip(paths).try_for_each(|(profile, path)| saved::save_over(profile, &path))
        }
    }
}

fn show(matches: &ArgMatches) -> Outcome {
    let profile = saved::read_named(matches, "profile")?;
    let profiles = chosen(matches, vec![profile])?;
    show_and_save(matches, &profiles, false)?;
    Ok(ExitCode::SUCCESS)
}

fn compare(matches: &ArgMatches) -> Outcome {
    let (first, second) = (saved::read_named(matches, "first")?, saved::read_named(matches, "second")?);
    output::print(&profile_diff_text(&first, &second))?;
    Ok(ExitCode::SUCCESS)
}

/// Profiles of the same database become one.
fn merged(profiles: Vec<Profile>) -> Vec<Profile> {
    let mut merged: Vec<Profile> = Vec::new();
    for profile in profiles {
        match merged.iter().position(|own| own.subject.is_same(&profile.subject)) {
            Some(at) => {
                let own = merged.remove(at);
                merged.insert(at, own.with(profile));
            }
            None => merged.push(profile),
        }
    }
    merged
}

/// What samples of nothing but reports are.
const REPORTS: Source = Source::Reports;
