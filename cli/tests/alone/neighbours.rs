//! Neighbours on a disk whose shares are known beforehand: a control group of the kernel is the disk.

use serde_json::Value;

use crate::alone;
use crate::common::{Folder, Throttle, is_full};
use slob_testing::evidence::shows;
use slob_testing::skipped;

/// The disk serves its queue in order, so that the shares of closed loops are those of their sessions: 4 of 16.
const PLAN: &str = r#"
directory = "c"
settings = { RUN_TIME = 4, WARMUP = 1, UPDATE_PCT = 0, WORK_UNIT = 8, CACHE_MB = 1 }
neighbour = [
  { name = "shop", target = "sqlite:./shop", settings = { THREADS_PER_SCHEMA = 4, EXTERNAL_SCRIPT = "./shop.sh" } },
  { name = "report", target = "sqlite:./report", settings = { THREADS_PER_SCHEMA = 12, EXTERNAL_SCRIPT = "./report.sh" } },
]
variant = [
  { name = "free", bounce = "ln -sf shop.group report.group" },
  { name = "limited", bounce = "ln -sf limited.group report.group" },
]
"#;

#[test]
fn a_limit_on_the_aggressor_gives_the_victim_back_what_it_lost() {
    if !is_full() {
        return skipped("18 measurements take two minutes; DRILLS=full makes them");
    }
    let _alone = alone();
    let folder = Folder::new();
    let groups = [("shop", 400), ("limited", 100)]
        .map(|(name, reads_per_s)| Some((name, Throttle::of_disk_below(folder.path(), reads_per_s).ok()?)));
    let [Some(shop), Some(limited)] = groups else {
        return skipped("no control group can be made that limits reads of a disk");
    };
    for (name, throttle) in [&shop, &limited] {
        folder.write(&format!("{name}.group"), &throttle.group.display().to_string());
    }
    for name in ["shop", "report"] {
        std::fs::create_dir(folder.at(name)).unwrap();
        folder.slob(format!("setup --target sqlite:./{name} --scale 64M 1")).success();
        let script = format!("[ $1 != pre ] || echo $PPID > $(cat {name}.group)/cgroup.procs\n");
        folder.script(&format!("{name}.sh"), &format!("#!/bin/sh\n{script}"));
    }
    folder.write("plan.toml", PLAN);
    folder.slob("campaign plan.toml").success();
    let found = folder.slob("analyze c --json").json();
    let kept = |variant: usize| {
        let cells = found["variants"][variant]["cells"].as_array().unwrap();
        let is_it = |cell: &&Value| cell["figure"] == "operations_per_s" && cell["of"] == "shop";
        1.0 + cells.iter().find(is_it).unwrap()["change"]["percent"].as_f64().unwrap() / 100.0
    };
    let (free, limited) = (kept(0), kept(1));
    assert!((free / 0.25 - 1.0).abs() < 0.1 && (limited - 1.0).abs() < 0.1, "{found:#}");
    shows(
        "shares of a disk: 4 of 16 sessions keep 25 %, and all beside a limited neighbour",
        format!("{:.0} and {:.0} %", 100.0 * free, 100.0 * limited),
    );
    let protection = found["protection"].as_array().unwrap();
    let protects = |one: &Value| one["sentence"].as_str().unwrap().ends_with("it protects.");
    assert!(protection.iter().any(protects), "{found:#}");
}
