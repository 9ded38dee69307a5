//! A page cache of our own for SQLite.
//!
//! SQLite's built-in cache keeps each page and its bookkeeping in one allocation of about 8.5 KiB: page buffers
//! are never aligned, so direct I/O has to bounce every page through another buffer; bookkeeping is spread over
//! all of the memory. Here buffers are aligned and lie in huge pages, bookkeeping is dense, and eviction costs next to nothing (see [`clock`]).
//!
//! It is installed for the whole process through `SQLITE_CONFIG_PCACHE2`. Each cache belongs to one connection,
//! which SQLite never lets two threads use at once, so nothing here is locked or shared.

mod cache;
mod clock;
mod index;
mod memory;
mod methods;
mod populate;

pub(crate) use methods::METHODS;
pub(crate) use populate::populating;
