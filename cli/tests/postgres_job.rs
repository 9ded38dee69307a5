//! The main job on real PostgreSQL servers, started here: what is counted equals what was planned, what is said of
//! the reads is true, and what goes wrong ends clearly.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::counting::{MIXES, assert_planned, count, ended};
use common::{Called, Folder, SLOB, skip_without_a_device};
use rstest::rstest;
use serde_json::Value;
use slob_testing::postgres::{Cluster, Version};

/// A server, the address of a plain role's database on it, and a folder for runs.
struct Bench {
    cluster: Cluster,
    target: String,
    folder: Folder,
}

fn bench(version: Version, settings: &[(&str, &str)]) -> Option<Bench> {
    let cluster = Cluster::start_or_skip(version, settings)?;
    cluster.sql("CREATE ROLE plain LOGIN; GRANT pg_read_all_settings TO plain");
    cluster.sql("CREATE DATABASE slob OWNER plain");
    let target = format!("postgres://plain@127.0.0.1:{}/slob", cluster.port());
    Some(Bench { cluster, target, folder: Folder::new() })
}

impl Bench {
    fn setup(&self, schemas: &str, scale: &str) {
        let data = ["--scale", scale, "--scan-table-sz", "64"];
        self.folder.slob([&["setup", "--target", &self.target][..], &data, &[schemas]].concat()).success();
        self.folder
            .write("slob.conf", &format!("TARGET={}\nSCALE={scale}\nWARMUP=0\nWORK_UNIT=64\n", self.target));
    }

    fn run(&self, arguments: &[&str]) -> Value {
        self.folder.run_json(arguments)
    }

    fn admin(&self) -> postgres::Client {
        let parameters = format!("host=127.0.0.1 port={} user=postgres dbname=slob", self.cluster.port());
        postgres::Client::connect(&parameters, postgres::NoTls).unwrap()
    }

    fn ask(&self, sql: &str) -> i64 {
        self.admin().query_one(sql, &[]).unwrap().get(0)
    }

    /// Starts a run that lasts until it is disturbed, and waits until it is at work.
    fn long_run(&self, arguments: &[&str]) -> Child {
        let child = Command::new(SLOB)
            .args(["run", "--update-pct", "100", "--work-unit", "8"])
            .args(if arguments.contains(&"--run-time") { &[][..] } else { &["--run-time", "120"] })
            .args(arguments)
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let at_work = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'slob' AND query LIKE 'CALL%' AND state = 'active'";
        while self.ask(at_work) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "no session went to work");
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(Duration::from_millis(1500));
        child
    }
}

#[rstest]
#[case::on_15(Version::V15, "server")]
#[case::on_15_with_the_loop_here(Version::V15, "client")]
#[case::on_18(Version::V18, "server")]
fn counts_equal_the_plan(#[case] version: Version, #[case] place: &str) {
    let Some(bench) = bench(version, &[]) else { return };
    bench.setup("4", "8M");
    for (flags, updates, scans) in MIXES {
        let fixed = ["-s", "4", "-t", "2", "--work-loop", "500", "--work-unit", "5", "--loop", place];
        let before =
            bench.ask("SELECT sum(n_tup_upd)::bigint FROM pg_stat_user_tables WHERE relname = 'cf1'");
        let record = bench.run(&[&fixed, *flags].concat());
        assert_planned(&record, 40, (*updates, *scans), flags);
        let changed = || {
            bench.ask("SELECT sum(n_tup_upd)::bigint FROM pg_stat_user_tables WHERE relname = 'cf1'") - before
        };
        let (begun, planned) = (Instant::now(), (40 * updates * 5).cast_signed());
        // The server publishes what a session did when the session ends.
        while changed() != planned && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(changed(), planned, "rows changed by the server's own count, {flags:?}");
    }
}

#[test]
fn every_fourth_operation_goes_to_the_hot_schema() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("3", "8M");
    let flags = ["-s", "3", "-t", "1", "--work-loop", "100", "--work-unit", "4", "--update-pct", "100"];
    bench.run(&[&flags[..], &["--hot-schema-frequency", "4"]].concat());
    let updated = |schema: u32| {
        bench.ask(&format!(
            "SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'slob{schema}' AND relname = 'cf1'"
        ))
    };
    let expected = [4 * (100 + 25 + 25), 4 * 75, 4 * 75];
    let begun = Instant::now();
    while [1, 2, 3].map(updated) != expected && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!([1, 2, 3].map(updated), expected);
}

#[test]
fn sixteen_sessions_share_one_schema() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "16M");
    let record = bench.run(&["-s", "1", "-t", "16", "--run-time", "2", "--update-pct", "20"]);
    assert_eq!(record["status"]["state"], "completed");
    let sessions = record["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 16);
    assert!(sessions.iter().all(|session| session["whole_window"] == true && session["schema"] == 1));
}

#[test]
fn redo_of_heavy_updates_is_what_the_columns_make() {
    // Without images of whole pages what is left is what the columns make.
    let Some(bench) = bench(Version::V15, &[("full_page_writes", "off")]) else { return };
    bench.setup("1", "8M");
    let bytes_of_a_row = |stress: &str| {
        let flags =
            ["--work-loop", "200", "--work-unit", "8", "--update-pct", "100", "--redo-stress", stress];
        let record = bench.run(&flags);
        record["counters"]["redo_bytes"].as_u64().unwrap() as f64 / (200.0 * 8.0)
    };
    let (lite, heavy) = (bytes_of_a_row("LITE"), bytes_of_a_row("HEAVY"));
    // A new version of a row on its page is logged from the first to the last byte that differs, and the columns lie
    // so that c2 and c20 are neighbours: LITE logs two texts of 128 bytes with a length byte each, HEAVY nineteen.
    let (text, difference) = (129.0, heavy - lite);
    assert!((lite - 2.0 * text) < 2.0 * text, "{lite} bytes of a LITE row");
    assert!(
        (difference / (17.0 * text) - 1.0).abs() < 0.1,
        "{heavy} bytes of a HEAVY row, {lite} of a LITE one"
    );
}

/// For whoever compares with what the device read: no other test of this program is to read from it meanwhile.
fn device() -> Option<MutexGuard<'static, ()>> {
    static DEVICE: Mutex<()> = Mutex::new(());
    (!skip_without_a_device()).then(|| DEVICE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn reads_that_the_page_cache_serves_are_called_so() {
    let Some(_alone) = device() else { return };
    let Some(bench) = bench(Version::V15, &[("shared_buffers", "2MB")]) else { return };
    bench.setup("1", "64M");
    let report = bench.folder.slob(["run", "--strict", "--run-time", "3", "--update-pct", "0"]);
    assert_eq!(report.code, 1, "{}", report.stderr);
    assert!(report.stdout.contains("page cache served"), "{}", report.stdout);
    let (device, database) = read_bytes(&bench.folder.last_record());
    assert!(device * 2 < database, "the device read {device} bytes of {database}");
}

/// Somebody else's random reads of the device that carries a folder, so many a second.
struct Neighbour(Child);

impl Neighbour {
    /// `None` where fio is not installed, which it is in CI.
    fn reading(folder: &Path, per_second: u32) -> Option<Self> {
        let fio = Command::new("fio")
            .args(["--name=neighbour", "--filename=neighbour", "--size=64m", "--rw=randread", "--bs=8k"])
            .args(["--direct=1", "--time_based", "--runtime=120", &format!("--rate_iops={per_second}")])
            .current_dir(folder)
            .stdout(Stdio::null())
            .spawn();
        match fio {
            Ok(fio) => Some(Self(fio)),
            Err(error) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "fio: {error}");
                eprintln!("skipped: fio: {error}");
                None
            }
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The device's total was 99.3 % of what the database had asked for, and nothing of it had been read for the database.
#[test]
fn a_neighbours_reads_do_not_stand_in_for_cached_ones() {
    let Some(_alone) = device() else { return };
    let Some(bench) = bench(Version::V15, &[("shared_buffers", "2MB"), ("track_io_timing", "on")]) else {
        return;
    };
    bench.setup("1", "64M");
    let Some(_neighbour) = Neighbour::reading(bench.folder.path(), 3060) else { return };
    // It lays out its file first.
    thread::sleep(Duration::from_secs(3));
    let record = bench.run(&["--run-time", "5", "--update-pct", "0", "--rate", "50"]);
    let (_, database) = read_bytes(&record);
    let own = record["db_io"]["read_bytes"].as_u64().expect("the server's processes are this user's");
    assert!(own * 2 < database, "the kernel fetched {own} bytes of {database} for the server's processes");
    let report = bench.folder.slob(["report"]).success().stdout;
    let verdict = report.lines().find(|line| line.contains("Physical?")).unwrap();
    assert!(verdict.contains("BAD"), "{verdict}");
}

#[test]
fn direct_reads_are_called_physical() {
    let Some(_alone) = device() else { return };
    let settings = [("shared_buffers", "2MB"), ("debug_io_direct", "data")];
    let Some(bench) = bench(Version::V18, &settings) else { return };
    bench.setup("1", "64M");
    let record = bench.run(&["--run-time", "3", "--update-pct", "0"]);
    let (device, database) = read_bytes(&record);
    // Others may use the device too: it can only have read more.
    assert!(device * 100 >= database * 98, "the device read {device} bytes of {database}");
    let report = bench.folder.slob(["report"]).success().stdout;
    let verdict = report.lines().find(|line| line.contains("Physical?")).unwrap();
    // Others' reads of the same device make it harder to tell.
    let crowded = device * 100 > database * 103;
    assert!(verdict.contains("GOOD") || (crowded && !verdict.contains("BAD")), "{verdict}");
    // Its workers' reads, or those of its rings, are its own.
    let own = record["db_io"]["read_bytes"].as_u64().expect("the server's processes are this user's");
    assert!(
        own.abs_diff(database) * 20 < database,
        "{own} bytes fetched for its processes, {database} asked for"
    );
}

/// What the device read, and what the database asked for, within the window.
fn read_bytes(record: &Value) -> (u64, u64) {
    let device = record["host"]["device"]["counters"]["read_bytes"].as_u64();
    let database = record["counters"]["physical_reads"].as_u64().unwrap() * 8192;
    assert!(database > 1 << 20, "the cache is far smaller than the table, but {database} bytes were read");
    (device.expect("the data are on a block device of this host"), database)
}

#[test]
fn too_few_connections_refuse_the_run_before_it_starts() {
    let Some(bench) = bench(Version::V15, &[("max_connections", "12")]) else { return };
    bench.setup("1", "1M");
    let refused = bench.folder.slob(["run", "-s", "1", "-t", "20", "--run-time", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("max_connections is 12"), "{}", refused.stderr);
    assert!(refused.stderr.contains("20 sessions"), "{}", refused.stderr);
    assert!(
        !bench.folder.path().join("runs").exists()
            || bench.folder.path().join("runs").read_dir().unwrap().count() == 0
    );
    bench.admin().batch_execute("ALTER ROLE plain CONNECTION LIMIT 4").unwrap();
    let refused = bench.folder.slob(["run", "-s", "1", "-t", "3", "--run-time", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("role 'plain' is 4"), "{}", refused.stderr);
}

#[test]
fn a_lost_backend_fails_the_run_and_keeps_what_was_measured() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "8M");
    let child = bench.long_run(&["-t", "3"]);
    let lost = bench.ask(
        "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slob' AND query LIKE 'CALL%' LIMIT 1) t",
    );
    assert_eq!(lost, 1);
    failed_and_kept(&bench, &ended(child), "session");
}

#[test]
fn a_server_that_is_killed_fails_the_run_and_keeps_what_was_measured() {
    let Some(mut bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "8M");
    let child = bench.long_run(&["-t", "2"]);
    bench.cluster.kill9();
    failed_and_kept(&bench, &ended(child), "session");
}

#[test]
fn a_lock_on_our_table_ends_the_run_after_the_time_out() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "8M");
    bench.admin().batch_execute("ALTER ROLE plain SET lock_timeout = '2s'").unwrap();
    let child = bench.long_run(&["-t", "2"]);
    let mut admin = bench.admin();
    let mut lock = admin.transaction().unwrap();
    lock.batch_execute("LOCK TABLE slob1.cf1 IN ACCESS EXCLUSIVE MODE").unwrap();
    failed_and_kept(&bench, &ended(child), "a lock was held by");
    lock.rollback().unwrap();
}

fn failed_and_kept(bench: &Bench, called: &Called, word: &str) {
    assert_eq!(called.code, 3, "{}\n{}", called.stdout, called.stderr);
    let record = bench.folder.last_record();
    assert_eq!(record["status"]["state"], "failed");
    let error = record["status"]["error"].as_str().unwrap();
    assert!(error.contains(word), "{error}");
    assert!(
        called.stdout.contains("FAILED") && called.stdout.contains(error.split(':').next().unwrap()),
        "{}",
        called.stdout
    );
    assert!(count(&record, "update") > 0, "what was measured is kept");
    assert!(record["series"].to_string().len() > 100);
}

#[test]
fn sessions_spread_over_two_servers_and_each_has_its_figures() {
    let Some(first) = bench(Version::V15, &[]) else { return };
    let Some(second) = bench(Version::V15, &[]) else { return };
    for bench in [&first, &second] {
        let load = ["--scale", "4M", "--seed", "77", "2"];
        first.folder.slob([&["setup", "--target", &bench.target][..], &load].concat()).success();
    }
    let endpoints = format!("127.0.0.1:{},localhost:{}", first.cluster.port(), second.cluster.port());
    let flags = "-s 2 -t 2 --work-loop 100 --work-unit 4 --update-pct 50 --scale 4M";
    let flags: Vec<&str> = flags.split(' ').collect();
    let record = first.run(&[&["--target", &first.target, "--endpoints", &endpoints], &flags[..]].concat());
    let servers = record["endpoints"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    let mut changed = 0;
    for server in servers {
        assert_eq!(server["sessions"], 2);
        assert_eq!(server["operations"]["update"]["operations"], 100);
        let of_server = server["counters"]["rows_changed"].as_u64().unwrap();
        assert!(of_server >= 400, "{of_server} rows changed");
        changed += of_server;
    }
    assert_eq!(record["counters"]["rows_changed"], changed);
    assert_eq!(count(&record, "update"), 200);
    let report = first.folder.slob(["report"]).success().stdout;
    assert!(
        report.contains("Endpoints") && report.contains(&format!("localhost:{}", second.cluster.port())),
        "{report}"
    );

    // Two names of one server: its counters are there once.
    let twice = format!("127.0.0.1:{0},localhost:{0}", first.cluster.port());
    let record = first.run(&[&["--target", &first.target, "--endpoints", &twice], &flags[..]].concat());
    assert_eq!(record["endpoints"][0]["counters"]["rows_changed"], record["counters"]["rows_changed"]);
    assert_eq!(record["endpoints"][1]["counters"], Value::Null);
    assert_eq!(record["endpoints"][1]["shares_with"], record["endpoints"][0]["endpoint"]);
}

#[test]
fn endpoints_need_a_target_with_hosts() {
    let folder = Folder::new();
    let refused = folder.slob(["setup", "--target", "sqlite:./d", "--endpoints", "a:1,b:2", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("ENDPOINTS"), "{}", refused.stderr);
}

#[rstest]
#[case("fail")]
#[case("drop")]
#[case("reconnect")]
fn a_server_that_is_killed_under_each_policy(#[case] policy: &str) {
    let Some(first) = bench(Version::V15, &[]) else { return };
    let Some(mut second) = bench(Version::V15, &[]) else { return };
    for bench in [&first, &second] {
        let load = ["--scale", "4M", "--seed", "77", "1"];
        first.folder.slob([&["setup", "--target", &bench.target][..], &load].concat()).success();
    }
    first.folder.write("slob.conf", &format!("TARGET={}\nSCALE=4M\nWARMUP=0\n", first.target));
    let endpoints = format!("127.0.0.1:{},localhost:{}", first.cluster.port(), second.cluster.port());
    let flags = ["--endpoints", &endpoints, "-t", "4", "--tolerate-session-loss", policy, "--run-time", "6"];
    let child = first.long_run(&flags);
    second.cluster.kill9();
    let called = ended(child);
    let record = first.folder.last_record();
    let losses = record["losses"].as_array().map_or(0, Vec::len);
    let back =
        || record["losses"].as_array().unwrap().iter().filter(|loss| loss["back_s"].is_number()).count();
    match policy {
        "fail" => assert_eq!((called.code, losses), (3, 0), "{}", called.stderr),
        "drop" => assert_eq!((called.code, losses, back()), (0, 2, 0), "{}", called.stderr),
        _ => assert_eq!((called.code, losses, back()), (0, 2, 2), "{}", called.stderr),
    }
    if policy != "fail" {
        assert_eq!(record["status"]["state"], "completed");
        assert!(called.stdout.contains("Lost sessions"), "{}", called.stdout);
        assert!(record["notes"].to_string().contains("counters of localhost"), "{}", record["notes"]);
        let at_the_end = if policy == "drop" { 2 } else { 4 };
        assert_eq!(record["endpoints"][0]["sessions"], at_the_end);
    }
}
