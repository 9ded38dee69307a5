//! Reading a saved series: every rule that [`Series`] keeps is checked, so that a damaged record gives an
//! error instead of wrong times.

use serde::Deserialize;
use thiserror::Error;

use crate::series::{Covered, Series};

/// Why a saved series was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SeriesFormatError {
    /// The width is not the step times a power of two, or the step is 0.
    #[error("series refused: a width of {width_s} s cannot come from steps of {step_s} s")]
    Width {
        /// Seconds of an interval.
        width_s: u64,
        /// Seconds of a step.
        step_s: u64,
    },
    /// The bound is below 2 or below the number of points.
    #[error("series refused: {points} points with max_points {max_points}, which must be 2 or more")]
    Length {
        /// Points given.
        points: usize,
        /// Bound given.
        max_points: usize,
    },
    /// A point covers nothing, more than its interval, or part of a step.
    #[error("series refused: point {index} covers {covered_s} s, expected whole steps within the interval")]
    Coverage {
        /// Position of the point.
        index: usize,
        /// Seconds it claims.
        covered_s: u64,
    },
    /// The last second does not lie on a step of the last point, or is missing, or the last point is a gap.
    #[error("series refused: last_s does not belong to the last of {points} points")]
    LastSecond {
        /// Points given.
        points: usize,
    },
}

/// The fields of [`Series`] as saved, not yet checked.
#[derive(Debug, Deserialize)]
pub(crate) struct SeriesWire<T> {
    start_s: u64,
    step_s: u64,
    width_s: u64,
    max_points: usize,
    last_s: Option<u64>,
    points: Vec<Option<Covered<T>>>,
}

impl<T> SeriesWire<T> {
    fn check(&self) -> Result<(), SeriesFormatError> {
        let Self { step_s, width_s, max_points, .. } = *self;
        let points = self.points.len();
        let doublings = width_s.checked_div(step_s).unwrap_or(0);
        if !doublings.is_power_of_two() || doublings * step_s != width_s {
            return Err(SeriesFormatError::Width { width_s, step_s });
        }
        if max_points < 2 || points > max_points {
            return Err(SeriesFormatError::Length { points, max_points });
        }
        for (index, point) in self.points.iter().enumerate() {
            let Some(Covered { covered_s, .. }) = *point else { continue };
            if covered_s == 0 || covered_s > width_s || covered_s % step_s != 0 {
                return Err(SeriesFormatError::Coverage { index, covered_s });
            }
        }
        if self.last_is_consistent() { Ok(()) } else { Err(SeriesFormatError::LastSecond { points }) }
    }

    /// Whether the last second is a step of the last point. It also proves that no interval starts beyond
    /// the largest second.
    fn last_is_consistent(&self) -> bool {
        let (Some(last_s), Some(last_point)) = (self.last_s, self.points.last()) else {
            return self.last_s.is_none() && self.points.is_empty();
        };
        let Some(offset) = last_s.checked_sub(self.start_s) else { return false };
        let index = usize::try_from(offset / self.width_s).ok();
        last_point.is_some() && offset % self.step_s == 0 && index == Some(self.points.len() - 1)
    }
}

impl<T> TryFrom<SeriesWire<T>> for Series<T> {
    type Error = SeriesFormatError;

    fn try_from(wire: SeriesWire<T>) -> Result<Self, Self::Error> {
        wire.check()?;
        let SeriesWire { start_s, step_s, width_s, max_points, last_s, points } = wire;
        Ok(Self { start_s, step_s, width_s, max_points, last_s, points })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
