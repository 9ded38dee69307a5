//! `slob verify`: the rows of the loaded data, or a run's record with the files beside it.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{
    RUN_FILE, Record, RecordError, SIGNATURE_FILE, SignatureError, Signer, Signers, digest_of_text,
    file_digest, find_run, read_digests, read_operations, read_record, run_folder,
};
use slob_report::format::count;
use slob_report::html::run_page;
use slob_report::{Recheck, digest_in_report, recheck, recheck_operations, text_report};
use slob_run::{Acknowledged, replay};
use slob_spec::{RunSpec, Settings};

use super::runs::{HTML_REPORT, TEXT_REPORT};
use crate::args::Given;
use crate::failure::{Failure, JUDGED, Outcome};
use crate::progress::Progress;
use crate::{interrupt, output, registry, settings};

/// `slob verify`: reads every row back, or checks a run's record.
pub(super) fn verify(matches: &ArgMatches) -> Outcome {
    if let Some(name) = matches.text("run") {
        return verify_run(matches, name);
    }
    let settings = settings::resolve(matches, &[])?;
    let journal = matches.path("durability");
    let acknowledged = journal.map(Acknowledged::read).transpose()?;
    let stop = interrupt::flag()?;
    let (spec, engine) = registry::open(&settings)?;
    let progress = Progress::new("verifying");
    let on_rows = |rows, of| progress.at(rows, of, "rows read");
    let streams = spec.streams.get();
    let found = slob_run::verify(engine.as_ref(), streams, acknowledged.as_ref(), &stop, &on_rows);
    progress.finish();
    let found = found?;
    let mut text: String = found.faults.iter().map(|fault| format!("{fault}\n")).collect();
    let unnamed = found.faulty - found.faults.len() as u64;
    if unnamed > 0 {
        text += &format!("and {unnamed} more\n");
    }
    text += &format!(
        "{}: {} rows read back, {} of them updated since the load, {} faulty\n",
        spec.target, found.rows, found.updated, found.faulty
    );
    if let Some((journal, acknowledged)) = journal.zip(acknowledged) {
        text += &format!(
            "{}: {} acknowledged updates of {} rows, {} rows lost one\n",
            journal.display(),
            acknowledged.updates,
            acknowledged.rows(),
            found.lost
        );
    }
    output::print(&text)?;
    Ok(ExitCode::from(if found.faulty > 0 { JUDGED } else { 0 }))
}

type Line = (&'static str, String);

const AGREES: &str = "agrees";
const DIFFERS: &str = "DIFFERS";
/// Not comparable, and no fault.
const UNKNOWN: &str = "unknown";

fn checked(check: Recheck) -> Line {
    (if check.agrees { AGREES } else { DIFFERS }, check.words)
}

/// `slob verify --run`: compares the figures of a record with each other, with the files beside it and with the replayed plan.
fn verify_run(matches: &ArgMatches, name: &str) -> Outcome {
    let file = matches.path("signed-by");
    let signers = file.map(Signers::read).transpose()?;
    let path = find_run(&settings::results_dir_of(matches)?, name)?;
    let record = read_record(&path)?;
    let (digest, saved) = read_digests(&path)?;
    let mut lines: Vec<Line> = recheck(&record).into_iter().map(checked).collect();
    lines.push(check_digest(&digest, saved));
    if path.is_dir() || path.ends_with(RUN_FILE) {
        let folder = run_folder(&path);
        lines.extend(check_operations(&record, folder));
        lines.extend(check_files(&record, folder)?);
        for view in [TEXT_REPORT, HTML_REPORT] {
            lines.extend(check_view(&record, &digest, &folder.join(view)));
        }
    } else {
        // What lies beside a single file may be of other runs.
        lines.extend(check_view(&record, &digest, &path));
    }
    lines.extend(check_signature(&path, file.zip(signers))?);
    lines.extend(check_plan(&record));
    let agrees = lines.iter().all(|(result, _)| *result != DIFFERS);
    let all = if agrees { "everything agrees" } else { "not everything agrees" };
    let text: String = lines.iter().map(|(result, words)| format!("{result:<8} {words}\n")).collect();
    output::print(&format!("{text}{}: {all}\n", record.id))?;
    Ok(ExitCode::from(if agrees { 0 } else { JUDGED }))
}

fn check_digest(own: &str, saved: Option<String>) -> Line {
    /// Letters of an older release's.
    const SHORTEST: usize = 16;
    let Some(saved) = saved else {
        return (UNKNOWN, format!("{RUN_FILE} has no digest, as those of older releases"));
    };
    let agrees = saved.len() >= SHORTEST && own.starts_with(&saved);
    checked(Recheck { agrees, words: format!("the digest of the record {own}, saved with it {saved}") })
}

/// The files beside a record that are not made from it alone. Anything may be added to a folder, and a file may stay behind when
/// the record is given away.
fn check_files(record: &Record, folder: &Path) -> Result<Vec<Line>, RecordError> {
    let check = |(name, saved): (&String, &String)| {
        let path = folder.join(name);
        // A record of others must not have any file of this machine read.
        if Path::new(name).file_name() != Some(OsStr::new(name)) || !path.is_file() {
            return Ok((UNKNOWN, format!("{name} is not here")));
        }
        let agrees = file_digest(&path)? == *saved;
        let words = if agrees { "is as it was saved" } else { "was changed after the run" };
        Ok(checked(Recheck { agrees, words: format!("{name} {words}") }))
    };
    let mut lines: Vec<Line> = record.files.iter().map(check).collect::<Result<_, RecordError>>()?;
    let known = |name: &str| {
        [RUN_FILE, SIGNATURE_FILE, TEXT_REPORT, HTML_REPORT].contains(&name)
            || record.files.contains_key(name)
    };
    let entries = fs::read_dir(folder).map_err(RecordError::io("reading", folder))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<String> = names.filter(|name| !known(name)).collect();
    others.sort();
    lines.extend(others.into_iter().map(|name| (UNKNOWN, format!("{name} is not known to the record"))));
    Ok(lines)
}

const DIGEST_OF_VIEW: &str = "Digest of all above:";

/// A view of a record with a last line that tells whether somebody edited it. It is for other releases, which make other views.
pub(super) fn with_digest(view: &str) -> String {
    let line = format!("{DIGEST_OF_VIEW} {}", digest_of_text(view));
    if is_page(view) { format!("{view}<!-- {line} -->\n") } else { format!("{view}{line}\n") }
}

fn is_page(view: &str) -> bool {
    view.starts_with("<!DOCTYPE html>")
}

/// A report or a page against the record that it must have been made from.
fn check_view(record: &Record, digest: &str, path: &Path) -> Option<Line> {
    let name = path.file_name()?.to_string_lossy();
    let saved = match fs::read(path) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => return None,
    };
    let made = if is_page(&saved) { run_page(record) } else { text_report(record) };
    if saved == made || saved == with_digest(&made) {
        return Some((AGREES, format!("{name} is what the record says")));
    }
    let last = saved.trim_end().rfind('\n').map_or(0, |end| end + 1);
    let (view, line) = saved.split_at(last);
    let differs =
        |why: &str| Some((DIFFERS, format!("{name} {why}; `slob report` shows what the record says")));
    if !line.contains(DIGEST_OF_VIEW) {
        return if record.files.is_empty() {
            Some((UNKNOWN, format!("{name} has no digest, as those of older releases")))
        } else {
            differs("was edited: its last line is not its digest")
        };
    }
    if with_digest(view) != saved {
        return differs("was edited: its digest is another one");
    }
    if digest_in_report(view) != Some(digest) {
        return differs("is of another record");
    }
    let own = is_page(view).then(|| read_digests(path)).transpose();
    if own.is_ok_and(|own| own.is_none_or(|(own, _)| own == digest)) {
        return Some((UNKNOWN, format!("{name} is as another release made it, and not compared")));
    }
    differs("holds another record")
}

/// The signature beside the record, and whether it is by one of the keys that were named.
fn check_signature(path: &Path, signers: Option<(&Path, Signers)>) -> Result<Option<Line>, RecordError> {
    let record = if path.is_dir() { path.join(RUN_FILE) } else { path.to_path_buf() };
    let mut place = record.clone().into_os_string();
    place.push(".sig");
    let signature = match fs::read(&place) {
        Ok(signature) => signature,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let words = "the record is not signed: `slob run --sign KEY`, or `ssh-keygen -Y sign -f KEY -n file run.json` later";
            return Ok(signers.map(|_| (DIFFERS, words.into())));
        }
        Err(error) => return Err(RecordError::io("reading", place)(error)),
    };
    let text = fs::read(&record).map_err(RecordError::io("reading", &record))?;
    Ok(Some(match (Signer::of(&text, &signature), signers) {
        (Err(error @ SignatureError::Kind(_)), None) => (UNKNOWN, format!("the signature {error}")),
        (Err(error), _) => (DIFFERS, format!("the signature {error}")),
        (Ok(signer), None) => {
            let key = signer.fingerprint();
            (
                AGREES,
                format!(
                    "the record is signed with the key {key}; --signed-by KEY.pub says whether it is theirs"
                ),
            )
        }
        (Ok(signer), Some((file, signers))) => {
            let agrees = signers.include(&signer);
            let (key, is, file) =
                (signer.fingerprint(), if agrees { "is" } else { "is not" }, file.display());
            checked(Recheck {
                agrees,
                words: format!("the record is signed with the key {key}, which {is} in {file}"),
            })
        }
    }))
}

fn check_operations(record: &Record, directory: &Path) -> Vec<Line> {
    match read_operations(directory) {
        Ok(None) => Vec::new(),
        Ok(Some(kept)) if kept.whole => {
            recheck_operations(record, &kept.operations).into_iter().map(checked).collect()
        }
        Ok(Some(_)) => vec![(UNKNOWN, "the list of operations ends before the run does".into())],
        Err(error) => vec![(DIFFERS, error.to_string())],
    }
}

/// Replays the plan from the configuration in the record.
fn check_plan(record: &Record) -> Vec<Line> {
    let spec = match spec_of(record) {
        Ok(spec) => spec,
        Err(error) => {
            let error = error.text();
            return vec![(DIFFERS, format!("the record's configuration is not that of a run: {error}"))];
        }
    };
    let progress = Progress::new("replaying the plan");
    let replay = replay(record, &spec, &|done, of| progress.at(done, of, "operations replayed"));
    progress.finish();
    let replay = match replay {
        Ok(replay) => replay,
        Err(why) => return vec![(UNKNOWN, format!("the plan can't be replayed: {why}"))],
    };
    if replay.faulty == 0 {
        let (operations, sessions) = (count(replay.operations), count(u64::from(replay.sessions)));
        let words = format!(
            "operations within the window {operations}, by kind and rows those that the plans have; sessions {sessions}"
        );
        return vec![(AGREES, words)];
    }
    let more = u64::from(replay.faulty).saturating_sub(replay.faults.len() as u64);
    let more = (more > 0).then(|| format!("and {} sessions more", count(more)));
    replay.faults.into_iter().chain(more).map(|fault| (DIFFERS, fault)).collect()
}

fn spec_of(record: &Record) -> Result<RunSpec, Failure> {
    let table = registry::table();
    let known = |key: &str| table.params().iter().any(|param| param.key == key);
    let entries = record.configuration.iter().filter(|entry| known(&entry.key));
    let flags: Vec<(String, String)> =
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    Ok(RunSpec::from_settings(&Settings::resolve(&table, None, &[], &flags)?.settings)?.spec)
}
