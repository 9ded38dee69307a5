//! What the database counted, of all its servers and of each.

use std::collections::BTreeMap;

use slob_engine::{Figures, Seen, Snapshot, WaitEvent};
use slob_record::{EndpointRecord, Event, WaitTotal};
use slob_stats::Histogram;

use crate::assemble::Parts;

pub(crate) fn counters(figures: &Figures) -> BTreeMap<String, u64> {
    figures.counters.iter().map(|(counter, value)| (counter.name().to_owned(), value)).collect()
}

pub(crate) fn latencies(figures: &Figures) -> BTreeMap<String, Histogram> {
    figures.latencies.iter().map(|(kind, latency)| (kind.name().to_owned(), latency.clone())).collect()
}

pub(crate) fn coarse_latencies(figures: &Figures) -> BTreeMap<String, WaitTotal> {
    // Only of latencies that there are.
    let known = figures.coarse.iter().filter(|(kind, _)| figures.latencies.contains_key(kind));
    let total = |total: &slob_engine::WaitTotal| WaitTotal { waits: total.waits, time_us: total.time_us };
    known.map(|(kind, exact)| (kind.name().to_owned(), total(exact))).collect()
}

pub(crate) fn events(figures: &Figures) -> Vec<Event> {
    let event = |event: &WaitEvent| Event {
        name: event.name.clone(),
        class: event.class.clone(),
        waits: event.waits,
        time_us: event.time_us,
        background: event.background,
    };
    let mut events: Vec<Event> = figures.events.iter().map(event).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.time_us));
    events
}

/// Each of several endpoints.
pub(crate) fn endpoints(
    names: &[String],
    parts: &Parts,
    snapshots: Option<(&Snapshot, &Snapshot)>,
) -> Vec<EndpointRecord> {
    let endpoint = |(number, name): (usize, &String)| {
        let figures = snapshots.and_then(|(begin, end)| end.server_since(number, begin));
        let shares_with = snapshots.and_then(|(_, end)| match end.servers.get(number) {
            Some(Seen::SameAs(earlier)) => names.get(*earlier).cloned(),
            _ => None,
        });
        EndpointRecord {
            endpoint: name.clone(),
            sessions: parts.sessions.iter().filter(|(_, end)| end.endpoint == number).count() as u32,
            operations: parts.tally.window_of_endpoint(number),
            counters: figures.as_ref().map(counters),
            shares_with,
        }
    };
    names.iter().enumerate().map(endpoint).collect()
}

/// Says which servers' figures are missing although both snapshots were taken.
pub(crate) fn uncounted(
    endpoints: &[EndpointRecord],
    snapshots: Option<(&Snapshot, &Snapshot)>,
) -> Vec<String> {
    let Some((begin, end)) = snapshots else { return Vec::new() };
    if endpoints.is_empty() {
        let missing = end.server_since(0, begin).is_none();
        let note = "The database's counters are missing: the server was restarted, or its statistics were reset, within the window.";
        return missing.then(|| note.to_owned()).into_iter().collect();
    }
    let missing =
        endpoints.iter().filter(|endpoint| endpoint.counters.is_none() && endpoint.shares_with.is_none());
    missing
        .map(|endpoint| {
            format!(
                "The counters of {} are missing, in the sums too: it was not to be reached at an edge of the window, or was restarted within it.",
                endpoint.endpoint
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::LatencyKind;

    #[test]
    fn what_is_coarse_is_marked_only_beside_latencies_that_there_are() {
        let mut figures = Figures::default();
        let exact = slob_engine::WaitTotal { waits: 4, time_us: 2570 };
        let kinds = [LatencyKind::PhysicalRead, LatencyKind::RedoSync];
        figures.coarse = kinds.map(|kind| (kind, exact)).into();
        let mut reads = Histogram::new();
        reads.record_n(1_024_000, 4);
        figures.latencies.insert(LatencyKind::PhysicalRead, reads);
        let expected = [("physical_read".to_owned(), WaitTotal { waits: 4, time_us: 2570 })];
        assert_eq!(coarse_latencies(&figures), expected.into());
    }
}
