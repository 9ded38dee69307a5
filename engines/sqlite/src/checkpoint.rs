//! When the write-ahead log is copied back into the database file.
//!
//! SQLite's own rule, a checkpoint whenever the log holds 1,000 pages, never waits for readers. Under a steady load
//! there is always a reader somewhere, so the log could not be started over and would grow without end. Past a
//! second limit our rule waits for the readers of that moment, which takes as long as one operation.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::ffi::{
    SQLITE_BUSY, SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_RESTART, SQLITE_LOCKED, SQLITE_OK, sqlite3,
    sqlite3_wal_checkpoint_v2, sqlite3_wal_hook,
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

/// Called after each commit, with the pages that the log then holds.
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
    match rc {
        SQLITE_OK => {
            if in_log == copied {
                // SAFETY: `install` was given counts that outlive the connection.
                unsafe { &*counts.cast::<SessionCounts>() }.checkpoints.add(1);
            }
            SQLITE_OK
        }
        // Another connection is at it, or readers hold on: the next commit tries again.
        SQLITE_BUSY | SQLITE_LOCKED => SQLITE_OK,
        other => other,
    }
}
