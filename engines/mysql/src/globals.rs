//! Settings of a whole server that change for a run: dirty pages are written before it, and switches that disturb single-page
//! reads are off.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Result, RunPlan, Unfinished};
use slob_server::Connector as _;

use crate::connect::Connector;
use crate::sql::{Ask, InStep, failed, is_denied};

pub(crate) struct Globals {
    connector: Arc<Connector>,
    endpoint: usize,
    /// Their drop restores them all, the last one first.
    before: Vec<(&'static str, String)>,
    unfinished: Option<Unfinished>,
}

impl Globals {
    pub(crate) fn new(connector: &Arc<Connector>, endpoint: usize) -> Self {
        Self { connector: Arc::clone(connector), endpoint, before: Vec::new(), unfinished: None }
    }

    /// False if the role may not. After another error the setting may have changed, and is restored too.
    fn set(&mut self, conn: &mut Conn, name: &'static str, value: &str) -> Result<bool, mysql::Error> {
        let Some(before) = conn.query_first::<String, _>(format!("SELECT @@GLOBAL.{name}"))? else {
            return Ok(true);
        };
        self.unfinished.get_or_insert_with(Unfinished::begin);
        match conn.query_drop(statement(name, value)) {
            Err(error) if is_denied(&error) => Ok(false),
            result => {
                self.before.push((name, before));
                result.map(|()| true)
            }
        }
    }

    /// Uses `conn`, else a new connection. Returns notes on what is still changed.
    pub(crate) fn put_back(mut self, conn: Option<&mut Conn>) -> Vec<String> {
        conn.into_iter().for_each(|conn| drop(self.put_back_through(conn)));
        let error = self.reconnect_and_put_back();
        let left = std::mem::take(&mut self.before);
        let error = error.map_or_else(String::new, |error| format!(" ({error})"));
        left.iter()
            .map(|(name, value)| {
                let remedy = statement(name, value);
                format!("{name} was changed temporarily and could not be restored{error}: run {remedy}.")
            })
            .collect()
    }

    /// Restores the last change first, so that each value is allowed beside the others. Returns an error of one of them.
    fn put_back_through(&mut self, conn: &mut Conn) -> Option<mysql::Error> {
        let mut fault = None;
        let mut left = Vec::new();
        while let Some((name, value)) = self.before.pop() {
            if let Err(error) = conn.query_drop(statement(name, &value)) {
                fault = Some(error);
                left.push((name, value));
            }
        }
        left.reverse();
        self.before = left;
        fault
    }

    fn reconnect_and_put_back(&mut self) -> Option<String> {
        if self.before.is_empty() {
            return None;
        }
        match self.connector.connect(self.endpoint) {
            Ok(mut conn) => self.put_back_through(&mut conn).map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn statement(name: &str, value: &str) -> String {
    format!("SET GLOBAL {name} = {value}")
}

impl Drop for Globals {
    fn drop(&mut self) {
        // A server that ended has lost the changes.
        let _ = self.reconnect_and_put_back();
    }
}

/// The text is the cost for our operations.
const SWITCHES: &[(&str, &str)] = &[
    ("innodb_adaptive_hash_index", "it costs a third of the CPU and never helps range reads"),
    ("innodb_random_read_ahead", "it reads pages that no statement requested"),
];

/// Returns the changes, and notes.
pub(crate) fn switch_off(
    conn: &mut Conn,
    connector: &Arc<Connector>,
    endpoint: usize,
) -> Result<(Globals, Vec<String>)> {
    let mut changed = Globals::new(connector, endpoint);
    let mut notes = Vec::new();
    for (name, why) in SWITCHES {
        let step = format!("switching off {name}");
        let value = conn.row(&step, &format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?.get::<String>(1);
        if value.is_none_or(|value| value != "ON") {
            continue;
        }
        notes.push(match changed.set(conn, name, "OFF").in_step(&step)? {
            true => format!("{name} was on, and is off during the run: {why}."),
            false => format!(
                "{name} is on, and the role may not switch it off: {why}. Grant it SUPER (MySQL: SYSTEM_VARIABLES_ADMIN), or switch it off in the server's configuration."
            ),
        });
    }
    Ok((changed, notes))
}

const FLUSHING: &str = "writing out dirty pages";
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
const FEW: u64 = 16;
/// Each value is allowed in this order. The default capacity of 200 pages per second takes minutes for a gigabyte.
const AT_ONCE: &[(&str, &str)] = &[
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_dirty_pages_pct", "0"),
    ("innodb_io_capacity_max", "100000"),
    ("innodb_io_capacity", "100000"),
];

/// A run then starts without dirty pages of the one before it. Returns notes.
pub(crate) fn flush(
    conn: &mut Conn,
    connector: &Arc<Connector>,
    endpoint: usize,
    run: &RunPlan<'_>,
) -> Result<Vec<String>> {
    if dirty(conn).in_step(FLUSHING)? <= FEW {
        return Ok(Vec::new());
    }
    let mut changed = Globals::new(connector, endpoint);
    let result = flush_at_once(conn, &mut changed, run);
    let left = changed.put_back(Some(conn));
    match result {
        Ok(note) => Ok(note.into_iter().chain(left).collect()),
        Err(error) if left.is_empty() => Err(failed(FLUSHING, &error)),
        Err(error) => Err(failed(FLUSHING, &error).with_advice(left.join(" "))),
    }
}

fn flush_at_once(
    conn: &mut Conn,
    changed: &mut Globals,
    run: &RunPlan<'_>,
) -> Result<Option<String>, mysql::Error> {
    for (name, value) in AT_ONCE {
        if !changed.set(conn, name, value)? {
            let left = dirty(conn)?;
            return Ok(Some(format!(
                "The role may not flush dirty pages, so {left} left by earlier work may be written during the run: grant it \
                 SUPER (MySQL: SYSTEM_VARIABLES_ADMIN)."
            )));
        }
    }
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

fn dirty(conn: &mut Conn) -> Result<u64, mysql::Error> {
    let row: Option<(String, u64)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
    Ok(row.map_or(0, |(_, count)| count))
}
