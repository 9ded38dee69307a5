//! Reading records: one, or many at the same time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde::Deserialize;

use crate::error::RecordError;
use crate::model::Record;
use crate::page::json_of;
use crate::skip::without_series;
use crate::{RECORD_VERSION, RUN_FILE};

/// Whether a reader needs the series of a run, which is nine tenths of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesWanted {
    /// It does.
    Whole,
    /// It does not: the series comes out empty, and reading takes a fraction of the time.
    Empty,
}

/// Reads a record: of `run.json`, of a run's directory, or of a page that holds it.
///
/// # Errors
/// If it can't be read, is not a record, or is of a later version.
pub fn read_record(path: &Path) -> Result<Record, RecordError> {
    read_record_with(path, SeriesWanted::Whole)
}

/// The same, with or without the series.
///
/// # Errors
/// If it can't be read, is not a record, or is of a later version.
pub fn read_record_with(path: &Path, series: SeriesWanted) -> Result<Record, RecordError> {
    let path = if path.is_dir() { path.join(RUN_FILE) } else { path.to_path_buf() };
    let text = fs::read(&path).map_err(RecordError::io("reading", &path))?;
    let json = match json_of(&text) {
        Ok(json) => json,
        Err(source) => return Err(RecordError::Json { path, source }),
    };
    let record = parse(&json, series);
    let found = match &record {
        Ok(record) => u64::from(record.record_version),
        // A record of a later version need not look like one of ours: say so rather than what is odd about it.
        Err(_) => version_of(&json).unwrap_or_default(),
    };
    if found > u64::from(RECORD_VERSION) {
        return Err(RecordError::Version { path, found, known: RECORD_VERSION });
    }
    record.map_err(|source| RecordError::Json { path, source })
}

/// Reads many records, as many at a time as there are CPUs, and keeps of each what `keep` makes of it: the records
/// themselves may be larger than memory. Each path comes with that, or with what is wrong with its record, in the order
/// of `paths`.
pub fn read_records<T: Send>(
    paths: &[PathBuf],
    series: SeriesWanted,
    keep: impl Fn(Record) -> T + Sync,
) -> Vec<(PathBuf, Result<T, RecordError>)> {
    let next = AtomicUsize::new(0);
    let read = Mutex::new(Vec::with_capacity(paths.len()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(index) else { break };
            let record = read_record_with(path, series).map(&keep);
            read.lock().unwrap_or_else(PoisonError::into_inner).push((index, path.clone(), record));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(paths.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
    read.sort_by_key(|(index, ..)| *index);
    read.into_iter().map(|(_, path, record)| (path, record)).collect()
}

fn parse(text: &[u8], series: SeriesWanted) -> Result<Record, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let record = match series {
        SeriesWanted::Whole => Record::deserialize(&mut json),
        SeriesWanted::Empty => without_series(&mut json),
    }?;
    json.end()?;
    Ok(record)
}

/// The version that a document says it has, if it says one.
fn version_of(text: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        record_version: u64,
    }
    serde_json::from_slice::<Head>(text).ok().map(|head| head.record_version)
}
