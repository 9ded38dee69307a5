//! Writing out what earlier work left dirty.

use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::EngineError;

use crate::error::{failed, is_denied};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// So few pages are no debt.
const FEW: u64 = 16;
/// What has pages written at once, in an order in which each value is allowed; put back the other way round. The
/// capacity is in pages per second: as shipped it is 200, with which a gigabyte takes five minutes.
const AT_ONCE: &[(&str, u32)] = &[
    ("innodb_max_dirty_pages_pct_lwm", 0),
    ("innodb_max_dirty_pages_pct", 0),
    ("innodb_io_capacity_max", 100_000),
    ("innodb_io_capacity", 100_000),
];

/// Has the server write its dirty pages, so that a run starts without the debts of the one before it. Returns what the
/// role could not do.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn flush(conn: &mut Conn) -> Result<Option<String>, EngineError> {
    let step = "writing out dirty pages";
    let fail = |error: mysql::Error| failed(step, &error);
    if dirty(conn).map_err(fail)? <= FEW {
        return Ok(None);
    }
    let mut before = Vec::new();
    for (name, _) in AT_ONCE {
        let value: Option<String> = conn.query_first(format!("SELECT @@GLOBAL.{name}")).map_err(fail)?;
        before.extend(value.map(|value| (name, value)));
    }
    for (name, value) in AT_ONCE {
        match conn.query_drop(format!("SET GLOBAL {name} = {value}")) {
            Err(error) if is_denied(&error) => return denied(conn).map_err(fail),
            result => result.map_err(fail)?,
        }
    }
    let begun = Instant::now();
    let mut left = Ok(u64::MAX);
    while begun.elapsed() < PATIENCE {
        left = dirty(conn);
        if left.as_ref().map_or(true, |left| *left <= FEW) {
            break;
        }
        thread::sleep(LOOK_AGAIN);
    }
    for (name, value) in before.into_iter().rev() {
        conn.query_drop(format!("SET GLOBAL {name} = {value}")).map_err(fail)?;
    }
    let left = left.map_err(fail)?;
    Ok((left > FEW)
        .then(|| format!("{left} pages were still dirty after {} s of waiting.", PATIENCE.as_secs())))
}

fn denied(conn: &mut Conn) -> Result<Option<String>, mysql::Error> {
    let left = dirty(conn)?;
    Ok(Some(format!(
        "The role may not have dirty pages written, so {left} that earlier work left may be written during the run: grant it SUPER (MySQL: SYSTEM_VARIABLES_ADMIN)."
    )))
}

fn dirty(conn: &mut Conn) -> Result<u64, mysql::Error> {
    let row: Option<(String, u64)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
    Ok(row.map_or(0, |(_, count)| count))
}
