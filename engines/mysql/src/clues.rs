//! What the server can be found by on its host.

use std::path::Path;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Clues, EngineError};

use crate::error::failed;

/// The names that its makers give its process.
const NAMES: [&str; 2] = ["mariadbd", "mysqld"];

/// What the server says of itself. Any account may ask for it.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn of_server(conn: &mut Conn) -> Result<Clues, EngineError> {
    let fail = |error: mysql::Error| failed("asking for the server's process", &error);
    let places: Option<(String, String, String, u16)> =
        conn.query_first("SELECT @@pid_file, @@datadir, @@socket, @@port").map_err(fail)?;
    let uptime: Option<(String, f64)> = conn.query_first("SHOW GLOBAL STATUS LIKE 'Uptime'").map_err(fail)?;
    let log: Option<(String, String)> =
        conn.query_first("SHOW GLOBAL VARIABLES LIKE 'innodb_log_group_home_dir'").map_err(fail)?;
    // As ADDRESS:PORT through a network.
    let client: Option<String> = conn
        .query_first("SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()")
        .map_err(fail)?;
    let Some((pid_file, datadir, socket, port)) = places else { return Ok(Clues::default()) };
    let in_data = |path: &str| Path::new(&datadir).join(path);
    Ok(Clues {
        names: NAMES.map(str::to_owned).to_vec(),
        // In whole seconds.
        age_s: uptime.map(|(_, seconds)| seconds),
        port: Some(port).filter(|port| *port > 0),
        client_port: client.and_then(|client| client.rsplit_once(':')?.1.parse().ok()),
        socket: Some(in_data(&socket)),
        pid_file: Some(in_data(&pid_file)),
        log: log.map(|(_, path)| in_data(&path)),
        data: Some(datadir.clone().into()),
        ..Clues::default()
    })
}
