//! When the server's counters hold what a connection did.

use std::thread;
use std::time::Duration;

use postgres::Client;
use slob_engine::EngineError;

use crate::error::failed;
use crate::version::ServerVersion;

const STEP: &str = "publishing statistics";
/// Before version 15 a process sends what it counted when a statement ends, at most once in half a second
/// (`PGSTAT_STAT_INTERVAL`), to another one; and who reads may be given what that one had half a second ago.
const OLD_INTERVAL: Duration = Duration::from_millis(510);

/// Has a connection's process publish what it counted at once, where that is possible; else that is published some time later.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn hint(client: &mut Client, version: ServerVersion) -> Result<(), EngineError> {
    if !version.can_flush() {
        return Ok(());
    }
    client.batch_execute("SELECT pg_stat_force_next_flush()").map_err(|error| failed(STEP, &error))
}

/// The same; returns when whoever reads the counters will see everything.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn publish(client: &mut Client, version: ServerVersion) -> Result<(), EngineError> {
    if version.can_flush() {
        return hint(client, version);
    }
    thread::sleep(OLD_INTERVAL);
    client.batch_execute("SELECT 1").map_err(|error| failed(STEP, &error))?;
    thread::sleep(OLD_INTERVAL);
    Ok(())
}
