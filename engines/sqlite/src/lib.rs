//! OpenSLOB: the SQLite engine.
//!
//! SQLite runs inside our own process, so its two ends are ours: below, a VFS that reads blocks with direct I/O and
//! counts ([`vfs`]); beside it, a page cache made for this load. The SQL in between is SQLite's, unchanged.
//!
//! A target is a folder. Each schema is a database file in it, so that sessions on different schemas share nothing,
//! as they would not in a database server's separate segments. Several sessions on one schema may update it too,
//! but every commit of one empties the others' caches of that file: SQLite can't tell them which blocks changed.

mod boot;
mod checkpoint;
mod engine;
mod error;
mod finish;
mod header;
mod index;
mod inventory;
mod layout;
pub mod library;
mod link;
mod load;
mod pcache;
mod read_rows;
mod removal;
mod row;
mod schema_file;
mod session;
mod statement;
mod tally;
mod target;
pub mod vfs;

pub use engine::KIND;
