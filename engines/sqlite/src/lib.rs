//! OpenSLOB: the SQLite engine.
//!
//! SQLite runs inside this process, so both of its ends are ours: below it, a VFS that reads blocks with direct I/O and counts
//! ([`vfs`]); beside it, a page cache made for this load. The SQL in between is SQLite's, unchanged.
//!
//! A target is a folder. Each schema is a database file in it, so that sessions on different schemas share nothing, as with
//! the separate segments of a database server. Several sessions on one schema may update it too, but every commit of one
//! empties the others' caches of that file: SQLite can't tell them which blocks changed.

mod engine;
mod error;
mod load;
mod lock;
mod pcache;
mod rows;
mod schema_file;
mod session;
mod statement;
mod target;
pub mod vfs;

use std::ffi::c_int;
use std::sync::OnceLock;

use rusqlite::ffi;
use slob_engine::{EngineError, ErrorKind, Result};

pub use engine::KIND;

/// Configures SQLite, once and before its first use: our page cache and VFS, no mutexes in connections (one thread at a time
/// uses each), no global memory statistics (a lock around every allocation).
pub fn initialise() -> Result<()> {
    static DONE: OnceLock<Result<()>> = OnceLock::new();
    DONE.get_or_init(configure).clone()
}

fn configure() -> Result<()> {
    let done = |part: &str, code| match code {
        ffi::SQLITE_OK => Ok(()),
        _ => Err(EngineError::new(
            ErrorKind::Fatal,
            "setting up SQLite",
            format!(
                "SQLite refused the set-up of {part} (result code {code}); something in this process used \
                 SQLite before the benchmark did"
            ),
        )),
    };
    // SAFETY: variadic calls with the arguments that SQLite documents for each option. SQLite refuses them (SQLITE_MISUSE) if
    // it is initialised, and copies the page cache's methods.
    unsafe {
        done("its threading", ffi::sqlite3_config(ffi::SQLITE_CONFIG_MULTITHREAD))?;
        done("its memory statistics", ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int))?;
        let methods = pcache::METHODS;
        done("its page cache", ffi::sqlite3_config(ffi::SQLITE_CONFIG_PCACHE2, &raw const methods))?;
        done("itself", ffi::sqlite3_initialize())?;
    }
    done("our VFS", vfs::register())
}
