//! Whether there is room for the sessions of a run.

use postgres::Client;
use slob_engine::EngineError;
use slob_server::{Limit, Links};

use crate::catalog::get;
use crate::connect::Connector;
use crate::error::failed;

/// Connections that this program opens beside the sessions, and may not have open yet: the sampler's, and one to look
/// at rows.
pub(crate) const OTHERS: u64 = 2;

/// The limits of the server, the role and the database.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn limits(client: &mut Client, step: &str) -> Result<Vec<Limit>, EngineError> {
    let row =
        client.query_one(include_str!("../sql/capacity.sql"), &[]).map_err(|error| failed(step, &error))?;
    // A negative limit is none.
    let number = |column: usize| Ok::<_, EngineError>(u64::try_from(get::<i64>(&row, column, step)?).ok());
    let (role, database) = (get::<String>(&row, 7, step)?, get::<String>(&row, 8, step)?);
    let all = [
        (number(0)?, number(1)?, number(2)?, "max_connections".to_owned(), "raise max_connections"),
        (
            number(3)?,
            None,
            number(4)?,
            format!("the connection limit of the role '{role}'"),
            "raise it with ALTER ROLE ... CONNECTION LIMIT",
        ),
        (
            number(5)?,
            None,
            number(6)?,
            format!("the connection limit of the database '{database}'"),
            "raise it with ALTER DATABASE ... CONNECTION LIMIT",
        ),
    ];
    let limit = |(most, reserved, in_use, name, remedy): (Option<u64>, Option<u64>, Option<u64>, _, &str)| {
        let (reserved, in_use) = (reserved.unwrap_or(0), in_use.unwrap_or(0));
        Some(Limit { name, most: most?, reserved, in_use, remedy: remedy.into() })
    };
    Ok(all.into_iter().filter_map(limit).collect())
}

const FIGURES: &str = "SELECT current_setting('max_connections'), current_setting('superuser_reserved_connections'),
                              (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend')::text";

/// Adds the figures to a refused connection, if it is one of too many.
pub(crate) fn explained(links: &Links<Connector>, error: EngineError) -> EngineError {
    if !error.code().is_some_and(|code| code.contains("53300")) {
        return error;
    }
    let step = "counting connections";
    let figures = links.look(|client| {
        let row = client.query_one(FIGURES, &[]).map_err(|error| failed(step, &error))?;
        let text = |column| get::<String>(&row, column, step);
        Ok(format!(
            "max_connections is {}, of which {} are reserved for superusers; {} are in use: raise max_connections, or use fewer schemas or threads",
            text(0)?, text(1)?, text(2)?
        ))
    });
    match figures {
        Ok(figures) => error.with_advice(figures),
        Err(_) => error,
    }
}
