//! A page of consecutive AWR or Statspack reports: time, events, statements and rates over time, heat maps of waits.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use slob_awr::histogram::Point;
use slob_awr::info::{Head, Named, Value};
use slob_awr::trend::{Subject, Trend, subject_words};

use super::series::{HeatColumn, HeatMap, LineChart, SeriesGroup, SeriesPage, series_page};
use crate::format::{ABSENT, significant};

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
    #[must_use]
    pub fn of(named: &Named, points: Vec<Option<Point>>) -> Self {
        Self { words: subject_words(&named.report), trend: Trend::of(named), points }
    }
}

/// A group for each database or instance, in order of first snapshots, with a heat map for each event that its reports have.
#[must_use]
pub fn awr_page(reports: Vec<AwrInterval>, events: &[&str]) -> String {
    let count = reports.len();
    let mut groups: BTreeMap<Subject, Vec<AwrInterval>> = BTreeMap::new();
    for report in reports {
        groups.entry(report.trend.subject.clone()).or_default().push(report);
    }
    let groups: Vec<SeriesGroup> = groups.into_values().map(|reports| group(reports, events)).collect();
    let (title, lead) = match &groups[..] {
        [only] => (only.title.clone(), format!("{count} report{}", if count == 1 { "" } else { "s" })),
        _ => (
            "Reports over time".to_owned(),
            format!("{count} reports of {} databases or instances", groups.len()),
        ),
    };
    series_page(&SeriesPage { title, lead, source: "AWR and Statspack reports".into(), groups })
}

fn group(mut reports: Vec<AwrInterval>, events: &[&str]) -> SeriesGroup {
    reports.sort_by_key(|report| (report.trend.begin.is_none(), report.trend.begin));
    let heat_maps = events
        .iter()
        .enumerate()
        .filter(|(at, _)| reports.iter().any(|report| report.points.get(*at).is_some_and(Option::is_some)))
        .map(|(at, event)| {
            heat_map(event, reports.iter().map(|report| report.points.get(at).and_then(Option::as_ref)))
        })
        .collect();
    let trends: Vec<&Trend> = reports.iter().map(|report| &report.trend).collect();
    let words = reports.last().map_or("", |report| report.words.as_str());
    SeriesGroup {
        title: titled(words, &trends),
        intervals: intervals(&trends),
        lines: [time_lines(&trends), lines(&trends)].concat(),
        heat_maps,
        heads: Head::ALL.iter().map(|head| head.text().to_owned()).collect(),
        rows: trends.iter().map(|trend| trend.row.cells().map(cell).collect()).collect(),
    }
}

fn cell(value: Option<Value>) -> String {
    match value {
        None => ABSENT.to_owned(),
        Some(Value::Number(number)) => significant(number),
        Some(Value::Text(text)) => text,
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
fn intervals(trends: &[&Trend]) -> Vec<(f64, f64, String)> {
    let first = trends.first().and_then(|trend| trend.begin);
    let hours = |summary: &Trend| {
        let since = |moment: DateTime| Some(moment.duration_since(first?).as_secs_f64() / 3600.0);
        let (begin, end) = (since(summary.begin?)?, since(summary.end?)?);
        (end > begin).then(|| (begin, end, moment(summary)))
    };
    let timed: Option<Vec<_>> = trends.iter().map(|trend| hours(trend)).collect();
    // A second's overlap is the clock's.
    let follows = |timed: &Vec<(f64, f64, String)>| timed.windows(2).all(|pair| pair[1].0 > pair[0].1 - 0.01);
    let clipped = |mut timed: Vec<(f64, f64, String)>| {
        for at in 1..timed.len() {
            timed[at].0 = timed[at].0.max(timed[at - 1].1);
        }
        timed
    };
    timed.filter(follows).map_or_else(
        || {
            let names = trends.iter().map(|trend| moment(trend));
            names.enumerate().map(|(at, name)| (at as f64, at as f64 + 1.0, name)).collect()
        },
        clipped,
    )
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

/// The most lines of a chart: the largest over all reports.
const MOST_LINES: usize = 8;

/// Charts of the time of sessions.
fn time_lines(trends: &[&Trend]) -> Vec<LineChart> {
    let largest = |of: fn(&Trend) -> &BTreeMap<String, f64>| -> Vec<(String, Vec<Option<f64>>)> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, value) in trends.iter().flat_map(|trend| of(trend)) {
            *sums.entry(name).or_default() += value;
        }
        let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
        names.sort_by(|one, other| other.1.total_cmp(&one.1));
        // A report that has others of its kind had none of this one, or none that it shows.
        let value = |trend: &&Trend, name: &str| {
            let own = of(trend);
            (!own.is_empty()).then(|| own.get(name).copied().unwrap_or(0.0))
        };
        let line = |(name, _): (&str, f64)| {
            (name.to_owned(), trends.iter().map(|trend| value(trend, name)).collect())
        };
        names.into_iter().filter(|(_, sum)| *sum > 0.0).take(MOST_LINES).map(line).collect()
    };
    let chart = |title: &str, about: &str, stacked: bool, lines: Vec<(String, Vec<Option<f64>>)>| LineChart {
        title: title.into(),
        about: about.into(),
        unit: "sessions",
        is_time: false,
        stacked: if stacked { lines.len() } else { 0 },
        lines,
    };
    let mut classes = chart(
        "DB time by class of wait",
        "Average sessions on CPU and in each wait class, stacked; the dashed line is the host's CPUs.",
        true,
        largest(|trend| &trend.classes),
    );
    let cpus: Vec<Option<f64>> = trends.iter().map(|trend| trend.cpus).collect();
    if cpus.iter().any(Option::is_some) && classes.is_far_below(&cpus) {
        classes.about += " It is far above; click its name to show it.";
    }
    classes.lines.push(("CPUs of the host".into(), cpus));
    let events = "Average sessions in the events that took most time over all reports. 0 may mean too little to be \
                  listed.";
    let statements = "Average sessions in the statements that took most time over all reports. 0 may mean too little \
                      to be listed.";
    let mut charts = vec![
        classes,
        chart("Top events", events, false, largest(|trend| &trend.events)),
        chart("Top SQL", statements, false, largest(|trend| &trend.statements)),
    ];
    charts.retain(|chart| chart.lines.iter().any(|(name, _)| name != "CPUs of the host"));
    charts
}

fn lines(summaries: &[&Trend]) -> Vec<LineChart> {
    let line = |name: &str, head: Head, factor: f64| {
        let values =
            summaries.iter().map(|summary| summary.row.figure(head).map(|figure| figure * factor)).collect();
        (name.to_owned(), values)
    };
    let chart = |title: &str, about: &str, unit, is_time, lines| LineChart {
        title: title.into(),
        about: about.into(),
        unit,
        is_time,
        stacked: 0,
        lines,
    };
    vec![
        chart(
            "Requests",
            "Read and write requests of the application per second, as averages of the intervals.",
            "requests per second",
            false,
            vec![line("reads", Head::Reads, 1.0), line("writes", Head::Writes, 1.0)],
        ),
        chart(
            "Throughput",
            "MiB per second: all I/O of the instance, and redo.",
            "MiB per second",
            false,
            vec![
                line("read", Head::ReadMib, 1.0),
                line("written", Head::WriteMib, 1.0),
                line("redo", Head::RedoMib, 1.0),
            ],
        ),
        chart(
            "Sessions and CPUs",
            "Average active sessions, CPUs that the database kept busy, and CPUs of the host.",
            "sessions or CPUs",
            false,
            vec![
                line("active sessions", Head::DbTime, 1.0),
                line("CPUs busy with the database", Head::DbCpu, 1.0),
                ("CPUs of the host".to_owned(), summaries.iter().map(|trend| trend.cpus).collect()),
            ],
        ),
        chart(
            "Mean waits",
            "Means hide what the heat maps show.",
            "mean",
            true,
            vec![
                line("db file sequential read", Head::SingleBlockRead, 1e-6),
                line("db file parallel write", Head::BlockWrite, 1e-6),
                line("log file parallel write", Head::LogWrite, 1e-6),
                (
                    "log file sync".to_owned(),
                    summaries.iter().map(|trend| trend.log_file_sync_us.map(|us| us * 1e-6)).collect(),
                ),
            ],
        ),
    ]
}

fn heat_map<'a>(event: &str, points: impl Iterator<Item = Option<&'a Point>>) -> HeatMap {
    let mut about = vec![
        "Each cell is the number of waits of its interval with its duration; both scales are logarithmic."
            .to_owned(),
    ];
    let column = |point: &Point| -> HeatColumn {
        // Without a number of waits a share still shows the shape.
        let waits = point.histogram.waits.map_or(1000.0, |waits| waits.value);
        let buckets = point.histogram.buckets.iter();
        buckets.map(|bucket| (bucket.from_us, bucket.to_us, bucket.waits_of(waits))).collect()
    };
    let mut columns = Vec::new();
    let mut peaks = 0;
    for point in points {
        peaks += usize::from(point.is_some_and(|point| point.two_peaks.is_some()));
        columns.push(point.map(column));
    }
    if peaks > 0 {
        about.push(format!("In {peaks} of {} intervals one mean hides two peaks.", columns.len()));
    }
    HeatMap { title: event.to_owned(), about: about.join(" "), columns }
}
