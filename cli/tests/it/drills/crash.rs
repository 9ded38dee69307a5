//! The program is killed at moments drawn by chance. What is then started must go on, nothing half may pass for whole, and
//! nothing has to be removed by hand.

use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::times;
use crate::common::random::Random;
use crate::common::{Folder, SLOB};
use slob_testing::postgres::{Cluster, Version};

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    Command::new(SLOB)
        .args(arguments)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills it with SIGKILL after a time below this, if it still runs.
fn kill_within(mut child: Child, longest: Duration, random: &mut Random) {
    thread::sleep(Duration::from_micros(random.below(longest.as_micros() as u64)));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How long a command takes when nobody kills it.
fn took(folder: &Folder, arguments: &[&str]) -> Duration {
    let begun = Instant::now();
    folder.slob(arguments.iter().copied()).success();
    begun.elapsed()
}

#[test]
fn a_load_that_is_killed_at_any_moment_goes_on() {
    let arguments = ["setup", "--target", "sqlite:./d", "--scale", "32M", "--scan-table-sz", "1M", "2"];
    let whole = took(&Folder::new(), &arguments);
    let folder = Folder::new();
    let mut random = Random::new();
    for _ in 0..times(8, 100) {
        kill_within(start(&folder, &arguments), whole, &mut random);
        // Whatever there is: it can be looked at, or what to do is said.
        let looked = folder.slob(["verify", "--target", "sqlite:./d"]);
        assert!([0, 2].contains(&looked.code), "{}{}", looked.stdout, looked.stderr);
        folder.slob(arguments).success();
        folder.slob(["verify", "--target", "sqlite:./d"]).success();
        folder.slob(["drop", "--target", "sqlite:./d", "--yes"]).success();
    }
}

/// What a power loss can leave: marks of slices without their rows.
#[test]
fn a_load_that_was_cut_off_before_the_machine_was_started_anew_is_not_trusted() {
    // Where a database file's header holds the number that we keep the start of the machine in (user_version).
    const BOOT_AT: u64 = 60;
    let folder = Folder::new();
    let arguments =
        ["setup", "--target", "sqlite:./d", "--scale", "512M", "--load-parallel-degree", "1", "1"];
    let path = folder.path().join("d/slob1.db");
    let mut child = start(&folder, &arguments);
    while !path.metadata().is_ok_and(|data| data.len() > 150 << 20) {
        assert!(child.try_wait().unwrap().is_none(), "the load ended before it was killed");
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What was under way is rolled back.
    assert_eq!(folder.slob(["verify", "--target", "sqlite:./d"]).code, 2);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[0; 4], BOOT_AT).unwrap();
    file.write_all_at(&[0; 1 << 20], 64 << 20).unwrap();
    drop(file);
    let refused = folder.slob(["run", "1", "--target", "sqlite:./d", "--scale", "512M"]);
    assert!(refused.code == 2 && refused.stderr.contains("loads it again"), "{}", refused.stderr);
    let loaded = folder.slob(arguments).success().stderr;
    assert!(loaded.contains("restarted since"), "{loaded}");
    assert!(!loaded.contains("resuming an earlier load"), "{loaded}");
    folder.slob(["verify", "--target", "sqlite:./d"]).success();
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_whole_records_only() {
    let folder = Folder::loaded(2, "8M");
    let run = ["run", "2", "--run-time", "1", "--warmup", "1", "--update-pct", "50"];
    let whole = took(&folder, &run);
    let mut random = Random::new();
    let mut kept = 1;
    for _ in 0..times(8, 100) {
        kill_within(start(&folder, &run), whole + whole / 10, &mut random);
        let listed: Value = serde_json::from_str(&folder.slob(["list", "--json"]).success().stdout).unwrap();
        let runs = listed.as_array().unwrap();
        assert!(runs.iter().all(|run| run["status"] == "completed"), "{listed:#}");
        assert!((kept..=kept + 1).contains(&runs.len()), "{} runs after {kept}", runs.len());
        kept = runs.len();
        folder.slob(["report", "latest"]).success();
    }
    folder.slob(run).success();
    folder.slob(["verify"]).success();
}

#[test]
fn a_run_that_is_killed_while_it_writes_its_record_leaves_a_whole_one_or_none() {
    let folder = Folder::loaded(1, "8M");
    // Many sessions, whose record takes a while.
    let run = ["run", "-s", "1", "-t", "64", "--work-loop", "20", "--update-pct", "10"];
    let mut random = Random::new();
    let (mut kept, mut half) = (0, 0);
    for _ in 0..times(2, 100) {
        let mut child = start(&folder, &run);
        let record = |entry: std::fs::DirEntry| entry.path().join("run.json");
        let is_written = || {
            let runs = std::fs::read_dir(folder.path().join("runs")).into_iter().flatten().flatten();
            runs.map(record).any(|path| path.to_string_lossy().contains(".partial/") && path.exists())
        };
        while !is_written() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_micros(100));
        }
        kill_within(child, Duration::from_millis(250), &mut random);
        let listed: Value = serde_json::from_str(&folder.slob(["list", "--json"]).success().stdout).unwrap();
        let runs = listed.as_array().unwrap();
        assert!(runs.iter().all(|run| run["status"] == "completed"), "{listed:#}");
        assert!((kept..=kept + 1).contains(&runs.len()), "{} runs after {kept}", runs.len());
        half += usize::from(runs.len() == kept);
        kept = runs.len();
    }
    folder.slob(run).success();
    let names = std::fs::read_dir(folder.path().join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let hidden = names.filter(|path| path.to_string_lossy().ends_with(".partial"));
    let halves = hidden.filter(|path| {
        serde_json::from_slice::<Value>(&std::fs::read(path.join("run.json")).unwrap()).is_err()
    });
    assert_eq!(halves.count(), 0, "what was half went with the next run");
    report(&format!("{half} kills before the record had its name, {kept} after it"));
}

const CAMPAIGN: &str = r#"
name = "c"
directory = "c"
sessions = ["1x1"]
models = ["read"]
repeats = REPEATS
settings = { RUN_TIME = 1, WARMUP = 0 }
[[variant]]
name = "only"
"#;

#[test]
fn a_campaign_that_is_killed_at_any_moment_makes_each_run_once() {
    let folder = Folder::loaded(1, "8M");
    let repeats = times(3, 60);
    folder.write("plan.toml", &CAMPAIGN.replace("REPEATS", &repeats.to_string()));
    let mut random = Random::new();
    for _ in 0..times(4, 100) {
        kill_within(start(&folder, &["campaign", "plan.toml"]), Duration::from_secs(2), &mut random);
    }
    folder.slob(["campaign", "plan.toml"]).success();
    let state = std::fs::read_to_string(folder.path().join("c/state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let attempts = state["attempts"].as_array().unwrap();
    let mut steps: Vec<&str> = attempts
        .iter()
        .filter(|attempt| attempt["ended"]["how"] == "completed")
        .map(|attempt| attempt["step"].as_str().unwrap())
        .collect();
    steps.sort_unstable();
    steps.dedup();
    assert_eq!(steps.len(), repeats, "{attempts:?}");
    let info = folder.slob(["info", "c", "--columns", "name,status", "--csv"]).success().stdout;
    assert_eq!(info.lines().filter(|line| line.ends_with(",completed")).count(), repeats, "{info}");
    report(&format!("{} attempts for {repeats} runs", attempts.len()));
}

#[test]
fn sessions_on_a_server_end_with_the_program() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[]) else { return };
    let target = cluster.target();
    let folder = Folder::new();
    folder.slob(["setup", "--target", &target, "--scale", "8M", "--scan-table-sz", "64", "2"]).success();
    let mut random = Random::new();
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'slob'";
    let count = || cluster.admin().query_one(ours, &[]).unwrap().get::<_, i64>(0);
    let mut longest = Duration::ZERO;
    for _ in 0..times(3, 100) {
        let words = ["run", "--target", &target, "-s", "2", "-t", "4", "--scale", "8M", "--run-time", "600"];
        let child = start(&folder, &words);
        let limit = Instant::now() + Duration::from_secs(60);
        while count() < 8 {
            assert!(Instant::now() < limit, "eight sessions come");
            thread::sleep(Duration::from_millis(10));
        }
        kill_within(child, Duration::from_secs(1), &mut random);
        let killed = Instant::now();
        while count() > 0 {
            assert!(killed.elapsed() < Duration::from_secs(60), "{} sessions stay behind", count());
            thread::sleep(Duration::from_millis(20));
        }
        longest = longest.max(killed.elapsed());
    }
    report(&format!("sessions were gone after {longest:?} at most"));
}

#[allow(clippy::print_stdout, reason = "for docs/trust.md")]
fn report(line: &str) {
    println!("{line}");
}
