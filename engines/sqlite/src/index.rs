//! The index of the main table, built without reading the table.
//!
//! CREATE INDEX would read back every block that was just written. But what the index holds is known without
//! that: key k lies at position `position_of(k)`. So its entries are written, in order, into a table without
//! rowid whose primary key is custid and whose other column is the id. On disk such a table *is* the index: both
//! are b-trees of records (custid, id), in the same format and order (sqlite.org/fileformat2.html, 'Representation
//! of SQL indices' and 'WITHOUT ROWID tables'). All that is left to do is to name it in the schema as what it is.
//!
//! It is then read through as an index and compared with the table's permutation, entry by entry.

use slob_engine::{EngineError, ErrorKind, Load};

use crate::schema_file::{SchemaFile, signed};
use crate::statement::{Statement, Value};

/// Makes the index if it is not there yet, in one transaction.
///
/// # Errors
/// SQLite's.
pub(crate) fn build(file: &SchemaFile<'_>, load: &Load) -> Result<(), EngineError> {
    let found: i64 = file.value("indexing", "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'i_cf1'")?;
    if found > 0 {
        return Ok(());
    }
    file.batch("indexing", "BEGIN IMMEDIATE")?;
    file.batch("indexing", include_str!("../sql/index_table.sql"))?;
    fill(file, load)?;
    file.batch("indexing", "PRAGMA writable_schema = ON")?;
    file.batch("indexing", include_str!("../sql/index_adopt.sql"))?;
    file.batch("indexing", "COMMIT; PRAGMA writable_schema = RESET")
}

fn fill(file: &SchemaFile<'_>, load: &Load) -> Result<(), EngineError> {
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

/// Reads the whole index, and nothing else, and compares each entry with the permutation.
///
/// # Errors
/// [`ErrorKind::Data`] at the first entry that is wrong, or if any is missing.
pub(crate) fn check(file: &SchemaFile<'_>, load: &Load) -> Result<(), EngineError> {
    let scatter = load.scatter(file.schema);
    let failed = |error| file.failed("checking the index of", &error);
    let sql = "SELECT custid, id FROM cf1 INDEXED BY i_cf1 WHERE custid >= 1 ORDER BY custid";
    let mut statement = file.connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut expected = 1;
    while let Some(row) = rows.next().map_err(failed)? {
        let (custid, id): (i64, i64) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        if custid != signed(expected) || expected > load.scale || id != signed(scatter.position_of(expected))
        {
            return Err(damaged(file, format!("key {custid} leads to row {id}")));
        }
        expected += 1;
    }
    if expected == load.scale + 1 {
        Ok(())
    } else {
        Err(damaged(file, format!("it ends before key {expected}")))
    }
}

fn damaged(file: &SchemaFile<'_>, message: String) -> EngineError {
    EngineError::new(ErrorKind::Data, format!("checking the index of {}", file.path.display()), message)
        .with_advice("remove the schema with `slob drop` and load it again")
}
