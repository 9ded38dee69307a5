//! Setting up SQLite for this process.

use std::ffi::c_int;
use std::sync::OnceLock;

use rusqlite::ffi;

/// SQLite could not be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "SQLite refused the set-up of {step} (result code {code}); something in this process used SQLite before the benchmark did"
)]
pub struct InitError {
    step: &'static str,
    code: c_int,
}

/// Configures SQLite, once: our page cache, no mutexes in connections (each belongs to one thread at a time), no
/// global memory statistics (a lock around every allocation), and our VFS. To be called before anything else
/// touches SQLite.
///
/// # Errors
/// [`InitError`] if SQLite was in use already.
pub fn initialise() -> Result<(), InitError> {
    static DONE: OnceLock<Result<(), InitError>> = OnceLock::new();
    *DONE.get_or_init(configure)
}

fn configure() -> Result<(), InitError> {
    let done = |step, code| if code == ffi::SQLITE_OK { Ok(()) } else { Err(InitError { step, code }) };
    // SAFETY: variadic calls with the arguments that SQLite documents for each option. SQLite refuses them
    // (SQLITE_MISUSE) if it is initialised, and copies the page cache's methods.
    unsafe {
        done("its threading", ffi::sqlite3_config(ffi::SQLITE_CONFIG_MULTITHREAD))?;
        done("its memory statistics", ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int))?;
        let methods = crate::pcache::METHODS;
        done("its page cache", ffi::sqlite3_config(ffi::SQLITE_CONFIG_PCACHE2, &raw const methods))?;
        done("itself", ffi::sqlite3_initialize())?;
    }
    done("our VFS", crate::vfs::register())
}
