//! Campaigns: carried out, killed, resumed, refused, amended, analysed.

use std::collections::BTreeMap;
use std::process::Child;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use slob_testing::postgres::Version;
use slob_testing::skipped;
use slob_testing::tries::{ensure, until};

use crate::common::{Called, Folder, Signal, assert_contains, is_full, kill, postgres, signal, unwrapped};

fn state(folder: &Folder, campaign: &str) -> Option<Value> {
    let path = folder.path().join(campaign).join("state.json");
    // It is replaced as a whole: a reader finds the old one or the new one.
    std::fs::read_to_string(path).ok().map(|text| serde_json::from_str(&text).unwrap())
}

pub(crate) fn attempts(folder: &Folder, campaign: &str) -> Vec<Value> {
    state(folder, campaign).map_or_else(Vec::new, |state| state["attempts"].as_array().unwrap().clone())
}

fn start(folder: &Folder) -> Child {
    folder.start("campaign plan.toml")
}

fn carry_out(folder: &Folder, plan: &str) -> Called {
    folder.write("plan.toml", plan);
    folder.slob("campaign plan.toml")
}

/// Waits until a run is being made and so many are done.
pub(crate) fn wait_for(folder: &Folder, done: usize) {
    until(|| {
        let state = state(folder, "c");
        let is_running = state.as_ref().is_some_and(|state| !state["running"].is_null());
        ensure(is_running && attempts(folder, "c").len() >= done, || format!("{state:?}"))
    });
}

const CACHES: &str = r#"
name = "caches"
directory = "c"
sessions = ["1x1", "1x2", "1x4"]
models = ["read"]
repeats = 2
settings = { RUN_TIME = 1, WARMUP = 0, RATE = 100 }
variant = [{ name = "direct" }, { name = "buffered", settings = { BUFFERED = true } }]
"#;

#[test]
fn a_campaign_that_is_killed_goes_on_with_the_next_run() {
    let folder = Folder::loaded(1, "16M");
    folder.write("plan.toml", CACHES);
    let child = start(&folder);
    wait_for(&folder, 2);
    folder.slob("campaign plan.toml").refused(&["another campaign is at work in c"]);
    kill(child);
    let child = start(&folder);
    wait_for(&folder, 5);
    kill(child);
    folder.slob("campaign plan.toml").success();
    let mut completed = BTreeMap::new();
    for attempt in attempts(&folder, "c") {
        let how = attempt["ended"]["how"].as_str().unwrap();
        assert!(how == "completed" || how == "killed", "{attempt}");
        if how == "completed" {
            assert!(folder.at("c").join(attempt["run"].as_str().unwrap()).join("run.json").is_file());
            *completed.entry(attempt["step"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    assert_eq!(completed.len(), 12);
    assert!(completed.values().all(|times| *times == 1), "{completed:?}");
    // Its runs are ordinary records.
    let info = folder.slob("info c --columns name,status --csv").success().stdout;
    assert_eq!(info.lines().filter(|line| line.ends_with(",completed")).count(), 12, "{info}");
    let json = folder.slob("analyze c --json").json();
    let table = &json["tables"][0];
    assert_eq!(table["sessions"], serde_json::json!([1, 2, 4]));
    for row in table["rows"].as_array().unwrap() {
        assert!(row["cells"].as_array().unwrap().iter().all(|cell| cell["runs"] == 2), "{row}");
        assert_eq!(row["overall"]["runs"], 6);
    }
    assert_eq!(table["pairs"][0]["first"], "direct");
    a_changed_plan_is_refused_unless_it_is_amended(&folder);
}

fn a_changed_plan_is_refused_unless_it_is_amended(folder: &Folder) {
    carry_out(folder, &CACHES.replace("\"1x1\", \"1x2\", \"1x4\"", "\"1x1\", \"1x2\""))
        .refused(&["buffered/read/1x4 is no longer in it"]);
    folder.slob("campaign plan.toml --amend").success();
    let state = state(folder, "c").unwrap();
    assert_eq!(state["superseded"].as_array().unwrap().iter().filter(|one| !one["run"].is_null()).count(), 4);
    let text = folder.slob("analyze c --csv").success().stdout;
    assert!(text.contains("direct,2,2,") && !text.contains("direct,4,"), "{text}");
}

const SHORT: &str = "directory = \"c\"\nsettings = { TARGET = \"null:?latency_us=1000\", RUN_TIME = 1, WARMUP = 0 }\n\
                     models = [\"all\"]\n[[model]]\nname = \"all\"\nmetric = \"operations_per_s\"\n";

#[test]
fn the_same_thing_twice_shows_the_noise_of_the_machine() {
    let folder = Folder::new();
    // A run without a planned time is never late.
    let short = SHORT.replace("RUN_TIME = 1", "WORK_LOOP = 200");
    carry_out(&folder, &format!("noise = true\n{short}[[variant]]\nname = \"null\"\n")).success();
    let json = folder.slob("analyze c --json").json();
    let pairs = json["tables"][0]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 1);
    assert_eq!((&pairs[0]["same_thing"], &pairs[0]["overall"]["first_n"]), (&true.into(), &3.into()));
    assert!(pairs[0]["verdict"].as_str().unwrap().starts_with("A/A: null "), "{pairs:?}");
}

#[test]
fn hooks_switch_variants_and_a_failed_one_stops_its_variant_alone() {
    let folder = Folder::new();
    let log = "echo $CAMPAIGN_VARIANT";
    let variant = |name: &str, bounce: &str| {
        format!(
            "[[variant]]\nname = \"{name}\"\nprepare = \"{log} prepare >> log\"\nbounce = \"{log} bounce >> log; {bounce}\"\n\
             before_run = \"{log} before >> log\"\nafter_run = \"{log} after >> log\"\n"
        )
    };
    let variants = variant("a", "test -f mended") + &variant("b", "true");
    let plan = format!("repeats = 1\nwarmup_runs = 1\norder = \"blocked\"\n{SHORT}{variants}");
    carry_out(&folder, &plan).fails(3, &["variant a was left out: its hook bounce"]);
    let log = |folder: &Folder| folder.read("log");
    let b = "b prepare\nb bounce\nb before\nb after\nb before\nb after\n";
    assert_eq!(log(&folder), format!("a prepare\na bounce\n{b}"));
    folder.write("mended", "");
    folder.slob("campaign plan.toml").success();
    // Prepared once, switched to again.
    let a = "a bounce\na before\na after\na before\na after\n";
    assert_eq!(log(&folder), format!("a prepare\na bounce\n{b}{a}"));
    assert_eq!(state(&folder, "c").unwrap()["hook_failures"].as_array().unwrap().len(), 1);
    // Runs to throw away are kept apart.
    let info = folder.slob("info c --columns name --csv").success().stdout;
    assert_eq!(info, "name\nb-all-1x1-r1\na-all-1x1-r1\n");
}

#[test]
fn a_plan_without_its_data_offers_the_load_of_its_own_target() {
    let folder = Folder::loaded(1, "8M");
    let settings = "settings = { SCALE = \"8M\", RUN_TIME = 1, WARMUP = 0 }";
    let variant = "[[variant]]\nname = \"a\"\ntarget = \"sqlite:./d\"";
    let plan =
        format!("name = \"c\"\ndirectory = \"c\"\nrepeats = 2\nsessions = [2]\n{settings}\n{variant}\n");
    let given_up = "a/read/2x1/1 and 1 more failed as often as the plan allows";
    carry_out(&folder, &plan).fails(3, &["`slob setup --target sqlite:./d", "--scale 8M", given_up]);
}

#[test]
fn a_failed_run_is_made_again_and_stays_visible() {
    let folder = Folder::new();
    folder.script("once.sh", "#!/bin/sh\n[ \"$1\" != post ] || [ -f second ] || { touch second; exit 1; }\n");
    let short = SHORT.replace("WARMUP = 0", "WARMUP = 0, EXTERNAL_SCRIPT = \"./once.sh\"");
    carry_out(&folder, &format!("repeats = 1\nretries = 1\n{short}[[variant]]\nname = \"a\"\n")).success();
    let how: Vec<_> = attempts(&folder, "c").iter().map(|one| one["ended"]["how"].clone()).collect();
    assert_eq!(how, ["failed", "completed"]);
    let info = folder.slob("info c --columns status --csv").success().stdout;
    assert_eq!(info, "status\nfailed\ncompleted\n");
    // Without retries it is given up, and tried again on request.
    std::fs::remove_file(folder.at("second")).unwrap();
    let none = folder.read("plan.toml");
    carry_out(&folder, &none.replace("retries = 1", "retries = 0").replace("\"c\"", "\"e\""))
        .fails(3, &["a/all/1x1/1 failed as often as the plan allows"]);
    folder.slob("campaign plan.toml").exits(3);
    assert_eq!(attempts(&folder, "e").len(), 1);
    folder.slob("campaign plan.toml --retry-failed").success();
    assert_eq!(attempts(&folder, "e").len(), 2);
}

/// Slots of a second; the campaign is killed and is away for two of them.
#[test]
fn a_campaign_in_slots_goes_on_after_a_kill_and_shows_what_it_missed() {
    let folder = Folder::new();
    let short = SHORT.replace("RUN_TIME = 1", "WORK_LOOP = 10");
    folder.write("plan.toml", &format!("{short}[[variant]]\nname = \"a\"\n"));
    let line = "campaign plan.toml --every 1s --for 10s";
    folder.slob(format!("{line} --dry-run")).prints(&["10 runs into c: 10 slots, one every 1 s"]);
    let child = folder.start(line);
    until(|| ensure(attempts(&folder, "c").iter().any(|one| !one["run"].is_null()), || "no run".into()));
    kill(child);
    thread::sleep(Duration::from_millis(2500));
    folder.slob(line).fails(3, &["was missed: the campaign was not at work", "`slob trend c` shows them"]);
    let done: Vec<_> = attempts(&folder, "c");
    let of = |how: &str| done.iter().filter(|one| one["ended"]["how"] == how).count();
    assert!(of("missed") >= 1 && of("completed") >= 2 && of("missed") + of("completed") == 10, "{done:#?}");
    // Missed slots are not made up for.
    folder.slob(line).exits(3);
    assert_eq!(attempts(&folder, "c"), done);
    folder.slob("campaign plan.toml --every 2s --for 12s").refused(&["the time between slots changed"]);
    let trend = folder.slob("trend c --json").json();
    let history = &trend["histories"][0];
    assert_eq!(history["missed"].as_array().unwrap().len(), of("missed"), "{history:#}");
    folder.slob("trend c").prints(&["Trend: a/all/1x1", "(the campaign was not at work)"]);
    folder.slob("trend c --fail-on-change").exits(4);
    folder.slob("trend c --html").success();
    assert!(folder.read("trend.html").contains("missed: the campaign was not at work"));
}

#[test]
fn slots_that_cannot_hold_their_runs_are_refused() {
    let folder = Folder::new();
    folder.write("plan.toml", &format!("{SHORT}[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n"));
    for (flags, expected) in [
        ("--every 1s --for 1h", "more than the 2 s that the runs of a slot take"),
        ("--every 1h --for 1m", "as long as --every"),
        ("--every 1h --for soon", "--for is 'soon'"),
        ("--every 10s --for 366d", "at most 10000 are possible"),
        ("--every 1h", "--for"),
    ] {
        folder.slob(format!("campaign plan.toml {flags}")).refused(&[expected]);
    }
    assert!(!folder.at("c").exists());
}

#[test]
fn nothing_is_touched_by_a_plan_that_is_wrong() {
    let folder = Folder::new();
    let variant = "[[variant]]\nname = \"a\"\n";
    let plan = format!("{SHORT}{variant}");
    for (wrong, expected) in [
        (format!("sessions = [70000]\n{plan}"), "SCHEMAS is '70000' (plan.toml, a/all/70000x1)"),
        (format!("sessions = [\"300x300\"]\n{plan}"), "at most 65535 are possible"),
        (
            format!("{plan}settings = {{ WORK_UNITS = 3 }}\n"),
            "plan.toml, variant 'a': there is no parameter WORK_UNITS; did you mean WORK_UNIT?",
        ),
        (
            plan.replace("operations_per_s", "operation_per_s"),
            "no metric 'operation_per_s' (did you mean operations_per_s",
        ),
        (plan.replace("null:", "nothing:x"), "no engine of that name"),
    ] {
        carry_out(&folder, &wrong).refused(&[expected]);
    }
    assert!(!folder.at("c").exists());
}

#[test]
fn a_dry_run_lists_every_run_and_the_time_they_take() {
    let folder = Folder::new();
    let plan = format!("repeats = 30\nsessions = [1, 2]\n{SHORT}[[variant]]\nname = \"a\"\n");
    folder.write("plan.toml", &plan);
    let listing = folder.slob("campaign plan.toml --dry-run").success().stdout;
    assert_eq!(listing.lines().count(), 61);
    assert!(listing.contains("60 runs into c: at least 1 min 00 s"), "{listing}");
    assert!(!folder.at("c").exists());
}

/// A file system with other options is another variant of the same name.
#[test]
fn a_variant_whose_preparation_changed_is_prepared_and_measured_again() {
    let folder = Folder::new();
    let plan = |how: &str, after: &str| {
        format!(
            "repeats = 1\n{SHORT}[[variant]]\nname = \"a\"\nprepare = \"echo {how} >> log\"\nafter_run = \"{after}\"\n\
             [[variant]]\nname = \"b\"\n"
        )
    };
    let log = || folder.read("log");
    carry_out(&folder, &plan("xfs", "true")).success();
    assert_eq!((log().as_str(), attempts(&folder, "c").len()), ("xfs\n", 2));
    // What comes after a run changes nothing about it.
    folder.write("plan.toml", &plan("xfs", "sleep 0"));
    folder.slob("campaign plan.toml --amend").success();
    assert_eq!((log().as_str(), attempts(&folder, "c").len()), ("xfs\n", 2));
    folder.write("plan.toml", &plan("ext4", "true"));
    folder.slob("campaign plan.toml --amend").success();
    assert_eq!(log(), "xfs\next4\n");
    let state = state(&folder, "c").unwrap();
    assert_eq!(state["superseded"].as_array().unwrap().len(), 1, "{state:#}");
    assert_eq!(attempts(&folder, "c").len(), 2);
}

#[test]
fn the_hook_after_a_run_puts_things_back_when_the_run_was_stopped() {
    let folder = Folder::new();
    let long = SHORT.replace("RUN_TIME = 1", "RUN_TIME = 60");
    let variant = "[[variant]]\nname = \"a\"\nafter_run = \"sleep 1; touch back\"\n";
    folder.write("plan.toml", &format!("{long}{variant}"));
    let child = start(&folder);
    let is_under_way = || {
        let runs = std::fs::read_dir(folder.at("c")).into_iter().flatten().flatten();
        runs.into_iter().any(|run| run.file_name().to_string_lossy().ends_with(".partial"))
    };
    until(|| ensure(is_under_way(), || "no run is under way".to_owned()));
    signal(&child, Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(folder.at("back").exists(), "it was ended with the run");
}

fn all_models_have_their_figures(folder: &Folder) {
    folder.write(
        "plan.toml",
        "name = \"all\"\ndirectory = \"c\"\nsessions = [\"1x2\"]\nrepeats = 2\n\
         models = [\"read\", \"redo\", \"writes\", \"read-write\"]\nsettings = { RUN_TIME = 1, WARMUP = 0 }\n\
         [[model]]\nname = \"writes\"\nmetric = \"writes\"\nsettings = { UPDATE_PCT = 50 }\n\
         [[variant]]\nname = \"a\"\n",
    );
    folder.slob("campaign plan.toml").success();
    let json = folder.slob("analyze c --json").json();
    let tables = json["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 4, "{json}");
    for table in tables {
        assert_eq!(table["lacking"], serde_json::json!([]));
        for row in table["rows"].as_array().unwrap() {
            let means = row["cells"].as_array().unwrap().iter().map(|cell| cell["mean"].as_f64());
            assert!(row["overall"]["runs"] == 2 && means.into_iter().all(|mean| mean.is_some()), "{table}");
        }
    }
    // A window of a second is too short for every verdict to be good.
    for line in ["analyze c", "list --results-dir c", "campaign plan.toml"] {
        folder.slob(line).success();
        folder.slob(format!("{line} --strict")).exits(1);
    }
    let metrics = "analyze c --metric physical_reads_per_s,operation_p99_us --latency operation --json";
    let metrics = folder.slob(metrics).json()["tables"].as_array().unwrap().clone();
    assert_eq!((&metrics[0]["latency"], metrics.len()), (&"operation".into(), 8));
    folder.slob("analyze c --html -o c.html").success();
    let page = folder.read("c.html");
    (1..=4).for_each(|place| assert!(page.contains(&format!("data-chart=\"means-{place}\"")), "{place}"));
    folder.slob("analyze c --csv").prints(&["physical reads and writes per second (in blocks),a,Overall,2,"]);
}

#[test]
fn every_model_has_its_figures_on_the_embedded_engine() {
    all_models_have_their_figures(&Folder::loaded(1, "16M"));
}

/// PostgreSQL counts requests of reads but not of writes.
#[test]
fn every_model_has_its_figures_on_postgresql_18() {
    if !is_full() {
        return skipped("the embedded engine has its own; DRILLS=full makes it");
    }
    let Some(bench) = postgres(Version::V18, &[("shared_buffers", "16MB")]) else { return };
    bench.setup(1, "32M");
    all_models_have_their_figures(&bench.folder);
}

fn completed(folder: &Folder) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = attempts(folder, "c").into_iter().filter(|one| one["ended"]["how"] == "completed");
    all.map(|one| (text(&one["step"]), text(&one["run"]))).collect()
}

/// A run whose records are found damaged is BAD on any machine.
fn spoil(folder: &Folder, run: &str) {
    let path = format!("c/{run}/run.json");
    let mut record: Value = serde_json::from_str(&folder.read(&path)).unwrap();
    record["verification"] =
        serde_json::json!({ "rows": 100, "updated": 0, "faults": ["planted"], "unread": null });
    folder.write(&path, &record.to_string());
}

#[test]
fn a_bad_run_of_a_campaign_is_named_and_made_again() {
    let folder = Folder::new();
    let short = SHORT.replace("RUN_TIME = 1", "WORK_LOOP = 10");
    let plan = format!("{short}[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n");
    carry_out(&folder, &plan).success();
    let bad = completed(&folder)["b/all/1x1/2"].clone();
    spoil(&folder, &bad);
    let named = format!("(1 of 3 runs: {bad}): No: of 100 sampled rows");
    folder.slob("campaign plan.toml").success().says(&[&named, "of b/all/1x1 is BAD", "--retry-bad"]);
    let analysis = folder.slob("analyze c").success();
    let text = unwrapped(&analysis.stdout);
    assert_contains(&text, &["b can't be compared with a", &named, "--retry-bad"]);
    folder.slob("campaign plan.toml --retry-bad").says(&["to make again: ", "b/all/1x1/2"]);
    assert_ne!(completed(&folder)["b/all/1x1/2"], bad);
    assert!(folder.at("c").join(&bad).is_dir(), "the old run keeps its folder");
    assert!(!folder.slob("analyze c").success().stdout.contains("planted"));
    let ledger = folder.slob("ledger c").success().stdout;
    // The old run counts in no table, and is in the list.
    let ids = folder.slob("info c --columns id --csv").success().stdout;
    assert_eq!((ids.lines().count(), ids.lines().any(|id| id == bad)), (1 + 6, false), "{ids}");
    assert!(folder.slob("list --results-dir c").success().stdout.contains(&bad));
    assert!(ledger.contains("mean of 3 runs") && !ledger.contains("planted"), "{ledger}");
    folder.slob("campaign plan.toml --every 1h --for 2h --retry-bad").exits(2);
}

#[test]
fn a_run_whose_folder_is_gone_is_missing_and_made_again() {
    let folder = Folder::new();
    let short = SHORT.replace("RUN_TIME = 1", "WORK_LOOP = 10");
    carry_out(&folder, &format!("{short}[[variant]]\nname = \"a\"\n")).success();
    let gone = completed(&folder)["a/all/1x1/2"].clone();
    std::fs::rename(folder.at("c").join(&gone), folder.at("elsewhere")).unwrap();
    let missing = "runs that are no longer there: a/all/1x1/2";
    folder.slob("analyze c").fails(1, &[missing]);
    folder.slob("trend c").fails(1, &[missing]);
    folder.slob("campaign plan.toml").success().says(&[missing, "[3/3", "all 3 runs are done"]);
    assert!(folder.at("c").join(&completed(&folder)["a/all/1x1/2"]).is_dir());
    folder.slob("analyze c").success();
}
