//! The comparison as text.

use slob_stats::Comparison;

use super::events::EventShare;
use super::metrics::{Metric, SECTIONS};
use super::{Diff, EventPair, Side};
use crate::format::{ABSENT, fixed, micros, or_absent, percent, plural, signed_percent, significant};
use crate::page::{Column, Page, Table};

/// Groups larger than this are named by their first and last run.
const MOST_NAMED: usize = 4;

/// Heading of the section on what was set up differently.
pub(super) const CHANGES: &str = "What differs between the tests";

pub(super) fn page(diff: &Diff) -> Page {
    let mut page = Page::new();
    page.section("Comparison");
    for (name, side) in [("First", &diff.first), ("Second", &diff.second)] {
        page.fact(name, &runs(side));
        side.incomplete.iter().for_each(|wrong| page.fact("", &format!("Caution: {wrong}.")));
    }
    body(page, diff)
}

/// What follows the names of the runs.
pub(super) fn body(mut page: Page, diff: &Diff) -> Page {
    page.section("In short");
    diff.statements.iter().for_each(|statement| page.hanging("  -", statement));
    changes(&mut page, diff);
    for (section, _) in SECTIONS {
        let metrics: Vec<&Metric> = diff.metrics.iter().filter(|metric| metric.section == section).collect();
        if !metrics.is_empty() {
            page.section(section);
            page.table(&figures(diff, &metrics));
        }
    }
    events(&mut page, &diff.events);
    page.line("");
    page.rule('-');
    page.fact("Difference", &note(diff));
    page
}

/// The ids of a side's runs; of many the first and the last.
pub(super) fn runs(side: &Side) -> String {
    match side.runs.as_slice() {
        [one] => one.clone(),
        few if few.len() <= MOST_NAMED => format!("{}: {}", plural(few.len() as u64, "run"), few.join(", ")),
        [first, .., last] => format!("{}: {first} to {last}", plural(side.runs.len() as u64, "run")),
        [] => ABSENT.into(),
    }
}

fn changes(page: &mut Page, diff: &Diff) {
    page.section(CHANGES);
    if diff.changes.is_empty() {
        page.paragraph("Nothing, as far as the records tell.");
        return;
    }
    let mut table = Table::new([
        Column::left("").at_most(9),
        Column::left("Setting").at_most(26),
        Column::left("First").at_most(28),
        Column::left("Second").at_most(28),
    ]);
    for change in &diff.changes {
        let value = |value: &Option<String>| or_absent(value.as_ref(), Clone::clone);
        table.row([change.of.to_owned(), change.name.clone(), value(&change.first), value(&change.second)]);
    }
    page.table(&table);
}

/// With repeats on both sides there is a column for the interval.
fn figures(diff: &Diff, metrics: &[&Metric]) -> Table {
    let with_interval = diff.first.is_group() && diff.second.is_group();
    let mut columns = vec![
        Column::left("").at_most(30),
        Column::right("First"),
        Column::right("Second"),
        Column::right("Difference %"),
    ];
    if with_interval {
        columns.push(Column::right("Interval %"));
        columns.push(Column::left(""));
    }
    let mut table = Table::new(columns);
    for metric in metrics {
        let mut row = vec![
            metric.title.to_owned(),
            or_absent(metric.first, significant),
            or_absent(metric.second, significant),
            or_absent(metric.difference_percent, signed_percent),
        ];
        if with_interval {
            row.extend(interval(metric.comparison.as_ref()));
        }
        table.row(row);
    }
    table
}

/// The interval, and a mark if it leaves 0 out.
fn interval(comparison: Option<&Comparison>) -> [String; 2] {
    let Some(interval) = comparison.and_then(|comparison| comparison.interval) else {
        return [ABSENT.into(), String::new()];
    };
    let mark = if interval.excludes_zero() { "*" } else { "" };
    [format!("{} to {}", signed_percent(interval.low), signed_percent(interval.high)), mark.into()]
}

fn events(page: &mut Page, events: &[EventPair]) {
    if events.is_empty() {
        return;
    }
    page.section("Top timed events");
    let mut table = Table::new([
        Column::left("Event").at_most(30),
        Column::left("Class").at_most(10),
        Column::right("First s/s"),
        Column::right("% DB time").at_most(7),
        Column::right("Mean us"),
        Column::right("Second s/s"),
        Column::right("% DB time").at_most(7),
        Column::right("Mean us"),
    ]);
    for pair in events {
        let head = vec![pair.name.clone(), pair.class.clone()];
        table.row([head, share(pair.first.as_ref()), share(pair.second.as_ref())].concat());
    }
    page.table(&table);
}

fn share(share: Option<&EventShare>) -> Vec<String> {
    let Some(share) = share else { return vec![ABSENT.into(); 3] };
    vec![
        significant(share.s_per_s),
        or_absent(share.percent_of_db_time, percent),
        or_absent(share.mean_us, micros),
    ]
}

fn note(diff: &Diff) -> String {
    let base = "second relative to first, in percent; '-' means not known.";
    if !(diff.first.is_group() && diff.second.is_group()) {
        return base.into();
    }
    format!(
        "{base} First and Second are means of the runs. Interval: contains the true difference with {} confidence; \
         * means that 0 is outside it. Intervals of percentiles allow for their 0.8 % error. By chance alone, one \
         figure in {} is marked.",
        diff.confidence,
        fixed((1.0 / (1.0 - diff.confidence.ratio())).round(), 0),
    )
}
