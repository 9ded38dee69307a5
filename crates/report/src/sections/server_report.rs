//! The server's own report beside this one.

use slob_record::Record;

use crate::format::{fixed, or_absent, signed_percent, significant};
use crate::page::{Column, Page, Table};

/// Up to this difference two reports agree: their intervals do not begin and end at the same moments.
const AGREE_PERCENT: f64 = 5.0;

pub(super) fn write(page: &mut Page, record: &Record) {
    let Some(report) = &record.server_report else { return };
    page.section("The server's own report");
    let [first, last] = report.snapshots;
    page.fact("Kind", &format!("{}, snapshots {first} and {last}", report.kind));
    if !report.files.is_empty() {
        page.fact("Files", &format!("{}, beside the record", report.files.join(", ")));
    }
    if let Some((seconds, window)) = report.seconds.zip(record.window) {
        page.fact("Seconds", &format!("{}; the window has {}", fixed(seconds, 1), fixed(window.seconds, 1)));
    }
    if report.pairs.is_empty() {
        return;
    }
    let heads = ["This run", "Server's report", "Difference %"].map(Column::right);
    let mut table = Table::new([&[Column::left("Figure")], &heads[..]].concat());
    for pair in &report.pairs {
        let difference = or_absent(pair.difference_percent(), signed_percent);
        table.row([pair.what.clone(), significant(pair.ours), significant(pair.reported), difference]);
    }
    page.table(&table);
    let apart = |percent: Option<f64>| percent.is_none_or(|percent| percent.abs() > AGREE_PERCENT);
    let count = report.pairs.iter().filter(|pair| apart(pair.difference_percent())).count();
    let judgement = match count {
        0 => format!("All agree within {AGREE_PERCENT} %."),
        count => format!(
            "{count} of {} differ by more than {AGREE_PERCENT} %: read both before you build on either.",
            report.pairs.len()
        ),
    };
    page.paragraph(&format!(
        "{judgement} The server's interval encloses the window, and counts what its own snapshots cost."
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_record::{ReportedPair, ServerReportRecord};

    #[test]
    fn figures_stand_beside_those_of_the_server() {
        let mut record = fixture::direct_read_run();
        assert_eq!(Page::text_by(write, &record), "");
        let pair = |what: &str, ours, reported| ReportedPair { what: what.into(), ours, reported };
        record.server_report = Some(ServerReportRecord {
            kind: "awr".into(),
            snapshots: [41, 42],
            files: vec!["awr.txt".into(), "awr.html".into()],
            seconds: Some(61.5),
            pairs: vec![pair("Logical reads/s", 86_400.0, 86_000.0), pair("Redo bytes/s", 0.0, 52.0)],
        });
        let text = Page::text_by(write, &record);
        for words in [
            "awr, snapshots 41 and 42",
            "awr.txt, awr.html, beside",
            "61.5; the window has 60.0",
            "1 of 2 differ by more than 5 %",
        ] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        let line = text.lines().find(|line| line.contains("Logical reads/s")).unwrap();
        assert!(line.contains("86,400") && line.contains("86,000") && line.contains("-0.5"), "{line}");
    }
}
