//! What a record counts, against what was planned.

use std::process::{Child, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::Called;

/// Flags of a run, and what of 100 operations are UPDATEs and scans by them; the rest is SELECTs.
pub(crate) const MIXES: &[(&[&str], u64, u64)] = &[
    (&["--update-pct", "0"], 0, 0),
    (&["--update-pct", "20", "--redo-stress", "HEAVY"], 20, 0),
    (&["--update-pct", "73"], 73, 0),
    (&["--update-pct", "100"], 100, 0),
    (&["--update-pct", "20", "--scan-pct", "25"], 20, 20),
    (&["--update-pct", "0", "--do-hotspot", "--hotspot-mb", "1", "--hotspot-offset-mb", "2"], 0, 0),
    (
        &[
            "--update-pct",
            "50",
            "--think-tm-frequency",
            "10",
            "--think-tm-min",
            "0.001",
            "--think-tm-max",
            "0.002",
        ],
        50,
        0,
    ),
];

pub(crate) fn ended(child: Child) -> Called {
    let begun = Instant::now();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "it went on");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Called { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
}

pub(crate) fn count(record: &Value, kind: &str) -> u64 {
    record["operations"][kind]["operations"].as_u64().unwrap_or(0)
}

pub(crate) fn rows(record: &Value, kind: &str) -> u64 {
    record["operations"][kind]["rows"].as_u64().unwrap_or(0)
}

/// Of so many hundreds of operations, each touches the blocks it should, and there are as many of each kind as planned.
pub(crate) fn assert_planned(record: &Value, hundreds: u64, (updates, scans): (u64, u64), flags: &[&str]) {
    let selects = 100 - updates - scans;
    for (kind, percent, blocks) in [("update", updates, 5), ("scan", scans, 64), ("select", selects, 5)] {
        let planned = hundreds * percent;
        assert_eq!((count(record, kind), rows(record, kind)), (planned, planned * blocks), "{flags:?}");
    }
}
