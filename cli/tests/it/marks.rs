//! `slob mark`, and runs that end when they are steady.

use std::time::Duration;

use serde_json::Value;
use slob_testing::tries::until;

use crate::common::{Folder, SLOB, assert_contains};

/// A run takes a moment to be under way.
fn mark(folder: &Folder, words: &str) -> String {
    until(|| {
        let called = folder.slob(format!("mark {words}"));
        if called.code == 0 { Ok(called.stderr) } else { Err(called.stderr) }
    })
}

#[test]
fn a_mark_is_in_the_record_the_series_and_the_reports() {
    let folder = Folder::new();
    folder.slob("mark nobody there").refused(&["no run is under way in runs; --results-dir"]);
    let mut run = folder.start("run --target null:?latency_us=1000 --warmup 0 --run-time 12");
    let said = mark(&folder, r#"rebalance '"one"' begins"#);
    std::thread::sleep(Duration::from_millis(1500));
    mark(&folder, "--run run 'rebalance <done>'");
    assert!(run.wait().unwrap().success());
    let record = folder.last_record();
    let marks = record["marks"].as_array().unwrap();
    assert_eq!((&marks[0]["text"], marks.len()), (&"rebalance \"one\" begins".into(), 2));
    let apart = marks[1]["at_s"].as_f64().unwrap() - marks[0]["at_s"].as_f64().unwrap();
    assert!(apart >= 1.5, "{marks:?}");
    assert!(said.contains(record["id"].as_str().unwrap()), "{said}");
    assert!(!folder.last_run().join("marks").exists());
    let series = std::fs::read_to_string(folder.last_run().join("series.csv")).unwrap();
    assert!(series.lines().any(|line| line.ends_with(",\"rebalance <done>\"")), "{series}");
    folder.slob("report").prints(&["Marks", "rebalance <done>"]);
    let html = std::fs::read_to_string(folder.last_run().join("report.html")).unwrap();
    assert_contains(&html, &["rebalance &lt;done&gt;", "\"marks\":[["]);
    folder.slob("mark late").exits(2);
}

#[test]
fn the_external_script_marks_without_being_told_where() {
    let folder = Folder::new();
    let arguments = "--target null:?latency_us=1000 --warmup 0 --run-time 1 --external-script ./marks.sh";
    // `end` comes when the run is over: then there is nothing to mark.
    let marks = format!("[ \"$1\" != end ] || exit 0\ncd / && exec {SLOB} mark \"script $1\"\n");
    folder.script("marks.sh", &format!("#!/bin/sh\n{marks}"));
    let called = folder.slob(format!("run {arguments}")).success();
    assert!(!called.stderr.contains("SLOB_RUN_ID"), "{}", called.stderr);
    let record = folder.last_record();
    let marks = record["marks"].as_array().unwrap();
    let texts: Vec<&Value> = marks.iter().map(|mark| &mark["text"]).collect();
    assert_eq!(texts, ["script pre", "script post"]);
    let at_s = |index: usize| marks[index]["at_s"].as_f64().unwrap();
    assert!(at_s(0) < 0.0 && at_s(1) >= 1.0, "{marks:?}");
}

#[test]
fn a_run_ends_when_it_is_steady_or_has_lasted_as_long_as_it_may() {
    let folder = Folder::new();
    // Thinking sessions of an engine without noise: their rate is what the pauses make it.
    let run = |run_time: u32| {
        let fixed = "--target null: --warmup 0 --update-pct 0 --until-steady -t 8";
        let think = "--think-tm-frequency 1 --think-tm-min .02 --think-tm-max .02";
        let steady = "--steady-window 1 --steady-tolerance 30";
        folder.run_json(format!("{fixed} {think} --run-time {run_time} {steady}"))
    };
    let steady = run(60);
    let asked = &steady["until_steady"];
    assert_eq!((&asked["reached"], &asked["window_s"]), (&true.into(), &1.into()));
    assert_eq!(asked["operations_per_s"].as_array().unwrap().len(), 3);
    let seconds = steady["window"]["seconds"].as_f64().unwrap();
    assert!((3.0..50.0).contains(&seconds), "{seconds}");
    folder.slob("report").prints(&["reached: the last 3 windows of 1 s"]);
    // The third second is not yet reported when the run ends.
    let short = run(3);
    let (reached, state) = (&short["until_steady"]["reached"], &short["status"]["state"]);
    assert_eq!((reached, state), (&false.into(), &"completed".into()));
    assert!(short["window"]["seconds"].as_f64().unwrap() >= 3.0, "{short}");
    let called = folder.slob("run --target null: --until-steady --run-time 20");
    called.refused(&["Raise RUN_TIME or lower STEADY_WINDOW"]);
    let refused = folder.slob("run --target null: --until-steady --work-loop 20");
    assert_contains(&refused.stderr, &["WORK_LOOP=20"]);
}
