//! The program or its server is killed at random moments: the next command resumes, no half-written file passes for a whole one, and
//! each acknowledged update is there, or `slob verify --durability` names its row.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use slob_testing::evidence::shows;
use slob_testing::jobs::TestServer;
use slob_testing::postgres::Version;
use slob_testing::tries::{ensure, shown_within, until};
use slob_testing::{children, send};

use super::space::bytes_below;
use super::{times, when_unlocked};
use crate::common::{
    Bench, Called, Folder, Product, Random, Signal, ended, kill, mariadb, postgres, read_json,
};

fn kill_within(child: Child, longest: Duration, random: &mut Random) {
    thread::sleep(Duration::from_micros(random.below(longest.as_micros() as u64)));
    kill(child);
}

fn took(folder: &Folder, line: &str) -> Duration {
    let begun = Instant::now();
    folder.slob(line).success();
    begun.elapsed()
}

#[test]
fn a_load_that_is_killed_at_any_moment_resumes() {
    let setup = "setup --target sqlite:./d --scale 32M --scan-table-sz 1M 2";
    let whole = took(&Folder::new(), setup);
    let folder = Folder::new();
    let (mut random, kills) = (Random::new(), times(4, 100));
    for _ in 0..kills {
        kill_within(folder.start(setup), whole, &mut random);
        // The data can be verified, or the message says what to do.
        let verified = folder.slob("verify --target sqlite:./d");
        assert!([0, 2].contains(&verified.code), "{}", verified.all());
        folder.slob(setup).success();
        folder.slob("verify --target sqlite:./d").success();
        folder.slob("drop --target sqlite:./d --yes").success();
    }
    shows("a killed load on SQLite resumes", format!("{kills} of {kills} resumed and verified"));
}

/// Kills a load of `./d` once its files hold so many bytes; if it ended before, drops it and tries again.
fn killed_beyond(folder: &Folder, setup: &str, bytes: u64) {
    shown_within(5, || {
        let mut child = folder.start(setup);
        while bytes_below(&folder.at("d")) < bytes && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        ensure(!ended.success(), || {
            folder.slob("drop --target sqlite:./d --yes").success();
            format!("the load ended before {bytes} bytes were seen")
        })
    });
}

#[test]
fn a_load_that_is_killed_at_four_sizes_resumes() {
    let folder = Folder::new();
    let setup = "setup --target sqlite:./d --scale 256M --load-parallel-degree 1 3";
    for bytes in [8 << 20, 200 << 20, 400 << 20, 600 << 20] {
        killed_beyond(&folder, setup, bytes);
    }
    folder.slob("run --target sqlite:./d --scale 256M 3").refused(&["slob setup"]);
    folder.slob(setup).success();
    let sound = "98688 rows read back, 0 of them updated since the load, 0 faulty";
    folder.slob("verify --target sqlite:./d").prints(&[sound]);
    folder.slob(setup).says(&["nothing to do"]);
    shows("a load killed four times on its way has each row once", "98,688 rows, 0 faulty");
}

/// A power loss can leave marks of slices without their rows.
#[test]
fn a_load_that_was_cut_off_before_a_reboot_is_not_trusted() {
    // The header of a database file holds our number of the boot here (user_version).
    const BOOT_AT: u64 = 60;
    let folder = Folder::new();
    let setup = "setup --target sqlite:./d --scale 512M --load-parallel-degree 1 1";
    let path = folder.at("d/slob1.db");
    killed_beyond(&folder, setup, 150 << 20);
    // This rolls back what was under way.
    folder.slob("verify --target sqlite:./d").exits(2);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[0; 4], BOOT_AT).unwrap();
    file.write_all_at(&[0; 1 << 20], 64 << 20).unwrap();
    drop(file);
    folder.slob("run 1 --target sqlite:./d --scale 512M").refused(&["loads it again"]);
    let loaded = folder.slob(setup).says(&["restarted since"]).stderr;
    assert!(!loaded.contains("resuming an earlier load"), "{loaded}");
    folder.slob("verify --target sqlite:./d").success();
    shows("a load that lost 1 MiB in a restart of the machine is not trusted", "loaded again, and verified");
}

/// One more run than before may be listed; each is complete.
fn whole_runs(folder: &Folder, before: usize) -> usize {
    let listed = folder.slob("list --json").json();
    let runs = listed.as_array().unwrap();
    assert!(runs.iter().all(|run| run["status"] == "completed"), "{listed:#}");
    assert!((before..=before + 1).contains(&runs.len()), "{} runs after {before}", runs.len());
    runs.len()
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_whole_records_only() {
    let folder = Folder::loaded(2, "8M");
    let run = "run 2 --rate 200 --run-time 1 --update-pct 50";
    let whole = took(&folder, run);
    let (mut random, kills) = (Random::new(), times(4, 100));
    let mut kept = 1;
    for _ in 0..kills {
        kill_within(folder.start(run), whole + whole / 10, &mut random);
        kept = whole_runs(&folder, kept);
        folder.slob("report latest").success();
    }
    folder.slob(run).success();
    folder.slob("verify").success();
    shows(
        "a killed run leaves whole records",
        format!("{kills} kills, {} whole records, no half one", kept - 1),
    );
}

#[test]
fn a_run_that_is_killed_while_it_writes_its_record_leaves_a_whole_one_or_none() {
    let folder = Folder::loaded(1, "8M");
    // The record of many sessions takes a while to write.
    let run = "run -s 1 -t 64 --work-loop 20 --update-pct 10";
    let mut random = Random::new();
    let (mut kept, mut half) = (0, 0);
    for _ in 0..times(2, 100) {
        let mut child = folder.start(run);
        let is_written = || {
            let runs = fs::read_dir(folder.at("runs")).into_iter().flatten().flatten();
            let mut records = runs.map(|entry| entry.path().join("run.json"));
            records.any(|path| path.to_string_lossy().contains(".partial/") && path.exists())
        };
        while !is_written() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        kill_within(child, Duration::from_millis(250), &mut random);
        let runs = whole_runs(&folder, kept);
        half += usize::from(runs == kept);
        kept = runs;
    }
    folder.slob(run).success();
    let names = fs::read_dir(folder.at("runs")).unwrap().map(|entry| entry.unwrap().path());
    let hidden = names.filter(|path| path.to_string_lossy().ends_with(".partial"));
    let halves = hidden.filter(|path| {
        serde_json::from_slice::<serde_json::Value>(&fs::read(path.join("run.json")).unwrap()).is_err()
    });
    assert_eq!(halves.count(), 0, "the next run removes half records");
    shows(
        "a run that is killed while it writes its record leaves a whole one or none",
        format!("{half} kills before the record had its name, {kept} after it"),
    );
}

const CAMPAIGN: &str = r#"
name = "c"
directory = "c"
sessions = ["1x1"]
models = ["read"]
repeats = REPEATS
settings = { RUN_TIME = 1, WARMUP = 0, RATE = 200 }
variant = [{ name = "only" }]
"#;

#[test]
fn a_campaign_that_is_killed_at_any_moment_makes_each_run_once() {
    let folder = Folder::loaded(1, "8M");
    let repeats = times(3, 60);
    folder.write("plan.toml", &CAMPAIGN.replace("REPEATS", &repeats.to_string()));
    let mut random = Random::new();
    for _ in 0..times(4, 100) {
        kill_within(folder.start("campaign plan.toml"), Duration::from_secs(2), &mut random);
    }
    folder.slob("campaign plan.toml").success();
    let state = read_json(folder.at("c/state.json"));
    let attempts = state["attempts"].as_array().unwrap();
    let completed = attempts.iter().filter(|attempt| attempt["ended"]["how"] == "completed");
    let mut steps: Vec<&str> = completed.map(|attempt| attempt["step"].as_str().unwrap()).collect();
    steps.sort_unstable();
    steps.dedup();
    assert_eq!(steps.len(), repeats, "{attempts:?}");
    let info = folder.slob("info c --columns name,status --csv").success().stdout;
    assert_eq!(info.lines().filter(|line| line.ends_with(",completed")).count(), repeats, "{info}");
    shows("a killed campaign makes each run once", format!("{repeats} runs in {} attempts", attempts.len()));
}

/// The command failed after its server was killed and says why, or had ended before.
fn ends_after_its_server(child: Child, line: &str) {
    let since = Instant::now();
    let called = Called::from(child.wait_with_output().unwrap());
    let (took, said) = (since.elapsed(), called.stderr);
    assert!(took < Duration::from_secs(45), "{line} after {took:?}: {said}");
    assert!([0, 2, 3].contains(&called.code), "{line}: {}: {said}", called.code);
    assert!(!said.contains("panicked"), "{line}: {said}");
}

fn kill_one_of_both(bench: &mut Bench, line: &str, whole: Duration, random: &mut Random) {
    let mut child = bench.folder.start(line);
    let end = Instant::now() + Duration::from_micros(random.below(whole.as_micros() as u64));
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    if random.below(2) == 0 {
        kill(child);
    } else {
        bench.server.power_off();
        ends_after_its_server(child, line);
        bench.server.restart();
    }
}

#[rstest]
#[case::postgresql(Product::ALL[0])]
#[case::mariadb(Product::ALL[1])]
fn loads_and_runs_on_a_server_resume_after_kills(#[case] product: Product) {
    let Some(mut bench) = product.start(&[]) else { return };
    let setup = bench.load_line("--scale 4096 2");
    let work = "-s 2 -t 2 --rate 200 --scale 4096 --update-pct 30 --warmup 0 --run-time 1";
    let run = format!("run --target {} {work}", bench.target);
    let (mut random, rounds) = (Random::new(), times(1, 50));
    let (load_time, run_time) = (took(&bench.folder, &setup), took(&bench.folder, &run));
    for _ in 0..rounds {
        bench.folder.slob(format!("drop --target {} --yes", bench.target)).success();
        kill_one_of_both(&mut bench, &setup, load_time, &mut random);
        when_unlocked(&bench.folder, &setup);
        bench.verify().success();
        kill_one_of_both(&mut bench, &run, run_time, &mut random);
        bench.folder.slob("report latest").success();
    }
    when_unlocked(&bench.folder, &run);
    bench.verify().success();
    shows(
        &format!("loads and runs resume when slob or the server is killed: {product:?}"),
        format!("{rounds} of {rounds}"),
    );
}

fn loading<S: TestServer>(bench: &Bench<S>) -> Child {
    let filled = "SELECT count(*) FROM pg_stat_progress_copy WHERE tuples_processed > 100";
    shown_within(3, || {
        let mut child = bench.folder.start(bench.load_line("--scale 256M 2"));
        let has_ended = until(|| {
            let has_ended = child.try_wait().unwrap().is_some();
            let both_load = || bench.server.number(filled) == 2;
            ensure(has_ended || both_load(), || "two streams do not load two tables".to_owned())?;
            Ok(has_ended)
        });
        if !has_ended {
            return Ok(child);
        }
        ended(child).success();
        bench.folder.slob(format!("drop --target {} --yes", bench.target)).success();
        Err("the load ended before two streams were seen to load two tables".to_owned())
    })
}

/// The rest is loaded, no block twice, and every byte is right.
fn assert_load_resumes<S: TestServer>(bench: &Bench<S>) {
    when_unlocked(&bench.folder, &bench.load_line("--scale 256M 2"))
        .says(&["resuming an earlier load", "32768 rows in 32768 blocks"]);
    bench.verify().success();
}

#[test]
fn a_load_of_two_streams_that_is_killed_resumes() {
    let Some(bench) = postgres(Version::V18, &[]) else { return };
    kill(loading(&bench));
    assert_load_resumes(&bench);
}

#[test]
fn a_load_whose_server_is_killed_says_so_and_resumes() {
    let Some(mut bench) = postgres(Version::V15, &[]) else { return };
    let child = loading(&bench);
    bench.server.kill();
    Called::from(child.wait_with_output().unwrap())
        .fails(3, &["what is loaded is kept, and `slob setup", "` resumes from there"]);
    bench.server.restart();
    assert_load_resumes(&bench);
}

#[rstest]
#[case::postgresql(Product::ALL[0], "pg_stat_activity WHERE application_name = 'slob'", 3)]
#[case::mariadb(Product::ALL[1], "information_schema.PROCESSLIST WHERE USER = 'plain'", 1)]
fn sessions_on_a_server_end_with_the_program(
    #[case] product: Product,
    #[case] sessions: &str,
    #[case] short: usize,
) {
    let Some(bench) = product.start(&[]) else { return };
    bench.load("--scale 512 2");
    let mut random = Random::new();
    let count = || bench.server.number(&format!("SELECT COUNT(*) FROM {sessions}"));
    let (mut longest, repeats) = (Duration::ZERO, times(short, 100));
    for _ in 0..repeats {
        let run =
            bench.folder.start(format!("run --target {} -s 2 -t 4 --scale 512 --run-time 600", bench.target));
        until(|| ensure(count() >= 8, || format!("{} of eight sessions came", count())));
        kill_within(run, Duration::from_secs(1), &mut random);
        let killed = Instant::now();
        until(|| ensure(count() == 0, || format!("{} sessions stay behind", count())));
        longest = longest.max(killed.elapsed());
    }
    shows(
        "sessions of a killed program leave the server",
        format!("after {:.1} s at most; kills: {repeats}", longest.as_secs_f64()),
    );
}

/// Two sessions on one schema, whose updates cross, with a journal.
const WORK: &str = "-s 1 -t 2 --scale 512 --update-pct 60 --warmup 0 --durability updates.log";
const LOAD: &str = "--scale 512 --scan-table-sz 64 1";
/// A careless server may be lucky so many times.
const LUCKY: usize = 5;

/// Waits until a random moment after the first updates.
fn start_and_wait(folder: &Folder, target: &str, random: &mut Random) -> Child {
    let _ = fs::remove_file(folder.at("updates.log"));
    let mut child = folder.start(format!("run --target {target} {WORK} --run-time 600"));
    let has_answers = || fs::read_to_string(folder.at("updates.log")).is_ok_and(|text| text.contains("\ne "));
    while !has_answers() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its first update");
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(200 + random.below(1500)));
    child
}

/// The rows that lost an update, and all that were updated: the last line of a verification.
fn losses(called: &Called) -> (u64, u64) {
    let line = called.stdout.lines().last().unwrap_or_default();
    let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [_, rows, lost] = numbers[..] else { panic!("{}", called.all()) };
    (lost, rows)
}

fn verify(folder: &Folder, target: &str) -> Called {
    folder.slob(format!("verify --target {target} --durability updates.log"))
}

fn assert_all_there(folder: &Folder, target: &str) {
    let called = verify(folder, target).success();
    let (lost, rows) = losses(&called);
    assert!(lost == 0 && rows > 0, "{}", called.stdout);
}

fn has_lost(folder: &Folder, target: &str) -> bool {
    let called = verify(folder, target);
    let (lost, _) = losses(&called);
    assert_eq!(called.code, i32::from(lost > 0), "{}", called.all());
    assert_eq!(called.stdout.contains("lost an update that session"), lost > 0, "{}", called.stdout);
    lost > 0
}

/// Cuts the power of a server under a run with a journal, and starts it again.
fn crash<S: TestServer>(bench: &mut Bench<S>, random: &mut Random) {
    let mut run = start_and_wait(&bench.folder, &bench.target, random);
    bench.server.power_off();
    assert_eq!(run.wait().unwrap().code(), Some(3), "a run whose server died has failed");
    bench.server.restart();
}

/// Acknowledged updates outlive a crash. After `be_careless` some tries lose one.
fn assert_durable<S: TestServer>(mut bench: Bench<S>, once: impl FnOnce(&mut S), be_careless: impl Fn(&S)) {
    let mut random = Random::new();
    bench.load("--scale 512 1");
    let crashes = times(1, 100);
    for _ in 0..crashes {
        crash(&mut bench, &mut random);
        assert_all_there(&bench.folder, &bench.target);
    }
    once(&mut bench.server);
    let loses = |_| {
        be_careless(&bench.server);
        crash(&mut bench, &mut random);
        has_lost(&bench.folder, &bench.target)
    };
    assert!((0..LUCKY).any(loses));
    shows(
        "no acknowledged update is lost (`--durability`), and a careless server's loss is found",
        format!("lost in 0 of {crashes}; the careless loss is named row by row"),
    );
}

#[test]
fn what_postgresql_acknowledged_outlives_its_crash() {
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    // With its log in memory and the log's writer halted, the server loses what it acknowledged.
    assert_durable(
        bench,
        |server| {
            server.configure(&[("synchronous_commit", "off"), ("wal_buffers", "256MB")]).unwrap();
            server.restart();
        },
        |server| send(log_writer(server.pid().unwrap()), Signal::STOP),
    );
}

/// PostgreSQL's process that writes its log; a server takes connections before it has started that one.
fn log_writer(postmaster: u32) -> u32 {
    let is_writer = |id: &u32| {
        fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("walwriter"))
    };
    until(|| {
        children(postmaster).into_iter().find(is_writer).ok_or_else(|| "there is no walwriter".to_owned())
    })
}

#[test]
fn what_mariadb_acknowledged_outlives_its_crash() {
    // Room for the log of all updates in memory: with less, or with dirty pages to be written, it is written sooner.
    let roomy = ["innodb-log-file-size=1G", "innodb-log-buffer-size=512M", "innodb-adaptive-flushing=OFF"];
    let Some(bench) = mariadb(&roomy) else { return };
    // A careless log is written once a minute.
    let careless =
        "SET GLOBAL innodb_flush_log_at_trx_commit = 0; SET GLOBAL innodb_flush_log_at_timeout = 60";
    assert_durable(bench, |_| (), |server| server.run(careless));
}

#[test]
fn what_sqlite_acknowledged_outlives_the_program_and_files_put_back_are_found() {
    let (folder, target, mut random) = (Folder::new(), "sqlite:./d", Random::new());
    folder.slob(format!("setup --target {target} {LOAD}")).success();
    let kills = times(2, 100);
    for _ in 0..kills {
        kill(start_and_wait(&folder, target, &mut random));
        assert_all_there(&folder, target);
    }
    // A copy from before the run takes all of it back: every row that was updated, and no other, has lost something.
    copy_folder(&folder.at("d"), &folder.at("copy"));
    let _ = fs::remove_file(folder.at("updates.log"));
    let run = format!("run --target {target} {WORK} --run-time 2");
    folder.slob(&run).success();
    assert_all_there(&folder, target);
    // The journal of a run is not overwritten.
    folder.slob(run).refused(&["not there yet"]);
    fs::remove_dir_all(folder.at("d")).unwrap();
    fs::rename(folder.at("copy"), folder.at("d")).unwrap();
    let called = verify(&folder, target).exits(1);
    let (lost, rows) = losses(&called);
    assert_eq!(lost, rows, "{}", called.stdout);
    shows(
        "no acknowledged update of SQLite is lost, and files put back are found (`--durability`)",
        format!("{kills} kills, none lost; {lost} of {rows} rows put back are named"),
    );
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
