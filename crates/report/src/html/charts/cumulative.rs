//! Cumulative distribution of latencies, with the tail spread out.

use slob_measure::{LatencyKind, OpKind};
use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::latency;
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::latencies::percentile_us;

/// Points for each tenfold of what is left above: the scale is that of HdrHistogram's percentile plots.
const POINTS_PER_DECADE: u32 = 24;
/// Named places: percentiles.
const NAMED: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// What share of operations and reads kept which latency.
pub(super) fn chart(record: &Record) -> Chart {
    Chart {
        id: "latency-distribution".into(),
        title: "Latency by percentile".into(),
        about: "What latency which share of operations and reads kept. The scale gives each further nine of the \
                percentile the same room: the tail is on the right."
            .into(),
        source: "the clock around each operation, and the database's around each read and sync, where it has one; the \
                 whole window"
            .into(),
        body: drawing(record),
    }
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    if record.window.is_none() {
        return super::absent("the run ended before its measured window");
    }
    let kinds = [
        (OpKind::Select, "SELECT", Colour::Reads),
        (OpKind::Update, "UPDATE", Colour::Updates),
        (OpKind::Scan, "SCAN", Colour::Scans),
    ];
    let operations = kinds.iter().filter_map(|(kind, name, colour)| {
        Some((*name, *colour, Stroke::Solid, &record.operations.get(kind)?.latency))
    });
    let measured = [
        (LatencyKind::PhysicalRead, "physical read", Colour::Device),
        (LatencyKind::RedoSync, "redo sync", Colour::Redo),
    ];
    let measured = measured
        .iter()
        .filter_map(|(key, name, colour)| Some((*name, *colour, Stroke::Dotted, latency(record, *key)?)));
    let all: Vec<_> =
        operations.chain(measured).filter(|(_, _, _, histogram)| !histogram.is_empty()).collect();
    let most = all.iter().map(|(_, _, _, histogram)| histogram.count()).max().unwrap_or(0);
    if most == 0 {
        return super::absent("no operation ended within the window");
    }
    let trace = |(name, colour, stroke, histogram): (&str, Colour, Stroke, &Histogram)| {
        let (x, y) = curve(histogram);
        Trace::Line(Line { stroke, ..Line::new(name, colour, Unit::Seconds, x, y) })
    };
    let traces = all.into_iter().map(trace).collect();
    let mut x = Axis::log("percentile", Unit::Plain).ranging(1.0, most as f64);
    x.names = NAMED.iter().map(|percent| (left_above(*percent), percent.to_string())).collect();
    Ok(Drawing::new(x, Axis::log("latency", Unit::Seconds), traces))
}

/// One in how many is above a percentile: the scale of the chart.
fn left_above(percent: f64) -> f64 {
    100.0 / (100.0 - percent)
}

/// Percentiles up to the maximum.
fn curve(histogram: &Histogram) -> (Vec<f64>, Vec<Option<f64>>) {
    let last = histogram.count() as f64;
    let steps = (last.log10() * f64::from(POINTS_PER_DECADE)).ceil() as u32;
    let places = (0..steps).map(|step| 10_f64.powf(f64::from(step) / f64::from(POINTS_PER_DECADE)));
    let inner = places.map(|one_in| (one_in, percentile_us(histogram, 100.0 - 100.0 / one_in)));
    let points = inner.chain([(last, percentile_us(histogram, 100.0))]);
    points.map(|(x, us)| (x, us.map(|us| us / 1e6))).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn curves_rise_to_the_maximum() {
        let record = fixture::direct_read_run();
        let histogram = &record.operations[&OpKind::Select].latency;
        let (x, y) = curve(histogram);
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]) && y.windows(2).all(|pair| pair[0] <= pair[1]));
        let is_near = |seconds: f64, ns: Option<u64>| (seconds - ns.unwrap() as f64 / 1e9).abs() < 1e-12;
        assert!(is_near(y.last().unwrap().unwrap(), histogram.max()), "{y:?}");
        assert!(is_near(y[0].unwrap(), histogram.min()), "{y:?}");
    }

    #[test]
    fn one_operation_is_a_point() {
        let mut histogram = Histogram::new();
        histogram.record(5_000);
        assert_eq!(curve(&histogram), (vec![1.0], vec![Some(5e-6)]));
    }

    #[test]
    fn what_ran_and_what_was_measured_has_a_curve() {
        let drawing = drawing(&fixture::update_run()).unwrap();
        assert_eq!(drawing.traces.len(), 4);
        assert!(super::drawing(&fixture::failed_run()).is_err());
    }
}
