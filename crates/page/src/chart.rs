//! A chart as data, without knowledge of records or of the chart library. The page's script draws its JSON in a light or dark
//! theme.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use itertools::Itertools;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::escape;

#[derive(Clone, Debug)]
pub struct Chart {
    pub id: String,
    pub title: String,
    pub about: String,
    pub source: String,
    pub body: Result<Drawing, String>,
}

pub const COLOURS: usize = 8;

impl Chart {
    pub fn container(&self) -> String {
        let (id, title) = (&self.id, escape::text(&self.title));
        let about = escape::prose(&self.about);
        let body = match &self.body {
            Ok(drawing) => format!(
                "<div class=\"plot\" data-chart=\"{id}\" role=\"img\" aria-label=\"{title}\" \
                 style=\"height:{}px\"></div>\n<p class=\"source\">Source: {}.</p>",
                drawing.height_px,
                escape::text(&self.source)
            ),
            Err(reason) => format!("<p class=\"absent\">Not shown: {}.</p>", escape::text(reason)),
        };
        format!(
            "<figure class=\"chart\" id=\"{id}\">\n<figcaption><h3>{title}</h3><p>{about}</p></figcaption>\n{body}\n\
             </figure>\n"
        )
    }
}

/// The page's script draws it.
#[derive(Serialize)]
struct Data<'a> {
    charts: BTreeMap<&'a str, Shown<'a>>,
    intervals: Vec<&'a Intervals>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    drawing: Cow<'a, Drawing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<usize>,
}

/// JSON in which nothing can end the script element.
pub fn data(charts: &[&Chart]) -> String {
    let mut shared: Vec<&Arc<Intervals>> = Vec::new();
    let mut drawings = BTreeMap::new();
    for chart in charts {
        let Ok(drawing) = &chart.body else { continue };
        let intervals = drawing.intervals.as_ref().map(|own| {
            let known = shared.iter().position(|known| Arc::ptr_eq(known, own));
            shared.extend(known.is_none().then_some(own));
            known.unwrap_or(shared.len() - 1)
        });
        drawings.insert(chart.id.as_str(), Shown { drawing: drawing.without_gaps_in_stacks(), intervals });
    }
    for_script(&Data { charts: drawings, intervals: shared.into_iter().map(Arc::as_ref).collect() })
}

fn for_script(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, ForScript));
    written.ok().and_then(|()| String::from_utf8(text).ok()).unwrap_or_default()
}

/// Five significant digits are the precision of a screen. Texts hold no tag: the library knows some.
struct ForScript;

impl Formatter for ForScript {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        const DIGITS: i32 = 5;
        /// The power of ten of a smaller number is infinite.
        const LEAST: f64 = 1e-300;
        let decimals = DIGITS - 1 - value.abs().max(LEAST).log10().floor() as i32;
        // A power of ten is exact, and so is the nearest number to the quotient.
        let power = 10f64.powi(decimals.abs());
        let rounded =
            if decimals > 0 { (value * power).round() / power } else { (value / power).round() * power };
        let is_whole = rounded.fract() == 0.0 && rounded.abs() < 1e15;
        if is_whole {
            CompactFormatter.write_i64(writer, rounded as i64)
        } else {
            CompactFormatter.write_f64(writer, rounded)
        }
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        writer.write_all(escape::label(fragment).replace('&', "\\u0026").as_bytes())
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Drawing {
    pub traces: Vec<Trace>,
    pub x: Axis,
    pub y: Axis,
    pub right: Option<Axis>,
    /// True if `x` is the time of the run: such charts zoom together.
    pub is_timeline: bool,
    pub shades: Vec<(f64, f64)>,
    pub marks: Vec<(f64, String)>,
    /// Present if the traces have a value or a column for each interval.
    #[serde(skip)]
    pub intervals: Option<Arc<Intervals>>,
    #[serde(skip)]
    pub height_px: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Intervals {
    /// Seconds of Unix time by the host's clock, or places in a row.
    pub spans: Vec<(i64, i64)>,
    pub names: Vec<String>,
}

impl Drawing {
    pub fn new(x: Axis, y: Axis, traces: Vec<Trace>) -> Self {
        let (is_timeline, shades, marks, intervals) = (false, Vec::new(), Vec::new(), None);
        Self { traces, x, y, right: None, is_timeline, shades, marks, intervals, height_px: 320 }
    }

    pub fn tall(self, height_px: u32) -> Self {
        Self { height_px, ..self }
    }

    /// Fails with this reason if there is nothing to draw.
    pub fn or(self, reason: &str) -> Result<Self, String> {
        if self.traces.is_empty() { Err(reason.to_owned()) } else { Ok(self) }
    }

    /// Horizontal bars in named rows of this height, the first on top.
    pub fn of_rows(x: Axis, names: Vec<String>, row_px: u32, bars: impl IntoIterator<Item = Bars>) -> Self {
        let height_px = 90 + row_px * names.len() as u32;
        let y = Axis::linear("", Unit::Plain)
            .named(names.into_iter().enumerate().map(|(row, name)| (-(row as f64), name)));
        let bars = bars.into_iter().map(|bars| Trace::Bars(Bars { is_horizontal: true, ..bars }));
        Self::new(x, y, bars.collect()).tall(height_px)
    }

    pub fn over(intervals: Arc<Intervals>, y: Axis, traces: Vec<Trace>) -> Self {
        let title = if intervals.names.is_empty() { "time of the snapshots" } else { "reports in order" };
        let x = Axis::linear(title, Unit::Plain);
        Self { is_timeline: true, intervals: Some(intervals), ..Self::new(x, y, traces) }
    }

    /// Ends the axis above the bars, as intervals of two runs can be a thousand times as long. Cut whiskers say their end.
    pub fn following_bars(mut self, show: fn(f64) -> String) -> Self {
        // Room for whiskers, and for the texts of cut ones, in lengths of the longest bar.
        const WHISKERS: f64 = 1.5;
        const TEXTS: f64 = 1.7;
        let all = self.traces.iter_mut().filter_map(|trace| match trace {
            Trace::Bars(bars) => Some(&mut bars.bars),
            Trace::Line(_) | Trace::Levels(_) | Trace::Heat(_) => None,
        });
        let mut bars: Vec<&mut Bar> = all.flatten().collect();
        let longest = bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
        let mut is_cut = false;
        for bar in &mut bars {
            let Some((below, above)) = bar.error else { continue };
            if bar.length + above > WHISKERS * longest {
                bar.cut = Some(format!("to {}", show(bar.length + above)));
                bar.error = Some((below, WHISKERS * longest - bar.length));
                is_cut = true;
            }
        }
        if is_cut {
            self.y.range = Some((0.0, TEXTS * longest));
        }
        self
    }

    /// The library takes absent values of a stack for zero.
    fn without_gaps_in_stacks(&self) -> Cow<'_, Self> {
        let has_gaps = |line: &Line| line.fill == Fill::Stacked && line.y.contains(&None);
        if !self.traces.iter().any(|trace| matches!(trace, Trace::Line(line) if has_gaps(line))) {
            return Cow::Borrowed(self);
        }
        let mut drawing = self.clone();
        for trace in &mut drawing.traces {
            if let Trace::Line(line) = trace
                && has_gaps(line)
            {
                let points = line.x.iter().zip(&line.y).filter(|(_, y)| y.is_some());
                (line.x, line.y) = points.unzip();
            }
        }
        Cow::Owned(drawing)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Seconds,
    Count,
    Percent,
    Plain,
}

#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    pub title: String,
    pub unit: Unit,
    pub is_log: bool,
    pub range: Option<(f64, f64)>,
    pub names: Vec<(f64, String)>,
}

pub fn time_unit(length_s: f64) -> (f64, &'static str) {
    match length_s {
        ..=600.0 => (1.0, "seconds"),
        ..=10_800.0 => (60.0, "minutes"),
        ..=259_200.0 => (3600.0, "hours"),
        _ => (86_400.0, "days"),
    }
}

impl Axis {
    /// The axis begins at zero, or at the lowest value if that is negative.
    pub fn linear(title: impl Into<String>, unit: Unit) -> Self {
        Self { title: title.into(), unit, is_log: false, range: None, names: Vec::new() }
    }

    pub fn log(title: impl Into<String>, unit: Unit) -> Self {
        Self { is_log: true, ..Self::linear(title, unit) }
    }

    pub fn ranging(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    pub fn named(self, names: impl IntoIterator<Item = (f64, String)>) -> Self {
        Self { names: names.into_iter().collect(), ..self }
    }
}

/// The style sheet holds the colours, as `--c-<name>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Colour {
    Reads,
    Logical,
    Device,
    Updates,
    Scans,
    Redo,
    User,
    System,
    Interrupts,
    Stolen,
    Waiting,
    Database,
    Text,
    /// Darker with the percentile: 0 to 4.
    Latency(u8),
    /// Colours repeat after eight, with a pattern or another marker.
    Variant(usize),
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Trace {
    Line(Line),
    Levels(Levels),
    Bars(Bars),
    Heat(Heat),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    Nothing,
    ToPrevious,
    /// The line lies on the trace before it, and is filled down to that.
    Stacked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stroke {
    Solid,
    Dot,
    Dash,
    DashDot,
    LongDash,
}

#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub name: String,
    pub colour: Colour,
    pub x: Vec<f64>,
    pub y: Vec<Option<f64>>,
    pub fill: Fill,
    pub on_right: bool,
    pub stroke: Stroke,
    pub has_markers: bool,
    pub labels: Vec<String>,
    pub is_hidden: bool,
}

pub fn known(lines: impl IntoIterator<Item = Line>) -> Vec<Trace> {
    lines.into_iter().filter(Line::is_known).map(Trace::Line).collect()
}

impl Line {
    pub fn new(name: impl Into<String>, colour: Colour, x: Vec<f64>, y: Vec<Option<f64>>) -> Self {
        let (name, fill, stroke, labels) = (name.into(), Fill::Nothing, Stroke::Solid, Vec::new());
        let (on_right, has_markers, is_hidden) = (false, false, false);
        Self { name, colour, x, y, fill, on_right, stroke, has_markers, labels, is_hidden }
    }

    pub fn through(
        name: impl Into<String>,
        colour: Colour,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
    ) -> Self {
        let (x, y) = points.into_iter().unzip();
        Self { has_markers: true, ..Self::new(name, colour, x, y) }
    }

    pub fn is_known(&self) -> bool {
        self.y.iter().any(Option::is_some)
    }

    pub fn stacked(self) -> Self {
        Self { fill: Fill::Stacked, ..self }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Levels {
    pub name: String,
    pub colour: Colour,
    pub y: Vec<Option<f64>>,
    pub is_stacked: bool,
    pub stroke: Stroke,
    pub is_hidden: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Bars {
    pub name: String,
    pub colour: Colour,
    pub opacity: f64,
    pub bars: Vec<Bar>,
    pub is_horizontal: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    pub at: f64,
    pub width: f64,
    pub length: f64,
    pub error: Option<(f64, f64)>,
    pub cut: Option<String>,
    pub hover: String,
}

impl Bar {
    pub fn new(at: f64, width: f64, length: f64, hover: String) -> Self {
        Self { at, width, length, error: None, cut: None, hover }
    }

    pub fn between(low: f64, high: f64, length: f64, hover: String) -> Self {
        Self::new(f64::midpoint(low, high), high - low, length, hover)
    }

    pub fn with_interval(self, interval: Option<(f64, f64)>) -> Self {
        let error = interval.map(|(low, high)| (self.length - low, high - self.length));
        Self { error, ..self }
    }
}

impl Bars {
    pub fn new(name: impl Into<String>, colour: Colour, bars: Vec<Bar>) -> Self {
        Self { name: name.into(), colour, opacity: 0.85, bars, is_horizontal: false }
    }
}

/// Percentages of each column as colours on a linear scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Heat {
    /// One more than there are columns; empty if the columns are the drawing's [`Intervals`].
    pub x_edges: Vec<f64>,
    pub y_edges: Vec<f64>,
    /// Cells of a column add up to 100, or to 0 if it counted nothing.
    pub percents: Vec<Vec<f64>>,
    pub of: &'static str,
}

impl Heat {
    /// Counts are spread evenly over the rows from one up to another. `None` if all are empty.
    pub fn of(
        of: &'static str,
        x_edges: Vec<f64>,
        columns: &[Vec<(i32, i32, f64)>],
        low_edge_s: fn(i32) -> f64,
    ) -> Option<Self> {
        let cells = || columns.iter().flatten();
        let lowest = cells().map(|(from, ..)| *from).min()?;
        let highest = cells().map(|(_, to, _)| *to).max()?;
        let mut percents = vec![vec![0.0; columns.len()]; (highest - lowest) as usize];
        for (at, column) in columns.iter().enumerate() {
            let sum: f64 = column.iter().map(|(.., count)| count).sum();
            for (from, to, count) in column {
                let percent = 100.0 * count / sum / f64::from(to - from);
                (*from..*to).for_each(|row| percents[(row - lowest) as usize][at] += percent);
            }
        }
        Some(Self { x_edges, y_edges: (lowest..=highest).map(low_edge_s).collect(), percents, of })
    }
}

pub const STROKES: [Stroke; 5] =
    [Stroke::Solid, Stroke::Dot, Stroke::Dash, Stroke::DashDot, Stroke::LongDash];

type Run<'a> = (usize, &'a str);

impl Chart {
    /// Charts with the same id overlap as far as they fit. With more than two runs each line gets a chart, and bars are left out.
    pub fn overlay_all(runs: &[(&str, Vec<Self>)]) -> Vec<Self> {
        let ids = runs.iter().flat_map(|(_, charts)| charts).map(|chart| chart.id.as_str()).unique();
        let with_id = |id: &str| -> Vec<(Run<'_>, &Self)> {
            let own = runs.iter().enumerate().filter_map(|(place, (name, charts))| {
                Some(((place, *name), charts.iter().find(|chart| chart.id == id)?))
            });
            own.collect()
        };
        ids.flat_map(|id| Self::overlay(&with_id(id), runs.len())).collect()
    }

    fn overlay(charts: &[(Run<'_>, &Self)], of: usize) -> Vec<Self> {
        let drawn = charts.iter().filter_map(|(run, chart)| Some((*run, *chart, chart.body.as_ref().ok()?)));
        let drawn: Vec<(Run<'_>, &Self, &Drawing)> = drawn.collect();
        let missing = || charts.iter().filter(|(_, chart)| chart.body.is_err());
        if let ([(_, first), ..], true) = (charts, missing().count() == of)
            && missing().map(|(_, chart)| chart.body.as_ref().err()).all_equal()
        {
            return vec![(*first).clone()];
        }
        let mut traces = drawn.iter().flat_map(|(.., drawing)| &drawing.traces);
        if of > 2 && traces.any(|trace| matches!(trace, Trace::Bars(_))) {
            return Vec::new();
        }
        let fit = drawn.windows(2).all(|pair| pair[0].2.fits(pair[1].2));
        let all: Vec<(Run<'_>, &Drawing)> = drawn.iter().map(|(run, _, drawing)| (*run, *drawing)).collect();
        let mut charts: Vec<Self> = match drawn.as_slice() {
            [(_, chart, _), _, ..] if fit && of == 2 => vec![chart.overlaid(&all)],
            [(_, chart, _), _, ..] if fit => chart.line_by_line(&all),
            alone => alone.iter().map(|(run, chart, _)| chart.of_run(*run, of)).collect(),
        };
        charts.extend(missing().map(|(run, chart)| chart.of_run(*run, of)));
        charts
    }

    fn overlaid(&self, all: &[(Run<'_>, &Drawing)]) -> Self {
        let is_stacked = |trace: &Trace| matches!(trace, Trace::Line(line) if line.fill == Fill::Stacked);
        let are_stacked = all.iter().flat_map(|(_, drawing)| &drawing.traces).any(is_stacked);
        let about =
            format!("{}{}", self.about, if are_stacked { " Here the lines are not stacked." } else { "" });
        let names = line_names(all);
        let traces = all.iter().flat_map(|((place, run), drawing)| {
            drawing.traces.iter().map(|trace| trace.of_run(run, Colour::Variant(*place), &names))
        });
        let right = all.iter().find_map(|(_, drawing)| drawing.right.clone());
        let body = Drawing { right, ..Drawing::around(all, traces.collect(), |drawing| &drawing.y) };
        Self { about, body: Ok(body), ..self.clone() }
    }

    fn line_by_line(&self, all: &[(Run<'_>, &Drawing)]) -> Vec<Self> {
        let chart = |(nth, name): (usize, &str)| {
            let own = |drawing: &Drawing| drawing.traces.iter().find_map(|trace| trace.line_named(name));
            let lines: Vec<(Run<'_>, Line)> =
                all.iter().filter_map(|(run, drawing)| Some((*run, own(drawing)?))).collect();
            let on_right = lines.first().is_some_and(|(_, line)| line.on_right);
            if lines.iter().all(|(_, line)| line.is_hidden) {
                return None;
            }
            let trace = |((place, run), line): (Run<'_>, Line)| {
                let (name, colour, fill) = (run.to_owned(), Colour::Variant(place), Fill::Nothing);
                let stroke = STROKES[place / COLOURS % STROKES.len()];
                Trace::Line(Line { name, colour, fill, stroke, on_right: false, ..line })
            };
            let traces = lines.into_iter().map(trace).collect();
            let body = match on_right {
                true => Drawing::around(all, traces, |drawing| drawing.right.as_ref().unwrap_or(&drawing.y)),
                false => Drawing::around(all, traces, |drawing| &drawing.y),
            };
            let (id, title) = (format!("{}-line{nth}", self.id), format!("{}: {name}", self.title));
            Some(Self { id, title, body: Ok(body), ..self.clone() })
        };
        let names = line_names(all);
        names.into_iter().enumerate().filter_map(chart).collect()
    }

    fn of_run(&self, (place, run): Run<'_>, of: usize) -> Self {
        let suffix = if of == 2 { run.to_owned() } else { (place + 1).to_string() };
        Self { id: format!("{}-{suffix}", self.id), title: format!("{}: {run}", self.title), ..self.clone() }
    }
}

fn line_names<'a>(all: &[(Run<'_>, &'a Drawing)]) -> Vec<&'a str> {
    let names = all.iter().flat_map(|(_, drawing)| &drawing.traces).filter_map(|trace| match trace {
        Trace::Line(line) => Some(line.name.as_str()),
        _ => None,
    });
    names.unique().collect()
}

impl Drawing {
    /// True if both fit the same axes without hiding each other.
    fn fits(&self, other: &Self) -> bool {
        let axes = |drawing: &Self| {
            [&drawing.x, &drawing.y].map(|axis| (axis.title.clone(), axis.unit, axis.is_log))
        };
        // Each horizontal bar has a name, which differs between the runs.
        let can_overlay = |trace: &Trace| match trace {
            Trace::Line(_) => true,
            Trace::Bars(bars) => !bars.is_horizontal,
            Trace::Levels(_) | Trace::Heat(_) => false,
        };
        axes(self) == axes(other) && self.traces.iter().chain(&other.traces).all(can_overlay)
    }

    fn around(all: &[(Run<'_>, &Self)], traces: Vec<Trace>, y: fn(&Self) -> &Axis) -> Self {
        let room = |axis: fn(&Self) -> &Axis| {
            let axes = all.iter().map(|(_, drawing)| axis(drawing).clone());
            axes.reduce(|room, axis| room.with_room_for(&axis)).unwrap_or(Axis::linear("", Unit::Plain))
        };
        let shades = all.iter().flat_map(|(_, drawing)| drawing.shades.iter().copied());
        let marks = all.iter().flat_map(|((_, run), drawing)| {
            drawing.marks.iter().map(move |(at, text)| (*at, format!("{run}: {text}")))
        });
        Self {
            is_timeline: all.iter().all(|(_, drawing)| drawing.is_timeline),
            shades: shades.unique_by(|(from, to)| (from.to_bits(), to.to_bits())).collect(),
            marks: marks.collect(),
            height_px: all.iter().map(|(_, drawing)| drawing.height_px).max().unwrap_or(0),
            ..Self::new(room(|drawing| &drawing.x), room(y), traces)
        }
    }
}

impl Trace {
    fn line_named(&self, name: &str) -> Option<Line> {
        match self {
            Self::Line(line) if line.name == name => Some(line.clone()),
            _ => None,
        }
    }

    /// Strokes tell lines apart, and nothing is filled: it would hide the other run.
    fn of_run(&self, run: &str, colour: Colour, names: &[&str]) -> Self {
        match self {
            Self::Line(line) => {
                let place = names.iter().position(|name| *name == line.name).unwrap_or(0);
                let (name, stroke) = (format!("{run}: {}", line.name), STROKES[place % STROKES.len()]);
                Self::Line(Line { name, colour, fill: Fill::Nothing, stroke, ..line.clone() })
            }
            Self::Bars(bars) => {
                let mut bars = Bars { name: run.to_owned(), colour, opacity: 0.55, ..bars.clone() };
                bars.bars.iter_mut().for_each(|bar| bar.hover = format!("{run}: {}", bar.hover));
                Self::Bars(bars)
            }
            Self::Levels(_) | Self::Heat(_) => self.clone(),
        }
    }
}

impl Axis {
    fn with_room_for(&self, other: &Self) -> Self {
        let range = match (self.range, other.range) {
            (Some(own), Some(other)) => Some((own.0.min(other.0), own.1.max(other.1))),
            (own, other) => own.or(other),
        };
        let names = if self.names.len() >= other.names.len() { &self.names } else { &other.names };
        Self { range, names: names.clone(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn chart(body: Result<Drawing, &str>) -> Chart {
        let (title, about, source) = ("T <b>".into(), String::new(), String::new());
        Chart { id: "c".into(), title, about, source, body: body.map_err(str::to_owned) }
    }

    fn drawing(high: f64, traces: Vec<Trace>) -> Drawing {
        let x = Axis::linear("s", Unit::Plain).ranging(0.0, high);
        Drawing::new(x, Axis::linear("n", Unit::Count), traces)
    }

    fn line(name: &str, fill: Fill) -> Trace {
        let line = Line::new(name, Colour::Reads, vec![1.0], vec![Some(2.0)]);
        Trace::Line(Line { fill, ..line })
    }

    fn ids(charts: Vec<Chart>) -> Vec<String> {
        charts.into_iter().map(|chart| chart.id).collect()
    }

    #[test]
    fn an_absent_chart_gives_its_reason_and_has_no_drawing() {
        let chart = chart(Err("nobody <measured>"));
        let html = chart.container();
        assert!(
            html.contains("Not shown: nobody &lt;measured&gt;.") && !html.contains("data-chart"),
            "{html}"
        );
        assert_eq!(data(&[&chart]), r#"{"charts":{},"intervals":[]}"#);
    }

    #[test]
    fn numbers_have_five_digits() {
        let shown = |value: f64| for_script(&value);
        assert_eq!((shown(0.000_123_456_789), shown(29_706.44)), ("0.00012346".into(), "29706".into()));
        assert_eq!((shown(0.0), shown(1.0), shown(-2.5)), ("0".into(), "1".into(), "-2.5".into()));
        assert_eq!((shown(f64::NAN), shown(f64::INFINITY)), ("null".into(), "null".into()));
        assert_eq!((shown(1_234_567.0), shown(99_999.6)), ("1234600".into(), "100000".into()));
    }

    proptest! {
        /// The same as by way of decimal text, but for halves, which go away from zero.
        #[test]
        fn numbers_are_rounded_as_their_text_is(value in -1e12..1e12_f64, scale in -9..3_i32) {
            let value = value * 10f64.powi(scale);
            let shown: f64 = for_script(&value).parse().unwrap();
            let by_text: f64 = format!("{value:.4e}").parse().unwrap();
            prop_assert!((shown - by_text).abs() <= by_text.abs() * 2e-16 || (shown - value).abs() <= value.abs() * 5.1e-5);
            prop_assert!(for_script(&value).trim_start_matches('-').len() <= 24);
        }
    }

    #[test]
    fn texts_hold_no_tag_and_end_no_script() {
        let safe = for_script(&"</script><b>\"&");
        assert_eq!(safe, r#""\u0026lt;/script\u0026gt;\u0026lt;b\u0026gt;\"\u0026amp;""#);
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "&lt;/script&gt;&lt;b&gt;\"&amp;");
    }

    fn parsed(value: &impl Serialize) -> Value {
        serde_json::from_str(&for_script(value)).unwrap()
    }

    #[test]
    fn absent_values_are_gaps_in_a_line_and_left_out_of_a_stack() {
        let (x, y) = (vec![0.0, 1.0, 2.0], vec![Some(5.0), None, Some(6.0)]);
        let line = Line::new("a", Colour::Reads, x, y);
        let [gap, stacked] = [line.clone(), line.stacked()].map(|line| {
            parsed(&drawing(1.0, vec![Trace::Line(line)]).without_gaps_in_stacks())["traces"][0].clone()
        });
        assert_eq!(gap["y"], json!([5, null, 6]));
        assert_eq!((&stacked["x"], &stacked["y"]), (&json!([0, 2]), &json!([5, 6])));
    }

    #[test]
    fn error_bars_are_distances_from_the_end_of_the_bar() {
        let bar = |interval| Bar::between(0.8, 1.2, 10.0, String::new()).with_interval(interval);
        let bars = Bars::new("a", Colour::Variant(9), vec![bar(Some((9.0, 12.5))), bar(None)]);
        let json = parsed(&bars);
        assert_eq!((&json["bars"][0]["error"], &json["bars"][1]["error"]), (&json!([1, 2.5]), &json!(null)));
        assert_eq!((&json["colour"], &json["bars"][0]["at"]), (&json!({ "variant": 9 }), &json!(1)));
    }

    #[test]
    fn the_axis_follows_the_bars_and_a_cut_whisker_says_its_end() {
        let bar = |end| Bar::between(0.8, 1.2, 1.0, String::new()).with_interval(Some((0.0, end)));
        let drawn = |end| {
            let bars = Bars::new("a", Colour::Variant(0), vec![bar(1.2), bar(end)]);
            drawing(1.0, vec![Trace::Bars(bars)]).following_bars(|value| format!("{value:.0}"))
        };
        let cut = drawn(170_000.0);
        assert!(cut.y.range.unwrap().1 < 2.0, "{:?}", cut.y);
        let Trace::Bars(bars) = &cut.traces[0] else { panic!("{cut:?}") };
        assert_eq!((bars.bars[0].cut.as_deref(), bars.bars[1].cut.as_deref()), (None, Some("to 170000")));
        assert_eq!((bars.bars[1].error, drawn(1.4).y.range), (Some((1.0, 0.5)), None));
    }

    #[test]
    fn the_style_sheet_holds_every_colour_for_both_themes() {
        let style = include_str!("assets/style.css");
        let named = [
            Colour::Reads,
            Colour::Logical,
            Colour::Device,
            Colour::Updates,
            Colour::Scans,
            Colour::Redo,
            Colour::User,
            Colour::System,
            Colour::Interrupts,
            Colour::Stolen,
            Colour::Waiting,
            Colour::Database,
            Colour::Text,
        ];
        let numbered = (0..5).map(Colour::Latency).chain((0..COLOURS).map(Colour::Variant));
        for colour in named.into_iter().chain(numbered) {
            let name = json!(colour).to_string().replace(['"', ':', '{', '}'], "");
            let property = format!("--c-{name}:");
            assert_eq!(style.matches(&property).count(), 2, "{property}");
        }
    }

    fn overlay(charts: &[Chart]) -> Vec<Chart> {
        let runs = ["first", "second", "third"].into_iter().zip(charts);
        Chart::overlay_all(&runs.map(|(name, chart)| (name, vec![chart.clone()])).collect::<Vec<_>>())
    }

    fn lines(drawing: &Drawing) -> Vec<(&str, Colour, Stroke, Fill)> {
        let all = drawing.traces.iter().map(|trace| {
            let Trace::Line(line) = trace else { panic!("{trace:?}") };
            (line.name.as_str(), line.colour, line.stroke, line.fill)
        });
        all.collect()
    }

    #[test]
    fn lines_of_two_runs_share_axes_and_keep_their_strokes() {
        let a = chart(Ok(drawing(10.0, vec![line("p50", Fill::Nothing), line("p99", Fill::ToPrevious)])));
        let b = chart(Ok(drawing(20.0, vec![line("p99", Fill::Stacked)])));
        let both = overlay(&[a, b]);
        let [Chart { id, body: Ok(drawing), .. }] = &both[..] else { panic!("{both:?}") };
        assert_eq!((id.as_str(), drawing.x.range), ("c", Some((0.0, 20.0))));
        let expected = [
            ("first: p50", Colour::Variant(0), Stroke::Solid, Fill::Nothing),
            ("first: p99", Colour::Variant(0), Stroke::Dot, Fill::Nothing),
            ("second: p99", Colour::Variant(1), Stroke::Dot, Fill::Nothing),
        ];
        assert_eq!(lines(drawing), expected);
    }

    #[test]
    fn of_three_runs_each_line_is_a_chart_and_hidden_ones_and_bars_are_none() {
        let hidden = || match line("logical", Fill::Nothing) {
            Trace::Line(line) => Trace::Line(Line { is_hidden: true, ..line }),
            other => panic!("{other:?}"),
        };
        let both = || vec![line("p50", Fill::Stacked), line("p99", Fill::ToPrevious), hidden()];
        let one = || chart(Ok(drawing(10.0, both())));
        let charts = overlay(&[one(), one(), chart(Ok(drawing(30.0, vec![line("p99", Fill::Nothing)])))]);
        assert_eq!(
            charts.iter().map(|chart| chart.title.as_str()).collect::<Vec<_>>(),
            ["T <b>: p50", "T <b>: p99"]
        );
        let [first, second] = [0, 1].map(|at: usize| lines(charts[at].body.as_ref().unwrap()));
        assert_eq!(first.iter().map(|line| line.0).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(second[2], ("third", Colour::Variant(2), Stroke::Solid, Fill::Nothing));
        let bars = || chart(Ok(drawing(1.0, vec![Trace::Bars(Bars::new("a", Colour::Reads, Vec::new()))])));
        assert!(overlay(&[bars(), bars(), bars()]).is_empty());
        assert_eq!(overlay(&[bars(), bars()]).len(), 1);
    }

    #[test]
    fn charts_that_do_not_fit_stand_side_by_side() {
        let (x_edges, y_edges) = (vec![0.0, 1.0], vec![1.0, 2.0]);
        let heat = Heat { x_edges, y_edges, percents: vec![vec![100.0]], of: "operations" };
        let map = || chart(Ok(drawing(1.0, vec![Trace::Heat(heat.clone())])));
        assert_eq!(ids(overlay(&[map(), map()])), ["c-first", "c-second"]);
        assert_eq!(ids(overlay(&[map(), map(), map()])), ["c-1", "c-2", "c-3"]);
        let seconds = drawing(1.0, vec![line("a", Fill::Nothing)]);
        let mut minutes = seconds.clone();
        minutes.x.title = "minutes".into();
        assert_eq!(ids(overlay(&[chart(Ok(seconds)), chart(Ok(minutes))])), ["c-first", "c-second"]);
    }

    #[test]
    fn the_run_without_a_drawing_is_named_with_the_reason() {
        let drawn = || chart(Ok(drawing(1.0, vec![line("a", Fill::Nothing)])));
        let charts = overlay(&[drawn(), chart(Err("nobody looked"))]);
        assert!(charts[0].body.is_ok() && charts[1].title == "T <b>: second", "{charts:?}");
        assert_eq!(charts[1].body.as_ref().unwrap_err(), "nobody looked");
        assert_eq!(overlay(&[chart(Err("x")), chart(Err("x"))]).len(), 1);
        assert_eq!(ids(overlay(&[drawn(), chart(Err("x")), drawn()])), ["c-line0", "c-2"]);
    }
}
