//! I/O by function, type of file, tablespace and file.

use serde::Serialize;

use crate::figure::Figure;

/// I/O of a function or a type of file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IoLine {
    /// The function or type of file; text cuts it.
    pub name: String,
    /// Bytes read.
    pub read_bytes: Option<Figure>,
    /// Read requests per second.
    pub reads_per_s: Option<Figure>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<Figure>,
    /// Bytes written.
    pub written_bytes: Option<Figure>,
    /// Write requests per second.
    pub writes_per_s: Option<Figure>,
    /// Bytes written per second.
    pub written_bytes_per_s: Option<Figure>,
    /// Waits.
    pub waits: Option<Figure>,
    /// Mean wait in microseconds.
    pub average_us: Option<Figure>,
    /// Mean service time of small reads in microseconds.
    pub small_read_us: Option<Figure>,
    /// Mean service time of large reads in microseconds.
    pub large_read_us: Option<Figure>,
}

/// A line of the I/O profile, per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct IoProfileLine {
    pub name: String,
    pub both: Option<Figure>,
    pub read: Option<Figure>,
    pub written: Option<Figure>,
}

/// I/O of a tablespace or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct FileIo {
    pub tablespace: String,
    pub file: Option<String>,
    pub reads: Option<Figure>,
    pub reads_per_s: Option<Figure>,
    pub read_us: Option<Figure>,
    pub blocks_per_read: Option<Figure>,
    pub writes: Option<Figure>,
    /// What stands below `1-bk Rds/s`: in 11.2.0.4 and 12.1 that is the writes of tablespaces.
    #[serde(skip)]
    pub(crate) one_block_rate: Option<Figure>,
    pub writes_per_s: Option<Figure>,
    pub buffer_waits: Option<Figure>,
    pub buffer_wait_us: Option<Figure>,
}
