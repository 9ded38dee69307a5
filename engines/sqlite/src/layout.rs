//! How the rows lie in their blocks, found by looking at the b-tree.
//!
//! SQLite's own dbstat would read every block of the table. The interior pages, one for about 800 leaves, tell
//! as much: how many leaves there are. Ids are consecutive and no leaf is empty, so if there are as many leaves as
//! ids, each leaf holds one row.

use slob_engine::{EngineError, ErrorKind, Layout};

use crate::schema_file::SchemaFile;
use crate::target::BLOCK_BYTES;
use crate::vfs::read_page;

/// Looks at the main table. There must be no transaction, and no write-ahead log yet.
///
/// # Errors
/// If the file can't be read, or a page is not what it must be.
pub(crate) fn look(file: &SchemaFile<'_>) -> Result<Layout, EngineError> {
    let rows: u32 = file.value("looking at", "SELECT COALESCE(MAX(id) - MIN(id) + 1, 0) FROM cf1")?;
    let root: u32 = file.value("looking at", "SELECT rootpage FROM sqlite_schema WHERE name = 'cf1'")?;
    let all_blocks: u32 = file.value("looking at", "PRAGMA page_count")?;
    Ok(Layout { rows: rows.into(), row_blocks: leaves(file, root)?, all_blocks: all_blocks.into() })
}

/// Counts the leaves of a table's b-tree, level by level from the root. All leaves are at the same depth.
fn leaves(file: &SchemaFile<'_>, root: u32) -> Result<u64, EngineError> {
    let mut level = vec![root];
    loop {
        let Page::Interior(mut children) = page(file, level[0])? else { return Ok(level.len() as u64) };
        // The first grandchild tells whether the children are leaves: then they need not be read.
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

fn interior(file: &SchemaFile<'_>, number: u32) -> Result<Vec<u32>, EngineError> {
    match page(file, number)? {
        Page::Interior(children) => Ok(children),
        Page::Leaf => Err(damaged(file, number)),
    }
}

/// A page of a table's b-tree.
enum Page {
    Leaf,
    /// The page numbers of its children; never empty.
    Interior(Vec<u32>),
}

fn page(file: &SchemaFile<'_>, number: u32) -> Result<Page, EngineError> {
    let bytes = read_page(&file.connection, number, BLOCK_BYTES as usize)
        .map_err(|error| file.failed("looking at", &error))?;
    parse(&bytes).ok_or_else(|| damaged(file, number))
}

/// Reads a page of a table's b-tree (sqlite.org/fileformat2.html, 'B-tree Pages'); none of ours is page 1.
fn parse(bytes: &[u8]) -> Option<Page> {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let short = |at: usize| bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_be_bytes);
    match bytes.first()? {
        13 => Some(Page::Leaf),
        5 => {
            // Header of 12 bytes, ending with the rightmost child; then the place of each cell, which begins with
            // its child.
            let cells = usize::from(short(3)?);
            let child = |cell: usize| number(usize::from(short(12 + 2 * cell)?));
            (0..cells).map(child).chain([number(8)]).collect::<Option<_>>().map(Page::Interior)
        }
        _ => None,
    }
}

fn damaged(file: &SchemaFile<'_>, page: u32) -> EngineError {
    let message = format!("page {page} is not a page of the table's b-tree");
    EngineError::new(ErrorKind::Data, format!("looking at {}", file.path.display()), message)
        .with_advice("remove the schema with `slob drop` and load it again")
}
