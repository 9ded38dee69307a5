//! The first minute: what the program says by itself, what it takes from the load, what it prints at the end.

use slob_testing::tries::{ensure, shown_within};

use crate::common::Folder;

const SHORT: &str = "--run-time 1 --warmup 0 --work-unit 4";

#[test]
fn alone_it_says_what_it_is_and_what_comes_next() {
    let folder = Folder::new();
    let nothing = folder.slob("").prints(&["Nothing is loaded at sqlite:./slob-data", "slob demo"]).stdout;
    assert!(nothing.starts_with("OpenSLOB measures"), "{nothing}");
    folder.slob("setup --scale 4M 2").success();
    folder.slob("").prints(&["2 schemas of 4M loaded", "slob run"]);
    folder.slob(format!("run {SHORT}")).success();
    folder.slob("").prints(&["1 run in runs: ", "slob report", "  slob run  "]);
    // The message names what can be done without a target that can't be reached.
    let lost = Folder::new();
    lost.write("slob.conf", "TARGET=postgres://nobody@127.0.0.1:1/slob\n");
    lost.slob("").prints(&["can't be used yet", "127.0.0.1:1"]);
}

#[test]
fn another_run_is_suggested_only_of_what_is_loaded() {
    let folder = Folder::new();
    let there = "--target 'sqlite:./its data'";
    folder.slob(format!("setup --scale 4M 1 {there}")).success();
    folder.slob(format!("run {SHORT} {there}")).success();
    folder.slob("").prints(&["slob run --target 'sqlite:./its data'"]);
    // As after a demo.
    folder.slob(format!("drop --yes {there}")).success();
    let gone = folder.slob("").success().stdout;
    assert!(!gone.contains("slob run") && gone.contains("slob setup"), "{gone}");
}

#[test]
fn a_run_covers_what_is_loaded_unless_told_otherwise() {
    let folder = Folder::new();
    folder.slob("setup --scale 8M --scan-table-sz 64 2").success();
    let called = folder.slob(format!("run --scan-pct 10 {SHORT}"));
    called.says(&["as loaded: SCHEMAS=2, SCALE=8M, SCAN_TABLE_SZ=64"]);
    let record = folder.last_record();
    let workload = &record["workload"];
    assert_eq!((&workload["scale_blocks"], &workload["schemas"]), (&1024.into(), &2.into()));
    let configuration = record["configuration"].as_array().unwrap();
    let scale = configuration.iter().find(|entry| entry["key"] == "SCALE").unwrap();
    assert_eq!((&scale["value"], &scale["origin"]), (&"8M".into(), &"as loaded".into()));
    // A value that was set precedes the load's; what no load could make right is refused.
    let said = folder.slob(format!("run --scale 4M 1 {SHORT}")).success().stderr;
    assert!(!said.contains("SCALE=") && folder.last_record()["workload"]["scale_blocks"] == 512, "{said}");
    folder.slob("run --target sqlite:./none --rate 5 --think-tm-frequency 3").refused(&["RATE"]);
}

#[test]
fn the_doctor_tells_what_is_missing_and_what_is_there() {
    let folder = Folder::new();
    let before = ["Before a test of sqlite:./slob-data", "nothing is loaded", "slob probe"];
    folder.slob("doctor").prints(&before);
    assert!(!folder.at("slob-data").exists());
    folder.slob("setup --scale 4M 2").success();
    folder.slob("doctor").prints(&["2 schemas of 4M: a run can start"]);
    folder.slob("doctor -s 3").prints_and_exits(1, &["schema 3 is not loaded"]);
    let lost = folder.slob("doctor --target postgres://nobody@127.0.0.1:1/slob");
    lost.prints_and_exits(1, &["PROBLEM  Target"]);
}

#[test]
fn more_schemas_are_loaded_like_the_first() {
    let folder = Folder::new();
    folder.slob("setup --scale 4M --obfuscate-columns 1").success();
    folder.slob("setup 2").says(&["as loaded: SCALE=4M, OBFUSCATE_COLUMNS=TRUE"]);
    folder.slob("verify").success();
}

#[test]
fn a_run_ends_with_one_screen() {
    let folder = Folder::loaded(1, "8M");
    // Doubts about a run on a busy machine have their lines, too.
    shown_within(3, || {
        let called = folder.slob("run 1 --run-time 1").success();
        let called = called.prints(&["  Physical?"]).says(&["slob report"]);
        assert!(called.stdout.starts_with("Run "), "{}", called.stdout);
        ensure(called.stdout.lines().count() <= 24, || called.stdout)
    });
    let full = folder.slob("run 1 --run-time 1 --full").success().stdout;
    let at = |words: &str| full.find(words).unwrap_or_else(|| panic!("no '{words}' in\n{full}"));
    assert!(at("\nVerdicts") < at("\nKey figures") && at("\nKey figures") < at("\nLoad profile"));
}
