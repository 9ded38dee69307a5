//! Operations and log over time.

use slob_record::Record;

use super::timeline::{Timeline, has_any};
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Fill, Line, Trace, Unit};

/// Operations per second by kind, with the log that they wrote.
pub(super) fn chart(record: &Record) -> Chart {
    Chart {
        id: "operations-over-time".into(),
        title: "Operations and redo over time".into(),
        about: "Operations that ended in each interval, per second, stacked by kind; redo on the right where the \
                database counts it."
            .into(),
        source: "this program's count of operations; the database's counter of redo".into(),
        body: drawing(record),
    }
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    let time = Timeline::of(record)?;
    let kind = |of: fn(&slob_measure::OpCounts) -> u64| time.per_second(|interval| of(&interval.ops) as f64);
    let kinds = [
        ("SELECT", Colour::Reads, kind(|ops| ops.selects)),
        ("UPDATE", Colour::Updates, kind(|ops| ops.updates)),
        ("SCAN", Colour::Scans, kind(|ops| ops.scans)),
    ];
    let happened = |y: &[Option<f64>]| y.iter().flatten().any(|rate| *rate > 0.0);
    let mut traces = Vec::new();
    for (name, colour, y) in kinds.into_iter().filter(|(_, _, y)| happened(y)) {
        let line = Line::new(name, colour, Unit::Count, time.x(), y);
        traces.push(Trace::Line(Line { fill: Fill::Stacked, ..line }));
    }
    let redo = time.sampled(|interval, seconds| Some(interval.redo_bytes? as f64 / 1e6 / seconds));
    let mut drawing = time.drawing(Axis::linear("operations per second", Unit::Count), traces);
    if has_any(&redo) {
        let line = Line::new("redo", Colour::Redo, Unit::Plain, time.x(), redo);
        drawing.traces.push(Trace::Line(Line { on_right: true, ..line }));
        drawing.right = Some(Axis::linear("redo MB/s", Unit::Plain));
    }
    if drawing.traces.is_empty() {
        return super::absent("no operation ended while the run lasted");
    }
    Ok(drawing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn kinds_that_never_ran_are_left_out_and_redo_has_its_own_axis() {
        let drawing = drawing(&fixture::update_run()).unwrap();
        let names: Vec<&str> = drawing
            .traces
            .iter()
            .map(|trace| match trace {
                Trace::Line(line) => line.name.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["SELECT", "redo"]);
        assert!(drawing.right.is_some());
        assert!(super::drawing(&fixture::direct_read_run()).unwrap().right.is_none());
    }
}
