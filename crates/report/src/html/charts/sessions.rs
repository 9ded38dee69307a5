//! How evenly the sessions worked: a bar each while they are few, else how many did how much.

use slob_record::{Record, SessionRecord};

use crate::counters::ratio;
use crate::format::{count, duration_us, plural};
use crate::html::plot::{Absent, Axis, Bar, Bars, Chart, Colour, Drawing, Trace, Unit};

/// With more sessions the bars are of a histogram.
const MOST_BARS: usize = 64;
/// Most sessions that are named below their bars.
const MOST_NAMES: usize = 16;
/// Bars of that histogram.
const BINS: usize = 40;

/// Operations and mean latency of the sessions.
pub(super) fn charts(record: &Record) -> Vec<Chart> {
    let many = record.sessions.len() > MOST_BARS;
    let each = if many { "How many sessions had how much of it." } else { "A bar for each session." };
    let chart = |id: &'static str, title: &str, body| Chart {
        id: id.into(),
        title: title.into(),
        about: format!("{each} Sessions that do the same work should look the same."),
        source: "this program's count and clock for each session; the whole window".into(),
        body,
    };
    vec![
        chart(
            "session-operations",
            "Operations of the sessions",
            spread(
                record,
                &Measure {
                    what: "operations",
                    unit: Unit::Count,
                    of: |session| Some(session.operations() as f64),
                    show: |value| count(value.round() as u64),
                },
            ),
        ),
        chart(
            "session-latency",
            "Mean latency of the sessions",
            spread(
                record,
                &Measure {
                    what: "mean latency",
                    unit: Unit::Seconds,
                    of: |session| ratio(session.busy_us as f64 / 1e6, session.operations() as f64),
                    show: |value| duration_us(value * 1e6),
                },
            ),
        ),
    ]
}

/// A figure of a session.
struct Measure {
    what: &'static str,
    unit: Unit,
    of: fn(&SessionRecord) -> Option<f64>,
    show: fn(f64) -> String,
}

fn spread(record: &Record, measure: &Measure) -> Result<Drawing, Absent> {
    let values: Vec<(u32, f64)> = record
        .sessions
        .iter()
        .filter_map(|session| Some((session.session, (measure.of)(session)?)))
        .collect();
    if values.is_empty() || record.window.is_none() {
        return super::absent("no session worked within a measured window");
    }
    let many = record.sessions.len() > MOST_BARS;
    let bars = if many { histogram(&values, measure) } else { one_each(&values, measure) };
    let trace = Trace::Bars(Bars {
        name: measure.what.into(),
        colour: Colour::Reads,
        opacity: Bars::OPACITY,
        bars,
        horizontal: false,
    });
    let figure = Axis::linear(measure.what, measure.unit);
    let drawing = if many {
        Drawing::new(figure, Axis::linear("sessions", Unit::Count), vec![trace])
    } else {
        let mut sessions = Axis::linear("session", Unit::Plain);
        let every = values.len().div_ceil(MOST_NAMES);
        let named =
            values.iter().step_by(every).map(|(session, _)| (f64::from(*session), session.to_string()));
        sessions.names = named.collect();
        Drawing::new(sessions, figure, vec![trace])
    };
    Ok(Drawing { height_px: 260, ..drawing })
}

fn one_each(values: &[(u32, f64)], measure: &Measure) -> Vec<Bar> {
    let bar = |(session, value): &(u32, f64)| Bar {
        at: f64::from(*session),
        width: 0.8,
        length: *value,
        hover: format!("session {session}: {}", (measure.show)(*value)),
    };
    values.iter().map(bar).collect()
}

/// Bars of equal width from the least to the most.
fn histogram(values: &[(u32, f64)], measure: &Measure) -> Vec<Bar> {
    let least = values.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    let most = values.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
    // If all are the same, one bar around that value is wide enough to be seen.
    let width =
        if most > least { (most - least) / BINS as f64 } else { (most.abs() / 100.0).max(f64::MIN_POSITIVE) };
    let mut counts = [0_u64; BINS];
    values.iter().for_each(|(_, value)| counts[(((value - least) / width) as usize).min(BINS - 1)] += 1);
    let bar = |(bin, n): (usize, &u64)| {
        let low = least + bin as f64 * width;
        let range = format!("{} to {}", (measure.show)(low), (measure.show)(low + width));
        let hover = format!("{range}: {}", plural(*n, "session"));
        Bar { at: low + width / 2.0, width, length: *n as f64, hover }
    };
    counts.iter().enumerate().filter(|(_, n)| **n > 0).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn bars(record: &Record) -> Vec<Bar> {
        let drawing = charts(record).swap_remove(0).body.unwrap();
        match &drawing.traces[..] {
            [Trace::Bars(bars)] => bars.bars.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn few_sessions_have_a_bar_each() {
        let record = fixture::direct_read_run();
        let lengths: Vec<f64> = bars(&record).iter().map(|bar| bar.length).collect();
        assert_eq!(lengths, [4536.0, 4464.0, 4482.0, 4518.0]);
    }

    #[test]
    fn many_sessions_are_counted_and_none_is_lost() {
        let mut record = fixture::direct_read_run();
        let one = record.sessions[0].clone();
        record.sessions = (0..4096)
            .map(|session| SessionRecord { session, selects: 1000 + u64::from(session) % 37, ..one.clone() })
            .collect();
        let bars = bars(&record);
        assert!(bars.len() <= BINS);
        assert_eq!(bars.iter().map(|bar| bar.length).sum::<f64>(), 4096.0);
    }

    #[test]
    fn sessions_that_did_all_the_same_are_one_bar() {
        let mut record = fixture::direct_read_run();
        record.sessions = vec![record.sessions[0].clone(); 100];
        let bars = bars(&record);
        assert_eq!((bars.len(), bars[0].length), (1, 100.0));
    }
}
