//! Records that somebody edited.

use std::fs;

use serde_json::{Value, json};

use super::honest::sqlite;
use crate::common::Random;

/// What is edited, and how.
enum Edit {
    /// A number, by a share of it that is drawn by chance.
    Scaled(&'static str),
    /// A value becomes another one.
    Set(&'static str, fn() -> Value),
}

const EDITS: [Edit; 23] = [
    Edit::Scaled("/counters/physical_reads"),
    Edit::Scaled("/counters/logical_reads"),
    Edit::Scaled("/counters/redo_bytes"),
    Edit::Scaled("/counters/commits"),
    Edit::Scaled("/operations/select/operations"),
    Edit::Scaled("/operations/select/rows"),
    Edit::Scaled("/operations/update/latency/sum"),
    Edit::Scaled("/sessions/0/selects"),
    Edit::Scaled("/sessions/1/rows"),
    Edit::Scaled("/sessions/0/max_us"),
    Edit::Scaled("/window/seconds"),
    Edit::Scaled("/db_cpu/cpu/user_s"),
    Edit::Scaled("/client_cpu/user_s"),
    Edit::Scaled("/host/cpu/idle_s"),
    Edit::Scaled("/verification/rows"),
    Edit::Set("/server/direct_io", || json!(false)),
    Edit::Set("/status", || json!({"state": "interrupted"})),
    Edit::Set("/workload/update_pct", || json!(60)),
    Edit::Set("/host/info/hostname", || json!("elsewhere")),
    Edit::Set("/configuration/0/value", || json!("another")),
    Edit::Set("/server/version", || json!("99")),
    Edit::Set("/started", || json!("2020-01-01T00:00:00Z")),
    Edit::Set("/notes", || json!([])),
];

/// Makes each edit of a sound record, and has it checked.
pub(super) fn all_are_found(random: &mut Random) -> Result<(), String> {
    let folder = sqlite();
    folder.run_json("--run-time 3 --update-pct 25 --cache-mb 2");
    let file = folder.last_run().join("run.json");
    let sound = fs::read_to_string(&file).unwrap();
    // The record is its own witness.
    fs::remove_file(folder.last_run().join("report.txt")).unwrap();
    let record: Value = serde_json::from_str(&sound).unwrap();
    let mut missed = Vec::new();
    for edit in &EDITS {
        let mut edited = record.clone();
        let place = match edit {
            Edit::Scaled(place) | Edit::Set(place, _) => *place,
        };
        let Some(value) = edited.pointer_mut(place) else {
            // What this host or file system can't tell can't be edited either.
            continue;
        };
        *value = match edit {
            Edit::Scaled(_) => scaled(value, random),
            Edit::Set(_, to) => to(),
        };
        if record.pointer(place) == Some(value) {
            continue;
        }
        fs::write(&file, edited.to_string()).unwrap();
        if folder.slob("verify --run latest").code == 0 {
            missed.push(format!(
                "{place}: {} became {}",
                record.pointer(place).unwrap(),
                edited.pointer(place).unwrap()
            ));
        }
    }
    fs::write(&file, sound).unwrap();
    if folder.slob("verify --run latest").code != 0 {
        missed.push("the sound record is accused".into());
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

/// More by 20 to 70 %; times by half a second at least: of all CPUs together, two hundredths may be the rounding of ticks.
fn scaled(value: &Value, random: &mut Random) -> Value {
    let by = 1.2 + random.below(50) as f64 / 100.0;
    match value.as_u64() {
        Some(number) => json!((number as f64 * by).ceil() as u64),
        None => {
            let time = value.as_f64().unwrap();
            json!((time * by).max(time + 0.5))
        }
    }
}
