//! Tests that need the machine, or a part of it, for themselves. Cargo runs one test binary after the other, and here tests wait
//! for each other.
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
use std::thread;
use std::time::Duration;

static CPUS: Mutex<()> = Mutex::new(());
static DEVICE: Mutex<()> = Mutex::new(());

/// Another test's failure is no reason to fail.
fn held(part: &'static Mutex<()>) -> MutexGuard<'static, ()> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tests that need a part of the machine run beside each other, if they begin first.
fn alone() -> [MutexGuard<'static, ()>; 2] {
    thread::sleep(Duration::from_millis(200));
    [&DEVICE, &CPUS].map(held)
}

/// For work in memory.
fn alone_on_the_cpus() -> MutexGuard<'static, ()> {
    held(&CPUS)
}

/// For few reads.
fn alone_on_the_device() -> MutexGuard<'static, ()> {
    held(&DEVICE)
}
