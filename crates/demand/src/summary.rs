//! Peak, 95th percentile, median and means of each figure; and what a profile cannot show.

use jiff::civil::{DateTime, Weekday};
use serde::Serialize;
use slob_facts::format::length;
use slob_stats::summary::quantile;

use crate::figure::{Figure, Figures, Kind};
use crate::profile::{Gap, Interval, Profile};

/// A gap between intervals is at least this share of the earlier one.
const GAP: f64 = 0.05;
const WORST: usize = 3;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    pub value: f64,
    pub begin: DateTime,
    pub seconds: f64,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSummary {
    pub figure: Figure,
    pub intervals: usize,
    pub mean: f64,
    /// The median interval, or the one above the middle.
    pub median: Place,
    pub p95: Place,
    pub peak: Place,
    pub worst: Vec<Place>,
    /// Hours 0 to 23 of each interval's middle.
    pub by_hour: Vec<Option<f64>>,
    /// Monday comes first.
    pub by_weekday: Vec<Option<f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub intervals: usize,
    /// Seconds of the shortest, median and longest interval.
    pub lengths_s: [f64; 3],
    pub from: DateTime,
    pub to: DateTime,
    pub gaps: Vec<Gap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_percent: Option<f64>,
    pub figures: Vec<FigureSummary>,
    pub hides: Vec<String>,
}

impl Summary {
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
            hit_percent: hit_percent(intervals),
            figures: Figure::all().filter_map(|figure| of_figure(intervals, figure)).collect(),
            hides: hidden(profile),
        })
    }

    pub fn figure(&self, figure: Figure) -> Option<&FigureSummary> {
        self.figures.iter().find(|own| own.figure == figure)
    }
}

/// In intervals that know both figures. Direct reads do not go through the cache.
fn hit_percent(intervals: &[Interval]) -> Option<f64> {
    let blocks = |interval: &Interval| {
        let of = |figure| Some(interval.figures.get(figure)? * interval.seconds);
        let direct = of(Figure::DirectReadBlocks).unwrap_or(0.0);
        Some((of(Figure::LogicalReads)?, of(Figure::ReadBlocks)? - direct))
    };
    let (logical, read) =
        intervals.iter().filter_map(blocks).fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
    (logical > 0.0 && (0.0..=logical).contains(&read)).then(|| 100.0 * (1.0 - read / logical))
}

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
    let weekday = |moment: DateTime| usize::from(moment.weekday().since(Weekday::Monday).unsigned_abs());
    let by_weekday = by(&weekday, 7);
    let mean = mean(figure, known.iter().copied())?;
    // Of equal intervals the earliest wins.
    known.sort_by(|one, other| one.1.total_cmp(&other.1).then(other.0.begin.cmp(&one.0.begin)));
    let place = |at: usize| {
        let (Interval { source, begin, seconds, .. }, value) = *known.get(at)?;
        Some(Place { value, begin: *begin, seconds: *seconds, source: source.clone() })
    };
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

/// The nearest rank.
pub(crate) fn rank(values: usize, q: f64) -> usize {
    ((q * values as f64).ceil() as usize).clamp(1, values.max(1)) - 1
}
fn mean<'a>(figure: Figure, values: impl Iterator<Item = (&'a Interval, f64)>) -> Option<f64> {
    let weight = |interval: &Interval| if figure.kind() == Kind::Rate { interval.seconds } else { 1.0 };
    let (sum, weights) = values.fold((0.0, 0.0), |(sum, weights), (interval, value)| {
        (sum + value * weight(interval), weights + weight(interval))
    });
    (weights > 0.0).then(|| sum / weights)
}

/// Seconds. Longer intervals average over too much; hourly reports end a little late.
pub(crate) const LONG_S: f64 = 4000.0;
type Of = fn(&Figures) -> Option<f64>;
const FIGURES: [(&str, Of); 3] = [
    ("reads", Figures::reads),
    ("redo", |figures| figures.get(Figure::RedoBytes)),
    ("commits", |figures| figures.get(Figure::Commits)),
];

pub fn hidden(profile: &Profile) -> Vec<String> {
    let whole = profile.together();
    let lengths = whole.intervals.iter().map(|interval| interval.seconds);
    let (longest, shortest) = (lengths.clone().fold(0.0, f64::max), lengths.fold(f64::INFINITY, f64::min));
    let mut said = Vec::new();
    if whole.intervals.is_empty() {
        return said;
    }
    let lengths = if longest - shortest > 0.1 * longest {
        format!("Intervals are {} to {} long", length(shortest), length(longest))
    } else {
        format!("Intervals are {} long", length(longest))
    };
    said.push(if longest <= 90.0 {
        format!("{lengths}: bursts of seconds do not show.")
    } else {
        format!(
            "{lengths}: a minute at several times their mean does not show. What a platform must carry for a minute can be \
             up to {:.0} times the peak here, if all of an interval's work was done in one.",
            longest / 60.0
        )
    });
    said.extend(flattened(&whole.intervals));
    if longest > LONG_S {
        said.push(format!(
            "Intervals of {} average over busy and quiet times: take reports of 15 to 60 minutes.",
            length(longest)
        ));
    }
    said.extend(unseen(&whole));
    said
}

/// Estimates the loss of averaging from the loss between intervals and pairs of them.
fn flattened(intervals: &[Interval]) -> Option<String> {
    if intervals.len() < 4 {
        return None;
    }
    let part = |(name, value): &(&str, Of)| {
        let peak = intervals.iter().filter_map(|one| value(&one.figures)).fold(0.0, f64::max);
        let pairs = intervals.windows(2).filter_map(|pair| {
            let follows = pair[1].begin.duration_since(pair[0].end()).as_secs_f64().abs() < 60.0;
            let seconds = pair[0].seconds + pair[1].seconds;
            let sum = value(&pair[0].figures)? * pair[0].seconds + value(&pair[1].figures)? * pair[1].seconds;
            follows.then_some(sum / seconds)
        });
        let peak_of_pairs = pairs.fold(0.0, f64::max);
        let lost = 100.0 * (1.0 - peak_of_pairs / peak);
        (peak > 0.0 && peak_of_pairs > 0.0 && lost >= 1.0).then(|| format!("{name} by {lost:.0} %"))
    };
    let parts: Vec<String> = FIGURES.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "In intervals twice as long the peaks would be lower: {}. About as much is lost where these were made of shorter ones.",
            parts.join(", ")
        )
    })
}

fn unseen(profile: &Profile) -> Option<String> {
    let covered: f64 = profile.intervals.iter().map(|interval| interval.seconds).sum();
    let day_s = 86_400.0;
    if covered < 0.95 * day_s {
        return Some(format!(
            "All of it is {}: batches of the night, month ends and other days are not in it.",
            length(covered)
        ));
    }
    (covered < 6.5 * day_s).then(|| {
        format!("All of it is {:.1} days: weekends and month ends may not be in it.", covered / day_s)
    })
}

/// Seconds appear if several such intervals may lie in one minute.
pub fn moment(at: DateTime, seconds: f64) -> String {
    at.strftime(if seconds < 60.0 { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M" }).to_string()
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub figure: Figure,
    pub median: [f64; 2],
    pub p95: [f64; 2],
    pub peak: [f64; 2],
}

impl Change {
    pub fn percent(of: [f64; 2]) -> Option<f64> {
        (of[0] != 0.0).then(|| 100.0 * (of[1] - of[0]) / of[0])
    }
}

pub fn diff(one: &Summary, other: &Summary) -> Vec<Change> {
    let change = |figure: Figure| {
        let (one, other) = (one.figure(figure)?, other.figure(figure)?);
        let of = |place: fn(&FigureSummary) -> &Place| [place(one).value, place(other).value];
        let (median, p95, peak) = (of(|own| &own.median), of(|own| &own.p95), of(|own| &own.peak));
        Some(Change { figure, median, p95, peak })
    };
    Figure::all().filter_map(change).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::profile::{PROFILE_VERSION, Source, Subject};

    /// Hourly intervals from Friday, 2026-11-20 00:00, with these commits and ten times the reads.
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
            bad: Vec::new(),
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
    fn hits_are_of_all_intervals_together_and_direct_reads_are_no_misses() {
        let mut profile = hourly(&[1.0, 1.0, 1.0]);
        let mut set = |nth: usize, logical, read, direct| {
            let own = &mut profile.intervals[nth].figures;
            own.set(Figure::LogicalReads, logical);
            own.set(Figure::ReadBlocks, read);
            own.set(Figure::DirectReadBlocks, direct);
        };
        set(0, 900.0, 250.0, 200.0);
        set(1, 100.0, 50.0, 0.0);
        assert_eq!(Summary::of(&profile).unwrap().hit_percent, Some(90.0));
        assert_eq!(Summary::of(&hourly(&[1.0])).unwrap().hit_percent, None);
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

    #[test]
    fn the_loss_of_longer_intervals_is_estimated_per_figure() {
        let text = hidden(&hourly(&[1.0, 8.0, 1.0, 1.0])).join("\n");
        assert!(text.contains("Intervals are 60 min long") && text.contains("up to 60 times"), "{text}");
        assert!(text.contains("reads by 44 %, commits by 44 %") && !text.contains("redo"), "{text}");
        assert!(text.contains("All of it is 4 h"), "{text}");
    }

    #[test]
    fn a_whole_week_has_no_unseen_day() {
        let text = hidden(&hourly(&[5.0; 7 * 24])).join("\n");
        assert!(!text.contains("All of it") && !text.contains("would be lower"), "{text}");
    }

    #[test]
    fn changes_are_relative_to_the_first() {
        let [one, other] =
            [&[10.0, 20.0][..], &[10.0, 30.0][..]].map(|commits| Summary::of(&hourly(commits)).unwrap());
        let changes = diff(&one, &other);
        let commits = changes.iter().find(|change| change.figure == Figure::Commits).unwrap();
        assert_eq!((commits.median, commits.peak), ([10.0, 10.0], [20.0, 30.0]));
        assert_eq!(Change::percent(commits.peak), Some(50.0));
        assert_eq!(Change::percent([0.0, 1.0]), None);
    }
}
