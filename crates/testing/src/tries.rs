//! Measurements that other work on the machine can spoil are repeated. Constant failure fails.

use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

/// What ought to come is waited for this long. Nothing needs it, on the busiest machine: it ends a test that hangs.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The error says what was seen instead.
pub type Seen<T = ()> = Result<T, String>;

pub fn ensure(holds: bool, figures: impl FnOnce() -> String) -> Seen {
    if holds { Ok(()) } else { Err(figures()) }
}

/// Stderr says how often it took, if more than once, and what other tries saw.
#[track_caller]
#[allow(clippy::print_stderr, reason = "how much the machine disturbs a test must be seen")]
pub fn shown_within<T>(most: usize, mut measure: impl FnMut() -> Seen<T>) -> T {
    let (place, mut seen) = (Location::caller(), Vec::new());
    while seen.len() < most {
        match measure() {
            Ok(shown) if seen.is_empty() => return shown,
            Ok(shown) => {
                eprintln!(
                    "{place}: shown by try {} of {most}, not by those before:{}",
                    seen.len() + 1,
                    list(&seen)
                );
                return shown;
            }
            Err(figures) => seen.push(figures),
        }
    }
    panic!("none of {most} tries shows it:{}", list(&seen));
}

/// Tries for as long as its [`PATIENCE`] lasts.
#[track_caller]
pub fn until<T>(mut shown: impl FnMut() -> Seen<T>) -> T {
    let begun = Instant::now();
    loop {
        match shown() {
            Ok(shown) => return shown,
            Err(figures) => assert!(begun.elapsed() < PATIENCE, "{figures}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn list(seen: &[String]) -> String {
    seen.iter().zip(1..).map(|(figures, number)| format!("\n  {number}: {figures}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever mends a test that fails at times needs what it saw.
    #[test]
    #[should_panic(expected = "none of 2 tries shows it:\n  1: 4 of 5\n  2: 3 of 5")]
    fn the_figures_of_every_try_are_shown_when_all_fail() {
        let mut rates = [4, 3].iter();
        shown_within(2, || ensure(false, || format!("{} of 5", rates.next().unwrap())));
    }

    #[test]
    fn trying_ends_with_the_first_success() {
        let mut tries = 0;
        let shown = shown_within(3, || {
            tries += 1;
            ensure(tries == 2, || "the first".to_owned()).map(|()| "the second")
        });
        assert_eq!((shown, tries), ("the second", 2));
    }
}
