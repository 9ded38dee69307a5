//! Clients of a server, by the numbers that the server gives their connections.

use std::collections::BTreeMap;
use std::sync::Mutex;

use slob_engine::{Counters, Figures, Latency, LatencyKind, Peer, WaitTotal, lock};
use slob_method::{Action, Op};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRole {
    Session,
    /// Queries of this program, which belong neither to the run nor to others.
    Monitor,
}

#[derive(Debug, Default)]
pub struct Clients(Mutex<KnownClients>);

#[derive(Debug, Default)]
struct KnownClients {
    ours: BTreeMap<u64, (ConnectionRole, Counters)>,
    peers: BTreeMap<Peer, u64>,
    /// `None` until a session times them.
    commits: Option<WaitTotal>,
}

impl Clients {
    /// Questions to another server may have the number of a session of this one: it stays a session.
    pub fn add(&self, role: ConnectionRole, number: u64) {
        let mut known = lock(&self.0);
        let (known_role, _) = known.ours.entry(number).or_insert_with(|| (role, Counters::default()));
        if role == ConnectionRole::Session {
            *known_role = role;
        }
    }

    /// Includes closed connections.
    pub fn numbers(&self) -> Vec<u64> {
        lock(&self.0).ours.keys().copied().collect()
    }

    /// A closed connection keeps its last counters.
    pub fn count(&self, number: u64, counters: Counters) {
        if let Some((_, known)) = lock(&self.0).ours.get_mut(&number) {
            *known = counters;
        }
    }

    /// Adds the commits of these operations, which the server timed.
    pub fn committed<'a>(&self, done: impl IntoIterator<Item = &'a Op>, time_us: u64) {
        let is_commit = |op: &&Op| op.commits && matches!(op.action, Action::Update(..));
        let commits = done.into_iter().filter(is_commit).count();
        let mut known = lock(&self.0);
        let sum = known.commits.get_or_insert_default();
        sum.waits += commits as u64;
        sum.time_us += time_us;
    }

    /// Counts other clients that work now.
    pub fn saw(&self, peers: impl IntoIterator<Item = Peer>) {
        let mut known = lock(&self.0);
        peers.into_iter().for_each(|peer| *known.peers.entry(peer).or_default() += 1);
    }

    /// Sets apart our sessions' share of `counters`; `all` minus theirs are other clients'.
    pub fn attribute(&self, counters: Counters, all: &Counters) -> Figures {
        let mut figures = Figures { counters, ..Figures::default() };
        let known = lock(&self.0);
        let sum = |wanted| {
            // A session that was never counted has done nothing yet.
            let mut sum: Counters = all.iter().map(|(counter, _)| (counter, 0)).collect();
            let counted = known.ours.values().filter(|(role, _)| *role == wanted);
            counted.for_each(|(_, counters)| sum.add(counters));
            sum
        };
        let monitors = sum(ConnectionRole::Monitor);
        let without_monitors = all
            .iter()
            .map(|(counter, value)| (counter, value.saturating_sub(monitors.get(counter).unwrap_or(0))));
        figures.attribute(&sum(ConnectionRole::Session), &without_monitors.collect());
        figures.peers = known.peers.clone();
        if let exact @ Some(_) = known.commits {
            figures.latencies.set(LatencyKind::Commit, Latency { exact, ..Latency::default() });
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Counter::{Commits, LogicalReads, RedoBytes};

    #[test]
    fn our_questions_are_neither_ours_nor_others() {
        let clients = Clients::default();
        for (role, number) in
            [(ConnectionRole::Session, 1), (ConnectionRole::Session, 2), (ConnectionRole::Monitor, 3)]
        {
            clients.add(role, number);
        }
        clients.count(1, [(LogicalReads, 10)].into());
        clients.count(3, [(LogicalReads, 5)].into());
        clients.count(99, [(LogicalReads, 1000)].into());
        let whole = [(LogicalReads, 70), (Commits, 4)];
        let figures = clients.attribute(whole.into(), &[(LogicalReads, 65), (RedoBytes, 9)].into());
        let ours = [(Commits, 4), (LogicalReads, 10), (RedoBytes, 0)];
        assert_eq!(figures.counters, ours.into(), "session 2 has not worked yet");
        assert_eq!(figures.server, [(LogicalReads, 60), (RedoBytes, 9)].into());
    }

    #[test]
    fn a_session_with_the_number_of_a_question_to_another_server_is_a_session() {
        let clients = Clients::default();
        for role in [ConnectionRole::Monitor, ConnectionRole::Session, ConnectionRole::Monitor] {
            clients.add(role, 1);
        }
        clients.count(1, [(LogicalReads, 10)].into());
        let figures = clients.attribute(Counters::default(), &[(LogicalReads, 50)].into());
        assert_eq!(figures.counters.get(LogicalReads), Some(10));
    }

    #[test]
    fn a_session_that_is_gone_keeps_what_it_did() {
        let clients = Clients::default();
        clients.add(ConnectionRole::Session, 1);
        clients.count(1, [(LogicalReads, 10)].into());
        clients.add(ConnectionRole::Session, 1);
        clients.add(ConnectionRole::Session, 2);
        clients.count(2, [(LogicalReads, 1)].into());
        let figures = clients.attribute(Counters::default(), &[(LogicalReads, 50)].into());
        assert_eq!(figures.counters.get(LogicalReads), Some(11));
        assert_eq!(clients.numbers(), [1, 2]);
    }
}
