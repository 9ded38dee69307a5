//! The hosts of the servers, as a run will see them.

use slob_engine::Server;
use slob_observe::{FoundServer, Hello, HostInterval};
use slob_report::format::limits;
use slob_run::{Hosts, ObservedHost, ObservedServer, Topology};
use slob_spec::{Observe, Settings, SshHost};

use super::{Section, cpu_use, device, device_use, probe};
use crate::checks::{self, Check};
use crate::next_step;

/// What comes of a server that is not seen.
const LESS: &str = "'CPU-bound?' and 'Physical?' will know less";
/// With less room a server soon has none for its log.
const FULL_BYTES: u64 = 256 << 20;

/// A section for each server.
pub(super) fn sections(
    settings: &Settings,
    hosts: &Hosts,
    watched: &[Option<HostInterval>],
    server: &Server,
) -> Vec<Section> {
    let topology = &hosts.topology;
    let section = |place: &ObservedServer| {
        let host = place.observed_at.and_then(|(host, _)| topology.hosts.get(host));
        let between = place.observed_at.and_then(|(host, _)| watched.get(host)?.as_ref());
        let mut checks = seen(place, host);
        if let Some((host, found)) = host.zip(place.found.as_ref().ok()) {
            checks.extend(of_server(place, host, found));
            checks.extend(below(settings, host, found, server));
            let figures = place.observed_at.and_then(|(_, number)| between?.servers.get(number)?.as_ref());
            checks.extend(figures.and_then(|figures| figures.data.as_ref()).map(device_use));
        }
        // What this machine is like was told already.
        if let Some(host) = host.filter(|host| !host.is_here) {
            let machine = host.hello.as_ref().and_then(|hello| hello.machine.as_ref());
            checks.extend(machine.map(checks::governor));
            checks.extend(between.and_then(|between| between.cpu.as_ref()).map(cpu_use));
        }
        Section { heading: heading(place, host), checks }
    };
    topology.servers.iter().map(section).collect()
}

fn heading(place: &ObservedServer, host: Option<&ObservedHost>) -> String {
    let whose = place
        .endpoint
        .as_ref()
        .map_or_else(|| "The database's host".to_owned(), |name| format!("The host of {name}"));
    let which = match host {
        Some(host) if host.is_here && place.found.is_ok() => ", which is this one".to_owned(),
        Some(host) if host.ssh.is_some() => {
            host.info().map(|info| format!(", {}", info.hostname)).unwrap_or_default()
        }
        _ => String::new(),
    };
    format!("{whose}{which} (OBSERVE={})", place.by)
}

/// Whether the host can be looked at, and the server is found there.
fn seen(place: &ObservedServer, host: Option<&ObservedHost>) -> Vec<Check> {
    if place.by == Observe::None.to_string() {
        return vec![Check::good(
            "Observer",
            "none is wanted: the verdicts rest on what the server itself says",
        )];
    }
    let ssh = host.and_then(|host| Some((host.ssh.as_ref()?, host.hello.as_ref())));
    let mut checks = Vec::new();
    match (&place.found, ssh) {
        (Err(lacking), Some((ssh, None))) => {
            return vec![Check::warning("Observer", format!("there is none on {ssh}: {lacking}"), LESS)];
        }
        (_, Some((ssh, Some(hello)))) => checks.push(observer(ssh, hello)),
        _ => {}
    }
    checks.push(match &place.found {
        Ok(found) => {
            let FoundServer { pid, name, how, .. } = found.as_ref();
            Check::good("Server", format!("process {pid} '{name}', found {how}"))
        }
        Err(lacking) => Check::warning("Server", format!("it was not found: {lacking}"), LESS),
    });
    checks
}

fn observer(ssh: &SshHost, hello: &Hello) -> Check {
    let (subject, theirs, ours) = ("Observer", &hello.version, env!("CARGO_PKG_VERSION"));
    if theirs == ours {
        return Check::good(subject, format!("slob {ours} answers on {ssh}"));
    }
    Check::warning(
        subject,
        format!("the slob on {ssh} is release {theirs}, this one {ours}"),
        "install this release there, or let a copy be sent (--observe-copy)",
    )
}

/// What can be seen of it, and what it may use.
fn of_server(place: &ObservedServer, host: &ObservedHost, found: &FoundServer) -> Vec<Check> {
    let lacking = found.lacking.iter().map(|lacking| Check::advice("Server", lacking.trim_end_matches('.')));
    let mut checks: Vec<Check> = lacking.collect();
    let Some(group) = &found.limits else { return checks };
    let of_host = host.info().and_then(|info| info.cpus_online).map(f64::from);
    let is_held = place.cpus(host).zip(of_host).is_some_and(|(cpus, of_host)| cpus < of_host);
    checks.push(if is_held || !group.io.is_empty() {
        Check::warning(
            "Limits",
            limits(group),
            "the figures will be those of the limit: lift it, or keep it the same in all runs",
        )
    } else {
        Check::good("Limits", limits(group))
    });
    checks
}

/// What lies below its data.
fn below(settings: &Settings, host: &ObservedHost, found: &FoundServer, server: &Server) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(data) = &found.data {
        checks.push(device("Device", data));
        let path = found.path.as_ref().unwrap_or(&data.path).display().to_string();
        let far = host.ssh.as_ref().map(|ssh| format!("--observe ssh:{ssh} ")).unwrap_or_default();
        let command = format!("slob probe {far}{}", next_step::quoted(&path));
        let hostname = host.info().map(|info| info.hostname.as_str()).unwrap_or_default();
        checks.push(probe(settings, hostname, data, server, command));
    }
    checks.extend(found.log.as_ref().map(|log| device("Log's device", log)));
    checks.extend(found.free_bytes.map(space));
    checks
}

fn space(free_bytes: u64) -> Check {
    let subject = "Space";
    if free_bytes < FULL_BYTES {
        return Check::warning(
            subject,
            format!("only {} MB are free on the file system of the data", free_bytes / 1_000_000),
            "make room there: a server that can't write its log ends",
        );
    }
    Check::good(subject, format!("{:.1} GB free on the file system of the data", free_bytes as f64 / 1e9))
}

/// Where the first server has its data, and what is free there in bytes.
pub(super) fn room(topology: &Topology) -> Option<(String, u64)> {
    let place = topology.servers.first()?;
    let (host, found) = (topology.hosts.get(place.observed_at?.0)?, place.found.as_ref().ok()?);
    let path = found.path.as_ref()?.display();
    let on = host.ssh.as_ref().map(|ssh| format!(" on {ssh}")).unwrap_or_default();
    Some((format!("{path}{on}"), found.free_bytes?))
}
