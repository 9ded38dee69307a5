//! A VFS of our own: SQLite's file access with direct I/O and counters.
//!
//! SQLite reads its pages through the page cache of the operating system. A benchmark of storage must not: a read
//! that SQLite's cache misses has to reach the device. This VFS wraps SQLite's own 'unix' VFS and changes nothing
//! but the transfer of pages of main database files, which go through a second descriptor opened with O_DIRECT.
//! Locks, shared memory, journals and the write-ahead log stay SQLite's, with ordinary writes and real fsyncs.

mod aligned;
mod control;
mod file;
mod gather;
mod location;
mod meter;
mod methods;
mod open;
mod page_file;
mod registry;

use std::ffi::CStr;

pub use control::{drop_page_cache, read_page, start_write_back, stop_counting};
pub use location::{IoMode, Location};
pub use meter::{IoFault, IoTotals, Meter, TransferTotals};
pub(crate) use open::register;
pub(crate) use registry::while_unused;

/// The name under which SQLite knows our VFS.
const NAME: &CStr = c"slob";
