//! A session's connection to one schema, with its prepared statements.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use rusqlite::ffi::{SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS, sqlite3_db_status};
use rusqlite::{Connection, InterruptHandle};
use slob_engine::{EngineError, ErrorKind, SessionPlan};
use slob_method::{COLUMN_BYTES, COLUMNS, KeyRange, SchemaNo, Stamp, UpdateText};
use slob_spec::RedoStress;

use crate::schema_file::{SchemaFile, signed};
use crate::statement::{Statement, Value};
use crate::tally::SessionCounts;
use crate::target::Place;
use crate::vfs::{self, Meter};
use crate::{checkpoint, pcache};

/// Whose turn it is to write a schema. SQLite lets one connection at a time write a file and has the others poll;
/// sessions of one engine queue up here instead.
pub(crate) type WriteTurn = Arc<Mutex<()>>;

/// A connection with its statements. The statements come first: they must go before the connection, and the
/// counts, which the connection's hook writes to, after it.
pub(crate) struct Link {
    select: Statement,
    scan: Option<Statement>,
    update: Option<Update>,
    connection: Connection,
    turn: WriteTurn,
    counts: Arc<SessionCounts>,
}

impl Link {
    /// Opens a schema for a session's operations.
    ///
    /// # Errors
    /// If the schema is not there, not ours or not complete; or SQLite's.
    pub(crate) fn open(
        place: &Place,
        schema: SchemaNo,
        plan: &SessionPlan,
        meter: &Meter,
        counts: &Arc<SessionCounts>,
        turn: WriteTurn,
    ) -> Result<Self, EngineError> {
        let file = SchemaFile::open(schema, &place.file(schema), place.io(), meter)?;
        if let Some(lack) = file.own_state()?.state.lack(format_args!("schema {schema}")) {
            return Err(lack.into_error(&format!("opening {}", file.path.display())));
        }
        file.batch("opening", include_str!("../sql/session.sql"))?;
        // Reading the marker has begun a cache of the default size: it starts over, in one piece of the right size.
        file.batch("opening", &format!("PRAGMA cache_size = {}", place.cache_blocks))?;
        let pages: u32 = file.value("opening", "PRAGMA page_count")?;
        file.batch("opening", "PRAGMA shrink_memory")?;
        // What a completed schema has already; a kill at the end of its load can leave it undone. It reads page 1,
        // for which the cache gets its memory: now, and not page by page while the test measures.
        let mode: String = pcache::populating(pages, || file.value("opening", "PRAGMA journal_mode = WAL"))?;
        if mode != "wal" {
            let step = format!("opening {}", file.path.display());
            return Err(EngineError::new(
                ErrorKind::Fatal,
                step,
                format!("its journal mode is {mode}, not WAL"),
            )
            .with_advice("put the data on a local file system with shared memory maps"));
        }
        let failed = |error: rusqlite::Error| file.failed("preparing statements for", &error);
        // SAFETY: the statements, the connection and the counts become fields of one Link, dropped in the order
        // that each of them needs and used through &mut of it only.
        let (select, scan, update) = unsafe {
            checkpoint::install(&file.connection, counts);
            let prepare = |sql| Statement::prepare(&file.connection, sql);
            let scan = plan.scans.then(|| prepare(include_str!("../sql/scan.sql"))).transpose();
            let update =
                plan.redo.map(|redo| Update::prepare(&file.connection, redo, &plan.update_text)).transpose();
            (
                prepare(include_str!("../sql/select.sql")).map_err(failed)?,
                scan.map_err(failed)?,
                update.map_err(failed)?,
            )
        };
        let SchemaFile { connection, .. } = file;
        Ok(Self { select, scan, update, connection, turn, counts: Arc::clone(counts) })
    }

    /// Counts c2 over a range of keys.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn select(&mut self, range: KeyRange) -> rusqlite::Result<u64> {
        let rows = self.select.run(&keys(range))?.map_or(0, i64::cast_unsigned);
        self.counts.rows_read.add(rows);
        Ok(rows)
    }

    /// Counts c2 over the scan table; `None` if the session was not opened for scans.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn scan(&mut self) -> rusqlite::Result<Option<u64>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let rows = scan.run(&[])?.map_or(0, i64::cast_unsigned);
        self.counts.rows_read.add(rows);
        Ok(Some(rows))
    }

    /// Changes a range of keys and commits; `None` if the session was not opened for updates.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn update(&mut self, range: KeyRange, stamp: Stamp) -> rusqlite::Result<Option<u64>> {
        let Some(update) = &mut self.update else { return Ok(None) };
        let turn = wait_for_turn(&self.turn, &self.counts);
        let rows = update.run(range, stamp)?;
        drop(turn);
        self.counts.commits.add(1);
        self.counts.rows_changed.add(rows);
        Ok(Some(rows))
    }

    /// From here on the connection's I/O counts no more: closing it may checkpoint, for which no session waits.
    pub(crate) fn stop_counting(&self) -> rusqlite::Result<()> {
        vfs::stop_counting(&self.connection)
    }

    /// A handle that ends a running statement from another thread.
    pub(crate) fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Adds the block visits since the last call to the session's counts.
    pub(crate) fn publish_visits(&mut self) {
        let visits = [SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS].map(|which| {
            let (mut current, mut highest): (c_int, c_int) = (0, 0);
            // SAFETY: the connection is open and used by this thread only; the last argument resets the counter,
            // which has 32 bits.
            unsafe { sqlite3_db_status(self.connection.handle(), which, &mut current, &mut highest, 1) };
            u64::try_from(current).unwrap_or(0)
        });
        self.counts.logical_reads.add(visits.iter().sum());
    }
}

/// Waits for the turn to write, and counts that if it takes waiting.
fn wait_for_turn<'a>(turn: &'a Mutex<()>, counts: &SessionCounts) -> MutexGuard<'a, ()> {
    match turn.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            let start = Instant::now();
            let guard = turn.lock().unwrap_or_else(PoisonError::into_inner);
            counts.write_waits.add(1);
            counts.write_wait_ns.add(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
            guard
        }
    }
}

fn keys(range: KeyRange) -> [Value<'static>; 2] {
    [range.first, range.end()].map(|key| Value::Int(signed(key)))
}

/// The UPDATE of a session.
struct Update {
    statement: Statement,
    text: Arc<UpdateText>,
    /// Which columns it sets; 0 is c2.
    columns: &'static [usize],
}

const LITE: &[usize] = &[0, COLUMNS - 1];
const HEAVY: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];
const _: () = assert!(HEAVY.len() == COLUMNS);

impl Update {
    /// # Safety
    /// As [`Statement::prepare`].
    unsafe fn prepare(
        connection: &Connection,
        redo: RedoStress,
        text: &Arc<UpdateText>,
    ) -> rusqlite::Result<Self> {
        let (sql, columns) = match redo {
            RedoStress::Lite => (include_str!("../sql/update_lite.sql"), LITE),
            RedoStress::Heavy => (include_str!("../sql/update_heavy.sql"), HEAVY),
        };
        // SAFETY: as required of our caller.
        let statement = unsafe { Statement::prepare(connection, sql)? };
        Ok(Self { statement, text: Arc::clone(text), columns })
    }

    fn run(&mut self, range: KeyRange, stamp: Stamp) -> rusqlite::Result<u64> {
        let mut texts = [[0; COLUMN_BYTES]; COLUMNS];
        let mut values = [Value::Int(0); COLUMNS + 2];
        values[..2].copy_from_slice(&keys(range));
        for (column, text) in self.columns.iter().zip(&mut texts) {
            self.text.fill_column(*column, stamp, text);
        }
        for (value, text) in values[2..].iter_mut().zip(&texts) {
            *value = Value::Text(text);
        }
        self.statement.run(&values[..2 + self.columns.len()])?;
        Ok(self.statement.changed())
    }
}
