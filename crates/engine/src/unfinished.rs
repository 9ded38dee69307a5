//! What must not be left behind, not even by a program that is told to end at once: changes to servers that others use.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

static COUNT: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Something that was changed for a while; until it is dropped, [`wait_for_unfinished`] waits.
#[derive(Debug)]
pub struct Unfinished(());

impl Unfinished {
    /// Before the change.
    #[must_use]
    pub fn begin() -> Self {
        *COUNT.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *COUNT.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_all();
    }
}

/// Waits until nothing in this process is unfinished; whether that is so.
#[must_use]
pub fn wait_for_unfinished(longest: Duration) -> bool {
    let end = Instant::now() + longest;
    let mut count = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    while *count > 0 {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        count = ENDED.wait_timeout(count, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_ends_waits_for_what_is_unfinished() {
        assert!(wait_for_unfinished(Duration::ZERO));
        let (one, other) = (Unfinished::begin(), Unfinished::begin());
        assert!(!wait_for_unfinished(Duration::from_millis(1)));
        drop(one);
        assert!(!wait_for_unfinished(Duration::ZERO));
        let waits = thread::spawn(|| wait_for_unfinished(Duration::from_secs(60)));
        drop(other);
        assert!(waits.join().unwrap());
    }
}
