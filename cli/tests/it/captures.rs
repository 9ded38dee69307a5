//! `slob selftest --capture` and `--replay`: a server's answers, and the figures made of them without the server.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;
use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::MariaDb;

use crate::common::{Folder, assert_contains};
use crate::drills::secrets::{PASSWORD, contains, locked};
use crate::selftest::passes;

fn unpacked(file: &Path) -> Vec<(String, String)> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(file).unwrap()));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (name, text)
    });
    entries.collect()
}

fn data(files: &[(String, String)]) -> Value {
    let (_, text) = files.iter().find(|(name, _)| name == "capture.json").unwrap();
    serde_json::from_str(text).unwrap()
}

fn assert_replayed(folder: &Folder, scheme: &str, views: &[&str]) {
    let files = unpacked(&folder.at("c.tar.gz"));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["README.txt", "report.md", "capture.json"]);
    let data = data(&files);
    assert_eq!(data["engine"], scheme);
    let moments = data["moments"].as_array().unwrap();
    let named: Vec<_> = moments.iter().map(|moment| moment["moment"].as_str().unwrap()).collect();
    assert_eq!(named, ["before all", "before the run", "after the run"]);
    for moment in moments {
        assert!(moment["server"]["settings"].as_array().unwrap().len() > 10, "{moment}");
        for view in views {
            let said = moment["said"].as_array().unwrap().iter().find(|said| said["name"] == *view);
            let said = said.unwrap_or_else(|| panic!("{view} is not there"));
            assert!(!said["rows"].as_array().unwrap().is_empty(), "{said}");
            assert!(said["took_us"].as_u64().is_some() && said["fault"].is_null(), "{said}");
        }
    }
    let plans = moments[1]["said"].as_array().unwrap().iter();
    assert_eq!(plans.filter(|said| said["name"].as_str().unwrap().starts_with("plan of")).count(), 4);
    let calls = data["calls"].as_array().unwrap();
    let executed = |call: &&Value| call[1].as_str().is_some_and(|call| call.contains("executes"));
    assert!(calls.iter().filter(executed).count() > 10, "{}", calls.len());
    assert!(calls.iter().any(|call| !call[3].is_null()), "the suite makes errors, and they are told");
    // Without the server, and as it was.
    let replayed = folder.slob("selftest --replay c.tar.gz").success();
    let same = replayed.stdout.matches("All figures are as they were then.");
    assert_eq!(same.count(), 3, "{}", replayed.stdout);
    for counter in ["commits", "redo_bytes", "physical_writes"] {
        let line = replayed.stdout.lines().find(|line| line.starts_with(&format!("| {counter} |")));
        let cells: Vec<_> = line.unwrap().trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells[1] == cells[2] && cells[1].parse::<u64>().is_ok(), "{cells:?}");
    }
}

/// The password enters by the address and by the environment, and must come out nowhere.
#[test]
fn what_a_server_said_is_replayed_without_it_and_holds_no_password() {
    let Some(locked) = locked() else { return };
    let folder = &locked.folder;
    let target = locked.target().replace("plain@127.0.0.1", &format!("plain:{PASSWORD}@127.0.0.1"));
    let environment = [("SLOB_TARGET", target.as_str()), ("PGPASSWORD", PASSWORD)];
    passes(|| folder.slob_with_env("selftest --capture c.tar.gz", &environment));
    assert_replayed(folder, "postgres", &["version", "settings", "counters", "pg_stat_database"]);
    for (name, text) in unpacked(&folder.at("c.tar.gz")) {
        assert!(!contains(text.as_bytes()), "{name} holds the password");
    }
    // Columns of our rows have 128 characters; no view's own text is that long without a blank.
    let long = |value: &Value| value.as_str().is_some_and(|text| text.len() >= 120 && !text.contains(' '));
    for moment in data(&unpacked(&folder.at("c.tar.gz")))["moments"].as_array().unwrap() {
        for said in moment["said"].as_array().unwrap() {
            let values = said["rows"].as_array().unwrap().iter().filter_map(Value::as_array).flatten();
            assert_eq!(values.filter(|value| long(value)).count(), 0, "{said}");
        }
    }
    let replayed = folder.slob("selftest --replay c.tar.gz");
    assert!(!contains(replayed.stdout.as_bytes()));
}

#[test]
fn so_it_is_with_the_other_products() {
    let Some(server) = MariaDb::start_or_skip(&[]) else { return };
    let folder = Folder::new();
    passes(|| folder.slob(format!("selftest --target {} --capture c.tar.gz", server.plain_target())));
    assert_replayed(&folder, "mysql", &["version", "settings", "status"]);
}

#[test]
fn what_is_counted_here_has_nothing_to_replay_and_a_capture_all_the_same() {
    let folder = Folder::new();
    passes(|| folder.slob("selftest --target null: --capture c.tgz"));
    let data = data(&unpacked(&folder.at("c.tgz")));
    assert!(data["moments"][2]["figures"]["counters"]["commits"].as_u64().is_some(), "{data}");
    folder.slob("selftest --replay c.tgz").prints(&["nothing to make again"]);
}

/// The first contact may be the last one. The host's name must not be in the capture.
#[test]
fn a_target_that_does_not_open_leaves_a_capture_that_says_why() {
    let folder = Folder::new();
    let target = "postgres://u@no-such-host.invalid/d";
    folder.slob(format!("selftest --target {target} --capture c.tar.gz")).refused(&["no-such-host.invalid"]);
    let files = unpacked(&folder.at("c.tar.gz"));
    let error = data(&files)["moments"][0]["server_error"].as_str().unwrap().to_owned();
    assert!(error.contains("host-1"), "{error}");
    assert!(files.iter().all(|(_, text)| !text.contains("no-such-host")), "{files:?}");
    assert_contains(&folder.slob("selftest --replay c.tar.gz").stdout, &["- then: ", "host-1"]);
    folder.slob(format!("selftest --target {target} --with-names --capture c.tar.gz")).exits(2);
    let files = unpacked(&folder.at("c.tar.gz"));
    assert!(data(&files)["moments"][0]["server_error"].as_str().unwrap().contains("no-such-host.invalid"));
}

#[test]
fn a_mapping_that_makes_other_figures_is_told() {
    let folder = Folder::new();
    let capture = r#"{"format": 1, "engine": "postgres", "slob": "0.1.0", "moments": [{"moment": "then",
        "figures": {"counters": {"commits": 8, "redo_bytes": 5}, "latencies": {"latencies": {}}, "events": []},
        "said": [{"name": "counters", "columns": ["commits", "redo_bytes"], "rows": [["7", null]]}]}]}"#;
    pack(&folder.at("c.tar.gz"), "capture.json", capture);
    folder.slob("selftest --replay c.tar.gz").prints_and_exits(
        1,
        &["| commits | 7 | 8 |", "| redo_bytes | absent | 5 |", "not what they were then"],
    );
}

fn pack(file: &Path, name: &str, text: &str) {
    let gz = flate2::write::GzEncoder::new(fs::File::create(file).unwrap(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gz);
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    archive.into_inner().unwrap().finish().unwrap();
}

#[test]
fn what_is_no_capture_is_refused_with_a_sentence() {
    let folder = Folder::new();
    folder.write("text.tar.gz", "nonsense");
    pack(&folder.at("other.tar.gz"), "other.json", "{}");
    pack(&folder.at("damaged.tar.gz"), "capture.json", "{\"format\": 1, ");
    pack(&folder.at("newer.tar.gz"), "capture.json", "{\"format\": 2}");
    pack(&folder.at("unknown.tar.gz"), "capture.json", "{\"format\": 1, \"engine\": \"db9\"}");
    for (file, words) in [
        ("none.tar.gz", "No such file"),
        ("text.tar.gz", "not a capture"),
        ("other.tar.gz", "no capture.json"),
        ("damaged.tar.gz", "capture.json: "),
        ("newer.tar.gz", "format"),
        ("unknown.tar.gz", "no engine 'db9'"),
    ] {
        folder.slob(format!("selftest --replay {file}")).silently().refused(&[words, file]);
    }
    for file in ["c.zip", "no/such/folder/c.tar.gz"] {
        folder.slob(format!("selftest --target null: --capture {file}")).silently().refused(&["--capture"]);
    }
}
