//! Folders of campaigns, marks of runs and saved probes.

use std::fs;

use jiff::Timestamp;
use serde_json::{Value, json};
use slob_campaign::{Campaign, Folder, Plan, Store};
use slob_host::{Device, ProbePlan, ProbeResult};
use slob_page::Answer;
use slob_record::{RunDirectory, SavedProbe, latest_probe, save_probe};
use slob_report::ProbeAnswer;
use slob_spec::Settings;

use super::conf::table;
use super::damage::{self, Random};
use super::each;

const STEP: &str = "a/read/1x1/1";

fn damaged(original: &Value, random: &mut Random) -> Vec<u8> {
    if random.one_in(3) {
        damage::bytes(&serde_json::to_vec_pretty(original).unwrap(), damage::JSON, random)
    } else {
        serde_json::to_vec(&damage::json(original, random)).unwrap()
    }
}

fn state() -> Value {
    let attempt = json!({"step": STEP, "cell": "a/read/1x1", "run": "20261121T014616Z-a", "ended": {"how": "failed", "error": "x"},
        "began": "2026-11-21T01:46:16Z", "seconds": 3.5});
    json!({"version": 1, "prepared": ["a"], "attempts": [attempt.clone(), attempt], "superseded": [],
        "running": {"step": STEP, "run_name": "a-read-1x1-r1", "since": "2026-11-21T01:46:16Z"},
        "hook_failures": [{"variant": "a", "hook": "bounce", "error": "x", "at": "2026-11-21T01:46:16Z"}]})
}

#[test]
fn damaged_campaigns_do_no_harm() {
    let table = table();
    let base = Settings::resolve(&table, None, &[], &[]).unwrap().settings;
    let plan = "sessions = [1, 2]\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let campaign = Campaign::build(Plan::parse("plan.toml", plan).unwrap(), &base, &table).unwrap();
    let (good, state) = (serde_json::to_value(&campaign.schedule).unwrap(), state());
    let folder = tempfile::tempdir().unwrap();
    // A run that the state does not know is searched when a step was under way.
    let run = folder.path().join("20261121T014616Z-unnoted");
    let record = include_str!("../../../../crates/record/tests/fixtures/v1/20261121T014717Z-hook/run.json");
    let name = r#""name":"hook""#;
    assert!(record.contains(name));
    fs::create_dir(&run).unwrap();
    fs::write(run.join("run.json"), record.replacen(name, r#""name":"a-read-1x1-r1""#, 1)).unwrap();
    each("campaign.json and state.json", 100, 64, |random| {
        let (mut schedule_text, mut state_text) =
            (serde_json::to_vec(&good).unwrap(), serde_json::to_vec(&state).unwrap());
        match random.index(3) {
            0 => schedule_text = damaged(&good, random),
            1 => state_text = damaged(&state, random),
            _ => (schedule_text, state_text) = (damaged(&good, random), damaged(&state, random)),
        }
        fs::write(folder.path().join("campaign.json"), schedule_text).unwrap();
        fs::write(folder.path().join("state.json"), state_text).unwrap();
        if let Ok(Some(Folder { schedule, state, .. })) = Folder::read(folder.path()) {
            for step in schedule.steps.iter().take(10) {
                let _ = (state.completed_run(step), step.run_name());
            }
        }
        if let Err(error) = Store::open(folder.path(), &campaign.schedule, random.one_in(2)) {
            assert!(!error.to_string().is_empty());
        }
    });
}

#[test]
fn damaged_marks_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(folder.path(), Timestamp::UNIX_EPOCH, "a").unwrap();
    let line = |at: &str| format!("{{\"at\":\"{at}\",\"text\":\"rebalance begins\"}}\n");
    let good =
        line("2026-11-21T01:46:16Z") + &line("-009999-01-02T01:59:59Z") + &line("9999-12-30T22:00:00Z");
    let times = [Timestamp::UNIX_EPOCH, Timestamp::MIN, Timestamp::MAX];
    each("marks", 1_000, 8, |random| {
        fs::write(run.path().join("marks"), damage::bytes(good.as_bytes(), damage::JSON, random)).unwrap();
        let (marks, _) = run.marks(*random.of_these(&times));
        assert!(marks.iter().all(|mark| mark.at_s.is_finite()));
    });
}

#[test]
fn damaged_probes_do_no_harm() {
    let device = r#"{"path":"/data/x","file_system":"xfs","mount_point":"/data","mount_source":"/dev/sda1",
        "mount_options":[],"top":null,"stack":["sda1","sda"],"disks":[],"note":null}"#;
    let device: Device = serde_json::from_str(device).unwrap();
    let step = json!({"kind": "sync_read", "sessions_or_depth": 1, "interface": null, "error": null, "note": null,
        "figures": null});
    let result = ProbeResult {
        plan: ProbePlan::new("/data"),
        steps: Vec::new(),
        until_cliff: None,
        limits: None,
        interrupted: false,
    };
    let taken = Timestamp::UNIX_EPOCH;
    let good = SavedProbe { taken, host: "h".into(), device: Some(device.clone()), result };
    let folder = tempfile::tempdir().unwrap();
    let path = save_probe(folder.path(), &good).unwrap();
    let mut json = serde_json::to_value(&good).unwrap();
    json["result"]["steps"] = json!([step.clone(), step]);
    each("probes", 300, 16, |random| {
        fs::write(&path, damaged(&json, random)).unwrap();
        if let Some(probe) = latest_probe(folder.path(), "h", &device, 8192) {
            assert!(!ProbeAnswer(&probe).text(None).is_empty());
        }
    });
}
