//! A disk that becomes slower between two runs, by a control group: the trend names the run.

use crate::alone;
use crate::common::{Folder, Throttle, is_full};
use slob_testing::evidence::shows;

/// The limit falls by 20 and 10 % after 24 of 48 runs.
#[test]
fn a_disk_that_becomes_slower_is_found_to_the_run() {
    if !is_full() {
        return;
    }
    let _alone = alone();
    for slower in [800, 900] {
        let folder = Folder::loaded(1, "64M");
        let measure = |reads_per_s| -> Result<(), String> {
            let throttle = Throttle::of_disk_below(folder.path(), reads_per_s)?;
            for _ in 0..24 {
                throttle.slob(&folder, "run --update-pct 0 --run-time 2 --warmup 0").success();
            }
            Ok(())
        };
        if let Err(why) = measure(1000).and_then(|()| measure(slower)) {
            return slob_testing::skipped(why);
        }
        let trend = folder.slob("trend --metric operations_per_s --json").json();
        let changes = trend.pointer("/histories/0/figures/0/found/known/changes").unwrap();
        let places: Vec<_> = changes.as_array().unwrap().iter().map(|change| change["at"].clone()).collect();
        assert_eq!(places, [24], "{trend:#}");
        let percent = changes[0]["percent"].as_f64().unwrap();
        let truth = f64::from(slower) / 1000.0;
        let error = (1.0 + percent / 100.0) / truth - 1.0;
        shows(
            &format!("a disk that slows from 1,000 to {slower} reads/s is found to the run"),
            format!("at run {}, {percent:.1} %", changes[0]["at"]),
        );
        assert!(error.abs() < 0.1, "{percent} % is not {truth} times as much");
    }
}
