//! Questions to a server outside of sessions: its identity, place, limits, waits and locks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postgres::Client;
use slob_engine::{Clues, EngineError, ErrorKind, Result};
use slob_method::SchemaNo;
use slob_server::{
    Clients, ConnectionRole, Connector as _, Limit, Monitored, Sample, Sampler, Servers, Task, schema_name,
};

use crate::connect::Connector;
use crate::session::process;
use crate::settings::SMALL_PAGES;
use crate::sql::{Ask, InStep, namespace};

/// The log's folder in the data directory.
const LOG: &str = "pg_wal";
/// Connections that this program opens beside the sessions, and may not have open yet: the sampler's, and one that reads.
pub(crate) const OTHERS: u64 = 2;
/// A load waits so long for a lock; `loading.sql` sets it.
pub(crate) const LOAD_PATIENCE: Duration = Duration::from_secs(60);
/// Dropping a schema waits so long for a lock.
pub(crate) const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// A lock was not granted in time (`lock_not_available`).
const NO_LOCK: &str = "SQLSTATE 55P03";

impl Monitored for Connector {
    fn identity(client: &mut Client) -> Result<String> {
        let step = "telling servers apart";
        client.row(step, include_str!("../sql/identity.sql"))?.need(0, step)
    }

    fn number(client: &mut Client) -> Option<u64> {
        process(client, "asking for its process").ok()
    }

    /// Any role may read them, except for the data directory: the server works there.
    fn clues(client: &mut Client) -> Result<Clues> {
        let row = client.row("asking for the server's processes", include_str!("../sql/clues.sql"))?;
        let directory = data_directory(client);
        Ok(Clues {
            names: vec!["postgres".into()],
            age_s: row.get(1),
            port: row.get(2),
            client_port: row.get(3),
            child: row.get(0),
            has_children: true,
            data: table_folder(client, None),
            log: Some(directory.as_deref().unwrap_or(Path::new(".")).join(LOG)),
            small_pages: row.get(4).map(|_: u8| SMALL_PAGES.into()),
            ..Clues::default()
        })
    }

    fn limits(client: &mut Client, step: &str) -> Result<Vec<Limit>> {
        let rows = client.rows(step, include_str!("../sql/capacity.sql"))?;
        Ok(rows.iter().filter_map(Limit::read).collect())
    }

    /// A session without a wait is on a CPU, or ready to run. Pauses of the plan are not waits.
    fn sampler(connector: Arc<Self>, endpoint: usize, clients: Arc<Clients>) -> Sampler {
        const STEP: &str = "looking at sessions";
        Sampler::start(move || {
            let mut client = connector.connect(endpoint)?;
            client.run(STEP, "SET application_name = 'slob monitor'")?;
            clients.add(ConnectionRole::Monitor, process(&mut client, STEP)?);
            let query = client.prepare(include_str!("../sql/sample.sql")).in_step(STEP)?;
            Ok(move || {
                let rows = client.query(&query, &[]).in_step(STEP)?;
                let sample = |row: &postgres::Row| {
                    let sessions = u32::try_from(row.try_get::<_, i64>(2)?).unwrap_or(u32::MAX);
                    Ok(Sample { class: row.try_get(0)?, name: row.try_get(1)?, sessions })
                };
                rows.iter().map(sample).collect::<Result<_, _>>().in_step(STEP)
            })
        })
    }
}

/// The folder of the tables: a tablespace's, or the data directory. A relative path is relative to the latter, the server's
/// working directory.
pub(crate) fn table_folder(client: &mut Client, tablespace: Option<&str>) -> Option<PathBuf> {
    let row = client.query_opt(include_str!("../sql/place.sql"), &[&tablespace]).ok()??;
    let location = PathBuf::from(row.try_get::<_, String>(0).ok()?);
    if location.is_absolute() {
        return Some(location);
    }
    // Empty, or a tablespace within the data directory.
    let directory = data_directory(client).unwrap_or_else(|| Path::new(".").to_path_buf());
    Some(if location.as_os_str().is_empty() { directory } else { directory.join(location) })
}

/// The data directory, if the role may know it. A plain role sees no such row, where SHOW would be an error.
fn data_directory(client: &mut Client) -> Option<PathBuf> {
    let sql = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'";
    client.row("asking for the data directory", sql).ok()?.get(0)
}

/// Adds the figures to a refused connection, if it is one of too many.
pub(crate) fn with_figures(servers: &Servers<Connector>, error: EngineError) -> EngineError {
    if !error.code().is_some_and(|code| code.contains("53300")) {
        return error;
    }
    let step = "counting connections";
    let figures: Result<String, _> = servers.with(Task::Read, |client| {
        client.row(step, include_str!("../sql/too_many_connections.sql"))?.need(0, step)
    });
    match figures {
        Ok(figures) => error.with_advice(figures),
        Err(_) => error,
    }
}

/// Names the sessions that hold a lock on a schema's tables, if `error` is a lock that was not granted in time: they are, as a
/// rule, still there. Without `patience` it is that of sessions.
pub(crate) fn with_lock_holders(
    servers: &Servers<Connector>,
    schema: SchemaNo,
    error: EngineError,
    patience: Option<Duration>,
) -> EngineError {
    if error.code() != Some(NO_LOCK) {
        return error;
    }
    let explained = servers.with(Task::Read, |client| {
        let patience = match patience {
            Some(patience) => format!("{} s", patience.as_secs()),
            None => client.row("asking for a time-out", "SHOW lock_timeout")?.get(0).unwrap_or_default(),
        };
        let step = format!("waiting for the tables of {}", namespace(schema));
        let sql = include_str!("../sql/holders.sql").replace("{schema}", &schema_name(schema));
        let holders: Vec<String> = client.rows(&step, &sql)?.iter().filter_map(|row| row.get(0)).collect();
        let by = match holders[..] {
            [] => "a session that has ended since".to_owned(),
            _ => holders.join(", "),
        };
        let message = format!("a lock was held by {by}; gave up after {patience}");
        Ok(EngineError::new(ErrorKind::Fatal, step, message)
            .with_code(NO_LOCK)
            .with_advice("end what it does, or the session itself with pg_terminate_backend, and try again"))
    });
    explained.unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_waits_for_locks_as_long_as_messages_say() {
        let set = format!("SET lock_timeout = '{}s';", LOAD_PATIENCE.as_secs());
        assert!(include_str!("../sql/loading.sql").contains(&set));
    }
}
