//! Counters of a server under the names of the contract.

use std::collections::BTreeMap;

use mysql::Conn;
use slob_engine::{
    CapturedAnswer, Counter, Counters, EngineError, ErrorKind, Figures, Peer, Result, ServerTotals, WaitEvent,
};
use slob_server::{Clients, ConnectionRole, Kind, Row, literals};

use crate::before_run::explained;
use crate::catalog;
use crate::databases::Product;
use crate::settings::{NAMES, READS_QUERY};
use crate::sql::Ask;

const VERSION: &str = "version";
const STATUS: &str = "status";
const READS: &str = "data reads";
const WAITS: &str = "waits";
const STATUS_QUERY: &str = "SHOW GLOBAL STATUS";
/// Waits of our account's sessions only; background threads take no session's time. Waits for tables are sums of the others.
/// Events without a clock have no time.
const WAITS_QUERY: &str = include_str!("../sql/waits.sql");
/// A few hundred rows.
const DB_TIME_QUERY: &str = "SELECT CAST(SUM(SUM_TIMER_WAIT) DIV 1000 AS UNSIGNED)
    FROM performance_schema.events_statements_summary_global_by_event_name";

const PEERS_WITHOUT_PROGRAMS: &str = "SELECT ID, USER, DB, NULL FROM information_schema.PROCESSLIST
    WHERE USER NOT IN ('system user', 'event_scheduler', 'unauthenticated user') AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID')
      AND (COMMAND <> 'Sleep' OR TIME <= 1)";

/// A counter, and the server's variables that make it up, all of which must be there.
type Source = (Counter, &'static str);

const COMMON: &[Source] = &[
    (Counter::LogicalReads, "Innodb_buffer_pool_read_requests"),
    // Includes pages of read-ahead.
    (Counter::PhysicalReads, "Innodb_pages_read"),
    (Counter::PhysicalReadsAhead, "Innodb_buffer_pool_read_ahead"),
    (Counter::PhysicalReadRequests, "Innodb_data_reads"),
    (Counter::PhysicalReadBytes, "Innodb_data_read"),
    (Counter::PhysicalWrites, "Innodb_pages_written"),
    // Whole blocks, the last of which is written again: used where the log's position is invisible.
    (Counter::RedoBytes, "Innodb_os_log_written"),
    (Counter::RedoWrites, "Innodb_log_writes"),
    // Absent in MariaDB since 10.8.
    (Counter::RedoSyncs, "Innodb_os_log_fsyncs"),
    (Counter::Commits, "Com_commit"),
];
/// MySQL counts rows of temporary tables among its handlers', but InnoDB's apart. It shows its log's position since 8.0.30.
const MYSQL: &[Source] = &[
    (Counter::RedoBytes, "Innodb_redo_log_current_lsn"),
    (Counter::RowsRead, "Innodb_rows_read"),
    (Counter::RowsChanged, "Innodb_rows_inserted Innodb_rows_updated Innodb_rows_deleted"),
];
/// MariaDB counts them the other way round.
const MARIADB: &[Source] = &[
    (Counter::RedoBytes, "Innodb_lsn_current"),
    (Counter::RowsRead, "Rows_read"),
    (Counter::RowsChanged, "Handler_write Handler_update Handler_delete"),
];

/// Variables that also sum up all sessions. Pages and log are only counted for the whole server. MySQL's sessions count a read
/// that finds no further row too.
const MYSQL_SESSION: &[Source] = &[
    (Counter::Commits, "Com_commit"),
    (
        Counter::RowsRead,
        "Handler_read_first Handler_read_key Handler_read_last Handler_read_next Handler_read_prev Handler_read_rnd \
         Handler_read_rnd_next",
    ),
    (Counter::RowsChanged, "Handler_update Handler_delete"),
];
const MARIADB_SESSION: &[Source] = &[
    (Counter::Commits, "Com_commit"),
    (Counter::RowsRead, "Rows_read"),
    (Counter::RowsChanged, "Handler_write Handler_update Handler_delete"),
];

fn sources_of_session(is_mariadb: bool) -> &'static [Source] {
    if is_mariadb { MARIADB_SESSION } else { MYSQL_SESSION }
}

pub(crate) fn count_own(conn: &mut Conn, is_mariadb: bool, clients: &Clients) -> Result<()> {
    let sources = sources_of_session(is_mariadb);
    let names: Vec<&str> = sources.iter().flat_map(|(_, names)| names.split(' ')).collect();
    let sql = format!("SHOW SESSION STATUS WHERE Variable_name IN ({})", literals(names));
    let status = conn.rows("reading the counters of a session", &sql)?;
    clients.count(conn.connection_id().into(), sums(&numbers(&status), sources));
    Ok(())
}

/// Includes waits, if the server counts them and the role may see them.
pub(crate) fn read(
    conn: &mut Conn,
    product: &Product,
    schemas: &[String],
    clients: &Clients,
) -> Result<(Figures, Option<Vec<WaitEvent>>)> {
    clients.add(ConnectionRole::Monitor, conn.connection_id().into());
    // These questions read no InnoDB rows, which MySQL counts.
    if product.is_mariadb {
        count_own(conn, true, clients)?;
    }
    let status = conn.rows("reading counters", STATUS_QUERY)?;
    let values = numbers(&status);
    let mut counters =
        counters(&values, &conn.row(READS, READS_QUERY).unwrap_or_default(), product.is_mariadb);
    // MariaDB does not time its log.
    let log = conn.row("log times", include_str!("../sql/log_times.sql")).unwrap_or_default();
    for (counter, column) in [(Counter::RedoWriteTimeNs, 0), (Counter::RedoSyncTimeNs, 1)] {
        log.get(column).into_iter().for_each(|time_ns| counters.set(counter, time_ns));
    }
    see_peers(conn, clients);
    let mut all = sums(&values, sources_of_session(product.is_mariadb));
    // MySQL's handlers count the rows of SHOW STATUS.
    if let Some(rows) = values.get("Innodb_rows_read").filter(|_| !product.is_mariadb) {
        all.set(Counter::RowsRead, *rows);
    }
    let mut figures = clients.attribute(counters, &all);
    if let Some(reads) = file_reads(conn, schemas, values.get("Innodb_page_size").copied()) {
        figures.attribute(&reads.ours, &reads.all);
        // A truncated undo log takes its count with it.
        figures.server.set(Counter::SharedReadBytes, reads.shared_bytes);
    }
    let is_on = conn.row(WAITS, "SELECT @@performance_schema").is_ok_and(|row| row.get(0) == Some(1));
    let waits = is_on.then(|| conn.rows(WAITS, WAITS_QUERY).ok()).flatten();
    Ok((figures, waits.map(|rows| events(&rows))))
}

struct FileReads {
    ours: Counters,
    all: Counters,
    /// Files without a table, such as undo logs.
    shared_bytes: u64,
}

fn file_reads(conn: &mut Conn, schemas: &[String], page: Option<u64>) -> Option<FileReads> {
    let folders = if schemas.is_empty() { "slob[0-9]+".to_owned() } else { schemas.join("|") };
    let sql = include_str!("../sql/file_reads.sql").replace("{ours}", &format!("/({folders})/[^/]*$"));
    let rows = conn.rows(READS, &sql).ok()?;
    let of_owner = |owner: u64| {
        let row = rows.iter().find(|row| row.get(0) == Some(owner));
        [1, 2, 3].map(|column| row.and_then(|row| row.get(column)).unwrap_or(0))
    };
    let side = |owner| {
        let [requests, bytes, time_ns] = of_owner(owner);
        Some(Counters::from([
            (Counter::PhysicalReads, bytes / page.filter(|page| *page > 0)?),
            (Counter::PhysicalReadBytes, bytes),
            (Counter::PhysicalReadRequests, requests),
            (Counter::PhysicalReadTimeNs, time_ns),
        ]))
    };
    let (ours, mut all) = (side(1)?, side(0)?);
    all.add(&ours);
    let [_, shared_bytes, _] = of_owner(2);
    let has_tables = rows.iter().any(|row| row.get::<u64>(0) != Some(2));
    has_tables.then_some(FileReads { ours, all, shared_bytes })
}

/// Counts other clients that work now or did a moment ago.
fn see_peers(conn: &mut Conn, clients: &Clients) {
    const STEP: &str = "looking at other clients";
    let sql = include_str!("../sql/peers.sql");
    // Only the performance schema knows programs.
    let rows = conn.rows(STEP, sql).or_else(|_| conn.rows(STEP, PEERS_WITHOUT_PROGRAMS));
    let ours = clients.numbers();
    let name = |row: &Row, column| row.get(column).unwrap_or_default();
    let others = rows.iter().flatten().filter(|row| row.get(0).is_none_or(|number| !ours.contains(&number)));
    clients.saw(others.map(|row| Peer {
        user: name(row, 1),
        database: name(row, 2),
        application: name(row, 3),
    }));
}

pub(crate) fn numbers(status: &[Row]) -> BTreeMap<&str, u64> {
    status.iter().filter_map(|row| Some((row.0.first()?.as_deref()?, row.get(1)?))).collect()
}

fn sums(values: &BTreeMap<&str, u64>, sources: &[Source]) -> Counters {
    let sum = |(counter, names): &Source| {
        let parts: Option<Vec<u64>> = names.split(' ').map(|name| values.get(name).copied()).collect();
        Some((*counter, parts?.iter().sum()))
    };
    sources.iter().filter_map(sum).collect()
}

fn counters(values: &BTreeMap<&str, u64>, reads: &Row, is_mariadb: bool) -> Counters {
    let own = if is_mariadb { MARIADB } else { MYSQL };
    let mut counters = sums(values, COMMON);
    // The product's own sources win.
    sums(values, own).iter().for_each(|(counter, value)| counters.set(counter, value));
    let page = values.get("Innodb_page_size");
    if let (Some(writes), Some(page)) = (counters.get(Counter::PhysicalWrites), page) {
        counters.set(Counter::PhysicalWriteBytes, writes * page);
    }
    if let (Some(requests), Some(time_ns)) = (reads.get(0), reads.get(1)) {
        // The time is that of these requests, which differ a little from the variables'.
        counters.set(Counter::PhysicalReadRequests, requests);
        counters.set(Counter::PhysicalReadTimeNs, time_ns);
    }
    counters
}

/// wait/io/file/innodb/innodb_data_file is of the class io/file.
fn events(waits: &[Row]) -> Vec<WaitEvent> {
    let event = |row: &Row| {
        let name: String = row.get(0)?;
        let (class, name) = match name.splitn(4, '/').collect::<Vec<_>>()[..] {
            ["wait", group, class, name] => (format!("{group}/{class}"), name.to_owned()),
            _ => (String::new(), name),
        };
        Some(WaitEvent { name, class, waits: Some(row.get(1)?), time_us: row.get(2)?, background: false })
    };
    waits.iter().filter_map(event).collect()
}

pub(crate) fn server_totals(conn: &mut Conn, product: &Product) -> Result<ServerTotals> {
    let status = conn.rows("reading what the server counts", STATUS_QUERY)?;
    let version = conn.row(VERSION, "SELECT VERSION()").unwrap_or_default().get::<String>(0);
    // Not every role may see it, and not every server has it.
    let db_time_ns = conn.row("reading time", DB_TIME_QUERY).unwrap_or_default().get(0);
    let values = numbers(&status);
    let mut workload = profile(&values, db_time_ns);
    let counted = counters(&values, &conn.row(READS, READS_QUERY).unwrap_or_default(), product.is_mariadb);
    for (counter, value) in counted.iter().filter(|(counter, _)| *counter != Counter::Commits) {
        workload.counters.set(counter, value);
    }
    match written_transactions(conn, &values) {
        Some(commits) => workload.counters.set(Counter::Commits, commits),
        None => workload.not_counted.push(NO_COMMITS.to_owned()),
    }
    workload.version = version.map(|version| format!("{} {version}", product.name()));
    Ok(workload)
}

const NO_COMMITS: &str = "commits: Com_commit lacks those of statements that commit by themselves (autocommit), and this account may \
     not see the numbers of InnoDB's transactions: grant it PROCESS";

/// InnoDB numbers transactions at their first write and at their commit (storage/innobase/trx/trx0trx.cc). MySQL shows the next
/// number only in a text that needs PROCESS.
fn written_transactions(conn: &mut Conn, values: &BTreeMap<&str, u64>) -> Option<u64> {
    let next = values.get("Innodb_max_trx_id").copied().or_else(|| {
        let status = conn.row("reading InnoDB's status", "SHOW ENGINE INNODB STATUS").ok()?;
        next_transaction(&status.get::<String>(2)?)
    })?;
    Some(next / 2)
}

/// The line is `Trx id counter 1583`.
fn next_transaction(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("Trx id counter "))?;
    line.trim().parse().ok()
}

/// Figures of profiles only.
fn profile(values: &BTreeMap<&str, u64>, db_time_ns: Option<u64>) -> ServerTotals {
    let value = |name: &str| values.get(name).copied();
    let known = [
        (Counter::Executions, value("Questions")),
        (Counter::Rollbacks, value("Com_rollback")),
        // Without these statistics the sum is 0.
        (Counter::DbTimeNs, db_time_ns.filter(|time_ns| *time_ns > 0)),
    ];
    ServerTotals {
        counters: known.into_iter().filter_map(|(counter, value)| Some((counter, value?))).collect(),
        uptime_s: value("Uptime"),
        version: None,
        block_bytes: value("Innodb_page_size").and_then(|bytes| u32::try_from(bytes).ok()),
        not_counted: Vec::new(),
    }
}

/// Only numbers of the status: its texts are addresses of nodes and keys.
pub(crate) fn capture(conn: &mut Conn) -> Result<Vec<CapturedAnswer>> {
    let settings = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", literals(NAMES.split(' ')));
    let mut ask = |name: &str, sql: &str| CapturedAnswer::ask(name, sql, |sql| conn.texts(sql));
    let mut all = vec![
        ask(VERSION, "SELECT VERSION()"),
        ask("settings", &settings),
        ask(STATUS, STATUS_QUERY),
        ask(READS, READS_QUERY),
        ask(
            "timed instruments",
            "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/io/file/innodb/%'",
        ),
        ask(WAITS, WAITS_QUERY),
    ];
    if let Some(status) = all.iter_mut().find(|said| said.name == STATUS) {
        let is_number = |text: &String| text.parse::<f64>().is_ok();
        status.rows.retain(|row| row.get(1).is_some_and(|value| value.as_ref().is_some_and(is_number)));
    }
    if let Some(state) = catalog::schemas(conn)?.iter().find(|state| state.state.layout().is_some()) {
        for kind in Kind::ALL {
            let sql = explained(kind, state.schema);
            all.push(CapturedAnswer::ask(&format!("plan of {kind:?}"), &sql, |sql| conn.texts(sql)));
        }
    }
    Ok(all)
}

/// A capture without status is an error of [`ErrorKind::Data`].
pub(crate) fn replay(all: &[CapturedAnswer]) -> Result<Figures> {
    let rows = |name| -> Vec<Row> { CapturedAnswer::rows_of(all, name).iter().cloned().map(Row).collect() };
    let status = rows(STATUS);
    if status.is_empty() {
        let message = "there are no variables of its status";
        return Err(EngineError::new(ErrorKind::Data, "reading what the server said", message));
    }
    let is_mariadb =
        CapturedAnswer::value_of(all, VERSION).is_some_and(|version| version.contains("MariaDB"));
    let reads = rows(READS).into_iter().next().unwrap_or_default();
    Ok(Figures {
        counters: counters(&numbers(&status), &reads, is_mariadb),
        events: events(&rows(WAITS)),
        ..Figures::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<const N: usize>(values: [(&str, u64); N], is_mariadb: bool) -> Counters {
        counters(&values.into(), &Row::default(), is_mariadb)
    }

    fn row(values: &[&str]) -> Row {
        Row(values.iter().map(|value| Some((*value).to_owned())).collect())
    }

    #[test]
    fn missing_variables_are_absent() {
        let counters =
            named([("Innodb_rows_inserted", 1), ("Innodb_rows_updated", 2), ("Com_commit", 3)], false);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [(Counter::Commits, 3)], "a sum needs all its parts");
        let workload = profile(&[("Questions", 7), ("Uptime", 60)].into(), Some(0));
        assert_eq!(workload.counters.iter().collect::<Vec<_>>(), [(Counter::Executions, 7)]);
        assert_eq!((workload.uptime_s, workload.block_bytes), (Some(60), None));
    }

    #[test]
    fn redo_is_the_distance_of_log_positions_where_they_are_shown() {
        let redo = |values: [(&str, u64); 2], is_mariadb| named(values, is_mariadb).get(Counter::RedoBytes);
        let written = ("Innodb_os_log_written", 1);
        assert_eq!(redo([written, ("Innodb_redo_log_current_lsn", 2)], false), Some(2));
        assert_eq!(redo([written, ("Com_commit", 2)], false), Some(1), "MySQL before 8.0.30");
        assert_eq!(redo([written, ("Innodb_lsn_current", 2)], true), Some(2));
    }

    #[test]
    fn pages_written_are_bytes_too_and_timed_reads_win() {
        let values = [("Innodb_pages_written", 3), ("Innodb_page_size", 16_384), ("Innodb_data_reads", 5)];
        let counters = counters(&values.into(), &row(&["4", "9000"]), true);
        assert_eq!(counters.get(Counter::PhysicalWriteBytes), Some(49_152));
        assert_eq!(counters.get(Counter::PhysicalReadRequests), Some(4));
        assert_eq!(counters.get(Counter::PhysicalReadTimeNs), Some(9000));
    }

    #[test]
    fn names_of_waits_are_split_into_class_and_event() {
        let events = events(&[row(&["wait/io/file/innodb/innodb_data_file", "3", "900"])]);
        assert_eq!(
            (events[0].class.as_str(), events[0].name.as_str()),
            ("io/file", "innodb/innodb_data_file")
        );
        assert_eq!((events[0].waits, events[0].time_us), (Some(3), 900));
    }
}
