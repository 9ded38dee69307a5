//! A page of consecutive AWR or Statspack reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use slob_awr::histogram::Point;
use slob_awr::info::{Head, Named};
use slob_awr::trend::{Subject, Trend, subject_words};
use slob_awr::{Bucket, Figure};

use crate::chart::{Axis, Chart, Colour, Drawing, Heat, Intervals, Levels, Stroke, Trace, Unit};
use crate::heat::{self, Durations};
use crate::layout::{Section, View, lead};
use crate::page::{Column, Table};

const SOURCE: &str = "AWR and Statspack reports";
/// The layout of a longer table would delay the charts.
const MOST_ROWS: usize = 200;

#[derive(Clone)]
pub struct AwrInterval {
    words: String,
    trend: Trend,
    points: Vec<Option<Point>>,
}

impl AwrInterval {
    pub fn of(named: &Named, points: Vec<Option<Point>>) -> Self {
        Self { words: subject_words(&named.report), trend: Trend::of(named), points }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    WithTime,
    WithWaits,
}

/// A group for each database or instance, in order of first snapshots, with a heat map for each event of its reports.
pub fn awr_page(reports: Vec<AwrInterval>, events: &[&str], begins: Begins) -> String {
    let count = reports.len();
    let mut groups: BTreeMap<Subject, Vec<AwrInterval>> = BTreeMap::new();
    for report in reports {
        groups.entry(report.trend.subject.clone()).or_default().push(report);
    }
    let groups = groups.into_values().map(Group::of).collect_vec();
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
        sections: groups
            .iter()
            .zip(1..)
            .flat_map(|(group, nth)| group.sections(events, nth, begins))
            .collect(),
        source: SOURCE.into(),
    }
    .html()
}

struct Group {
    title: String,
    reports: Vec<AwrInterval>,
    intervals: Arc<Intervals>,
}

impl Group {
    fn of(mut reports: Vec<AwrInterval>) -> Self {
        reports.sort_by_key(|report| (report.trend.begin.is_none(), report.trend.begin));
        let trends: Vec<&Trend> = reports.iter().map(|report| &report.trend).collect();
        let words = reports.last().map_or("", |report| report.words.as_str());
        let (title, intervals) = (titled(words, &trends), Arc::new(intervals(&trends)));
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
        let lines = time_charts(&trends).into_iter().chain(rate_charts(&trends)).zip(1..);
        let lines = lines.map(|(lines, nth)| {
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
        let figures =
            Section::new(format!("table{suffix}"), format!("All figures: {}", self.title)).linked_as("");
        let figures = match trends.len() {
            ..=MOST_ROWS => figures.part("", |page| page.table(&table)),
            count => figures.folded(&format!("{count} reports"), |page| page.table(&table)),
        };
        [Section::new(format!("charts{suffix}"), &self.title).linked_as("").charts(charts), figures]
    }
}

fn titled(words: &str, trends: &[&Trend]) -> String {
    let begin = trends.first().and_then(|first| first.begin);
    let times = begin.zip(trends.iter().rev().find_map(|last| last.end));
    let day = |moment: DateTime| moment.strftime("%Y-%m-%d %H:%M").to_string();
    let times = times.map(|(begin, end)| format!("{} to {}", day(begin), day(end)));
    let parts = [Some(words.to_owned()).filter(|words| !words.is_empty()), times];
    parts.into_iter().flatten().join(": ")
}

/// The hosts' clocks decide; where they are absent or overlap, reports stay in a row.
fn intervals(trends: &[&Trend]) -> Intervals {
    const OVERLAP_S: i64 = 36;
    let second = |moment: DateTime| Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second());
    let span = |trend: &&Trend| {
        let (begin, end) = (second(trend.begin?)?, second(trend.end?)?);
        (end > begin).then_some((begin, end))
    };
    let timed: Option<Vec<(i64, i64)>> = trends.iter().map(span).collect();
    let follows = |timed: &Vec<(i64, i64)>| timed.windows(2).all(|pair| pair[1].0 > pair[0].1 - OVERLAP_S);
    let Some(mut spans) = timed.filter(follows) else {
        let names = trends.iter().map(|trend| short_name(trend)).collect();
        return Intervals { spans: (0..).zip(1..).take(trends.len()).collect(), names };
    };
    for at in 1..spans.len() {
        spans[at].0 = spans[at].0.max(spans[at - 1].1);
    }
    Intervals { spans, names: Vec::new() }
}

fn short_name(trend: &Trend) -> String {
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

    fn is_far_below(&self, limit: &[Option<f64>]) -> bool {
        const FAR: f64 = 8.0;
        let stack = &self.lines[..self.stacked];
        let height = |at: usize| stack.iter().filter_map(|(_, values)| values[at]).sum::<f64>();
        limit.iter().enumerate().all(|(at, limit)| limit.is_none_or(|limit| limit > FAR * height(at)))
    }

    fn drawing(&self, intervals: &Arc<Intervals>) -> Result<Drawing, String> {
        let levels = |(at, (name, values)): (usize, &NamedValues)| {
            let is_stacked = at < self.stacked;
            let is_limit = !is_stacked && self.stacked > 0;
            Trace::Levels(Levels {
                name: name.clone(),
                colour: Colour::Variant(at),
                y: values.clone(),
                is_stacked,
                stroke: if is_limit { Stroke::Dash } else { Stroke::Solid },
                // A limit far above would press the stack flat.
                is_hidden: is_limit && self.is_far_below(values),
            })
        };
        let known =
            self.lines.iter().enumerate().filter(|(_, (_, values))| values.iter().any(Option::is_some));
        Drawing::over(intervals.clone(), self.y.clone(), known.map(levels).collect())
            .or("the reports do not say")
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

fn largest(trends: &[&Trend], of: fn(&Trend) -> &BTreeMap<String, f64>) -> Vec<NamedValues> {
    const MOST_LINES: usize = 8;
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, value) in trends.iter().flat_map(|trend| of(trend)) {
        *sums.entry(name).or_default() += value;
    }
    let names =
        sums.into_iter().filter(|(_, sum)| *sum > 0.0).sorted_by(|one, other| other.1.total_cmp(&one.1));
    // A report that has others of its kind had none of this one, or none that it shows.
    let value = |trend: &&Trend, name: &str| {
        let own = of(trend);
        (!own.is_empty()).then(|| own.get(name).copied().unwrap_or(0.0))
    };
    let values = |name| trends.iter().map(|trend| value(trend, name)).collect();
    names.take(MOST_LINES).map(|(name, _)| (name.to_owned(), values(name))).collect()
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

/// Rows of powers of two, from one up to another, and the waits that are spread over them.
type Cells = Vec<(i32, i32, f64)>;

fn heat_drawing(intervals: &Arc<Intervals>, points: &[Option<&Point>]) -> Result<Drawing, String> {
    let columns: Vec<Cells> = points.iter().map(|point| point.map(cells).unwrap_or_default()).collect();
    let heat = Heat::of("waits", Vec::new(), &columns, |row| f64::from(row).exp2() / 1e6);
    let heat = heat.ok_or("no report has a histogram of it")?;
    let durations = points.iter().map(|point| point.map(durations).unwrap_or_default()).collect_vec();
    let may_be_a_cache = points.iter().flatten().any(|point| {
        point.event.contains(" read") && point.two_peaks.is_some_and(|peaks| peaks.may_be_a_caches())
    });
    let lines = heat::lines(&durations, may_be_a_cache).map(|(name, stroke, y)| {
        let (name, colour) = (name.to_owned(), Colour::Text);
        Trace::Levels(Levels { name, colour, y, is_stacked: false, stroke, is_hidden: false })
    });
    let traces = [Trace::Heat(heat)].into_iter().chain(lines).collect();
    Ok(Drawing::over(intervals.clone(), Axis::log("wait", Unit::Seconds), traces).tall(420))
}

fn about_heat_map(points: &[Option<&Point>]) -> String {
    let about = "Each cell is the share of the waits of its interval that took so long, from green to red on a linear scale. \
                 The line is the mean: waits are where the colour is.";
    match points.iter().flatten().filter(|point| point.two_peaks.is_some()).count() {
        0 => about.to_owned(),
        peaks => format!("{about} In {peaks} of {} intervals one mean hides two peaks.", points.len()),
    }
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
        has_unknown: false,
        mean_s: point.mean_us.and_then(Figure::known).map(|us| us / 1e6),
        border_s: point.two_peaks.map(|peaks| peaks.border_us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use slob_awr::info::Row;
    use slob_awr::{EventHistogram, Over};

    use super::*;

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
    fn databases_have_charts_of_their_own_on_one_page() {
        let html = page(&["one", "other"]);
        assert!(html.contains("id=\"line-1\"") && html.contains("id=\"line-2-1\""));
        assert!(html.contains("data-chart=\"line-3\"") && html.contains("data-chart=\"line-2-3\""));
        assert!(html.contains("<h2>other</h2>"));
    }

    #[test]
    fn every_wait_is_in_a_cell_of_its_interval() {
        let column = vec![(-1, 3, 4.0), (3, 5, 10.0), (5, 6, 2.0)];
        let heat =
            Heat::of("waits", Vec::new(), &[column, Vec::new()], |row| f64::from(row).exp2() / 1e6).unwrap();
        let column = |at: usize| heat.percents.iter().map(|row| row[at]).sum::<f64>();
        assert_eq!((column(0), column(1)), (100.0, 0.0));
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
