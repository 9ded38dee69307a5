//! Throughput and latency over the number of sessions, on one chart, as sweeps of arrays are shown.

use crate::analysis::{Row, Table};
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};

pub(super) fn chart(table: &Table, place: usize) -> Chart {
    let knows_latency = table.rows.iter().any(|row| latency(row).iter().any(Option::is_some));
    let dotted = match knows_latency {
        true => {
            " Dotted, on the right: mean latency. Where the solid lines go flat and the dotted ones turn up, more sessions \
             only wait."
        }
        false => " These runs have no latency figures.",
    };
    Chart {
        id: format!("sweep-{place}").into(),
        title: "Over the number of sessions".into(),
        about: format!("Solid, on the left: {}, the mean of the repeats.{dotted}", table.metric),
        source: "the runs of the analysis".into(),
        body: drawing(table),
    }
}

fn drawing(table: &Table) -> Result<Drawing, Absent> {
    if table.sessions.len() < 2 {
        return Err(Absent("all runs have the same number of sessions".into()));
    }
    let x: Vec<f64> = table.sessions.iter().map(|sessions| f64::from(*sessions)).collect();
    let mut traces = Vec::new();
    let mut latencies = Vec::new();
    for (at, row) in table.rows.iter().enumerate() {
        let line = |name: &str, unit, y| {
            let line = Line::new(name, Colour::Variant(at), unit, x.clone(), y);
            Line { has_markers: true, ..line }
        };
        traces.push(Trace::Line(line(&row.variant, Unit::Count, means(row))));
        let latency = line(&format!("{}: latency", row.variant), Unit::Seconds, latency(row));
        if latency.y.iter().any(Option::is_some) {
            latencies.push(Trace::Line(Line { stroke: Stroke::Dotted, on_right: true, ..latency }));
        }
    }
    let right = (!latencies.is_empty()).then(|| Axis::linear("mean latency", Unit::Seconds));
    traces.extend(latencies);
    let names = table.sessions.iter().map(|sessions| (f64::from(*sessions), sessions.to_string())).collect();
    // Sweeps double: so each step has the same room.
    let axis = Axis { names, ..Axis::log("sessions", Unit::Plain) };
    let y = Axis::linear(table.metric.as_str(), Unit::Count);
    Ok(Drawing { right, height_px: 380, ..Drawing::new(axis, y, traces) })
}

fn means(row: &Row) -> Vec<Option<f64>> {
    row.cells.iter().map(|cell| cell.mean).collect()
}

fn latency(row: &Row) -> Vec<Option<f64>> {
    row.cells.iter().map(|cell| Some(cell.latency_us? / 1e6)).collect()
}
