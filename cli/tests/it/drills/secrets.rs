//! A password is given in every way there is, and searched everywhere it must not be.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use slob_testing::postgres::{Cluster, Version};

use crate::common::{Called, Folder, all_below, spawned};
use crate::fuzz::addresses;

pub(crate) const PASSWORD: &str = "hunter2-4711-c0rrect";

pub(crate) struct Locked {
    cluster: Cluster,
    pub(crate) folder: Folder,
}

/// The account `plain` needs a password.
pub(crate) fn locked() -> Option<Locked> {
    let access = ["host all plain 127.0.0.1/32 scram-sha-256"];
    let cluster = Cluster::start_with_or_skip(Version::V15, &[], &access)?;
    cluster.sql(&format!("CREATE ROLE plain LOGIN PASSWORD '{PASSWORD}'"));
    cluster.sql("CREATE DATABASE slob OWNER plain");
    Some(Locked { cluster, folder: Folder::new() })
}

impl Locked {
    pub(crate) fn target(&self) -> String {
        format!("postgres://plain@127.0.0.1:{}/slob", self.cluster.port())
    }

    /// Only its owner can read the file.
    fn pass_file(&self, password: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        self.folder.write("passwords", &format!("*:*:*:plain:{password}\n"));
        let path = self.folder.at("passwords");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }
}

pub(super) fn holders(folder: &Path) -> Vec<String> {
    let holds = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| contains(&bytes));
    all_below(folder).into_iter().filter(holds).map(|path| path.display().to_string()).collect()
}

pub(crate) fn contains(bytes: &[u8]) -> bool {
    holds(bytes, PASSWORD)
}

fn holds(bytes: &[u8], password: &str) -> bool {
    bytes.windows(password.len()).any(|window| window == password.as_bytes())
}

#[test]
fn a_password_is_nowhere_but_where_it_was_put() {
    let Some(locked) = locked() else { return };
    let (folder, target) = (&locked.folder, locked.target());
    let environment = [("PGPASSWORD", PASSWORD)];
    let setup = format!("setup --target {target} --scale 2M --scan-table-sz 64 1");
    let run =
        format!("run 1 --target {target} --scale 2M --warmup 0 --run-time 2 --external-script ./script");
    folder.script("script", "#!/bin/sh\nenv > environment-$1\ncat /proc/$PPID/cmdline > command-line-$1\n");
    let said = [&setup, &run].map(|line| folder.slob_with_env(line, &environment).success().all());
    assert!(!contains(said.concat().as_bytes()));
    // The user put it into the environment, which the script inherits.
    let mut own = holders(folder.path());
    own.retain(|path| !path.contains("/environment-"));
    assert_eq!(own, [""; 0]);
    // From a file the script's environment does not have it either.
    for moment in ["pre", "post", "end"] {
        let _ = fs::remove_file(folder.path().join(format!("environment-{moment}")));
    }
    let file = locked.pass_file(PASSWORD);
    folder.slob_with_env(run, &[("PGPASSFILE", &file)]).success();
    let held = holders(folder.path());
    assert_eq!(held, [file], "only in the file that it was put into");
}

#[test]
fn a_wrong_password_is_refused_and_not_repeated() {
    let Some(locked) = locked() else { return };
    let wrong = format!("{PASSWORD}-but-wrong");
    let setup = format!("setup --target {} 1", locked.target());
    let called = locked.folder.slob_with_env(setup, &[("PGPASSWORD", &wrong)]);
    assert_ne!(called.code, 0);
    assert!(called.stderr.contains("password") && !contains(called.stderr.as_bytes()), "{}", called.stderr);
}

#[test]
fn a_password_in_the_address_is_refused_without_repeating_it() {
    let folder = Folder::new();
    for scheme in ["postgres", "mysql"] {
        let target = format!("{scheme}://plain:{PASSWORD}@127.0.0.1:1/slob");
        let called = folder.slob(format!("run 1 --target {target}")).exits(2);
        assert!(!contains(called.stderr.as_bytes()), "{}", called.stderr);
        assert!(called.stderr.to_lowercase().contains("password"), "{}", called.stderr);
    }
    assert!(holders(folder.path()).is_empty());
}

#[test]
fn a_mistyped_target_is_refused_before_anything_and_not_shown() {
    let folder = Folder::new();
    let mistyped = "postgres:/plain:PW@127.0.0.1:1/slob~postgres://plain;PW@127.0.0.1:1/slob~postgres:/plain:PW/slob~\
        postgres://plain@127.0.0.1:1/slob?pasword=PW~postgres://plain@127.0.0.1:1/slobpassword=PW~\
        postgers://plain@127.0.0.1:1/PW~oracle:/plain/PW@//127.0.0.1:1~mysql:/plain:PW@127.0.0.1:1~\
        host=127.0.0.1 port=1 password=PW~host:127.0.0.1 password=PW";
    for target in mistyped.replace("PW", PASSWORD).split('~') {
        for command in ["run 1", "setup --yes 1", "verify", "conf", "doctor", "drop --yes", "ladder"] {
            let args = command.split(' ').chain(["--target", target]);
            let called = Called::from(folder.command("").args(args).output().unwrap()).exits(2);
            let shown = called.all();
            assert!(!contains(shown.as_bytes()), "{command}: {shown}");
        }
    }
    assert!(holders(folder.path()).is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made");
}

/// Tests of the library use all mistyped targets; these go through the program.
#[test]
fn some_mistyped_targets_are_shown_by_no_command() {
    let folder = Folder::new();
    for (number, target) in addresses::mistyped().step_by(307).enumerate() {
        let command = ["conf", "setup --print-sql 1"][number % 2];
        let called = folder.command(command).args(["--target", &target]).output().unwrap();
        let shown = Called::from(called).all();
        assert!(!addresses::shows_password(&shown), "{command} {target}: {shown}");
    }
}

#[test]
fn no_list_of_processes_shows_a_password() {
    // Tests beside this one give the other password in an address, which lists show.
    const UNLISTED: &str = "unlisted-4712-c0rrect";
    let Some(locked) = locked() else { return };
    locked.cluster.sql(&format!("ALTER ROLE plain PASSWORD '{UNLISTED}'"));
    let file = locked.pass_file(UNLISTED);
    let target = locked.target();
    let setup = format!("setup --target {target} --scale 2M --scan-table-sz 64 1");
    locked.folder.slob_with_env(setup, &[("PGPASSFILE", &file)]).success();
    let run = format!("run 1 --target {target} --scale 2M --warmup 0 --run-time 3");
    let mut child = spawned(locked.folder.command(run).env("PGPASSFILE", &file));
    while child.try_wait().unwrap().is_none() {
        for process in fs::read_dir("/proc").unwrap().map(Result::unwrap) {
            let path = process.path();
            let shows = |part: &str| fs::read(path.join(part)).is_ok_and(|bytes| holds(&bytes, UNLISTED));
            let is_ours = process.file_name().to_string_lossy() == child.id().to_string();
            assert!(!(shows("cmdline") || is_ours && shows("environ")), "{}", path.display());
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(child.wait().unwrap().success());
}
