//! RATE as a schedule, and stretches of a profile replayed with it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use slob_testing::tries::{Seen, ensure, shown_within};

use crate::common::{Folder, Signal, assert_contains, operations, signal, unwrapped, wait_until, window_s};

#[test]
fn a_schedule_is_followed_recorded_and_shown() {
    let folder = Folder::loaded(1, "16M");
    let run = "-t 2 --rate 40@0s,200@3s,0@6s,80@8s --run-time 10 --warmup 1 --work-unit 8 --update-pct 0";
    let record = folder.run_json(run);
    let steps = record["rate_steps"].as_array().unwrap().iter().map(|step| step["from_s"].as_f64());
    assert!(steps.eq([0.0, 3.0, 6.0, 8.0].map(Some)), "{}", record["rate_steps"]);
    // The last one had the time of the last snapshot, too.
    let last = record["rate_steps"].as_array().unwrap().last().unwrap();
    let end = |of: &Value| of["begin_s"].as_f64().unwrap() + of["seconds"].as_f64().unwrap();
    assert!((end(last) - end(&record["window"])).abs() < 1e-6, "{last:#} {}", record["window"]);
    assert_eq!(record["workload"]["rate_per_s"][1], json!({"from_s": 3.0, "per_s": 200}));
    let called = folder.slob("report latest");
    called.prints(&["88 operations/s on average, 0 to 200 in 4 steps", "RATE from second"]);
    assert_eq!(folder.slob("show latest --field figures.rate_per_s").success().stdout.trim(), "88");
    let page = folder.read(&format!("runs/{}/report.html", record["id"].as_str().unwrap()));
    assert!(page.contains("\"RATE\""), "no line of the rate");
    // On any machine, all that was due is done or left over.
    let done = operations(&record, "select") + record["backlog"].as_u64().unwrap();
    // A busy machine ends the window late, and the last rate goes on until then.
    let due = 40.0 * 3.0 + 200.0 * 3.0 + 80.0 * (window_s(&record) - 8.0);
    assert!((done as f64 - due).abs() <= 8.0, "{done} operations of {due}");
}

fn profile(folder: &Folder, reads: [f64; 4]) {
    let interval = |(hour, reads): (usize, f64)| {
        let begin = format!("2026-11-20T{:02}:00:00", 8 + hour);
        // A page cache served the last hour.
        let read_us = if hour == 3 { 10.0 } else { 900_000.0 };
        let figures = json!({"physical_read_requests_per_s": reads, "physical_read_blocks_per_s": reads, "single_block_read_us": read_us});
        json!({"source": format!("report {hour}"), "begin": begin, "seconds": 3600.0, "figures": figures})
    };
    let intervals: Vec<Value> = reads.into_iter().enumerate().map(interval).collect();
    let profile = json!({
        "profile_version": 1, "source": "reports", "subject": {"name": "PROD"}, "intervals": intervals,
    });
    folder.write("day.json", &profile.to_string());
}

const REPLAY: &str =
    "headroom day.json --replay day --compress 1200 --calibration 2s --warmup 0 --count-cached --json";

#[test]
fn a_day_is_replayed_interval_by_interval_and_not_again() {
    shown_within(3, || replayed_and_not_again(&Folder::loaded(2, "16M")));
}

fn replayed_and_not_again(folder: &Folder) -> Seen {
    profile(folder, [100.0, 400.0, 0.0, 200.0]);
    let called = folder.slob(REPLAY);
    let replay: Value = serde_json::from_str(&called.stdout).unwrap_or_else(|_| panic!("{}", called.stderr));
    assert!(called.stderr.contains("4 intervals in 12 s"), "{}", called.stderr);
    let intervals = replay["intervals"].as_array().unwrap();
    let shares: Vec<f64> = intervals.iter().map(|own| own["share"].as_f64().unwrap()).collect();
    assert_eq!(shares, [0.25, 1.0, 0.0, 0.5]);
    for interval in intervals {
        let (step, rate) = (&interval["step"], interval["rate"].as_f64().unwrap());
        // A sampler that is held up for a whole interval has no figures of it.
        ensure(step.is_object(), || format!("{interval:#}"))?;
        assert!((step["rate"].as_f64().unwrap() - rate).abs() <= 1.0, "{interval:#}");
        assert!(!interval["outcome"].as_str().unwrap().is_empty());
    }
    let is_held = intervals.iter().all(|interval| interval["step"]["broke"].is_null());
    // The calibration of a busy machine may differ from the demand.
    ensure(called.code != 4, || called.all())?;
    assert_eq!(called.code, i32::from(!is_held), "{}\n{}", called.stdout, called.stderr);
    assert!(folder.read("replay/replay.html").contains("Work of each interval"));
    let runs = || fs::read_dir(folder.at("replay")).unwrap().count();
    let made = runs();
    let text = folder.slob(REPLAY.replace(" --json", ""));
    assert_eq!((runs(), text.code), (made, called.code));
    assert_contains(&text.stdout, &["2026-11-20 09:00"]);
    // 'Nowhere was this platform slower' was said of reads that were not compared.
    let not_compared = "In 1 interval production's page cache served reads, which are not compared.";
    assert_contains(&unwrapped(&text.stdout), &[not_compared]);
    assert_contains(&text.stderr, &["4 of 4 intervals are taken"]);
    folder.slob(format!("{REPLAY} --multiply 2")).refused(&["name another with --directory"]);
    Ok(())
}

#[test]
fn an_interrupted_replay_prints_what_it_knows_and_goes_on() {
    // A busy machine begins the window so late that no interval is over.
    shown_within(3, || interrupted_and_resumed(&Folder::loaded(2, "16M")));
}

fn interrupted_and_resumed(folder: &Folder) -> Seen {
    profile(folder, [100.0, 400.0, 50.0, 200.0]);
    let replay = REPLAY.replace("1200", "600");
    let child = folder.start(&replay);
    wait_until("no replay began", || {
        let mut names = fs::read_dir(folder.at("replay")).into_iter().flatten().flatten();
        names.any(|entry| entry.file_name().to_string_lossy().contains("-replay"))
    });
    // The second or third of four intervals of 6 s is under way.
    std::thread::sleep(Duration::from_secs(14));
    signal(&child, Signal::INT);
    let called = crate::common::ended(child).exits(130);
    let known: Value = serde_json::from_str(&called.stdout).unwrap();
    let done = |replay: &Value| {
        replay["intervals"].as_array().unwrap().iter().filter(|interval| interval["step"].is_object()).count()
    };
    let kept = done(&known);
    ensure((1..4).contains(&kept), || called.stdout)?;
    let again = folder.slob(&replay);
    assert!(again.stderr.contains(&format!("{kept} of 4 intervals are taken")), "{}", again.stderr);
    let whole: Value = serde_json::from_str(&again.stdout).unwrap();
    let made = (done(&whole), whole["runs"].as_array().unwrap().len());
    ensure(made == (4, 2), || format!("{made:?}: {whole:#}"))
}

#[test]
fn a_replay_refuses_what_it_ignores_and_what_it_can_not_do() {
    let folder = Folder::loaded(2, "16M");
    profile(&folder, [100.0, 400.0, 50.0, 200.0]);
    let day = "headroom day.json --target sqlite:./d --replay day";
    folder.slob(format!("{day} --most 4")).exits(2);
    folder.slob("headroom day.json --target sqlite:./d --multiply 2").exits(2);
    folder.slob(format!("{day} --run-time 60")).refused(&["RUN_TIME is set by the stretch"]);
    folder.slob(format!("{day} --compress 3600")).refused(&["leaves less than 2 s", "say --compress"]);
    folder.slob("headroom day.json --target sqlite:./d --replay soon").refused(&["is no moment"]);
    let called = folder.slob("headroom day.json --target sqlite:./d --replay 2026-12-24");
    called.refused(&["the nearest begins at"]);
    assert!(!folder.at("replay").exists());
    folder.slob("run --demand day.json --rate 5").refused(&["RATE is set by --demand"]);
}

#[test]
fn a_run_follows_a_profile() {
    let folder = Folder::loaded(2, "16M");
    profile(&folder, [100.0, 400.0, 50.0, 200.0]);
    let run = "run --demand day.json --from 2026-11-20T09:00 --for 2h --compress 1800 --warmup 0 --calibration 2s \
               --json";
    let called = folder.slob(run);
    let record: Value = serde_json::from_str(&called.stdout).unwrap_or_else(|_| panic!("{}", called.stderr));
    let rates = record["workload"]["rate_per_s"].as_array().unwrap();
    let rate = |nth: usize| rates[nth]["per_s"].as_f64().unwrap();
    assert_eq!((rates.len(), rates[1]["from_s"].as_f64()), (2, Some(2.0)));
    assert!((rate(0) / rate(1) - 8.0).abs() < 1.0, "{rates:?}");
    assert!(called.stderr.contains("its rate follows reads"), "{}", called.stderr);
}
