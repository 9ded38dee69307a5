//! A schema's database file: opening it, and the marker that makes it ours.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Row};
use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, SchemaState, Slice};
use slob_method::{SchemaNo, Table};

use crate::boot;
use crate::error::{damaged, failed};
use crate::header::{self, APPLICATION_ID, HEADER_BYTES, is_ours};
use crate::row::FILLER_BYTES;
use crate::vfs::{IoMode, Location, Meter, read_page};

/// Raised whenever a schema of an older version can't be used as it is.
const FORMAT: i64 = 1;
/// How long a connection waits for locks that other processes hold.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(10);

/// A schema's database file, open.
pub(crate) struct SchemaFile<'a> {
    pub(crate) schema: SchemaNo,
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    meter: &'a Meter,
}

impl<'a> SchemaFile<'a> {
    /// Opens a file that exists.
    ///
    /// # Errors
    /// If it does not, or can't be opened.
    pub(crate) fn open(
        schema: SchemaNo,
        path: &Path,
        io: IoMode,
        meter: &'a Meter,
    ) -> Result<Self, EngineError> {
        Self::open_or_create(schema, path, io, meter, false)
    }

    /// Opens a file for one that is to be made.
    ///
    /// # Errors
    /// If it can't be made.
    pub(crate) fn create(schema: SchemaNo, path: &Path, meter: &'a Meter) -> Result<Self, EngineError> {
        Self::open_or_create(schema, path, IoMode::Buffered, meter, true)
    }

    fn open_or_create(
        schema: SchemaNo,
        path: &Path,
        io: IoMode,
        meter: &'a Meter,
        create: bool,
    ) -> Result<Self, EngineError> {
        if !create && !path.exists() {
            return Err(not_loaded(schema, path));
        }
        let opened = Location { path, io, meter }
            .open(create)
            .and_then(|connection| connection.busy_timeout(BUSY_WAIT).map(|()| connection));
        match opened {
            Ok(connection) => Ok(Self { schema, path: path.to_owned(), connection, meter }),
            Err(error) => Err(failed(step(path), &error, meter)),
        }
    }

    /// Opens a file with a write-ahead log for nothing but a look at its marker, which no log ever changes: where
    /// there is no room left for the shared memory that SQLite needs otherwise.
    ///
    /// # Errors
    /// If it can't be opened, or has no write-ahead log.
    pub(crate) fn open_read_only(
        schema: SchemaNo,
        path: &Path,
        meter: &'a Meter,
    ) -> Result<Self, EngineError> {
        let connection = Location { path, io: IoMode::Buffered, meter }
            .open_read_only()
            .map_err(|error| failed(step(path), &error, meter))?;
        let file = Self { schema, path: path.to_owned(), connection, meter };
        if header::is_wal(&file.header()?) {
            return Ok(file);
        }
        Err(EngineError::new(ErrorKind::Space, step(path), "no room is left for its rollback journal")
            .with_advice("make room on that file system"))
    }

    fn header(&self) -> Result<Vec<u8>, EngineError> {
        read_page(&self.connection, 1, HEADER_BYTES).map_err(|error| self.failed("reading", &error))
    }

    /// Translates an error of this file.
    pub(crate) fn failed(&self, doing: &str, error: &rusqlite::Error) -> EngineError {
        failed(format!("{doing} {}", self.path.display()), error, self.meter)
    }

    /// Executes statements without results.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn batch(&self, doing: &str, sql: &str) -> Result<(), EngineError> {
        self.connection.execute_batch(sql).map_err(|error| self.failed(doing, &error))
    }

    /// Asks for one value.
    ///
    /// # Errors
    /// SQLite's; that there is no row is one of them.
    pub(crate) fn value<T: rusqlite::types::FromSql>(
        &self,
        doing: &str,
        sql: &str,
    ) -> Result<T, EngineError> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|error| self.failed(doing, &error))
    }

    /// Reads the marker; `None` if the file does not carry it.
    ///
    /// # Errors
    /// If the file is a schema of another version, or can't be read.
    pub(crate) fn state(&self) -> Result<Option<SchemaState>, EngineError> {
        let id: i64 = match self.connection.query_row("PRAGMA application_id", [], |row| row.get(0)) {
            Ok(id) => id,
            Err(error) => {
                let error = self.failed("reading", &error);
                // What is not a sound database may still be a damaged schema.
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
            None if boot == boot::current() => LoadState::Begun(self.slices().map_err(read)?),
            None => LoadState::Unsynced(self.slices().map_err(read)?),
        };
        Ok(Some(SchemaState { schema: self.schema, load: marker.load, filler_bytes: FILLER_BYTES, state }))
    }

    /// Translates an error of reading our own tables: that they are not there, or hold something else, is damage.
    fn marker_failed(&self, error: &rusqlite::Error) -> EngineError {
        let doing = "reading the marker of";
        match error.sqlite_error_code() {
            None | Some(rusqlite::ErrorCode::Unknown) => {
                damaged(format!("{doing} {}", self.path.display()), error.to_string())
            }
            _ => self.failed(doing, error),
        }
    }

    /// The state of a file that must be ours.
    ///
    /// # Errors
    /// As [`SchemaFile::state`], and if the marker is missing.
    pub(crate) fn own_state(&self) -> Result<SchemaState, EngineError> {
        self.state()?.ok_or_else(|| not_ours(&self.path))
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

    /// Marks a slice as loaded, in the transaction that loads it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn mark_slice(&self, slice: &Slice) -> Result<(), EngineError> {
        let positions = (slice.table.name(), signed(slice.positions.start), signed(slice.positions.end));
        self.connection
            .execute("INSERT INTO slob_slice VALUES(?1, ?2, ?3)", positions)
            .map(|_| ())
            .map_err(|error| self.failed("marking a slice in", &error))
    }

    /// Writes the marker of a new schema.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn mark_begun(&self, load: &Load) -> Result<(), EngineError> {
        self.batch("marking", &format!("PRAGMA user_version = {}", boot::current()))?;
        // SQLite's integers are signed: the seed keeps its bits.
        let values = [
            FORMAT,
            load.seed.cast_signed(),
            signed(load.scale),
            signed(load.scan_blocks),
            i64::from(load.obfuscated),
            signed(load.slice_rows),
        ];
        self.connection
            .execute(include_str!("../sql/insert_load.sql"), values)
            .map(|_| ())
            .map_err(|error| self.failed("marking", &error))
    }

    /// Marks the schema as complete.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn mark_complete(&self, layout: Layout) -> Result<(), EngineError> {
        let blocks = [signed(layout.row_blocks), signed(layout.all_blocks)];
        self.connection
            .execute("UPDATE slob_load SET row_blocks = ?1, all_blocks = ?2", blocks)
            .map(|_| ())
            .map_err(|error| self.failed("marking", &error))
    }
}

/// The error of a schema whose file is not there.
pub(crate) fn not_loaded(schema: SchemaNo, path: &Path) -> EngineError {
    EngineError::new(ErrorKind::Usage, step(path), format!("schema {schema} is not loaded"))
        .with_advice("load it with `slob setup`, or use fewer schemas")
}

/// The error of a file that has the name of a schema and is none.
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
