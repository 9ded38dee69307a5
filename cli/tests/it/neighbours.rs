//! Targets beside each other: measured, killed, resumed, with one that fails, refused, searched.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::browser::Browser;
use crate::campaign::{attempts, wait_for};
use crate::common::{Folder, kill, read_json};

/// Two loaded targets, and one without data.
const PLAN: &str = r#"
name = "disk"
directory = "c"
repeats = 1
retries = 0
settings = { RUN_TIME = 1, WARMUP = 0 }
[[neighbour]]
name = "shop"
target = "sqlite:./a"
# Commits that wait would make its run late.
settings = { UPDATE_PCT = "0" }
[[neighbour]]
name = "audit"
target = "sqlite:./b"
settings = { THREADS_PER_SCHEMA = 2, UPDATE_PCT = 0 }
[[neighbour]]
name = "empty"
target = "sqlite:./none"
"#;

fn loaded() -> Folder {
    let folder = Folder::new();
    for target in ["a", "b"] {
        std::fs::create_dir(folder.at(target)).unwrap();
        folder.slob(format!("setup --target sqlite:./{target} --scale 16M 1")).success();
    }
    std::fs::create_dir(folder.at("none")).unwrap();
    folder
}

/// Killed in the middle too.
#[test]
fn a_target_that_fails_leaves_a_hole_and_the_others_are_measured_beside_each_other() {
    let folder = loaded();
    folder.write("plan.toml", PLAN);
    let child = folder.start("campaign plan.toml");
    wait_for(&folder, 2);
    kill(child);
    let before = attempts(&folder, "c");
    let called = folder.slob("campaign plan.toml").fails(3, &["failed as often as the plan allows"]);
    assert!(called.stdout.contains("fairness of shop, audit together"), "{}", called.all());
    assert_eq!(attempts(&folder, "c")[..before.len()], before[..]);
    let mut measured: BTreeMap<(String, String), Value> = BTreeMap::new();
    for entry in std::fs::read_dir(folder.at("c")).unwrap() {
        let path = entry.unwrap().path().join("run.json");
        let Some(record) = path.is_file().then(|| read_json(&path)) else { continue };
        if record["status"]["state"] == "completed" {
            let part = |key: &str| record["together"][key].as_str().unwrap().to_owned();
            measured.insert((part("step"), part("name")), record);
        }
    }
    let run = |company: &str, name: &str| {
        let key = (format!("free-{company}-r1"), name.to_owned());
        measured.get(&key).unwrap_or_else(|| panic!("no run {key:?}: {:?}", measured.keys()))
    };
    assert_eq!(run("shop", "shop")["together"]["neighbours"], serde_json::json!([]));
    run("audit", "audit");
    // The third one is missing.
    assert_eq!(run("all", "shop")["together"]["neighbours"].as_array().unwrap().len(), 1);
    let (shop, audit) = (run("shop.audit", "shop"), run("shop.audit", "audit"));
    let of_shop = &shop["together"]["neighbours"][0];
    assert_eq!((&of_shop["run"], &of_shop["target"]), (&audit["id"], &"sqlite:./b".into()));
    assert_eq!(shop["together"]["start"], audit["together"]["start"]);
    assert!(of_shop["used"]["read_bytes"].is_u64(), "{of_shop}");
    // Each process knows its own use alone.
    assert_ne!(shop["client_cpu"], audit["client_cpu"]);
    let moment = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    for record in [shop, audit] {
        assert!(moment(&record["started"]) >= moment(&record["together"]["start"]));
    }
    let json: Value = serde_json::from_str(&folder.slob("analyze c --json").exits(1).stdout).unwrap();
    let cells = json["variants"][0]["cells"].as_array().unwrap();
    let cell = |of: &str, beside: &[&str]| {
        let is_it = |cell: &&Value| {
            cell["figure"] == "operations_per_s"
                && cell["of"] == of
                && cell["beside"] == serde_json::json!(beside)
        };
        cells.iter().find(is_it).unwrap_or_else(|| panic!("no cell of {of}: {json}"))
    };
    let beside_audit = cell("shop", &["audit"]);
    assert!(beside_audit["hole"].is_null() && beside_audit["mean"].is_f64(), "{json}");
    assert!(cell("shop", &["empty"])["hole"].as_str().unwrap().contains("empty: "), "{json}");
    folder.slob("analyze c").prints_and_exits(1, &["beside audit", "beside all others", "Hole: free, "]);
    assert!(folder.read("c/neighbours.html").contains("data-chart=\"kept\""));
    folder.slob("analyze c --metric reads").refused(&["c is a campaign of neighbours"]);
    let Some(mut browser) = Browser::start_or_skip() else { return };
    for width in [1280, 400] {
        browser.view(width, 900, false);
        browser.open(&folder.at("c/neighbours.html"));
        assert_eq!(browser.value("document.documentElement.scrollWidth"), width, "sideways");
        let cells = browser.value("document.body.textContent.includes('hole: no run')");
        assert_eq!(cells, true, "a hole says why");
    }
}

#[test]
fn plans_of_neighbours_that_make_no_sense_are_refused_before_anything_is_touched() {
    let folder = Folder::new();
    let refused = |plan: &str, words: &[&str]| {
        folder.write("plan.toml", plan);
        folder.slob("campaign plan.toml").refused(words);
        assert!(!folder.at("c").exists());
    };
    refused(
        &PLAN.replace("./b", "./a"),
        &["neighbours 'shop' and 'audit' have the same schemas", "give each its own data"],
    );
    refused(
        &PLAN[..PLAN.find("[[neighbour]]\nname = \"audit\"").unwrap()],
        &["has 1 [[neighbour]]; there must be 2 to 8"],
    );
    refused(
        &PLAN.replace("UPDATE_PCT = 0", "RUN_TIME = 2"),
        &["'shop' and 'audit' differ in RUN_TIME or WARMUP"],
    );
    refused(
        &PLAN.replace("UPDATE_PCT = 0", "WARMUP = \"auto\""),
        &["could not agree on the begin of their windows with WARMUP=auto"],
    );
    refused(&PLAN.replace("UPDATE_PCT = 0", "WORK_LOOP = 10"), &["neighbour 'audit' has WORK_LOOP"]);
    refused(&format!("sessions = [1]\n{PLAN}"), &["`sessions` and `[[neighbour]]` contradict each other"]);
    refused(&format!("together = [[\"shop\", \"bar\"]]\n{PLAN}"), &["there is no neighbour 'bar'"]);
    refused(&PLAN.replace("\"audit\"", "\"shop\""), &["two neighbours called 'shop'"]);
    refused("together = [[\"a\", \"b\"]]\n[[variant]]\nname = \"v\"\n", &["write [[neighbour]] for each"]);
}

/// A limit that nothing keeps is broken by the least load, though the aggressor keeps its rate.
#[test]
fn a_search_beside_a_victim_ends_at_the_victims_limit() {
    let folder = loaded();
    let flags = "--target sqlite:./a --by rate -t 1 --warmup 0 --run-time 1 --repeats 1";
    folder.write("victim.conf", "TARGET=sqlite:./b\nRATE=50\nUPDATE_PCT=0\n");
    let curve = folder.slob(format!("saturate {flags} --beside victim.conf --limit p50=1us --json")).json();
    assert!(curve["knee_rate_per_s"].is_null(), "{curve}");
    let points = curve["points"].as_array().unwrap();
    assert!(points.len() == 2 && points[1]["over_limit"] == true, "{curve}");
    folder.write("victim.conf", "TARGET=sqlite:./a\n");
    folder.slob(format!("saturate {flags} --beside victim.conf")).refused(&["have the same schemas"]);
}
