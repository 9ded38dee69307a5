//! The figures of a report that others are compared with.

use std::collections::BTreeMap;

use jiff::civil::DateTime;

use crate::figure::Figure;
use crate::info::{self, Named, Row};
use crate::lookup::is_idle;
use crate::report::{Report, WaitEvent};

#[derive(Clone, Debug)]
pub struct Trend {
    pub subject: Subject,
    pub begin: Option<DateTime>,
    pub end: Option<DateTime>,
    pub row: Row,
    pub cpus: Option<f64>,
    pub log_file_sync_us: Option<f64>,
    pub classes: BTreeMap<String, f64>,
    pub events: BTreeMap<String, f64>,
    /// Keys are SQL Id and container.
    pub statements: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    pub database: String,
    /// Several databases may have one name.
    pub id: Option<String>,
    /// Absent for a cluster.
    pub instance: Option<String>,
    pub container: Option<String>,
}

impl Trend {
    pub fn of(named: &Named) -> Self {
        let report = &named.report;
        let database = &report.database;
        let seconds = report.elapsed_s();
        let per_second = |time: f64| seconds.map(|seconds| time / seconds);
        let times = |events: &[WaitEvent]| -> BTreeMap<String, f64> {
            let busy = events.iter().filter(|event| !is_idle(event) && event.name != "DB CPU");
            busy.filter_map(|event| Some((event.name.clone(), per_second(event.time_s()?.value)?))).collect()
        };
        let cpu = report.db_cpu_s().and_then(|cpu| per_second(cpu.value));
        let with_cpu = |mut times: BTreeMap<String, f64>| {
            times.extend(cpu.map(|cpu| ("CPU".to_owned(), cpu)));
            times
        };
        let mut classes = times(report.classes_of_sessions());
        classes.retain(|class, _| class != "Idle");
        let statements = report.top_sql.iter();
        Self {
            subject: Subject {
                database: database.name.clone().unwrap_or_default(),
                id: database.id.clone(),
                instance: database.instance.clone(),
                container: database.container.clone(),
            },
            begin: report.interval.begin_time(),
            end: report.interval.end_time(),
            row: Row::of(named),
            cpus: report.cpus(),
            log_file_sync_us: log_file_sync_us(report),
            classes: if classes.is_empty() { classes } else { with_cpu(classes) },
            events: with_cpu(times(report.waits_of_sessions())),
            statements: statements
                .filter_map(|sql| {
                    let key = sql.container.iter().fold(sql.id.clone(), |id, own| format!("{id} {own}"));
                    Some((key, per_second(sql.elapsed_s?.value)?))
                })
                .collect(),
        }
    }
}

pub fn log_file_sync_us(report: &Report) -> Option<f64> {
    report.foreground("log file sync")?.mean_us()?.known()
}

pub fn subject_words(report: &Report) -> String {
    let database = &report.database;
    let parts =
        [&database.name, &database.instance, &database.container, &report.host.name, &database.release];
    let mut words: Vec<&str> = parts.into_iter().filter_map(Option::as_deref).collect();
    words.dedup();
    words.join(", ")
}

/// Rates are per second. Figures that their print does not tell from 0 are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    pub logical_reads: Option<f64>,
    /// Blocks that the application read.
    pub physical_reads: Option<f64>,
    pub physical_read_requests: Option<f64>,
    pub physical_read_bytes: Option<f64>,
    /// Blocks that the application wrote.
    pub physical_writes: Option<f64>,
    pub redo_bytes: Option<f64>,
    pub commits: Option<f64>,
    pub db_time_s: Option<f64>,
    /// Reads of foreground sessions.
    pub single_block_reads: Option<f64>,
    pub single_block_read_us: Option<f64>,
    pub log_file_sync_us: Option<f64>,
}

impl Rates {
    pub fn of(report: &Report) -> Self {
        let known = |figure: Option<Figure>| figure.and_then(Figure::known);
        let statistic = |name| known(report.statistic_per_s(name));
        let read = info::single_block_read(report);
        Self {
            logical_reads: known(info::LOGICAL_READS.per_s(report)),
            physical_reads: known(info::PHYSICAL_READS.per_s(report)),
            physical_read_requests: statistic("physical read IO requests"),
            physical_read_bytes: statistic("physical read bytes"),
            physical_writes: known(info::PHYSICAL_WRITES.per_s(report)),
            redo_bytes: known(info::REDO.per_s(report)),
            commits: statistic("user commits"),
            db_time_s: known(info::db_time_per_s(report)),
            single_block_reads: read.as_ref().and_then(|read| known(report.per_second(read.waits))),
            single_block_read_us: read.and_then(|read| known(read.mean_us())),
            log_file_sync_us: log_file_sync_us(report),
        }
    }
}
