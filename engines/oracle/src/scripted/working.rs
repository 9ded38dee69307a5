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
    let settings = [
        "DISABLE PARALLEL QUERY",
        "DISABLE PARALLEL DML",
        "SET CURSOR_SHARING = EXACT",
        "SET RESULT_CACHE_MODE = MANUAL",
        "SET OPTIMIZER_IGNORE_HINTS = FALSE",
        "SET CURRENT_SCHEMA = SLOB2",
    ];
    assert_eq!(own.len(), settings.len() + 2, "{log:#?}");
    for (line, setting) in own[1..].iter().zip(settings) {
        assert_eq!(line.as_str(), format!("slob2: ALTER SESSION {setting}"));
    }
    assert!(own.last().unwrap().starts_with("slob2: DECLARE TYPE numbers"), "{log:#?}");
    assert_eq!(script.last_batch().text, "");
}

#[test]
fn a_batch_is_one_call_with_its_operations_as_text() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let mut session = session(&engine, 2);
    script.take_log();
    let stamp = Stamp::new(1, 2, 3);
    let update = op(Action::Update(KeyRange { first: 5, blocks: 2 }, stamp), 1, 0);
    let mut outcome = Outcome::new();
    session.execute(&vec![select(4, 2), update].into(), None, &mut outcome).unwrap();
    assert_eq!(script.take_log().len(), 1);
    let work = script.last_batch();
    // A SELECT at home, then an UPDATE in the hot schema.
    let ops = ["0 000000000000004 0003 0000000000", "5 000000000000005 0002 0000000000"];
    assert_eq!(work.text, ops.concat().replace(' ', ""));
    let hex = String::from_utf8(stamp.hex().to_vec()).unwrap();
    assert_eq!((work.stamps, work.run_us), (Some(" ".repeat(16) + &hex), None));
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
    let work = script.last_batch();
    assert!(work.text.ends_with("0000020000"), "{work:?}");
    assert!(work.run_us.is_some_and(|us| us > 0 && us <= 60_000_000), "{work:?}");
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
    while script.last_batch().text.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the batch does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    canceller.cancel();
    let (first, done, second) = worker.join().unwrap();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Cancelled);
    // A server that cancels a call tells nothing of what it had done.
    assert_eq!((done, second.unwrap_err().kind()), (0, ErrorKind::Cancelled));
    let log = script.take_log();
    assert!(log.iter().any(|line| line == "slob2: ROLLBACK"), "{log:#?}");
}

/// A driver that can't break its own call: the statement goes by the account that looks, and the call has a limit.
#[test]
fn a_batch_is_ended_by_a_statement_where_its_own_connection_cannot() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let sql = "ALTER SYSTEM CANCEL SQL '12, 345, @1'";
    script.ended_by(sql);
    let mut session = session(&engine, 2);
    let deadline = Instant::now() + Duration::from_secs(20);
    session.execute(&vec![select(1, 2)].into(), Some(deadline), &mut Outcome::new()).unwrap();
    let limit = script.limits().pop().unwrap().unwrap();
    assert!(limit > Duration::from_secs(60) && limit <= Duration::from_secs(80), "{limit:?}");
    script.hangs();
    script.take_log();
    let canceller = session.canceller().unwrap();
    let worker = thread::spawn(move || {
        session.execute(&vec![select(1, 2), select(4, 2)].into(), None, &mut Outcome::new())
    });
    let begun = Instant::now();
    while !script.is_hanging() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the batch does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    canceller.cancel();
    assert_eq!(worker.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    let log = script.take_log();
    assert!(log.contains(&format!("system: {sql}")), "{log:#?}");
}

/// ORA-01013, ORA-00028 and ORA-03113 pass by WHEN OTHERS: the call has no answer, whatever it had done.
#[test]
fn what_no_handler_is_given_leaves_no_answer() {
    for (code, kind) in [(28, ErrorKind::Connection), (3113, ErrorKind::Connection), (1013, ErrorKind::Fatal)]
    {
        let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
        let engine = opened(&script, &folder);
        let mut session = session(&engine, 2);
        script.batch_fails_after(1, code);
        let mut outcome = Outcome::new();
        let error =
            session.execute(&vec![select(1, 2), select(4, 2)].into(), None, &mut outcome).unwrap_err();
        assert_eq!((error.kind(), outcome.ops().len()), (kind, 0), "{error}");
    }
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
    script.rows("SELECT resource_name", &[&["processes", "50", "300", "1"]]);
    script.fails("ALTER SYSTEM CHECKPOINT", 1031);
    assert_eq!(engine.before_run(&run).unwrap(), Vec::<String>::new(), "RDS has a procedure for it");
    script.fails("BEGIN rdsadmin", 6550);
    let notes = engine.before_run(&run).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("GRANT ALTER SYSTEM"), "{notes:?}");
    script.rows("SELECT operation", &[&["SELECT STATEMENT", "NULL"], &["TABLE ACCESS", "FULL"]]);
    let error = engine.before_run(&run).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("TABLE ACCESS FULL"), "{error}");
    let batched: &[&[&str]] =
        &[&["SORT", "AGGREGATE"], &["TABLE ACCESS", "BY INDEX ROWID BATCHED"], &["INDEX", "RANGE SCAN"]];
    script.rows("SELECT operation", batched);
    let error = engine.before_run(&run).unwrap_err();
    assert!(error.to_string().contains("BATCHED"), "its blocks are read together: {error}");
}

/// In a pluggable database V$RESOURCE_LIMIT has no rows.
#[test]
fn limits_are_taken_from_the_parameters_where_the_view_answers_nothing() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    let engine = opened(&script, &folder);
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
    let run = RunPlan { schemas: &schemas, sessions: 200, redo: None, scans: false, stop: None };
    let notes = engine.before_run(&run).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("whether there is room"), "{notes:?}");
    script.rows("SELECT p.name", &[&["processes", "100", "300", "1"], &["sessions", "20", "472", "1"]]);
    let error = engine.before_run(&run).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("processes"), "{error}");
    script.rows("SELECT p.name", &[&["processes", "10", "300", "1"], &["sessions", "20", "472", "1"]]);
    assert_eq!(engine.before_run(&run).unwrap(), Vec::<String>::new());
}

#[test]
fn plans_are_looked_at_with_the_settings_of_sessions() {
    let (folder, script) = (tempfile::tempdir().unwrap(), Script::new());
    script.take_log();
    drop(opened(&script, &folder));
    let old = Script::new();
    old.rows("SELECT version", &[&["12.2.0.1.0"]]);
    drop(old.open(folder.path(), EngineOptions::default()));
    let settings = |script: &Script| {
        let log = script.take_log();
        log.iter().filter(|line| line.starts_with("system: ALTER SESSION SET")).cloned().collect::<Vec<_>>()
    };
    let hints = "system: ALTER SESSION SET OPTIMIZER_IGNORE_HINTS = FALSE".to_owned();
    let known = settings(&old);
    assert!(known.len() == 2 && !known.contains(&hints), "12.2 does not know it: {known:?}");
    let fresh = Script::new();
    drop(fresh.open(folder.path(), EngineOptions::default()));
    assert!(settings(&fresh).contains(&hints));
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
