//! A page of consecutive AWR or Statspack reports: time, events, statements and rates over time, heat maps of waits.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use slob_awr::histogram::Point;
use slob_awr::info::{Head, Named};
use slob_awr::trend::{Subject, Trend, subject_words};
use slob_awr::{Bucket, Figure};

use super::chart::{Axis, Chart, Colour, Drawing, Heat, Line, Stroke, Trace, Unit};
use super::heat::{self, Durations};
use super::layout::{Section, View, lead};
use crate::page::{Column, Table};

const SOURCE: &str = "AWR and Statspack reports";

/// The part of a report that the page shows.
#[derive(Clone)]
pub struct AwrInterval {
    /// Database, host and release.
    words: String,
    trend: Trend,
    points: Vec<Option<Point>>,
}

impl AwrInterval {
    /// `points` has an entry for each event of the page.
    pub fn of(named: &Named, points: Vec<Option<Point>>) -> Self {
        Self { words: subject_words(&named.report), trend: Trend::of(named), points }
    }
}

/// What a page begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    WithTime,
    WithWaits,
}

/// A group for each database or instance, in order of first snapshots, with a heat map for each event that its reports have.
pub fn awr_page(reports: Vec<AwrInterval>, events: &[&str], begins: Begins) -> String {
    let count = reports.len();
    let mut groups: BTreeMap<Subject, Vec<AwrInterval>> = BTreeMap::new();
    for report in reports {
        groups.entry(report.trend.subject.clone()).or_default().push(report);
    }
    let groups: Vec<Group> = groups.into_values().map(Group::of).collect();
    let (title, about) = match &groups[..] {
        [only] => (only.title.clone(), format!("{count} report{}", if count == 1 { "" } else { "s" })),
        _ => (
            "Reports over time".to_owned(),
            format!("{count} reports of {} databases or instances", groups.len()),
        ),
    };
    View {
        title: title.clone(),
        heading: title,
        lead: lead(&about),
        has_links: false,
        sections: groups
            .iter()
            .zip(1..)
            .flat_map(|(group, nth)| group.sections(events, nth, begins))
            .collect(),
        source: SOURCE.into(),
    }
    .html()
}

/// Begin and end of a report in hours from the first, and the name of its begin in one or more lines.
type Interval = (f64, f64, String);

/// The reports of one database or instance in order of time.
struct Group {
    title: String,
    reports: Vec<AwrInterval>,
    intervals: Vec<Interval>,
}

impl Group {
    fn of(mut reports: Vec<AwrInterval>) -> Self {
        reports.sort_by_key(|report| (report.trend.begin.is_none(), report.trend.begin));
        let trends: Vec<&Trend> = reports.iter().map(|report| &report.trend).collect();
        let words = reports.last().map_or("", |report| report.words.as_str());
        let (title, intervals) = (titled(words, &trends), intervals(&trends));
        Self { title, reports, intervals }
    }

    fn sections(&self, events: &[&str], nth: u32, begins: Begins) -> [Section; 2] {
        let suffix = if nth == 1 { String::new() } else { format!("-{nth}") };
        let chart = |id: String, title: &str, about: String, body| Chart {
            id,
            title: title.to_owned(),
            about,
            source: SOURCE.into(),
            body,
        };
        let trends: Vec<&Trend> = self.reports.iter().map(|report| &report.trend).collect();
        let lines =
            time_charts(&trends).into_iter().chain(rate_charts(&trends)).zip(1..).map(|(lines, nth)| {
                let body = lines.drawing(&self.intervals);
                chart(format!("line{suffix}-{nth}"), lines.title, lines.about, body)
            });
        let points = |at: usize| self.reports.iter().map(move |report| report.points.get(at)?.as_ref());
        let known = (0..events.len()).filter(|at| points(*at).any(|point| point.is_some()));
        let heats = known.zip(1..).map(|(at, nth)| {
            let points: Vec<Option<&Point>> = points(at).collect();
            let body = heat_drawing(&self.intervals, &points);
            chart(format!("heat{suffix}-{nth}"), events[at], about_heat_map(&points), body)
        });
        let charts: Vec<Chart> = match begins {
            Begins::WithTime => lines.chain(heats).collect(),
            Begins::WithWaits => heats.chain(lines).collect(),
        };
        let (file, figures) = (Head::ALL[0], &Head::ALL[1..]);
        let mut table = Table::of_numbers(Column::left(file.text()), figures.iter().map(|head| head.text()));
        trends.iter().for_each(|trend| table.row(trend.row.cells()));
        [
            Section::new(format!("charts{suffix}"), &self.title).charts(charts),
            Section::new(format!("table{suffix}"), format!("All figures: {}", self.title))
                .part("", |page| page.table(&table)),
        ]
    }
}

/// Title of a group: its database or instance, and the time of its reports.
fn titled(words: &str, trends: &[&Trend]) -> String {
    let begin = trends.first().and_then(|first| first.begin);
    let times = begin.zip(trends.iter().rev().find_map(|last| last.end));
    let day = |moment: DateTime| moment.strftime("%Y-%m-%d %H:%M").to_string();
    let times = times.map(|(begin, end)| format!("{} to {}", day(begin), day(end)));
    let parts = [Some(words.to_owned()).filter(|words| !words.is_empty()), times];
    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

/// Hours from the first snapshot. Where times are absent or overlap, reports stand one after the other, an hour each.
fn intervals(trends: &[&Trend]) -> Vec<Interval> {
    let first = trends.first().and_then(|trend| trend.begin);
    let hours = |summary: &Trend| {
        let since = |moment: DateTime| Some(moment.duration_since(first?).as_secs_f64() / 3600.0);
        let (begin, end) = (since(summary.begin?)?, since(summary.end?)?);
        (end > begin).then(|| (begin, end, moment(summary)))
    };
    let timed: Option<Vec<_>> = trends.iter().map(|trend| hours(trend)).collect();
    // A second's overlap is the clock's.
    let follows = |timed: &Vec<Interval>| timed.windows(2).all(|pair| pair[1].0 > pair[0].1 - 0.01);
    let Some(mut timed) = timed.filter(follows) else {
        let each = (0_u32..).map(f64::from).zip(trends);
        return each.map(|(at, trend)| (at, at + 1.0, moment(trend))).collect();
    };
    for at in 1..timed.len() {
        timed[at].0 = timed[at].0.max(timed[at - 1].1);
    }
    timed
}

/// Begin of a report, or the end of its file's name, in two short lines.
fn moment(trend: &Trend) -> String {
    const LETTERS: usize = 12;
    if let Some(begin) = trend.begin {
        return begin.strftime("%H:%M\n%d %b").to_string();
    }
    let name = trend.row.file.rsplit('/').next().unwrap_or_default();
    match name.chars().count() {
        count if count > LETTERS => format!("…{}", name.chars().skip(count - LETTERS).collect::<String>()),
        _ => name.to_owned(),
    }
}

/// The name of a line, and its value for each interval; absent values are gaps.
type NamedValues = (String, Vec<Option<f64>>);

struct LineChart {
    title: &'static str,
    about: String,
    y: Axis,
    /// This many of the lines, from the first, are stacked.
    stacked: usize,
    lines: Vec<NamedValues>,
}

impl LineChart {
    fn new(title: &'static str, about: &str, y: Axis, lines: Vec<NamedValues>) -> Self {
        Self { title, about: about.to_owned(), y, stacked: 0, lines }
    }

    /// True if the stack stays far below a limit everywhere.
    fn is_far_below(&self, limit: &[Option<f64>]) -> bool {
        const FAR: f64 = 8.0;
        let stack = &self.lines[..self.stacked];
        let height = |at: usize| stack.iter().filter_map(|(_, values)| values[at]).sum::<f64>();
        limit.iter().enumerate().all(|(at, limit)| limit.is_none_or(|limit| limit > FAR * height(at)))
    }

    fn drawing(&self, intervals: &[Interval]) -> Result<Drawing, String> {
        let line = |(at, (name, values)): (usize, &NamedValues)| {
            let is_stacked = at < self.stacked;
            let (x, y) = if is_stacked { level(intervals, values) } else { middles(intervals, values) };
            let line = Line::new(name, Colour::Variant(at), x, y);
            match (is_stacked, self.stacked > 0) {
                (true, _) => line.stacked(),
                // A limit far above would press the stack flat.
                (_, true) => Line { stroke: Stroke::Dash, is_hidden: self.is_far_below(values), ..line },
                _ => line,
            }
        };
        let known =
            self.lines.iter().enumerate().filter(|(_, (_, values))| values.iter().any(Option::is_some));
        let traces: Vec<Trace> = known.map(line).map(Trace::Line).collect();
        if traces.is_empty() {
            return Err("the reports do not say".into());
        }
        Ok(drawing(intervals, self.y.clone(), traces))
    }
}

const CPUS_OF_HOST: &str = "CPUs of the host";

fn time_charts(trends: &[&Trend]) -> Vec<LineChart> {
    let chart =
        |title, about, lines| LineChart::new(title, about, Axis::linear("sessions", Unit::Plain), lines);
    let classes = chart(
        "DB time by class of wait",
        "Average sessions on CPU and in each wait class, stacked; the dashed line is the host's CPUs.",
        largest(trends, |trend| &trend.classes),
    );
    let mut classes = LineChart { stacked: classes.lines.len(), ..classes };
    let cpus: Vec<Option<f64>> = trends.iter().map(|trend| trend.cpus).collect();
    if cpus.iter().any(Option::is_some) && classes.is_far_below(&cpus) {
        classes.about += " It is far above; click its name to show it.";
    }
    classes.lines.push((CPUS_OF_HOST.into(), cpus));
    let mut charts = vec![
        classes,
        chart(
            "Top events",
            "Average sessions in the events that took most time over all reports. 0 may mean too little to be listed.",
            largest(trends, |trend| &trend.events),
        ),
        chart(
            "Top SQL",
            "Average sessions in the statements that took most time over all reports. 0 may mean too little to be \
             listed.",
            largest(trends, |trend| &trend.statements),
        ),
    ];
    charts.retain(|chart| chart.lines.iter().any(|(name, _)| name != CPUS_OF_HOST));
    charts
}

/// The lines with the largest sums over all reports, the largest first.
fn largest(trends: &[&Trend], of: fn(&Trend) -> &BTreeMap<String, f64>) -> Vec<NamedValues> {
    const MOST_LINES: usize = 8;
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, value) in trends.iter().flat_map(|trend| of(trend)) {
        *sums.entry(name).or_default() += value;
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().filter(|(_, sum)| *sum > 0.0).collect();
    names.sort_by(|one, other| other.1.total_cmp(&one.1));
    // A report that has others of its kind had none of this one, or none that it shows.
    let value = |trend: &&Trend, name: &str| {
        let own = of(trend);
        (!own.is_empty()).then(|| own.get(name).copied().unwrap_or(0.0))
    };
    let line =
        |(name, _): (&str, f64)| (name.to_owned(), trends.iter().map(|trend| value(trend, name)).collect());
    names.into_iter().take(MOST_LINES).map(line).collect()
}

fn rate_charts(trends: &[&Trend]) -> [LineChart; 4] {
    let values = |name: &str, of: &dyn Fn(&Trend) -> Option<f64>| {
        (name.to_owned(), trends.iter().map(|trend| of(trend)).collect())
    };
    let line = |name: &str, head: Head| values(name, &|trend| trend.row.figure(head));
    let seconds = |name: &str, head: Head| values(name, &|trend| Some(trend.row.figure(head)? * 1e-6));
    let linear = |unit: &str| Axis::linear(unit, Unit::Plain);
    [
        LineChart::new(
            "Requests",
            "Read and write requests of the application per second, as averages of the intervals.",
            linear("requests per second"),
            vec![line("reads", Head::Reads), line("writes", Head::Writes)],
        ),
        LineChart::new(
            "Throughput",
            "MiB per second: all I/O of the instance, and redo.",
            linear("MiB per second"),
            vec![line("read", Head::ReadMib), line("written", Head::WriteMib), line("redo", Head::RedoMib)],
        ),
        LineChart::new(
            "Sessions and CPUs",
            "Average active sessions, CPUs that the database kept busy, and CPUs of the host.",
            linear("sessions or CPUs"),
            vec![
                line("active sessions", Head::DbTime),
                line("CPUs busy with the database", Head::DbCpu),
                values(CPUS_OF_HOST, &|trend| trend.cpus),
            ],
        ),
        LineChart::new(
            "Mean waits",
            "Means hide what the heat maps show.",
            Axis::log("mean", Unit::Seconds),
            vec![
                seconds("db file sequential read", Head::SingleBlockRead),
                seconds("db file parallel write", Head::BlockWrite),
                seconds("log file parallel write", Head::LogWrite),
                values("log file sync", &|trend| Some(trend.log_file_sync_us? * 1e-6)),
            ],
        ),
    ]
}

fn drawing(intervals: &[Interval], y: Axis, traces: Vec<Trace>) -> Drawing {
    /// Labels of the axis of time, as many as a narrow window has room for.
    const LABELS: f64 = 4.0;
    let begin = intervals.first().map_or(0.0, |interval| interval.0);
    let end = drawn(intervals).last().map_or(1.0, |interval| interval.end);
    let mut names: Vec<(f64, String)> = Vec::new();
    for (at, _, name) in intervals {
        if names.last().is_none_or(|(last, _)| at - last >= (end - begin) / LABELS) {
            names.push((*at, name.clone()));
        }
    }
    let x = Axis::linear("first snapshot", Unit::Plain).ranging(begin, end).named(names);
    Drawing { is_timeline: true, ..Drawing::new(x, y, traces) }
}

/// An interval as it is drawn.
#[derive(Clone, Copy)]
struct Drawn {
    begin: f64,
    end: f64,
    /// The end of the interval before it, if there is a gap between them.
    gap_from: Option<f64>,
    /// True between two gaps.
    is_alone: bool,
}

/// The intervals as they are drawn. One that stands alone has a visible width: half the gap behind it at most.
fn drawn(intervals: &[Interval]) -> Vec<Drawn> {
    /// A shorter gap, as a share of the interval before it, comes from the clock.
    const GAP: f64 = 0.05;
    /// Intervals of the smallest visible width that fill the axis.
    const WIDTHS: f64 = 120.0;
    let span =
        intervals.first().zip(intervals.last()).map_or(0.0, |((first, ..), (_, last, _))| last - first);
    let gap_behind = |at: usize| {
        let (begin, end, _) = intervals.get(at)?;
        let next = intervals.get(at + 1).map_or(f64::INFINITY, |(next, ..)| *next);
        (next - end > GAP * (end - begin)).then_some(next - end)
    };
    let mut all: Vec<Drawn> = Vec::with_capacity(intervals.len());
    for (at, (begin, end, _)) in intervals.iter().enumerate() {
        let is_after_gap = at == 0 || gap_behind(at - 1).is_some();
        let behind = gap_behind(at);
        let is_alone = is_after_gap && behind.is_some();
        let room = if is_alone { behind.map_or(0.0, |gap| gap / 2.0) } else { 0.0 };
        let end = end + (span / WIDTHS - (end - begin)).clamp(0.0, room);
        let gap_from = all.last().map(|before| before.end).filter(|_| is_after_gap);
        all.push(Drawn { begin: *begin, end, gap_from, is_alone });
    }
    all
}

/// A line through the middles of contiguous intervals, which breaks at gaps, and over the width of those that stand alone.
fn middles(intervals: &[Interval], values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<f64>>) {
    let points = drawn(intervals).into_iter().zip(values).flat_map(|(own, value)| {
        let gap = own.gap_from.map(|_| (own.begin, None));
        let [first, last] = match own.is_alone {
            true => [Some((own.begin, *value)), Some((own.end, *value))],
            false => [Some(((own.begin + own.end) / 2.0, *value)), None],
        };
        gap.into_iter().chain(first).chain(last)
    });
    points.unzip()
}

/// A layer of a stack: level over each interval, and zero over gaps.
fn level(intervals: &[Interval], values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<f64>>) {
    let points = drawn(intervals).into_iter().zip(values).flat_map(|(own, value)| {
        let gap = own.gap_from.into_iter().flat_map(move |from| [(from, Some(0.0)), (own.begin, Some(0.0))]);
        let value = Some(value.unwrap_or(0.0));
        gap.chain([(own.begin, value), (own.end, value)])
    });
    points.unzip()
}

/// Rows of powers of two, from one up to another, and the waits that are spread over them.
type Cells = Vec<(i32, i32, f64)>;

/// Waits for an event by duration over the intervals.
fn heat_drawing(intervals: &[Interval], points: &[Option<&Point>]) -> Result<Drawing, String> {
    let columns: Vec<Cells> = points.iter().map(|point| point.map(cells).unwrap_or_default()).collect();
    let heat = heat(intervals, &columns).ok_or("no report has a histogram of it")?;
    let durations: Vec<Durations> =
        points.iter().map(|point| point.map(durations).unwrap_or_default()).collect();
    let may_be_a_cache = points.iter().flatten().any(|point| {
        point.event.contains(" read") && point.two_peaks.is_some_and(|peaks| peaks.may_be_a_caches())
    });
    let lines = heat::lines(&durations, may_be_a_cache, |name, y| {
        let (x, y) = middles(intervals, &y);
        Line::new(name, Colour::Text, x, y)
    });
    let traces = [Trace::Heat(heat)].into_iter().chain(lines.into_iter().map(Trace::Line)).collect();
    let drawing = drawing(intervals, Axis::log("wait", Unit::Seconds), traces);
    Ok(Drawing { height_px: 420, ..drawing })
}

fn about_heat_map(points: &[Option<&Point>]) -> String {
    let about = "Each cell is the share of the waits of its interval that took so long, from green to red on a linear scale. \
                 The line is the mean: waits are where the colour is.";
    match points.iter().flatten().filter(|point| point.two_peaks.is_some()).count() {
        0 => about.to_owned(),
        peaks => format!("{about} In {peaks} of {} intervals one mean hides two peaks.", points.len()),
    }
}

/// Gaps between intervals are empty columns.
fn heat(intervals: &[Interval], columns: &[Cells]) -> Option<Heat> {
    let intervals = drawn(intervals);
    let mut x_edges: Vec<f64> = intervals.iter().take(1).map(|own| own.begin).collect();
    let mut with_gaps = Vec::new();
    for (own, column) in intervals.iter().zip(columns) {
        if x_edges.last().is_some_and(|last| own.begin > *last) {
            with_gaps.push(Cells::new());
            x_edges.push(own.begin);
        }
        x_edges.push(own.end);
        with_gaps.push(column.clone());
    }
    Heat::of("waits", x_edges, &with_gaps, |row| f64::from(row).exp2() / 1e6)
}

fn cells(point: &Point) -> Cells {
    let filled = point.histogram.buckets.iter().filter(|bucket| bucket.percent.value > 0.0);
    let cell = |bucket: &Bucket| {
        let (from, to) = rows(bucket);
        (from, to, bucket.percent.value)
    };
    filled.map(cell).collect()
}

fn rows(bucket: &Bucket) -> (i32, i32) {
    let row = |us: f64| us.max(0.5).log2().round() as i32;
    let from = row(bucket.from_us);
    // An open bucket gets the size of the one below it.
    (from, bucket.to_us.map_or(from + 1, row).max(from + 1))
}

fn durations(point: &Point) -> Durations {
    let bucket = |(from, to, percent): (i32, i32, f64)| {
        let [from_s, to_s] = [from, to].map(|row| f64::from(row).exp2() / 1e6);
        (from_s, to_s, percent)
    };
    Durations {
        buckets: cells(point).into_iter().map(bucket).collect(),
        mean_s: point.mean_us.and_then(Figure::known).map(|us| us / 1e6),
        border_s: point.two_peaks.map(|peaks| peaks.border_us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use slob_awr::info::Row;
    use slob_awr::{EventHistogram, Over};

    use super::*;

    fn hours() -> [Interval; 2] {
        [(0.0, 1.0, "10:00".into()), (2.0, 3.0, "12:00".into())]
    }

    fn page(databases: &[&str]) -> String {
        let bucket =
            Bucket { from_us: 0.0, to_us: Some(8.0), percent: Figure { value: 100.0, resolution: 0.1 } };
        let point = Point {
            file: String::new(),
            begin: None,
            end: None,
            event: "h".into(),
            mean_us: None,
            histogram: EventHistogram {
                event: "h".into(),
                waits: None,
                waits_were_cut: false,
                buckets: vec![bucket],
                sections: Vec::new(),
            },
            over: Over { least_percent: 0.0, most_percent: 0.0 },
            two_peaks: None,
        };
        let mut row = Row::default();
        row.file = "<1".into();
        let report = |database: &&str| AwrInterval {
            words: (*database).to_owned(),
            trend: Trend {
                subject: Subject { database: (*database).to_owned(), ..Subject::default() },
                begin: None,
                end: None,
                row: row.clone(),
                cpus: Some(4.0),
                log_file_sync_us: None,
                classes: BTreeMap::new(),
                events: BTreeMap::new(),
                statements: BTreeMap::new(),
            },
            points: vec![Some(point.clone())],
        };
        awr_page(databases.iter().map(report).collect(), &["h"], Begins::WithWaits)
    }

    #[test]
    fn gaps_between_intervals_are_gaps_in_lines_and_zero_in_a_stack() {
        let values = [Some(1.0), Some(2.0)];
        let drawn = [Some(1.0), Some(1.0), None, Some(2.0), Some(2.0)];
        assert_eq!(middles(&hours(), &values), (vec![0.0, 1.0, 2.0, 2.0, 3.0], drawn.to_vec()));
        let (x, y) = level(&hours(), &values);
        assert_eq!(x, [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]);
        assert_eq!(y, [1.0, 1.0, 0.0, 0.0, 2.0, 2.0].map(Some));
    }

    /// One report of the peak hour a day had no mark.
    #[test]
    fn one_hour_a_day_is_drawn_with_a_visible_width() {
        let hour = |day: u32| (f64::from(day) * 24.0, f64::from(day) * 24.0 + 1.0, String::new());
        let days: Vec<Interval> = (0..30).map(hour).collect();
        let (x, y) = middles(&days, &[Some(1.0); 30]);
        let segments = y.windows(2).filter(|pair| pair[0].is_some() && pair[1].is_some()).count();
        assert_eq!((segments, y.iter().filter(|value| value.is_none()).count()), (30, 29));
        assert!((x[1] - x[0]) * 121.0 > 29.0 * 24.0, "{x:?}");
        // Ten years: the width leaves half of each gap.
        let days: Vec<Interval> = (0..3650).map(hour).collect();
        assert!(drawn(&days).windows(2).all(|pair| pair[1].begin - pair[0].end >= 11.0));
    }

    #[test]
    fn contiguous_intervals_share_a_line() {
        let hour = |at: u32| (f64::from(at), f64::from(at) + 1.0, String::new());
        let (x, y) = middles(&[0, 1, 10, 20].map(hour), &[Some(1.0), Some(2.0), Some(3.0), Some(4.0)]);
        assert_eq!(x[..3], [0.5, 1.5, 10.0]);
        assert_eq!(y[..4], [Some(1.0), Some(2.0), None, Some(3.0)]);
    }

    #[test]
    fn databases_have_charts_of_their_own_on_one_page() {
        let html = page(&["one", "other"]);
        assert!(html.contains("id=\"line-1\"") && html.contains("id=\"line-2-1\""));
        assert!(html.contains("data-chart=\"line-3\"") && html.contains("data-chart=\"line-2-3\""));
        assert!(html.contains("<h2>other</h2>"));
    }

    #[test]
    fn every_wait_is_in_a_cell_and_a_gap_in_time_is_empty() {
        let column = vec![(-1, 3, 4.0), (3, 5, 10.0), (5, 6, 2.0)];
        let heat = heat(&hours(), &[column, Vec::new()]).unwrap();
        assert_eq!(heat.x_edges, [0.0, 1.0, 2.0, 3.0]);
        let column = |at: usize| heat.percents.iter().map(|row| row[at]).sum::<f64>();
        assert_eq!((column(0), column(1), column(2)), (100.0, 0.0, 0.0));
        assert_eq!(
            heat.percents.iter().map(|row| row[0]).collect::<Vec<_>>(),
            [6.25, 6.25, 6.25, 6.25, 31.25, 31.25, 12.5]
        );
        assert_eq!(heat.y_edges.len(), heat.percents.len() + 1);
    }

    #[test]
    fn a_page_of_waits_begins_with_the_heat_map() {
        let first =
            |html: &str| html.split("data-chart=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert_eq!(first(&page(&["one"])), "heat-1");
    }

    #[test]
    fn a_page_escapes_what_it_shows() {
        let html = page(&["A <b>"]);
        assert!(html.contains("<h1>A &lt;b&gt;</h1>") && html.contains("<td>&lt;1</td>"));
        assert!(html.contains("data-chart=\"heat-1\"") && html.contains("data-chart=\"line-3\""));
    }
}
