//! What the arguments of `slob profile` stand for.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use slob_awr::Scope;
use slob_profile::{LeftOut, Profile, Source, collect};
use slob_record::{RUN_FILE, SeriesWanted, find_run, list_runs, read_records};

use super::{REPORTS, merged, records, reports, saved};
use crate::commands::awr_files::Files;
use crate::failure::Failure;
use crate::{output, settings};

/// What a path is.
enum Input {
    /// A report, or a folder of reports.
    Reports(PathBuf),
    /// Runs.
    Runs(Vec<PathBuf>),
    /// A profile.
    Profile(PathBuf),
}

/// The profiles of all databases that paths tell of, and whether something could not be read.
pub(super) fn read<'a>(
    matches: &ArgMatches,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<(Vec<Profile>, bool), Failure> {
    let (mut of_reports, mut of_runs, mut profiles) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        match input(matches, path)? {
            Input::Reports(path) => of_reports.push(path),
            Input::Runs(runs) => of_runs.extend(runs),
            Input::Profile(path) => profiles.push(saved::read(&path)?),
        }
    }
    let mut partly = false;
    if !of_reports.is_empty() {
        let read = Files::read(&of_reports, Scope::All, |named| reports::sample(&named))?;
        partly |= read.exit_code()? != std::process::ExitCode::SUCCESS;
        profiles.extend(collect(read.kept, REPORTS));
    }
    if !of_runs.is_empty() {
        let read = read_records(&of_runs, SeriesWanted::Empty, |record| records::sample(&record));
        let mut samples = Vec::new();
        for (path, sample) in read {
            match sample {
                Ok(sample) => samples.push(sample),
                Err(error) => {
                    output::say(&format!("slob: {}: {error}", path.display()));
                    partly = true;
                }
            }
        }
        profiles.extend(collect(samples, Source::Runs));
    }
    let profiles = merged(profiles);
    let (known, empty): (Vec<_>, Vec<_>) =
        profiles.into_iter().partition(|profile| !profile.intervals.is_empty());
    for LeftOut { source, why, .. } in empty.iter().flat_map(|profile| &profile.left_out) {
        output::say(&format!("slob: left out: {source}: {why}"));
    }
    if known.is_empty() {
        return Err(Failure::usage("there is no interval to make a profile of"));
    }
    Ok((known, partly || !empty.is_empty()))
}

fn input(matches: &ArgMatches, path: &Path) -> Result<Input, Failure> {
    if path.is_dir() {
        if path.join(RUN_FILE).is_file() {
            return Ok(Input::Runs(vec![path.to_path_buf()]));
        }
        let runs = list_runs(path).unwrap_or_default();
        return Ok(if runs.is_empty() { Input::Reports(path.to_path_buf()) } else { Input::Runs(runs) });
    }
    if !path.exists() && path.as_os_str() != "-" {
        let name = path.to_string_lossy();
        let results = settings::results_dir(&settings::resolve(matches, &[])?);
        if let Ok(run) = find_run(&results, &name) {
            return Ok(Input::Runs(vec![run]));
        }
        return Err(Failure::usage(format!("{name}: there is no such file, folder or run")));
    }
    if path.file_name().is_some_and(|name| name == RUN_FILE) {
        return Ok(Input::Runs(vec![path.to_path_buf()]));
    }
    let begins_as_object = || fs::read(path).is_ok_and(|text| text.trim_ascii_start().starts_with(b"{"));
    let is_json = path.extension().is_some_and(|ending| ending == "json") && begins_as_object();
    Ok(if is_json { Input::Profile(path.to_path_buf()) } else { Input::Reports(path.to_path_buf()) })
}
