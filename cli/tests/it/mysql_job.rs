//! The main job on real MariaDB servers, started here: what is counted equals what was planned, what is said of the reads
//! is true, and what goes wrong ends clearly.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::mariadb::{Bench, bench};
use crate::common::{Called, SLOB};
use crate::counting::{MIXES, assert_planned, count, ended, rows};
use mysql::prelude::Queryable;
use rstest::rstest;
use serde_json::Value;

impl Bench {
    /// Starts a run that lasts until it is disturbed, and waits until it is at work.
    fn long_run(&self, arguments: &[&str]) -> Child {
        let child = Command::new(SLOB)
            .args(["run", "--run-time", "120", "--update-pct", "100", "--work-unit", "8"])
            .args(arguments)
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while self.at_work().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no session went to work");
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(1500));
        child
    }

    /// The connections of sessions that execute something.
    fn at_work(&self) -> Vec<u64> {
        let sql = "SELECT ID FROM information_schema.PROCESSLIST
                   WHERE USER = 'plain' AND DB LIKE 'slob%' AND COMMAND = 'Execute'";
        self.server.admin().query(sql).unwrap()
    }
}

#[rstest]
#[case::with_the_loop_there("server")]
#[case::with_the_loop_here("client")]
fn counts_equal_the_plan(#[case] place: &str) {
    let Some(bench) = bench(&["innodb-flush-log-at-trx-commit=2"]) else { return };
    bench.setup("4", "8M");
    let known = |name: &str| -> Option<u64> {
        let row: Option<(String, u64)> =
            bench.server.admin().query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
        Some(row?.1)
    };
    let status = |name: &str| known(name).unwrap();
    // Handlers of MySQL also update what the server has for itself, whose rows are counted apart there.
    let updated = match known("Innodb_system_rows_updated") {
        Some(_) => "Innodb_rows_updated",
        None => "Handler_update",
    };
    for (flags, updates, scans) in MIXES {
        let fixed = ["-s", "4", "-t", "2", "--work-loop", "500", "--work-unit", "5", "--loop", place];
        let before = (status(updated), status("Com_commit"));
        let record = bench.run(&[&fixed, *flags].concat());
        assert_planned(&record, 40, (*updates, *scans), flags);
        // The server's own counts, of conflicts that were repeated too.
        let conflicts = record["conflicts"].as_object();
        let retries: u64 = conflicts.map_or(0, |codes| codes.values().filter_map(Value::as_u64).sum());
        let changed = status(updated) - before.0;
        assert!(
            (40 * updates * 5..=(40 * updates + retries) * 5).contains(&changed),
            "{changed} rows, {flags:?}"
        );
        assert_eq!(status("Com_commit") - before.1, 40 * updates, "{flags:?}");
    }
}

/// The pages of this server have 16 KiB: BLOCK_SZ must be theirs, whoever writes it out.
#[test]
fn a_block_size_of_8192_that_is_written_out_is_refused_before_anything_is_touched() {
    let Some(bench) = bench(&[]) else { return };
    let schemas = || {
        bench.server.ask("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'slob%'")
    };
    let setup = ["setup", "--target", &bench.target, "--scale", "1000", "1"];
    let refused = bench.folder.slob([&setup[..], &["--block-sz", "8192"]].concat());
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("set BLOCK_SZ=16384 or leave it out"), "{}", refused.stderr);
    assert_eq!(schemas(), 0);
    bench.folder.slob([&setup[..], &["--block-sz", "16384"]].concat()).success();
    assert_eq!(schemas(), 1);
    let run = ["run", "--target", &bench.target, "--work-loop", "1", "--scale", "1000", "-s", "1"];
    assert_eq!(bench.folder.slob([&run[..], &["--block-sz", "8192"]].concat()).code, 2);
    bench.folder.slob(run).success();
}

#[test]
fn every_fourth_operation_goes_to_the_hot_schema() {
    let Some(bench) = bench(&["innodb-flush-log-at-trx-commit=2", "userstat=1"]) else { return };
    bench.setup("3", "8M");
    bench.server.sql("FLUSH TABLE_STATISTICS");
    let flags = ["-s", "3", "-t", "1", "--work-loop", "100", "--work-unit", "4", "--update-pct", "100"];
    bench.run(&[&flags[..], &["--hot-schema-frequency", "4"]].concat());
    let updated = |schema: u32| {
        bench.server.ask(&format!(
            "SELECT ROWS_CHANGED FROM information_schema.TABLE_STATISTICS WHERE TABLE_SCHEMA = 'slob{schema}' AND TABLE_NAME = 'cf1'"
        ))
    };
    assert_eq!([1, 2, 3].map(updated), [4 * (100 + 25 + 25), 4 * 75, 4 * 75]);
}

#[test]
fn redo_of_heavy_updates_is_what_the_columns_make() {
    let Some(bench) = bench(&["innodb-flush-log-at-trx-commit=2"]) else { return };
    bench.setup("1", "8M");
    let bytes_of_a_row = |stress: &str| {
        let flags =
            ["--work-loop", "200", "--work-unit", "8", "--update-pct", "100", "--redo-stress", stress];
        let record = bench.run(&flags);
        record["counters"]["redo_bytes"].as_u64().unwrap() as f64 / (200.0 * 8.0)
    };
    let (lite, heavy) = (bytes_of_a_row("LITE"), bytes_of_a_row("HEAVY"));
    // Each changed column is logged twice: its new value, and the old one, which goes into a page of undo.
    assert!(heavy - lite > 17.0 * 128.0, "{heavy} bytes of a HEAVY row, {lite} of a LITE one");
    assert!(lite > 2.0 * 128.0, "{lite} bytes of a LITE row");
}

#[rstest]
#[case("8k", 8192)]
#[case("32k", 32_768)]
fn pages_of_other_sizes_hold_a_row_each(#[case] size: &str, #[case] bytes: u64) {
    let page_size = format!("innodb-page-size={size}");
    let settings = [&page_size, "innodb-buffer-pool-size=16M", "innodb-flush-log-at-trx-commit=2"];
    let Some(bench) = bench(&settings) else { return };
    bench.setup("1", "16M");
    let flags = ["--work-loop", "500", "--update-pct", "20", "--work-unit", "16"];
    let record = bench.run(&flags);
    assert_eq!(record["server"]["block_bytes"], bytes);
    assert_eq!((rows(&record, "select"), rows(&record, "update")), (400 * 16, 100 * 16));
    let schema = &record["load"]["schemas"][0];
    assert_eq!(schema["rows"], (16 << 20) / bytes);
    assert_eq!(schema["rows"], schema["row_blocks"]);
    let reads = record["counters"]["physical_reads"].as_u64().unwrap();
    let read_bytes = record["counters"]["physical_read_bytes"].as_u64().unwrap();
    // Pages that purge reads at an edge of the window are in one of the two counters already.
    assert!(read_bytes.abs_diff(reads * bytes) <= 16 * bytes, "{read_bytes} of {reads} pages");
    bench.folder.slob(["verify"]).success();
}

#[test]
fn pages_that_hold_no_row_of_the_method_are_refused() {
    let Some(bench) = bench(&["innodb-page-size=4k"]) else { return };
    let refused = bench.folder.slob(["setup", "--target", &bench.target, "--scale", "8M", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("innodb_page_size=16k"), "what to do is said: {}", refused.stderr);
    let sql = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'slob%'";
    assert_eq!(bench.server.ask(sql), 0, "nothing is left behind");
}

#[test]
fn too_few_connections_refuse_the_run_before_it_starts() {
    let Some(bench) = bench(&["max-connections=12"]) else { return };
    bench.setup("1", "8M");
    let refused = bench.folder.slob(["run", "-s", "1", "-t", "20", "--run-time", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("max_connections is 12"), "{}", refused.stderr);
    assert!(refused.stderr.contains("20 sessions"), "{}", refused.stderr);
    assert!(
        !bench.folder.path().join("runs").exists()
            || bench.folder.path().join("runs").read_dir().unwrap().count() == 0
    );
    bench.server.sql("ALTER USER plain@'%' WITH MAX_USER_CONNECTIONS 6");
    let refused = bench.folder.slob(["run", "-s", "1", "-t", "6", "--run-time", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("max_user_connections is 6"), "{}", refused.stderr);
}

#[test]
fn a_lost_connection_fails_the_run_and_keeps_what_was_measured() {
    let Some(bench) = bench(&[]) else { return };
    bench.setup("1", "8M");
    let child = bench.long_run(&["-t", "3"]);
    let session = loop {
        if let Some(session) = bench.at_work().first() {
            break *session;
        }
    };
    bench.server.sql(&format!("KILL {session}"));
    failed_and_kept(&bench, &ended(child), "session");
}

#[test]
fn a_server_that_is_killed_fails_the_run_and_keeps_what_was_measured() {
    let Some(mut bench) = bench(&[]) else { return };
    bench.setup("1", "8M");
    let child = bench.long_run(&["-t", "2"]);
    bench.server.kill9();
    failed_and_kept(&bench, &ended(child), "session");
}

/// The second Ctrl-C comes while sessions wait for a lock, long before the run has ended in order.
#[test]
fn settings_of_the_server_are_put_back_whatever_is_pressed() {
    let Some(bench) = bench(&["innodb-adaptive-hash-index=ON"]) else { return };
    bench.setup("1", "8M");
    bench.server.sql("GRANT SUPER ON *.* TO plain@'%'");
    let is_on = || bench.server.ask("SELECT @@GLOBAL.innodb_adaptive_hash_index") == 1;
    let child = bench.long_run(&["-t", "2"]);
    assert!(!is_on(), "it is off during a run");
    let mut locks = bench.server.admin();
    locks.query_drop("LOCK TABLES slob1.cf1 WRITE").unwrap();
    for _ in 0..2 {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        thread::sleep(Duration::from_millis(1200));
    }
    let called = ended(child);
    assert_eq!(called.code, 130, "{}", called.stderr);
    assert!(called.stderr.contains("restoring the server's settings"), "{}", called.stderr);
    assert!(is_on(), "{}", called.stderr);
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
}

#[test]
fn sessions_spread_over_two_servers_and_each_has_its_figures() {
    let Some(first) = bench(&["innodb-flush-log-at-trx-commit=2"]) else { return };
    let Some(second) = bench(&["innodb-flush-log-at-trx-commit=2"]) else { return };
    for bench in [&first, &second] {
        let load = ["--scale", "8M", "--seed", "77", "2"];
        first.folder.slob([&["setup", "--target", &bench.target][..], &load].concat()).success();
    }
    let endpoints = format!("127.0.0.1:{},localhost:{}", first.server.port(), second.server.port());
    let flags = "-s 2 -t 2 --work-loop 100 --work-unit 4 --update-pct 50 --scale 8M";
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

    // Two names of one server: its counters are there once.
    let twice = format!("127.0.0.1:{0},localhost:{0}", first.server.port());
    let record = first.run(&[&["--target", &first.target, "--endpoints", &twice], &flags[..]].concat());
    assert_eq!(record["endpoints"][0]["counters"]["rows_changed"], record["counters"]["rows_changed"]);
    assert_eq!(record["endpoints"][1]["counters"], Value::Null);
    assert_eq!(record["endpoints"][1]["shares_with"], record["endpoints"][0]["endpoint"]);
}
