//! What the whole server does, whoever is at work: its own status, through the one connection that looks.

use std::collections::BTreeMap;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Counter, EngineError, Workload};

use crate::counters::{self, STATUS};
use crate::data_reads;
use crate::error::failed;
use crate::product::Product;

/// Time in statements, where the server adds it up by their kinds: a few hundred rows.
const DB_TIME: &str = "SELECT CAST(SUM(SUM_TIMER_WAIT) DIV 1000 AS UNSIGNED)
    FROM performance_schema.events_statements_summary_global_by_event_name";

/// Reads it.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn read(conn: &mut Conn, product: &Product) -> Result<Workload, EngineError> {
    let rows: Vec<(String, String)> =
        conn.query(STATUS).map_err(|error| failed("reading what the server counts", &error))?;
    let version: Option<String> = conn.query_first("SELECT VERSION()").ok().flatten();
    // Not every role may see it, and not every server keeps it.
    let db_time_ns: Option<u64> = conn.query_first(DB_TIME).ok().flatten().flatten();
    let reads = data_reads::read(conn);
    let name = if product.is_mariadb { "MariaDB" } else { "MySQL" };
    let mut workload = of(rows, db_time_ns);
    let status = std::mem::take(&mut workload.1);
    let mut all = counters::of(status.into_iter(), reads, product.is_mariadb);
    workload.0.counters.iter().for_each(|(counter, value)| all.set(counter, value));
    Ok(Workload { counters: all, version: version.map(|version| format!("{name} {version}")), ..workload.0 })
}

/// What only matters where others are at work, and the variables that it was taken from.
fn of(rows: Vec<(String, String)>, db_time_ns: Option<u64>) -> (Workload, Vec<(String, String)>) {
    let values: BTreeMap<&str, u64> =
        rows.iter().filter_map(|(name, value)| Some((name.as_str(), value.parse().ok()?))).collect();
    let value = |name: &str| values.get(name).copied();
    let known = [
        (Counter::Executions, value("Questions")),
        (Counter::Rollbacks, value("Com_rollback")),
        // A server without these statistics adds up nothing.
        (Counter::DbTimeNs, db_time_ns.filter(|time_ns| *time_ns > 0)),
    ];
    let counters = known.into_iter().filter_map(|(counter, value)| Some((counter, value?))).collect();
    let workload = Workload {
        counters,
        uptime_s: value("Uptime"),
        version: None,
        block_bytes: value("Innodb_page_size").and_then(|bytes| u32::try_from(bytes).ok()),
    };
    (workload, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_does_not_tell_is_absent() {
        let rows = vec![("Questions".to_owned(), "7".to_owned()), ("Uptime".to_owned(), "60".to_owned())];
        let (workload, _) = of(rows, Some(0));
        assert_eq!(workload.counters.iter().collect::<Vec<_>>(), [(Counter::Executions, 7)]);
        assert_eq!((workload.uptime_s, workload.block_bytes), (Some(60), None));
    }
}
