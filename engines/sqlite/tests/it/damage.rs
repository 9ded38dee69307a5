//! Damaged files, foreign files, and file systems without room.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::{self, LOAD, engine, folder, folder_of_the_parent, in_a_child, load, schema};
use rustix::process::{Resource, Rlimit, setrlimit};
use slob_engine::{ErrorKind, LoadState, Slice};
use slob_method::{RowState, Table};
use slob_testing::work::assert_says;

const PAGE: u64 = 8192;

fn overwrite(path: &Path, at: u64, bytes: usize) {
    let file = File::options().write(true).open(path).expect("it is there");
    file.write_all_at(&vec![0xA5; bytes], at).expect("writable");
}

#[test]
fn a_malformed_page_hides_its_own_rows_only() {
    let dir = folder();
    let engine = engine(dir.path());
    load(engine.as_ref(), 1);
    // These pages in the middle of the main table hold one row each.
    overwrite(&dir.path().join("slob1.db"), 300 * PAGE, 3 * PAGE as usize);
    let filler = engine.schemas().expect("readable")[0].filler_bytes;
    let (verifier, mut seen) = (LOAD.verifier(Table::Main, schema(1), filler), Vec::new());
    let mut visit = |row: &slob_method::RowView<'_>| {
        assert_eq!(verifier.check(row), Ok(RowState::Loaded));
        seen.push(row.position);
    };
    engine
        .read_rows(&Slice { schema: schema(1), table: Table::Main, positions: 1..LOAD.scale + 1 }, &mut visit)
        .expect("the file can be read");
    let missing: Vec<u64> = (1..=LOAD.scale).filter(|position| !seen.contains(position)).collect();
    assert_eq!(missing.len(), 3, "{missing:?}");
    assert!(seen.is_sorted() && seen.len() as u64 == LOAD.scale - 3);
}

#[test]
fn a_name_that_is_taken_is_refused_with_the_advice_that_fits() {
    let dir = folder();
    let engine = engine(dir.path());
    load(engine.as_ref(), 1);
    std::fs::write(dir.path().join("slob2.db"), "someone's").expect("writable");
    let ours = engine.create_schema(&LOAD, schema(1)).expect_err("it exists").to_string();
    assert!(ours.contains(&format!("slob drop --target 'sqlite:{}'", dir.path().display())), "{ours}");
    let foreign = engine.create_schema(&LOAD, schema(2)).expect_err("it exists").to_string();
    assert!(!foreign.contains("slob drop") && foreign.contains("--target sqlite:FOLDER"), "{foreign}");
}

#[test]
fn a_full_file_system_lets_schemas_be_listed_and_dropped() {
    let dir = folder();
    load(engine(dir.path()).as_ref(), 2);
    in_a_child("damage::child_without_room", dir.path());
    assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 0);
}

/// A file size limit of 0 bytes acts like a full file system.
#[test]
#[ignore = "the process of a_full_file_system_lets_schemas_be_listed_and_dropped"]
fn child_without_room() {
    // SAFETY: only this process, which has no handler of its own, ignores the signal that comes with the error.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    setrlimit(Resource::Fsize, Rlimit { current: Some(0), maximum: Some(0) }).expect("lowering is allowed");
    let engine = engine(&folder_of_the_parent());
    let error = engine.session(&support::plan(0)).err().expect("there is no room for shared memory");
    assert_says(&error, ErrorKind::Space, &[]);
    let states = engine.schemas().expect("readable without any room");
    assert!(states.len() == 2 && states.iter().all(|state| matches!(state.state, LoadState::Complete(_))));
    for state in states {
        engine.drop_schema(state.schema).expect("nothing needs room");
    }
}

#[test]
fn a_schema_with_a_table_of_others_is_not_dropped() {
    let dir = folder();
    let engine = engine(dir.path());
    load(engine.as_ref(), 1);
    let path = dir.path().join("slob1.db");
    let other = rusqlite::Connection::open(&path).expect("a database");
    other.execute_batch("CREATE TABLE payroll(id); INSERT INTO payroll VALUES(1)").expect("writable");
    let refused = engine.drop_schema(schema(1)).expect_err("it holds another's table");
    assert_says(&refused, ErrorKind::Usage, &["payroll"]);
    let rows = other.query_row("SELECT COUNT(*) FROM payroll", [], |row| row.get::<_, i64>(0));
    assert_eq!(rows.expect("it is still there"), 1);
    other.execute_batch("DROP TABLE payroll").expect("writable");
    drop(other);
    engine.drop_schema(schema(1)).expect("all of it is ours");
    assert!(!path.exists());
}

#[test]
fn a_file_of_others_with_the_name_of_a_draft_is_left_untouched() {
    let dir = folder();
    let engine = engine(dir.path());
    let draft = dir.path().join("slob1.db.new");
    std::fs::write(&draft, "someone's").expect("writable");
    let refused = engine.create_schema(&LOAD, schema(1)).expect_err("the name is taken");
    assert_says(&refused, ErrorKind::Usage, &["left untouched"]);
    assert_eq!(std::fs::read(&draft).expect("readable"), b"someone's");
    // Those that a killed load leaves are replaced: before its marker, and after it.
    std::fs::write(&draft, "").expect("writable");
    engine.create_schema(&LOAD, schema(1)).expect("an empty draft is ours");
    std::fs::rename(dir.path().join("slob1.db"), &draft).expect("the same folder");
    engine.create_schema(&LOAD, schema(1)).expect("a marked draft is ours");
    assert!(!draft.exists());
}
