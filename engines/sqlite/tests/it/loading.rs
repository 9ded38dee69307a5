//! Loading: the data on disk, kills at any moment, and files that are never touched.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use slob_engine::{Engine, ErrorKind, Load, LoadProgress, LoadState, Slice};
use slob_engine_sqlite::initialise;
use slob_engine_sqlite::vfs::{IoMode, Location, Meter};
use slob_method::{RowState, SchemaNo, Table};

use crate::support::{child, engine, folder, folder_of_the_parent};

const FIRST: SchemaNo = SchemaNo::FIRST;
const LOAD: Load = Load { seed: 5, scale: 6000, scan_blocks: 300, obfuscated: true, slice_rows: 500 };

fn load_rest(engine: &dyn Engine) {
    let done = match engine.schemas().expect("readable").pop().map(|state| state.state) {
        None => {
            engine.create_schema(&LOAD, FIRST).expect("there is room");
            Vec::new()
        }
        Some(LoadState::Begun(done)) => done,
        Some(LoadState::Complete(_)) => return,
        Some(state) => panic!("{state:?}"),
    };
    for slice in LOAD.slices(FIRST).filter(|slice| !done.contains(slice)) {
        engine.load_slice(&LOAD, &slice, &LoadProgress::default()).expect("there is room");
    }
    let layout = engine.finish_schema(&LOAD, FIRST).expect("all slices are there");
    assert!(layout.one_row_per_block());
}

fn verify(engine: &dyn Engine) {
    let filler = engine.schemas().expect("readable")[0].filler_bytes;
    for table in [Table::Main, Table::Scan] {
        let (verifier, mut rows) = (LOAD.verifier(table, FIRST, filler), 0);
        let mut visit = |row: &slob_method::RowView<'_>| {
            rows += 1;
            assert_eq!(row.position, rows);
            assert_eq!(verifier.check(row), Ok(RowState::Loaded));
        };
        engine
            .read_rows(&Slice { schema: FIRST, table, positions: 1..LOAD.rows(table) + 1 }, &mut visit)
            .expect("readable");
        assert_eq!(rows, LOAD.rows(table));
    }
}

fn plain(path: &Path) -> Connection {
    initialise().expect("nothing used SQLite before");
    Location { path, io: IoMode::Buffered, meter: &Meter::default() }.open(true).expect("it can be opened")
}

fn ask<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> T {
    connection.query_row(sql, [], |row| row.get(0)).expect("a value")
}

/// SQLite must agree with an index and counts that it did not make.
#[test]
fn sqlite_agrees_with_index_and_layout() {
    let dir = folder();
    let engine = engine(dir.path());
    load_rest(engine.as_ref());
    verify(engine.as_ref());
    let LoadState::Complete(layout) = engine.schemas().expect("readable")[0].state else {
        panic!("complete")
    };
    let connection = plain(&dir.path().join("slob1.db"));
    assert_eq!(ask::<String>(&connection, "PRAGMA integrity_check"), "ok");
    let leaves = "SELECT count(*) FROM dbstat WHERE name='cf1' AND pagetype='leaf'";
    assert_eq!(ask::<i64>(&connection, leaves), layout.row_blocks as i64);
    assert_eq!(ask::<i64>(&connection, "PRAGMA page_count"), layout.all_blocks as i64);
    assert_eq!(ask::<i64>(&connection, "SELECT count(*) FROM dbstat WHERE pagetype='overflow'"), 0);
    // SQLite builds the same index from the table, in no more pages.
    let pages =
        |name: &str| ask::<i64>(&connection, &format!("SELECT count(*) FROM dbstat WHERE name='{name}'"));
    connection.execute_batch("CREATE UNIQUE INDEX i_own ON cf1(custid)").expect("keys are unique");
    assert!(pages("i_cf1") <= pages("i_own") + 1, "{} pages against {}", pages("i_cf1"), pages("i_own"));
    let differing = "SELECT count(*) FROM (SELECT custid, id FROM cf1 INDEXED BY i_cf1 WHERE custid > 0
                     EXCEPT SELECT custid, id FROM cf1 NOT INDEXED)";
    assert_eq!(ask::<i64>(&connection, differing), 0);
}

#[test]
fn operations_go_through_the_index_and_visit_each_row() {
    let dir = folder();
    load_rest(engine(dir.path()).as_ref());
    let connection = plain(&dir.path().join("slob1.db"));
    for (sql, values) in [
        (include_str!("../../sql/select.sql"), 2),
        (include_str!("../../sql/update_lite.sql"), 4),
        (include_str!("../../sql/update_heavy.sql"), 21),
    ] {
        let values: Vec<i64> = (1..=values).collect();
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("it compiles");
        let plan: String =
            explain.query_row(rusqlite::params_from_iter(values), |row| row.get("detail")).expect("one step");
        assert_eq!(plan, "SEARCH cf1 USING INDEX i_cf1 (custid>? AND custid<?)");
    }
}

#[test]
fn a_load_survives_kills_at_any_moment() {
    let dir = folder();
    let mut kills = 0;
    for round in 0..12u64 {
        let mut child = child("loading::child_loads", dir.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("this program can be run");
        std::thread::sleep(Duration::from_millis(15 + 23 * round));
        if child.try_wait().expect("it is ours").is_none() {
            kills += 1;
        }
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        let states = engine(dir.path()).schemas().expect("readable after a kill");
        if let Some(LoadState::Begun(slices)) = states.first().map(|state| state.state.clone()) {
            assert!(LOAD.slices(FIRST).take(slices.len()).eq(slices), "whole slices, in order");
        }
    }
    assert!(kills > 0, "no load was interrupted");
    let engine = engine(dir.path());
    load_rest(engine.as_ref());
    verify(engine.as_ref());
    assert_eq!(ask::<String>(&plain(&dir.path().join("slob1.db")), "PRAGMA integrity_check"), "ok");
}

#[test]
#[ignore = "the process that a_load_survives_kills_at_any_moment kills"]
fn child_loads() {
    let folder = folder_of_the_parent();
    load_rest(engine(&folder).as_ref());
}

/// A slice is not synced: a power failure may lose it.
#[test]
fn slices_count_until_the_machine_is_restarted() {
    let dir = folder();
    let engine = engine(dir.path());
    engine.create_schema(&LOAD, FIRST).expect("there is room");
    let slice = LOAD.slices(FIRST).next().expect("there are rows");
    engine.load_slice(&LOAD, &slice, &LoadProgress::default()).expect("there is room");
    let state = || engine.schemas().expect("readable")[0].state.clone();
    assert_eq!(state(), LoadState::Begun(vec![slice.clone()]));
    let file = plain(&dir.path().join("slob1.db"));
    let boot = ask::<i32>(&file, "PRAGMA user_version");
    file.execute_batch(&format!("PRAGMA user_version = {}", boot ^ 1)).expect("writable");
    drop(file);
    assert_eq!(state(), LoadState::Unsynced(vec![slice]));
    engine.drop_schema(FIRST).expect("it is ours");
    load_rest(engine.as_ref());
    // A complete schema is synced.
    plain(&dir.path().join("slob1.db")).execute_batch("PRAGMA user_version = 0").expect("writable");
    verify(engine.as_ref());
}

#[test]
fn foreign_files_are_left_alone() {
    let dir = folder();
    let engine = engine(dir.path());
    let foreign = dir.path().join("slob1.db");
    plain(&foreign)
        .execute_batch("CREATE TABLE precious(x); INSERT INTO precious VALUES(42)")
        .expect("a new file");
    std::fs::write(dir.path().join("slob2.db"), "not a database, but someone's").expect("writable");
    std::fs::write(dir.path().join("slob3.db"), "").expect("writable");
    assert!(engine.schemas().expect("readable").is_empty());
    for number in 1..=3 {
        let schema = SchemaNo::new(number).expect("not 0");
        assert!(engine.create_schema(&LOAD, schema).is_err(), "schema {number} would be overwritten");
        assert!(engine.drop_schema(schema).is_err(), "schema {number} would be removed");
    }
    assert_eq!(ask::<i64>(&plain(&foreign), "SELECT x FROM precious"), 42);
    assert_eq!(
        std::fs::read(dir.path().join("slob2.db")).expect("it is there"),
        b"not a database, but someone's"
    );
    assert_eq!(std::fs::read(dir.path().join("slob3.db")).expect("it is there"), b"");
}

#[test]
fn a_schema_in_use_is_not_dropped() {
    let dir = folder();
    let engine = engine(dir.path());
    load_rest(engine.as_ref());
    let user = plain(&dir.path().join("slob1.db"));
    ask::<i64>(&user, "SELECT count(*) FROM slob_slice");
    let error = engine.drop_schema(FIRST).expect_err("somebody has it open");
    assert_eq!(error.kind(), ErrorKind::Retryable, "{error}");
    verify(engine.as_ref());
    drop(user);
    engine.drop_schema(FIRST).expect("nobody has it open");
    assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 0);
}
