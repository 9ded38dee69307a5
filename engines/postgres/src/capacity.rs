//! Whether there is room for the sessions of a run.

use postgres::Client;
use slob_engine::{EngineError, ErrorKind};

use crate::catalog::get;
use crate::error::failed;

/// Connections that this program opens beside the sessions, and may not have open yet: the sampler's, and one to look
/// at rows.
const OTHERS: i64 = 2;

/// One limit of connections.
struct Limit {
    /// Its name, as the server's manual calls it.
    name: String,
    most: i64,
    /// Of these, kept for others.
    reserved: i64,
    in_use: i64,
    remedy: String,
}

/// Refuses a run whose sessions will not all be let in.
///
/// # Errors
/// [`ErrorKind::Usage`], with the figures.
pub(crate) fn check(client: &mut Client, endpoint: &str, sessions: u32) -> Result<(), EngineError> {
    let step = format!("counting the connections of {endpoint}");
    for limit in limits(client, &step)? {
        let room = limit.most - limit.reserved - limit.in_use - OTHERS;
        if i64::from(sessions) > room {
            let Limit { name, most, reserved, in_use, remedy } = limit;
            let message = format!(
                "{sessions} sessions do not fit: {name} is {most}, of which {reserved} are reserved and {in_use} in use, and {OTHERS} are needed to watch"
            );
            return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(format!(
                "{remedy}, or run with at most {} sessions here (fewer schemas or threads)",
                room.max(0)
            )));
        }
    }
    Ok(())
}

/// Those of the server, the role and the database.
fn limits(client: &mut Client, step: &str) -> Result<Vec<Limit>, EngineError> {
    let row =
        client.query_one(include_str!("../sql/capacity.sql"), &[]).map_err(|error| failed(step, &error))?;
    let number = |column: usize| get::<i64>(&row, column, step);
    let (role, database) = (get::<String>(&row, 7, step)?, get::<String>(&row, 8, step)?);
    let mut limits = vec![Limit {
        name: "max_connections".into(),
        most: number(0)?,
        reserved: number(1)?,
        in_use: number(2)?,
        remedy: "raise max_connections".into(),
    }];
    let own = [
        (number(3)?, number(4)?, format!("the connection limit of the role '{role}'"), "role"),
        (number(5)?, number(6)?, format!("the connection limit of the database '{database}'"), "database"),
    ];
    // A negative limit is none.
    for (most, in_use, name, what) in own.into_iter().filter(|(most, ..)| *most >= 0) {
        let remedy = format!("raise it with ALTER {} ... CONNECTION LIMIT", what.to_uppercase());
        limits.push(Limit { name, most, reserved: 0, in_use, remedy });
    }
    Ok(limits)
}
