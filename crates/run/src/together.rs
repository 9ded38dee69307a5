//! Figures of all hosts and servers together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use slob_host::{CpuSplit, CpuTimes, Device, DeviceCounters, ProcessIo};
use slob_observe::{Between, Seen, ServerFigures};
use slob_stats::Merge;

use crate::hosts::{HostPlace, Places, ServerPlace};

/// What was seen of all hosts at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostsSeen {
    pub(crate) places: Arc<Places>,
    /// Each host, in the order of the places.
    pub(crate) seen: Vec<Option<Seen>>,
}

/// What came to be between two moments, on all hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together {
    places: Arc<Places>,
    /// Each host.
    pub(crate) hosts: Vec<Option<Between>>,
}

impl HostsSeen {
    pub(crate) fn since(&self, earlier: &Self) -> Together {
        let between = |(later, earlier): (&Option<Seen>, &Option<Seen>)| {
            let (later, earlier) = (later.as_ref()?, earlier.as_ref()?);
            later.sight.since(&earlier.sight, later.observer == earlier.observer)
        };
        Together {
            places: Arc::clone(&self.places),
            hosts: self.seen.iter().zip(&earlier.seen).map(between).collect(),
        }
    }

    /// How long the answer about a server took.
    pub(crate) fn round_trip(&self, server: usize) -> Option<Duration> {
        let (host, _) = self.places.servers.get(server)?.seen_at?;
        Some(self.seen.get(host)?.as_ref()?.round_trip)
    }

    /// The memory that the host of a server had left.
    pub(crate) fn memory_available(&self, server: usize) -> Option<u64> {
        let (host, _) = self.places.servers.get(server)?.seen_at?;
        self.seen.get(host)?.as_ref()?.sight.memory_available_bytes
    }
}

impl Together {
    /// What the host of a server did.
    pub(crate) fn host_of(&self, server: usize) -> Option<&Between> {
        let (host, _) = self.places.servers.get(server)?.seen_at?;
        self.hosts.get(host)?.as_ref()
    }

    /// What a server did.
    pub(crate) fn server(&self, server: usize) -> Option<&ServerFigures> {
        let (_, number) = self.places.servers.get(server)?.seen_at?;
        self.host_of(server)?.servers.get(number)?.as_ref()
    }

    fn servers(&self) -> impl Iterator<Item = Option<&ServerFigures>> {
        (0..self.places.servers.len()).map(|server| self.server(server))
    }

    /// The hosts of the database, each once; this one where they are not known.
    fn hosts(&self) -> Vec<Option<&Between>> {
        let of = |host: usize| self.hosts.get(host).and_then(Option::as_ref);
        let known: Vec<_> = self.places.hosts_of_database().map(|(host, _)| of(host)).collect();
        if known.is_empty() && !self.hosts.is_empty() { vec![of(0)] } else { known }
    }

    /// The time between both moments by the hosts' own clocks: their mean.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let seconds: Option<Vec<f64>> = self.hosts().into_iter().map(|host| Some(host?.seconds)).collect();
        seconds.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// CPU time of all hosts.
    pub(crate) fn host_cpu(&self) -> Option<CpuTimes> {
        sum(self.hosts().into_iter().map(|host| host?.cpu))
    }

    /// CPU time of others on all hosts, in seconds.
    pub(crate) fn others_cpu_s(&self) -> Option<f64> {
        let of = |(host, place): (usize, &HostPlace)| {
            let others_s = self.hosts.get(host)?.as_ref()?.others_cpu_s?;
            Some((others_s - self.servers_beside_s(host, place)?).max(0.0))
        };
        let all: Option<Vec<f64>> = self.places.hosts_of_database().map(of).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }

    /// Who looks at a host knows no more servers there than were looked for by it: those that another one looks at, on the
    /// same host, are others to it, but not to the run.
    fn servers_beside_s(&self, host: usize, place: &HostPlace) -> Option<f64> {
        let is_beside = |server: &usize| {
            let seen_at = self.places.servers[*server].seen_at.map(|(host, _)| host);
            seen_at.is_some_and(|other| other != host && self.places.hosts[other].key == place.key)
        };
        let beside = (0..self.places.servers.len()).filter(is_beside);
        let seconds: Option<Vec<f64>> =
            beside.map(|server| Some(self.server(server)?.cpu?.total_s())).collect();
        seconds.map(|all| all.iter().sum())
    }

    /// CPU time of all servers: a part of them would pass for all.
    pub(crate) fn db_cpu(&self) -> Option<CpuSplit> {
        sum(self.servers().map(|server| server?.cpu))
    }

    /// CPU time of the processes that serve sessions.
    pub(crate) fn sessions_cpu(&self) -> Option<CpuSplit> {
        sum(self.servers().map(|server| server?.sessions_cpu))
    }

    /// I/O of all servers' processes.
    pub(crate) fn db_io(&self) -> Option<ProcessIo> {
        sum(self.servers().map(|server| server?.io))
    }

    /// What all devices behind the data did, each once. A device is busy as long as the busiest of them was.
    pub(crate) fn device(&self) -> Option<DeviceCounters> {
        let mut known = BTreeSet::new();
        let of_server = |(number, place): (usize, &ServerPlace)| {
            let device = place.found.as_ref().ok()?.data.as_ref()?;
            let (host, _) = place.seen_at?;
            let is_new = known.insert((self.places.hosts.get(host)?.key.clone(), device.stack.clone()));
            Some(is_new.then(|| self.server(number)?.data))
        };
        // Each server must have one that is known; those that share it are passed over.
        let each: Option<Vec<Option<Option<DeviceCounters>>>> =
            self.places.servers.iter().enumerate().map(of_server).collect();
        let each: Option<Vec<DeviceCounters>> = each?.into_iter().flatten().collect();
        each?.into_iter().reduce(add_device)
    }

    /// What the device behind the log of a server did, if that is another one.
    pub(crate) fn log_of(&self, server: usize) -> Option<DeviceCounters> {
        self.server(server)?.log
    }
}

fn add_device(mut sum: DeviceCounters, more: DeviceCounters) -> DeviceCounters {
    let busy_ms = sum.used.busy_ms.max(more.used.busy_ms);
    sum.used.merge(&more.used);
    sum.used.busy_ms = busy_ms;
    let add = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
    sum.discards = add(sum.discards, more.discards);
    sum.flushes = add(sum.flushes, more.flushes);
    sum.disk_read_bytes = add(sum.disk_read_bytes, more.disk_read_bytes);
    sum.in_flight += more.in_flight;
    sum
}

/// `None` if one is not known, or there is none.
fn sum<T: Merge>(mut each: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = each.next()??;
    each.try_fold(first, |mut sum, one| {
        sum.merge(&one?);
        Some(sum)
    })
}

impl Places {
    /// The device behind the data of the first server.
    pub(crate) fn device(&self) -> Option<Device> {
        self.servers.iter().find_map(|server| server.found.as_ref().ok()?.data.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_observe::{ServerSight, Sight};

    fn place() -> HostPlace {
        HostPlace { hello: None, ssh: None, key: "one boot".into(), is_databases: true, is_here: true }
    }

    /// Server 0 or 1, each looked at by an observer of its own.
    fn server(observer: usize) -> ServerPlace {
        let (by, found) = ("auto".to_owned(), Err("nothing is needed of it here".to_owned()));
        ServerPlace { endpoint: None, by, seen_at: Some((observer, 0)), found }
    }

    /// At a moment at which all others, by each observer's own count, and its server used so many seconds.
    fn seen(at_s: f64, others_s: f64, server_s: Option<f64>) -> Option<Seen> {
        let cpu = server_s.map(|user_s| CpuSplit { user_s, system_s: 0.0 });
        let figures = ServerFigures { cpu, ..ServerFigures::default() };
        let servers = vec![Some(ServerSight { processes: 1, found: 1, figures })];
        let sight = Sight { at_s, others_cpu_s: Some(others_s), servers, ..Sight::default() };
        Some(Seen { sight, observer: 0, round_trip: Duration::ZERO })
    }

    fn others_s(of_second_s: Option<f64>) -> Option<f64> {
        let places = Arc::new(Places { hosts: vec![place(), place()], servers: vec![server(0), server(1)] });
        let at = |seen| HostsSeen { places: Arc::clone(&places), seen };
        let begin = at(vec![seen(100.0, 0.0, Some(0.0)), seen(100.0, 0.0, Some(0.0))]);
        let end = at(vec![seen(110.0, 10.0, Some(3.0)), seen(110.0, 9.0, of_second_s)]);
        end.since(&begin).others_cpu_s()
    }

    #[test]
    fn two_observers_of_one_host_do_not_count_each_others_servers_as_others() {
        assert_eq!(others_s(Some(4.0)), Some(6.0));
        assert_eq!(others_s(None), None, "whose the rest is can't be told");
    }
}
