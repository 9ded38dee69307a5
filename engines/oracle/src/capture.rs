//! The server's answers word for word, and the figures computed from them.

use slob_engine::{CapturedAnswer, EngineError, ErrorKind, Figures, Result};

use crate::client::{Bind, Client, Fault, Row, failed};
use crate::counters::{QUERIES, Views, figures, queries};
use crate::database::Database;
use crate::release::{CONTAINERS, Container, Scope, Version};
use crate::statements::{PLAN_ID, explain, fill};
use crate::{schemas, settings};

const VERSION: &str = "version";
const CONTAINER: &str = "container";
/// Decoding, encoding, and the round trip.
const OUTSIDE: &str = "time of calls outside of operations";
const COUNTED_IN: &str = "container of the counters";
/// Whole views may explain figures by what the figures leave out.
pub(crate) fn views(views: Views, version: &Version) -> impl Iterator<Item = (String, String)> {
    let con_id = if version.has(CONTAINERS) { ", con_id" } else { "" };
    include_str!("../sql/capture.sql").lines().filter_map(move |line| {
        let sql = line.strip_suffix(';')?;
        let view = sql.split_once("FROM {v}")?.1.split(' ').next()?;
        Some((format!("v${view}"), views.fill(&fill(sql, &[("con_id", con_id)]))))
    })
}

fn ask(client: &mut dyn Client, name: &str, sql: &str) -> CapturedAnswer {
    CapturedAnswer::ask(name, sql, |sql| {
        client.query(sql, &[]).map(|rows| (Vec::new(), rows)).map_err(text_of)
    })
}

#[allow(clippy::needless_pass_by_value)]
fn text_of(fault: Fault) -> String {
    failed("asking", &fault).to_string()
}

pub(crate) fn capture(database: &Database) -> Result<Vec<CapturedAnswer>> {
    let Database { connections, views: of, version, .. } = database;
    let mut all = database.as_admin(|client| {
        let mut all = vec![
            ask(client, VERSION, include_str!("../sql/version.sql")),
            ask(client, "full version", include_str!("../sql/version_full.sql")),
            ask(client, CONTAINER, include_str!("../sql/container.sql")),
            ask(client, "instances", include_str!("../sql/instances.sql")),
        ];
        all.extend(settings::queries(*of).iter().map(|(name, sql)| ask(client, name, sql)));
        let schemas = schemas::all(client, connections)?;
        if let Some(state) = schemas.iter().find(|state| state.state.layout().is_some()) {
            all.push(plan(client, &connections.user(state.schema)));
        }
        Ok(all)
    })?;
    all.push(CapturedAnswer::ask(
        OUTSIDE,
        "none: calls, their operations, nanoseconds outside of these",
        |_| Ok::<_, String>((Vec::new(), vec![database.call_overhead.row()])),
    ));
    database.with_counters(|client| {
        all.push(ask(client, COUNTED_IN, include_str!("../sql/container.sql")));
        let queries = QUERIES.map(str::to_owned).into_iter().zip(queries(*of, version));
        all.extend(queries.chain(views(*of, version)).map(|(name, sql)| ask(client, &name, &sql)));
        Ok(())
    })?;
    Ok(all)
}

fn plan(client: &mut dyn Client, user: &str) -> CapturedAnswer {
    CapturedAnswer::ask("plan of a SELECT", &explain(user), |explain| {
        client.execute(explain, &[]).map_err(text_of)?;
        let id = Bind::Text(PLAN_ID.into());
        let rows = client.query(include_str!("../sql/plan.sql"), &[id]).map_err(text_of)?;
        client.rollback().map_err(text_of)?;
        Ok::<_, String>((Vec::new(), rows))
    })
}

pub(crate) fn replay(all: &[CapturedAnswer]) -> Result<Figures> {
    let missing = |what: &str| {
        EngineError::new(ErrorKind::Data, "reading what the server said", format!("{what} is not there"))
    };
    let version = CapturedAnswer::value_of(all, VERSION).ok_or_else(|| missing("its release"))?;
    let answers = QUERIES.map(|name| -> Vec<Row> { CapturedAnswer::rows_of(all, name).to_vec() });
    if answers[0].is_empty() {
        return Err(missing("V$SYSSTAT"));
    }
    let container = Container::of(CapturedAnswer::rows_of(all, COUNTED_IN).first());
    let scope = Scope::of(&Version::parse(version), &container);
    Ok(Figures::sum(figures(answers, &scope).into_values()))
}
