//! Cumulative counters, from the server's statistics views.
//!
//! Backends publish what they counted when they become idle: before version 15 at most once in half a second, and not at
//! all if nothing follows; since then our sessions have them publish it at the end of each batch. Where a run begins and
//! ends, `publisher` waits until what its sessions did is published. Each query reads a fresh picture, since it is a transaction
//! of its own.

use postgres::Client;
use slob_engine::{Counters, EngineError};

use crate::error::failed;
use crate::testimony;
use crate::version::ServerVersion;

/// Reads all that the role may see.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn read(client: &mut Client, version: ServerVersion) -> Result<Counters, EngineError> {
    let (columns, rows) =
        testimony::in_texts(client, &query(version)).map_err(|error| failed("reading counters", &error))?;
    Ok(rows.first().map(|row| from_texts(&columns, row)).unwrap_or_default())
}

/// From the one row of the query, whose columns are named as counters.
pub(crate) fn from_texts(columns: &[String], row: &[Option<String>]) -> Counters {
    let counter =
        |(name, value): (&String, &Option<String>)| Some((name.parse().ok()?, value.as_ref()?.parse().ok()?));
    columns.iter().zip(row).filter_map(counter).collect()
}

/// One query with one column for each counter, named as the counter; NULL for what is not known.
pub(crate) fn query(version: ServerVersion) -> String {
    selected(version) + include_str!("../sql/counters_from.sql")
}

/// Its columns, from statistics `d` of databases and the size of a `block`.
pub(crate) fn selected(version: ServerVersion) -> String {
    [
        include_str!("../sql/counters_database.sql"),
        reads(version),
        writes(version),
        checkpoints(version),
        log(version),
    ]
    .concat()
}

/// The time of reads, and the number that it is divided by: both of all databases since requests are counted, else both, the
/// other being the blocks read, of ours.
fn reads(version: ServerVersion) -> &'static str {
    if version >= ServerVersion::major(18) {
        ",\n(SELECT sum(reads)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_read_requests,
          CASE WHEN current_setting('track_io_timing')::boolean
               THEN (SELECT (sum(read_time) * 1e6)::bigint FROM pg_stat_io WHERE object = 'relation') END
              AS physical_read_time_ns"
    } else {
        ",\nCASE WHEN current_setting('track_io_timing')::boolean THEN (d.blk_read_time * 1e6)::bigint END
              AS physical_read_time_ns"
    }
}

/// Blocks of tables and indexes written by any process.
fn writes(version: ServerVersion) -> &'static str {
    if version >= ServerVersion::major(18) {
        ",\n(SELECT sum(write_bytes)::bigint / block.bytes FROM pg_stat_io WHERE object = 'relation') AS physical_writes,
          (SELECT sum(write_bytes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_write_bytes"
    } else if version >= ServerVersion::major(16) {
        ",\n(SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_writes,
          (SELECT sum(writes * op_bytes)::bigint FROM pg_stat_io WHERE object = 'relation') AS physical_write_bytes"
    } else {
        ",\n(SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter) AS physical_writes,
          (SELECT (buffers_checkpoint + buffers_clean + buffers_backend) * block.bytes FROM pg_stat_bgwriter)
             AS physical_write_bytes"
    }
}

/// Before 17, checkpoints begun; since then those that had something to do (18) or came about (17).
fn checkpoints(version: ServerVersion) -> &'static str {
    if version >= ServerVersion::major(18) {
        ",\n(SELECT num_done FROM pg_stat_checkpointer) AS checkpoints"
    } else if version >= ServerVersion::major(17) {
        ",\n(SELECT num_timed + num_requested FROM pg_stat_checkpointer) AS checkpoints"
    } else {
        ",\n(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter) AS checkpoints"
    }
}

/// Writes and forced writes of the log; its bytes are in every version the position in it.
fn log(version: ServerVersion) -> &'static str {
    if version >= ServerVersion::major(18) {
        ",\n(SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') AS redo_writes,
          (SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') AS redo_syncs"
    } else if version >= ServerVersion::major(14) {
        ",\n(SELECT wal_write FROM pg_stat_wal) AS redo_writes, (SELECT wal_sync FROM pg_stat_wal) AS redo_syncs"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Counter;

    #[test]
    fn what_is_null_or_no_number_is_absent() {
        let columns = ["commits", "redo_bytes", "physical_reads", "block"].map(str::to_owned);
        let row = [Some("7".to_owned()), None, Some("-1".to_owned()), Some("8192".to_owned())];
        let counters = from_texts(&columns, &row);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [(Counter::Commits, 7)]);
    }

    #[test]
    fn every_name_is_a_counter_and_appears_once() {
        for major in 13..=18 {
            let query = query(ServerVersion::major(major));
            let names: Vec<_> = query
                .split(" AS ")
                .skip(1)
                .map(|rest| {
                    rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or_default()
                })
                .filter(|name| !["block", "bytes"].contains(name))
                .collect();
            for name in &names {
                assert!(name.parse::<Counter>().is_ok(), "{name} in {major}");
                assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name} in {major}");
            }
            assert!(names.len() >= 11, "{major}: {names:?}");
        }
    }
}
