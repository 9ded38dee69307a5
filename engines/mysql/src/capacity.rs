//! Whether there is room for the sessions of a run.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{EngineError, ErrorKind};
use slob_server::Limit;

use crate::catalog::get;
use crate::error::failed;

/// Connections that this program opens beside the sessions, and may not have open yet: the sampler's, one to cancel
/// with, and one to look at rows.
pub(crate) const OTHERS: u64 = 3;

/// The limits of the server and of the account.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn limits(conn: &mut Conn, step: &str) -> Result<Vec<Limit>, EngineError> {
    let fail = |error: mysql::Error| failed(step, &error);
    // The session's max_user_connections is the account's, where that has one of its own.
    let sql = "SELECT @@max_connections, @@max_user_connections,
                      (SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = SUBSTRING_INDEX(USER(), '@', 1))";
    let row: Option<Row> = conn.query_first(sql).map_err(fail)?;
    let row = row.ok_or_else(|| EngineError::new(ErrorKind::Data, step, "the server gives no limits"))?;
    let connected: Option<(String, u64)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Threads_connected'").map_err(fail)?;
    let number = |column: usize| get::<u64>(&row, column, step);
    let limits = [
        ("max_connections", number(0)?, connected.map_or(0, |(_, count)| count)),
        ("max_user_connections", number(1)?, number(2)?),
    ];
    let limit = |(name, most, in_use): (&str, u64, u64)| {
        let remedy = format!("raise {name}");
        Limit { name: name.to_owned(), most, reserved: 0, in_use, remedy }
    };
    // A limit of 0 is none.
    Ok(limits.into_iter().filter(|(_, most, _)| *most > 0).map(limit).collect())
}
