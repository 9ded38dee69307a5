//! Counters of a server: for a run's database and for all databases.
//!
//! Backends publish their counts when idle: before version 15 at most once in half a second. Since then our sessions publish at
//! the end of each batch. Sessions wait at the edges of the window ([`crate::session::publish`]). Each query is a transaction of
//! its own, so that it reads fresh counts.

use postgres::Client;
use slob_engine::{
    Answer, CapturedAnswer, Counter, Counters, EngineError, ErrorKind, Figures, Peer, Result, ServerTotals,
};
use slob_server::{Clients, ConnectionRole, Kind, Row, literals};

use crate::before_run::explain_kind;
use crate::catalog;
use crate::settings::NAMES;
use crate::sql::{Ask, InStep, process};

const COUNTERS: &str = "counters";
/// Blocks and log are counted by process since then.
const BY_PROCESS: u32 = 18;
/// The number is the release that brought it.
const VIEWS: &[(&str, u32)] = &[
    ("pg_stat_database WHERE datname = current_database()", 0),
    ("pg_stat_bgwriter", 0),
    ("pg_stat_wal", 14),
    ("pg_stat_io", 16),
    ("pg_stat_checkpointer", 17),
];

/// `-- versions FIRST to LAST` begins lines that only these versions have.
fn of_version(sql: &str, version: u32) -> String {
    let versions = |line: &str| {
        let (first, last) = line.strip_prefix("-- versions ")?.split_once(" to ")?;
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let (mut text, mut applies) = (String::new(), true);
    for line in sql.lines() {
        match versions(line) {
            Some(versions) => applies = versions.contains(&version),
            None if applies => text.extend([line, "\n"]),
            None => {}
        }
    }
    text
}

/// A column is named as its counter; NULL is unknown.
fn query(version: u32) -> String {
    of_version(
        concat!(include_str!("../sql/counters.sql"), include_str!("../sql/counters_from.sql")),
        version,
    )
}

/// Our sessions' rows are counted by table, blocks and log by process since version 18, and blocks by table before. Commits are
/// counted by database only.
pub(crate) fn read(
    client: &mut Client,
    version: u32,
    schemas: &[String],
    clients: &Clients,
) -> Result<Figures> {
    const STEP: &str = "reading counters";
    let (columns, rows) = client.texts(&query(version)).in_step(STEP)?;
    let counters = rows.first().map(|row| from_texts(&columns, row)).unwrap_or_default();
    clients.add(ConnectionRole::Monitor, process(client, STEP)?);
    let numbers: Vec<String> = clients.numbers().iter().map(u64::to_string).collect();
    let numbers = format!("{{{}}}", numbers.join(","));
    let of_clients = if version >= BY_PROCESS { count_sessions(client, &numbers, clients)? } else { None };
    let peers = client.rows(STEP, &include_str!("../sql/peers.sql").replace("{processes}", &numbers))?;
    let name = |row: &Row, column| row.get(column).unwrap_or_default();
    clients.saw(peers.iter().map(|row| Peer {
        user: name(row, 0),
        database: name(row, 1),
        application: name(row, 2),
    }));
    let mut figures = clients.attribute(counters, &of_clients.unwrap_or_default());
    let (ours, mut all) = tables(client, version, schemas)?;
    // Sessions of others may use the same tables, so the run's own rows come from this program.
    let rows = Counter::TableRowsRead;
    figures.counters.set(rows, ours.get(rows).unwrap_or(0));
    all.remove(rows);
    figures.attribute(&ours, &all);
    Ok(figures)
}

/// Also returns the counters of all clients.
fn count_sessions(client: &mut Client, numbers: &str, clients: &Clients) -> Result<Option<Counters>> {
    let sql = include_str!("../sql/own_sessions.sql").replace("{processes}", numbers);
    let (columns, rows) = client.texts(&sql).in_step("reading counters of sessions")?;
    let mut all = None;
    for row in rows {
        let counters = from_texts(&columns, &row);
        match Row(row).get(0) {
            Some(0) | None => all = Some(counters),
            Some(number) => clients.count(number, counters),
        }
    }
    Ok(all)
}

/// First the tables of the run, then those of all users.
fn tables(client: &mut Client, version: u32, schemas: &[String]) -> Result<(Counters, Counters)> {
    let ours = match schemas {
        [] => "schemaname ~ '^slob[0-9]+$'".to_owned(),
        _ => format!("schemaname IN ({})", literals(schemas.iter().map(String::as_str))),
    };
    let sql = of_version(include_str!("../sql/own_tables.sql"), version).replace("{ours}", &ours);
    let (columns, rows) = client.texts(&sql).in_step("reading counters of tables")?;
    let side = |letter: &str| {
        let row = rows.iter().find(|row| row[0].as_deref() == Some(letter));
        row.map(|row| from_texts(&columns, row)).unwrap_or_default()
    };
    Ok((side("t"), side("f")))
}

fn from_texts(columns: &[String], row: &[Option<String>]) -> Counters {
    let counter = |(name, value): (&String, &Option<String>)| {
        let counter: Counter = name.parse().ok()?;
        Some((counter, value.as_ref()?.parse().ok()?))
    };
    columns.iter().zip(row).filter_map(counter).collect()
}

pub(crate) fn server_totals(client: &mut Client, version: u32) -> Result<ServerTotals> {
    let sql = concat!(include_str!("../sql/counters.sql"), include_str!("../sql/workload.sql"));
    let (columns, mut rows) =
        client.texts(&of_version(sql, version)).in_step("reading what the server counts")?;
    let row = rows.pop().unwrap_or_default();
    let value = |name: &str| row.get(columns.iter().position(|column| column == name)?)?.as_deref();
    let mut counters = from_texts(&columns, &row);
    // Only transactions that wrote something have a number.
    if let Some(numbers) = value("numbered").and_then(|text| text.parse().ok()) {
        counters.set(Counter::Commits, numbers);
    }
    Ok(ServerTotals {
        counters,
        uptime_s: value("uptime_s").and_then(|text| text.parse().ok()),
        version: value("version").map(|version| format!("PostgreSQL {version}")),
        block_bytes: value("block_bytes").and_then(|text| text.parse().ok()),
        not_counted: Vec::new(),
    })
}

pub(crate) fn capture(client: &mut Client, version: u32) -> Result<Vec<CapturedAnswer>> {
    const STEP: &str = "asking";
    let settings = format!(
        "SELECT name, setting, unit, source FROM pg_settings WHERE name IN ({})",
        literals(NAMES.split(' '))
    );
    let mut ask =
        |name: &str, sql: &str| CapturedAnswer::ask(name, sql, |sql| client.texts(sql).in_step(STEP));
    let mut all = vec![
        ask("version", "SELECT version(), current_setting('server_version_num')"),
        ask("settings", &settings),
        ask(COUNTERS, &query(version)),
    ];
    for (view, _) in VIEWS.iter().filter(|(_, since)| version >= *since) {
        let name = view.split(' ').next().unwrap_or(view);
        all.push(ask(name, &format!("SELECT * FROM {view}")));
    }
    if let Some(state) = catalog::schemas(client)?.iter().find(|state| state.state.layout().is_some()) {
        for kind in Kind::ALL {
            all.push(CapturedAnswer::ask(&format!("plan of {kind:?}"), "EXPLAIN", |_| {
                let plan = explain_kind(client, kind, state.schema, STEP)?;
                let lines = plan.lines().map(|line| vec![Some(line.to_owned())]);
                Ok::<Answer, EngineError>((Vec::new(), lines.collect()))
            }));
        }
    }
    Ok(all)
}

/// A capture without counters is an error of [`ErrorKind::Data`].
pub(crate) fn replay(all: &[CapturedAnswer]) -> Result<Figures> {
    let said = all.iter().find(|said| said.name == COUNTERS);
    let row = said.and_then(|said| Some((&said.columns, said.rows.first()?)));
    let (columns, row) = row.ok_or_else(|| {
        EngineError::new(ErrorKind::Data, "reading what the server said", "there is no row of counters")
    })?;
    Ok(Figures { counters: from_texts(columns, row), ..Figures::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_other_types_are_absent() {
        let columns = ["commits", "redo_bytes", "physical_reads", "block"].map(str::to_owned);
        let row = [Some("7".to_owned()), None, Some("-1".to_owned()), Some("8192".to_owned())];
        let counters = from_texts(&columns, &row);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [(Counter::Commits, 7)]);
    }

    #[test]
    fn every_name_is_a_counter_and_appears_once() {
        for major in 13..=18 {
            let query = query(major);
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
