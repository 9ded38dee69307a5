//! A bounded series of values over the seconds of a run, and its saved form.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::histogram::Histogram;

/// Values of neighbouring intervals can be merged.
pub trait Merge {
    /// Makes `self` the value of both intervals.
    fn merge(&mut self, later: &Self);
}

/// Merges values of this type field by field.
#[macro_export]
macro_rules! merge_fields {
    ($type:ty: $($field:ident),+) => {
        impl $crate::Merge for $type {
            fn merge(&mut self, later: &Self) {
                $($crate::Merge::merge(&mut self.$field, &later.$field);)+
            }
        }
    };
}

/// Sums of counts saturate.
impl Merge for u64 {
    fn merge(&mut self, later: &Self) {
        *self = self.saturating_add(*later);
    }
}

impl Merge for f64 {
    fn merge(&mut self, later: &Self) {
        *self += later;
    }
}

/// An unknown value changes nothing.
impl<T: Merge + Clone> Merge for Option<T> {
    fn merge(&mut self, later: &Self) {
        match (self.as_mut(), later) {
            (Some(value), Some(later)) => value.merge(later),
            (None, Some(later)) => *self = Some(later.clone()),
            (_, None) => {}
        }
    }
}

impl Merge for Histogram {
    fn merge(&mut self, later: &Self) {
        Histogram::merge(self, later);
    }
}

/// Reason for refusing a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SeriesError {
    /// The second is before the series.
    #[error("second {second} lies before the series, which starts at second {start_s}; drop the value")]
    BeforeStart {
        /// Run-relative second.
        second: u64,
        /// First second of the series.
        start_s: u64,
    },
    /// The series has a value of a later step.
    #[error("second {second} comes after second {last_s} was added; add values in order of time")]
    OutOfOrder {
        /// Run-relative second.
        second: u64,
        /// First second of the last step.
        last_s: u64,
    },
}

/// Values of consecutive intervals of equal width, at most `max_points`.
///
/// Values arrive once per *step* of a second, in order. When one more would exceed the bound, neighbouring pairs are merged and
/// the width doubles. An interval without a value is `None`.
///
/// [`Point::covered_s`] tells a half filled interval from a drop. A [`Histogram`] takes 19 KB in a point, less once trimmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct Series<T> {
    start_s: u64,
    step_s: u64,
    width_s: u64,
    max_points: usize,
    /// First second of the last step with a value.
    last_s: Option<u64>,
    points: Vec<Option<Covered<T>>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Covered<T> {
    covered_s: u64,
    value: T,
}

/// One interval of a [`Series`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a, T> {
    /// Run-relative first second.
    pub start_s: u64,
    /// Seconds with a value, 0 if none.
    pub covered_s: u64,
    /// Merged value of these seconds.
    pub value: Option<&'a T>,
}

impl<T> Series<T> {
    /// Steps are seconds from `start_s` on. A `max_points` below 2 means 2.
    pub fn new(start_s: u64, max_points: usize) -> Self {
        Self {
            start_s,
            step_s: 1,
            width_s: 1,
            max_points: max_points.max(2),
            last_s: None,
            points: Vec::new(),
        }
    }

    /// Run-relative first second.
    pub fn start_s(&self) -> u64 {
        self.start_s
    }

    /// Width of an interval in seconds.
    pub fn width_s(&self) -> u64 {
        self.width_s
    }

    /// Number of intervals, gaps included.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// True without any value.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Intervals in order, gaps included.
    pub fn points(&self) -> impl ExactSizeIterator<Item = Point<'_, T>> {
        self.points.iter().enumerate().map(|(index, point)| Point {
            start_s: self.start_s + index as u64 * self.width_s,
            covered_s: point.as_ref().map_or(0, |p| p.covered_s),
            value: point.as_ref().map(|p| &p.value),
        })
    }

    /// Applies a function to each value.
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> Series<U> {
        let Self { start_s, step_s, width_s, max_points, last_s, points } = self;
        let mut covered = |Covered { covered_s, value }| Covered { covered_s, value: of(value) };
        let points = points.into_iter().map(|point| point.map(&mut covered)).collect();
        Series { start_s, step_s, width_s, max_points, last_s, points }
    }
}

impl<T: Merge> Series<T> {
    /// Merges several values of one step. Fails if the run-relative `second` is before the series or its last step.
    pub fn push(&mut self, second: u64, value: T) -> Result<(), SeriesError> {
        let start_s = self.start_s;
        let offset = second.checked_sub(start_s).ok_or(SeriesError::BeforeStart { second, start_s })?;
        let step_start = second - offset % self.step_s;
        if let Some(last_s) = self.last_s.filter(|&last_s| step_start < last_s) {
            return Err(SeriesError::OutOfOrder { second, last_s });
        }
        let index = self.make_room(offset);
        let newly_covered = if self.last_s == Some(step_start) { 0 } else { self.step_s };
        match &mut self.points[index] {
            Some(point) => {
                point.value.merge(&value);
                point.covered_s += newly_covered;
            }
            gap => *gap = Some(Covered { covered_s: newly_covered, value }),
        }
        self.last_s = Some(step_start);
        Ok(())
    }

    /// Returns the index of the interval at `offset` seconds from the start.
    fn make_room(&mut self, offset: u64) -> usize {
        let index = loop {
            match usize::try_from(offset / self.width_s) {
                Ok(index) if index < self.max_points => break index,
                _ => self.coarsen(),
            }
        };
        if self.points.len() <= index {
            self.points.resize_with(index + 1, || None);
        }
        index
    }

    /// The width can't overflow: at least 2 intervals still fit into an offset.
    fn coarsen(&mut self) {
        let mut points = std::mem::take(&mut self.points).into_iter();
        while let Some(first) = points.next() {
            self.points.push(join(first, points.next().flatten()));
        }
        self.width_s *= 2;
    }
}

fn join<T: Merge>(first: Option<Covered<T>>, second: Option<Covered<T>>) -> Option<Covered<T>> {
    match (first, second) {
        (Some(mut first), Some(second)) => {
            first.value.merge(&second.value);
            first.covered_s += second.covered_s;
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
enum Fault {
    #[error("series refused: a width of {width_s} s cannot come from steps of {step_s} s")]
    Width { width_s: u64, step_s: u64 },
    #[error("series refused: {points} points with max_points {max_points}, which must be 2 or more")]
    Length { points: usize, max_points: usize },
    #[error("series refused: point {index} covers {covered_s} s, expected whole steps within the interval")]
    Coverage { index: usize, covered_s: u64 },
    #[error("series refused: last_s does not belong to the last of {points} points")]
    LastSecond { points: usize },
}

/// A damaged record must give an error instead of wrong times.
#[derive(Debug, Deserialize)]
struct Saved<T> {
    start_s: u64,
    step_s: u64,
    width_s: u64,
    max_points: usize,
    last_s: Option<u64>,
    points: Vec<Option<Covered<T>>>,
}

impl<T> Saved<T> {
    fn check(&self) -> Result<(), Fault> {
        let Self { step_s, width_s, max_points, .. } = *self;
        let points = self.points.len();
        let doublings = width_s.checked_div(step_s).unwrap_or(0);
        if !doublings.is_power_of_two() || doublings * step_s != width_s {
            return Err(Fault::Width { width_s, step_s });
        }
        if max_points < 2 || points > max_points {
            return Err(Fault::Length { points, max_points });
        }
        for (index, point) in self.points.iter().enumerate() {
            let Some(Covered { covered_s, .. }) = *point else { continue };
            if covered_s == 0 || covered_s > width_s || covered_s % step_s != 0 {
                return Err(Fault::Coverage { index, covered_s });
            }
        }
        if self.last_is_consistent() { Ok(()) } else { Err(Fault::LastSecond { points }) }
    }

    /// No interval then starts beyond the largest second.
    fn last_is_consistent(&self) -> bool {
        let (Some(last_s), Some(last_point)) = (self.last_s, self.points.last()) else {
            return self.last_s.is_none() && self.points.is_empty();
        };
        let Some(offset) = last_s.checked_sub(self.start_s) else { return false };
        let index = usize::try_from(offset / self.width_s).ok();
        last_point.is_some() && offset % self.step_s == 0 && index == Some(self.points.len() - 1)
    }
}

impl<T> TryFrom<Saved<T>> for Series<T> {
    type Error = Fault;

    fn try_from(saved: Saved<T>) -> Result<Self, Self::Error> {
        saved.check()?;
        let Saved { start_s, step_s, width_s, max_points, last_s, points } = saved;
        Ok(Self { start_s, step_s, width_s, max_points, last_s, points })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    /// Saved series can have longer steps.
    fn with_step(start_s: u64, step_s: u64, max_points: usize) -> Series<u64> {
        Series { step_s, width_s: step_s, ..Series::new(start_s, max_points) }
    }

    fn per_second(point: &Point<'_, u64>) -> Option<f64> {
        point.value.map(|&n| n as f64 / point.covered_s as f64)
    }

    fn values(series: &Series<u64>) -> Vec<Option<u64>> {
        series.points().map(|p| p.value.copied()).collect()
    }

    #[test]
    fn a_gap_is_none_and_not_zero() {
        let mut series = Series::new(10, 8);
        assert!(series.is_empty());
        for second in [10, 11, 14] {
            series.push(second, 5).unwrap();
        }
        assert_eq!(values(&series), [Some(5), Some(5), None, None, Some(5)]);
        let last = series.points().last().unwrap();
        assert_eq!((last.start_s, last.covered_s, per_second(&last)), (14, 1, Some(5.0)));
        let gap = series.points().nth(2).unwrap();
        assert_eq!((gap.start_s, gap.covered_s, per_second(&gap)), (12, 0, None));
    }

    #[test]
    fn a_full_series_merges_pairs_and_doubles_its_width() {
        let mut series = Series::new(0, 4);
        for second in 0..4 {
            series.push(second, 1 << second).unwrap();
        }
        assert_eq!((series.width_s(), series.len()), (1, 4));
        series.push(4, 16).unwrap();
        assert_eq!(series.width_s(), 2);
        assert_eq!(values(&series), [Some(3), Some(12), Some(16)]);
    }

    #[test]
    fn a_half_filled_interval_does_not_look_like_a_drop() {
        let mut series = Series::new(0, 4);
        for second in 0..9 {
            series.push(second, 100).unwrap();
        }
        assert_eq!(series.width_s(), 4);
        let rates: Vec<_> = series.points().map(|p| per_second(&p)).collect();
        assert_eq!(rates, [Some(100.0); 3]);
        assert_eq!(series.points().map(|p| p.covered_s).collect::<Vec<_>>(), [4, 4, 1]);
    }

    #[test]
    fn values_of_one_step_merge_and_cover_it_once() {
        let mut series = with_step(0, 5, 10);
        for second in [0, 4, 5, 12] {
            series.push(second, 50).unwrap();
        }
        assert_eq!(values(&series), [Some(100), Some(50), Some(50)]);
        assert!(series.points().all(|p| p.covered_s == 5));
    }

    #[test]
    fn the_past_is_refused_and_changes_nothing() {
        let mut series = Series::new(3, 4);
        assert_eq!(series.push(2, 1), Err(SeriesError::BeforeStart { second: 2, start_s: 3 }));
        series.push(5, 1).unwrap();
        let before = series.clone();
        assert_eq!(series.push(4, 1), Err(SeriesError::OutOfOrder { second: 4, last_s: 5 }));
        assert_eq!(series, before);
    }

    #[test]
    fn the_farthest_second_fits_the_smallest_bound() {
        for start in [0, 1, u64::MAX] {
            let mut series = Series::new(start, 0);
            series.push(start, 1).unwrap();
            series.push(u64::MAX, 2).unwrap();
            assert!(series.len() <= 2);
            assert_eq!(values(&series).iter().flatten().sum::<u64>(), 3);
        }
    }

    #[test]
    fn histograms_coarsen_too() {
        let mut series = Series::new(0, 2);
        for second in 0..4 {
            let mut histogram = Histogram::new();
            histogram.record(second * 1000);
            series.push(second, histogram).unwrap();
        }
        let extremes: Vec<_> = series.points().map(|p| p.value.unwrap().max()).collect();
        assert_eq!(extremes, [Some(1000), Some(3000)]);
    }

    proptest! {
        #[test]
        fn coarsening_conserves_totals_and_coverage(
            start in 0_u64..100,
            step in 1_u64..7,
            max_points in 2_usize..40,
            gaps in prop::collection::vec((0_u64..9, 0_u64..1000), 1..300),
        ) {
            let mut series = with_step(start, step, max_points);
            let (mut second, mut total) = (start, 0);
            let mut steps = std::collections::BTreeSet::new();
            for (gap, value) in gaps {
                second += gap;
                series.push(second, value).unwrap();
                total += value;
                steps.insert((second - start) / step);
            }
            prop_assert!(series.len() <= max_points);
            prop_assert_eq!(series.points().filter_map(|p| p.value).sum::<u64>(), total);
            prop_assert_eq!(series.points().map(|p| p.covered_s).sum::<u64>(), steps.len() as u64 * step);
            prop_assert!(series.points().all(|p| p.covered_s <= series.width_s()));
            prop_assert!(series.points().all(|p| p.value.is_some() == (p.covered_s > 0)));
            let saved = serde_json::to_string(&series).unwrap();
            prop_assert_eq!(serde_json::from_str::<Series<u64>>(&saved).unwrap(), series);
        }
    }

    const SAVED: &str = r#"{"start_s":3,"step_s":5,"width_s":10,"max_points":4,"last_s":23,
        "points":[{"covered_s":10,"value":9},null,{"covered_s":5,"value":4}]}"#;

    #[test]
    fn a_saved_series_is_read_and_goes_on() {
        let mut series: Series<u64> = serde_json::from_str(SAVED).unwrap();
        series.push(28, 1).unwrap();
        let last = series.points().last().unwrap();
        assert_eq!((last.start_s, last.covered_s, last.value), (23, 10, Some(&5)));
        assert!(series.push(27, 1).is_err());
    }

    #[test]
    fn an_empty_series_survives_saving() {
        let series = Series::<u64>::new(5, 10);
        let saved = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series<u64>>(&saved).unwrap(), series);
    }

    #[rstest]
    #[case(r#""step_s":5"#, r#""step_s":0"#, "width of 10 s")]
    #[case(r#""width_s":10"#, r#""width_s":15"#, "width of 15 s")]
    #[case(r#""width_s":10"#, r#""width_s":11"#, "width of 11 s")]
    #[case(r#""width_s":10"#, r#""width_s":0"#, "width of 0 s")]
    #[case(r#""max_points":4"#, r#""max_points":2"#, "3 points with max_points 2")]
    #[case(r#""covered_s":10"#, r#""covered_s":15"#, "point 0 covers 15 s")]
    #[case(r#""covered_s":10"#, r#""covered_s":9"#, "point 0 covers 9 s")]
    #[case(r#""covered_s":5"#, r#""covered_s":0"#, "point 2 covers 0 s")]
    #[case(r#""last_s":23"#, r#""last_s":24"#, "last_s does not belong")]
    #[case(r#""last_s":23"#, r#""last_s":33"#, "last_s does not belong")]
    #[case(r#""last_s":23"#, r#""last_s":null"#, "last_s does not belong")]
    #[case(r#""start_s":3"#, r#""start_s":28"#, "last_s does not belong")]
    #[case(r#"{"covered_s":5,"value":4}"#, "null", "last_s does not belong")]
    fn damage_is_named(#[case] good: &str, #[case] bad: &str, #[case] expected: &str) {
        let damaged = SAVED.replacen(good, bad, 1);
        assert_ne!(damaged, SAVED);
        let message = serde_json::from_str::<Series<u64>>(&damaged).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
