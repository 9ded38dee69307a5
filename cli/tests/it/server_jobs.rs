//! The main job on real servers of PostgreSQL and MariaDB: counts equal the plan, and errors end a run clearly.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use rstest::rstest;
use serde_json::Value;
use slob_testing::jobs::TestServer;
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, shown_within, until};
use slob_testing::{is_full, skipped};

use crate::common::{
    Bench, Called, Product, Signal, assert_failed_and_kept, ended, mariadb, operations, postgres, rows,
    signal,
};

const POSTGRES: Product = Product::Postgres(Version::V15);
/// MariaDB writes its log once a second, so that tests that are not about commits take less time.
const LAZY_LOG: &[&str] = &["innodb-flush-log-at-trx-commit=2"];

/// Flags of a run, and its UPDATEs and scans among 100 operations; the rest are SELECTs.
const MIXES: [(&str, u64, u64); 7] = [
    ("--update-pct 0", 0, 0),
    ("--update-pct 20 --redo-stress HEAVY", 20, 0),
    ("--update-pct 73", 73, 0),
    ("--update-pct 100", 100, 0),
    ("--update-pct 20 --scan-pct 25", 20, 20),
    ("--update-pct 0 --do-hotspot --hotspot-mb 1 --hotspot-offset-mb 2", 0, 0),
    ("--update-pct 50 --think-tm-frequency 10 --think-tm-min 0.001 --think-tm-max 0.002", 50, 0),
];

/// The server's own count of updated rows, and its count of commits if that is of UPDATEs alone.
type ServerCounts<'a> = &'a dyn Fn() -> (i64, Option<i64>);

/// Each operation touches the planned blocks, each kind has its planned number, and the server agrees.
fn counts_equal_the_plan<S: TestServer>(
    bench: &Bench<S>,
    place: &str,
    counts: ServerCounts<'_>,
) -> Vec<Value> {
    bench.setup(2, "8M");
    let equal_the_plan = |(flags, updates, scans): (&str, u64, u64)| {
        let before = counts();
        let fixed = format!("-s 2 -t 2 --work-loop 500 --work-unit 5 --loop {place}");
        let record = bench.run(format!("{fixed} {flags}"));
        let selects = 100 - updates - scans;
        for (kind, percent, blocks) in [("update", updates, 5), ("scan", scans, 64), ("select", selects, 5)] {
            let planned = 20 * percent;
            let counted = (operations(&record, kind), rows(&record, kind));
            assert_eq!(counted, (planned, planned * blocks), "{flags}");
        }
        // The server counts conflicts that were repeated too.
        let conflicts: HashMap<String, i64> =
            serde_json::from_value(record["conflicts"].clone()).unwrap_or_default();
        let planned = 20 * updates.cast_signed();
        let most = planned + conflicts.values().sum::<i64>();
        // PostgreSQL publishes a session's work when the session ends.
        until(|| {
            let now = counts();
            let updated = now.0 - before.0;
            let commits = now.1.map_or(planned, |commits| commits - before.1.unwrap());
            ensure((planned * 5..=most * 5).contains(&updated) && commits == planned, || {
                format!("{flags}: {updated} rows, {commits} commits by the server's count")
            })
        });
        record
    };
    MIXES.map(equal_the_plan).into()
}

/// The client's threads share the CPUs with 64 processes of the server.
#[test]
fn each_second_of_many_sessions_is_accounted_and_each_session_works() {
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    bench.setup(1, "8M");
    // Beside other tests a session may wait for a CPU longer than a window.
    let record = shown_within(3, || {
        let record = bench.run("-s 1 -t 64 --run-time 3 --update-pct 0 --scan-pct 0 --work-unit 16");
        let sessions = record["sessions"].as_array().unwrap();
        let idle = sessions.iter().filter(|session| session["selects"] == 0).count();
        ensure((sessions.len(), idle) == (64, 0), || format!("{idle} of {} did nothing", sessions.len()))?;
        Ok(record)
    });
    let (sessions, window_s) = (record["sessions"].as_array().unwrap(), &record["window"]["seconds"]);
    let us = |session: &Value| {
        ["busy_us", "idle_us", "waiting_us"].map(|part| session[part].as_f64().unwrap()).iter().sum::<f64>()
    };
    let share = sessions.iter().map(us).sum::<f64>() / (64e6 * window_s.as_f64().unwrap());
    assert!((share - 1.0).abs() < 0.01, "{share}");
    assert!(sessions.iter().all(|session| session["whole_window"] == true && session["schema"] == 1));
    assert!(record["dispatch"]["count"].as_u64() >= Some(64), "{}", record["dispatch"]);
}

#[rstest]
#[case::of_15(Version::V15, "server")]
#[case::of_15_statement_by_statement(Version::V15, "statement")]
#[case::of_15_with_the_loop_in_the_client(Version::V15, "client")]
#[case::of_18(Version::V18, "server")]
fn counts_of_postgresql_equal_the_plan(#[case] version: Version, #[case] place: &str) {
    if place == "client" && !is_full() {
        return skipped("MariaDB has its own; DRILLS=full makes it");
    }
    let Some(bench) = postgres(version, &[]) else { return };
    let updated = "SELECT sum(n_tup_upd)::bigint FROM pg_stat_user_tables WHERE relname = 'cf1'";
    for record in counts_equal_the_plan(&bench, place, &|| (bench.server.number(updated), None)) {
        assert_eq!(record["conflicts"], Value::Null);
        let joined = record["server"]["joined_selects"].as_bool().unwrap_or(false);
        assert_eq!(joined, place == "server", "the record says which statements there were");
    }
}

#[rstest]
fn counts_of_mariadb_equal_the_plan(#[values("server", "client")] place: &str) {
    let Some(bench) = mariadb(LAZY_LOG) else { return };
    let status = |name: &str| -> Option<i64> {
        let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
        let row: Option<(String, i64)> = bench.server.admin().query_first(sql).unwrap();
        row.map(|(_, value)| value)
    };
    // Handlers of MySQL also update rows of the server itself, which are counted separately there.
    let updated = match status("Innodb_system_rows_updated") {
        Some(_) => "Innodb_rows_updated",
        None => "Handler_update",
    };
    counts_equal_the_plan(&bench, place, &|| (status(updated).unwrap(), status("Com_commit")));
}

#[rstest]
#[case::postgresql(
    POSTGRES,
    &[],
    "SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'slob{}' AND relname = 'cf1'"
)]
#[case::mariadb(
    Product::MariaDb,
    &["innodb-flush-log-at-trx-commit=2", "userstat=1"],
    "SELECT ROWS_CHANGED FROM information_schema.TABLE_STATISTICS WHERE TABLE_SCHEMA = 'slob{}' AND TABLE_NAME = 'cf1'"
)]
fn every_fourth_operation_goes_to_the_hot_schema(
    #[case] product: Product,
    #[case] settings: &[&str],
    #[case] updated_of_schema: &str,
) {
    let Some(bench) = product.start(settings) else { return };
    bench.setup(3, "8M");
    let updated =
        || [1, 2, 3].map(|schema| bench.server.number(&updated_of_schema.replace("{}", &schema.to_string())));
    let before = updated();
    bench.run("-s 3 -t 1 --work-loop 100 --work-unit 4 --update-pct 100 --hot-schema-frequency 4");
    let expected = [4 * (100 + 25 + 25), 4 * 75, 4 * 75];
    until(|| {
        let (now, before) = (updated(), before);
        let changed = [0, 1, 2].map(|at| now[at] - before[at]);
        ensure(changed == expected, || format!("{changed:?}"))
    });
}

/// Bytes, with REDO_STRESS=LITE and HEAVY.
fn redo_of_a_row(bench: &Bench) -> [f64; 2] {
    bench.setup(1, "8M");
    ["LITE", "HEAVY"].map(|stress| {
        let record =
            bench.run(format!("--work-loop 200 --work-unit 8 --update-pct 100 --redo-stress {stress}"));
        record["counters"]["redo_bytes"].as_u64().unwrap() as f64 / (200.0 * 8.0)
    })
}

#[test]
fn redo_of_postgresql_follows_the_updated_columns() {
    // Without images of whole pages only the columns are logged.
    let Some(bench) = POSTGRES.start(&["full_page_writes=off"]) else { return };
    let [lite, heavy] = redo_of_a_row(&bench);
    // A new version of a row on its page is logged from the first to the last byte that differs. c2 and c20 are neighbours: LITE
    // logs two texts of 128 bytes with a length byte each, HEAVY nineteen.
    let (text, difference) = (129.0, heavy - lite);
    assert!((lite - 2.0 * text) < 2.0 * text, "{lite} bytes of a LITE row");
    let error = difference / (17.0 * text) - 1.0;
    assert!(error.abs() < 0.1, "{heavy} bytes of a HEAVY row, {lite} of a LITE one");
}

#[test]
fn redo_of_mariadb_follows_the_updated_columns() {
    let Some(bench) = Product::MariaDb.start(LAZY_LOG) else { return };
    let [lite, heavy] = redo_of_a_row(&bench);
    // Each changed column is logged twice: its new value, and the old one, which goes into a page of undo.
    assert!(heavy - lite > 17.0 * 128.0, "{heavy} bytes of a HEAVY row, {lite} of a LITE one");
    assert!(lite > 2.0 * 128.0, "{lite} bytes of a LITE row");
}

const SCHEMAS: &str = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'slob%'";

/// The pages of this server have 16 KiB: an explicit BLOCK_SZ must equal that.
#[test]
fn an_explicit_block_size_of_8192_is_refused_before_anything_is_touched() {
    let Some(bench) = Product::MariaDb.start(&[]) else { return };
    let schemas = || bench.server.number(SCHEMAS);
    let (setup, target) = (format!("setup --target {} --scale 1000 1", bench.target), &bench.target);
    let advice = "set BLOCK_SZ=16384 or leave it out";
    bench.folder.slob(format!("{setup} --block-sz 8192")).refused(&[advice]);
    assert_eq!(schemas(), 0);
    bench.folder.slob(format!("{setup} --block-sz 16384")).success();
    assert_eq!(schemas(), 1);
    let run = format!("run --target {target} --work-loop 1 --scale 1000 -s 1");
    bench.folder.slob(format!("{run} --block-sz 8192")).refused(&[]);
    bench.folder.slob(run).success();
}

#[rstest]
#[case("8k", 8192)]
#[case("32k", 32_768)]
fn pages_of_other_sizes_hold_a_row_each(#[case] size: &str, #[case] bytes: u64) {
    let page_size = format!("innodb-page-size={size}");
    let settings = [&page_size, "innodb-buffer-pool-size=16M", "innodb-flush-log-at-trx-commit=2"];
    let Some(bench) = Product::MariaDb.start(&settings) else { return };
    bench.setup(1, "16M");
    let record = bench.run("--work-loop 500 --update-pct 20 --work-unit 16");
    assert_eq!(record["server"]["block_bytes"], bytes);
    assert_eq!((rows(&record, "select"), rows(&record, "update")), (400 * 16, 100 * 16));
    let schema = &record["load"]["schemas"][0];
    assert_eq!(schema["rows"], (16 << 20) / bytes);
    assert_eq!(schema["rows"], schema["row_blocks"]);
    let counter = |name: &str| record["counters"][name].as_u64().unwrap();
    let (reads, read_bytes) = (counter("physical_reads"), counter("physical_read_bytes"));
    // Pages that purge reads at an edge of the window are in one of the two counters already.
    assert!(read_bytes.abs_diff(reads * bytes) <= 16 * bytes, "{read_bytes} of {reads} pages");
    bench.folder.slob("verify").success();
}

#[test]
fn pages_too_small_for_a_row_are_refused() {
    let Some(bench) = Product::MariaDb.start(&["innodb-page-size=4k"]) else { return };
    let setup = format!("setup --target {} --scale 8M 1", bench.target);
    bench.folder.slob(setup).refused(&["innodb_page_size=16k"]);
    assert_eq!(bench.server.number(SCHEMAS), 0, "nothing is left behind");
}

#[rstest]
#[case::postgresql(POSTGRES, "ROLE plain CONNECTION LIMIT 4", 3, "role 'plain' is 4")]
#[case::mariadb(
    Product::MariaDb,
    "USER plain@'%' WITH MAX_USER_CONNECTIONS 6",
    6,
    "max_user_connections is 6"
)]
fn too_few_connections_refuse_the_run_before_it_starts(
    #[case] product: Product,
    #[case] account: &str,
    #[case] sessions: u32,
    #[case] limit: &str,
) {
    let Some(bench) = product.start(&["max_connections=12"]) else { return };
    bench.setup(1, "1M");
    let refused = |sessions: u32, words: &[&str]| {
        bench.folder.slob(format!("run -s 1 -t {sessions} --run-time 1")).refused(words);
    };
    refused(20, &["max_connections is 12", "20 sessions"]);
    assert!(slob_record::list_runs(&bench.folder.at("runs")).unwrap().is_empty());
    bench.server.run(&format!("ALTER {account}"));
    refused(sessions, &[limit]);
}

/// The failed run says the error, and keeps what was measured.
fn assert_ended_by(bench: &Bench, called: Called, word: &str) {
    let called = called.exits(3);
    let record = bench.folder.last_record();
    assert_failed_and_kept(&record);
    let error = record["status"]["error"].as_str().unwrap();
    assert!(error.contains(word), "{error}");
    let begin = error.split(':').next().unwrap();
    assert!(called.stdout.contains("FAILED") && called.stdout.contains(begin), "{}", called.stdout);
    assert!(operations(&record, "update") > 0, "what was measured is kept");
    assert!(record["series"].to_string().len() > 100);
}

#[rstest]
fn a_lost_session_or_server_fails_the_run_and_keeps_what_was_measured(
    #[values(POSTGRES, Product::MariaDb)] product: Product,
    #[values(false, true)] is_killed: bool,
) {
    let Some(mut bench) = product.start(&[]) else { return };
    bench.setup(1, "8M");
    let run = bench.long_run("-t 3 --run-time 60");
    if is_killed {
        bench.server.kill();
    } else {
        bench.server.end_busy_session(true);
    }
    assert_ended_by(&bench, ended(run), "session");
}

#[test]
fn a_lock_on_our_table_ends_the_run_after_the_time_out() {
    let Some(bench) = POSTGRES.start(&[]) else { return };
    bench.setup(1, "8M");
    bench.server.run("ALTER ROLE plain SET lock_timeout = '2s'");
    let run = bench.long_run("-t 2 --run-time 60");
    let _lock = bench.server.lock_main_table();
    assert_ended_by(&bench, ended(run), "a lock was held by");
}

/// The second Ctrl-C comes while sessions wait for a lock, long before the run has ended in order.
#[test]
fn settings_of_the_server_are_restored_after_a_second_ctrl_c() {
    let Some(bench) = Product::MariaDb.start(&["innodb-adaptive-hash-index=ON"]) else { return };
    bench.setup(1, "8M");
    bench.server.run("GRANT SUPER ON *.* TO plain@'%'");
    let is_on = || bench.server.number("SELECT @@GLOBAL.innodb_adaptive_hash_index") == 1;
    shown_within(3, || {
        let run = bench.long_run("-t 2 --run-time 60");
        assert!(!is_on(), "it is off during a run");
        let _lock = bench.server.lock_main_table();
        for _ in 0..2 {
            signal(&run, Signal::INT);
            thread::sleep(Duration::from_millis(1200));
        }
        let called = ended(run).exits(130);
        assert!(is_on(), "{}", called.stderr);
        // On a busy machine both may be heard as one, or too late.
        ensure(called.stderr.contains("restoring the server's settings"), || called.stderr)
    });
}

/// The same data in that many schemas.
fn two_servers(product: Product, settings: &[&str], schemas: u32) -> Option<([Bench; 2], String)> {
    let benches = [product.start(settings)?, product.start(settings)?];
    for bench in &benches {
        bench.load(&format!("--scale 8M --seed 77 {schemas}"));
    }
    let [first, second] = &benches;
    first.folder.write("slob.conf", &format!("TARGET={}\nSCALE=8M\nWARMUP=0\n", first.target));
    let endpoints = format!("127.0.0.1:{},localhost:{}", first.port(), second.port());
    Some((benches, endpoints))
}

#[rstest]
#[case::postgresql(POSTGRES, &[])]
#[case::mariadb(Product::MariaDb, LAZY_LOG)]
fn sessions_spread_over_two_servers_and_each_has_its_figures(
    #[case] product: Product,
    #[case] settings: &[&str],
) {
    let Some(([first, second], endpoints)) = two_servers(product, settings, 2) else { return };
    let run = |endpoints: &str| {
        first.run(format!("--endpoints {endpoints} -s 2 -t 2 --work-loop 100 --work-unit 4 --update-pct 50"))
    };
    let record = run(&endpoints);
    let servers = record["endpoints"].as_array().unwrap();
    let changed = servers.iter().map(|server| {
        assert_eq!((&server["sessions"], operations(server, "update")), (&2.into(), 100));
        server["counters"]["rows_changed"].as_u64().unwrap()
    });
    let changed: Vec<u64> = changed.collect();
    assert!(changed.len() == 2 && changed.iter().all(|rows| *rows >= 400), "{changed:?} rows changed");
    assert_eq!(record["counters"]["rows_changed"], changed.iter().sum::<u64>());
    assert_eq!(operations(&record, "update"), 200);
    first.folder.slob("report").prints(&["Endpoints", &format!("localhost:{}", second.port())]);
    // Two names of one server: its counters are there once.
    let record = run(&format!("127.0.0.1:{0},localhost:{0}", first.port()));
    assert_eq!(record["endpoints"][0]["counters"]["rows_changed"], record["counters"]["rows_changed"]);
    assert_eq!(record["endpoints"][1]["counters"], Value::Null);
    assert_eq!(record["endpoints"][1]["shares_with"], record["endpoints"][0]["endpoint"]);
}

/// Two of four sessions lose their server.
#[rstest]
#[case("fail", 3, None)]
#[case("drop", 0, Some(2))]
#[case("reconnect", 0, Some(4))]
fn a_killed_server_of_two_fails_the_run_or_loses_its_sessions_or_moves_them(
    #[case] policy: &str,
    #[case] code: i32,
    #[case] sessions: Option<usize>,
) {
    shown_within(3, || {
        let Some(([first, mut second], endpoints)) = two_servers(POSTGRES, &[], 1) else { return Ok(()) };
        let flags = format!("--endpoints {endpoints} -t 4 --tolerate-session-loss {policy} --run-time 6");
        let run = first.folder.start_run(format!("--update-pct 100 --work-unit 8 {flags}"));
        second.server.kill();
        let called = ended(run);
        let record = first.folder.last_record();
        let losses = record["losses"].as_array().cloned().unwrap_or_default();
        let back = losses.iter().filter(|loss| loss["back_s"].is_number()).count();
        // On a busy machine the run may end before the kill, or before all are back.
        let expected = sessions.map_or((code, 0, 0), |sessions| (code, 2, sessions - 2));
        ensure((called.code, losses.len(), back) == expected, || format!("{}{losses:#?}", called.all()))?;
        let Some(sessions) = sessions else { return Ok(()) };
        assert_eq!(record["status"]["state"], "completed");
        first.folder.slob("report").prints(&["Lost sessions"]);
        assert!(record["notes"].to_string().contains("counters of localhost"), "{}", record["notes"]);
        assert_eq!(record["endpoints"][0]["sessions"], sessions);
        Ok(())
    });
}
