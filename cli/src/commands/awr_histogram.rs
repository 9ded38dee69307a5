//! `slob awr histogram`: how long waits took, over consecutive reports.

use std::path::PathBuf;

use clap::ArgMatches;
use slob_awr::histogram::{EVENTS, Point, sort};
use slob_awr::{Figure, Scope, duration, duration_us};
use slob_report::format::{ABSENT, significant};
use slob_report::table::{Column, Table};

use super::awr_files::Files;
use super::awr_page;
use crate::failure::{Failure, Outcome};
use crate::output;

/// No wait that --over could ask for is longer: a day.
const LONGEST_US: f64 = 86_400e6;

pub(crate) fn histogram(matches: &ArgMatches) -> Outcome {
    let asked: Vec<&str> =
        matches.get_many::<String>("event").unwrap_or_default().map(String::as_str).collect();
    let events = if asked.is_empty() { EVENTS.to_vec() } else { asked.clone() };
    let limit = matches.get_one::<String>("over").map_or("8ms", String::as_str);
    let limit_us = duration_us(limit, None)
        .map(|figure| figure.value)
        .filter(|us| *us > 0.0 && *us <= LONGEST_US)
        .ok_or_else(|| {
            Failure::usage(format!(
                "--over {limit}: not a duration of up to a day; use a number with us, ms or s, such as 8ms"
            ))
        })?;
    let of_report = |named: slob_awr::info::Named| {
        let points: Vec<Option<Point>> =
            events.iter().map(|event| Point::of(&named, event, limit_us)).collect();
        let known: Vec<String> = named.report.histograms.iter().map(|own| own.event.clone()).collect();
        (
            awr_page::Summary::of(&named, points.clone()),
            points,
            if points_are_absent(&asked, &named) { known } else { Vec::new() },
        )
    };
    let read = Files::read(matches.get_many("files").unwrap_or_default(), Scope::All, of_report)?;
    let code = read.exit_code()?;
    let series: Vec<(&str, Vec<Point>)> = events
        .iter()
        .enumerate()
        .map(|(at, event)| {
            let mut points: Vec<Point> =
                read.kept.iter().filter_map(|(_, points, _)| points[at].clone()).collect();
            sort(&mut points);
            (*event, points)
        })
        .filter(|(_, points)| !points.is_empty())
        .collect();
    if series.is_empty() {
        let known: Vec<&str> =
            read.kept.iter().flat_map(|(.., known)| known.iter().map(String::as_str)).take(12).collect();
        let hint = if known.is_empty() {
            "the reports have no wait-event histograms".to_owned()
        } else {
            format!("there are {} ...", known.join(", "))
        };
        return Err(Failure::usage(format!("no histogram of {}: {hint}", events.join(", "))));
    }
    if matches.get_flag("json") {
        let points: Vec<&Vec<Point>> = series.iter().map(|(_, points)| points).collect();
        output::print(&output::json("the histograms", &points)?)?;
    } else {
        output::print(
            &series
                .iter()
                .map(|(event, points)| text(event, points, limit_us))
                .collect::<Vec<_>>()
                .join("\n"),
        )?;
    }
    if let Some(path) = matches.get_one::<PathBuf>("html") {
        let summaries = read.kept.iter().map(|(summary, ..)| summary.clone()).collect();
        let page = awr_page::page(summaries, &events);
        output::write_whole(path, &page).map_err(|error| {
            Failure::usage(format!("writing {}: {error}; name another file", path.display()))
        })?;
        output::say(&format!("wrote {}", path.display()));
    }
    Ok(code)
}

/// Whether the events that were asked for are missing, and those that there are must be named.
fn points_are_absent(asked: &[&str], named: &slob_awr::info::Named) -> bool {
    asked.iter().all(|event| Point::of(named, event, 1.0).is_none())
}

fn text(event: &str, points: &[Point], limit_us: f64) -> String {
    let mut edges: Vec<f64> =
        points.iter().flat_map(|point| &point.histogram.buckets).map(|bucket| bucket.from_us).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    // Columns that no report has anything in say nothing.
    let share = |point: &Point, edge: f64| {
        let bucket = point.histogram.buckets.iter().find(|bucket| bucket.from_us == edge)?;
        Some(bucket.percent)
    };
    edges.retain(|edge| points.iter().filter_map(|point| share(point, *edge)).any(|share| share.value > 0.0));
    let over = Column::right(format!("over {}", duration(limit_us)));
    let heads =
        [Column::left("Report"), Column::left("Begin"), Column::right("Waits"), Column::right("Mean"), over];
    let start = |edge: &f64| if *edge == 0.0 { "from 0".to_owned() } else { duration(*edge) };
    let starts = edges.iter().map(|edge| Column::right(start(edge)));
    let row = |point: &Point| {
        let mean = point.mean_us.and_then(Figure::known).map_or_else(|| ABSENT.to_owned(), duration);
        let over = match point.over.most_percent - point.over.least_percent {
            gap if gap.abs() < 0.05 => format!("{:.1} %", point.over.least_percent),
            _ => format!("{:.1} to {:.1} %", point.over.least_percent, point.over.most_percent),
        };
        let cells = [
            point.file.clone(),
            point
                .begin
                .map_or_else(|| ABSENT.to_owned(), |begin| begin.strftime("%Y-%m-%d %H:%M").to_string()),
            point.histogram.waits.map_or_else(|| ABSENT.to_owned(), |waits| significant(waits.value)),
            mean,
            over,
        ];
        let shares = edges.iter().map(|edge| match share(point, *edge) {
            None => ABSENT.to_owned(),
            Some(share) if share.value == 0.0 && share.resolution == 0.0 => String::new(),
            Some(share) => format!("{:.1}", share.value),
        });
        cells.into_iter().chain(shares).collect::<Vec<String>>()
    };
    let columns: Vec<Column> = heads.into_iter().chain(starts).collect();
    let rows = Table::new(columns).with_rows(points.iter().map(row)).terminal(None);
    let words: String =
        points.iter().filter_map(|point| Some(format!("  {}: {}.\n", point.file, point.words()?))).collect();
    format!("{event}: percent of waits by duration, each column from its head up to the next\n{rows}{words}")
}
