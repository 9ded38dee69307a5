//! Switching off, for a run, what disturbs reads of single pages.

use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::EngineError;

use crate::connect::Connector;
use crate::error::{failed, is_denied};

/// Switches, with what each costs an operation of ours.
const SWITCHES: &[(&str, &str)] = &[
    ("innodb_adaptive_hash_index", "it costs a third of the CPU and never helps a range"),
    ("innodb_random_read_ahead", "it reads pages that nobody asked for"),
];

/// What was switched off on a server; switched on again when it is dropped.
pub(crate) struct Quiet {
    connector: Arc<Connector>,
    endpoint: usize,
    changed: Vec<&'static str>,
}

impl Quiet {
    /// Switches off what is on. Returns what the role may not switch, in sentences.
    ///
    /// # Errors
    /// If the server can't be asked.
    pub(crate) fn make(
        conn: &mut Conn,
        connector: &Arc<Connector>,
        endpoint: usize,
    ) -> Result<(Self, Vec<String>), EngineError> {
        let mut quiet = Self { connector: Arc::clone(connector), endpoint, changed: Vec::new() };
        let mut notes = Vec::new();
        for (name, why) in SWITCHES {
            let step = format!("switching off {name}");
            let sql = format!("SHOW GLOBAL VARIABLES LIKE '{name}'");
            let value: Option<(String, String)> =
                conn.query_first(sql).map_err(|error| failed(step.as_str(), &error))?;
            if value.is_none_or(|(_, value)| value != "ON") {
                continue;
            }
            match conn.query_drop(format!("SET GLOBAL {name} = OFF")) {
                Ok(()) => {
                    quiet.changed.push(name);
                    notes.push(format!("{name} was on, and is off during the run: {why}."));
                }
                Err(error) if is_denied(&error) => notes.push(format!(
                    "{name} is on, and the role may not switch it off: {why}. Grant it SUPER (MySQL: SYSTEM_VARIABLES_ADMIN), or switch it off in the server's configuration."
                )),
                Err(error) => return Err(failed(step, &error)),
            }
        }
        Ok((quiet, notes))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        // A server that is gone has forgotten it.
        let Ok(mut conn) = self.connector.connect(self.endpoint) else { return };
        for name in &self.changed {
            let _ = conn.query_drop(format!("SET GLOBAL {name} = ON"));
        }
    }
}
