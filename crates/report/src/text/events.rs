//! What DB time was spent on.

use slob_measure::{LatencyKind, WaitEvent};
use slob_record::Record;

use super::Page;
use super::table::{Column, Table};
use crate::counters::{latency, ratio};
use crate::figures::Figures;
use crate::format::{ABSENT, count, fixed, micros, or_absent, percent};

/// How many events are shown.
const TOP: usize = 10;

/// Time spent on one thing.
pub(crate) struct Timed {
    pub(crate) name: String,
    pub(crate) class: String,
    /// How often; `None` where time was sampled.
    pub(crate) waits: Option<u64>,
    pub(crate) time_s: f64,
}

impl Timed {
    fn of(event: &WaitEvent) -> Self {
        Self {
            name: event.name.clone(),
            class: event.class.clone(),
            waits: event.waits,
            time_s: event.time_us as f64 / 1e6,
        }
    }
}

pub(super) fn write(page: &mut Page, record: &Record, figures: &Figures) {
    let timed = timed_events(record, figures);
    if timed.is_empty() {
        return;
    }
    page.section("Top timed events");
    page.table(&table(&timed, figures.load.db_time_s));
    page.paragraph(&explanation(record, &timed, figures.load.db_time_s));
}

/// What the server's own processes waited for: their time is nobody's DB time.
pub(super) fn background(page: &mut Page, record: &Record) {
    let of_its_own: Vec<Timed> =
        record.events.iter().filter(|event| event.background).map(Timed::of).collect();
    if !of_its_own.is_empty() {
        page.section("The server's own processes");
        page.table(&table(&of_its_own, None));
    }
}

/// What DB time was spent on, the most first.
pub(crate) fn timed_events(record: &Record, figures: &Figures) -> Vec<Timed> {
    let mut timed = timed(record, figures);
    timed.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
    timed
}

/// What the times are, and how they add up.
fn explanation(record: &Record, timed: &[Timed], db_time_s: Option<f64>) -> String {
    if !record.server.embedded {
        return "As the database reports them; idle ones and those of its own processes may be among them."
            .into();
    }
    let sum_s: f64 = timed.iter().map(|event| event.time_s).sum();
    let share = db_time_s.and_then(|db_time_s| ratio(100.0 * (sum_s - db_time_s), db_time_s));
    match share {
        // The rest is what makes the sum equal DB time, up to rounding.
        Some(more) if more > 1e-6 => format!(
            "Measured around each call. Together they are {} % above DB time: some happened outside of operations, \
             as checkpoints do.",
            percent(more)
        ),
        _ => "Measured around each call; what is left of DB time is CPU and other.".into(),
    }
}

/// The events that the database reports, or else the waits it measures. In an embedded database the sessions
/// themselves wait, so that the rest of DB time is known too.
fn timed(record: &Record, figures: &Figures) -> Vec<Timed> {
    match (record.server.embedded, record.events.is_empty()) {
        (true, true) => with_rest(measured(record), figures),
        (true, false) => with_rest(reported(record), figures),
        (false, _) => reported(record),
    }
}

fn table(timed: &[Timed], db_time_s: Option<f64>) -> Table {
    let mut table = Table::new([
        Column::left("Event").at_most(38),
        Column::left("Class").at_most(16),
        Column::right("Waits"),
        Column::right("Time s"),
        Column::right("Mean us"),
        Column::right("% DB time"),
    ]);
    for event in timed.iter().take(TOP) {
        let mean_us = event.waits.and_then(|waits| ratio(event.time_s * 1e6, waits as f64));
        let share = db_time_s.and_then(|db_time_s| ratio(100.0 * event.time_s, db_time_s));
        table.row([
            event.name.clone(),
            event.class.clone(),
            or_absent(event.waits, count),
            fixed(event.time_s, 1),
            or_absent(mean_us, micros),
            or_absent(share, percent),
        ]);
    }
    table
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
fn with_rest(mut timed: Vec<Timed>, figures: &Figures) -> Vec<Timed> {
    let Some(db_time_s) = figures.load.db_time_s.filter(|_| !timed.is_empty()) else { return timed };
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
    use slob_measure::Latencies;

    #[test]
    fn an_embedded_databases_time_is_all_there() {
        let record = fixture::update_run();
        let figures = Figures::of(&record);
        let timed = timed(&record, &figures);
        let names: Vec<&str> = timed.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["physical read", "redo sync", "CPU and other"]);
        let sum: f64 = timed.iter().map(|event| event.time_s).sum();
        assert!((sum - figures.load.db_time_s.unwrap()).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn reported_events_come_before_measured_latencies() {
        let mut record = fixture::page_cache_run();
        assert_eq!(timed(&record, &Figures::of(&record)).len(), 3);
        record.server.embedded = true;
        record.events.truncate(1);
        let timed = timed(&record, &Figures::of(&record));
        let names: Vec<&str> = timed.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["data file read", "CPU and other"]);
    }

    #[test]
    fn what_the_servers_own_processes_wait_for_is_no_part_of_db_time() {
        let mut record = fixture::page_cache_run();
        record.events[0].background = true;
        let name = record.events[0].name.clone();
        assert_eq!(timed(&record, &Figures::of(&record)).len(), 2);
        let mut page = Page::new();
        background(&mut page, &record);
        let text = page.into_text();
        assert!(text.contains("own processes") && text.contains(&name), "{text}");
    }

    #[test]
    fn a_server_reads_on_its_own_account() {
        let mut record = fixture::update_run();
        record.server.embedded = false;
        assert!(timed(&record, &Figures::of(&record)).is_empty());
    }

    #[test]
    fn a_rest_that_would_be_negative_is_left_out() {
        let mut record = fixture::update_run();
        record.sessions.iter_mut().for_each(|session| session.busy_us /= 100);
        let timed = timed(&record, &Figures::of(&record));
        assert_eq!(timed.len(), 2);
    }

    #[test]
    fn times_above_db_time_are_not_said_to_lie_inside_operations() {
        let said = |record: &Record| {
            let figures = Figures::of(record);
            explanation(record, &timed(record, &figures), figures.load.db_time_s)
        };
        let mut record = fixture::update_run();
        assert!(said(&record).contains("what is left of DB time is CPU"), "{}", said(&record));
        let db_time_ns = 1e9 * Figures::of(&record).load.db_time_s.unwrap();
        record.latencies = Latencies::default();
        let one_read = fixture::spread(1_000, (1.03 / 1.08 * db_time_ns / 1_000.0) as u64);
        record.latencies.set(LatencyKind::PhysicalRead, one_read);
        assert!(
            said(&record).contains("above DB time: some happened outside of operations"),
            "{}",
            said(&record)
        );
    }
}
