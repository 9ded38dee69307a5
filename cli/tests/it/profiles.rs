//! From a database to the test that is like it: `slob profile`, `slob plan`, `slob headroom`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, shown_within};

use crate::common::{
    Folder, Signal, assert_contains, awr_fixture, postgres, read_json, signal, unwrapped, wait_until,
};
use crate::exports::faults;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// `awr_info`'s columns, their names in a profile, and factors.
const COLUMNS: [(&str, &str, f64); 14] = [
    ("LIO", "logical_reads_per_s", 1.0),
    ("PREADS", "physical_read_requests_per_s", 1.0),
    ("READ_MBS", "all_read_bytes_per_s", 1_048_576.0),
    ("PWRITES", "physical_write_requests_per_s", 1.0),
    ("WRITE_MBS", "all_write_bytes_per_s", 1_048_576.0),
    ("REDO_MBS", "redo_bytes_per_s", 1_048_576.0),
    ("EXECUTES", "executions_per_s", 1.0),
    ("DB Tm", "db_time_per_s", 1.0),
    ("DB CPU", "db_cpu_per_s", 1.0),
    ("DFSR_LAT", "single_block_read_us", 1.0),
    ("DPR_LAT", "direct_read_us", 1.0),
    ("DFPR_LAT", "parallel_read_us", 1.0),
    ("DFPW_LAT", "block_write_us", 1.0),
    ("LFPW_LAT", "log_write_us", 1.0),
];

fn printed(number: f64) -> String {
    slob_awr::info::Value::Number(number).plain()
}

fn assert_equals_info(folder: &Folder, report: &str) -> bool {
    let info = folder.slob(format!("awr info --awr-info {report}")).success().stdout;
    let lines: Vec<Vec<&str>> = info.lines().map(|line| line.split('|').collect()).collect();
    let called = folder.slob(format!("profile --json {report}"));
    if called.code != 0 {
        // An unsound report is named, and no figure of it is anywhere.
        assert!(called.stderr.contains("left out"), "{}", called.stderr);
        return false;
    }
    let profile = json(&called.stdout);
    let profiles = profile.as_array().cloned().unwrap_or_else(|| vec![profile]);
    let intervals = profiles.iter().flat_map(|profile| profile["intervals"].as_array().unwrap());
    let mut seen = 0;
    for interval in intervals {
        let label = interval["source"].as_str().unwrap();
        let row = lines.iter().find(|row| row[0] == label).unwrap_or_else(|| panic!("{label} in {info}"));
        for (head, name, scale) in COLUMNS {
            let at = lines[0].iter().position(|own| *own == head).unwrap();
            let own = interval["figures"][name].as_f64().map(|value| printed(value / scale));
            assert_eq!(own.unwrap_or_default(), row[at], "{head} of {label}");
            seen += 1;
        }
    }
    assert!(seen >= COLUMNS.len());
    true
}

#[test]
fn a_profile_of_a_report_is_what_awr_info_prints_to_the_digit() {
    let folder = Folder::new();
    for report in ["awr_12201.txt", "compare.txt"] {
        assert!(assert_equals_info(&folder, &awr_fixture(report)), "{report}");
    }
    let Some(reports) = std::env::var_os("TEST_AWR_REPORTS") else { return };
    let files = fs::read_dir(PathBuf::from(reports)).unwrap().map(|entry| entry.unwrap().path());
    let reports =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "txt" || ending == "html"));
    let equal = reports.filter(|path| assert_equals_info(&folder, path.to_str().unwrap())).count();
    assert!(equal >= 5, "only {equal}");
}

#[test]
fn a_saved_profile_follows_its_schema_and_is_shown_and_compared_again() {
    let folder = Folder::new();
    let report = awr_fixture("awr_12201.txt");
    let text = folder.slob(format!("profile {report} --html page.html")).success().stdout;
    assert!(text.starts_with("Profile of "), "{text}");
    let saved = read_json(folder.at("profile.json"));
    let faults = faults("profile.schema.json", std::slice::from_ref(&saved)).unwrap_or_default();
    assert!(faults.iter().all(Vec::is_empty), "{faults:#?}");
    let subject = &saved["subject"];
    let known = ["cpus", "cache_bytes", "version", "working_set"].map(|fact| !subject[fact].is_null());
    assert!(known == [true; 4] && saved["summary"]["hit_percent"].is_number(), "{subject}");
    let why = subject["working_set"]["why"].as_str().unwrap();
    assert!(why.contains("buffer pool advisory") && subject["database_bytes"].is_null(), "{subject}");
    let is_of_data = |line: &str| line.starts_with("Data ") && line.ends_with("not known");
    assert!(text.contains(why) && text.lines().any(is_of_data), "{text}");
    assert_eq!(folder.slob("profile show").success().stdout, text);
    folder.slob("profile diff profile.json profile.json").prints(&["Cache", "Logical reads", "0.0"]);
    let page = folder.read("page.html");
    assert!(page.contains("over-time-redo_bytes_per_s-1") && page.contains("Content-Security-Policy"));
}

#[test]
fn what_is_no_profile_is_refused_and_nothing_of_somebody_elses_is_overwritten() {
    let folder = Folder::new();
    folder.write("profile.json", "{\"a\": 1}");
    folder.slob(format!("profile {}", awr_fixture("awr_12201.txt"))).refused(&["is there and is no profile"]);
    folder.slob("search --html profile.json").refused(&["profile.json"]);
    assert_eq!(folder.read("profile.json"), "{\"a\": 1}");
    folder.slob("plan profile.json").exits(2);
    folder.slob("profile").refused(&["say what to profile"]);
    folder.slob("profile --target null: -o x.json").refused(&["does not count what others do"]);
}

#[test]
fn the_same_interval_twice_counts_once() {
    let folder = Folder::new();
    let report = awr_fixture("awr_12201.txt");
    fs::copy(&report, folder.at("again.txt")).unwrap();
    let profile = folder.slob(format!("profile --json {report} again.txt")).json();
    assert_eq!(profile["intervals"].as_array().unwrap().len(), 1);
    assert!(profile["left_out"][0]["why"].as_str().unwrap().contains("is of the same interval"));
}

const HEADROOM: &str =
    "headroom run.json --calibration 2s --run-time 2 --warmup 0 --most 2 --repeats 1 --limit mean=10s --json";

/// A busy machine may miss the rate: repeats until no verdict is BAD.
fn profiled(folder: &Folder) {
    shown_within(5, || {
        folder.run_json("-s 2 --rate 40 --update-pct 20 --work-unit 16 --run-time 2");
        let shown = folder.slob("profile latest -o run.json").success().stdout;
        ensure(!shown.contains("is BAD"), || shown.clone())
    });
}

#[test]
fn headroom_is_found_and_goes_on_from_its_records() {
    let folder = Folder::loaded(2, "16M");
    profiled(&folder);
    let runs = || fs::read_dir(folder.at("headroom")).unwrap().count();
    // A busy machine may not make the demand.
    let (found, made) = shown_within(5, || {
        let _ = fs::remove_dir_all(folder.at("headroom"));
        let search = || {
            let called = folder.slob(HEADROOM);
            let carries = called.code == 0 && json(&called.stdout)["carries"] == 2.0;
            ensure(carries, || called.all()).map(|()| json(&called.stdout))
        };
        let (first, made) = (search()?, runs());
        assert!(first["steps"].as_array().unwrap().len() >= 2, "{first:#}");
        // A run whose folder is gone is made again.
        let lost = first["steps"][1]["run"].as_str().unwrap();
        fs::remove_dir_all(folder.at("headroom").join(lost)).unwrap();
        let found = search()?;
        ensure(runs() == made, || format!("{} runs, {made} before", runs())).map(|()| (found, made))
    });
    assert_eq!(found["steps"][0]["factor"], 1.0);
    assert_eq!(found["limits"][0]["name"], "mean=10s");
    // As after a kill: every run is there, none is made again, and the result is the same.
    let again = folder.slob(HEADROOM).json();
    assert_eq!((runs(), &again["carries"], &again["steps"]), (made, &found["carries"], &found["steps"]));
    // A price needs no new run, and an unreliable result has none.
    let priced = folder.slob(format!("{HEADROOM} --cost-per-hour '6 EUR'").replace("--json", "")).success();
    let said = unwrapped(&priced.stdout);
    let has_price = said.contains("Each time that it carries this demand takes");
    assert_eq!(has_price, !said.contains("can't be relied on"), "{said}");
    assert_eq!(runs(), made);
    folder.slob(format!("{HEADROOM} --grow 3")).refused(&["was begun for something else"]);
    let page = folder.read("headroom/headroom.html");
    // On a busy machine the window of the run was longer than two seconds.
    let head = page.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
    assert!(head.starts_with("Carries 2x your peak interval of 2") && head.contains(" s at least"), "{head}");
    assert!(page.contains("data-chart=\"rate\"") && page.contains("Bottleneck") == page.contains("Breaks"));
}

#[test]
fn a_run_that_missed_its_rate_is_no_demand_and_each_command_says_so() {
    let folder = Folder::loaded(1, "16M");
    folder.run_json("-s 1 --rate 100000 --update-pct 20 --work-unit 16 --run-time 1");
    let bad = "is BAD: No: the rate was not met";
    let profiled = folder.slob("profile latest -o run.json").success();
    assert!(unwrapped(&profiled.stdout).contains(bad), "{}", profiled.stdout);
    assert_eq!(folder.slob("profile show run.json").success().stdout, profiled.stdout);
    folder.write("empty.conf", "# no target\n");
    let plan = folder.slob("plan run.json --conf empty.conf --force").success();
    assert!(unwrapped(&plan.stdout.replace("\n#", "\n")).contains(bad), "{}", plan.stdout);
    let found = folder.slob(HEADROOM.replace(" --json", "")).exits(4);
    let words = unwrapped(&found.stdout);
    assert!(words.starts_with("Headroom is not known") && words.contains(bad), "{words}");
    assert!(words.contains("profile another run") && !words.contains("Carries"), "{words}");
    // There were tables without a row, or without a figure of this platform.
    assert!(!words.contains("Steps") && !words.contains("This platform"), "{words}");
    let made = fs::read_dir(folder.at("headroom")).into_iter().flatten().flatten();
    let runs: Vec<_> = made.filter(|entry| entry.path().join("run.json").exists()).collect();
    assert!(runs.is_empty() && !found.stderr.contains("this takes"), "{runs:?}");
    let replay = "headroom run.json --replay day --compress 1 --calibration 2s --warmup 0 --json";
    let replayed = folder.slob(replay);
    assert!([2, 4].contains(&replayed.code), "{}", replayed.all());
    // 'Nowhere was this platform slower than production' was said where nothing was replayed.
    let said = folder.slob(replay.replace(" --json", "")).all();
    assert!(!said.contains("Nowhere") && !said.contains("was replayed in"), "{said}");
}

#[test]
fn a_platform_that_does_not_carry_the_demand_ends_with_exit_code_1_and_says_what_broke() {
    let folder = Folder::loaded(2, "16M");
    // Many steps break the limit, in any window.
    let broken = HEADROOM.replace("mean=10s", "mean=1us").replace("--run-time 2", "--run-time 1");
    let broken = broken.replace(" --json", "");
    let said = &["Does not carry your peak interval of 2", "Breaks", "Bottleneck", "SQLite"];
    // A short run and its calibration may differ on a busy machine: the demand is then not made, and the answer is not known.
    shown_within(5, || {
        let _ = fs::remove_dir_all(folder.at("headroom"));
        profiled(&folder);
        let called = folder.slob(&broken);
        ensure(called.code != 4, || called.all())?;
        called.prints_and_exits(1, said).fails(1, &["this takes "]);
        Ok(())
    });
}

/// A later search in the folder took a run at twice the demand for one at half of it, by its name.
#[test]
fn another_limit_takes_only_runs_of_the_same_load() {
    let folder = Folder::loaded(2, "16M");
    profiled(&folder);
    let short = HEADROOM.replace("--run-time 2", "--run-time 1");
    let [first, second] =
        [short.clone(), short.replace("mean=10s", "mean=1us")].map(|line| folder.slob(line));
    assert_contains(&second.stderr, &["calibration-1: taken from", "step-1: taken from"]);
    let [first, second] = [first, second].map(|called| json(&called.stdout));
    let steps = second["steps"].as_array().unwrap();
    assert_eq!(steps[0]["run"], first["steps"][0]["run"]);
    // Half of an odd rate is a whole one, too.
    let is_lower = |step: &Value| (0.4..0.6).contains(&step["factor"].as_f64().unwrap());
    assert!(steps.iter().any(is_lower), "{second:#}");
    let rate = |step: &Value| step["rate"].as_f64().unwrap();
    for step in steps {
        let asked = rate(&steps[0]) * step["factor"].as_f64().unwrap();
        assert!((rate(step) - asked).abs() <= 1.0, "{step:#}");
    }
}

#[test]
fn an_interrupted_search_prints_what_it_knows() {
    let folder = Folder::loaded(2, "16M");
    profiled(&folder);
    let child = folder.start(HEADROOM.replace("--most 2", "--most 1000").replace(" --json", ""));
    wait_until("no step was made", || {
        let mut names = fs::read_dir(folder.at("headroom")).into_iter().flatten().flatten();
        names.any(|entry| entry.file_name().to_string_lossy().contains("step-2"))
    });
    signal(&child, Signal::INT);
    crate::common::ended(child).prints_and_exits(130, &["The search was interrupted"]);
    assert!(folder.at("headroom/headroom.html").is_file());
}

#[test]
fn calibrations_are_no_runs_of_the_user_and_parameters_that_a_plan_sets_are_refused() {
    let folder = Folder::loaded(2, "16M");
    profiled(&folder);
    let listed = folder.slob("list").success().stdout;
    folder
        .slob("plan run.json --target sqlite:./d --calibration 2s --warmup 0 --force -o plan.conf")
        .success();
    assert_eq!(folder.slob("list").success().stdout, listed);
    folder.slob("plan run.json --rate 5").exits(2);
    folder.slob("headroom run.json --target sqlite:./d --rate 5").exits(2);
    folder.write("empty.conf", "# no target\n");
    folder.slob("plan run.json --conf empty.conf --calibration 2s").refused(&["name one with --target"]);
    folder.slob("plan run.json --conf empty.conf --warmup 2").refused(&["--warmup is of runs on a target"]);
}

#[test]
fn a_plan_that_misses_a_figure_names_the_cause_and_is_written_by_force_alone() {
    let folder = Folder::new();
    folder.write("empty.conf", "# no target\n");
    let profile = |redo: u32| {
        format!(
            r#"{{"profile_version": 1, "source": "reports", "subject": {{"name": "PROD", "block_bytes": 8192}}, "intervals": [
            {{"source": "r", "begin": "2026-11-20T10:00:00", "seconds": 3600, "figures": {{"redo_bytes_per_s": {redo},
             "logical_reads_per_s": 97456, "physical_read_requests_per_s": 101.4, "commits_per_s": 20.63}}}}]}}"#
        )
    };
    folder.write("met.json", &profile(146_100));
    let sizes = ["1M", "4M", "16M"];
    let plans = sizes.map(|size| {
        let conf =
            folder.slob(format!("plan met.json --conf empty.conf --scan-table-sz {size}")).success().stdout;
        conf.lines().find(|line| line.starts_with("SCAN_PCT=")).unwrap().to_owned()
    });
    assert!(plans[0] != plans[1] && plans[1] != plans[2], "{plans:?}");
    folder.write("missed.json", &profile(1000));
    let missed = folder.slob("plan missed.json --conf empty.conf -o plan.conf");
    let missed = missed.fails(1, &["the plan misses redo by more than 5 %"]);
    let why = "redo: not met: 48 bytes for each commit are demanded, and an UPDATE of one block";
    assert_contains(&unwrapped(&missed.stdout), &[why]);
    assert!(!folder.at("plan.conf").exists());
    folder.slob("plan missed.json --conf empty.conf -o plan.conf --force").success();
    assert!(folder.read("plan.conf").contains("\nCOMMIT_EVERY=1\n"));
}

pub(crate) fn watch(folder: &Folder, target: &str, intervals: usize, end: Signal) -> Value {
    let mut child = folder.start(format!("profile --target {target} --every 1s --for 10m -o live.json"));
    let read = || fs::read_to_string(folder.at("live.json")).ok().map(|text| json(&text));
    let there = |profile: &Value| profile["intervals"].as_array().unwrap().len();
    wait_until("no interval was saved", || read().is_some_and(|profile| there(&profile) >= intervals));
    signal(&child, end);
    child.wait().unwrap();
    read().unwrap()
}

#[test]
fn a_live_server_is_read_only_watched_by_one_connection_and_a_kill_leaves_a_gap_that_is_shown() {
    let Some(bench) = postgres(Version::V18, &[]) else { return };
    bench.server.sql("CREATE ROLE watcher LOGIN CONNECTION LIMIT 1");
    bench.server.sql("ALTER ROLE watcher SET default_transaction_read_only = on");
    let target = bench.target.replace("plain@", "watcher@");
    let numbers = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    let before = bench.server.number(numbers);
    watch(&bench.folder, &target, 2, Signal::KILL);
    // The questions wrote nothing: no transaction got a number.
    assert_eq!(bench.server.number(numbers), before);
    std::thread::sleep(Duration::from_secs(4));
    bench.server.sql("CREATE TABLE t AS SELECT generate_series(1, 1000) AS n");
    let profile = watch(&bench.folder, &target, 4, Signal::INT);
    assert!(!profile["summary"]["gaps"].as_array().unwrap().is_empty(), "{profile:#}");
    let subject = &profile["subject"];
    let bytes = ["database_bytes", "cache_bytes"].map(|fact| subject[fact].as_u64().unwrap_or(0) > 1 << 20);
    assert!(bytes == [true; 2] && subject["working_set"].is_object(), "{subject}");
    let figures = &profile["intervals"][0]["figures"];
    assert!(figures["logical_reads_per_s"].is_number() && figures["db_time_per_s"].is_number(), "{figures}");
    let called = bench.folder.slob(format!("profile --target {} -o live.json", bench.target));
    called.refused(&["name another file"]);
}
