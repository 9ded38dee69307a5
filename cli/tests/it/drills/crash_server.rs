//! The server is killed, or the program, at moments drawn by chance. What is then started must go on.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::family::kill_family;
use super::times;
use crate::common::random::Random;
use crate::common::{Folder, SLOB};
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};

/// How long the program may go on after its server was killed.
const PATIENCE: Duration = Duration::from_secs(45);

/// A server that can be killed and started again.
enum Server {
    Postgres(Cluster),
    MariaDb(MariaDb),
}

impl Server {
    fn target(&self) -> String {
        match self {
            Self::Postgres(cluster) => cluster.target(),
            Self::MariaDb(mariadb) => mariadb.socket_target("root"),
        }
    }

    fn kill(&mut self) {
        match self {
            Self::Postgres(cluster) => {
                kill_family(cluster.pid().unwrap());
                cluster.kill9();
            }
            Self::MariaDb(mariadb) => mariadb.kill9(),
        }
    }

    fn restart(&mut self) {
        match self {
            Self::Postgres(cluster) => cluster.restart().unwrap(),
            Self::MariaDb(mariadb) => mariadb.restart().unwrap(),
        }
    }
}

fn start(folder: &Folder, words: &[&str]) -> Child {
    let mut command = Command::new(SLOB);
    command.args(words).current_dir(folder.path()).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end after the server was killed: it failed, or had been done before, and says why.
fn ends(child: Child, words: &[&str]) {
    let since = Instant::now();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(since.elapsed() < PATIENCE, "{words:?} after {:?}: {said}", since.elapsed());
    assert!(
        [Some(0), Some(2), Some(3)].contains(&output.status.code()),
        "{words:?}: {}: {said}",
        output.status
    );
    assert!(!said.contains("panicked"), "{words:?}: {said}");
}

/// Kills somebody at a moment within `whole`.
fn somebody_is_killed(
    server: &mut Server,
    mut child: Child,
    whole: Duration,
    words: &[&str],
    random: &mut Random,
) {
    let end = Instant::now() + Duration::from_micros(random.below(whole.as_micros() as u64));
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    if random.below(2) == 0 {
        child.kill().unwrap();
        child.wait().unwrap();
    } else {
        server.kill();
        ends(child, words);
        server.restart();
    }
}

fn loads_and_runs(mut server: Server) {
    let (folder, target, mut random) = (Folder::new(), server.target(), Random::new());
    let setup = ["setup", "--target", &target, "--scale", "4096", "--scan-table-sz", "64", "2"];
    let run = ["run", "--target", &target, "-s", "2", "-t", "2", "--scale", "4096", "--update-pct", "30"];
    let run = [&run[..], &["--warmup", "1", "--run-time", "1"]].concat();
    let took = |words: &[&str]| {
        let begun = Instant::now();
        folder.slob(words.iter().copied()).success();
        begun.elapsed()
    };
    let (load_time, run_time) = (took(&setup), took(&run));
    for _ in 0..times(1, 50) {
        folder.slob(["drop", "--target", &target, "--yes"]).success();
        let child = start(&folder, &setup);
        somebody_is_killed(&mut server, child, load_time, &setup, &mut random);
        folder.slob(setup).success();
        folder.slob(["verify", "--target", &target]).success();
        let child = start(&folder, &run);
        somebody_is_killed(&mut server, child, run_time, &run, &mut random);
        folder.slob(["report", "latest"]).success();
    }
    folder.slob(run.iter().copied()).success();
    folder.slob(["verify", "--target", &target]).success();
}

#[test]
fn loads_and_runs_on_postgresql_go_on_whoever_is_killed() {
    if let Some(cluster) = Cluster::start_or_skip(Version::V15, &[]) {
        loads_and_runs(Server::Postgres(cluster));
    }
}

#[test]
fn loads_and_runs_on_mariadb_go_on_whoever_is_killed() {
    if let Some(mariadb) = MariaDb::start_or_skip(&[]) {
        loads_and_runs(Server::MariaDb(mariadb));
    }
}

#[test]
fn sessions_on_mariadb_end_with_the_program() {
    let Some(mariadb) = MariaDb::start_or_skip(&[]) else { return };
    let (folder, mut random) = (Folder::new(), Random::new());
    mariadb.sql("CREATE USER drill@'%'");
    mariadb.sql("GRANT ALL ON *.* TO drill@'%'");
    let target = mariadb.target("drill");
    folder.slob(["setup", "--target", &target, "--scale", "512", "--scan-table-sz", "64", "1"]).success();
    let count = || mariadb.ask("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'drill'");
    for _ in 0..times(1, 100) {
        let words = ["run", "--target", &target, "-s", "1", "-t", "4", "--scale", "512", "--run-time", "600"];
        let mut child = start(&folder, &words);
        let limit = Instant::now() + Duration::from_secs(60);
        while count() < 4 {
            assert!(Instant::now() < limit, "four sessions come");
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(random.below(1000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        while count() > 0 {
            assert!(killed.elapsed() < Duration::from_secs(60), "{} sessions stay behind", count());
            thread::sleep(Duration::from_millis(20));
        }
    }
}
