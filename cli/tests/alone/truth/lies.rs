//! Runs that are not what they look like.

use std::thread;
use std::time::Duration;

use slob_facts::{Grade, Question};
use slob_testing::postgres::Version;

use super::honest::{on_postgres, sqlite};
use super::neighbours::{Burner, Neighbour, own_cpu_s};
use super::{Case, Sort, edits, expect, latest, verdict};
use crate::common::{is_full, postgres, skip_without_a_device};
use crate::device::{fetched, read_bytes};

pub(super) fn cases() -> Vec<Case> {
    let lie = |name, witness, expected, carry_out| Case {
        sort: Sort::Lie,
        name,
        witness,
        expected,
        measures: true,
        carry_out,
    };
    vec![
        lie(
            "cached reads beside a neighbour's 3,060 reads/s: PostgreSQL 15",
            "the kernel's count for the server's processes",
            "Physical? BAD",
            |_| cached_beside_a_neighbour(),
        ),
        lie(
            "a rate that can't be kept",
            "the operations of the record, by the clock",
            "Complete? BAD, --strict fails",
            |_| Some(unmet_rate()),
        ),
        lie(
            "another program's CPU, in bursts below the tick",
            "that program's own clock",
            "Steady? DOUBT, at least 90 % of what it used",
            |_| Some(hidden_cpu()),
        ),
        lie(
            "a session that is frozen for 1.5 s of 5",
            "the test's own clock",
            "Steady? DOUBT, within 0.3 s",
            |_| frozen_session(),
        ),
        lie(
            "one cached session on its one CPU",
            "CPU time of its process by DB time",
            "CPU to spare? says that the CPU is what limits",
            |_| one_full_cpu(),
        ),
        Case {
            measures: false,
            ..lie(
                "a run whose files were edited by hand",
                "the edit",
                "`verify --run` finds each",
                |random| Some(edits::all_are_found(random)),
            )
        },
    ]
}

/// The device's total is 99.3 % of what the database requested, and others read all of it.
fn cached_beside_a_neighbour() -> Option<Result<(), String>> {
    if skip_without_a_device() {
        return None;
    }
    let bench = postgres(Version::V15, &[("shared_buffers", "2MB"), ("track_io_timing", "on")])?;
    bench.setup(1, "64M");
    let _neighbour = Neighbour::reading(bench.folder.path(), 3060)?;
    let record = bench.run("--run-time 5 --update-pct 0 --rate 50");
    let ((device, database), own) = (read_bytes(&record, 8192), fetched(&record));
    assert!(own * 2 < database, "the kernel fetched {own} bytes of {database} for the server's processes");
    let physical = verdict(&bench.folder, Question::Physical);
    assert!(
        !is_full() || device * 2 > database,
        "the neighbour read too little: {device} bytes, {database} asked for"
    );
    Some(expect(device * 2 > database && physical.answer == Grade::Bad, || {
        format!("{device} bytes of the device, {database} asked for: {}", physical.sentence())
    }))
}

fn unmet_rate() -> Result<(), String> {
    let folder = sqlite();
    let strict = folder.slob("run --rate 10000000 --run-time 1 --strict");
    let complete = verdict(&folder, Question::Complete);
    let told = complete.answer == Grade::Bad && complete.sentence().contains("the rate was not met");
    expect(strict.code == 1 && told, || format!("exit code {}; {}", strict.code, complete.sentence()))
}

fn hidden_cpu() -> Result<(), String> {
    let folder = sqlite();
    let burner = Burner::start();
    let before = own_cpu_s();
    folder.run_json("--rate 50 --run-time 4 --buffered");
    let used_s = own_cpu_s() - before;
    burner.stop();
    let record = latest(&folder);
    let told_s = record.host.as_ref().and_then(|host| host.others_cpu_s).unwrap_or(0.0);
    // The program works before and after the window too, as does the burner.
    let in_window_s = used_s * record.window.map_or(0.0, |window| window.seconds) / whole_s(&record).max(4.0);
    let steady = verdict(&folder, Question::Steady);
    let all: Vec<String> = std::iter::once(steady.sentence()).chain(steady.details()).collect();
    let said = all.iter().any(|sentence| sentence.contains("others'") || sentence.contains("other programs"));
    expect(said && told_s >= 0.9 * in_window_s, || {
        format!("{told_s:.2} s told of {in_window_s:.2} s used: {all:?}")
    })
}

fn whole_s(record: &slob_record::Record) -> f64 {
    record.ended.duration_since(record.started).as_secs_f64()
}

fn frozen_session() -> Option<Result<(), String>> {
    const FROZEN: Duration = Duration::from_millis(1500);
    let bench = on_postgres(Version::V15)?;
    let (mut admin, folder) = (bench.server.admin(), &bench.folder);
    let frozen_s = thread::scope(|scope| {
        let run = scope.spawn(|| folder.run_json("--run-time 5 --update-pct 0 -t 2 --rate 400"));
        // Sessions try their statement out before the run begins: one that works has done so for half a second.
        let one = "SELECT pid FROM pg_stat_activity WHERE usename = 'plain' AND query LIKE 'CALL%' ORDER BY pid LIMIT 1";
        let mut seen = (0, 0);
        let pid = loop {
            thread::sleep(Duration::from_millis(100));
            if let Some(row) = admin.query_opt(one, &[]).unwrap() {
                let pid: i32 = row.get(0);
                seen = if seen.0 == pid { (pid, seen.1 + 1) } else { (pid, 0) };
                if seen.1 >= 5 {
                    break rustix::process::Pid::from_raw(pid).unwrap();
                }
            }
            assert!(!run.is_finished(), "the run ended before its sessions were seen");
        };
        let begun = std::time::Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        thread::sleep(FROZEN);
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        let frozen_s = begun.elapsed().as_secs_f64();
        run.join().unwrap();
        frozen_s
    });
    let steady = verdict(&bench.folder, Question::Steady);
    let all: Vec<String> = std::iter::once(steady.sentence()).chain(steady.details()).collect();
    let waits = latest(&bench.folder).sessions.into_iter().filter_map(|session| session.longest_wait);
    let longest_s = waits.map(|wait| wait.seconds).fold(0.0, f64::max);
    let said = all.iter().any(|sentence| sentence.contains("stood still for"));
    Some(expect(said && (longest_s - frozen_s).abs() < 0.3, || {
        format!("frozen for {frozen_s:.2} s, told {longest_s:.2} s: {all:?}")
    }))
}

/// With others at work for longer than this in its three seconds, a session's own CPU need not be its limit.
const OTHERS_S: f64 = 0.5;

fn one_full_cpu() -> Option<Result<(), String>> {
    let bench = on_postgres(Version::V15)?;
    // Others may take its CPU away from the session; then it is not its own that limits it.
    let mut seen = String::new();
    for _ in 0..3 {
        bench.run("--run-time 3 --update-pct 0 -s 1 -t 1 --warmup 1");
        let cpu_to_spare = verdict(&bench.folder, Question::CpuToSpare);
        if ["sessions_on_cpu", "cached_sessions", "cached_test", "full"]
            .contains(&cpu_to_spare.finding.cause().as_str())
        {
            return Some(Ok(()));
        }
        if latest(&bench.folder).host.and_then(|host| host.others_cpu_s).is_none_or(|s| s > OTHERS_S) {
            return None;
        }
        seen = cpu_to_spare.sentence();
    }
    Some(Err(seen))
}
