//! Servers are killed in the middle of updates. What they had said is committed must be there afterwards; and where it is
//! not, because a server was told to be careless or its files were put back, `slob verify --durability` must say so.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use super::family::{children, kill_family, pid};
use super::times;
use crate::common::random::Random;
use crate::common::{Called, Folder, SLOB};
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};

const JOURNAL: &str = "updates.log";
/// Two sessions on one schema, whose updates cross.
const WORK: [&str; 11] =
    ["-s", "1", "-t", "2", "--scale", "512", "--update-pct", "60", "--warmup", "0", "--run-time"];

fn load(folder: &Folder, target: &str) {
    folder.slob(["setup", "--target", target, "--scale", "512", "--scan-table-sz", "64", "1"]).success();
}

/// A run with a journal.
fn start(folder: &Folder, target: &str) -> Child {
    let _ = fs::remove_file(folder.path().join(JOURNAL));
    let words = ["600", "--durability", JOURNAL];
    Command::new(SLOB)
        .args(["run", "--target", target])
        .args(WORK)
        .args(words)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A run that is under way, and a moment by chance.
fn start_and_wait(folder: &Folder, target: &str, random: &mut Random) -> Child {
    let mut child = start(folder, target);
    let journal = folder.path().join(JOURNAL);
    let has_answers = || fs::read_to_string(&journal).is_ok_and(|text| text.contains("\ne "));
    while !has_answers() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its first update");
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(200 + random.below(1500)));
    child
}

/// The rows that lost an update, of how many that were updated: the last line of a verification.
fn losses(called: &Called) -> (u64, u64) {
    let line = called.stdout.lines().last().unwrap_or_default();
    let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [_, rows, lost] = numbers[..] else { panic!("{}{}", called.stdout, called.stderr) };
    (lost, rows)
}

fn verify(folder: &Folder, target: &str) -> Called {
    folder.slob(["verify", "--target", target, "--durability", JOURNAL])
}

fn assert_all_there(folder: &Folder, target: &str) {
    let called = verify(folder, target).success();
    let (lost, rows) = losses(&called);
    assert!(lost == 0 && rows > 0, "{}", called.stdout);
}

/// Whether something is lost; then the rows are named.
fn has_lost(folder: &Folder, target: &str) -> bool {
    let called = verify(folder, target);
    let (lost, _) = losses(&called);
    assert_eq!(called.code, i32::from(lost > 0), "{}{}", called.stdout, called.stderr);
    assert_eq!(called.stdout.contains("lost an update that session"), lost > 0, "{}", called.stdout);
    lost > 0
}

/// PostgreSQL's process that writes its log; a server takes connections before it has started that one.
fn log_writer(postmaster: u32) -> u32 {
    let is_writer = |id: &u32| {
        fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("walwriter"))
    };
    let begun = Instant::now();
    loop {
        if let Some(writer) = children(postmaster).into_iter().find(is_writer) {
            return writer;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "there is no walwriter");
        thread::sleep(Duration::from_millis(20));
    }
}

/// How often a careless server may be lucky.
const LUCKY: usize = 5;

#[test]
fn what_postgresql_acknowledged_outlives_its_crash() {
    let Some(mut cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    let (folder, target, mut random) = (Folder::new(), cluster.target(), Random::new());
    load(&folder, &target);
    for _ in 0..times(1, 100) {
        let mut child = start_and_wait(&folder, &target, &mut random);
        kill_family(cluster.pid().unwrap());
        cluster.kill9();
        assert_eq!(child.wait().unwrap().code(), Some(3), "a run whose server died has failed");
        cluster.restart().unwrap();
        assert_all_there(&folder, &target);
    }
    // Told not to wait for its log, with room for all of that in memory, and with the process halted that writes it out
    // meanwhile, it loses what it acknowledged.
    cluster.configure(&[("synchronous_commit", "off"), ("wal_buffers", "256MB")]).unwrap();
    cluster.restart().unwrap();
    let loses = |_| {
        kill_process(pid(log_writer(cluster.pid().unwrap())), Signal::STOP).unwrap();
        let mut child = start_and_wait(&folder, &target, &mut random);
        kill_family(cluster.pid().unwrap());
        cluster.kill9();
        child.wait().unwrap();
        cluster.restart().unwrap();
        has_lost(&folder, &target)
    };
    assert!((0..LUCKY).any(loses));
}

#[test]
fn what_mariadb_acknowledged_outlives_its_crash() {
    // Room for the log of all updates in memory: with less, or with dirty pages to be written, it is written sooner.
    let roomy = ["innodb-log-file-size=1G", "innodb-log-buffer-size=512M", "innodb-adaptive-flushing=OFF"];
    let Some(mut mariadb) = MariaDb::start_or_skip(&roomy) else { return };
    let (folder, target, mut random) = (Folder::new(), mariadb.target("root"), Random::new());
    load(&folder, &target);
    for _ in 0..times(1, 100) {
        let mut child = start_and_wait(&folder, &target, &mut random);
        mariadb.kill9();
        assert_eq!(child.wait().unwrap().code(), Some(3), "a run whose server died has failed");
        mariadb.restart().unwrap();
        assert_all_there(&folder, &target);
    }
    // A log that is written once a minute.
    let loses = |_| {
        mariadb.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
        mariadb.sql("SET GLOBAL innodb_flush_log_at_timeout = 60");
        let mut child = start_and_wait(&folder, &target, &mut random);
        mariadb.kill9();
        child.wait().unwrap();
        mariadb.restart().unwrap();
        has_lost(&folder, &target)
    };
    assert!((0..LUCKY).any(loses));
}

#[test]
fn what_sqlite_acknowledged_outlives_the_program_and_files_put_back_are_found() {
    let (folder, target, mut random) = (Folder::new(), "sqlite:./d", Random::new());
    load(&folder, target);
    for _ in 0..times(2, 100) {
        let mut child = start_and_wait(&folder, target, &mut random);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_all_there(&folder, target);
    }
    // A copy from before the run takes all of it back: every row that was updated, and no other, has lost something.
    let (data, copy) = (folder.path().join("d"), folder.path().join("copy"));
    copy_folder(&data, &copy);
    let _ = fs::remove_file(folder.path().join(JOURNAL));
    let run = [&["run", "--target", target][..], &WORK, &["2", "--durability", JOURNAL]].concat();
    folder.slob(run.iter().copied()).success();
    assert_all_there(&folder, target);
    // The journal of a run is not written over.
    let refused = folder.slob(run);
    assert!(refused.code == 2 && refused.stderr.contains("not there yet"), "{}", refused.stderr);
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&copy, &data).unwrap();
    let called = verify(&folder, target);
    assert_eq!(called.code, 1, "{}{}", called.stdout, called.stderr);
    let (lost, rows) = losses(&called);
    assert_eq!(lost, rows, "{}", called.stdout);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
