//! A host carries its own load: a run is profiled, and its headroom on the same data is 1 at least.

use slob_testing::postgres::Version;

use crate::alone;
use crate::common::{Folder, mariadb, postgres};

const RUN: &str =
    "-s 2 -t 2 --rate 60 --update-pct 25 --work-unit 16 --update-work-unit 2 --run-time 4 --warmup 1";
const HEADROOM: &str =
    "headroom run.json --calibration 3s --run-time 3 --warmup 1 --most 1 --count-cached --json";

fn assert_host_carries_its_own_load(folder: &Folder) {
    folder.run_json(RUN);
    folder.slob("profile latest -o run.json").success();
    let called = folder.slob(HEADROOM);
    let why = || format!("{}\n{}", called.stderr, called.stdout);
    assert_eq!(called.code, 0, "{}", why());
    let found: serde_json::Value = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(found["carries"], 1.0, "{}", why());
    // Three steps at 1x decided it, and the limits name their origin.
    let counted = found["steps"].as_array().unwrap().iter().filter(|step| step["not_counted"].is_null());
    assert_eq!(counted.filter(|step| step["factor"] == 1.0).count(), 3, "{}", why());
    let basis = &found["limits"][0]["basis"];
    assert!(basis["production_us"].is_number() && basis["low_load_us"].is_number(), "{}", why());
}

#[test]
fn a_host_carries_its_own_load_on_sqlite() {
    let _alone = alone();
    assert_host_carries_its_own_load(&Folder::loaded(2, "32M"));
}

#[test]
fn a_host_carries_its_own_load_on_postgresql() {
    let _alone = alone();
    let settings = [("shared_buffers", "8MB"), ("track_io_timing", "on")];
    let Some(bench) = postgres(Version::V15, &settings) else { return };
    bench.setup(2, "32M");
    assert_host_carries_its_own_load(&bench.folder);
}

#[test]
fn a_host_carries_its_own_load_on_mariadb() {
    let _alone = alone();
    let Some(bench) = mariadb(&["innodb-buffer-pool-size=24M", "performance-schema=ON"]) else { return };
    // Without this right the server's reads are not timed.
    bench.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
    bench.setup(2, "32M");
    assert_host_carries_its_own_load(&bench.folder);
}
