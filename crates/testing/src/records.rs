//! Hand-made records: small, sound, and easy to spoil in one point.

#![expect(clippy::unwrap_used, reason = "the records are made here: each part is there")]

mod parts;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde_json::json;
use slob_host::{CpuSplit, DeviceUse, ProcessIo};
use slob_measure::{
    Counter, Counters, KernelTrace, Latencies, Latency, LatencyKind, OpCounts, OpKind, Span, WaitEvent,
    WaitTotal,
};
use slob_record::{
    DbCpu, EndpointRecord, Interval, LossRecord, Mark, Neighbour, NeighbourUse, Record, ReportedPair,
    ServerReportRecord, Status, Together, TraceRecord, Verification,
};
use slob_spec::{Percent, TraceWhen};
use slob_stats::{Histogram, Series};

use self::parts::{BLOCK_BYTES, WINDOW_S};
pub use self::parts::{half_a_cpu, spread};

/// 4 sessions read blocks through direct I/O for a minute; embedded, probed, and nothing is wrong.
pub fn direct_read_run() -> Record {
    let reads = spread(18_000, 12_250_000);
    let physical_reads = 1_170_432;
    let cpu = json!({"user_s": 31.0, "system_s": 19.0});
    let series: Series<Interval> = Series::new(0, 1800);
    let mut record: Record = parts::from_json(json!({
        "record_version": slob_record::RECORD_VERSION, "slob_version": "0.1.0", "id": "20261120T104500Z-direct", "name": "direct",
        "status": {"state": "completed"}, "started": "2026-11-20T10:45:00Z", "ended": "2026-11-20T10:46:11Z",
        "target": "file:/data/slob", "server": parts::server(), "configuration": parts::configuration(),
        "workload": parts::workload(), "load": parts::load(), "window": {"begin_s": 10.25, "seconds": WINDOW_S},
        "operations": {"select": parts::kind(&reads, 64)}, "sessions": parts::sessions(&reads, 64),
        "counters": {"logical_reads": 5_184_000, "physical_reads": physical_reads, "physical_writes": 0},
        "latencies": {"physical_read": spread(physical_reads, 138_000)}, "events": [],
        "db_cpu": {"cpu": cpu, "source": "this program's process: the database is embedded in it"}, "client_cpu": cpu,
        "client_io": parts::process_io(physical_reads * BLOCK_BYTES), "client_peak_memory_bytes": 180 << 20,
        "host": parts::host(), "probe": parts::probe(), "verification": {"rows": 100, "updated": 0, "faults": []},
        "series": series, "notes": [],
    }));
    with_device_read_share(&mut record, 0.998);
    with_series(&mut record, 72, |second| 298 + (second * 7) % 5);
    record
}

/// The page cache serves nearly everything.
pub fn page_cache_run() -> Record {
    let mut record = direct_read_run();
    record.id = "20261120T110000Z-buffered".into();
    record.name = "buffered".into();
    record.target = "server:db1:5000/slob".into();
    record.server.embedded = false;
    record.server.batches_in_server = true;
    record.server.direct_io = Some(false);
    record.server.advice = vec![
        "Reads go through the operating system's page cache: switch direct I/O on, or use data sets larger than \
         memory."
            .into(),
    ];
    let reads = spread(461_550, 478_000);
    record.operations = BTreeMap::from([(OpKind::Select, parts::kind(&reads, 64))]);
    record.sessions = parts::sessions(&reads, 64);
    record.counters = Counters::from([
        (Counter::LogicalReads, 30_600_000),
        (Counter::PhysicalReads, 29_538_360),
        (Counter::PhysicalReadTimeNs, 140_000_000_000),
    ]);
    record.latencies = Latencies::default();
    let event = |name: &str, class: &str, waits, time_us| WaitEvent {
        name: name.into(),
        class: class.into(),
        waits,
        time_us,
        background: false,
    };
    record.events = vec![
        event("data file read", "IO", Some(29_538_360), 140_000_000),
        event("CPU", "CPU", None, 94_000_000),
        event("client read", "Client", Some(1_200), 1_500_000),
    ];
    record.db_cpu = Some(DbCpu {
        cpu: CpuSplit { user_s: 62.0, system_s: 118.0 },
        sessions: None,
        source: "the server's processes".into(),
    });
    record.client_cpu = Some(CpuSplit { user_s: 1.25, system_s: 0.5 });
    record.verification = None;
    let cpu = record.host.as_mut().unwrap().cpu.as_mut().unwrap();
    (cpu.user_s, cpu.system_s, cpu.idle_s, cpu.iowait_s) = (64.0, 120.0, 769.5, 0.0);
    with_device_read_share(&mut record, 716.0 * WINDOW_S / 29_538_360.0);
    with_utilisation(&mut record, Some(9.5));
    with_intervals(&mut record, 72, |second| {
        let mut interval = interval(7_680 + (second * 37) % 25);
        interval.device.as_mut().unwrap().reads = 716;
        interval.physical_reads = Some(interval.rows);
        interval
    });
    record
}

pub fn with_neighbour(record: &mut Record, used: NeighbourUse) {
    let (name, target, run) = ("report".into(), "server:db2:5000/report".into(), "report-r1".into());
    record.together = Some(Together {
        step: "free-all-r1".into(),
        name: "shop".into(),
        start: record.started,
        neighbours: vec![Neighbour { name, target, run, used: Some(used) }],
    });
}

/// Five sessions only read, three only update, each a tenth as often.
pub fn run_with_roles() -> Record {
    let mut record = update_run();
    let workload = &mut record.workload;
    (workload.schemas, workload.threads_per_schema) = (NonZeroU32::MIN, NonZeroU32::new(8).unwrap());
    (workload.writers, workload.update_pct) = (NonZeroU32::new(3), Percent::new(37).unwrap());
    let first = record.sessions[0].clone();
    let session = |number| {
        let (selects, updates) = if number < 3 { (0, 120) } else { (1_200, 0) };
        slob_record::SessionRecord { session: number, schema: 1, selects, updates, scans: 0, ..first.clone() }
    };
    record.sessions = (0..8).map(session).collect();
    record
}

/// 16 sessions do the work of 4 by turns: a response takes four times its operation. Each ends the window with a wait of 5.7 s.
pub fn crowded_run() -> Record {
    let mut record = direct_read_run();
    record.id = "20261120T114500Z-crowded".into();
    record.name = "crowded".into();
    record.workload.threads_per_schema = NonZeroU32::new(8).unwrap();
    let responses = spread(18_000, 46_000_000);
    let window_us = (WINDOW_S * 1e6) as u64;
    let unfinished_us = window_us - responses.sum() / 1000 / 16;
    let session = |session: u32| {
        let one = record.sessions[session as usize % 4].clone();
        let busy_us = one.busy_us / 4;
        slob_record::SessionRecord {
            session,
            selects: one.selects / 4,
            rows: one.rows / 4,
            busy_us,
            idle_us: Some(0),
            waiting_us: Some(window_us - busy_us),
            unfinished_us: Some(unfinished_us),
            ..one
        }
    };
    record.sessions = (0..16).map(session).collect();
    record.operations.get_mut(&OpKind::Select).unwrap().response = responses;
    with_responses(&mut record, 4);
    record
}

/// Half the operations are updates with commits; embedded, no probe.
pub fn update_run() -> Record {
    let mut record = direct_read_run();
    record.id = "20261120T113000Z-redo".into();
    record.name = "redo".into();
    let (selects, updates) = (spread(7_200, 12_300_000), spread(7_200, 17_500_000));
    let mut both = selects.clone();
    both.merge(&updates);
    let kinds = [(OpKind::Select, parts::kind(&selects, 64)), (OpKind::Update, parts::kind(&updates, 64))];
    record.operations = BTreeMap::from(kinds);
    record.workload.update_pct = Percent::new(50).unwrap();
    record.sessions = parts::sessions(&both, 64);
    for session in &mut record.sessions {
        session.updates = session.selects / 2;
        session.selects -= session.updates;
    }
    let physical_reads = 936_300;
    record.counters = Counters::from([
        (Counter::LogicalReads, 4_200_000),
        (Counter::PhysicalReads, physical_reads),
        (Counter::PhysicalWrites, 455_000),
        (Counter::RedoBytes, 3_801_600_000),
        (Counter::RedoWrites, 464_000),
        (Counter::RedoSyncs, 7_540),
        (Counter::Commits, 7_200),
        (Counter::Checkpoints, 110),
    ]);
    record.latencies = Latencies::from([
        (LatencyKind::PhysicalRead, spread(physical_reads, 138_000)),
        (LatencyKind::RedoSync, spread(7_540, 1_900_000)),
    ]);
    let io = parts::process_io(physical_reads * BLOCK_BYTES);
    record.client_io = Some(ProcessIo { write_bytes: 7_530_000_000, ..io });
    record.probe = None;
    record.verification = Some(Verification { rows: 100, updated: 31, faults: Vec::new(), unread: None });
    record.notes = vec!["12 operations were repeated after a conflict with other sessions.".into()];
    with_device_read_share(&mut record, 1.001);
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    let counters = device.counters.as_mut().unwrap();
    let used = &mut counters.used;
    (used.writes, used.write_bytes, used.write_time_ms) = (471_000, 7_530_000_000, 188_000);
    with_intervals(&mut record, 72, |second| Interval {
        redo_bytes: Some(63_000_000 + second * 1_000),
        ..interval(238 + (second * 7) % 5)
    });
    record
}

/// Every section of the report has content.
pub fn eventful_run() -> Record {
    let mut record = run_with_roles();
    record.probe = direct_read_run().probe;
    record.server.advice = page_cache_run().server.advice;
    record.latencies.set(LatencyKind::PhysicalWrite, spread(455_000, 400_000));
    let events = page_cache_run().events;
    record.events =
        [events.clone(), events.into_iter().map(|event| WaitEvent { background: true, ..event }).collect()]
            .concat();
    record.marks = vec![Mark { at_s: 30.25, text: "rebalance".into() }];
    record.losses = vec![LossRecord {
        session: 1,
        endpoint: 0,
        at_s: 20.5,
        error: "the server went away".into(),
        back_s: Some(21.0),
        back_endpoint: Some(0),
        refused: None,
    }];
    record.endpoints = vec![EndpointRecord {
        endpoint: "db1:5000".into(),
        sessions: 4,
        operations: record.operations.clone(),
        counters: Some(record.counters.clone()),
        shares_with: None,
    }];
    record.observed = parts::observed();
    record.server_report = Some(ServerReportRecord {
        kind: "awr".into(),
        snapshots: [41, 42],
        files: vec!["awr.txt".into()],
        seconds: Some(61.5),
        pairs: vec![ReportedPair { what: "Logical reads/s".into(), ours: 86_400.0, reported: 86_000.0 }],
    });
    with_commits(traced(record, 0))
}

/// Its sessions could not connect, so nearly everything is absent.
pub fn failed_run() -> Record {
    let mut record = direct_read_run();
    record.id = "20261120T120000Z-direct".into();
    let error = "connecting session 3: the server is out of connections (limit 3). Raise its limit, or use fewer \
                 sessions";
    record.status = Status::Failed { error: error.into() };
    record.ended = record.started;
    record.window = None;
    record.operations.clear();
    record.sessions.clear();
    record.counters = Counters::default();
    record.latencies = Latencies::default();
    (record.db_cpu, record.client_cpu, record.client_io) = (None, None, None);
    record.client_peak_memory_bytes = None;
    (record.host, record.probe, record.verification, record.load) = (None, None, None, None);
    record.server.direct_io = None;
    record.server.data_path = None;
    record.server.settings.clear();
    record.series = Series::new(0, 1800);
    record
}

/// 4 sessions need the second for that many SELECTs.
pub fn interval(selects: u64) -> Interval {
    let reads = selects * 65;
    Interval {
        response: slob_stats::Histogram::new(),
        ops: OpCounts { selects, updates: 0, scans: 0 },
        rows: selects * 64,
        latency: spread(selects, 3_700_000_000 / selects.max(1)),
        physical_reads: Some(reads),
        logical_reads: Some(selects * 288),
        redo_bytes: None,
        sampled_s: Some(1.001),
        observed_s: None,
        host_cpu: Some(parts::second_of_cpu()),
        db_cpu: Some(CpuSplit { user_s: 0.52, system_s: 0.32 }),
        device: Some(DeviceUse { reads, read_bytes: reads * BLOCK_BYTES, ..DeviceUse::default() }),
    }
}

/// `of_second` gives the SELECTs of each second.
pub fn with_series(record: &mut Record, seconds: u64, of_second: impl Fn(u64) -> u64) {
    with_intervals(record, seconds, |second| interval(of_second(second)));
}

fn with_intervals(record: &mut Record, seconds: u64, of_second: impl Fn(u64) -> Interval) {
    record.series = Series::new(0, 1800);
    (0..seconds).for_each(|second| record.series.push(second, of_second(second)).unwrap());
}

/// Response times are `times` the service times.
pub fn with_responses(record: &mut Record, times: u64) {
    with_intervals(record, 72, |second| {
        let selects = 298 + (second * 7) % 5;
        Interval { response: spread(selects, times * 3_700_000_000 / selects), ..interval(selects) }
    });
}

/// The sampler was held up.
pub fn with_gap(record: &mut Record, gap: std::ops::Range<u64>) {
    with_intervals(record, 72, |second| {
        let sampled = interval(298 + (second * 7) % 5);
        if gap.contains(&second) {
            Interval { ops: sampled.ops, rows: sampled.rows, latency: sampled.latency, ..Interval::default() }
        } else {
            sampled
        }
    });
}

/// A share of the database's physical reads.
pub fn with_device_read_share(record: &mut Record, share: f64) {
    let reads = (record.counters.get(Counter::PhysicalReads).unwrap() as f64 * share).round();
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    let used = &mut device.counters.as_mut().unwrap().used;
    used.reads = reads as u64;
    used.read_bytes = used.reads * BLOCK_BYTES;
    used.read_time_ms = (reads * 0.141) as u64;
    used.weighted_ms = used.read_time_ms + used.write_time_ms;
}

/// Some databases do not have it.
pub fn uncounted(record: &mut Record, counter: Counter) {
    record.counters = record.counters.iter().filter(|(other, _)| *other != counter).collect();
}

/// The database sorts it into wide buckets, beside exact counts.
pub fn with_exact(record: &mut Record, kind: LatencyKind, exact: WaitTotal) {
    let histogram = record.latencies.get(kind).unwrap().histogram.clone();
    record.latencies.set(kind, Latency { histogram, exact: Some(exact) });
}

pub fn with_host_busy(record: &mut Record, percent: f64) {
    let cpu = record.host.as_mut().unwrap().cpu.as_mut().unwrap();
    let total_s = cpu.total_s();
    (cpu.nice_s, cpu.system_s, cpu.iowait_s, cpu.irq_s, cpu.softirq_s, cpu.steal_s) =
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    cpu.user_s = total_s * percent / 100.0;
    cpu.idle_s = total_s - cpu.user_s;
}

/// `None` takes its counters away.
pub fn with_utilisation(record: &mut Record, percent: Option<f64>) {
    let device = record.host.as_mut().unwrap().device.as_mut().unwrap();
    match (percent, device.counters.as_mut()) {
        (Some(percent), Some(counters)) => counters.used.busy_ms = (WINDOW_S * 10.0 * percent).round() as u64,
        _ => device.counters = None,
    }
}

pub fn durations(of: &[(u64, u64)]) -> Histogram {
    let mut durations = Histogram::new();
    of.iter().for_each(|(us, n)| durations.record_n(us * 1000, *n));
    durations
}

/// Adds 2,000 commits of 1,000 us to the trace. Two share a flush, which takes 1,160 us by the kernel, and writes the log in one call.
pub fn with_commits(mut record: Record) -> Record {
    let spans = [
        (Span::LogWrite, 40),
        (Span::LogSync, 1160),
        (Span::LogSubmit, 20),
        (Span::LogInQueue, 10),
        (Span::LogInDevice, 170),
        (Span::LogToFlush, 10),
        (Span::LogFlush, 800),
        (Span::LogJournal, 100),
        (Span::LogWakeUp, 40),
    ];
    if let Some(trace) = &mut record.trace {
        let counted = [(Counter::Commits, 2000), (Counter::RedoSyncs, 1000)];
        counted.into_iter().for_each(|(counter, value)| trace.counters.set(counter, value));
        trace.latencies.set(LatencyKind::Commit, durations(&[(1000, 2000)]));
        trace.kernel.spans.extend(spans.map(|(span, us)| (span, durations(&[(us, 1000)]))));
    }
    record
}

/// Reads took 200 us by the database, 180 in the call and 120 in the device; `cached` of 1000 took 2 us in the page cache.
pub fn traced(mut record: Record, cached: u64) -> Record {
    let reads = 1000 - cached;
    let spans = [
        (Span::ReadFromCache, 2, cached),
        (Span::ReadFromDevice, 180, reads),
        (Span::ReadSubmit, 5, reads),
        (Span::ReadInQueue, 10, reads),
        (Span::ReadInDevice, 120, reads),
        (Span::ReadWakeUp, 40, reads),
    ];
    let spans = spans.into_iter().filter(|(_, _, n)| *n > 0);
    let mut latencies = Latencies::default();
    latencies.set(LatencyKind::PhysicalRead, durations(&[(200, reads), (3, cached)]));
    record.trace = Some(TraceRecord {
        when: TraceWhen::After,
        seconds: 10.0,
        counters: [(Counter::PhysicalReads, 1000)].into(),
        latencies,
        kernel: KernelTrace {
            spans: spans.map(|(span, us, n)| (span, durations(&[(us, n)]))).collect(),
            ..KernelTrace::default()
        },
    });
    record
}
