//! Two charts of the same kind laid over each other: what is of the first run in one colour, of the second in another.

use super::{Axis, Bars, Chart, Colour, Drawing, Fill, Line, Stroke, Trace};

/// What tells the two runs apart, in the order of the charts.
const RUNS: [(&str, Colour); 2] = [("first", Colour::First), ("second", Colour::Second)];
/// What tells the lines of a run apart, in their order.
const STROKES: [Stroke; 5] =
    [Stroke::Solid, Stroke::Dotted, Stroke::Dashed, Stroke::DashDotted, Stroke::LongDashed];
/// How much bars hide that stand before others.
const OPACITY: f64 = 0.55;

impl Chart {
    /// Both charts in one; side by side where their axes do not fit or what they show can't be laid over each other;
    /// one alone where the other is absent, with the reason.
    pub(crate) fn overlay(first: &Self, second: &Self) -> Vec<Self> {
        match (&first.body, &second.body) {
            (Ok(a), Ok(b)) if fit(a, b) => {
                let unstacked = if is_stacked(a) { " Here the lines are not stacked." } else { "" };
                let about = format!("{}{unstacked}", first.about);
                vec![Self { about, body: Ok(laid_over(a, b)), ..first.clone() }]
            }
            (Err(a), Err(b)) if a == b => vec![first.clone()],
            _ => [first, second].into_iter().zip(RUNS).map(|(chart, (run, _))| chart.of_run(run)).collect(),
        }
    }

    /// The charts of two runs: those of the same name laid over each other, those of one run alone as they are.
    pub(crate) fn overlay_all(first: &[Self], second: &[Self]) -> Vec<Self> {
        let [(first_run, _), (second_run, _)] = RUNS;
        let other = |chart: &Self, others: &[Self]| others.iter().find(|other| other.id == chart.id).cloned();
        let mut charts: Vec<Self> = Vec::new();
        for chart in first {
            match other(chart, second) {
                Some(other) => charts.extend(Self::overlay(chart, &other)),
                None => charts.push(chart.of_run(first_run)),
            }
        }
        let alone = second.iter().filter(|chart| other(chart, first).is_none());
        charts.extend(alone.map(|chart| chart.of_run(second_run)));
        charts
    }

    fn of_run(&self, run: &str) -> Self {
        Self {
            id: format!("{}-{run}", self.id).into(),
            title: format!("{}: {run}", self.title),
            ..self.clone()
        }
    }
}

/// Whether both can be read on the same axes.
fn fit(a: &Drawing, b: &Drawing) -> bool {
    let axes = |drawing: &Drawing| {
        let key = |axis: &Axis| (axis.title.clone(), axis.unit, axis.log);
        (key(&drawing.x), key(&drawing.y))
    };
    // Bars that lie have a name each, which is not the same in both.
    let is_free = |trace: &Trace| match trace {
        Trace::Line(_) => true,
        Trace::Bars(bars) => !bars.horizontal,
        Trace::Heat(_) | Trace::Measured(_) => false,
    };
    axes(a) == axes(b) && a.traces.iter().chain(&b.traces).all(is_free)
}

fn is_stacked(drawing: &Drawing) -> bool {
    drawing.traces.iter().any(|trace| matches!(trace, Trace::Line(line) if line.fill == Fill::Stacked))
}

fn laid_over(a: &Drawing, b: &Drawing) -> Drawing {
    let lines = line_names(a, b);
    let of = |drawing: &Drawing, (run, colour): (&str, Colour)| -> Vec<Trace> {
        drawing.traces.iter().map(|trace| of_run(trace, run, colour, &lines)).collect()
    };
    let [first, second] = RUNS;
    Drawing {
        traces: [of(a, first), of(b, second)].concat(),
        x: over_both(&a.x, &b.x),
        y: over_both(&a.y, &b.y),
        right: a.right.clone().or_else(|| b.right.clone()),
        is_timeline: a.is_timeline && b.is_timeline,
        shades: a.shades.iter().chain(&b.shades).copied().collect(),
        marks: [(a, first.0), (b, second.0)]
            .into_iter()
            .flat_map(|(drawing, run)| marks_of(drawing, run))
            .collect(),
        height_px: a.height_px.max(b.height_px),
    }
}

fn marks_of(drawing: &Drawing, run: &str) -> impl Iterator<Item = (f64, String)> {
    drawing.marks.iter().map(move |(at, text)| (*at, format!("{run}: {text}")))
}

/// The names of all lines, each once.
fn line_names(a: &Drawing, b: &Drawing) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for trace in a.traces.iter().chain(&b.traces) {
        if let Trace::Line(line) = trace
            && !names.contains(&line.name)
        {
            names.push(line.name.clone());
        }
    }
    names
}

/// A trace in the colour of its run. Lines are told apart by their strokes, and nothing is filled: what is filled hides
/// the other run.
fn of_run(trace: &Trace, run: &str, colour: Colour, lines: &[String]) -> Trace {
    match trace {
        Trace::Line(line) => {
            let place = lines.iter().position(|name| *name == line.name).unwrap_or(0);
            Trace::Line(Line {
                name: format!("{run}: {}", line.name),
                colour,
                fill: Fill::Nothing,
                stroke: STROKES[place % STROKES.len()],
                ..line.clone()
            })
        }
        Trace::Bars(bars) => {
            let mut bars = Bars { name: run.to_owned(), colour, opacity: OPACITY, ..bars.clone() };
            bars.bars.iter_mut().for_each(|bar| bar.hover = format!("{run}: {}", bar.hover));
            Trace::Bars(bars)
        }
        Trace::Heat(_) | Trace::Measured(_) => trace.clone(),
    }
}

/// An axis with room for both, and the names of the one that has more.
fn over_both(a: &Axis, b: &Axis) -> Axis {
    let range = match (a.range, b.range) {
        (Some((a_low, a_high)), Some((b_low, b_high))) => Some((a_low.min(b_low), a_high.max(b_high))),
        (range, other) => range.or(other),
    };
    let names = if a.names.len() >= b.names.len() { &a.names } else { &b.names };
    Axis { range, names: names.clone(), ..a.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::{Absent, Heat, Unit};
    use super::*;

    fn drawing(high: f64, traces: Vec<Trace>) -> Drawing {
        Drawing::new(
            Axis::linear("s", Unit::Plain).ranging(0.0, high),
            Axis::linear("n", Unit::Count),
            traces,
        )
    }

    fn line(name: &str, fill: Fill) -> Trace {
        let line = Line::new(name, Colour::Reads, Unit::Count, vec![1.0], vec![Some(2.0)]);
        Trace::Line(Line { fill, ..line })
    }

    fn chart(body: Result<Drawing, Absent>) -> Chart {
        Chart { id: "c".into(), title: "T".into(), about: String::new(), source: String::new(), body }
    }

    #[test]
    fn lines_of_two_runs_share_axes_and_keep_their_strokes() {
        let a = chart(Ok(drawing(10.0, vec![line("p50", Fill::Nothing), line("p99", Fill::ToPrevious)])));
        let b = chart(Ok(drawing(20.0, vec![line("p99", Fill::Stacked)])));
        let both = Chart::overlay(&a, &b);
        let [Chart { id, body: Ok(drawing), .. }] = &both[..] else { panic!("{both:?}") };
        assert_eq!((id.as_ref(), drawing.x.range), ("c", Some((0.0, 20.0))));
        let drawn: Vec<_> = drawing
            .traces
            .iter()
            .map(|trace| match trace {
                Trace::Line(line) => (line.name.as_str(), line.colour, line.stroke, line.fill),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            ("first: p50", Colour::First, Stroke::Solid, Fill::Nothing),
            ("first: p99", Colour::First, Stroke::Dotted, Fill::Nothing),
            ("second: p99", Colour::Second, Stroke::Dotted, Fill::Nothing),
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn what_can_not_be_laid_over_stands_side_by_side() {
        let heat = || Heat {
            x_edges: vec![0.0, 1.0],
            y_edges: vec![1.0, 2.0],
            counts: vec![vec![1]],
            of: "operations",
        };
        let map = || chart(Ok(drawing(1.0, vec![Trace::Heat(heat())])));
        let ids =
            |charts: Vec<Chart>| charts.into_iter().map(|chart| chart.id.into_owned()).collect::<Vec<_>>();
        assert_eq!(ids(Chart::overlay(&map(), &map())), ["c-first", "c-second"]);
        let mut minutes = drawing(1.0, vec![line("a", Fill::Nothing)]);
        minutes.x.title = "minutes".into();
        let seconds = drawing(1.0, vec![line("a", Fill::Nothing)]);
        assert_eq!(ids(Chart::overlay(&chart(Ok(seconds)), &chart(Ok(minutes)))), ["c-first", "c-second"]);
    }

    #[test]
    fn what_one_run_lacks_is_said_of_it() {
        let reason = |text: &str| chart(Err(Absent(text.into())));
        let there = chart(Ok(drawing(1.0, vec![line("a", Fill::Nothing)])));
        let charts = Chart::overlay(&there, &reason("nobody looked"));
        assert!(charts[0].body.is_ok() && charts[1].title == "T: second", "{charts:?}");
        assert_eq!(charts[1].body.as_ref().unwrap_err().0, "nobody looked");
        assert_eq!(Chart::overlay(&reason("x"), &reason("x")).len(), 1);
    }
}
