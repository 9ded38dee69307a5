//! Compares the server's own report with the record.

use std::fs;
use std::path::Path;

use slob_awr::{Rates, Report};
use slob_measure::Counter;
use slob_record::{Record, ReportedPair};

/// A report that can't be read becomes a note.
pub(crate) fn cross_check(record: &mut Record, folder: &Path) {
    let Some(report) = &record.server_report else { return };
    // Other files have the same figures in another form.
    let Some(name) = report.files.first().cloned() else { return };
    let read = fs::read(folder.join(&name)).map_err(|error| error.to_string());
    let read = read.and_then(|bytes| slob_awr::read(&bytes).map_err(|error| error.to_string()));
    let (seconds, pairs) = match read.as_deref() {
        Ok([report]) => (report.elapsed_s(), pairs(record, report)),
        Ok(_) => (None, Vec::new()),
        Err(error) => {
            let note =
                format!("The server's own report, {name}, could not be compared with this one: {error}.");
            record.notes.push(note);
            (None, Vec::new())
        }
    };
    let Some(report) = &mut record.server_report else { return };
    (report.seconds, report.pairs) = (seconds, pairs);
    let other = record.window.zip(seconds).filter(|(window, _)| !report.covers(window.seconds));
    if let Some((window, seconds)) = other {
        report.pairs.clear();
        record.notes.push(format!(
            "The server's own report, {name}, is of {seconds:.0} s and the window of {:.0} s: their figures are not compared.",
            window.seconds
        ));
    }
}

fn pairs(record: &Record, report: &Report) -> Vec<ReportedPair> {
    let Some(window) = record.window else { return Vec::new() };
    let rate = |total: Option<f64>| total.map(|total| total / window.seconds);
    let counted = |counter| rate(record.counters.get(counter).map(|count| count as f64));
    let busy = |us: u64| us as f64 / 1e6;
    let db_time = record.sessions.iter().map(|session| busy(session.busy_us)).sum();
    let rates = Rates::of(report);
    let pair = |what: &str, ours: Option<f64>, reported: Option<f64>| {
        ours.zip(reported).map(|(ours, reported)| ReportedPair { what: what.to_owned(), ours, reported })
    };
    [
        pair("DB time, s/s", rate(Some(db_time)), rates.db_time_s),
        pair("Logical reads/s", counted(Counter::LogicalReads), rates.logical_reads),
        pair("Physical reads/s (blocks)", counted(Counter::PhysicalReads), rates.physical_reads),
        pair(
            "Physical read requests/s",
            counted(Counter::PhysicalReadRequests),
            rates.physical_read_requests,
        ),
        pair("Physical read bytes/s", counted(Counter::PhysicalReadBytes), rates.physical_read_bytes),
        pair("Physical writes/s (blocks)", counted(Counter::PhysicalWrites), rates.physical_writes),
        pair("Redo bytes/s", counted(Counter::RedoBytes), rates.redo_bytes),
        pair("Commits/s", counted(Counter::Commits), rates.commits),
        pair("Mean wait for one block, us", mean_us(record, &SINGLE_BLOCK), rates.single_block_read_us),
        pair("Mean wait for the log, us", mean_us(record, &["log file sync"]), rates.log_file_sync_us),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The event has either name.
const SINGLE_BLOCK: [&str; 2] = ["db file sequential read", "cell single block physical read"];

/// The most frequent of these events counts.
fn mean_us(record: &Record, names: &[&str]) -> Option<f64> {
    let events =
        record.events.iter().filter(|event| !event.background && names.contains(&event.name.as_str()));
    let counted = events.filter_map(|event| Some((event.waits.filter(|waits| *waits > 0)?, event.time_us)));
    counted.max().map(|(waits, time_us)| time_us as f64 / waits as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::{Counters, WaitEvent};
    use slob_record::{ServerReportRecord, Window};

    const RUN: &str = include_str!("../../record/tests/fixtures/v1/20261121T014616Z-ten/run.json");
    const AWR: &str = include_str!("../../awr/tests/fixtures/awr_12201.txt");

    /// A run of 500 s within the report's 600 s, with the rates of the report.
    fn record() -> Record {
        let mut record: Record = serde_json::from_str(RUN).unwrap();
        record.window = Some(Window { begin_s: 0.0, seconds: 500.0 });
        record.counters = Counters::from([
            (Counter::LogicalReads, 2_500_000),
            (Counter::PhysicalReads, 500_000),
            (Counter::RedoBytes, 60_000_000),
        ]);
        let wait = |name: &str, waits, time_us| WaitEvent {
            name: name.into(),
            class: String::new(),
            waits: Some(waits),
            time_us,
            background: false,
        };
        record.events = vec![wait("db file sequential read", 500_000, 750_000_000), wait("other", 1, 9)];
        let files = vec!["awr.txt".into(), "awr.html".into()];
        record.server_report = Some(ServerReportRecord {
            kind: "awr".into(),
            snapshots: [10, 11],
            files,
            seconds: None,
            pairs: Vec::new(),
        });
        record
    }

    fn checked(report: &str) -> Record {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("awr.txt"), report).unwrap();
        let mut record = record();
        cross_check(&mut record, folder.path());
        record
    }

    #[test]
    fn figures_of_both_are_compared() {
        let record = checked(AWR);
        let report = record.server_report.unwrap();
        assert_eq!(report.seconds, Some(600.0));
        let pairs = report.pairs;
        let find = |what: &str| pairs.iter().find(|pair| pair.what == what).unwrap();
        let percent = |what: &str| find(what).difference_percent().unwrap();
        assert!(percent("Logical reads/s").abs() < 0.1, "{pairs:?}");
        assert!(percent("Mean wait for one block, us").abs() < 0.1, "{pairs:?}");
        assert!((percent("Redo bytes/s") - -16.7).abs() < 0.1, "{pairs:?}");
        assert!(pairs.iter().all(|pair| pair.what != "Physical read bytes/s"), "not counted here: {pairs:?}");
    }

    /// 304 s of a report and 3 s of a run were said to differ by 23,734 %.
    #[test]
    fn a_report_of_another_time_is_not_compared() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("awr.txt"), AWR).unwrap();
        let mut record = record();
        record.window = Some(Window { begin_s: 0.0, seconds: 3.0 });
        cross_check(&mut record, folder.path());
        assert_eq!(record.server_report.unwrap().pairs, []);
        assert!(record.notes.iter().any(|note| note.contains("is of 600 s and the window of 3 s")));
    }

    #[test]
    fn a_report_that_cannot_be_read_is_a_note() {
        for broken in ["ORA-13516: AWR Operation failed\n", ""] {
            let record = checked(broken);
            assert!(record.server_report.unwrap().pairs.is_empty());
            assert!(
                record.notes.iter().any(|note| note.contains("awr.txt, could not be compared")),
                "{broken}"
            );
        }
        let mut record = record();
        cross_check(&mut record, Path::new("/no/such/folder"));
        assert!(record.notes.iter().any(|note| note.contains("No such file")), "{:?}", record.notes);
    }
}
