//! Reads over time.

use slob_record::Record;

use super::absent;
use super::timeline::{Timeline, has_any};
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};

/// Reads per second as the database and the kernel counted them.
pub(super) fn chart(record: &Record) -> Chart {
    let resolution = Timeline::of(record).map(|time| time.resolution()).unwrap_or_default();
    Chart {
        id: "reads-over-time".into(),
        title: "Reads over time".into(),
        about: format!(
            "Blocks read per second, {resolution}. Physical and device reads differ by what a cache below the \
             database serves, and by merged requests. Shaded: outside the measured window."
        ),
        source: "the database's counters; the kernel's counters of the device".into(),
        body: drawing(record),
    }
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let physical = time.sampled(|interval, seconds| Some(interval.physical_reads? as f64 / seconds));
    let logical = time.sampled(|interval, seconds| Some(interval.logical_reads? as f64 / seconds));
    let device = time.seen(|interval, seconds| Some(interval.device?.reads as f64 / seconds));
    if !has_any(&physical) && !has_any(&device) {
        return absent("neither the database nor the device counted reads while the run lasted");
    }
    let mut traces = Vec::new();
    let lines = [
        ("physical reads", Colour::Reads, physical, false),
        ("device reads", Colour::Device, device, false),
        ("logical reads", Colour::Logical, logical, true),
    ];
    for (name, colour, y, is_hidden) in lines.into_iter().filter(|(_, _, y, _)| has_any(y)) {
        let line = Line::new(name, colour, Unit::Count, time.x(), y);
        let stroke = if colour == Colour::Device { Stroke::Dotted } else { Stroke::Solid };
        traces.push(Trace::Line(Line { is_hidden, stroke, ..line }));
    }
    Ok(time.drawing(Axis::linear("reads per second", Unit::Count), traces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn reads_are_per_second_between_samples() {
        let record = fixture::direct_read_run();
        let drawing = drawing(&record).unwrap();
        let [Trace::Line(physical), Trace::Line(device), Trace::Line(logical)] = &drawing.traces[..] else {
            panic!("{:?}", drawing.traces)
        };
        // 298 SELECTs of 65 reads in 1.001 s.
        assert!((physical.y[0].unwrap() - 298.0 * 65.0 / 1.001).abs() < 1e-9);
        assert_eq!((physical.y.len(), physical.x[0], device.stroke), (72, 0.5, Stroke::Dotted));
        assert!(logical.is_hidden && !physical.is_hidden);
        // All had stopped after 71 s.
        assert!(physical.y[70].is_some() && physical.y[71].is_none());
        // The window is 10.25 to 70.25 s of 72.
        assert_eq!(drawing.shades, [(0.0, 10.25), (70.25, 72.0)]);
    }

    #[test]
    fn a_gap_in_the_samples_is_a_gap_in_the_line() {
        let mut record = fixture::direct_read_run();
        fixture::with_gap(&mut record, 20..30);
        let drawing = drawing(&record).unwrap();
        let Trace::Line(physical) = &drawing.traces[0] else { panic!("{:?}", drawing.traces) };
        assert!(physical.y[19].is_some() && physical.y[20].is_none() && physical.y[29].is_none());
    }

    #[test]
    fn a_run_without_a_series_has_no_chart() {
        let chart = chart(&fixture::failed_run());
        assert!(chart.body.unwrap_err().0.contains("before its first second"));
    }
}
