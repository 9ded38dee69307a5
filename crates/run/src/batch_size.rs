//! How many operations a batch holds.

use std::time::Duration;

/// A batch is sized to last this long: it bounds how late a stop is noticed, and keeps the live figures fresh.
pub(crate) const BATCH: Duration = Duration::from_millis(200);
/// How much longer than its pauses a batch may last, if its operations take longer than the last ones did. Less than what
/// sessions are given to end.
pub(crate) const LONGEST_BATCH: Duration = Duration::from_secs(1);
/// Beyond it a batch of the quickest operations costs no less, each.
const LARGEST: usize = 8192;
/// Bounds the memory of the batches and outcomes of all sessions together (about 60 bytes an operation).
const OPERATIONS_AT_ONCE: usize = 1 << 19;
/// What a batch may hold however many sessions there are.
const SMALLEST_BOUND: usize = 64;
/// With so many sessions the batches of slow operations may last longer: each second sees the ends of many all the same.
const MANY_SESSIONS: u32 = 16;

/// How many operations fit into a batch of one session, learned from the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchSize {
    fitting: usize,
    largest: usize,
    few: Option<Few>,
}

/// Where [`BATCH`] holds one or two slow operations, each round trip is paid for these only: a batch may last longer to hold a few
/// more. Sessions differ in both limits, so that they do not end their batches at the same moments, between which the server
/// counts nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Few {
    operations: usize,
    time: Duration,
}

impl BatchSize {
    /// That of the session with this number, one of `sessions`.
    pub(crate) fn new(number: u32, sessions: u32) -> Self {
        let largest = (OPERATIONS_AT_ONCE / (sessions as usize).max(1)).clamp(SMALLEST_BOUND, LARGEST);
        let few = (sessions >= MANY_SESSIONS).then(|| {
            let kind = number % 8;
            Few {
                operations: 8 + kind as usize,
                time: Duration::from_millis(400) + Duration::from_millis(50) * kind,
            }
        });
        Self { fitting: 1, largest, few }
    }

    /// How many operations the next batch may hold.
    pub(crate) fn fitting(self) -> usize {
        self.fitting
    }

    /// Learns from a batch. Grows at most fourfold at a time, so that one lucky batch of cache hits does not make a very long one.
    pub(crate) fn learn(&mut self, done: usize, elapsed: Duration) {
        if done == 0 {
            return;
        }
        let per_second = done as f64 / elapsed.as_secs_f64().max(1e-9);
        let within = |time: Duration| (per_second * time.as_secs_f64()) as usize;
        let few = self.few.map_or(0, |few| within(few.time).min(few.operations));
        self.fitting = within(BATCH).max(few).clamp(1, (self.fitting * 4).min(self.largest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_towards_their_time_and_shrink_at_once() {
        let mut size = BatchSize::new(0, 1);
        size.learn(1, Duration::from_micros(10));
        assert_eq!(size.fitting(), 4);
        size.learn(4, Duration::from_micros(40));
        assert_eq!(size.fitting(), 16);
        size.learn(16, Duration::from_secs(16));
        assert_eq!(size.fitting(), 1);
        size.fitting = 8000;
        size.learn(8000, Duration::from_micros(1));
        assert_eq!(size.fitting(), LARGEST);
    }

    #[test]
    fn slow_operations_of_many_sessions_share_longer_batches() {
        let fitting = |number, sessions, each_ms| {
            let mut size = BatchSize { fitting: 100, ..BatchSize::new(number, sessions) };
            size.learn(10, Duration::from_millis(each_ms) * 10);
            size.fitting()
        };
        assert_eq!([1, 10, 30, 100, 900].map(|each_ms| fitting(7, 15, each_ms)), [200, 20, 6, 2, 1]);
        assert_eq!([1, 10, 30, 100, 900].map(|each_ms| fitting(7, 16, each_ms)), [200, 20, 15, 7, 1]);
        assert_eq!([1, 10, 30, 100, 900].map(|each_ms| fitting(8, 16, each_ms)), [200, 20, 8, 4, 1]);
    }

    #[test]
    fn batches_of_all_sessions_together_are_bounded() {
        let largest = [1, 64, 1024, 1 << 20].map(|sessions| BatchSize::new(0, sessions).largest);
        assert_eq!(largest, [8192, 8192, 512, 64]);
    }
}
