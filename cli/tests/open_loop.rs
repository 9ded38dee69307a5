//! RATE on a real engine: a rate that the system can do is held; one that it can't do makes operations wait, and the run
//! ends on time all the same. Only ratios are asserted.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::{Mutex, PoisonError};

use common::Folder;
use serde_json::Value;

const SECONDS: f64 = 6.0;

/// Both tests want all of the machine.
static ALONE: Mutex<()> = Mutex::new(());

/// Cached reads, so that nothing but the CPUs is the limit.
fn folder() -> Folder {
    let folder = Folder::loaded(1, "16M");
    let conf = "TARGET=sqlite:./d\nSCALE=16M\nUPDATE_PCT=0\nBUFFERED=TRUE\nWARMUP=0\nRUN_TIME=6\nTHREADS_PER_SCHEMA=2\n";
    folder.write("slob.conf", conf);
    folder
}

fn done_per_s(record: &Value) -> f64 {
    record["operations"]["select"]["operations"].as_f64().unwrap() / seconds(record)
}

fn seconds(record: &Value) -> f64 {
    record["window"]["seconds"].as_f64().unwrap()
}

/// The mean of a histogram of the series, in nanoseconds, over some of its seconds; no number if none of them was sampled.
fn mean_ns(record: &Value, kind: &str, from: usize, to: usize) -> f64 {
    let points = record["series"]["points"].as_array().unwrap().get(from..to).unwrap_or_default();
    let sum = |what: &str| points.iter().filter_map(|point| point["value"][kind][what].as_f64()).sum::<f64>();
    sum("sum") / sum("count")
}

/// Other work on the machine can take away the half that is not needed, so some tries may be needed; a plan that is not
/// kept fails all of them.
#[test]
fn half_of_the_capacity_is_held_within_one_percent() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let held = |_: &i32| {
        let rate = (done_per_s(&folder.run_json(&[])) / 2.0).round();
        let record = folder.run_json(&["--rate", &rate.to_string()]);
        let response_ns = mean_ns(&record, "response", 1, 5);
        // Little's law in another form: what is held does not wait for more than a few operations.
        response_ns < 20.0 * mean_ns(&record, "latency", 1, 5)
            && (done_per_s(&record) / rate - 1.0).abs() < 0.01
    };
    assert!((0..5).any(|attempt| held(&attempt)));
}

/// A run at twice of what was just measured. If the machine was busier then, the rate is none that can't be done, and is
/// looked for again.
fn overloaded(folder: &Folder, arrivals: &str) -> (f64, Value) {
    for _ in 0..5 {
        let rate = (2.0 * done_per_s(&folder.run_json(&[]))).round();
        let record = folder.run_json(&["--rate", &rate.to_string(), "--arrivals", arrivals]);
        if record["backlog"].as_f64().unwrap() > 0.25 * rate * seconds(&record) {
            return (rate, record);
        }
    }
    panic!("twice the capacity left no backlog, five times");
}

/// Whether those who are served at the end waited for the share of the run's time that is not done, and only in the response
/// times: what an operation itself takes does not grow with the backlog.
fn waits_show_in_responses_only(record: &Value, due: f64) -> bool {
    let backlog = record["backlog"].as_f64().unwrap();
    let of = |kind| (mean_ns(record, kind, 0, 2), mean_ns(record, kind, 4, 6));
    let ((early, late), (early_service, late_service)) = (of("response"), of("latency"));
    late > 2.0 * early && late / 1e9 > 0.5 * backlog / due * SECONDS && late_service < 2.0 * early_service
}

/// Other work on the machine makes single operations slower too: hence three tries.
#[test]
fn at_twice_the_capacity_responses_wait_and_the_run_ends_on_time() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    for arrivals in ["steady", "poisson"] {
        let only_responses_wait = |_: &i32| {
            let (rate, record) = overloaded(&folder, arrivals);
            assert_eq!(record["status"]["state"], "completed");
            // To work off what was left would take as long again.
            assert!(seconds(&record) / SECONDS < 1.5, "{}", record["window"]);
            // The backlog is what was due and not done, to the operation.
            let done = record["operations"]["select"]["operations"].as_f64().unwrap();
            let due = (rate * seconds(&record)).floor();
            let backlog = record["backlog"].as_f64().unwrap();
            assert!((due - done - backlog).abs() <= 1.0, "{due} due, {done} done, {backlog} left");
            waits_show_in_responses_only(&record, due)
        };
        assert!((0..3).any(|attempt| only_responses_wait(&attempt)), "{arrivals}");
        let html = std::fs::read_to_string(folder.last_run().join("report.html")).unwrap();
        assert!(html.contains("data-chart=\"response-over-time\""), "{arrivals}");
    }
}
