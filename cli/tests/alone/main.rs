//! Tests that need the machine for themselves, because they measure what it can do, or who reads from its device. Cargo runs
//! one test binary after the other, so that no other test works meanwhile; and here one test waits for the other.
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

/// Waits until no other test of this program works, for as long as the value lives.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // That another one failed is no reason to fail.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
