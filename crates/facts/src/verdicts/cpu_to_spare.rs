//! CPU to spare? Did the sessions wait for storage, and not for CPU?

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;
use slob_host::LimitedIo;
use slob_measure::{Counter, WaitEvent};
use slob_record::{ObservedRecord, Record};

use super::physical::is_cached_test;
use super::{BAD, DOUBT, GOOD, Grade, OBSERVATION, UNKNOWN, findings, worst_first};
use crate::ceiling::probe_limits;
use crate::figure::{self, Figures};
use crate::format::{Hundredths, Percent, Seconds, Tenths, fixed, limits};
use crate::measured::{
    Measured, counter_of_all, device_counters, has_quota, own_io, ratio, server_used_percent,
    throttled_percent,
};
use crate::thresholds::{CPU_FULL, DEVICE_FULL, DEVICE_WRITES, IO_LIMIT, SESSIONS_ON_CPU, STEAL, THROTTLED};

findings! {
    CpuFinding {
        NotSampled = UNKNOWN => "the host's CPU time was not sampled.";
        // The database runs on another host.
        ClientSideFull { busy: Percent } = BAD.by(&CPU_FULL) =>
            "CPUs {busy} % busy on this host, the client's, where only the sessions run.";
        Elsewhere { busy: Percent } = UNKNOWN =>
            "the database runs on another host. On this one, the client's: CPUs {busy} % busy.";
        // The database's host is unknown.
        UnseenAndFull { busy: Percent } = BAD.by(&CPU_FULL) =>
            "CPUs {busy} % busy on this host. It is not known whether the database runs here.";
        Unseen { busy: Percent } = UNKNOWN =>
            "it is not known whether the database runs on this host, whose CPUs were {busy} % busy.";
        // The server used all CPUs that it may use, or was throttled.
        ConfinedCachedTest { server: ConfinedServer } = GOOD.by(&CPU_FULL) =>
            "a test of cached reads measures the CPU: {server}.";
        ConfinedAndCeiling { server: ConfinedServer, ceiling: Percent } = DOUBT.by(&DEVICE_FULL) =>
            "{server}, but the device also delivered {ceiling} % of its ceiling.";
        ConfinedAndBusy { server: ConfinedServer, device: DeviceLoad } = DOUBT.by(&DEVICE_FULL) =>
            "{server}{device}: both near their limits.";
        Confined { server: ConfinedServer, device: DeviceLoad } = BAD.by(&CPU_FULL).remedy(MORE_CPUS) =>
            "{server}{device}: the figures show that limit, not the storage.";
        Throttled { server: ConfinedServer, device: DeviceLoad } = DOUBT.by(&THROTTLED).remedy(MORE_CPUS) => "{server}{device}.";
        // CPUs of the host were free.
        Free { busy: Percent, device: DeviceLoad } = GOOD.by(&CPU_FULL) => "CPUs {busy} % busy{device}.";
        CachedSessions { sessions: SessionsCpu, busy: Percent } = GOOD.by(&SESSIONS_ON_CPU) =>
            "a test of cached reads measures the CPU: {sessions}; the host's CPUs were {busy} % busy.";
        SessionsOnCpu { sessions: SessionsCpu, busy: Percent, device: DeviceLoad } =
            DOUBT.by(&SESSIONS_ON_CPU).remedy(sessions.remedy()) =>
            "{sessions}; the host's CPUs were {busy} % busy{device}.";
        // A control group holds the server's I/O.
        IoLimited { limit: IoLimit, busy: Percent } =
            BAD.by(&IO_LIMIT).remedy("Raise the limit, or compare only runs that are held so.") =>
            "{limit}: the figures show that limit, not the storage; CPUs {busy} % busy.";
        /// Limits of the control group of `slob probe`.
        ProbeLimited { limits: String } = OBSERVATION =>
            "The ceiling of the device may be that of the probe's own limits: {limits}. Probe again without them.";
        IoLimitFree { limit: IoLimit } = OBSERVATION.by(&IO_LIMIT) => "I/O is limited: {limit}.";
        // All CPUs of the host were busy.
        CachedTest { busy: Percent } = GOOD.by(&CPU_FULL) => "a test of cached reads measures the CPU: CPUs {busy} % busy.";
        AtCeiling { busy: Percent, ceiling: Percent } = DOUBT.by(&DEVICE_FULL) =>
            "CPUs {busy} % busy, but the device also delivered {ceiling} % of its ceiling, others' reads \
             included.";
        DeviceBusy { busy: Percent, device: DeviceLoad } = DOUBT.by(&DEVICE_FULL) =>
            "CPUs {busy} % busy{device}: both near their limits.";
        DeviceUnknown { busy: Percent } = DOUBT.by(&CPU_FULL) =>
            "the host's CPUs were {busy} % busy; what the device did is not known.";
        Others { others: Percent, busy: Percent, device: DeviceLoad } = DOUBT.by(&CPU_FULL) =>
            "{others} % of the host's CPU time was others', neither the database's nor this program's; in \
             total {busy} % busy{device}.";
        PartUnknown { busy: Percent, device: DeviceLoad } = DOUBT.by(&CPU_FULL) =>
            "the host's CPUs were {busy} % busy{device}; this run's share of that is not known.";
        Full { run: Percent, busy: Percent, device: DeviceLoad } =
            BAD.by(&CPU_FULL).detail(format!("This run used {run} % of the host's CPU time.")) =>
            "the host's CPUs were {busy} % busy{device}: the figures show the CPU, not the storage.";
        Stolen { steal: Percent } = DOUBT.by(&STEAL) =>
            "the hypervisor gave {steal} % of this host's CPU time to others (steal).";
        ImpossibleCpu { cpu_s: Seconds, host_s: Seconds } = DOUBT =>
            "the database's CPU time is not known: its processes' clocks say {cpu_s}, and its host's CPUs had {host_s}.";
        FullestHost { endpoint: String, busy: Percent } = DOUBT.by(&CPU_FULL) =>
            "the host of {endpoint} had its CPUs {busy} % busy, more than the others.";
        ClientHostFull { hostname: String, busy: Percent } = BAD.by(&CPU_FULL) =>
            "the CPUs of {hostname}, the client's host, where only the sessions run, were {busy} % busy.";
        ServerNotSeen { reason: String } = OBSERVATION => "The server was not seen: {reason}.";
        ServersAccount { cpu_s: Seconds, db_time: Percent } = OBSERVATION =>
            "By the server's own account its sessions were on a CPU for {cpu_s}, {db_time} % of DB time.";
        DatabaseUsed { cpu_s: Seconds, of_host: Option<Percent>, of_db_time: Option<Percent> } = OBSERVATION =>
            "The database used {cpu_s} of CPU time{}{}.",
            of_host.map(|share| format!(", {share} % of the host's")).unwrap_or_default(),
            of_db_time.map(|share| format!(", {share} % of DB time")).unwrap_or_default();
        OutsideOperations { embedded: bool } = OBSERVATION =>
            "That is more than DB time: some of it was used outside of operations, for instance by checkpoints{}.",
            if *embedded { "" } else { " or while no operation was due" };
        ClientUsed { cpus: Hundredths } = OBSERVATION => "This program used {cpus} CPUs.";
    }
}

const MORE_CPUS: &str = "Give it more CPUs, or compare only runs that are held so.";

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionsCpu {
    of_db_time: Percent,
    waited: Option<Percent>,
    /// False if background threads are included.
    only_sessions: bool,
    open_loop: bool,
}

impl SessionsCpu {
    /// `None` if sessions mostly did something else.
    fn of(figures: &Figures<'_>) -> Option<Self> {
        let (record, (on_cpu, waited)) = (figures.record, figures.on_cpu_and_waiting()?);
        (on_cpu >= SESSIONS_ON_CPU.value).then_some(Self {
            of_db_time: Percent(on_cpu),
            waited: waited.map(Percent),
            only_sessions: record.server.embedded || record.db_cpu.as_ref()?.sessions.is_some(),
            open_loop: record.workload.rate_per_s.is_some(),
        })
    }

    fn remedy(&self) -> &'static str {
        match self.open_loop {
            true => "RATE sets the load: latencies show the CPU rather than the storage.",
            false => "More sessions would load the storage more.",
        }
    }
}

impl fmt::Display for SessionsCpu {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let background = if self.only_sessions { "" } else { ", background threads included" };
        write!(out, "CPU was {} % of DB time{background}, ", self.of_db_time)?;
        match self.waited {
            Some(waited) => write!(out, "waits for storage {waited} %"),
            None => write!(out, "and what sessions waited for is not known"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IoLimit {
    endpoint: Option<String>,
    what: &'static str,
    most_per_s: Tenths,
    used: Percent,
}

impl IoLimit {
    fn worst(figures: &Figures<'_>) -> Option<Self> {
        let lines = |server: &ObservedRecord| server.limits.clone().map_or_else(Vec::new, |limits| limits.io);
        let all = figures.record.observed.iter();
        let all = all.flat_map(|server| lines(server).into_iter().map(move |line| (server, line)));
        all.filter_map(|(server, line)| Self::of_line(figures.record, server, &line)).reduce(Self::fuller)
    }

    fn fuller(self, other: Self) -> Self {
        if other.used.0 > self.used.0 { other } else { self }
    }

    /// `254:0 rbps=max wbps=max riops=2000 wiops=max`; the limit that is used most.
    fn of_line(record: &Record, server: &ObservedRecord, line: &str) -> Option<Self> {
        let host_device = || record.host.as_ref()?.device.as_ref();
        let device = server.device.as_ref().or_else(host_device)?;
        let (number, limits) = line.split_once(' ')?;
        let mut ids = device.device.top.iter().chain(device.device.disks.iter().map(|disk| &disk.id));
        ids.find(|id| format!("{}:{}", id.major, id.minor) == number)?;
        // The device counts everybody's requests: none of its counts is the group's.
        let (used, own) = (device.counters?.used, server.io.or_else(|| own_io(record)));
        let limited = server.group.and_then(|group| group.limited);
        let requests = counter_of_all(record, Counter::PhysicalReadRequests);
        let requests = requests.or_else(|| counter_of_all(record, Counter::PhysicalReads));
        let limit = |word: &str| {
            let (key, most) = word.split_once('=')?;
            let of_group = |count: fn(LimitedIo) -> u64| limited.map(count);
            let (what, unit, of_device, of_group, of_server) = match key {
                "riops" => ("reads/s", 1.0, used.reads, of_group(|io| io.reads), requests),
                "wiops" => ("writes/s", 1.0, used.writes, of_group(|io| io.writes), None),
                "rbps" => {
                    let of_server = own.map(|own| own.read_bytes);
                    ("MB/s of reads", 1e6, used.read_bytes, of_group(|io| io.read_bytes), of_server)
                }
                "wbps" => {
                    let of_server = own.map(|own| own.write_bytes);
                    ("MB/s of writes", 1e6, used.write_bytes, of_group(|io| io.write_bytes), of_server)
                }
                _ => return None,
            };
            let most = most.parse::<f64>().ok()?;
            let done = of_group.or(of_server.map(|own| own.min(of_device)))? as f64;
            let (used, most_per_s) =
                (Percent(ratio(100.0 * done, server.seconds? * most)?), Tenths(most / unit));
            Some(Self { endpoint: server.endpoint.clone(), what, most_per_s, used })
        };
        limits.split_whitespace().filter_map(limit).reduce(Self::fuller)
    }
}

impl fmt::Display for IoLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.endpoint.as_ref().map(|endpoint| format!(" of {endpoint}")).unwrap_or_default();
        let Self { what, most_per_s, used, .. } = self;
        let limit = format!("{most_per_s} {what}");
        write!(out, "the control group of the server{server} may do {limit}, of which it used {used} %")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceLoad {
    busy: Option<Percent>,
    of_ceiling: Option<Percent>,
    above_probe: bool,
}

impl DeviceLoad {
    fn of(figures: &Figures<'_>) -> Self {
        Self {
            busy: figure::DEVICE_BUSY_PERCENT.of(figures).map(Percent),
            of_ceiling: figure::PERCENT_OF_CEILING.of(figures).map(Percent),
            above_probe: figures.is_above_probe(),
        }
    }
}

impl fmt::Display for DeviceLoad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(busy) = self.busy {
            write!(out, ", device {busy} % busy")?;
        }
        match self.of_ceiling {
            _ if self.above_probe => write!(out, ", more reads than the probe achieved"),
            Some(share) => write!(out, ", {share} % of the device's ceiling"),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfinedServer {
    endpoint: Option<String>,
    cpus: f64,
    by_quota: bool,
    used: Percent,
    throttled: Option<Percent>,
    throttled_s: Option<Seconds>,
}

impl ConfinedServer {
    fn worst(record: &Record) -> Option<Self> {
        let of_host = record.host.as_ref().and_then(|host| host.info.cpus_online);
        let confined = record.observed.iter().filter_map(|server| {
            let of_host = f64::from(server.host_cpus.or(of_host)?);
            Some(Self {
                endpoint: server.endpoint.clone(),
                cpus: server.cpus.filter(|cpus| *cpus < of_host)?,
                by_quota: has_quota(server),
                used: server_used_percent(server).map(Percent)?,
                throttled: throttled_percent(server).map(Percent),
                throttled_s: server.group.and_then(|group| group.throttled_s).map(Seconds),
            })
        });
        confined.max_by(|a, b| a.used.0.total_cmp(&b.used.0))
    }

    fn is_full(&self) -> bool {
        self.used.0 >= CPU_FULL.value
    }

    /// Sessions that wake up together use up a period at once, without using all CPU time.
    fn is_throttled(&self) -> bool {
        self.throttled.is_some_and(|throttled| throttled.0 >= THROTTLED.value)
    }
}

impl fmt::Display for ConfinedServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            Some(endpoint) => write!(out, "the server of {endpoint}")?,
            None => write!(out, "the server")?,
        }
        let by = if self.by_quota { "its control group" } else { "it" };
        let cpus = fixed(self.cpus, if self.cpus.fract() == 0.0 { 0 } else { 2 });
        write!(out, " used {} % of the {cpus} CPUs that {by} may use", self.used)?;
        let Some(throttled) = self.throttled.filter(|share| share.0 > 0.0) else { return Ok(()) };
        write!(out, ", and was held up (throttled) in {throttled} % of the quota's periods")?;
        self.throttled_s.map_or(Ok(()), |held| write!(out, ", for {held} summed over CPUs"))
    }
}

pub(super) fn judge(figures: &Figures<'_>) -> Vec<CpuFinding> {
    let record = figures.record;
    let not_seen = || {
        let servers = record.observed.iter().filter(|server| server.process.is_none());
        servers.map(|server| CpuFinding::ServerNotSeen { reason: server.found.clone() })
    };
    let Some(busy) = figure::HOST_BUSY_PERCENT.of(figures).map(Percent) else {
        return [CpuFinding::NotSampled].into_iter().chain(not_seen()).chain(observations(figures)).collect();
    };
    let site = Site::of(record);
    let io_limit = IoLimit::worst(figures);
    let main = match site {
        Site::Seen => match io_limit.clone().filter(|limit| limit.used.0 >= IO_LIMIT.value) {
            Some(limit) => CpuFinding::IoLimited { limit, busy },
            None => confined(figures).unwrap_or_else(|| on_its_host(figures, busy)),
        },
        Site::Elsewhere if busy.0 >= CPU_FULL.value => CpuFinding::ClientSideFull { busy },
        Site::Elsewhere => CpuFinding::Elsewhere { busy },
        Site::Unseen if busy.0 >= CPU_FULL.value => CpuFinding::UnseenAndFull { busy },
        Site::Unseen => CpuFinding::Unseen { busy },
    };
    let beside = [stolen(figures), impossible_cpu(record), fullest_host(record), full_client(record)];
    let beside: Vec<CpuFinding> = beside.into_iter().flatten().collect();
    let of_site = match site {
        Site::Seen => Vec::new(),
        _ => servers_account(figures).into_iter().chain(not_seen()).collect(),
    };
    let mut findings = match main.judgement().answer() {
        Grade::Good | Grade::Unknown => {
            let mut findings = worst_first(beside, CpuFinding::judgement);
            findings.push(main);
            findings.extend(of_site);
            findings
        }
        // A limit forbids no comparison, so what forbids one speaks before it.
        Grade::Doubt | Grade::Bad => {
            let is_bad = |finding: &CpuFinding| finding.judgement().answer() == Grade::Bad;
            let (bad, rest): (Vec<_>, Vec<_>) = beside.into_iter().partition(is_bad);
            bad.into_iter().chain([main]).chain(of_site).chain(rest).collect()
        }
    };
    let io_limit = io_limit.filter(|limit| limit.used.0 < IO_LIMIT.value);
    findings.extend(io_limit.map(|limit| CpuFinding::IoLimitFree { limit }));
    findings.extend(observations(figures));
    findings
}

fn confined(figures: &Figures<'_>) -> Option<CpuFinding> {
    let server =
        ConfinedServer::worst(figures.record).filter(|server| server.is_full() || server.is_throttled())?;
    if is_cached_test(figures) {
        return Some(CpuFinding::ConfinedCachedTest { server });
    }
    let device = DeviceLoad::of(figures);
    Some(match (device_limit(figures), server.is_full()) {
        (Limit::Ceiling(ceiling), _) => CpuFinding::ConfinedAndCeiling { server, ceiling },
        (Limit::Busy, true) => CpuFinding::ConfinedAndBusy { server, device },
        (_, true) => CpuFinding::Confined { server, device },
        (_, false) => CpuFinding::Throttled { server, device },
    })
}

fn on_its_host(figures: &Figures<'_>, busy: Percent) -> CpuFinding {
    let (device, cached) = (DeviceLoad::of(figures), is_cached_test(figures));
    if busy.0 < CPU_FULL.value {
        return match SessionsCpu::of(figures) {
            Some(sessions) if cached => CpuFinding::CachedSessions { sessions, busy },
            Some(sessions) => CpuFinding::SessionsOnCpu { sessions, busy, device },
            None => CpuFinding::Free { busy, device },
        };
    }
    let user = cpu_user(figures);
    // A test of cached reads shows nothing of a host that others filled.
    if cached && !matches!(user, CpuUser::Others(_)) {
        return CpuFinding::CachedTest { busy };
    }
    match (device_limit(figures), user) {
        (Limit::Ceiling(ceiling), _) => CpuFinding::AtCeiling { busy, ceiling },
        (Limit::Busy, _) => CpuFinding::DeviceBusy { busy, device },
        (Limit::Unknown, _) => CpuFinding::DeviceUnknown { busy },
        (Limit::Free, CpuUser::Others(others)) => CpuFinding::Others { others, busy, device },
        (Limit::Free, CpuUser::Unknown) => CpuFinding::PartUnknown { busy, device },
        (Limit::Free, CpuUser::ThisRun(run)) => CpuFinding::Full { run, busy, device },
    }
}

enum Limit {
    /// Percent of the probe's ceiling, for all programs.
    Ceiling(Percent),
    /// Busy nearly all the time, without a probe of its ceiling.
    Busy,
    Free,
    Unknown,
}

/// A device that only reads is busy long before its limit; a probe of reads says nothing about writes.
fn device_limit(figures: &Figures<'_>) -> Limit {
    let ceiling = figure::DEVICE_PERCENT_OF_CEILING.of(figures);
    let busy = figure::DEVICE_BUSY_PERCENT.of(figures).map(|busy| busy >= DEVICE_FULL.value);
    let writes_much = device_counters(figures.record).is_some_and(|device| {
        let (reads, writes) = (device.used.reads, device.used.writes);
        writes as f64 > DEVICE_WRITES.share() * (reads + writes) as f64
    });
    let explained_by_probe = ceiling.is_some() && !writes_much;
    match (ceiling, busy) {
        (Some(share), _) if share >= DEVICE_FULL.value => Limit::Ceiling(Percent(share)),
        (_, Some(true)) if !explained_by_probe => Limit::Busy,
        (None, None) => Limit::Unknown,
        _ => Limit::Free,
    }
}

enum CpuUser {
    ThisRun(Percent),
    Others(Percent),
    Unknown,
}

/// Interrupts belong to neither side, stolen time to the others.
fn cpu_user(figures: &Figures<'_>) -> CpuUser {
    let own = figure::RUN_PERCENT_OF_HOST.of(figures);
    let Some((own, foreign)) = own.zip(figure::FOREIGN_CPU_PERCENT.of(figures)) else {
        return CpuUser::Unknown;
    };
    let others = foreign + figure::HOST_STEAL_PERCENT.of(figures).unwrap_or(0.0);
    if own >= others { CpuUser::ThisRun(Percent(own)) } else { CpuUser::Others(Percent(others)) }
}

fn impossible_cpu(record: &Record) -> Option<CpuFinding> {
    let (cpu_s, host_s) = Measured::of(record)?.impossible_db_cpu()?;
    Some(CpuFinding::ImpossibleCpu { cpu_s: Seconds(cpu_s), host_s: Seconds(host_s) })
}

fn stolen(figures: &Figures<'_>) -> Option<CpuFinding> {
    let steal = figure::HOST_STEAL_PERCENT.of(figures).filter(|steal| *steal >= STEAL.value)?;
    Some(CpuFinding::Stolen { steal: Percent(steal) })
}

fn fullest_host(record: &Record) -> Option<CpuFinding> {
    let busy = |server: &ObservedRecord| Some((server.host_cpu?.busy_percent()?, server.endpoint.clone()?));
    let all: Vec<(f64, String)> = record.observed.iter().filter_map(busy).collect();
    let others_are_not = all.iter().any(|(busy, _)| *busy < CPU_FULL.value);
    let (busy, endpoint) = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (others_are_not && busy >= CPU_FULL.value)
        .then_some(CpuFinding::FullestHost { endpoint, busy: Percent(busy) })
}

fn full_client(record: &Record) -> Option<CpuFinding> {
    let client = record.client_host.as_ref()?;
    let busy = client.cpu?.busy_percent().filter(|busy| *busy >= CPU_FULL.value)?;
    Some(CpuFinding::ClientHostFull { hostname: client.hostname.clone(), busy: Percent(busy) })
}

fn servers_account(figures: &Figures<'_>) -> Option<CpuFinding> {
    let is_cpu = |event: &&WaitEvent| !event.background && event.class.eq_ignore_ascii_case("cpu");
    let events = figures.record.events.iter().filter(is_cpu);
    let cpu_s = events.map(|event| event.time_us as f64 / 1e6).reduce(|a, b| a + b)?;
    let db_time = ratio(100.0 * cpu_s, figure::DB_TIME_S.of(figures)?)?;
    Some(CpuFinding::ServersAccount { cpu_s: Seconds(cpu_s), db_time: Percent(db_time) })
}

fn observations(figures: &Figures<'_>) -> impl Iterator<Item = CpuFinding> {
    let embedded = figures.record.server.embedded;
    let of_db_time = figure::DB_CPU_PERCENT_OF_DB_TIME.of(figures);
    let database = figure::DB_CPU_S.of(figures).map(|cpu_s| {
        let of_host = figure::DB_CPU_PERCENT_OF_HOST.of(figures).map(Percent);
        let of_db_time = of_db_time.filter(|share| *share <= 100.0).map(Percent);
        CpuFinding::DatabaseUsed { cpu_s: Seconds(cpu_s), of_host, of_db_time }
    });
    let outside =
        of_db_time.filter(|share| *share > 100.0).map(|_| CpuFinding::OutsideOperations { embedded });
    let client_s = figure::CLIENT_CPU_S.of(figures).filter(|_| !embedded);
    let client = client_s
        .zip(figure::WINDOW_S.of(figures))
        .map(|(client_s, window_s)| CpuFinding::ClientUsed { cpus: Hundredths(client_s / window_s) });
    let of_probe = probe_limits(figures.record).map(limits);
    let of_probe = of_probe.map(|limits| CpuFinding::ProbeLimited { limits });
    [database, outside, client, of_probe].into_iter().flatten()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    Seen,
    Elsewhere,
    /// A connection without a network, a service's name, or a local port that may lead anywhere.
    Unseen,
}

impl Site {
    pub(super) fn of(record: &Record) -> Self {
        // With ssh the user names the database's host.
        let is_seen = |server: &ObservedRecord| {
            server.process.is_some() || (server.host.is_some() && server.by.starts_with("ssh:"))
        };
        let was_seen = record.observed.iter().any(is_seen);
        if record.server.embedded || was_seen || record.server.data_path.is_some() || record.db_cpu.is_some()
        {
            return Self::Seen;
        }
        let own = record.host.as_ref().map_or("", |host| host.info.hostname.as_str());
        match hosts(&record.target) {
            Some(hosts) if !hosts.iter().any(|host| is_this_host(host, own)) => Self::Elsewhere,
            _ => Self::Unseen,
        }
    }
}

/// `scheme://user@host:port,host/path`; `None` if a name may be a service: it has no port, path or dot.
fn hosts(target: &str) -> Option<Vec<&str>> {
    let (_, rest) = target.split_once("://")?;
    let rest = rest.split('?').next()?;
    let at = rest.rsplit_once('@').map_or(rest, |(_, at)| at);
    // Some databases' users write user@//host:port/service.
    let (list, path) = at.strip_prefix("//").unwrap_or(at).split_once('/').unwrap_or((at, ""));
    list.split(',').map(|endpoint| host_of(endpoint, !path.is_empty())).collect()
}

fn host_of(endpoint: &str, has_path: bool) -> Option<&str> {
    if let Some((host, _)) = endpoint.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return Some(host);
    }
    let (host, has_port) = endpoint.split_once(':').map_or((endpoint, false), |(host, _)| (host, true));
    (!host.is_empty() && (has_port || has_path || host.contains('.'))).then_some(host)
}

fn is_this_host(host: &str, own: &str) -> bool {
    let host = host.to_ascii_lowercase();
    // Either may have its domain or not.
    let label = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_own = !own.is_empty() && host.parse::<IpAddr>().is_err() && label(&host) == label(own);
    is_own
        || host == "localhost"
        || host.starts_with('/')
        || host.starts_with("%2f")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
