//! RATE on a real engine: a possible rate is held; an impossible one makes operations wait, and the run ends on time. Only ratios
//! are asserted.

use serde_json::Value;

use crate::alone_on_the_cpus;
use crate::common::Folder;
use slob_testing::tries::{Seen, ensure, shown_within};

const SECONDS: f64 = 4.0;

/// Reads are cached, so that only the CPUs are the limit.
fn folder() -> Folder {
    let folder = Folder::loaded(1, "16M");
    let conf = "TARGET=sqlite:./d\nSCALE=16M\nUPDATE_PCT=0\nBUFFERED=TRUE\nWARMUP=0\nRUN_TIME=4\nTHREADS_PER_SCHEMA=2\n";
    folder.write("slob.conf", conf);
    folder
}

/// The capacity is near enough to make its half and its double what they are called.
fn capacity(folder: &Folder) -> f64 {
    done_per_s(&folder.run_json("--run-time 2"))
}

fn done_per_s(record: &Value) -> f64 {
    record["operations"]["select"]["operations"].as_f64().unwrap() / seconds(record)
}

fn seconds(record: &Value) -> f64 {
    record["window"]["seconds"].as_f64().unwrap()
}

/// Nanoseconds; no number if none of the seconds was sampled.
fn mean_ns(record: &Value, kind: &str, from: usize, to: usize) -> f64 {
    let points = record["series"]["points"].as_array().unwrap().get(from..to).unwrap_or_default();
    let sum = |what: &str| points.iter().filter_map(|point| point["value"][kind][what].as_f64()).sum::<f64>();
    sum("sum") / sum("count")
}

/// Other work may take away the half that is not needed: hence the tries.
#[test]
fn half_of_the_capacity_is_held_within_one_percent() {
    let _alone = alone_on_the_cpus();
    let folder = folder();
    shown_within(5, || {
        let rate = (capacity(&folder) / 2.0).round();
        let record = folder.run_json(format!("--rate {rate}"));
        let (response_ns, latency_ns) =
            (mean_ns(&record, "response", 1, 3), mean_ns(&record, "latency", 1, 3));
        let held = done_per_s(&record) / rate;
        // Little's law: what is held does not wait for more than a few operations.
        ensure(response_ns < 20.0 * latency_ns && (held - 1.0).abs() < 0.01, || {
            format!("{held} of {rate}/s, responses of {response_ns} ns, latencies of {latency_ns} ns")
        })
    });
}

/// If the machine was busier while it was measured, the rate is possible, and is searched again.
fn overloaded(folder: &Folder, arrivals: &str) -> (f64, Value) {
    shown_within(5, || {
        let rate = (2.0 * capacity(folder)).round();
        let record = folder.run_json(format!("--rate {rate} --arrivals {arrivals}"));
        let backlog = record["backlog"].as_f64().unwrap();
        ensure(backlog > 0.25 * rate * seconds(&record), || format!("{backlog} left of {rate}/s"))?;
        Ok((rate, record))
    })
}

/// The last operations waited for the share of the run's time that is not done. Latencies of operations do not grow with the
/// backlog.
fn waits_show_in_responses_only(record: &Value, due: f64) -> Seen {
    let backlog = record["backlog"].as_f64().unwrap();
    let of = |kind| (mean_ns(record, kind, 0, 1), mean_ns(record, kind, 3, 4));
    let (responses, latencies) = (of("response"), of("latency"));
    let waited = responses.1 > 2.0 * responses.0 && responses.1 / 1e9 > 0.5 * backlog / due * SECONDS;
    ensure(waited && latencies.1 < 2.0 * latencies.0, || {
        format!(
            "responses {responses:?} and latencies {latencies:?} in ns, early and late; {backlog} of {due} left"
        )
    })
}

/// Other work on the machine makes single operations slower too: hence three tries.
#[test]
fn at_twice_the_capacity_responses_wait_and_the_run_ends_on_time() {
    let _alone = alone_on_the_cpus();
    let folder = folder();
    for arrivals in ["steady", "poisson"] {
        shown_within(3, || {
            let (rate, record) = overloaded(&folder, arrivals);
            assert_eq!(record["status"]["state"], "completed");
            // To work off the backlog would take as long again.
            ensure(seconds(&record) / SECONDS < 1.5, || record["window"].to_string())?;
            // The backlog is what was due and not done, to the operation.
            let done = record["operations"]["select"]["operations"].as_f64().unwrap();
            let due = (rate * seconds(&record)).floor();
            let backlog = record["backlog"].as_f64().unwrap();
            assert!((due - done - backlog).abs() <= 1.0, "{due} due, {done} done, {backlog} left");
            waits_show_in_responses_only(&record, due)
        });
        let html = std::fs::read_to_string(folder.last_run().join("report.html")).unwrap();
        assert!(html.contains("data-chart=\"response-over-time\""), "{arrivals}");
    }
}
