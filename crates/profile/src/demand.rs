//! The demand at a point of a profile.

use serde::Serialize;

use crate::choice::{At, By, Choice, ChoiceError};
use crate::figure::{Figure, Figures, Kind};
use crate::hidden::{LONG_S, length};
use crate::model::{Histograms, Interval, Profile};
use crate::summary::rank;

/// Below this nobody would plan for it, per second.
const IDLE_READS: f64 = 1.0;
const IDLE_COMMITS: f64 = 0.1;
/// A figure that is this much higher elsewhere is worth a word.
const ELSEWHERE: f64 = 1.1;

/// What reads of a demand count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadsAre {
    /// Requests, of one or several blocks.
    Requests,
    /// Blocks, since requests are not counted.
    Blocks,
}

/// What a platform must do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Which point it is, in words.
    pub point: String,
    /// How much more than it was is wanted.
    pub grow: f64,
    /// Rates, grown; means as they were.
    pub figures: Figures,
    /// What `reads` counts.
    pub reads_are: ReadsAre,
    /// How long waits took there.
    #[serde(skip)]
    pub histograms: Histograms,
    /// What a reader must know of the choice.
    pub notes: Vec<String>,
}

impl Demand {
    /// Physical reads per second.
    #[must_use]
    pub fn reads(&self) -> Option<f64> {
        self.figures.reads()
    }

    /// So many times as much of all of it.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self { figures: self.figures.times(factor), grow: self.grow * factor, ..self.clone() }
    }
}

impl Profile {
    /// The demand at a point.
    ///
    /// # Errors
    /// If nothing is known to plan for, the database was idle, no interval is there, or a peak is asked of a single long
    /// interval without saying how peaked it was.
    pub fn demand(&self, choice: &Choice) -> Result<Demand, ChoiceError> {
        let in_range = |factor: f64| factor > 0.0 && factor <= 1000.0;
        if !in_range(choice.grow) {
            return Err(ChoiceError::BadFactor("--grow"));
        }
        if !choice.peak_factor.is_none_or(in_range) {
            return Err(ChoiceError::BadFactor("--peak-factor"));
        }
        let whole = self.together();
        let intervals = &whole.intervals;
        refuse_idle(intervals)?;
        if let (At::Peak | At::P95, [only], None) = (choice.at, &intervals[..], choice.peak_factor)
            && only.seconds > LONG_S
        {
            return Err(ChoiceError::OneLong { length: length(only.seconds) });
        }
        let (point, figures, histograms, mut notes) = match choice.by {
            By::Each if !matches!(choice.at, At::Moment(_)) => each(intervals, choice.at),
            by => one(intervals, choice.at, by)?,
        };
        let factor = choice.grow * choice.peak_factor.unwrap_or(1.0);
        if let Some(peak) = choice.peak_factor {
            notes.push(format!("Rates are {peak} times the interval's mean, as --peak-factor says."));
        }
        let reads_are = match figures.get(Figure::ReadRequests) {
            Some(_) => ReadsAre::Requests,
            None => ReadsAre::Blocks,
        };
        Ok(Demand { point, grow: choice.grow, figures: figures.times(factor), reads_are, histograms, notes })
    }
}

fn refuse_idle(intervals: &[Interval]) -> Result<(), ChoiceError> {
    let most = |value: fn(&Figures) -> Option<f64>| {
        intervals.iter().filter_map(|interval| value(&interval.figures)).reduce(f64::max)
    };
    let (reads, commits) = (most(Figures::reads), most(|figures| figures.get(Figure::Commits)));
    if reads.is_none() && commits.is_none() {
        return Err(ChoiceError::NothingKnown);
    }
    if reads.unwrap_or(0.0) < IDLE_READS && commits.unwrap_or(0.0) < IDLE_COMMITS {
        let shown = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.2}"));
        return Err(ChoiceError::Idle { reads: shown(reads), commits: shown(commits) });
    }
    Ok(())
}

type Chosen = (String, Figures, Histograms, Vec<String>);

/// One interval.
fn one(intervals: &[Interval], at: At, by: By) -> Result<Chosen, ChoiceError> {
    let mut known: Vec<&Interval> =
        intervals.iter().filter(|interval| by.value(&interval.figures).is_some()).collect();
    let value = |interval: &Interval| by.value(&interval.figures).unwrap_or(0.0);
    // Of equals the earliest is taken.
    known.sort_by(|one, other| value(one).total_cmp(&value(other)).then(other.begin.cmp(&one.begin)));
    let chosen = match at {
        At::Moment(moment) => Some(at_moment(intervals, moment)?),
        At::Peak => known.last().copied(),
        At::P95 => known.get(rank(known.len(), 0.95)).copied(),
        At::Median => known.get(rank(known.len(), 0.5)).copied(),
    };
    let chosen = chosen.ok_or(ChoiceError::ByUnknown(by.words()))?;
    let by_words = if matches!(at, At::Moment(_)) { String::new() } else { format!(" by {}", by.words()) };
    let point =
        format!("{at}{by_words}: {} of {}, {}", length(chosen.seconds), moment(chosen), chosen.source);
    let mut notes = Vec::new();
    if at == At::Peak {
        notes.extend(elsewhere(intervals, chosen, by));
    }
    if let (At::Peak | At::P95, [_]) = (at, intervals) {
        notes.push(format!("There is one interval only: its {at} is all there is."));
    }
    Ok((point, chosen.figures.clone(), chosen.histograms.clone(), notes))
}

fn at_moment(intervals: &[Interval], moment: jiff::civil::DateTime) -> Result<&Interval, ChoiceError> {
    let holds = |interval: &&Interval| interval.begin <= moment && moment < interval.end();
    // Snapshots are taken some seconds after the hour.
    let almost = |interval: &&Interval| {
        let late = interval.begin.duration_since(moment).as_secs_f64();
        (0.0..=0.1 * interval.seconds).contains(&late)
    };
    let apart = |interval: &&Interval| interval.begin.duration_since(moment).unsigned_abs();
    let found = intervals.iter().find(almost).or_else(|| intervals.iter().find(holds));
    found.ok_or_else(|| ChoiceError::NoSuchMoment {
        moment: moment.strftime("%Y-%m-%d %H:%M").to_string(),
        nearest: intervals
            .iter()
            .min_by_key(apart)
            .map_or_else(|| "-".into(), |nearest| nearest.begin.strftime("%Y-%m-%d %H:%M").to_string()),
    })
}

/// When an interval began: with its seconds where it is shorter than a minute.
fn moment(interval: &Interval) -> String {
    let form = if interval.seconds < 60.0 { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M" };
    interval.begin.strftime(form).to_string()
}

/// What is higher at another time.
fn elsewhere(intervals: &[Interval], chosen: &Interval, by: By) -> Vec<String> {
    let others = By::NAMES.into_iter().filter(|(_, other)| *other != by);
    others
        .filter_map(|(name, other)| {
            let here = other.value(&chosen.figures)?;
            let most = |one: &&Interval, another: &&Interval| {
                let value = |interval: &Interval| other.value(&interval.figures).unwrap_or(0.0);
                value(one).total_cmp(&value(another))
            };
            let peak = intervals.iter().max_by(most)?;
            let there = other.value(&peak.figures)?;
            (there > ELSEWHERE * here && there > 0.0).then(|| {
                let times = if here > 0.0 {
                    format!("{:.1} times as high", there / here)
                } else {
                    "here there were none".into()
                };
                format!(
                    "{} peak at another time, {}: {times}; --by {name} plans for that one, --by each for all at once.",
                    capitalised(other.words()),
                    moment(peak),
                )
            })
        })
        .collect()
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Each figure at its own point. Means are those of the median interval: nothing is made of the slowest of all.
fn each(intervals: &[Interval], at: At) -> Chosen {
    let value = |figure: Figure| {
        let mut values: Vec<f64> =
            intervals.iter().filter_map(|interval| interval.figures.get(figure)).collect();
        values.sort_by(f64::total_cmp);
        let q = match (at, figure.kind()) {
            (At::Peak, Kind::Rate) => 1.0,
            (At::P95, Kind::Rate) => 0.95,
            _ => 0.5,
        };
        values.get(rank(values.len(), q)).copied()
    };
    let figures = Figure::all().filter_map(|figure| Some((figure, value(figure)?))).collect();
    let note = "Each figure is at its own point: all of them together may never have been asked for at once.";
    (format!("{at} of each figure"), figures, Histograms::new(), vec![note.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::hourly;

    fn demand(profile: &Profile, choice: Choice) -> Result<Demand, ChoiceError> {
        profile.demand(&choice)
    }

    #[test]
    fn a_point_is_an_interval_and_growth_multiplies_its_rates() {
        let profile = hourly(&[10.0, 40.0, 20.0]);
        let peak = demand(&profile, Choice { grow: 1.5, ..Choice::default() }).unwrap();
        assert_eq!(peak.figures.get(Figure::Commits), Some(60.0));
        assert_eq!(peak.point, "peak by reads: 60 min of 2026-11-20 01:00, report 1");
        let median = demand(&profile, Choice { at: At::Median, ..Choice::default() }).unwrap();
        assert_eq!(median.reads(), Some(200.0));
        let at = |text: &str| demand(&profile, Choice { at: text.parse().unwrap(), ..Choice::default() });
        assert_eq!(at("2026-11-20 02:30").unwrap().figures.get(Figure::Commits), Some(20.0));
        let error = at("2026-11-21 02:30").unwrap_err().to_string();
        assert!(error.contains("the nearest begins at 2026-11-20 02:00"), "{error}");
    }

    #[test]
    fn what_peaks_elsewhere_is_said() {
        let mut profile = hourly(&[10.0, 40.0, 20.0]);
        profile.intervals[0].figures.set(Figure::RedoBytes, 900.0);
        profile.intervals[1].figures.set(Figure::RedoBytes, 300.0);
        let peak = demand(&profile, Choice::default()).unwrap();
        assert!(
            peak.notes[0]
                .starts_with("Redo peak at another time, 2026-11-20 00:00: 3.0 times as high; --by redo")
        );
        profile.intervals[1].figures.set(Figure::RedoBytes, 0.0);
        profile.intervals.iter_mut().for_each(|interval| interval.seconds = 10.0);
        let peak = demand(&profile, Choice::default()).unwrap();
        assert!(
            peak.notes[0]
                .starts_with("Redo peak at another time, 2026-11-20 00:00:00: here there were none; --by")
        );
        assert!(peak.point.contains("10 s of 2026-11-20 01:00:00"), "{}", peak.point);
        let each = demand(&profile, Choice { by: By::Each, ..Choice::default() }).unwrap();
        assert_eq!((each.figures.get(Figure::RedoBytes), each.reads()), (Some(900.0), Some(400.0)));
    }

    #[test]
    fn the_peak_of_one_long_interval_is_refused_unless_it_is_told() {
        let mut profile = hourly(&[10.0]);
        assert!(demand(&profile, Choice::default()).unwrap().notes[0].contains("one interval only"));
        profile.intervals[0].seconds = 7.0 * 86_400.0;
        let error = demand(&profile, Choice::default()).unwrap_err();
        assert!(error.to_string().contains("7 days long") && error.to_string().contains("--peak-factor"));
        let told = demand(&profile, Choice { peak_factor: Some(3.0), ..Choice::default() }).unwrap();
        assert_eq!(told.reads(), Some(300.0));
        demand(&profile, Choice { at: At::Median, ..Choice::default() }).unwrap();
    }

    #[test]
    fn nothing_is_planned_for_a_database_that_was_idle_or_not_known() {
        let idle = demand(&hourly(&[0.01, 0.02]), Choice::default()).unwrap_err();
        assert!(
            idle.to_string().contains("idle: at most 0.20 physical reads/s and 0.02 commits/s"),
            "{idle}"
        );
        let mut unknown = hourly(&[10.0]);
        unknown.intervals[0].figures = [(Figure::DbTime, 1.0)].into();
        assert_eq!(demand(&unknown, Choice::default()), Err(ChoiceError::NothingKnown));
        let by = Choice { by: By::Redo, ..Choice::default() };
        assert_eq!(demand(&hourly(&[10.0]), by), Err(ChoiceError::ByUnknown("redo")));
        let none = Choice { grow: 0.0, ..Choice::default() };
        assert_eq!(demand(&hourly(&[10.0]), none), Err(ChoiceError::BadFactor("--grow")));
    }
}
