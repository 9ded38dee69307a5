//! The part of a record's series that lies within the measured window.

use crate::sums::total;
use slob_record::{Interval, Record};
use slob_stats::Point;

/// Operations per second of one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Where the interval begins, in seconds from the sessions' start.
    pub start_s: f64,
    /// Operations that ended in it, per second.
    pub operations_per_s: f64,
}

/// Operations per second of as many intervals as the window is long, in order of time: the first is the one in which it
/// begins, since the sessions were at work before. Empty without a window. An interval in which nothing was reported counts
/// as 0: nothing ended in it.
#[must_use]
pub fn operation_rates(record: &Record) -> Vec<Rate> {
    let width_s = record.series.width_s() as f64;
    let rate = |point: Point<'_, Interval>| Rate {
        start_s: point.start_s as f64,
        operations_per_s: operations_of(&point) as f64 / width_s,
    };
    let Some(window) = record.window else { return Vec::new() };
    let begins = |point: &Point<'_, Interval>| point.start_s as f64 + width_s > window.begin_s;
    let ends =
        |point: &Point<'_, Interval>| point.start_s as f64 + width_s <= window.begin_s + window.seconds;
    let whole = |point: &Point<'_, Interval>| begins(point) && ends(point);
    record.series.points().filter(whole).map(rate).collect()
}

/// The intervals that lie wholly within the window, with their first seconds; `None` for one without a value.
pub(crate) fn window_intervals(record: &Record) -> Vec<(u64, Option<&Interval>)> {
    let points = record.series.points().filter(|point| inside(record, point));
    points.map(|point| (point.start_s, point.value)).collect()
}

/// Operations of the intervals wholly within the window, and of those that touch it: what the window itself saw
/// lies between. `None` without a window or a series.
pub(crate) fn operations_within_and_touching(record: &Record) -> Option<(u64, u64)> {
    if record.window.is_none() || record.series.is_empty() {
        return None;
    }
    let within = window_intervals(record).into_iter().filter_map(|(_, interval)| interval);
    let operations = |interval: &Interval| interval.ops.total();
    Some((total(within.map(operations)), total(intervals_touching(record).map(operations))))
}

/// The intervals that touch the window, as far as they have a value.
pub(crate) fn intervals_touching(record: &Record) -> impl Iterator<Item = &Interval> {
    let width_s = record.series.width_s() as f64;
    let touches = move |start_s: f64| {
        record.window.is_some_and(|window| {
            start_s < window.begin_s + window.seconds && start_s + width_s > window.begin_s
        })
    };
    record.series.points().filter(move |point| touches(point.start_s as f64)).filter_map(|point| point.value)
}

fn operations_of(point: &Point<'_, Interval>) -> u64 {
    point.value.map_or(0, |interval| interval.ops.total())
}

fn inside(record: &Record, point: &Point<'_, Interval>) -> bool {
    is_measured(record, point.start_s)
}

/// Whether the interval of the series that begins at that second lies wholly within the window.
pub(crate) fn is_measured(record: &Record, start_s: u64) -> bool {
    let (start_s, width_s) = (start_s as f64, record.series.width_s() as f64);
    record.window.is_some_and(|window| {
        start_s >= window.begin_s && start_s + width_s <= window.begin_s + window.seconds
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn only_whole_intervals_count() {
        let record = fixture::direct_read_run();
        let rates = operation_rates(&record);
        // The window is 10.25 to 70.25 s.
        assert_eq!((rates.len(), rates[0].start_s, rates[59].start_s), (60, 10.0, 69.0));
        let (within, touching) = operations_within_and_touching(&record).unwrap();
        let ends = |second: usize| record.series.points().nth(second).unwrap().value.unwrap().ops.total();
        assert_eq!(touching - within, ends(10) + ends(70));
    }

    #[test]
    fn without_a_window_there_is_nothing() {
        let record = fixture::failed_run();
        assert!(operation_rates(&record).is_empty());
        assert_eq!(operations_within_and_touching(&record), None);
    }
}
