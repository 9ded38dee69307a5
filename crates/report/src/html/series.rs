//! A page of figures over intervals that something else measured: lines, heat maps, and a table.

use super::document::{self, Document};
use super::plot::{Absent, Axis, Chart, Colour, Drawing, Fill, Heat, Line, Stroke, Trace, Unit};
use super::{blocks, escape};

/// Names of moments on the axis of time, as many as a narrow window has room for.
const MOMENTS: usize = 4;

/// The page.
#[derive(Clone, Debug, Default)]
pub struct SeriesPage {
    /// Its heading.
    pub title: String,
    /// What it is about, in a sentence.
    pub lead: String,
    /// Where its figures come from.
    pub source: String,
    /// What was measured, each with charts of its own.
    pub groups: Vec<SeriesGroup>,
}

/// Figures of one thing over time.
#[derive(Clone, Debug, Default)]
pub struct SeriesGroup {
    /// What it is.
    pub title: String,
    /// Begin and end of each interval, in hours from the first, with the name of its begin in one or more lines. In order.
    pub intervals: Vec<(f64, f64, String)>,
    /// Lines over the intervals.
    pub lines: Vec<LineChart>,
    /// Heat maps over the intervals.
    pub heat_maps: Vec<HeatMap>,
    /// Heads of the table.
    pub heads: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// Lines in one chart.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// What its values are, for the axis.
    pub unit: &'static str,
    /// Whether its values are seconds, and on a logarithmic axis; else they are counted.
    pub is_time: bool,
    /// So many of the lines stand one on the other.
    pub stacked: usize,
    /// A name and a value for each interval; absent values are gaps.
    pub lines: Vec<(String, Vec<Option<f64>>)>,
}

/// A limit that is so many times what is held against it does not limit it.
const FAR: f64 = 8.0;

impl LineChart {
    /// Whether the stack stays far below a limit everywhere.
    #[must_use]
    pub fn is_far_below(&self, limit: &[Option<f64>]) -> bool {
        let stack = &self.lines[..self.stacked.min(self.lines.len())];
        let height =
            |at: usize| stack.iter().filter_map(|(_, values)| values.get(at).copied().flatten()).sum::<f64>();
        limit.iter().enumerate().all(|(at, limit)| limit.is_none_or(|limit| limit > FAR * height(at)))
    }
}

/// How long something took over the intervals.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// Its heading.
    pub title: String,
    /// What it shows, in sentences.
    pub about: String,
    /// A column for each interval; `None` without one.
    pub columns: Vec<Option<HeatColumn>>,
}

/// Counts between durations in microseconds, from the shortest; the last may be open.
#[derive(Clone, Debug, Default)]
pub struct HeatColumn {
    /// From, up to, and how many.
    pub buckets: Vec<(f64, Option<f64>, f64)>,
}

/// The page as one HTML file that needs no network.
#[must_use]
pub fn series_page(page: &SeriesPage) -> String {
    let charts: Vec<Vec<Chart>> =
        page.groups.iter().enumerate().map(|(at, group)| charts(&page.source, group, at)).collect();
    let sections = page.groups.iter().zip(&charts).enumerate();
    let main: String = sections.map(|(at, (group, charts))| section(group, charts, at)).collect();
    Document {
        title: page.title.clone(),
        header: format!(
            "<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
            escape::text(&page.title),
            escape::text(&page.lead)
        ),
        main: document::NO_CHARTS.to_owned() + &main,
        said: page.source.clone(),
        slob_version: env!("CARGO_PKG_VERSION"),
        holds: String::new(),
        charts: charts.iter().flatten().collect(),
    }
    .html()
}

/// The charts of a group; their names are unique within the page.
fn charts(source: &str, group: &SeriesGroup, at: usize) -> Vec<Chart> {
    let name = |kind: &str, nth: usize| match at {
        0 => format!("{kind}-{}", nth + 1),
        _ => format!("{kind}-{}-{}", at + 1, nth + 1),
    };
    let lines = group.lines.iter().enumerate();
    let lines = lines.map(|(nth, lines)| line_chart(source, group, lines, name("line", nth)));
    let heats = group.heat_maps.iter().enumerate();
    let heats = heats.map(|(nth, map)| heat_chart(source, group, map, name("heat", nth)));
    lines.chain(heats).collect()
}

fn section(group: &SeriesGroup, charts: &[Chart], at: usize) -> String {
    let containers: String = charts.iter().map(Chart::container).collect();
    let suffix = if at == 0 { String::new() } else { format!("-{}", at + 1) };
    let title = escape::text(&group.title);
    format!(
        "<section id=\"charts{suffix}\">\n<h2>{title}</h2>\n<div class=\"charts\">\n{containers}</div>\n</section>\n\
         <section id=\"table{suffix}\">\n<h2>All figures: {title}</h2>\n<div class=\"part\">\n{}</div>\n</section>\n",
        table(group)
    )
}

/// The first column holds names, the others figures.
fn table(page: &SeriesGroup) -> String {
    let cells = |tag: &str, texts: &[String]| -> String {
        let cell = |(at, text): (usize, &String)| {
            let side = if at == 0 { "" } else { " class=\"n\"" };
            format!("<{tag}{side}>{}</{tag}>", escape::text(text))
        };
        texts.iter().enumerate().map(cell).collect()
    };
    let head = cells("th", &page.heads);
    let row = |row: &Vec<String>| format!("<tr>{}</tr>\n", cells("td", row));
    blocks::framed(&head, &page.rows.iter().map(row).collect::<String>())
}

/// The axis of time, with the names of some moments.
fn time_axis(page: &SeriesGroup) -> Axis {
    let begin = page.intervals.first().map_or(0.0, |interval| interval.0);
    let end = page.intervals.last().map_or(1.0, |interval| interval.1);
    let apart = (end - begin) / MOMENTS as f64;
    let mut names: Vec<(f64, String)> = Vec::new();
    for (at, _, name) in &page.intervals {
        // The middle of a name stands at its moment: one at the very end would be cut.
        if names.last().is_none_or(|(last, _)| at - last >= apart) {
            names.push((*at, name.clone()));
        }
    }
    Axis { names, ..Axis::linear("first snapshot", Unit::Plain).ranging(begin, end) }
}

fn drawing(page: &SeriesGroup, y: Axis, traces: Vec<Trace>) -> Drawing {
    Drawing { is_timeline: true, ..Drawing::new(time_axis(page), y, traces) }
}

/// Intervals that are further apart than this share of the one before them do not follow each other.
const GAP: f64 = 0.05;

/// Whether there is a gap before each interval.
fn gaps(intervals: &[(f64, f64, String)]) -> Vec<bool> {
    let apart = |pair: &[(f64, f64, String)]| pair[1].0 - pair[0].1 > GAP * (pair[0].1 - pair[0].0);
    std::iter::once(false).chain(intervals.windows(2).map(apart)).collect()
}

/// The points of a line: the middle of each interval; nothing where intervals do not follow each other.
fn points(group: &SeriesGroup, values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<f64>>) {
    let mut points = Vec::new();
    for (((begin, end, _), value), gap) in group.intervals.iter().zip(values).zip(gaps(&group.intervals)) {
        if gap {
            points.push((*begin, None));
        }
        points.push(((begin + end) / 2.0, *value));
    }
    points.into_iter().unzip()
}

/// The points of a layer of a stack: level over each interval, and down to nothing where intervals do not follow each other.
fn level(group: &SeriesGroup, values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<f64>>) {
    let mut points = Vec::new();
    let mut last_end = 0.0;
    for (((begin, end, _), value), gap) in group.intervals.iter().zip(values).zip(gaps(&group.intervals)) {
        if gap {
            points.extend([(last_end, Some(0.0)), (*begin, Some(0.0))]);
        }
        let value = Some(value.unwrap_or(0.0));
        points.extend([(*begin, value), (*end, value)]);
        last_end = *end;
    }
    points.into_iter().unzip()
}

fn line_chart(source: &str, group: &SeriesGroup, chart: &LineChart, id: String) -> Chart {
    let unit = if chart.is_time { Unit::Seconds } else { Unit::Plain };
    let lines = chart.lines.iter().enumerate();
    let traces: Vec<Trace> = lines
        .filter(|(_, (_, values))| values.iter().any(Option::is_some))
        .map(|(at, (name, values))| {
            let is_stacked = at < chart.stacked;
            let (x, y) = if is_stacked { level(group, values) } else { points(group, values) };
            let fill = if is_stacked { Fill::Stacked } else { Fill::Nothing };
            // What a stack is held against is told from its layers, and left out where it would press them flat.
            let is_limit = chart.stacked > 0 && !is_stacked;
            let stroke = if is_limit { Stroke::Dashed } else { Stroke::Solid };
            let is_hidden = is_limit && chart.is_far_below(values);
            Trace::Line(Line { fill, stroke, is_hidden, ..Line::new(name, Colour::Variant(at), unit, x, y) })
        })
        .collect();
    let y = if chart.is_time { Axis::log(chart.unit, unit) } else { Axis::linear(chart.unit, unit) };
    let body = match traces.is_empty() {
        true => Err(Absent("the reports do not say".into())),
        false => Ok(drawing(group, y, traces)),
    };
    Chart {
        id: id.into(),
        title: chart.title.clone(),
        about: chart.about.clone(),
        source: source.to_owned(),
        body,
    }
}

fn heat_chart(source: &str, page: &SeriesGroup, map: &HeatMap, id: String) -> Chart {
    let body = heat(page, map).map(|heat| {
        let y = Axis::log("wait", Unit::Seconds);
        Drawing { height_px: 400, ..drawing(page, y, vec![Trace::Heat(heat)]) }
    });
    Chart {
        id: id.into(),
        title: map.title.clone(),
        about: map.about.clone(),
        source: source.to_owned(),
        body,
    }
}

/// Rows are powers of two; a bucket that spans several is spread evenly over them. Between intervals that do not follow
/// each other there is an empty column.
fn heat(page: &SeriesGroup, map: &HeatMap) -> Result<Heat, Absent> {
    let all = || map.columns.iter().flatten().flat_map(|column| &column.buckets);
    let filled = || all().filter(|(_, _, count)| *count > 0.0);
    let (lowest, highest) = filled()
        .map(rows)
        .fold((i32::MAX, i32::MIN), |(low, high), (from, to)| (low.min(from), high.max(to)));
    if lowest >= highest {
        return Err(Absent("no report has a histogram of it".into()));
    }
    let mut x_edges = Vec::new();
    let mut counts = vec![Vec::new(); (highest - lowest) as usize];
    for ((begin, end, _), column) in page.intervals.iter().zip(&map.columns) {
        match x_edges.last().copied() {
            Some(last) if *begin > last => {
                counts.iter_mut().for_each(|row| row.push(0));
                x_edges.push(*begin);
            }
            Some(_) => {}
            None => x_edges.push(*begin),
        }
        x_edges.push(*end);
        let mut cells = vec![0.0; counts.len()];
        for bucket in column.iter().flat_map(|column| &column.buckets).filter(|(_, _, count)| *count > 0.0) {
            let (from, to) = rows(bucket);
            for row in from..to {
                cells[(row - lowest) as usize] += bucket.2 / f64::from(to - from);
            }
        }
        counts.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell.round() as u64));
    }
    let y_edges = (lowest..=highest).map(|row| f64::from(row).exp2() / 1e6).collect();
    Ok(Heat { x_edges, y_edges, counts, of: "waits" })
}

/// The rows of a bucket: from, and up to.
fn rows(&(from, to, _): &(f64, Option<f64>, f64)) -> (i32, i32) {
    let row = |us: f64| us.max(0.5).log2().round() as i32;
    let from = row(from);
    // What is open ends where a bucket of its size would.
    (from, to.map_or(from + 1, row).max(from + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> SeriesPage {
        let column = |count| {
            Some(HeatColumn {
                buckets: vec![(0.0, Some(8.0), count), (8.0, Some(32.0), 10.0), (32.0, None, 1.0)],
            })
        };
        let group = SeriesGroup {
            title: "g".into(),
            intervals: vec![(0.0, 1.0, "10:00".into()), (2.0, 3.0, "12:00".into())],
            lines: vec![LineChart {
                title: "t".into(),
                about: String::new(),
                unit: "sessions",
                is_time: false,
                stacked: 0,
                lines: vec![("x".into(), vec![Some(1.0), None])],
            }],
            heat_maps: vec![HeatMap {
                title: "h".into(),
                about: String::new(),
                columns: vec![column(4.0), None],
            }],
            heads: vec!["a".into()],
            rows: vec![vec!["<1".into()]],
        };
        SeriesPage { title: "A <b>".into(), source: "s".into(), groups: vec![group], ..SeriesPage::default() }
    }

    #[test]
    fn gaps_between_intervals_are_gaps_in_lines_and_nothing_in_a_stack() {
        let group = &page().groups[0];
        let values = [Some(1.0), Some(2.0)];
        assert_eq!(points(group, &values), (vec![0.5, 2.0, 2.5], vec![Some(1.0), None, Some(2.0)]));
        let (x, y) = level(group, &values);
        assert_eq!(x, [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]);
        assert_eq!(y, [1.0, 1.0, 0.0, 0.0, 2.0, 2.0].map(Some));
    }

    #[test]
    fn databases_have_charts_of_their_own_on_one_page() {
        let mut page = page();
        page.groups.push(SeriesGroup { title: "other".into(), ..page.groups[0].clone() });
        let html = series_page(&page);
        assert!(html.contains("data-chart=\"line-1\"") && html.contains("data-chart=\"line-2-1\""));
        assert!(html.contains("<h2>other</h2>"));
    }

    #[test]
    fn every_wait_is_in_a_cell_and_a_gap_in_time_is_empty() {
        let page = page();
        let group = &page.groups[0];
        let heat = heat(group, &group.heat_maps[0]).unwrap();
        assert_eq!(heat.x_edges, [0.0, 1.0, 2.0, 3.0]);
        let column = |at: usize| heat.counts.iter().map(|row| row[at]).sum::<u64>();
        assert_eq!((column(0), column(1), column(2)), (15, 0, 0));
        assert_eq!(heat.y_edges.len(), heat.counts.len() + 1);
    }

    #[test]
    fn a_page_escapes_what_it_shows() {
        let html = series_page(&page());
        assert!(html.contains("<h1>A &lt;b&gt;</h1>") && html.contains("<td>&lt;1</td>"));
        assert!(html.contains("data-chart=\"heat-1\"") && html.contains("data-chart=\"line-1\""));
    }
}
