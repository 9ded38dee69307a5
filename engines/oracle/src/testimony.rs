//! What the server says of itself, in texts; and the figures that are made of it, without a server.

use slob_engine::{EngineError, ErrorKind, Figures, Said};

use crate::catalog;
use crate::client::{Bind, Client, Fault, Row};
#[cfg(test)]
use crate::counters::Views;
use crate::database::Database;
use crate::error::failed;
use crate::figures::{self, Rows};
use crate::plans;
use crate::scope::{Container, Scope};
use crate::settings;
use crate::version::Version;

const VERSION: &str = "version";
const CONTAINER: &str = "container";
const COUNTED_IN: &str = "container of the counters";
/// The queries of a snapshot, in their order.
const QUERIES: [&str; 5] = ["statistics", "waits", "time model", "histograms", "I/O by function"];
/// The same views whole, since what our queries leave out may be what explains them.
const VIEWS: [(&str, &str); 5] = [
    ("v$sysstat", "SELECT name, value{con_id} FROM {v}sysstat"),
    (
        "v$system_event",
        "SELECT event, wait_class, total_waits, time_waited_micro, total_waits_fg, time_waited_micro_fg{con_id} FROM {v}system_event",
    ),
    ("v$sys_time_model", "SELECT stat_name, value{con_id} FROM {v}sys_time_model"),
    (
        "v$resource_limit",
        "SELECT resource_name, current_utilization, limit_value{con_id} FROM {v}resource_limit",
    ),
    (
        "v$parameter",
        "SELECT name, display_value, isdefault{con_id} FROM {v}parameter WHERE isdefault = 'FALSE' AND (name LIKE 'db%' OR name LIKE '\\_db%' ESCAPE '\\' OR name LIKE 'optimizer%' OR name LIKE 'commit%')",
    ),
];

fn ask(client: &mut dyn Client, name: &str, sql: &str) -> Said {
    Said::ask(name, sql, |sql| {
        let rows = client.query(sql, &[]).map_err(|fault| told(&fault))?;
        Ok::<_, String>((Vec::new(), rows))
    })
}

fn told(fault: &Fault) -> String {
    failed("asking", fault).to_string()
}

/// All of it: as the account that looks, and the counters where they are read.
///
/// # Errors
/// If the server can't be connected to, or asked for our schemas.
pub(crate) fn of(database: &Database) -> Result<Vec<Said>, EngineError> {
    let Database { views, version, .. } = database;
    let mut all = database.look(|client| {
        let mut all = vec![
            ask(client, VERSION, include_str!("../sql/version.sql")),
            ask(client, "full version", include_str!("../sql/version_full.sql")),
            ask(client, CONTAINER, include_str!("../sql/container.sql")),
            ask(client, "instances", include_str!("../sql/instances.sql")),
        ];
        all.extend(settings::questions(*views).iter().map(|(name, sql)| ask(client, name, sql)));
        let schemas = catalog::schemas(client, &database.connector)?;
        if let Some(state) = schemas.iter().find(|state| state.state.layout().is_some()) {
            all.push(plan(client, &database.connector.prefix.user(state.schema)));
        }
        Ok(all)
    })?;
    database.count(|client| {
        all.push(ask(client, COUNTED_IN, include_str!("../sql/container.sql")));
        for (name, sql) in QUERIES.iter().zip(figures::queries(*views, version)) {
            all.push(ask(client, name, &sql));
        }
        let con_id = if version.has_containers() { ", con_id" } else { "" };
        for (name, sql) in VIEWS {
            all.push(ask(client, name, &views.fill(&sql.replace("{con_id}", con_id))));
        }
        Ok(())
    })?;
    Ok(all)
}

fn plan(client: &mut dyn Client, user: &str) -> Said {
    Said::ask("plan of a SELECT", &plans::explain(user), |explain| {
        client.execute(explain, &[]).map_err(|fault| told(&fault))?;
        let id = Bind::Text(plans::ID.into());
        let rows = client.query(include_str!("../sql/plan.sql"), &[id]).map_err(|fault| told(&fault))?;
        client.rollback().map_err(|fault| told(&fault))?;
        Ok::<_, String>((Vec::new(), rows))
    })
}

/// Figures of what a server said: of all instances together.
///
/// # Errors
/// [`ErrorKind::Data`] if its release or its statistics are not there.
pub(crate) fn replay(all: &[Said]) -> Result<Figures, EngineError> {
    let rows = |name: &str| -> Vec<Row> { Said::rows_of(all, name).to_vec() };
    let [statistics, waits, model, histograms, io] = QUERIES.map(rows);
    let missing = |what: &str| {
        EngineError::new(ErrorKind::Data, "reading what the server said", format!("{what} is not there"))
    };
    let version = Said::value_of(all, VERSION).ok_or_else(|| missing("its release"))?;
    if statistics.is_empty() {
        return Err(missing("V$SYSSTAT"));
    }
    let container = Container::of(rows(COUNTED_IN).first());
    let scope = Scope::of(&Version::parse(version), &container);
    let figures = Rows { statistics, waits, model, histograms, io }.figures(&scope);
    Ok(Figures::sum(figures.into_values()))
}

/// For those that read every statement.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    VIEWS.map(|(_, sql)| Views::Cluster.fill(&sql.replace("{con_id}", ", con_id"))).to_vec()
}
