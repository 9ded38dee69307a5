//! Shell completion. It reads folders and files and never connects. Unreadable files are left out: a key press must not print
//! errors.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use slob_campaign::{CAMPAIGN_FILE, Folder};
use slob_record::{SeriesWanted, list_runs, read_record_with, runs_under_way};

use crate::settings;

/// The shell sets this variable to its name; the typed words follow `--`.
const VARIABLE: &str = "COMPLETE";

/// Runs offered as `latest~N`; more once the `~` is typed.
const STEPS_BACK: usize = 2;
const MORE_STEPS_BACK: usize = 10;
const LATEST_RUNS: usize = 10;

pub(crate) fn answer(command: fn() -> Command) -> Option<ExitCode> {
    let asked = env::var_os(VARIABLE)?;
    // The name is common: another value is meant for another program.
    Shells::builtins().completer(Path::new(&asked).file_stem()?.to_str()?)?;
    let here = env::current_dir().ok();
    let answered = CompleteEnv::with_factory(command).try_complete(env::args_os(), here.as_deref());
    answered.unwrap_or(true).then_some(ExitCode::SUCCESS)
}

/// `None` if the shell can't ask this program.
pub(crate) fn registration(shell: &str) -> Option<String> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    shells.completer(shell)?.write_registration(VARIABLE, "slob", "slob", &own_name(), &mut script).ok()?;
    let mut script = String::from_utf8(script).ok()?;
    if shell == "zsh" {
        // At the first key, zsh may run the file itself as the function.
        script.push_str("[[ ${funcstack[1]} != _slob ]] || _clap_dynamic_completer_slob\n");
    }
    Some(script)
}

/// A relative path becomes absolute.
fn own_name() -> String {
    let called = env::args_os().next().map_or_else(|| "slob".into(), PathBuf::from);
    let is_a_path = called.components().count() > 1;
    let found = env::current_dir().ok().filter(|_| is_a_path).map(|here| here.join(&called));
    found.unwrap_or(called).to_string_lossy().into_owned()
}

/// `latest` and its predecessors, then ids, the newest first; once something is typed, also names of runs and paths.
pub(crate) fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let runs = list_runs(&results()).unwrap_or_default();
    let ids: Vec<String> = runs.iter().rev().filter_map(|run| one_word(run.file_name()?)).collect();
    let back = if typed.contains('~') { MORE_STEPS_BACK } else { STEPS_BACK };
    let steps = ids.iter().take(back).enumerate().map(|(back, id)| {
        let name = if back == 0 { "latest".into() } else { format!("latest~{back}") };
        CompletionCandidate::new(name).help(Some(id.clone().into()))
    });
    let mut found: Vec<CompletionCandidate> = steps.chain(ids.iter().map(CompletionCandidate::new)).collect();
    if !typed.is_empty() {
        let names = ids.iter().filter_map(|id| Some(id.split_once('-')?.1));
        names.for_each(|name| add(&mut found, CompletionCandidate::new(name)));
    }
    with_paths(found, current)
}

pub(crate) fn under_way(current: &OsStr) -> Vec<CompletionCandidate> {
    let ids = runs_under_way(&results()).into_iter();
    fitting(ids.rev().filter_map(|id| one_word(OsStr::new(&id))).map(CompletionCandidate::new), current)
}

pub(crate) fn schemas(current: &OsStr) -> Vec<CompletionCandidate> {
    let runs = list_runs(&results()).unwrap_or_default();
    let mut found: Vec<CompletionCandidate> = Vec::new();
    for run in runs.iter().rev().take(LATEST_RUNS) {
        let Ok(record) = read_record_with(run, SeriesWanted::Empty) else { continue };
        let number = CompletionCandidate::new(record.workload.schemas.to_string());
        add(&mut found, number.help(Some(format!("as in {}", record.id).into())));
    }
    fitting(found.into_iter(), current)
}

pub(crate) fn profiles(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = entries(Path::new(".")).into_iter().filter_map(|path| one_word(path.file_name()?));
    let is_profile = |name: &String| name.starts_with("profile") && name.ends_with(".json");
    with_paths(names.filter(is_profile).map(CompletionCandidate::new).collect(), current)
}

pub(crate) fn campaigns(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = entries(Path::new("campaigns"));
    found.retain(|path| path.join(CAMPAIGN_FILE).is_file());
    found.extend(Some(results()).filter(|results| results.is_dir()));
    let found = found.iter().filter_map(|path| one_word(path.as_os_str()));
    with_paths(found.map(CompletionCandidate::new).collect(), current)
}

pub(crate) fn variants(current: &OsStr) -> Vec<CompletionCandidate> {
    let folders = typed_words().into_iter().filter_map(|word| Folder::read(Path::new(&word)).ok()?);
    let names = folders.flat_map(|folder| folder.schedule.variants).map(|variant| variant.name);
    fitting(names.filter_map(|name| one_word(OsStr::new(&name))).map(CompletionCandidate::new), current)
}

fn fitting(
    candidates: impl Iterator<Item = CompletionCandidate>,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    candidates.filter(|candidate| candidate.get_value().to_string_lossy().starts_with(&*typed)).collect()
}

/// Paths if something is typed or no candidate fits.
fn with_paths(found: Vec<CompletionCandidate>, current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = fitting(found.into_iter(), current);
    if found.is_empty() || !current.is_empty() {
        PathCompleter::any().complete(current).into_iter().for_each(|path| add(&mut found, path));
    }
    found
}

fn add(found: &mut Vec<CompletionCandidate>, candidate: CompletionCandidate) {
    if found.iter().all(|other| other.get_value() != candidate.get_value()) {
        found.push(candidate);
    }
}

fn results() -> PathBuf {
    // Completion must not read from a pipe.
    let conf = typed_value("--conf").filter(|conf| Path::new(conf).is_file());
    settings::results_dir_or_default(conf.as_deref(), typed_value("--results-dir"))
}

fn typed_words() -> Vec<String> {
    let words = env::args_os().skip_while(|word| word != "--").skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Bash splits words at `=`.
fn typed_value(flag: &str) -> Option<String> {
    let words = typed_words();
    let behind = |word: &String| Some(word.strip_prefix(flag)?.strip_prefix('=')?.to_owned());
    let at = words.iter().rposition(|word| word == flag || behind(word).is_some())?;
    behind(&words[at]).or_else(|| words[at + 1..].iter().find(|word| *word != "=").cloned())
}

pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// `None` for a name that needs quotes: bash inserts it as it is.
fn one_word(name: &OsStr) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./~+,@".contains(c);
    name.to_str().filter(|name| name.chars().all(is_plain)).map(str::to_owned)
}
