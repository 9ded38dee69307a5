//! The journal of a run's UPDATEs: what was sent to the database, and what it said is committed. After a crash it is the
//! witness of durability.
//!
//! One line is one fact; a time is in microseconds since the journal was made:
//!
//! ```text
//! openslob-updates 1             what this file is
//! load SEED                      of which data
//! b SESSION TIME                 a batch is about to be sent
//! u SCHEMA KEY BLOCKS STAMP      one of its UPDATEs
//! e SESSION TIME COUNT           its answer came: the first so many of its UPDATEs are committed
//! ```
//!
//! What was not answered may be there or not. Each write goes to the operating system at once, so that the journal outlives
//! this program; a machine that loses power keeps it only on another one's disk. A last line that is cut off is not counted.

mod read;
mod write;

pub use read::Acknowledged;
pub use write::Journal;

/// The first line.
const TITLE: &str = "openslob-updates 1";
