//! Loading, and what is not ours.

use rstest::rstest;
use slob_engine::{ErrorKind, Load, LoadProgress, LoadState, OpenSpec, Purpose, Slice};
use slob_engine_postgres::KIND;
use slob_method::Table;
use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::work::{FIRST, LOAD, assert_says, load_schema, options, schema};

use crate::loaded::open;

#[rstest]
#[case(Version::V15)]
#[case(Version::V18)]
fn rows_lie_one_in_a_block_frozen_and_without_toast(#[case] version: Version) {
    let settings = [("wal_level", "minimal"), ("max_wal_senders", "0")];
    let Some(cluster) = Cluster::start_or_skip(version, &settings) else { return };
    let target = cluster.plain_target();
    let engine = open(&target, &[]).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    let whole = Load { slice_rows: 5000, ..LOAD };
    load_schema(engine.as_ref(), &whole, schema(2));
    // Two streams that extend one table leave a few blocks empty.
    for (schema, few) in [("slob1", 10), ("slob2", 1)] {
        let facts = format!(
            "SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relname IN ('cf1', 'cf2')
               AND reltoastrelid = 0 AND relpages - relallvisible <= {few}"
        );
        assert_eq!(cluster.ask::<i64>(&facts), 2, "{schema}");
        // Not by reltuples, which ANALYZE estimates from a sample.
        for table in ["cf1", "cf2"] {
            let empty = format!(
                "SELECT pg_relation_size('{schema}.{table}') / 8192 - (SELECT count(*) FROM {schema}.{table})"
            );
            assert!(cluster.ask::<i64>(&empty) <= few, "{schema}.{table}");
        }
        let young =
            format!("SELECT count(DISTINCT ctid::text) FROM {schema}.cf1 WHERE (ctid::text::point)[1] <> 1");
        assert_eq!(cluster.ask::<i64>(&young), 0, "every row is the first of its block");
    }
    let positions = "SELECT array_agg(custid ORDER BY ctid) FROM slob2.cf1";
    let keys: Vec<i64> = cluster.ask(positions);
    let scatter = whole.scatter(schema(2));
    let expected: Vec<i64> = (1..=whole.scale).map(|position| scatter.key_at(position) as i64).collect();
    assert_eq!(keys, expected, "the order of the blocks is that of the positions");
}

#[test]
fn foreign_schemas_are_left_alone() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    let target = cluster.plain_target();
    let engine = open(&target, &[]).expect("it opens");
    let run = |sql: &str| {
        let mut client = postgres::Client::connect(&target, postgres::NoTls).expect("a connection");
        client.batch_execute(sql).expect("plain statements");
    };
    run(
        "CREATE SCHEMA slob1; CREATE TABLE slob1.slob_load (precious int); INSERT INTO slob1.slob_load VALUES (42)",
    );
    assert!(engine.schemas().expect("readable").is_empty());
    let error = engine.create_schema(&LOAD, FIRST).expect_err("it would be replaced");
    assert_says(&error, ErrorKind::Usage, &["slob drop"]);
    assert!(engine.drop_schema(FIRST).is_err(), "it would be removed");
    assert!(engine.finish_schema(&LOAD, FIRST).is_err());
    let slice = LOAD.slices(FIRST).next().expect("a slice");
    assert!(engine.load_slice(&LOAD, &slice, &LoadProgress::default()).is_err());
    assert_eq!(cluster.ask::<i32>("SELECT precious FROM slob1.slob_load"), 42);

    let second = schema(2);
    load_schema(engine.as_ref(), &LOAD, second);
    run("CREATE TABLE slob2.visitor (a int)");
    let error = engine.drop_schema(second).expect_err("somebody's table is in it");
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert_eq!(cluster.ask::<i64>("SELECT count(*) FROM slob2.cf1"), 1000, "and nothing was removed");
    run("DROP TABLE slob2.visitor");
    engine.drop_schema(second).expect("now it is all ours");
}

#[test]
fn a_schema_in_use_is_not_dropped() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    let target = cluster.plain_target();
    let engine = open(&target, &[]).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    let mut user = postgres::Client::connect(&target, postgres::NoTls).expect("a connection");
    user.batch_execute("SET application_name = 'a visitor'; BEGIN; SELECT count(*) FROM slob1.cf1")
        .expect("readable");
    let error = engine.drop_schema(FIRST).expect_err("somebody reads it");
    let pid: i32 = user.query_one("SELECT pg_backend_pid()", &[]).expect("a session").get(0);
    let who = format!("pid {pid} (user plain, application 'a visitor')");
    assert_says(&error, ErrorKind::Fatal, &[&who, "after 5 s", "pg_terminate_backend"]);
    user.batch_execute("COMMIT").expect("a transaction is open");
    engine.drop_schema(FIRST).expect("nobody reads it");
}

#[test]
fn slices_survive_a_crash_of_the_server_whole_or_not_at_all() {
    let Some(mut cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    let target = cluster.plain_target();
    let engine = open(&target, &[]).expect("it opens");
    let slices: Vec<_> = LOAD.slices(FIRST).collect();
    engine.create_schema(&LOAD, FIRST).expect("an empty place");
    for slice in &slices[..3] {
        engine.load_slice(&LOAD, slice, &LoadProgress::default()).expect("a slice");
    }
    cluster.kill();
    let error = engine.schemas().expect_err("the server is gone");
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    cluster.restart();
    let engine = open(&target, &[]).expect("it opens");
    let states = engine.schemas().expect("readable");
    let rows: i64 = cluster.ask("SELECT count(*) FROM slob1.cf1");
    let Some(LoadState::Begun(there)) = states.first().map(|state| state.state.clone()) else {
        panic!("{states:?}");
    };
    let marked: u64 = there.iter().map(|slice| slice.positions.end - slice.positions.start).sum();
    assert_eq!(rows.unsigned_abs(), marked, "{there:?}");
    for slice in slices.iter().filter(|slice| !there.contains(slice)) {
        engine.load_slice(&LOAD, slice, &LoadProgress::default()).expect("a slice");
    }
    let layout = engine.finish_schema(&LOAD, FIRST).expect("all slices are there");
    assert!(layout.one_row_per_block(), "what the crash left behind is gone: {layout:?}");
    let mut seen = 0;
    let verifier = LOAD.verifier(Table::Main, FIRST, 0);
    engine
        .read_rows(&Slice { schema: FIRST, table: Table::Main, positions: 1..LOAD.scale + 1 }, &mut |row| {
            seen += 1;
            assert!(verifier.check(row).is_ok(), "position {}", row.position);
        })
        .expect("readable");
    assert_eq!(seen, LOAD.scale);
}

#[test]
fn a_slice_that_was_stopped_leaves_no_gaps() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    let engine = open(&cluster.plain_target(), &[]).expect("it opens");
    engine.create_schema(&LOAD, FIRST).expect("an empty place");
    let slices: Vec<_> = LOAD.slices(FIRST).collect();
    let progress = LoadProgress::default();
    let stopped = std::thread::scope(|scope| {
        let stream = scope.spawn(|| engine.load_slice(&LOAD, &slices[0], &progress));
        while progress.rows() < 64 {
            std::thread::yield_now();
        }
        progress.stop();
        stream.join().expect("no stream panics")
    });
    // It may have been too quick to be stopped; then it is whole.
    let missing = if let Err(error) = &stopped {
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        &slices[..]
    } else {
        &slices[1..]
    };
    for slice in missing {
        engine.load_slice(&LOAD, slice, &LoadProgress::default()).expect("a slice");
    }
    let layout = engine.finish_schema(&LOAD, FIRST).expect("all slices are there");
    assert!(layout.one_row_per_block(), "{layout:?}");
}

#[test]
fn a_tablespace_takes_tables_and_index() {
    let settings = [("allow_in_place_tablespaces", "on")];
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &settings) else { return };
    let target = cluster.plain_target();
    cluster.sql("CREATE TABLESPACE \"fast disks\" OWNER plain LOCATION ''");
    let engine = (KIND.open)(&OpenSpec {
        tablespace: Some("fast disks".into()),
        ..OpenSpec::new(target.parse().expect("a target"), Purpose::Load, options(&KIND, &[]))
    })
    .expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    let elsewhere = "SELECT count(*) FROM pg_class c WHERE relnamespace = 'slob1'::regnamespace AND relname IN ('cf1', 'cf2', 'i_cf1')
                     AND (SELECT spcname FROM pg_tablespace t WHERE t.oid = c.reltablespace) = 'fast disks'";
    assert_eq!(cluster.ask::<i64>(elsewhere), 3);
}
