//! A bounded series of values over the seconds of a run.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::histogram::Histogram;
use crate::series_wire::SeriesWire;

/// A value of an interval that can absorb that of the interval after it.
pub trait Merge {
    /// Makes `self` the value of both intervals together.
    fn merge(&mut self, later: &Self);
}

/// A count: the sum of both, saturating.
impl Merge for u64 {
    fn merge(&mut self, later: &Self) {
        *self = self.saturating_add(*later);
    }
}

/// An amount, such as seconds: the sum of both.
impl Merge for f64 {
    fn merge(&mut self, later: &Self) {
        *self += later;
    }
}

/// What is known on both sides together, or what is known on one.
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

/// Why a value could not be added to a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// The second lies before the start of the series.
    #[error("second {second} lies before the series, which starts at second {start_s}; drop the value")]
    BeforeStart {
        /// Run-relative second of the refused value.
        second: u64,
        /// First second of the series.
        start_s: u64,
    },
    /// A value of a later step was added before.
    #[error("second {second} comes after second {last_s} was added; add values in order of time")]
    OutOfOrder {
        /// Run-relative second of the refused value.
        second: u64,
        /// First second of the last step that was added.
        last_s: u64,
    },
}

/// Values of consecutive intervals of equal width, at most `max_points` of them.
///
/// Values arrive once per *step* (by default a second), in order of time. While they fit, an interval is one
/// step. When one more would exceed the bound, neighbouring pairs are merged and the width doubles, so any
/// run length fits and totals are kept. An interval that got no value is `None`.
///
/// How much of an interval was really covered is kept with it ([`Point::covered_s`]): the last interval of a
/// coarsened series is often half filled, and a rate over its full width would show a drop that never was.
///
/// With [`Histogram`] a point takes 19 KB of memory: 600 points are 11 MB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SeriesWire<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct Series<T> {
    pub(crate) start_s: u64,
    pub(crate) step_s: u64,
    pub(crate) width_s: u64,
    pub(crate) max_points: usize,
    /// First second of the last step that got a value.
    pub(crate) last_s: Option<u64>,
    pub(crate) points: Vec<Option<Covered<T>>>,
}

/// A value and the seconds it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Covered<T> {
    pub(crate) covered_s: u64,
    pub(crate) value: T,
}

/// One interval of a [`Series`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a, T> {
    /// First second of the interval, relative to the run.
    pub start_s: u64,
    /// Seconds of the interval that got a value; 0 if none did.
    pub covered_s: u64,
    /// The merged value; `None` if nothing was added.
    pub value: Option<&'a T>,
}

impl Point<'_, u64> {
    /// The count per covered second; `None` for an interval without a value.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        self.value.map(|&n| n as f64 / self.covered_s as f64)
    }
}

impl<T> Series<T> {
    /// A series of one-second steps from `start_s` on. `max_points` is at least 2: less is taken as 2.
    #[must_use]
    pub fn new(start_s: u64, max_points: usize) -> Self {
        Self::with_step(start_s, NonZeroU64::MIN, max_points)
    }

    /// A series for values that each stand for `step_s` seconds, as from a sampler with that period.
    #[must_use]
    pub fn with_step(start_s: u64, step_s: NonZeroU64, max_points: usize) -> Self {
        let step_s = step_s.get();
        let max_points = max_points.max(2);
        Self { start_s, step_s, width_s: step_s, max_points, last_s: None, points: Vec::new() }
    }

    /// First second of the series, relative to the run.
    #[must_use]
    pub fn start_s(&self) -> u64 {
        self.start_s
    }

    /// Width of an interval in seconds.
    #[must_use]
    pub fn width_s(&self) -> u64 {
        self.width_s
    }

    /// The bound on [`len`](Self::len).
    #[must_use]
    pub fn max_points(&self) -> usize {
        self.max_points
    }

    /// Number of intervals up to the last one with a value, gaps included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether no value was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The intervals in order of time, gaps included.
    pub fn points(&self) -> impl ExactSizeIterator<Item = Point<'_, T>> {
        self.points.iter().enumerate().map(|(index, point)| Point {
            start_s: self.start_s + index as u64 * self.width_s,
            covered_s: point.as_ref().map_or(0, |p| p.covered_s),
            value: point.as_ref().map(|p| &p.value),
        })
    }
}

impl<T: Merge> Series<T> {
    /// Adds the value of the step that contains run-relative `second`. Several values of one step are
    /// merged; steps may be left out.
    ///
    /// # Errors
    /// [`SeriesError`] if the second lies before the series or before the last step added. The series is
    /// unchanged then.
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

    /// Coarsens until the interval at `offset` seconds from the start fits, and returns its index.
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

    /// Merges neighbouring pairs and doubles the width. The width cannot overflow: this is only needed
    /// while at least 2 (the least bound) whole intervals fit into an offset.
    fn coarsen(&mut self) {
        let mut points = std::mem::take(&mut self.points).into_iter();
        while let Some(first) = points.next() {
            self.points.push(join(first, points.next().flatten()));
        }
        self.width_s *= 2;
    }
}

/// The value of two neighbouring intervals.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert_eq!((last.start_s, last.covered_s, last.per_second()), (14, 1, Some(5.0)));
        let gap = series.points().nth(2).unwrap();
        assert_eq!((gap.start_s, gap.covered_s, gap.per_second()), (12, 0, None));
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
        let rates: Vec<_> = series.points().map(|p| p.per_second()).collect();
        assert_eq!(rates, [Some(100.0); 3]);
        assert_eq!(series.points().map(|p| p.covered_s).collect::<Vec<_>>(), [4, 4, 1]);
    }

    #[test]
    fn values_of_one_step_merge_and_cover_it_once() {
        let mut series = Series::with_step(0, NonZeroU64::new(5).unwrap(), 10);
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
            let mut series = Series::with_step(start, NonZeroU64::new(step).unwrap(), max_points);
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
}
