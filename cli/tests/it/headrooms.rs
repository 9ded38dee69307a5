//! Variants compared by headroom: a campaign of searches.

use std::fs;

use crate::common::Folder;

const PLAN: &str = r#"
directory = "c"
repeats = 2
demand = { profile = "run.json", calibration = "2s", limits = ["mean=10s"], most = 1, repeats = 1, count_cached = true }
settings = { RUN_TIME = 2, WARMUP = 0 }
[[variant]]
name = "direct"
[[variant]]
name = "buffered"
settings = { BUFFERED = true }
"#;

#[test]
fn a_campaign_of_searches_goes_on_from_its_records_and_compares_its_variants() {
    let folder = Folder::loaded(2, "16M");
    folder.write("plan.toml", PLAN);
    let campaign = ["campaign", "plan.toml"];
    let without = folder.slob(campaign);
    assert!(without.code == 2 && without.stderr.contains("plan.toml, demand: "), "{}", without.stderr);
    assert!(!folder.path().join("c").exists());
    let run = ["-s", "2", "--rate", "40", "--update-pct", "20", "--work-unit", "16", "--run-time", "2"];
    folder.run_json(&run);
    folder.slob(["profile", "latest", "-o", "run.json"]).success();
    let first = folder.slob(campaign).success().stdout;
    assert!(first.contains("Headroom compared") && first.contains("direct and buffered"), "{first}");
    assert_eq!(folder.slob(["analyze", "c"]).success().stdout, first);
    // As after a kill: what is not noted is asked for again, and found in the records that are there.
    let runs = || fs::read_dir(folder.path().join("c/buffered-headroom-r2")).unwrap().count();
    let made = runs();
    assert!(made > 4, "{made}");
    let state = folder.path().join("c/state.json");
    let mut told: serde_json::Value = serde_json::from_str(&fs::read_to_string(&state).unwrap()).unwrap();
    told["attempts"].as_array_mut().unwrap().retain(|attempt| attempt["step"] != "buffered/headroom/2");
    fs::write(&state, told.to_string()).unwrap();
    assert_eq!(folder.slob(campaign).success().stdout, first);
    assert_eq!(runs(), made);
    folder.write(
        "plan.toml",
        &PLAN.replace("repeats = 2", "repeats = 2\nseed = 3").replace("RUN_TIME = 2", "RUN_TIME = 3"),
    );
    let other = folder.slob(campaign.into_iter().chain(["--amend"]));
    assert!(other.code == 2 && other.stderr.contains("Name another directory"), "{}", other.stderr);
}
