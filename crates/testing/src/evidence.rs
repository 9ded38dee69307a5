//! Rows of docs/evidence.md, stated by tests. `.ci/evidence` writes the rows that tests appended to the file `TEST_EVIDENCE`.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::panic::Location;
use std::{env, thread};

/// States what the calling test has just shown, and the result that it saw. The row names the test by its thread.
///
/// # Panics
/// If the file that `TEST_EVIDENCE` names can't be written.
#[track_caller]
#[allow(clippy::print_stdout, reason = "a test that is run by hand shows it too")]
pub fn shows(claim: &str, result: impl Display) {
    let (current, file) = (thread::current(), Location::caller().file());
    let row = format!("{file}\t{}\t{claim}\t{result}\n", current.name().unwrap_or("main"));
    print!("{row}");
    if let Some(path) = env::var_os("TEST_EVIDENCE") {
        // One write, so that rows of tests beside each other stay whole.
        let rows = File::options().create(true).append(true).open(path);
        rows.and_then(|mut rows| rows.write_all(row.as_bytes()))
            .expect("TEST_EVIDENCE names a file to write");
    }
}
