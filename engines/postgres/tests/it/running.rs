//! Sessions, counters, events and refusals on a real server.

use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use slob_engine::{Clues, Counter, ErrorKind, Outcome, WaitEvent};
use slob_observe::Observer;
use slob_server::NOT_SAMPLED;
use slob_spec::RedoStress;
use slob_testing::postgres::Version;
use slob_testing::work::{FIRST, RUN, batch, session};

use crate::loaded::{Loaded, found, loaded, open};

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn blocks_seen_are_blocks_counted(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[("shared_buffers", "1MB"), ("track_io_timing", "on")], &[]) else {
        return;
    };
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let heap = || -> i64 {
        let sql = "SELECT (heap_blks_read + heap_blks_hit)::bigint FROM pg_statio_user_tables WHERE relname = 'cf1'";
        loaded.admin().query_one(sql, &[]).expect("an answer").get(0)
    };
    session.execute(&batch(0, 64, 1, 10), None, &mut Outcome::new()).expect("it runs");
    let (before, heap_before) = (loaded.engine.snapshot().expect("readable"), heap());
    session.execute(&batch(0, 64, 2, 500), None, &mut Outcome::new()).expect("it runs");
    let after = loaded.engine.snapshot().expect("readable");
    let seen = 500.0 * 64.0;
    let counted = (heap() - heap_before) as f64;
    assert!((counted / seen - 1.0).abs() < 0.005, "{counted} visits of blocks for {seen} rows");
    let delta = after.since(&before).counters;
    let logical = delta.get(Counter::LogicalReads).expect("counted") as f64;
    assert!(logical >= seen && logical < seen * 1.15, "{logical} with those of the index");
    let physical = delta.get(Counter::PhysicalReads).expect("counted");
    assert!(physical > 10_000, "{physical} of a table eight times the cache");
    assert_eq!(delta.get(Counter::PhysicalReadBytes), Some(physical * 8192));
    assert!(delta.get(Counter::PhysicalReadTimeNs).is_some_and(|ns| ns > 0));
    let requests = delta.get(Counter::PhysicalReadRequests);
    assert_eq!(requests.is_some(), version == Version::V18);
    // Nothing is read ahead, nor with its neighbour.
    assert!(
        requests.is_none_or(|requests| requests as f64 >= physical as f64 * 0.98),
        "{requests:?} requests for {physical} blocks"
    );
}

/// What a read took is a quotient: its two numbers must be of the same reads.
#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn reads_of_another_database_count_with_their_time_or_not_at_all(#[case] version: Version) {
    let settings = [("shared_buffers", "1MB"), ("track_io_timing", "on"), ("autovacuum", "off")];
    let Some(loaded) = loaded(version, &settings, &[]) else { return };
    loaded.cluster.sql("CREATE TABLE other AS SELECT i, repeat('x', 1000) FROM generate_series(1, 40000) i");
    let own_read_ms = || -> f64 {
        let sql = "SELECT blk_read_time FROM pg_stat_database WHERE datname = current_database()";
        loaded.admin().query_one(sql, &[]).expect("an answer").get(0)
    };
    let own_before_ms = own_read_ms();
    let before = loaded.engine.snapshot().expect("readable");
    loaded.cluster.sql("SELECT count(*) FROM other");
    let begun = Instant::now();
    let blocks_of_other = "SELECT blks_read FROM pg_stat_database WHERE datname = 'postgres'";
    while loaded.admin().query_one(blocks_of_other, &[]).expect("an answer").get::<_, i64>(0) < 5000 {
        assert!(begun.elapsed() < Duration::from_secs(30), "its reads were not counted");
        thread::sleep(Duration::from_millis(50));
    }
    let delta = loaded.engine.snapshot().expect("readable").since(&before).counters;
    let own_ms = own_read_ms() - own_before_ms;
    let reads = delta
        .get(Counter::PhysicalReadRequests)
        .or_else(|| delta.get(Counter::PhysicalReads))
        .expect("counted");
    let time_ms = delta.get(Counter::PhysicalReadTimeNs).expect("timed") as f64 / 1e6;
    let other_ms: f64 = {
        let sql = "SELECT blk_read_time FROM pg_stat_database WHERE datname = 'postgres'";
        loaded.admin().query_one(sql, &[]).expect("an answer").get(0)
    };
    let seen = format!("{reads} reads in {time_ms} ms; own {own_ms} ms, the other's {other_ms} ms");
    match version {
        // What our own look read may take its time on a busy machine; the other's is not in it.
        Version::V15 => assert!(reads <= 100 && time_ms <= own_ms + 0.01, "{seen}"),
        Version::V18 => assert!(reads > 100 && time_ms > other_ms * 0.2, "{seen}"),
    }
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn redo_and_commits_follow_the_updates(#[case] version: Version) {
    // Without images of whole pages what is left is what the columns make.
    let Some(loaded) = loaded(version, &[("full_page_writes", "off")], &[]) else { return };
    let mut bytes = Vec::new();
    for (redo, nonce) in [(RedoStress::Lite, 5), (RedoStress::Lite, 6), (RedoStress::Heavy, 7)] {
        let mut session = session(loaded.engine.as_ref(), 0, redo).expect("it opens");
        let before = loaded.engine.snapshot().expect("readable");
        session.execute(&batch(100, 8, nonce, 100), None, &mut Outcome::new()).expect("it runs");
        let delta = loaded.engine.snapshot().expect("readable").since(&before).counters;
        let commits = delta.get(Counter::Commits).expect("counted");
        assert!((100..130).contains(&commits), "{commits} commits of 100 updates");
        assert!(delta.get(Counter::RowsChanged).is_some_and(|rows| (800..900).contains(&rows)), "{delta:?}");
        assert!(
            delta.get(Counter::RedoSyncs).is_none_or(|syncs| syncs >= 90),
            "each commit is forced: {delta:?}"
        );
        bytes.push(delta.get(Counter::RedoBytes).expect("known to every role") as f64);
    }
    assert!(bytes[2] > 3.0 * bytes[1], "LITE, LITE, HEAVY: {bytes:?}");
}

#[test]
fn waits_are_sampled_as_the_server_names_them() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    loaded.engine.snapshot().expect("the sampler starts");
    let mut admin = loaded.admin();
    let mut lock = admin.transaction().expect("a transaction");
    lock.batch_execute("SELECT 1 FROM slob1.cf1 FOR UPDATE").expect("all rows");
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let worker = thread::spawn(move || session.execute(&batch(100, 1, 3, 1), None, &mut Outcome::new()));
    let begun = Instant::now();
    let waited = loop {
        let events = loaded.engine.snapshot().expect("readable").total().events;
        if let Some(event) = events.into_iter().find(|event| event.class == "Lock") {
            break event;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no wait for the lock was seen");
        thread::sleep(Duration::from_millis(50));
    };
    lock.rollback().expect("a transaction is open");
    worker.join().expect("no panic").expect("the lock is gone");
    assert_eq!(waited.name, "transactionid");
    assert!(waited.time_us > 0 && waited.waits.is_none());
}

#[test]
fn a_sampler_whose_connection_is_ended_looks_again_and_tells_how_long_it_did_not() {
    let Some(loaded) = loaded(Version::V15, &[("shared_buffers", "1MB")], &[]) else { return };
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    loaded.engine.snapshot().expect("the sampler starts");
    let mut sampled_until = |wanted: fn(&WaitEvent) -> bool, least_us: u64| {
        let begun = Instant::now();
        loop {
            session.execute(&batch(0, 64, 1, 500), None, &mut Outcome::new()).expect("it runs");
            let events = loaded.engine.snapshot().expect("readable").total().events;
            let time_us: u64 = events.iter().filter(|event| wanted(event)).map(|event| event.time_us).sum();
            if time_us > least_us {
                return time_us;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{events:?}");
        }
    };
    let is_state = |event: &WaitEvent| event.name != NOT_SAMPLED;
    let before_us = sampled_until(is_state, 0);
    loaded.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%PgSleep%' AND pid <> pg_backend_pid()");
    sampled_until(|event| event.name == NOT_SAMPLED, 0);
    sampled_until(is_state, before_us + 300_000);
}

#[test]
fn what_ends_a_batch_is_told_apart() {
    const AT_WORK: &str =
        "FROM pg_stat_activity WHERE application_name = 'slob' AND state = 'active' AND query LIKE 'CALL%'";
    let Some(mut loaded) = loaded(Version::V15, &[], &[]) else { return };
    let slow = || {
        let think = batch(0, 1, 3, 500);
        let ops = think.ops().iter().map(|op| slob_method::Op { pause_us: 100_000, ..*op });
        slob_method::Batch::from(ops.collect::<Vec<_>>())
    };
    let run = |loaded: &Loaded| {
        let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
        let worker = thread::spawn(move || session.execute(&slow(), None, &mut Outcome::new()));
        let begun = Instant::now();
        while loaded.admin().query(&format!("SELECT {AT_WORK}"), &[]).expect("readable").is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the session does not go to work");
            thread::sleep(Duration::from_millis(20));
        }
        worker
    };
    for (sql, kind) in
        [("pg_cancel_backend", ErrorKind::Fatal), ("pg_terminate_backend", ErrorKind::Connection)]
    {
        let worker = run(&loaded);
        loaded.sql(&format!("SELECT {sql}(pid) {AT_WORK}"));
        let error = worker.join().expect("no panic").expect_err("it was ended");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.code().is_none_or(|code| code.starts_with("SQLSTATE")), "{error:?}");
    }
    let worker = run(&loaded);
    loaded.cluster.kill9();
    let error = worker.join().expect("no panic").expect_err("the server is gone");
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    assert!(error.to_string().contains("session 0"), "{error}");
}

#[test]
fn too_many_sessions_are_refused_with_the_figures() {
    let Some(loaded) = loaded(Version::V15, &[("max_connections", "12")], &[]) else { return };
    let mut open = Vec::new();
    let error = (0..20)
        .find_map(|number| match session(loaded.engine.as_ref(), number, RedoStress::Lite) {
            Ok(session) => {
                open.push(session);
                None
            }
            Err(error) => Some(error),
        })
        .expect("no room for twenty");
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("max_connections"), "{error}");
    assert!(error.to_string().contains("12"), "{error}");
}

#[test]
fn a_run_that_would_not_be_single_block_reads_is_refused() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    loaded.engine.before_run(&RUN).expect("all is well");
    loaded.sql("ALTER TABLE slob1.cf1 SET UNLOGGED");
    let error = loaded.engine.before_run(&RUN).expect_err("no redo");
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("unlogged"), "{error}");
    loaded.sql("ALTER TABLE slob1.cf1 SET LOGGED");
    loaded.sql("DROP INDEX slob1.i_cf1");
    let error = loaded.engine.before_run(&RUN).expect_err("no index");
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("Seq Scan on cf1"), "it shows the plan: {error}");
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn rights_that_lack_are_said_and_those_that_are_there_used(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[("fsync", "off")], &[]) else { return };
    let notes = loaded.engine.before_run(&RUN).expect("a plain role suffices");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("pg_checkpoint"), "{notes:?}");
    // It may not ask for the data directory, but the server's process works there.
    assert_eq!(found(loaded.engine.as_ref()).expect("it is here").path, Some(loaded.cluster.data_folder()));

    let engine = loaded.as_superuser();
    let before = engine.snapshot().expect("readable");
    assert_eq!(engine.before_run(&RUN).expect("all is well"), Vec::<String>::new());
    let begun = Instant::now();
    // The checkpointer publishes what it counted after it has answered.
    while engine.snapshot().expect("readable").since(&before).counters.get(Counter::Checkpoints) == Some(0) {
        assert!(begun.elapsed() < Duration::from_secs(30), "no checkpoint was counted");
        thread::sleep(Duration::from_millis(50));
    }
    let server = engine.server().expect("readable");
    assert_eq!(found(engine.as_ref()).expect("it is here").path, Some(loaded.cluster.data_folder()));
    let value =
        |name: &str| server.settings.iter().find(|setting| setting.name == name).map(|s| s.value.as_str());
    assert_eq!((value("fsync"), value("block_size")), (Some("off"), Some("8192")));
    assert_eq!(value("io_method").is_some(), version == Version::V18);
    assert_eq!(
        server.checks_blocks,
        Some(version == Version::V18),
        "initdb of 18 switches data_checksums on"
    );
    assert!(server.advice.iter().any(|advice| advice.starts_with("fsync is off")), "{:?}", server.advice);
    assert!(server.advice.iter().any(|advice| advice.contains("shared_buffers")), "{:?}", server.advice);
}

#[test]
fn processes_are_those_of_this_server() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    let session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let clues = loaded.engine.locations().remove(0).clues;
    let mut observer = Observer::local();
    let server = observer.find(clues.clone()).expect("it is on this machine");
    assert_eq!(Some(server.pid), loaded.cluster.pid(), "{server:?}");
    assert_eq!(server.how, "by the process that serves a connection");
    let sql = "SELECT count(*) FROM pg_stat_activity";
    let listed: i64 = loaded.admin().query_one(sql, &[]).expect("an answer").get(0);
    let pending = observer.request_sample(true);
    let sample = observer.receive_sample(pending).expect("it is at hand").sample;
    let seen = sample.servers[0].as_ref().expect("it runs");
    // Not all of its processes are listed.
    assert!(
        i64::from(seen.processes) >= listed && seen.figures.cpu.is_some() && seen.figures.io.is_some(),
        "{listed} {seen:?}"
    );
    let another = Clues { age_s: clues.age_s.map(|age_s| age_s + 1000.0), ..clues.clone() };
    let complaint = Observer::local().find(another).expect_err("it was started later");
    assert!(complaint.contains("runs elsewhere"), "{complaint}");
    let tunnelled = Clues { child: Some(1), ..clues };
    assert!(Observer::local().find(tunnelled).is_err(), "another server of the same age");
    drop(session);
}

/// As in a container: its numbers of processes are not those of the host.
#[test]
fn a_server_with_numbers_of_its_own_is_found() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    let Loaded { mut cluster, target, engine } = loaded;
    drop(engine);
    if !cluster.restart_apart() {
        return;
    }
    let engine = open(&target.replace("plain@", "postgres@"), &[]).expect("it opens");
    let server = found(engine.as_ref()).expect("it is on this host");
    assert_eq!((server.name.as_str(), server.path), ("postgres", Some(cluster.data_folder())));
    assert!(server.pid > 10, "not the number that it has for itself");
    assert!(server.data.is_some_and(|device| device.path == cluster.data_folder()));
}

#[test]
fn a_warm_cache_reads_nothing() {
    let Some(loaded) = loaded(Version::V15, &[("shared_buffers", "64MB")], &[("PREWARM", "cache")]) else {
        return;
    };
    let Loaded { mut cluster, target, engine } = loaded;
    drop(engine);
    cluster.restart().expect("it starts again, with an empty cache");
    let engine = open(&target, &[("PREWARM", "cache")]).expect("it opens");
    engine.before_run(&RUN).expect("all is well");
    let mut session = session(engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    session.execute(&batch(0, 64, 1, 1), None, &mut Outcome::new()).expect("it runs");
    let before = engine.snapshot().expect("readable");
    session.execute(&batch(0, 64, 2, 200), None, &mut Outcome::new()).expect("it runs");
    let delta = engine.snapshot().expect("readable").since(&before).counters;
    assert!(delta.get(Counter::PhysicalReads).is_some_and(|reads| reads < 64), "{delta:?}");
}

#[test]
fn an_older_procedure_is_replaced_before_a_run() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    loaded.sql("UPDATE pg_proc SET prosrc = 'BEGIN END' WHERE proname = 'slob_batch'");
    // One with other arguments stays beside the new one unless it is removed.
    loaded.sql("CREATE PROCEDURE slob1.slob_batch(kinds smallint[]) LANGUAGE sql AS ''");
    loaded.engine.before_run(&RUN).expect("all is well");
    let mut session = session(loaded.engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    let mut outcome = Outcome::new();
    session.execute(&batch(0, 3, 1, 5), None, &mut outcome).expect("it runs");
    assert_eq!(outcome.ops().len(), 5);
    loaded.sql("CREATE PROCEDURE slob1.slob_batch(kinds smallint[]) LANGUAGE sql AS ''");
    loaded.engine.drop_schema(FIRST).expect("it is gone with all of them");
}
