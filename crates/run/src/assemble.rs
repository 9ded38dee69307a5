//! Assembles the record of a run from its measurements.

use std::collections::BTreeMap;
use std::time::Instant;

use slob_engine::{Peer, ServerSnapshot, Snapshot};
use slob_host::HostInfo;
use slob_measure::Figures;
use slob_record::{
    ClientHostRecord, DbCpu, DeviceRecord, Edges, EndpointRecord, HostRecord, LoadRecord, LossRecord,
    ObservedRecord, RECORD_VERSION, Record, SchemaRecord, ServerRecord, SessionRecord, Status, TraceRecord,
    Window, error_of_session, latest_load,
};
use slob_spec::{Length, RunSpec, Target, TraceWhen, WarmUp, Workload};

use crate::page_cache::PageCache;
use crate::prepare::Prepared;
use crate::sampler::{HostsInterval, ObservedServer, Sample, Topology};
use crate::sessions::SessionEnd;
use crate::tally::Tally;
use crate::timeline::{Edge, Measurements, Timeline};

pub(crate) fn assemble(timeline: &Timeline<'_>, measured: Measurements) -> Record {
    let Timeline { context, prepared, tally, topology, .. } = timeline;
    let edges = measured.begin.as_ref().zip(measured.end.as_ref());
    let samples = edges.map(|(begin, end)| (&begin.sample, &end.sample));
    let window = samples.and_then(|(begin, end)| {
        let seconds = (end.taken - begin.taken).as_secs_f64();
        (seconds > 0.0).then(|| Window { begin_s: tally.clock.at(begin.taken).as_secs_f64(), seconds })
    });
    let workload = match (context.spec.warmup, window) {
        // The schedule of RATE begins with the window.
        (WarmUp::Auto(_), Some(window)) => Workload { warmup_s: window.begin_s, ..prepared.workload.clone() },
        _ => prepared.workload.clone(),
    };
    let snapshots = samples.and_then(|(begin, end)| begin.snapshot.as_ref().zip(end.snapshot.as_ref()));
    let mut figures = snapshots.map(|(begin, end)| end.since(begin)).unwrap_or_default();
    figures.events.sort_by_key(|event| std::cmp::Reverse(event.time_us));
    let endpoints = endpoints(&context.engine.endpoints(), &measured, tally, snapshots);
    let mut conflicts: BTreeMap<String, u64> = BTreeMap::new();
    for (code, count) in measured.sessions.iter().flat_map(|(_, end)| &end.conflicts.by_code) {
        *conflicts.entry(code.clone()).or_default() += count;
    }
    let mut notes = notes(&measured, &conflicts);
    notes.extend(missing_counters(&endpoints, snapshots));
    let of_sessions = measured.sessions.iter().flat_map(|(_, end)| &end.losses);
    let mut losses: Vec<LossRecord> = of_sessions.cloned().collect();
    losses.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut clients: Vec<(Peer, u64)> = figures.peers.into_iter().collect();
    clients.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    let hosts = samples.map(|(begin, end)| end.hosts.since(&begin.hosts)).unwrap_or_default();
    Record {
        record_version: RECORD_VERSION,
        slob_version: context.slob_version.to_owned(),
        id: timeline.run_id.clone(),
        name: context.spec.run_name.as_str().to_owned(),
        status: match (&measured.error, &measured.aborted) {
            (Some(error), _) => Status::Failed { error: error.clone() },
            (None, Some(reason)) => Status::Aborted { reason: reason.clone() },
            (None, None) if measured.interrupted => Status::Interrupted,
            (None, None) => Status::Completed,
        },
        started: measured.started,
        ended: measured.ended,
        target: context.spec.target.to_string(),
        server: server(prepared, topology, &context.spec.target),
        configuration: context.configuration.clone(),
        load: load(prepared, context.spec),
        operations: if window.is_some() { tally.window(None) } else { BTreeMap::new() },
        backlog: window.and_then(|window| backlog(&workload, window, tally)),
        workload,
        dispatch: tally.dispatch(),
        conflicts,
        losses,
        marks: measured.marks.0.clone(),
        edges: edges
            .filter(|_| window.is_some())
            .map(|(begin, end)| Edges { begin: begin.stragglers, end: end.stragglers }),
        until_steady: measured.until_steady.clone(),
        warm_up: measured.warm_up.clone(),
        look: None,
        sessions: sessions(context.spec, prepared, &measured, !endpoints.is_empty()),
        counters: figures.counters,
        server_counters: figures.server,
        other_clients: clients.into_iter().map(|(peer, _)| peer).take(NAMED_CLIENTS).collect(),
        latencies: figures.latencies,
        events: figures.events,
        endpoints,
        db_cpu: hosts.sum_of_servers(|server| server.cpu).map(|cpu| DbCpu {
            cpu,
            sessions: hosts.sum_of_servers(|server| server.sessions_cpu),
            source: if prepared.server.capabilities.embedded {
                "this program's process: the database is embedded in it".into()
            } else {
                "the server's processes".into()
            },
        }),
        db_io: hosts.sum_of_servers(|server| server.io),
        client_cpu: samples.and_then(|(begin, end)| Some(end.client_cpu?.since(&begin.client_cpu?))),
        client_io: samples.and_then(|(begin, end)| Some(end.client_io?.since(&begin.client_io?))),
        client_peak_memory_bytes: slob_host::peak_memory_bytes().ok(),
        host: context.spec.host_counters.then(|| host(topology, &hosts)),
        observed: observed(topology, &measured, &hosts),
        client_host: client_host(topology, samples),
        trace: trace(context.spec, &measured, samples),
        // Known when all runs have ended.
        together: None,
        probe: timeline.probe.clone(),
        rate_steps: measured.steps,
        server_report: measured.server_report,
        verification: measured.verification,
        series: measured.series.into_series(),
        window,
        notes,
        // Sealed when it is saved.
        files: BTreeMap::new(),
        digest: None,
    }
}

/// Enough to find those who disturb.
const NAMED_CLIENTS: usize = 20;

/// The traced stretch follows the window, or is the window.
fn trace(spec: &RunSpec, measured: &Measurements, window: Option<(&Sample, &Sample)>) -> Option<TraceRecord> {
    let when = spec.trace?;
    let (begin, end) = match when {
        TraceWhen::After => measured.traced.as_ref().map(|(begin, end)| (begin, end))?,
        TraceWhen::Window => window?,
    };
    let figures = begin.snapshot.as_ref().zip(end.snapshot.as_ref()).map(|(begin, end)| end.since(begin));
    let Figures { mut counters, server, latencies, .. } = figures.unwrap_or_default();
    // The kernel traces the whole server.
    server.iter().for_each(|(counter, all)| counters.set(counter, all));
    let kernel = end.hosts.since(&begin.hosts).trace()?;
    let seconds = (end.taken - begin.taken).as_secs_f64();
    Some(TraceRecord { when, seconds, counters, latencies, kernel })
}

fn notes(measured: &Measurements, conflicts: &BTreeMap<String, u64>) -> Vec<String> {
    let mut notes = measured.notes.clone();
    for (code, count) in conflicts {
        notes
            .push(format!("{count} operations were repeated after a conflict with other sessions ({code})."));
    }
    let unlisted: u64 = measured.sessions.iter().map(|(_, end)| end.unlisted_losses).sum();
    if unlisted > 0 {
        notes.push(format!(
            "{unlisted} losses of sessions are not listed: only the first hundred of each session are."
        ));
    }
    let (_, unmarked) = measured.marks;
    if unmarked > 0 {
        notes.push(format!("{unmarked} marks are left out: a record keeps the first thousand."));
    }
    for (name, edge) in [("A", &measured.begin), ("B", &measured.end)] {
        if let Some(error) = edge.as_ref().and_then(|edge| edge.sample.snapshot_error.as_ref()) {
            notes.push(format!(
                "Snapshot {name} of the database's counters failed, so they are missing: {error}."
            ));
        }
    }
    let end_of_window = measured.end_of_window();
    let after_window = |ended: Instant| end_of_window.is_some_and(|window| ended >= window);
    for (ended, end) in &measured.sessions {
        if let Some(error) = end.error.as_ref().filter(|_| !end.dropped && after_window(*ended)) {
            notes.push(format!(
                "After the window an error ended a session: {}.",
                error_of_session(end.session, &error.to_string())
            ));
        }
    }
    if measured.unfinished > 0 {
        notes.push(format!(
            "{} sessions did not end when they were cancelled; what they did last is missing.",
            measured.unfinished
        ));
    }
    notes
}

fn server(prepared: &Prepared, topology: &Topology, target: &Target) -> ServerRecord {
    let server = &prepared.server;
    let page_cache = prepared.page_cache(topology, target);
    let warning = page_cache.as_ref().and_then(PageCache::warning);
    ServerRecord {
        product: server.product.clone(),
        version: server.version.clone(),
        block_bytes: server.block_bytes,
        settings: server.settings.clone(),
        advice: server.advice.iter().cloned().chain(warning).collect(),
        embedded: server.capabilities.embedded,
        batches_in_server: server.capabilities.batches_in_server,
        joined_selects: prepared.workload.rate_per_s.is_none()
            && prepared.workload.work_unit.get() <= server.capabilities.joined_blocks,
        direct_io: server.capabilities.direct_io,
        checks_blocks: server.checks_blocks,
        page_cache_remedy: page_cache.map(|page_cache| page_cache.remedy()),
        data_path: topology.device().map(|device| device.path.display().to_string()),
    }
}

fn load(prepared: &Prepared, spec: &RunSpec) -> Option<LoadRecord> {
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
        cost: latest_load(&spec.results_dir, &spec.target.to_string(), first.seed),
    })
}

/// Operations due by the end of the window, less those done.
fn backlog(workload: &Workload, window: Window, tally: &Tally) -> Option<u64> {
    let due = workload.due_between(0.0, window.begin_s + window.seconds)?;
    Some((due as u64).saturating_sub(tally.done_until_end()))
}

fn sessions(
    spec: &RunSpec,
    prepared: &Prepared,
    measured: &Measurements,
    has_endpoints: bool,
) -> Vec<SessionRecord> {
    let end_of_window = measured.end_of_window();
    let record = |(ended, end): &(Instant, SessionEnd)| SessionRecord {
        session: end.session,
        schema: prepared.homes[end.session as usize].get(),
        endpoint: has_endpoints.then_some(end.endpoint as u32),
        before_window: Some(end.totals.before_window),
        selects: end.totals.operations.selects,
        updates: end.totals.operations.updates,
        scans: end.totals.operations.scans,
        rows: end.totals.rows,
        busy_us: end.totals.busy_ns / 1000,
        idle_us: Some(end.totals.idle_ns / 1000),
        waiting_us: Some(end.totals.waiting_ns / 1000),
        unfinished_us: Some(end.totals.unfinished_ns / 1000),
        max_us: end.totals.max_ns.map(|ns| ns as f64 / 1000.0),
        longest_wait: end.totals.longest_wait(),
        whole_window: end.losses.is_empty()
            && match spec.length {
                Length::Time(_) => end_of_window.is_some_and(|window| *ended >= window),
                Length::Operations(count) => end.operations == count,
            },
        error: end.error.as_ref().map(ToString::to_string),
    };
    let mut records: Vec<SessionRecord> = measured.sessions.iter().map(record).collect();
    records.sort_by_key(|record| record.session);
    records
}

fn endpoints(
    names: &[String],
    measured: &Measurements,
    tally: &Tally,
    snapshots: Option<(&Snapshot, &Snapshot)>,
) -> Vec<EndpointRecord> {
    let endpoint = |(number, name): (usize, &String)| {
        let figures = snapshots.and_then(|(begin, end)| end.server_since(number, begin));
        let shares_with = snapshots.and_then(|(_, end)| match end.servers.get(number) {
            Some(ServerSnapshot::SameAs(earlier)) => names.get(*earlier).cloned(),
            _ => None,
        });
        EndpointRecord {
            endpoint: name.clone(),
            sessions: measured.sessions.iter().filter(|(_, end)| end.endpoint == number).count() as u32,
            operations: tally.window(Some(number)),
            counters: figures.map(|figures| figures.counters),
            shares_with,
        }
    };
    names.iter().enumerate().map(endpoint).collect()
}

/// Servers may have both snapshots but no counters.
fn missing_counters(endpoints: &[EndpointRecord], snapshots: Option<(&Snapshot, &Snapshot)>) -> Vec<String> {
    let Some((begin, end)) = snapshots else { return Vec::new() };
    if endpoints.is_empty() {
        let missing = end.server_since(0, begin).is_none();
        let note = "The database's counters are missing: the server was restarted, or its statistics were reset, within the window.";
        return missing.then(|| note.to_owned()).into_iter().collect();
    }
    let missing =
        endpoints.iter().filter(|endpoint| endpoint.counters.is_none() && endpoint.shares_with.is_none());
    missing
        .map(|endpoint| {
            format!(
                "The counters of {} are missing, also from the sums: it could not be reached at an edge of the \
                 window, or was restarted within it.",
                endpoint.endpoint
            )
        })
        .collect()
}

/// This host stands in if none of the database's was observed.
fn host(topology: &Topology, hosts: &HostsInterval) -> HostRecord {
    let device = topology.device().cloned();
    let server = topology.servers.first().map(|server| &server.found);
    HostRecord {
        info: host_info(topology),
        cpu: hosts.host_cpu(),
        others_cpu_s: hosts.others_cpu_s(),
        load_1m: hosts.load_1m(),
        device_note: match (&device, server) {
            (Some(device), _) => device.note.clone(),
            (None, Some(Err(missing))) => Some(format!("The server was not seen: {missing}.")),
            (None, Some(Ok(found))) if !found.lacking.is_empty() => Some(found.lacking.join(" ")),
            (None, _) => Some("The device behind the data could not be found.".into()),
        },
        device: device.map(|device| DeviceRecord { device, counters: hosts.device() }),
    }
}

/// Sums of CPUs and memory.
fn host_info(topology: &Topology) -> HostInfo {
    let mut known = topology.hosts_of_database().filter_map(|(_, host)| host.info());
    let Some(first) = known.next() else { return HostInfo::read() };
    let mut info = first.clone();
    for other in known {
        info.hostname = format!("{}, {}", info.hostname, other.hostname);
        info.cpus_online = info.cpus_online.zip(other.cpus_online).map(|(one, other)| one + other);
        info.cores = info.cores.zip(other.cores).map(|(one, other)| one + other);
        info.sockets = info.sockets.zip(other.sockets).map(|(one, other)| one + other);
        info.cpus_usable = info.cpus_usable.zip(other.cpus_usable).map(|(one, other)| one + other);
        info.memory_bytes = info.memory_bytes.zip(other.memory_bytes).map(|(one, other)| one + other);
    }
    info
}

fn observed(topology: &Topology, measured: &Measurements, hosts: &HostsInterval) -> Vec<ObservedRecord> {
    let at_edge = |edge: &Option<Edge>, server| edge.as_ref()?.sample.hosts.of_server(server).cloned();
    let several = topology.servers.len() > 1;
    let record = |(number, server): (usize, &ObservedServer)| {
        let host = server.observed_at.and_then(|(host, _)| topology.hosts.get(host));
        let (of_host, figures) = (hosts.host_of(number), hosts.server(number));
        let (begin, end) = (at_edge(&measured.begin, number), at_edge(&measured.end, number));
        let found = server.found.as_ref();
        let data = found.ok().and_then(|found| found.data.clone()).filter(|_| several);
        let log = found.ok().and_then(|found| found.log.clone());
        ObservedRecord {
            endpoint: server.endpoint.clone(),
            by: server.by.clone(),
            host: host.and_then(|host| Some(host.info()?.hostname.clone())),
            process: found.ok().map(|found| found.pid),
            found: match found {
                Ok(found) => format!("'{}', found {}", found.name, found.how),
                Err(missing) => missing.clone(),
            },
            seconds: of_host.map(|host| host.seconds),
            round_trip_s: [&begin, &end]
                .into_iter()
                .flatten()
                .map(|seen| seen.round_trip)
                .max()
                .map(|trip| trip.as_secs_f64()),
            cpus: host.and_then(|host| server.cpus(host)),
            limits: found.ok().and_then(|found| found.limits.clone()),
            group: figures.and_then(|server| server.group),
            memory_available_bytes: end.and_then(|seen| seen.sample.memory_available_bytes),
            cpu: figures.and_then(|server| server.cpu),
            io: figures.and_then(|server| server.io).filter(|_| several),
            host_cpu: of_host.and_then(|host| host.cpu).filter(|_| several),
            host_cpus: host.and_then(|host| host.info()?.cpus_online).filter(|_| several),
            device: data
                .map(|device| DeviceRecord { device, counters: figures.and_then(|server| server.data) }),
            log_device: log
                .map(|device| DeviceRecord { device, counters: figures.and_then(|server| server.log) }),
        }
    };
    topology.servers.iter().enumerate().map(record).collect()
}

/// `None` if this host is the database's, or the database's is unknown.
fn client_host(topology: &Topology, samples: Option<(&Sample, &Sample)>) -> Option<ClientHostRecord> {
    let mut hosts = topology.hosts_of_database().map(|(_, host)| host.is_here).peekable();
    hosts.peek()?;
    if hosts.any(|is_here| is_here) {
        return None;
    }
    let info = HostInfo::read();
    Some(ClientHostRecord {
        hostname: info.hostname,
        cpus_online: info.cpus_online,
        cpu: samples.and_then(|(begin, end)| Some(end.client_host_cpu?.since(&begin.client_host_cpu?))),
    })
}
