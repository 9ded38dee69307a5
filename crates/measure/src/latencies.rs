//! How long reads, writes and syncs of a database took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slob_stats::Histogram;

use crate::WaitTotal;
use crate::named::{self, Named};

/// Which waits a latency is of. In the order of their names.
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
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::PhysicalRead, Self::PhysicalWrite, Self::RedoSync];

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

impl Named for LatencyKind {
    const EVERY: &'static [Self] = &Self::ALL;

    fn saved_name(self) -> &'static str {
        self.name()
    }
}

/// How long waits of one kind took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Of the values themselves; or, where `exact` is there, of the upper bounds of the few wide buckets that the database
    /// sorts them into, so that its sum is too high.
    pub histogram: Histogram,
    /// Where the histogram is coarse like that: what the database counted exactly.
    pub exact: Option<WaitTotal>,
}

impl From<Histogram> for Latency {
    fn from(histogram: Histogram) -> Self {
        Self { histogram, exact: None }
    }
}

impl Latency {
    fn since(&self, earlier: &Self) -> Self {
        let exact = self.exact.map(|total| total.since(earlier.exact.unwrap_or_default()));
        Self { histogram: self.histogram.since(&earlier.histogram), exact }
    }

    fn add(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.exact = match (self.exact, other.exact) {
            (Some(ours), Some(theirs)) => Some(ours.plus(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }
}

/// Latencies by kind, where the database measures each wait. Saved as two objects by [`LatencyKind::name`]: `latencies` with
/// the histograms, and `coarse_latencies` with what was counted exactly beside those that are coarse, left out where none is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Latencies(BTreeMap<LatencyKind, Latency>);

impl Latencies {
    /// The latency of that kind, if it is measured.
    #[must_use]
    pub fn get(&self, kind: LatencyKind) -> Option<&Latency> {
        self.0.get(&kind)
    }

    /// Sets the latency of a kind.
    pub fn set(&mut self, kind: LatencyKind, latency: impl Into<Latency>) {
        self.0.insert(kind, latency.into());
    }

    /// All of them, in the order of [`LatencyKind`].
    pub fn iter(&self) -> impl Iterator<Item = (LatencyKind, &Latency)> {
        self.0.iter().map(|(kind, latency)| (*kind, latency))
    }

    /// Those of the waits since an earlier moment on the same server; kinds without any are absent.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let delta = |(kind, later): (LatencyKind, &Latency)| {
            let delta = earlier.get(kind).map_or_else(|| later.clone(), |before| later.since(before));
            (!delta.histogram.is_empty()).then_some((kind, delta))
        };
        self.iter().filter_map(delta).collect()
    }

    /// Adds another server's.
    pub(crate) fn add(&mut self, other: &Self) {
        other.iter().for_each(|(kind, latency)| self.0.entry(kind).or_default().add(latency));
    }
}

impl<L: Into<Latency>> FromIterator<(LatencyKind, L)> for Latencies {
    fn from_iter<I: IntoIterator<Item = (LatencyKind, L)>>(latencies: I) -> Self {
        Self(latencies.into_iter().map(|(kind, latency)| (kind, latency.into())).collect())
    }
}

impl<L: Into<Latency>, const N: usize> From<[(LatencyKind, L); N]> for Latencies {
    fn from(latencies: [(LatencyKind, L); N]) -> Self {
        latencies.into_iter().collect()
    }
}

/// The saved form.
#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(with = "named")]
    latencies: BTreeMap<LatencyKind, Histogram>,
    #[serde(with = "named", default, skip_serializing_if = "BTreeMap::is_empty")]
    coarse_latencies: BTreeMap<LatencyKind, WaitTotal>,
}

impl From<Latencies> for Saved {
    fn from(latencies: Latencies) -> Self {
        let exact = latencies.iter().filter_map(|(kind, latency)| Some((kind, latency.exact?)));
        Self {
            coarse_latencies: exact.collect(),
            latencies: latencies.0.into_iter().map(|(kind, latency)| (kind, latency.histogram)).collect(),
        }
    }
}

impl From<Saved> for Latencies {
    fn from(saved: Saved) -> Self {
        let exact = |kind| saved.coarse_latencies.get(&kind).copied();
        let joined = |(kind, histogram)| (kind, Latency { histogram, exact: exact(kind) });
        saved.latencies.into_iter().map(joined).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(us: u64, waits: u64) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(us * 1000, waits);
        histogram
    }

    #[test]
    fn kinds_are_in_the_order_of_their_names() {
        named::assert_in_order_of_names::<LatencyKind>();
    }

    #[test]
    fn what_coarse_latencies_took_is_counted_beside_them() {
        let figures = |waits, time_us| {
            let exact = Some(WaitTotal { waits, time_us });
            Latencies::from([(LatencyKind::PhysicalRead, Latency { histogram: reads(128, waits), exact })])
        };
        let mut total = figures(14, 1400).since(&figures(10, 1000));
        total.add(&figures(3, 305).since(&figures(1, 5)));
        let sum = total.get(LatencyKind::PhysicalRead).unwrap();
        assert_eq!((sum.exact, sum.histogram.count()), (Some(WaitTotal { waits: 6, time_us: 700 }), 6));
        assert_eq!(figures(3, 305).since(&figures(3, 305)), Latencies::default(), "nothing was waited for");
    }

    #[test]
    fn what_was_saved_is_read_and_a_kind_of_another_release_is_passed_over() {
        let mut latencies = Latencies::from([(LatencyKind::PhysicalRead, reads(100, 7))]);
        let text = serde_json::to_string(&latencies).unwrap();
        assert!(text.starts_with(r#"{"latencies":{"physical_read":{"#), "{text}");
        assert!(!text.contains("coarse"), "{text}");
        assert_eq!(serde_json::from_str::<Latencies>(&text).unwrap(), latencies);
        let exact = Some(WaitTotal { waits: 4, time_us: 2570 });
        latencies.set(LatencyKind::RedoSync, Latency { histogram: reads(1024, 4), exact });
        let text = serde_json::to_string(&latencies).unwrap();
        assert!(text.ends_with(r#""coarse_latencies":{"redo_sync":{"waits":4,"time_us":2570}}}"#), "{text}");
        assert_eq!(serde_json::from_str::<Latencies>(&text).unwrap(), latencies);
        let newer = text.replace("redo_sync", "undo_sync");
        let known = Latencies::from([(LatencyKind::PhysicalRead, reads(100, 7))]);
        assert_eq!(serde_json::from_str::<Latencies>(&newer).unwrap(), known);
    }
}
