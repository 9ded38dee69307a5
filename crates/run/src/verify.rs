//! Reads rows back and checks every byte.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Engine, EngineError, ErrorKind, Load, Result, SchemaState, Slice, within};
use slob_method::{RowState, Table};
use slob_record::Verification;

use crate::journal::Acknowledged;
use crate::load::fresh_seed;
use crate::{RunError, lock};

/// A full verification reads pieces of so many rows.
const PIECE: u64 = 4096;
/// Further faults are only counted.
const NAMED_FAULTS: usize = 100;
/// A failed run's server may be gone.
const SAMPLE_PATIENCE: Duration = Duration::from_secs(30);
const SAMPLE_PATIENCE_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// A server may die of damage; it is checked at intervals until its recovery.
const RECOVERY: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifySummary {
    pub rows: u64,
    /// Sound rows.
    pub updated: u64,
    /// Missing, damaged, or without an acknowledged update.
    pub faulty: u64,
    pub lost: u64,
    /// Schema, table, row, and what is wrong.
    pub faults: Vec<String>,
}

impl VerifySummary {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.updated += other.updated;
        self.faulty += other.faulty;
        self.lost += other.lost;
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

/// Checks every byte, and updates in `acknowledged`. `on_rows` gets the rows read so far, and all, from any thread. Fails if a
/// schema is incomplete or unreadable.
pub fn verify(
    engine: &dyn Engine,
    streams: u32,
    acknowledged: Option<&Acknowledged>,
    stop: &AtomicBool,
    on_rows: &(dyn Fn(u64, u64) + Sync),
) -> Result<VerifySummary, RunError> {
    let states = complete_schemas(engine)?;
    acknowledged.map_or(Ok(()), |acknowledged| acknowledged.check_schemas(&states))?;
    let pieces = pieces(&states);
    let total: u64 = pieces.iter().map(Piece::rows).sum();
    let reader = Reader::new(engine, stop, acknowledged);
    let next = Mutex::new(pieces.into_iter());
    let (read, found) = (AtomicU64::new(0), Mutex::new(Ok(VerifySummary::default())));
    thread::scope(|scope| {
        for _ in 0..streams.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(piece) = lock(&next).next() else {
                        break;
                    };
                    let result = reader.check(piece);
                    on_rows(read.fetch_add(piece.rows(), Ordering::Relaxed) + piece.rows(), total);
                    let mut found = lock(&found);
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

fn complete_schemas(engine: &dyn Engine) -> Result<Vec<SchemaState>, RunError> {
    let states = engine.schemas().map_err(RunError::while_preparing)?;
    if states.is_empty() {
        return Err(RunError::usage(
            "there is nothing to verify: the target holds no schemas loaded by slob",
        ));
    }
    match states.iter().find_map(|state| state.state.unusable(format_args!("schema {}", state.schema))) {
        Some(lack) => Err(RunError::usage(lack.to_string())),
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

impl Piece<'_> {
    fn rows(&self) -> u64 {
        self.end - self.first
    }

    /// `None` for a single row.
    fn halves(self) -> Option<Vec<Self>> {
        let middle = self.first.midpoint(self.end);
        (self.rows() > 1).then(|| vec![Self { end: middle, ..self }, Self { first: middle, ..self }])
    }

    fn name_of(&self, position: u64) -> String {
        format!("schema {}, {}, row {position}", self.state.schema, self.table.name())
    }
}

fn pieces(states: &[SchemaState]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for state in states {
        let slices = Load { slice_rows: PIECE, ..state.load }.slices(state.schema);
        pieces.extend(slices.map(|Slice { table, positions: Range { start, end }, .. }| Piece {
            state,
            table,
            first: start,
            end,
        }));
    }
    pieces
}

struct Reader<'a> {
    engine: &'a dyn Engine,
    stop: &'a AtomicBool,
    acknowledged: Option<&'a Acknowledged>,
    /// All readers share it until the server dies. Then one holds it alone: a damaged row can end the server and the reads of
    /// sound rows.
    turn: RwLock<()>,
    /// It did not recover: no reader waits again.
    gone: AtomicBool,
}

impl<'a> Reader<'a> {
    fn new(engine: &'a dyn Engine, stop: &'a AtomicBool, acknowledged: Option<&'a Acknowledged>) -> Self {
        Self { engine, stop, acknowledged, turn: RwLock::default(), gone: AtomicBool::default() }
    }

    fn check(&self, piece: Piece<'_>) -> Result<VerifySummary> {
        let together = self.turn.read().unwrap_or_else(PoisonError::into_inner);
        let result = self.read(piece);
        drop(together);
        match result {
            Err(error) if may_be_damage(&error) => {
                let _alone = self.turn.write().unwrap_or_else(PoisonError::into_inner);
                self.check_alone(piece, error)
            }
            other => other,
        }
    }

    /// Ever smaller parts isolate the rows that can't be read.
    fn check_alone(&self, piece: Piece<'_>, error: EngineError) -> Result<VerifySummary> {
        let parts = piece.halves().unwrap_or_else(|| vec![piece]);
        let mut found = VerifySummary::default();
        for part in parts {
            // The next part must not be blamed for a server that still recovers.
            if !self.is_back() {
                return Err(error);
            }
            match self.read(part) {
                Err(error) if may_be_damage(&error) && part.rows() > 1 => {
                    found.add(self.check_alone(part, error)?);
                }
                Err(error) if may_be_damage(&error) => {
                    found.fault(format!("{} can't be read: {error}", part.name_of(part.first)));
                }
                other => found.add(other?),
            }
        }
        Ok(found)
    }

    /// Waits for its recovery.
    fn is_back(&self) -> bool {
        let limit = Instant::now() + RECOVERY;
        while !self.stop.load(Ordering::Relaxed) && !self.gone.load(Ordering::Relaxed) {
            match self.engine.schemas() {
                Err(error) if error.kind() == ErrorKind::Connection && Instant::now() < limit => {
                    thread::sleep(RETRY);
                }
                answer => {
                    self.gone.store(answer.is_err(), Ordering::Relaxed);
                    return answer.is_ok();
                }
            }
        }
        false
    }

    fn read(&self, piece: Piece<'_>) -> Result<VerifySummary> {
        let Piece { state, table, first, end } = piece;
        let verifier = state.load.verifier(table, state.schema, state.filler_bytes);
        let mut rows = vec![None; piece.rows() as usize];
        let (mut visited, mut strays) = (0, 0);
        let slice = Slice { schema: state.schema, table, positions: first..end };
        self.engine.read_rows(&slice, &mut |row| {
            visited += 1;
            let place = row.position.checked_sub(first).and_then(|i| rows.get_mut(i as usize));
            let checked = verifier.check(row).map_err(|fault| fault.to_string());
            let checked = checked.map(|state| (row.custid, state));
            match place {
                Some(place @ None) => *place = Some(checked),
                // A damaged position makes a row look like another one: keep the sound one.
                Some(Some(known)) => {
                    strays += 1;
                    if known.is_err() {
                        *known = checked;
                    }
                }
                None => strays += 1,
            }
        })?;
        let mut found = VerifySummary { rows: visited, ..VerifySummary::default() };
        let mut missing = 0_u64;
        for (position, row) in (first..end).zip(rows) {
            match row {
                Some(Ok((key, row))) => {
                    found.updated += u64::from(row != RowState::Loaded);
                    let acknowledged = self.acknowledged.filter(|_| table == Table::Main);
                    if let Some(loss) = acknowledged.and_then(|all| all.missing(state.schema, key, row)) {
                        found.lost += 1;
                        found.fault(format!("{}, key {key}: {loss}", piece.name_of(position)));
                    }
                }
                Some(Err(fault)) => found.fault(format!("{}: {fault}", piece.name_of(position))),
                None => {
                    missing += 1;
                    found.fault(format!("{} is missing", piece.name_of(position)));
                }
            }
        }
        for _ in missing..strays {
            found.fault(format!(
                "a row that was never loaded was found among those from {}",
                piece.name_of(first)
            ));
        }
        Ok(found)
    }
}

/// A server can die of damage.
fn may_be_damage(error: &EngineError) -> bool {
    matches!(error.kind(), ErrorKind::Data | ErrorKind::Connection)
}

/// `None` if rows can't be verified. A silent server must not hold up the record.
pub(crate) fn sample(
    engine: &Arc<dyn Engine>,
    states: &[SchemaState],
    has_failed: bool,
) -> Option<Verification> {
    if states.is_empty() {
        return None;
    }
    let (asked, states) = (Arc::clone(engine), states.to_vec());
    let patience = if has_failed { SAMPLE_PATIENCE_AFTER_FAILURE } else { SAMPLE_PATIENCE };
    let found = within(patience, move || read_some(asked.as_ref(), &states));
    found.unwrap_or_else(|silence| {
        Some(Verification { rows: 0, updated: 0, faults: Vec::new(), unread: Some(silence.to_string()) })
    })
}

fn read_some(engine: &dyn Engine, states: &[SchemaState]) -> Option<Verification> {
    let (mut found, mut unread) = (VerifySummary::default(), None);
    let mut random = fresh_seed();
    let stop = AtomicBool::new(false);
    let reader = Reader::new(engine, &stop, None);
    for i in 0..Verification::SAMPLED_ROWS {
        let state = &states[i as usize % states.len()];
        // A linear congruential generator (Knuth's MMIX).
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let first = (random >> 16) % state.load.scale + 1;
        match reader.read(Piece { state, table: Table::Main, first, end: first + 1 }) {
            Ok(part) => found.add(part),
            // Other rows may be sound.
            Err(error) if error.kind() == ErrorKind::Data => found.fault(error.to_string()),
            // Another program loaded the rows, so their content is unknown.
            Err(error) if error.kind() == ErrorKind::Usage && are_there(engine, states) => return None,
            Err(error) if error.kind() == ErrorKind::Connection => {
                unread = Some(error.to_string());
                break;
            }
            Err(error) => {
                found.fault(error.to_string());
                break;
            }
        }
    }
    Some(Verification { rows: found.rows, updated: found.updated, faults: found.faults, unread })
}

fn are_there(engine: &dyn Engine, states: &[SchemaState]) -> bool {
    let now = engine.schemas().unwrap_or_default();
    states
        .iter()
        .all(|state| now.iter().any(|other| other.schema == state.schema && other.load == state.load))
}
