//! Quantities of a record from which figures, verdicts and sections are made.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;

use itertools::Itertools;
use slob_host::{CpuTimes, DeviceCounters, DeviceUse, ProcessIo};
use slob_measure::{Counter, Counters, LatencyKind, OpKind, WaitEvent, WaitTotal};
use slob_record::{Interval, Neighbour, NeighbourUse, ObservedRecord, Record, SessionRecord};
use slob_spec::{ArrivalProcess, Target};
use slob_stats::{Histogram, Point};

use crate::format::{ABSENT, Format, count, fixed, percent, plain_number};
use crate::table::Cell;
use crate::thresholds::{MEMORY_READ, RATE_MET, RATE_MISSED};

pub fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

/// Counts of a damaged record may overflow.
pub fn saturating_sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// More CPU time than this share of the host's is impossible: samples differ by less.
const MOST_OF_HOST: f64 = 1.1;

#[derive(Debug)]
pub struct Measured<'a> {
    pub record: &'a Record,
    pub window_s: f64,
    operations: OnceCell<Histogram>,
    responses: OnceCell<Histogram>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Writer,
    Reader,
}

impl Role {
    /// Readers never update, and writers never read.
    fn of(kind: OpKind) -> Self {
        match kind {
            OpKind::Update => Self::Writer,
            OpKind::Select | OpKind::Scan => Self::Reader,
        }
    }
}

pub fn alike(record: &Record) -> Vec<(Option<Role>, Vec<&SessionRecord>)> {
    let Some(roles) = record.workload.roles() else { return vec![(None, record.sessions.iter().collect())] };
    let (writers, readers) = record.sessions.iter().partition(|session| session.session < roles.writers);
    vec![(Some(Role::Reader), readers), (Some(Role::Writer), writers)]
}

impl<'a> Measured<'a> {
    pub fn of(record: &'a Record) -> Option<Self> {
        let window_s = record.window.map(|window| window.seconds).filter(|seconds| *seconds > 0.0)?;
        Some(Self { record, window_s, operations: OnceCell::new(), responses: OnceCell::new() })
    }

    pub fn operations(&self) -> &Histogram {
        self.operations.get_or_init(|| all_operations(self.record))
    }

    pub fn responses(&self) -> &Histogram {
        self.responses.get_or_init(|| all_responses(self.record))
    }

    pub fn durations_of(&self, role: Role) -> Option<Histogram> {
        self.record.workload.roles()?;
        let kinds = self.record.operations.iter().filter(|(kind, _)| role == Role::of(**kind));
        Some(merged(kinds.map(|(_, of_kind)| &of_kind.latency)))
    }

    /// The clock of the database's host divides its figures; several hosts have a mean.
    pub fn observed_s(&self) -> f64 {
        let seconds = self.record.observed.iter().filter_map(|server| server.seconds);
        let seconds: Vec<f64> = seconds.filter(|seconds| *seconds > 0.0).collect();
        if seconds.is_empty() { self.window_s } else { seconds.iter().sum::<f64>() / seconds.len() as f64 }
    }

    pub fn per_s(&self, amount: u64) -> f64 {
        amount as f64 / self.window_s
    }

    pub fn counted(&self, of: Counter) -> Option<f64> {
        counter(self.record, of).map(|amount| amount as f64)
    }

    pub fn counted_per_s(&self, of: Counter) -> Option<f64> {
        counter(self.record, of).map(|amount| self.per_s(amount))
    }

    pub fn operations_of(&self, kind: OpKind) -> u64 {
        self.record.operations.get(&kind).map_or(0, |kind| kind.operations)
    }

    pub fn host_cpu(&self) -> Option<CpuTimes> {
        self.record.host.as_ref()?.cpu
    }

    pub fn percent_of_cpus(&self, part_s: fn(&CpuTimes) -> f64) -> Option<f64> {
        let cpu = self.host_cpu()?;
        ratio(100.0 * part_s(&cpu), cpu.total_s())
    }

    pub fn host_cpus(&self) -> Option<u32> {
        self.record.host.as_ref()?.info.cpus_online
    }

    pub fn db_cpu_s(&self) -> Option<f64> {
        let cpu_s = self.record.db_cpu.as_ref()?.cpu.total_s();
        self.impossible_db_cpu().is_none().then_some(cpu_s)
    }

    /// CPU time of the database above that of its host, which contains counts of other processes.
    pub fn impossible_db_cpu(&self) -> Option<(f64, f64)> {
        /// Edges of the samples differ by a few clock ticks of each process.
        const SLACK_S: f64 = 0.5;
        let cpu_s = self.record.db_cpu.as_ref()?.cpu.total_s();
        let host_s = self.observed_s() * f64::from(self.host_cpus()?);
        (cpu_s > MOST_OF_HOST * host_s + SLACK_S).then_some((cpu_s, host_s))
    }

    pub fn sessions_cpu_s(&self) -> Option<f64> {
        let db = self.record.db_cpu.as_ref().filter(|_| self.impossible_db_cpu().is_none())?;
        Some(db.sessions.unwrap_or(db.cpu).total_s())
    }

    /// In percent of DB time. CPU time outside operations and in background threads is no DB time, so CPU is at most what waits
    /// leave.
    pub fn on_cpu_and_waiting(&self) -> Option<(f64, Option<f64>)> {
        let percent = |seconds| ratio(100.0 * seconds, db_time_s(self.record)?);
        let waited = self.storage_wait_s().and_then(percent).map(|waited| waited.min(100.0));
        let most = 100.0 - waited.unwrap_or(0.0);
        Some((percent(self.sessions_cpu_s()?)?.min(most), waited))
    }

    /// An embedded database also waits in writes and log flushes. Reads without a clock take the device's time, unless read
    /// ahead.
    fn storage_wait_s(&self) -> Option<f64> {
        let (record, embedded) = (self.record, self.record.server.embedded);
        let reads =
            counter(record, Counter::PhysicalReadRequests).or(counter(record, Counter::PhysicalReads));
        let ahead = counter_of_all(record, Counter::PhysicalReadsAhead).unwrap_or(0);
        let waited_for = reads.map(|reads| reads.saturating_sub(ahead) as f64);
        let timed = latency_sum_s(record, LatencyKind::PhysicalRead)
            .or_else(|| Some(self.counted(Counter::PhysicalReadTimeNs)? / 1e9));
        let by_device = || {
            let device_us = self.device(|used, _| used.mean_read_us())?;
            bypasses_page_cache(record).then_some(device_us * waited_for? / 1e6)
        };
        let memory_s = MEMORY_READ.value * waited_for.unwrap_or(0.0) / 1e6;
        let read_s = match timed {
            Some(read_s) => Some(if read_s < memory_s { 0.0 } else { read_s }),
            None => by_device(),
        };
        let written = [LatencyKind::PhysicalWrite, LatencyKind::RedoSync].into_iter().filter(|_| embedded);
        written.filter_map(|kind| latency_sum_s(record, kind)).chain(read_s).reduce(|a, b| a + b)
    }

    /// Includes an embedded database.
    pub fn client_cpu_s(&self) -> Option<f64> {
        self.record.client_cpu.map(|cpu| cpu.total_s())
    }

    /// Counts an embedded database once, and a client host not at all.
    pub fn run_cpu_s(&self) -> Option<f64> {
        Some(self.db_cpu_s()? + self.client_cpu_on_host_s()?)
    }

    pub fn client_cpu_on_host_s(&self) -> Option<f64> {
        let elsewhere = self.record.server.embedded || self.record.client_host.is_some();
        if elsewhere { Some(0.0) } else { self.client_cpu_s() }
    }

    pub fn percent_of_host(&self, cpu_s: f64) -> Option<f64> {
        let share = ratio(cpu_s, self.observed_s() * f64::from(self.host_cpus()?))?;
        (share <= MOST_OF_HOST).then_some(100.0 * share)
    }

    pub fn device(&self, of: fn(&DeviceUse, f64) -> Option<f64>) -> Option<f64> {
        of(&device_counters(self.record)?.used, self.observed_s())
    }
}

pub fn compressing_file_system(record: &Record) -> Option<&str> {
    let device = &record.host.as_ref()?.device.as_ref()?.device;
    let compresses = device.mount_options.iter().any(|option| option.starts_with("compress"));
    compresses.then_some(device.file_system.as_str())
}

/// Compressed data are read through the page cache all the same.
pub fn bypasses_page_cache(record: &Record) -> bool {
    record.server.direct_io == Some(true) && compressing_file_system(record).is_none()
}

pub fn device_counters(record: &Record) -> Option<DeviceCounters> {
    record.host.as_ref()?.device.as_ref()?.counters
}

pub fn device_name(record: &Record) -> Option<&str> {
    Some(&record.host.as_ref()?.device.as_ref()?.device.top.as_ref()?.name)
}

pub fn counter(record: &Record, counter: Counter) -> Option<u64> {
    record.window?;
    record.counters.get(counter)
}

/// A database without counters has none at all.
pub fn misses_counters(record: &Record) -> bool {
    !record.server.embedded && record.counters.is_empty()
}

pub fn counter_of_all(record: &Record, counter: Counter) -> Option<u64> {
    record.window?;
    record.server_counters.get(counter).or_else(|| record.counters.get(counter))
}

pub fn physical_read_bytes(record: &Record) -> Option<u64> {
    read_bytes(record, counter)
}

/// Counters that know no clients are compared with it.
pub fn physical_read_bytes_of_all(record: &Record) -> Option<u64> {
    let of_clients = read_bytes(record, counter_of_all)?;
    Some(of_clients.saturating_add(counter_of_all(record, Counter::SharedReadBytes).unwrap_or(0)))
}

fn read_bytes(record: &Record, counter: fn(&Record, Counter) -> Option<u64>) -> Option<u64> {
    let by_blocks =
        || counter(record, Counter::PhysicalReads)?.checked_mul(u64::from(record.server.block_bytes));
    counter(record, Counter::PhysicalReadBytes).or_else(by_blocks)
}

pub fn own_io(record: &Record) -> Option<ProcessIo> {
    record.window?;
    if record.server.embedded { record.client_io } else { record.db_io }
}

pub fn own_read_bytes(record: &Record) -> Option<u64> {
    own_io(record).map(|io| io.read_bytes)
}

pub fn neighbour_use(record: &Record) -> Option<NeighbourUse> {
    let run = Measured::of(record)?;
    // Counters of a whole server hold other clients' work.
    let is_attributed = |(counter, _): &(Counter, u64)| record.server_counters.get(*counter).is_some();
    let mut counters = Counters::default();
    record.counters.iter().filter(is_attributed).for_each(|(counter, value)| counters.set(counter, value));
    Some(NeighbourUse {
        host: record.host.as_ref().map(|host| host.info.hostname.clone()),
        device: device_name(record).map(str::to_owned),
        read_bytes: own_read_bytes(record).or_else(|| physical_read_bytes(record)),
        cpu_s: run.run_cpu_s(),
        counters,
    })
}

fn neighbours(record: &Record) -> impl Iterator<Item = (&Neighbour, &NeighbourUse)> {
    let all = record.together.iter().flat_map(|together| &together.neighbours);
    all.filter_map(|neighbour| Some((neighbour, neighbour.used.as_ref()?)))
}

fn shares_server(record: &Record, neighbour: &Neighbour) -> bool {
    let server = |target: &str| {
        let target = target.parse::<Target>().ok()?;
        Some((target.scheme().to_owned(), target.endpoints().to_vec()))
    };
    !record.server.embedded
        && server(&record.target).is_some_and(|own| server(&neighbour.target) == Some(own))
}

fn used_beside<T>(record: &Record, used: impl Fn(&NeighbourUse) -> Option<T>) -> impl Iterator<Item = T> {
    let host = record.host.as_ref().map(|host| host.info.hostname.as_str());
    let others = neighbours(record).filter(move |(neighbour, used)| {
        host.is_some() && used.host.as_deref() == host && !shares_server(record, neighbour)
    });
    others.filter_map(move |(_, neighbour)| used(neighbour))
}

pub fn neighbours_read_bytes(record: &Record) -> u64 {
    let device = device_name(record);
    saturating_sum(used_beside(record, |used| {
        used.read_bytes.filter(|_| device.is_some() && used.device.as_deref() == device)
    }))
}

pub fn neighbours_cpu_s(record: &Record) -> f64 {
    used_beside(record, |used| used.cpu_s).sum()
}

pub fn neighbours_count(record: &Record, counter: Counter) -> u64 {
    let in_server = neighbours(record).filter(|(neighbour, _)| shares_server(record, neighbour));
    saturating_sum(in_server.filter_map(|(_, used)| used.counters.get(counter)))
}

pub fn named_neighbours(record: &Record) -> String {
    let all = record.together.iter().flat_map(|together| &together.neighbours);
    all.map(|neighbour| neighbour.name.as_str()).join(", ")
}

pub fn updates(record: &Record) -> Option<u64> {
    record.window?;
    record.operations.get(&OpKind::Update).map(|updates| updates.operations)
}

pub fn transactions(record: &Record) -> Option<u64> {
    updates(record).map(|updates| (updates as f64 / record.workload.commit_every.get()).round() as u64)
}

pub fn commits(record: &Record) -> Option<u64> {
    counter(record, Counter::Commits).or_else(|| transactions(record))
}

pub fn total_operations(record: &Record) -> u64 {
    saturating_sum(record.operations.values().map(|kind| kind.operations))
}

pub fn total_rows(record: &Record) -> u64 {
    saturating_sum(record.operations.values().map(|kind| kind.rows))
}

/// A run under way has no totals by session, but the sum of all durations is the same.
pub fn db_time_s(record: &Record) -> Option<f64> {
    record.window?;
    if record.sessions.is_empty() {
        return (!record.operations.is_empty()).then(|| all_operations(record).sum() as f64 / 1e9);
    }
    Some(saturating_sum(record.sessions.iter().map(|session| session.busy_us)) as f64 / 1e6)
}

pub fn all_operations(record: &Record) -> Histogram {
    merged(record.operations.values().map(|kind| &kind.latency))
}

/// Records of older releases lack the parts.
pub fn outside_s(record: &Record, part_us: fn(&SessionRecord) -> Option<u64>) -> Option<f64> {
    record.window?;
    let parts: Option<Vec<u64>> = record.sessions.iter().map(part_us).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| saturating_sum(parts) as f64 / 1e6)
}

/// The time of all sessions in the window, from independent sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsTime {
    /// By the responses of the histograms, and those without an end in the window.
    pub responses_us: u64,
    pub idle_us: u64,
    /// As each session counted it.
    pub busy_and_waiting_us: u64,
    pub window_us: u64,
}

impl SessionsTime {
    /// Unknown with RATE, where responses begin before their session is ready for them, and if sessions are missing or crossed the
    /// begin of the window.
    pub fn of(record: &Record) -> Option<Self> {
        let sessions = &record.sessions;
        let crossed = record.edges.as_ref().is_some_and(|edges| edges.begin.sessions_at_work > 0);
        let all_known = !sessions.is_empty() && sessions.len() == record.workload.sessions() as usize;
        let window =
            record.window.filter(|_| all_known && !crossed && record.workload.rate_per_s.is_none())?;
        let sum = |part_us: fn(&SessionRecord) -> Option<u64>| {
            let parts: Option<Vec<u64>> = sessions.iter().map(part_us).collect();
            parts.map(saturating_sum)
        };
        Some(Self {
            responses_us: (all_responses(record).sum() / 1000).saturating_add(sum(|one| one.unfinished_us)?),
            idle_us: sum(|one| one.idle_us)?,
            busy_and_waiting_us: sum(|one| Some(one.busy_us.saturating_add(one.waiting_us?)))?,
            window_us: (window.seconds * 1e6 * sessions.len() as f64) as u64,
        })
    }
}

/// False if no operation was due.
pub fn did_nothing(session: &SessionRecord) -> bool {
    session.operations() == 0 && session.waiting_us != Some(0)
}

/// An operation counts from the moment at which it was due or its session ready.
pub fn all_responses(record: &Record) -> Histogram {
    merged(record.operations.values().map(|kind| &kind.response))
}

pub fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::new();
    histograms.for_each(|one| all.merge(one));
    all
}

pub fn mean_us(histogram: &Histogram) -> Option<f64> {
    histogram.mean().map(|ns| ns / 1e3)
}

/// In microseconds; 100 is the largest value, exactly.
pub fn percentile_us(histogram: &Histogram, percent: f64) -> Option<f64> {
    histogram.percentile(percent).map(|ns| ns as f64 / 1e3)
}

pub fn distribution(histogram: &Histogram) -> [(&'static str, Cell); 8] {
    let us = |us| Format::Micros.cell(us);
    let at = |percent| us(percentile_us(histogram, percent));
    [
        ("count", histogram.count().into()),
        ("mean_us", us(mean_us(histogram))),
        ("p50_us", at(50.0)),
        ("p90_us", at(90.0)),
        ("p95_us", at(95.0)),
        ("p99_us", at(99.0)),
        ("p999_us", at(99.9)),
        ("max_us", at(100.0)),
    ]
}

pub fn session_mean_us(record: &Record, session: &SessionRecord) -> Option<f64> {
    let step = record.operations.values().filter_map(|kind| kind.latency.clock_step()).max();
    let mean_us = ratio(session.busy_us as f64, session.operations() as f64)?;
    step.is_none_or(|step| mean_us * 1e3 >= step.get() as f64).then_some(mean_us)
}

pub fn latency(record: &Record, kind: LatencyKind) -> Option<&Histogram> {
    record.window?;
    record.latencies.get(kind).map(|latency| &latency.histogram).filter(|histogram| !histogram.is_empty())
}

/// Reads that the database does not time are those that the kernel traced.
pub fn wait_times(record: &Record, kind: LatencyKind) -> Option<Cow<'_, Histogram>> {
    let by_kernel = || kernels_reads(record).filter(|_| kind == LatencyKind::PhysicalRead).map(Cow::Owned);
    latency(record, kind).map(Cow::Borrowed).or_else(by_kernel)
}

pub fn kernels_reads(record: &Record) -> Option<Histogram> {
    record.window?;
    let is_timed = record.latencies.get(LatencyKind::PhysicalRead).is_some()
        || counter_of_all(record, Counter::PhysicalReadTimeNs).is_some();
    let trace = record.trace.as_ref().filter(|_| !is_timed)?;
    Some(trace.kernel.reads()).filter(|reads| !reads.is_empty())
}

fn exact(record: &Record, kind: LatencyKind) -> Option<WaitTotal> {
    record.latencies.get(kind)?.exact
}

/// True if the histogram holds upper bounds of a few wide buckets.
pub fn is_coarse(record: &Record, kind: LatencyKind) -> bool {
    latency(record, kind).is_some() && exact(record, kind).is_some()
}

/// Uses values, not bounds of buckets.
pub fn latency_mean_us(record: &Record, kind: LatencyKind) -> Option<f64> {
    match latency(record, kind) {
        Some(_) => record.latencies.get(kind)?.mean_us(),
        None => mean_us(wait_times(record, kind)?.as_ref()),
    }
}

/// Uses values, not bounds of buckets.
pub fn latency_sum_s(record: &Record, kind: LatencyKind) -> Option<f64> {
    let histogram = latency(record, kind)?;
    Some(match exact(record, kind) {
        Some(exact) => exact.time_us as f64 / 1e6,
        None => histogram.sum() as f64 / 1e9,
    })
}

pub fn latency_percentile_us(record: &Record, kind: LatencyKind, percent: f64) -> Option<f64> {
    let us = percentile_us(wait_times(record, kind)?.as_ref(), percent)?;
    Some(if is_coarse(record, kind) { bound_us(us) } else { us })
}

/// Databases use powers of two of microseconds or milliseconds; our narrow bucket rounded them.
fn bound_us(us: f64) -> f64 {
    const BUCKET_WIDTH: f64 = 1.0 / 64.0;
    let power_of_two = |unit: f64| unit * (us / unit).log2().round().exp2();
    let candidates = [power_of_two(1.0), power_of_two(1e3)];
    let close = candidates.into_iter().filter(|bound| (bound - us).abs() <= us * BUCKET_WIDTH);
    close.min_by(|a, b| (a - us).abs().total_cmp(&(b - us).abs())).unwrap_or(us)
}

/// Sampled events have no waits. Waits of sessions come before those of the server's processes that write blocks and log.
pub fn event_mean_us(record: &Record, name: &str) -> Option<f64> {
    let events = || record.events.iter().filter(|event| event.name == name);
    let event = events().find(|event| !event.background).or_else(|| events().next())?;
    event.waits.filter(|waits| *waits > 0).map(|waits| event.time_us as f64 / waits as f64)
}

pub struct TimedEvent {
    pub name: String,
    pub class: String,
    /// `None` if the time was sampled.
    pub waits: Option<u64>,
    pub time_s: f64,
}

impl TimedEvent {
    pub fn of(event: &WaitEvent) -> Self {
        let (name, class) = (event.name.clone(), event.class.clone());
        Self { name, class, waits: event.waits, time_s: event.time_us as f64 / 1e6 }
    }
}

/// The rest of DB time is known only for an embedded database, whose sessions wait themselves.
pub fn timed_events(record: &Record) -> Vec<TimedEvent> {
    let reported = record.events.iter().filter(|event| !event.background).map(TimedEvent::of);
    let mut events: Vec<TimedEvent> = match record.server.embedded && record.events.is_empty() {
        true => measured_waits(record),
        false => reported.collect(),
    };
    if let Some(db_time_s) = db_time_s(record).filter(|_| record.server.embedded && !events.is_empty()) {
        let rest_s = db_time_s - events.iter().map(|event| event.time_s).sum::<f64>();
        // Waits outside operations or at edges can make it negative: then it is unknown.
        if rest_s >= 0.0 {
            let (name, class) = ("CPU and other".to_owned(), ABSENT.to_owned());
            events.push(TimedEvent { name, class, waits: None, time_s: rest_s });
        }
    }
    events.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    events
}

pub const TIMED_WAITS: [(LatencyKind, &str); 3] = [
    (LatencyKind::PhysicalRead, "physical read"),
    (LatencyKind::PhysicalWrite, "physical write"),
    (LatencyKind::RedoSync, "redo sync"),
];

fn measured_waits(record: &Record) -> Vec<TimedEvent> {
    let wait = |(kind, name): (LatencyKind, &str)| {
        let histogram = latency(record, kind)?;
        let time_s = histogram.sum() as f64 / 1e9;
        let (name, class) = (name.to_owned(), "I/O".to_owned());
        Some(TimedEvent { name, class, waits: Some(histogram.count()), time_s })
    };
    TIMED_WAITS.into_iter().filter_map(wait).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub start_s: f64,
    pub operations_per_s: f64,
}

/// Begins with the interval that holds the window's begin, as the sessions were at work before. An interval without a value
/// counts as 0.
pub fn operation_rates(record: &Record) -> Vec<Rate> {
    let Some(window) = record.window else { return Vec::new() };
    let width_s = record.series.width_s() as f64;
    let is_of_window = |point: &Point<'_, Interval>| {
        let end_s = point.start_s as f64 + width_s;
        end_s > window.begin_s && end_s <= window.begin_s + window.seconds
    };
    let rate = |point: Point<'_, Interval>| {
        let operations = point.value.map_or(0, |interval| interval.ops.total());
        Rate { start_s: point.start_s as f64, operations_per_s: operations as f64 / width_s }
    };
    record.series.points().filter(is_of_window).map(rate).collect()
}

pub fn is_measured(record: &Record, start_s: u64) -> bool {
    let (start_s, width_s) = (start_s as f64, record.series.width_s() as f64);
    let is_within = |begin_s, end_s| start_s >= begin_s && start_s + width_s <= end_s;
    record.window.is_some_and(|window| is_within(window.begin_s, window.begin_s + window.seconds))
}

pub fn window_intervals(record: &Record) -> Vec<(u64, Option<&Interval>)> {
    let points = record.series.points().filter(|point| is_measured(record, point.start_s));
    points.map(|point| (point.start_s, point.value)).collect()
}

pub fn intervals_touching(record: &Record) -> impl Iterator<Item = &Interval> {
    let width_s = record.series.width_s() as f64;
    let (begin_s, end_s) = record.window.map_or((0.0, 0.0), |of| (of.begin_s, of.begin_s + of.seconds));
    let overlaps = move |start_s: f64| start_s < end_s && start_s + width_s > begin_s;
    record.series.points().filter(move |point| overlaps(point.start_s as f64)).filter_map(|point| point.value)
}

/// The window's own operations lie between the two counts.
pub fn operations_within_and_touching(record: &Record) -> Option<(u64, u64)> {
    if record.window.is_none() || record.series.is_empty() {
        return None;
    }
    let operations = |interval: &Interval| interval.ops.total();
    let within = window_intervals(record).into_iter().filter_map(|(_, interval)| interval);
    let touching = intervals_touching(record).map(operations);
    Some((saturating_sum(within.map(operations)), saturating_sum(touching)))
}

pub fn server_used_percent(server: &ObservedRecord) -> Option<f64> {
    // A quota is for all processes of the group.
    let of_group = server.group.and_then(|group| group.cpu_s).filter(|_| has_quota(server));
    let own = server.cpu.map(|cpu| cpu.total_s());
    let used_s = of_group.into_iter().chain(own).reduce(f64::max)?;
    ratio(100.0 * used_s, server.seconds? * server.cpus?)
}

pub fn throttled_percent(server: &ObservedRecord) -> Option<f64> {
    let group = server.group?;
    ratio(100.0 * group.throttled_periods? as f64, group.periods? as f64)
}

pub fn has_quota(server: &ObservedRecord) -> bool {
    let quota = server.limits.as_ref().and_then(|limits| limits.cpus);
    quota.is_some() && quota == server.cpus
}

/// The mean of a schedule over RUN_TIME.
pub fn mean_rate(record: &Record) -> Option<u64> {
    let rate = record.workload.rate_per_s.as_ref()?;
    let mean = |run_time_s: f64| ratio(rate.operations_between(0.0, run_time_s), run_time_s);
    let of_schedule = || Some(mean(record.workload.run_time_s?)?.round() as u64);
    rate.only().map(u64::from).or_else(of_schedule)
}

pub fn asked_rate(record: &Record, mean_per_s: f64) -> String {
    let mean = count(mean_per_s.round() as u64);
    match record.workload.rate_per_s.as_ref().filter(|rate| rate.only().is_none()) {
        None => format!("{mean} operations/s"),
        Some(schedule) => {
            let ((low, high), steps) = (schedule.range(), schedule.steps().len());
            let [low, high] = [low, high].map(|rate| count(u64::from(rate)));
            format!("{mean} operations/s on average, {low} to {high} in {steps} steps,")
        }
    }
}

/// Seconds of arrivals that may be under way without being a backlog.
pub const BACKLOG_S: f64 = 0.5;

/// How far random arrivals may differ from their mean.
fn chance(record: &Record, due: f64) -> f64 {
    /// They hardly ever differ more, in standard deviations.
    const DEVIATIONS: f64 = 4.0;
    let is_random = record.workload.arrivals == Some(ArrivalProcess::Poisson);
    if is_random { DEVIATIONS * due.sqrt() } else { 0.0 }
}

/// Returns what was due and not done at the window's end; `None` where chance explains it.
pub fn certain_backlog(record: &Record) -> Option<u64> {
    let window = record.window?;
    let due = record.workload.due_between(0.0, window.begin_s + window.seconds)?;
    record.backlog.filter(|backlog| *backlog as f64 >= chance(record, due))
}

/// Operations that RATE made due, and those that were done.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OfferedLoad {
    done: u64,
    due: f64,
    /// Allowance for chance, and for operations under way at the edges.
    slack: f64,
    rate_per_s: f64,
    seconds: f64,
    /// Seconds of the window; absent for the whole window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_from_s: Option<f64>,
    steps: usize,
}

impl OfferedLoad {
    /// The whole window, or the step of RATE that missed most.
    pub fn of(record: &Record) -> Option<Self> {
        let short = |load: &Self| load.is_below(RATE_MET.value / 100.0) && load.share() < Some(1.0);
        let missed = Self::steps(record).into_iter().flatten().filter(short);
        let worst =
            missed.min_by(|one, other| one.share().partial_cmp(&other.share()).unwrap_or(Ordering::Equal));
        worst.or_else(|| Self::of_window(record))
    }

    pub fn of_window(record: &Record) -> Option<Self> {
        let window = record.window?;
        let due = record.workload.due_between(window.begin_s, window.begin_s + window.seconds)?;
        Some(Self::new(record, total_operations(record), due, window.seconds))
    }

    /// An operation belongs to the step in which it ended.
    pub fn steps(record: &Record) -> Vec<Option<Self>> {
        let workload = &record.workload;
        let Some(schedule) = workload.rate_per_s.as_ref().filter(|rate| rate.only().is_none()) else {
            return Vec::new();
        };
        let (rates, width_s) = (operation_rates(record), record.series.width_s() as f64);
        let step = |(from_s, to_s, _): (f64, f64, u32)| {
            let begin = |rate: &Rate| rate.start_s - workload.warmup_s;
            let has_middle_in = |rate: &&Rate| (from_s..to_s).contains(&(begin(rate) + width_s / 2.0));
            // A step that is shorter than an interval may lie in one, away from its middle.
            let step_s = (from_s + to_s) / 2.0;
            let is_around = |rate: &&Rate| (begin(rate)..begin(rate) + width_s).contains(&step_s);
            let mut own = rates.iter().filter(has_middle_in).collect_vec();
            if own.is_empty() {
                own.extend(rates.iter().find(is_around));
            }
            let (begin_s, end_s) = (own.first()?.start_s, own.last()?.start_s + width_s);
            let done: f64 = own.iter().map(|rate| rate.operations_per_s * width_s).sum();
            let due = workload.due_between(begin_s, end_s)?;
            let load = Self::new(record, done.round() as u64, due, end_s - begin_s);
            Some(Self { step_from_s: Some(from_s), ..load })
        };
        schedule.spans().map(step).collect()
    }

    fn new(record: &Record, done: u64, due: f64, seconds: f64) -> Self {
        let chance = chance(record, due);
        let rate_per_s = ratio(due, seconds).unwrap_or_default();
        let slack = chance + f64::from(record.workload.sessions()).min(BACKLOG_S * rate_per_s);
        let steps = record.workload.rate_per_s.as_ref().map_or(0, |rate| rate.steps().len());
        Self { done, due, slack, rate_per_s, seconds, step_from_s: None, steps }
    }

    pub fn per_second(&self) -> (f64, f64) {
        (self.rate_per_s, ratio(self.done as f64, self.seconds).unwrap_or_default())
    }

    pub fn share(&self) -> Option<f64> {
        ratio(self.done as f64, self.due)
    }

    pub fn is_below(&self, least: f64) -> bool {
        (self.done as f64 + self.slack) < least * self.due
    }

    pub fn is_missed(&self) -> bool {
        self.is_below(RATE_MET.value / 100.0) && self.share() < Some(RATE_MISSED.value / 100.0)
    }

    pub fn words(&self) -> String {
        let place = match (self.step_from_s, self.steps) {
            (Some(from_s), _) => format!("from second {} of the window on ", plain_number(from_s)),
            (None, 0 | 1) => String::new(),
            (None, steps) => format!("in each of its {steps} steps, "),
        };
        format!(
            "{place}{} of {} operations that were due, {} %, were done, {}",
            count(self.done),
            count(self.due.round() as u64),
            percent(100.0 * self.share().unwrap_or_default()),
            self.rates()
        )
    }

    pub fn rates(&self) -> String {
        let (rate_per_s, done_per_s) = self.per_second();
        format!("{}/s of {}/s", fixed(done_per_s, 0), count(rate_per_s.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_testing::records;

    #[rstest]
    #[case(1, 1.0)]
    #[case(512, 512.0)]
    #[case(1000, 1000.0)]
    #[case(1024, 1024.0)]
    #[case(4_194_304, 4_194_304.0)]
    #[case(64_000, 64_000.0)]
    fn bounds_of_buckets_are_restored(#[case] recorded_us: u64, #[case] bound: f64) {
        let mut histogram = Histogram::new();
        // The smallest and the largest value would be exact.
        for ns in [1, recorded_us * 1000, recorded_us * 1000, u64::from(u32::MAX) << 8] {
            histogram.record(ns);
        }
        assert_eq!(bound_us(percentile_us(&histogram, 50.0).unwrap()), bound);
    }

    fn names(record: &Record) -> Vec<String> {
        timed_events(record).into_iter().map(|event| event.name).collect()
    }

    fn with_rate(rate: &str, warmup_s: f64, seconds: f64) -> Record {
        let mut record = records::direct_read_run();
        record.workload.warmup_s = warmup_s;
        record.workload.rate_per_s = rate.parse().ok();
        record.window = Some(slob_record::Window { begin_s: warmup_s, seconds });
        record
    }

    /// 'The system did not keep up' was said of two healthy runs in five, whose arrivals were fewer than their mean.
    #[test]
    fn a_backlog_that_chance_explains_is_none() {
        let mut record = with_rate("100", 60.0, 300.0);
        record.backlog = Some(190);
        for (arrivals, expected) in [(ArrivalProcess::Poisson, None), (ArrivalProcess::Steady, Some(190))] {
            record.workload.arrivals = Some(arrivals);
            assert_eq!(certain_backlog(&record), expected, "{arrivals:?}");
        }
        record.workload.arrivals = Some(ArrivalProcess::Poisson);
        record.backlog = Some(5000);
        assert_eq!(certain_backlog(&record), Some(5000));
    }

    /// All operations were done on time, and a slow last one made the others' sessions owe more.
    #[test]
    fn finished_sessions_owe_nothing() {
        let mut record = records::direct_read_run();
        record.workload.rate_per_s = "1000".parse().ok();
        record.workload.work_loop = Some(100);
        let all = 100 * u64::from(record.workload.sessions());
        let select = record.operations.get_mut(&OpKind::Select).unwrap();
        select.operations = all;
        let load = OfferedLoad::of_window(&record).unwrap();
        assert_eq!((load.share(), load.is_missed()), (Some(1.0), false));
    }

    /// Of a day of minutes two thirds were 'not replayed': no sample's middle lay in their two or three seconds.
    #[test]
    fn a_step_shorter_than_the_samples_has_those_around_it() {
        let mut record = with_rate("40@0s,80@3s,40@5s,80@8s,40@10s,80@13s", 0.0, 16.0);
        record.series = slob_stats::Series::new(0, 4);
        (0..16).for_each(|second| record.series.push(second, records::interval(40)).unwrap());
        assert_eq!(record.series.width_s(), 4);
        let loads = OfferedLoad::steps(&record);
        let done = loads.iter().map(|load| load.map(|load| load.per_second().1));
        assert_eq!(done.collect_vec(), [Some(40.0); 6], "{loads:?}");
    }

    #[test]
    fn events_of_an_embedded_database_add_up_to_db_time() {
        let mut record = records::update_run();
        let mut sorted = names(&record);
        sorted.sort_unstable();
        assert_eq!(sorted, ["CPU and other", "physical read", "redo sync"]);
        let sum: f64 = timed_events(&record).iter().map(|event| event.time_s).sum();
        assert!((sum - db_time_s(&record).unwrap()).abs() < 1e-6, "{sum}");
        // A negative rest is unknown.
        record.sessions.iter_mut().for_each(|session| session.busy_us /= 100);
        assert_eq!(names(&record).len(), 2);
        // Physical reads of a server are not the sessions' waits.
        record.server.embedded = false;
        assert!(names(&record).is_empty());
    }

    #[test]
    fn reported_events_of_sessions_come_before_measured_latencies() {
        let mut record = records::page_cache_run();
        assert_eq!(names(&record).len(), 3);
        record.events[0].background = true;
        assert_eq!(names(&record).len(), 2, "waits of the server's own processes are not DB time");
        let mut record = records::page_cache_run();
        record.server.embedded = true;
        record.events.truncate(1);
        let mut sorted = names(&record);
        sorted.sort_unstable();
        assert_eq!(sorted, ["CPU and other", "data file read"]);
    }

    #[test]
    fn only_whole_intervals_count() {
        let record = records::direct_read_run();
        let rates = operation_rates(&record);
        // The window is 10.25 to 70.25 s.
        assert_eq!((rates.len(), rates[0].start_s, rates[59].start_s), (60, 10.0, 69.0));
        let (within, touching) = operations_within_and_touching(&record).unwrap();
        let ends = |second: usize| record.series.points().nth(second).unwrap().value.unwrap().ops.total();
        assert_eq!(touching - within, ends(10) + ends(70));
        let record = records::failed_run();
        assert!(operation_rates(&record).is_empty());
        assert_eq!(operations_within_and_touching(&record), None);
    }
}
