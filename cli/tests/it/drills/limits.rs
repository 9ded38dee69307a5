//! What a machine may do to a run: stop it, set its clock, give it few files, little memory, few connections, or too many
//! sessions.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::Version;
use slob_testing::skipped;

use super::times;
use crate::common::{Called, Folder, Signal, at_work, ended, kill, postgres, signal, unwrapped};

#[test]
fn a_program_that_was_stopped_is_not_taken_for_a_slow_device() {
    let folder = Folder::loaded(1, "8M");
    let stopped_s = times(3, 10) as u64;
    let child = folder.start_run(format!("1 --run-time {}", stopped_s + 3));
    signal(&child, Signal::STOP);
    thread::sleep(Duration::from_secs(stopped_s));
    signal(&child, Signal::CONT);
    assert!(child.wait_with_output().unwrap().status.success());
    let record: Value = folder.last_record();
    let points = record["series"]["points"].as_array().unwrap();
    let idle = points.iter().filter(|point| {
        point["value"].is_null() || point["value"]["ops"]["selects"].as_f64().unwrap_or(0.0) == 0.0
    });
    assert!(idle.count() as u64 >= stopped_s - 1, "the seconds in which nothing ran are there: {points:?}");
    let report = folder.slob("report latest").success().stdout;
    assert!(unwrapped(&report).contains("had no sample: the sampler was held up"), "{report}");
}

#[test]
fn too_few_files_are_refused_with_a_word() {
    let folder = Folder::loaded(1, "8M");
    let called = slob_limited(&folder, "-n 24", "run -s 1 -t 64 --run-time 1");
    let said = called.stderr;
    assert_ne!(called.code, 0, "{said}");
    assert!(said.to_lowercase().contains("open files") || said.contains("ulimit"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    folder.slob("run 1 --run-time 1").success();
}

/// Debian's package puts the library for another time of day there.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

#[test]
fn a_clock_that_is_set_changes_no_duration() {
    if !Path::new(FAKETIME).is_file() {
        return skipped("libfaketime is not installed");
    }
    let folder = Folder::loaded(1, "8M");
    for set_by in ["-3600", "+3600"] {
        folder.write("offset", "+0");
        let mut run = folder.command("run 1 --run-time 4");
        run.env("LD_PRELOAD", FAKETIME).env("FAKETIME_TIMESTAMP_FILE", folder.at("offset"));
        let mut child = at_work(run.envs([("DONT_FAKE_MONOTONIC", "1"), ("FAKETIME_NO_CACHE", "1")]));
        folder.write("offset", set_by);
        assert!(child.wait().unwrap().success());
        let record = folder.last_record();
        let seconds = record["window"]["seconds"].as_f64().unwrap();
        assert!((3.9..60.0).contains(&seconds), "{set_by}: a window of {seconds} s");
        let jump =
            |field: &str| record[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
        let shown = jump("ended") - jump("started");
        assert!(shown.abs() > 3000, "the clock was set: {shown} s from start to end");
        let slowest = record["operations"]["select"]["latency"]["max"].as_f64().unwrap();
        assert!(slowest < 60e9, "{set_by}: {slowest} ns");
        let points = record["series"]["points"].as_array().unwrap().len();
        assert!((4..60).contains(&points), "{set_by}: {points} seconds");
        folder.slob("report latest").success();
        fs::remove_dir_all(folder.at("runs")).unwrap();
    }
}

fn slob_limited(folder: &Folder, limit: &str, words: &str) -> Called {
    folder.shell(&format!("ulimit {limit}; exec $0 {words}"))
}

#[test]
fn too_little_memory_is_said_and_leaves_nothing_behind() {
    let folder = Folder::loaded(1, "8M");
    let mut failed = 0;
    // With less the system can't load the program, which can't say anything then.
    let starts =
        |megabytes: &u32| slob_limited(&folder, &format!("-v {}", megabytes * 1024), "--help").code == 0;
    let least = (20..1000).step_by(4).find(starts).unwrap();
    let more = [2, 4000, 20, 100, 10, 40, 60, 180];
    let limits = &more[..times(3, more.len())];
    for more in limits {
        let megabytes = least + more;
        let limit = format!("-v {}", megabytes * 1024);
        let called = slob_limited(&folder, &limit, "run -s 1 -t 200 --run-time 1");
        let said = called.stderr.to_lowercase();
        // Rust's runtime ends the program, and says so, if it finds no memory for a thread.
        let words = ["memory", "allocat", "resource temporarily unavailable"];
        assert!(called.code == 0 || words.iter().any(|word| said.contains(word)), "{megabytes} MB: {said}");
        failed += i32::from(called.code != 0);
    }
    let tried = limits.len() as i32;
    assert!((1..tried).contains(&failed), "{failed} of {tried} failed");
    let listed = folder.slob("list --json").success().stdout;
    assert_eq!(listed.matches("\"completed\"").count() as i32, tried - failed, "{listed}");
    folder.slob("run 1 --run-time 1").success();
    folder.slob("verify").success();
}

#[test]
fn thousands_of_sessions_are_all_measured() {
    let folder = Folder::new();
    let many = times(1024, 4096);
    let record = folder.run_json(format!("--target null:?latency_us=100000 -s 1 -t {many} --run-time 2"));
    let sessions = record["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), many);
    assert!(sessions.iter().all(|session| session["whole_window"] == true && session["error"].is_null()));
}

/// The kernel may schedule a login session as one: its priority is that of all its programs.
#[test]
fn overlapping_and_killed_runs_leave_the_priority_of_the_session_alone() {
    const AUTOGROUP: &str = "/proc/self/autogroup";
    let Ok(before) = fs::read_to_string(AUTOGROUP) else { return skipped("this kernel has no autogroups") };
    let Some(bench) = postgres(Version::V15, &[("max_connections", "60")]) else { return };
    bench.setup(1, "8M");
    let same = || assert_eq!(fs::read_to_string(AUTOGROUP).unwrap(), before);
    let run = || bench.folder.start_run("-t 20 --rate 100 --warmup 0 --run-time 60");
    let (first, second) = (run(), run());
    same();
    signal(&first, Signal::INT);
    ended(first).exits(130);
    same();
    kill(second);
    same();
}

#[test]
fn too_few_connections_are_refused_and_many_sessions_work() {
    let Some(mut bench) = postgres(Version::V15, &[("max_connections", "20")]) else { return };
    bench.load("--scale 1024 1");
    let many = times(50, 1000);
    let run = format!("run --target {} -s 1 -t {many} --scale 1024 --warmup 0", bench.target);
    let run = format!("{run} --run-time 2 --rate 500 --update-pct 10 --work-unit 4");
    bench.folder.slob(&run).refused(&["max_connections"]);
    bench.server.configure(&[("max_connections", "1100")]).unwrap();
    bench.server.restart();
    bench.folder.slob(run).success();
    let record = bench.folder.last_record();
    let sessions = record["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), many);
    assert!(sessions.iter().all(|session| session["whole_window"] == true), "all worked to the end");
    bench.verify().success();
}
