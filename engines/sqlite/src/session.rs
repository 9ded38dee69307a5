//! A session: its connections to schemas, the operations on them, and checkpoints of the write-ahead log.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::ffi::{
    SQLITE_BUSY, SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_RESTART, SQLITE_DBSTATUS_CACHE_HIT,
    SQLITE_DBSTATUS_CACHE_MISS, SQLITE_INTERRUPT, SQLITE_LOCKED, SQLITE_OK, sqlite3, sqlite3_commit_hook,
    sqlite3_db_status, sqlite3_wal_checkpoint_v2, sqlite3_wal_hook,
};
use rusqlite::{Connection, ErrorCode, InterruptHandle};
use slob_engine::{
    Cancel, CancelToken, EngineError, ErrorKind, Outcome, Perform, Result, Session, SessionPlan,
    execute_each, lock,
};
use slob_method::{Action, Batch, COLUMN_BYTES, COLUMNS, KeyRange, Op, SchemaNo, Stamp, UpdateText};
use slob_server::{Kind, homes};
use slob_spec::RedoStress;
use slob_stats::{Histogram, SharedHistogram, nanoseconds};

use crate::counts::{SessionCounts, Tally};
use crate::error::failed;
use crate::pcache;
use crate::schema_file::{SchemaFile, signed};
use crate::statement::{Statement, Value};
use crate::target::Place;
use crate::vfs::{self, Meter};

/// Asking SQLite takes about as long as visiting a block.
const PUBLISH_EVERY: Duration = Duration::from_millis(1);

/// All sessions of a folder share it.
pub(crate) struct Inner {
    pub(crate) place: Place,
    pub(crate) session_meter: Meter,
    pub(crate) other_meter: Meter,
    pub(crate) tally: Tally,
    pub(crate) turns: Mutex<BTreeMap<SchemaNo, Arc<WriteTurn>>>,
}

impl Inner {
    pub(crate) fn write_turn(&self, schema: SchemaNo) -> Arc<WriteTurn> {
        Arc::clone(lock(&self.turns).entry(schema).or_default())
    }

    pub(crate) fn commits(&self) -> Histogram {
        let mut commits = Histogram::new();
        lock(&self.turns).values().for_each(|turn| commits.merge(&turn.commits.snapshot()));
        commits
    }
}

pub(crate) struct SqliteSession {
    links: Vec<(SchemaNo, Link)>,
    counts: Arc<SessionCounts>,
    canceller: Arc<Canceller>,
    published: Instant,
    inner: Arc<Inner>,
}

struct Canceller {
    alarm: CancelToken,
    running: Vec<InterruptHandle>,
}

impl Cancel for Canceller {
    fn cancel(&self) {
        self.alarm.cancel();
        self.running.iter().for_each(InterruptHandle::interrupt);
    }
}

impl SqliteSession {
    pub(crate) fn open(inner: &Arc<Inner>, plan: &SessionPlan) -> Result<Self> {
        let counts = inner.tally.open();
        let canceller = Arc::new(Canceller { alarm: CancelToken::default(), running: Vec::new() });
        let inner = Arc::clone(inner);
        let mut session = Self { links: Vec::new(), counts, canceller, published: Instant::now(), inner };
        for (schema, _) in homes(plan.home, plan.hot_schema) {
            let Inner { place, session_meter, .. } = &*session.inner;
            let turn = session.inner.write_turn(schema);
            let link = Link::open(place, schema, plan, session_meter, &session.counts, turn)?;
            session.links.push((schema, link));
        }
        let running = session.links.iter().map(|(_, link)| link.connection.get_interrupt_handle()).collect();
        session.canceller = Arc::new(Canceller { alarm: CancelToken::default(), running });
        Ok(session)
    }

    fn failed(&self, op: &Op, error: &rusqlite::Error) -> EngineError {
        // An interrupted statement may only report that its transaction is gone.
        let rolled_back = error.sqlite_error_code() == Some(ErrorCode::OperationAborted);
        if rolled_back && self.canceller.alarm.is_cancelled() {
            return EngineError::new(ErrorKind::Cancelled, op.to_string(), "cancelled");
        }
        failed(op.to_string(), error, &self.inner.session_meter)
    }

    fn end_transactions(&mut self, result: Result<()>) -> Result<()> {
        for (_, link) in &mut self.links {
            if result.is_err() {
                link.roll_back();
            } else if let Err(error) = link.commit() {
                link.roll_back();
                return Err(failed("ending a batch", &error, &self.inner.session_meter));
            }
        }
        result
    }

    fn publish_visits(&mut self) {
        self.links.iter_mut().for_each(|(_, link)| link.publish_visits());
    }
}

impl Perform for SqliteSession {
    fn perform(&mut self, op: &Op) -> Result<u64> {
        let link = self.links.iter_mut().find(|(schema, _)| *schema == op.schema).map(|(_, link)| link);
        let result = match (link, op.action) {
            (Some(link), Action::Select(range)) => link.select(range).map(Some),
            (Some(link), Action::Update(range, stamp)) => link.update(range, stamp, op.commits),
            (Some(link), Action::Scan) => link.scan(),
            (None, _) => Ok(None),
        };
        let rows = result.map_err(|error| self.failed(op, &error))?;
        rows.ok_or_else(|| {
            let message = "the session was not opened for such an operation";
            EngineError::new(ErrorKind::Usage, op.to_string(), message)
        })
    }

    fn performed(&mut self, ended: Instant) {
        if ended - self.published >= PUBLISH_EVERY {
            self.publish_visits();
            self.published = ended;
        }
    }
}

impl Session for SqliteSession {
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        outcome.clear();
        self.published = Instant::now();
        let canceller = Arc::clone(&self.canceller);
        let result = execute_each(self, batch, deadline, &canceller.alarm, outcome);
        let result = self.end_transactions(result);
        self.publish_visits();
        result
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        let canceller: Arc<dyn Cancel> = Arc::<Canceller>::clone(&self.canceller);
        Some(canceller)
    }
}

impl Drop for SqliteSession {
    fn drop(&mut self) {
        // The last connection checkpoints the rest of its log, while the test may still measure other sessions.
        for (_, link) in &self.links {
            // Without our VFS, nothing is counted.
            let _ = vfs::stop_counting(&link.connection);
        }
        self.links.clear();
        self.inner.tally.close(&self.counts);
    }
}

/// SQLite lets one connection write and makes the others poll; sessions queue here instead.
#[derive(Default)]
pub(crate) struct WriteTurn {
    is_taken: Mutex<bool>,
    freed: Condvar,
    /// Only the session whose turn it is records: its wait for the turn, and SQLite's time.
    pub(crate) commits: SharedHistogram,
}

impl WriteTurn {
    fn take(self: &Arc<Self>, clock: &CommitClock) -> HeldTurn {
        let mut is_taken = lock(&self.is_taken);
        clock.waited_ns.set(0);
        if *is_taken {
            let start = Instant::now();
            let waited = self.freed.wait_while(is_taken, |is_taken| *is_taken);
            is_taken = waited.unwrap_or_else(PoisonError::into_inner);
            clock.waited_ns.set(nanoseconds(start.elapsed()));
            clock.counts.write_waits.add(1);
            clock.counts.write_wait_ns.add(clock.waited_ns.get());
        }
        *is_taken = true;
        HeldTurn(Arc::clone(self))
    }
}

struct HeldTurn(Arc<WriteTurn>);

impl Drop for HeldTurn {
    fn drop(&mut self) {
        *lock(&self.0.is_taken) = false;
        self.0.freed.notify_one();
    }
}

/// SQLite's hooks write it.
struct CommitClock {
    counts: Arc<SessionCounts>,
    turn: Arc<WriteTurn>,
    waited_ns: Cell<u64>,
    begun: Cell<Option<Instant>>,
}

/// Drop order matters: statements before the connection, and the clock, which its hooks write, after it.
struct Link {
    select: Statement,
    scan: Option<Statement>,
    update: Option<Update>,
    connection: Connection,
    transaction: Option<HeldTurn>,
    clock: Box<CommitClock>,
    counts: Arc<SessionCounts>,
}

impl Link {
    fn open(
        place: &Place,
        schema: SchemaNo,
        plan: &SessionPlan,
        meter: &Meter,
        counts: &Arc<SessionCounts>,
        turn: Arc<WriteTurn>,
    ) -> Result<Self> {
        let file = SchemaFile::open(schema, &place.file(schema), place.io(), meter)?;
        if let Some(lack) = file.own_state()?.state.unusable(format_args!("schema {schema}")) {
            return Err(lack.into_error(&format!("opening {}", file.path.display())));
        }
        file.batch("opening", include_str!("../sql/session.sql"))?;
        // Reading the marker has begun a cache of the default size.
        file.batch("opening", &format!("PRAGMA cache_size = {}", place.cache_blocks))?;
        let pages: u32 = file.value("opening", "PRAGMA page_count")?;
        file.batch("opening", "PRAGMA shrink_memory")?;
        // A kill at the end of the load may have prevented WAL mode. This reads page 1, so the cache gets its memory now and not
        // during the test.
        let mode: String = pcache::populating(pages, || file.value("opening", "PRAGMA journal_mode = WAL"))?;
        if mode != "wal" {
            let (step, message) =
                (format!("opening {}", file.path.display()), format!("its journal mode is {mode}, not WAL"));
            return Err(EngineError::new(ErrorKind::Fatal, step, message)
                .with_advice("put the data on a local file system with shared memory maps"));
        }
        let failed = |error: rusqlite::Error| file.failed("preparing statements for", &error);
        let counts = Arc::clone(counts);
        let clock = CommitClock {
            counts: Arc::clone(&counts),
            turn,
            waited_ns: Cell::default(),
            begun: Cell::default(),
        };
        let clock = Box::new(clock);
        // SAFETY: the statements, the connection and the clock become fields of one Link, which drops them in the order that
        // each needs and uses them only through &mut.
        let (select, scan, update) = unsafe {
            install_hooks(&file.connection, &clock);
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
        Ok(Self { select, scan, update, connection, transaction: None, clock, counts })
    }

    fn select(&mut self, range: KeyRange) -> rusqlite::Result<u64> {
        let rows = self.select.run(&keys(range))?.map_or(0, i64::cast_unsigned);
        self.counts.rows_read.add(rows);
        Ok(rows)
    }

    /// `None` if the session was not opened for scans.
    fn scan(&mut self) -> rusqlite::Result<Option<u64>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let rows = scan.run(&[])?.map_or(0, i64::cast_unsigned);
        self.counts.rows_read.add(rows);
        Ok(Some(rows))
    }

    /// `None` if the session was not opened for updates.
    fn update(&mut self, range: KeyRange, stamp: Stamp, commits: bool) -> rusqlite::Result<Option<u64>> {
        let Some(update) = &mut self.update else { return Ok(None) };
        if self.transaction.is_none() {
            let turn = self.clock.turn.take(&self.clock);
            if commits {
                let rows = update.run(range, stamp)?;
                drop(turn);
                self.counts.commits.add(1);
                self.counts.rows_changed.add(rows);
                return Ok(Some(rows));
            }
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            self.transaction = Some(turn);
        }
        let rows = update.run(range, stamp)?;
        self.counts.rows_changed.add(rows);
        if commits {
            self.commit()?;
        }
        Ok(Some(rows))
    }

    fn commit(&mut self) -> rusqlite::Result<()> {
        if self.transaction.is_some() {
            self.connection.execute_batch("COMMIT")?;
            self.transaction = None;
            self.counts.commits.add(1);
        }
        Ok(())
    }

    fn roll_back(&mut self) {
        if let Some(turn) = self.transaction.take() {
            // SQLite has rolled back already after some errors.
            let _ = self.connection.execute_batch("ROLLBACK");
            drop(turn);
        }
    }

    fn publish_visits(&mut self) {
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

fn keys(range: KeyRange) -> [Value<'static>; 2] {
    [range.first, range.end()].map(|key| Value::Int(signed(key)))
}

struct Update {
    statement: Statement,
    text: Arc<UpdateText>,
    /// 0 is c2.
    columns: &'static [usize],
}

impl Update {
    /// # Safety
    /// See [`Statement::prepare`].
    unsafe fn prepare(
        connection: &Connection,
        redo: RedoStress,
        text: &Arc<UpdateText>,
    ) -> rusqlite::Result<Self> {
        let sql = match redo {
            RedoStress::Lite => include_str!("../sql/update_lite.sql"),
            RedoStress::Heavy => include_str!("../sql/update_heavy.sql"),
        };
        // SAFETY: as required of our caller.
        let statement = unsafe { Statement::prepare(connection, sql)? };
        Ok(Self { statement, text: Arc::clone(text), columns: Kind::of_redo(redo).updated_columns() })
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

/// SQLite's default.
pub(crate) const CHECKPOINT_PAGES: c_int = 1000;
/// 128 MiB. A checkpoint at 1,000 pages never waits for readers. Under a steady load there is always one, so the log would grow
/// without end.
const RESTART_PAGES: c_int = 16_384;

/// # Safety
/// `clock` must live until the connection is closed, at its address.
unsafe fn install_hooks(connection: &Connection, clock: &CommitClock) {
    let clock = std::ptr::from_ref(clock).cast_mut().cast();
    // SAFETY: the connection is open; SQLite passes the pointer to the hooks on the thread that commits, and forgets it
    // when the connection closes.
    unsafe {
        sqlite3_commit_hook(connection.handle(), Some(before_commit), clock);
        sqlite3_wal_hook(connection.handle(), Some(on_commit), clock);
    }
}

/// Returns 0, as anything else would roll back.
unsafe extern "C" fn before_commit(clock: *mut c_void) -> c_int {
    // SAFETY: `install_hooks` was given a clock that outlives the connection.
    unsafe { &*clock.cast::<CommitClock>() }.begun.set(Some(Instant::now()));
    0
}

/// The statement is committed whatever this returns, so only failures of the files may be returned.
unsafe extern "C" fn on_commit(
    clock: *mut c_void,
    db: *mut sqlite3,
    name: *const c_char,
    pages: c_int,
) -> c_int {
    // SAFETY: `install_hooks` was given a clock that outlives the connection.
    let clock = unsafe { &*clock.cast::<CommitClock>() };
    if let Some(begun) = clock.begun.take() {
        clock.turn.commits.record(clock.waited_ns.take() + nanoseconds(begun.elapsed()));
    }
    if pages < CHECKPOINT_PAGES {
        return SQLITE_OK;
    }
    let mode = if pages < RESTART_PAGES { SQLITE_CHECKPOINT_PASSIVE } else { SQLITE_CHECKPOINT_RESTART };
    let (mut in_log, mut copied) = (0, 0);
    // SAFETY: SQLite's own arguments, passed on.
    let rc = unsafe { sqlite3_wal_checkpoint_v2(db, name, mode, &mut in_log, &mut copied) };
    match rc & 0xff {
        SQLITE_OK => {
            if in_log == copied {
                clock.counts.checkpoints.add(1);
            }
            SQLITE_OK
        }
        // A later commit tries again.
        SQLITE_BUSY | SQLITE_LOCKED | SQLITE_INTERRUPT => SQLITE_OK,
        _ => rc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi::sqlite3_interrupt;

    /// The last check for interrupts of the statement is over, the checkpoint's is not.
    unsafe extern "C" fn interrupt(db: *mut c_void) -> c_int {
        // SAFETY: the connection that the hook was installed on.
        unsafe { sqlite3_interrupt(db.cast()) };
        0
    }

    #[test]
    fn an_interrupted_checkpoint_does_not_fail_the_committed_update() {
        crate::initialise().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let clock = CommitClock {
            counts: Arc::default(),
            turn: Arc::default(),
            waited_ns: Cell::default(),
            begun: Cell::default(),
        };
        let connection = Connection::open(dir.path().join("t.db")).unwrap();
        let sql = "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE t(x)";
        connection.execute_batch(sql).unwrap();
        let insert = format!("INSERT INTO t VALUES(zeroblob({}))", 4096 * (CHECKPOINT_PAGES + 50));
        // SAFETY: the connection is open, and closed before the clock goes.
        unsafe {
            install_hooks(&connection, &clock);
            let db = connection.handle();
            sqlite3_commit_hook(db, Some(interrupt), db.cast());
            connection.execute_batch(&insert).unwrap();
            assert_eq!(clock.counts.checkpoints.get(), 0, "it was interrupted");
            sqlite3_commit_hook(db, None, std::ptr::null_mut());
        }
        connection.execute_batch("INSERT INTO t VALUES(1)").unwrap();
        assert_eq!(clock.counts.checkpoints.get(), 1, "the next commit does it");
        let rows: i64 = connection.query_row("SELECT COUNT(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 2);
        drop(connection);
    }
}
