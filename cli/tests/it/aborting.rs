//! ABORT_ON: a run ends where a figure is out of bounds, its record is kept, and every view says why.

use std::fs;

use crate::common::{Folder, VERIFY, unwrapped};

/// Reads of storage in each second: the cache is smaller than the data.
const RUN: &str = "run 1 --update-pct 0 --cache-mb 2 --work-unit 3";

#[test]
fn a_run_whose_bound_breaks_ends_early_and_every_view_says_why() {
    let folder = Folder::loaded(1, "32M");
    let line =
        format!("{RUN} --run-time 120 --abort-on 'operation-p99 > 100s for 1s; read-p99 > 1ns for 2s'");
    let called = folder.sound_run(&line, VERIFY);
    let why = "physical_read_p99_us > 1.00 ns for 2 s";
    called.prints_and_exits(1, &["ABORTED"]).fails(1, &["the run was aborted: physical_read_p99_us > "]);
    let record = folder.last_record();
    let reason = record["status"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("physical_read_p99_us > "), "{why}: {reason}");
    assert_eq!(record["status"]["state"], "aborted");
    let seconds = record["window"]["seconds"].as_f64().unwrap();
    assert!((1.5..100.0).contains(&seconds), "{seconds}");
    assert!(
        record["notes"].to_string().contains("ABORT_ON ended the run before its time"),
        "{}",
        record["notes"]
    );
    let report = folder.slob("report").success().stdout;
    for words in
        ["*** ABORTED *** physical_read_p99_us > ", "the run was aborted: ", "ABORT_ON ended the run"]
    {
        assert!(unwrapped(&report).contains(words), "no {words} in {report}");
    }
    let page = fs::read_to_string(folder.last_run().join("report.html")).unwrap();
    assert!(page.contains(">aborted</span>") && page.contains("<strong>Aborted</strong>"));
    folder.slob("list --status aborted").prints(&["aborted"]);
    folder.slob("list --columns id,status").prints(&["aborted"]);
    folder.slob("report --field status.state").prints(&["aborted"]);
    folder.slob("diff latest latest").prints(&["was aborted"]);
    folder.slob("gate --require complete").exits(1);
}

#[test]
fn a_run_whose_bound_holds_goes_on_to_its_end() {
    let folder = Folder::loaded(1, "8M");
    let conf = folder.read("slob.conf");
    folder.write("slob.conf", &format!("{conf}ABORT_ON='operation-p99 > 100s for 1s'\n"));
    folder.slob("run 1 --run-time 3").success();
    let record = folder.last_record();
    assert_eq!(record["status"]["state"], "completed");
    assert!(!record["notes"].to_string().contains("ABORT_ON"), "{}", record["notes"]);
    // The null engine times no reads.
    folder.slob("run --target null: --rate 9 --run-time 2 --abort-on 'read-p99 > 1ms for 1s'").success();
    let notes = folder.last_record()["notes"].to_string();
    assert!(
        notes.contains("ABORT_ON watched nothing by 'physical_read_p99_us > 1.00 ms for 1 s'"),
        "{notes}"
    );
}

#[test]
fn a_rule_that_no_sample_can_answer_is_refused_before_anything_is_touched() {
    let folder = Folder::new();
    for (rule, words) in [
        ("percent_of_ceiling < 50 for 3s", "these figures are: operations_per_s"),
        ("read-p99 > 50ms", "does not say for how long"),
        ("read-p99 > 50 for 3s", "has no unit"),
    ] {
        folder
            .slob(format!("run --target sqlite:./nothing --abort-on '{rule}'"))
            .refused(&["ABORT_ON", words]);
        let plan = format!(
            "settings = {{ TARGET = \"sqlite:./nothing\", ABORT_ON = \"{rule}\" }}\n[[variant]]\nname = \"a\"\n"
        );
        folder.write("plan.toml", &plan);
        folder.slob("campaign plan.toml --dry-run").refused(&["ABORT_ON", words]);
    }
    assert!(!folder.at("runs").exists());
}
