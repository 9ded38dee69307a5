//! `slob saturate`: limits that nothing keeps, curves without a knee, and the search by rate.

use crate::common::{Folder, postgres};
use serde_json::Value;
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, shown_within};

fn saturate(folder: &Folder, flags: &str) -> Value {
    folder.slob(format!("saturate --max-sessions 8 --tolerance 20 --repeats 2 --json {flags}")).json()
}

#[test]
fn a_latency_limit_that_nothing_keeps_is_said() {
    let folder = Folder::loaded(1, "16M");
    folder.write("slob.conf", "TARGET=sqlite:./d\nSCALE=16M\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\n");
    let curve = saturate(&folder, "--limit p50=1us");
    assert_eq!((&curve["knee_sessions"], curve["points"].as_array().unwrap().len()), (&Value::Null, 1));
    folder.slob("saturate --limit p50=1us").prints(&["Even the fewest sessions exceed the latency limit."]);
    folder.slob("saturate --limit p98=1ms").refused(&["use WHAT=TIME such as p99=2ms"]);
}

/// Mostly thinking sessions of the null engine have no limit. A machine that stands still can look like one, but not each time.
#[test]
fn a_curve_that_keeps_growing_ends_at_the_most() {
    let folder = Folder::new();
    folder.write(
        "slob.conf",
        "TARGET=null:\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\nTHINK_TM_FREQUENCY=1\nTHINK_TM_MIN=.02\nTHINK_TM_MAX=.02\n",
    );
    shown_within(8, || {
        let curve = saturate(&folder, "");
        let why = curve["why"].as_str().unwrap();
        ensure(curve["knee_sessions"] == 8 && why.contains("still growing"), || curve.to_string())
    });
}

/// Two sessions of an engine with operations of a millisecond keep in an open loop what they do in a closed one. Other work may
/// take more away, so it tries often.
#[test]
fn the_highest_rate_that_is_kept_is_near_what_a_closed_loop_does() {
    let folder = Folder::new();
    folder.write("slob.conf", "TARGET=null:?latency_us=1000\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\n");
    shown_within(8, || {
        let curve = saturate(&folder, "--by rate -t 2 --limit response-p99=60s");
        assert!(curve["knee_sessions"].is_null(), "{curve}");
        let points = curve["points"].as_array().unwrap();
        assert!(points[0]["rate_per_s"].is_null() && points[1]["rate_per_s"].is_u64(), "{curve}");
        let closed = points[0]["operations_per_s"].as_f64().unwrap();
        let Some(knee) = curve["knee_rate_per_s"].as_f64() else { return Err(format!("no knee: {curve}")) };
        // The knee was measured again, and response times are there.
        assert_eq!(points.iter().filter(|point| point["rate_per_s"].as_f64() == Some(knee)).count(), 2);
        assert!(points[1]["response_p99_us"].is_f64(), "{curve}");
        let near = knee / closed > 0.5 && knee / closed < 1.4;
        ensure(near && points.iter().any(|point| point["over_limit"] == true), || curve.to_string())
    });
    folder.slob("saturate -t 2").refused(&["use --by rate"]);
}

/// PostgreSQL totals the time of its reads.
#[test]
fn a_percentile_that_a_server_can_not_tell_is_refused_before_any_run() {
    let Some(bench) = postgres(Version::V15, &[("track_io_timing", "on")]) else { return };
    bench.setup(1, "4M");
    let words = ["does not time each", "limit a mean (read-mean, redo-mean)"];
    bench.folder.slob("saturate -s 1 --by rate -t 2 --run-time 1 --limit read-p99=2ms").refused(&words);
    let folder = Folder::loaded(1, "8M");
    folder.write("victim.conf", &format!("{}RATE=5\n", bench.folder.read("slob.conf")));
    let beside = "saturate -s 1 --by rate -t 2 --run-time 1 --beside victim.conf --limit read-p99=2ms";
    folder.slob(beside).refused(&words);
    for place in [&bench.folder, &folder] {
        place.slob("list").says(&["holds no runs"]);
    }
    folder.slob("saturate -s 1 --by rate -t 2 --run-time 1 --limit read-p99=1us").success();
}
