//! What a shell completes: the words of the command line, and what there is here: runs, their numbers of schemas, profiles, campaigns and
//! their variants.
//!
//! Folders and files are looked at, never a server. What can't be read is left out: who presses a key asks for no error.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use slob_campaign::{CAMPAIGN_FILE, read_campaign};
use slob_record::{SeriesWanted, list_runs, read_record_with, runs_under_way};

use crate::settings;

/// The variable by which a shell asks; its value is the shell's name, and what was typed follows a `--`.
const ASKED: &str = "COMPLETE";

/// Runs that are offered as `latest~N`: more of them once the `~` is typed.
const STEPS_BACK: usize = 2;
const MORE_STEPS_BACK: usize = 10;
/// Runs that are looked into.
const LATEST_RUNS: usize = 10;

/// Answers a shell that asks; `None` where the program has its own work to do.
pub(crate) fn answer(command: fn() -> Command) -> Option<ExitCode> {
    let asked = env::var_os(ASKED)?;
    // Of a variable with so usual a name, another value is meant for another program.
    Shells::builtins().completer(Path::new(&asked).file_stem()?.to_str()?)?;
    let here = env::current_dir().ok();
    let answered = CompleteEnv::with_factory(command).try_complete(env::args_os(), here.as_deref());
    answered.unwrap_or(true).then_some(ExitCode::SUCCESS)
}

/// What makes a shell ask this program; `None` for a shell that can't.
pub(crate) fn registration(shell: &str) -> Option<String> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    shells.completer(shell)?.write_registration(ASKED, "slob", "slob", &own_name(), &mut script).ok()?;
    let mut script = String::from_utf8(script).ok()?;
    if shell == "zsh" {
        // zsh may run the file itself as the function, at the first key.
        script.push_str("[[ ${funcstack[1]} != _slob ]] || _clap_dynamic_completer_slob\n");
    }
    Some(script)
}

/// This program as it was called; one that was not found by its name alone is found from every folder.
fn own_name() -> String {
    let called = env::args_os().next().map_or_else(|| "slob".into(), PathBuf::from);
    let is_a_path = called.components().count() > 1;
    let found = env::current_dir().ok().filter(|_| is_a_path).map(|here| here.join(&called));
    found.unwrap_or(called).to_string_lossy().into_owned()
}

/// Runs: `latest` and those before it, then ids, the newest first; once something is typed, names of runs and paths too.
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

/// Runs that are under way, by their ids.
pub(crate) fn under_way(current: &OsStr) -> Vec<CompletionCandidate> {
    let ids = runs_under_way(&results()).into_iter();
    fitting(ids.rev().filter_map(|id| one_word(OsStr::new(&id))).map(CompletionCandidate::new), current)
}

/// Numbers of schemas that the last runs worked on, the newest first: a database is not asked how many it holds.
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

/// Profiles in this folder; then any path.
pub(crate) fn profiles(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = entries(Path::new(".")).into_iter().filter_map(|path| one_word(path.file_name()?));
    let is_profile = |name: &String| name.starts_with("profile") && name.ends_with(".json");
    with_paths(names.filter(is_profile).map(CompletionCandidate::new).collect(), current)
}

/// Campaigns beside the results folder's default place, and the results folder; then any path.
pub(crate) fn campaigns(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = entries(Path::new("campaigns"));
    found.retain(|path| path.join(CAMPAIGN_FILE).is_file());
    found.extend(Some(results()).filter(|results| results.is_dir()));
    let found = found.iter().filter_map(|path| one_word(path.as_os_str()));
    with_paths(found.map(CompletionCandidate::new).collect(), current)
}

/// The variants of the campaigns that are typed.
pub(crate) fn variants(current: &OsStr) -> Vec<CompletionCandidate> {
    let schedules = typed_words().into_iter().filter_map(|word| read_campaign(Path::new(&word)).ok()?);
    let names = schedules.flat_map(|(schedule, _)| schedule.variants).map(|variant| variant.name);
    fitting(names.filter_map(|name| one_word(OsStr::new(&name))).map(CompletionCandidate::new), current)
}

/// Those that begin as typed.
fn fitting(
    candidates: impl Iterator<Item = CompletionCandidate>,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    candidates.filter(|candidate| candidate.get_value().to_string_lossy().starts_with(&*typed)).collect()
}

/// Those that begin as typed. Any path will do as well, but where nothing is typed yet, what is meant is shown alone.
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

/// The results folder of the command that is typed.
fn results() -> PathBuf {
    // What is no file, a pipe for instance, is not this program's to read yet.
    let conf = typed_value("--conf").filter(|conf| Path::new(conf).is_file());
    settings::results_dir_or_default(conf.as_deref(), typed_value("--results-dir"))
}

/// What was typed so far, the program's name first.
fn typed_words() -> Vec<String> {
    let words = env::args_os().skip_while(|word| word != "--").skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The value of a flag; bash makes words of their own of `=` and what is behind it.
fn typed_value(flag: &str) -> Option<String> {
    let words = typed_words();
    let behind = |word: &String| Some(word.strip_prefix(flag)?.strip_prefix('=')?.to_owned());
    let at = words.iter().rposition(|word| word == flag || behind(word).is_some())?;
    behind(&words[at]).or_else(|| words[at + 1..].iter().find(|word| *word != "=").cloned())
}

/// What a folder holds, by name; nothing if it can't be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A name that a shell takes as it is: bash puts it into the line without quotes.
fn one_word(name: &OsStr) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./~+,@".contains(c);
    name.to_str().filter(|name| name.chars().all(is_plain)).map(str::to_owned)
}
