//! Sessions and what precedes a run, call by call.

use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Engine, ErrorKind, Outcome, Result, RunPlan, Session, SessionPlan};
use slob_method::{Action, Batch, KeyRange, Op, SchemaNo, Stamp};
use slob_spec::RedoStress;
use slob_testing::work::{assert_says, plan_beside_hot};

use super::{Server, options};

fn plan() -> SessionPlan {
    plan_beside_hot(0, Some(RedoStress::Lite))
}

fn op(action: Action, schema: u16, pause_us: u32) -> Op {
    Op { action, schema: SchemaNo::new(schema).unwrap(), pause_us, commits: true }
}

fn select(first: u64) -> Op {
    op(Action::Select(KeyRange { first, blocks: 3 }), 2, 0)
}

fn two_selects() -> Batch {
    vec![select(1), select(4)].into()
}

fn opened(titles: &[&str]) -> (Server, Box<dyn Session>) {
    let server = Server::loaded(&[&["open session"], titles].concat());
    let session = server.open().session(&plan()).unwrap();
    (server, session)
}

#[test]
fn a_session_is_set_up_and_its_block_compiled_before_it_works() {
    let (server, _session) = opened(&[]);
    assert_eq!(server.player.state().input.ops, "");
}

#[test]
fn a_batch_is_one_call_with_its_operations_as_text() {
    // A SELECT at home, then an UPDATE in the hot schema.
    let ops = ["0 000000000000004 0003 0000000000", "5 000000000000005 0002 0000000000"];
    let (server, mut session) = opened(&[&format!("batch: {}", ops.concat().replace(' ', ""))]);
    let stamp = Stamp::new(1, 2, 3);
    let update = op(Action::Update(KeyRange { first: 5, blocks: 2 }, stamp), 1, 0);
    let mut outcome = Outcome::new();
    session.execute(&vec![select(4), update].into(), None, &mut outcome).unwrap();
    let input = server.player.state().input.clone();
    let hex = String::from_utf8(stamp.hex().to_vec()).unwrap();
    assert_eq!((input.stamps, input.run_us), (Some(" ".repeat(16) + &hex), None));
    let done: Vec<_> = outcome.ops().iter().map(|op| (op.duration_ns, op.rows)).collect();
    assert_eq!(done, [(8000, 3), (8000, 2)]);
}

#[test]
fn pauses_and_deadlines_go_to_the_server() {
    let (server, mut session) = opened(&["batch: 000000000000000100030000020000"]);
    let batch: Batch = vec![op(select(1).action, 2, 20_000)].into();
    session.execute(&batch, Some(Instant::now() + Duration::from_secs(60)), &mut Outcome::new()).unwrap();
    let run_us = server.player.state().input.run_us;
    assert!(run_us.is_some_and(|us| us > 0 && us <= 60_000_000), "{run_us:?}");
    let mut outcome = Outcome::new();
    session.execute(&batch, Some(Instant::now()), &mut outcome).unwrap();
    assert!(outcome.ops().is_empty(), "the deadline was over");
}

#[test]
fn in_an_open_loop_late_operations_go_together_and_others_when_they_are_due() {
    let (_server, mut session) = opened(&[
        "batch: 000000000000000100030000000000000000000000000200030000000000",
        "batch: 000000000000000300030000000000",
    ]);
    let mut batch = Batch::due([(select(1), 5), (select(2), 6), (select(3), 60_000_000)]);
    batch.hand_over(10);
    let mut outcome = Outcome::new();
    session.execute(&batch, None, &mut outcome).unwrap();
    assert_eq!(outcome.ops().len(), 3);
    assert!(outcome.ops()[2].start_ns >= 59_999_990, "{:?}", outcome.ops());
}

#[test]
fn operations_before_an_error_are_in_the_outcome() {
    let (_server, mut session) = opened(&["two operations of which one succeeds: 60"]);
    let mut outcome = Outcome::new();
    let error = session.execute(&two_selects(), None, &mut outcome).unwrap_err();
    assert_eq!((error.kind(), outcome.ops().len()), (ErrorKind::Retryable, 1));
    assert!(error.to_string().contains("SELECT of keys 4 to 6 in schema 2"), "{error}");
}

/// Returns both results, and the operations of the first batch.
fn cancelled(server: &Server, mut session: Box<dyn Session>) -> (Result<()>, usize, Result<()>) {
    let canceller = session.canceller().unwrap();
    let worker = thread::spawn(move || {
        let mut outcome = Outcome::new();
        let first = session.execute(&two_selects(), None, &mut outcome);
        let done = outcome.ops().len();
        (first, done, session.execute(&vec![select(1)].into(), None, &mut outcome))
    });
    let begun = Instant::now();
    while !server.player.state().is_hanging {
        assert!(begun.elapsed() < Duration::from_secs(60), "the batch does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    canceller.cancel();
    worker.join().unwrap()
}

#[test]
fn a_batch_is_broken_from_another_thread_and_stays_so() {
    let (server, session) = opened(&["a batch that hangs"]);
    let (first, done, second) = cancelled(&server, session);
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Cancelled);
    // A cancelled call returns no results.
    assert_eq!((done, second.unwrap_err().kind()), (0, ErrorKind::Cancelled));
}

/// The driver can't break its own call, so the administrator's connection does, and the call has a time limit.
#[test]
fn a_batch_is_cancelled_by_a_statement_where_its_own_connection_cannot() {
    let server = Server::loaded(&[
        "open session",
        "batch: 000000000000000100030000000000",
        "the administrator cancels",
    ]);
    let sql = "ALTER SYSTEM CANCEL SQL '12, 345, @1'";
    server.player.state().cancelled_by = Some(sql.into());
    let engine = server.open();
    let mut session = engine.session(&plan()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    session.execute(&vec![select(1)].into(), Some(deadline), &mut Outcome::new()).unwrap();
    let limit = server.player.state().limits.pop().unwrap().unwrap();
    assert!(limit > Duration::from_secs(60) && limit <= Duration::from_secs(80), "{limit:?}");
    server.then("a batch that hangs");
    let (first, ..) = cancelled(&server, session);
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Cancelled);
    let calls = server.calls();
    assert!(calls.contains(&format!("system: {sql}")), "{calls:#?}");
}

/// ORA-01013, ORA-00028 and ORA-03113 pass by WHEN OTHERS.
#[test]
fn errors_that_no_handler_receives_leave_no_results() {
    for (code, kind) in [(28, ErrorKind::Connection), (3113, ErrorKind::Connection), (1013, ErrorKind::Fatal)]
    {
        let (_server, mut session) = opened(&[&format!("a batch that is rolled back: {code}")]);
        let mut outcome = Outcome::new();
        let error = session.execute(&two_selects(), None, &mut outcome).unwrap_err();
        assert_eq!((error.kind(), outcome.ops().len()), (kind, 0), "{error}");
    }
}

#[test]
fn a_cancellation_by_others_is_no_cancellation_of_ours() {
    let (_server, mut session) = opened(&["a batch that someone cancels"]);
    let error = session.execute(&vec![select(1)].into(), None, &mut Outcome::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error}");
}

fn before_run(titles: &[&str], sessions: u32) -> Result<Vec<String>> {
    let server = Server::loaded(titles);
    let schemas: Vec<SchemaNo> = SchemaNo::up_to(2).collect();
    let run = RunPlan { schemas: &schemas, sessions, redo: None, scans: false, stop: None };
    server.open().before_run(&run)
}

#[test]
fn a_run_is_refused_unless_its_plans_read_block_by_block() {
    let notes = before_run(&["room in the view", "plans", "checkpoint on RDS"], 2).unwrap();
    assert_eq!(notes, Vec::<String>::new(), "RDS has a procedure for it");
    let notes = before_run(&["room in the view", "plans", "no checkpoint"], 2).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("GRANT ALTER SYSTEM"), "{notes:?}");
    for (plan, words) in
        [("the plan is a full scan", "TABLE ACCESS FULL"), ("the plan gathers blocks", "BATCHED")]
    {
        assert_says(&before_run(&["room in the view", plan], 2).unwrap_err(), ErrorKind::Usage, &[words]);
    }
}

/// In a pluggable database V$RESOURCE_LIMIT has no rows.
#[test]
fn limits_are_taken_from_the_parameters_where_the_view_has_no_rows() {
    let notes = before_run(&["no rows in the view", "plans", "checkpoint"], 200).unwrap();
    assert!(notes.len() == 1 && notes[0].contains("whether there is room"), "{notes:?}");
    let error = before_run(&["room by the parameters: 100"], 200).unwrap_err();
    assert_says(&error, ErrorKind::Usage, &["processes"]);
    let notes = before_run(&["room by the parameters: 10", "plans", "checkpoint"], 200).unwrap();
    assert_eq!(notes, Vec::<String>::new());
}

/// 12.2 does not know OPTIMIZER_IGNORE_HINTS.
#[test]
fn plans_are_checked_with_the_settings_of_sessions() {
    for release in ["open on 12.2", "open"] {
        drop(Server::plays(&[release]).open());
    }
}

#[test]
fn sessions_go_round_robin_to_the_services_and_the_rest_to_that_of_the_administrator() {
    let server = Server::plays(&[
        "open by adm",
        "look for schemas",
        "open session of service: rac1",
        "open session of service: rac2",
        "open session of service: rac1",
    ]);
    // Passwords are kept by the administrator's service.
    server.write_passwords("adm\tSLOB2\ttwo\n");
    let services = [
        ("DBA_PRIV_USER", "system"),
        ("SYSDBA_PASSWD", "manager"),
        ("ADMIN_SQLNET_SERVICE", "adm"),
        ("SQLNET_SERVICE_BASE", "rac"),
        ("SQLNET_SERVICE_MAX", "2"),
    ];
    let engine = server.open_as("oracle:", options(&services)).unwrap();
    assert_eq!(engine.endpoints(), ["rac1", "rac2"]);
    let session = |number| engine.session(&SessionPlan { number, ..plan() }).unwrap();
    let sessions: Vec<_> = (0..3).map(session).collect();
    assert_eq!(sessions.iter().map(|session| session.endpoint()).collect::<Vec<_>>(), [0, 1, 0]);
}
