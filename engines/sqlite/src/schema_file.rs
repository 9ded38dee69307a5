//! A schema's database file: opening it, the marker that makes it ours, and claiming it for removal.

use std::fs::File;
use std::io::{self, ErrorKind::UnexpectedEof, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Row};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, Result, SchemaState, Slice};
use slob_method::{SchemaNo, Table};

use crate::error::{damaged, failed};
use crate::vfs::{IoMode, Location, Meter, read_page, while_unused};

/// Raised when schemas of older versions become unusable.
const FORMAT: i64 = 1;
/// Two rows of a page have payloads of at most 4,081 bytes, one row up to 8,157. With this filler a payload has about 4,180.
pub(crate) const FILLER_BYTES: usize = 1700;
const BUSY_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct SchemaFile<'a> {
    pub(crate) schema: SchemaNo,
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    meter: &'a Meter,
}

impl<'a> SchemaFile<'a> {
    pub(crate) fn open(schema: SchemaNo, path: &Path, io: IoMode, meter: &'a Meter) -> Result<Self> {
        Self::open_or_create(schema, path, io, meter, false)
    }

    pub(crate) fn create(schema: SchemaNo, path: &Path, meter: &'a Meter) -> Result<Self> {
        Self::open_or_create(schema, path, IoMode::Buffered, meter, true)
    }

    fn open_or_create(
        schema: SchemaNo,
        path: &Path,
        io: IoMode,
        meter: &'a Meter,
        create: bool,
    ) -> Result<Self> {
        if !create && !path.exists() {
            return Err(not_loaded(schema, path));
        }
        let connection = Location { path, io, meter }.open(create);
        let opened =
            connection.and_then(|connection| connection.busy_timeout(BUSY_WAIT).map(|()| connection));
        match opened {
            Ok(connection) => Ok(Self { schema, path: path.to_owned(), connection, meter }),
            Err(error) => Err(failed(step(path), &error, meter)),
        }
    }

    /// SQLite then needs no shared memory, for which there may be no room. No log changes the marker.
    pub(crate) fn open_read_only(schema: SchemaNo, path: &Path, meter: &'a Meter) -> Result<Self> {
        let connection = Location { path, io: IoMode::Buffered, meter }
            .open_read_only()
            .map_err(|error| failed(step(path), &error, meter))?;
        let file = Self { schema, path: path.to_owned(), connection, meter };
        // A file with a write-ahead log has both format versions, at bytes 18 and 19, as 2.
        if file.header()?.get(18..20) == Some(&[2, 2]) {
            return Ok(file);
        }
        Err(EngineError::new(ErrorKind::Space, step(path), "no room is left for its rollback journal")
            .with_advice("make room on that file system"))
    }

    fn header(&self) -> Result<[u8; HEADER_BYTES]> {
        let mut bytes = [0; HEADER_BYTES];
        let read = read_page(&self.connection, 1, &mut bytes);
        read.map(|()| bytes).map_err(|error| self.failed("reading", &error))
    }

    pub(crate) fn failed(&self, doing: &str, error: &rusqlite::Error) -> EngineError {
        failed(format!("{doing} {}", self.path.display()), error, self.meter)
    }

    pub(crate) fn batch(&self, doing: &str, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| self.failed(doing, &error))
    }

    pub(crate) fn value<T: rusqlite::types::FromSql>(&self, doing: &str, sql: &str) -> Result<T> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|error| self.failed(doing, &error))
    }

    /// `None` if the file has no marker.
    pub(crate) fn state(&self) -> Result<Option<SchemaState>> {
        let id: i64 = match self.connection.query_row("PRAGMA application_id", [], |row| row.get(0)) {
            Ok(id) => id,
            Err(error) => {
                let error = self.failed("reading", &error);
                // An unreadable database may be a damaged schema.
                let foreign =
                    error.kind() == ErrorKind::Data && !self.header().is_ok_and(|header| is_ours(&header));
                return if foreign { Ok(None) } else { Err(error) };
            }
        };
        if id != i64::from(APPLICATION_ID) {
            return Ok(None);
        }
        let read = |error| self.marker_failed(&error);
        let marker = self.connection.query_row(include_str!("../sql/select_load.sql"), [], Marker::from_row);
        let marker = marker.map_err(read)?;
        if marker.format != FORMAT {
            let message = format!("it has format {}, this program knows format {FORMAT}", marker.format);
            return Err(EngineError::new(ErrorKind::Usage, step(&self.path), message)
                .with_advice("use the version of the program that loaded it"));
        }
        let boot: i32 = self.value("reading the marker of", "PRAGMA user_version")?;
        let state = match marker.layout {
            Some(layout) => LoadState::Complete(layout),
            None if boot == current_boot() => LoadState::Begun(self.slices().map_err(read)?),
            None => LoadState::Unsynced(self.slices().map_err(read)?),
        };
        Ok(Some(SchemaState { schema: self.schema, load: marker.load, filler_bytes: FILLER_BYTES, state }))
    }

    /// The file is damaged if our own tables are missing or malformed.
    fn marker_failed(&self, error: &rusqlite::Error) -> EngineError {
        let doing = "reading the marker of";
        match error.sqlite_error_code() {
            None | Some(rusqlite::ErrorCode::Unknown) => {
                damaged(format!("{doing} {}", self.path.display()), error.to_string())
            }
            _ => self.failed(doing, error),
        }
    }

    pub(crate) fn own_state(&self) -> Result<SchemaState> {
        self.state()?.ok_or_else(|| not_ours(&self.path))
    }

    /// Tables, indexes, views and triggers that this program did not make.
    pub(crate) fn others(&self) -> Result<Vec<String>> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare(include_str!("../sql/select_others.sql"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.marker_failed(&error))
    }

    fn slices(&self) -> rusqlite::Result<Vec<Slice>> {
        let mut statement = self.connection.prepare(include_str!("../sql/select_slices.sql"))?;
        let slices = statement.query_map([], |row| {
            let name: String = row.get(0)?;
            let table = if name == Table::Main.name() { Table::Main } else { Table::Scan };
            let positions = unsigned(row, 1)?..unsigned(row, 2)?;
            Ok(Slice { schema: self.schema, table, positions })
        })?;
        slices.collect()
    }

    pub(crate) fn mark_slice(&self, slice: &Slice) -> Result<()> {
        let positions = (slice.table.name(), signed(slice.positions.start), signed(slice.positions.end));
        self.execute("marking a slice in", "INSERT INTO slob_slice VALUES(?1, ?2, ?3)", positions)
    }

    pub(crate) fn mark_begun(&self, load: &Load) -> Result<()> {
        self.batch("marking", &format!("PRAGMA user_version = {}", current_boot()))?;
        // SQLite's integers are signed; the seed keeps its bits.
        let values = [
            FORMAT,
            load.seed.cast_signed(),
            signed(load.scale),
            signed(load.scan_blocks),
            i64::from(load.obfuscated),
            signed(load.slice_rows),
        ];
        self.execute("marking", include_str!("../sql/insert_load.sql"), values)
    }

    pub(crate) fn mark_complete(&self, layout: Layout) -> Result<()> {
        let blocks = [signed(layout.row_blocks), signed(layout.all_blocks)];
        self.execute("marking", "UPDATE slob_load SET row_blocks = ?1, all_blocks = ?2", blocks)
    }

    fn execute(&self, doing: &str, sql: &str, params: impl rusqlite::Params) -> Result<()> {
        self.connection.execute(sql, params).map(|_| ()).map_err(|error| self.failed(doing, &error))
    }
}

pub(crate) fn not_loaded(schema: SchemaNo, path: &Path) -> EngineError {
    EngineError::new(ErrorKind::Usage, step(path), format!("schema {schema} is not loaded"))
        .with_advice("load it with `slob setup`, or use fewer schemas")
}

pub(crate) fn not_ours(path: &Path) -> EngineError {
    let message = "it is not a schema of this program: it has no marker";
    EngineError::new(ErrorKind::Usage, step(path), message)
        .with_advice("it is left untouched; name another folder with TARGET")
}

fn step(path: &Path) -> String {
    format!("opening {}", path.display())
}

struct Marker {
    format: i64,
    load: Load,
    layout: Option<Layout>,
}

impl Marker {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let load = Load {
            seed: row.get::<_, i64>(1)?.cast_unsigned(),
            scale: unsigned(row, 2)?,
            scan_blocks: unsigned(row, 3)?,
            obfuscated: row.get(4)?,
            slice_rows: unsigned(row, 5)?,
        };
        let blocks = row.get::<_, Option<i64>>(6)?.zip(row.get::<_, Option<i64>>(7)?);
        let layout = blocks.map(|(row_blocks, all_blocks)| Layout {
            rows: load.scale,
            row_blocks: row_blocks.cast_unsigned(),
            all_blocks: all_blocks.cast_unsigned(),
        });
        Ok(Self { format: row.get(0)?, load, layout })
    }
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// Positions and counts are far below 2^63.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Unsynced data are certain only until the next boot. The first bits of boot_id (proc(5)) fit into user_version; 0 if unknown.
fn current_boot() -> i32 {
    static CURRENT: LazyLock<i32> = LazyLock::new(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        boot_number(&id)
    });
    *CURRENT
}

fn boot_number(id: &str) -> i32 {
    let digits = id.get(..8).unwrap_or_default();
    u32::from_str_radix(digits, 16).map_or(0, |bits| (bits >> 1).max(1).cast_signed())
}

/// 'SLOB': the application_id of our files.
const APPLICATION_ID: u32 = 0x534C_4F42;
/// The header of a database file (sqlite.org/fileformat2.html, 'The Database Header').
const HEADER_BYTES: usize = 100;

const PAUSE: Duration = Duration::from_millis(20);

fn is_ours(header: &[u8]) -> bool {
    header.get(68..72) == Some(&APPLICATION_ID.to_be_bytes())
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim<T> {
    Done(T),
    /// This or another process has a connection.
    InUse,
    NotOurs,
}

/// Waits up to `wait` until no program has the file open as a database. Plain file I/O works on files that SQLite can't read.
pub(crate) fn claim<T>(
    path: &Path,
    wait: Duration,
    mut work: impl FnMut() -> io::Result<T>,
) -> io::Result<Claim<T>> {
    let end = Instant::now() + wait;
    loop {
        let tried = while_unused(path, || try_claim(path, &mut work))?.unwrap_or(Ok(Claim::InUse))?;
        if !matches!(tried, Claim::InUse) || Instant::now() >= end {
            return Ok(tried);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Closing the file drops every lock of this process on it, so the process must not use it.
fn try_claim<T>(path: &Path, work: &mut impl FnMut() -> io::Result<T>) -> io::Result<Claim<T>> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == UnexpectedEof => return Ok(Claim::NotOurs),
        other => other?,
    }
    if !is_ours(&header) {
        return Ok(Claim::NotOurs);
    }
    // SQLite locks bytes of this file; connections with a write-ahead log always hold one.
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(Claim::InUse),
        Err(errno) => Err(errno.into()),
        Ok(()) => work().map(Claim::Done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_boot_has_a_number() {
        assert_eq!(boot_number("ffffffff-0000-4000-8000-000000000000"), i32::MAX);
        assert_eq!(boot_number("00000000-0000-4000-8000-000000000000"), 1);
        assert_eq!((boot_number(""), boot_number("not a number")), (0, 0));
        assert_ne!(current_boot(), 0);
    }
}
