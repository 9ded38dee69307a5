//! What the server says of itself, in texts.

use postgres::{Client, SimpleQueryMessage};
use slob_engine::{Answer, CapturedAnswer, EngineError, ErrorKind, Figures};
use slob_server::Kind;

use crate::error::failed;
use crate::version::ServerVersion;
use crate::{catalog, counters, plans, settings};

const COUNTERS: &str = "counters";
/// The views that counters are read from, and the release that brought each.
const VIEWS: &[(&str, u32)] = &[
    ("pg_stat_database WHERE datname = current_database()", 0),
    ("pg_stat_bgwriter", 0),
    ("pg_stat_wal", 14),
    ("pg_stat_io", 16),
    ("pg_stat_checkpointer", 17),
];

/// Asks in the simple protocol, in which all values are texts.
///
/// # Errors
/// Of the server.
pub(crate) fn in_texts(client: &mut Client, sql: &str) -> Result<Answer, postgres::Error> {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for message in client.simple_query(sql)? {
        match message {
            SimpleQueryMessage::RowDescription(described) => {
                columns = described.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                rows.push((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect());
            }
            _ => {}
        }
    }
    Ok((columns, rows))
}

/// All of it.
///
/// # Errors
/// If the server can't be asked for our schemas.
pub(crate) fn of(client: &mut Client, version: ServerVersion) -> Result<Vec<CapturedAnswer>, EngineError> {
    let names: Vec<String> = settings::NAMES.iter().map(|name| format!("'{name}'")).collect();
    let settings =
        format!("SELECT name, setting, unit, source FROM pg_settings WHERE name IN ({})", names.join(", "));
    let mut ask = |name: &str, sql: &str| {
        CapturedAnswer::ask(name, sql, |sql| in_texts(client, sql).map_err(|error| failed("asking", &error)))
    };
    let mut all = vec![
        ask("version", "SELECT version(), current_setting('server_version_num')"),
        ask("settings", &settings),
        ask(COUNTERS, &counters::query(version)),
    ];
    for (view, since) in VIEWS {
        if version >= ServerVersion::major(*since) {
            let name = view.split(' ').next().unwrap_or(view);
            all.push(ask(name, &format!("SELECT * FROM {view}")));
        }
    }
    if let Some(state) = catalog::schemas(client)?.iter().find(|state| state.state.layout().is_some()) {
        for kind in Kind::ALL {
            all.push(CapturedAnswer::ask(&format!("plan of {kind:?}"), "EXPLAIN", |_| {
                let plan = plans::explain_kind(client, kind, state.schema)
                    .map_err(|error| failed("asking", &error))?;
                Ok::<_, EngineError>((
                    Vec::new(),
                    plan.lines().map(|line| vec![Some(line.to_owned())]).collect(),
                ))
            }));
        }
    }
    Ok(all)
}

/// Figures of what a server said.
///
/// # Errors
/// [`ErrorKind::Data`] if the row of counters is not there.
pub(crate) fn replay(all: &[CapturedAnswer]) -> Result<Figures, EngineError> {
    let said = all.iter().find(|said| said.name == COUNTERS);
    let row = said.and_then(|said| Some((&said.columns, said.rows.first()?)));
    let (columns, row) = row.ok_or_else(|| {
        EngineError::new(ErrorKind::Data, "reading what the server said", "there is no row of counters")
    })?;
    Ok(Figures { counters: counters::from_texts(columns, row), ..Figures::default() })
}
