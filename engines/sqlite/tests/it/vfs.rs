//! The VFS under SQLite: direct I/O, counters, locks, coherence.

use std::path::Path;

use rusqlite::Connection;
use slob_engine_sqlite::initialise;
use slob_engine_sqlite::vfs::{IoFault, IoMode, Location, Meter, drop_page_cache};
use tempfile::TempDir;

use crate::support::{child, folder_of_the_parent};

fn folder() -> TempDir {
    initialise().expect("nothing used SQLite before");
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for tests")
}

fn open(path: &Path, io: IoMode, meter: &Meter) -> Connection {
    let connection = Location { path, io, meter }.open(true).expect("the file can be opened");
    connection.busy_timeout(std::time::Duration::ZERO).expect("a plain setting");
    connection
}

/// Each 8 KiB page has one row.
fn make(path: &Path, rows: u32, io: IoMode) {
    let connection = open(path, io, &Meter::default());
    connection
        .execute_batch("PRAGMA page_size=8192; PRAGMA journal_mode=TRUNCATE; CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER, c BLOB)")
        .expect("a new file");
    let fill = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<?1)
                INSERT INTO t SELECT i, i, randomblob(5000) FROM n";
    connection.execute(fill, [rows]).expect("rows fit");
    connection.execute_batch("PRAGMA journal_mode=WAL").expect("WAL is available");
    drop_page_cache(&connection).expect("the VFS is ours");
}

fn sum(connection: &Connection) -> i64 {
    connection
        .query_row("SELECT sum(v + length(c)) FROM t", [], |row| row.get(0))
        .expect("the table is there")
}

fn assert_sound(connection: &Connection) {
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it runs");
    assert_eq!(verdict, "ok");
}

fn device_reads() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").expect("Linux counts I/O of threads");
    let line =
        text.lines().find_map(|line| line.strip_prefix("read_bytes: ")).expect("read_bytes is among it");
    line.parse().expect("a number")
}

#[test]
fn every_page_read_is_counted_and_reaches_the_device() {
    let dir = folder();
    let path = dir.path().join("a.db");
    make(&path, 1000, IoMode::Streaming);
    let meter = Meter::default();
    let connection = open(&path, IoMode::Direct, &meter);
    connection.execute_batch("PRAGMA cache_size=50; SELECT count(*) FROM sqlite_schema").expect("readable");
    let (before, device) = (meter.totals().page_reads, device_reads());
    for _ in 0..3 {
        sum(&connection);
    }
    let (after, device) = (meter.totals().page_reads, device_reads() - device);
    let (reads, bytes) = (after.count() - before.count(), after.bytes - before.bytes);
    assert!(
        reads >= 3 * (1000 - 50),
        "{reads} reads of a table of 1000 pages, three times, with a cache of 50"
    );
    assert_eq!(bytes, reads * 8192);
    assert_eq!(device, bytes, "what the VFS counted is what the device was asked for");
}

#[test]
fn the_three_modes_see_the_same_data() {
    let dir = folder();
    for writer in [IoMode::Direct, IoMode::Buffered, IoMode::Streaming] {
        let path = dir.path().join(format!("{writer:?}.db"));
        make(&path, 300, writer);
        let meter = Meter::default();
        for reader in [IoMode::Direct, IoMode::Buffered, IoMode::Streaming] {
            let connection = open(&path, reader, &meter);
            assert_eq!(sum(&connection), 300 * 301 / 2 + 300 * 5000, "{writer:?} then {reader:?}");
            assert_sound(&connection);
        }
    }
}

/// Connections of all modes change one file in turn. Each must see all changes, also with a rollback journal, where SQLite
/// rereads page 1 through the ordinary descriptor.
#[test]
fn direct_and_ordinary_io_stay_coherent() {
    let dir = folder();
    for journal in ["WAL", "DELETE", "TRUNCATE"] {
        let path = dir.path().join(format!("{journal}.db"));
        make(&path, 50, IoMode::Buffered);
        let meter = Meter::default();
        let connections = [IoMode::Direct, IoMode::Buffered, IoMode::Streaming, IoMode::Direct].map(|io| {
            let connection = open(&path, io, &meter);
            connection.execute_batch("PRAGMA cache_size=10").expect("a plain setting");
            connection
        });
        let base = sum(&connections[0]);
        drop(connections);
        open(&path, IoMode::Direct, &meter)
            .execute_batch(&format!("PRAGMA journal_mode={journal}"))
            .expect("nobody else is there");
        let connections = [IoMode::Direct, IoMode::Buffered, IoMode::Streaming, IoMode::Direct]
            .map(|io| open(&path, io, &meter));
        for round in 1..=18_i64 {
            let writer = &connections[round as usize % connections.len()];
            writer.execute("UPDATE t SET v = v + 1", []).expect("nobody else is writing");
            if round % 3 == 0 && journal == "WAL" {
                writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("nobody is reading");
            }
            for connection in &connections {
                assert_eq!(sum(connection), base + 50 * round, "{journal}, round {round}");
            }
        }
        connections.iter().for_each(assert_sound);
    }
}

#[test]
fn writes_of_commits_checkpoints_and_logs_are_counted_separately() {
    let dir = folder();
    let path = dir.path().join("a.db");
    make(&path, 100, IoMode::Buffered);
    let meter = Meter::default();
    let connection = open(&path, IoMode::Direct, &meter);
    connection.execute_batch("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0").expect("plain settings");
    connection.execute("UPDATE t SET v = 0 WHERE id <= 10", []).expect("writable");
    let after_commit = meter.totals();
    assert_eq!(after_commit.page_writes.count(), 0, "a commit writes the log only");
    assert!(after_commit.log_writes.bytes >= 10 * 8192 && after_commit.log_syncs.count() >= 1);
    connection.execute_batch("PRAGMA wal_checkpoint(FULL)").expect("nobody else is there");
    let after_checkpoint = meter.totals();
    assert!(
        (10..=12).contains(&after_checkpoint.page_writes.count()),
        "{:?}",
        after_checkpoint.page_writes.count()
    );
    assert_eq!(after_checkpoint.log_writes, after_commit.log_writes);
    assert!(after_checkpoint.file_syncs.count() >= 1);
    drop(connection);
    assert_eq!(
        meter.totals().page_reads,
        after_checkpoint.page_reads,
        "what a closed connection did still counts"
    );
}

/// POSIX would drop the locks, for any descriptor of the file.
#[test]
fn locks_survive_other_connections_coming_and_going() {
    let dir = folder();
    let path = dir.path().join("a.db");
    make(&path, 10, IoMode::Buffered);
    let meter = Meter::default();
    let setup = open(&path, IoMode::Direct, &meter);
    setup.execute_batch("PRAGMA journal_mode=DELETE").expect("nobody else is there");
    drop(setup);
    for io in [IoMode::Direct, IoMode::Buffered, IoMode::Streaming] {
        let holder = open(&path, io, &meter);
        holder
            .execute_batch("BEGIN IMMEDIATE; UPDATE t SET v = 7 WHERE id = 1")
            .expect("nobody else is writing");
        for other in [IoMode::Direct, IoMode::Buffered, IoMode::Streaming] {
            let passer_by = open(&path, other, &meter);
            sum(&passer_by);
            drop(passer_by);
            assert!(
                !another_process_can_write(&path),
                "the lock of {io:?} went with a connection of {other:?}"
            );
        }
        holder.execute_batch("ROLLBACK").expect("a transaction is open");
        drop(holder);
        assert!(another_process_can_write(&path), "all locks are gone with the connections");
    }
}

fn another_process_can_write(path: &Path) -> bool {
    let done = child("vfs::child_writes", path).output().expect("this program can be run");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("running 1 test"), "{said}");
    done.status.success()
}

#[test]
#[ignore = "the other process of locks_survive_other_connections_coming_and_going"]
fn child_writes() {
    initialise().expect("nothing used SQLite before");
    let path = folder_of_the_parent();
    let connection = open(&path, IoMode::Direct, &Meter::default());
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").expect("the file is not locked");
}

/// The cache is far smaller than the table.
#[test]
fn every_page_size_works() {
    let dir = folder();
    for bits in 9..=16 {
        let path = dir.path().join(format!("{bits}.db"));
        let connection = open(&path, IoMode::Direct, &Meter::default());
        connection
            .execute_batch(&format!(
                "PRAGMA page_size={}; PRAGMA cache_size=20; CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER, c BLOB);
                 CREATE INDEX i ON t(v); BEGIN",
                1 << bits
            ))
            .expect("a new file");
        for i in 0..400_i64 {
            let row = (i, (i * 7919) % 400, vec![i as u8; (i * 37 % 9000) as usize]);
            connection.execute("INSERT INTO t VALUES(?1, ?2, ?3)", row).expect("it fits");
        }
        connection
            .execute_batch("DELETE FROM t WHERE id % 3 = 0; COMMIT; UPDATE t SET v = v + 1; VACUUM")
            .expect("works");
        assert_sound(&connection);
        let rows: i64 = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).expect("works");
        assert_eq!(rows, 266);
    }
}

#[test]
fn memory_mapping_is_refused() {
    let dir = folder();
    let path = dir.path().join("a.db");
    make(&path, 10, IoMode::Buffered);
    let meter = Meter::default();
    let connection = open(&path, IoMode::Direct, &meter);
    let mapped = connection.query_row("PRAGMA mmap_size=1000000", [], |row| row.get::<_, i64>(0));
    assert!(mapped.is_err() || mapped == Ok(0));
    sum(&connection);
    assert!(meter.totals().page_reads.count() >= 10);
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    let dir = folder();
    let meter = Meter::default();
    let path = dir.path().join("none").join("a.db");
    assert!(Location { path: &path, io: IoMode::Direct, meter: &meter }.open(false).is_err());
}

/// procfs has no direct I/O, like some file systems of databases.
#[test]
fn a_file_system_without_direct_io_is_named_as_such() {
    let _dir = folder();
    let meter = Meter::default();
    let location = |io| Location { path: Path::new("/proc/version"), io, meter: &meter };
    for io in [IoMode::Direct, IoMode::Streaming] {
        assert!(location(io).open(false).is_err());
        let fault = meter.take_fault().expect("the VFS knows why");
        assert!(
            matches!(fault, IoFault::NoDirectIo { .. }) && fault.to_string().contains("--buffered"),
            "{fault}"
        );
    }
    assert!(location(IoMode::Buffered).open(false).is_ok());
}
