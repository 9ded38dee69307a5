//! Sessions, counters, events and refusals on a real server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use slob_engine::{Clues, Counter, Debt, ErrorKind, Outcome};
use slob_observe::{NEVER, Observer};
use slob_server::NOT_SAMPLED;
use slob_spec::RedoStress;
use slob_testing::jobs::{self, TestServer as _};
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, until};
use slob_testing::work::{self, FIRST, RUN, assert_says, batch, executed};

use crate::loaded::{Loaded, as_superuser, found, loaded, open};

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn blocks_seen_are_blocks_counted(#[case] version: Version) {
    let settings = [("shared_buffers", "1MB"), ("track_io_timing", "on")];
    let Some(loaded) = loaded(version, &settings, &[]) else { return };
    let mut session = loaded.session(RedoStress::Lite);
    let heap = || {
        let sql = "SELECT (heap_blks_read + heap_blks_hit)::bigint FROM pg_statio_user_tables WHERE relname = 'cf1'";
        loaded.server.ask::<i64>(sql)
    };
    executed(session.as_mut(), &batch(0, 64, 1, 10), None);
    let heap_before = heap();
    let delta = loaded.counted(|| drop(executed(session.as_mut(), &batch(0, 64, 2, 500), None)));
    let seen = 500.0 * 64.0;
    let counted = (heap() - heap_before) as f64;
    assert!((counted / seen - 1.0).abs() < 0.005, "{counted} visits of blocks for {seen} rows");
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

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn reads_of_another_database_are_neither_counted_nor_timed(#[case] version: Version) {
    let settings = [("shared_buffers", "1MB"), ("track_io_timing", "on"), ("autovacuum", "off")];
    let Some(loaded) = loaded(version, &settings, &[]) else { return };
    loaded.server.sql("CREATE TABLE other AS SELECT i, repeat('x', 1000) FROM generate_series(1, 40000) i");
    let read_ms = |database: &str| {
        let sql = format!("SELECT blk_read_time FROM pg_stat_database WHERE datname = '{database}'");
        loaded.server.ask::<f64>(&sql)
    };
    let own_before_ms = read_ms("slob");
    let delta = loaded.counted(|| {
        loaded.server.sql("SELECT count(*) FROM other");
        until(|| {
            let sql = "SELECT blks_read FROM pg_stat_database WHERE datname = 'postgres'";
            ensure(loaded.server.ask::<i64>(sql) >= 5000, || "its reads were not counted".to_owned())
        });
    });
    let own_ms = read_ms("slob") - own_before_ms;
    let reads = delta
        .get(Counter::PhysicalReadRequests)
        .or_else(|| delta.get(Counter::PhysicalReads))
        .expect("counted");
    let time_ms = delta.get(Counter::PhysicalReadTimeNs).expect("timed") as f64 / 1e6;
    let other_ms = read_ms("postgres");
    let seen = format!("{reads} reads in {time_ms} ms; own {own_ms} ms, the other's {other_ms} ms");
    // The snapshot's own reads may take time on a busy machine.
    assert!(reads <= 100 && time_ms <= own_ms + 0.01, "{seen}");
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn another_client_of_the_database_is_named_and_its_work_is_not_ours(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[("autovacuum", "off")], &[]) else { return };
    let mut other = loaded.server.admin_of("slob");
    let table = "CREATE TABLE big AS SELECT i, repeat('x', 1000) t FROM generate_series(1, 40000) i";
    other.batch_execute(&format!("SET application_name = 'neighbour'; {table}")).expect("a table");
    let mut session = loaded.session(RedoStress::Lite);
    executed(session.as_mut(), &batch(0, 64, 1, 10), None);
    let mut count = |disturb: &mut dyn FnMut()| {
        session.publish().expect("published");
        let before = loaded.snapshot();
        executed(session.as_mut(), &batch(0, 64, 2, 100), None);
        disturb();
        session.publish().expect("published");
        loaded.snapshot().since(&before)
    };
    let alone = count(&mut || ());
    let beside = count(&mut || {
        let sql = "SELECT count(t) FROM big; INSERT INTO big SELECT i, 'y' FROM generate_series(1, 40000) i";
        other.batch_execute(sql).expect("its work");
        publish(&mut other);
        until(|| {
            other.batch_execute("SELECT 1").expect("its work");
            ensure(!loaded.snapshot().total().peers.is_empty(), || "nobody was seen at work".to_owned())
        });
    });
    let visits =
        |figures: &slob_engine::Figures| figures.counters.get(Counter::LogicalReads).expect("counted");
    let (own, undisturbed) = (visits(&beside) as f64, visits(&alone) as f64);
    assert!((own / undisturbed - 1.0).abs() < 0.01, "{own} visits beside another, {undisturbed} alone");
    let all = beside.server.get(Counter::LogicalReads).expect("attributed");
    assert!(all as f64 > 2.0 * own, "{all} visits of all clients, {own} of ours");
    let quiet = alone.server.get(Counter::LogicalReads).expect("attributed") as f64;
    assert!(quiet < 1.01 * undisturbed, "{quiet} visits of all clients, {undisturbed} of ours");
    assert_eq!(beside.counters.get(Counter::RowsChanged), Some(0));
    assert!(beside.server.get(Counter::RowsChanged).is_some_and(|rows| rows >= 40_000), "{beside:?}");
    let redo = |counters: &slob_engine::Counters| counters.get(Counter::RedoBytes).unwrap_or(0);
    if version == Version::V18 {
        assert!(redo(&beside.counters) < 100_000 && redo(&beside.server) > 1_000_000, "{beside:?}");
    }
    let names: Vec<&str> = beside.peers.keys().map(|peer| peer.application.as_str()).collect();
    assert_eq!(names, ["neighbour"], "{:?}", beside.peers);
}

/// Some versions can't publish at once.
fn publish(client: &mut postgres::Client) {
    thread::sleep(std::time::Duration::from_millis(1100));
    client.batch_execute("SELECT 1").expect("it reports");
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn redo_and_commits_follow_the_updates(#[case] version: Version) {
    // Without images of whole pages the redo is that of the columns.
    let Some(loaded) = loaded(version, &[("full_page_writes", "off")], &[]) else { return };
    let begun = Instant::now();
    jobs::redo_follows_the_updates(&loaded, |counters| {
        let commits = counters.get(Counter::Commits).expect("counted");
        // Those of the sampler count too, ten in a second.
        let most = 200 + 10 * begun.elapsed().as_secs();
        assert!((100..most).contains(&commits), "{commits} commits of 100 updates");
        let rows = counters.get(Counter::RowsChanged);
        assert!(rows.is_some_and(|rows| (800..900).contains(&rows)), "{counters:?}");
        let syncs = counters.get(Counter::RedoSyncs);
        assert!(syncs.is_none_or(|syncs| syncs >= 90), "each commit is forced: {counters:?}");
    });
}

#[test]
fn waits_are_sampled_as_the_server_names_them() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    loaded.snapshot();
    let mut admin = loaded.server.admin_of("slob");
    let mut lock = admin.transaction().expect("a transaction");
    lock.batch_execute("SELECT 1 FROM slob1.cf1 FOR UPDATE").expect("all rows");
    let mut session = loaded.session(RedoStress::Lite);
    let worker = thread::spawn(move || session.execute(&batch(100, 1, 3, 1), None, &mut Outcome::new()));
    let waited = until(|| {
        let events = loaded.snapshot().total().events;
        let lock = events.into_iter().find(|event| event.class == "Lock");
        lock.ok_or_else(|| "no wait for the lock was seen".to_owned())
    });
    lock.rollback().expect("a transaction is open");
    worker.join().expect("no panic").expect("the lock is gone");
    assert_eq!(waited.name, "transactionid");
    assert!(waited.time_us > 0 && waited.waits.is_none());
}

#[test]
fn a_sampler_whose_connection_is_ended_reconnects() {
    let Some(loaded) = loaded(Version::V15, &[("shared_buffers", "1MB")], &[]) else { return };
    jobs::the_sampler_reconnects(
        &loaded,
        |event| event.name != NOT_SAMPLED,
        NOT_SAMPLED,
        || {
            loaded.server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%PgSleep%' AND pid <> pg_backend_pid()");
        },
    );
}

#[test]
fn errors_say_what_ended_a_batch() {
    let Some(mut loaded) = loaded(Version::V15, &[], &[]) else { return };
    for error in &jobs::errors_say_what_ended_a_batch(&mut loaded)[..2] {
        assert!(error.code().is_none_or(|code| code.starts_with("SQLSTATE")), "{error:?}");
    }
}

#[test]
fn too_many_sessions_are_refused_with_the_figures() {
    let Some(loaded) = loaded(Version::V15, &[("max_connections", "12")], &[]) else { return };
    let open = |number| work::session(loaded.engine.as_ref(), number, RedoStress::Lite);
    let error = (0..20).map(open).collect::<Result<Vec<_>, _>>().err().expect("no room for twenty");
    assert_says(&error, ErrorKind::Usage, &["max_connections", "12"]);
}

#[test]
fn a_run_that_would_not_be_single_block_reads_is_refused() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    loaded.engine.before_run(&RUN).expect("all is well");
    loaded.server.run("ALTER TABLE slob1.cf1 SET UNLOGGED");
    let error = loaded.engine.before_run(&RUN).expect_err("no redo");
    assert_says(&error, ErrorKind::Usage, &["unlogged"]);
    loaded.server.run("ALTER TABLE slob1.cf1 SET LOGGED");
    loaded.server.run("DROP INDEX slob1.i_cf1");
    let error = loaded.engine.before_run(&RUN).expect_err("no index");
    assert_says(&error, ErrorKind::Usage, &["Seq Scan on cf1"]);
}

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn missing_rights_are_noted_and_existing_ones_used(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[("fsync", "off")], &[]) else { return };
    let notes = loaded.engine.before_run(&RUN).expect("a plain role suffices");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("pg_checkpoint"), "{notes:?}");
    // The role may not ask for the data directory, but the process works there.
    assert_eq!(found(loaded.engine.as_ref()).expect("it is here").path, Some(loaded.server.data_folder()));

    // A role that may not see the checkpointer must not take it for one at work.
    assert_eq!(loaded.engine.debts().expect("readable"), []);

    let engine = as_superuser(&loaded.target);
    let before = engine.snapshot().expect("readable");
    assert_eq!(engine.before_run(&RUN).expect("all is well"), Vec::<String>::new());
    // The checkpointer publishes its counts after it has answered.
    until(|| {
        let counters = engine.snapshot().expect("readable").since(&before).counters;
        ensure(counters.get(Counter::Checkpoints) != Some(0), || "no checkpoint was counted".to_owned())
    });
    let server = engine.server().expect("readable");
    assert_eq!(found(engine.as_ref()).expect("it is here").path, Some(loaded.server.data_folder()));
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
    let Some(loaded) = loaded(Version::V15, &[("shared_buffers", "1GB")], &[]) else { return };
    let session = loaded.session(RedoStress::Lite);
    let clues = loaded.engine.locations().remove(0).clues;
    let mut observer = Observer::local();
    let server = observer.find(clues.clone(), &NEVER).expect("it is on this machine");
    assert_eq!(Some(server.pid), loaded.server.pid(), "{server:?}");
    assert_eq!(server.how, "by the process that serves a connection");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid)).expect("all may read it");
    let is_small = status.contains("HugetlbPages:\t       0 kB");
    let advice = server.lacking.iter().any(|advice| advice.contains("vm.nr_hugepages"));
    assert_eq!(advice, is_small, "a large cache should lie in huge pages: {:?}", server.lacking);
    let listed: i64 = loaded.server.ask("SELECT count(*) FROM pg_stat_activity");
    let pending = observer.request_sample(true);
    let sample = observer.receive_sample(pending).expect("it is at hand").sample;
    let seen = sample.servers[0].as_ref().expect("it runs");
    // Not all of its processes are listed.
    assert!(
        i64::from(seen.processes) >= listed && seen.figures.cpu.is_some() && seen.figures.io.is_some(),
        "{listed} {seen:?}"
    );
    for other_s in [1000.0, -90.0] {
        let another = Clues { age_s: clues.age_s.map(|age_s| age_s + other_s), ..clues.clone() };
        let complaint = Observer::local().find(another, &NEVER).expect_err("it has another age");
        assert!(complaint.contains("runs elsewhere"), "{complaint}");
    }
    let tunnelled = Clues { child: Some(1), ..clues };
    assert!(Observer::local().find(tunnelled, &NEVER).is_err(), "another server of the same age");
    drop(session);
}

/// A slow disk holds it up before it begins to count its time.
#[test]
fn a_server_that_was_slow_to_start_is_found() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    let _session = loaded.session(RedoStress::Lite);
    let clues = loaded.engine.locations().remove(0).clues;
    let late = Clues { age_s: clues.age_s.map(|age_s| age_s - 30.0), ..clues };
    let server = Observer::local().find(late, &NEVER).expect("it is on this machine");
    assert_eq!(Some(server.pid), loaded.server.pid(), "{server:?}");
}

/// In a container, numbers of processes are not those of the host.
#[test]
fn a_server_with_numbers_of_its_own_is_found() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    let Loaded { server: mut cluster, target, .. } = loaded;
    if !cluster.restart_apart() {
        return;
    }
    let engine = as_superuser(&target);
    let server = found(engine.as_ref()).expect("it is on this host");
    assert_eq!((server.name.as_str(), server.path), ("postgres", Some(cluster.data_folder())));
    assert!(server.pid > 10, "not the number that it has for itself");
    assert!(server.data.is_some_and(|device| device.path == cluster.data_folder()));
}

/// The first run after UPDATEs logged twice as much as a later one.
#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn old_versions_of_rows_are_pruned_before_a_run(#[case] version: Version) {
    let Some(loaded) = loaded(version, &[("fsync", "off")], &[]) else { return };
    let logged = || loaded.server.ask::<i64>("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
    let logged_by_reads = || {
        let before = logged();
        loaded.server.ask::<i64>("SELECT sum(length(c2))::bigint FROM slob1.cf1");
        logged() - before
    };
    loaded.server.run("UPDATE slob1.cf1 SET c2 = c3");
    let unpruned = logged_by_reads();
    loaded.server.run("UPDATE slob1.cf1 SET c2 = c4");
    assert_eq!(as_superuser(&loaded.target).before_run(&RUN).expect("all is well"), Vec::<String>::new());
    let pruned = logged_by_reads();
    assert!(pruned < unpruned / 20, "{pruned} bytes logged by reads, {unpruned} without");
}

#[test]
fn a_warm_cache_reads_nothing() {
    let flags = [("PREWARM", "cache")];
    let Some(loaded) = loaded(Version::V15, &[("shared_buffers", "64MB")], &flags) else { return };
    let Loaded { server: mut cluster, target, .. } = loaded;
    cluster.restart();
    let engine = open(&target, &flags).expect("it opens");
    engine.before_run(&RUN).expect("all is well");
    let mut session = work::session(engine.as_ref(), 0, RedoStress::Lite).expect("it opens");
    executed(session.as_mut(), &batch(0, 64, 1, 1), None);
    let before = engine.snapshot().expect("readable");
    executed(session.as_mut(), &batch(0, 64, 2, 200), None);
    let delta = engine.snapshot().expect("readable").since(&before).counters;
    assert!(delta.get(Counter::PhysicalReads).is_some_and(|reads| reads < 64), "{delta:?}");
}

#[test]
fn an_older_procedure_is_replaced_before_a_run() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    loaded.server.run("UPDATE pg_proc SET prosrc = 'BEGIN END' WHERE proname = 'slob_batch'");
    // One with other arguments stays beside the new one unless it is removed.
    loaded.server.run("CREATE PROCEDURE slob1.slob_batch(kinds smallint[]) LANGUAGE sql AS ''");
    loaded.engine.before_run(&RUN).expect("all is well");
    let mut session = loaded.session(RedoStress::Lite);
    assert_eq!(executed(session.as_mut(), &batch(0, 3, 1, 5), None).ops().len(), 5);
    loaded.server.run("CREATE PROCEDURE slob1.slob_batch(kinds smallint[]) LANGUAGE sql AS ''");
    loaded.engine.drop_schema(FIRST).expect("it is gone with all of them");
}

#[test]
fn a_checkpoint_under_way_is_a_debt_until_it_ends() {
    let Some(loaded) = loaded(Version::V15, &[], &[]) else { return };
    let engine = as_superuser(&loaded.target);
    let is_over = AtomicBool::new(false);
    let checkpoint = Debt::under_way("checkpoint", 1, "");
    // A failure below must not leave the thread.
    let latest = Instant::now() + Duration::from_secs(90);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && Instant::now() < latest {
                loaded.server.run("UPDATE slob1.cf1 SET c2 = upper(c2)");
                loaded.server.run("CHECKPOINT");
            }
        });
        until(|| {
            let debts = engine.debts().expect("readable");
            ensure(debts.contains(&checkpoint), || format!("{debts:?}"))
                .inspect(|()| is_over.store(true, Ordering::Relaxed))
        });
    });
    until(|| {
        let debts = engine.debts().expect("readable");
        ensure(!debts.contains(&checkpoint), || format!("{debts:?}"))
    });
}
