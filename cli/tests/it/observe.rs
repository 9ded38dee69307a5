//! The database's host: in a container of this host, and at the end of an ssh connection to a real OpenSSH server.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use rstest::rstest;
use serde_json::Value;
use slob_engine::Clues;
use slob_observe::{HostSample, NEVER, Observer};
use slob_testing::postgres::{Cluster, Version};
use slob_testing::tries::{ensure, shown_within, until};
use slob_testing::{Container, Sshd, as_nobody, children, send};

use crate::common::{
    self, Bench, Called, Folder, HANG, SLOB, Signal, assert_contains, at_work, mariadb, postgres,
    stopped_while_hanging, unwrapped,
};

fn contained() -> Option<(Bench<Cluster>, Arc<Container>)> {
    // A process that ends between two looks takes its figures with it.
    let settings = [("shared_buffers", "1MB"), ("max_connections", "20"), ("autovacuum", "off")];
    common::contained(Version::V15, &settings)
}

/// The ssh knows the server's key.
fn run(folder: &Folder, sshd: Option<&Sshd>, flags: impl AsRef<str>) -> Called {
    let path = sshd.map_or_else(|| std::env::var("PATH").unwrap(), Sshd::search_path);
    folder.slob_with_env(format!("run --json -t 2 {}", flags.as_ref()), &[("PATH", &path)])
}

fn notes(record: &Value) -> String {
    record["notes"].to_string()
}

fn assert_seen(record: &Value, by: &str) {
    let seen = &record["observed"][0];
    assert_eq!(seen["by"], by, "{seen}");
    assert!(seen["process"].as_u64().is_some_and(|pid| pid > 1), "{seen} {}", notes(record));
    assert!(seen["seconds"].as_f64().is_some_and(|seconds| seconds > 1.0), "{seen}");
    assert!(seen["cpu"]["user_s"].is_number(), "{seen}");
    assert!(record["db_cpu"]["cpu"]["user_s"].is_number() && record["db_io"]["read_chars"].is_number());
    assert!(record["host"]["cpu"]["idle_s"].is_number() && record["host"]["others_cpu_s"].is_number());
    assert_eq!(record["server"]["data_path"], "/srv", "as the server sees it");
}

/// A path of the container means nothing on the host, but its device must be found.
#[test]
fn a_server_in_a_container_is_seen_by_auto_by_its_process_and_through_ssh() {
    let Some((bench, _container)) = contained() else { return };
    let Some(sshd) = Sshd::start_or_skip() else { return };
    sshd.install("slob", Path::new(SLOB));
    let auto = run(&bench.folder, None, "--run-time 2").json();
    assert_seen(&auto, "auto");
    let pid = auto["observed"][0]["process"].to_string();
    let by_pid = format!("pid:{pid}");
    let named = run(&bench.folder, None, format!("--run-time 2 --observe {by_pid}")).json();
    assert_seen(&named, &by_pid);
    let far = shown_within(3, || {
        let far = run(&bench.folder, Some(&sshd), "--run-time 2 --rate 50 --observe ssh:localhost").json();
        // A busy machine may answer so late that the observer is lost.
        ensure(far["db_cpu"].is_object(), || notes(&far))?;
        Ok(far)
    });
    assert_seen(&far, "ssh:localhost");
    for other in [&named, &far] {
        assert_eq!(other["observed"][0]["process"].to_string(), pid);
        assert_eq!(other["host"]["info"], auto["host"]["info"]);
        assert_eq!(other["host"]["device"]["device"], auto["host"]["device"]["device"]);
        assert_eq!(other["client_host"], Value::Null, "it is this host");
    }
}

/// Observers of one stretch of time agree on CPU and I/O.
#[test]
fn whoever_looks_sees_the_same() {
    let Some((bench, _container)) = contained() else { return };
    let Some(sshd) = Sshd::start_or_skip() else { return };
    sshd.install("slob", Path::new(SLOB));
    let pid = run(&bench.folder, None, "--run-time 1").json()["observed"][0]["process"].as_u64().unwrap();
    let data = Some("/srv".into());
    let named = Clues { pid: Some(pid as u32), has_children: true, data, ..Clues::default() };
    let found =
        Clues { pid: None, names: vec!["postgres".into()], port: Some(bench.server.port()), ..named.clone() };
    let mut observers = vec![(Observer::local(), found.clone()), (Observer::local(), named)];
    let client = sshd.client();
    observers.push((Observer::remote_by(&client, "localhost".parse().unwrap(), false, &NEVER), found));
    for (observer, clues) in &mut observers {
        let server = observer.find(clues.clone(), &NEVER).unwrap();
        assert!(u64::from(server.pid) == pid && server.data.is_some(), "{server:?}");
    }
    let mut look = || -> Vec<HostSample> {
        let samples = observers.iter_mut().map(|(observer, _)| {
            let pending = observer.request_sample(true);
            observer.receive_sample(pending).unwrap().sample
        });
        samples.collect()
    };
    // Working processes are there at both edges, and at rest.
    let mut session = bench.server.admin();
    // Observers look one after another, and the server may work between them.
    shown_within(3, || {
        let begin = look();
        session.batch_execute("SELECT sum(sqrt(n)) FROM generate_series(1, 3000000) n").unwrap();
        let end = look();
        let figures = end.iter().zip(&begin).map(|(end, begin)| {
            let server = end.since(begin, true).unwrap().servers[0].clone().unwrap();
            let io = server.io.unwrap();
            [server.cpu.unwrap().total_s(), io.read_chars as f64, io.write_chars as f64]
        });
        let figures: Vec<[f64; 3]> = figures.collect();
        assert!(figures[0].iter().all(|figure| *figure > 0.0), "{figures:?}");
        let mut pairs = figures[1..].iter().flat_map(|others| figures[0].iter().zip(others));
        let are_alike = pairs.all(|(first, other)| (first - other).abs() <= 0.01 * first.max(*other));
        ensure(are_alike, || format!("{figures:?}"))
    });
}

#[test]
fn a_mariadb_server_in_a_container_is_seen() {
    let Some(bench) = mariadb(&["innodb-buffer-pool-size=6M"]) else { return };
    let Some((bench, _container)) = bench.contained() else { return };
    bench.setup(1, "16M");
    let auto = run(&bench.folder, None, "--run-time 2").json();
    let seen = &auto["observed"][0];
    assert!(seen["process"].is_number() && auto["db_cpu"].is_object(), "{seen} {}", notes(&auto));
    assert!(auto["server"]["data_path"].as_str().is_some_and(|path| path.starts_with("/srv")));
}

/// The account has no rights, but it may write to the folder.
fn run_as_nobody(conf: &Folder, flags: &str) -> Option<(Value, String)> {
    let folder = Folder::in_temp();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::copy(conf.path().join("slob.conf"), folder.at("slob.conf")).unwrap();
    let mut command = as_nobody(Path::new(SLOB))?;
    command.args(["run", "--json", "--run-time", "2", "--update-pct", "0"]).args(flags.split_whitespace());
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = folder.slob("report").success().stdout;
    Some((serde_json::from_slice(&output.stdout).unwrap(), unwrapped(&report)))
}

#[test]
fn an_account_without_rights_sees_cpu_and_device_and_is_told_what_is_lacking() {
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    bench.setup(1, "16M");
    let Some((seen, report)) = run_as_nobody(&bench.folder, "") else { return };
    assert!(seen["observed"][0]["process"].is_number() && seen["db_cpu"].is_object(), "{}", seen["observed"]);
    assert_eq!(seen["db_io"], Value::Null);
    assert_contains(&notes(&seen), &["This account may not read what the server's processes read"]);
    assert_contains(&report, &["run as root or as the server's account"]);
}

#[test]
fn an_account_without_rights_is_told_which_process_may_be_the_server() {
    let Some(bench) = mariadb(&["innodb-buffer-pool-size=6M"]) else { return };
    bench.setup(1, "16M");
    // Every user of the socket may learn who listens there.
    let data = bench.server.data_folder();
    std::fs::set_permissions(data.parent().unwrap(), PermissionsExt::from_mode(0o700)).unwrap();
    let Some((unseen, report)) = run_as_nobody(&bench.folder, "") else { return };
    assert_eq!((&unseen["observed"][0]["process"], &unseen["db_cpu"]), (&Value::Null, &Value::Null));
    let found = unseen["observed"][0]["found"].as_str().unwrap();
    assert!(found.contains("or name it (pid:"), "{found}");
    // Each verdict that lacks it, the note, and the line of the server.
    assert!(report.matches(found).count() >= 4, "{report}");
    // A server of another test, started at the same moment, may be the one that was guessed.
    let named = format!("--observe pid:{}", bench.server.pid().unwrap());
    let (seen, _) = run_as_nobody(&bench.folder, &named).unwrap();
    assert!(seen["db_cpu"].is_object() && notes(&seen).contains("run as root or as the server's account"));
}

#[test]
fn a_server_that_may_use_a_tenth_of_a_cpu_is_bound_by_it() {
    let Some((bench, container)) = contained() else { return };
    let cpu_to_spare = || {
        let record = run(&bench.folder, None, "--run-time 3 --update-pct 0").json();
        let report = bench.folder.slob("report").success().stdout;
        let from = report.find("CPU to spare?").unwrap();
        (record, unwrapped(report[from..].split("Steady?").next().unwrap()))
    };
    if !container.limit_cpus(Some(0.1)) {
        return;
    }
    let (held, words) = cpu_to_spare();
    let seen = &held["observed"][0];
    assert_eq!((&seen["cpus"], &seen["limits"]["cpus"]), (&0.1.into(), &0.1.into()), "{seen}");
    assert!(seen["group"]["throttled_s"].as_f64().is_some_and(|held_s| held_s > 0.0), "{seen}");
    // On a machine that is full of other work it may not get even that.
    assert!(words.contains("of the 0.10 CPUs") && !words.contains("GOOD"), "{words}");
    assert!(words.contains("held up (throttled)"), "{words}");
    assert!(container.limit_cpus(None));
    let (free, words) = cpu_to_spare();
    assert!(free["observed"][0]["limits"]["cpus"].is_null() && !words.contains("throttled"), "{words}");
}

/// A failing observer never changes the exit code of a run; a note says what happened.
fn assert_complete(called: Called, words: &[&str]) -> Value {
    let record = called.json();
    assert_eq!(record["status"]["state"], "completed");
    assert_contains(&notes(&record), words);
    record
}

#[test]
fn a_host_without_slob_or_with_another_one_costs_a_note() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    let folder = Folder::loaded(1, "8M");
    let none = run(&folder, None, "--run-time 1 --observe none").json();
    assert!(none["db_cpu"].is_null() && notes(&none) == "[]", "{}", notes(&none));
    let far = "--run-time 1 --observe ssh:localhost";
    let without = assert_complete(run(&folder, Some(&sshd), far), &["no slob in the PATH", "--observe-copy"]);
    assert_eq!(without["observed"][0]["process"], Value::Null);
    sshd.install_script("slob", "#!/bin/sh\necho '{\"slob_observe\":99,\"version\":\"9.9\",\"host\":{\"hostname\":\"h\",\"os\":null,\"kernel\":\"k\",\"architecture\":\"a\",\"cpu_model\":null,\"cpus_usable\":1,\"cpus_online\":1,\"memory_bytes\":1,\"virtualisation\":null}}'\ncat >/dev/null\n");
    assert_complete(run(&folder, Some(&sshd), far), &["release 9.9", "version 99", "install this release"]);
    sshd.install_script("slob", "#!/bin/sh\necho Welcome to db1\ncat >/dev/null\n");
    assert_complete(run(&folder, Some(&sshd), far), &["Welcome to db1", "login script"]);
    let closed = "--run-time 1 --observe ssh:localhost:1";
    assert_complete(run(&folder, Some(&sshd), closed), &["ssh says", "`ssh -p 1 localhost true` must work"]);
}

#[rstest]
#[case::killed("slob", Signal::KILL, "ended", 8)]
#[case::cut_off("sshd", Signal::KILL, "ended", 8)]
// It is waited for first, and a busy machine takes its time to start the next one.
#[case::that_hangs("slob", Signal::STOP, "did not answer in time", 20)]
fn an_observer_is_started_again(
    #[case] process: &str,
    #[case] signal: Signal,
    #[case] words: &str,
    #[case] run_s: u64,
) {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    bench.setup(1, "16M");
    sshd.install("slob", Path::new(SLOB));
    let line = format!("run --plain --json -t 2 --rate 50 --run-time {run_s} --observe ssh:localhost");
    shown_within(3, || {
        let mut child = at_work(bench.folder.command(&line).env("PATH", sshd.search_path()));
        let mut stdout = child.stdout.take().unwrap();
        let reading = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        let mut stderr = child.stderr.take().unwrap();
        let telling = thread::spawn(move || drop(std::io::copy(&mut stderr, &mut std::io::sink())));
        let victim = descendant(sshd.pid().unwrap(), process);
        victim.iter().for_each(|victim| send(*victim, signal));
        let status = child.wait().unwrap();
        telling.join().unwrap();
        let record: Value = serde_json::from_str(&reading.join().unwrap()).unwrap();
        assert_eq!(status.code(), Some(0));
        assert_eq!(record["status"]["state"], "completed");
        victim.iter().filter(|_| signal == Signal::STOP).for_each(|victim| send(*victim, Signal::CONT));
        until(|| {
            let others = descendants(sshd.pid().unwrap());
            ensure(others.is_empty(), || format!("an observer outlives its run: {others:?}"))
        });
        // A busy machine may not start another one before the run ends.
        let (notes, host) = (notes(&record), &record["host"]);
        let is_said =
            ["failed after", words, "it is started again"].iter().all(|words| notes.contains(words));
        // The kernel's counts go on, the observer's sums are lost.
        ensure(is_said && host["cpu"]["idle_s"].is_number(), || format!("{notes} {host}"))?;
        assert_eq!(record["db_cpu"], Value::Null);
        Ok(())
    });
}

/// A statement of Python bends the observer's samples from the first one on, or from this one.
fn install_liar(sshd: &Sshd, lie: &str) {
    let script = include_str!("scripts/liar.py").replace("SLOB", SLOB).replace("LIE", lie);
    sshd.install_script("slob", &script);
}

#[test]
fn figures_of_an_observer_that_lies_are_absent_with_a_note() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    bench.setup(1, "16M");
    let half_speed = "value['at_s'] = (value['at_s'] + first['at_s']) / 2";
    let backwards = "value['cpu']['user_s'] += 50 if value['at_s'] < first['at_s'] + 0.5 else 0";
    for (lie, words) in [(half_speed, "its clock went on by"), (backwards, "its CPU time went back by")] {
        install_liar(&sshd, lie);
        shown_within(3, || {
            let called = run(&bench.folder, Some(&sshd), "--run-time 2 --rate 50 --observe ssh:localhost");
            let bent = assert_complete(called, &[]);
            // An answer that comes late can hide the lie, or end the observer.
            ensure(notes(&bent).contains(words), || notes(&bent))?;
            assert_contains(&notes(&bent), &["is not believed", "its figures are missing"]);
            assert!(bent["host"]["cpu"].is_null() && bent["db_cpu"].is_null(), "{bent}");
            assert!(bent["host"]["device"]["counters"].is_null(), "{}", bent["host"]);
            Ok(())
        });
    }
    for another in [1, std::process::id()] {
        let called = run(&bench.folder, None, format!("--run-time 1 --observe pid:{another}"));
        let unseen = assert_complete(called, &[&format!("process {another} ("), "is not the server"]);
        assert_eq!(unseen["db_cpu"], Value::Null);
    }
}

#[test]
fn a_copy_of_this_program_observes_and_leaves_nothing_behind() {
    let Some(sshd) = Sshd::start_or_skip() else { return };
    let folder = Folder::loaded(1, "8M");
    // mktemp makes its files there for every account.
    let made = Folder::in_temp();
    sshd.install_script("mktemp", &format!("#!/bin/sh\nexec /usr/bin/mktemp -p {}\n", made.path().display()));
    let probe = "probe --observe ssh:localhost --observe-copy --size-mb 16 --seconds 0.1 --sessions 1 --depths 4 --json";
    let place = folder.path().display().to_string();
    let called = folder.slob_with_env(format!("{probe} {place}"), &[("PATH", &sshd.search_path())]).success();
    let probed: Value = serde_json::from_str(&called.stdout).unwrap();
    assert!(probed["host"].as_str().is_some_and(|host| !host.is_empty()));
    assert_eq!(std::fs::read_dir(made.path()).unwrap().count(), 0, "the copy has no name any more");
    assert_eq!(std::fs::read_dir(folder.at("runs/probes")).unwrap().count(), 1, "it is kept here");
}

#[test]
fn a_stop_ends_the_wait_for_a_silent_observer_and_leaves_no_ssh() {
    let Some(bench) = postgres(Version::V15, &[("shared_buffers", "1MB")]) else { return };
    bench.setup(1, "8M");
    bench.folder.script("ssh", &format!("#!/bin/sh\n{HANG}\n"));
    let path = format!("{}:{}", bench.folder.path().display(), std::env::var("PATH").unwrap());
    for line in ["run --run-time 5", "run --run-time 5 --observe-copy", "doctor"] {
        let mut command = bench.folder.command(format!("{line} --observe ssh:localhost"));
        stopped_while_hanging(&bench.folder, command.env("PATH", &path)).fails(130, &["interrupted"]);
    }
}

#[test]
fn an_observer_ends_with_its_input() {
    let mut child =
        Command::new(SLOB).arg("observe").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    Folder::new().shell("echo nonsense | $0 observe").refused(&["no question"]);
}

fn descendants(pid: u32) -> Vec<u32> {
    children(pid).into_iter().flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

fn descendant(pid: u32, name: &str) -> Option<u32> {
    let comm = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    descendants(pid).into_iter().find(|pid| comm(pid).trim() == name)
}

#[test]
fn physical_says_why_the_device_is_not_known() {
    let folder = Folder::new();
    let run = "run --target null: --work-loop 5 --warmup 0 --json";
    let record = folder.slob(run).json();
    let why = "the server does not say where they are";
    assert_contains(record["host"]["device_note"].as_str().unwrap(), &[why]);
    folder.slob("report latest").prints(&[why]);
}
