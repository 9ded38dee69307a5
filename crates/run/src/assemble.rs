//! From the parts of a run to its record.

use std::collections::BTreeMap;
use std::time::Instant;

use slob_method::Arrivals;
use slob_record::{
    DbCpu, EdgeRecord, Edges, LoadRecord, LossRecord, RECORD_VERSION, Record, SchemaRecord, ServerRecord,
    SessionRecord, SettingRecord, Window, error_of_session,
};
use slob_spec::Length;

use crate::context::RunContext;
use crate::endpoints::{endpoints, uncounted};
use crate::hosts::Places;
use crate::losses::Loss;
use crate::observed::{client_host, fits_into_memory, host, observed};
use crate::parts::Parts;
use crate::prepare::Prepared;
use crate::rendezvous::Stragglers;
use crate::session::SessionEnd;
use crate::tally::Tally;
use crate::until_steady::SteadyUntil;
use crate::workload::workload_record;

pub(crate) fn assemble(context: &RunContext<'_>, prepared: &Prepared, id: &str, parts: Parts) -> Record {
    let edges = parts.begin.as_ref().zip(parts.end.as_ref());
    let window = window(&parts);
    let snapshots = edges.and_then(|(begin, end)| begin.snapshot.as_ref().zip(end.snapshot.as_ref()));
    let mut figures = snapshots.map(|(begin, end)| end.since(begin)).unwrap_or_default();
    figures.events.sort_by_key(|event| std::cmp::Reverse(event.time_us));
    let endpoints = endpoints(&context.engine.endpoints(), &parts, snapshots);
    let conflicts = conflicts(&parts);
    let mut notes = notes(&parts, &conflicts);
    notes.extend(uncounted(&endpoints, snapshots));
    let hosts = edges.map(|(begin, end)| end.hosts_since(begin)).unwrap_or_default();
    Record {
        record_version: RECORD_VERSION,
        slob_version: context.slob_version.to_owned(),
        id: id.to_owned(),
        name: context.spec.run_name.as_str().to_owned(),
        status: parts.status.clone(),
        started: parts.started,
        ended: parts.ended,
        target: context.spec.target.to_string(),
        server: server(prepared, &parts.beside.places),
        configuration: context.configuration.clone(),
        workload: workload_record(context.spec, &prepared.workload, prepared.seed),
        load: load(prepared),
        operations: if window.is_some() { parts.tally.window() } else { BTreeMap::new() },
        backlog: prepared
            .arrivals
            .zip(window)
            .map(|(arrivals, window)| backlog(arrivals, window, &parts.tally)),
        conflicts,
        losses: losses(&parts),
        marks: parts.marks.0.clone(),
        edges: window.map(|_| Edges { begin: edge(parts.begin_stragglers), end: edge(parts.end_stragglers) }),
        until_steady: parts.until_steady.as_ref().map(SteadyUntil::outcome),
        sessions: sessions(prepared, &parts, !endpoints.is_empty()),
        counters: figures.counters,
        latencies: figures.latencies,
        events: figures.events,
        endpoints,
        db_cpu: hosts.db_cpu().map(|cpu| DbCpu {
            cpu,
            sessions: hosts.sessions_cpu(),
            source: cpu_source(prepared).to_owned(),
        }),
        db_io: hosts.db_io(),
        client_cpu: edges.and_then(|(begin, end)| end.client_cpu_since(begin)),
        client_io: edges.and_then(|(begin, end)| Some(end.client_io?.since(&begin.client_io?))),
        client_peak_memory_bytes: slob_host::peak_memory_bytes().ok(),
        host: context.spec.host_counters.then(|| host(&parts, &hosts)),
        observed: observed(&parts, &hosts),
        client_host: client_host(&parts),
        probe: parts.beside.probe,
        server_report: parts.server_report,
        verification: parts.verification,
        series: parts.series.into_series(),
        window,
        notes,
    }
}

fn window(parts: &Parts) -> Option<Window> {
    let (begin, end) = (parts.begin.as_ref()?, parts.end.as_ref()?);
    let seconds = (end.taken - begin.taken).as_secs_f64();
    (seconds > 0.0).then(|| Window { begin_s: parts.tally.clock().at(begin.taken).as_secs_f64(), seconds })
}

fn edge(stragglers: Stragglers) -> EdgeRecord {
    EdgeRecord { sessions_at_work: stragglers.sessions, operations_under_way: stragglers.operations }
}

/// By the database's code, of all sessions.
fn conflicts(parts: &Parts) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    parts.sessions.iter().for_each(|(_, end)| end.conflicts.add_to(&mut sum));
    sum
}

fn notes(parts: &Parts, conflicts: &BTreeMap<String, u64>) -> Vec<String> {
    let mut notes = parts.notes.clone();
    for (code, count) in conflicts {
        notes
            .push(format!("{count} operations were repeated after a conflict with other sessions ({code})."));
    }
    let more: u64 = parts.sessions.iter().map(|(_, end)| end.losses.more).sum();
    if more > 0 {
        notes.push(format!(
            "{more} losses of sessions are not listed: only the first hundred of each session are."
        ));
    }
    let (_, unmarked) = parts.marks;
    if unmarked > 0 {
        notes.push(format!("{unmarked} marks are left out: a record keeps the first thousand."));
    }
    for (edge, sample) in [("A", &parts.begin), ("B", &parts.end)] {
        if let Some(error) = sample.as_ref().and_then(|sample| sample.snapshot_error.as_ref()) {
            notes.push(format!(
                "Snapshot {edge} of the database's counters failed, so they are missing: {error}."
            ));
        }
    }
    let end_of_window = parts.end.as_ref().map(|sample| sample.taken);
    for (ended, end) in &parts.sessions {
        if let Some(error) = end
            .error
            .as_ref()
            .filter(|_| !end.dropped && end_of_window.is_some_and(|window| *ended >= window))
        {
            notes.push(format!(
                "After the window an error ended a session: {}.",
                error_of_session(end.session, &error.to_string())
            ));
        }
    }
    if parts.unfinished > 0 {
        notes.push(format!(
            "{} sessions did not end when they were cancelled; what they did last is missing.",
            parts.unfinished
        ));
    }
    notes
}

fn server(prepared: &Prepared, places: &Places) -> ServerRecord {
    let server = &prepared.server;
    let setting = |setting: &slob_engine::Setting| SettingRecord {
        name: setting.name.clone(),
        value: setting.value.clone(),
    };
    ServerRecord {
        product: server.product.clone(),
        version: server.version.clone(),
        block_bytes: server.block_bytes,
        settings: server.settings.iter().map(setting).collect(),
        advice: server.advice.iter().cloned().chain(fits_into_memory(prepared, places)).collect(),
        embedded: server.capabilities.embedded,
        batches_in_server: server.capabilities.batches_in_server,
        joined_selects: prepared.arrivals.is_none()
            && prepared.workload.select_unit.get() <= server.capabilities.joined_blocks,
        direct_io: server.capabilities.direct_io,
        checks_blocks: server.checks_blocks,
        data_path: places.device().map(|device| device.path.display().to_string()),
    }
}

fn load(prepared: &Prepared) -> Option<LoadRecord> {
    let first = prepared.schemas.first()?.load;
    let schema = |state: &slob_engine::SchemaState| {
        state.state.layout().map(|layout| SchemaRecord {
            schema: state.schema.get(),
            rows: layout.rows,
            row_blocks: layout.row_blocks,
            all_blocks: layout.all_blocks,
        })
    };
    Some(LoadRecord {
        seed: first.seed,
        scale_blocks: first.scale,
        scan_blocks: first.scan_blocks,
        obfuscated: first.obfuscated,
        schemas: prepared.schemas.iter().filter_map(schema).collect(),
    })
}

fn sessions(prepared: &Prepared, parts: &Parts, several: bool) -> Vec<SessionRecord> {
    let end_of_window = parts.end.as_ref().map(|sample| sample.taken);
    let mut records: Vec<SessionRecord> = parts
        .sessions
        .iter()
        .map(|(ended, end)| {
            let whole = end.losses.is_empty()
                && match prepared.length {
                    Length::Time(_) => end_of_window.is_some_and(|window| *ended >= window),
                    Length::Operations(count) => end.operations == count,
                };
            SessionRecord {
                session: end.session,
                schema: prepared.homes[end.session as usize].get(),
                endpoint: several.then_some(end.endpoint as u32),
                before_window: Some(end.totals.before_window),
                selects: end.totals.operations.selects,
                updates: end.totals.operations.updates,
                scans: end.totals.operations.scans,
                rows: end.totals.rows,
                busy_us: end.totals.busy_ns / 1000,
                max_us: end.totals.max_ns.map(|ns| ns as f64 / 1000.0),
                longest_wait: end.totals.longest_wait(),
                whole_window: whole,
                error: end.error.as_ref().map(ToString::to_string),
            }
        })
        .collect();
    records.sort_by_key(|record| record.session);
    records
}

/// Every time that a session was without its database, in order.
fn losses(parts: &Parts) -> Vec<LossRecord> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let of_session = |(_, end): &(Instant, SessionEnd)| {
        let session = end.session;
        let record = move |loss: &Loss| LossRecord {
            session,
            endpoint: loss.endpoint as u32,
            at_s: seconds(loss.at_ns),
            error: loss.error.clone(),
            back_s: loss.back.map(|(ns, _)| seconds(ns)),
            back_endpoint: loss.back.map(|(_, endpoint)| endpoint as u32),
            refused: loss.refused.clone(),
        };
        end.losses.kept.iter().map(record).collect::<Vec<_>>()
    };
    let mut losses: Vec<LossRecord> = parts.sessions.iter().flat_map(of_session).collect();
    losses.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    losses
}

/// What was due at the end of the window, less what was done by then.
fn backlog(arrivals: Arrivals, window: Window, tally: &Tally) -> u64 {
    let due = (window.begin_s + window.seconds) * f64::from(arrivals.per_second.get());
    (due as u64).saturating_sub(tally.done_until_end())
}

fn cpu_source(prepared: &Prepared) -> &'static str {
    if prepared.server.capabilities.embedded {
        "this program's process: the database is embedded in it"
    } else {
        "the server's processes"
    }
}
