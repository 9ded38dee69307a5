//! Who holds the locks that kept us waiting.

use std::time::Duration;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;

use crate::catalog::get;
use crate::engine::Inner;
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

/// What a session of a run ended with; if it is a lock that was not had in time, with the holders named.
pub(crate) fn named(inner: &Inner, schema: SchemaNo, error: EngineError) -> EngineError {
    if !timed_out(&error) {
        return error;
    }
    let explain = |client: &mut Client| {
        let row = client
            .query_one("SHOW lock_timeout", &[])
            .map_err(|error| failed("asking for a time-out", &error))?;
        explained(client, schema, &get::<String>(&row, 0, "asking for a time-out")?)
    };
    inner.look.with(&inner.connector, explain).unwrap_or(error)
}

/// Whether an error is that a lock was not had in time.
pub(crate) fn timed_out(error: &EngineError) -> bool {
    error.code() == Some(CODE)
}

/// An error that says for how long a lock on a schema's tables was waited for, and who holds it: whoever made us wait
/// is, as a rule, still there.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn explained(
    client: &mut Client,
    schema: SchemaNo,
    patience: &str,
) -> Result<EngineError, EngineError> {
    let step = format!("waiting for the tables of {}", namespace(schema));
    let rows = client
        .query(include_str!("../sql/holders.sql"), &[&format!("slob{schema}"), &MOST_NAMED])
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
