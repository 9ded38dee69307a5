//! Gates: the exit code decides, and JUnit's file says why.

use crate::common::{Called, Folder};

/// Short operations, so that a window ends in time.
const RUN: &str = "run 1 --run-time 2 --warmup 0 --work-unit 3";

fn complete_run(folder: &Folder, flags: &str) -> Called {
    folder.sound_run(&format!("{RUN} {flags}"), "gate latest --require complete")
}

#[test]
fn a_run_that_is_named_twice_counts_once() {
    let folder = Folder::loaded(1, "8M");
    complete_run(&folder, "").success();
    let run = folder.last_run();
    let run = run.display();
    let names = format!("latest {run} runs");
    folder.slob(format!("gate {names} --require complete --require 'iops > 1'")).prints(&["in a single run"]);
    let listed = folder.slob(format!("list {names} --columns id --csv")).success().stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn a_gate_passes_fails_or_is_not_known_by_its_exit_code() {
    let folder = Folder::loaded(1, "8M");
    for _ in 0..2 {
        complete_run(&folder, "").success();
    }
    folder.slob("gate --require complete --require 'iops > 1'").prints(&["PASSED"]);
    folder.slob("gate --require 'iops > 1e' --junit gate.xml").refused(&["its unit is blocks/s"]);
    assert!(!folder.at("gate.xml").exists());
    let called = folder.slob("gate --require complete --require 'operation-p99 > 100s' --junit gate.xml");
    called.prints_and_exits(1, &["FAILED", "operation_p99_us > 100"]);
    let junit = std::fs::read_to_string(folder.at("gate.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{junit}");
    let called = folder.slob("gate latest --baseline latest~1 --max-loss 'iops 3 %' --json");
    called.prints_and_exits(4, &["\"outcome\": \"not_known\"", "two or more runs"]);
    folder.slob("gate latest").refused(&["--require", "GATE"]);
    folder.slob("gate nonsense --require complete").refused(&["nonsense"]);
}

#[test]
fn a_run_is_gated_by_its_configuration() {
    let folder = Folder::loaded(1, "8M");
    folder.slob("run 1 --gate 'iops >' --run-time 1").refused(&["GATE", "its unit is"]);
    assert!(folder.slob("list").success().stderr.contains("holds no runs"));
    let passed = complete_run(&folder, "--gate 'complete; iops > 1'").success();
    assert_eq!(passed.stdout.matches("PASSED").count(), 2, "{}", passed.stdout);
    folder.slob("gate latest").prints(&["PASSED", "physical_reads_per_s > 1"]);
    complete_run(&folder, "--json --gate 'p99 > 100s'")
        .prints_and_exits(1, &["\"state\": \"completed\""])
        .fails(1, &["FAILED"]);
    folder.slob("gate latest latest~1").refused(&["different GATEs"]);
}
