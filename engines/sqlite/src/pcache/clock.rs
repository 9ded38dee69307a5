//! Which page leaves the cache: the clock (second chance) algorithm.
//!
//! A hand goes round the slots; a page that was asked for again since the hand last passed is passed over once
//! more, any other leaves (Corbato: 'A paging experiment with the Multics system', 1968). A new page has not been
//! asked for *again*: so what a random load only passes by leaves after one round, while the upper levels of the
//! b-trees stay. One byte for each slot is all it needs, and for random single-block reads no choice is better:
//! queues of seen-once and seen-again pages (S3-FIFO) were tried and brought no more reads per second.

const HELD: u8 = 1;
const PINNED: u8 = 2;
const USED: u8 = 4;

/// What is known of the slots.
pub(super) struct Clock {
    seats: Vec<u8>,
    hand: usize,
    held: u32,
    pinned: u32,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { seats: Vec::new(), hand: 0, held: 0, pinned: 0 }
    }

    /// Slots that hold a page.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.held
    }

    /// Slots whose page is in SQLite's hands.
    #[inline]
    pub(super) fn pinned(&self) -> u32 {
        self.pinned
    }

    /// A slot has been given a page, which is pinned. Slots are numbered without gaps.
    #[inline]
    pub(super) fn admit(&mut self, slot: u32) {
        match self.seats.get_mut(slot as usize) {
            Some(seat) => *seat = HELD | PINNED,
            None => self.seats.push(HELD | PINNED),
        }
        self.held += 1;
        self.pinned += 1;
    }

    /// A page that is there has been asked for.
    #[inline]
    pub(super) fn touch(&mut self, slot: u32) {
        let seat = &mut self.seats[slot as usize];
        self.pinned += u32::from(*seat & PINNED == 0);
        *seat = HELD | PINNED | USED;
    }

    /// The page may leave from now on.
    #[inline]
    pub(super) fn unpin(&mut self, slot: u32) {
        let seat = &mut self.seats[slot as usize];
        self.pinned -= u32::from(*seat & PINNED != 0);
        *seat &= !PINNED;
    }

    /// The slot no longer holds a page.
    pub(super) fn forget(&mut self, slot: u32) {
        self.unpin(slot);
        self.seats[slot as usize] = 0;
        self.held -= 1;
    }

    /// Chooses the slot to evict and forgets it; `None` if everything is pinned.
    #[inline]
    pub(super) fn evict(&mut self) -> Option<u32> {
        if self.pinned == self.held {
            return None;
        }
        loop {
            let slot = self.hand;
            self.hand = if slot + 1 < self.seats.len() { slot + 1 } else { 0 };
            match self.seats[slot] {
                HELD => {
                    self.forget(slot as u32);
                    return Some(slot as u32);
                }
                // At the latest in the second round this page is the one.
                seat if seat == HELD | USED => self.seats[slot] = HELD,
                _ => {}
            }
        }
    }

    /// Forgets all slots.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of `limit` pages.
    struct Bench {
        clock: Clock,
        pages: Vec<u32>,
        limit: usize,
        misses: u32,
    }

    impl Bench {
        fn new(limit: usize) -> Self {
            Self { clock: Clock::new(), pages: Vec::new(), limit, misses: 0 }
        }

        fn visit(&mut self, page: u32) {
            let slot = match self.pages.iter().position(|p| *p == page) {
                Some(slot) => {
                    self.clock.touch(slot as u32);
                    slot
                }
                None => self.admit(page),
            };
            self.clock.unpin(slot as u32);
        }

        fn admit(&mut self, page: u32) -> usize {
            self.misses += 1;
            let slot = if self.pages.len() < self.limit {
                self.pages.push(page);
                self.pages.len() - 1
            } else {
                self.clock.evict().unwrap() as usize
            };
            self.pages[slot] = page;
            self.clock.admit(slot as u32);
            slot
        }
    }

    #[test]
    fn pages_in_steady_use_survive_a_stream_of_others() {
        let mut bench = Bench::new(100);
        for i in 0..10_000 {
            bench.visit(1 + i % 20);
            bench.visit(1000 + i);
        }
        // The stream misses each time; the twenty pages in use only while they are new.
        assert_eq!(bench.misses - 10_000, 20);
    }

    #[test]
    fn a_new_working_set_takes_over() {
        let mut bench = Bench::new(100);
        (0..2000).for_each(|i| bench.visit(1 + i % 80));
        assert_eq!(bench.misses, 80);
        (0..400).for_each(|i| bench.visit(5000 + i % 80));
        let before = bench.misses;
        (0..2000).for_each(|i| bench.visit(5000 + i % 80));
        assert_eq!(bench.misses, before, "the new set must be all in cache by now");
    }

    #[test]
    fn pinned_pages_are_never_evicted() {
        let mut bench = Bench::new(10);
        (1..=10).for_each(|page| bench.visit(page));
        (0..10).filter(|slot| *slot != 4).for_each(|slot| bench.clock.touch(slot));
        assert_eq!(bench.clock.evict(), Some(4));
        assert_eq!(bench.clock.evict(), None);
        assert_eq!((bench.clock.len(), bench.clock.pinned()), (9, 9));
        bench.clock.unpin(7);
        assert_eq!(bench.clock.evict(), Some(7));
    }
}
