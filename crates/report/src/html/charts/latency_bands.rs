//! Latency over time as bands between percentiles.

use slob_record::Record;

use super::timeline::Timeline;
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Fill, Line, Trace, Unit};
use crate::latencies::percentile_us;

/// What is drawn, from below.
const PERCENTILES: [(f64, &str); 5] =
    [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9"), (100.0, "max")];

/// Percentiles of the operations that ended in each interval.
pub(super) fn chart(record: &Record) -> Chart {
    Chart {
        id: "latency-over-time".into(),
        title: "Operation latency over time".into(),
        about: "Percentiles of the operations that ended in each interval, all kinds together. Averages hide what the \
                upper bands show."
            .into(),
        source: "the clock around each operation; a histogram for each interval".into(),
        body: drawing(record),
    }
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    if record.series.points().all(|point| point.value.is_none_or(|interval| interval.latency.is_empty())) {
        return super::absent("no operation ended while the run lasted");
    }
    let line = |(step, (percent, name)): (usize, &(f64, &str))| {
        let seconds = time.y(|interval| Some(percentile_us(&interval.latency, *percent)? / 1e6));
        let fill = if step == 0 { Fill::Nothing } else { Fill::ToPrevious };
        let colour = Colour::Latency(step as u8);
        Trace::Line(Line { fill, ..Line::new(name, colour, Unit::Seconds, time.x(), seconds) })
    };
    let traces = PERCENTILES.iter().enumerate().map(line).collect();
    let drawing = time.drawing(Axis::log("latency", Unit::Seconds), traces);
    Ok(Drawing { height_px: 360, ..drawing })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn bands_lie_above_each_other() {
        let drawing = drawing(&fixture::direct_read_run()).unwrap();
        let lines: Vec<&Line> = drawing
            .traces
            .iter()
            .map(|trace| match trace {
                Trace::Line(line) => line,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(lines.len(), PERCENTILES.len());
        for pair in lines.windows(2) {
            assert!(pair[0].y.iter().zip(&pair[1].y).all(|(low, high)| low.unwrap() <= high.unwrap()));
        }
    }
}
