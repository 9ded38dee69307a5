//! Creating a schema and loading its slices.
//!
//! A slice is one COPY, and its mark is in the same transaction. Tables are logged from the start: an unlogged table
//! would lose its slices in a crash, and its later change to a logged one rewrites all of it. The log stays small all
//! the same, because each row is the first of its block: the block is logged as its row alone, a third of its size. A
//! table that is one slice is emptied in the transaction that fills it, so that its rows are frozen as they come and,
//! with wal_level=minimal, are not logged at all.

use std::io::Write;

use postgres::{Client, Transaction};
use slob_engine::{EngineError, ErrorKind, Load, LoadProgress, Slice};
use slob_method::{SchemaNo, Table};
use slob_server::names::{COMMENT, column_list, columns};

use crate::catalog;
use crate::copy_rows::{CopyRows, HEADER, TRAILER};
use crate::error::failed;
use crate::namespace::{namespace, quoted, table};

/// Rows sent at once, about 160 KB: large enough for the system calls not to count, small enough for caches.
const STRIDE_ROWS: u64 = 64;
/// Room for one row in each block, and in the same block for the two younger versions that an update needs until the
/// older ones are pruned; no vacuum of its own accord in the middle of a load or a run; and no search for columns to
/// compress, since there are none.
const STORAGE: &str = "fillfactor = 10, autovacuum_enabled = false, toast_tuple_target = 8160";

/// Makes an empty, marked schema.
///
/// # Errors
/// If a namespace of that name exists, or can't be made.
pub(crate) fn create(
    client: &mut Client,
    load: &Load,
    schema: SchemaNo,
    tablespace: Option<&str>,
) -> Result<(), EngineError> {
    let step = format!("creating {}", namespace(schema));
    let mut transaction = client.transaction().map_err(|error| failed(step.as_str(), &error))?;
    create_tables(&mut transaction, schema, tablespace)
        .and_then(|()| catalog::mark_begun(&mut transaction, schema, load))
        .and_then(|()| transaction.commit())
        .map_err(|error| {
            let exists = error.code().is_some_and(|code| code.code() == "42P06");
            let error = failed(step, &error);
            if !exists {
                return error;
            }
            error.with_advice("remove the schema with `slob drop`, or name another database with TARGET")
        })
}

fn create_tables(
    transaction: &mut Transaction<'_>,
    schema: SchemaNo,
    tablespace: Option<&str>,
) -> Result<(), postgres::Error> {
    let clause = tablespace.map_or_else(String::new, |name| format!("TABLESPACE {}", quoted(name)));
    let comment = format!("{COMMENT} schema {schema}: made by slob setup, removed by slob drop");
    let sql = include_str!("../sql/create.sql")
        .replace("{ns}", &namespace(schema))
        .replace("{storage}", STORAGE)
        .replace("{tablespace}", &clause)
        .replace("{comment}", &comment);
    transaction.batch_execute(&sql)?;
    for name in [Table::Main, Table::Scan] {
        // Columns that are plain before the statement ends get no TOAST table beside theirs.
        let actions: Vec<String> = stored_columns()
            .iter()
            .map(|column| format!("ADD {column} text NOT NULL, ALTER {column} SET STORAGE PLAIN"))
            .collect();
        let sql = format!("ALTER TABLE {} {}", table(schema, name), actions.join(", "));
        transaction.batch_execute(&sql)?;
    }
    Ok(())
}

/// The columns in the order in which they are stored. The log of an UPDATE holds a row from its first change to its
/// last one: with c20 behind c2, a LITE update logs two columns and not all that lie between them.
fn stored_columns() -> Vec<String> {
    let mut columns: Vec<String> = columns().collect();
    columns[1..].rotate_right(1);
    columns
}

/// Loads a slice and marks it.
///
/// # Errors
/// [`ErrorKind::Cancelled`] if the load was stopped; the slice is then not there.
pub(crate) fn load_slice(
    client: &mut Client,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
) -> Result<(), EngineError> {
    let name = table(slice.schema, slice.table);
    let step = format!("loading {name}");
    catalog::schema(client, slice.schema, &step)?;
    let fail = |error: postgres::Error| failed(step.as_str(), &error);
    let whole = slice.positions == (1..load.rows(slice.table) + 1);
    // What fails drops the transaction, which rolls it back.
    let mut transaction = client.transaction().map_err(fail)?;
    if whole {
        transaction.batch_execute(&format!("TRUNCATE {name}")).map_err(fail)?;
    }
    let freeze = if whole { ", FREEZE" } else { "" };
    let sql = format!("COPY {name} (custid, {}) FROM STDIN (FORMAT binary{freeze})", column_list());
    let rows = copy(&mut transaction, &sql, load, slice, progress, &step)?;
    let expected = slice.positions.end - slice.positions.start;
    if rows != expected {
        let message = format!("the server took {rows} of {expected} rows");
        return Err(EngineError::new(ErrorKind::Data, step, message));
    }
    catalog::mark_slice(&mut transaction, slice).map_err(fail)?;
    transaction.commit().map_err(fail)
}

fn copy(
    transaction: &mut Transaction<'_>,
    sql: &str,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
    step: &str,
) -> Result<u64, EngineError> {
    let mut writer = transaction.copy_in(sql).map_err(|error| failed(step, &error))?;
    let mut rows = CopyRows::new(load, slice);
    let write = |writer: &mut postgres::CopyInWriter<'_>, bytes: &[u8]| {
        writer.write_all(bytes).map_err(|error| copy_failed(step, error))
    };
    write(&mut writer, HEADER)?;
    let mut position = slice.positions.start;
    while position < slice.positions.end {
        if progress.stopped() {
            return Err(EngineError::new(ErrorKind::Cancelled, step, "the load was stopped"));
        }
        let end = slice.positions.end.min(position + STRIDE_ROWS);
        write(&mut writer, rows.rows(position..end))?;
        progress.add(end - position);
        position = end;
    }
    write(&mut writer, &TRAILER)?;
    writer.finish().map_err(|error| failed(step, &error))
}

/// The stream of a COPY reports the server's errors inside those of input and output.
fn copy_failed(step: &str, error: std::io::Error) -> EngineError {
    match error.downcast::<postgres::Error>() {
        Ok(error) => failed(step, &error),
        Err(error) => EngineError::new(ErrorKind::Connection, step, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lite_columns_are_neighbours() {
        let stored = stored_columns();
        assert_eq!(stored[..4], ["c2", "c20", "c3", "c4"]);
        assert_eq!((stored.len(), stored[18].as_str()), (19, "c19"));
    }
}
