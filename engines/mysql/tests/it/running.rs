//! Sessions, counters, events and refusals on a real server.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mysql::prelude::Queryable;
use rstest::rstest;
use slob_engine::{Clues, Counter, ErrorKind, Outcome};
use slob_method::{Action, Op};
use slob_observe::{NEVER, Observer};
use slob_server::NOT_SAMPLED;
use slob_spec::RedoStress;
use slob_testing::jobs;
use slob_testing::tries::{ensure, shown_within, until};
use slob_testing::work::{RUN, assert_says, batch, executed};

use crate::loaded::{as_administrator, found, loaded, open};

#[test]
fn blocks_seen_are_blocks_counted() {
    let Some(loaded) = loaded(&["innodb-buffer-pool-size=8M"], &[]) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    executed(session.as_mut(), &batch(0, 64, 1, 10), None);
    let delta = loaded.counted(|| drop(executed(session.as_mut(), &batch(0, 64, 2, 300), None)));
    let seen = 300.0 * 64.0;
    let physical = delta.get(Counter::PhysicalReads).expect("counted");
    assert!(physical as f64 > 0.5 * seen, "{physical} of a table four times the pool");
    assert!((physical as f64) < 1.02 * seen, "{physical} pages read for {seen} rows");
    // Reads of the server itself may be in one of the two counters already.
    let bytes = delta.get(Counter::PhysicalReadBytes).expect("counted");
    assert!(bytes.abs_diff(physical * 16_384) <= physical * 16_384 / 100, "{bytes} of {physical} pages");
    assert!(delta.get(Counter::LogicalReads).is_some_and(|reads| reads as f64 >= seen), "{delta:?}");
    assert_eq!(delta.get(Counter::RedoSyncs), None, "this version does not count them");
}

#[test]
fn redo_and_commits_follow_the_updates() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    jobs::redo_follows_the_updates(&loaded, |counters| {
        assert_eq!(counters.get(Counter::Commits), Some(100));
        assert_eq!(counters.get(Counter::RowsChanged), Some(800));
    });
}

#[rstest]
#[case("server")]
#[case("client")]
fn a_lock_that_is_not_granted_is_a_conflict_and_the_outcome_holds_the_operations_before(#[case] place: &str) {
    let Some(loaded) = loaded(&["innodb-lock-wait-timeout=1"], &[("LOOP", place)]) else { return };
    let all = batch(100, 1, 3, 20);
    let Action::Update(range, _) = all.ops()[12].action else { panic!("{all:?}") };
    let touched = |op: &Op| matches!(op.action, Action::Update(other, _) if other == range);
    let first = all.ops().iter().position(touched).expect("it is there");
    let mut admin = loaded.server.admin();
    let mut lock = admin.start_transaction(mysql::TxOpts::default()).expect("a transaction");
    lock.query_drop(format!("SELECT pos FROM slob1.cf1 WHERE custid = {} FOR UPDATE", range.first))
        .expect("a row");
    let mut session = loaded.session(RedoStress::Lite);
    let mut outcome = Outcome::new();
    let error = session.execute(&all, None, &mut outcome).expect_err("the row is locked");
    assert_eq!((error.kind(), outcome.ops().len()), (ErrorKind::Retryable, first), "{error}");
    lock.rollback().expect("a transaction is open");
    let mut rest = all.clone();
    rest.advance(first);
    session.execute(&rest, None, &mut outcome).expect("the lock is gone");
    assert_eq!(outcome.ops().len(), 20 - first);
}

#[test]
fn an_error_names_its_operation_in_words() {
    let settings = ["innodb-lock-wait-timeout=1"];
    let Some(loaded) = loaded(&settings, &[("LOOP", "client")]) else { return };
    let mut admin = loaded.server.admin();
    let mut lock = admin.start_transaction(mysql::TxOpts::default()).expect("a transaction");
    lock.query_drop("SELECT pos FROM slob1.cf1 FOR UPDATE").expect("all rows");
    let mut session = loaded.session(RedoStress::Lite);
    let all = batch(100, 64, 3, 1);
    let error = session.execute(&all, None, &mut Outcome::new()).expect_err("the rows are locked");
    let Action::Update(range, _) = all.ops()[0].action else { panic!("{all:?}") };
    let words = format!("session 0, UPDATE of keys {} to {} in schema 1: ", range.first, range.end() - 1);
    assert!(error.to_string().starts_with(&words), "{error}");
}

#[rstest]
#[case("server")]
#[case("client")]
fn an_update_that_is_repeated_counts_its_rows_again(#[case] place: &str) {
    let Some(loaded) = loaded(&[], &[("LOOP", place)]) else { return };
    let all = batch(100, 8, 3, 20);
    for redo in [RedoStress::Lite, RedoStress::Heavy] {
        let mut session = loaded.session(redo);
        for time in ["first", "second"] {
            let outcome = executed(session.as_mut(), &all, None);
            let rows: Vec<u64> = outcome.ops().iter().map(|op| op.rows).collect();
            assert_eq!(rows, [8; 20], "the {time} time, {redo:?}");
        }
    }
}

#[rstest]
#[case(&[], "state", false)]
#[case(&["performance-schema=ON"], "io/file", true)]
fn waits_are_those_of_our_sessions(#[case] settings: &[&str], #[case] class: &str, #[case] counted: bool) {
    let settings = [&["innodb-buffer-pool-size=8M"], settings].concat();
    let Some(loaded) = loaded(&settings, &[]) else { return };
    if counted {
        loaded.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
    }
    let mut session = loaded.session(RedoStress::Lite);
    let before = loaded.snapshot();
    let event = until(|| {
        executed(session.as_mut(), &batch(20, 64, 1, 200), None);
        let events = loaded.snapshot().since(&before).events;
        let event = events.into_iter().find(|event| event.class == class);
        event.ok_or_else(|| "no event was seen".to_owned())
    });
    assert!(event.time_us > 0 && event.waits.is_some() == counted, "{event:?}");
}

/// With the performance schema its answers are rows of tables too.
#[rstest]
#[case(&[])]
#[case(&["performance-schema=ON"])]
fn our_questions_are_no_rows_of_others(#[case] settings: &[&str]) {
    let Some(loaded) = loaded(settings, &[]) else { return };
    loaded.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
    let mut session = loaded.session(RedoStress::Lite);
    // The first question of a connection asks for more than the others.
    loaded.snapshot();
    let before = loaded.snapshot();
    executed(session.as_mut(), &batch(20, 8, 1, 50), None);
    session.publish().expect("its counters");
    (0..5).for_each(|_| drop(loaded.snapshot()));
    let delta = loaded.snapshot().since(&before);
    let [ours, all] = [&delta.counters, &delta.server].map(|of| of.get(Counter::RowsRead).expect("counted"));
    assert!(ours >= 50 * 8, "{ours}");
    assert!(all - ours < 10, "{ours} rows of {all}");
}

#[test]
fn reads_of_undo_logs_are_counted_beside_those_of_tables() {
    let Some(loaded) = loaded(&["innodb-buffer-pool-size=6M", "performance-schema=ON"], &[]) else { return };
    loaded.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
    let mut session = loaded.session(RedoStress::Lite);
    let status = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Innodb_data_read'";
    executed(session.as_mut(), &batch(50, 64, 1, 50), None);
    // Purging goes on between the two questions.
    shown_within(5, || {
        let (from, before) = (loaded.server.ask(status), loaded.snapshot());
        executed(session.as_mut(), &batch(50, 64, 2, 200), None);
        let (delta, until) = (loaded.snapshot().since(&before), loaded.server.ask(status));
        let read = until - from;
        let of_tables = delta.server.get(Counter::PhysicalReadBytes).expect("attributed");
        let shared = delta.server.get(Counter::SharedReadBytes).expect("counted");
        // Without undo logs nothing is shown.
        ensure((of_tables + shared).abs_diff(read) * 50 <= read && shared * 50 > read, || {
            format!("{of_tables} and {shared} of {read} bytes")
        })
    });
}

#[test]
fn a_sampler_whose_connection_is_ended_reconnects() {
    let Some(loaded) = loaded(&["innodb-buffer-pool-size=8M"], &[]) else { return };
    jobs::the_sampler_reconnects(
        &loaded,
        |event| event.class == "state",
        NOT_SAMPLED,
        || {
            let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'plain' AND DB IS NULL";
            let others: Vec<u64> = loaded.server.admin().query(sql).expect("an answer");
            assert!(!others.is_empty(), "the sampler has a connection");
            others.iter().for_each(|id| loaded.server.sql(&format!("KILL {id}")));
        },
    );
}

#[test]
fn errors_say_what_ended_a_batch() {
    let Some(mut loaded) = loaded(&[], &[]) else { return };
    jobs::errors_say_what_ended_a_batch(&mut loaded);
}

#[test]
fn a_run_that_would_not_be_single_block_reads_is_refused() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    loaded.engine.before_run(&RUN).expect("all is well");
    // Index-only: the rows would not be visited.
    loaded.server.sql("ALTER TABLE slob1.cf1 DROP INDEX i_cf1, ADD INDEX i_cf1 (custid, c2)");
    let error = loaded.engine.before_run(&RUN).expect_err("another index");
    assert_says(&error, ErrorKind::Usage, &["Using index"]);
}

#[test]
fn missing_rights_are_noted_and_existing_ones_used() {
    let settings = ["innodb-adaptive-hash-index=ON", "innodb-flush-log-at-trx-commit=2"];
    let Some(loaded) = loaded(&settings, &[]) else { return };
    let is_on = || loaded.server.ask("SELECT @@GLOBAL.innodb_adaptive_hash_index") == 1;
    let notes = loaded.engine.before_run(&RUN).expect("a plain role suffices");
    assert!(notes.iter().any(|note| note.contains("innodb_adaptive_hash_index")), "{notes:?}");
    assert!(is_on(), "it was not to be switched");

    let engine = as_administrator(&loaded.server);
    let dirty = || {
        loaded.server.ask("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'")
    };
    let limits = || {
        loaded
            .server
            .admin()
            .query_first::<(f64, f64, u64, u64), _>(
                "SELECT @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_max_dirty_pages_pct_lwm,
                        @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max",
            )
            .expect("an answer")
    };
    let before = limits();
    engine.before_run(&RUN).expect("all is well");
    assert!(!is_on() && dirty() < 100, "{} dirty pages", dirty());
    assert_eq!(limits(), before);
    drop(engine);
    assert!(is_on(), "it is as it was");

    let server = loaded.engine.server().expect("readable");
    let path = found(loaded.engine.as_ref()).expect("it is here").path;
    assert!(path.is_some_and(|path| path.starts_with(loaded.server.data_folder())));
    assert_eq!((server.product.as_str(), server.block_bytes), ("MariaDB", 16_384));
    assert!(server.settings.iter().any(|setting| setting.name == "innodb_flush_method"));
    assert_eq!(server.checks_blocks, Some(true));
    for word in ["innodb_flush_log_at_trx_commit is 2", "innodb_buffer_pool_size"] {
        assert!(server.advice.iter().any(|advice| advice.contains(word)), "{word}: {:?}", server.advice);
    }
}

#[test]
fn settings_of_the_server_are_put_back_when_writing_out_breaks_off() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let limits = || -> Vec<String> {
        let names = ["max_dirty_pages_pct", "max_dirty_pages_pct_lwm", "io_capacity", "io_capacity_max"];
        let sql = names.map(|name| format!("@@GLOBAL.innodb_{name}")).join(", ' ', ");
        loaded.server.admin().query(format!("SELECT CONCAT({sql})")).expect("an answer")
    };
    let before = limits();
    let engine = as_administrator(&loaded.server);
    let broken = (0..20).any(|attempt| {
        loaded.server.sql(&format!("UPDATE slob1.cf1 SET c2 = '{attempt}'"));
        let done = AtomicBool::new(false);
        let admin = loaded.server.admin();
        thread::scope(|scope| {
            scope.spawn(|| kill_when_in_a_hurry(admin, &done));
            let result = engine.before_run(&RUN);
            done.store(true, Ordering::SeqCst);
            assert_eq!(limits(), before, "{result:?}");
            result.is_err_and(|error| error.kind() == ErrorKind::Connection)
        })
    });
    assert!(broken, "it was never in the midst of it");
}

/// Connections end once the server was asked to write its pages at once.
fn kill_when_in_a_hurry(mut admin: mysql::Conn, done: &AtomicBool) {
    while !done.load(Ordering::SeqCst) {
        let capacity: Option<u64> =
            admin.query_first("SELECT @@GLOBAL.innodb_io_capacity").expect("an answer");
        if capacity == Some(100_000) {
            let sql =
                "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'root' AND HOST <> 'localhost'";
            let others: Vec<u64> = admin.query(sql).expect("an answer");
            // One may be gone already.
            others.iter().for_each(|id| drop(admin.query_drop(format!("KILL {id}"))));
            return;
        }
    }
}

#[test]
fn the_process_is_that_of_this_server() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let by_socket = open(&loaded.server.socket_target("root"), &[]).expect("it opens");
    for engine in [loaded.engine.as_ref(), by_socket.as_ref()] {
        let server = found(engine).expect("it is on this machine");
        assert_eq!((Some(server.pid), server.how.as_str()), (loaded.server.pid(), "by its pid file"));
    }
}

/// A server without its pid file and its socket still listens on its port.
#[test]
fn a_server_is_known_by_its_port_and_by_nothing_that_another_one_may_have() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let files: [String; 2] = ["@@pid_file", "@@socket"].map(|file| {
        let name: Option<String> =
            loaded.server.admin().query_first(format!("SELECT {file}")).expect("an answer");
        name.expect("a path")
    });
    files
        .iter()
        .for_each(|file| fs::remove_file(loaded.server.data_folder().join(file)).expect("it was there"));
    let server = found(loaded.engine.as_ref()).expect("it is on this machine");
    assert_eq!(
        (Some(server.pid), server.how.contains("by the port")),
        (loaded.server.pid(), true),
        "{server:?}"
    );
    let clues = loaded.engine.locations().remove(0).clues;
    let tunnel = Clues { port: clues.port.map(|port| port ^ 1), socket: None, ..clues.clone() };
    let complaint = Observer::local().find(tunnel, &NEVER).expect_err("nothing shows that it is this one");
    assert!(complaint.contains("pid:"), "{complaint}");
    let older = Clues { age_s: Some(1e6), ..clues };
    assert!(Observer::local().find(older, &NEVER).expect_err("it is younger").contains("runs elsewhere"));
}

#[test]
fn pages_that_earlier_work_left_dirty_are_a_debt_until_they_are_written() {
    let Some(loaded) = loaded(&[], &[]) else { return };
    let names = || -> Vec<String> {
        loaded.engine.debts().expect("readable").into_iter().map(|debt| debt.name).collect()
    };
    until(|| {
        loaded.server.sql("UPDATE slob1.cf1 SET c2 = CONCAT(LEFT(c2, 100), RAND())");
        ensure(names().contains(&"dirty pages".to_owned()), || format!("{:?}", names()))
    });
    // It waits for the pages.
    as_administrator(&loaded.server).before_run(&RUN).expect("all is well");
    until(|| ensure(!names().contains(&"dirty pages".to_owned()), || format!("{:?}", names())));
}
