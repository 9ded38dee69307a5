//! The map from page number to slot: open addressing with linear probing, eight bytes per entry.

/// One place of the table; `page == 0` marks it empty (SQLite numbers pages from 1).
#[derive(Clone, Copy, Default)]
struct Entry {
    page: u32,
    slot: u32,
}

/// Finds the slot that holds a page. At most half of its places are used, so that a probe ends within one
/// cache line almost always.
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

    /// Fibonacci hashing: neighbouring page numbers, the usual case of an index scan, land far apart.
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

    /// The slot that holds `page`, which must not be 0.
    #[inline]
    pub(super) fn get(&self, page: u32) -> Option<u32> {
        self.place_of(page).map(|at| self.entries[at].slot)
    }

    /// Adds a page that is not there yet.
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

    /// Removes a page; the entries behind it move up, so that no tombstones are needed (Knuth, TAOCP 3, 6.4,
    /// algorithm R).
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
            // An entry may fill the hole unless its home lies cyclically behind the hole.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = Entry::default();
        self.used -= 1;
    }

    /// Forgets everything, and the memory with it.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::collections::hash_map::Entry;

    proptest! {
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((any::<bool>(), 1u32..400), 0..3000)) {
            let (mut index, mut map) = (PageIndex::new(), HashMap::new());
            for (i, (add, page)) in steps.into_iter().enumerate() {
                if !add {
                    index.remove(page);
                    map.remove(&page);
                } else if let Entry::Vacant(place) = map.entry(page) {
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
}
