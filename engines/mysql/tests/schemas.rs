//! Schemas on a real server: what is ours, what is damaged, what was cut off, and how rows lie in pages.

mod common;
mod server;

use common::{FIRST, LOAD, RUN, batch, load_schema, loaded, open, options, session};
use mysql::prelude::Queryable;
use rstest::rstest;
use server::MariaDb;
use slob_engine::{ErrorKind, Load, LoadState, Outcome, RunPlan};
use slob_spec::RedoStress;

#[test]
fn what_is_not_ours_is_neither_replaced_nor_removed() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    loaded.server.sql("CREATE DATABASE slob2");
    let second = slob_method::SchemaNo::new(2).expect("a number");
    let error = loaded.engine.create_schema(&LOAD, second).expect_err("it is somebody else's");
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("drop it yourself"), "`slob drop` would not: {error}");
    assert!(loaded.engine.drop_schema(second).is_err());
    assert_eq!(loaded.engine.schemas().expect("readable").len(), 1);
    loaded.server.sql("CREATE TABLE slob1.notes (a INT)");
    let error = loaded.engine.drop_schema(FIRST).expect_err("it holds notes");
    assert!(error.to_string().contains("notes"), "{error}");
    assert_eq!(loaded.server.ask("SELECT COUNT(custid) FROM slob1.cf1"), LOAD.scale);
}

#[rstest]
#[case("UPDATE slob2.slob_load SET scale = 0")]
#[case("UPDATE slob2.slob_load SET slice_rows = 0, row_count = NULL")]
#[case("UPDATE slob2.slob_load SET row_blocks = NULL")]
#[case(
    "INSERT INTO slob2.slob_load SELECT seed + 1, scale, scan_blocks, obfuscated, slice_rows, filler_bytes, row_count, row_blocks, all_blocks FROM slob2.slob_load"
)]
#[case("ALTER TABLE slob2.slob_load DROP COLUMN scale")]
#[case("ALTER TABLE slob2.slob_load MODIFY scale VARCHAR(9); UPDATE slob2.slob_load SET scale = 'many'")]
#[case("UPDATE slob2.slob_load SET row_count = NULL; DROP TABLE slob2.slob_slice")]
fn a_damaged_schema_hides_no_sound_one_and_can_be_dropped(#[case] damage: &str) {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let second = slob_method::SchemaNo::new(2).expect("a number");
    load_schema(loaded.engine.as_ref(), &LOAD, second);
    damage.split("; ").for_each(|statement| loaded.server.sql(statement));
    let found = || -> Vec<_> {
        let states = loaded.engine.schemas().expect("readable");
        states.iter().map(|state| (state.schema, state.load, state.state == LoadState::Damaged)).collect()
    };
    assert_eq!(found(), [(FIRST, LOAD, false), (second, LOAD, true)]);
    loaded.engine.server().expect("it is described all the same");
    let run = RunPlan { schemas: &[second], ..RUN };
    let error = loaded.engine.before_run(&run).expect_err("it is damaged");
    assert!(error.kind() == ErrorKind::Data && error.to_string().contains("slob drop"), "{error}");
    loaded.engine.create_schema(&LOAD, second).expect_err("it is not replaced without a word");
    loaded.engine.drop_schema(second).expect("it is ours");
    assert_eq!(found(), [(FIRST, LOAD, false)]);
    load_schema(loaded.engine.as_ref(), &LOAD, second);
}

#[test]
fn the_only_schema_being_damaged_is_an_error_that_says_what_to_remove() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    loaded.server.sql("UPDATE slob1.slob_load SET scale = 0");
    let error = loaded.engine.schemas().expect_err("nothing says what was loaded");
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    assert!(error.to_string().contains("DROP DATABASE slob1;"), "{error}");
    loaded.engine.drop_schema(FIRST).expect("it is ours");
    assert!(loaded.engine.schemas().expect("readable").is_empty());
}

#[test]
fn a_creation_that_was_cut_off_is_done_again() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    loaded.server.sql("DELETE FROM slob1.slob_load");
    assert!(loaded.engine.schemas().expect("readable").is_empty());
    let engine = open(&loaded.target, &options(&[])).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
}

#[test]
fn a_creation_that_was_cut_off_before_its_mark_is_done_again() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let second = slob_method::SchemaNo::new(2).expect("a number");
    loaded.server.sql("CREATE DATABASE slob2 CHARACTER SET ascii");
    load_schema(loaded.engine.as_ref(), &LOAD, second);
    // With something in it, it is somebody's.
    let third = slob_method::SchemaNo::new(3).expect("a number");
    loaded.server.sql("CREATE DATABASE slob3 CHARACTER SET ascii");
    loaded.server.sql("CREATE TABLE slob3.notes (a INT)");
    let error = loaded.engine.create_schema(&LOAD, third).expect_err("it is somebody else's");
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}

#[rstest]
#[case(16, 16)]
#[case(64, 64)]
#[case(200, 48)]
fn pages_of_the_smallest_tables_are_counted_too(#[case] scale: u64, #[case] slice_rows: u64) {
    // With so many samples the server does not tell how many pages a small table has.
    let settings = ["innodb-stats-persistent-sample-pages=1000"];
    let Some(server) = MariaDb::start_or_skip(&settings) else { return };
    let engine = open(&server.plain_target(), &options(&[])).expect("it opens");
    let load = Load { scale, slice_rows, ..LOAD };
    load_schema(engine.as_ref(), &load, FIRST);
    let states = engine.schemas().expect("readable");
    let LoadState::Complete(layout) = &states[0].state else { panic!("{:?}", states[0]) };
    assert_eq!((layout.rows, layout.row_blocks), (scale, scale));
    // What lies in the pool: the root, which holds no row since the first split, and the page of the first sentinel.
    let pages = server.ask("SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE WHERE TABLE_NAME = '`slob1`.`cf1`' AND INDEX_NAME = 'PRIMARY' AND PAGE_TYPE = 'INDEX'");
    assert_eq!(pages, scale + 2);
}

#[test]
fn pages_stay_one_to_a_row_through_rollbacks_and_updates() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let second = slob_method::SchemaNo::new(2).expect("a number");
    loaded.engine.create_schema(&LOAD, second).expect("an empty place");
    // A slice that is rolled back after half of its rows leaves its sentinels where they were.
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
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Heavy).expect("it opens");
    session.execute(&batch(100, 64, 9, 200), None, &mut Outcome::new()).expect("it runs");
    loaded.server.admin().query_drop("ANALYZE TABLE slob1.cf1").expect("statistics");
    let leaves = loaded.server.ask("SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = 'slob1' AND table_name = 'cf1' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'");
    assert!(leaves.abs_diff(LOAD.scale) * 100 <= LOAD.scale, "{leaves} pages of {} rows", LOAD.scale);
}
