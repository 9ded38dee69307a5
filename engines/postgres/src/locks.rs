//! Who holds the locks that kept us waiting.

use std::time::Duration;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;
use slob_server::Links;
use slob_server::names::plain;

use crate::catalog::get;
use crate::connect::Connector;
use crate::error::failed;
use crate::namespace::namespace;

/// How long a load waits for a lock; `loading.sql` sets it.
pub(crate) const LOAD_PATIENCE: Duration = Duration::from_secs(60);
/// How long removing a schema waits for a lock.
pub(crate) const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// Holders that a message names.
const MOST_NAMED: i64 = 3;
/// A lock was not had in time (`lock_not_available`).
const CODE: &str = "SQLSTATE 55P03";

/// An error of work on a schema; if it is a lock that was not had in time, with the holders named. `patience` tells for how
/// long it was waited for.
pub(crate) fn named(
    links: &Links<Connector>,
    schema: SchemaNo,
    error: EngineError,
    patience: impl FnOnce(&mut Client) -> Result<String, EngineError>,
) -> EngineError {
    if error.code() != Some(CODE) {
        return error;
    }
    // If the server can't be asked any more, the error itself must do.
    links
        .look(|client| {
            let patience = patience(client)?;
            explained(client, schema, &patience)
        })
        .unwrap_or(error)
}

/// How long the sessions of a run wait for a lock.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn patience_of_sessions(client: &mut Client) -> Result<String, EngineError> {
    let step = "asking for a time-out";
    let row = client.query_one("SHOW lock_timeout", &[]).map_err(|error| failed(step, &error))?;
    get(&row, 0, step)
}

/// An error that says for how long a lock on a schema's tables was waited for, and who holds it: whoever made us wait
/// is, as a rule, still there.
///
/// # Errors
/// If the server can't be asked.
fn explained(client: &mut Client, schema: SchemaNo, patience: &str) -> Result<EngineError, EngineError> {
    let step = format!("waiting for the tables of {}", namespace(schema));
    let rows = client
        .query(include_str!("../sql/holders.sql"), &[&plain(schema), &MOST_NAMED])
        .map_err(|error| failed(step.as_str(), &error))?;
    let holders: Vec<String> = rows.iter().map(|row| get(row, 0, &step)).collect::<Result<_, _>>()?;
    let by = match holders[..] {
        [] => "a session that has ended since".to_owned(),
        _ => holders.join(", "),
    };
    let message = format!("a lock was held by {by}; gave up after {patience}");
    Ok(EngineError::new(ErrorKind::Fatal, step, message)
        .with_code(CODE)
        .with_advice("end what it does, or the session itself with pg_terminate_backend, and try again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_waited() {
        let set = format!("SET lock_timeout = '{}s';", LOAD_PATIENCE.as_secs());
        assert!(include_str!("../sql/loading.sql").contains(&set));
    }
}
