//! The server's counters, under the names of the contract.

use std::collections::BTreeMap;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Counter, Counters, EngineError};

use crate::data_reads::{self, DataReads};
use crate::error::failed;
use crate::product::Product;

/// A counter, and the server's variables that make it up: all of them must be there.
type Source = (Counter, &'static [&'static str]);

const COMMON: &[Source] = &[
    (Counter::LogicalReads, &["Innodb_buffer_pool_read_requests"]),
    // Those that read-ahead brought are among them.
    (Counter::PhysicalReads, &["Innodb_pages_read"]),
    (Counter::PhysicalReadRequests, &["Innodb_data_reads"]),
    (Counter::PhysicalReadBytes, &["Innodb_data_read"]),
    (Counter::PhysicalWrites, &["Innodb_pages_written"]),
    // Whole blocks, the last of which is written again by the next commit: taken where the position of the log is not told.
    (Counter::RedoBytes, &["Innodb_os_log_written"]),
    (Counter::RedoWrites, &["Innodb_log_writes"]),
    // MariaDB since 10.8 has no such variable.
    (Counter::RedoSyncs, &["Innodb_os_log_fsyncs"]),
    (Counter::Commits, &["Com_commit"]),
];
/// MySQL counts the rows of temporary tables among its handlers', but InnoDB's apart. It tells the position of its log since 8.0.30.
const MYSQL: &[Source] = &[
    (Counter::RedoBytes, &["Innodb_redo_log_current_lsn"]),
    (Counter::RowsRead, &["Innodb_rows_read"]),
    (Counter::RowsChanged, &["Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted"]),
];
/// MariaDB the other way round.
const MARIADB: &[Source] = &[
    (Counter::RedoBytes, &["Innodb_lsn_current"]),
    (Counter::RowsRead, &["Rows_read"]),
    (Counter::RowsChanged, &["Handler_write", "Handler_update", "Handler_delete"]),
];

/// Reads them.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn read(conn: &mut Conn, product: &Product) -> Result<Counters, EngineError> {
    let rows: Vec<(String, String)> =
        conn.query(STATUS).map_err(|error| failed("reading counters", &error))?;
    Ok(of(rows.into_iter(), data_reads::read(conn), product.is_mariadb))
}

/// What the counters are read with.
pub(crate) const STATUS: &str = "SHOW GLOBAL STATUS";

/// From the names and values of variables, and what is timed of reads.
pub(crate) fn of(
    variables: impl Iterator<Item = (String, String)>,
    reads: Option<DataReads>,
    is_mariadb: bool,
) -> Counters {
    let values = variables.filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect();
    let mut counters = named(&values, is_mariadb);
    if let Some(DataReads { requests, time_ns }) = reads {
        // The time is that of these requests, which the server's variables count a little otherwise.
        counters.set(Counter::PhysicalReadRequests, requests);
        counters.set(Counter::PhysicalReadTimeNs, time_ns);
    }
    counters
}

/// The server's own sources win over the common ones.
fn named(values: &BTreeMap<String, u64>, is_mariadb: bool) -> Counters {
    let own = if is_mariadb { MARIADB } else { MYSQL };
    let mut counters: Counters = COMMON
        .iter()
        .chain(own)
        .filter_map(|(counter, names)| {
            let parts: Option<Vec<u64>> = names.iter().map(|name| values.get(*name).copied()).collect();
            Some((*counter, parts?.iter().sum()))
        })
        .collect();
    let page = values.get("Innodb_page_size").copied();
    if let (Some(writes), Some(page)) = (counters.get(Counter::PhysicalWrites), page) {
        counters.set(Counter::PhysicalWriteBytes, writes * page);
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_does_not_count_is_absent() {
        let values: BTreeMap<String, u64> =
            [("Innodb_rows_inserted", 1), ("Innodb_rows_updated", 2), ("Com_commit", 3)]
                .map(|(name, value)| (name.to_owned(), value))
                .into();
        let counters = named(&values, false);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [(Counter::Commits, 3)], "a sum needs all its parts");
    }

    #[test]
    fn redo_is_the_way_of_the_logs_position_where_that_is_told() {
        let named_of = |names: &[&str], is_mariadb| {
            let values = (1..).zip(names).map(|(value, name)| ((*name).to_owned(), value)).collect();
            named(&values, is_mariadb).get(Counter::RedoBytes)
        };
        let both = ["Innodb_os_log_written", "Innodb_redo_log_current_lsn"];
        assert_eq!(named_of(&both, false), Some(2));
        assert_eq!(named_of(&both[..1], false), Some(1), "MySQL before 8.0.30");
        assert_eq!(named_of(&["Innodb_os_log_written", "Innodb_lsn_current"], true), Some(2));
    }

    #[test]
    fn pages_written_are_bytes_too() {
        let values = [("Innodb_pages_written".to_owned(), 3), ("Innodb_page_size".to_owned(), 16_384)].into();
        assert_eq!(named(&values, true).get(Counter::PhysicalWriteBytes), Some(49_152));
    }
}
