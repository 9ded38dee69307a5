//! Completing a schema, and removing one.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{EngineError, ErrorKind, Layout, Load};
use slob_method::{SchemaNo, Table};
use slob_server::names::{INDEX, plain};
use slob_server::{LoopPlace, all_there};

use crate::catalog::{self, get};
use crate::error::{code_of, failed, is_denied};
use crate::layout::PAGES_WITHOUT_ROWS;
use crate::load::TABLES;
use crate::names::{database, table};
use crate::procedure::{self, BATCH, SELECTS};

/// Completes a schema whose slices are all there: statistics, and the procedures that sessions call, unless the loop is
/// to run in the client.
///
/// # Errors
/// If rows are missing, or anything can't be made.
pub(crate) fn finish(
    conn: &mut Conn,
    load: &Load,
    schema: SchemaNo,
    loop_place: LoopPlace,
) -> Result<Layout, EngineError> {
    let step = format!("completing {}", plain(schema));
    if let Some(layout) = catalog::schema(conn, schema, &step)?.state.before_finish(load, schema, &step)? {
        return Ok(layout);
    }
    let fail = |error: mysql::Error| failed(step.as_str(), &error);
    for name in [Table::Main, Table::Scan] {
        // It answers a table, and does not fail where it can't do its work: what it leaves is looked at next.
        let _: Vec<Row> = conn.query(format!("ANALYZE TABLE {}", table(schema, name))).map_err(fail)?;
    }
    let layout = look(conn, load, schema, &step)?;
    if loop_place.is_in_server() {
        procedure::install(conn, load, schema, &step)?;
    }
    catalog::mark_complete(conn, schema, layout).map_err(fail)?;
    Ok(layout)
}

/// Counts rows and pages.
fn look(conn: &mut Conn, load: &Load, schema: SchemaNo, step: &str) -> Result<Layout, EngineError> {
    let sql = format!(
        "SELECT COUNT(custid), COALESCE(MIN(custid), 0), COALESCE(MAX(custid), 0) FROM {} FORCE INDEX (`{INDEX}`)",
        table(schema, Table::Main)
    );
    let row: Option<Row> = conn.query_first(sql).map_err(|error| failed(step, &error))?;
    let row = row.ok_or_else(|| EngineError::new(ErrorKind::Data, step, "the rows can't be counted"))?;
    let value = |column| get::<u64>(&row, column, step);
    let rows = value(0)?;
    all_there(load, [rows, value(1)?, value(2)?], step)?;
    let (row_blocks, all_blocks) = pages(conn, schema, step)?;
    Ok(Layout { rows, row_blocks, all_blocks })
}

/// Leaf pages of the main table that hold rows, and all pages of the schema, by the server's persistent statistics: these two figures
/// are counted, not estimated.
fn pages(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<(u64, u64), EngineError> {
    let sql = "SELECT CAST(SUM(IF(table_name = 'cf1' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages', stat_value, 0)) AS UNSIGNED),
                      CAST(SUM(IF(stat_name = 'size', stat_value, 0)) AS UNSIGNED)
               FROM mysql.innodb_index_stats WHERE database_name = ?";
    let row: Option<Row> = conn.exec_first(sql, (plain(schema),)).map_err(|error| {
        let denied = is_denied(&error);
        let error = failed(step, &error);
        if denied {
            error.with_advice(
                "GRANT SELECT ON mysql.innodb_index_stats TO the role: it tells how the rows lie",
            )
        } else {
            error
        }
    })?;
    let row = row.ok_or_else(|| EngineError::new(ErrorKind::Data, step, "there are no statistics"))?;
    let value = |column| get::<Option<u64>>(&row, column, step);
    match (value(0)?, value(1)?) {
        (Some(leaves), Some(all)) if leaves > 0 => Ok((leaves.saturating_sub(PAGES_WITHOUT_ROWS), all)),
        _ => Err(EngineError::new(ErrorKind::Data, step, "the server has made no statistics of the tables")
            .with_advice(
                "the role needs SELECT and INSERT on its tables for ANALYZE TABLE; see the server's log",
            )),
    }
}

/// Removes a schema: our objects by name, so that what others put there is not removed with them.
///
/// # Errors
/// If it is not ours, in use, or holds objects that are not ours.
pub(crate) fn drop_schema(conn: &mut Conn, schema: SchemaNo) -> Result<(), EngineError> {
    let (name, db) = (plain(schema), database(schema));
    let step = format!("removing {name}");
    catalog::require_marked(conn, schema, &step)?;
    let fail = |error: mysql::Error| failed(step.as_str(), &error);
    let objects = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?
                   UNION ALL SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ?";
    let objects: Vec<String> = conn.exec(objects, (&name, &name)).map_err(fail)?;
    let ours =
        |object: &&String| !TABLES.iter().chain(&[BATCH, SELECTS]).any(|ours| *ours == object.as_str());
    let others: Vec<&String> = objects.iter().filter(ours).collect();
    if !others.is_empty() {
        let message = format!("it holds objects that slob did not make: {others:?}");
        return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice("move or drop them first"));
    }
    // The mark goes last, with the database: what is cut off can be done again.
    let drops = TABLES[..3].iter().map(|table| format!("DROP TABLE IF EXISTS {db}.{table}"));
    conn.query_drop("SET SESSION lock_wait_timeout = 5").map_err(fail)?;
    for sql in drops.chain([format!("DROP DATABASE {db}")]) {
        conn.query_drop(sql).map_err(|error| match code_of(&error) {
            Some(1205) => {
                EngineError::new(ErrorKind::Retryable, step.as_str(), "another session is using it")
                    .with_code("error 1205")
                    .with_advice("end the sessions that use its tables, and try again")
            }
            _ => failed(step.as_str(), &error),
        })?;
    }
    conn.query_drop("SET SESSION lock_wait_timeout = 60").map_err(fail)
}
