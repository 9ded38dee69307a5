//! A folder of its own for each test, and the program in it.
#![allow(dead_code, reason = "each test program uses its own part of it")]

pub(crate) mod mariadb;
pub(crate) mod postgres;
pub(crate) mod random;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

pub(crate) const SLOB: &str = env!("CARGO_BIN_EXE_slob");

/// Whether a test is to be skipped that compares a server's reads with those of the device, because the data of test servers
/// lie on none that this host can see: in memory, or in a container's layers. Stderr says so.
///
/// # Panics
/// If none is found behind a file system that is on one, where `CI=true`.
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
pub(crate) fn skip_without_a_device() -> bool {
    let data = std::env::temp_dir();
    if slob_host::Device::behind(&data).is_ok_and(|device| device.top.is_some()) {
        return false;
    }
    // File systems without a device of their own have numbers without a driver (Linux, Documentation/admin-guide/devices.txt).
    let is_on_one = rustix::fs::major(data.metadata().unwrap().dev()) != 0;
    assert!(
        !is_on_one || std::env::var("CI").as_deref() != Ok("true"),
        "no device behind {}",
        data.display()
    );
    eprintln!("skipped: {} is on no block device of this host", data.display());
    true
}

/// A temporary folder on a real file system: the system's own may be in memory.
pub(crate) struct Folder(tempfile::TempDir);

/// What a call of the program came to.
pub(crate) struct Called {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Called {
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// In the system's temporary folder, which every account may reach.
    pub(crate) fn in_temp() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With that many schemas loaded in `./d`.
    pub(crate) fn loaded(schemas: u32, scale: &str) -> Self {
        let folder = Self::new();
        folder.slob(["setup", "--target", "sqlite:./d", "--scale", scale, &schemas.to_string()]).success();
        folder.write(
            "slob.conf",
            &format!("TARGET=sqlite:./d\nSCALE={scale}\nWORK_UNIT=64\nWARMUP=0\nRUN_TIME=2\n"),
        );
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn slob<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Called {
        self.slob_with_env(arguments, &[])
    }

    pub(crate) fn slob_with_env<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        environment: &[(&str, &str)],
    ) -> Called {
        let output = Command::new(SLOB)
            .args(arguments)
            .envs(environment.iter().copied())
            .current_dir(self.path())
            .output()
            .unwrap();
        Called {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs and returns the record.
    pub(crate) fn run_json(&self, arguments: &[&str]) -> Value {
        let called = self.slob(["run", "--json"].iter().chain(arguments).copied()).success();
        serde_json::from_str(&called.stdout).unwrap()
    }

    /// Starts what makes a run, and waits until it tells of operations that were done, however slow the machine is. A run of a
    /// minute at most tells each second.
    pub(crate) fn start_run(&self, command: &mut Command) -> Child {
        command.current_dir(self.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let progress = BufReader::new(child.stderr.take().unwrap());
        // What was read here is there for the test too.
        let (read_again, mut again) = std::io::pipe().unwrap();
        child.stderr = Some(OwnedFd::from(read_again).into());
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for line in progress.lines().map_while(Result::ok) {
                // The test may not want it any more; then it still must not hold up the run.
                let _ = writeln!(again, "{line}");
                if tells_of_work(&line) {
                    let _ = tell.send(());
                }
            }
        });
        if told.recv_timeout(Duration::from_secs(60)).is_err() {
            let _ = child.kill();
            let output = child.wait_with_output().unwrap();
            panic!("the run did no work: {}", String::from_utf8_lossy(&output.stderr));
        }
        child
    }

    /// The folder of the latest run.
    pub(crate) fn last_run(&self) -> PathBuf {
        let runs = fs::read_dir(self.path().join("runs")).unwrap();
        let runs = runs.map(|entry| entry.unwrap().path());
        runs.filter(|path| path.join("run.json").exists()).max().unwrap()
    }

    pub(crate) fn last_record(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.last_run().join("run.json")).unwrap()).unwrap()
    }
}

/// Whether a line of a run's progress tells of operations that were done.
fn tells_of_work(line: &str) -> bool {
    let rate =
        line.split_once(" op/s").and_then(|(before, _)| before.rsplit(' ').next()?.parse::<f64>().ok());
    rate.is_some_and(|rate| rate > 0.0)
}
