//! `slob run --trace` and `slob ladder` on real databases. Where the kernel can't be traced these tests say so and pass, unless
//! CI=true.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use slob_testing::mariadb::{MariaDb, Product};
use slob_testing::postgres::Version;
use slob_testing::tries::{Seen, ensure, shown_within};
use slob_testing::{Sshd, as_nobody, available};

use crate::common::{
    Bench, Folder, SLOB, Throttle, assert_contains, mariadb, operations, postgres, unwrapped,
};

fn is_traced(record: &Value) -> bool {
    available(record["trace"].as_object().ok_or_else(|| record["notes"].to_string())).is_some()
}

fn count(record: &Value, span: &str) -> u64 {
    record["trace"]["kernel"]["spans"][span]["count"].as_u64().unwrap_or(0)
}

fn reads(record: &Value) -> u64 {
    count(record, "read_from_cache") + count(record, "read_from_device")
}

fn sum_us(record: &Value, span: &str) -> f64 {
    record["trace"]["kernel"]["spans"][span]["sum"].as_f64().unwrap_or(0.0) / 1e3
}

#[test]
fn a_trace_behind_the_window_leaves_it_alone_and_sees_each_read_of_sqlite() {
    let folder = Folder::loaded(1, "64M");
    let record = folder.run_json("-s 1 -t 2 --update-pct 0 --work-unit 16 --run-time 1 --trace");
    if !is_traced(&record) {
        return;
    }
    assert_eq!(record["trace"]["when"], "after");
    let points = record["series"]["points"].as_array().into_iter().flatten();
    let of_series: u64 = points.filter_map(|point| point["ops"]["selects"].as_u64()).sum();
    assert!(of_series <= operations(&record, "select"), "{of_series} with operations of the trace");
    // Sessions account for the window and not for the trace.
    for session in record["sessions"].as_array().unwrap() {
        let spent_us: f64 =
            ["busy_us", "idle_us", "waiting_us"].iter().map(|part| session[part].as_f64().unwrap()).sum();
        let window_us = 1e6 * record["window"]["seconds"].as_f64().unwrap();
        assert!((spent_us / window_us - 1.0).abs() < 0.01, "{spent_us} us of {window_us}: {session}");
    }
    let read = &record["trace"]["latencies"]["physical_read"];
    let (calls, reads) = (reads(&record), read["count"].as_u64().unwrap_or(0));
    assert!(reads > 0 && calls >= reads && calls - reads < 50 + reads / 50, "{calls} calls, {reads} reads");
    let by_kernel_us = sum_us(&record, "read_from_cache") + sum_us(&record, "read_from_device");
    let by_database_us = read["sum"].as_f64().unwrap() / 1e3;
    assert!(by_kernel_us < 1.05 * by_database_us, "{by_kernel_us} us of {by_database_us} us");
    let id = record["id"].as_str().unwrap();
    let report = unwrapped(&folder.slob(format!("report {id}")).success().stdout);
    let clock = "by the database's clock: ";
    assert_contains(&report, &["Where a read's time goes", clock, "behind the window"]);
}

#[test]
fn a_trace_within_the_window_sees_the_backends_of_postgresql() {
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "1MB"), ("track_io_timing", "on")]) else {
        return;
    };
    bench.setup(1, "32M");
    let record = bench.run("-t 2 --update-pct 20 --run-time 2 --trace=window");
    if !is_traced(&record) {
        return;
    }
    let calls = reads(&record);
    let reads = record["counters"]["physical_reads"].as_u64().unwrap();
    assert!(reads > 100 && calls as f64 > 0.95 * reads as f64, "{calls} calls, {reads} reads");
    assert!(count(&record, "sync") > 0, "commits flush the log");
}

/// The kernel's calls that force the log are the database's, within 5 % of its own time, and their parts within the calls.
fn forces_the_log(record: &Value, syncs: u64, time_us: f64) -> Seen {
    let calls = count(record, "log_sync");
    let spans = [
        "log_submit",
        "log_in_queue",
        "log_in_device",
        "log_to_flush",
        "log_flush",
        "log_journal",
        "log_wake_up",
    ];
    let parts_us: f64 = spans.iter().map(|span| sum_us(record, span)).sum();
    let calls_us = sum_us(record, "log_sync");
    let figures = || {
        format!(
            "{calls} calls of {syncs}: {parts_us:.0} us in parts of {calls_us:.0}, {time_us:.0} by the database"
        )
    };
    let (agrees, is_whole) = ((calls_us / time_us - 1.0).abs() < 0.05, parts_us <= 1.001 * calls_us);
    ensure(syncs > 50 && calls.abs_diff(syncs) <= 5 + syncs / 50 && agrees && is_whole, figures)
}

#[test]
fn the_ladder_of_a_commit_adds_up_to_what_sqlite_says() {
    let folder = Folder::loaded(1, "8M");
    let record = shown_within(5, || {
        let record = folder.run_json("-s 1 -t 2 --update-pct 100 --work-unit 2 --run-time 1 --trace");
        if is_traced(&record) {
            let syncs = &record["trace"]["latencies"]["redo_sync"];
            let time_us = syncs["sum"].as_f64().unwrap() / 1e3;
            forces_the_log(&record, syncs["count"].as_u64().unwrap(), time_us)?;
        }
        Ok(record)
    });
    if !is_traced(&record) {
        return;
    }
    let (commits, counted) =
        (&record["trace"]["latencies"]["commit"], &record["trace"]["counters"]["commits"]);
    assert_eq!(commits["count"], *counted, "{commits}");
    let within_us = sum_us(&record, "log_sync") + sum_us(&record, "log_write");
    let whole_us = commits["sum"].as_f64().unwrap() / 1e3;
    assert!(within_us < whole_us, "{within_us} us of {whole_us} us");
    let report =
        unwrapped(&folder.slob(format!("report {}", record["id"].as_str().unwrap())).success().stdout);
    let words = ["Where a commit's time goes", "A commit takes", "The log carries", "with 2 sessions"];
    assert_contains(&report, &words);
}

#[test]
fn the_ladder_of_a_commit_adds_up_to_what_postgresql_says() {
    let Some(bench) = postgres(Version::V15, &[("track_wal_io_timing", "on"), ("autovacuum", "off")]) else {
        return;
    };
    bench.setup(1, "8M");
    let record = shown_within(5, || {
        let record = bench.run("-t 2 --update-pct 100 --work-unit 2 --work-loop 500 --trace=window");
        if is_traced(&record) {
            let counter = |name: &str| record["trace"]["counters"][name].as_u64().unwrap();
            forces_the_log(&record, counter("redo_syncs"), counter("redo_sync_time_ns") as f64 / 1e3)?;
        }
        Ok(record)
    });
    if !is_traced(&record) {
        return;
    }
    let id = record["id"].as_str().unwrap();
    let report = unwrapped(&bench.folder.slob(format!("report {id}")).success().stdout);
    assert_contains(
        &report,
        &["Where a commit's time goes", "A commit takes", "The log carries", "with 2 sessions"],
    );
    let commits = &record["trace"]["coarse_latencies"]["commit"];
    let (waited_us, number) = (commits["time_us"].as_f64().unwrap(), commits["waits"].as_u64().unwrap());
    assert!(number <= operations(&record, "update") + 4 && number > 0, "{commits}");
    // The flushes of the log writer and of the checkpointer are no session's.
    assert!(waited_us > 0.8 * sum_us(&record, "log_sync") / 2.0, "{waited_us} us: {}", record["trace"]);
}

/// MariaDB does not time its log, and PostgreSQL 18 does it elsewhere.
#[test]
fn the_ladder_of_a_commit_adds_up_to_what_other_servers_say() {
    let report = |folder: &Folder, record: &Value| {
        let id = record["id"].as_str().unwrap();
        unwrapped(&folder.slob(format!("report {id}")).success().stdout)
    };
    let line = "-t 2 --update-pct 100 --work-unit 2 --work-loop 500 --trace=window";
    if let Some(server) = MariaDb::start_product_or_skip(Product::MySql9, &[]) {
        let bench = Bench::of(server);
        bench.server.sql("GRANT SELECT ON performance_schema.* TO plain@'%'");
        bench.setup(1, "8M");
        let record = shown_within(5, || {
            let record = bench.run(line);
            if is_traced(&record) {
                let counter = |name: &str| record["trace"]["counters"][name].as_u64().unwrap();
                forces_the_log(&record, counter("redo_syncs"), counter("redo_sync_time_ns") as f64 / 1e3)?;
            }
            Ok(record)
        });
        if !is_traced(&record) {
            return;
        }
        let words = ["A commit takes", "by the database's clock", "The log carries"];
        assert_contains(&report(&bench.folder, &record), &words);
    }
    if let Some(bench) = mariadb(&[]) {
        bench.setup(1, "8M");
        let record = shown_within(5, || {
            let record = bench.run(line);
            ensure(count(&record, "log_sync") > 50, || record["trace"].to_string()).map(|()| record)
        });
        let words = ["A commit takes", "by the database's clock", "The log carries"];
        assert_contains(&report(&bench.folder, &record), &words);
    }
    if let Some(bench) = postgres(Version::V18, &[("track_wal_io_timing", "on"), ("autovacuum", "off")]) {
        bench.setup(1, "8M");
        let record = shown_within(5, || {
            let record = bench.run(line);
            let counter = |name: &str| record["trace"]["counters"][name].as_u64().unwrap();
            forces_the_log(&record, counter("redo_syncs"), counter("redo_sync_time_ns") as f64 / 1e3)?;
            Ok(record)
        });
        assert_contains(&report(&bench.folder, &record), &["A commit takes", "The log carries"]);
    }
}

/// A group holds requests back before they enter the queue, so that the device's parts do not grow.
#[test]
fn a_group_that_holds_writes_back_moves_no_part_of_a_commit_below_the_queue() {
    let folder = Folder::loaded(1, "8M");
    let line = "run --json -s 1 -t 1 --update-pct 100 --work-unit 1 --run-time 2 --warmup 0 --trace=window";
    let Some(throttle) = available(Throttle::of_writes_below(folder.path(), 20)) else { return };
    let below = ["log_in_queue", "log_in_device", "log_to_flush", "log_flush", "log_wake_up"];
    let above = |record: &Value| {
        let below_us: f64 = below.iter().map(|span| sum_us(record, span)).sum();
        1.0 - below_us / sum_us(record, "log_sync")
    };
    // Others' commits hold the journal now and then, which is above the queue too.
    shown_within(5, || {
        let (free, held) = (folder.slob(line).json(), throttle.slob(&folder, line).json());
        if !is_traced(&free) || !is_traced(&held) {
            return Ok(());
        }
        let (free, held_above) = (above(&free), above(&held));
        let sync_us = sum_us(&held, "log_sync") / count(&held, "log_sync") as f64;
        assert!(sync_us > 30_000.0, "20 writes/s: {sync_us} us");
        ensure(held_above > 0.6 && held_above > free + 0.2, || {
            format!("{free}, {held_above}: {}", held["trace"]["kernel"])
        })
    });
}

#[test]
fn a_trace_through_ssh_is_that_of_an_observer_here() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    sshd.install("slob", Path::new(SLOB));
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    bench.setup(1, "32M");
    let traced = |observe: &str| {
        let run = format!("run --json -t 2 --update-pct 20 --run-time 1 --trace=window --observe {observe}");
        bench.folder.slob_with_env(run, &[("PATH", &sshd.search_path())]).json()
    };
    if !is_traced(&traced("auto")) {
        return;
    }
    // An observer that a busy machine holds up for seconds is given up.
    shown_within(3, || {
        let record = traced("ssh:localhost");
        let notes = record["notes"].to_string();
        ensure(record["db_cpu"].is_object() && !notes.contains("failed after"), || notes.clone())?;
        assert!(reads(&record) > 0, "{notes}: {}", record["trace"]);
        Ok(())
    });
}

#[test]
fn without_rights_a_run_goes_on_and_says_what_a_trace_needs() {
    let folder = Folder::in_temp();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let called = |line: &str| {
        let mut command = as_nobody(Path::new(SLOB))?;
        Some(command.args(line.split(' ')).current_dir(folder.path()).output().unwrap())
    };
    let Some(loaded) = called("setup --target sqlite:./d --scale 2M 1") else { return };
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
    let output = called("run --target sqlite:./d --scale 2M --warmup 0 --run-time 1 --trace --json").unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["status"]["state"], "completed");
    assert!(record["trace"].is_null());
    let remedy = "run as root, or with CAP_BPF and CAP_PERFMON";
    assert_contains(&record["notes"].to_string(), &["were not traced", remedy]);
    assert_contains(
        &String::from_utf8_lossy(&output.stderr),
        &["warning: Reads and writes were not traced", remedy],
    );
}

#[test]
fn a_trace_that_can_not_be_is_refused_beforehand() {
    let folder = Folder::new();
    let words = ["TRACE=after", "WORK_LOOP=5", "TRACE=window"];
    folder.slob("run --target null: --work-loop 5 --trace").refused(&words);
    folder.slob("run --target null: --trace --no-os-perf-data").refused(&["TRACE", "NO_OS_PERF_DATA"]);
}

#[test]
fn a_ladder_reads_the_same_blocks_by_each_path() {
    let folder = Folder::loaded(1, "24M");
    let rungs = folder.slob("ladder --seconds 1 --size-mb 32 --json --html").json();
    let rungs = rungs.as_array().unwrap();
    let names: Vec<&str> = rungs.iter().map(|rung| rung["rung"].as_str().unwrap()).collect();
    let expected = "device, direct I/O; file system; page cache; past the buffer cache; buffer cache; database, from storage";
    assert_eq!(names.join("; "), expected);
    let of = |name: &str, rung: usize| rungs[rung][name].as_f64().unwrap();
    for (rung, row) in rungs.iter().enumerate() {
        // The reads of one session take all of its time, apart from the time between them. Where repeats differ much, the product
        // of their means says nothing.
        let busy = of("reads_per_s", rung) * of("mean_us", rung) / 1e6;
        let differ = row["spread_percent"].as_f64().is_some_and(|percent| percent > 50.0);
        assert!(differ || (0.2..1.5).contains(&busy), "{busy}: {row}");
        assert!(of("cpu_us_per_read", rung) > 0.0 && of("p50_us", rung) <= of("p99_us", rung), "{row}");
    }
    for storage in [0, 1, 3, 5] {
        assert!(of("p50_us", storage) > of("p50_us", 2).max(of("p50_us", 4)), "{rungs:?}");
    }
    assert_eq!(folder.last_record()["name"], "ladder-storage");
    let page = fs::read_to_string(folder.path().join("probe.html")).unwrap();
    assert_contains(&page, &["A read by each path", "past the buffer cache"]);
}

#[test]
fn a_ladder_that_has_nowhere_to_stand_is_refused() {
    let folder = Folder::new();
    folder.slob("ladder --target null:").refused(&["stores no blocks", "slob probe --ladder /data"]);
    folder.slob("ladder missing").refused(&["missing does not exist"]);
    folder.slob("ladder --target sqlite:./missing").refused(&["slob setup"]);
    folder.write("slob.conf", "WRITERS=1\nREADERS=1\n");
    folder.slob("ladder").refused(&["WRITERS"]);
    assert!(!folder.path().join("runs").exists());
}
