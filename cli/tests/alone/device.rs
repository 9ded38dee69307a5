//! Reads by the engine's own count, against those of the kernel and of the device.

use serde_json::Value;

use crate::alone;
use crate::common::{Folder, mariadb, postgres, skip_without_a_device};
use slob_testing::postgres::Version;
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
        // The device is shared: it can only have read more.
        if let Some(device) = device.as_u64() {
            assert!(device * 100 >= bytes * 99, "engine {bytes}, device {device}");
        }
        ensure(bytes.abs_diff(process) * 100 <= bytes, || {
            format!("the engine counts {bytes} bytes and the kernel {process}")
        })
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
    bench.folder.slob(format!("run --strict {READS}")).prints_and_exits(1, &["page cache served"]);
    let (device, database) = read_bytes(&bench.folder.last_record(), 8192);
    assert!(device * 2 < database, "the device read {device} bytes of {database}");
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
    let record = folder.run_json(format!("{READS} {flags}"));
    let (device, database) = read_bytes(&record, block);
    // Others may use the device too: it can only have read more.
    assert!(device * 100 >= database * 98, "the device read {device} bytes of {database}");
    let own = fetched(&record);
    assert!(own * 100 >= database * 95, "{own} bytes fetched for the server's processes, of {database}");
    let report = folder.slob("report").success().stdout;
    let verdict = report.lines().find(|line| line.contains("Physical?")).unwrap();
    // Others' reads of the same device make it harder to tell.
    let crowded = device * 100 > database * 103;
    assert!(verdict.contains("GOOD") || (crowded && !verdict.contains("BAD")), "{verdict}");
}
