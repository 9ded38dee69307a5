//! Runs that are what they say.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use slob_facts::{Grade, Question};
use slob_testing::jobs::TestServer as _;
use slob_testing::postgres::{Cluster, Version};

use super::{Case, Sort, agrees_with_itself, expect, verdict};
use crate::common::{Bench, Folder, Random, mariadb, postgres, signal};

pub(super) fn cases() -> Vec<Case> {
    let sort = Sort::Honest;
    let agrees = |name, carry_out| {
        let witness = "what the record holds twice, the plan, the server's counters";
        Case { sort, name, witness, expected: "`verify --run` finds nothing", measures: false, carry_out }
    };
    let in_time = |name, carry_out| {
        let expected = "the window is not half as long again, and a late end is said";
        Case { sort, name, witness: "the clock", expected, measures: true, carry_out }
    };
    vec![
        agrees("1 to 3 s of mixed work: SQLite", |random| Some(mixed(&sqlite(), random))),
        agrees("the same: PostgreSQL 15", |random| Some(mixed(&on_postgres(Version::V15)?.folder, random))),
        agrees("the same: PostgreSQL 18", |random| Some(mixed(&on_postgres(Version::V18)?.folder, random))),
        agrees("the same: MariaDB", |random| {
            let bench = mariadb(&["innodb-buffer-pool-size=64M"])?;
            bench.setup(2, "8M");
            Some(mixed(&bench.folder, random))
        }),
        agrees("interrupted by Ctrl-C: PostgreSQL", |random| {
            ended_early(random, "", 130, |_, run| signal(run, Signal::INT))
        }),
        agrees("ended by the death of a session: PostgreSQL", |random| {
            let one = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
                       WHERE usename = 'plain' AND query LIKE 'CALL%' LIMIT 1) one";
            let is_ended =
                |bench: &Bench<Cluster>| assert_eq!(bench.server.number(one), 1, "a session is at work");
            ended_early(random, "-t 2", 3, |bench, _| is_ended(bench))
        }),
        in_time("512 sessions on a few CPUs: PostgreSQL", |_| {
            let bench = postgres(Version::V15, &[("max_connections", "600"), ("shared_buffers", "64MB")])?;
            bench.setup(2, "8M");
            Some(ends_in_time(&bench.folder, "--run-time 4 --update-pct 0 -t 256"))
        }),
        in_time("a server that is halted nine tenths of the time: PostgreSQL", |_| {
            let bench = on_postgres(Version::V15)?;
            let _slow = Slowed::of(&bench);
            Some(ends_in_time(&bench.folder, "--run-time 4 --update-pct 0 -t 4"))
        }),
        Case {
            sort,
            name: "a rate that can be kept",
            witness: "the operations of the record, by the clock",
            expected: "Complete? GOOD",
            measures: true,
            carry_out: |_| {
                let folder = sqlite();
                // Without UPDATEs, whose commits wait behind another's writes: then the rate can't be kept.
                folder.run_json("--rate 50 --run-time 3 --buffered --update-pct 0");
                let complete = verdict(&folder, Question::Complete);
                Some(expect(complete.answer == Grade::Good, || complete.sentence()))
            },
        },
    ]
}

pub(super) fn sqlite() -> Folder {
    Folder::loaded(2, "8M")
}

pub(super) fn on_postgres(version: Version) -> Option<Bench<Cluster>> {
    let bench = postgres(version, &[("shared_buffers", "64MB"), ("track_io_timing", "on")])?;
    bench.setup(2, "8M");
    Some(bench)
}

fn ended_early(
    random: &mut Random,
    flags: &str,
    code: i32,
    end: impl FnOnce(&Bench<Cluster>, &Child),
) -> Option<Result<(), String>> {
    let bench = on_postgres(Version::V15)?;
    let run = bench.folder.start_run(format!("--plain --run-time 30 --warmup 0 {flags}"));
    thread::sleep(Duration::from_millis(500 + random.below(1500)));
    end(&bench, &run);
    let ended = run.wait_with_output().unwrap().status;
    let told = expect(ended.code() == Some(code), || format!("{ended:?}"));
    Some(told.and_then(|()| agrees_with_itself(&bench.folder)))
}

fn mixed(folder: &Folder, random: &mut Random) -> Result<(), String> {
    let (run_time, update_pct) = (1 + random.below(3), random.below(3) * 25);
    let (work_unit, threads, warmup) = (1 + random.below(64), 1 + random.below(2), random.below(2));
    let flags = format!(
        "--run-time {run_time} --update-pct {update_pct} --work-unit {work_unit} -t {threads} --warmup {warmup}"
    );
    folder.run_json(&flags);
    agrees_with_itself(folder).map_err(|error| format!("{flags}: {error}"))
}

/// RUN_TIME is kept, or a verdict says that it was not.
fn ends_in_time(folder: &Folder, run: &str) -> Result<(), String> {
    let record = folder.run_json(run);
    let planned_s = record["workload"]["run_time_s"].as_f64().unwrap();
    let is_s = record["window"]["seconds"].as_f64().unwrap();
    let complete = verdict(folder, Question::Complete);
    let said = complete.answer != Grade::Good || is_s <= 1.05 * planned_s || is_s <= planned_s + 0.5;
    expect(is_s < 1.5 * planned_s && said, || {
        format!("{is_s} s instead of {planned_s}: {}", complete.sentence())
    })?;
    agrees_with_itself(folder)
}

/// The sessions' processes of a server, halted nine tenths of the time.
struct Slowed {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Slowed {
    fn of(bench: &Bench<Cluster>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (told, mut admin) = (Arc::clone(&stop), bench.server.admin());
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let sessions = "SELECT pid FROM pg_stat_activity WHERE usename = 'plain'";
                let rows = admin.query(sessions, &[]).unwrap();
                let pids: Vec<Pid> = rows.iter().filter_map(|row| Pid::from_raw(row.get(0))).collect();
                // A process that has ended meanwhile needs no signal.
                let all = |signal| {
                    pids.iter().for_each(|pid| {
                        let _ = kill_process(*pid, signal);
                    });
                };
                all(Signal::STOP);
                thread::sleep(Duration::from_millis(45));
                all(Signal::CONT);
                thread::sleep(Duration::from_millis(5));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Slowed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}
