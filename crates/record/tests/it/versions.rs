//! Records of all versions can be read, later ones are refused, and none gets too large.

use std::fs;
use std::path::{Path, PathBuf};

use slob_measure::Counter;
use slob_record::{
    Interval, RECORD_VERSION, Record, RecordError, SeriesWanted, Status, list_runs, read_record,
    read_record_with, read_records,
};
use slob_stats::{Histogram, Series};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn all_fixtures() -> Vec<PathBuf> {
    (1..=RECORD_VERSION)
        .flat_map(|version| list_runs(&fixtures().join(format!("v{version}"))).unwrap())
        .collect()
}

#[test]
fn every_version_has_records_and_each_of_them_reads() {
    for version in 1..=RECORD_VERSION {
        let runs = list_runs(&fixtures().join(format!("v{version}"))).unwrap();
        let records: Vec<Record> = runs.iter().map(|path| read_record(path).unwrap()).collect();
        let of = |fits: fn(&Status) -> bool| records.iter().filter(|record| fits(&record.status)).count();
        assert!(of(|status| *status == Status::Completed) >= 1, "version {version}");
        assert!(of(|status| *status == Status::Interrupted) >= 1, "version {version}");
        assert!(of(|status| matches!(status, Status::Failed { .. })) >= 1, "version {version}");
        for (record, path) in records.iter().zip(&runs) {
            assert_eq!(record.record_version, version);
            assert_eq!(Some(record.id.as_str()), path.file_name().unwrap().to_str());
        }
    }
}

/// The figures were taken from the fixture's text by hand.
#[test]
fn the_figures_of_a_fixture_are_those_of_its_text() {
    let path = all_fixtures().into_iter().find(|path| path.ends_with("20261121T014616Z-ten")).unwrap();
    let text = fs::read_to_string(path.join("run.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let record = read_record(&path).unwrap();
    assert_eq!(record.counters.get(Counter::PhysicalReads), json["counters"]["physical_reads"].as_u64());
    assert_eq!(record.window.unwrap().seconds, json["window"]["seconds"].as_f64().unwrap());
    assert_eq!(record.series.len(), json["series"]["points"].as_array().unwrap().len());
    // Writing loses no digit.
    assert_eq!(serde_json::to_string(&record).unwrap(), text.trim_end());
}

#[test]
fn without_its_series_a_record_is_the_same_but_for_that() {
    for path in all_fixtures() {
        let whole = read_record(&path).unwrap();
        let without = read_record_with(&path, SeriesWanted::Empty).unwrap();
        assert!(!whole.series.is_empty() && without.series.is_empty());
        assert!(Record { series: Series::new(0, 2), ..whole } == without, "{}", path.display());
    }
}

#[test]
fn with_counts_only_a_record_is_the_same_but_for_the_histograms_of_its_series() {
    for path in all_fixtures() {
        let whole = read_record(&path).unwrap();
        let counts = read_record_with(&path, SeriesWanted::Counts).unwrap();
        let series = whole.series.clone().map(|interval| Interval {
            latency: Histogram::new(),
            response: Histogram::new(),
            ..interval
        });
        assert!(series != whole.series);
        assert!(Record { series, ..whole } == counts, "{}", path.display());
    }
}

#[test]
fn many_records_come_in_the_order_asked_for_and_a_bad_one_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths: Vec<PathBuf> = (0..50).flat_map(|_| all_fixtures()).collect();
    let bad = folder.path().join("run.json");
    fs::write(&bad, "{\"record_version\": 1}").unwrap();
    paths.insert(7, bad);
    let read = read_records(&paths, SeriesWanted::Empty, |record| record.id);
    assert_eq!(read.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), paths);
    for (index, (path, record)) in read.iter().enumerate() {
        match record {
            Ok(id) => assert!(path.ends_with(id)),
            Err(error) => assert!(index == 7 && matches!(error, RecordError::Json { .. }), "{error}"),
        }
    }
    assert!(read_records(&[], SeriesWanted::Whole, |record| record).is_empty());
}

#[test]
fn a_record_of_a_later_version_is_refused_even_if_it_looks_like_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let ours = fs::read_to_string(all_fixtures()[0].join("run.json")).unwrap();
    let later = format!("\"record_version\":{}", RECORD_VERSION + 1);
    for text in
        [ours.replacen("\"record_version\":1", &later, 1), format!("{{{later},\"all\":\"different\"}}")]
    {
        assert!(text.contains(&later));
        fs::write(&path, text).unwrap();
        for wanted in [SeriesWanted::Whole, SeriesWanted::Empty] {
            let message = read_record_with(&path, wanted).unwrap_err().to_string();
            assert!(message.contains("use a newer one") && message.contains("run.json"), "{message}");
        }
    }
}

/// Eight hours with 4,096 sessions: the series is full (1,800 intervals of 16 s), and each interval has latencies from 20 us to
/// 20 s without a gap.
#[test]
fn a_long_run_with_many_sessions_stays_below_50_mb() {
    let mut record = read_record(&all_fixtures()[0]).unwrap();
    let mut wide = Histogram::new();
    let mut ns = 20_000_u64;
    while ns < 20_000_000_000 {
        wide.record_n(ns, 1 + ns % 4_000);
        // Less than the width of a bucket, so that none is left out.
        ns += (ns >> 7).max(1);
    }
    let interval = slob_record::Interval {
        latency: wide.clone(),
        ..record.series.points().find_map(|point| point.value).unwrap().clone()
    };
    record.series = Series::new(0, 1800);
    (0..1800).for_each(|at| record.series.push(at * 16, interval.clone()).unwrap());
    assert_eq!((record.series.width_s(), record.series.len()), (16, 1800));
    record.operations.values_mut().for_each(|kind| kind.latency = wide.clone());
    let session = record.sessions[0].clone();
    record.sessions = (0..4096)
        .map(|session_number| slob_record::SessionRecord {
            session: session_number,
            schema: session_number as u16,
            busy_us: 28_800_000_000,
            selects: 123_456_789,
            updates: 12_345_678,
            rows: 8_641_975_230,
            ..session.clone()
        })
        .collect();
    let bytes = serde_json::to_vec(&record).unwrap().len();
    assert!(bytes < 50_000_000, "{bytes} bytes, {} buckets an interval", wide.buckets().count());
    assert!(bytes > 10_000_000, "{bytes} bytes: this is no long run");
}
