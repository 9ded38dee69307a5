//! A host carries its own load: a run is profiled, and its headroom on the same data is 1 at least. A host that is throttled to
//! half carries half.

use std::fs;
use std::path::{Path, PathBuf};

use slob_host::Device;
use slob_testing::postgres::Version;

use crate::alone;
use crate::common::{Called, Folder, SLOB, is_full, mariadb, postgres};

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

/// True, with a line on stderr, unless all drills are wanted: a search takes 40 s, and one engine always has its own.
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skips_another_engine() -> bool {
    !is_full() && {
        eprintln!("skipped: a search takes 40 s, and PostgreSQL has its own; DRILLS=full makes it");
        true
    }
}

#[test]
fn a_host_carries_its_own_load_on_sqlite() {
    if skips_another_engine() {
        return;
    }
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
    if skips_another_engine() {
        return;
    }
    let _alone = alone();
    let Some(bench) = mariadb(&["innodb-buffer-pool-size=24M", "performance-schema=ON"]) else { return };
    // Without this right the server's reads are not timed.
    bench.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
    bench.setup(2, "32M");
    assert_host_carries_its_own_load(&bench.folder);
}

/// A control group whose processes read from a disk so many times per second at most. It is removed with the value.
pub(crate) struct Throttle {
    pub(crate) group: PathBuf,
}

impl Throttle {
    pub(crate) fn of_disk_below(folder: &Path, reads_per_s: u32) -> Result<Self, String> {
        let device = Device::behind(folder).map_err(|error| error.to_string())?;
        let [disk] = device.disks.as_slice() else { return Err("the data are on no single disk".into()) };
        let number = fs::read_to_string(format!("/sys/block/{}/dev", disk.id.name));
        let number = number.map_err(|error| error.to_string())?;
        let number = number.trim();
        let limits = [
            ("blkio", "blkio.throttle.read_iops_device", format!("{number} {reads_per_s}")),
            ("", "io.max", format!("{number} riops={reads_per_s}")),
        ];
        let name = format!("slob-{}-{reads_per_s}", std::process::id());
        for (controller, file, limit) in limits {
            let group = Path::new("/sys/fs/cgroup").join(controller).join(&name);
            if fs::create_dir(&group).is_ok() {
                let made = Self { group };
                if fs::write(made.group.join(file), limit).is_ok() {
                    return Ok(made);
                }
            }
        }
        Err("no control group can be made that limits reads of a disk".into())
    }

    /// Runs slob in the group.
    pub(super) fn slob(&self, folder: &Folder, line: &str) -> Called {
        let script = format!("echo $$ > {}/cgroup.procs && exec {SLOB} {line}", self.group.display());
        folder.command_of("sh", format!("-c '{script}'")).output().unwrap().into()
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

const READS: &str = r#"{ "profile_version": 1, "source": "live", "subject": { "name": "PROD" }, "intervals": [
    { "source": "live", "begin": "2026-11-20T10:00:00", "seconds": 60.0, "figures": { "physical_read_requests_per_s": 60.0 } } ] }"#;

/// The disk carries far more, so that the limit alone decides, whoever else is at work. Sessions of SQLite have caches of their own,
/// which are to be warm soon.
#[test]
fn a_host_that_is_throttled_to_half_has_half_of_the_headroom() {
    if !is_full() {
        return eprintln!(
            "skipped: two searches take a minute, on a busy machine three; DRILLS=full makes three pairs"
        );
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
        println!("{reads_per_s} reads/s: {} times, less than {}", found["carries"], found["less_than"]);
        Ok(found["carries"].as_f64().unwrap())
    };
    let ratios =
        (0..3).map(|nth| Ok(carried(200, nth)? / carried(400, nth)?)).collect::<Result<Vec<f64>, String>>();
    let mut ratios = match ratios {
        Ok(ratios) => ratios,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    ratios.sort_by(f64::total_cmp);
    assert!((0.425..=0.575).contains(&ratios[1]), "{ratios:?}");
}
