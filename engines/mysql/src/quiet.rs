//! Switching off, for a run, what disturbs reads of single pages.

use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::EngineError;

use crate::connect::Connector;
use crate::error::{failed, is_denied};
use crate::globals::Globals;

/// Switches, with what each costs an operation of ours.
const SWITCHES: &[(&str, &str)] = &[
    ("innodb_adaptive_hash_index", "it costs a third of the CPU and never helps range reads"),
    ("innodb_random_read_ahead", "it reads pages that no statement requested"),
];

/// Switches off what is on. Returns what was switched, to be switched on again when it is dropped, and in sentences what
/// that was and what the role may not switch.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn make(
    conn: &mut Conn,
    connector: &Arc<Connector>,
    endpoint: usize,
) -> Result<(Globals, Vec<String>), EngineError> {
    let mut changed = Globals::new(connector, endpoint);
    let mut notes = Vec::new();
    for (name, why) in SWITCHES {
        let step = format!("switching off {name}");
        let sql = format!("SHOW GLOBAL VARIABLES LIKE '{name}'");
        let value: Option<(String, String)> =
            conn.query_first(sql).map_err(|error| failed(step.as_str(), &error))?;
        if value.is_none_or(|(_, value)| value != "ON") {
            continue;
        }
        match changed.set(conn, name, "OFF") {
            Ok(()) => notes.push(format!("{name} was on, and is off during the run: {why}.")),
            Err(error) if is_denied(&error) => notes.push(format!(
                "{name} is on, and the role may not switch it off: {why}. Grant it SUPER (MySQL: SYSTEM_VARIABLES_ADMIN), or switch it off in the server's configuration."
            )),
            Err(error) => return Err(failed(step, &error)),
        }
    }
    Ok((changed, notes))
}
