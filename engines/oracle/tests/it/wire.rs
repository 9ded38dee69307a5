//! The engine through Oracle's thin driver, on a server that speaks the wire protocol (`slob_testing::oracle`).
//!
//! It shows that driver, statements, binds and errors get on with the protocol. That server knows our statements and no SQL:
//! nothing here shows what Oracle's own server would answer.

#![allow(clippy::unwrap_used)]

use std::num::NonZeroU64;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use slob_engine::{
    CapturedAnswer, Counter, Engine, EngineError, ErrorKind, LoadProgress, LoadState, Outcome, RunPlan,
    Session, Slice,
};
use slob_engine_oracle::KIND;
use slob_method::{Batch, Op, RowState, RowView, Table};
use slob_spec::{RedoStress, StatisticsType};
use slob_testing::oracle::Oracle;
use slob_testing::work::{self, FIRST, LOAD, RUN, batch, executed, load_schema, schema};

/// A server, and what the engine knows of it.
struct Bed {
    oracle: Oracle,
    passwords: tempfile::TempDir,
}

impl Bed {
    fn start(description: &str) -> Option<Self> {
        Oracle::start_or_skip(description).map(Self::of)
    }

    fn of(oracle: Oracle) -> Self {
        Self { oracle, passwords: tempfile::tempdir().unwrap() }
    }

    fn open_with(&self, target: &str, flags: &[(&str, &str)]) -> Result<Box<dyn Engine>, EngineError> {
        let file = self.passwords.path().join("passwords").display().to_string();
        work::open(&KIND, target, &[&[("ORACLE_PASSWORD_FILE", file.as_str())], flags].concat())
    }

    fn open(&self) -> Box<dyn Engine> {
        self.open_with(&self.oracle.target(), &[]).unwrap()
    }

    /// The engine, with one schema.
    fn loaded(&self) -> Box<dyn Engine> {
        let engine = self.open();
        load_schema(engine.as_ref(), &LOAD, FIRST);
        engine
    }

    /// Statements since some moment, by words in them.
    fn sent(&self, since: usize, words: &str) -> usize {
        let statements = self.oracle.statements();
        statements[since..].iter().filter(|line| line.contains(words)).count()
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

#[rstest]
#[case("19c")]
#[case("23ai")]
fn passes_the_contract_suite(#[case] description: &str) {
    let Some(bed) = Bed::start(description) else { return };
    let open = || bed.open_with(&bed.oracle.target(), &[]);
    let verdicts = slob_engine::suite::run(&open, &mut |_, _| true).unwrap();
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(open().unwrap().schemas().unwrap().is_empty());
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
    let batches = thread::spawn(move || error_of(slow.as_mut(), &batch(0, 4, 3, 1000)));
    thread::sleep(Duration::from_millis(700));
    let asked = Instant::now();
    canceller.cancel();
    let (error, _) = batches.join().unwrap();
    assert!(error.kind() == ErrorKind::Cancelled && error.to_string().contains("ORA-01013"), "{error}");
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
    let error = engine.snapshot().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
}

#[test]
fn a_wrong_password_is_refused_and_not_repeated() {
    let Some(bed) = Bed::start("19c") else { return };
    let error = bed.open_with(&bed.oracle.target_of("system:S3CRET-word"), &[]).err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Privilege, Some("ORA-01017")), "{error}");
    let text = error.to_string();
    assert!(text.contains("SYSDBA_PASSWD") && !text.contains("S3CRET"), "{text}");
}

/// The slice whose connection was lost left no row, and the load goes on with it.
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

/// Whatever the server says of it: not allowed, not within a pluggable database, or nothing at all to RDS' procedure.
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

/// The mark of a schema is looked for once, not before each of thousands of slices.
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
        thread::sleep(Duration::from_secs(2));
        progress.stop();
        load.join().unwrap().unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(stopped.elapsed() < Duration::from_secs(50), "{:?}", stopped.elapsed());
    assert!(bed.sent(0, "ALTER SYSTEM CANCEL SQL") > 0);
}

/// Notes of a run that SELECTs, on what it cleaned out.
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

/// Where a load may not have its scans go through the cache, the first run pays, and says so.
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

/// Two instances of a cluster, a listener each: sessions take turns, figures stay apart, and AWR reports of both.
#[test]
fn sessions_and_figures_of_two_instances_are_apart() {
    let Some(oracle) = Oracle::start_instances_or_skip("19c", 2) else { return };
    let bed = Bed::of(oracle);
    let engine = bed.loaded();
    assert_eq!(engine.endpoints().len(), 2);
    let before = engine.snapshot().unwrap();
    let mut report = engine.open_server_report(StatisticsType::Awr).unwrap().unwrap();
    let work = [(0, 300), (1, 100)];
    for (number, count) in work {
        let mut session = work::session(engine.as_ref(), number, RedoStress::Lite).unwrap();
        executed(session.as_mut(), &batch(0, 8, 3, count), None);
    }
    let after = engine.snapshot().unwrap();
    let reads =
        |server| after.server_since(server, &before).unwrap().counters.get(Counter::PhysicalReads).unwrap();
    let grown = [reads(0), reads(1)];
    assert_eq!(grown, work.map(|(_, count)| 8 * count as u64));
    report.close().unwrap();
    let files = report.fetch().unwrap().files;
    assert_eq!(
        files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
        ["awr_rac.txt", "awr_rac.html"]
    );
    assert!(files[0].text.contains("global report of 1,2"), "{}", files[0].text);
    assert!(bed.sent(0, "SLOB1@1: DECLARE") > 0 && bed.sent(0, "SLOB1@2: DECLARE") > 0);
    assert!(bed.sent(0, "FROM gv$sysstat") > 0 && bed.sent(0, "FROM v$sysstat") == 0);
}

/// The instance of a session is gone; those of the other one work on, and figures are read.
#[test]
fn a_lost_instance_takes_only_its_own_sessions_with_it() {
    let Some(oracle) = Oracle::start_instances_or_skip("19c", 2) else { return };
    let bed = Bed::of(oracle);
    let engine = bed.loaded();
    let [mut first, mut second] =
        [0, 1].map(|number| work::session(engine.as_ref(), number, RedoStress::Lite).unwrap());
    bed.oracle.fail("@2: => cut");
    let (error, _) = error_of(second.as_mut(), &batch(0, 4, 3, 50));
    assert!(error.kind() == ErrorKind::Connection && error.to_string().contains("session 1"), "{error}");
    executed(first.as_mut(), &batch(20, 4, 3, 50), None);
    engine.snapshot().unwrap();
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

/// An authority with the certificate of a server at 127.0.0.1, by OpenSSL: `ca.pem`, and `tls.pem` with the server's key.
fn certificates(folder: &Path) {
    let make = |arguments: &str| {
        let done =
            Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    make(&format!("{new} -subj /CN=authority -keyout ca.key -out ca.pem"));
    let ends = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    make(&format!("{new} -subj /CN=server -CA ca.pem -CAkey ca.key {ends} -keyout tls.key -out tls.crt"));
    let parts = ["tls.crt", "tls.key"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    std::fs::write(folder.join("tls.pem"), parts.concat()).unwrap();
}

/// A server on TLS, and a wallet with the certificate of its authority and its net service name `slob_tp`.
fn on_tls() -> Option<(Bed, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let pem = std::fs::read_to_string(folder.path().join("tls.pem")).unwrap();
    let bed = Bed::of(Oracle::start_with_tls_or_skip("19c", &pem)?);
    std::fs::copy(folder.path().join("ca.pem"), folder.path().join("ewallet.pem")).unwrap();
    let name = format!(
        "slob_tp = (DESCRIPTION = (ADDRESS = (PROTOCOL = TCPS)(HOST = 127.0.0.1)(PORT = {})) \
         (CONNECT_DATA = (SERVICE_NAME = pdb1)))\n",
        bed.oracle.port()
    );
    std::fs::write(folder.path().join("tnsnames.ora"), name).unwrap();
    Some((bed, folder))
}

/// By host and port, and as the unzipped wallet of an Autonomous Database does it: by its folder alone.
#[test]
fn a_wallet_of_a_private_authority_is_trusted() {
    let Some((bed, wallet)) = on_tls() else { return };
    let wallet = wallet.path().display();
    let plain = bed.oracle.target();
    for target in [
        format!("{plain}&wallet={wallet}"),
        format!("oracle://system:manager@slob_tp?driver=thin&wallet={wallet}"),
    ] {
        let engine = bed.open_with(&target, &[]).unwrap();
        load_schema(engine.as_ref(), &LOAD, FIRST);
        executed(session(engine.as_ref()).as_mut(), &batch(20, 4, 3, 50), None);
        engine.drop_schema(FIRST).unwrap();
    }
}

#[test]
fn a_certificate_that_is_not_trusted_says_how_to_trust_it() {
    let Some((bed, wallet)) = on_tls() else { return };
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    std::fs::copy(other.path().join("ca.pem"), wallet.path().join("ewallet.pem")).unwrap();
    let target = format!("{}&wallet={}", bed.oracle.target(), wallet.path().display());
    let refused = |target: &str| bed.open_with(target, &[]).err().unwrap();
    let error = refused(&target);
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("?wallet=FOLDER"), "{error}");
    std::fs::remove_file(wallet.path().join("ewallet.pem")).unwrap();
    let error = refused(&target);
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("ewallet.pem"), "{error}");
}

/// The key of a wallet is encrypted; its password is a secret.
#[test]
fn the_password_of_a_wallet_opens_its_key() {
    let Some((bed, wallet)) = on_tls() else { return };
    let encrypt = "pkcs8 -topk8 -v2 aes-256-cbc -in tls.key -passout pass:S3CRET-word -out wallet.key";
    let arguments = encrypt.split_whitespace();
    let done = Command::new("openssl").args(arguments).current_dir(wallet.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let parts =
        ["wallet.key", "tls.crt"].map(|name| std::fs::read_to_string(wallet.path().join(name)).unwrap());
    std::fs::write(wallet.path().join("ewallet.pem"), parts.concat()).unwrap();
    let target = format!("{}&wallet={}", bed.oracle.target(), wallet.path().display());
    let said = |password| {
        let opened = bed.open_with(&target, &[("ORACLE_WALLET_PASSWORD", password)]);
        opened.err().unwrap().to_string()
    };
    assert!(said("S3CRET-other").contains("ORACLE_WALLET_PASSWORD"));
    assert!(!said("S3CRET-other").contains("S3CRET"));
    // With a key in the wallet the driver trusts public authorities alone: it gets as far as the server's certificate.
    assert!(said("S3CRET-word").contains("certificate"), "{}", said("S3CRET-word"));
}

/// Words of a statement between its placeholders, as they arrive.
fn longest_part(sql: &str) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    sql.split(['{', '}', ';', '"']).map(words).max_by_key(String::len).unwrap()
}

/// Each file of statements is in one row of the table of docs/oracle.md, and those of the first row met the wire.
#[test]
fn the_table_of_statements_says_which_met_the_wire() {
    let mut met = String::new();
    for description in ["11.2", "19c"] {
        let Some(bed) = Bed::start(description) else { return };
        let engine = bed.loaded();
        load_schema(engine.as_ref(), &LOAD, schema(2));
        engine.server().unwrap();
        for kind in [StatisticsType::Awr, StatisticsType::Statspack] {
            let mut report = engine.open_server_report(kind).unwrap().unwrap();
            report.close().unwrap();
            report.fetch().unwrap();
        }
        bed.oracle.fail("alter system checkpoint => error 1031");
        engine.before_run(&RUN).unwrap();
        bed.oracle.fail(":work => slow 0.1");
        let mut running = session(engine.as_ref());
        let canceller = running.canceller().unwrap();
        let pausing: Vec<Op> =
            batch(50, 4, 1, 90).ops().iter().map(|op| Op { pause_us: 20_000, ..*op }).collect();
        let batches = thread::spawn(move || error_of(running.as_mut(), &Batch::from(pausing)));
        thread::sleep(Duration::from_millis(500));
        canceller.cancel();
        batches.join().unwrap();
        engine.read_rows(&Slice { schema: FIRST, table: Table::Main, positions: 1..5 }, &mut |_| {}).unwrap();
        engine.capture().unwrap();
        drop(engine);
        // An interrupted load that made an account and nothing in it, and accounts of somebody else.
        bed.oracle.fail("create table => error 1950");
        bed.open().create_schema(&LOAD, schema(3)).unwrap_err();
        bed.oracle.fail("");
        bed.open().create_schema(&LOAD, schema(3)).unwrap();
        let existing = bed.open_with(&bed.oracle.target(), &[("ORACLE_ACCOUNTS", "existing")]).unwrap();
        existing.drop_schema(schema(2)).unwrap();
        existing.create_schema(&LOAD, schema(2)).unwrap_err();
        met += &bed.oracle.statements().join("\n");
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(package.join("../../docs/oracle.md")).unwrap();
    let row = |title: &str| {
        let line = document.lines().find(|line| line.starts_with(&format!("| {title} |"))).unwrap();
        line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut seen, mut others) = (Vec::new(), Vec::new());
    for file in std::fs::read_dir(package.join("sql")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let part = longest_part(&std::fs::read_to_string(path).unwrap());
        if met.contains(&part) { &mut seen } else { &mut others }.push(name);
    }
    seen.sort();
    others.sort();
    assert_eq!((row("on the wire"), row("not on the wire")), (seen, others));
}

/// A text in the national character set would make the server convert the column, and pass by its index.
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
