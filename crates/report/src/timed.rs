//! What DB time was spent on: the events that the database reports, or the waits that it measures.

use slob_measure::{LatencyKind, WaitEvent};
use slob_record::Record;

use crate::counters::latency;
use crate::figure::{self, Figures};
use crate::format::ABSENT;

/// Time spent on one thing.
pub(crate) struct Timed {
    pub(crate) name: String,
    pub(crate) class: String,
    /// How often; `None` where time was sampled.
    pub(crate) waits: Option<u64>,
    pub(crate) time_s: f64,
}

impl Timed {
    pub(crate) fn of(event: &WaitEvent) -> Self {
        Self {
            name: event.name.clone(),
            class: event.class.clone(),
            waits: event.waits,
            time_s: event.time_us as f64 / 1e6,
        }
    }
}

/// What DB time was spent on, the most first.
pub(crate) fn timed_events(figures: &Figures<'_>) -> Vec<Timed> {
    let mut timed = timed(figures);
    timed.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    timed
}

/// The events that the database reports, or else the waits it measures. In an embedded database the sessions
/// themselves wait, so that the rest of DB time is known too.
fn timed(figures: &Figures<'_>) -> Vec<Timed> {
    let record = figures.record;
    match (record.server.embedded, record.events.is_empty()) {
        (true, true) => with_rest(measured(record), figures),
        (true, false) => with_rest(reported(record), figures),
        (false, _) => reported(record),
    }
}

fn reported(record: &Record) -> Vec<Timed> {
    record.events.iter().filter(|event| !event.background).map(Timed::of).collect()
}

/// From the latencies that an embedded database measures.
fn measured(record: &Record) -> Vec<Timed> {
    let kinds = [
        (LatencyKind::PhysicalRead, "physical read"),
        (LatencyKind::PhysicalWrite, "physical write"),
        (LatencyKind::RedoSync, "redo sync"),
    ];
    let measured = kinds.iter().filter_map(|(kind, words)| {
        let histogram = latency(record, *kind)?;
        Some(Timed {
            name: (*words).to_owned(),
            class: "I/O".into(),
            waits: Some(histogram.count()),
            time_s: histogram.sum() as f64 / 1e9,
        })
    });
    measured.collect()
}

/// Adds what the waits leave of DB time.
fn with_rest(mut timed: Vec<Timed>, figures: &Figures<'_>) -> Vec<Timed> {
    let Some(db_time_s) = figure::DB_TIME_S.of(figures).filter(|_| !timed.is_empty()) else { return timed };
    let rest_s = db_time_s - timed.iter().map(|event| event.time_s).sum::<f64>();
    // Waits outside of operations, or at the window's edges, can make it negative: then it is not known.
    if rest_s >= 0.0 {
        let (name, class) = ("CPU and other".to_owned(), ABSENT.to_owned());
        timed.push(Timed { name, class, waits: None, time_s: rest_s });
    }
    timed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn an_embedded_databases_time_is_all_there() {
        let record = fixture::update_run();
        let figures = Figures::of(&record);
        let timed = timed(&figures);
        let names: Vec<&str> = timed.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["physical read", "redo sync", "CPU and other"]);
        let sum: f64 = timed.iter().map(|event| event.time_s).sum();
        assert!((sum - figure::DB_TIME_S.of(&figures).unwrap()).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn reported_events_come_before_measured_latencies() {
        let mut record = fixture::page_cache_run();
        assert_eq!(timed(&Figures::of(&record)).len(), 3);
        record.server.embedded = true;
        record.events.truncate(1);
        let timed = timed(&Figures::of(&record));
        let names: Vec<&str> = timed.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["data file read", "CPU and other"]);
    }

    #[test]
    fn what_the_servers_own_processes_wait_for_is_no_part_of_db_time() {
        let mut record = fixture::page_cache_run();
        record.events[0].background = true;
        assert_eq!(timed(&Figures::of(&record)).len(), 2);
    }

    #[test]
    fn a_server_reads_on_its_own_account() {
        let mut record = fixture::update_run();
        record.server.embedded = false;
        assert!(timed(&Figures::of(&record)).is_empty());
    }

    #[test]
    fn a_rest_that_would_be_negative_is_left_out() {
        let mut record = fixture::update_run();
        record.sessions.iter_mut().for_each(|session| session.busy_us /= 100);
        let timed = timed(&Figures::of(&record));
        assert_eq!(timed.len(), 2);
    }
}
