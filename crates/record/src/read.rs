//! Finding and reading records, from folders or pages, with or without their series.

use std::borrow::Cow;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;
use slob_host::{CpuSplit, CpuTimes, DeviceUse};
use slob_measure::OpCounts;
use slob_stats::{Histogram, Series};

use crate::error::RecordError;
use crate::record::{Interval, Record};
use crate::{RECORD_VERSION, RUN_FILE};

/// The number of a later run of the same second may follow RUN_NAME.
fn is_named(id: &str, name: &str, is_there: impl Fn(&str) -> bool) -> bool {
    let Some((stamp, named)) = id.split_once('-') else { return false };
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = || named.strip_prefix(name)?.strip_prefix('-').filter(|rest| is_number(rest));
    named == name || (numbered().is_some() && is_there(&format!("{stamp}-{name}")))
}

/// Finds a run by what a person types. The first match counts:
///
/// 1. a path of a run's folder or file;
/// 2. `latest` (or `last`), `latest~1` and so on;
/// 3. the whole id;
/// 4. the latest run of a RUN_NAME;
/// 5. the beginning of one id only;
/// 6. any part of one id only.
pub fn find_run(results: &Path, name: &str) -> Result<PathBuf, RecordError> {
    let direct = Path::new(name);
    if direct.join(RUN_FILE).is_file() || (direct.is_file() && !name.is_empty()) {
        return Ok(direct.to_path_buf());
    }
    find_run_in(results, name)
}

/// As [`find_run`], in the folder only: a path of that name does not count.
pub fn find_run_in(results: &Path, name: &str) -> Result<PathBuf, RecordError> {
    let runs = list_runs(results)?;
    if let Some(back) = steps_back(name) {
        return nth_latest(&runs, back, results, name);
    }
    let latest = |fits: &dyn Fn(&str) -> bool| runs.iter().rev().find(|path| fits(&id_of(path))).cloned();
    let is_there = |id: &str| runs.iter().any(|path| id_of(path) == id);
    if let Some(run) = latest(&|id| id == name).or_else(|| latest(&|id| is_named(id, name, is_there))) {
        return Ok(run);
    }
    let no_run = || RecordError::NoRun { name: name.into(), count: runs.len(), path: results.to_path_buf() };
    if name.is_empty() {
        return Err(no_run());
    }
    let beginning = only(&runs, name, |id| id.starts_with(name))?;
    beginning
        .map_or_else(|| only(&runs, name, |id| id.contains(name)), |run| Ok(Some(run)))?
        .ok_or_else(no_run)
}

/// Runs of a RUN_NAME, oldest first.
pub fn runs_named(results: &Path, name: &str) -> Result<Vec<PathBuf>, RecordError> {
    let runs = list_runs(results)?;
    let is_there = |id: &str| runs.iter().any(|path| id_of(path) == id);
    Ok(runs.iter().filter(|path| is_named(&id_of(path), name, is_there)).cloned().collect())
}

/// Runs of a folder or of a RUN_NAME, oldest first, or else that of [`find_run`]. An empty folder is an error.
pub fn find_runs(results: &Path, name: &str) -> Result<Vec<PathBuf>, RecordError> {
    let folder = Path::new(name);
    if !folder.is_dir() || folder.join(RUN_FILE).is_file() {
        let named = runs_named(results, name)?;
        return if named.is_empty() { Ok(vec![find_run(results, name)?]) } else { Ok(named) };
    }
    let runs = list_runs(folder)?;
    if runs.is_empty() { Err(RecordError::NoRuns { path: folder.to_path_buf() }) } else { Ok(runs) }
}

/// Runs of a RUN_NAME, oldest first, or else that of [`find_run_in`].
pub fn find_runs_in(results: &Path, name: &str) -> Result<Vec<PathBuf>, RecordError> {
    let named = runs_named(results, name)?;
    if named.is_empty() { Ok(vec![find_run_in(results, name)?]) } else { Ok(named) }
}

/// The folder of a run that [`find_run`] found.
pub fn run_folder(run: &Path) -> &Path {
    let parent = || run.parent().filter(|folder| !folder.as_os_str().is_empty());
    if run.is_dir() { run } else { parent().unwrap_or(Path::new(".")) }
}

/// The file of a record that is named by itself or by its folder.
pub fn record_file(run: &Path) -> PathBuf {
    if run.is_dir() { run.join(RUN_FILE) } else { run.to_path_buf() }
}

/// OpenSSH puts the signature beside the file that it signs.
pub fn signature_file(run: &Path) -> PathBuf {
    let mut path = record_file(run).into_os_string();
    path.push(".sig");
    path.into()
}

/// Published runs, oldest first. A missing folder has none.
pub fn list_runs(results: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let entries = match fs::read_dir(results) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RecordError::io("reading", results)(error)),
    };
    let visible = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.join(RUN_FILE).is_file()
    };
    let mut runs: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(visible).collect();
    runs.sort();
    Ok(runs)
}

/// `None` unless the name is such as `latest~2`.
fn steps_back(name: &str) -> Option<usize> {
    let rest = name.strip_prefix("latest").or_else(|| name.strip_prefix("last"))?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('~')?.parse().ok() }
}

fn nth_latest(runs: &[PathBuf], back: usize, results: &Path, name: &str) -> Result<PathBuf, RecordError> {
    if runs.is_empty() {
        return Err(RecordError::NoRun { name: name.into(), count: 0, path: results.to_path_buf() });
    }
    let too_far =
        || RecordError::TooFarBack { name: name.into(), count: runs.len(), path: results.to_path_buf() };
    runs.iter().rev().nth(back).cloned().ok_or_else(too_far)
}

fn only(runs: &[PathBuf], name: &str, fits: impl Fn(&str) -> bool) -> Result<Option<PathBuf>, RecordError> {
    let fitting: Vec<&PathBuf> = runs.iter().filter(|path| fits(&id_of(path))).collect();
    match fitting.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        several => {
            let ids = several.iter().map(|path| id_of(path)).collect();
            Err(RecordError::Ambiguous { name: name.into(), ids })
        }
    }
}

fn id_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The series to read, nine tenths of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesWanted {
    /// The whole series.
    Whole,
    /// No histograms. Verdicts need no more.
    Counts,
    /// No series: reading takes a fraction of the time.
    Empty,
}

/// Reads a record from `run.json`, a run's folder, or a page. Fails for a later version.
pub fn read_record(path: &Path) -> Result<Record, RecordError> {
    read_record_with(path, SeriesWanted::Whole)
}

/// Reads a record with or without its series. Fails as [`read_record`] does.
pub fn read_record_with(path: &Path, series: SeriesWanted) -> Result<Record, RecordError> {
    let (path, text) = read_file(path)?;
    let json = match json_of(&text) {
        Ok(json) => json,
        Err(source) => return Err(RecordError::Json { path, source }),
    };
    let record = parse(&json, series);
    let found = match &record {
        Ok(record) => u64::from(record.record_version),
        // A later version may have another form: its number is the better message.
        Err(_) => version_of(&json).unwrap_or_default(),
    };
    if found > u64::from(RECORD_VERSION) {
        return Err(RecordError::Version { path, found, known: RECORD_VERSION });
    }
    record.map_err(|source| RecordError::Json { path, source })
}

/// Keeps the result of `keep`, as records may exceed memory. Results have the order of `paths`.
pub fn read_records<T: Send>(
    paths: &[PathBuf],
    series: SeriesWanted,
    keep: impl Fn(Record) -> T + Sync,
) -> Vec<(PathBuf, Result<T, RecordError>)> {
    on_all_cpus(paths, |path| (path.clone(), read_record_with(path, series).map(&keep)))
}

/// Applies a function on all CPUs. Results have the order of the items.
pub fn on_all_cpus<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn parse(text: &[u8], series: SeriesWanted) -> Result<Record, serde_json::Error> {
    let whole = || serde_json::from_slice(text);
    match series {
        SeriesWanted::Whole => whole(),
        // Only a parse of the whole record gives the place of an error.
        _ => parse_little(text, series).or_else(|_| whole()),
    }
}

fn parse_little(text: &[u8], wanted: SeriesWanted) -> Result<Record, serde_json::Error> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow)]
        series: &'a RawValue,
    }
    let series = serde_json::from_slice::<Part<'_>>(text)?.series.get();
    let begin = series.as_ptr().addr() - text.as_ptr().addr();
    let empty = serde_json::to_vec(&Series::<Interval>::new(0, 2))?;
    let mut record: Record =
        serde_json::from_slice(&[&text[..begin], &empty, &text[begin + series.len()..]].concat())?;
    if wanted == SeriesWanted::Counts {
        record.series = serde_json::from_str::<Series<Counts>>(series)?.map(|Counts(interval)| interval);
    }
    Ok(record)
}

fn version_of(text: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        record_version: u64,
    }
    serde_json::from_slice::<Head>(text).ok().map(|head| head.record_version)
}

#[derive(Deserialize)]
#[serde(remote = "Interval")]
struct CountsOfInterval {
    #[serde(default)]
    ops: OpCounts,
    #[serde(default)]
    rows: u64,
    #[serde(skip)]
    latency: Histogram,
    #[serde(skip)]
    response: Histogram,
    physical_reads: Option<u64>,
    logical_reads: Option<u64>,
    redo_bytes: Option<u64>,
    sampled_s: Option<f64>,
    observed_s: Option<f64>,
    host_cpu: Option<CpuTimes>,
    db_cpu: Option<CpuSplit>,
    device: Option<DeviceUse>,
}

#[derive(Deserialize)]
struct Counts(#[serde(with = "CountsOfInterval")] Interval);

const PAGE_BEGIN: &[u8] = b"<!DOCTYPE html>";
const PACKED_BEGIN: &str = "<script type=\"text/plain\" id=\"record\">";
const PACKED_END: &str = "</script>";
/// Above any real record.
const MOST_BYTES: u64 = 1 << 30;

/// The element of a page that holds the record; empty if it can't be packed.
pub fn record_in_page(record: &Record) -> String {
    let packed = || {
        // A third of the default's time, for 2 % more bytes.
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(4));
        encoder.write_all(&serde_json::to_vec(record).ok()?).ok()?;
        encoder.finish().ok()
    };
    packed()
        .map(|packed| format!("{PACKED_BEGIN}{}{PACKED_END}\n", STANDARD.encode(packed)))
        .unwrap_or_default()
}

/// The record's file, which may be named by its folder, and its text.
pub(crate) fn read_file(path: &Path) -> Result<(PathBuf, Vec<u8>), RecordError> {
    let path = record_file(path);
    let text = fs::read(&path).map_err(RecordError::io("reading", &path))?;
    Ok((path, text))
}

/// The text itself if it is no page.
pub(crate) fn json_of(text: &[u8]) -> Result<Cow<'_, [u8]>, serde_json::Error> {
    if !text.starts_with(PAGE_BEGIN) {
        return Ok(Cow::Borrowed(text));
    }
    let broken = |why: &dyn std::fmt::Display| {
        serde_json::Error::custom(format!("the record in this page can't be unpacked: {why}"))
    };
    let page = std::str::from_utf8(text).map_err(|error| broken(&error))?;
    let packed = page.split_once(PACKED_BEGIN).and_then(|(_, rest)| Some(rest.split_once(PACKED_END)?.0));
    let packed = packed.ok_or_else(|| {
        serde_json::Error::custom("this page holds no run's record; name the run's folder or its report.html")
    })?;
    let packed = STANDARD.decode(packed).map_err(|error| broken(&error))?;
    let mut json = Vec::new();
    let mut unpacked = ZlibDecoder::new(packed.as_slice()).take(MOST_BYTES);
    unpacked.read_to_end(&mut json).map_err(|error| broken(&error))?;
    Ok(Cow::Owned(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of the run in the folder was published with a record of another name.
    #[test]
    fn a_signature_is_beside_the_record_that_it_signs() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(signature_file(folder.path()), folder.path().join("run.json.sig"));
        let other = folder.path().join("given.json");
        assert_eq!(signature_file(&other), folder.path().join("given.json.sig"));
    }

    fn page(element: &str) -> String {
        format!("<!DOCTYPE html>\n<html>{element}</html>\n")
    }

    #[test]
    fn a_page_without_a_record_or_with_a_broken_one_is_refused() {
        assert_eq!(json_of(b"{}").unwrap(), b"{}".as_slice());
        let refused = |text: &str| json_of(text.as_bytes()).unwrap_err().to_string();
        assert!(refused(&page("")).contains("holds no run's record"));
        assert!(refused(&page(&format!("{PACKED_BEGIN}*{PACKED_END}"))).contains("can't be unpacked"));
        assert!(refused(&page(&format!("{PACKED_BEGIN}AAAA{PACKED_END}"))).contains("can't be unpacked"));
    }
}
