//! What this build is made of.

use std::env::consts::{ARCH, OS};

use slob_record::RECORD_VERSION;

use crate::registry::ENGINES;

/// What `slob --version` says after the program's name: its version, its engines and what is in them, the record's
/// version, and what it was built for and how.
pub(crate) fn long() -> String {
    let libc = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
    let profile = if cfg!(debug_assertions) { "debug: its figures are of no use" } else { "optimised" };
    let mut text = format!("{}\nrecord    version {RECORD_VERSION}\n", env!("CARGO_PKG_VERSION"));
    for engine in ENGINES {
        text.push_str(&format!("engine    {}: {}\n", engine.scheme, (engine.library)()));
    }
    text.push_str(&format!("built     for {OS} {ARCH} ({libc}), {profile}"));
    text
}
