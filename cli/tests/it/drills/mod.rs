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

use slob_testing::tries::{ensure, until};

use crate::common::{Called, Folder, is_full};

/// The server may not have noticed yet that its client is gone, and hold that one's locks. Any other failure is the test's.
fn when_unlocked(folder: &Folder, line: &str) -> Called {
    until(|| {
        let called = folder.slob(line);
        let is_held = ["another load or drop is at work", "a lock was held by", "holds a lock on our"]
            .iter()
            .any(|word| called.stderr.contains(word));
        assert!(called.code == 0 || is_held, "{}", called.all());
        ensure(called.code == 0, || called.stderr.clone()).map(|()| called)
    })
}

/// Repeats of a drill: usually, and for docs/evidence.md.
fn times(usual: usize, full: usize) -> usize {
    if is_full() { full } else { usual }
}
