//! The memory of a page cache: page buffers in huge pages, and their slots.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;

use rusqlite::ffi::sqlite3_pcache_page;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) page_bytes: usize,
    pub(super) extra_bytes: usize,
}

#[repr(C)]
pub(super) struct Slot {
    page: sqlite3_pcache_page,
    number: u32,
}

const HUGE: usize = 2 << 20;
const SMALL_MAP_PAGES: usize = 16;
/// Direct I/O reads straight into such buffers.
const MAP_ALIGN: usize = 4096;
/// SQLite compares integers eight bytes at a time and reads up to seven bytes past the end of a page.
const SPILL: usize = 4096;
const SLOTS_PER_BLOCK: usize = 256;
const LINE: usize = 64;

/// `bytes` for pages, and [`SPILL`] behind them.
struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

impl Map {
    /// Huge pages save page faults, TLB misses and most of direct I/O's page pinning.
    fn new(bytes: usize) -> Option<Self> {
        let slack = if bytes >= HUGE { HUGE } else { 0 };
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing memory.
        let raw = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes + SPILL + slack, prot, flags) }.ok()?;
        let skip = if slack == 0 { 0 } else { raw.cast::<u8>().align_offset(HUGE) };
        // SAFETY: skip <= slack, so [skip, skip + bytes + SPILL) lies inside the mapping just made, and what is unmapped
        // around it was never handed out. A failing madvise or munmap costs speed or address space, nothing else.
        let start = unsafe {
            let start = raw.cast::<u8>().add(skip);
            if slack > 0 {
                let _ = munmap(raw, skip);
                let _ = munmap(start.add(bytes + SPILL).cast(), slack - skip);
                let _ = madvise(start.cast(), bytes, Advice::LinuxHugepage);
            }
            NonNull::new_unchecked(start)
        };
        Some(Self { start, bytes })
    }

    /// What the kernel can't back now, it backs on first touch.
    fn populate(&self, bytes: usize) {
        let bytes = bytes.min(self.bytes).next_multiple_of(MAP_ALIGN);
        // SAFETY: MAP_ALIGN divides self.bytes, so the range lies in our mapping; its content stays.
        let result = unsafe { madvise(self.start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite) };
        // Kernels before 5.14.
        if result == Err(Errno::INVAL) {
            for at in (0..bytes).step_by(MAP_ALIGN) {
                // SAFETY: inside the mapping, which nothing else uses yet; its bytes are zero.
                unsafe { self.start.add(at).write_volatile(0) };
            }
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and the cache that hands out its pages is gone or empty.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes + SPILL) };
    }
}

struct SlotBlock {
    start: NonNull<u8>,
    layout: Layout,
}

impl SlotBlock {
    fn new(stride: usize) -> Option<Self> {
        let layout = Layout::from_size_align(stride * SLOTS_PER_BLOCK, LINE).ok()?;
        // SAFETY: the layout's size is not zero: a stride is at least one line.
        NonNull::new(unsafe { alloc_zeroed(layout) }).map(|start| Self { start, layout })
    }
}

impl Drop for SlotBlock {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Slots are numbered from 0 and keep their buffers.
pub(super) struct Memory {
    pub(super) shape: Shape,
    stride: usize,
    blocks: Vec<SlotBlock>,
    maps: Vec<Map>,
    map_used: usize,
    pub(super) slots: u32,
}

impl Memory {
    pub(super) fn new(shape: Shape) -> Self {
        let stride = (size_of::<Slot>() + shape.extra_bytes).next_multiple_of(LINE);
        Self { shape, stride, blocks: Vec::new(), maps: Vec::new(), map_used: 0, slots: 0 }
    }

    pub(super) fn add_slot(&mut self, expected: u32) -> Option<u32> {
        let number = self.slots;
        let buffer = self.next_buffer(expected)?;
        if number as usize == self.blocks.len() * SLOTS_PER_BLOCK {
            self.blocks.push(SlotBlock::new(self.stride)?);
        }
        let slot = self.slot(number).as_ptr();
        // SAFETY: slot points at a zeroed, aligned element of a block that is ours; the extra bytes follow it
        // within the stride.
        unsafe {
            let extra = slot.cast::<u8>().add(size_of::<Slot>());
            slot.write(Slot {
                page: sqlite3_pcache_page { pBuf: buffer.as_ptr().cast(), pExtra: extra.cast() },
                number,
            });
        }
        self.map_used += 1;
        self.slots += 1;
        Some(number)
    }

    fn next_buffer(&mut self, expected: u32) -> Option<NonNull<u8>> {
        let page_bytes = self.shape.page_bytes;
        if self.maps.last().is_none_or(|map| (self.map_used + 1) * page_bytes > map.bytes) {
            let missing = (expected.saturating_sub(self.slots) as usize).max(SMALL_MAP_PAGES) * page_bytes;
            // The rest gets small pages, so that no memory is wasted.
            let bytes =
                if missing >= HUGE { missing - missing % HUGE } else { missing.next_multiple_of(MAP_ALIGN) };
            let map = Map::new(bytes)?;
            if POPULATED_PAGES.get() > 0 {
                map.populate(POPULATED_PAGES.get() as usize * page_bytes);
            }
            self.maps.push(map);
            self.map_used = 0;
        }
        let map = self.maps.last()?;
        // SAFETY: map_used pages of page_bytes fit into the map with at least one page to spare, see above.
        Some(unsafe { map.start.add(self.map_used * page_bytes) })
    }

    #[inline]
    fn slot(&self, number: u32) -> NonNull<Slot> {
        let (block, place) = (number as usize / SLOTS_PER_BLOCK, number as usize % SLOTS_PER_BLOCK);
        // SAFETY: place < SLOTS_PER_BLOCK, so the address lies inside the block (indexing checks the block).
        unsafe { self.blocks[block].start.add(place * self.stride).cast() }
    }

    #[inline]
    pub(super) fn page(&self, number: u32) -> NonNull<sqlite3_pcache_page> {
        self.slot(number).cast()
    }

    /// SQLite takes a zero first word for a new page.
    #[inline]
    pub(super) fn mark_new(&self, number: u32) {
        // SAFETY: pExtra points at extra_bytes >= 8 bytes behind the slot, aligned to 8, and the page is not in
        // SQLite's hands while the cache gives it a new identity.
        unsafe { (*self.slot(number).as_ptr()).page.pExtra.cast::<*mut c_void>().write(std::ptr::null_mut()) }
    }

    /// Buffers smaller than a page of the system keep theirs.
    pub(super) fn release_buffer(&self, number: u32) {
        if self.shape.page_bytes.is_multiple_of(MAP_ALIGN) {
            // SAFETY: the buffer is page_bytes of a private mapping of ours, and the slot holds no page.
            unsafe {
                let buffer = (*self.slot(number).as_ptr()).page.pBuf;
                let _ = madvise(buffer, self.shape.page_bytes, Advice::LinuxDontNeed);
            }
        }
    }
}

/// # Safety
/// `page` must come from [`Memory::page`] of a memory that still holds that slot.
#[inline]
pub(super) unsafe fn slot_number(page: *const sqlite3_pcache_page) -> u32 {
    // SAFETY: `page` is the first field of a live Slot (repr(C)), so both have the same address.
    unsafe { (*page.cast::<Slot>()).number }
}

thread_local! {
    static POPULATED_PAGES: Cell<u32> = const { Cell::new(0) };
}

struct Restore(u32);

impl Drop for Restore {
    fn drop(&mut self) {
        POPULATED_PAGES.set(self.0);
    }
}

/// Caches of this thread populate up to `pages` of each mapping that they make during `work`.
///
/// Faults of many threads queue for one lock of the process, which would count as time of the database. SQLite can pass only a
/// size to a cache, so the request goes through the thread.
pub(crate) fn populating<T>(pages: u32, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(POPULATED_PAGES.replace(pages));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Memory {
        pub(in super::super) fn mapped(&self) -> usize {
            self.maps.iter().map(|map| map.bytes).sum()
        }
    }

    /// The kernel counts them (proc(5), mincore(2)).
    fn resident(memory: &Memory) -> usize {
        let count = |map: &Map| {
            let mut pages = vec![0u8; map.bytes / MAP_ALIGN];
            // SAFETY: the mapping is live and the vector has a byte for each of its pages.
            let rc =
                unsafe { libc::mincore(map.start.as_ptr().cast(), map.bytes, pages.as_mut_ptr().cast()) };
            assert_eq!(rc, 0);
            pages.iter().filter(|page| **page & 1 == 1).count() * MAP_ALIGN
        };
        memory.maps.iter().map(count).sum()
    }

    #[test]
    fn a_cache_is_populated_before_its_session_works() {
        let shape = Shape { page_bytes: 8192, extra_bytes: 64 };
        let (mut lazy, mut eager, mut bounded) = (Memory::new(shape), Memory::new(shape), Memory::new(shape));
        lazy.add_slot(100).unwrap();
        populating(1000, || eager.add_slot(100).unwrap());
        populating(30, || bounded.add_slot(100).unwrap());
        assert_eq!([&lazy, &eager, &bounded].map(resident), [0, 100 * 8192, 30 * 8192]);
        assert_eq!(eager.mapped(), 100 * 8192, "no more memory than its limit");
    }

    #[test]
    fn the_last_page_of_every_mapping_may_be_read_past_its_end() {
        for (page_bytes, pages) in [(8192, 16), (8192, 256), (8192, 1024), (512, 128)] {
            let mut memory = Memory::new(Shape { page_bytes, extra_bytes: 64 });
            for _ in 0..pages {
                let number = memory.add_slot(pages).unwrap();
                // SAFETY: what is tested: eight bytes behind any page are mapped.
                let behind = unsafe {
                    let buffer = memory.slot(number).as_ref().page.pBuf.cast::<u64>();
                    buffer.byte_add(page_bytes).read_unaligned()
                };
                assert_eq!(behind, 0);
            }
        }
    }
}
