//! Profiles in files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde::Serialize;
use slob_profile::{Profile, Source, Summary};

use crate::failure::Failure;
use crate::output;

/// A profile with its summary, which readers of the file make again.
#[derive(Serialize)]
pub(in crate::commands) struct Whole<'a> {
    slob_version: &'static str,
    #[serde(flatten)]
    profile: &'a Profile,
    summary: Option<Summary>,
}

impl<'a> Whole<'a> {
    pub(in crate::commands) fn of(profile: &'a Profile) -> Self {
        Self { slob_version: env!("CARGO_PKG_VERSION"), profile, summary: Summary::of(profile) }
    }
}

/// Writes it, whole or not at all.
pub(in crate::commands) fn save(profile: &Profile, path: &Path) -> Result<(), Failure> {
    let text = output::json("the profile", &Whole::of(profile))?;
    output::write_whole(path, &text).map_err(|error| {
        Failure::usage(format!("writing {}: {error}; name another file with -o", path.display()))
    })
}

/// The same, and says so. What a live server told is not overwritten by anything else: nobody could ask again.
pub(super) fn save_over(profile: &Profile, path: &Path) -> Result<(), Failure> {
    if let Ok(text) = fs::read(path) {
        let there = Profile::read(&text).map(|there| there.source);
        match there {
            Ok(Source::Live | Source::Mixed)
                if profile.source == Source::Reports || profile.source == Source::Runs =>
            {
                return Err(Failure::usage(format!(
                    "{} holds the profile of a live server, which is not overwritten: name another file with -o",
                    path.display()
                )));
            }
            Ok(_) => {}
            Err(_) => {
                return Err(Failure::usage(format!(
                    "{} is there and is no profile: name another file with -o",
                    path.display()
                )));
            }
        }
    }
    save(profile, path)?;
    output::say(&format!("wrote {}", path.display()));
    Ok(())
}

/// A file for each of several profiles: `profile-NAME.json` for `profile.json`.
pub(super) fn paths(profiles: &[Profile], path: &Path) -> Vec<PathBuf> {
    let stem = path.file_stem().map_or_else(|| "profile".into(), |stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = Vec::new();
    for profile in profiles {
        let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = profile.subject.words().chars().map(safe).collect();
        let name = format!("{stem}-{}", name.trim_matches('-'));
        let numbered = (2..).map(|nth| format!("{name}-{nth}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names.into_iter().map(|name| path.with_file_name(format!("{name}.json"))).collect()
}

/// Reads a profile.
pub(in crate::commands) fn read(path: &Path) -> Result<Profile, Failure> {
    let text =
        fs::read(path).map_err(|error| Failure::usage(format!("reading {}: {error}", path.display())))?;
    Profile::read(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The profile that an argument names.
pub(in crate::commands) fn read_named(matches: &ArgMatches, name: &str) -> Result<Profile, Failure> {
    read(matches.get_one::<PathBuf>(name).map_or(Path::new(super::FILE), PathBuf::as_path))
}

#[cfg(test)]
mod tests {
    use slob_profile::{Figure, Sample, Subject, collect};

    use super::*;

    fn profile(name: &str) -> Profile {
        let sample = Sample {
            subject: Subject { name: name.into(), ..Subject::default() },
            begin: Some("2026-11-20T10:00".parse().unwrap()),
            seconds: Some(60.0),
            figures: [(Figure::Commits, 5.0)].into(),
            ..Sample::default()
        };
        collect(vec![sample], Source::Live).remove(0)
    }

    #[test]
    fn what_was_saved_is_read_and_several_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        save(&profile("PROD"), &path).unwrap();
        assert_eq!(read(&path).unwrap(), profile("PROD"));
        let several = [profile("A/B-2"), profile("A/B"), profile("a"), profile("A/B")];
        let names = paths(&several, &path);
        let names: Vec<_> = names.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["profile-A-B-2.json", "profile-A-B.json", "profile-a.json", "profile-A-B-3.json"]);
    }

    #[test]
    fn what_a_live_server_told_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.json");
        save(&profile("PROD"), &path).unwrap();
        let reports = Profile { source: Source::Reports, ..profile("PROD") };
        let error = save_over(&reports, &path).unwrap_err().text();
        assert!(error.contains("live server"), "{error}");
        fs::write(&path, "[package]").unwrap();
        assert!(save_over(&reports, &path).unwrap_err().text().contains("is no profile"));
    }
}
