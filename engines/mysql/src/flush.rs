//! Writing out what earlier work left dirty.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, RunPlan};

use crate::connect::Connector;
use crate::error::{failed, is_denied};
use crate::globals::Globals;

const STEP: &str = "writing out dirty pages";
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// So few pages are no debt.
const FEW: u64 = 16;
/// What has pages written at once, in an order in which each value is allowed. The capacity is in pages per second: as
/// shipped it is 200, with which a gigabyte takes five minutes.
const AT_ONCE: &[(&str, &str)] = &[
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_dirty_pages_pct", "0"),
    ("innodb_io_capacity_max", "100000"),
    ("innodb_io_capacity", "100000"),
];

/// Has the server write its dirty pages, so that a run starts without the debts of the one before it. Returns, in sentences,
/// what the role could not do, what is left, and what could not be put back.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn flush(
    conn: &mut Conn,
    connector: &Arc<Connector>,
    endpoint: usize,
    run: &RunPlan<'_>,
) -> Result<Vec<String>, EngineError> {
    let fail = |error: mysql::Error| failed(STEP, &error);
    if dirty(conn).map_err(fail)? <= FEW {
        return Ok(Vec::new());
    }
    let mut changed = Globals::new(connector, endpoint);
    let said =
        hurry(conn, &mut changed).and_then(|hurries| if hurries { wait(conn, run) } else { denied(conn) });
    let left = changed.put_back(Some(conn));
    match said {
        Ok(said) => Ok(said.into_iter().chain(left).collect()),
        Err(error) if left.is_empty() => Err(fail(error)),
        Err(error) => Err(fail(error).with_advice(left.join(" "))),
    }
}

/// False if the role may not.
fn hurry(conn: &mut Conn, changed: &mut Globals) -> Result<bool, mysql::Error> {
    for (name, value) in AT_ONCE {
        match changed.set(conn, name, value) {
            Err(error) if is_denied(&error) => return Ok(false),
            result => result?,
        }
    }
    Ok(true)
}

fn wait(conn: &mut Conn, run: &RunPlan<'_>) -> Result<Option<String>, mysql::Error> {
    let begun = Instant::now();
    loop {
        let left = dirty(conn)?;
        if left <= FEW {
            return Ok(None);
        }
        if begun.elapsed() > PATIENCE || run.is_stopped() {
            let waited = begun.elapsed().as_secs();
            return Ok(Some(format!("{left} pages were still dirty after {waited} s of waiting.")));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn denied(conn: &mut Conn) -> Result<Option<String>, mysql::Error> {
    let left = dirty(conn)?;
    Ok(Some(format!(
        "The role may not flush dirty pages, so {left} left by earlier work may be written during the run: grant it \
         SUPER (MySQL: SYSTEM_VARIABLES_ADMIN)."
    )))
}

fn dirty(conn: &mut Conn) -> Result<u64, mysql::Error> {
    let row: Option<(String, u64)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
    Ok(row.map_or(0, |(_, count)| count))
}
