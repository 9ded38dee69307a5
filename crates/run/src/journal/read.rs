//! Reading the journal: what must be there after a crash.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use slob_engine::SchemaState;
use slob_method::{KeyRange, RowState, SchemaNo, Stamp};

use super::TITLE;
use crate::RunError;

/// What a database said is committed.
#[derive(Debug)]
pub struct Acknowledged {
    load_seed: u64,
    updates: u64,
    rows: HashMap<(SchemaNo, u64), Row>,
}

/// A row that was updated, or may have been.
#[derive(Debug, Default)]
struct Row {
    /// Who heard last that an update of it is committed, and when, in microseconds.
    heard: Option<(u32, u64)>,
    /// What it may hold: of each session the last update, less those that another is known to have come after.
    possible: Vec<Possible>,
}

#[derive(Debug)]
struct Possible {
    stamp: Stamp,
    session: u32,
    /// When its answer came; an update without one may happen at any time.
    ended_us: Option<u64>,
}

/// The UPDATEs that a session is waiting for.
#[derive(Debug, Default)]
struct Sent {
    began_us: u64,
    updates: Vec<(SchemaNo, KeyRange, Stamp)>,
}

/// A line that says something.
enum Line {
    Batch { session: u32, time_us: u64 },
    Update(SchemaNo, KeyRange, Stamp),
    End { session: u32, time_us: u64, count: usize },
}

impl Acknowledged {
    /// Reads a journal. Takes about 100 bytes of memory for each row that was updated.
    ///
    /// # Errors
    /// If it can't be read, or is not a journal.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let refuse = |why: String| RunError::usage(format!("the journal {}: {why}", path.display()));
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        let lines = whole_lines(BufReader::new(file)).map(|line| line.map_err(|error| error.to_string()));
        Self::from_lines(lines).map_err(refuse)
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
        let mut sent: HashMap<u32, Sent> = HashMap::new();
        let mut writing = None;
        for (number, line) in (3..).zip(lines) {
            let line = line?;
            match parse(&line).ok_or_else(|| format!("line {number}, '{line}', says nothing"))? {
                Line::Batch { session, time_us } => {
                    let before = sent.insert(session, Sent { began_us: time_us, updates: Vec::new() });
                    found.leave(session, before.unwrap_or_default());
                    writing = Some(session);
                }
                Line::Update(schema, range, stamp) => {
                    let batch = writing.and_then(|session| sent.get_mut(&session));
                    let batch = batch.ok_or_else(|| format!("line {number} belongs to no batch"))?;
                    batch.updates.push((schema, range, stamp));
                }
                Line::End { session, time_us, count } => {
                    let batch = sent.remove(&session).filter(|batch| count <= batch.updates.len());
                    let batch = batch.ok_or_else(|| format!("line {number} answers what was not sent"))?;
                    found.take(session, batch, count, time_us);
                }
            }
        }
        sent.into_iter().for_each(|(session, batch)| found.leave(session, batch));
        Ok(found)
    }

    /// The first `count` updates of a batch are committed; of the others nothing is known.
    fn take(&mut self, session: u32, mut batch: Sent, count: usize, ended_us: u64) {
        let unknown = batch.updates.split_off(count);
        self.updates += count as u64;
        for (schema, range, stamp) in batch.updates {
            for key in range.first..range.end() {
                let row = self.rows.entry((schema, key)).or_default();
                row.heard = Some((session, ended_us));
                // Those of its own session came before it, and so did those that had ended when it was sent.
                row.possible.retain(|other| {
                    other.ended_us.is_none_or(|ended| other.session != session && ended > batch.began_us)
                });
                row.possible.push(Possible { stamp, session, ended_us: Some(ended_us) });
            }
        }
        self.leave(session, Sent { updates: unknown, began_us: batch.began_us });
    }

    /// Nobody knows whether these happened.
    fn leave(&mut self, session: u32, batch: Sent) {
        for (schema, range, stamp) in batch.updates {
            for key in range.first..range.end() {
                let row = self.rows.entry((schema, key)).or_default();
                row.possible.push(Possible { stamp, session, ended_us: None });
            }
        }
    }

    /// Updates that are said to be committed.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Rows that must hold one of these.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.values().filter(|row| row.heard.is_some()).count()
    }

    /// Whether the schemas on a target are those that were updated.
    ///
    /// # Errors
    /// If one is missing, or was loaded anew.
    pub(crate) fn check_schemas(&self, states: &[SchemaState]) -> Result<(), RunError> {
        let other = states.iter().find(|state| state.load.seed != self.load_seed);
        if let Some(state) = other {
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

    /// What a sound row lacks; `None` if it holds what it must.
    pub(crate) fn missing(&self, schema: SchemaNo, key: u64, state: RowState) -> Option<String> {
        let row = self.rows.get(&(schema, key))?;
        let (session, at_us) = row.heard?;
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

/// Lines that end; the last one may not, where the program was killed while it wrote.
fn whole_lines(mut reader: impl BufRead) -> impl Iterator<Item = std::io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(_) => line.strip_suffix('\n').map(|line| Ok(line.to_owned())),
            Err(error) => Some(Err(error)),
        }
    })
}

fn parse(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    let sort = words.next()?;
    let mut number = || words.next()?.parse::<u64>().ok();
    let parsed = match sort {
        "b" => Line::Batch { session: u32::try_from(number()?).ok()?, time_us: number()? },
        "e" => Line::End {
            session: u32::try_from(number()?).ok()?,
            time_us: number()?,
            count: usize::try_from(number()?).ok()?,
        },
        "u" => {
            let schema = SchemaNo::new(u16::try_from(number()?).ok()?)?;
            let range = KeyRange { first: number()?, blocks: u16::try_from(number()?).ok()? };
            Line::Update(schema, range, Stamp::parse(words.next()?.as_bytes())?)
        }
        _ => return None,
    };
    words.next().is_none().then_some(parsed)
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

    /// Whether row `key` may hold the update of that number; 0 is what was loaded.
    fn may_hold(found: &Acknowledged, key: u64, operation: u64) -> bool {
        let state = if operation == 0 { RowState::Loaded } else { RowState::Updated(stamp(operation)) };
        found.missing(SchemaNo::FIRST, key, state).is_none()
    }

    #[test]
    fn the_last_update_of_a_session_is_the_one() {
        let found = read(&["b 0 10", &update(5, 3, 1), &update(6, 1, 2), "e 0 20 2"]).unwrap();
        assert_eq!((found.updates(), found.rows()), (2, 3));
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 7, 1) && may_hold(&found, 6, 2));
        assert!(!may_hold(&found, 5, 0) && !may_hold(&found, 6, 1) && !may_hold(&found, 6, 0));
        // A row that nobody updated may hold what it likes.
        assert!(may_hold(&found, 8, 0) && may_hold(&found, 8, 9));
    }

    #[test]
    fn what_was_not_answered_may_be_there_or_not() {
        let found =
            read(&["b 0 10", &update(5, 1, 1), "e 0 20 1", "b 0 30", &update(5, 1, 2), &update(6, 1, 3)])
                .unwrap();
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 5, 2) && !may_hold(&found, 5, 0));
        assert!(may_hold(&found, 6, 0) && may_hold(&found, 6, 3));
        // Of a batch that failed half-way, the second half.
        let found = read(&["b 0 10", &update(5, 1, 1), &update(5, 1, 2), "e 0 20 1"]).unwrap();
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 5, 2));
        assert_eq!(found.updates(), 1);
    }

    #[test]
    fn of_two_sessions_at_the_same_time_either_may_be_the_last() {
        let both = ["b 0 10", &update(5, 1, 1), "b 1 15", &update(5, 1, 2), "e 0 20 1", "e 1 25 1"];
        let found = read(&both).unwrap();
        assert!(may_hold(&found, 5, 1) && may_hold(&found, 5, 2) && !may_hold(&found, 5, 0));
        // One that was sent after both were answered.
        let later = ["b 2 30", &update(5, 1, 3), "e 2 40 1"];
        let found = read(&[&both[..], &later].concat()).unwrap();
        assert!(may_hold(&found, 5, 3) && !may_hold(&found, 5, 1) && !may_hold(&found, 5, 2));
    }

    #[test]
    fn a_line_that_is_cut_off_is_not_counted() {
        let text = format!("{TITLE}\nload 7\nb 0 10\n{}\ne 0 20 1", update(5, 1, 1));
        let lines = || whole_lines(text.as_bytes()).map(|line| line.map_err(|error| error.to_string()));
        let found = Acknowledged::from_lines(lines()).unwrap();
        assert_eq!((found.updates(), lines().count()), (0, 4));
    }

    #[test]
    fn what_is_no_journal_is_refused() {
        for lines in [&["x"][..], &["u 1 5 1 0"], &["e 0 20 1"], &["b 0 10", "e 0 20 1"], &["b 0 10 11"]] {
            assert!(read(lines).is_err(), "{lines:?}");
        }
        assert!(Acknowledged::from_lines(std::iter::once(Ok("{}".into()))).is_err());
    }
}
