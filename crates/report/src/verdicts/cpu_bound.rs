//! CPU-bound? Was the CPU at its limit while the device was not?

use std::net::IpAddr;

use serde::Serialize;
use slob_measure::WaitEvent;
use slob_record::{ObservedRecord, Record};

use super::physical::is_cached_test;
use super::thresholds::{CPU_FULL, DEVICE_FULL, DEVICE_WRITES, SESSIONS_ON_CPU, STEAL, THROTTLED};
use super::{Answer, Judge, Judgement, worst_first};
use crate::figure::{self, Figures};
use crate::format::{fixed, percent, seconds};
use crate::measured::{device_counters, has_quota, ratio, server_used_percent, throttled_percent};

/// A finding about 'CPU-bound?'. Numbers are percentages unless their names say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", content = "numbers", rename_all = "snake_case")]
pub enum CpuFinding {
    /// The host's CPU time was not sampled.
    NotSampled,
    /// The database runs elsewhere, and this host's CPUs are full.
    ClientSideFull { busy: f64 },
    /// The database runs elsewhere.
    Elsewhere { busy: f64 },
    /// The database was not seen, and this host's CPUs are full.
    UnseenAndFull { busy: f64 },
    /// The database was not seen.
    Unseen { busy: f64 },
    /// The server used all CPUs that it may use, or was throttled, in a test of cached reads.
    ConfinedCachedTest { server: ConfinedServer },
    /// The same, while the device was at its ceiling.
    ConfinedAndCeiling { server: ConfinedServer, ceiling: f64 },
    /// The same, while the device was busy.
    ConfinedAndBusy { server: ConfinedServer, device: DeviceLoad },
    /// The server used all CPUs that it may use.
    Confined { server: ConfinedServer, device: DeviceLoad },
    /// The server was throttled without using all.
    Throttled { server: ConfinedServer, device: DeviceLoad },
    /// CPUs were free.
    Free { busy: f64, device: DeviceLoad },
    /// Sessions hardly left the CPU, in a test of cached reads.
    CachedSessions { db_time: f64, busy: f64 },
    /// Sessions hardly left the CPU.
    SessionsOnCpu { db_time: f64, busy: f64, device: DeviceLoad },
    /// CPUs were full, in a test of cached reads.
    CachedTest { busy: f64 },
    /// CPUs were full, and the device was at its ceiling.
    AtCeiling { busy: f64, ceiling: f64 },
    /// CPUs were full, and the device was busy.
    DeviceBusy { busy: f64, device: DeviceLoad },
    /// CPUs were full; the device is unknown.
    DeviceUnknown { busy: f64 },
    /// CPUs were full, mostly with others' work.
    Others { others: f64, busy: f64, device: DeviceLoad },
    /// CPUs were full; the run's part is unknown.
    PartUnknown { busy: f64, device: DeviceLoad },
    /// CPUs were full with this run, and the device was free.
    Full { run: f64, busy: f64, device: DeviceLoad },
    /// The hypervisor withheld CPU time.
    Stolen { steal: f64 },
    /// One of several hosts was full.
    FullestHost { endpoint: String, busy: f64 },
    /// The client's host was full.
    ClientHostFull { hostname: String, busy: f64 },
    /// A server was not observed.
    ServerNotSeen { reason: String },
    /// CPU time by the server's own events.
    ServersAccount { cpu_s: f64, db_time: f64 },
    /// CPU time of the database.
    DatabaseUsed { cpu_s: f64, of_host: Option<f64>, of_db_time: Option<f64> },
    /// CPU time of an embedded database exceeds DB time.
    OutsideOperations,
    /// CPUs that this program used.
    ClientUsed { cpus: f64 },
}

/// The device during the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceLoad {
    busy: Option<f64>,
    of_ceiling: Option<f64>,
    above_probe: bool,
}

impl DeviceLoad {
    fn of(figures: &Figures<'_>) -> Self {
        Self {
            busy: figure::DEVICE_BUSY_PERCENT.of(figures),
            of_ceiling: figure::PERCENT_OF_CEILING.of(figures),
            above_probe: figures.is_above_probe(),
        }
    }

    fn words(&self) -> String {
        let busy = self.busy.map(|busy| format!(", device {} % busy", percent(busy)));
        let ceiling = match self.above_probe {
            true => Some(", more reads than the probe achieved".to_owned()),
            false => self.of_ceiling.map(|share| format!(", {} % of the device's ceiling", percent(share))),
        };
        busy.unwrap_or_default() + &ceiling.unwrap_or_default()
    }
}

/// A server that may use fewer CPUs than its host has, by its control group or its affinity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfinedServer {
    endpoint: Option<String>,
    cpus: f64,
    by_quota: bool,
    /// CPU time in percent of these CPUs.
    used: f64,
    /// Periods in which its quota throttled it, in percent.
    throttled: Option<f64>,
    throttled_s: Option<f64>,
}

impl ConfinedServer {
    /// Of all such servers, the one that used most of its CPUs.
    fn worst(record: &Record) -> Option<Self> {
        let of_host = record.host.as_ref().and_then(|host| host.info.cpus_online);
        let confined = record.observed.iter().filter_map(|server| {
            let of_host = f64::from(server.host_cpus.or(of_host)?);
            Some(Self {
                endpoint: server.endpoint.clone(),
                cpus: server.cpus.filter(|cpus| *cpus < of_host)?,
                by_quota: has_quota(server),
                used: server_used_percent(server)?,
                throttled: throttled_percent(server),
                throttled_s: server.group.and_then(|group| group.throttled_s),
            })
        });
        confined.max_by(|a, b| a.used.total_cmp(&b.used))
    }

    fn is_full(&self) -> bool {
        self.used >= CPU_FULL.value
    }

    /// Sessions that wake up together use up a period at once, without using all CPU time.
    fn is_throttled(&self) -> bool {
        self.throttled.is_some_and(|throttled| throttled >= THROTTLED.value)
    }

    fn words(&self) -> String {
        let server = match &self.endpoint {
            Some(endpoint) => format!("the server of {endpoint}"),
            None => "the server".to_owned(),
        };
        let by = if self.by_quota { "its control group" } else { "it" };
        let cpus = fixed(self.cpus, if self.cpus.fract() == 0.0 { 0 } else { 2 });
        let throttled = self.throttled.filter(|share| *share > 0.0).map(|share| {
            let time = self.throttled_s.map(|held_s| format!(", for {} summed over CPUs", seconds(held_s)));
            format!(
                ", and was held up (throttled) in {} % of the quota's periods{}",
                percent(share),
                time.unwrap_or_default()
            )
        });
        format!(
            "{server} used {} % of the {cpus} CPUs that {by} may use{}",
            percent(self.used),
            throttled.unwrap_or_default()
        )
    }
}

const MORE_CPUS: &str = "Give it more CPUs, or compare only runs that are held so.";

impl CpuFinding {
    pub(super) fn judgement(&self) -> Judgement {
        match self {
            Self::NotSampled => Judgement::unknown("Not known: the host's CPU time was not sampled."),
            Self::ClientSideFull { busy } => Judgement::bad(format!(
                "Yes, on the client's side: {} on this host, where only the sessions run.",
                busy_cpus(*busy)
            ))
            .by(&CPU_FULL),
            Self::Elsewhere { busy } => Judgement::unknown(format!(
                "Not known: the database runs on another host. On this one, the client's: {}.",
                busy_cpus(*busy)
            )),
            Self::UnseenAndFull { busy } => Judgement::bad(format!(
                "Yes: {} on this host. It is not known whether the database runs here.",
                busy_cpus(*busy)
            ))
            .by(&CPU_FULL),
            Self::Unseen { busy } => Judgement::unknown(format!(
                "Not known, nor is it known whether the database runs on this host: {} here.",
                busy_cpus(*busy)
            )),
            Self::ConfinedCachedTest { server } => {
                Judgement::good(format!("Yes, as a test of cached reads should be: {}.", server.words()))
                    .by(&CPU_FULL)
            }
            Self::ConfinedAndCeiling { server, ceiling } => Judgement::doubt(format!(
                "Nearly: {}, but the device also delivered {} % of its ceiling.",
                server.words(),
                percent(*ceiling)
            ))
            .by(&DEVICE_FULL),
            Self::ConfinedAndBusy { server, device } => Judgement::doubt(format!(
                "Possibly: {}{}: both near their limits.",
                server.words(),
                device.words()
            ))
            .by(&DEVICE_FULL),
            Self::Confined { server, device } => Judgement::bad(format!(
                "Yes: {}{}: the figures show that limit, not the storage.",
                server.words(),
                device.words()
            ))
            .by(&CPU_FULL)
            .remedy(MORE_CPUS),
            Self::Throttled { server, device } => {
                Judgement::doubt(format!("Now and then: {}{}.", server.words(), device.words()))
                    .by(&THROTTLED)
                    .remedy(MORE_CPUS)
            }
            Self::Free { busy, device } => {
                Judgement::good(format!("No: {}{}.", busy_cpus(*busy), device.words())).by(&CPU_FULL)
            }
            Self::CachedSessions { db_time, busy } => Judgement::good(format!(
                "Yes, in each session, as expected of a test of cached reads: {}; the host's CPUs were {} % busy.",
                of_db_time(*db_time),
                percent(*busy)
            ))
            .by(&SESSIONS_ON_CPU),
            Self::SessionsOnCpu { db_time, busy, device } => Judgement::doubt(format!(
                "Yes, in each session: {}, hardly any of it was spent waiting for the device; the host's CPUs were {} \
                 % busy{}.",
                of_db_time(*db_time),
                percent(*busy),
                device.words()
            ))
            .by(&SESSIONS_ON_CPU)
            .remedy("More sessions would load the storage more."),
            Self::CachedTest { busy } => Judgement::good(format!(
                "Yes, as expected of a test of cached reads: {}.",
                busy_cpus(*busy)
            ))
            .by(&CPU_FULL),
            Self::AtCeiling { busy, ceiling } => Judgement::doubt(format!(
                "Nearly: {}, but the device also delivered {} % of its ceiling, others' reads included.",
                busy_cpus(*busy),
                percent(*ceiling)
            ))
            .by(&DEVICE_FULL),
            Self::DeviceBusy { busy, device } => Judgement::doubt(format!(
                "Possibly: {}{}: both near their limits.",
                busy_cpus(*busy),
                device.words()
            ))
            .by(&DEVICE_FULL),
            Self::DeviceUnknown { busy } => Judgement::doubt(format!(
                "Probably: the host's CPUs were {} % busy; what the device did is not known.",
                percent(*busy)
            ))
            .by(&CPU_FULL),
            Self::Others { others, busy, device } => Judgement::doubt(format!(
                "Others used the CPUs: {} % of the host's CPU time was neither the database's nor this program's; in \
                 total {} % busy{}.",
                percent(*others),
                percent(*busy),
                device.words()
            ))
            .by(&CPU_FULL),
            Self::PartUnknown { busy, device } => Judgement::doubt(format!(
                "Probably: the host's CPUs were {} % busy{}; this run's share of that is not known.",
                percent(*busy),
                device.words()
            ))
            .by(&CPU_FULL),
            Self::Full { run, busy, device } => Judgement::bad(format!(
                "Yes: the host's CPUs were {} % busy{}: the figures show the CPU, not the storage.",
                percent(*busy),
                device.words()
            ))
            .by(&CPU_FULL)
            .detail(format!("This run used {} % of the host's CPU time.", percent(*run))),
            Self::Stolen { steal } => Judgement::doubt(format!(
                "The hypervisor gave {} % of this host's CPU time to others (steal).",
                percent(*steal)
            ))
            .by(&STEAL),
            Self::FullestHost { endpoint, busy } => Judgement::doubt(format!(
                "The host of {endpoint} had its CPUs {} % busy, more than the others.",
                percent(*busy)
            ))
            .by(&CPU_FULL),
            Self::ClientHostFull { hostname, busy } => Judgement::bad(format!(
                "Yes, on the client's side: the CPUs of {hostname}, where only the sessions run, were {} % busy.",
                percent(*busy)
            ))
            .by(&CPU_FULL),
            Self::ServerNotSeen { reason } => {
                Judgement::observation(format!("The server was not seen: {reason}."))
            }
            Self::ServersAccount { cpu_s, db_time } => Judgement::observation(format!(
                "By the server's own account its sessions were on a CPU for {}, {} % of DB time.",
                seconds(*cpu_s),
                percent(*db_time)
            )),
            Self::DatabaseUsed { cpu_s, of_host, of_db_time } => {
                let of_host = of_host.map(|share| format!(", {} % of the host's", percent(share)));
                let of_time = of_db_time.map(|share| format!(", {} % of DB time", percent(share)));
                let shares = of_host.unwrap_or_default() + &of_time.unwrap_or_default();
                Judgement::observation(format!("The database used {} of CPU time{shares}.", seconds(*cpu_s)))
            }
            Self::OutsideOperations => Judgement::observation(
                "That is more than DB time: some of it was used outside of operations, for instance by checkpoints.",
            ),
            Self::ClientUsed { cpus } => {
                Judgement::observation(format!("This program used {} CPUs.", fixed(*cpus, 2)))
            }
        }
    }
}

fn busy_cpus(busy: f64) -> String {
    format!("CPUs {} % busy", percent(busy))
}

/// Background threads that can't be told from sessions work outside of DB time.
fn of_db_time(share: f64) -> String {
    let background = if share > 100.0 { ", background threads included" } else { "" };
    format!("CPU was {} % of DB time{background}", percent(share))
}

pub(super) fn judge(figures: &Figures<'_>) -> Vec<CpuFinding> {
    let record = figures.record;
    let not_seen = || {
        let servers = record.observed.iter().filter(|server| server.process.is_none());
        servers.map(|server| CpuFinding::ServerNotSeen { reason: server.found.clone() })
    };
    let Some(busy) = figure::HOST_BUSY_PERCENT.of(figures) else {
        return std::iter::once(CpuFinding::NotSampled)
            .chain(not_seen())
            .chain(observations(figures))
            .collect();
    };
    let site = Site::of(record);
    let main = match site {
        Site::Seen => confined(figures).unwrap_or_else(|| on_its_host(figures, busy)),
        Site::Elsewhere if busy >= CPU_FULL.value => CpuFinding::ClientSideFull { busy },
        Site::Elsewhere => CpuFinding::Elsewhere { busy },
        Site::Unseen if busy >= CPU_FULL.value => CpuFinding::UnseenAndFull { busy },
        Site::Unseen => CpuFinding::Unseen { busy },
    };
    let beside: Vec<CpuFinding> =
        stolen(figures).into_iter().chain(fullest_host(record)).chain(full_client(record)).collect();
    let of_site = match site {
        Site::Seen => Vec::new(),
        _ => servers_account(figures).into_iter().chain(not_seen()).collect(),
    };
    let mut findings = match main.answer() {
        Answer::Good | Answer::Unknown => {
            let mut findings = worst_first(beside);
            findings.push(main);
            findings.extend(of_site);
            findings
        }
        Answer::Doubt | Answer::Bad => std::iter::once(main).chain(of_site).chain(beside).collect(),
    };
    findings.extend(observations(figures));
    findings
}

/// A server that may not use all CPUs of its host, and used all that it may or was throttled.
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

fn on_its_host(figures: &Figures<'_>, busy: f64) -> CpuFinding {
    let (device, cached) = (DeviceLoad::of(figures), is_cached_test(figures));
    if busy < CPU_FULL.value {
        let on_cpu = figure::SESSIONS_CPU_PERCENT_OF_DB_TIME.of(figures);
        return match on_cpu.filter(|share| *share >= SESSIONS_ON_CPU.value) {
            Some(db_time) if cached => CpuFinding::CachedSessions { db_time, busy },
            Some(db_time) => CpuFinding::SessionsOnCpu { db_time, busy, device },
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

/// The device's own limit.
enum Limit {
    /// It delivered this percentage of the probe's ceiling, to all programs.
    Ceiling(f64),
    /// It worked nearly all the time, and no probe tells how much more it can do.
    Busy,
    Free,
    Unknown,
}

/// A device that only reads is busy long before its limit, which the probe shows. With writes the probe of reads does not.
fn device_limit(figures: &Figures<'_>) -> Limit {
    let ceiling = figure::DEVICE_PERCENT_OF_CEILING.of(figures);
    let busy = figure::DEVICE_BUSY_PERCENT.of(figures).map(|busy| busy >= DEVICE_FULL.value);
    let writes_much = device_counters(figures.record).is_some_and(|device| {
        let (reads, writes) = (device.used.reads, device.used.writes);
        writes as f64 > DEVICE_WRITES.share() * (reads + writes) as f64
    });
    let explained_by_probe = ceiling.is_some() && !writes_much;
    match (ceiling, busy) {
        (Some(share), _) if share >= DEVICE_FULL.value => Limit::Ceiling(share),
        (_, Some(true)) if !explained_by_probe => Limit::Busy,
        (None, None) => Limit::Unknown,
        _ => Limit::Free,
    }
}

/// The main user of the CPUs, with its percentage of the host.
enum CpuUser {
    ThisRun(f64),
    Others(f64),
    Unknown,
}

/// Interrupts belong to neither side, stolen time to the others.
fn cpu_user(figures: &Figures<'_>) -> CpuUser {
    let own = figure::RUN_PERCENT_OF_HOST.of(figures);
    let Some((own, foreign)) = own.zip(figure::FOREIGN_CPU_PERCENT.of(figures)) else {
        return CpuUser::Unknown;
    };
    let others = foreign + figure::HOST_STEAL_PERCENT.of(figures).unwrap_or(0.0);
    if own >= others { CpuUser::ThisRun(own) } else { CpuUser::Others(others) }
}

fn stolen(figures: &Figures<'_>) -> Option<CpuFinding> {
    let steal = figure::HOST_STEAL_PERCENT.of(figures).filter(|steal| *steal >= STEAL.value)?;
    Some(CpuFinding::Stolen { steal })
}

/// The full one of several hosts that are not all full.
fn fullest_host(record: &Record) -> Option<CpuFinding> {
    let busy = |server: &ObservedRecord| Some((server.host_cpu?.busy_percent()?, server.endpoint.clone()?));
    let all: Vec<(f64, String)> = record.observed.iter().filter_map(busy).collect();
    let others_are_not = all.iter().any(|(busy, _)| *busy < CPU_FULL.value);
    let (busy, endpoint) = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (others_are_not && busy >= CPU_FULL.value).then_some(CpuFinding::FullestHost { endpoint, busy })
}

/// The sessions need CPU too, on a host of their own.
fn full_client(record: &Record) -> Option<CpuFinding> {
    let client = record.client_host.as_ref()?;
    let busy = client.cpu?.busy_percent().filter(|busy| *busy >= CPU_FULL.value)?;
    Some(CpuFinding::ClientHostFull { hostname: client.hostname.clone(), busy })
}

/// CPU time of its sessions that the server counted or sampled.
fn servers_account(figures: &Figures<'_>) -> Option<CpuFinding> {
    let is_cpu = |event: &&WaitEvent| !event.background && event.class.eq_ignore_ascii_case("cpu");
    let events = figures.record.events.iter().filter(is_cpu);
    let cpu_s = events.map(|event| event.time_us as f64 / 1e6).reduce(|a, b| a + b)?;
    let db_time = ratio(100.0 * cpu_s, figure::DB_TIME_S.of(figures)?)?;
    Some(CpuFinding::ServersAccount { cpu_s, db_time })
}

fn observations(figures: &Figures<'_>) -> impl Iterator<Item = CpuFinding> {
    let embedded = figures.record.server.embedded;
    let of_db_time = figure::DB_CPU_PERCENT_OF_DB_TIME.of(figures);
    let database = figure::DB_CPU_S.of(figures).map(|cpu_s| {
        let of_host = figure::DB_CPU_PERCENT_OF_HOST.of(figures);
        CpuFinding::DatabaseUsed { cpu_s, of_host, of_db_time }
    });
    let outside =
        of_db_time.filter(|share| embedded && *share > 100.0).map(|_| CpuFinding::OutsideOperations);
    let client_s = figure::CLIENT_CPU_S.of(figures).filter(|_| !embedded);
    let cpus = client_s.zip(figure::WINDOW_S.of(figures)).map(|(client_s, window_s)| client_s / window_s);
    database.into_iter().chain(outside).chain(cpus.map(|cpus| CpuFinding::ClientUsed { cpus }))
}

/// The place of the database's processes, as far as the record shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// On the host of the record's figures: its processes, its data or the host itself were observed.
    Seen,
    /// On another host, which the target names.
    Elsewhere,
    /// Unknown: a connection without a network, the name of a service, or a local port, which may lead anywhere.
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

/// The hosts of `scheme://user@host:port,host/path`; `None` if one of them may be a service: a name without a port, a path and
/// a dot.
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

/// True if `host` means this host, whose own name is given, or a folder of sockets.
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
