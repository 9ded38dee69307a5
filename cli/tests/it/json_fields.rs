//! The fields of JSON answers: `docs/reference/json-fields.txt` lists those that scripts may rely on. A field once published stays.
//!
//! A new field is added to that file by SLOB_PUBLISH_FIELDS=yes.

use std::collections::BTreeSet;
use std::env;
use std::fs;

use serde_json::Value;

use crate::common::{Folder, SAVED, assert_contains, workspace};

const FILE: &str = "docs/reference/json-fields.txt";

/// Names in a list of figures or settings are data, not fields.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                fields(value, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| fields(value, &format!("{path}[]"), found)),
        Value::Null => {}
        Value::Bool(_) => drop(found.insert(format!("{path} flag"))),
        Value::Number(_) => drop(found.insert(format!("{path} number"))),
        Value::String(_) => drop(found.insert(format!("{path} text"))),
    }
}

/// Seventeen days of one run, so that there is a trend.
fn with_history() -> Folder {
    let folder = Folder::new();
    let record = fs::read_to_string(format!("{SAVED}/20261121T014620Z-thirty/run.json")).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    for day in 1..=17 {
        let id = format!("202611{day:02}T014620Z-thirty");
        record["id"] = id.as_str().into();
        record["started"] = format!("2026-11-{day:02}T01:46:20Z").into();
        let run = folder.at("runs").join(&id);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), record.to_string()).unwrap();
    }
    folder
}

#[test]
fn a_field_once_published_stays() {
    let folder = with_history();
    let saved = format!("{SAVED}/20261121T014616Z-ten {SAVED}/20261121T014620Z-thirty");
    let mut found = BTreeSet::new();
    for (command, line) in [
        ("list", "list --json".to_owned()),
        ("compare of two", format!("diff {saved} --json")),
        ("compare of variants", format!("analyze {SAVED} --json")),
        ("compare --platforms", format!("ledger {SAVED} --json")),
        ("gate", format!("gate {saved} --require physical --require iops>1 --json")),
        ("trend", "trend --json".to_owned()),
        ("conf", "conf --json".to_owned()),
    ] {
        let answer = folder.slob(line);
        let value: Value = serde_json::from_str(&answer.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {}", answer.all()));
        fields(&value, command, &mut found);
    }
    let file = workspace(FILE);
    let text =
        |fields: &BTreeSet<String>| fields.iter().map(|field| format!("{field}\n")).collect::<String>();
    if env::var_os("SLOB_PUBLISH_FIELDS").is_some() {
        fs::write(&file, text(&found)).unwrap();
    }
    let published: BTreeSet<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    let gone: Vec<&String> = published.difference(&found).collect();
    assert!(gone.is_empty(), "scripts rely on these fields: {gone:#?}");
    let new: Vec<&String> = found.difference(&published).collect();
    assert!(new.is_empty(), "SLOB_PUBLISH_FIELDS=yes adds these to {FILE}: {new:#?}");
}

#[test]
fn a_figure_of_a_bad_run_comes_with_the_verdict_it_rests_on() {
    let of = |run: &str| Folder::new().slob(format!("report {SAVED}/{run} --field figures.operations_per_s"));
    let bad = of("20261121T014717Z-hook").success();
    assert_contains(&bad.stderr, &["slob: Complete? is BAD: No: ", "; operations_per_s rests on it"]);
    assert!(!bad.stdout.contains("BAD"), "{}", bad.stdout);
    assert_eq!(of("20261121T014620Z-thirty").success().stderr, "");
}
