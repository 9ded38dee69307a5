//! Wait-event histograms of consecutive reports.

use jiff::civil::DateTime;
use serde::Serialize;

use crate::figure::Figure;
use crate::histogram::{EventHistogram, Over, TwoPeaks, duration};
use crate::info::Named;

/// Events whose histograms say most of storage: reads of one block, and writes of the log.
pub const EVENTS: [&str; 4] = [
    "db file sequential read",
    "cell single block physical read",
    "log file sync",
    "log file parallel write",
];

/// An event in one report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The report's file.
    pub file: String,
    /// The first snapshot's time.
    pub begin: Option<DateTime>,
    /// The last snapshot's time.
    pub end: Option<DateTime>,
    /// The event, under the longest of the names that it has.
    pub event: String,
    /// Mean wait in microseconds; of foreground sessions where these are apart.
    pub mean_us: Option<Figure>,
    /// How long waits took, foreground and background together.
    pub histogram: EventHistogram,
    /// The share of waits over a limit.
    pub over: Over,
    /// Two kinds of waits behind one mean.
    pub two_peaks: Option<TwoPeaks>,
}

impl Point {
    /// The event's histogram in a report; `None` if it has none.
    #[must_use]
    pub fn of(named: &Named, event: &str, limit_us: f64) -> Option<Self> {
        let report = &named.report;
        let histogram = report.histogram(event)?.clone();
        let wait = report.foreground(event).or_else(|| report.background(event));
        Some(Self {
            file: named.label(),
            begin: report.interval.begin.as_ref().and_then(|snapshot| snapshot.time),
            end: report.interval.end.as_ref().and_then(|snapshot| snapshot.time),
            event: event.to_owned(),
            mean_us: wait.and_then(|wait| wait.mean_us()),
            over: histogram.over(limit_us),
            two_peaks: histogram.two_peaks(),
            histogram,
        })
    }

    /// What the mean hides, in words.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let peaks = self.two_peaks?;
        let bucket = |bucket: &crate::histogram::Bucket| match bucket.to_us {
            Some(to) => format!("{} to {}", duration(bucket.from_us), duration(to)),
            None => format!("{} and more", duration(bucket.from_us)),
        };
        let mean = self.mean_us.and_then(Figure::known);
        let mean = mean.map_or_else(
            || "a mean that is printed too coarsely".to_owned(),
            |mean| format!("a mean of {}", duration(mean)),
        );
        let [short, long] = match peaks.may_be_a_caches() && is_read(&self.event) {
            true => [", as a cache would serve them,", ", as a slower device would"],
            false => ["", ""],
        };
        Some(format!(
            "two peaks behind {mean}: {:.0} % of waits around {}{short} and {:.0} % around {}{long}",
            peaks.short_percent,
            bucket(&peaks.short),
            peaks.long_percent,
            bucket(&peaks.long),
        ))
    }
}

/// Only reads are served by a cache.
fn is_read(event: &str) -> bool {
    event.contains(" read")
}

/// Points in the order of their first snapshots; reports without a time stay behind the others, in their order.
pub fn sort(points: &mut [Point]) {
    points.sort_by_key(|point| (point.begin.is_none(), point.begin));
}
