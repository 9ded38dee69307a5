//! The engine through Oracle's thin driver, on a server that speaks the wire protocol (`slob_testing::oracle`). That server knows
//! our statements and no SQL, so nothing here shows what Oracle would answer.

mod cluster;
pub(crate) mod statements;
mod tls;

use std::num::NonZeroU64;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use slob_engine::{
    CapturedAnswer, Counter, Engine, EngineError, ErrorKind, Load, LoadProgress, LoadState, OpenSpec,
    Outcome, Purpose, RunPlan, Session, Slice,
};
use slob_engine_oracle::KIND;
use slob_method::{Batch, Op, RowState, RowView, Table};
use slob_spec::{RedoStress, StatisticsType};
use slob_testing::oracle::Oracle;
use slob_testing::tries::{ensure, until};
use slob_testing::work::{self, FIRST, LOAD, RUN, assert_says, batch, executed, load_schema, schema};
use slob_testing::{is_full, skipped};

pub(crate) struct Bed {
    pub(crate) oracle: Oracle,
    passwords: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn start(description: &str) -> Option<Self> {
        Oracle::start_or_skip(description).map(Self::of)
    }

    fn of(oracle: Oracle) -> Self {
        Self { oracle, passwords: tempfile::tempdir().unwrap() }
    }

    fn spec(&self, target: &str, flags: &[(&str, &str)]) -> OpenSpec {
        let file = self.passwords.path().join("passwords").display().to_string();
        let flags = [&[("ORACLE_PASSWORD_FILE", file.as_str())], flags].concat();
        OpenSpec::new(target.parse().unwrap(), Purpose::Load, work::options(&KIND, &flags))
    }

    pub(crate) fn open_with(
        &self,
        target: &str,
        flags: &[(&str, &str)],
    ) -> Result<Box<dyn Engine>, EngineError> {
        (KIND.open)(&self.spec(target, flags))
    }

    fn open(&self) -> Box<dyn Engine> {
        self.open_with(&self.oracle.target(), &[]).unwrap()
    }

    fn loaded(&self) -> Box<dyn Engine> {
        let engine = self.open();
        load_schema(engine.as_ref(), &LOAD, FIRST);
        engine
    }

    /// `words` must be in them.
    fn sent(&self, since: usize, words: &str) -> usize {
        let statements = self.oracle.statements();
        statements[since..].iter().filter(|line| line.contains(words)).count()
    }

    fn has_begun(&self, since: usize, words: &str) {
        until(|| ensure(self.sent(since, words) > 0, || format!("no '{words}' was sent")));
    }
}

fn session(engine: &dyn Engine) -> Box<dyn Session> {
    work::session(engine, 0, RedoStress::Lite).unwrap()
}

fn error_of(session: &mut dyn Session, batch: &Batch) -> (EngineError, usize) {
    let mut outcome = Outcome::new();
    let error = session.execute(batch, None, &mut outcome).unwrap_err();
    (error, outcome.ops().len())
}

/// Everything that a user does with a database, on each kind of server.
#[rstest]
#[case("11.2")]
#[case("12.2")]
#[case("19c")]
#[case("23ai")]
#[case("rds")]
#[case("autonomous")]
fn a_job_from_load_to_drop(#[case] description: &str) {
    if ["12.2", "rds"].contains(&description) && !is_full() {
        return skipped("an older and a newer one have theirs; DRILLS=full makes it");
    }
    let Some(bed) = Bed::start(description) else { return };
    let engine = bed.loaded();
    load_schema(engine.as_ref(), &LOAD, schema(2));
    let server = engine.server().unwrap();
    assert_eq!(server.block_bytes, 8192);
    let mut changed = 0;
    let notes = engine.before_run(&RUN).unwrap();
    let before = engine.snapshot().unwrap();
    let updates = executed(session(engine.as_ref()).as_mut(), &batch(50, 8, 5, 1500), None);
    let delta = engine.snapshot().unwrap().since(&before).counters;
    assert_eq!(updates.ops().len(), 1500, "{notes:?}");
    assert!(delta.get(Counter::RedoBytes).unwrap() > 0);
    let is_container = ["12.2", "19c", "23ai", "autonomous"].contains(&description);
    assert_eq!(delta.get(Counter::PhysicalWrites).is_none(), is_container, "{delta:?}");
    let verifier = LOAD.verifier(Table::Main, FIRST, 0);
    let mut count =
        |row: &RowView<'_>| changed += usize::from(verifier.check(row).unwrap() != RowState::Loaded);
    engine
        .read_rows(&Slice { schema: FIRST, table: Table::Main, positions: 1..LOAD.scale + 1 }, &mut count)
        .unwrap();
    assert!(changed > 0);
    let captured = engine.capture().unwrap();
    let replayed = (KIND.replay.unwrap())(&captured).unwrap();
    assert!(replayed.counters.get(Counter::LogicalReads).unwrap() > 100_000);
    for number in [1, 2] {
        engine.drop_schema(schema(number)).unwrap();
    }
    assert!(engine.schemas().unwrap().is_empty());
}

/// A batch that an error ends: what it is, and the operations before it.
#[rstest]
#[case("error 1555 after 7", ErrorKind::Retryable, "ORA-01555", 7)]
#[case("error 28 after 7", ErrorKind::Connection, "ORA-00028", 0)]
#[case("cut after 7", ErrorKind::Connection, "ORA-12537", 0)]
fn a_batch_that_fails_says_why(
    #[case] fault: &str,
    #[case] kind: ErrorKind,
    #[case] code: &str,
    #[case] done: usize,
) {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.loaded();
    let mut running = session(engine.as_ref());
    bed.oracle.fail(&format!(":work => {fault}"));
    let (error, executed_ops) = error_of(running.as_mut(), &batch(20, 4, 3, 50));
    assert_eq!((error.kind(), error.code(), executed_ops), (kind, Some(code), done), "{error}");
    assert!(error.to_string().contains("session 0"), "{error}");
    bed.oracle.fail("");
    if kind == ErrorKind::Retryable {
        executed(running.as_mut(), &batch(20, 4, 4, 50), None);
    } else {
        assert_eq!(error_of(running.as_mut(), &batch(0, 4, 4, 5)).0.kind(), ErrorKind::Connection);
    }
    executed(session(engine.as_ref()).as_mut(), &batch(20, 4, 5, 50), None);
}

#[test]
fn a_slow_server_is_cancelled_by_the_administrator() {
    let Some(bed) = Bed::start("23ai") else { return };
    let engine = bed.loaded();
    let mut slow = session(engine.as_ref());
    let canceller = slow.canceller().unwrap();
    bed.oracle.fail(":work => slow 0.3");
    let before = bed.oracle.statements().len();
    let batches = thread::spawn(move || error_of(slow.as_mut(), &batch(0, 4, 3, 1000)));
    bed.has_begun(before, "DECLARE");
    let asked = Instant::now();
    canceller.cancel();
    let (error, _) = batches.join().unwrap();
    assert_says(&error, ErrorKind::Cancelled, &["ORA-01013"]);
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?} of 300 s", asked.elapsed());
    assert!(bed.sent(0, "SYSTEM@1: ALTER SYSTEM CANCEL SQL '") > 0);
}

#[test]
fn a_killed_server_is_a_lost_connection() {
    let Some(mut bed) = Bed::start("19c") else { return };
    let engine = bed.loaded();
    let mut running = session(engine.as_ref());
    bed.oracle.kill();
    assert_eq!(error_of(running.as_mut(), &batch(0, 4, 3, 50)).0.kind(), ErrorKind::Connection);
    assert_says(&engine.snapshot().unwrap_err(), ErrorKind::Connection, &[]);
}

#[test]
fn a_wrong_password_is_refused_and_not_repeated() {
    let Some(bed) = Bed::start("19c") else { return };
    let error = bed.open_with(&bed.oracle.target_of("system:S3CRET-word"), &[]).err().unwrap();
    assert_says(&error, ErrorKind::Privilege, &["ORA-01017", "SYSDBA_PASSWD"]);
    assert!(!error.to_string().contains("S3CRET"), "{error}");
}

/// The slice whose connection was lost left no row.
#[test]
fn a_load_that_loses_its_connection_is_resumed() {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.open();
    engine.create_schema(&LOAD, FIRST).unwrap();
    let slices: Vec<_> = LOAD.slices(FIRST).collect();
    let progress = LoadProgress::default();
    engine.load_slice(&LOAD, &slices[0], &progress).unwrap();
    bed.oracle.fail("insert into slob1.slob_slice => cut");
    let error = engine.load_slice(&LOAD, &slices[1], &progress).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    bed.oracle.fail("");
    let state = bed.open().schemas().unwrap().remove(0).state;
    assert_eq!(state, LoadState::Begun(vec![slices[0].clone()]));
    for slice in &slices[1..] {
        engine.load_slice(&LOAD, slice, &progress).unwrap();
    }
    assert_eq!(engine.finish_schema(&LOAD, FIRST).unwrap().rows, LOAD.scale);
}

#[rstest]
#[case("set cursor_sharing => error 1031", None)]
#[case("disable parallel dml => error 2248", None)]
#[case("set result_cache_mode => error 1031", Some(ErrorKind::Privilege))]
#[case("disable parallel query => cut", Some(ErrorKind::Connection))]
fn a_refused_alter_session_is_an_error_only_if_figures_rest_on_it(
    #[case] fault: &str,
    #[case] kind: Option<ErrorKind>,
) {
    let Some(bed) = Bed::start("19c") else { return };
    drop(bed.loaded());
    bed.oracle.fail(fault);
    let opened = bed.open_with(&bed.oracle.target(), &[]);
    assert_eq!(opened.as_ref().err().map(EngineError::kind), kind);
    if let Ok(engine) = opened {
        executed(session(engine.as_ref()).as_mut(), &batch(20, 4, 3, 50), None);
        let notes = engine.before_run(&RUN).unwrap();
        let (words, _) = fault.split_once(" =>").unwrap();
        assert_eq!(notes.iter().filter(|note| note.to_lowercase().contains(words)).count(), 1, "{notes:?}");
    }
}

/// The checkpoint may be forbidden, impossible in a pluggable database, or refused without words.
#[rstest]
#[case("error 1031")]
#[case("error 65040")]
#[case("error 3001")]
fn a_checkpoint_that_fails_is_a_note(#[case] fault: &str) {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.loaded();
    let notes_on_it = || {
        let notes = engine.before_run(&RUN).unwrap();
        notes.into_iter().filter(|note| note.contains("No checkpoint")).collect::<Vec<_>>()
    };
    assert_eq!(notes_on_it(), Vec::<String>::new());
    bed.oracle.fail(&format!("alter system checkpoint => {fault}"));
    assert_eq!(notes_on_it(), Vec::<String>::new(), "RDS' procedure made it");
    bed.oracle.fail(&format!("checkpoint => {fault}"));
    let notes = notes_on_it();
    assert!(notes.len() == 1 && notes[0].contains("ORA-"), "{notes:?}");
}

/// A load has thousands of slices.
#[test]
fn slices_ask_for_the_mark_of_their_schema_once() {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.open();
    engine.create_schema(&LOAD, FIRST).unwrap();
    let before = bed.oracle.statements().len();
    for slice in LOAD.slices(FIRST) {
        engine.load_slice(&LOAD, &slice, &LoadProgress::default()).unwrap();
    }
    assert!(bed.sent(before, "APPEND_VALUES") > 3);
    assert_eq!(bed.sent(before, "FROM all_tab_comments"), 1);
}

/// The server is at work on the rows of a slice when the load is stopped.
#[test]
fn a_load_that_is_stopped_in_a_call_ends_it() {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.open();
    engine.create_schema(&LOAD, FIRST).unwrap();
    bed.oracle.fail("append_values => wait 60");
    let (slice, progress) = (LOAD.slices(FIRST).next().unwrap(), LoadProgress::default());
    let stopped = Instant::now();
    let error = thread::scope(|scope| {
        let load = scope.spawn(|| engine.load_slice(&LOAD, &slice, &progress));
        bed.has_begun(0, "APPEND_VALUES");
        progress.stop();
        load.join().unwrap().unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(stopped.elapsed() < Duration::from_secs(50), "{:?}", stopped.elapsed());
    assert!(bed.sent(0, "ALTER SYSTEM CANCEL SQL") > 0);
}

fn cleanouts(engine: &dyn Engine) -> Vec<String> {
    let run = RunPlan { redo: None, ..RUN };
    engine.before_run(&run).unwrap();
    executed(session(engine).as_mut(), &batch(0, 64, 3, 50), None);
    engine.after_run().into_iter().filter(|note| note.contains("cleaned")).collect()
}

#[test]
fn the_first_selects_after_a_load_clean_no_blocks_out() {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.loaded();
    let before = engine.snapshot().unwrap();
    assert_eq!(cleanouts(engine.as_ref()), Vec::<String>::new());
    assert_eq!(engine.snapshot().unwrap().since(&before).counters.get(Counter::RedoBytes), Some(0));
}

/// A load whose scans may not use the cache leaves the work to the first run.
#[test]
fn blocks_that_selects_clean_out_are_remarked() {
    let Some(bed) = Bed::start("19c") else { return };
    bed.oracle.fail("_serial_direct_read => error 1031");
    let engine = bed.loaded();
    let notes = cleanouts(engine.as_ref());
    assert!(notes.len() == 1 && notes[0].contains("without UPDATEs"), "{notes:?}");
    assert_eq!(cleanouts(engine.as_ref()), Vec::<String>::new(), "they are clean now");
}

#[test]
fn a_long_step_of_the_servers_clock_is_said() {
    let step = |description| {
        let bed = Bed::start(description)?;
        let server = bed.open().server().unwrap();
        let advice = server.advice.into_iter().filter(|words| words.contains("clock steps"));
        Some((server.clock_step_ns.map(NonZeroU64::get), advice.collect::<Vec<_>>()))
    };
    let Some((step_ns, advice)) = step("windows") else { return };
    assert_eq!(step_ns, Some(1_000_000));
    assert!(advice.len() == 1 && advice[0].contains("1000 us"), "{advice:?}");
    assert_eq!(step("19c").unwrap(), (Some(1_000), Vec::new()));
}

#[test]
fn tables_are_in_the_buffer_pool_that_was_asked_for() {
    let Some(bed) = Bed::start("19c") else { return };
    for (pool, name, fit) in
        [("default", "DEFAULT", false), ("keep", "KEEP", true), ("recycle", "RECYCLE", false)]
    {
        let engine = bed.open_with(&bed.oracle.target(), &[("ORACLE_BUFFER_POOL", pool)]).unwrap();
        load_schema(engine.as_ref(), &LOAD, FIRST);
        let server = bed.open().server().unwrap();
        let found = server.settings.iter().find(|setting| setting.name == "buffer pool").unwrap();
        assert_eq!(found.value, name);
        // The pool KEEP of this server has 4 GiB, the others 1 MiB.
        assert_eq!(
            server.advice.iter().any(|words| words.contains("fit into the buffer cache")),
            fit,
            "{pool}"
        );
        engine.drop_schema(FIRST).unwrap();
    }
}

#[test]
fn a_capture_shows_the_time_outside_of_operations() {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.loaded();
    executed(session(engine.as_ref()).as_mut(), &batch(0, 4, 3, 1500), None);
    let captured = engine.capture().unwrap();
    let rows = CapturedAnswer::rows_of(&captured, "time of calls outside of operations");
    let numbers: Vec<u64> = rows[0].iter().flatten().map(|text| text.parse().unwrap()).collect();
    // A call without operations compiled the block.
    assert_eq!(numbers[..2], [3, 1500]);
    assert!(numbers[2] > 0);
}

/// A kit's schemas are worked on as they are, and never dropped.
#[test]
fn schemas_of_a_kit_are_used_and_left_alone() {
    let Some(bed) = Bed::start("kit") else { return };
    let engine = bed.open_with(&bed.oracle.target(), &[("ORACLE_ACCOUNTS", "kit")]).unwrap();
    let found = engine.schemas().unwrap();
    let seen: Vec<_> = found.iter().map(|of| (of.schema, of.load.scale, of.load.scan_blocks)).collect();
    assert_eq!(seen, [(FIRST, 1000, 50), (schema(2), 1000, 50)]);
    executed(session(engine.as_ref()).as_mut(), &batch(20, 4, 3, 50), None);
    assert_eq!(engine.drop_schema(FIRST).unwrap_err().kind(), ErrorKind::Usage);
    assert!(bed.sent(0, "USER1@1: DECLARE") > 0 && bed.sent(0, "DROP ") == 0);
}

/// A national text makes the server convert the column, and pass by its index.
#[test]
fn texts_are_bound_in_the_databases_character_set() {
    let Some(bed) = Bed::start("19c") else { return };
    let engine = bed.loaded();
    executed(session(engine.as_ref()).as_mut(), &batch(20, 4, 3, 50), None);
    let statements = bed.oracle.statements();
    let blocks: Vec<_> = statements.iter().filter(|line| line.contains(":work")).collect();
    // Type, character set form and size of each variable: 1 is VARCHAR2, and the database's character set.
    assert!(blocks.len() > 1 && blocks.iter().all(|line| line.contains("['1/1/")), "{blocks:?}");
    assert!(!statements.iter().any(|line| line.contains("'1/2/")));
}
