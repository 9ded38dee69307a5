//! A run's series on the axis of time.

use slob_record::{Interval, Record};
use slob_stats::Point;

use crate::counters::ratio;
use crate::html::plot::{Absent, Axis, Drawing, Trace, Unit};

/// Longest run whose time is shown in seconds, and in minutes.
const SECONDS_UP_TO_S: f64 = 600.0;
const MINUTES_UP_TO_S: f64 = 3.0 * 3600.0;

/// The intervals of a series with their places on the axis of time.
pub(super) struct Timeline<'a> {
    record: &'a Record,
    /// Seconds in a unit of the axis.
    unit_s: f64,
    unit: &'static str,
}

impl<'a> Timeline<'a> {
    /// Of a record; absent if it has no series.
    pub(super) fn of(record: &'a Record) -> Result<Self, Absent> {
        let series = &record.series;
        if series.is_empty() {
            return Err(Absent("the run ended before its first second was recorded".into()));
        }
        let length_s = (series.start_s() + series.len() as u64 * series.width_s()) as f64;
        let (unit_s, unit) = match length_s {
            _ if length_s <= SECONDS_UP_TO_S => (1.0, "seconds"),
            _ if length_s <= MINUTES_UP_TO_S => (60.0, "minutes"),
            _ => (3600.0, "hours"),
        };
        Ok(Self { record, unit_s, unit })
    }

    /// The middles of the intervals.
    pub(super) fn x(&self) -> Vec<f64> {
        let half_s = self.width_s() / 2.0;
        self.record.series.points().map(|point| (point.start_s as f64 + half_s) / self.unit_s).collect()
    }

    /// The borders of the intervals, one more than there are intervals.
    pub(super) fn edges(&self) -> Vec<f64> {
        let (start_s, width_s) = (self.record.series.start_s() as f64, self.width_s());
        (0..=self.record.series.len()).map(|index| (start_s + index as f64 * width_s) / self.unit_s).collect()
    }

    /// A value of each interval; `None` without an interval.
    pub(super) fn y(&self, of: impl Fn(&Interval) -> Option<f64>) -> Vec<Option<f64>> {
        self.record.series.points().map(|point| of(point.value?)).collect()
    }

    /// A count of each interval, per second of it; `None` once the sessions began to stop, since that would look like a
    /// fall of the rate.
    pub(super) fn per_second(&self, of: impl Fn(&Interval) -> f64) -> Vec<Option<f64>> {
        let rate = |point: Point<'_, Interval>| ratio(of(self.whole(&point)?), point.covered_s as f64);
        self.record.series.points().map(rate).collect()
    }

    /// A sampled amount of each interval, with the seconds between its samples; `None` once the sessions began to stop.
    pub(super) fn sampled(&self, of: impl Fn(&Interval, f64) -> Option<f64>) -> Vec<Option<f64>> {
        self.timed(|interval| interval.sampled_s, of)
    }

    /// The same of what was seen on the database's host, with the seconds by that host's clock.
    pub(super) fn seen(&self, of: impl Fn(&Interval, f64) -> Option<f64>) -> Vec<Option<f64>> {
        self.timed(|interval| interval.observed_s.or(interval.sampled_s), of)
    }

    fn timed(
        &self,
        by: impl Fn(&Interval) -> Option<f64>,
        of: impl Fn(&Interval, f64) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let value = |point: Point<'_, Interval>| {
            let interval = self.whole(&point)?;
            of(interval, by(interval).filter(|seconds| *seconds > 0.0)?)
        };
        self.record.series.points().map(value).collect()
    }

    /// The interval, if all sessions were at work until its end.
    fn whole(&self, point: &Point<'a, Interval>) -> Option<&'a Interval> {
        let stopped_s = self.record.ended.duration_since(self.record.started).as_secs_f64();
        point.value.filter(|_| point.start_s as f64 + self.width_s() <= stopped_s)
    }

    /// A drawing over time, in which all but the measured window is shaded.
    pub(super) fn drawing(&self, y: Axis, traces: Vec<Trace>) -> Drawing {
        let edges = self.edges();
        let (begin, end) = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(0.0));
        let shades = match self.record.window {
            None => vec![(begin, end)],
            Some(window) => {
                let from = window.begin_s / self.unit_s;
                let to = (window.begin_s + window.seconds) / self.unit_s;
                [(begin, from), (to, end)].into_iter().filter(|(from, to)| from < to).collect()
            }
        };
        let x = Axis::linear(format!("{} from the start of the sessions", self.unit), Unit::Plain);
        let marks = self.record.marks.iter().map(|mark| (mark.at_s / self.unit_s, mark.text.clone()));
        let marks = marks.filter(|(at, _)| (begin..=end).contains(at)).collect();
        Drawing { is_timeline: true, shades, marks, ..Drawing::new(x.ranging(begin, end), y, traces) }
    }

    /// How long an interval is, in words.
    pub(super) fn resolution(&self) -> String {
        match self.record.series.width_s() {
            1 => "second by second".into(),
            width => format!("in intervals of {width} s"),
        }
    }

    fn width_s(&self) -> f64 {
        self.record.series.width_s() as f64
    }
}

/// Whether anything is known at any time.
pub(super) fn has_any(values: &[Option<f64>]) -> bool {
    values.iter().any(Option::is_some)
}
