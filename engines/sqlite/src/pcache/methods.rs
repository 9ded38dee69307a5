//! The page cache as the table of functions that SQLite calls.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use rusqlite::ffi::{SQLITE_OK, sqlite3_pcache, sqlite3_pcache_methods2, sqlite3_pcache_page};

use super::cache::{Create, PageCache};
use super::memory::{Shape, slot_number};

/// What `SQLITE_CONFIG_PCACHE2` takes; SQLite copies it.
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

/// The cache behind the handle that [`create`] gave to SQLite.
///
/// # Safety
/// `handle` must come from [`create`], not have been destroyed, and not be in use: SQLite holds the connection's
/// mutex, or the caller's promise to use a connection from one thread at a time, around all calls for one cache.
unsafe fn cache<'a>(handle: *mut sqlite3_pcache) -> &'a mut PageCache {
    // SAFETY: as required above.
    unsafe { &mut *handle.cast::<PageCache>() }
}

unsafe extern "C" fn cache_size(handle: *mut sqlite3_pcache, pages: c_int) {
    // SAFETY: SQLite passes a live handle, one call at a time.
    unsafe { cache(handle) }.set_limit(u32::try_from(pages).unwrap_or(0));
}

unsafe extern "C" fn page_count(handle: *mut sqlite3_pcache) -> c_int {
    // SAFETY: SQLite passes a live handle, one call at a time.
    c_int::try_from(unsafe { cache(handle) }.len()).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn fetch(
    handle: *mut sqlite3_pcache,
    key: c_uint,
    create_flag: c_int,
) -> *mut sqlite3_pcache_page {
    let create = match create_flag {
        0 => Create::No,
        1 => Create::IfEasy,
        _ => Create::Yes,
    };
    // SAFETY: SQLite passes a live handle, one call at a time.
    unsafe { cache(handle) }.fetch(key, create).map_or(null_mut(), |page| page.as_ptr())
}

unsafe extern "C" fn unpin(handle: *mut sqlite3_pcache, page: *mut sqlite3_pcache_page, discard: c_int) {
    // SAFETY: SQLite passes a live handle, one call at a time, and a page that this cache returned.
    unsafe { cache(handle).unpin(slot_number(page), discard != 0) }
}

unsafe extern "C" fn rekey(
    handle: *mut sqlite3_pcache,
    page: *mut sqlite3_pcache_page,
    _old_key: c_uint,
    new_key: c_uint,
) {
    // SAFETY: SQLite passes a live handle, one call at a time, and a page that this cache returned.
    unsafe { cache(handle).rekey(slot_number(page), new_key) }
}

unsafe extern "C" fn truncate(handle: *mut sqlite3_pcache, first: c_uint) {
    // SAFETY: SQLite passes a live handle, one call at a time.
    unsafe { cache(handle) }.truncate(first);
}

unsafe extern "C" fn shrink(handle: *mut sqlite3_pcache) {
    // SAFETY: SQLite passes a live handle, one call at a time.
    unsafe { cache(handle) }.shrink();
}

unsafe extern "C" fn destroy(handle: *mut sqlite3_pcache) {
    // SAFETY: the handle came from Box::into_raw in `create`, and SQLite does not use it again.
    drop(unsafe { Box::from_raw(handle.cast::<PageCache>()) });
}
