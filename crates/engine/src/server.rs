//! What an engine says of its server.

/// A database server (or embedded library), described for the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The product's name as its makers write it.
    pub product: String,
    /// Its version, in full.
    pub version: String,
    /// The size of a block in bytes.
    pub block_bytes: u32,
    /// The settings that change results, in the order in which they should be read.
    pub settings: Vec<Setting>,
    /// Sentences of advice where a setting spoils an I/O test; empty when there is nothing to say.
    pub advice: Vec<String>,
    /// Whether the server's CPU verifies a checksum of each block that it reads; `None` when the engine can't know.
    pub checks_blocks: Option<bool>,
    /// What the engine can do with this server.
    pub capabilities: Capabilities,
}

/// A setting and its value, as the server shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The server's name for it.
    pub name: String,
    /// Its value, with the unit.
    pub value: String,
}

impl Setting {
    /// A setting.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// What an engine can do. Code asks these, never an engine's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Rows that are loaded can be read back; false only where there is no database at all.
    pub stores_data: bool,
    /// Several slices of one schema may be loaded at the same time.
    pub parallel_slices: bool,
    /// A table that is a single slice costs less than the same table in pieces: it is written once, in the form in
    /// which runs find it, where pieces would have to be gone over again when all are there.
    pub whole_tables: bool,
    /// A stream of a load waits for each block that it writes, one after the other.
    pub loads_wait_for_blocks: bool,
    /// The database runs inside this process, so that its CPU is this process's CPU.
    pub embedded: bool,
    /// A batch runs inside the server; otherwise the client sends operation by operation.
    pub batches_in_server: bool,
    /// SELECTs of up to so many blocks that follow each other in a closed loop are one statement, with a duration for each of
    /// them; 0 where each is a statement of its own.
    pub joined_blocks: u16,
    /// A load can be told where to put its tables ([`crate::OpenSpec::tablespace`]).
    pub tablespaces: bool,
    /// Sessions can be cancelled from another thread.
    pub cancel: bool,
    /// Reads of the data go around the operating system's page cache, as far as the engine knows; `None` when it
    /// can't know.
    pub direct_io: Option<bool>,
}
