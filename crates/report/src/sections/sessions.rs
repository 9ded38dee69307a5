//! How evenly the sessions worked.

use slob_record::{Record, SessionRecord};
use slob_stats::summary;

use crate::counters::ratio;
use crate::format::{duration_us, fixed, micros, or_absent, percent};
use crate::page::{Column, Page, Table};

/// Difference between the most and the least, in percent of the median, from which on the slowest is named.
const WIDE_PERCENT: f64 = 20.0;

pub(super) fn write(page: &mut Page, record: &Record) {
    if record.sessions.is_empty() {
        return;
    }
    page.section("Sessions");
    let mut table = Table::new([
        Column::left(""),
        Column::right("Least"),
        Column::right("Median"),
        Column::right("Most"),
        Column::right("Spread %"),
    ]);
    let operations: Vec<f64> = record.sessions.iter().map(|session| session.operations() as f64).collect();
    let means: Vec<f64> = record.sessions.iter().filter_map(mean_us).collect();
    table.row(row("Operations", &operations, |n| fixed(n, 0)));
    table.row(row("Mean latency (us)", &means, micros));
    page.table(&table);
    slowest(page, record, &means);
    errors(page, record);
}

fn mean_us(session: &SessionRecord) -> Option<f64> {
    ratio(session.busy_us as f64, session.operations() as f64)
}

fn row(name: &str, values: &[f64], show: fn(f64) -> String) -> Vec<String> {
    let figures = [summary::minimum(values), summary::median(values), summary::maximum(values)];
    let cells = figures.map(|value| or_absent(value, show));
    [vec![name.to_owned()], cells.into(), vec![or_absent(spread_percent(values), percent)]].concat()
}

fn spread_percent(values: &[f64]) -> Option<f64> {
    let (least, most) = (summary::minimum(values)?, summary::maximum(values)?);
    ratio(100.0 * (most - least), summary::median(values)?)
}

fn slowest(page: &mut Page, record: &Record, means: &[f64]) {
    if spread_percent(means).is_none_or(|spread| spread <= WIDE_PERCENT) {
        return;
    }
    let by_mean = record.sessions.iter().filter_map(|session| Some((session, mean_us(session)?)));
    if let Some((session, mean)) = by_mean.max_by(|a, b| a.1.total_cmp(&b.1)) {
        page.paragraph(&format!(
            "Slowest: session {} on schema {}, {} for an operation, longest {}.",
            session.session,
            session.schema,
            duration_us(mean),
            or_absent(session.max_us, duration_us)
        ));
    }
}

/// Sessions that ended with an error, the first few of them.
fn errors(page: &mut Page, record: &Record) {
    const NAMED: usize = 5;
    let failed =
        || record.sessions.iter().filter_map(|session| Some((session.session, session.error.as_ref()?)));
    for (session, error) in failed().take(NAMED) {
        page.paragraph(&format!("Session {session} ended with an error: {error}"));
    }
    let more = failed().count().saturating_sub(NAMED);
    if more > 0 {
        page.paragraph(&format!("{more} more sessions ended with errors."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn text(record: &Record) -> String {
        Page::text_by(write, record)
    }

    #[test]
    fn the_slowest_is_named_if_the_spread_is_wide() {
        let mut record = fixture::direct_read_run();
        assert!(!text(&record).contains("Slowest"), "{}", text(&record));
        record.sessions[2].busy_us = record.sessions[2].busy_us * 13 / 10;
        assert!(text(&record).contains("Slowest: session 2 on schema 1"), "{}", text(&record));
    }

    #[test]
    fn errors_are_named_and_the_rest_counted() {
        let mut record = fixture::direct_read_run();
        let failed = SessionRecord { error: Some("gone".into()), ..record.sessions[0].clone() };
        record.sessions = vec![failed; 7];
        assert_eq!(text(&record).matches("ended with an error: gone").count(), 5);
        assert!(text(&record).contains("2 more sessions"));
    }

    #[test]
    fn a_session_without_operations_has_no_mean() {
        let mut record = fixture::direct_read_run();
        record.sessions.truncate(1);
        (record.sessions[0].selects, record.sessions[0].busy_us) = (0, 0);
        assert!(
            text(&record).contains("Mean latency (us)      -       -     -         -"),
            "{}",
            text(&record)
        );
    }
}
