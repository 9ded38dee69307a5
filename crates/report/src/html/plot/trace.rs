//! What is drawn between the axes.

use serde_json::{Value, json};

use super::axis::Unit;
use super::colour::Colour;
use super::measured::MeasuredBars;
use super::number;
use crate::html::escape;

/// What is filled with a line's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Nothing.
    Nothing,
    /// Down to the trace before it.
    ToPrevious,
    /// Down to the trace below it, which it stands on.
    Stacked,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid,
    Dotted,
    Dashed,
    DashDotted,
    LongDashed,
}

impl Stroke {
    fn token(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Dotted => "dot",
            Self::Dashed => "dash",
            Self::DashDotted => "dashdot",
            Self::LongDashed => "longdash",
        }
    }
}

/// A line through points; it breaks where a value is absent.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// For the legend.
    pub(crate) name: String,
    pub(crate) colour: Colour,
    /// Unit of `y`.
    pub(crate) unit: Unit,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<Option<f64>>,
    pub(crate) fill: Fill,
    /// Whether `y` is on the right axis.
    pub(crate) on_right: bool,
    pub(crate) stroke: Stroke,
    /// Whether each of its points is shown.
    pub(crate) has_markers: bool,
    /// Whether it is drawn only after a click on its name.
    pub(crate) is_hidden: bool,
}

impl Line {
    /// A plain line on the left axis.
    pub(crate) fn new(name: &str, colour: Colour, unit: Unit, x: Vec<f64>, y: Vec<Option<f64>>) -> Self {
        let fill = Fill::Nothing;
        Self {
            name: name.to_owned(),
            colour,
            unit,
            x,
            y,
            fill,
            on_right: false,
            stroke: Stroke::Solid,
            has_markers: false,
            is_hidden: false,
        }
    }

    fn to_json(&self) -> Value {
        let colour = self.colour.token();
        // In a stack the library takes what is absent for zero: so it is not told of it.
        let is_shown = |y: &Option<f64>| y.is_some() || self.fill != Fill::Stacked;
        let points = || self.x.iter().zip(&self.y).filter(|(_, y)| is_shown(y));
        // A single point is no line.
        let mode =
            if self.has_markers || self.y.iter().flatten().count() == 1 { "lines+markers" } else { "lines" };
        let mut line = json!({
            "type": "scatter",
            "mode": mode,
            "name": escape::label(&self.name),
            "x": points().map(|(x, _)| number::of(*x)).collect::<Value>(),
            "y": points().map(|(_, y)| number::or_null(*y)).collect::<Value>(),
            "line": { "color": colour, "width": 1.8, "dash": self.stroke.token() },
            "hovertemplate": self.unit.hover("y"),
        });
        match self.fill {
            Fill::Nothing => {}
            Fill::ToPrevious => {
                line["fill"] = "tonexty".into();
                line["fillcolor"] = format!("{colour}/0.16").into();
            }
            Fill::Stacked => {
                line["stackgroup"] = "all".into();
                line["fillcolor"] = format!("{colour}/0.55").into();
                line["line"]["width"] = 0.8.into();
            }
        }
        if self.has_markers && self.colour.is_repeated() {
            line["marker"] = json!({ "symbol": "diamond-open", "size": 9 });
        }
        if self.on_right {
            line["yaxis"] = "y2".into();
        }
        if self.is_hidden {
            line["visible"] = "legendonly".into();
        }
        line
    }
}

/// Bars from zero.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// For the legend.
    pub(crate) name: String,
    pub(crate) colour: Colour,
    /// How much of what is behind them they hide, from 0 to 1.
    pub(crate) opacity: f64,
    /// Place, width and length of each.
    pub(crate) bars: Vec<Bar>,
    /// Whether they lie.
    pub(crate) horizontal: bool,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// Its middle on the axis that it stands on.
    pub(crate) at: f64,
    /// Its width on that axis.
    pub(crate) width: f64,
    /// How long it is.
    pub(crate) length: f64,
    /// What is shown under the pointer.
    pub(crate) hover: String,
}

impl Bars {
    /// How much bars hide that stand alone.
    pub(crate) const OPACITY: f64 = 0.85;

    fn to_json(&self) -> Value {
        let places: Value = self.bars.iter().map(|bar| number::of(bar.at)).collect();
        let lengths: Value = self.bars.iter().map(|bar| number::of(bar.length)).collect();
        let (x, y) = if self.horizontal { (lengths, places) } else { (places, lengths) };
        json!({
            "type": "bar",
            "orientation": if self.horizontal { "h" } else { "v" },
            "name": escape::label(&self.name),
            "x": x,
            "y": y,
            "width": self.bars.iter().map(|bar| number::of(bar.width)).collect::<Value>(),
            "hovertext": self.bars.iter().map(|bar| Value::from(escape::label(&bar.hover))).collect::<Value>(),
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": { "color": format!("{}/{}", self.colour.token(), self.opacity), "line": { "width": 0 } },
        })
    }
}

/// Counts in a grid, as colours on a logarithmic scale.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    /// Borders of the columns, one more than there are columns.
    pub(crate) x_edges: Vec<f64>,
    /// Borders of the rows, in seconds, one more than there are rows.
    pub(crate) y_edges: Vec<f64>,
    /// Counts, row by row from the lowest.
    pub(crate) counts: Vec<Vec<u64>>,
    /// What is counted.
    pub(crate) of: &'static str,
}

impl Heat {
    /// The script takes the logarithms: so each count is written once.
    fn to_json(&self) -> Value {
        json!({
            "type": "heatmap",
            "x": self.x_edges.iter().map(|x| number::of(*x)).collect::<Value>(),
            "y": self.y_edges.iter().map(|y| number::of(*y)).collect::<Value>(),
            "counts": self.counts,
            "of": self.of,
        })
    }
}

/// Anything that can be drawn.
#[derive(Clone, Debug)]
pub(crate) enum Trace {
    Line(Line),
    Bars(Bars),
    Heat(Heat),
    Measured(MeasuredBars),
}

impl Trace {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Line(line) => line.to_json(),
            Self::Bars(bars) => bars.to_json(),
            Self::Heat(heat) => heat.to_json(),
            Self::Measured(bars) => bars.to_json(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_a_gap_in_a_line_and_no_zero_in_a_stack() {
        let line =
            Line::new("a", Colour::Reads, Unit::Count, vec![0.0, 1.0, 2.0], vec![Some(5.0), None, Some(6.0)]);
        assert_eq!(line.to_json()["y"], json!([5, null, 6]));
        let stacked = Line { fill: Fill::Stacked, ..line }.to_json();
        assert_eq!((&stacked["x"], &stacked["y"]), (&json!([0, 2]), &json!([5, 6])));
    }
}
