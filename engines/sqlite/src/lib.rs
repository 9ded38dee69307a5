//! OpenSLOB: the SQLite engine. A VFS reads blocks with direct I/O and counts ([`vfs`]); a page cache is made for this load.
//!
//! A target is a folder with one database file for each schema, so sessions on different schemas share nothing. Several sessions
//! may update one schema. Each commit then empties the other connections' caches, as SQLite can't tell which blocks changed.

mod board;
mod counts;
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

/// Must run before the first use of SQLite. Mutexes in connections and global memory statistics would lock each call and each
/// allocation.
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
