//! A page of figures over intervals that something else measured: lines, heat maps, and a table.

use super::document::{self, Document};
use super::plot::{Absent, Axis, Chart, Colour, Drawing, Heat, Line, Trace, Unit};
use super::{blocks, escape};

/// Charts of one kind at most; their names within the page.
const LINE_IDS: [&str; 6] = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6"];
const HEAT_IDS: [&str; 8] = ["heat-1", "heat-2", "heat-3", "heat-4", "heat-5", "heat-6", "heat-7", "heat-8"];
const COLOURS: [Colour; 6] =
    [Colour::Reads, Colour::Updates, Colour::Redo, Colour::Database, Colour::Logical, Colour::Device];
/// Names of moments on the axis of time.
const MOMENTS: usize = 8;

/// The page.
#[derive(Clone, Debug, Default)]
pub struct SeriesPage {
    /// Its heading.
    pub title: String,
    /// What it is about, in a sentence.
    pub lead: String,
    /// Where its figures come from.
    pub source: String,
    /// Begin and end of each interval, in hours from the first, with the name of its begin. In order.
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
    /// Whether its values are seconds, and on a logarithmic axis; else they are counted.
    pub is_time: bool,
    /// A name and a value for each interval; absent values are gaps.
    pub lines: Vec<(String, Vec<Option<f64>>)>,
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
    let lines = page.lines.iter().zip(LINE_IDS).map(|(lines, id)| line_chart(page, lines, id));
    let heats = page.heat_maps.iter().zip(HEAT_IDS).map(|(map, id)| heat_chart(page, map, id));
    let charts: Vec<Chart> = heats.chain(lines).collect();
    let containers: String = charts.iter().map(Chart::container).collect();
    let main = [
        document::NO_CHARTS.to_owned(),
        format!(
            "<section id=\"charts\">\n<h2>Over time</h2>\n<div class=\"charts\">\n{containers}</div>\n</section>\n"
        ),
        format!("<section id=\"table\">\n<h2>All figures</h2>\n{}</section>\n", table(page)),
    ];
    Document {
        title: page.title.clone(),
        header: format!(
            "<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
            escape::text(&page.title),
            escape::text(&page.lead)
        ),
        main: main.concat(),
        said: page.source.clone(),
        slob_version: env!("CARGO_PKG_VERSION"),
        charts: charts.iter().collect(),
    }
    .html()
}

fn table(page: &SeriesPage) -> String {
    let head: String = page.heads.iter().map(|head| format!("<th>{}</th>", escape::text(head))).collect();
    let row = |row: &Vec<String>| {
        let cells: String =
            row.iter().map(|cell| format!("<td class=\"n\">{}</td>", escape::text(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    blocks::framed(&head, &page.rows.iter().map(row).collect::<String>())
}

/// The axis of time, with the names of some moments.
fn time_axis(page: &SeriesPage) -> Axis {
    let step = page.intervals.len().div_ceil(MOMENTS).max(1);
    let names =
        page.intervals.iter().step_by(step).map(|(begin, _, name)| (*begin, escape::label(name))).collect();
    let begin = page.intervals.first().map_or(0.0, |interval| interval.0);
    let end = page.intervals.last().map_or(1.0, |interval| interval.1);
    Axis { names, ..Axis::linear("first snapshot", Unit::Plain).ranging(begin, end) }
}

fn drawing(page: &SeriesPage, y: Axis, traces: Vec<Trace>) -> Drawing {
    Drawing { is_timeline: true, ..Drawing::new(time_axis(page), y, traces) }
}

fn line_chart(page: &SeriesPage, chart: &LineChart, id: &'static str) -> Chart {
    let unit = if chart.is_time { Unit::Seconds } else { Unit::Plain };
    let x: Vec<f64> = page.intervals.iter().map(|(begin, end, _)| (begin + end) / 2.0).collect();
    let traces: Vec<Trace> = chart
        .lines
        .iter()
        .zip(COLOURS.iter().cycle())
        .filter(|((_, values), _)| values.iter().any(Option::is_some))
        .map(|((name, values), colour)| {
            Trace::Line(Line::new(name, *colour, unit, x.clone(), values.clone()))
        })
        .collect();
    let y = if chart.is_time { Axis::log("mean", unit) } else { Axis::linear("per second", unit) };
    let body = match traces.is_empty() {
        true => Err(Absent("the reports do not say".into())),
        false => Ok(drawing(page, y, traces)),
    };
    Chart {
        id: id.into(),
        title: chart.title.clone(),
        about: chart.about.clone(),
        source: page.source.clone(),
        body,
    }
}

fn heat_chart(page: &SeriesPage, map: &HeatMap, id: &'static str) -> Chart {
    let body = heat(page, map).map(|heat| {
        let y = Axis::log("wait", Unit::Seconds);
        Drawing { height_px: 400, ..drawing(page, y, vec![Trace::Heat(heat)]) }
    });
    Chart {
        id: id.into(),
        title: map.title.clone(),
        about: map.about.clone(),
        source: page.source.clone(),
        body,
    }
}

/// Rows are powers of two; a bucket that spans several is spread evenly over them. Between intervals that do not follow
/// each other there is an empty column.
fn heat(page: &SeriesPage, map: &HeatMap) -> Result<Heat, Absent> {
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
    Ok(Heat { x_edges, y_edges, counts })
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
        SeriesPage {
            title: "A <b>".into(),
            source: "s".into(),
            intervals: vec![(0.0, 1.0, "10:00".into()), (2.0, 3.0, "12:00".into())],
            lines: vec![LineChart {
                title: "t".into(),
                about: String::new(),
                is_time: false,
                lines: vec![("x".into(), vec![Some(1.0), None])],
            }],
            heat_maps: vec![HeatMap {
                title: "h".into(),
                about: String::new(),
                columns: vec![column(4.0), None],
            }],
            heads: vec!["a".into()],
            rows: vec![vec!["<1".into()]],
            ..SeriesPage::default()
        }
    }

    #[test]
    fn every_wait_is_in_a_cell_and_a_gap_in_time_is_empty() {
        let page = page();
        let heat = heat(&page, &page.heat_maps[0]).unwrap();
        assert_eq!(heat.x_edges, [0.0, 1.0, 2.0, 3.0]);
        let column = |at: usize| heat.counts.iter().map(|row| row[at]).sum::<u64>();
        assert_eq!((column(0), column(1), column(2)), (15, 0, 0));
        assert_eq!(heat.y_edges.len(), heat.counts.len() + 1);
    }

    #[test]
    fn a_page_escapes_what_it_shows() {
        let html = series_page(&page());
        assert!(html.contains("<h1>A &lt;b&gt;</h1>") && html.contains("<td class=\"n\">&lt;1</td>"));
        assert!(html.contains("data-chart=\"heat-1\"") && html.contains("data-chart=\"line-1\""));
    }
}
