//! Creating a schema and loading its slices.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use slob_engine::{EngineError, ErrorKind, Load, LoadProgress, Slice};
use slob_method::{SchemaNo, Table};

use crate::error::os_failed;
use crate::header::{Claim, claim};
use crate::row::RowBuffer;
use crate::schema_file::{SchemaFile, signed};
use crate::statement::Statement;
use crate::target::{BLOCK_BYTES, Place, SCHEME, companions};
use crate::vfs::{Meter, start_write_back};

/// Rows between two looks at the progress, and between two requests to write back: 8 MiB.
const STRIDE_ROWS: u64 = 1024;
/// Blocks of the loader's cache: what a stream is working on stays in the processor's cache.
const CACHE_BLOCKS: u32 = 256;

/// SQLite numbers pages with 32 bits; 1 % is left for index and interior pages.
const MOST_ROWS: u64 = 4_250_000_000;

/// Makes an empty schema. The file gets its name when it is marked, so that no unmarked file is ever left.
///
/// # Errors
/// If something of that name exists, or the file can't be made.
pub(crate) fn create(place: &Place, load: &Load, schema: SchemaNo, meter: &Meter) -> Result<(), EngineError> {
    let (file, draft) = (place.file(schema), place.draft(schema));
    let step = format!("creating {}", file.display());
    if load.scale.saturating_add(load.scan_blocks) > MOST_ROWS {
        let message = format!("a database file of SQLite holds at most {MOST_ROWS} rows of a block each");
        return Err(
            EngineError::new(ErrorKind::Usage, step, message).with_advice("lower SCALE, or use more schemas")
        );
    }
    if let Some(found) = companions(&file).chain([file.clone()]).find(|path| path.exists()) {
        return Err(exists(place, schema, step, &found));
    }
    match fs::create_dir(&place.folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(os_failed(step, &error)),
        _ => {}
    }
    // Left by a program that was killed in this very place.
    for path in companions(&draft).chain([draft.clone()]).filter(|path| path.exists()) {
        fs::remove_file(&path).map_err(|error| os_failed(step.as_str(), &error))?;
    }
    let new = SchemaFile::create(schema, &draft, meter)?;
    new.batch("creating", include_str!("../sql/create.sql"))?;
    new.mark_begun(load)?;
    new.batch("creating", "COMMIT")?;
    drop(new);
    renameat_with(CWD, &draft, CWD, &file, RenameFlags::NOREPLACE)
        .map_err(|errno| os_failed(step, &errno.into()))
}

/// The error of a name that is taken: what to do depends on by whom.
fn exists(place: &Place, schema: SchemaNo, step: String, found: &Path) -> EngineError {
    // A file that can't be looked at, or is in use by other programs, is not known to be ours.
    let ours = matches!(claim(&place.file(schema), Duration::ZERO, || Ok(())), Ok(Claim::Done(())));
    let (what, advice) = if ours {
        let target = format!("{SCHEME}:{}", place.folder.display());
        ("a schema of slob's", format!("`slob drop --target '{target}'` removes what is loaded there"))
    } else {
        let advice = "move it away, or name another folder with TARGET (--target sqlite:FOLDER)";
        ("not known to be slob's and is left untouched", advice.to_owned())
    };
    let message = format!("{} exists and is {what}", found.display());
    EngineError::new(ErrorKind::Usage, step, message).with_advice(advice)
}

/// Loads a slice in one transaction.
///
/// # Errors
/// [`ErrorKind::Cancelled`] if the load was stopped; the slice is then not there.
pub(crate) fn load_slice(
    place: &Place,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
    meter: &Meter,
) -> Result<(), EngineError> {
    let path = place.file(slice.schema);
    let file = SchemaFile::open(slice.schema, &path, place.load_io(), meter)?;
    file.own_state()?;
    file.batch("loading", include_str!("../sql/loading.sql"))?;
    file.batch("loading", &format!("PRAGMA cache_size = {CACHE_BLOCKS}; BEGIN IMMEDIATE"))?;
    // What fails leaves the transaction open; closing the connection rolls it back.
    insert_rows(&file, load, slice, progress, place.buffered)?;
    file.mark_slice(slice)?;
    file.batch("loading", "COMMIT")
}

fn insert_rows(
    file: &SchemaFile<'_>,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
    buffered: bool,
) -> Result<(), EngineError> {
    let sql = match slice.table {
        Table::Main => include_str!("../sql/insert_main.sql"),
        Table::Scan => include_str!("../sql/insert_scan.sql"),
    };
    // SAFETY: dropped at the end of this function, used by this thread only, as is the connection.
    let insert = unsafe { Statement::prepare(&file.connection, sql) };
    let mut insert = insert.map_err(|error| file.failed("loading", &error))?;
    let scatter = load.scatter(slice.schema);
    let mut row = RowBuffer::new(load, slice.schema);
    let mut written_back = file_bytes(file)?;
    let mut position = slice.positions.start;
    while position < slice.positions.end {
        if progress.stopped() {
            let step = format!("loading {}", file.path.display());
            return Err(EngineError::new(ErrorKind::Cancelled, step, "the load was stopped"));
        }
        let end = slice.positions.end.min(position + STRIDE_ROWS);
        for position in position..end {
            let custid = match slice.table {
                Table::Main => scatter.key_at(position),
                Table::Scan => position,
            };
            let values = row.fill(slice.table, signed(position), custid);
            insert.run(&values).map_err(|error| file.failed("loading", &error))?;
        }
        progress.add(end - position);
        position = end;
        if buffered {
            written_back = write_back(file, written_back)?;
        }
    }
    Ok(())
}

fn file_bytes(file: &SchemaFile<'_>) -> Result<u64, EngineError> {
    let pages: u32 = file.value("loading", "PRAGMA page_count")?;
    Ok(u64::from(pages) * u64::from(BLOCK_BYTES))
}

/// Has the kernel begin to write what the file has grown by, so that the device works while rows are made.
fn write_back(file: &SchemaFile<'_>, from: u64) -> Result<u64, EngineError> {
    let to = file_bytes(file)?;
    start_write_back(&file.connection, from..to).map_err(|error| file.failed("writing back", &error))?;
    Ok(to)
}
