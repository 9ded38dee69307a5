//! Tests that need the machine for themselves. Cargo runs one test binary after the other, and here one test waits for the other.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod device;
mod headroom;
mod neighbours;
mod open_loop;
mod saturate;
mod trend;
mod truth;
mod ways;

use std::sync::{Mutex, MutexGuard, PoisonError};

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // Another test's failure is no reason to fail.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
