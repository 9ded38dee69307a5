//! A page of consecutive reports: heat maps of waits, rates and means over time.

use std::path::Path;
use std::process::ExitCode;

use jiff::civil::DateTime;
use slob_awr::info::{Head, Named, Row, Value};
use slob_awr::series::{EVENTS, Point};
use slob_report::format::{ABSENT, significant};
use slob_report::html::{HeatColumn, HeatMap, LineChart, SeriesPage, series_page};

use super::awr_files::Files;
use crate::failure::Failure;

/// What the page shows of a report beside its histograms.
#[derive(Clone)]
pub(super) struct Summary {
    begin: Option<DateTime>,
    end: Option<DateTime>,
    row: Row,
}

impl Summary {
    pub(super) fn of(named: &Named) -> Self {
        Self {
            begin: named.report.interval.begin.as_ref().and_then(|snapshot| snapshot.time),
            end: named.report.interval.end.as_ref().and_then(|snapshot| snapshot.time),
            row: Row::of(named),
        }
    }

}

/// The page of the reports at a path, and the exit code that they come to.
pub(super) fn page_of(path: &Path) -> Result<(String, ExitCode), Failure> {
    const LIMIT_US: f64 = 8.0 * 1024.0;
    let read = Files::read([&path.to_owned()], |named| {
        let points = EVENTS.iter().map(|event| Point::of(&named, event, LIMIT_US)).collect();
        (Summary::of(&named), points)
    })?;
    let code = read.exit_code()?;
    Ok((page(read.kept, &EVENTS), code))
}

/// The page of reports, in the order of their first snapshots, with a heat map for each event that they have.
pub(super) fn page(mut reports: Vec<(Summary, Vec<Option<Point>>)>, events: &[&str]) -> String {
    reports.sort_by_key(|(summary, _)| (summary.begin.is_none(), summary.begin));
    let intervals = intervals(&reports);
    let heat_maps = events
        .iter()
        .enumerate()
        .filter(|(at, _)| reports.iter().any(|(_, points)| points.get(*at).is_some_and(Option::is_some)))
        .map(|(at, event)| {
            heat_map(event, reports.iter().map(|(_, points)| points.get(at).and_then(Option::as_ref)))
        })
        .collect();
    let summaries: Vec<&Summary> = reports.iter().map(|(summary, _)| summary).collect();
    series_page(&SeriesPage {
        title: "Reports over time".into(),
        lead: lead(&summaries),
        source: "AWR and Statspack reports".into(),
        intervals,
        lines: lines(&summaries),
        heat_maps,
        heads: Head::ALL.map(|head| head.text().to_owned()).into(),
        rows: summaries.iter().map(|summary| summary.row.cells().map(cell).collect()).collect(),
    })
}

fn cell(value: Option<Value>) -> String {
    match value {
        None => ABSENT.to_owned(),
        Some(Value::Number(number)) => significant(number),
        Some(Value::Text(text)) => text,
    }
}

fn lead(summaries: &[&Summary]) -> String {
    let times =
        summaries.first().and_then(|first| first.begin).zip(summaries.iter().rev().find_map(|last| last.end));
    let count = crate::output::plural(summaries.len() as u64, "report");
    times.map_or(count.clone(), |(begin, end)| {
        format!("{count}, {} to {}", begin.strftime("%Y-%m-%d %H:%M"), end.strftime("%Y-%m-%d %H:%M"))
    })
}

/// Hours from the first snapshot. Where times are absent or overlap, reports stand one after the other, an hour each.
fn intervals(reports: &[(Summary, Vec<Option<Point>>)]) -> Vec<(f64, f64, String)> {
    let first = reports.first().and_then(|(summary, _)| summary.begin);
    let hours = |summary: &Summary| {
        let since = |moment: DateTime| Some(moment.duration_since(first?).as_secs_f64() / 3600.0);
        let (begin, end) = (since(summary.begin?)?, since(summary.end?)?);
        (end > begin).then(|| {
            (
                begin,
                end,
                summary.begin.map_or_else(String::new, |begin| begin.strftime("%d %b %H:%M").to_string()),
            )
        })
    };
    let timed: Option<Vec<_>> = reports.iter().map(|(summary, _)| hours(summary)).collect();
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
            let names = reports.iter().map(|(summary, _)| cell(&summary.row[0]));
            names.enumerate().map(|(at, name)| (at as f64, at as f64 + 1.0, name)).collect()
        },
        clipped,
    )
}

fn lines(summaries: &[&Summary]) -> Vec<LineChart> {
    let line = |name: &str, head: Head, factor: f64| {
        let values =
            summaries.iter().map(|summary| summary.row.figure(head).map(|figure| figure * factor)).collect();
        (name.to_owned(), values)
    };
    let chart = |title: &str, about: &str, is_time, lines| LineChart {
        title: title.into(),
        about: about.into(),
        is_time,
        lines,
    };
    vec![
        chart(
            "Requests",
            "Read and write requests of the application per second, as averages of the intervals.",
            false,
            vec![line("reads", Head::Reads, 1.0), line("writes", Head::Writes, 1.0)],
        ),
        chart(
            "Throughput",
            "MiB per second: all I/O of the instance, and redo.",
            false,
            vec![
                line("read", Head::ReadMib, 1.0),
                line("written", Head::WriteMib, 1.0),
                line("redo", Head::RedoMib, 1.0),
            ],
        ),
        chart(
            "Sessions and CPUs",
            "Average active sessions, and CPUs that the database kept busy.",
            false,
            vec![line("active sessions", Head::DbTime, 1.0), line("CPUs", Head::DbCpu, 1.0)],
        ),
        chart(
            "Mean waits",
            "Means hide what the heat maps show.",
            true,
            vec![
                line("db file sequential read", Head::SingleBlockRead, 1e-6),
                line("db file parallel write", Head::BlockWrite, 1e-6),
                line("log file parallel write", Head::LogWrite, 1e-6),
            ],
        ),
    ]
}

fn heat_map<'a>(event: &str, points: impl Iterator<Item = Option<&'a Point>>) -> HeatMap {
    let mut about = vec![
        "Each cell is the number of waits of its interval with its duration; both scales are logarithmic."
            .to_owned(),
    ];
    let column = |point: &Point| {
        // Without a number of waits a share still shows the shape.
        let waits = point.histogram.waits.map_or(1000.0, |waits| waits.value);
        let buckets = point.histogram.buckets.iter();
        HeatColumn {
            buckets: buckets.map(|bucket| (bucket.from_us, bucket.to_us, bucket.waits_of(waits))).collect(),
        }
    };
    let mut columns = Vec::new();
    let mut peaks = 0;
    for point in points {
        peaks += usize::from(point.is_some_and(|point| point.two_peaks.is_some()));
        columns.push(point.map(column));
    }
    if peaks > 0 {
        about.push(format!("In {peaks} of {} intervals two peaks stand behind one mean.", columns.len()));
    }
    HeatMap { title: event.to_owned(), about: about.join(" "), columns }
}
