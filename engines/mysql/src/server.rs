//! Queries outside of sessions: identity, place, limits and waits of a server.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Clues, Result};
use slob_server::{Clients, ConnectionRole, Connector as _, Limit, Monitored, Sample, Sampler};

use crate::connect::Connector;
use crate::sql::{Ask, InStep};

/// The sampler's connection, one to cancel with, and one that reads.
pub(crate) const OTHERS: u64 = 3;
const PROCESSES: [&str; 2] = ["mariadbd", "mysqld"];
/// MySQL has a folder since 8.0.30, MariaDB one file since 10.5.
const LOG_FILES: [&str; 3] = ["#innodb_redo", "ib_logfile0", "ib_logfile1"];

impl Monitored for Connector {
    /// Cloned servers may share all of it.
    fn identity(conn: &mut Conn) -> Result<String> {
        let step = "telling servers apart";
        let sql = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@socket, @@pid_file)";
        let place = conn.row(step, sql)?.get(0);
        let uuid = conn.row(step, "SHOW GLOBAL VARIABLES LIKE 'server_uuid'")?.get(1);
        Ok(uuid.or(place).unwrap_or_default())
    }

    fn number(conn: &mut Conn) -> Option<u64> {
        Some(conn.connection_id().into())
    }

    /// A lock of one connection is visible through the other. Cluster nodes don't share locks; where locks are forbidden, equal
    /// identities must do.
    fn is_same(holder: &mut Conn, asker: &mut Conn) -> Result<bool> {
        let step = "telling servers apart";
        let name = format!("slob-{:016x}-{}", RandomState::new().hash_one(step), holder.connection_id());
        let taken = holder.query_first::<Option<bool>, _>(format!("SELECT GET_LOCK('{name}', 0)"));
        let Ok(Some(Some(true))) = taken else { return Ok(true) };
        let user = asker.row(step, &format!("SELECT IS_USED_LOCK('{name}')"));
        holder.run(step, &format!("DO RELEASE_LOCK('{name}')"))?;
        Ok(user?.get::<u64>(0).is_some())
    }

    /// Any account may read them.
    fn clues(conn: &mut Conn) -> Result<Clues> {
        let mut ask = |sql| conn.row("asking for the server's process", sql);
        let places = ask("SELECT @@pid_file, @@datadir, @@socket, @@port")?;
        let uptime = ask("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
        let log = ask("SHOW GLOBAL VARIABLES LIKE 'innodb_log_group_home_dir'")?;
        let client = ask("SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()")?;
        let Some(data) = places.get::<PathBuf>(1) else { return Ok(Clues::default()) };
        let in_data = |path: String| data.join(path);
        let log = log.get(1).map(in_data);
        Ok(Clues {
            names: PROCESSES.map(str::to_owned).to_vec(),
            age_s: uptime.get(1),
            port: places.get(3).filter(|port| *port > 0),
            client_port: client.get::<String>(0).and_then(|client| client.rsplit_once(':')?.1.parse().ok()),
            socket: places.get(2).map(in_data),
            pid_file: places.get(0).map(in_data),
            log_files: log.iter().flat_map(|home| LOG_FILES.map(|name| home.join(name))).collect(),
            log,
            data: Some(data.clone()),
            ..Clues::default()
        })
    }

    fn limits(conn: &mut Conn, step: &str) -> Result<Vec<Limit>> {
        // The session's value includes the account's own limit.
        let sql = "SELECT @@max_connections, @@max_user_connections,
                          (SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = SUBSTRING_INDEX(USER(), '@', 1))";
        let row = conn.row(step, sql)?;
        let connected = conn.row(step, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")?;
        let limits = [
            ("max_connections", row.need(0, step)?, connected.get(1).unwrap_or(0)),
            ("max_user_connections", row.need(1, step)?, row.need(2, step)?),
        ];
        let limit = |(name, most, in_use): (&str, u64, u64)| {
            let remedy = format!("raise {name}");
            Limit { name: name.to_owned(), most, reserved: 0, in_use, remedy }
        };
        // 0 is no limit.
        Ok(limits.into_iter().filter(|(_, most, _)| *most > 0).map(limit).collect())
    }

    /// Our sessions have a schema as default database. Pauses of the plan are no work.
    fn sampler(connector: Arc<Self>, endpoint: usize, clients: Arc<Clients>) -> Sampler {
        Sampler::start(move || {
            let mut conn = connector.connect(endpoint)?;
            clients.add(ConnectionRole::Monitor, conn.connection_id().into());
            Ok(move || {
                let states: Vec<(String, u32)> =
                    conn.query(include_str!("../sql/sample.sql")).in_step("looking at sessions")?;
                let sample = |(state, sessions): (String, u32)| Sample {
                    class: "state".into(),
                    name: if state.is_empty() { "none".into() } else { state },
                    sessions,
                };
                Ok(states.into_iter().map(sample).collect())
            })
        })
    }
}
