//! What each of several endpoints did, and its server counted.

use slob_engine::{Seen, Snapshot};
use slob_record::EndpointRecord;

use crate::parts::Parts;

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
            counters: figures.map(|figures| figures.counters),
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
                "The counters of {} are missing, also from the sums: it could not be reached at an edge of the \
                 window, or was restarted within it.",
                endpoint.endpoint
            )
        })
        .collect()
}
