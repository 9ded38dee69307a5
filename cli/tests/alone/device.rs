//! Reads by the engine's own count, against those of the kernel and of the device.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, Throttle, mariadb, postgres, read_json, skip_without_a_device};
use crate::{alone, alone_on_the_device};
use slob_testing::evidence::shows;
use slob_testing::postgres::Version;
use slob_testing::skipped;
use slob_testing::tries::{ensure, shown_within};

/// The table is far larger than the cache.
const READS: &str = "--run-time 3 --update-pct 0";

pub(crate) fn read_bytes(record: &Value, block: u64) -> (u64, u64) {
    let device = record["host"]["device"]["counters"]["read_bytes"].as_u64();
    let database = record["counters"]["physical_reads"].as_u64().unwrap() * block;
    assert!(database > 1 << 20, "the cache is far smaller than the table, but {database} bytes were read");
    (device.expect("the data are on a block device of this host"), database)
}

#[test]
fn physical_reads_of_sqlite_are_those_of_the_process_and_of_the_device() {
    let _alone = alone();
    let folder = Folder::loaded(1, "64M");
    // The two are not read at the same moment, which a busy machine shows.
    shown_within(3, || {
        let record = folder.run_json(format!("{READS} --cache-mb 2"));
        let bytes = record["counters"]["physical_reads"].as_u64().unwrap() * 8192;
        let process = record["client_io"]["read_bytes"].as_u64().unwrap();
        let device = &record["host"]["device"]["counters"]["read_bytes"];
        let seen = format!("{bytes} bytes by SQLite's count, {process} by the kernel's");
        // The device is shared: it can only have read more.
        let device = device.as_u64();
        ensure(device.is_none_or(|device| device * 100 >= bytes * 99), || format!("{seen}, {device:?}"))?;
        ensure(bytes.abs_diff(process) * 100 <= bytes, || seen.clone())?;
        shows("physical reads of SQLite are those of the kernel for the process, within 1 %", seen);
        Ok(())
    });
}

#[test]
fn reads_of_postgresql_that_the_page_cache_serves_are_called_so() {
    let _alone = alone();
    if skip_without_a_device() {
        return;
    }
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "2MB")]) else { return };
    bench.setup(1, "64M");
    // Others may use the device, and take what is cached.
    shown_within(3, || {
        let called = bench.folder.slob(format!("run --strict {READS}"));
        let (device, database) = read_bytes(&bench.folder.last_record(), 8192);
        let seen = format!("the device read {device} bytes of {database}");
        ensure(device * 2 < database && called.stdout.contains("page cache served"), || seen.clone())?;
        called.exits(1);
        shows("reads that the page cache served are called so", seen);
        Ok(())
    });
}

/// Bytes.
pub(crate) fn fetched(record: &Value) -> u64 {
    record["db_io"]["read_bytes"].as_u64().expect("the server's processes are this user's")
}

#[test]
fn direct_reads_of_postgresql_are_called_physical() {
    let _alone = alone();
    if skip_without_a_device() {
        return;
    }
    let settings = [("shared_buffers", "2MB"), ("debug_io_direct", "data")];
    let Some(bench) = postgres(Version::V18, &settings) else { return };
    bench.setup(1, "64M");
    are_called_physical(&bench.folder, "", 8192);
}

#[test]
fn direct_reads_of_mariadb_are_called_physical() {
    let _alone = alone();
    if skip_without_a_device() {
        return;
    }
    // Too small a pool for the table, and no cache behind it.
    let settings = ["innodb-buffer-pool-size=6M", "innodb-flush-method=O_DIRECT"];
    let Some(bench) = mariadb(&settings) else { return };
    bench.setup(1, "64M");
    are_called_physical(&bench.folder, "-t 2", 16_384);
}

/// `block` is in bytes.
fn are_called_physical(folder: &Folder, flags: &str, block: u64) {
    // The counts are not read at the same moment, which a busy machine shows.
    shown_within(3, || {
        let record = folder.run_json(format!("{READS} {flags}"));
        let ((device, database), own) = (read_bytes(&record, block), fetched(&record));
        let seen = format!("database {database} bytes, kernel {own}, device {device}");
        // Others may use the device too: it can only have read more.
        ensure(device * 100 >= database * 98 && own * 100 >= database * 95, || seen.clone())?;
        let report = folder.slob("report").success().stdout;
        let verdict = report.lines().find(|line| line.contains("Physical?")).unwrap();
        // Others' reads of the same device make it harder to tell.
        let crowded = device * 100 > database * 103;
        ensure(verdict.contains("GOOD") || (crowded && !verdict.contains("BAD")), || verdict.to_owned())?;
        shows(&format!("direct reads are physical by three counts, in blocks of {block} bytes"), seen);
        Ok(())
    });
}

/// A volume with burst credits, made of a throttle whose limit falls. `docs/evidence.md` has more of them.
#[test]
fn a_throttle_that_tightens_is_a_cliff_of_burst_credits() {
    let _alone = alone_on_the_device();
    let folder = Folder::new();
    // Other programs that come at that moment hide it.
    shown_within(6, || {
        let throttle = match Throttle::of_disk_below(folder.path(), BURST_PER_S) {
            Ok(throttle) => throttle,
            Err(why) => {
                skipped(why);
                return Ok(());
            }
        };
        let (fell_s, until) = probe_until_cliff(&folder, &throttle);
        let found = |name: &str| until["bucket"][name].as_f64().ok_or_else(|| until["iops"].to_string());
        let [burst, base, lasts_s] = [found("burst_per_s")?, found("base_per_s")?, found("lasts_s")?];
        let is_near = |found: f64, made: u32| (found / f64::from(made) - 1.0).abs() < 0.1;
        let is_right =
            is_near(burst, BURST_PER_S) && is_near(base, BASE_PER_S) && (lasts_s - fell_s).abs() <= 1.5;
        let seen = format!("from {burst:.0} to {base:.0} after {lasts_s:.1} s instead of {fell_s:.0}");
        ensure(is_right, || format!("{seen}: {}", until["iops"]))?;
        shows(
            &format!(
                "a limit that falls from {BURST_PER_S} to {BASE_PER_S} reads/s is found with its moment"
            ),
            seen,
        );
        Ok(())
    });
}

/// Reads/s that a disk serves beside others, too.
const BURST_PER_S: u32 = 1000;
const BASE_PER_S: u32 = 200;

/// Returns the second at whose end the limit fell, and what was found.
fn probe_until_cliff(folder: &Folder, throttle: &Throttle) -> (f64, Value) {
    const LENGTH_S: f64 = 30.0;
    let line = format!(
        "probe . --durable no --size-mb 16 --seconds 0.5 --sessions 4 --depths 4 --until-cliff={LENGTH_S}s --json -o probe.json"
    );
    let mut probe =
        throttle.command(folder, &line).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut fell_s = None;
    let mut said = Vec::new();
    // A line such as `probing: 33 % 1002 reads/s, until burst credits are spent` comes at the end of a second.
    for line in BufReader::new(probe.stderr.take().unwrap()).lines().map(Result::unwrap) {
        let percent = line.strip_prefix("probing: ").filter(|line| line.contains("burst credits"));
        let percent = percent.and_then(|rest| rest.split_once(" %")?.0.parse::<f64>().ok());
        let second = percent.map(|percent| (percent / 100.0 * LENGTH_S).round());
        if let Some(second) = second.filter(|second| *second >= 9.0 && fell_s.is_none()) {
            throttle.limit_reads(BASE_PER_S);
            fell_s = Some(second);
        }
        said.push(line);
    }
    assert!(probe.wait().unwrap().success(), "{said:?}");
    let mut probed = read_json(folder.at("probe.json"));
    (fell_s.unwrap_or_else(|| panic!("{said:?}")), probed["result"]["until_cliff"].take())
}
