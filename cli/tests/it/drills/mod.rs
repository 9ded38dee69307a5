//! Drills cause faults and check the result against an independent witness. `DRILLS=full` repeats each as often as
//! docs/evidence.md says. Without it each is short, with the same seed each time; `DRILLS_SEED` repeats one.

mod chain;
mod crashes;
mod data;
mod guards;
mod hostile;
mod limits;
mod network;
pub(crate) mod secrets;
pub(crate) mod space;
mod truth;
mod two_at_once;
mod wire;

use crate::common::is_full;

/// Repeats of a drill: usually, and for docs/evidence.md.
fn times(usual: usize, full: usize) -> usize {
    if is_full() { full } else { usual }
}
