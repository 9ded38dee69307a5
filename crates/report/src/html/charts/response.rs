//! Response time beside service time, in an open loop.

use slob_record::{Interval, Record};
use slob_stats::Histogram;

use super::timeline::{Timeline, has_any};
use crate::format::{count, plural};
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::latencies::percentile_us;

/// Both times over time; `None` for a closed loop, where they are the same thing.
pub(super) fn chart(record: &Record) -> Option<Chart> {
    let rate = record.workload.rate_per_s?;
    let backlog = record.backlog.map_or_else(String::new, |backlog| {
        let due = if backlog == 1 { "was" } else { "were" };
        format!(" At the end of the window {} {due} due and not done.", plural(backlog, "operation"))
    });
    Some(Chart {
        id: "response-over-time".into(),
        title: "Response and service time".into(),
        about: format!(
            "{} operations/s were to start. Service time is an operation's own; response time counts from the moment at \
             which it was due. Where the system can't keep up, operations wait, and response time alone grows.{backlog}",
            count(u64::from(rate))
        ),
        source: "the plan of arrivals and the clock around each operation; histograms for each interval"
            .into(),
        body: drawing(record),
    })
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    type Of = fn(&Interval) -> &Histogram;
    let (service, response): (Of, Of) = (|interval| &interval.latency, |interval| &interval.response);
    let line = |name: &str, colour, stroke, of: Of, percent: f64| {
        let seconds = time.y(|interval| Some(percentile_us(of(interval), percent)? / 1e6));
        Line { stroke, ..Line::new(name, colour, Unit::Seconds, time.x(), seconds) }
    };
    let lines = [
        line("response p50", Colour::Updates, Stroke::Solid, response, 50.0),
        line("response p99", Colour::Updates, Stroke::Dotted, response, 99.0),
        line("service p50", Colour::Reads, Stroke::Solid, service, 50.0),
        line("service p99", Colour::Reads, Stroke::Dotted, service, 99.0),
    ];
    if !lines.iter().any(|line| has_any(&line.y)) {
        return super::absent("no operation ended while the run lasted");
    }
    Ok(time.drawing(Axis::log("time", Unit::Seconds), lines.map(Trace::Line).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn an_open_loop_has_both_times_and_its_backlog() {
        let mut record = fixture::direct_read_run();
        assert!(chart(&record).is_none());
        record.workload.rate_per_s = Some(1200);
        record.backlog = Some(300);
        fixture::with_responses(&mut record, 10);
        let chart = chart(&record).unwrap();
        assert!(chart.about.contains("300 operations were due"), "{}", chart.about);
        let drawing = chart.body.unwrap();
        let y = |index: usize| match &drawing.traces[index] {
            Trace::Line(line) => line.y[20].unwrap(),
            other => panic!("{other:?}"),
        };
        // Ten times the service time.
        assert!((y(0) / y(2) / 10.0 - 1.0).abs() < 0.02, "{} {}", y(0), y(2));
    }
}
