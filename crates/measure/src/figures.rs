//! All that one server counts.

use crate::{Counters, Latencies, WaitEvent};

/// The figures of one server: since it counts, or between two moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// What was counted.
    pub counters: Counters,
    /// Latencies, where each wait is measured.
    pub latencies: Latencies,
    /// Waits, where the database reports them.
    pub events: Vec<WaitEvent>,
}

impl Figures {
    /// What happened since an earlier moment on the same server; `None` when a counter went backwards, because the
    /// server was restarted or its statistics were reset.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        self.counters.follows(&earlier.counters).then(|| Self {
            counters: self.counters.since(&earlier.counters),
            latencies: self.latencies.since(&earlier.latencies),
            events: self.events.iter().filter_map(|event| event.since(&earlier.events)).collect(),
        })
    }

    /// Those of several servers together; of none, nothing. A counter that one of them lacks is absent from the sum.
    #[must_use]
    pub fn sum(mut servers: impl Iterator<Item = Self>) -> Self {
        let mut sum = servers.next().unwrap_or_default();
        servers.for_each(|other| sum.add(&other));
        sum
    }

    fn add(&mut self, other: &Self) {
        self.counters = self.counters.plus(&other.counters);
        self.latencies.add(&other.latencies);
        for event in &other.events {
            match self.events.iter_mut().find(|sum| sum.is_same(event)) {
                Some(sum) => sum.add(event),
                None => self.events.push(event.clone()),
            }
        }
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
    fn nothing_is_known_of_a_server_that_was_restarted() {
        assert_eq!(figures(4, None, 1).since(&figures(5, None, 1)), None);
    }
}
