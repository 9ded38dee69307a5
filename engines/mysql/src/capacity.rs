//! Whether there is room for the sessions of a run.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{EngineError, ErrorKind};

use crate::catalog::get;
use crate::error::failed;

/// Connections that this program opens beside the sessions, and may not have open yet: the sampler's, one to cancel
/// with, and one to look at rows.
const OTHERS: i64 = 3;

/// One limit of connections.
struct Limit {
    /// Its name, as the server's manual calls it.
    name: &'static str,
    most: i64,
    in_use: i64,
}

/// Refuses a run whose sessions will not all be let in.
///
/// # Errors
/// [`ErrorKind::Usage`], with the figures.
pub(crate) fn check(conn: &mut Conn, endpoint: &str, sessions: u32) -> Result<(), EngineError> {
    let step = format!("counting the connections of {endpoint}");
    for Limit { name, most, in_use } in limits(conn, &step)? {
        let room = most - in_use - OTHERS;
        if i64::from(sessions) > room {
            let message = format!(
                "{sessions} sessions do not fit: {name} is {most}, of which {in_use} are in use, and {OTHERS} are needed to watch"
            );
            return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(format!(
                "raise {name}, or run with at most {} sessions here (fewer schemas or threads)",
                room.max(0)
            )));
        }
    }
    Ok(())
}

/// Those of the server and of the account; a limit of 0 is none.
fn limits(conn: &mut Conn, step: &str) -> Result<Vec<Limit>, EngineError> {
    let fail = |error: mysql::Error| failed(step, &error);
    // The session's max_user_connections is the account's, where that has one of its own.
    let sql = "SELECT @@max_connections, @@max_user_connections,
                      (SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = SUBSTRING_INDEX(USER(), '@', 1))";
    let row: Option<Row> = conn.query_first(sql).map_err(fail)?;
    let row = row.ok_or_else(|| EngineError::new(ErrorKind::Data, step, "the server gives no limits"))?;
    let connected: Option<(String, i64)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Threads_connected'").map_err(fail)?;
    let number = |column: usize| get::<i64>(&row, column, step);
    let limits = [
        Limit { name: "max_connections", most: number(0)?, in_use: connected.map_or(0, |(_, count)| count) },
        Limit { name: "max_user_connections", most: number(1)?, in_use: number(2)? },
    ];
    Ok(limits.into_iter().filter(|limit| limit.most > 0).collect())
}
