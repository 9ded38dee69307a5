//! `slob saturate` on SQLite: the knee, and what a full sweep says of it.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/sweep.rs"]
mod sweep;

use common::Folder;
use serde_json::Value;
use sweep::sweep;

fn saturate(folder: &Folder, more: &[&str]) -> Value {
    let arguments = ["saturate", "--max-sessions", "8", "--tolerance", "20", "--repeats", "2", "--json"];
    let called = folder.slob(arguments.iter().chain(more).copied()).success();
    serde_json::from_str(&called.stdout).unwrap()
}

/// Cached reads, so that the CPUs are the limit and the device does not matter. Other work on the machine moves the
/// knee while it is looked for, so some tries may be needed; a search that finds nothing sensible fails all of them.
#[test]
fn a_full_sweep_confirms_the_knee_within_one_step() {
    let folder = Folder::loaded(1, "16M");
    let conf = "TARGET=sqlite:./d\nSCALE=16M\nUPDATE_PCT=0\nBUFFERED=TRUE\nWARMUP=0\nRUN_TIME=2\n";
    folder.write("slob.conf", conf);
    let confirmed = |_: &i32| {
        let curve = saturate(&folder, &[]);
        let knee = curve["knee_sessions"].as_u64().unwrap();
        let points = curve["points"].as_array().unwrap();
        // The knee was measured again, and every point is an ordinary record.
        assert_eq!(points.iter().filter(|point| point["sessions"] == knee).count(), 2);
        for point in points {
            let run = folder.path().join("runs").join(point["run"].as_str().unwrap());
            assert!(run.join("run.json").is_file());
            let little = point["little_percent"].as_f64().unwrap();
            assert!(little > 0.0 && little < 110.0, "{point}");
        }
        let swept = sweep(&folder);
        knee <= 2 * swept && swept <= 2 * knee
    };
    assert!((0..5).any(|attempt| confirmed(&attempt)));
}

#[test]
fn a_latency_limit_that_nothing_keeps_is_said() {
    let folder = Folder::loaded(1, "16M");
    folder.write("slob.conf", "TARGET=sqlite:./d\nSCALE=16M\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\n");
    let curve = saturate(&folder, &["--limit", "p50=1us"]);
    assert_eq!((&curve["knee_sessions"], curve["points"].as_array().unwrap().len()), (&Value::Null, 1));
    let text = folder.slob(["saturate", "--limit", "p50=1us"]).success().stdout;
    assert!(text.contains("Even the fewest sessions pass the latency limit."), "{text}");
    let wrong = folder.slob(["saturate", "--limit", "p98=1ms"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("say WHAT=TIME such as p99=2ms"), "{}", wrong.stderr);
}

/// The null engine has no limit of its own up to the number of sessions allowed, if each of them mostly thinks; a machine that
/// stands still for a while can look like one, but not three times.
#[test]
fn a_curve_that_keeps_growing_ends_at_the_most() {
    let folder = Folder::new();
    folder.write(
        "slob.conf",
        "TARGET=null:\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\nTHINK_TM_FREQUENCY=1\nTHINK_TM_MIN=.02\nTHINK_TM_MAX=.02\n",
    );
    let keeps_growing = |_: &i32| {
        let curve = saturate(&folder, &[]);
        curve["knee_sessions"] == 8 && curve["why"].as_str().unwrap().contains("still growing")
    };
    assert!((0..3).any(|attempt| keeps_growing(&attempt)));
}

/// Two sessions of an engine that takes a millisecond for an operation: what they do in a closed loop, they keep in an open
/// one, but for what the machine takes away; twice of it they can't. Other work may take away more: hence three tries.
#[test]
fn the_highest_rate_that_is_kept_is_near_what_a_closed_loop_does() {
    let folder = Folder::new();
    folder.write("slob.conf", "TARGET=null:?latency_us=1000\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\n");
    let near = |_: &i32| {
        let curve = saturate(&folder, &["--by", "rate", "-t", "2", "--limit", "response-p99=60s"]);
        assert!(curve["knee_sessions"].is_null(), "{curve}");
        let points = curve["points"].as_array().unwrap();
        assert!(points[0]["rate_per_s"].is_null() && points[1]["rate_per_s"].is_u64(), "{curve}");
        let closed = points[0]["operations_per_s"].as_f64().unwrap();
        let Some(knee) = curve["knee_rate_per_s"].as_f64() else { return false };
        // The knee was measured again, and response times are there.
        assert_eq!(points.iter().filter(|point| point["rate_per_s"].as_f64() == Some(knee)).count(), 2);
        assert!(points[1]["response_p99_us"].is_f64(), "{curve}");
        knee / closed > 0.5 && knee / closed < 1.4 && points.iter().any(|point| point["over_limit"] == true)
    };
    assert!((0..3).any(|attempt| near(&attempt)));
    let refused = folder.slob(["saturate", "-t", "2"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("say --by rate"), "{}", refused.stderr);
}
