//! Drills: what must not happen is made to happen, and what came of it is checked against a witness of its own.
//! docs/evidence.md says what each does and what was seen. `DRILLS=full` repeats each as often as that table says; without
//! it each is short enough for every change, with the same seed each time. `DRILLS_SEED` repeats one that failed.

mod chain;
mod crashes;
mod data;
mod guards;
mod hostile;
mod limits;
mod network;
pub(crate) mod secrets;
mod space;
mod truth;
mod two_at_once;
mod wire;

use crate::common::is_full;

/// How often a drill is repeated: usually, and for docs/evidence.md.
fn times(usual: usize, full: usize) -> usize {
    if is_full() { full } else { usual }
}
