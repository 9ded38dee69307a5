//! Probes and loads that later runs take over, as JSON files in a folder of the results.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slob_host::{Device, ProbeResult, ProbeStep};

use crate::durable::durable_write;
use crate::error::RecordError;

const PROBES: &str = "probes";
const LOADS: &str = "loads";
/// Older probes may show another state of the device.
const COMPARABLE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A probe's result with its time and device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedProbe {
    /// Begin of the probe.
    pub taken: Timestamp,
    /// Name of the host.
    pub host: String,
    /// Device, if there is one.
    pub device: Option<Device>,
    /// Result.
    pub result: ProbeResult,
}

impl SavedProbe {
    /// Blocks and `direct` are those of the probe's reads; `None` accepts all.
    pub fn is_of(&self, host: &str, device: &Device, block_bytes: Option<u32>, direct: Option<bool>) -> bool {
        let plan = &self.result.plan;
        // A container may mount a file system elsewhere. Without devices the mount point decides.
        let same = |mine: &Device| {
            mine.stack == device.stack && (!mine.stack.is_empty() || mine.mount_point == device.mount_point)
        };
        self.host == host
            && self.device.as_ref().is_some_and(same)
            && block_bytes.is_none_or(|bytes| plan.block_bytes == bytes)
            && direct.is_none_or(|direct| plan.direct == direct)
    }

    /// Probes without a read step come last.
    fn ceiling(&self) -> f64 {
        self.result.ceiling_iops().unwrap_or(f64::NEG_INFINITY)
    }
}

/// Returns the file.
pub fn save_probe(results: &Path, probe: &SavedProbe) -> Result<PathBuf, RecordError> {
    save(&results.join(PROBES), probe.taken.strftime("%Y%m%dT%H%M%SZ"), probe)
}

/// The probe with the highest ceiling, with direct I/O, at most 30 days older than the newest, and with the largest file.
///
/// A small file measures the cache of a drive or an array. Durable writes come from the newest probe of the device that has them, if
/// this one has none: blocks and direct I/O are those of reads. A cliff comes from the newest probe that has one, too.
pub fn latest_probe(results: &Path, host: &str, device: &Device, block_bytes: u32) -> Option<SavedProbe> {
    let probes: Vec<SavedProbe> = saved(&results.join(PROBES)).collect();
    let of_device =
        |blocks, direct| probes.iter().filter(move |probe| probe.is_of(host, device, blocks, direct));
    let durable = of_device(None, None).filter(|probe| is_durable(probe)).max_by_key(|probe| probe.taken);
    let fitting: Vec<&SavedProbe> = of_device(Some(block_bytes), Some(true)).collect();
    let Some(newest) = fitting.iter().map(|probe| probe.taken).max() else {
        return durable.map(|probe| SavedProbe { result: probe.result.durable_only(), ..probe.clone() });
    };
    let recent = |probe: &SavedProbe| newest.duration_since(probe.taken) <= COMPARABLE;
    // A probe that was stopped before its first step has no ceiling.
    let size = |probe: &SavedProbe| probe.result.ceiling_iops().map(|_| probe.result.plan.file_bytes);
    let largest = fitting.iter().filter(|probe| recent(probe)).filter_map(|probe| size(probe)).max();
    let of_size = fitting.iter().copied().filter(|probe| recent(probe) && size(probe) == largest);
    let mut best =
        of_size.max_by(|a, b| a.ceiling().total_cmp(&b.ceiling()).then(a.taken.cmp(&b.taken)))?.clone();
    if let Some(other) = durable.filter(|other| recent(other) && !is_durable(&best)) {
        let note = Some(format!("probed at {}", other.taken));
        let steps = other.result.durable_only().steps.into_iter();
        best.result.steps.extend(steps.map(|step| ProbeStep { note: note.clone(), ..step }));
    }
    if best.result.until_cliff.is_none() {
        // A limit on another probe's I/O is no property of the volume, and an interrupted search finds no absence.
        let is_volumes = |result: &ProbeResult| {
            let found = result.until_cliff.as_ref().map(|until| until.bucket.is_some());
            let has_io_limits = result.limits.as_ref().is_some_and(|limits| !limits.io.is_empty());
            !has_io_limits && found.is_some_and(|found| found || !result.interrupted)
        };
        let others = fitting.iter().filter(|probe| recent(probe) && is_volumes(&probe.result));
        best.result.until_cliff =
            others.max_by_key(|probe| probe.taken).and_then(|probe| probe.result.until_cliff.clone());
    }
    Some(best)
}

fn is_durable(probe: &SavedProbe) -> bool {
    probe.result.steps.iter().any(|step| step.kind.durable().is_some())
}

/// Each load saves its size and duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadCost {
    /// End of the load.
    pub ended: Timestamp,
    /// Rows, one per block.
    pub rows: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Includes index, statistics and the check of the layout.
    pub seconds: f64,
}

/// A load with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedLoad {
    /// The target, without a password.
    pub target: String,
    /// Seed of scatter and content, which tells loads apart.
    pub seed: u64,
    /// Size and duration.
    #[serde(flatten)]
    pub cost: LoadCost,
}

/// Returns the file.
pub fn save_load(results: &Path, load: &SavedLoad) -> Result<PathBuf, RecordError> {
    save(&results.join(LOADS), load.cost.ended.strftime("%Y%m%dT%H%M%S%3fZ"), load)
}

/// The latest load of a target with that seed.
pub fn latest_load(results: &Path, target: &str, seed: u64) -> Option<LoadCost> {
    saved(&results.join(LOADS))
        .filter(|load: &SavedLoad| load.target == target && load.seed == seed)
        .map(|load| load.cost)
        .max_by_key(|cost| cost.ended)
}

fn save(folder: &Path, name: impl Display, value: &impl Serialize) -> Result<PathBuf, RecordError> {
    fs::create_dir_all(folder).map_err(RecordError::io("creating", folder))?;
    let path = folder.join(format!("{name}.json"));
    let json = |source| RecordError::Json { path: path.clone(), source };
    let text = serde_json::to_string(value).map_err(json)?;
    durable_write(&path, 0o666, |file| file.write_all(text.as_bytes()))
        .map_err(RecordError::io("writing", &path))?;
    Ok(path)
}

/// Unreadable files must not stop a run.
fn saved<T: DeserializeOwned>(folder: &Path) -> impl Iterator<Item = T> {
    let read = |path: PathBuf| serde_json::from_str(&fs::read_to_string(path).ok()?).ok();
    fs::read_dir(folder).into_iter().flatten().filter_map(move |entry| read(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use slob_host::{DurableWrite, GroupLimits, ProbePlan, StepKind, UntilCliff};
    use slob_stats::Histogram;

    fn device() -> Device {
        let text = r#"{"path":"/data/x","file_system":"xfs","mount_point":"/data","mount_source":"/dev/sda1",
            "mount_options":[],"top":null,"stack":["sda1","sda"],"disks":[],"note":null}"#;
        serde_json::from_str(text).unwrap()
    }

    fn probe(taken: &str, direct: bool, iops: f64) -> SavedProbe {
        let figures = json!({"operations": 1, "seconds": 1.0, "iops": iops, "mb_per_s": 1.0, "mean_us": 1.0, "p50_us": 1.0,
            "p99_us": 1.0, "p999_us": 1.0, "max_us": 1.0, "cpu_us_per_op": null, "latency_ns": Histogram::new()});
        let step = json!({"kind": "sync_read", "sessions_or_depth": 1, "interface": null, "figures": figures,
            "error": null, "note": null});
        let steps = vec![serde_json::from_value(step).unwrap()];
        let plan = ProbePlan { direct, ..ProbePlan::new("/data") };
        SavedProbe {
            taken: taken.parse().unwrap(),
            host: "h".into(),
            device: Some(device()),
            result: slob_host::ProbeResult {
                plan,
                steps,
                until_cliff: None,
                limits: None,
                interrupted: false,
            },
        }
    }

    fn chosen(probes: &[SavedProbe]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        probes.iter().for_each(|probe| drop(save_probe(folder.path(), probe).unwrap()));
        latest_probe(folder.path(), "h", &device(), 8192).map(|probe| probe.taken.to_string())
    }

    #[test]
    fn a_probe_through_the_page_cache_is_not_the_ceiling_of_a_device() {
        let cached = probe("2026-11-20T10:00:00Z", false, 9e6);
        assert!(
            cached.is_of("h", &device(), Some(8192), None)
                && cached.is_of("h", &device(), Some(8192), Some(false))
        );
        assert!(!cached.is_of("h", &device(), Some(8192), Some(true)));
        assert!(
            !cached.is_of("h", &device(), Some(4096), None) && !cached.is_of("other", &device(), None, None)
        );
        assert_eq!(chosen(std::slice::from_ref(&cached)), None);
        let direct = probe("2026-11-19T10:00:00Z", true, 1e5);
        assert_eq!(chosen(&[cached, direct]).unwrap(), "2026-11-19T10:00:00Z");
    }

    #[test]
    fn the_highest_ceiling_of_thirty_days_is_taken() {
        let newest = probe("2026-11-30T10:00:00Z", true, 1e4);
        let best = probe("2026-10-31T10:00:00Z", true, 1e5);
        let too_old = probe("2026-10-31T09:59:59Z", true, 1e6);
        assert_eq!(chosen(&[newest.clone(), best, too_old]).unwrap(), "2026-10-31T10:00:00Z");
        let mut failed = probe("2026-12-01T10:00:00Z", true, 1.0);
        failed.result.steps.clear();
        let equal = SavedProbe { taken: "2026-11-29T10:00:00Z".parse().unwrap(), ..newest.clone() };
        assert_eq!(chosen(&[failed, newest, equal]).unwrap(), "2026-11-30T10:00:00Z");
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn a_small_file_in_the_cache_of_a_drive_is_not_the_ceiling_for_a_month() {
        let large = probe("2026-11-20T10:00:00Z", true, 1e5);
        let mut small = probe("2026-11-21T10:00:00Z", true, 3e5);
        small.result.plan.file_bytes = 16 << 20;
        assert_eq!(chosen(&[small.clone(), large]).unwrap(), "2026-11-20T10:00:00Z");
        assert_eq!(chosen(&[small]).unwrap(), "2026-11-21T10:00:00Z");
    }

    #[test]
    fn durable_writes_that_were_probed_alone_are_added_to_the_ceiling() {
        let best = probe("2026-11-20T10:00:00Z", true, 1e5);
        let alone = |taken: &str, streams| {
            let mut alone = probe(taken, true, 1.0);
            alone.result.steps[0].kind = StepKind::DurableWrite(DurableWrite::COMMIT);
            alone.result.steps[0].sessions_or_depth = streams;
            alone
        };
        let (older, newer) = (alone("2026-11-21T10:00:00Z", 1), alone("2026-11-22T10:00:00Z", 4));
        let folder = tempfile::tempdir().unwrap();
        let save = |probe: &SavedProbe| drop(save_probe(folder.path(), probe).unwrap());
        let latest = || latest_probe(folder.path(), "h", &device(), 8192).unwrap();
        save(&older);
        assert_eq!(latest(), older);
        [best, newer].iter().for_each(save);
        let result = latest().result;
        assert_eq!(
            (result.ceiling_iops(), result.durable_writes(DurableWrite::COMMIT, 1)),
            (Some(1e5), Some((4, 1.0)))
        );
        assert_eq!(result.steps[1].note.as_deref(), Some("probed at 2026-11-22T10:00:00Z"));
        // Blocks are those of reads: this database has none of this size.
        let other = latest_probe(folder.path(), "h", &device(), 16_384).unwrap().result;
        assert_eq!(
            (other.ceiling_iops(), other.durable_writes(DurableWrite::COMMIT, 1)),
            (None, Some((4, 1.0)))
        );
        assert!(other.plan.is_durable_only());
    }

    #[test]
    fn a_cliff_of_a_limited_or_interrupted_probe_is_not_the_volumes() {
        let best = probe("2026-11-20T10:00:00Z", true, 1e5);
        let mut limited = probe("2026-11-21T10:00:00Z", true, 1e3);
        let step = limited.result.steps[0].clone();
        limited.result.until_cliff = Some(UntilCliff { step, iops: vec![1e3, 1e2], bucket: None });
        let mut free = limited.clone();
        free.taken = "2026-11-20T11:00:00Z".parse().unwrap();
        let io = vec!["8:0 riops=1000".to_owned()];
        limited.result.limits = Some(GroupLimits { io, ..GroupLimits::default() });
        let folder = tempfile::tempdir().unwrap();
        let latest = || latest_probe(folder.path(), "h", &device(), 8192).unwrap().result.until_cliff;
        let mut interrupted = free.clone();
        interrupted.taken = "2026-11-20T12:00:00Z".parse().unwrap();
        interrupted.result.interrupted = true;
        let unfit = [&best, &limited, &interrupted];
        unfit.iter().for_each(|probe| drop(save_probe(folder.path(), probe).unwrap()));
        assert_eq!(latest(), None);
        save_probe(folder.path(), &free).unwrap();
        assert_eq!(latest(), free.result.until_cliff);
    }

    #[test]
    fn the_latest_load_of_the_same_data_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let load = |target: &str, seed, ended: &str, rows| {
            let cost = LoadCost { ended: ended.parse().unwrap(), rows, bytes: 8192 * rows, seconds: 2.0 };
            save_load(folder.path(), &SavedLoad { target: target.into(), seed, cost }).unwrap();
        };
        load("sqlite:a", 7, "2026-11-20T10:00:00Z", 1);
        load("sqlite:a", 7, "2026-11-20T11:00:00.5Z", 2);
        load("sqlite:a", 8, "2026-11-20T12:00:00Z", 3);
        load("sqlite:b", 7, "2026-11-20T13:00:00Z", 4);
        fs::write(folder.path().join(LOADS).join("damaged.json"), "{").unwrap();
        let rows = |target, seed| latest_load(folder.path(), target, seed).map(|load| load.rows);
        assert_eq!([rows("sqlite:a", 7), rows("sqlite:a", 8), rows("sqlite:c", 7)], [Some(2), Some(3), None]);
    }
}
