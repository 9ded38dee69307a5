//! Cumulative figures of servers, and their differences.

use std::time::Instant;

use slob_measure::Figures;

/// Snapshot of the server behind an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerSnapshot {
    /// Cumulative figures.
    Figures(Figures),
    /// An earlier endpoint, from 0, has the figures.
    SameAs(usize),
    /// The server is unreachable.
    Unreachable,
}

/// Figures of all servers at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub taken: Instant,
    /// Servers in the order of [`crate::Engine::endpoints`].
    pub servers: Vec<ServerSnapshot>,
}

impl Snapshot {
    /// Snapshot of a single server.
    pub fn now(figures: Figures) -> Self {
        Self::of_servers(vec![ServerSnapshot::Figures(figures)])
    }

    /// Snapshot of several servers.
    pub fn of_servers(servers: Vec<ServerSnapshot>) -> Self {
        Self { taken: Instant::now(), servers }
    }

    /// Sum over all servers.
    pub fn total(&self) -> Figures {
        Figures::sum((0..self.servers.len()).filter_map(|server| self.figures(server).cloned()))
    }

    /// Sum over all servers with [`Snapshot::server_since`].
    pub fn since(&self, earlier: &Self) -> Figures {
        Figures::sum((0..self.servers.len()).filter_map(|server| self.server_since(server, earlier)))
    }

    /// `None` if it was unreachable, has restarted, or is that of an earlier endpoint.
    pub fn server_since(&self, server: usize, earlier: &Self) -> Option<Figures> {
        self.figures(server)?.since(earlier.figures(server)?)
    }

    fn figures(&self, server: usize) -> Option<&Figures> {
        match self.servers.get(server)? {
            ServerSnapshot::Figures(figures) => Some(figures),
            ServerSnapshot::SameAs(_) | ServerSnapshot::Unreachable => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::{Counter, WaitEvent};

    fn figures(commits: u64, waits: Option<u64>, time_us: u64) -> Figures {
        let event = WaitEvent { name: "read".into(), class: "IO".into(), waits, time_us, background: false };
        Figures { counters: [(Counter::Commits, commits)].into(), events: vec![event], ..Figures::default() }
    }

    #[test]
    fn servers_add_up_without_unreachable_and_restarted_ones() {
        let all = |figures: [Option<Figures>; 4]| {
            let seen = figures
                .into_iter()
                .map(|figures| figures.map_or(ServerSnapshot::Unreachable, ServerSnapshot::Figures));
            Snapshot::of_servers(seen.chain([ServerSnapshot::SameAs(0)]).collect())
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
}
