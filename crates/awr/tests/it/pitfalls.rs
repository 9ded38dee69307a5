//! Errors of the usual readers, one test for each.

use crate::common::{bytes, cell, changed, checks, event, named, real, report, report_of, text, value};
use slob_awr::checks::{Checks, Verdict};
use slob_awr::info::{Head, Row, Value};
use slob_awr::{Fault, Figure, Kind, ShareOf, read};

fn percent_between(report: &slob_awr::Report, name: &str, from: f64, to: f64) -> f64 {
    let histogram = report.histogram(name).unwrap();
    let bucket = histogram.buckets.iter().find(|bucket| bucket.from_us == from && bucket.to_us == Some(to));
    bucket.unwrap().percent.value
}

#[test]
fn pitfall_1_histograms_of_microseconds_are_read_by_their_heads() {
    let own = report("awr_12201.txt");
    assert_eq!(percent_between(&own, "db file sequential read", 64.0, 128.0), 60.6);
    assert_eq!(percent_between(&own, "db file sequential read", 2048.0, 4096.0), 28.0);
    if let Some(real) = real("jasmin") {
        assert_eq!(percent_between(&real, "db file sequential read", 64.0, 128.0), 90.6);
        assert_eq!(percent_between(&real, "log file sync", 1024.0, 2048.0), 1.3);
        assert_eq!(percent_between(&real, "SQL*Net message to client", 1.0, 2.0), 89.5);
    }
    if let Some(real) = real("11204") {
        assert_eq!(percent_between(&real, "log file parallel write", 65_536.0, 131_072.0), 0.0);
        assert_eq!(percent_between(&real, "log file parallel write", 32_768.0, 65_536.0), 2.2);
        assert_eq!(
            percent_between(&real, "enq: FU - contention", 8.0 * 1_048_576.0, 16.0 * 1_048_576.0),
            100.0
        );
    }
}

#[test]
fn pitfall_2_a_cut_k_is_restored_and_reported() {
    let own = report("statspack.txt");
    let histogram = &own.histograms[0];
    assert_eq!((histogram.waits.unwrap().value, histogram.waits_were_cut), (521_600.0, true));
    if let Some(real) = real("11204") {
        let cut = real.histograms.iter().find(|own| own.event == "gcs remote message").unwrap();
        assert_eq!((cut.waits.unwrap().value, cut.waits_were_cut), (118_600.0, true));
        // This release prints the time of the Top 10 four places wide.
        assert_eq!(value(real.top_events[1].total_s), 0.6);
    }
}

#[test]
fn pitfall_3_average_waits_have_units_of_their_own() {
    let own = report("awr_12201.txt");
    let mean = |name: &str| value(event(&own.foreground_events, name).average_us);
    assert_eq!(mean("db file sequential read"), 1500.0);
    assert_eq!(mean("direct path read"), 980.0);
    assert!((mean("SQL*Net message to client") - 0.258_01).abs() < 1e-9);
    assert_eq!(value(event(&own.top_events, "enq: TX - row lock contention").average_us), 52_860_000.0);
}

#[test]
fn pitfall_4_a_total_of_whole_seconds_is_not_0() {
    let own = named("awr_12201.txt");
    let sync = own.report.foreground("log file sync").unwrap();
    assert_eq!(value(sync.mean_us()), 198.31);
    assert_eq!(sync.total_s.unwrap(), Figure { value: 0.2, resolution: 0.1 });
    let statspack = named("statspack.txt");
    // It is printed as 0 ms and 0 s, but may be more.
    let pin = statspack.report.foreground("cursor: pin S").unwrap();
    assert!(pin.mean_us().unwrap().is_below_resolution() && pin.mean_us().unwrap().known().is_none());
    // 4,560 s by 519,094 waits is more precise than '9 ms'.
    let read = statspack.report.foreground("db file sequential read").unwrap().mean_us().unwrap();
    assert!((read.value - 8784.5).abs() < 0.1 && read.resolution < 2.0);
    assert_eq!(Row::of(&statspack).figure(Head::DirectRead), None, "direct path read is absent, not 0");
}

#[test]
fn pitfall_5_rulers_separate_columns() {
    let own = report("awr_12201.txt");
    assert_eq!(own.database.role.as_deref(), Some("PHYSICAL STANDBY"));
    assert_eq!(own.database.unique_name.as_deref(), Some("test_a"));
    assert_eq!(own.database.release.as_deref(), Some("12.2.0.1.0"));
    assert_eq!(own.host.cores, None);
}

#[test]
fn pitfall_6_a_pdb_report_has_top_events() {
    let own = report("awr_pdb.txt");
    assert_eq!((own.kind, own.database.container.as_deref()), (Kind::AwrPdb, Some("SALES")));
    assert!(own.efficiency.is_empty() && own.os_statistics.is_empty());
    assert!(own.background_events.is_empty() && own.histograms.is_empty());
    assert_eq!(own.top_events.len(), 4);
    let row = Row::of(&named("awr_pdb.txt"));
    assert_eq!((row.figure(Head::SingleBlockRead), row.figure(Head::BlockWrite)), (Some(1500.0), None));
}

#[test]
fn pitfall_7_other_kinds_are_refused_by_name() {
    for (fixture, kind) in [
        ("awr_12201.txt", Kind::Awr),
        ("awr_pdb.txt", Kind::AwrPdb),
        ("global.txt", Kind::AwrGlobal),
        ("compare.txt", Kind::AwrCompare),
        ("statspack.txt", Kind::Statspack),
        ("awr_11203.html", Kind::Awr),
    ] {
        assert_eq!(report(fixture).kind, kind, "{fixture}");
    }
    let error = read(b"\nASH Report For ORCL/orcl\n").unwrap_err();
    assert!(error.fault == Fault::Refused(Kind::Ash) && error.line == 2 && error.to_string().contains("ASH"));
    let fault = |bytes: &[u8]| read(bytes).unwrap_err().fault;
    assert_eq!(fault(b"          ADDM Report for Task 'TASK_1'\n"), Fault::Refused(Kind::Addm));
    let without = fault(b"WORKLOAD REPOSITORY report for\nEnd of Report\n");
    assert!(matches!(without, Fault::NoFigures { .. }));
    for text in ["a\n", ""] {
        assert_eq!(fault(text.as_bytes()), Fault::NoReport { beginning: text.trim().into() });
    }
    assert_eq!(read(b"a\n").unwrap_err().line, 1);
}

#[test]
fn pitfall_8_numbers_pages_and_line_ends_of_all_kinds() {
    let own = report("awr_12201.txt");
    assert_eq!(value(own.load(&["Executes (SQL)"]).unwrap().per_second), 169_000.0);
    // A rate that did not fit is unknown, but its total is not.
    let cut = own.statistic("logical read bytes from cache").unwrap();
    assert_eq!((cut.per_second, value(cut.total)), (None, 2_999_291_961_344.0));
    // Blank cells, names cut at 26 and 30 characters, a form feed before a title.
    assert_eq!(own.top_events[1].waits, None);
    assert_eq!(own.foreground_events.len(), 4);
    // CR LF, and a page head of SQL*Plus after every 14 lines.
    let paged = report("awr_crlf_pages.txt");
    assert_eq!((paged.top_events, paged.foreground_events), (own.top_events, own.foreground_events));
    let expected = (own.load_profile, own.time_model, own.io_by_function);
    assert_eq!((paged.load_profile, paged.time_model, paged.io_by_function), expected);
    assert_eq!(paged.histograms, own.histograms);
}

#[test]
fn pitfall_9_oracles_own_errors_are_reported() {
    let own = report("awr_11203.html");
    assert!(!own.database.started_to_the_minute);
    assert!(own.notes[0].contains("month"), "{:?}", own.notes);
    // Wait classes with exchanged headings.
    let (before, classes) = ("Cache Sizes     ", include_str!("../fixtures/parts/exchanged_headings.txt"));
    let own = changed("awr_12201.txt", &[(before, &format!("{classes}{before}"))]);
    assert_eq!(value(event(&own.all_wait_classes, "Other").total_s), 500.0);
    assert!(own.notes.iter().any(|note| note.contains("shifted")), "{:?}", own.notes);
}

#[test]
fn pitfall_10_meanings_are_kept_apart() {
    let own = named("awr_12201.txt");
    let write = event(&own.report.background_events, "log file parallel write");
    assert_eq!((value(write.percent), write.percent_of), (30.1, Some(ShareOf::BackgroundTime)));
    // The column of awr-parser is a share of DB time, as its name says.
    let share = cell(&own, "log file parallel write %DBTime");
    assert_eq!(share, Some(Value::Number(100.0 * 0.386_73 / 1200.0)));
    let exadata = named("awr_11203.html");
    assert_eq!(Row::of(&exadata).figure(Head::SingleBlockRead), Some(1500.0));
    assert_eq!(cell(&exadata, "Exadata Flag"), Some(Value::Text("Y".into())));
    assert_eq!(value(exadata.report.load(&["Global Cache blocks received"]).unwrap().per_second), 1.0);
}

#[test]
fn pitfall_11_application_io_and_all_io_are_different_columns() {
    let own = named("awr_12201.txt");
    let rate = |name: &str| cell(&own, name).unwrap().as_number().unwrap();
    assert!((rate("Read IOPS (application)") - 983.3).abs() < 1e-9);
    assert!((rate("Read IOPS") - 1000.0).abs() < 0.01);
    assert!((rate("Read Throughput (application, MiB/sec)") - 7.8125).abs() < 1e-3);
    let check = Checks::of(&own);
    let pair = |what: &str| {
        check.pairs.iter().find(|pair| pair.what == what && pair.first_source.starts_with("IOStat")).unwrap()
    };
    assert!((pair("read requests/s").difference_percent.unwrap() + 0.4975).abs() < 0.01);
    // 'When IOStats lie': a report whose IOStat has a fifth more than its activity.
    let lie = text("awr_12201.txt").replace("4.7G  1005.0  7.990M", "5.6G  1205.0  9.590M");
    let check = checks(report_of(&lie));
    let contradict = check.pairs.iter().filter(|pair| pair.verdict == Verdict::Contradict);
    assert!(check.is_contradictory() && contradict.count() >= 2);
}

#[test]
fn pitfall_12_a_truncated_file_is_an_error_with_the_part_before() {
    let whole = bytes("awr_12201.txt");
    let cut = read(&whole[..whole.len() * 2 / 3]).unwrap_err();
    assert!(cut.to_string().contains("cut short") && cut.line > 100, "{cut}");
    let partial = cut.read;
    assert_eq!(partial[0].foreground_events.len(), 4);
    assert!(partial[0].io_by_function.is_empty());
}
