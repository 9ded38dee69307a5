//! Reading rows back and checking every byte of them.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use slob_engine::{Engine, EngineError, ErrorKind, LoadState, SchemaState};
use slob_method::{RowState, SchemaNo, Table};
use slob_record::Verification;

use crate::RunError;
use crate::random::fresh_seed;

/// Rows read back after a run.
const SAMPLED_ROWS: u64 = 100;
/// Rows of one piece of a full verification.
const PIECE: u64 = 4096;
/// Faults that are named; the rest are counted.
const NAMED_FAULTS: usize = 100;

/// What a full verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifySummary {
    /// Rows that were read.
    pub rows: u64,
    /// Rows that an update had changed, soundly.
    pub updated: u64,
    /// Rows that are missing or not what they must be.
    pub faulty: u64,
    /// The first of these, in words: schema, table, row, and what is wrong.
    pub faults: Vec<String>,
}

impl VerifySummary {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.updated += other.updated;
        self.faulty += other.faulty;
        let room = NAMED_FAULTS.saturating_sub(self.faults.len());
        self.faults.extend(other.faults.into_iter().take(room));
    }

    fn fault(&mut self, fault: String) {
        self.faulty += 1;
        if self.faults.len() < NAMED_FAULTS {
            self.faults.push(fault);
        }
    }
}

/// Reads all rows of all complete schemas back, with `streams` threads, and checks every byte. `on_rows` hears,
/// from those threads, how many rows have been read of how many.
///
/// # Errors
/// If there is nothing to verify, or the target can't be read; with [`crate::RunErrorKind::Interrupted`] when
/// `stop` was set.
pub fn verify(
    engine: &dyn Engine,
    streams: u32,
    stop: &AtomicBool,
    on_rows: &(dyn Fn(u64, u64) + Sync),
) -> Result<VerifySummary, RunError> {
    let states = complete(engine)?;
    let pieces = pieces(&states);
    let total: u64 = pieces.iter().map(|piece| piece.end - piece.first).sum();
    let next = Mutex::new(pieces.into_iter());
    let (read, found) = (AtomicU64::new(0), Mutex::new(Ok(VerifySummary::default())));
    thread::scope(|scope| {
        for _ in 0..streams.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(piece) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                        break;
                    };
                    let result = check_piece(engine, piece.state, piece.table, piece.first..piece.end);
                    let rows = piece.end - piece.first;
                    on_rows(read.fetch_add(rows, Ordering::Relaxed) + rows, total);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    match (found.as_mut(), result) {
                        (Ok(found), Ok(part)) => found.add(part),
                        (Ok(_), Err(error)) => {
                            *found = Err(error);
                            break;
                        }
                        (Err(_), _) => break,
                    }
                }
            });
        }
    });
    if stop.load(Ordering::Relaxed) {
        return Err(RunError::interrupted("the verification"));
    }
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner)?)
}

fn complete(engine: &dyn Engine) -> Result<Vec<SchemaState>, RunError> {
    let states = engine.schemas().map_err(|error| RunError::while_preparing(&error))?;
    if states.is_empty() {
        return Err(RunError::usage("there is nothing to verify: the target holds no schemas of ours"));
    }
    match states.iter().find(|state| matches!(state.state, LoadState::Begun(_))) {
        Some(state) => Err(RunError::usage(format!(
            "the load of schema {} was not finished; `slob setup` with the same parameters resumes it",
            state.schema
        ))),
        None => Ok(states),
    }
}

#[derive(Clone, Copy)]
struct Piece<'a> {
    state: &'a SchemaState,
    table: Table,
    first: u64,
    end: u64,
}

fn pieces(states: &[SchemaState]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for state in states {
        for table in [Table::Main, Table::Scan] {
            let end = state.load.rows(table) + 1;
            pieces.extend((1..end).step_by(PIECE as usize).map(|first| Piece {
                state,
                table,
                first,
                end: end.min(first + PIECE),
            }));
        }
    }
    pieces
}

fn check_piece(
    engine: &dyn Engine,
    state: &SchemaState,
    table: Table,
    positions: std::ops::Range<u64>,
) -> Result<VerifySummary, EngineError> {
    let verifier = state.load.verifier(table, state.schema, state.filler_bytes);
    let mut found = VerifySummary::default();
    let mut seen = vec![false; (positions.end - positions.start) as usize];
    let place = |position: u64| place(state.schema, table, position);
    let result = engine.read_rows(state.schema, table, positions.clone(), &mut |row| {
        found.rows += 1;
        if let Some(seen) = row.position.checked_sub(positions.start).and_then(|i| seen.get_mut(i as usize)) {
            *seen = true;
        }
        match verifier.check(row) {
            Ok(RowState::Loaded) => {}
            Ok(RowState::Updated(_)) => found.updated += 1,
            Err(fault) => found.fault(format!("{}: {fault}", place(row.position))),
        }
    });
    match result {
        // Damage is what is looked for: the rows that it hides are missing, and the others go on being read.
        Err(error) if error.kind() == ErrorKind::Data => found.fault(error.to_string()),
        other => other?,
    }
    for (position, _) in positions.zip(&seen).filter(|(_, seen)| !**seen) {
        found.fault(format!("{} is missing", place(position)));
    }
    Ok(found)
}

fn place(schema: SchemaNo, table: Table, position: u64) -> String {
    format!("schema {schema}, {}, row {position}", table.name())
}

/// Reads some rows back, drawn at random over the main tables of all schemas; `None` where nothing is stored.
pub(crate) fn sample(engine: &dyn Engine, states: &[SchemaState]) -> Option<Verification> {
    if states.is_empty() {
        return None;
    }
    let mut found = VerifySummary::default();
    let mut random = fresh_seed();
    for i in 0..SAMPLED_ROWS {
        let state = &states[i as usize % states.len()];
        // A permutation of a random number is as good a draw as any.
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let position = (random >> 16) % state.load.scale + 1;
        match check_piece(engine, state, Table::Main, position..position + 1) {
            Ok(part) => found.add(part),
            Err(error) => {
                found.fault(error.to_string());
                break;
            }
        }
    }
    Some(Verification { rows: found.rows, updated: found.updated, faults: found.faults })
}
