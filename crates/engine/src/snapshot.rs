//! The cumulative figures of the servers of a target at one moment, and what happened between two moments.

use std::collections::BTreeMap;
use std::time::Instant;

use slob_stats::Histogram;

use crate::Counters;

/// Which waits a latency histogram is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatencyKind {
    /// One physical read of the data.
    PhysicalRead,
    /// One physical write of the data.
    PhysicalWrite,
    /// One forced write of the log.
    RedoSync,
}

impl LatencyKind {
    /// Its name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PhysicalRead => "physical_read",
            Self::PhysicalWrite => "physical_write",
            Self::RedoSync => "redo_sync",
        }
    }
}

/// A wait event of the database.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitEvent {
    /// The database's own name.
    pub name: String,
    /// The database's own class.
    pub class: String,
    /// How often, if it is counted.
    pub waits: Option<u64>,
    /// For how long altogether, in microseconds.
    pub time_us: u64,
    /// Whether it is one of the server's own processes, on nobody's time but theirs: no part of DB time.
    pub background: bool,
}

/// How many waits there were and how long they took altogether.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTotal {
    /// How many.
    pub waits: u64,
    /// For how long, in microseconds.
    pub time_us: u64,
}

/// The figures of one server: since it counts, or between two moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// What was counted.
    pub counters: Counters,
    /// Latencies, where the engine measures each one.
    pub latencies: BTreeMap<LatencyKind, Histogram>,
    /// Of latencies that the database itself sorts into a few wide buckets, so that each value of the histogram is the upper
    /// bound of one and its sum too high: what it counted exactly. Absent where the histogram is that of the values.
    pub coarse: BTreeMap<LatencyKind, WaitTotal>,
    /// Waits, where the database reports them.
    pub events: Vec<WaitEvent>,
}

impl Figures {
    /// What happened since an earlier moment on the same server; `None` when a counter went backwards, because the
    /// server was restarted or its statistics were reset.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        if !self.counters.follows(&earlier.counters) {
            return None;
        }
        let latency = |(kind, later): (&LatencyKind, &Histogram)| {
            let delta =
                earlier.latencies.get(kind).map_or_else(|| later.clone(), |before| later.since(before));
            (!delta.is_empty()).then_some((*kind, delta))
        };
        let total = |(kind, later): (&LatencyKind, &WaitTotal)| {
            let before = earlier.coarse.get(kind).copied().unwrap_or_default();
            let waits = later.waits.saturating_sub(before.waits);
            (*kind, WaitTotal { waits, time_us: later.time_us.saturating_sub(before.time_us) })
        };
        Some(Self {
            counters: self.counters.since(&earlier.counters),
            latencies: self.latencies.iter().filter_map(latency).collect(),
            coarse: self.coarse.iter().map(total).collect(),
            events: self.events.iter().filter_map(|event| event.since(&earlier.events)).collect(),
        })
    }

    /// Adds another server's figures. A counter that one of them lacks is absent from the sum.
    fn add(&mut self, other: &Self) {
        self.counters = self.counters.plus(&other.counters);
        for (kind, latency) in &other.latencies {
            self.latencies
                .entry(*kind)
                .and_modify(|sum| sum.merge(latency))
                .or_insert_with(|| latency.clone());
        }
        for (kind, total) in &other.coarse {
            let sum = self.coarse.entry(*kind).or_default();
            sum.waits += total.waits;
            sum.time_us += total.time_us;
        }
        for event in &other.events {
            match self.events.iter_mut().find(|sum| sum.is_same(event)) {
                Some(sum) => {
                    sum.time_us += event.time_us;
                    sum.waits = sum.waits.zip(event.waits).map(|(ours, theirs)| ours + theirs);
                }
                None => self.events.push(event.clone()),
            }
        }
    }
}

impl WaitEvent {
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.class == other.class && self.background == other.background
    }

    /// `None` if nothing was waited for, or the event went backwards.
    fn since(&self, earlier: &[Self]) -> Option<Self> {
        let (waits, time_us) = earlier
            .iter()
            .find(|event| event.is_same(self))
            .map_or((Some(0), 0), |event| (event.waits, event.time_us));
        let delta = Self {
            waits: self.waits.and_then(|count| count.checked_sub(waits?)),
            time_us: self.time_us.checked_sub(time_us)?,
            ..self.clone()
        };
        (delta.time_us > 0 || delta.waits.is_some_and(|waits| waits > 0)).then_some(delta)
    }
}

/// What was seen of the server behind an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Its figures.
    Figures(Figures),
    /// It is the server of an earlier endpoint, counted from 0, and its figures are there.
    SameAs(usize),
    /// It could not be asked.
    Unreachable,
}

/// The cumulative figures of all servers of a target at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When they were taken.
    pub taken: Instant,
    /// Of each server, in the order of [`crate::Engine::endpoints`].
    pub servers: Vec<Seen>,
}

impl Snapshot {
    /// A snapshot of the only server, taken now.
    #[must_use]
    pub fn now(figures: Figures) -> Self {
        Self::of_servers(vec![Seen::Figures(figures)])
    }

    /// A snapshot of several servers, taken now.
    #[must_use]
    pub fn of_servers(servers: Vec<Seen>) -> Self {
        Self { taken: Instant::now(), servers }
    }

    /// All servers together.
    #[must_use]
    pub fn total(&self) -> Figures {
        sum((0..self.servers.len()).filter_map(|server| self.figures(server).cloned()))
    }

    /// What all servers together did since an earlier snapshot. Servers that could not be asked then or now, or were
    /// restarted in between, are left out: [`Snapshot::server_since`] tells which.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Figures {
        sum((0..self.servers.len()).filter_map(|server| self.server_since(server, earlier)))
    }

    /// What one server did since an earlier snapshot; `None` if it could not be asked then or now, was restarted, or
    /// is that of an earlier endpoint.
    #[must_use]
    pub fn server_since(&self, server: usize, earlier: &Self) -> Option<Figures> {
        self.figures(server)?.since(earlier.figures(server)?)
    }

    fn figures(&self, server: usize) -> Option<&Figures> {
        match self.servers.get(server)? {
            Seen::Figures(figures) => Some(figures),
            Seen::SameAs(_) | Seen::Unreachable => None,
        }
    }
}

fn sum(mut figures: impl Iterator<Item = Figures>) -> Figures {
    let mut sum = figures.next().unwrap_or_default();
    figures.for_each(|other| sum.add(&other));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counter;

    fn figures(commits: u64, waits: Option<u64>, time_us: u64) -> Figures {
        let event = WaitEvent { name: "read".into(), class: "IO".into(), waits, time_us, background: false };
        let counters = [(Counter::Commits, commits)].into_iter().collect();
        Figures { counters, events: vec![event], ..Figures::default() }
    }

    #[test]
    fn servers_add_up_and_those_that_are_gone_or_restarted_are_left_out() {
        let all = |figures: [Option<Figures>; 4]| {
            let seen = figures.into_iter().map(|figures| figures.map_or(Seen::Unreachable, Seen::Figures));
            Snapshot::of_servers(seen.chain([Seen::SameAs(0)]).collect())
        };
        let before = all([
            Some(figures(10, Some(1), 100)),
            Some(figures(20, Some(2), 200)),
            Some(figures(30, Some(3), 300)),
            Some(figures(40, Some(4), 400)),
        ]);
        let after = all([
            Some(figures(11, Some(2), 150)),
            Some(figures(22, Some(4), 260)),
            None,
            Some(figures(4, Some(1), 4)),
        ]);
        let together = after.since(&before);
        assert_eq!(together.counters.get(Counter::Commits), Some(3));
        assert_eq!((together.events[0].waits, together.events[0].time_us), (Some(3), 110));
        let known: Vec<_> = (0..5).map(|server| after.server_since(server, &before).is_some()).collect();
        assert_eq!(known, [true, true, false, false, false]);
        assert_eq!(after.total().counters.get(Counter::Commits), Some(37));
    }

    #[test]
    fn what_coarse_latencies_took_is_counted_beside_them() {
        let figures = |waits, time_us| {
            let coarse = [(LatencyKind::PhysicalRead, WaitTotal { waits, time_us })].into();
            Seen::Figures(Figures { coarse, ..Figures::default() })
        };
        let before = Snapshot::of_servers(vec![figures(10, 1000), figures(1, 5)]);
        let after = Snapshot::of_servers(vec![figures(14, 1400), figures(3, 305)]);
        let total = after.since(&before).coarse[&LatencyKind::PhysicalRead];
        assert_eq!(total, WaitTotal { waits: 6, time_us: 700 });
    }

    #[test]
    fn a_counter_that_one_server_lacks_is_absent_from_the_sum() {
        let mut poor = figures(5, None, 1);
        poor.counters = Counters::default();
        let both = Snapshot::of_servers(vec![Seen::Figures(figures(5, Some(1), 1)), Seen::Figures(poor)]);
        assert_eq!(both.total().counters.get(Counter::Commits), None);
        assert_eq!(both.total().events[0].waits, None, "not counted everywhere");
    }

    #[test]
    fn an_event_without_waits_or_time_is_not_listed() {
        let (before, after) = (figures(1, None, 7), figures(2, None, 7));
        assert!(after.since(&before).unwrap().events.is_empty());
    }
}
