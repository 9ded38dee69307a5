//! The means of the variants as bars, with what they are known within.

use super::{bar_place, sessions_axis};
use crate::analysis::{Analysis, Row, Table};
use crate::format::{plural, significant};
use crate::html::plot::{Axis, Chart, Colour, Drawing, MeasuredBar, MeasuredBars, Trace, Unit};

pub(super) fn chart(analysis: &Analysis, table: &Table, place: usize) -> Chart {
    Chart {
        id: format!("means-{place}").into(),
        title: "Means with their intervals".into(),
        about: format!(
            "The mean of the repeats of each cell; the line at its end is its {} confidence interval, which a single run \
             does not have.",
            analysis.confidence
        ),
        source: "the runs of the analysis; Student's interval of the mean".into(),
        body: Ok(drawing(table)),
    }
}

fn drawing(table: &Table) -> Drawing {
    let variants = table.rows.len();
    let trace = |(at, row): (usize, &Row)| {
        Trace::Measured(MeasuredBars {
            name: row.variant.clone(),
            colour: Colour::Variant(at),
            bars: bars(table, row, at, variants),
        })
    };
    let traces = table.rows.iter().enumerate().map(trace).collect();
    Drawing::new(sessions_axis(table), Axis::linear(table.metric.as_str(), Unit::Count), traces)
}

fn bars(table: &Table, row: &Row, variant_at: usize, variants: usize) -> Vec<MeasuredBar> {
    let bar = |(sessions_at, (sessions, cell)): (usize, (&u32, &crate::analysis::Cell))| {
        let (at, width) = bar_place(sessions_at, variant_at, variants);
        let value = cell.mean?;
        let interval = cell.low.zip(cell.high);
        let within = interval
            .map(|(low, high)| format!(", {} to {}", significant(low), significant(high)))
            .unwrap_or_default();
        let (shown, runs) = (significant(value), plural(cell.runs as u64, "run"));
        let hover = format!("{} at {sessions} sessions: {shown}{within}; {runs}", row.variant);
        Some(MeasuredBar { at, width, value, interval, hover })
    };
    table.sessions.iter().zip(&row.cells).enumerate().filter_map(bar).collect()
}
