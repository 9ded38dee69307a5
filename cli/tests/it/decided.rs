//! Runs until a question is decided: yes, no, or not within the most runs; the saved runs say the same again.

use crate::common::{Folder, Signal, VERIFY, ended, read_json, signal, wait_until};
use serde_json::Value;
use slob_testing::tries::{ensure, shown_within};

/// Sessions that pause do a sure fraction of the operations of those with shorter pauses, on a busy machine too.
fn baseline() -> Folder {
    let folder = Folder::loaded(1, "8M");
    folder.slob(format!("{} --repeat 3 --name before", paced("0.02"))).success();
    folder
}

fn paced(pause_s: &str) -> String {
    format!(
        "run 1 --run-time 1 --cache-mb 64 --update-pct 0 --work-unit 8 --think-tm-frequency 1 --think-tm-min {pause_s} \
         --think-tm-max {pause_s}"
    )
}

#[test]
fn a_loss_is_decided_with_few_runs_and_a_later_gate_counts_the_looks() {
    let line = format!(
        "{} --name after --baseline before --until-decided 'operations_per_s 30 %' --most 8",
        paced("0.1")
    );
    // One slow run of three makes a baseline that decides nothing.
    let (folder, decided) = shown_within(5, || {
        let folder = baseline();
        let decided = folder.slob(&line);
        let verified = folder.slob(VERIFY);
        ensure(decided.code == 1 && verified.code == 0, || decided.all() + &verified.all())?;
        Ok((folder, decided.fails(1, &["run 2 of at most 8"])))
    });
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
}

/// Of this whole name, in this state, the oldest first.
fn runs(folder: &Folder, name: &str, state: &str) -> Vec<Value> {
    let runs = slob_record::list_runs(&folder.at("runs")).unwrap().into_iter();
    let records = runs.map(|run| read_json(run.join("run.json")));
    records.filter(|record| record["name"] == name && record["status"]["state"] == state).collect()
}

/// Between equals, a limit of nothing is seldom decided: by chance, or as the machine gets busier.
#[test]
fn what_the_most_runs_do_not_decide_is_not_known() {
    let folder = Folder::loaded(1, "8M");
    folder.write("other.conf", &folder.read("slob.conf").replace("WORK_UNIT=64", "WORK_UNIT=63"));
    let mut names = (1..).map(|number| format!("after{number}"));
    shown_within(5, || {
        let name = names.next().unwrap();
        let series = format!(
            "--name {name} --baseline-conf other.conf --until-decided 'operations_per_s 0 %' --most 2"
        );
        let called = folder.slob(format!("run 1 --run-time 1 --work-unit 60 {series}"));
        ensure(called.code == 4, || called.all())?;
        let again = format!("slob gate {name} --baseline {name}-baseline");
        assert!(
            called.stderr.contains("run 2 of at most 2") && called.stderr.contains(&again),
            "{}",
            called.all()
        );
        let made = [name.as_str(), &format!("{name}-baseline")].map(|name| runs(&folder, name, "completed"));
        assert_eq!(made.each_ref().map(Vec::len), [2, 2]);
        // Flags are of both sides.
        assert!(made.iter().flatten().all(|record| record["workload"]["work_unit"] == 60));
        let started = |side: usize, run: usize| made[side][run]["started"].as_str().unwrap().to_owned();
        assert!(started(0, 0) < started(1, 0) && started(1, 1) < started(0, 1), "they take turns");
        Ok(())
    });
}

#[test]
fn ctrl_c_keeps_the_runs_and_the_same_command_goes_on() {
    let folder = Folder::new();
    let run = "run --target null:?latency_us=1000 --warmup 0 --run-time 1 --update-pct 0";
    let (question, mut names) =
        ("--until-decided 'operations_per_s 0 %'", (1..).map(|n| format!("after{n}")));
    shown_within(5, || {
        let name = names.next().unwrap();
        let done = || runs(&folder, &name, "completed").len();
        let before = format!("{name}-before");
        folder.slob(format!("{run} --repeat 2 --name {before}")).success();
        let series = format!("{run} --name {name} --baseline {before} --most 6 {question}");
        let child = folder.start(&series);
        wait_until("no run ended", || done() > 0);
        signal(&child, Signal::INT);
        let stopped = ended(child);
        ensure(stopped.code == 130, || stopped.all())?;
        let made = done();
        let called = folder.slob(&series);
        ensure(called.code == 4 && done() == 6, || called.all())?;
        let there = format!("of {name}, of the same series, are there already");
        assert!(made < 6 && called.stderr.contains(&there), "{}", called.stderr);
        assert_eq!(called.stderr.matches(" of at most 6").count(), 6 - made, "{}", called.stderr);
        // Whole, it makes no more runs, and has the same answer; so has a gate without the run that was stopped.
        folder.slob(&series).exits(4);
        assert_eq!(done(), 6);
        let gate =
            folder.slob(format!("gate {name} --baseline {before} --max-loss 'operations_per_s 0 %' --json"));
        let gate: Value = serde_json::from_str(&gate.exits(4).stdout).unwrap();
        assert_eq!(gate["runs"].as_array().unwrap().len(), 6);
        folder.slob(series.replace("--most 6", "--most 7")).refused(&["choose another --name"]);
        folder.slob(format!("{series} --work-unit 3")).refused(&["choose another --name"]);
        Ok(())
    });
}

/// Without a probe nobody knows the share of the device's ceiling.
#[test]
fn a_series_that_no_further_run_can_decide_ends() {
    let folder = Folder::loaded(1, "8M");
    let run = "run 1 --work-loop 50";
    let called = folder.slob(format!("{run} --name after --until-decided 'percent_of_ceiling > 1'"));
    called.prints_and_exits(4, &["NOT KNOWN", "does not know percent_of_ceiling"]);
    assert_eq!(runs(&folder, "after", "completed").len(), 1);
    folder
        .slob(format!("{run} --name next --baseline after --until-decided 'iops 3 %'"))
        .refused(&["needs two or more"]);
    // GATE of a run is a part of the question.
    let called =
        folder.slob(format!("{run} --name gated --gate 'p99 > 100s' --until-decided complete --most 2"));
    called.prints_and_exits(1, &["operation_p99_us > 100"]);
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
