//! A page of figures over intervals that something else measured: lines, heat maps, and a table.

use super::chart::{Axis, Chart, Colour, Drawing, Fill, Heat, Line, Stroke, Trace, Unit};
use super::layout::{Section, View, lead};
use crate::page::{Column, Table};

#[derive(Clone, Debug, Default)]
pub(super) struct SeriesPage {
    pub title: String,
    pub lead: String,
    /// Origin of the figures.
    pub source: String,
    pub groups: Vec<SeriesGroup>,
}

/// Figures of one database over time.
#[derive(Clone, Debug, Default)]
pub(super) struct SeriesGroup {
    pub title: String,
    /// Begin and end of each interval in hours from the first, and the name of its begin in one or more lines. In order.
    pub intervals: Vec<(f64, f64, String)>,
    pub lines: Vec<LineChart>,
    pub heat_maps: Vec<HeatMap>,
    /// Heads of the table: the first column holds names, the others figures.
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub(super) struct LineChart {
    pub title: String,
    pub about: String,
    pub unit: &'static str,
    /// True if values are seconds, on a logarithmic axis.
    pub is_time: bool,
    /// This many of the lines, from the first, are stacked.
    pub stacked: usize,
    /// Name of each line, and its value for each interval; absent values are gaps.
    pub lines: Vec<(String, Vec<Option<f64>>)>,
}

impl LineChart {
    /// True if the stack stays far below a limit everywhere.
    pub(super) fn is_far_below(&self, limit: &[Option<f64>]) -> bool {
        const FAR: f64 = 8.0;
        let stack = &self.lines[..self.stacked.min(self.lines.len())];
        let height =
            |at: usize| stack.iter().filter_map(|(_, values)| values.get(at).copied().flatten()).sum::<f64>();
        limit.iter().enumerate().all(|(at, limit)| limit.is_none_or(|limit| limit > FAR * height(at)))
    }
}

/// Waits by duration over the intervals.
#[derive(Clone, Debug)]
pub(super) struct HeatMap {
    pub title: String,
    pub about: String,
    /// A column for each interval; `None` if it is not known.
    pub columns: Vec<Option<HeatColumn>>,
}

/// Buckets from the shortest: from and up to in microseconds, and the count. The last may be open.
pub(super) type HeatColumn = Vec<(f64, Option<f64>, f64)>;

/// The page as one HTML file that needs no network.
pub(super) fn series_page(page: &SeriesPage) -> String {
    View {
        title: page.title.clone(),
        heading: page.title.clone(),
        lead: lead(&page.lead),
        has_links: false,
        sections: page.groups.iter().zip(1..).flat_map(|(group, nth)| sections(page, group, nth)).collect(),
        source: page.source.clone(),
    }
    .html()
}

fn sections(page: &SeriesPage, group: &SeriesGroup, nth: u32) -> [Section; 2] {
    let suffix = if nth == 1 { String::new() } else { format!("-{nth}") };
    let chart = |id: String, title: &str, about: &str, body| Chart {
        id,
        title: title.to_owned(),
        about: about.to_owned(),
        source: page.source.clone(),
        body,
    };
    let lines = group.lines.iter().zip(1..).map(|(lines, nth)| {
        chart(format!("line{suffix}-{nth}"), &lines.title, &lines.about, line_drawing(group, lines))
    });
    let heats = group.heat_maps.iter().zip(1..).map(|(map, nth)| {
        chart(format!("heat{suffix}-{nth}"), &map.title, &map.about, heat_drawing(group, map))
    });
    let first = group.heads.iter().take(1).map(Column::left);
    let figures = group.heads.iter().skip(1).map(Column::right);
    let mut table = Table::new(first.chain(figures));
    group.rows.iter().for_each(|row| table.row(row.iter().cloned()));
    [
        Section::new(format!("charts{suffix}"), &group.title).charts(lines.chain(heats).collect()),
        Section::new(format!("table{suffix}"), format!("All figures: {}", group.title))
            .part("", |page| page.table(&table)),
    ]
}

fn drawing(group: &SeriesGroup, y: Axis, traces: Vec<Trace>) -> Drawing {
    /// Labels of the axis of time, as many as a narrow window has room for.
    const LABELS: f64 = 4.0;
    let begin = group.intervals.first().map_or(0.0, |interval| interval.0);
    let end = group.intervals.last().map_or(1.0, |interval| interval.1);
    let mut names: Vec<(f64, String)> = Vec::new();
    for (at, _, name) in &group.intervals {
        if names.last().is_none_or(|(last, _)| at - last >= (end - begin) / LABELS) {
            names.push((*at, name.clone()));
        }
    }
    let x = Axis::linear("first snapshot", Unit::Plain).ranging(begin, end).named(names);
    Drawing { is_timeline: true, ..Drawing::new(x, y, traces) }
}

/// Begin, end and value of each interval, and the end of the interval before it if there is a gap between them.
fn with_gaps<'a>(
    group: &'a SeriesGroup,
    values: &'a [Option<f64>],
) -> impl Iterator<Item = (f64, f64, Option<f64>, Option<f64>)> {
    /// A shorter gap, as a share of the interval before it, comes from the clock.
    const GAP: f64 = 0.05;
    group.intervals.iter().zip(values).enumerate().map(|(at, ((begin, end, _), value))| {
        let before = at.checked_sub(1).map(|before| &group.intervals[before]);
        let before = before.filter(|(from, to, _)| begin - to > GAP * (to - from));
        (*begin, *end, *value, before.map(|(_, to, _)| *to))
    })
}

/// A line through the middles of the intervals, which breaks at gaps.
fn points(group: &SeriesGroup, values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<f64>>) {
    let points = with_gaps(group, values).flat_map(|(begin, end, value, gap)| {
        gap.map(|_| (begin, None)).into_iter().chain([((begin + end) / 2.0, value)])
    });
    points.unzip()
}

/// A layer of a stack: level over each interval, and zero over gaps.
fn level(group: &SeriesGroup, values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<f64>>) {
    let points = with_gaps(group, values).flat_map(|(begin, end, value, gap)| {
        let gap = gap.into_iter().flat_map(move |from| [(from, Some(0.0)), (begin, Some(0.0))]);
        let value = Some(value.unwrap_or(0.0));
        gap.chain([(begin, value), (end, value)])
    });
    points.unzip()
}

fn line_drawing(group: &SeriesGroup, chart: &LineChart) -> Result<Drawing, String> {
    let unit = if chart.is_time { Unit::Seconds } else { Unit::Plain };
    let line = |(at, (name, values)): (usize, &(String, Vec<Option<f64>>))| {
        let is_stacked = at < chart.stacked;
        let (x, y) = if is_stacked { level(group, values) } else { points(group, values) };
        let line = Line::new(name, Colour::Variant(at), x, y);
        let is_limit = chart.stacked > 0 && !is_stacked;
        match (is_stacked, is_limit) {
            (true, _) => Line { fill: Fill::Stacked, ..line },
            // A limit far above would press the stack flat.
            (_, true) => Line { stroke: Stroke::Dash, is_hidden: chart.is_far_below(values), ..line },
            _ => line,
        }
    };
    let known = chart.lines.iter().enumerate().filter(|(_, (_, values))| values.iter().any(Option::is_some));
    let traces: Vec<Trace> = known.map(line).map(Trace::Line).collect();
    if traces.is_empty() {
        return Err("the reports do not say".into());
    }
    let y = if chart.is_time { Axis::log(chart.unit, unit) } else { Axis::linear(chart.unit, unit) };
    Ok(drawing(group, y, traces))
}

fn heat_drawing(group: &SeriesGroup, map: &HeatMap) -> Result<Drawing, String> {
    let heat = heat(group, map).ok_or("no report has a histogram of it")?;
    let drawing = drawing(group, Axis::log("wait", Unit::Seconds), vec![Trace::Heat(heat)]);
    Ok(Drawing { height_px: 400, ..drawing })
}

/// Rows are powers of two; a bucket that spans several is spread evenly over them. Gaps between intervals are empty columns.
fn heat(group: &SeriesGroup, map: &HeatMap) -> Option<Heat> {
    let filled = |column: &HeatColumn| -> Vec<(i32, i32, f64)> {
        let filled = column.iter().filter(|(_, _, count)| *count > 0.0);
        filled.map(|bucket| (rows(bucket).0, rows(bucket).1, bucket.2)).collect()
    };
    let columns = map.columns.iter().map(|column| column.as_ref().map(filled).unwrap_or_default());
    let columns: Vec<Vec<(i32, i32, f64)>> = columns.collect();
    let lowest = columns.iter().flatten().map(|(from, _, _)| *from).min()?;
    let highest = columns.iter().flatten().map(|(_, to, _)| *to).max()?;
    let mut x_edges: Vec<f64> = group.intervals.iter().take(1).map(|(begin, _, _)| *begin).collect();
    let mut counts = vec![Vec::new(); (highest - lowest) as usize];
    for ((begin, end, _), column) in group.intervals.iter().zip(&columns) {
        if x_edges.last().is_some_and(|last| begin > last) {
            counts.iter_mut().for_each(|row| row.push(0));
            x_edges.push(*begin);
        }
        x_edges.push(*end);
        let mut cells = vec![0.0; counts.len()];
        for (from, to, count) in column {
            (*from..*to).for_each(|row| cells[(row - lowest) as usize] += count / f64::from(to - from));
        }
        counts.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell.round() as u64));
    }
    let y_edges = (lowest..=highest).map(|row| f64::from(row).exp2() / 1e6).collect();
    Some(Heat { x_edges, y_edges, counts, of: "waits" })
}

fn rows(&(from, to, _): &(f64, Option<f64>, f64)) -> (i32, i32) {
    let row = |us: f64| us.max(0.5).log2().round() as i32;
    let from = row(from);
    // An open bucket gets the size of the one below it.
    (from, to.map_or(from + 1, row).max(from + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> SeriesPage {
        let column = |count| Some(vec![(0.0, Some(8.0), count), (8.0, Some(32.0), 10.0), (32.0, None, 1.0)]);
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
    fn gaps_between_intervals_are_gaps_in_lines_and_zero_in_a_stack() {
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
