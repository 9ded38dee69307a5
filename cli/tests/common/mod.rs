//! A folder of its own for each test, and the program in it.
#![allow(dead_code, unused_imports, reason = "each test program uses its own part of it")]

mod random;
mod servers;
mod throttle;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use random::Random;
pub(crate) use rustix::process::Signal;
use serde_json::Value;
pub(crate) use servers::{Bench, Product, contained, mariadb, postgres};
pub(crate) use slob_testing::is_full;
use slob_testing::tries::{PATIENCE, ensure, shown_within, until};
use slob_testing::{available, send, skipped};
pub(crate) use throttle::Throttle;

pub(crate) const SLOB: &str = env!("CARGO_BIN_EXE_slob");

/// A run that agrees with itself passes this command.
pub(crate) const VERIFY: &str = "verify --run latest";

pub(crate) fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

/// Records of the first version: two completed runs (`ten`, `thirty`), an interrupted (`stopped`) and a failed one (`hook`).
pub(crate) const SAVED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/record/tests/fixtures/v1");
pub(crate) const AWR_INFO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/report/src/analysis/fixtures/awr_info_older.txt");

/// Files and folders.
pub(crate) fn all_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| [all_below(&path), vec![path]].concat()).collect()
}

/// An AWR report of the tests of that room.
pub(crate) fn awr_fixture(name: &str) -> String {
    workspace("crates/awr/tests/fixtures").join(name).display().to_string()
}

pub(crate) fn read_json(path: impl AsRef<Path>) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Data of test servers may be in memory or in a container's layers, on no device that this host sees.
pub(crate) fn skip_without_a_device() -> bool {
    let data = std::env::temp_dir();
    let is_seen = slob_host::Device::behind(&data).is_ok_and(|device| device.top.is_some());
    // File systems without a device of their own have numbers without a driver (Linux, Documentation/admin-guide/devices.txt).
    let is_on_one = rustix::fs::major(data.metadata().unwrap().dev()) != 0;
    let message = format!("{} is on no block device of this host", data.display());
    match (is_seen, is_on_one) {
        (true, _) => {}
        (false, true) => drop(available::<()>(Err(message))),
        (false, false) => skipped(message),
    }
    !is_seen
}

/// `None`, with a line on stderr, where the test is to be skipped.
pub(crate) fn installed(program: &str, version: &str) -> Option<()> {
    let runs = Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let missing = || format!("{program} is not installed; .ci/install-test-servers installs it");
    available(runs.is_ok_and(|status| status.success()).then_some(()).ok_or_else(missing))
}

pub(crate) struct Called {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Called {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl Called {
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        let called = self.exits(code);
        assert_contains(&called.stderr, words);
        called
    }

    #[track_caller]
    pub(crate) fn silently(self) -> Self {
        assert_eq!(self.stdout, "", "{}", self.stderr);
        self
    }

    /// Fails as bad input does: before anything is touched.
    #[track_caller]
    pub(crate) fn refused(self, words: &[&str]) -> Self {
        self.fails(2, words)
    }

    /// Succeeds, and says all these words on stderr.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        self.fails(0, words)
    }

    #[track_caller]
    pub(crate) fn prints(self, words: &[&str]) -> Self {
        self.prints_and_exits(0, words)
    }

    #[track_caller]
    pub(crate) fn prints_and_exits(self, code: i32, words: &[&str]) -> Self {
        let called = self.exits(code);
        assert_contains(&called.stdout, words);
        called
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.success().stdout).unwrap()
    }

    /// stdout and stderr.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

#[track_caller]
pub(crate) fn assert_contains(text: &str, words: &[&str]) {
    words.iter().for_each(|words| assert!(text.contains(words), "no '{words}' in\n{text}"));
}

/// Text without line breaks and indents.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// On a real file system: the system's own folder may be in memory.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// Every account may reach it.
    pub(crate) fn in_temp() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// That many schemas are loaded in `./d`.
    pub(crate) fn loaded(schemas: u32, scale: &str) -> Self {
        let folder = Self::new();
        folder.slob(format!("setup --target sqlite:./d --scale {scale} {schemas}")).success();
        folder.write(
            "slob.conf",
            &format!("TARGET=sqlite:./d\nSCALE={scale}\nWORK_UNIT=64\nWARMUP=0\nRUN_TIME=2\n"),
        );
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        // A file that this process has open to write can't be executed: a child that another test starts keeps it open.
        let written = format!(
            "umask 022; cat > '{name}' <<'OF_TEST'\n{}\nOF_TEST\nchmod 755 '{name}'",
            text.trim_end()
        );
        self.shell(&written).success();
    }

    /// Splits the line into words as a shell does.
    pub(crate) fn command(&self, line: impl AsRef<str>) -> Command {
        self.command_of(SLOB, line)
    }

    pub(crate) fn command_of(&self, program: &str, line: impl AsRef<str>) -> Command {
        let mut command = Command::new(program);
        command.args(shlex::split(line.as_ref()).unwrap()).current_dir(self.path());
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command
    }

    pub(crate) fn slob(&self, line: impl AsRef<str>) -> Called {
        self.slob_with_env(line, &[])
    }

    pub(crate) fn slob_with_env(&self, line: impl AsRef<str>, environment: &[(&str, &str)]) -> Called {
        self.command(line).envs(environment.iter().copied()).output().unwrap().into()
    }

    /// The script is called with the program as `$0`.
    pub(crate) fn shell(&self, script: &str) -> Called {
        Command::new("sh").args(["-c", script, SLOB]).current_dir(self.path()).output().unwrap().into()
    }

    /// Makes a run until `check` accepts it: a busy machine spoils a short one. Those that are spoiled leave no record.
    #[track_caller]
    pub(crate) fn sound_run(&self, line: &str, check: &str) -> Called {
        shown_within(5, || {
            let runs = || slob_record::list_runs(&self.at("runs")).unwrap_or_default();
            let (before, called, checked) = (runs(), self.slob(line), self.slob(check));
            // Other work moves the times of CPUs, and no count.
            let mut differ = checked.stdout.lines().filter(|line| line.starts_with("DIFFERS"));
            assert!(differ.all(|line| line.contains("CPU")), "{}", checked.all());
            ensure(checked.code == 0, || {
                let made = runs().into_iter().filter(|run| !before.contains(run));
                made.for_each(|run| fs::remove_dir_all(run).unwrap());
                called.all() + &checked.all()
            })?;
            Ok(called)
        })
    }

    #[track_caller]
    pub(crate) fn run_json(&self, flags: impl AsRef<str>) -> Value {
        self.slob(format!("run --json {}", flags.as_ref())).json()
    }

    pub(crate) fn start(&self, line: impl AsRef<str>) -> Child {
        spawned(&mut self.command(line))
    }

    /// Waits until the run has done operations, however slow the machine is.
    pub(crate) fn start_run(&self, flags: impl AsRef<str>) -> Child {
        at_work(&mut self.command(format!("run {}", flags.as_ref())))
    }

    pub(crate) fn last_run(&self) -> PathBuf {
        let runs = fs::read_dir(self.at("runs")).unwrap();
        let runs = runs.map(|entry| entry.unwrap().path());
        runs.filter(|path| path.join("run.json").exists()).max().unwrap()
    }

    pub(crate) fn last_record(&self) -> Value {
        read_json(self.last_run().join("run.json"))
    }

    /// That of its configuration.
    pub(crate) fn target(&self) -> String {
        let conf = self.read("slob.conf");
        conf.lines().find_map(|line| line.strip_prefix("TARGET=")).unwrap().trim_matches('\'').to_owned()
    }
}

pub(crate) fn spawned(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until its progress shows operations. A run of a minute at most shows them each second.
pub(crate) fn at_work(command: &mut Command) -> Child {
    let mut child = spawned(command);
    let progress = BufReader::new(child.stderr.take().unwrap());
    // The test can read the same text again.
    let (read_again, mut again) = std::io::pipe().unwrap();
    child.stderr = Some(OwnedFd::from(read_again).into());
    let (send, works) = mpsc::channel();
    thread::spawn(move || {
        for line in progress.lines().map_while(Result::ok) {
            // A test that no longer reads does not hold up the run.
            let _ = writeln!(again, "{line}");
            if shows_operations(&line) {
                let _ = send.send(());
            }
        }
    });
    if works.recv_timeout(PATIENCE).is_err() {
        let _ = child.kill();
        panic!("the run did no work: {}", Called::from(child.wait_with_output().unwrap()).stderr);
    }
    child
}

fn shows_operations(line: &str) -> bool {
    let rate =
        line.split_once(" op/s").and_then(|(before, _)| before.rsplit(' ').next()?.parse::<f64>().ok());
    rate.is_some_and(|rate| rate > 0.0)
}

/// Waits until it is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < limit, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A command that was started and ends within a minute.
pub(crate) fn ended(child: Child) -> Called {
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "it went on");
    output.into()
}

/// A command of a shell that writes the number of its process to `hangs`, and hangs. Only SIGKILL ends it.
pub(crate) const HANG: &str = "trap '' TERM; echo $$ > hangs.new; mv hangs.new hangs; exec sleep 1000";

/// Stops a command in which [`HANG`] hangs: it ends at once and leaves nothing behind.
pub(crate) fn stopped_while_hanging(folder: &Folder, command: &mut Command) -> Called {
    let child = spawned(command);
    let hangs = folder.at("hangs");
    let process =
        until(|| fs::read_to_string(&hangs).map_err(|error| format!("{}: {error}", hangs.display())));
    let begun = Instant::now();
    signal(&child, Signal::TERM);
    let called = ended(child);
    assert!(begun.elapsed() < Duration::from_secs(20), "it went on for {:?}", begun.elapsed());
    assert!(!Path::new("/proc").join(process.trim()).exists(), "process {process} is left");
    fs::remove_file(hangs).unwrap();
    called
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    send(child.id(), signal);
}

pub(crate) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

pub(crate) fn operations(record: &Value, kind: &str) -> u64 {
    record["operations"][kind]["operations"].as_u64().unwrap_or(0)
}

pub(crate) fn rows(record: &Value, kind: &str) -> u64 {
    record["operations"][kind]["rows"].as_u64().unwrap_or(0)
}

pub(crate) fn window_s(record: &Value) -> f64 {
    record["window"]["seconds"].as_f64().unwrap()
}

#[track_caller]
pub(crate) fn assert_failed_and_kept(record: &Value) {
    assert_eq!(record["status"]["state"], "failed", "{}", record["status"]);
    let kept = ["select", "update"].map(|kind| operations(record, kind));
    assert!(kept.iter().any(|kept| *kept > 0), "{}", record["operations"]);
}
