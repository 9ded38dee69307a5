//! Waits of a database: events, and latencies of reads, writes and syncs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slob_stats::{Histogram, Merge, merge_fields};
use strum::{EnumString, IntoStaticStr};

use crate::counters::known_names;

/// A wait event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitEvent {
    /// The database's own name.
    pub name: String,
    /// The database's own class.
    pub class: String,
    /// `None` if they are not counted.
    pub waits: Option<u64>,
    /// Total time in microseconds.
    pub time_us: u64,
    /// The server's own processes wait, outside DB time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

impl WaitEvent {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.class == other.class && self.background == other.background
    }

    /// `None` without any wait, or if the time fell.
    pub(crate) fn since(&self, earlier: &[Self]) -> Option<Self> {
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

    pub(crate) fn add(&mut self, other: &Self) {
        self.time_us += other.time_us;
        self.waits = self.waits.zip(other.waits).map(|(ours, theirs)| ours + theirs);
    }
}

/// Exact totals of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTotal {
    /// Number of waits.
    pub waits: u64,
    /// Total time in microseconds.
    pub time_us: u64,
}

impl WaitTotal {
    fn since(self, earlier: Self) -> Self {
        Self {
            waits: self.waits.saturating_sub(earlier.waits),
            time_us: self.time_us.saturating_sub(earlier.time_us),
        }
    }
}

merge_fields!(WaitTotal: waits, time_us);

/// Kind of wait. Names give the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, EnumString, IntoStaticStr)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LatencyKind {
    /// One commit, as its session waits for it.
    Commit,
    /// One physical read of the data.
    PhysicalRead,
    /// One physical write of the data.
    PhysicalWrite,
    /// One forced write of the log.
    RedoSync,
}

impl LatencyKind {
    /// Name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Durations of the waits of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Nanoseconds. If `exact` is set, they are upper bounds of the database's buckets.
    pub histogram: Histogram,
    /// Exact totals beside a coarse histogram.
    pub exact: Option<WaitTotal>,
}

impl From<Histogram> for Latency {
    fn from(histogram: Histogram) -> Self {
        Self { histogram, exact: None }
    }
}

impl Latency {
    /// Mean of values, not of bounds.
    pub fn mean_us(&self) -> Option<f64> {
        match self.exact {
            Some(exact) => (exact.waits > 0).then(|| exact.time_us as f64 / exact.waits as f64),
            None => self.histogram.mean().map(|ns| ns / 1e3),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let exact = self.exact.map(|total| total.since(earlier.exact.unwrap_or_default()));
        Self { histogram: self.histogram.since(&earlier.histogram), exact }
    }

    fn add(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.exact.merge(&other.exact);
    }
}

/// Latencies by kind, saved as `latencies` and `coarse_latencies` (with exact totals).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Latencies(BTreeMap<LatencyKind, Latency>);

impl Latencies {
    /// `None` if it is not measured.
    pub fn get(&self, kind: LatencyKind) -> Option<&Latency> {
        self.0.get(&kind)
    }

    /// Sets a latency.
    pub fn set(&mut self, kind: LatencyKind, latency: impl Into<Latency>) {
        self.0.insert(kind, latency.into());
    }

    /// Latencies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (LatencyKind, &Latency)> {
        self.0.iter().map(|(kind, latency)| (*kind, latency))
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let delta = |(kind, later): (LatencyKind, &Latency)| {
            let delta = earlier.get(kind).map_or_else(|| later.clone(), |before| later.since(before));
            let happened = !delta.histogram.is_empty() || delta.exact.is_some_and(|exact| exact.waits > 0);
            happened.then_some((kind, delta))
        };
        self.iter().filter_map(delta).collect()
    }

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

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(deserialize_with = "known_names")]
    latencies: BTreeMap<LatencyKind, Histogram>,
    #[serde(default, deserialize_with = "known_names", skip_serializing_if = "BTreeMap::is_empty")]
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
    fn exact_totals_of_coarse_latencies_are_summed() {
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
    fn saved_latencies_are_read_and_kinds_of_other_releases_are_skipped() {
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
