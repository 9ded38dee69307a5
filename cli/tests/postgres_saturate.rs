//! `slob saturate` on a real PostgreSQL server, started here: the knee, and what a full sweep says of it.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/sweep.rs"]
mod sweep;

use common::Folder;
use serde_json::Value;
use slob_testing::postgres::{Cluster, Version};
use sweep::sweep;

/// Reads from the server's own cache, so that the CPUs are the limit. Other work on the machine moves the knee while it is
/// looked for, so some tries may be needed; a search that finds nothing sensible fails all of them.
#[test]
fn a_full_sweep_confirms_the_knee_within_one_step() {
    let Some(cluster) = Cluster::start_or_skip(Version::V18, &[("shared_buffers", "64MB")]) else {
        return;
    };
    cluster.sql("CREATE ROLE plain LOGIN; GRANT pg_read_all_settings TO plain");
    cluster.sql("CREATE DATABASE slob OWNER plain");
    let target = format!("postgres://plain@127.0.0.1:{}/slob", cluster.port());
    let folder = Folder::new();
    folder.slob(["setup", "--target", &target, "--scale", "16M", "--scan-table-sz", "64", "1"]).success();
    let conf = format!("TARGET={target}\nSCALE=16M\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=2\n");
    folder.write("slob.conf", &conf);
    let confirmed = |_: &i32| {
        let arguments = ["saturate", "--max-sessions", "8", "--tolerance", "20", "--repeats", "2", "--json"];
        let curve: Value = serde_json::from_str(&folder.slob(arguments).success().stdout).unwrap();
        let knee = curve["knee_sessions"].as_u64().unwrap();
        for point in curve["points"].as_array().unwrap() {
            let little = point["little_percent"].as_f64().unwrap();
            assert!(little > 0.0 && little < 110.0, "{point}");
        }
        let swept = sweep(&folder);
        knee <= 2 * swept && swept <= 2 * knee
    };
    assert!((0..5).any(|attempt| confirmed(&attempt)));
}
