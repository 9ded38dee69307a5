//! Runs until a question is decided: yes, no, or not within the most runs; the saved runs say the same again.

use crate::common::{Folder, read_json};
use serde_json::Value;

/// Sessions that pause do a sure fraction of the operations of those that do not.
fn baseline() -> Folder {
    let folder = Folder::loaded(1, "8M");
    folder.slob("run 1 --run-time 1 --cache-mb 64 --update-pct 0 --repeat 3 --name before").success();
    folder
}

const PAUSES: &str = "--think-tm-frequency 1 --think-tm-min 0.05 --think-tm-max 0.05";

#[test]
fn a_loss_is_decided_with_few_runs_and_a_later_gate_counts_the_looks() {
    let folder = baseline();
    let line = format!(
        "run 1 --run-time 1 --cache-mb 64 --update-pct 0 {PAUSES} --name after --baseline before --until-decided 'operations_per_s 30 %' --most 8"
    );
    let decided = folder.slob(line).fails(1, &["run 2 of at most 8"]);
    assert!(decided.stdout.contains("FAILED"), "{}", decided.all());
    assert!(decided.stdout.contains("look ") && decided.stdout.contains("of 7: "), "{}", decided.stdout);
    assert!(decided.stderr.contains("slob gate after --baseline before"), "{}", decided.stderr);
    let again =
        folder.slob("gate after --baseline before --max-loss 'operations_per_s 30 %' --json").exits(1);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    let look = &again["look"];
    assert_eq!((&look["most"], &look["in_all"]), (&7.into(), &0.95.into()), "{again}");
    assert!(again["confidence"].as_f64().unwrap() > 0.95, "{again}");
    // Each run says that it is one of a series.
    let record = read_json(folder.last_run().join("run.json"));
    assert_eq!(record["look"]["number"], look["number"]);
    folder.slob("report latest").prints(&["Until decided", "of 7 at most"]);
    folder.slob("verify --run latest").success();
}

/// Without a probe nobody knows the share of the device's ceiling. The baseline's runs are made in turns.
#[test]
fn what_the_most_runs_do_not_decide_is_not_known() {
    let folder = Folder::loaded(1, "8M");
    folder.write("same.conf", &format!("{}\nRUN_TIME=1\n", folder.read("slob.conf")));
    let line = "run 1 --run-time 1 --name after --baseline-conf same.conf --until-decided 'operations_per_s 99 %' \
                --until-decided 'percent_of_ceiling > 1' --most 2";
    folder.slob(line).fails(4, &["run 2 of at most 2", "slob gate after --baseline after-baseline"]);
    let names: Vec<Value> = serde_json::from_str(&folder.slob("list --json").success().stdout).unwrap();
    let names: Vec<&str> = names.iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["after", "after-baseline", "after-baseline", "after"]);
}

#[test]
fn a_question_without_runs_to_compare_with_is_refused_before_any_run() {
    let folder = Folder::loaded(1, "8M");
    for (line, words) in [
        ("run 1 --until-decided 'iops 3 %' --name after", "--baseline"),
        ("run 1 --until-decided 'iops 3 %' --baseline before", "--until-decided makes a group by its name"),
        ("run 1 --until-decided 'fast 3 %' --baseline before --name after", "fast"),
        ("run 1 --until-decided 'iops 3 %' --baseline nothing --name after", "nothing"),
        ("run 1 --baseline before --name after", "--until-decided"),
        ("run 1 --until-decided 'iops 3 %' --baseline before --name after --most 1", "--most"),
    ] {
        folder.slob(line).refused(&[words]);
    }
    assert!(slob_record::list_runs(&folder.at("runs")).unwrap().is_empty());
}
