//! Runs with their verdicts, for commands that list or compare many.
//!
//! Judging needs a run's series, which takes a hundred times as long to read as the rest. A file in the user's cache keeps the
//! rest and the verdicts. It counts only for the same record and program.

use std::env;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use slob_facts::{Judged, Run};
use slob_record::{Record, RecordError, SeriesWanted, read_record_with, record_file};
use slob_stats::Series;

static CACHE: LazyLock<Option<PathBuf>> = LazyLock::new(|| Some(user_cache()?.join("verdicts")));

/// The XDG Base Directory Specification names the folder.
pub(crate) fn user_cache() -> Option<PathBuf> {
    let from = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")))?;
    Some(cache.join("slob"))
}

/// When a file's content changes, so does its time or its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    modified_ns: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self { bytes: metadata.len(), modified_ns: modified.as_nanos().try_into().ok()? })
    }
}

/// Another build may judge otherwise.
static PROGRAM: LazyLock<Option<Stamp>> = LazyLock::new(|| Stamp::of(&env::current_exe().ok()?));

#[derive(Serialize, Deserialize)]
struct CachedRun {
    verdicts: Vec<Judged>,
    record: Record,
}

impl CachedRun {
    fn of(record: Record) -> Self {
        let verdicts = Run::of(&record).judged().to_vec();
        Self { verdicts, record: Record { series: Series::new(0, 2), ..record } }
    }
}

pub(crate) fn read<T>(path: &Path, keep: impl Fn(&Run<'_>) -> T) -> Result<T, RecordError> {
    read_through(CACHE.as_deref(), path, keep)
}

fn read_through<T>(
    cache: Option<&Path>,
    path: &Path,
    keep: impl Fn(&Run<'_>) -> T,
) -> Result<T, RecordError> {
    // The stamp precedes the reading, so that a record that changes meanwhile is read again.
    let place = cache.and_then(|cache| Place::of(cache, path));
    let kept = match place.as_ref().and_then(Place::kept) {
        Some(kept) => kept,
        None => {
            let kept = CachedRun::of(read_record_with(path, SeriesWanted::Counts)?);
            place.inspect(|place| place.keep(&kept));
            kept
        }
    };
    Ok(keep(&Run::judged_before(&kept.record, kept.verdicts)))
}

pub(crate) fn keep(folder: &Path) {
    let _ = read(folder, |_| ());
}

struct Place {
    file: PathBuf,
    made: Made,
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    from: Stamp,
    by: Stamp,
}

impl Place {
    fn of(cache: &Path, run: &Path) -> Option<Self> {
        let record = record_file(run).canonicalize().ok()?;
        let made = Made { from: Stamp::of(&record)?, by: PROGRAM.clone()? };
        let mut hasher = DefaultHasher::new();
        record.hash(&mut hasher);
        Some(Self { file: cache.join(format!("{:016x}.json", hasher.finish())), made })
    }

    fn kept(&self) -> Option<CachedRun> {
        let (made, kept): (Made, CachedRun) = serde_json::from_slice(&fs::read(&self.file).ok()?).ok()?;
        (made == self.made).then_some(kept)
    }

    /// A failure costs time only.
    fn keep(&self, kept: &CachedRun) {
        let Some(folder) = self.file.parent() else { return };
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let _ = serde_json::to_vec(&(&self.made, kept)).map(|kept| slob_record::replace(&self.file, &kept));
    }
}

#[cfg(test)]
mod tests {
    use slob_record::RUN_FILE;

    use super::*;

    fn copied_run(folder: &Path) -> PathBuf {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/record/tests/fixtures/v1");
        let run = slob_record::list_runs(&fixtures).unwrap().remove(0);
        fs::copy(run.join(RUN_FILE), folder.join(RUN_FILE)).unwrap();
        folder.to_path_buf()
    }

    fn verdicts(run: &Path) -> Vec<Judged> {
        read_through(Some(run), run, |figures| figures.judged().to_vec()).unwrap()
    }

    #[test]
    fn kept_verdicts_are_those_of_the_whole_record() {
        let folder = tempfile::tempdir().unwrap();
        let run = copied_run(folder.path());
        let record = slob_record::read_record(&run).unwrap();
        let whole = Run::of(&record);
        for _ in ["judged", "kept"] {
            read_through(Some(&run), &run, |figures| {
                assert_eq!(figures.judged(), whole.judged());
                assert!(*figures.record == Record { series: Series::new(0, 2), ..record.clone() });
            })
            .unwrap();
            assert!(Place::of(&run, &run).unwrap().kept().is_some());
        }
    }

    #[test]
    fn an_edited_record_is_judged_anew() {
        let folder = tempfile::tempdir().unwrap();
        let run = copied_run(folder.path());
        let before = verdicts(&run);
        let mut record = slob_record::read_record(&run).unwrap();
        record.status = slob_record::Status::Failed { error: "the disk went away".into() };
        fs::write(run.join(RUN_FILE), serde_json::to_vec(&record).unwrap()).unwrap();
        let after = verdicts(&run);
        assert_ne!(before, after);
        assert!(after.iter().any(|verdict| verdict.sentence.contains("the disk went away")), "{after:?}");
    }

    #[test]
    fn verdicts_of_another_program_or_a_damaged_file_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let run = copied_run(folder.path());
        let before = verdicts(&run);
        let file = Place::of(&run, &run).unwrap().file;
        let mut kept: (Made, CachedRun) = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        kept.0.by.bytes += 1;
        kept.1.verdicts.clear();
        for content in [serde_json::to_vec(&kept).unwrap(), b"[{}".to_vec()] {
            fs::write(&file, content).unwrap();
            assert_eq!(verdicts(&run), before);
        }
    }
}
