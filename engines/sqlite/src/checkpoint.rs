//! When the write-ahead log is copied back into the database file.
//!
//! SQLite's own rule, a checkpoint whenever the log holds 1,000 pages, never waits for readers. Under a steady load
//! there is always a reader somewhere, so the log could not be started over and would grow without end. Past a
//! second limit our rule waits for the readers of that moment, which takes as long as one operation.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::ffi::{
    SQLITE_BUSY, SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_RESTART, SQLITE_INTERRUPT, SQLITE_LOCKED,
    SQLITE_OK, sqlite3, sqlite3_wal_checkpoint_v2, sqlite3_wal_hook,
};

use crate::tally::SessionCounts;

/// Pages in the log from which on each commit tries a checkpoint: SQLite's default.
pub(crate) const CHECKPOINT_PAGES: c_int = 1000;
/// Pages in the log from which on a checkpoint waits for readers, so that the log starts over: 128 MiB.
const RESTART_PAGES: c_int = 16_384;

/// Has the connection follow our rule, and count the checkpoints that copied the whole log.
///
/// # Safety
/// `counts` must live until the connection is closed.
pub(crate) unsafe fn install(connection: &Connection, counts: &Arc<SessionCounts>) {
    // SAFETY: the connection is open; SQLite passes the pointer to `on_commit` on the thread that commits, and
    // forgets it when the connection closes.
    unsafe { sqlite3_wal_hook(connection.handle(), Some(on_commit), Arc::as_ptr(counts).cast_mut().cast()) };
}

/// Called after each commit, with the pages that the log then holds. An error returned here becomes the error of
/// the statement, although what it did is committed: only what is wrong with the files may be one.
unsafe extern "C" fn on_commit(
    counts: *mut c_void,
    db: *mut sqlite3,
    name: *const c_char,
    pages: c_int,
) -> c_int {
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
                // SAFETY: `install` was given counts that outlive the connection.
                unsafe { &*counts.cast::<SessionCounts>() }.checkpoints.add(1);
            }
            SQLITE_OK
        }
        // Another connection is at it, readers hold on, or the session is being cancelled: a later commit, or the
        // end of the last connection, tries again.
        SQLITE_BUSY | SQLITE_LOCKED | SQLITE_INTERRUPT => SQLITE_OK,
        _ => rc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi::{sqlite3_commit_hook, sqlite3_interrupt};

    /// Interrupts the connection: after the last look of the statement itself, before the checkpoint's.
    unsafe extern "C" fn interrupt(db: *mut c_void) -> c_int {
        // SAFETY: the connection that the hook was installed on.
        unsafe { sqlite3_interrupt(db.cast()) };
        0
    }

    #[test]
    fn an_interrupted_checkpoint_does_not_fail_the_update_that_is_committed() {
        crate::library::initialise().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let counts = Arc::<SessionCounts>::default();
        let connection = Connection::open(dir.path().join("t.db")).unwrap();
        let sql = "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE t(x)";
        connection.execute_batch(sql).unwrap();
        let insert = format!("INSERT INTO t VALUES(zeroblob({}))", 4096 * (CHECKPOINT_PAGES + 50));
        // SAFETY: the connection is open, and closed before the counts go.
        unsafe {
            install(&connection, &counts);
            let db = connection.handle();
            sqlite3_commit_hook(db, Some(interrupt), db.cast());
            connection.execute_batch(&insert).unwrap();
            assert_eq!(counts.checkpoints.get(), 0, "it was interrupted");
            sqlite3_commit_hook(db, None, std::ptr::null_mut());
        }
        connection.execute_batch("INSERT INTO t VALUES(1)").unwrap();
        assert_eq!(counts.checkpoints.get(), 1, "the next commit made up for it");
        let rows: i64 = connection.query_row("SELECT COUNT(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 2);
        drop(connection);
    }
}
