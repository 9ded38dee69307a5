//! A page cache for SQLite, whose own never aligns its buffers, so that direct I/O would copy every page. Here buffers are
//! aligned and lie in huge pages, and bookkeeping is dense.
//!
//! It is installed through `SQLITE_CONFIG_PCACHE2`. SQLite never lets two threads use a cache at once, so nothing is locked.

mod memory;
mod slots;

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{NonNull, null_mut};

use rusqlite::ffi::{SQLITE_OK, sqlite3_pcache, sqlite3_pcache_methods2, sqlite3_pcache_page};

pub(crate) use memory::populating;

use memory::{Memory, Shape, slot_number};
use slots::{Clock, PageIndex};

pub(crate) const METHODS: sqlite3_pcache_methods2 = sqlite3_pcache_methods2 {
    iVersion: 1,
    pArg: null_mut(),
    xInit: Some(init),
    xShutdown: None,
    xCreate: Some(create),
    xCachesize: Some(cache_size),
    xPagecount: Some(page_count),
    xFetch: Some(fetch),
    xUnpin: Some(unpin),
    xRekey: Some(rekey),
    xTruncate: Some(truncate),
    xDestroy: Some(destroy),
    xShrink: Some(shrink),
};

unsafe extern "C" fn init(_: *mut c_void) -> c_int {
    SQLITE_OK
}

unsafe extern "C" fn create(page_bytes: c_int, extra_bytes: c_int, purgeable: c_int) -> *mut sqlite3_pcache {
    let (Ok(page_bytes), Ok(extra_bytes)) = (usize::try_from(page_bytes), usize::try_from(extra_bytes))
    else {
        return null_mut();
    };
    let cache = PageCache::new(Shape { page_bytes, extra_bytes }, purgeable != 0);
    Box::into_raw(Box::new(cache)).cast()
}

/// Defines functions for a cache that get its handle. Handles come from [`create`], and live until [`destroy`].
macro_rules! of_cache {
    ($($name:ident($cache:ident $(, $arg:ident: $type:ty)*) $(-> $result:ty)? $body:block)*) => {$(
        unsafe extern "C" fn $name(handle: *mut sqlite3_pcache $(, $arg: $type)*) $(-> $result)? {
            // SAFETY: SQLite passes a live handle, one call at a time: it makes the calls for one cache under the connection's
            // mutex, or relies on the caller to use a connection from one thread at a time.
            let $cache = unsafe { &mut *handle.cast::<PageCache>() };
            $body
        }
    )*};
}

of_cache! {
    cache_size(cache, pages: c_int) {
        cache.set_limit(u32::try_from(pages).unwrap_or(0));
    }

    page_count(cache) -> c_int {
        c_int::try_from(cache.len()).unwrap_or(c_int::MAX)
    }

    fetch(cache, key: c_uint, create_flag: c_int) -> *mut sqlite3_pcache_page {
        let create = match create_flag {
            0 => Create::No,
            1 => Create::IfEasy,
            _ => Create::Yes,
        };
        cache.fetch(key, create).map_or(null_mut(), |page| page.as_ptr())
    }

    unpin(cache, page: *mut sqlite3_pcache_page, discard: c_int) {
        // SAFETY: SQLite passes a page that this cache returned.
        cache.unpin(unsafe { slot_number(page) }, discard != 0);
    }

    rekey(cache, page: *mut sqlite3_pcache_page, _old_key: c_uint, new_key: c_uint) {
        // SAFETY: SQLite passes a page that this cache returned.
        cache.rekey(unsafe { slot_number(page) }, new_key);
    }

    truncate(cache, first: c_uint) {
        cache.truncate(first);
    }

    shrink(cache) {
        cache.shrink();
    }
}

unsafe extern "C" fn destroy(handle: *mut sqlite3_pcache) {
    // SAFETY: the handle came from Box::into_raw in `create`, and SQLite does not use it again.
    drop(unsafe { Box::from_raw(handle.cast::<PageCache>()) });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Create {
    No,
    IfEasy,
    Yes,
}

struct PageCache {
    memory: Memory,
    index: PageIndex,
    clock: Clock,
    /// 0 if the slot is free.
    pages: Vec<u32>,
    free: Vec<u32>,
    /// An in-memory database has no limit: its pages exist nowhere else.
    limit: Option<u32>,
    highest: u32,
}

impl PageCache {
    fn new(shape: Shape, purgeable: bool) -> Self {
        Self {
            memory: Memory::new(shape),
            index: PageIndex::new(),
            clock: Clock::default(),
            pages: Vec::new(),
            free: Vec::new(),
            limit: purgeable.then_some(0),
            highest: 0,
        }
    }

    fn len(&self) -> u32 {
        self.clock.len()
    }

    fn set_limit(&mut self, pages: u32) {
        if self.limit.is_none_or(|old| old == pages) {
            return;
        }
        self.limit = Some(pages);
        self.evict_down_to(pages);
    }

    #[inline]
    fn fetch(&mut self, page: u32, create: Create) -> Option<NonNull<sqlite3_pcache_page>> {
        match self.index.get(page) {
            Some(slot) => {
                self.clock.touch(slot);
                Some(self.memory.page(slot))
            }
            None if create == Create::No => None,
            None => self.admit(page, create),
        }
    }

    fn admit(&mut self, page: u32, create: Create) -> Option<NonNull<sqlite3_pcache_page>> {
        let full = self.limit.is_some_and(|limit| self.clock.len() >= limit);
        // SQLite's own cache has the same rule: write dirty pages first.
        if create == Create::IfEasy && self.limit.is_some_and(|limit| self.clock.pinned() >= limit / 10 * 9) {
            return None;
        }
        let slot =
            if full { self.evict() } else { None }.or_else(|| self.free_slot()).or_else(|| self.evict())?;
        self.memory.mark_new(slot);
        self.pages[slot as usize] = page;
        self.index.insert(page, slot);
        self.clock.admit(slot);
        self.highest = self.highest.max(page);
        Some(self.memory.page(slot))
    }

    fn free_slot(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let slot = self.memory.add_slot(self.limit.unwrap_or(0))?;
            self.pages.push(0);
            Some(slot)
        })
    }

    fn evict(&mut self) -> Option<u32> {
        let slot = self.clock.evict()?;
        self.index.remove(std::mem::take(&mut self.pages[slot as usize]));
        Some(slot)
    }

    fn evict_down_to(&mut self, pages: u32) {
        while self.clock.len() > pages {
            let Some(slot) = self.evict() else { break };
            self.memory.release_buffer(slot);
            self.free.push(slot);
        }
    }

    #[inline]
    fn unpin(&mut self, slot: u32, discard: bool) {
        if discard || self.limit.is_some_and(|limit| self.clock.len() > limit) {
            self.drop_slot(slot);
        } else {
            self.clock.unpin(slot);
        }
    }

    fn drop_slot(&mut self, slot: u32) {
        self.index.remove(std::mem::take(&mut self.pages[slot as usize]));
        self.clock.forget(slot);
        if self.limit.is_some_and(|limit| self.clock.len() >= limit) {
            self.memory.release_buffer(slot);
        }
        self.free.push(slot);
    }

    fn rekey(&mut self, slot: u32, new: u32) {
        match self.index.get(new) {
            Some(other) if other == slot => return,
            Some(other) => self.drop_slot(other),
            None => {}
        }
        self.index.remove(self.pages[slot as usize]);
        self.pages[slot as usize] = new;
        self.index.insert(new, slot);
        self.highest = self.highest.max(new);
    }

    /// Pinned pages go too.
    fn truncate(&mut self, first: u32) {
        if first > self.highest {
            return;
        }
        if self.highest - first < self.clock.len() {
            for page in first..=self.highest {
                if let Some(slot) = self.index.get(page) {
                    self.drop_slot(slot);
                }
            }
        } else {
            for slot in 0..self.memory.slots {
                let page = self.pages[slot as usize];
                if page != 0 && page >= first {
                    self.drop_slot(slot);
                }
            }
        }
        self.highest = first.saturating_sub(1);
    }

    fn shrink(&mut self) {
        if self.limit.is_none() {
            return;
        }
        self.evict_down_to(0);
        if self.clock.len() == 0 {
            self.memory = Memory::new(self.memory.shape);
            (self.index, self.clock) = (PageIndex::new(), Clock::default());
            (self.pages, self.free, self.highest) = (Vec::new(), Vec::new(), 0);
        } else {
            self.free.iter().for_each(|slot| self.memory.release_buffer(*slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const EXTRA: usize = 136;

    /// SQLite knows the pinned pages, and the content that it wrote.
    struct Model {
        cache: PageCache,
        page_bytes: usize,
        pinned: BTreeMap<u32, NonNull<sqlite3_pcache_page>>,
        written: BTreeMap<u32, u8>,
        limit: u32,
    }

    impl Model {
        fn new(page_bytes: usize, limit: u32) -> Self {
            let mut cache = PageCache::new(Shape { page_bytes, extra_bytes: EXTRA }, true);
            cache.set_limit(limit);
            Self { cache, page_bytes, pinned: BTreeMap::new(), written: BTreeMap::new(), limit }
        }

        /// SQLite has extra bytes of each page.
        fn memory(&self, page: NonNull<sqlite3_pcache_page>) -> (&'static mut [u8], &'static mut [u8]) {
            // SAFETY: the cache says that there are as many bytes, and nothing else holds them in these tests.
            unsafe {
                let page = page.as_ref();
                (
                    std::slice::from_raw_parts_mut(page.pBuf.cast(), self.page_bytes),
                    std::slice::from_raw_parts_mut(page.pExtra.cast(), EXTRA),
                )
            }
        }

        fn fetch(&mut self, number: u32, create: Create) {
            let Some(page) = self.cache.fetch(number, create) else {
                assert!(create != Create::Yes, "there is memory enough");
                assert!(!self.pinned.contains_key(&number), "a pinned page is there");
                self.written.remove(&number);
                return;
            };
            let (buffer, extra) = self.memory(page);
            if let Some(before) = self.pinned.insert(number, page) {
                assert_eq!(before, page, "a pinned page stays where it is");
            }
            if extra[..8] == [0; 8] {
                assert!(create != Create::No, "nothing is made when only asked for");
                let content = self.written.get(&number).map_or(1, |old| old.wrapping_add(1)).max(1);
                buffer.fill(content);
                extra.fill(content);
                self.written.insert(number, content);
            } else {
                let content = self.written[&number];
                assert!(buffer.iter().all(|b| *b == content) && extra.iter().all(|b| *b == content));
            }
        }

        fn unpin(&mut self, nth: usize, discard: bool) {
            let Some((&number, &page)) = self.pinned.iter().nth(nth % self.pinned.len().max(1)) else {
                return;
            };
            self.pinned.remove(&number);
            // SAFETY: the page came from this cache.
            self.cache.unpin(unsafe { slot_number(page.as_ptr()) }, discard);
            if discard {
                assert!(self.cache.fetch(number, Create::No).is_none(), "a discarded page is gone");
            }
        }

        fn rekey(&mut self, nth: usize, new: u32) {
            let Some((&old, &page)) = self.pinned.iter().nth(nth % self.pinned.len().max(1)) else { return };
            if self.pinned.contains_key(&new) {
                return;
            }
            // SAFETY: the page came from this cache.
            self.cache.rekey(unsafe { slot_number(page.as_ptr()) }, new);
            self.pinned.remove(&old);
            self.pinned.insert(new, page);
            let content = self.written.remove(&old).unwrap();
            self.written.insert(new, content);
            assert!(self.cache.fetch(old, Create::No).is_none(), "the old number is free");
        }

        fn truncate(&mut self, first: u32) {
            self.cache.truncate(first);
            self.pinned.split_off(&first);
            self.written.split_off(&first);
            assert!((first..first + 70).all(|number| self.cache.fetch(number, Create::No).is_none()));
        }

        fn check(&self) {
            assert_eq!(self.cache.clock.pinned() as usize, self.pinned.len());
            assert!(self.cache.len() as usize <= self.pinned.len().max(self.limit as usize));
            let distinct: BTreeSet<_> = self.pinned.values().map(|page| page.as_ptr()).collect();
            assert_eq!(distinct.len(), self.pinned.len(), "two pages in one place");
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Fetch(u32, Create),
        Unpin(usize, bool),
        Rekey(usize, u32),
        Truncate(u32),
        Limit(u32),
        Shrink,
    }

    fn step() -> impl Strategy<Value = Step> {
        let create = prop_oneof![Just(Create::No), Just(Create::IfEasy), Just(Create::Yes)];
        prop_oneof![
            20 => (1u32..60, create).prop_map(|(page, create)| Step::Fetch(page, create)),
            18 => (any::<usize>(), prop::bool::weighted(0.2)).prop_map(|(nth, discard)| Step::Unpin(nth, discard)),
            3 => (any::<usize>(), 1u32..60).prop_map(|(nth, new)| Step::Rekey(nth, new)),
            1 => (1u32..60).prop_map(Step::Truncate),
            1 => (0u32..40).prop_map(Step::Limit),
            1 => Just(Step::Shrink),
        ]
    }

    proptest! {
        #[test]
        fn the_cache_keeps_the_contract_of_sqlite(
            steps in prop::collection::vec(step(), 1..400), limit in 0u32..40, size in 9u32..=14
        ) {
            let mut model = Model::new(1 << size, limit);
            for step in steps {
                match step {
                    Step::Fetch(page, create) => model.fetch(page, create),
                    Step::Unpin(nth, discard) => model.unpin(nth, discard),
                    Step::Rekey(nth, new) => model.rekey(nth, new),
                    Step::Truncate(first) => model.truncate(first),
                    Step::Limit(pages) => {
                        model.limit = pages;
                        model.cache.set_limit(pages);
                    }
                    Step::Shrink => {
                        model.cache.shrink();
                        assert_eq!(model.cache.len() as usize, model.pinned.len());
                    }
                }
                model.check();
            }
        }
    }

    #[test]
    fn a_cache_takes_little_more_memory_than_its_limit() {
        let mut model = Model::new(8192, 1024);
        for page in 1..5000 {
            model.fetch(page, Create::Yes);
            model.unpin(0, false);
        }
        assert_eq!((model.cache.len(), model.cache.memory.mapped()), (1024, 8 << 20));
        model.cache.shrink();
        assert_eq!((model.cache.len(), model.cache.memory.mapped()), (0, 0));
        assert!(model.cache.fetch(1, Create::No).is_none(), "the first page has left");
    }

    #[test]
    fn an_unused_cache_takes_no_memory() {
        let mut cache = PageCache::new(Shape { page_bytes: 8192, extra_bytes: EXTRA }, true);
        cache.set_limit(1 << 20);
        assert_eq!(cache.memory.mapped(), 0);
    }

    #[test]
    fn pages_of_databases_are_aligned() {
        for page_bytes in [4096, 8192, 65_536] {
            let mut model = Model::new(page_bytes, 1000);
            for page in 1..=50 {
                model.fetch(page, Create::Yes);
            }
            assert!(
                model.pinned.values().all(|page| model.memory(*page).0.as_ptr().addr().is_multiple_of(4096))
            );
        }
    }

    #[test]
    fn room_is_refused_when_dirty_pages_should_be_written_first() {
        let mut model = Model::new(4096, 20);
        (1..=18).for_each(|page| model.fetch(page, Create::Yes));
        assert!(model.cache.fetch(19, Create::IfEasy).is_none());
        assert!(model.cache.fetch(19, Create::Yes).is_some());
    }

    #[test]
    fn an_in_memory_database_loses_nothing() {
        let mut cache = PageCache::new(Shape { page_bytes: 1024, extra_bytes: EXTRA }, false);
        cache.set_limit(3);
        (1..=500).for_each(|page| assert!(cache.fetch(page, Create::Yes).is_some()));
        assert!((1..=500).all(|page| cache.fetch(page, Create::No).is_some()));
    }
}
