//! Bookkeeping of the slots of a page cache.

/// SQLite numbers pages from 1; 0 is an empty entry.
#[derive(Clone, Copy, Default)]
struct Entry {
    page: u32,
    slot: u32,
}

/// Open addressing with linear probing. At most half of the entries are used, so a probe rarely leaves a cache line.
pub(super) struct PageIndex {
    entries: Box<[Entry]>,
    used: usize,
    shift: u32,
}

const SMALLEST: usize = 64;

impl PageIndex {
    pub(super) fn new() -> Self {
        Self::with_places(SMALLEST)
    }

    fn with_places(places: usize) -> Self {
        Self {
            entries: vec![Entry::default(); places].into_boxed_slice(),
            used: 0,
            shift: 32 - places.trailing_zeros(),
        }
    }

    /// Fibonacci hashing spreads neighbouring page numbers.
    #[inline]
    fn home(&self, page: u32) -> usize {
        (page.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    #[inline]
    fn place_of(&self, page: u32) -> Option<usize> {
        let mask = self.entries.len() - 1;
        let mut at = self.home(page);
        loop {
            let entry = self.entries[at];
            if entry.page == page {
                return Some(at);
            }
            if entry.page == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub(super) fn get(&self, page: u32) -> Option<u32> {
        self.place_of(page).map(|at| self.entries[at].slot)
    }

    #[inline]
    pub(super) fn insert(&mut self, page: u32, slot: u32) {
        debug_assert!(page != 0 && self.get(page).is_none());
        if (self.used + 1) * 2 > self.entries.len() {
            self.grow();
        }
        self.used += 1;
        self.put(Entry { page, slot });
    }

    fn put(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = self.home(entry.page);
        while self.entries[at].page != 0 {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }

    #[cold]
    fn grow(&mut self) {
        let places = self.entries.len() * 2;
        let old = std::mem::replace(self, Self::with_places(places));
        self.used = old.used;
        old.entries.iter().filter(|entry| entry.page != 0).for_each(|entry| self.put(*entry));
    }

    /// Entries behind move up, so no tombstones are needed (Knuth, TAOCP 3, 6.4, algorithm R).
    #[inline]
    pub(super) fn remove(&mut self, page: u32) {
        let Some(mut hole) = self.place_of(page) else { return };
        let mask = self.entries.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.page == 0 {
                break;
            }
            let home = self.home(entry.page);
            // An entry fills the hole unless its home lies cyclically behind it.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = Entry::default();
        self.used -= 1;
    }
}

const HELD: u8 = 1;
const PINNED: u8 = 2;
const USED: u8 = 4;

/// The clock algorithm (Corbato: 'A paging experiment with the Multics system', 1968).
///
/// A page that was requested again since the hand passed stays for another round; any other leaves. So leaves of a random load go
/// first. S3-FIFO queues gave no more reads per second.
#[derive(Default)]
pub(super) struct Clock {
    seats: Vec<u8>,
    hand: usize,
    held: u32,
    pinned: u32,
}

impl Clock {
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.held
    }

    #[inline]
    pub(super) fn pinned(&self) -> u32 {
        self.pinned
    }

    /// Slots are numbered without gaps.
    #[inline]
    pub(super) fn admit(&mut self, slot: u32) {
        match self.seats.get_mut(slot as usize) {
            Some(seat) => *seat = HELD | PINNED,
            None => self.seats.push(HELD | PINNED),
        }
        self.held += 1;
        self.pinned += 1;
    }

    #[inline]
    pub(super) fn touch(&mut self, slot: u32) {
        let seat = &mut self.seats[slot as usize];
        self.pinned += u32::from(*seat & PINNED == 0);
        *seat = HELD | PINNED | USED;
    }

    #[inline]
    pub(super) fn unpin(&mut self, slot: u32) {
        let seat = &mut self.seats[slot as usize];
        self.pinned -= u32::from(*seat & PINNED != 0);
        *seat &= !PINNED;
    }

    pub(super) fn forget(&mut self, slot: u32) {
        self.unpin(slot);
        self.seats[slot as usize] = 0;
        self.held -= 1;
    }

    /// `None` if all pages are pinned.
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
                seat if seat == HELD | USED => self.seats[slot] = HELD,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, hash_map};

    proptest! {
        #[test]
        fn the_index_behaves_like_a_map(steps in prop::collection::vec((any::<bool>(), 1u32..400), 0..3000)) {
            let (mut index, mut map) = (PageIndex::new(), HashMap::new());
            for (i, (add, page)) in steps.into_iter().enumerate() {
                if !add {
                    index.remove(page);
                    map.remove(&page);
                } else if let hash_map::Entry::Vacant(place) = map.entry(page) {
                    place.insert(i as u32);
                    index.insert(page, i as u32);
                }
                prop_assert_eq!(index.used, map.len());
                prop_assert_eq!(index.get(page), map.get(&page).copied());
            }
            for page in 1..400 {
                prop_assert_eq!(index.get(page), map.get(&page).copied());
            }
        }
    }

    struct Bench {
        clock: Clock,
        pages: Vec<u32>,
        limit: usize,
        misses: u32,
    }

    impl Bench {
        fn new(limit: usize) -> Self {
            Self { clock: Clock::default(), pages: Vec::new(), limit, misses: 0 }
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
