//! A run's folder: every file of it against the record, and the record's signature.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use itertools::Itertools;
use slob_record::{
    RUN_FILE, Record, RecordError, SIGNATURE_FILE, SignatureError, Signer, Signers, digest_of_text,
    file_digest, read_digests, read_operations, read_record, record_file, run_folder, signature_file,
    with_hidden_shown,
};

use crate::html::run_page;
use crate::sections::text_report;
use slob_facts::recheck::{Recheck, digest_in_report, recheck, recheck_operations};

pub const HTML_REPORT: &str = "report.html";
pub const TEXT_REPORT: &str = "report.txt";

/// The signature must be by one of `signers` if there are any. A record of another name is checked without its folder, which may
/// be of other runs.
pub fn check_run(path: &Path, signers: Option<&Signers>) -> Result<(Record, Vec<Recheck>), RecordError> {
    let record = read_record(path)?;
    let (digest, saved) = read_digests(path)?;
    let mut checks = recheck(&record);
    checks.push(check_digest(&record, &digest, saved));
    if path.is_dir() || path.ends_with(RUN_FILE) {
        let folder = run_folder(path);
        checks.extend(check_operations(&record, folder));
        checks.extend(check_files(&record, folder)?);
        let views = [TEXT_REPORT, HTML_REPORT].map(|view| folder.join(view));
        checks.extend(views.iter().filter_map(|view| check_view(&record, &digest, view)));
    } else {
        checks.extend(check_view(&record, &digest, path));
    }
    checks.extend(check_signature(path, signers)?);
    Ok((record, checks))
}

fn check_digest(record: &Record, own: &str, saved: Option<String>) -> Recheck {
    const SHORTEST: usize = 16;
    let Some(saved) = saved else {
        // Older releases did not note the files either.
        return match record.files.is_empty() {
            true => Recheck::unknown("the record has no digest, as those of older releases"),
            false => Recheck::new(false, "the record has lost its digest"),
        };
    };
    let agrees = saved.len() >= SHORTEST && own.starts_with(&saved);
    Recheck::new(agrees, format!("the digest of the record {own}, saved with it {saved}"))
}

/// Files may be added to a folder, and may stay behind when the record is given away.
fn check_files(record: &Record, folder: &Path) -> Result<Vec<Recheck>, RecordError> {
    let check = |(name, saved): (&String, &String)| {
        let path = folder.join(name);
        // A record of others must not have any file of this machine read.
        if Path::new(name).file_name() != Some(OsStr::new(name)) || !path.is_file() {
            return Ok(Recheck::unknown(format!("{name} is not here")));
        }
        let agrees = file_digest(&path)? == *saved;
        let words = if agrees { "is as it was saved" } else { "was changed after the run" };
        Ok(Recheck::new(agrees, format!("{name} {words}")))
    };
    let mut lines: Vec<Recheck> = record.files.iter().map(check).collect::<Result<_, RecordError>>()?;
    let known = |name: &str| {
        [RUN_FILE, SIGNATURE_FILE, TEXT_REPORT, HTML_REPORT].contains(&name)
            || record.files.contains_key(name)
    };
    let entries = fs::read_dir(folder).map_err(RecordError::io("reading", folder))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let others = names.filter(|name| !known(name)).sorted();
    lines.extend(others.map(|name| Recheck::unknown(format!("{name} is not known to the record"))));
    Ok(lines)
}

const DIGEST_OF_VIEW: &str = "Digest of all above:";

/// The last line tells other releases, which make other views, whether somebody edited it.
pub fn with_digest(view: &str) -> String {
    let line = format!("{DIGEST_OF_VIEW} {}", digest_of_text(view));
    if is_page(view) { format!("{view}<!-- {line} -->\n") } else { format!("{view}{line}\n") }
}

fn is_page(view: &str) -> bool {
    view.starts_with("<!DOCTYPE html>")
}

fn check_view(record: &Record, digest: &str, path: &Path) -> Option<Recheck> {
    let name = path.file_name()?.to_string_lossy();
    let saved = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    let is_page = name == HTML_REPORT || is_page(&saved);
    if !is_page && name != TEXT_REPORT {
        return None;
    }
    let differs = |why: &str| {
        Some(Recheck::new(false, format!("{name} {why}; `slob report` shows what the record says")))
    };
    let last = saved.trim_end().rfind('\n').map_or(0, |end| end + 1);
    let (view, line) = saved.split_at(last);
    let has_digest = line.contains(DIGEST_OF_VIEW);
    if has_digest && with_digest(view) != saved {
        return differs("was edited: its digest is another one");
    }
    let made =
        if is_page { run_page(record) } else { with_hidden_shown(&text_report(record, None)).into_owned() };
    // `slob report` prints a view without its digest.
    if made == if has_digest { view } else { &saved } {
        return Some(Recheck::new(true, format!("{name} is what the record says")));
    }
    if !has_digest && record.files.is_empty() {
        return Some(Recheck::unknown(format!("{name} has no digest, as those of older releases")));
    }
    let holds_it = || !is_page || read_digests(path).is_ok_and(|(held, _)| held == digest);
    if !has_digest || digest_in_report(view) != Some(digest) || !holds_it() {
        return differs("is not of this record");
    }
    Some(Recheck::unknown(format!("{name} was made by another release, whose views are others")))
}

fn check_signature(path: &Path, signers: Option<&Signers>) -> Result<Option<Recheck>, RecordError> {
    let (record, place) = (record_file(path), signature_file(path));
    let signature = match fs::read(&place) {
        Ok(signature) => signature,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let words = "the record is not signed: `slob run --sign KEY` does, or `ssh-keygen -Y sign -f KEY -n file run.json`";
            return Ok(signers.map(|_| Recheck::new(false, words)));
        }
        Err(error) => return Err(RecordError::io("reading", place)(error)),
    };
    let text = fs::read(&record).map_err(RecordError::io("reading", &record))?;
    Ok(Some(match (Signer::of(&text, &signature), signers) {
        (Err(error @ SignatureError::Kind(_)), None) => Recheck::unknown(format!("the signature {error}")),
        (Err(error), _) => Recheck::new(false, format!("the signature {error}")),
        (Ok(signer), signers) => {
            let agrees = signers.is_none_or(|signers| signers.include(&signer));
            let whose = match (signers, agrees) {
                (None, _) => "--signed-by KEY.pub tells whether it is theirs",
                (Some(_), true) => "as it must be",
                (Some(_), false) => "and by none that --signed-by names",
            };
            let key = signer.fingerprint();
            Recheck::new(agrees, format!("the record is signed with the key {key}, {whose}"))
        }
    }))
}

fn check_operations(record: &Record, folder: &Path) -> Vec<Recheck> {
    match read_operations(folder) {
        Ok(None) => Vec::new(),
        Ok(Some(kept)) if kept.whole => recheck_operations(record, &kept.operations),
        Ok(Some(_)) => vec![Recheck::unknown("the list of operations ends before the run does")],
        Err(error) => vec![Recheck::new(false, error.to_string())],
    }
}
