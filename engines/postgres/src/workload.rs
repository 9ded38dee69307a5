//! What the whole server does, whoever is at work: its statistics of all databases, through the one connection that looks.

use postgres::Client;
use slob_engine::{Counter, EngineError, Workload};

use crate::counters;
use crate::error::failed;
use crate::testimony;
use crate::version::ServerVersion;

const STEP: &str = "reading what the server counts";

/// Reads it.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn read(client: &mut Client, version: ServerVersion) -> Result<Workload, EngineError> {
    let asked = testimony::in_texts(client, &query(version)).map_err(|error| failed(STEP, &error))?;
    let (columns, rows) = asked;
    let row = rows.first().map(Vec::as_slice).unwrap_or_default();
    let value = |name: &str| {
        let at = columns.iter().position(|column| column == name)?;
        row.get(at)?.clone()
    };
    let mut counters = counters::from_texts(&columns, row);
    // Transactions that wrote something have a number: those that only read end without asking anything of the log.
    if let Some(numbers) = value("numbered").and_then(|text| text.parse().ok()) {
        counters.set(Counter::Commits, numbers);
    }
    Ok(Workload {
        counters,
        uptime_s: value("uptime_s").and_then(|text| text.parse().ok()),
        version: value("version").map(|version| format!("PostgreSQL {version}")),
        block_bytes: value("block_bytes").and_then(|text| text.parse().ok()),
    })
}

/// The counters of a run's database, of all databases; and what only matters where others are at work.
fn query(version: ServerVersion) -> String {
    let has_active_time = version >= ServerVersion::major(14);
    let active = if has_active_time { ",\n             sum(active_time) AS active_time" } else { "" };
    let db_time = if has_active_time { ",\n(d.active_time * 1e6)::bigint AS db_time_ns" } else { "" };
    [
        &counters::selected(version),
        db_time,
        requests(version),
        syncs(version),
        ",\nd.xact_rollback AS rollbacks,
          pg_snapshot_xmax(pg_current_snapshot())::text AS numbered,
          extract(epoch FROM now() - pg_postmaster_start_time())::bigint AS uptime_s,
          current_setting('server_version') AS version,
          block.bytes AS block_bytes",
        &include_str!("../sql/workload_from.sql").replace("{active}", active),
    ]
    .concat()
}

fn requests(version: ServerVersion) -> &'static str {
    match version >= ServerVersion::major(18) {
        true => {
            ",\n(SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_write_requests"
        }
        false => "",
    }
}

/// How long the log was forced, where it is timed.
fn syncs(version: ServerVersion) -> &'static str {
    match version >= ServerVersion::major(18) {
        true => {
            ",\nCASE WHEN current_setting('track_wal_io_timing')::boolean
               THEN (SELECT (sum(fsync_time) * 1e6)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') END
              AS redo_sync_time_ns"
        }
        false => "",
    }
}
