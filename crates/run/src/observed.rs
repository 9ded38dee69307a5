//! Hosts, and how they were seen, as a record has them.

use slob_host::HostInfo;
use slob_record::{ClientHostRecord, DeviceRecord, HostRecord, ObservedRecord};

use crate::hosts::{Places, ServerPlace};
use crate::parts::Parts;
use crate::prepare::Prepared;
use crate::sampler::Sample;
use crate::together::Together;

/// The hosts of the database together; this program's where none of them was seen.
pub(crate) fn host(parts: &Parts, together: &Together) -> HostRecord {
    let places = &parts.beside.places;
    let device = places.device();
    let lacking = places.servers.first().and_then(|server| server.found.as_ref().err());
    HostRecord {
        info: info(places),
        cpu: together.host_cpu(),
        others_cpu_s: together.others_cpu_s(),
        device_note: match (&device, lacking) {
            (Some(device), _) => device.note.clone(),
            (None, None) => Some("The device behind the data could not be found.".into()),
            (None, Some(lacking)) => Some(format!("The server was not seen: {lacking}.")),
        },
        device: device.map(|device| DeviceRecord { device, counters: together.device() }),
    }
}

/// Of several hosts all names, and the sums of what can be added up.
fn info(places: &Places) -> HostInfo {
    let known: Vec<&HostInfo> = places.hosts_of_database().filter_map(|(_, host)| host.info()).collect();
    let Some((first, others)) = known.split_first() else { return HostInfo::read() };
    let mut info = (*first).clone();
    for other in others {
        info.hostname = format!("{}, {}", info.hostname, other.hostname);
        info.cpus_online = info.cpus_online.zip(other.cpus_online).map(|(one, other)| one + other);
        info.cpus_usable = info.cpus_usable.zip(other.cpus_usable).map(|(one, other)| one + other);
        info.memory_bytes = info.memory_bytes.zip(other.memory_bytes).map(|(one, other)| one + other);
    }
    info
}

/// Each server.
pub(crate) fn observed(parts: &Parts, together: &Together) -> Vec<ObservedRecord> {
    let places = &parts.beside.places;
    let edges = [parts.begin.as_ref(), parts.end.as_ref()];
    let several = places.servers.len() > 1;
    let record = |(number, place): (usize, &ServerPlace)| {
        let host = place.seen_at.and_then(|(host, _)| places.hosts.get(host));
        let (of_host, of_server) = (together.host_of(number), together.server(number));
        let found = place.found.as_ref();
        let trip = |sample: &Option<&Sample>| sample.and_then(|sample| sample.hosts.round_trip(number));
        let data = found.ok().and_then(|found| found.data.clone()).filter(|_| several);
        let log = found.ok().and_then(|found| found.log.clone());
        ObservedRecord {
            endpoint: place.endpoint.clone(),
            by: place.by.clone(),
            host: host.and_then(|host| Some(host.info()?.hostname.clone())),
            process: found.ok().map(|found| found.pid),
            found: match found {
                Ok(found) => format!("'{}', found {}", found.name, found.how),
                Err(lacking) => lacking.clone(),
            },
            seconds: of_host.map(|host| host.seconds),
            round_trip_s: edges.iter().filter_map(trip).max().map(|trip| trip.as_secs_f64()),
            cpus: host.and_then(|host| place.cpus(host)),
            limits: found.ok().and_then(|found| found.limits.clone()),
            group: of_server.and_then(|server| server.group),
            memory_available_bytes: edges[1].and_then(|end| end.hosts.memory_available(number)),
            cpu: of_server.and_then(|server| server.cpu),
            io: of_server.and_then(|server| server.io).filter(|_| several),
            host_cpu: of_host.and_then(|host| host.cpu).filter(|_| several),
            host_cpus: host.and_then(|host| host.info()?.cpus_online).filter(|_| several),
            device: data
                .map(|device| DeviceRecord { device, counters: of_server.and_then(|server| server.data) }),
            log_device: log.map(|device| DeviceRecord { device, counters: together.log_of(number) }),
        }
    };
    places.servers.iter().enumerate().map(record).collect()
}

/// This program's own host, if those of the database are known and it is none of them.
pub(crate) fn client_host(parts: &Parts) -> Option<ClientHostRecord> {
    let mut hosts = parts.beside.places.hosts_of_database().map(|(_, host)| host.is_here).peekable();
    hosts.peek()?;
    if hosts.any(|is_here| is_here) {
        return None;
    }
    let info = HostInfo::read();
    let edges = parts.begin.as_ref().zip(parts.end.as_ref());
    Some(ClientHostRecord {
        hostname: info.hostname,
        cpus_online: info.cpus_online,
        cpu: edges.and_then(|(begin, end)| end.client_host_cpu_since(begin)),
    })
}

/// Advice where the data of the run fit into the memory that the server has for them, and its reads go through the page cache.
#[must_use]
pub fn fits_into_memory(prepared: &Prepared, places: &Places) -> Option<String> {
    let server = places.servers.first()?;
    let (host, found) = (places.hosts.get(server.seen_at?.0)?, server.found.as_ref().ok()?);
    let limit = found.limits.as_ref().and_then(|limits| limits.memory_bytes);
    let memory = [host.info()?.memory_bytes, limit].into_iter().flatten().min()?;
    let of = &prepared.server;
    let blocks =
        prepared.schemas.iter().filter_map(|state| state.state.layout()).map(|layout| layout.all_blocks);
    let data = blocks.sum::<u64>().saturating_mul(u64::from(of.block_bytes));
    let may_cache = of.capabilities.direct_io != Some(true) && !of.capabilities.embedded;
    (may_cache && data > 0 && data <= memory).then(|| {
        format!(
            "The data of this run ({} MiB) fit into the memory that the server may use ({} MiB), and its reads go through the page \
             cache of the operating system: many will not reach the device. Load more, or have the server use direct I/O.",
            data >> 20,
            memory >> 20
        )
    })
}
