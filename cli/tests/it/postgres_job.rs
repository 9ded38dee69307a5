//! The main job on real PostgreSQL servers, started here: what is counted equals what was planned, what is said of
//! the reads is true, and what goes wrong ends clearly.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::postgres::{Bench, bench};
use crate::common::{Called, Folder, SLOB};
use crate::counting::{MIXES, assert_planned, count, ended};
use rstest::rstest;
use serde_json::Value;
use slob_testing::postgres::Version;

impl Bench {
    /// Starts a run that lasts until it is disturbed, and waits until it is at work.
    fn long_run(&self, arguments: &[&str]) -> Child {
        let child = Command::new(SLOB)
            .args(["run", "--update-pct", "100", "--work-unit", "8"])
            .args(if arguments.contains(&"--run-time") { &[][..] } else { &["--run-time", "120"] })
            .args(arguments)
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let at_work = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'slob' AND query LIKE 'CALL%' AND state = 'active'";
        while self.ask(at_work) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "no session went to work");
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(Duration::from_millis(1500));
        child
    }
}

#[rstest]
#[case::on_15(Version::V15, "server")]
#[case::on_15_statement_by_statement(Version::V15, "statement")]
#[case::on_15_with_the_loop_here(Version::V15, "client")]
#[case::on_18(Version::V18, "server")]
fn counts_equal_the_plan(#[case] version: Version, #[case] place: &str) {
    let Some(bench) = bench(version, &[]) else { return };
    bench.setup("4", "8M");
    for (flags, updates, scans) in MIXES {
        let fixed = ["-s", "4", "-t", "2", "--work-loop", "500", "--work-unit", "5", "--loop", place];
        let before =
            bench.ask("SELECT sum(n_tup_upd)::bigint FROM pg_stat_user_tables WHERE relname = 'cf1'");
        let record = bench.run(&[&fixed, *flags].concat());
        assert_planned(&record, 40, (*updates, *scans), flags);
        assert_eq!(
            record["server"]["joined_selects"].as_bool().unwrap_or(false),
            place == "server",
            "the record says which statements there were"
        );
        let changed = || {
            bench.ask("SELECT sum(n_tup_upd)::bigint FROM pg_stat_user_tables WHERE relname = 'cf1'") - before
        };
        let (begun, planned) = (Instant::now(), (40 * updates * 5).cast_signed());
        // The server publishes what a session did when the session ends.
        while changed() != planned && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(changed(), planned, "rows changed by the server's own count, {flags:?}");
    }
}

#[test]
fn every_fourth_operation_goes_to_the_hot_schema() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("3", "8M");
    let flags = ["-s", "3", "-t", "1", "--work-loop", "100", "--work-unit", "4", "--update-pct", "100"];
    bench.run(&[&flags[..], &["--hot-schema-frequency", "4"]].concat());
    let updated = |schema: u32| {
        bench.ask(&format!(
            "SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'slob{schema}' AND relname = 'cf1'"
        ))
    };
    let expected = [4 * (100 + 25 + 25), 4 * 75, 4 * 75];
    let begun = Instant::now();
    while [1, 2, 3].map(updated) != expected && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!([1, 2, 3].map(updated), expected);
}

#[test]
fn sixteen_sessions_share_one_schema() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "16M");
    let record = bench.run(&["-s", "1", "-t", "16", "--run-time", "2", "--update-pct", "20"]);
    assert_eq!(record["status"]["state"], "completed");
    let sessions = record["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 16);
    assert!(sessions.iter().all(|session| session["whole_window"] == true && session["schema"] == 1));
}

#[test]
fn redo_of_heavy_updates_is_what_the_columns_make() {
    // Without images of whole pages what is left is what the columns make.
    let Some(bench) = bench(Version::V15, &[("full_page_writes", "off")]) else { return };
    bench.setup("1", "8M");
    let bytes_of_a_row = |stress: &str| {
        let flags =
            ["--work-loop", "200", "--work-unit", "8", "--update-pct", "100", "--redo-stress", stress];
        let record = bench.run(&flags);
        record["counters"]["redo_bytes"].as_u64().unwrap() as f64 / (200.0 * 8.0)
    };
    let (lite, heavy) = (bytes_of_a_row("LITE"), bytes_of_a_row("HEAVY"));
    // A new version of a row on its page is logged from the first to the last byte that differs, and the columns lie
    // so that c2 and c20 are neighbours: LITE logs two texts of 128 bytes with a length byte each, HEAVY nineteen.
    let (text, difference) = (129.0, heavy - lite);
    assert!((lite - 2.0 * text) < 2.0 * text, "{lite} bytes of a LITE row");
    assert!(
        (difference / (17.0 * text) - 1.0).abs() < 0.1,
        "{heavy} bytes of a HEAVY row, {lite} of a LITE one"
    );
}

#[test]
fn too_few_connections_refuse_the_run_before_it_starts() {
    let Some(bench) = bench(Version::V15, &[("max_connections", "12")]) else { return };
    bench.setup("1", "1M");
    let refused = bench.folder.slob(["run", "-s", "1", "-t", "20", "--run-time", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("max_connections is 12"), "{}", refused.stderr);
    assert!(refused.stderr.contains("20 sessions"), "{}", refused.stderr);
    assert!(
        !bench.folder.path().join("runs").exists()
            || bench.folder.path().join("runs").read_dir().unwrap().count() == 0
    );
    bench.admin().batch_execute("ALTER ROLE plain CONNECTION LIMIT 4").unwrap();
    let refused = bench.folder.slob(["run", "-s", "1", "-t", "3", "--run-time", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("role 'plain' is 4"), "{}", refused.stderr);
}

#[test]
fn a_lost_backend_fails_the_run_and_keeps_what_was_measured() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "8M");
    let child = bench.long_run(&["-t", "3"]);
    let lost = bench.ask(
        "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slob' AND query LIKE 'CALL%' LIMIT 1) t",
    );
    assert_eq!(lost, 1);
    failed_and_kept(&bench, &ended(child), "session");
}

#[test]
fn a_server_that_is_killed_fails_the_run_and_keeps_what_was_measured() {
    let Some(mut bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "8M");
    let child = bench.long_run(&["-t", "2"]);
    bench.cluster.kill9();
    failed_and_kept(&bench, &ended(child), "session");
}

#[test]
fn a_lock_on_our_table_ends_the_run_after_the_time_out() {
    let Some(bench) = bench(Version::V15, &[]) else { return };
    bench.setup("1", "8M");
    bench.admin().batch_execute("ALTER ROLE plain SET lock_timeout = '2s'").unwrap();
    let child = bench.long_run(&["-t", "2"]);
    let mut admin = bench.admin();
    let mut lock = admin.transaction().unwrap();
    lock.batch_execute("LOCK TABLE slob1.cf1 IN ACCESS EXCLUSIVE MODE").unwrap();
    failed_and_kept(&bench, &ended(child), "a lock was held by");
    lock.rollback().unwrap();
}

fn failed_and_kept(bench: &Bench, called: &Called, word: &str) {
    assert_eq!(called.code, 3, "{}\n{}", called.stdout, called.stderr);
    let record = bench.folder.last_record();
    assert_eq!(record["status"]["state"], "failed");
    let error = record["status"]["error"].as_str().unwrap();
    assert!(error.contains(word), "{error}");
    assert!(
        called.stdout.contains("FAILED") && called.stdout.contains(error.split(':').next().unwrap()),
        "{}",
        called.stdout
    );
    assert!(count(&record, "update") > 0, "what was measured is kept");
    assert!(record["series"].to_string().len() > 100);
}

#[test]
fn sessions_spread_over_two_servers_and_each_has_its_figures() {
    let Some(first) = bench(Version::V15, &[]) else { return };
    let Some(second) = bench(Version::V15, &[]) else { return };
    for bench in [&first, &second] {
        let load = ["--scale", "4M", "--seed", "77", "2"];
        first.folder.slob([&["setup", "--target", &bench.target][..], &load].concat()).success();
    }
    let endpoints = format!("127.0.0.1:{},localhost:{}", first.cluster.port(), second.cluster.port());
    let flags = "-s 2 -t 2 --work-loop 100 --work-unit 4 --update-pct 50 --scale 4M";
    let flags: Vec<&str> = flags.split(' ').collect();
    let record = first.run(&[&["--target", &first.target, "--endpoints", &endpoints], &flags[..]].concat());
    let servers = record["endpoints"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    let mut changed = 0;
    for server in servers {
        assert_eq!(server["sessions"], 2);
        assert_eq!(server["operations"]["update"]["operations"], 100);
        let of_server = server["counters"]["rows_changed"].as_u64().unwrap();
        assert!(of_server >= 400, "{of_server} rows changed");
        changed += of_server;
    }
    assert_eq!(record["counters"]["rows_changed"], changed);
    assert_eq!(count(&record, "update"), 200);
    let report = first.folder.slob(["report"]).success().stdout;
    assert!(
        report.contains("Endpoints") && report.contains(&format!("localhost:{}", second.cluster.port())),
        "{report}"
    );

    // Two names of one server: its counters are there once.
    let twice = format!("127.0.0.1:{0},localhost:{0}", first.cluster.port());
    let record = first.run(&[&["--target", &first.target, "--endpoints", &twice], &flags[..]].concat());
    assert_eq!(record["endpoints"][0]["counters"]["rows_changed"], record["counters"]["rows_changed"]);
    assert_eq!(record["endpoints"][1]["counters"], Value::Null);
    assert_eq!(record["endpoints"][1]["shares_with"], record["endpoints"][0]["endpoint"]);
}

#[test]
fn endpoints_need_a_target_with_hosts() {
    let folder = Folder::new();
    let refused = folder.slob(["setup", "--target", "sqlite:./d", "--endpoints", "a:1,b:2", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("ENDPOINTS"), "{}", refused.stderr);
}

#[rstest]
#[case("fail")]
#[case("drop")]
#[case("reconnect")]
fn a_server_that_is_killed_under_each_policy(#[case] policy: &str) {
    let Some(first) = bench(Version::V15, &[]) else { return };
    let Some(mut second) = bench(Version::V15, &[]) else { return };
    for bench in [&first, &second] {
        let load = ["--scale", "4M", "--seed", "77", "1"];
        first.folder.slob([&["setup", "--target", &bench.target][..], &load].concat()).success();
    }
    first.folder.write("slob.conf", &format!("TARGET={}\nSCALE=4M\nWARMUP=0\n", first.target));
    let endpoints = format!("127.0.0.1:{},localhost:{}", first.cluster.port(), second.cluster.port());
    let flags = ["--endpoints", &endpoints, "-t", "4", "--tolerate-session-loss", policy, "--run-time", "6"];
    let child = first.long_run(&flags);
    second.cluster.kill9();
    let called = ended(child);
    let record = first.folder.last_record();
    let losses = record["losses"].as_array().map_or(0, Vec::len);
    let back =
        || record["losses"].as_array().unwrap().iter().filter(|loss| loss["back_s"].is_number()).count();
    match policy {
        "fail" => assert_eq!((called.code, losses), (3, 0), "{}", called.stderr),
        "drop" => assert_eq!((called.code, losses, back()), (0, 2, 0), "{}", called.stderr),
        _ => assert_eq!((called.code, losses, back()), (0, 2, 2), "{}", called.stderr),
    }
    if policy != "fail" {
        assert_eq!(record["status"]["state"], "completed");
        let report = first.folder.slob(["report"]).success().stdout;
        assert!(report.contains("Lost sessions"), "{report}");
        assert!(record["notes"].to_string().contains("counters of localhost"), "{}", record["notes"]);
        let at_the_end = if policy == "drop" { 2 } else { 4 };
        assert_eq!(record["endpoints"][0]["sessions"], at_the_end);
    }
}
