//! Peak, 95th percentile and median of each figure, by hour and by weekday, and where they were.

use jiff::civil::{DateTime, Weekday};
use serde::Serialize;
use slob_stats::summary::quantile;

use crate::figure::{Figure, Kind};
use crate::model::{Gap, Interval, Profile};

/// Intervals that are further apart than this share of the one before do not follow each other.
const GAP: f64 = 0.05;
/// So many of the worst intervals are named.
const WORST: usize = 3;

/// A figure of one interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Its value there.
    pub value: f64,
    /// When the interval began.
    pub begin: DateTime,
    /// How long it was.
    pub seconds: f64,
    /// Where it comes from.
    pub source: String,
}

impl Place {
    fn of(interval: &Interval, value: f64) -> Self {
        let Interval { source, begin, seconds, .. } = interval;
        Self { value, begin: *begin, seconds: *seconds, source: source.clone() }
    }
}

/// A figure over all intervals that know it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSummary {
    /// Which.
    pub figure: Figure,
    /// Intervals that know it.
    pub intervals: usize,
    /// Over all of them: of rates by their seconds.
    pub mean: f64,
    /// The median interval, or the one next above the middle.
    pub median: Place,
    /// The interval that 95 % do not exceed.
    pub p95: Place,
    /// The largest of all.
    pub peak: Place,
    /// The largest, in order; the first is `peak`.
    pub worst: Vec<Place>,
    /// Means of the intervals whose middle lies in an hour of the day, from 0 to 23; absent where there is none.
    pub by_hour: Vec<Option<f64>>,
    /// The same by the day of the week, from Monday.
    pub by_weekday: Vec<Option<f64>>,
}

/// What a profile says of its database.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its intervals.
    pub intervals: usize,
    /// Seconds of the shortest, the median and the longest of them.
    pub lengths_s: [f64; 3],
    /// When the first began.
    pub from: DateTime,
    /// When the last ended.
    pub to: DateTime,
    /// Times in between that no interval is of.
    pub gaps: Vec<Gap>,
    /// Each figure that any interval knows.
    pub figures: Vec<FigureSummary>,
    /// What the length of the intervals hides, and what is not in them.
    pub hides: Vec<String>,
}

impl Summary {
    /// Of all intervals of a profile, taken as one database: see [`Profile::together`]. `None` if there is none.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        let whole = profile.together();
        let intervals = &whole.intervals;
        let (first, last) = (intervals.first()?, intervals.last()?);
        let mut lengths: Vec<f64> = intervals.iter().map(|interval| interval.seconds).collect();
        lengths.sort_by(f64::total_cmp);
        Some(Self {
            intervals: intervals.len(),
            lengths_s: [lengths[0], quantile(&lengths, 0.5)?, lengths[lengths.len() - 1]],
            from: first.begin,
            to: last.end(),
            gaps: gaps(intervals),
            figures: Figure::all().filter_map(|figure| of_figure(intervals, figure)).collect(),
            hides: crate::hidden::hidden(profile),
        })
    }

    /// One of its figures.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<&FigureSummary> {
        self.figures.iter().find(|own| own.figure == figure)
    }
}

/// Where intervals do not follow each other.
pub(crate) fn gaps(intervals: &[Interval]) -> Vec<Gap> {
    let gap = |pair: &[Interval]| {
        let (from, to) = (pair[0].end(), pair[1].begin);
        let apart = to.duration_since(from).as_secs_f64();
        (apart > (GAP * pair[0].seconds).max(2.0)).then_some(Gap { from, to })
    };
    intervals.windows(2).filter_map(gap).collect()
}

fn of_figure(intervals: &[Interval], figure: Figure) -> Option<FigureSummary> {
    let mut known: Vec<(&Interval, f64)> =
        intervals.iter().filter_map(|interval| Some((interval, interval.figures.get(figure)?))).collect();
    let by = |part: &dyn Fn(DateTime) -> usize, parts: usize| -> Vec<Option<f64>> {
        let mut of = vec![Vec::new(); parts];
        known.iter().for_each(|one| of[part(one.0.middle())].push(*one));
        of.into_iter().map(|own| mean(figure, own.into_iter())).collect()
    };
    let by_hour = by(&|moment| usize::from(moment.hour().unsigned_abs()), 24);
    let by_weekday = by(&weekday, 7);
    let mean = mean(figure, known.iter().copied())?;
    // Of equals the earliest is named.
    known.sort_by(|one, other| one.1.total_cmp(&other.1).then(other.0.begin.cmp(&one.0.begin)));
    let place = |at: usize| known.get(at).map(|(interval, value)| Place::of(interval, *value));
    Some(FigureSummary {
        figure,
        intervals: known.len(),
        mean,
        median: place(rank(known.len(), 0.5))?,
        p95: place(rank(known.len(), 0.95))?,
        peak: place(known.len() - 1)?,
        worst: (1..=WORST).filter_map(|back| place(known.len().checked_sub(back)?)).collect(),
        by_hour,
        by_weekday,
    })
}

/// The nearest rank of a quantile, from 0: the smallest value that so large a share of them does not exceed.
pub(crate) fn rank(values: usize, q: f64) -> usize {
    ((q * values as f64).ceil() as usize).clamp(1, values.max(1)) - 1
}

fn weekday(moment: DateTime) -> usize {
    usize::from(moment.weekday().since(Weekday::Monday).unsigned_abs())
}

/// Rates by the seconds of their intervals; means as they are.
fn mean<'a>(figure: Figure, values: impl Iterator<Item = (&'a Interval, f64)>) -> Option<f64> {
    let weight = |interval: &Interval| if figure.kind() == Kind::Rate { interval.seconds } else { 1.0 };
    let (sum, weights) = values.fold((0.0, 0.0), |(sum, weights), (interval, value)| {
        (sum + value * weight(interval), weights + weight(interval))
    });
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{PROFILE_VERSION, Source, Subject};

    /// Hourly intervals of these commits and ten times the reads, from Friday, 2026-11-20 00:00 on.
    pub(crate) fn hourly(commits: &[f64]) -> Profile {
        let begin: DateTime = "2026-11-20T00:00".parse().unwrap();
        let interval = |(hour, commits): (i64, &f64)| Interval {
            source: format!("report {hour}"),
            instance: None,
            begin: begin.saturating_add(jiff::SignedDuration::from_hours(hour)),
            seconds: 3600.0,
            figures: [
                (Figure::Commits, *commits),
                (Figure::ReadRequests, 10.0 * commits),
                (Figure::DbTime, commits / 10.0),
            ]
            .into(),
            histograms: Default::default(),
        };
        Profile {
            profile_version: PROFILE_VERSION,
            source: Source::Reports,
            subject: Subject { name: "PROD".into(), ..Subject::default() },
            intervals: (0..).zip(commits).map(interval).collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn ranks_are_those_of_the_nearest() {
        assert_eq!([1, 2, 3, 20, 21, 100].map(|n| rank(n, 0.95)), [0, 1, 2, 18, 19, 94]);
        assert_eq!([1, 2, 3, 4].map(|n| rank(n, 0.5)), [0, 0, 1, 1]);
    }

    #[test]
    fn each_figure_names_its_intervals_hours_and_days() {
        let commits: Vec<f64> = (0..48).map(f64::from).collect();
        let summary = Summary::of(&hourly(&commits)).unwrap();
        let own = summary.figure(Figure::Commits).unwrap();
        assert_eq!((own.peak.value, own.p95.value, own.median.value), (47.0, 45.0, 23.0));
        assert_eq!(own.peak.source, "report 47");
        assert_eq!(own.worst.iter().map(|place| place.value).collect::<Vec<_>>(), [47.0, 46.0, 45.0]);
        assert_eq!(own.mean, 23.5);
        assert_eq!(own.by_hour[3], Some((3.0 + 27.0) / 2.0));
        // Friday and Saturday.
        assert_eq!(own.by_weekday[4..6], [Some(11.5), Some(35.5)]);
        assert_eq!(own.by_weekday[0], None);
        assert_eq!(summary.lengths_s, [3600.0; 3]);
        assert!(summary.gaps.is_empty());
    }

    #[test]
    fn a_gap_is_shown() {
        let mut profile = hourly(&[1.0, 2.0, 3.0]);
        profile.intervals.remove(1);
        let gaps = Summary::of(&profile).unwrap().gaps;
        let moment = |text: &str| text.parse().unwrap();
        assert_eq!(gaps, [Gap { from: moment("2026-11-20T01:00"), to: moment("2026-11-20T02:00") }]);
    }
}
