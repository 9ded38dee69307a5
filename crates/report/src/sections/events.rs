//! What DB time was spent on.

use slob_record::Record;

use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::format::{count, fixed, micros, or_absent, percent};
use crate::page::{Column, Page, Table};
use crate::timed::{Timed, timed_events};

/// How many events are shown.
const TOP: usize = 10;

pub(super) fn write(page: &mut Page, figures: &Figures<'_>) {
    let record = figures.record;
    let timed = timed_events(figures);
    if timed.is_empty() {
        return;
    }
    page.section("Top timed events");
    page.table(&table(&timed, figure::DB_TIME_S.of(figures)));
    page.paragraph(&explanation(record, &timed, figure::DB_TIME_S.of(figures)));
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

/// What the times are, and how they add up.
fn explanation(record: &Record, timed: &[Timed], db_time_s: Option<f64>) -> String {
    if !record.server.embedded {
        return "As reported by the database; may include idle events and those of background processes."
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
        _ => "Measured around each call; the rest of DB time is CPU and other.".into(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_measure::{Latencies, LatencyKind};

    #[test]
    fn what_the_servers_own_processes_wait_for_has_a_section_of_its_own() {
        let mut record = fixture::page_cache_run();
        record.events[0].background = true;
        let text = Page::text_by(background, &record);
        assert!(text.contains("own processes") && text.contains(&record.events[0].name), "{text}");
    }

    #[test]
    fn times_above_db_time_are_not_said_to_lie_inside_operations() {
        let said = |record: &Record| {
            let figures = Figures::of(record);
            explanation(record, &timed_events(&figures), figure::DB_TIME_S.of(&figures))
        };
        let mut record = fixture::update_run();
        assert!(said(&record).contains("the rest of DB time is CPU"), "{}", said(&record));
        let db_time_ns = 1e9 * figure::DB_TIME_S.of(&Figures::of(&record)).unwrap();
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
