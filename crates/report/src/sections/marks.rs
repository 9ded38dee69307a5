//! What was marked while the run was under way.

use slob_record::{Mark, Record};

use crate::format::fixed;
use crate::page::{Column, Page, Table};

/// Rows of the table.
const SHOWN: usize = 40;

pub(super) fn write(page: &mut Page, record: &Record) {
    if record.marks.is_empty() {
        return;
    }
    page.section("Marks");
    let mut table =
        Table::new([Column::right("At s"), Column::left("In the window"), Column::left("Mark").at_most(70)]);
    for mark in record.marks.iter().take(SHOWN) {
        table.row([fixed(mark.at_s, 1), place(record, mark), mark.text.clone()]);
    }
    page.table(&table);
    let more = record.marks.len().saturating_sub(SHOWN);
    if more > 0 {
        page.paragraph(&format!("{more} more are in run.json."));
    }
}

/// At which second of the measured window, or on which side of it.
fn place(record: &Record, mark: &Mark) -> String {
    match record.window {
        Some(window) if mark.at_s < window.begin_s => "before it".to_owned(),
        Some(window) if mark.at_s < window.begin_s + window.seconds => {
            format!("second {}", fixed(mark.at_s - window.begin_s, 1))
        }
        Some(_) => "after it".to_owned(),
        None => "there is none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn marks_are_told_by_their_place_in_the_window() {
        // The window is 10.25 to 70.25 s.
        let mut record = fixture::direct_read_run();
        assert_eq!(Page::text_by(write, &record), "");
        record.marks = [(-0.5, "early"), (30.25, "rebalance"), (71.0, "late")]
            .map(|(at_s, text)| Mark { at_s, text: text.into() })
            .into();
        let text = Page::text_by(write, &record);
        for (mark, place) in [("early", "before it"), ("rebalance", "second 20.0"), ("late", "after it")] {
            assert!(text.lines().any(|line| line.contains(mark) && line.contains(place)), "{text}");
        }
    }
}
