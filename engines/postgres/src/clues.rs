//! What the server can be found by on its host.

use std::path::Path;

use postgres::Client;
use slob_engine::{Clues, EngineError};

use crate::catalog::get;
use crate::error::failed;
use crate::place;

/// Where the log lies in the data directory.
const LOG: &str = "pg_wal";

/// What the server says of itself. Any role may ask for it, but for the data directory: the server works there.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn of_server(client: &mut Client) -> Result<Clues, EngineError> {
    let step = "asking for the server's processes";
    let row = client
        .query_one(
            "SELECT pg_backend_pid(), extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8,
                    current_setting('port')::integer, inet_client_port()",
            &[],
        )
        .map_err(|error| failed(step, &error))?;
    let (backend, age_s, port): (i32, f64, i32) =
        (get(&row, 0, step)?, get(&row, 1, step)?, get(&row, 2, step)?);
    let client_port: Option<i32> = get(&row, 3, step)?;
    let directory = place::data_directory(client);
    Ok(Clues {
        names: vec!["postgres".into()],
        age_s: Some(age_s),
        port: u16::try_from(port).ok(),
        client_port: client_port.and_then(|port| u16::try_from(port).ok()),
        child: u32::try_from(backend).ok(),
        has_children: true,
        data: place::of_tables(client, None),
        log: Some(directory.as_deref().unwrap_or(Path::new(".")).join(LOG)),
        ..Clues::default()
    })
}
