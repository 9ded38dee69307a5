//! What protects passwords and other people's data: prompts, modes of files, core dumps, names that are code.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::fs::OFlags;
use rustix::termios::{LocalModes, tcgetattr};

use slob_testing::children;
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::Version;

use super::secrets::{PASSWORD, contains, holders, locked};
use crate::common::{Folder, SLOB, Signal, at_work, mariadb, postgres, signal, wait_until};

/// A name that would end a statement, if it were inserted as it is.
const NAME: &str = "x\"; DROP TABLE victim; --";

fn terminal_of(script: u32) -> File {
    let input = |child: u32| fs::read_link(format!("/proc/{child}/fd/0")).ok();
    let path = children(script).into_iter().find_map(input).unwrap();
    // Without becoming the terminal of the test itself.
    let flags = OFlags::NOCTTY.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path).unwrap()
}

/// A command on a terminal of its own, which has asked for a password.
struct Asked {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    shown: Vec<u8>,
}

impl Asked {
    fn by(command: &str, folder: &Folder) -> Self {
        // `script` makes the terminal.
        let mut child = Command::new("script")
            .args(["-qfec", command, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut shown = Vec::new();
        while !String::from_utf8_lossy(&shown).contains("/slob: ") {
            let mut byte = [0];
            assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&shown));
            shown.push(byte[0]);
        }
        // Echo is switched off after the question is asked.
        let terminal = terminal_of(child.id());
        let has_echo = || tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO);
        wait_until("the terminal shows what is typed", || !has_echo());
        Self { child, input, output, shown }
    }

    fn shown_until_the_end(mut self) -> (Child, Vec<u8>) {
        self.output.read_to_end(&mut self.shown).unwrap();
        (self.child, self.shown)
    }
}

#[test]
fn a_password_is_asked_for_on_the_terminal_which_does_not_show_it() {
    let Some(locked) = locked() else { return };
    let target = locked.target();
    let slob =
        format!("{SLOB} setup --plain --ask-password --target {target} --scale 2M --scan-table-sz 64 1");
    let mut asked = Asked::by(&slob, &locked.folder);
    asked.input.write_all(format!("{PASSWORD}\n").as_bytes()).unwrap();
    let (mut child, shown) = asked.shown_until_the_end();
    let text = String::from_utf8_lossy(&shown);
    assert!(child.wait().unwrap().success(), "{text}");
    assert!(text.contains("Password for postgres://plain@") && text.contains("one per block"), "{text}");
    assert!(!contains(&shown) && holders(locked.folder.path()).is_empty(), "{text}");
}

/// A shell that does not show what is typed looks broken.
#[test]
fn ctrl_c_at_the_question_for_a_password_leaves_the_terminal_as_it_was() {
    let folder = Folder::new();
    for signal in ["the key", "INT", "TERM"] {
        let ask = format!("{SLOB} setup --ask-password --target postgres://u@127.0.0.1:1/slob 1");
        // The shell always waits for its child, and prints the terminal's state.
        let shell = format!("sh -c 'echo $$ > pid; exec {ask}'; echo ended $?; stty -a");
        let mut asked = Asked::by(&shell, &folder);
        if signal == "the key" {
            asked.input.write_all(b"\x03").unwrap();
        } else {
            let pid = folder.read("pid");
            assert!(Command::new("kill").args(["-s", signal, pid.trim()]).status().unwrap().success());
        }
        let (mut child, shown) = asked.shown_until_the_end();
        let text = String::from_utf8_lossy(&shown);
        assert!(text.contains("ended 130"), "{signal}: {text}");
        for off in ["-echo ", "-icanon", "-isig"] {
            assert!(text.contains(" echo ") && !text.contains(off), "{signal}: {off} in {text}");
        }
        child.wait().unwrap();
    }
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let folder = Folder::new();
    let arguments = [SLOB, "setup", "--ask-password", "--target", "postgres://u@127.0.0.1:1/slob", "1"];
    let output =
        Command::new("setsid").arg("-w").args(arguments).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("without a terminal"), "{said}");
}

#[test]
fn a_configuration_with_a_password_belongs_to_its_owner_alone() {
    let folder = Folder::new();
    folder.slob("conf --init").success();
    let path = folder.at("slob.conf");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&path, format!("TARGET='postgres://plain:{PASSWORD}@127.0.0.1:1/slob'\n")).unwrap();
    for (mode, warned) in [(0o600, false), (0o640, true), (0o644, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let called = folder.slob("conf").success();
        assert_eq!(called.stderr.contains("chmod 0600 slob.conf"), warned, "{mode:o}: {}", called.stderr);
        assert!(!contains(called.all().as_bytes()));
    }
}

#[test]
fn a_crash_leaves_no_copy_of_the_memory() {
    let Some(locked) = locked() else { return };
    let target = locked.target();
    let environment = [("PGPASSWORD", PASSWORD)];
    let setup = format!("setup --target {target} --scale 2M --scan-table-sz 64 1");
    locked.folder.slob_with_env(setup, &environment).success();
    let run = format!("ulimit -c unlimited; exec {SLOB} run 1 --target {target} --scale 2M --run-time 60");
    let mut shell = Command::new("sh");
    let mut child = at_work(shell.args(["-c", &run]).envs(environment).current_dir(locked.folder.path()));
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    assert_eq!(soft.split_whitespace().next(), Some("0"), "{soft}");
    signal(&child, Signal::ABORT);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(6));
    assert_eq!(holders(locked.folder.path()), [""; 0]);
}

#[test]
fn a_name_is_a_name_even_if_it_reads_like_a_statement() {
    let Some(bench) = postgres(Version::V15, &[]) else { return };
    let (folder, target) = (&bench.folder, &bench.target);
    let mut admin = bench.server.admin();
    admin.batch_execute("CREATE TABLE victim (a int)").unwrap();
    let load = bench.load_line(&format!("--scale 2M --tablespace '{NAME}' 1"));
    let called = folder.slob(&load);
    assert!(called.code != 0 && called.stderr.contains("does not exist"), "{}", called.stderr);
    // A role of that name may be there, and then it is used.
    let quoted = NAME.replace('"', "\"\"");
    admin.batch_execute("SET allow_in_place_tablespaces = true").unwrap();
    admin.batch_execute(&format!("CREATE TABLESPACE \"{quoted}\" LOCATION ''")).unwrap();
    admin.batch_execute(&format!("GRANT CREATE ON TABLESPACE \"{quoted}\" TO plain")).unwrap();
    folder.slob(load).success();
    folder.slob(format!("verify --target {target}")).success();
    let of_database = target.replace("/slob", "/x%22;%20DROP%20TABLE%20victim;%20--");
    let called = folder.slob(format!("drop --yes --target {of_database}"));
    assert!(called.code != 0 && called.stderr.contains("does not exist"), "{}", called.stderr);
    folder.slob(format!("drop --yes --target {target}")).success();
    assert_eq!(admin.query_one("SELECT count(*) FROM victim", &[]).unwrap().get::<_, i64>(0), 0);
    for name in ["../../x", NAME, "a/b", ".."] {
        folder.slob(format!("run --target {target} --run-name '{name}'")).exits(2);
    }
}

#[test]
fn drop_leaves_what_others_put_beside_our_tables() {
    let Some(bench) = mariadb(&[]) else { return };
    let (server, folder, target) = (&bench.server, &bench.folder, &bench.target);
    server.sql("CREATE DATABASE slob7");
    server.sql("CREATE TABLE slob7.cf1 (a INT)");
    server.sql("INSERT INTO slob7.cf1 VALUES (1)");
    bench.load("--scale 2M 1");
    folder.slob(format!("drop --yes --target {target}")).success();
    assert_eq!(server.ask("SELECT COUNT(*) FROM slob7.cf1"), 1, "it looks like ours, but does not say so");
    bench.load("--scale 2M 1");
    server.sql("CREATE TABLE slob1.notes (a INT)");
    let refused = folder.slob(format!("drop --yes --target {target}"));
    assert!(refused.code != 0 && refused.stderr.contains("notes"), "{}", refused.stderr);
    assert_eq!(server.ask("SELECT COUNT(*) FROM slob1.notes"), 0);
}

#[test]
fn the_other_servers_password_is_nowhere_either() {
    let Some(server) = MariaDb::start_or_skip(&[]) else { return };
    server.sql(&format!("CREATE USER locked@'%' IDENTIFIED BY '{PASSWORD}'"));
    server.sql("GRANT ALL ON `slob%`.* TO locked@'%'");
    server.sql("GRANT SELECT ON mysql.innodb_index_stats TO locked@'%'");
    let (folder, target) = (Folder::new(), server.target("locked"));
    let setup = format!("setup --target {target} --scale 2M --scan-table-sz 64 1");
    let run = format!("run 1 --target {target} --scale 2M --warmup 0 --run-time 2");
    let refused = folder.slob_with_env(&setup, &[("MYSQL_PWD", &format!("{PASSWORD}-but-wrong"))]);
    assert!(refused.code != 0 && refused.stderr.contains("password"), "{}", refused.stderr);
    let right = [("MYSQL_PWD", PASSWORD)];
    let said = [setup, run].map(|line| folder.slob_with_env(line, &right).success().all());
    assert!(!contains((refused.all() + &said.concat()).as_bytes()));
    assert_eq!(holders(folder.path()), [""; 0]);
}
