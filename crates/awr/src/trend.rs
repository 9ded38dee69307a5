//! What a report says of its interval, for a series of them: what it is of, and where time went.

use std::collections::BTreeMap;

use jiff::civil::DateTime;

use crate::idle::is_idle;
use crate::info::{Named, Row};
use crate::report::{Report, WaitEvent};

/// What is kept of a report in a series.
#[derive(Clone, Debug)]
pub struct Trend {
    /// What the report is of: reports of other databases or instances are no part of its series.
    pub subject: Subject,
    /// The first snapshot.
    pub begin: Option<DateTime>,
    /// The last one.
    pub end: Option<DateTime>,
    /// The row of `awr_info`.
    pub row: Row,
    /// CPUs of the host.
    pub cpus: Option<f64>,
    /// Mean wait for the log in microseconds.
    pub log_file_sync_us: Option<f64>,
    /// Sessions in each class of waits, and on CPU, on average.
    pub classes: BTreeMap<String, f64>,
    /// Sessions in each event, on average; without idle ones.
    pub events: BTreeMap<String, f64>,
    /// Sessions in each statement, on average, by SQL Id.
    pub statements: BTreeMap<String, f64>,
}

/// A database, and the instance if the report is of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The database's name.
    pub database: String,
    /// Its number: names come again.
    pub id: Option<String>,
    /// The instance; none for a cluster.
    pub instance: Option<String>,
    /// The pluggable database.
    pub container: Option<String>,
}

const CPU: &str = "CPU";

impl Trend {
    /// Of a report.
    #[must_use]
    pub fn of(named: &Named) -> Self {
        let report = &named.report;
        let database = &report.database;
        let seconds = report.elapsed_s();
        let per_second = |time: f64| seconds.map(|seconds| time / seconds);
        let times = |events: &[WaitEvent]| -> BTreeMap<String, f64> {
            let busy = events.iter().filter(|event| !is_idle(event) && event.name != "DB CPU");
            busy.filter_map(|event| Some((event.name.clone(), per_second(event.time_s()?.value)?))).collect()
        };
        let classes = match report.wait_classes.is_empty() {
            true => &report.all_wait_classes,
            false => &report.wait_classes,
        };
        let cpu = report.db_cpu_s().and_then(|cpu| per_second(cpu.value));
        let with_cpu = |mut times: BTreeMap<String, f64>| {
            times.extend(cpu.map(|cpu| (CPU.to_owned(), cpu)));
            times
        };
        let mut classes = times(classes);
        classes.retain(|class, _| class != "Idle");
        let statements = report.top_sql.iter();
        Self {
            subject: Subject {
                database: database.name.clone().unwrap_or_default(),
                id: database.id.clone(),
                instance: database.instance.clone(),
                container: database.container.clone(),
            },
            begin: report.interval.begin.as_ref().and_then(|snapshot| snapshot.time),
            end: report.interval.end.as_ref().and_then(|snapshot| snapshot.time),
            row: Row::of(named),
            cpus: report.cpus(),
            log_file_sync_us: log_file_sync_us(report),
            classes: if classes.is_empty() { classes } else { with_cpu(classes) },
            events: with_cpu(times(report.waits_of_sessions())),
            statements: statements
                .filter_map(|sql| Some((sql.id.clone(), per_second(sql.elapsed_s?.value)?)))
                .collect(),
        }
    }
}

/// Mean wait of sessions for the log in microseconds.
#[must_use]
pub fn log_file_sync_us(report: &Report) -> Option<f64> {
    report.foreground("log file sync")?.mean_us()?.known()
}

/// What a series is of, in words: database, instance, container, host, release.
#[must_use]
pub fn subject_words(report: &Report) -> String {
    let database = &report.database;
    let parts = [
        database.name.as_deref(),
        database.instance.as_deref(),
        database.container.as_deref(),
        report.host.name.as_deref(),
        database.release.as_deref(),
    ];
    let mut words: Vec<&str> = parts.into_iter().flatten().collect();
    words.dedup();
    words.join(", ")
}
