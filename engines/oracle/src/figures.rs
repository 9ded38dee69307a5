//! All figures of one moment, of each instance.

use std::collections::BTreeMap;
use std::time::Duration;

use slob_engine::{Counter, EngineError, Figures, Latency, Seen, Snapshot};

use crate::catalog::number;
use crate::client::{Client, Row};
use crate::counters::{self, Views};
use crate::database::Database;
use crate::error::failed;
use crate::events;
use crate::scope::Scope;
use crate::version::Version;

/// Figures by the number of their instance; that of a single one is 1.
pub(crate) type ByInstance = BTreeMap<u64, Figures>;

/// The queries of a snapshot; the first column of each is the instance.
pub(crate) fn queries(views: Views, version: &Version) -> [String; 5] {
    let fill = |sql| views.fill_for(sql, version.has_containers());
    [
        counters::query(views, version),
        fill(include_str!("../sql/system_event.sql")),
        fill(include_str!("../sql/time_model.sql")),
        events::histogram_query(views, version),
        fill(include_str!("../sql/iostat_function.sql")),
    ]
}

/// Which instance the services of the sessions lead to, in their order, if each instance has one: only then are an
/// instance's figures those of an endpoint.
fn places(database: &Database) -> Option<Vec<u64>> {
    let endpoints = database.connector.endpoints();
    if database.views == Views::Instance || endpoints.len() < 2 {
        return None;
    }
    let ask = |endpoint: usize| {
        let mut client = database.connector.connect_admin(endpoint).ok()?;
        let rows = client.query(include_str!("../sql/instance_number.sql"), &[]).ok()?;
        number(rows.first()?, 0)
    };
    let places: Vec<u64> = (0..endpoints.len()).map(ask).collect::<Option<_>>()?;
    let all = database.count(|client| by_instance(client, database)).ok()?;
    all.keys().all(|instance| places.contains(instance)).then_some(places)
}

/// A snapshot: of each endpoint's instance where [`places`] tells it, else of the whole database.
///
/// # Errors
/// If the views can't be read.
pub(crate) fn snapshot(database: &Database) -> Result<Snapshot, EngineError> {
    let mut figures = database.count(|client| by_instance(client, database))?;
    let Some(places) = database.places.get_or_init(|| places(database)) else {
        let all = Snapshot::of_servers(figures.into_values().map(Seen::Figures).collect()).total();
        let others = database.connector.endpoints().len().saturating_sub(1);
        // Whatever services lead there, it is one database, and its views count all of it.
        let seen = [Seen::Figures(all)].into_iter().chain((0..others).map(|_| Seen::SameAs(0)));
        return Ok(Snapshot::of_servers(seen.collect()));
    };
    let seen = |(endpoint, instance): (usize, &u64)| {
        let first = places.iter().position(|place| place == instance).unwrap_or(endpoint);
        match figures.remove(instance) {
            Some(figures) => Seen::Figures(figures),
            None if first < endpoint => Seen::SameAs(first),
            None => Seen::Unreachable,
        }
    };
    Ok(Snapshot::of_servers(places.iter().enumerate().map(seen).collect()))
}

/// Views of a server that hangs must not hold up the timeline of a run for longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn by_instance(client: &mut dyn Client, database: &Database) -> Result<ByInstance, EngineError> {
    client.limit(Some(PATIENCE));
    let figures = read(client, database);
    client.limit(None);
    figures
}

fn read(client: &mut dyn Client, database: &Database) -> Result<ByInstance, EngineError> {
    let [statistics, waits, model, histograms, io] = queries(database.views, &database.version);
    let mut ask = |sql: &str| client.query(sql, &[]).map_err(|fault| failed("reading counters", &fault));
    let rows = Rows {
        statistics: ask(&statistics)?,
        waits: ask(&waits)?,
        model: ask(&model)?,
        histograms: ask(&histograms)?,
        // Not every service shows it, and no figure rests on it.
        io: ask(&io).unwrap_or_default(),
    };
    Ok(rows.figures(&database.scope))
}

/// What the queries of a snapshot answered.
pub(crate) struct Rows {
    pub(crate) statistics: Vec<Row>,
    pub(crate) waits: Vec<Row>,
    pub(crate) model: Vec<Row>,
    pub(crate) histograms: Vec<Row>,
    pub(crate) io: Vec<Row>,
}

impl Rows {
    /// The figures of each instance.
    pub(crate) fn figures(self, scope: &Scope) -> ByInstance {
        let [mut statistics, mut waits, mut model, mut histograms, mut io] =
            [self.statistics, self.waits, self.model, self.histograms, self.io].map(split);
        let instances: Vec<u64> = statistics.keys().copied().collect();
        let mut of = |instance: u64| {
            let take = |rows: &mut BTreeMap<u64, Vec<Row>>| rows.remove(&instance).unwrap_or_default();
            let mut counters = counters::from_rows(&take(&mut statistics));
            let mut events = events::waits(&take(&mut waits));
            if let Some(time_ns) = counters::read_time_ns(&events) {
                counters.set(Counter::PhysicalReadTimeNs, time_ns);
            }
            let totals = events::totals(&events);
            events.extend(events::cpu(&take(&mut model)));
            events.extend(events::io_by_function(&take(&mut io)));
            scope.events(&mut events);
            let histograms = take(&mut histograms);
            let container = events::container(&histograms);
            let coarse = |(kind, histogram)| {
                let latency = Latency { histogram, exact: totals.get(&kind).copied() };
                Some((kind, scope.latency(kind, latency, container)?))
            };
            let latencies = events::latencies(&histograms).into_iter().filter_map(coarse).collect();
            Figures { counters: scope.counters(&counters), latencies, events }
        };
        instances.into_iter().map(|instance| (instance, of(instance))).collect()
    }
}

/// Rows without their first column, by what it says.
fn split(rows: Vec<Row>) -> BTreeMap<u64, Vec<Row>> {
    let mut split: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
    for mut row in rows {
        if let Some(instance) = number(&row, 0) {
            row.remove(0);
            split.entry(instance).or_default().push(row);
        }
    }
    split
}
