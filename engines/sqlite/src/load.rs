//! Loading: creating a schema, its slices, its index, and the check of its layout.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadProgress, LoadState, Result, Slice};
use slob_method::{SchemaNo, Table};
use slob_server::{SliceRows, in_strides};

use crate::error::os_failed;
use crate::rows::values;
use crate::schema_file::{Claim, FILLER_BYTES, SchemaFile, claim, signed};
use crate::statement::{Statement, Value};
use crate::target::{BLOCK_BYTES, Place, SCHEME, companions, remove_draft};
use crate::vfs::{Meter, drop_page_cache, read_page, start_write_back};

/// 8 MiB.
const STRIDE_ROWS: u64 = 1024;
const LOAD_CACHE_BLOCKS: u32 = 256;
const INDEX_CACHE_BLOCKS: u32 = 2048;

/// SQLite numbers pages with 32 bits; 1 % is left for index and interior pages.
const MOST_ROWS: u64 = 4_250_000_000;

/// The file is renamed after its marker is written, so no unmarked file is left behind.
pub(crate) fn create(place: &Place, load: &Load, schema: SchemaNo, meter: &Meter) -> Result<()> {
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
    remove_draft(&draft)?;
    let mut new = SchemaFile::create(schema, &draft, meter)?;
    // Messages name the file as it will be found.
    new.path.clone_from(&file);
    new.batch("creating", include_str!("../sql/create.sql"))?;
    new.mark_begun(load)?;
    new.batch("creating", "COMMIT")?;
    drop(new);
    renameat_with(CWD, &draft, CWD, &file, RenameFlags::NOREPLACE)
        .map_err(|errno| os_failed(step, &errno.into()))
}

fn exists(place: &Place, schema: SchemaNo, step: String, found: &Path) -> EngineError {
    // A file that is unreadable or in use by another program is not known to be ours.
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

pub(crate) fn load_slice(
    place: &Place,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
    meter: &Meter,
) -> Result<()> {
    let path = place.file(slice.schema);
    let file = SchemaFile::open(slice.schema, &path, place.load_io(), meter)?;
    file.own_state()?;
    file.batch("loading", include_str!("../sql/loading.sql"))?;
    file.batch("loading", &format!("PRAGMA cache_size = {LOAD_CACHE_BLOCKS}; BEGIN IMMEDIATE"))?;
    // After a failure, the drop of the connection rolls back.
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
) -> Result<()> {
    let sql = match slice.table {
        Table::Main => include_str!("../sql/insert_main.sql"),
        Table::Scan => include_str!("../sql/insert_scan.sql"),
    };
    // SAFETY: dropped at the end of this function, used by this thread only, as is the connection.
    let insert = unsafe { Statement::prepare(&file.connection, sql) };
    let mut insert = insert.map_err(|error| file.failed("loading", &error))?;
    let mut rows = SliceRows::new(load, slice, FILLER_BYTES);
    let mut written_back = file_bytes(file)?;
    let step = format!("loading {}", file.path.display());
    in_strides(slice, STRIDE_ROWS, progress, &step, |positions| {
        for position in positions {
            let custid = rows.fill(position);
            let inserted = insert.run(&values(&rows, signed(position), custid));
            inserted.map_err(|error| file.failed("loading", &error))?;
        }
        if buffered {
            // The device works while rows are made.
            let to = file_bytes(file)?;
            start_write_back(&file.connection, written_back..to)
                .map_err(|error| file.failed("writing back", &error))?;
            written_back = to;
        }
        Ok(())
    })
}

fn file_bytes(file: &SchemaFile<'_>) -> Result<u64> {
    let pages: u32 = file.value("loading", "PRAGMA page_count")?;
    Ok(u64::from(pages) * u64::from(BLOCK_BYTES))
}

pub(crate) fn finish(place: &Place, load: &Load, schema: SchemaNo, meter: &Meter) -> Result<Layout> {
    let path = place.file(schema);
    let file = SchemaFile::open(schema, &path, place.load_io(), meter)?;
    if let LoadState::Complete(layout) = file.own_state()?.state {
        return Ok(layout);
    }
    file.batch("completing", include_str!("../sql/loading.sql"))?;
    file.batch("completing", &format!("PRAGMA cache_size = {INDEX_CACHE_BLOCKS}"))?;
    build_index(&file, load)?;
    check_index(&file, load)?;
    let layout = layout_of(&file)?;
    let scan_rows: u32 = file.value("completing", "SELECT COALESCE(MAX(id), 0) FROM cf2")?;
    if layout.rows != load.scale || u64::from(scan_rows) != load.scan_blocks {
        let message = format!(
            "{} of {} rows of cf1 and {scan_rows} of {} rows of cf2 are there",
            layout.rows, load.scale, load.scan_blocks
        );
        return Err(damaged_data(&file, "completing", message));
    }
    // This commit syncs the whole file.
    file.batch("completing", "PRAGMA synchronous = FULL")?;
    file.mark_complete(layout)?;
    file.value::<String>("completing", "PRAGMA journal_mode = WAL")?;
    file.batch("completing", "PRAGMA wal_checkpoint(TRUNCATE)")?;
    drop_page_cache(&file.connection).map_err(|error| file.failed("completing", &error))?;
    Ok(layout)
}

/// Makes the index of the main table unless it exists.
///
/// CREATE INDEX would read back every block. But key k lies at `position_of(k)`, so entries are written, in order, into a table
/// without rowid whose key is custid and whose other column is the id. On disk such a table *is* the index: a b-tree of the same
/// records (sqlite.org/fileformat2.html, 'Representation of SQL indices'). The schema then only has to name it as one.
fn build_index(file: &SchemaFile<'_>, load: &Load) -> Result<()> {
    let found: i64 = file.value("indexing", "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'i_cf1'")?;
    if found > 0 {
        return Ok(());
    }
    file.batch("indexing", "BEGIN IMMEDIATE")?;
    file.batch("indexing", include_str!("../sql/index_table.sql"))?;
    fill_index(file, load)?;
    file.batch("indexing", "PRAGMA writable_schema = ON")?;
    file.batch("indexing", include_str!("../sql/index_adopt.sql"))?;
    file.batch("indexing", "COMMIT; PRAGMA writable_schema = RESET")
}

fn fill_index(file: &SchemaFile<'_>, load: &Load) -> Result<()> {
    let scatter = load.scatter(file.schema);
    let failed = |error| file.failed("indexing", &error);
    // SAFETY: dropped at the end of this function, used by this thread only, as is the connection.
    let mut insert = unsafe { Statement::prepare(&file.connection, "INSERT INTO slob_index VALUES(?1, ?2)") }
        .map_err(failed)?;
    for custid in 1..=load.scale {
        let entry = [custid, scatter.position_of(custid)].map(|number| Value::Int(signed(number)));
        insert.run(&entry).map_err(failed)?;
    }
    Ok(())
}

/// Reads only the index, not the table.
fn check_index(file: &SchemaFile<'_>, load: &Load) -> Result<()> {
    let scatter = load.scatter(file.schema);
    let doing = "checking the index of";
    let failed = |error| file.failed(doing, &error);
    let sql = "SELECT custid, id FROM cf1 INDEXED BY i_cf1 WHERE custid >= 1 ORDER BY custid";
    let mut statement = file.connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut expected = 1;
    while let Some(row) = rows.next().map_err(failed)? {
        let (custid, id): (i64, i64) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        if custid != signed(expected) || expected > load.scale || id != signed(scatter.position_of(expected))
        {
            return Err(damaged_data(file, doing, format!("key {custid} leads to row {id}")));
        }
        expected += 1;
    }
    if expected == load.scale + 1 {
        Ok(())
    } else {
        Err(damaged_data(file, doing, format!("it ends before key {expected}")))
    }
}

fn damaged_data(file: &SchemaFile<'_>, doing: &str, message: String) -> EngineError {
    EngineError::new(ErrorKind::Data, format!("{doing} {}", file.path.display()), message)
        .with_advice("remove the schema with `slob drop` and load it again")
}

/// There must be no transaction and no write-ahead log.
///
/// dbstat would read every block. Interior pages, one for about 800 leaves, are enough: with as many leaves as consecutive ids,
/// each leaf holds one row.
fn layout_of(file: &SchemaFile<'_>) -> Result<Layout> {
    let rows: u32 = file.value("looking at", "SELECT COALESCE(MAX(id) - MIN(id) + 1, 0) FROM cf1")?;
    let root: u32 = file.value("looking at", "SELECT rootpage FROM sqlite_schema WHERE name = 'cf1'")?;
    let all_blocks: u32 = file.value("looking at", "PRAGMA page_count")?;
    Ok(Layout { rows: rows.into(), row_blocks: leaves(file, root)?, all_blocks: all_blocks.into() })
}

fn leaves(file: &SchemaFile<'_>, root: u32) -> Result<u64> {
    let mut level = vec![root];
    loop {
        let Page::Interior(mut children) = page(file, level[0])? else { return Ok(level.len() as u64) };
        // All leaves have the same depth.
        if let Page::Leaf = page(file, children[0])? {
            let mut count = children.len() as u64;
            for number in &level[1..] {
                count += interior(file, *number)?.len() as u64;
            }
            return Ok(count);
        }
        for number in &level[1..] {
            children.append(&mut interior(file, *number)?);
        }
        level = children;
    }
}

fn interior(file: &SchemaFile<'_>, number: u32) -> Result<Vec<u32>> {
    match page(file, number)? {
        Page::Interior(children) => Ok(children),
        Page::Leaf => Err(bad_page(file, number)),
    }
}

enum Page {
    Leaf,
    Interior(Vec<u32>),
}

fn page(file: &SchemaFile<'_>, number: u32) -> Result<Page> {
    let mut bytes = [0; BLOCK_BYTES as usize];
    read_page(&file.connection, number, &mut bytes).map_err(|error| file.failed("looking at", &error))?;
    parse(&bytes).ok_or_else(|| bad_page(file, number))
}

/// Parses a page other than page 1 (sqlite.org/fileformat2.html, 'B-tree Pages').
fn parse(bytes: &[u8]) -> Option<Page> {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let short = |at: usize| bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_be_bytes);
    match bytes.first()? {
        13 => Some(Page::Leaf),
        5 => {
            let cells = usize::from(short(3)?);
            let child = |cell: usize| number(usize::from(short(12 + 2 * cell)?));
            (0..cells).map(child).chain([number(8)]).collect::<Option<_>>().map(Page::Interior)
        }
        _ => None,
    }
}

fn bad_page(file: &SchemaFile<'_>, page: u32) -> EngineError {
    damaged_data(file, "looking at", format!("page {page} is not a page of the table's b-tree"))
}
