//! Figures of one server, and the operations of the method.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use slob_stats::merge_fields;
use strum::{EnumString, IntoStaticStr};

use crate::{Counters, Latencies, WaitEvent};

/// One server's figures since its start, or between two moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Those of [`Figures::server`] count our sessions alone, others the whole server.
    pub counters: Counters,
    /// The same counters for all clients.
    pub server: Counters,
    /// Samples that found each client at work.
    pub peers: BTreeMap<Peer, u64>,
    /// Latencies, if the database measures each wait.
    pub latencies: Latencies,
    /// Wait events, if the database reports them.
    pub events: Vec<WaitEvent>,
}

/// Another client. What the server does not show is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Peer {
    /// Account.
    pub user: String,
    /// Database.
    pub database: String,
    /// Name of the client's program.
    pub application: String,
}

impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("user", &self.user), ("database", &self.database), ("application", &self.application)];
        let known = parts.iter().filter(|(_, name)| !name.is_empty());
        let known: Vec<String> =
            known.map(|(what, name)| format!("{what} '{}'", name.escape_debug())).collect();
        out.write_str(&if known.is_empty() { "a client without a name".to_owned() } else { known.join(", ") })
    }
}

impl Figures {
    /// A counter that only one side has stays.
    pub fn attribute(&mut self, ours: &Counters, all: &Counters) {
        for (counter, value) in ours.iter() {
            if let Some(all) = all.get(counter) {
                self.counters.set(counter, value);
                self.server.set(counter, all.max(value));
            }
        }
    }

    /// `None` if a counter fell: a restart, or a reset of statistics.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        self.counters.follows(&earlier.counters).then(|| Self {
            counters: self.counters.since(&earlier.counters),
            server: self.server.since(&earlier.server),
            peers: self.peers_since(earlier),
            latencies: self.latencies.since(&earlier.latencies),
            events: self.events.iter().filter_map(|event| event.since(&earlier.events)).collect(),
        })
    }

    fn peers_since(&self, earlier: &Self) -> BTreeMap<Peer, u64> {
        let seen_before = |peer: &Peer| earlier.peers.get(peer).copied().unwrap_or(0);
        let seen = |(peer, count): (&Peer, &u64)| (peer.clone(), count.saturating_sub(seen_before(peer)));
        self.peers.iter().map(seen).filter(|(_, count)| *count > 0).collect()
    }

    /// A counter that one server lacks is absent.
    pub fn sum(mut servers: impl Iterator<Item = Self>) -> Self {
        let mut sum = servers.next().unwrap_or_default();
        servers.for_each(|other| sum.add(&other));
        sum
    }

    fn add(&mut self, other: &Self) {
        self.counters = self.counters.plus(&other.counters);
        self.server = self.server.plus(&other.server);
        for (peer, count) in &other.peers {
            *self.peers.entry(peer.clone()).or_default() += count;
        }
        self.latencies.add(&other.latencies);
        for event in &other.events {
            match self.events.iter_mut().find(|sum| sum.is_same(event)) {
                Some(sum) => sum.add(event),
                None => self.events.push(event.clone()),
            }
        }
    }
}

/// Kinds of operations.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "UPPERCASE")]
pub enum OpKind {
    /// Counts over keys of the main table.
    Select,
    /// Changes keys, with its commit.
    Update,
    /// Counts over the scan table.
    Scan,
}

impl OpKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Select, Self::Update, Self::Scan];

    /// Name for people.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Operations completed, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpCounts {
    /// SELECTs.
    pub selects: u64,
    /// UPDATEs with their commits.
    pub updates: u64,
    /// Short scans.
    pub scans: u64,
}

impl OpCounts {
    /// Counts one operation.
    pub fn count(&mut self, kind: OpKind) {
        match kind {
            OpKind::Select => self.selects += 1,
            OpKind::Update => self.updates += 1,
            OpKind::Scan => self.scans += 1,
        }
    }

    /// Operations of all kinds.
    pub fn total(&self) -> u64 {
        self.selects.saturating_add(self.updates).saturating_add(self.scans)
    }
}

merge_fields!(OpCounts: selects, updates, scans);

/// Work that a load or an earlier run left to a server, and that would slow the next run down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debt {
    /// Its name in a sentence.
    pub name: String,
    /// Above 0.
    pub amount: u64,
    /// Unit of the amount.
    pub unit: String,
    /// The server is at it, and ends it by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_way: bool,
}

impl Debt {
    /// Work that is waiting, or done bit by bit.
    pub fn new(name: impl Into<String>, amount: u64, unit: impl Into<String>) -> Self {
        Self { name: name.into(), amount, unit: unit.into(), under_way: false }
    }

    /// Work with an end.
    pub fn under_way(name: impl Into<String>, amount: u64, unit: impl Into<String>) -> Self {
        Self { under_way: true, ..Self::new(name, amount, unit) }
    }
}

/// A server's setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The server's name.
    pub name: String,
    /// Value with its unit.
    pub value: String,
}

impl Setting {
    /// A setting.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counter;

    fn figures(commits: u64, waits: Option<u64>, time_us: u64) -> Figures {
        let event = WaitEvent { name: "read".into(), class: "IO".into(), waits, time_us, background: false };
        Figures { counters: [(Counter::Commits, commits)].into(), events: vec![event], ..Figures::default() }
    }

    #[test]
    fn a_counter_that_one_server_lacks_is_absent_from_the_sum() {
        let mut poor = figures(5, None, 1);
        poor.counters = Counters::default();
        let both = Figures::sum([figures(5, Some(1), 1), poor].into_iter());
        assert_eq!(both.counters.get(Counter::Commits), None);
        assert_eq!(both.events[0].waits, None, "not counted everywhere");
    }

    #[test]
    fn an_event_without_waits_or_time_is_not_listed() {
        let (before, after) = (figures(1, None, 7), figures(2, None, 7));
        assert!(after.since(&before).unwrap().events.is_empty());
    }

    #[test]
    fn a_counter_of_one_side_alone_is_not_attributed() {
        let (commits, redo) = (Counter::Commits, Counter::RedoBytes);
        let mut figures = figures(9, None, 1);
        figures.attribute(&[(commits, 2), (redo, 5)].into(), &[(commits, 8)].into());
        assert_eq!((figures.counters, figures.server), ([(commits, 2)].into(), [(commits, 8)].into()));
    }

    #[test]
    fn peers_of_the_time_between_two_moments_alone_are_named() {
        let peer = |user: &str| Peer { user: user.into(), ..Peer::default() };
        let seen = |peers: &[(&str, u64)]| Figures {
            peers: peers.iter().map(|(user, count)| (peer(user), *count)).collect(),
            ..Figures::default()
        };
        let (before, after) =
            (seen(&[("old", 3), ("both", 1)]), seen(&[("old", 3), ("both", 4), ("new", 2)]));
        assert_eq!(after.since(&before).unwrap(), seen(&[("both", 3), ("new", 2)]));
        assert_eq!(peer("a\u{1b}'b").to_string(), "user 'a\\u{1b}\\'b'");
    }

    #[test]
    fn a_restarted_server_has_no_difference() {
        assert_eq!(figures(4, None, 1).since(&figures(5, None, 1)), None);
    }
}
