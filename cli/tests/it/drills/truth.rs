//! Figures of a record against witnesses that know nothing of this program.

use std::fs;

use serde_json::Value;
use slob_testing::evidence::shows;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::tries::{ensure, until};

use crate::common::{Folder, VERIFY, read_json};

fn number(record: &Value, path: &str) -> f64 {
    record.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}"))
}

#[test]
fn the_series_and_the_histograms_add_up_to_the_totals() {
    let folder = Folder::loaded(2, "8M");
    let run = "-s 2 -t 2 --work-loop 400 --update-pct 30 --scan-pct 10";
    let record = folder.run_json(run);
    let kinds = ["select", "update", "scan"];
    let of = |what: &str| kinds.map(|kind| number(&record, &format!("/operations/{kind}/{what}")));
    let totals = of("operations");
    assert_eq!(totals, of("latency/count"), "every operation was timed");
    assert_eq!(totals.iter().sum::<f64>(), 4.0 * 400.0);
    let points = record["series"]["points"].as_array().unwrap();
    for (kind, total) in ["selects", "updates", "scans"].iter().zip(&totals) {
        let of = |part: &Value| part["value"]["ops"][kind].as_f64().unwrap_or(0.0);
        assert_eq!(points.iter().map(of).sum::<f64>(), *total, "{kind}");
        let of_sessions =
            record["sessions"].as_array().unwrap().iter().map(|own| own[kind].as_f64().unwrap());
        assert_eq!(of_sessions.sum::<f64>(), *total, "{kind}");
    }
}

/// The plan of a run is repeated from its record, with every kind of operation. Later changes of the record show.
#[test]
fn a_record_can_be_checked_against_its_plan() {
    let folder = Folder::loaded(2, "8M");
    let mixed = "--update-pct 30 --scan-pct 10 --work-unit 7 --update-work-unit 3";
    let hot = "--do-hotspot --hotspot-mb 2 --hotspot-frequency 3 --hot-schema-frequency 4";
    let think = "--think-tm-frequency 5 --think-tm-min 0.001 --think-tm-max 0.002";
    let timed = "-s 2 -t 2 --run-time 1 --warmup 1 --keep-operations";
    let counted = "-s 2 -t 1 --work-loop 250";
    let runs = [
        format!("{timed} {mixed}"),
        format!("{timed} {mixed} {hot}"),
        format!("{counted} {mixed} {think}"),
        format!("{timed} --rate 200 --update-pct 50"),
    ];
    for run in runs {
        // In so short a window the device's reads are no measure.
        let record = folder.sound_run(&format!("run --json {run} --buffered"), VERIFY).json();
        let done: u64 = record["sessions"].as_array().unwrap().iter().map(operations_of).sum();
        assert!(done > 0);
        let verified = folder.slob("verify --run latest").success();
        let text = verified.stdout;
        let agrees = format!("agrees   operations within the window {done} by kind");
        assert!(text.replace(',', "").contains(&agrees), "{run}: {text}");
        let listed = run.contains("--keep-operations");
        assert_eq!(text.contains("p99.9 of SELECTs"), listed, "{text}");
    }
    let file = folder.last_run().join("run.json");
    let mut record = read_json(&file);
    let session = &mut record["sessions"][1];
    session["updates"] = (session["updates"].as_u64().unwrap() + 1).into();
    session["selects"] = (session["selects"].as_u64().unwrap() - 1).into();
    fs::write(&file, record.to_string()).unwrap();
    let doubted = folder.slob("verify --run latest").exits(1);
    let text = doubted.stdout;
    assert!(text.contains("DIFFERS  session 1: ") && text.contains("not everything agrees"), "{text}");
    // A plan that would take years is not made again.
    record["sessions"][1]["before_window"] = (u64::MAX - 1).into();
    fs::write(&file, record.to_string()).unwrap();
    folder.slob("verify --run latest").exits(1);
    shows(
        "operations, kinds and rows of each session are those of the plan, replayed from the record",
        "equal: mixed work, hot spot, think time, open loop, with a warm-up; one edited count is found",
    );
}

fn operations_of(session: &Value) -> u64 {
    ["selects", "updates", "scans"].iter().map(|kind| session[kind].as_u64().unwrap()).sum()
}

/// Figures of the server and of the kernel.
struct Witness {
    updated: i64,
    commits: i64,
    log_at: f64,
    cpu_s: f64,
}

impl Witness {
    fn ask(cluster: &Cluster) -> Self {
        let mut admin = cluster.admin();
        admin.batch_execute("SELECT pg_stat_force_next_flush()").unwrap();
        let row = admin
            .query_one(
                "SELECT (SELECT coalesce(sum(n_tup_upd), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'cf1'), \
                 (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()), \
                 (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8",
                &[],
            )
            .unwrap();
        let cpu_s = cpu_s(cluster.pid().unwrap());
        Self { updated: row.get(0), commits: row.get(1), log_at: row.get(2), cpu_s }
    }
}

/// utime, stime, cutime and cstime of /proc/PID/stat (proc(5)), in ticks of 10 ms.
fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11..15].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

#[test]
fn a_server_and_its_log_and_the_kernel_agree_with_the_record() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[("autovacuum", "off"), ("fsync", "off")])
    else {
        return;
    };
    let target = cluster.target();
    let folder = Folder::new();
    let scale = format!("--target {target} --scale 8M");
    folder.slob(format!("setup {scale} --scan-table-sz 64 2")).success();
    let before = Witness::ask(&cluster);
    let work = "-s 2 -t 2 --work-loop 1000 --update-pct 50 --redo-stress HEAVY";
    let record = folder.run_json(format!("{scale} {work} --warmup 0 --work-unit 4"));
    let updates = number(&record, "/operations/update/rows");
    let db = number(&record, "/db_cpu/cpu/user_s") + number(&record, "/db_cpu/cpu/system_s");
    // A session publishes its work when it ends, and its CPU is known when the server has waited for it.
    let after = until(|| {
        let after = Witness::ask(&cluster);
        let (updated, cpu_s) = ((after.updated - before.updated) as f64, after.cpu_s - before.cpu_s);
        ensure(updated == updates && db <= cpu_s + 0.05, || {
            format!("the server updated {updated} rows of {updates}, and took {cpu_s} s of CPU of {db}")
        })?;
        Ok(after)
    });
    assert_eq!(updates, 4.0 * 500.0 * 4.0);
    // Each UPDATE and each batch is a transaction. The server's sum includes statements before and after the window.
    let (commits, counted) = ((after.commits - before.commits) as f64, number(&record, "/counters/commits"));
    assert!((2000.0..2200.0).contains(&counted) && counted <= commits, "{counted} of {commits} commits");
    let log = after.log_at - before.log_at;
    let redo = number(&record, "/counters/redo_bytes");
    assert!((0.98..=1.0).contains(&(redo / log)), "{redo} bytes of redo, the log grew by {log}");
    // The server has waited for its sessions: their CPU is in its children's. Connecting and looking around come on top of the
    // run's part.
    let all = after.cpu_s - before.cpu_s;
    assert!(db <= all + 0.05 && db >= all / 3.0, "{db} s of DB CPU, the kernel says {all} s");
    shows(
        "rows, commits, redo and DB CPU are those of PostgreSQL, its log and the kernel",
        format!(
            "rows equal, commits {counted} of {commits}, redo {:.1} % of the log, CPU {db:.2} of {all:.2} s",
            100.0 * redo / log
        ),
    );
}
