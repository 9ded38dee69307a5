//! The journal of a run's UPDATEs: which were sent to the database, and which it acknowledged as committed. After a crash
//! it proves or disproves durability.
//!
//! Each line is one fact. Times are microseconds since the journal was created.
//!
//! ```text
//! openslob-updates 1             the format
//! load SEED                      the load of the data
//! b SESSION TIME                 a batch is about to be sent
//! u SCHEMA KEY BLOCKS STAMP      one of its UPDATEs
//! e SESSION TIME COUNT           its answer: the first COUNT of its UPDATEs are committed
//! ```
//!
//! An unanswered UPDATE may be there or not. Each write goes to the operating system at once, so the journal survives a kill
//! of this program; it survives a power failure only on another machine's disk. An incomplete last line is ignored.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use slob_engine::{EngineError, ErrorKind, Result, SchemaState};
use slob_method::{Action, KeyRange, Op, RowState, SchemaNo, Stamp};

use crate::prepare::Prepared;
use crate::{RunError, lock};

const TITLE: &str = "openslob-updates 1";

fn refuse(path: &Path, why: impl std::fmt::Display) -> RunError {
    RunError::usage(format!("the journal {}: {why}", path.display()))
}

#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    begun: Instant,
    writer: Mutex<(File, String)>,
}

impl Journal {
    pub(crate) fn create(path: &Path, prepared: &Prepared) -> Result<Self, RunError> {
        if prepared.workload.redo_of_updates().is_none() {
            return Err(refuse(path, "UPDATE_PCT is 0, so there is nothing to note; set it above 0"));
        }
        let Some(schema) = prepared.schemas.first() else {
            return Err(refuse(path, "this target keeps no data, so no update can be lost"));
        };
        let mut file = File::create_new(path)
            .map_err(|error| refuse(path, format!("{error}; name a file that is not there yet")))?;
        let head = format!("{TITLE}\nload {}\n", schema.load.seed);
        if let Err(error) = file.write_all(head.as_bytes()) {
            // A partial head would block the next try.
            let _ = std::fs::remove_file(path);
            return Err(refuse(path, error));
        }
        let writer = Mutex::new((file, String::new()));
        Ok(Self { path: path.to_path_buf(), begun: Instant::now(), writer })
    }

    pub(crate) fn sending(&self, session: u32, ops: &[Op]) -> Result<()> {
        self.note(|text, time_us| {
            let mut is_first = true;
            for op in ops {
                let Action::Update(range, stamp) = op.action else { continue };
                if std::mem::take(&mut is_first) {
                    writeln!(text, "b {session} {time_us}")?;
                }
                let number = stamp.number();
                writeln!(text, "u {} {} {} {number:016x}", op.schema, range.first, range.blocks)?;
            }
            Ok(())
        })
    }

    pub(crate) fn answered(&self, session: u32, done: &[Op]) -> Result<()> {
        let count = done.iter().filter(|op| matches!(op.action, Action::Update(..))).count();
        self.note(|text, time_us| match count {
            0 => Ok(()),
            _ => writeln!(text, "e {session} {time_us} {count}"),
        })
    }

    /// Takes the time under the lock, so that lines are in order.
    fn note(&self, write: impl FnOnce(&mut String, u128) -> std::fmt::Result) -> Result<()> {
        let mut writer = lock(&self.writer);
        let (file, text) = &mut *writer;
        text.clear();
        let _ = write(text, self.begun.elapsed().as_micros());
        file.write_all(text.as_bytes()).map_err(|error| {
            EngineError::new(
                ErrorKind::Fatal,
                format!("writing the journal {}", self.path.display()),
                error.to_string(),
            )
            .with_advice("make room for it, or run without --durability")
        })
    }
}

/// Acknowledged updates of a journal.
#[derive(Debug)]
pub struct Acknowledged {
    load_seed: u64,
    pub updates: u64,
    rows: HashMap<(SchemaNo, u64), UpdatedRow>,
}

#[derive(Debug, Default)]
struct UpdatedRow {
    /// The last acknowledgement of an update of it: session and time in microseconds.
    acknowledged: Option<(u32, u64)>,
    /// The last update of each session, without those known to be overwritten.
    possible: Vec<PossibleUpdate>,
}

#[derive(Debug)]
struct PossibleUpdate {
    stamp: Stamp,
    session: u32,
    /// An unanswered update may happen at any time.
    ended_us: Option<u64>,
}

#[derive(Debug, Default)]
struct SentBatch {
    began_us: u64,
    updates: Vec<(SchemaNo, KeyRange, Stamp)>,
}

enum Fact {
    Batch { session: u32, time_us: u64 },
    Update(SchemaNo, KeyRange, Stamp),
    End { session: u32, time_us: u64, count: usize },
}

impl Acknowledged {
    /// Takes about 100 bytes of memory for each updated row.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let file = File::open(path).map_err(|error| refuse(path, error))?;
        let lines = whole_lines(BufReader::new(file)).map(|line| line.map_err(|error| error.to_string()));
        Self::from_lines(lines).map_err(|why| refuse(path, why))
    }

    fn from_lines(mut lines: impl Iterator<Item = Result<String, String>>) -> Result<Self, String> {
        let title = lines.next().transpose()?.unwrap_or_default();
        if title != TITLE {
            return Err(format!(
                "its first line is not '{TITLE}'; name a file that `slob run --durability` made"
            ));
        }
        let load = lines.next().transpose()?.unwrap_or_default();
        let load_seed = load.strip_prefix("load ").and_then(|seed| seed.parse().ok());
        let load_seed = load_seed.ok_or("its second line does not say which load it belongs to")?;
        let mut found = Self { load_seed, updates: 0, rows: HashMap::new() };
        let mut sent: HashMap<u32, SentBatch> = HashMap::new();
        let mut writing = None;
        for (number, line) in (3..).zip(lines) {
            let line = line?;
            match parse(&line).ok_or_else(|| format!("line {number}, '{line}', says nothing"))? {
                Fact::Batch { session, time_us } => {
                    let before = sent.insert(session, SentBatch { began_us: time_us, updates: Vec::new() });
                    found.add_unanswered(session, before.unwrap_or_default());
                    writing = Some(session);
                }
                Fact::Update(schema, range, stamp) => {
                    let batch = writing.and_then(|session| sent.get_mut(&session));
                    let batch = batch.ok_or_else(|| format!("line {number} belongs to no batch"))?;
                    batch.updates.push((schema, range, stamp));
                }
                Fact::End { session, time_us, count } => {
                    let batch = sent.remove(&session).filter(|batch| count <= batch.updates.len());
                    let batch = batch.ok_or_else(|| format!("line {number} answers what was not sent"))?;
                    found.add_answered(session, batch, count, time_us);
                }
            }
        }
        sent.into_iter().for_each(|(session, batch)| found.add_unanswered(session, batch));
        Ok(found)
    }

    /// The first `count` updates are committed; the others are unknown.
    fn add_answered(&mut self, session: u32, mut batch: SentBatch, count: usize, ended_us: u64) {
        let unknown = batch.updates.split_off(count);
        self.updates += count as u64;
        for (schema, range, stamp) in batch.updates {
            for key in range.first..range.end() {
                let row = self.rows.entry((schema, key)).or_default();
                row.acknowledged = Some((session, ended_us));
                // It overwrites earlier updates of its session, and those that ended before it was sent.
                row.possible.retain(|other| {
                    other.ended_us.is_none_or(|ended| other.session != session && ended > batch.began_us)
                });
                row.possible.push(PossibleUpdate { stamp, session, ended_us: Some(ended_us) });
            }
        }
        self.add_unanswered(session, SentBatch { updates: unknown, began_us: batch.began_us });
    }

    fn add_unanswered(&mut self, session: u32, batch: SentBatch) {
        for (schema, range, stamp) in batch.updates {
            for key in range.first..range.end() {
                let row = self.rows.entry((schema, key)).or_default();
                row.possible.push(PossibleUpdate { stamp, session, ended_us: None });
            }
        }
    }

    pub fn rows(&self) -> usize {
        self.rows.values().filter(|row| row.acknowledged.is_some()).count()
    }

    /// Schemas must not have been loaded anew.
    pub(crate) fn check_schemas(&self, states: &[SchemaState]) -> Result<(), RunError> {
        if let Some(state) = states.iter().find(|state| state.load.seed != self.load_seed) {
            return Err(RunError::usage(format!(
                "the journal is of other data: schema {} was loaded with the seed {}, those of the journal with {}",
                state.schema, state.load.seed, self.load_seed
            )));
        }
        let is_there = |schema: SchemaNo| states.iter().any(|state| state.schema == schema);
        match self.rows.keys().find(|(schema, _)| !is_there(*schema)) {
            Some((schema, _)) => {
                Err(RunError::usage(format!("schema {schema} of the journal is not on the target")))
            }
            None => Ok(()),
        }
    }

    /// The row is sound, but lacks this update.
    pub(crate) fn missing(&self, schema: SchemaNo, key: u64, state: RowState) -> Option<String> {
        let row = self.rows.get(&(schema, key))?;
        let (session, at_us) = row.acknowledged?;
        let holds = match state {
            RowState::Updated(stamp) if row.possible.iter().any(|possible| possible.stamp == stamp) => {
                return None;
            }
            RowState::Updated(_) => "an update from before it, or of another run",
            RowState::Loaded => "what was loaded",
        };
        Some(format!(
            "lost an update that session {session} had been told is committed, {:.3} s after the start; it holds {holds}",
            at_us as f64 / 1e6
        ))
    }
}

/// A killed program may leave a last line without end.
fn whole_lines(mut reader: impl BufRead) -> impl Iterator<Item = std::io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(_) => line.strip_suffix('\n').map(|line| Ok(line.to_owned())),
            Err(error) => Some(Err(error)),
        }
    })
}

fn parse(line: &str) -> Option<Fact> {
    Some(match line.split(' ').collect::<Vec<_>>()[..] {
        ["b", session, time] => Fact::Batch { session: session.parse().ok()?, time_us: time.parse().ok()? },
        ["u", schema, first, blocks, stamp] => Fact::Update(
            SchemaNo::new(schema.parse().ok()?)?,
            KeyRange { first: first.parse().ok()?, blocks: blocks.parse().ok()? },
            Stamp::parse(stamp.as_bytes())?,
        ),
        ["e", session, time, count] => Fact::End {
            session: session.parse().ok()?,
            time_us: time.parse().ok()?,
            count: count.parse().ok()?,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(operation: u64) -> Stamp {
        Stamp::new(1, 1, operation)
    }

    fn update(key: u64, blocks: u16, operation: u64) -> String {
        format!("u 1 {key} {blocks} {:016x}", stamp(operation).number())
    }

    fn read(lines: &[&str]) -> Result<Acknowledged, String> {
        let head = [TITLE, "load 7"];
        Acknowledged::from_lines(head.iter().chain(lines).map(|line| Ok((*line).to_owned())))
    }

    /// True if row `key` may hold that operation; 0 is the loaded row.
    fn may_hold(found: &Acknowledged, key: u64, operation: u64) -> bool {
        let state = if operation == 0 { RowState::Loaded } else { RowState::Updated(stamp(operation)) };
        found.missing(SchemaNo::FIRST, key, state).is_none()
    }

    #[test]
    fn the_last_update_of_a_session_must_be_there() {
        let found = read(&["b 0 10", &update(5, 3, 1), &update(6, 1, 2), "e 0 20 2"]).unwrap();
        assert_eq!((found.updates, found.rows()), (2, 3));
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 7, 1) && may_hold(&found, 6, 2));
        assert!(!may_hold(&found, 5, 0) && !may_hold(&found, 6, 1) && !may_hold(&found, 6, 0));
        // A row without updates may hold anything.
        assert!(may_hold(&found, 8, 0) && may_hold(&found, 8, 9));
    }

    #[test]
    fn an_unanswered_update_may_be_there_or_not() {
        let found =
            read(&["b 0 10", &update(5, 1, 1), "e 0 20 1", "b 0 30", &update(5, 1, 2), &update(6, 1, 3)])
                .unwrap();
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 5, 2) && !may_hold(&found, 5, 0));
        assert!(may_hold(&found, 6, 0) && may_hold(&found, 6, 3));
        // The second half of a batch that failed half-way.
        let found = read(&["b 0 10", &update(5, 1, 1), &update(5, 1, 2), "e 0 20 1"]).unwrap();
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 5, 2));
        assert_eq!(found.updates, 1);
    }

    #[test]
    fn of_two_concurrent_sessions_either_may_be_the_last() {
        let both = ["b 0 10", &update(5, 1, 1), "b 1 15", &update(5, 1, 2), "e 0 20 1", "e 1 25 1"];
        let found = read(&both).unwrap();
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 5, 2) && !may_hold(&found, 5, 0));
        // An update that was sent after both were answered.
        let later = ["b 2 30", &update(5, 1, 3), "e 2 40 1"];
        let found = read(&[&both[..], &later].concat()).unwrap();
        assert!(may_hold(&found, 5, 3) && !may_hold(&found, 5, 1) && !may_hold(&found, 5, 2));
    }

    #[test]
    fn a_line_that_is_cut_off_is_not_counted() {
        let text = format!("{TITLE}\nload 7\nb 0 10\n{}\ne 0 20 1", update(5, 1, 1));
        let lines = || whole_lines(text.as_bytes()).map(|line| line.map_err(|error| error.to_string()));
        let found = Acknowledged::from_lines(lines()).unwrap();
        assert_eq!((found.updates, lines().count()), (0, 4));
    }

    #[test]
    fn a_file_that_is_no_journal_is_refused() {
        for lines in [&["x"][..], &["u 1 5 1 0"], &["e 0 20 1"], &["b 0 10", "e 0 20 1"], &["b 0 10 11"]] {
            assert!(read(lines).is_err(), "{lines:?}");
        }
        assert!(Acknowledged::from_lines(std::iter::once(Ok("{}".into()))).is_err());
    }
}
