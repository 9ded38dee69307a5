//! The saved form of a histogram: `{"unit":"ns","count":..,"min":..,"max":..,"sum":..,"beyond_range":..,
//! "buckets":[[low_ns,count],..]}`, only non-empty buckets, ascending. `min` and `max` are null when empty.

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use crate::bounds::{Bounds, Counts, sum_bounds, total};
use crate::bucket::{BUCKETS, bucket_starting_at};
use crate::histogram::{Exact, Histogram};

const UNIT: &str = "ns";

/// Why a saved histogram was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HistogramError {
    /// The unit is not nanoseconds.
    #[error("unit is \"{0}\", expected \"ns\"")]
    Unit(String),
    /// A bucket does not start where a bucket of this version starts.
    #[error("no bucket starts at {0} ns")]
    NotABucket(u64),
    /// Buckets are not in ascending order, or one appears twice.
    #[error("the bucket at {0} ns is repeated or out of order")]
    Order(u64),
    /// Only non-empty buckets are saved.
    #[error("the bucket at {0} ns has a count of 0")]
    EmptyBucket(u64),
    /// The buckets do not add up to the count.
    #[error("count is {stated}, but the buckets hold {held}")]
    Count {
        /// What `count` says.
        stated: u64,
        /// What the buckets add up to.
        held: u64,
    },
    /// Smallest or largest value given without any value, or missing.
    #[error("min and max must be given exactly when there are values")]
    Extremes,
    /// More values beyond the range than the last bucket holds.
    #[error("beyond_range is {stated}, but the last bucket holds {held}")]
    BeyondRange {
        /// What `beyond_range` says.
        stated: u64,
        /// Count of the last bucket.
        held: u64,
    },
    /// A figure contradicts the buckets.
    #[error("{field} is {value} ns, but the buckets allow {low} to {high} ns")]
    Contradiction {
        /// Name of the figure.
        field: &'static str,
        /// Its value in nanoseconds.
        value: u64,
        /// Least possible value in nanoseconds.
        low: u64,
        /// Greatest possible value in nanoseconds.
        high: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct Wire {
    unit: String,
    count: u64,
    min: Option<u64>,
    max: Option<u64>,
    sum: u64,
    beyond_range: u64,
    buckets: Vec<(u64, u64)>,
}

impl From<&Histogram> for Wire {
    fn from(histogram: &Histogram) -> Self {
        Self {
            unit: UNIT.to_owned(),
            count: histogram.count(),
            min: histogram.min(),
            max: histogram.max(),
            sum: histogram.sum(),
            beyond_range: histogram.beyond_range(),
            buckets: histogram.buckets().map(|(low, _, n)| (low, n)).collect(),
        }
    }
}

impl TryFrom<Wire> for Histogram {
    type Error = HistogramError;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        if wire.unit != UNIT {
            return Err(HistogramError::Unit(wire.unit));
        }
        let counts = read_buckets(&wire.buckets)?;
        let held = total(&counts);
        if held != wire.count {
            return Err(HistogramError::Count { stated: wire.count, held });
        }
        let (stated, held) = (wire.beyond_range, counts[BUCKETS - 1]);
        if stated > held {
            return Err(HistogramError::BeyondRange { stated, held });
        }
        let Some(bounds) = Bounds::of(&counts, stated) else {
            return read_empty(&wire);
        };
        let (Some(min), Some(max)) = (wire.min, wire.max) else {
            return Err(HistogramError::Extremes);
        };
        check("min", min, &bounds.min)?;
        check("max", max, &bounds.max)?;
        check("max", max, &(min..=u64::MAX))?;
        check("sum", wire.sum, &sum_bounds(&counts, stated, max))?;
        Ok(Self::from_parts(counts, Exact { min, max, sum: wire.sum, beyond: stated }))
    }
}

/// Sparse buckets into the full array.
fn read_buckets(buckets: &[(u64, u64)]) -> Result<Box<Counts>, HistogramError> {
    let mut counts = Box::new([0; BUCKETS]);
    let mut previous = None;
    for &(low, n) in buckets {
        let index = bucket_starting_at(low).ok_or(HistogramError::NotABucket(low))?;
        if previous >= Some(index) {
            return Err(HistogramError::Order(low));
        }
        if n == 0 {
            return Err(HistogramError::EmptyBucket(low));
        }
        counts[index] = n;
        previous = Some(index);
    }
    Ok(counts)
}

/// A saved histogram without values: nothing may claim one.
fn read_empty(wire: &Wire) -> Result<Histogram, HistogramError> {
    if wire.min.is_some() || wire.max.is_some() {
        return Err(HistogramError::Extremes);
    }
    check("sum", wire.sum, &(0..=0))?;
    Ok(Histogram::new())
}

fn check(field: &'static str, value: u64, range: &RangeInclusive<u64>) -> Result<(), HistogramError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(HistogramError::Contradiction { field, value, low: *range.start(), high: *range.end() })
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let advice = "the record was damaged or edited, restore it from a copy";
        Self::try_from(Wire::deserialize(deserializer)?)
            .map_err(|error| D::Error::custom(format_args!("histogram refused: {error}; {advice}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn wire() -> Wire {
        let mut histogram = Histogram::new();
        [100, 200, 200, 5_000_000].into_iter().for_each(|ns| histogram.record(ns));
        Wire::from(&histogram)
    }

    #[test]
    fn the_saved_form_is_sparse_and_names_its_unit() {
        let mut histogram = Histogram::new();
        histogram.record_n(100, 2);
        let saved = serde_json::to_string(&histogram).unwrap();
        let expected = r#"{"unit":"ns","count":2,"min":100,"max":100,"sum":200,"beyond_range":0,"#;
        assert_eq!(saved, format!("{expected}\"buckets\":[[100,2]]}}"));
        let empty = serde_json::to_string(&Histogram::new()).unwrap();
        assert!(empty.contains(r#""min":null,"max":null"#), "{empty}");
        assert_eq!(serde_json::from_str::<Histogram>(&empty).unwrap(), Histogram::new());
    }

    #[rstest]
    #[case::unit(|w: &mut Wire| w.unit = "us".into(), HistogramError::Unit("us".into()))]
    #[case::start(|w: &mut Wire| w.buckets[1].0 = 201, HistogramError::NotABucket(201))]
    #[case::order(|w: &mut Wire| w.buckets.swap(0, 1), HistogramError::Order(100))]
    #[case::zero(|w: &mut Wire| w.buckets[0].1 = 0, HistogramError::EmptyBucket(100))]
    #[case::count(|w: &mut Wire| w.count = 5, HistogramError::Count { stated: 5, held: 4 })]
    #[case::no_min(|w: &mut Wire| w.min = None, HistogramError::Extremes)]
    #[case::beyond(|w: &mut Wire| w.beyond_range = 1, HistogramError::BeyondRange { stated: 1, held: 0 })]
    #[case::min(|w: &mut Wire| w.min = Some(99),
        HistogramError::Contradiction { field: "min", value: 99, low: 100, high: 100 })]
    fn a_contradiction_is_named(#[case] damage: fn(&mut Wire), #[case] expected: HistogramError) {
        let mut wire = wire();
        damage(&mut wire);
        assert_eq!(Histogram::try_from(wire), Err(expected));
    }

    #[test]
    fn max_and_sum_must_fit_the_buckets() {
        for field in ["max", "sum"] {
            let mut wire = wire();
            *(if field == "max" { wire.max.as_mut().unwrap() } else { &mut wire.sum }) = 6_000_000;
            let error = Histogram::try_from(wire).unwrap_err();
            assert!(matches!(error, HistogramError::Contradiction { field: f, .. } if f == field), "{error}");
        }
    }

    #[test]
    fn max_is_not_below_min_within_one_bucket() {
        let mut histogram = Histogram::new();
        histogram.record(1_000_000);
        let wire = Wire { max: Some(999_999), ..Wire::from(&histogram) };
        let refused =
            HistogramError::Contradiction { field: "max", value: 999_999, low: 1_000_000, high: u64::MAX };
        assert_eq!(Histogram::try_from(wire), Err(refused));
    }

    #[test]
    fn an_empty_histogram_claims_no_values() {
        let empty = || Wire::from(&Histogram::new());
        let refused = Histogram::try_from(Wire { min: Some(0), ..empty() });
        assert_eq!(refused, Err(HistogramError::Extremes));
        assert!(Histogram::try_from(Wire { sum: 1, ..empty() }).is_err());
    }

    #[test]
    fn the_message_says_what_to_do() {
        let text = serde_json::to_string(&Histogram::new()).unwrap().replace("\"ns\"", "\"ms\"");
        let message = serde_json::from_str::<Histogram>(&text).unwrap_err().to_string();
        assert!(message.contains("unit is \"ms\"") && message.contains("restore"), "{message}");
    }
}
