//! A host carries its own load: its headroom is 1 at least. A host that is throttled to half carries half.

use slob_testing::evidence::shows;
use slob_testing::postgres::Version;
use slob_testing::skipped;

use crate::alone;
use crate::common::{Folder, Throttle, is_full, mariadb, postgres};

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
    shows("a host carries the load of its own run", "1.0 times at least");
    let basis = &found["limits"][0]["basis"];
    assert!(basis["production_us"].is_number() && basis["low_load_us"].is_number(), "{}", why());
}

const SKIPPED: &str = "a search takes 40 s; DRILLS=full makes it";

#[test]
fn a_host_carries_its_own_load_on_sqlite() {
    if !is_full() {
        return skipped(SKIPPED);
    }
    let _alone = alone();
    assert_host_carries_its_own_load(&Folder::loaded(2, "32M"));
}

#[test]
fn a_host_carries_its_own_load_on_postgresql() {
    if !is_full() {
        return skipped(SKIPPED);
    }
    let _alone = alone();
    let settings = [("shared_buffers", "8MB"), ("track_io_timing", "on")];
    let Some(bench) = postgres(Version::V15, &settings) else { return };
    bench.setup(2, "32M");
    assert_host_carries_its_own_load(&bench.folder);
}

#[test]
fn a_host_carries_its_own_load_on_mariadb() {
    if !is_full() {
        return skipped(SKIPPED);
    }
    let _alone = alone();
    let Some(bench) = mariadb(&["innodb-buffer-pool-size=24M", "performance-schema=ON"]) else { return };
    // Without this right the server's reads are not timed.
    bench.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
    bench.setup(2, "32M");
    assert_host_carries_its_own_load(&bench.folder);
}

const READS: &str = r#"{ "profile_version": 1, "source": "live", "subject": { "name": "PROD" }, "intervals": [
    { "source": "live", "begin": "2026-11-20T10:00:00", "seconds": 60.0, "figures": { "physical_read_requests_per_s": 60.0 } } ] }"#;

/// The disk carries far more, so that the limit alone decides. Sessions of SQLite have caches of their own, which must be warm
/// soon.
#[test]
fn a_host_that_is_throttled_to_half_has_half_of_the_headroom() {
    if !is_full() {
        return skipped("two searches take a minute, on a busy machine three; DRILLS=full makes three pairs");
    }
    let _alone = alone();
    let folder = Folder::loaded(1, "16M");
    folder.write("reads.json", READS);
    let carried = |reads_per_s: u32, nth: usize| -> Result<f64, String> {
        let throttle = Throttle::of_disk_below(folder.path(), reads_per_s)?;
        let line = format!(
            "headroom reads.json --directory h{reads_per_s}-{nth} --calibration 3s --run-time 2 --warmup 1 --repeats 1 \
             --cache-mb 1 --max-sessions 4 --limit mean=10s --json"
        );
        let found = throttle.slob(&folder, &line).json();
        Ok(found["carries"].as_f64().unwrap())
    };
    let ratios =
        (0..3).map(|nth| Ok(carried(200, nth)? / carried(400, nth)?)).collect::<Result<Vec<f64>, String>>();
    let mut ratios = match ratios {
        Ok(ratios) => ratios,
        Err(why) => return skipped(why),
    };
    ratios.sort_by(f64::total_cmp);
    assert!((0.425..=0.575).contains(&ratios[1]), "{ratios:?}");
    shows("a disk throttled to half carries half", format!("{:.2} (median of three pairs)", ratios[1]));
}
