//! Loading and removing, call by call.

use slob_engine::suite::damage::is_told;
use slob_engine::{Engine, ErrorKind, Load, LoadProgress, LoadState, OpenSpec, Purpose};
use slob_method::SchemaNo;
use slob_spec::EngineOptions;

use super::Script;
use crate::engine::open_with;

const LOAD: Load = Load { seed: 77, scale: 10, scan_blocks: 0, obfuscated: false, slice_rows: 4 };

fn begun(script: &Script, slices: &[[&str; 4]]) {
    script.rows("SELECT owner FROM all_tab_comments", &[&["SLOB1"]]);
    script.state_rows(&[&["1", "77", "10", "0", "0", "4", "NULL", "NULL", "NULL", "1"]]);
    let rows: Vec<&[&str]> = slices.iter().map(<[&str; 4]>::as_slice).collect();
    script.rows("SELECT 1 AS schema_number, s.is_scan", &rows);
}

#[test]
fn an_account_is_made_then_its_tables_and_the_mark_last() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.take_log();
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    let log = script.take_log();
    let place = |words: &str| {
        log.iter()
            .position(|line| line.contains(words))
            .unwrap_or_else(|| panic!("{words} is not in {log:#?}"))
    };
    let order = [
        "system: CREATE USER SLOB1 IDENTIFIED BY \"SL01ob__",
        "system: GRANT CREATE SESSION, CREATE TABLE TO SLOB1",
        "slob1: CONNECT //db1/pdb1",
        "slob1: CREATE TABLE SLOB1.cf1 ",
        "slob1: CREATE TABLE SLOB1.cf2 ",
        "slob1: CREATE TABLE SLOB1.slob_slice ",
        "slob1: CREATE TABLE SLOB1.slob_load ",
        "slob1: COMMENT ON TABLE SLOB1.slob_load",
        "[Text(\"77\"), Number(10), Number(0), Number(0), Number(4), Number(1)]",
        "slob1: COMMIT",
    ]
    .map(place);
    assert!(order.is_sorted(), "{log:#?}");
}

#[test]
fn tables_of_a_test_have_no_place_among_the_servers_own() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    for name in ["SYSTEM", "SYSAUX"] {
        script.rows("SELECT property_value", &[&[name]]);
        let engine = script.open(folder.path(), EngineOptions::default());
        script.take_log();
        let error = engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
        assert!(error.kind() == ErrorKind::Usage && error.to_string().contains(name), "{error}");
        assert!(!script.take_log().iter().any(|line| line.contains("CREATE")));
    }
    // One that is named is the user's own affair, whatever the default is.
    let target = "oracle://system:manager@//db1/pdb1".parse().unwrap();
    let mut spec = OpenSpec::new(target, Purpose::Load, EngineOptions::default());
    spec.tablespace = Some("iops".into());
    let engine = open_with(&spec, Box::new(script), Some(folder.path().join("named"))).unwrap();
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
}

#[test]
fn an_account_that_is_there_is_not_taken_over() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.fails("CREATE USER", 1920);
    script.take_log();
    let error = engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let told = error.to_string();
    assert!(told.contains("ORACLE_PREFIX") && !told.contains("SL01ob__"), "{told}");
    assert!(!script.take_log().iter().any(|line| line.contains("CREATE TABLE") || line.contains("DROP")));
}

#[test]
fn blocks_that_are_too_small_are_refused_before_anything_is_made() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.rows("SELECT value AS block_size", &[&["2048"]]);
    assert_eq!(engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err().kind(), ErrorKind::Usage);
    assert!(!script.take_log().iter().any(|line| line.contains("CREATE")));
}

#[test]
fn a_slice_and_its_mark_are_one_transaction() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    begun(&script, &[]);
    script.take_log();
    let slices: Vec<_> = LOAD.slices(SchemaNo::FIRST).collect();
    let progress = LoadProgress::default();
    engine.load_slice(&LOAD, &slices[1], &progress).unwrap();
    let log = script.take_log();
    let keys: Vec<String> = (5..9)
        .map(|position| format!("Number({})", LOAD.scatter(SchemaNo::FIRST).key_at(position)))
        .collect();
    let tail = &log[log.len() - 3..];
    assert!(tail[0].starts_with("slob1: INSERT /*+ APPEND_VALUES */ INTO SLOB1.cf1"), "{tail:#?}");
    assert!(tail[0].ends_with(&format!("[{}]", keys.join(", "))), "{tail:#?}");
    assert!(tail[1].ends_with("[Number(0), Number(5), Number(9)]"), "{tail:#?}");
    assert_eq!((tail[2].as_str(), progress.rows()), ("slob1: COMMIT", 4));
}

#[test]
fn a_stopped_slice_is_rolled_back() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    begun(&script, &[]);
    let slice = LOAD.slices(SchemaNo::FIRST).next().unwrap();
    let progress = LoadProgress::default();
    progress.stop();
    script.take_log();
    assert_eq!(engine.load_slice(&LOAD, &slice, &progress).unwrap_err().kind(), ErrorKind::Cancelled);
    let log = script.take_log();
    assert_eq!(log.last().map(String::as_str), Some("slob1: ROLLBACK"), "{log:#?}");
    assert!(!log.iter().any(|line| line.contains("COMMIT")));
}

#[test]
fn marks_tell_what_is_there() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    begun(&script, &[["1", "0", "1", "5"], ["1", "0", "9", "11"], ["1", "1", "5", "9"]]);
    let states = engine.schemas().unwrap();
    let slices: Vec<_> = LOAD.slices(SchemaNo::FIRST).collect();
    assert_eq!(states[0].load, LOAD);
    assert_eq!(states[0].state, LoadState::Begun(vec![slices[0].clone(), slices[2].clone()]));
    let error = engine.finish_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
}

#[test]
fn a_schema_is_completed_and_counted() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    begun(&script, &[["1", "0", "1", "5"], ["1", "0", "5", "9"], ["1", "0", "9", "11"]]);
    script.rows("SELECT SUM(blocks)", &[&["24"]]);
    script.rows("SELECT /*+ INDEX_FFS", &[&["10", "1", "10", "10"]]);
    // Cut off after the index, the call is made again.
    script.fails("CREATE UNIQUE INDEX", 955);
    script.take_log();
    assert_eq!(script.connections("slob1"), 1, "that of the load");
    let layout = engine.finish_schema(&LOAD, SchemaNo::FIRST).unwrap();
    assert_eq!(script.connections("slob1"), 0, "none is kept until all schemas are loaded");
    assert_eq!((layout.rows, layout.row_blocks, layout.all_blocks), (10, 10, 24));
    let log = script.take_log();
    assert!(log[log.len() - 2].ends_with("[Number(10), Number(10), Number(24)]"), "{log:#?}");
    assert_eq!(log.iter().filter(|line| line.contains("DBMS_STATS")).count(), 2);
    script.rows("SELECT /*+ INDEX_FFS", &[&["9", "1", "10", "9"]]);
    assert_eq!(engine.finish_schema(&LOAD, SchemaNo::FIRST).unwrap_err().kind(), ErrorKind::Data);
}

/// Streams that were given slices of one schema waited for each other's commit, and the other schemas for them.
#[test]
fn a_schema_is_loaded_by_one_stream_since_its_tables_are_locked() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    assert!(!engine.server().unwrap().capabilities.parallel_slices);
    let insert = include_str!("../../sql/insert_rows.sql");
    assert!(insert.contains("APPEND_VALUES"), "only a direct-path insert locks its table: {insert}");
}

#[test]
fn only_what_is_marked_is_dropped_and_never_by_cascade() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.take_log();
    assert_eq!(engine.drop_schema(SchemaNo::FIRST).unwrap_err().kind(), ErrorKind::Usage);
    assert!(!script.take_log().iter().any(|line| line.contains("DROP")), "nothing is marked");
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    script.loaded();
    script.take_log();
    engine.drop_schema(SchemaNo::FIRST).unwrap();
    let drops: Vec<String> = script.take_log().into_iter().filter(|line| line.contains("DROP")).collect();
    let tables =
        ["cf1", "cf2", "slob_slice", "slob_load"].map(|name| format!("slob1: DROP TABLE SLOB1.{name} PURGE"));
    assert_eq!(drops[..4], tables);
    assert_eq!(drops[4..], ["system: DROP USER SLOB1"]);
    let error =
        engine.load_slice(&LOAD, &LOAD.slices(SchemaNo::FIRST).next().unwrap(), &LoadProgress::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("password"), "its password is forgotten: {error}");
}

#[test]
fn a_damaged_marker_hides_no_other_schema_and_can_be_dropped() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    let second = SchemaNo::new(2).unwrap();
    engine.create_schema(&LOAD, second).unwrap();
    script.loaded();
    let sound = ["1", "77", "10", "0", "0", "4", "10", "10", "14", "1"];
    let damages: [&[&str]; 3] = [
        &["2", "77", "0", "0", "0", "4", "10", "10", "14", "1"],
        &["2", "x", "10", "0", "0", "4", "10", "10", "14", "1"],
        &["3"],
    ];
    let told = || is_told(&engine, SchemaNo::FIRST, second);
    for damage in damages {
        script.state_rows(&[&sound, damage]);
        assert_eq!(told(), Ok(()), "{damage:?}");
    }
    // A column is gone: the query fails for all of them.
    script.fails("SELECT 2 AS schema_number, l.seed", 904);
    script.fails_once("SELECT 1 AS schema_number, l.seed", 904);
    assert_eq!(told(), Ok(()));
    let error = engine.finish_schema(&LOAD, second).unwrap_err();
    assert!(error.kind() == ErrorKind::Data && error.to_string().contains("slob drop"), "{error}");
    script.take_log();
    engine.drop_schema(second).unwrap();
    let drops: Vec<String> = script.take_log().into_iter().filter(|line| line.contains("DROP")).collect();
    assert_eq!(
        (drops.len(), drops[4].as_str()),
        (5, "system: DROP USER SLOB2"),
        "its password is of our making"
    );
    // Nothing says what the only one was loaded as.
    script.rows("SELECT owner FROM all_tab_comments", &[&["SLOB2"]]);
    assert_eq!(engine.schemas().unwrap_err().kind(), ErrorKind::Data);
}

#[test]
fn a_schema_whose_password_is_lost_is_dropped_by_the_admin_account() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    script.loaded();
    let dropped = |script: &Script| {
        script.take_log();
        script.open(folder.path(), EngineOptions::default()).drop_schema(SchemaNo::FIRST).unwrap();
        let drops: Vec<String> = script.take_log().into_iter().filter(|line| line.contains("DROP")).collect();
        let tables = ["cf1", "cf2", "slob_slice", "slob_load"]
            .map(|name| format!("system: DROP TABLE SLOB1.{name} PURGE"));
        assert_eq!(drops[..4], tables, "{drops:#?}");
        assert_eq!(drops[4..], ["system: DROP USER SLOB1"]);
    };
    // Its line is gone.
    dropped(&script);
    // Or it is not that of the account: the first connection is that of the account that looks.
    std::fs::write(folder.path().join("passwords"), "db1:1521/pdb1\tSLOB1\told\n").unwrap();
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(folder.path().join("passwords"), owner_only).unwrap();
    script.refuses("slob1", 1017);
    dropped(&script);
    script.fails("DROP TABLE SLOB1.cf1", 1031);
    let error =
        script.open(folder.path(), EngineOptions::default()).drop_schema(SchemaNo::FIRST).unwrap_err();
    assert!(error.to_string().contains("GRANT DROP ANY TABLE"), "{error}");
}

#[test]
fn a_kit_of_the_original_is_recognised_and_left_alone() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let mut spec = OpenSpec::new(
        "oracle://system:m@//db1/pdb1".parse().unwrap(),
        Purpose::Use,
        EngineOptions::default(),
    );
    spec.options = crate::scripted::options(&[("ORACLE_ACCOUNTS", "kit")]);
    script.rows(
        "SELECT t.owner",
        &[
            &["USER2", "CF1", "9876", "10010"],
            &["USER2", "CF2", "128", "130"],
            &["USER1", "CF1", "NULL", "NULL"],
            &["USERS", "CF1", "5", "5"],
        ],
    );
    // The statistics of the first are missing, and those of the second an estimate.
    script.rows("SELECT 1 AS schema_number, m.last_key", &[&["1", "10001", "0"], &["2", "10000", "128"]]);
    let engine = open_with(&spec, Box::new(script.clone()), Some(folder.path().join("p"))).unwrap();
    script.take_log();
    let states = engine.schemas().unwrap();
    let asked = script.take_log().pop().unwrap();
    for words in [
        "FROM USER1.cf1 t) m CROSS JOIN (SELECT 0 AS scan_rows FROM dual)",
        "COUNT(*) AS scan_rows FROM USER2.cf2",
    ] {
        assert!(asked.contains(words), "{asked}");
    }
    let seen: Vec<_> =
        states.iter().map(|state| (state.schema.get(), state.load.scale, state.load.scan_blocks)).collect();
    assert_eq!(seen, [(1, 10_000, 0), (2, 10_000, 0)], "what all hold");
    assert!(matches!(states[0].state, LoadState::Complete(layout) if layout.one_row_per_block()));
    let error = engine
        .read_rows(SchemaNo::FIRST, slob_method::Table::Main, 1..2, &mut |_| ())
        .err()
        .map(|error| error.kind());
    assert_eq!(error, Some(ErrorKind::Usage), "rows of others are not verified");
    script.take_log();
    assert!(engine.drop_schema(SchemaNo::FIRST).is_err());
    assert!(engine.create_schema(&LOAD, SchemaNo::new(3).unwrap()).is_err());
    assert!(!script.take_log().iter().any(|line| line.contains("DROP") || line.contains("CREATE")));
}

#[test]
fn an_account_that_a_load_had_just_made_is_taken_up_again_if_it_is_empty() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    // Killed after CREATE USER: its password is known, and its mark is not there.
    script.fails_once("GRANT CREATE SESSION", 3113);
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    script.fails("CREATE USER", 1920);
    script.rows("SELECT COUNT(*) AS objects", &[&["1"]]);
    let error = engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err().to_string();
    assert!(error.contains("ORACLE_PREFIX"), "something is in it: {error}");
    script.rows("SELECT COUNT(*) AS objects", &[&["0"]]);
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    // Or before GRANT: whoever is told so knows its password.
    let engine = script.open(folder.path(), EngineOptions::default());
    script.fails_once("CONNECT", 1045);
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
}

#[test]
fn nobodys_account_is_tried_with_a_password_that_was_just_made_up() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.fails("CREATE USER", 1920);
    script.take_log();
    for _ in 0..2 {
        engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    }
    let log = script.take_log();
    assert!(!log.iter().any(|line| line.starts_with("slob1: CONNECT")), "it would be locked: {log:#?}");
}

#[test]
fn what_could_not_be_finished_leaves_no_table_without_a_mark() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    script.fails("CREATE TABLE SLOB1.slob_slice", 1950);
    script.take_log();
    let error = engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Privilege);
    let drops: Vec<String> = script.take_log().into_iter().filter(|line| line.contains("DROP")).collect();
    assert_eq!(drops, ["cf1", "cf2"].map(|name| format!("slob1: DROP TABLE SLOB1.{name} PURGE")));
}

#[test]
fn an_account_whose_sessions_are_just_ending_is_dropped_a_moment_later() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = script.open(folder.path(), EngineOptions::default());
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    script.loaded();
    script.fails_once("DROP USER", 1940);
    script.take_log();
    engine.drop_schema(SchemaNo::FIRST).unwrap();
    let log = script.take_log();
    assert_eq!(log.iter().filter(|line| line.contains("DROP USER")).count(), 2, "{log:#?}");
}

#[test]
fn the_size_of_blocks_is_that_of_the_tablespace_of_the_data() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    script.loaded();
    script.rows("SELECT value AS block_size", &[&["8192"]]);
    script.rows("SELECT MAX(s.block_size)", &[&["16384"]]);
    let engine = script.open(folder.path(), EngineOptions::default());
    script.take_log();
    assert_eq!(engine.server().unwrap().block_bytes, 16_384);
    let log = script.take_log();
    let asked = log.iter().find(|line| line.contains("MAX(s.block_size)")).unwrap();
    assert!(asked.ends_with("[Text(\"SLOB1\")]"), "{asked}");
    script.fails("SELECT MAX(s.block_size)", 942);
    assert_eq!(engine.server().unwrap().block_bytes, 8192, "what may be seen");
}

#[test]
fn blocks_of_two_kilobytes_are_refused_before_anything_is_made() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    script.rows("SELECT value AS block_size", &[&["2048"]]);
    let engine = script.open(folder.path(), EngineOptions::default());
    script.take_log();
    let error = engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("2048") && error.to_string().contains("4 KiB"), "{error}");
    assert!(!script.take_log().iter().any(|line| line.contains("CREATE")));
}
