//! `slob saturate` on real engines. Reads come from a cache, so that the CPUs are the limit.

use crate::alone;
use crate::common::{Folder, is_full, postgres};
use slob_testing::postgres::Version;
use slob_testing::skipped;
use slob_testing::tries::{ensure, shown_within};

/// The knee may lie so far below the best rate, in percent.
const TOLERANCE: f64 = 20.0;

fn sweep(folder: &Folder) -> u64 {
    let rate = |threads: &str| {
        let record = folder.run_json(format!("-t {threads}"));
        let operations = record["operations"]["select"]["operations"].as_f64().unwrap();
        operations / record["window"]["seconds"].as_f64().unwrap()
    };
    let rates = ["1", "2", "4", "8"].map(rate);
    let best = rates.iter().copied().reduce(f64::max).unwrap();
    1 << rates.iter().position(|rate| *rate >= (1.0 - TOLERANCE / 100.0) * best).unwrap()
}

/// Other work on the machine moves the knee: hence the tries.
fn a_full_sweep_confirms_the_knee(folder: &Folder) {
    shown_within(5, || {
        let fixed = "saturate --max-sessions 8 --repeats 2 --json";
        let curve = folder.slob(format!("{fixed} --tolerance {TOLERANCE}")).json();
        let knee = curve["knee_sessions"].as_u64().unwrap();
        let points = curve["points"].as_array().unwrap();
        // The knee was measured again, and every point is an ordinary record.
        assert_eq!(points.iter().filter(|point| point["sessions"] == knee).count(), 2);
        for point in points {
            let run = folder.at("runs").join(point["run"].as_str().unwrap());
            assert!(run.join("run.json").is_file());
            let little = point["little_percent"].as_f64().unwrap();
            assert!((little - 100.0).abs() < 1.0, "{point}");
        }
        let swept = sweep(folder);
        ensure(knee <= 2 * swept && swept <= 2 * knee, || format!("a knee at {knee} sessions, swept {swept}"))
    });
}

#[test]
fn a_full_sweep_confirms_the_knee_of_postgresql_within_one_step() {
    if !is_full() {
        return skipped("a search and a sweep take half a minute; DRILLS=full makes them");
    }
    let _alone = alone();
    let Some(bench) = postgres(Version::V18, &[("shared_buffers", "64MB")]) else { return };
    bench.setup(1, "16M");
    let conf = format!("TARGET={}\nSCALE=16M\nUPDATE_PCT=0\nWARMUP=0\nRUN_TIME=1\n", bench.target);
    bench.folder.write("slob.conf", &conf);
    a_full_sweep_confirms_the_knee(&bench.folder);
}
