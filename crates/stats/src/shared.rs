//! A histogram that one thread writes while others read.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bucket::{BUCKETS, RANGE_NS, bucket_index};
use crate::histogram::{Exact, Histogram};

/// The buckets of [`Histogram`] in atomics.
///
/// [`record`](Self::record) needs no locked instruction, so only one thread may record: a second one loses counts.
///
/// A [`snapshot`](Self::snapshot) may miss or contain values recorded meanwhile. No bucket goes back between two snapshots of one
/// reader, so [`Histogram::since`] loses and repeats nothing. After the writer's thread was joined, a snapshot is exact.
#[derive(Default)]
pub struct SharedHistogram {
    cells: Box<Cells>,
}

/// CPUs fetch pairs of cache lines together.
#[repr(align(128))]
struct Cells {
    min: AtomicU64,
    max: AtomicU64,
    sum: AtomicU64,
    beyond: AtomicU64,
    counts: Box<[AtomicU64; BUCKETS]>,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            beyond: AtomicU64::new(0),
            counts: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
        }
    }
}

impl SharedHistogram {
    /// Allocates once; recording never does.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a value in nanoseconds, from one thread only.
    #[inline]
    pub fn record(&self, ns: u64) {
        let cells = &*self.cells;
        add(&cells.counts[bucket_index(ns)], 1);
        add(&cells.sum, ns);
        if ns < cells.min.load(Relaxed) {
            cells.min.store(ns, Relaxed);
        }
        if ns > cells.max.load(Relaxed) {
            cells.max.store(ns, Relaxed);
        }
        if ns >= RANGE_NS {
            add(&cells.beyond, 1);
        }
    }

    /// Consistent in itself, for any thread.
    ///
    /// Smallest, largest and sum are brought within the limits of the buckets.
    pub fn snapshot(&self) -> Histogram {
        let cells = &*self.cells;
        let mut counts = Box::new([0; BUCKETS]);
        for (copy, cell) in counts.iter_mut().zip(cells.counts.iter()) {
            *copy = cell.load(Relaxed);
        }
        let seen = Exact {
            min: cells.min.load(Relaxed),
            max: cells.max.load(Relaxed),
            sum: cells.sum.load(Relaxed),
            beyond: cells.beyond.load(Relaxed),
            clock_step: None,
        };
        Histogram::reconciled(counts, seen)
    }
}

/// Right only because there is one writer.
#[inline]
fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).saturating_add(n), Relaxed);
}

impl fmt::Debug for SharedHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedHistogram").field(&self.snapshot()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Latencies of all magnitudes, some beyond the range, the same on every call.
    fn latency(i: u64) -> u64 {
        let mixed = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed >> (20 + mixed % 40)
    }

    #[test]
    fn a_snapshot_equals_a_plain_histogram_of_the_same_values() {
        let shared = SharedHistogram::new();
        let mut plain = Histogram::new();
        assert_eq!(shared.snapshot(), plain);
        for ns in (0..10_000).map(latency).chain([0, RANGE_NS, u64::MAX]) {
            shared.record(ns);
            plain.record(ns);
        }
        assert!(plain.beyond_range() >= 2);
        assert_eq!(shared.snapshot(), plain);
    }

    #[test]
    fn snapshots_during_writing_are_consistent_and_never_go_back() {
        const SNAPSHOTS: u64 = 200;
        let shared = SharedHistogram::new();
        let taken = AtomicU64::new(0);
        let (mut previous, mut pieces) = (Histogram::new(), Histogram::new());
        let recorded = thread::scope(|scope| {
            // Goes on until the reader is done, so that every snapshot but the last meets a writer at work.
            let writer = scope.spawn(|| {
                let until_read = (0..).take_while(|_| taken.load(Relaxed) < SNAPSHOTS);
                until_read.inspect(|&i| shared.record(latency(i))).count() as u64
            });
            while taken.fetch_add(1, Relaxed) < SNAPSHOTS {
                let snapshot = shared.snapshot();
                let piece = snapshot.since(&previous);
                assert_eq!(piece.count(), snapshot.count() - previous.count());
                let saved = serde_json::to_string(&snapshot).unwrap();
                assert_eq!(serde_json::from_str::<Histogram>(&saved).unwrap(), snapshot);
                pieces.merge(&piece);
                previous = snapshot;
            }
            writer.join().unwrap()
        });
        let last = shared.snapshot();
        pieces.merge(&last.since(&previous));
        let mut plain = Histogram::new();
        (0..recorded).map(latency).for_each(|ns| plain.record(ns));
        assert_eq!(last, plain);
        assert!(pieces.buckets().eq(plain.buckets()), "the intervals add up to the whole");
    }
}
