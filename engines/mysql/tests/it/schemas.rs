//! Schemas on a real server: what is ours, what was cut off, and how rows lie in pages.

use mysql::prelude::Queryable;
use rstest::rstest;
use slob_engine::{ErrorKind, Load, LoadState};
use slob_spec::RedoStress;
use slob_testing::jobs::TestServer as _;
use slob_testing::mariadb::MariaDb;
use slob_testing::work::{FIRST, LOAD, assert_says, batch, executed, load_schema, schema};

use crate::loaded::{loaded, open};

#[test]
fn foreign_schemas_are_neither_replaced_nor_removed() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    loaded.server.sql("CREATE DATABASE slob2");
    let second = schema(2);
    let error = loaded.engine.create_schema(&LOAD, second).expect_err("it is somebody else's");
    assert_says(&error, ErrorKind::Usage, &["drop it yourself"]);
    assert!(loaded.engine.drop_schema(second).is_err());
    assert_eq!(loaded.engine.schemas().expect("readable").len(), 1);
    loaded.server.sql("CREATE TABLE slob1.notes (a INT)");
    let error = loaded.engine.drop_schema(FIRST).expect_err("it holds notes");
    assert!(error.to_string().contains("notes"), "{error}");
    assert_eq!(loaded.server.ask("SELECT COUNT(custid) FROM slob1.cf1"), LOAD.scale);
}

#[test]
fn an_account_that_may_not_create_a_schema_learns_which_right_is_missing() {
    let Some(server) = MariaDb::start_or_skip(&[]) else { return };
    server.sql("CREATE USER bare@'%'");
    let engine = open(&server.target("bare"), &[]).expect("it opens");
    let error = engine.create_schema(&LOAD, FIRST).expect_err("it has no right to");
    assert_eq!(error.kind(), ErrorKind::Privilege, "{error}");
    let words = error.to_string();
    assert!(words.contains("GRANT ALL ON `slob%`") && !words.contains("marker"), "{words}");
}

#[test]
fn a_creation_that_was_cut_off_before_or_after_its_mark_is_done_again() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    loaded.server.sql("DELETE FROM slob1.slob_load");
    assert!(loaded.engine.schemas().expect("readable").is_empty());
    let engine = open(&loaded.target, &[]).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    let second = schema(2);
    loaded.server.sql("CREATE DATABASE slob2 CHARACTER SET ascii");
    load_schema(loaded.engine.as_ref(), &LOAD, second);
    // A database with a table in it is somebody else's.
    let third = schema(3);
    loaded.server.sql("CREATE DATABASE slob3 CHARACTER SET ascii");
    loaded.server.sql("CREATE TABLE slob3.notes (a INT)");
    let error = loaded.engine.create_schema(&LOAD, third).expect_err("it is somebody else's");
    assert_says(&error, ErrorKind::Usage, &[]);
}

#[rstest]
#[case(16, 16)]
#[case(64, 64)]
#[case(200, 48)]
fn pages_of_the_smallest_tables_are_counted_too(#[case] scale: u64, #[case] slice_rows: u64) {
    // The server does not count the pages of a small table with so many samples.
    let settings = ["innodb-stats-persistent-sample-pages=1000"];
    let Some(server) = MariaDb::start_or_skip(&settings) else { return };
    let engine = open(&server.plain_target(), &[]).expect("it opens");
    let load = Load { scale, slice_rows, ..LOAD };
    load_schema(engine.as_ref(), &load, FIRST);
    let states = engine.schemas().expect("readable");
    let LoadState::Complete(layout) = &states[0].state else { panic!("{:?}", states[0]) };
    assert_eq!((layout.rows, layout.row_blocks), (scale, scale));
    // The pool also holds the root and the page of the first sentinel.
    let pages = server.ask("SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE WHERE TABLE_NAME = '`slob1`.`cf1`' AND INDEX_NAME = 'PRIMARY' AND PAGE_TYPE = 'INDEX'");
    assert_eq!(pages, scale + 2);
}

#[test]
fn pages_stay_one_to_a_row_through_rollbacks_and_updates() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let second = schema(2);
    loaded.engine.create_schema(&LOAD, second).expect("an empty place");
    // A slice that is rolled back leaves its sentinels.
    loaded.server.sql("CREATE TRIGGER slob2.half BEFORE INSERT ON slob2.cf1 FOR EACH ROW IF NEW.pos = 600 THEN SIGNAL SQLSTATE '45000'; END IF");
    let slice = LOAD.slices(second).next().expect("a slice");
    let progress = slob_engine::LoadProgress::default();
    loaded.engine.load_slice(&LOAD, &slice, &progress).expect_err("the trigger ends it");
    loaded.server.sql("DROP TRIGGER slob2.half");
    for slice in LOAD.slices(second) {
        loaded.engine.load_slice(&LOAD, &slice, &progress).expect("a slice");
    }
    let layout = loaded.engine.finish_schema(&LOAD, second).expect("all is there");
    assert!(layout.one_row_per_block(), "{layout:?}");
    let mut session = loaded.session(RedoStress::Heavy);
    executed(session.as_mut(), &batch(100, 64, 9, 200), None);
    loaded.server.admin().query_drop("ANALYZE TABLE slob1.cf1").expect("statistics");
    let leaves = loaded.server.ask("SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = 'slob1' AND table_name = 'cf1' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'");
    assert!(leaves.abs_diff(LOAD.scale) * 100 <= LOAD.scale, "{leaves} pages of {} rows", LOAD.scale);
}
