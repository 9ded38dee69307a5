//! Runs without a database: the timeline, the tally and the record.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use slob_measure::{Counter, OpKind};
use slob_record::{Record, Status, read_record};
use slob_run::{RunError, RunErrorKind, RunEvent, RunObserver};
use slob_spec::RunSpec;
use slob_testing::tries::{ensure, shown_within};

use crate::support::{self, Changes, measure};

#[derive(Default)]
struct Log<'a> {
    events: Vec<&'static str>,
    stop_at: Option<(&'static str, &'a AtomicBool)>,
}

impl RunObserver for Log<'_> {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        let name = match event {
            RunEvent::Warning(_) => "warning",
            RunEvent::Connecting { .. } => "connecting",
            RunEvent::Connected { .. } => "connected",
            RunEvent::Script(_) => "script",
            RunEvent::Started => "started",
            RunEvent::WindowBegan => "window began",
            RunEvent::Tick(_) => "tick",
            RunEvent::SoFar(_) => "so far",
            RunEvent::WindowEnded => "window ended",
            RunEvent::Tracing(_) => "tracing",
            RunEvent::Interrupted => "interrupted",
            RunEvent::Verifying => "verifying",
        };
        if let Some((at, stop)) = self.stop_at
            && at == name
        {
            stop.store(true, Ordering::Relaxed);
        }
        if self.events.last() != Some(&name) {
            self.events.push(name);
        }
    }
}

fn spec(results: &Path, parameters: &[(&str, &str)]) -> RunSpec {
    let results = results.display().to_string();
    let fixed = [("TARGET", "null:?latency_us=100"), ("RESULTS_DIR", results.as_str()), ("WARMUP", "0")];
    support::spec(&[&fixed[..], parameters].concat())
}

struct Unchanged;

impl Changes for Unchanged {}

fn run_with(spec: &RunSpec, log: &mut Log<'_>, stop: &AtomicBool) -> Result<(Record, Record), RunError> {
    let mut measured = measure(spec, Unchanged, log, stop)?;
    let folder = measured.directory.publish(&mut measured.record, None).unwrap();
    Ok((measured.record, read_record(&folder).unwrap()))
}

fn run(parameters: &[(&str, &str)]) -> Record {
    let folder = tempfile::tempdir().unwrap();
    let (record, read_back) =
        run_with(&spec(folder.path(), parameters), &mut Log::default(), &AtomicBool::new(false)).unwrap();
    assert!(record == read_back, "a record reads back as it was written");
    record
}

#[test]
fn a_work_loop_is_carried_out_to_the_last_operation() {
    let parameters =
        [("WORK_LOOP", "1000"), ("UPDATE_PCT", "73"), ("SCHEMAS", "3"), ("THREADS_PER_SCHEMA", "2")];
    let record = run(&parameters);
    assert_eq!(record.status, Status::Completed);
    assert_eq!(record.sessions.len(), 6);
    for session in &record.sessions {
        assert_eq!((session.updates, session.selects, session.scans), (730, 270, 0));
        assert_eq!(session.rows, 1000 * 64);
        assert!(session.whole_window);
    }
    assert_eq!(record.operations[&OpKind::Update].operations, 6 * 730);
    assert_eq!(record.operations[&OpKind::Update].latency.count(), 6 * 730);
    assert_eq!(record.counters.get(Counter::Commits), Some(6 * 730));
    let in_series: u64 = record.series.points().filter_map(|point| Some(point.value?.ops.total())).sum();
    assert_eq!(in_series, 6000);
}

#[test]
fn a_window_is_as_long_as_asked_for_and_the_warm_up_is_not_in_it() {
    let record = run(&[("RUN_TIME", "2"), ("WARMUP", "1"), ("THREADS_PER_SCHEMA", "2"), ("UPDATE_PCT", "0")]);
    let window = record.window.unwrap();
    assert!(window.begin_s >= 1.0 && window.seconds >= 2.0, "{window:?}");
    let measured = record.operations[&OpKind::Select].operations;
    let whole: u64 = record.series.points().filter_map(|point| Some(point.value?.ops.total())).sum();
    assert!(measured < whole, "{measured} operations in the window, {whole} in all");
    // The operations and the counters of the engine must agree.
    let rows = record.operations[&OpKind::Select].rows;
    let counted = record.counters.get(Counter::RowsRead).unwrap();
    assert!(rows.abs_diff(counted) * 20 <= rows, "{rows} rows seen, {counted} counted");
    let sum: u64 = record.sessions.iter().map(|session| session.selects).sum();
    assert_eq!(sum, measured);
    assert!(record.sessions.iter().all(|session| session.whole_window));
}

#[test]
fn the_phases_come_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let spec = spec(folder.path(), &[("RUN_TIME", "1"), ("WARMUP", "1")]);
    run_with(&spec, &mut log, &AtomicBool::new(false)).unwrap();
    log.events.retain(|event| !["tick", "connecting"].contains(event));
    let expected = ["connected", "started", "window began", "window ended", "verifying"];
    assert_eq!(log.events, expected);
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut log = Log { stop_at: Some(("tick", &stop)), ..Log::default() };
    let begun = Instant::now();
    let (record, _) = run_with(&spec(folder.path(), &[("RUN_TIME", "600")]), &mut log, &stop).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(record.status, Status::Interrupted);
    assert!(record.operations[&OpKind::Select].operations > 0);
    assert!(record.window.unwrap().seconds > 0.5);
}

#[test]
fn a_run_that_is_stopped_before_its_start_leaves_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(true);
    let error = run_with(&spec(folder.path(), &[]), &mut Log::default(), &stop).unwrap_err();
    assert_eq!(error.kind, RunErrorKind::Interrupted);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn think_time_longer_than_the_run_does_not_hold_it_up() {
    let pauses = [("THINK_TM_FREQUENCY", "1"), ("THINK_TM_MIN", "600"), ("THINK_TM_MAX", "600")];
    let begun = Instant::now();
    let record = run(&[&pauses[..], &[("UPDATE_PCT", "0"), ("RUN_TIME", "1")]].concat());
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(record.status, Status::Completed);
    assert_eq!(record.operations[&OpKind::Select].operations, 1);
}

/// A window that ended early grew by the rest of the longest pause, whose session seemed to be at work.
#[test]
fn a_session_that_thinks_is_not_at_work_at_the_edge() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut log = Log { stop_at: Some(("tick", &stop)), ..Log::default() };
    let pauses = [("THINK_TM_FREQUENCY", "1"), ("THINK_TM_MIN", "600"), ("THINK_TM_MAX", "600")];
    let spec = spec(folder.path(), &[&pauses[..], &[("UPDATE_PCT", "0"), ("RUN_TIME", "700")]].concat());
    let (record, _) = run_with(&spec, &mut log, &stop).unwrap();
    assert_eq!(record.status, Status::Interrupted);
    assert_eq!(record.edges.unwrap().end.sessions_at_work, 0);
}

#[test]
fn a_failing_script_before_the_start_stops_the_run_and_after_it_fails_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.sh");
    let results = folder.path().join("runs");
    for (refused, measured) in [("pre", false), ("post", true)] {
        std::fs::write(&script, format!("#!/bin/sh\n[ \"$1\" != {refused} ]\n")).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = script.display().to_string();
        let spec = spec(&results, &[("EXTERNAL_SCRIPT", &path), ("RUN_TIME", "1")]);
        let result = run_with(&spec, &mut Log::default(), &AtomicBool::new(false));
        match result {
            Ok((record, _)) => {
                assert!(measured);
                assert!(matches!(record.status, Status::Failed { .. }), "{:?}", record.status);
                assert!(record.operations[&OpKind::Select].operations > 0);
            }
            Err(error) => assert!(!measured && error.to_string().contains("pre"), "{error}"),
        }
    }
}

#[test]
fn a_thousand_sessions_start_together() {
    let record =
        run(&[("SCHEMAS", "100"), ("THREADS_PER_SCHEMA", "10"), ("WORK_LOOP", "3"), ("UPDATE_PCT", "0")]);
    assert_eq!(record.sessions.len(), 1000);
    assert_eq!(record.operations[&OpKind::Select].operations, 3000);
}

fn open_loop(rate: &str, arrivals: &str) -> Record {
    run(&[
        ("TARGET", "null:?latency_us=1000"),
        ("RATE", rate),
        ("ARRIVALS", arrivals),
        ("THREADS_PER_SCHEMA", "2"),
        ("RUN_TIME", "3"),
        ("WARMUP", "1"),
        ("UPDATE_PCT", "0"),
    ])
}

#[test]
fn an_open_loop_holds_its_rate() {
    for arrivals in ["steady", "poisson"] {
        // The number of Poisson arrivals varies: 1,500 of them by 2.6 %.
        let tolerance = if arrivals == "steady" { 0.01 } else { 0.13 };
        // A machine may stall for 30 ms at an edge of the window, but not each time.
        shown_within(5, || {
            let record = open_loop("500", arrivals);
            let select = &record.operations[&OpKind::Select];
            assert_eq!(select.response.count(), select.operations);
            let held = select.operations as f64 / record.window.unwrap().seconds / 500.0;
            let backlog = record.backlog.unwrap();
            ensure((held - 1.0).abs() < tolerance && backlog < 300, || {
                format!("{arrivals}: {held} of the rate, {backlog} left")
            })
        });
    }
}

#[test]
fn an_open_loop_that_is_too_fast_ends_on_time_and_response_time_grows_with_the_backlog() {
    let mean = |histogram: &slob_stats::Histogram| histogram.mean().unwrap();
    // A busy machine may slow single operations down, or leave a second without a sample, but not each time.
    shown_within(3, || {
        let begun = Instant::now();
        // Two sessions of a millisecond each can do 2,000 at most.
        let record = open_loop("8000", "steady");
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert_eq!(record.status, Status::Completed);
        let select = &record.operations[&OpKind::Select];
        assert!(mean(&select.response) > 50.0 * mean(&select.latency), "response {}", mean(&select.response));
        assert!(record.backlog.unwrap() > 3 * 8000, "{:?}", record.backlog);
        let of_second = |second: u64| {
            let value = record.series.points().find(|point| point.start_s == second)?.value?;
            Some((value.response.mean()?, value.latency.mean()?))
        };
        let (Some(first), Some(last)) = (of_second(0), of_second(3)) else {
            return Err("a second without a sample".to_owned());
        };
        ensure(last.0 > 3.0 * first.0 && last.1 < 3.0 * first.1, || {
            format!("means of responses and latencies in ns: {first:?} at first, {last:?} at last")
        })
    });
}
