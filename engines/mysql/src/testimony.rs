//! What the server says of itself, in texts.

use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use slob_engine::{Answer, CapturedAnswer, EngineError, ErrorKind, Figures};
use slob_server::Kind;

use crate::data_reads::DataReads;
use crate::{catalog, counters, data_reads, plans, settings, waits};

const VERSION: &str = "version";
const STATUS: &str = "status";
const READS: &str = "data reads";
const WAITS: &str = "waits";

fn in_texts(conn: &mut Conn, sql: &str) -> Result<Answer, mysql::Error> {
    let mut result = conn.query_iter(sql)?;
    let columns = result.columns().as_ref().iter().map(|column| column.name_str().into_owned()).collect();
    let text = |value: &Value| match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
    };
    let mut rows = Vec::new();
    for row in result.by_ref() {
        rows.push(row?.unwrap().iter().map(text).collect());
    }
    Ok((columns, rows))
}

/// All of it. Of the status, what is a number: addresses of nodes and keys are texts.
///
/// # Errors
/// If the server can't be asked for our schemas.
pub(crate) fn of(conn: &mut Conn) -> Result<Vec<CapturedAnswer>, EngineError> {
    let names: Vec<String> = settings::NAMES.iter().map(|name| format!("'{name}'")).collect();
    let settings = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let mut ask = |name: &str, sql: &str| CapturedAnswer::ask(name, sql, |sql| in_texts(conn, sql));
    let mut all = vec![
        ask(VERSION, "SELECT VERSION()"),
        ask("settings", &settings),
        ask(STATUS, counters::STATUS),
        ask(READS, data_reads::QUERY),
        ask(
            "timed instruments",
            "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/io/file/innodb/%'",
        ),
        ask(WAITS, waits::QUERY),
    ];
    if let Some(status) = all.iter_mut().find(|said| said.name == STATUS) {
        let is_number =
            |value: &Option<String>| value.as_ref().is_some_and(|text| text.parse::<f64>().is_ok());
        status.rows.retain(|row| row.get(1).is_some_and(is_number));
    }
    if let Some(state) = catalog::schemas(conn)?.iter().find(|state| state.state.layout().is_some()) {
        for kind in Kind::ALL {
            let sql = plans::question(kind, state.schema);
            all.push(CapturedAnswer::ask(&format!("plan of {kind:?}"), &sql, |sql| in_texts(conn, sql)));
        }
    }
    Ok(all)
}

/// Figures of what a server said.
///
/// # Errors
/// [`ErrorKind::Data`] if the variables of its status are not there.
pub(crate) fn replay(all: &[CapturedAnswer]) -> Result<Figures, EngineError> {
    let status = CapturedAnswer::rows_of(all, STATUS);
    if status.is_empty() {
        let message = "there are no variables of its status";
        return Err(EngineError::new(ErrorKind::Data, "reading what the server said", message));
    }
    let is_mariadb =
        CapturedAnswer::value_of(all, VERSION).is_some_and(|version| version.contains("MariaDB"));
    let pair = |row: &Vec<Option<String>>| Some((row.first()?.clone()?, row.get(1)?.clone()?));
    let number = |row: &[Option<String>], column: usize| row.get(column)?.as_ref()?.parse::<u64>().ok();
    let reads = CapturedAnswer::rows_of(all, READS)
        .first()
        .and_then(|row| Some(DataReads { requests: number(row, 0)?, time_ns: number(row, 1)? }));
    let event = |row: &Vec<Option<String>>| {
        Some(waits::event(row.first()?.as_ref()?, number(row, 1)?, number(row, 2)?))
    };
    Ok(Figures {
        counters: counters::of(status.iter().filter_map(pair), reads, is_mariadb),
        events: CapturedAnswer::rows_of(all, WAITS).iter().filter_map(event).collect(),
        ..Figures::default()
    })
}
