//! Sessions, call by call.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Engine, ErrorKind, Outcome, RunPlan, Session, SessionPlan};
use slob_method::{Action, Batch, KeyRange, Op, RowContent, SchemaNo, Stamp};
use slob_spec::{EngineOptions, RedoStress};

use super::Script;
use crate::engine::OracleEngine;

pub(super) fn opened(script: &Script, folder: &tempfile::TempDir) -> OracleEngine {
    let engine = script.open(folder.path(), EngineOptions::default());
    // Makes the passwords, as a load would have.
    let load = slob_engine::Load { seed: 77, scale: 10, scan_blocks: 0, obfuscated: false, slice_rows: 4 };
    for schema in SchemaNo::up_to(2) {
        engine.create_schema(&load, schema).unwrap();
    }
    script.loaded();
    script.take_log();
    engine
}

fn plan(home: u16) -> SessionPlan {
    SessionPlan {
        number: 0,
        attempt: 0,
        home: SchemaNo::new(home).unwrap(),
        hot_schema: home > 1,
        scans: false,
        redo: Some(RedoStress::Lite),
        update_text: Arc::new(RowContent::new(77, false).update_text()),
    }
}

fn op(action: Action, schema: u16, pause_us: u32) -> Op {
    Op { action, schema: SchemaNo::new(schema).unwrap(), pause_us }
}

fn select(first: u64, schema: u16) -> Op {
    op(Action::Select(KeyRange { first, blocks: 3 }), schema, 0)
}

fn session(engine: &OracleEngine, home: u16) -> Box<dyn Session> {
    engine.session(&plan(home)).unwrap()
}

#[test]
fn a_session_is_set_up_and_its_block_compiled_before_it_works() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let _session = session(&engine, 2);
    let log = script.take_log();
    let own: Vec<&String> = log.iter().filter(|line| line.starts_with("slob2: ")).collect();
    assert!(own[1].contains("CURRENT_SCHEMA = SLOB2"), "{log:#?}");
    assert!(own.last().unwrap().starts_with("slob2: DECLARE kinds SYS.ODCINUMBERLIST"), "{log:#?}");
    assert_eq!(script.last_batch().kinds.len(), 0);
}

#[test]
fn a_batch_is_one_call_with_its_operations_as_arrays() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    script.take_log();
    let stamp = Stamp::new(1, 2, 3);
    let update = op(Action::Update(KeyRange { first: 5, blocks: 2 }, stamp), 1, 0);
    let mut outcome = Outcome::new();
    session.execute(&vec![select(4, 2), update].into(), None, &mut outcome).unwrap();
    assert_eq!(script.take_log().len(), 1);
    let arrays = script.last_batch();
    // A SELECT at home, then an UPDATE in the hot schema.
    assert_eq!((arrays.kinds, arrays.firsts, arrays.ends), (vec![0, 5], vec![4, 5], vec![7, 7]));
    let hex = String::from_utf8(stamp.hex().to_vec()).unwrap();
    assert_eq!((arrays.stamps, arrays.pauses, arrays.run_us), (Some(vec![String::new(), hex]), None, None));
    let done: Vec<_> = outcome.ops().iter().map(|op| (op.duration_ns, op.rows)).collect();
    assert_eq!(done, [(8000, 3), (8000, 2)]);
}

#[test]
fn pauses_and_deadlines_go_to_the_server() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    let batch: Batch = vec![op(select(1, 2).action, 2, 20_000)].into();
    session.execute(&batch, Some(Instant::now() + Duration::from_secs(60)), &mut Outcome::new()).unwrap();
    let arrays = script.last_batch();
    assert_eq!(arrays.pauses, Some(vec![20_000]));
    assert!(arrays.run_us.is_some_and(|us| us > 0 && us <= 60_000_000), "{:?}", arrays.run_us);
    let mut outcome = Outcome::new();
    script.take_log();
    session.execute(&batch, Some(Instant::now()), &mut outcome).unwrap();
    assert!(script.take_log().is_empty() && outcome.ops().is_empty(), "the deadline was over");
}

#[test]
fn in_an_open_loop_what_is_late_goes_together_and_the_rest_when_it_is_due() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    script.take_log();
    let mut batch = Batch::due([(select(1, 2), 5), (select(2, 2), 6), (select(3, 2), 60_000_000)]);
    batch.hand_over(10);
    let mut outcome = Outcome::new();
    session.execute(&batch, None, &mut outcome).unwrap();
    assert_eq!((script.take_log().len(), outcome.ops().len()), (2, 3));
    assert!(outcome.ops()[2].start_ns >= 59_999_990, "{:?}", outcome.ops());
}

#[test]
fn what_was_done_before_an_error_is_told() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    script.batch_fails_after(1, 60);
    let mut outcome = Outcome::new();
    let error = session.execute(&vec![select(1, 2), select(4, 2)].into(), None, &mut outcome).unwrap_err();
    assert_eq!((error.kind(), outcome.ops().len()), (ErrorKind::Retryable, 1));
    assert!(error.to_string().contains("SELECT of keys 4 to 6 in schema 2"), "{error}");
}

#[test]
fn a_batch_is_broken_from_another_thread_and_stays_so() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    script.hangs();
    let canceller = session.canceller().unwrap();
    let worker = thread::spawn(move || {
        let mut outcome = Outcome::new();
        let first = session.execute(&vec![select(1, 2), select(4, 2)].into(), None, &mut outcome);
        let done = outcome.ops().len();
        (first, done, session.execute(&vec![select(1, 2)].into(), None, &mut outcome))
    });
    // The batch before it, without operations, is the one that was compiled.
    let begun = Instant::now();
    while script.last_batch().kinds.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the batch does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    canceller.cancel();
    let (first, done, second) = worker.join().unwrap();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!((done, second.unwrap_err().kind()), (1, ErrorKind::Cancelled));
}

#[test]
fn a_cancellation_that_was_not_ours_is_told_apart() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    script.batch_fails_after(0, 1013);
    let error = session.execute(&vec![select(1, 2)].into(), None, &mut Outcome::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error}");
}

#[test]
fn a_run_is_refused_unless_its_plans_read_block_by_block() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
    let run = RunPlan { schemas: &schemas, sessions: 2, redo: None, scans: false, stop: None };
    script.fails("ALTER SYSTEM CHECKPOINT", 1031);
    let notes = engine.before_run(&run).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("GRANT ALTER SYSTEM"), "{notes:?}");
    script.rows("SELECT operation", &[&["SELECT STATEMENT", "NULL"], &["TABLE ACCESS", "FULL"]]);
    let error = engine.before_run(&run).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("TABLE ACCESS FULL"), "{error}");
}

#[test]
fn sessions_go_round_robin_to_the_services_and_the_rest_to_that_of_the_administrator() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    drop(opened(&script, &folder));
    let services =
        [("ADMIN_SQLNET_SERVICE", "adm"), ("SQLNET_SERVICE_BASE", "rac"), ("SQLNET_SERVICE_MAX", "2")];
    let spec = slob_engine::OpenSpec::new(
        "oracle:".parse().unwrap(),
        slob_engine::Purpose::Use,
        super::options(&services),
    );
    // The passwords are kept by the service that the accounts are behind.
    let passwords = folder.path().join("passwords");
    let lines = std::fs::read_to_string(&passwords).unwrap().replace("db1:1521/pdb1", "adm");
    std::fs::write(&passwords, lines).unwrap();
    let engine = crate::engine::open_with(&spec, Box::new(script.clone()), Some(passwords)).unwrap();
    script.take_log();
    assert_eq!(engine.endpoints(), ["rac1", "rac2"]);
    let sessions: Vec<_> =
        (0..3).map(|number| engine.session(&SessionPlan { number, ..plan(2) }).unwrap()).collect();
    assert_eq!(sessions.iter().map(|session| session.endpoint()).collect::<Vec<_>>(), [0, 1, 0]);
    let log = script.take_log();
    let services: Vec<_> = log.iter().filter_map(|line| line.split_once("CONNECT ")).collect();
    assert_eq!(services, [("slob2: ", "rac1"), ("slob2: ", "rac2"), ("slob2: ", "rac1")]);
    let looks = log.iter().filter(|line| line.contains("all_tab_comments")).count();
    assert_eq!(looks, 1, "what is loaded is asked for once: {log:#?}");
}
