//! The commands that work on saved records: info, list, diff, show, and how runs are named.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::Value;

use crate::common::{Called, Folder, SAVED, assert_contains, read_json, unwrapped};

fn on_saved(line: impl AsRef<str>) -> Called {
    Folder::new().slob_with_env(line, &[("SLOB_RESULTS_DIR", SAVED)])
}

fn json(line: impl AsRef<str>) -> Value {
    on_saved(line).json()
}

#[test]
fn a_record_is_kept_in_a_folder_whose_name_is_no_utf_8() {
    let folder = Folder::new();
    let odd = folder.path().join(OsStr::from_bytes(b"stra\xdfe"));
    fs::create_dir(&odd).unwrap();
    let setup = "setup --target sqlite:./d --scale 4M 1";
    let run = "run --target sqlite:./d --run-time 1 --warmup 0";
    for line in [setup, run, "report"] {
        Called::from(folder.command(line).current_dir(&odd).output().unwrap()).success();
    }
}

fn with_a_damaged_one() -> Folder {
    let folder = Folder::new();
    for entry in fs::read_dir(SAVED).unwrap() {
        let from = entry.unwrap().path();
        let to = folder.at("runs").join(from.file_name().unwrap());
        fs::create_dir_all(&to).unwrap();
        fs::copy(from.join("run.json"), to.join("run.json")).unwrap();
    }
    fs::create_dir_all(folder.at("runs/20261121T020000Z-damaged")).unwrap();
    folder.write("runs/20261121T020000Z-damaged/run.json", "{\"record_version\":1,");
    folder
}

#[test]
fn info_is_awr_infos_table_where_it_is_piped() {
    insta::assert_snapshot!(on_saved("info").success().stdout);
}

#[test]
fn info_has_other_columns_and_forms() {
    let columns = "name,status,operations_per_s,operation_p99_us,device_read_await_us,steady";
    insta::assert_snapshot!(on_saved(format!("info --csv --columns {columns} ten hook")).success().stdout);
    insta::assert_snapshot!(on_saved(format!("info --json --columns {columns} latest")).success().stdout);
    on_saved("info --columns operation_p98").refused(&["did you mean operation_p9"]);
    on_saved("info --columns help").prints(&["physical_reads_per_s", "DFSR_LAT = single_read_mean_us"]);
}

#[test]
fn a_bad_record_never_stops_the_others() {
    let folder = with_a_damaged_one();
    let some = folder.slob("info");
    assert_eq!((some.code, some.stdout.lines().count()), (1, 5), "{}", some.stderr);
    assert!(some.stderr.contains("20261121T020000Z-damaged"), "{}", some.stderr);
    folder.slob("info damaged no-such-run").silently().refused(&["no run 'no-such-run'"]);
    folder.slob("info ten thirty").exits(0);
    folder.slob("list").exits(1);
    // A comparison without some of its runs would be another one.
    folder.slob("diff --first ten damaged --second thirty").silently().refused(&[]);
}

#[test]
fn folders_of_runs_are_all_their_runs() {
    // A run that two names lead to is one.
    let called = on_saved(format!("info --csv --columns name thirty {SAVED}")).success();
    assert_eq!(called.stdout, "name\nthirty\nten\nstopped\nhook\n");
    let empty = Folder::new();
    empty.slob("info").says(&["runs holds no runs"]);
    fs::create_dir(empty.path().join("void")).unwrap();
    empty.slob("info void").exits(2);
}

#[test]
fn list_shows_what_there_is_the_newest_last() {
    insta::assert_snapshot!(on_saved("list").success().stdout);
    let names = |filter: &str| {
        let listed = json(format!("list --json {filter}"));
        let names = listed.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(""), "ten thirty stopped hook");
    assert_eq!(names("--name t"), "ten thirty stopped");
    assert_eq!(names("--status failed"), "hook");
    assert_eq!(names("--target null"), "stopped hook");
    assert_eq!(names("--since 2026-11-21T01:46:20"), "thirty stopped hook");
    assert_eq!(names("--since 2026-11-22 --name ten"), "");
    assert_eq!(on_saved("list --since soon").code, 2);
    assert_eq!(on_saved("list --status fine").code, 2);
}

#[test]
fn diff_of_two_runs() {
    insta::assert_snapshot!(on_saved("diff ten thirty").success().stdout);
    let diff = json("diff ten thirty --json");
    assert_eq!(diff["first"]["runs"][0], "20261121T014616Z-ten");
    let changed: Vec<_> = diff["changes"].as_array().unwrap().iter().map(|change| &change["name"]).collect();
    assert_eq!(changed, ["SCAN_PCT", "UPDATE_PCT"]);
}

#[test]
fn diff_of_many_has_a_column_for_each_under_its_own_name() {
    let both = json("diff ten thirty ten --json");
    let names: Vec<_> = both["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    assert_eq!(names, ["ten", "thirty", "ten (3)"]);
    let listed = json("diff --group ten thirty --group thirty --group ten ten --json");
    assert_eq!(listed["groups"][0]["runs"].as_array().unwrap().len(), 2);
    let name = |at: usize| listed["groups"][at]["name"].as_str().unwrap();
    assert_eq!((name(0), name(1)), ("group 1", "thirty"));
    let text = on_saved("diff ten thirty ten").success().stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    on_saved("diff --group ten").refused(&["nothing to compare it with"]);
    on_saved("diff ten thirty nowhere").refused(&["nowhere"]);
}

#[test]
fn diff_of_groups_says_whether_it_is_more_than_noise() {
    on_saved("diff --first ten thirty --second ten thirty").prints(&[
        "Operations/s: no difference between first and second found: the noise is",
        "From 2 runs and 2 runs",
    ]);
    let wider = json(format!("diff {SAVED} {SAVED} --json --confidence 99"));
    let runs = wider["first"]["runs"].as_array().unwrap().len();
    assert_eq!((runs, &wider["confidence"]), (4, &Value::from(0.99)));
    assert_eq!(on_saved("diff ten thirty --confidence 100").code, 2);
    for incomplete in ["diff", "diff ten", "diff --first ten"] {
        assert_eq!(on_saved(incomplete).code, 2, "{incomplete:?}");
    }
}

#[test]
fn show_gives_the_record_and_its_fields() {
    let saved = Path::new(SAVED).join("20261121T014616Z-ten/run.json");
    let record: Value = read_json(saved);
    assert_eq!(json("show ten"), record);
    let field = |path: &str| on_saved(format!("show ten --field {path}")).success().stdout;
    assert_eq!(field("status.state"), "completed\n");
    assert_eq!(field("configuration.UPDATE_PCT.value"), "10\n");
    assert_eq!(field("host"), "null\n");
    assert_eq!(field("window.seconds").trim(), record["window"]["seconds"].to_string());
    insta::assert_snapshot!(field("operations.select.latency.p99_us"));
    on_saved("show ten --field counters.physical_read").silently().refused(&["there is physical_reads"]);
}

#[test]
fn runs_are_named_in_the_same_way_everywhere() {
    let id = |name: &str| on_saved(format!("show {name} --field id"));
    for (name, expected) in [
        ("latest", "20261121T014717Z-hook"),
        ("latest~1", "20261121T014623Z-stopped"),
        ("last", "20261121T014717Z-hook"),
        ("20261121T014623", "20261121T014623Z-stopped"),
        ("hirt", "20261121T014620Z-thirty"),
    ] {
        assert_eq!(id(name).success().stdout.trim(), expected, "{name}");
    }
    id("20261121T01462").refused(&["fits 2 runs"]);
    assert!(on_saved("report hirt --summary").success().stdout.contains("20261121T014620Z-thirty"));
    assert!(id("latest~9").stderr.contains("holds only 4 runs"));
    let by_path = on_saved(format!("show {SAVED}/20261121T014620Z-thirty/run.json --field name"));
    assert_eq!(by_path.success().stdout, "thirty\n");
}

#[test]
fn later_records_are_refused_in_a_sentence() {
    let folder = Folder::new();
    fs::create_dir_all(folder.at("runs/20991231T000000Z-later")).unwrap();
    folder.write("runs/20991231T000000Z-later/run.json", "{\"record_version\":99}");
    for command in ["report", "show", "info"] {
        folder.slob(format!("{command} later")).silently().refused(&["use a newer one"]);
    }
}

#[test]
fn a_record_with_a_hot_spot_and_think_time_verifies_and_reads_as_before() {
    let saved =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/record/tests/fixtures/hot/20261122T085909Z-hot");
    on_saved(format!("verify --run {saved}")).prints(&["agrees   operations within the window 6, by kind"]);
    let report = on_saved(format!("report {saved}")).success().stdout;
    let hot = "hot spot blocks 129 to 384 on every 3rd operation";
    assert_contains(&unwrapped(&report), &[hot, "think time 0.0005 to 0.02 s after every 11th"]);
}
