//! Queries outside of sessions: identity, place, limits, waits and locks of a server.

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
use crate::settings::SMALL_PAGES;
use crate::sql::{Ask, InStep, namespace, process};

/// A folder in the data directory.
const LOG: &str = "pg_wal";
/// The sampler's connection, and one that reads.
pub(crate) const OTHERS: u64 = 2;
/// `loading.sql` sets this wait for locks.
pub(crate) const LOAD_PATIENCE: Duration = Duration::from_secs(60);
/// A drop waits so long for locks.
pub(crate) const DROP_PATIENCE: Duration = Duration::from_secs(5);
/// `lock_not_available`.
const NO_LOCK: &str = "SQLSTATE 55P03";

impl Monitored for Connector {
    fn identity(client: &mut Client) -> Result<String> {
        let step = "telling servers apart";
        client.row(step, include_str!("../sql/identity.sql"))?.need(0, step)
    }

    fn number(client: &mut Client) -> Option<u64> {
        process(client, "asking for its process").ok()
    }

    /// Only the data directory needs rights.
    fn clues(client: &mut Client) -> Result<Clues> {
        let row = client.row("asking for the server's processes", include_str!("../sql/clues.sql"))?;
        let log = data_directory(client).as_deref().unwrap_or(Path::new(".")).join(LOG);
        Ok(Clues {
            names: vec!["postgres".into()],
            age_s: row.get(1),
            port: row.get(2),
            client_port: row.get(3),
            child: row.get(0),
            has_children: true,
            data: table_folder(client, None),
            log: Some(log.clone()),
            log_files: vec![log],
            small_pages: row.get(4).map(|_: u8| SMALL_PAGES.into()),
            ..Clues::default()
        })
    }

    fn limits(client: &mut Client, step: &str) -> Result<Vec<Limit>> {
        let rows = client.rows(step, include_str!("../sql/capacity.sql"))?;
        Ok(rows.iter().filter_map(Limit::read).collect())
    }

    /// A session without a wait is on a CPU or ready to run. Pauses of the plan are no waits.
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

/// A tablespace or the data directory, to which paths are relative.
pub(crate) fn table_folder(client: &mut Client, tablespace: Option<&str>) -> Option<PathBuf> {
    let row = client.query_opt(include_str!("../sql/place.sql"), &[&tablespace]).ok()??;
    let location = PathBuf::from(row.try_get::<_, String>(0).ok()?);
    if location.is_absolute() {
        return Some(location);
    }
    let directory = data_directory(client).unwrap_or_else(|| Path::new(".").to_path_buf());
    Some(if location.as_os_str().is_empty() { directory } else { directory.join(location) })
}

/// A plain role sees no such row, where SHOW would fail.
fn data_directory(client: &mut Client) -> Option<PathBuf> {
    let sql = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'";
    client.row("asking for the data directory", sql).ok()?.get(0)
}

/// Helps if there are too many connections.
pub(crate) fn with_figures(servers: &Servers<Connector>, error: EngineError) -> EngineError {
    if !error.code().is_some_and(|code| code.contains("53300")) {
        return error;
    }
    let figures = servers.with(Task::Read, |client| {
        let step = "counting connections";
        client.row(step, include_str!("../sql/too_many_connections.sql"))?.need::<String>(0, step)
    });
    error.advised(figures.ok().as_deref())
}

/// Lock holders are, as a rule, still there. Without `patience` it is that of sessions.
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
