//! From the parts of a run to its record.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use slob_host::{Device, HostInfo};
use slob_method::{Arrivals, PlanSeed, Workload};
use slob_record::{
    DbCpu, DeviceRecord, HostRecord, HotSpotRecord, LoadRecord, LossRecord, Mark, RECORD_VERSION, Record,
    SavedProbe, SchemaRecord, ServerRecord, ServerReportRecord, SessionRecord, SettingRecord, Status,
    ThinkTimeRecord, Verification, Window, WorkloadRecord,
};
use slob_spec::{Length, RunSpec};

use crate::RunError;
use crate::check::{Prepared, arrivals_of, warmup_of};
use crate::counted::{endpoints, uncounted};
use crate::growing::GrowingSeries;
use crate::losses::Loss;
use crate::runner::RunContext;
use crate::sampler::Sample;
use crate::session::SessionEnd;
use crate::settling::Settling;
use crate::tally::Tally;

/// Everything that was measured.
pub(crate) struct Parts {
    pub(crate) tally: Arc<Tally>,
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) status: Status,
    pub(crate) begin: Option<Sample>,
    pub(crate) end: Option<Sample>,
    pub(crate) series: GrowingSeries,
    /// With UNTIL_STEADY, from the beginning of the window on.
    pub(crate) settling: Option<Settling>,
    /// What was marked, and how many marks there were beyond those.
    pub(crate) marks: (Vec<Mark>, usize),
    /// With the moment at which the timeline heard of each end.
    pub(crate) sessions: Vec<(Instant, SessionEnd)>,
    /// Sessions that did not end in time.
    pub(crate) unfinished: u32,
    pub(crate) device: Option<Device>,
    pub(crate) probe: Option<SavedProbe>,
    pub(crate) notes: Vec<String>,
    pub(crate) verification: Option<Verification>,
    pub(crate) server_report: Option<ServerReportRecord>,
}

impl Parts {
    pub(crate) fn new(started: Timestamp, tally: Arc<Tally>) -> Self {
        Self {
            tally,
            started,
            ended: started,
            status: Status::Completed,
            begin: None,
            end: None,
            series: GrowingSeries::new(),
            settling: None,
            marks: (Vec::new(), 0),
            sessions: Vec::new(),
            unfinished: 0,
            device: None,
            probe: None,
            notes: Vec::new(),
            verification: None,
            server_report: None,
        }
    }

    /// Whether the run is to end because it is steady.
    pub(crate) fn is_steady(&mut self, now: Instant) -> bool {
        let start = self.tally.start();
        self.settling.as_mut().is_some_and(|settling| settling.look(&self.series, start, now))
    }

    /// Makes the run a failed one; the first failure counts.
    pub(crate) fn fail(&mut self, error: &RunError) {
        if !matches!(self.status, Status::Failed { .. }) {
            self.status = Status::Failed { error: error.to_string() };
        }
    }
}

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
    let db_cpu = edges.and_then(|(begin, end)| end.db_cpu_since(begin));
    Record {
        record_version: RECORD_VERSION,
        slob_version: context.slob_version.to_owned(),
        id: id.to_owned(),
        name: context.spec.run_name.as_str().to_owned(),
        status: parts.status.clone(),
        started: parts.started,
        ended: parts.ended,
        target: context.spec.target.to_string(),
        server: server(prepared),
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
        until_steady: parts.settling.as_ref().map(Settling::settled),
        sessions: sessions(prepared, &parts, !endpoints.is_empty()),
        counters: figures.counters,
        latencies: figures.latencies,
        events: figures.events,
        endpoints,
        db_cpu: db_cpu.map(|cpu| DbCpu { cpu, source: cpu_source(prepared).to_owned() }),
        client_cpu: edges.and_then(|(begin, end)| end.client_cpu_since(begin)),
        client_io: edges.and_then(|(begin, end)| Some(end.client_io?.since(&begin.client_io?))),
        client_peak_memory_bytes: slob_host::peak_memory_bytes().ok(),
        host: context.spec.host_counters.then(|| host(prepared, &parts)),
        probe: parts.probe,
        server_report: parts.server_report,
        verification: parts.verification,
        series: parts.series.into_series(),
        window,
        notes,
    }
}

fn window(parts: &Parts) -> Option<Window> {
    let (begin, end) = (parts.begin.as_ref()?, parts.end.as_ref()?);
    let start = parts.tally.start();
    let seconds = (end.taken - begin.taken).as_secs_f64();
    (seconds > 0.0)
        .then(|| Window { begin_s: begin.taken.saturating_duration_since(start).as_secs_f64(), seconds })
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
            notes.push(format!("After the window, session {} ended with an error: {error}.", end.session));
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

fn server(prepared: &Prepared) -> ServerRecord {
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
        advice: server.advice.clone(),
        embedded: server.capabilities.embedded,
        batches_in_server: server.capabilities.batches_in_server,
        direct_io: server.capabilities.direct_io,
        data_path: server.data_path.as_ref().map(|path| path.display().to_string()),
    }
}

/// What a run's sessions do, as its record says it.
pub(crate) fn workload_record(spec: &RunSpec, workload: &Workload, seed: PlanSeed) -> WorkloadRecord {
    let Workload { scale, update_pct, scan_pct, select_unit, update_unit, redo, hot_spot, think, .. } =
        *workload;
    let (run_time_s, work_loop) = match spec.length {
        Length::Time(time) => (Some(time.as_secs_f64()), None),
        Length::Operations(count) => (None, Some(count)),
    };
    let arrivals = arrivals_of(spec);
    WorkloadRecord {
        schemas: spec.schemas.get(),
        threads_per_schema: spec.threads_per_schema.get(),
        scale_blocks: scale,
        work_unit: select_unit.get(),
        update_work_unit: update_unit.get(),
        update_pct: update_pct.get(),
        scan_pct: scan_pct.get(),
        redo_stress: redo.as_str().to_owned(),
        run_time_s,
        work_loop,
        warmup_s: warmup_of(spec).as_secs_f64(),
        seed: seed.seed,
        nonce: seed.nonce,
        hot_spot: hot_spot.map(|hot| HotSpotRecord {
            first_block: hot.first,
            blocks: hot.blocks,
            every: hot.every.get(),
        }),
        rate_per_s: arrivals.map(|arrivals| arrivals.per_second.get()),
        arrivals: arrivals.map(|arrivals| arrivals.process.as_str().to_owned()),
        hot_schema_every: workload.hot_schema_every.map(NonZeroU32::get),
        think_time: think.map(|think| ThinkTimeRecord {
            every: think.every.get(),
            min_us: think.min_us,
            max_us: think.max_us,
        }),
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

fn host(prepared: &Prepared, parts: &Parts) -> HostRecord {
    let edges = parts.begin.as_ref().zip(parts.end.as_ref());
    let device = parts.device.clone();
    HostRecord {
        info: HostInfo::read(),
        cpu: edges.and_then(|(begin, end)| Some(end.host_cpu?.since(&begin.host_cpu?))),
        device_note: match (&device, &prepared.server.data_path) {
            (Some(device), _) => device.note.clone(),
            (None, Some(_)) => Some("The device behind the data could not be found.".into()),
            (None, None) => Some("Whether the data are on this host is not known.".into()),
        },
        device: device.map(|device| DeviceRecord {
            device,
            counters: edges.and_then(|(begin, end)| end.device_since(begin)),
        }),
    }
}
