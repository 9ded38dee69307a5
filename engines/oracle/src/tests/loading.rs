//! Loading and removing, call by call.

use slob_engine::{Engine, ErrorKind, LoadProgress, LoadState, OpenSpec, Purpose, Slice};
use slob_method::{SchemaNo, Table};
use slob_spec::EngineOptions;
use slob_testing::damage::check_damaged;
use slob_testing::work::assert_says;

use super::{LOAD, Server, options};

#[test]
fn an_account_is_created_then_its_tables_and_the_marker_last() {
    let server = Server::plays(&["open", "create schema: 1"]);
    server.open().create_schema(&LOAD, SchemaNo::FIRST).unwrap();
}

#[test]
fn tables_of_a_test_have_no_place_in_the_servers_own_tablespaces() {
    for name in ["SYSTEM", "SYSAUX"] {
        let server = Server::plays(&["open", &format!("look for tablespaces: {name}")]);
        let error = server.open().create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
        assert_says(&error, ErrorKind::Usage, &[name]);
    }
}

#[test]
fn a_named_tablespace_is_used_whatever_the_default_is() {
    let server = Server::plays(&["open", "create schema in a named tablespace"]);
    let target = "oracle://system:manager@//db1/pdb1".parse().unwrap();
    let spec = OpenSpec::new(target, Purpose::Load, EngineOptions::default());
    let engine = server.open_spec(&OpenSpec { tablespace: Some("iops".into()), ..spec }).unwrap();
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
}

#[test]
fn an_account_that_exists_is_not_taken_over() {
    let server = Server::plays(&["open", "the account exists"]);
    let error = server.open().create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_says(&error, ErrorKind::Usage, &["ORACLE_PREFIX"]);
    assert!(!error.to_string().contains("SL01ob__"), "{error}");
}

#[test]
fn blocks_of_two_kilobytes_are_refused_before_anything_is_created() {
    let server = Server::plays(&["open", "blocks have two kilobytes"]);
    let error = server.open().create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_says(&error, ErrorKind::Usage, &["2048", "4 KiB"]);
}

#[test]
fn a_slice_and_its_mark_are_one_transaction() {
    let server = Server::plays(&["open", "a load has begun: slob1", "connect: slob1", "load a slice"])
        .with_passwords();
    let slice = LOAD.slices(SchemaNo::FIRST).nth(1).unwrap();
    let progress = LoadProgress::default();
    server.open().load_slice(&LOAD, &slice, &progress).unwrap();
    assert_eq!(progress.rows(), 4);
    let scatter = LOAD.scatter(SchemaNo::FIRST);
    let keys: Vec<String> = (5..9).map(|position| scatter.key_at(position).to_string()).collect();
    let calls = server.calls();
    let insert = &calls[calls.len() - 3];
    assert!(insert.ends_with(&format!(" [{}]", keys.join(", "))), "{insert}");
}

#[test]
fn a_stopped_slice_is_rolled_back() {
    let server =
        Server::plays(&["open", "a load has begun: slob1", "connect: slob1", "roll back"]).with_passwords();
    let slice = LOAD.slices(SchemaNo::FIRST).next().unwrap();
    let progress = LoadProgress::default();
    progress.stop();
    let error = server.open().load_slice(&LOAD, &slice, &progress).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn marks_show_which_slices_are_loaded() {
    let server = Server::plays(&["open", "first and third slice are loaded"]);
    let engine = server.open();
    let states = engine.schemas().unwrap();
    let slices: Vec<_> = LOAD.slices(SchemaNo::FIRST).collect();
    assert_eq!(states[0].load, LOAD);
    assert_eq!(states[0].state, LoadState::Begun(vec![slices[0].clone(), slices[2].clone()]));
    let error = engine.finish_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
}

#[test]
fn a_schema_is_completed_and_counted() {
    let server = Server::plays(&["open", "create schema: 1", "all slices are loaded"]);
    let engine = server.open();
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    assert_eq!(server.connections("slob1"), 1, "that of the load");
    server.then("complete the schema: 10");
    server.then("mark it as complete");
    let layout = engine.finish_schema(&LOAD, SchemaNo::FIRST).unwrap();
    assert_eq!(server.connections("slob1"), 0, "none is kept until all schemas are loaded");
    assert_eq!((layout.rows, layout.row_blocks, layout.all_blocks), (10, 10, 24));
    server.then("connect: slob1");
    server.then("complete the schema: 9");
    assert_eq!(engine.finish_schema(&LOAD, SchemaNo::FIRST).unwrap_err().kind(), ErrorKind::Data);
}

/// Streams with slices of one schema waited for each other's commit.
#[test]
fn a_schema_is_loaded_by_one_stream_since_its_tables_are_locked() {
    let server = Server::loaded(&["settings are not visible"]);
    assert!(!server.open().server().unwrap().capabilities.parallel_slices);
    let insert = include_str!("../../sql/insert_rows.sql");
    assert!(insert.contains("APPEND_VALUES"), "only a direct-path insert locks its table: {insert}");
}

#[test]
fn a_schema_without_marker_is_not_dropped() {
    let server = Server::plays(&["open", "nothing is marked"]);
    assert_eq!(server.open().drop_schema(SchemaNo::FIRST).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn a_schema_is_dropped_table_by_table_and_never_by_cascade() {
    let server = Server::loaded(&["connect: slob1", "drop tables: slob1", "drop account"]);
    let engine = server.open();
    engine.drop_schema(SchemaNo::FIRST).unwrap();
    let slice = LOAD.slices(SchemaNo::FIRST).next().unwrap();
    let error = engine.load_slice(&LOAD, &slice, &LoadProgress::default()).unwrap_err().to_string();
    assert!(error.contains("password"), "its password is forgotten: {error}");
}

#[test]
fn a_damaged_marker_hides_no_other_schema_and_can_be_dropped() {
    let server = Server::loaded(&["settings are not visible", "a run on the second schema"]);
    let engine = server.open();
    let second = SchemaNo::new(2).unwrap();
    for damage in [
        "markers: 2 | 77 | 0 | 0 | 0 | 4 | 10 | 10 | 14 | 1",
        "markers: 2 | x | 10 | 0 | 0 | 4 | 10 | 10 | 14 | 1",
        "markers: 3",
        "a column is missing",
    ] {
        server.then(damage);
        check_damaged(&engine, SchemaNo::FIRST, second, damage);
        server.then("reconnect");
    }
    assert_says(&engine.finish_schema(&LOAD, second).unwrap_err(), ErrorKind::Data, &["slob drop"]);
    // Its password is random, so a load created the account.
    server.then("reconnect");
    server.then("drop the second schema");
    engine.drop_schema(second).unwrap();
    // Nothing tells how the only one was loaded.
    server.then("the second schema is the only one");
    assert_eq!(engine.schemas().unwrap_err().kind(), ErrorKind::Data);
}

#[test]
fn a_schema_whose_password_is_lost_is_dropped_by_the_administrator() {
    let of_admin = ["open", "two schemas are loaded", "drop tables: system", "drop account"];
    Server::plays(&of_admin).open().drop_schema(SchemaNo::FIRST).unwrap();
    let wrong = |titles: &[&str]| {
        let server = Server::plays(&[&of_admin[..2], &["the password is wrong"], titles].concat());
        server.write_passwords("db1:1521/pdb1\tSLOB1\told\n");
        server.open().drop_schema(SchemaNo::FIRST)
    };
    wrong(&of_admin[2..]).unwrap();
    let error = wrong(&["the administrator may not drop tables"]).unwrap_err();
    assert!(error.to_string().contains("GRANT DROP ANY TABLE"), "{error}");
}

#[test]
fn a_kit_of_the_original_is_recognised_and_left_alone() {
    let server = Server::plays(&["open", "schemas of a kit"]);
    let options = options(&[("ORACLE_ACCOUNTS", "kit")]);
    let engine = server.open_as("oracle://system:manager@//db1/pdb1", options).unwrap();
    let states = engine.schemas().unwrap();
    let seen: Vec<_> =
        states.iter().map(|state| (state.schema.get(), state.load.scale, state.load.scan_blocks)).collect();
    assert_eq!(seen, [(1, 10_000, 0), (2, 10_000, 0)], "what all hold");
    assert!(matches!(states[0].state, LoadState::Complete(layout) if layout.one_row_per_block()));
    let read = engine
        .read_rows(&Slice { schema: SchemaNo::FIRST, table: Table::Main, positions: 1..2 }, &mut |_| ());
    assert_eq!(read.unwrap_err().kind(), ErrorKind::Usage, "rows of others are not verified");
    assert!(engine.drop_schema(SchemaNo::FIRST).is_err());
    server.then("reconnect");
    server.then("look for the size of blocks");
    assert!(engine.create_schema(&LOAD, SchemaNo::new(3).unwrap()).is_err());
}

#[test]
fn an_empty_account_of_an_interrupted_load_is_used_again() {
    let server = Server::plays(&["open", "the load is killed before GRANT"]);
    let engine = server.open();
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    for title in ["reconnect", "the account exists", "objects in the account: 1", "reconnect"] {
        server.then(title);
    }
    let error = engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err().to_string();
    assert!(error.contains("ORACLE_PREFIX"), "something is in it: {error}");
    let created = ["grant: 1", "connect: slob1", "create tables: 1"];
    ["the account exists", "objects in the account: 0"].iter().chain(&created).for_each(|is| server.then(is));
    engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap();
    // The server tells of the missing right only those who know the password.
    let unknown = ["open", "the account exists", "the account has no right to connect"];
    unknown.iter().chain(&created).for_each(|title| server.then(title));
    server.open().create_schema(&LOAD, SchemaNo::FIRST).unwrap();
}

/// Wrong passwords would lock it.
#[test]
fn an_account_of_others_is_not_tried_with_a_new_password() {
    let server = Server::plays(&["open", "the account exists", "reconnect", "the account exists"]);
    let engine = server.open();
    for _ in 0..2 {
        engine.create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    }
}

#[test]
fn an_incomplete_schema_leaves_no_table_without_marker() {
    let server = Server::plays(&["open", "the third table can't be created"]);
    let error = server.open().create_schema(&LOAD, SchemaNo::FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Privilege);
}

#[test]
fn an_account_whose_sessions_are_ending_is_dropped_a_moment_later() {
    let server = Server::loaded(&[
        "connect: slob1",
        "drop tables: slob1",
        "the account still has sessions",
        "drop account",
    ]);
    server.open().drop_schema(SchemaNo::FIRST).unwrap();
}

#[test]
fn the_size_of_blocks_is_that_of_the_tablespace_of_the_data() {
    let server = Server::loaded(&["settings are not visible", "blocks of the data have 16 KiB"]);
    let engine = server.open();
    assert_eq!(engine.server().unwrap().block_bytes, 16_384);
    server.then("blocks of the data are not visible");
    assert_eq!(engine.server().unwrap().block_bytes, 8192, "that of the database");
}
