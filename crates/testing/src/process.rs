//! A server of a test: its account, its process, and its start on a free port.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::container::Container;
use crate::target_folder;
use crate::tries::PATIENCE;

/// A restarted server keeps it.
#[derive(Debug)]
pub struct Served {
    // Fields are dropped in this order: the server must be gone when its files go.
    pub(crate) process: Option<Process>,
    pub(crate) account: Account,
    /// 0 before the first start.
    pub(crate) port: u16,
    pub(crate) container: Option<Arc<Container>>,
    pub(crate) folder: TempDir,
}

impl Served {
    pub(crate) fn new(account: &str, prefix: &str) -> Result<Self, String> {
        let account = Account::choose(account)?;
        let folder = tempfile::Builder::new().prefix(prefix).tempdir().map_err(|error| error.to_string())?;
        account.give(folder.path())?;
        Ok(Self { process: None, account, port: 0, container: None, folder })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// False if the server's container has an address that refuses connections on that port.
    pub(crate) fn is_reachable(&self, port: u16) -> bool {
        let connects = |container: &Arc<Container>| {
            let address = SocketAddr::new(container.address(), port);
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
        };
        self.container.as_ref().is_none_or(connects)
    }

    pub(crate) fn end(&mut self, signal: Signal) {
        if let Some(process) = self.process.take() {
            process.end(signal);
        }
    }

    pub(crate) fn fixed_port(&self) -> Option<u16> {
        (self.port != 0).then_some(self.port)
    }
}

/// A thread waits for its end.
///
/// The death signal is tied to the thread that started a process, and the thread of a test may end before a shared server.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    ended: Mutex<Receiver<()>>,
}

impl Process {
    /// Messages go to `log`. The end of this program kills it, even if a change of account loses the death signal.
    pub(crate) fn spawn(command: &Command, log: Option<File>) -> Result<Self, String> {
        let mut outer = Command::new("setpriv");
        outer.args(["--pdeathsig", "KILL", "--"]);
        let mut command = within(outer, command);
        let (say_started, started) = mpsc::channel();
        let (say_ended, ended) = mpsc::channel();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.map_or_else(Stdio::null, Stdio::from));
        thread::spawn(move || match command.spawn() {
            Ok(mut child) => {
                let _ = say_started.send(Ok(child.id()));
                let _ = child.wait();
                let _ = say_ended.send(());
            }
            Err(error) => {
                let _ = say_started.send(Err(format!("{command:?}: {error}")));
            }
        });
        let id = started.recv().map_err(|_| "the thread that starts the server ended".to_owned())??;
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or("a process id that is none")?;
        Ok(Self { pid, ended: Mutex::new(ended) })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        // The thread is gone if the end was reported before.
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(ended.recv_timeout(limit), Err(mpsc::RecvTimeoutError::Timeout))
    }

    /// Kills it after a minute.
    pub(crate) fn end(self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
        if !self.ends_within(Duration::from_secs(60)) {
            let _ = kill_process(self.pid, Signal::KILL);
            self.ends_within(Duration::from_secs(10));
        }
    }
}

/// The process may have ended.
pub fn send(pid: u32, signal: Signal) {
    let _ = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, signal));
}

pub fn children(parent: u32) -> Vec<u32> {
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        after_name == Some(&parent.to_string())
    };
    let names = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(is_child).collect()
}

const LAST_LINES: usize = 8;

/// A failure with `passing` words is repeated: another program took the port, or a killed server still ends.
pub(crate) fn on_a_port(
    fixed: Option<u16>,
    passing: &[&str],
    start: impl Fn(u16) -> Result<Process, String>,
) -> Result<(Process, u16), String> {
    let begun = Instant::now();
    loop {
        let port = fixed.map_or_else(free_port, Ok)?;
        match start(port) {
            Ok(process) => return Ok((process, port)),
            Err(error)
                if begun.elapsed() > PATIENCE || !passing.iter().any(|words| error.contains(words)) =>
            {
                return Err(error);
            }
            Err(_) => thread::sleep(Duration::from_millis(250)),
        }
    }
}

/// A process that does not serve is ended with `signal`.
pub(crate) fn until_it_serves(
    process: Process,
    serves: impl Fn() -> bool,
    signal: Signal,
    log: &Path,
) -> Result<Process, String> {
    let limit = Instant::now() + PATIENCE;
    loop {
        if serves() {
            return Ok(process);
        }
        let ended = process.ends_within(Duration::from_millis(20));
        if ended || Instant::now() > limit {
            if !ended {
                process.end(signal);
            }
            return Err(format!("the server does not start:\n{}", last_lines(log)));
        }
    }
}

pub(crate) fn finish(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].concat();
    Err(format!("{command:?}: {}\n{}", done.status, String::from_utf8_lossy(&said)))
}

pub fn openssl(folder: &Path, arguments: &str) {
    finish(Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder)).expect("OpenSSL");
}

pub(crate) fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// Fills `data` as `make` does. That takes seconds of CPU, so the others of its name get a copy until the machine restarts: what was
/// written before may be half there.
pub(crate) fn made_once(
    name: &str,
    data: &Path,
    make: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(|error| error.to_string())?;
    let account = rustix::process::geteuid().as_raw();
    let all = target_folder().join("test-data");
    let place = all.join(format!("{account}{}", name.replace('/', "-")));
    let (kept, new) = (place.join(boot.trim()), place.join("new"));
    let say = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(&all).map_err(say)?;
    // It ends with the value. Nobody makes the place without it.
    let one = File::create(place.with_extension("lock")).map_err(say)?;
    one.lock().map_err(say)?;
    if !kept.is_dir() {
        fs::create_dir_all(&place).and_then(|()| fs::remove_dir_all(&place)).map_err(say)?;
        fs::create_dir(&place).map_err(say)?;
        make()?;
        copy(data, &new)?;
        return fs::rename(&new, &kept).map_err(say);
    }
    drop(one);
    copy(&kept, data)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    finish(Command::new("cp").arg("-a").arg(from.join(".")).arg(to))
}

/// `None`, with a line on stderr, skips a test; with `CI=true` it fails.
pub fn available<T>(needed: Result<T, String>) -> Option<T> {
    let say = |message: &String| {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
        skipped(message);
    };
    needed.inspect_err(say).ok()
}

/// True if drills are repeated as often as docs/evidence.md says, and no test is left out for its length.
pub fn is_full() -> bool {
    std::env::var("DRILLS").as_deref() == Ok("full")
}

#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
pub fn skipped(why: impl std::fmt::Display) {
    eprintln!("skipped: {why}");
}

/// Keeps environment and folder.
pub(crate) fn within(mut outer: Command, inner: &Command) -> Command {
    outer.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    inner.get_current_dir().map(|folder| outer.current_dir(folder));
    outer
}

/// Database servers refuse to run as root.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// `None` is the account of the test.
    other: Option<(u32, u32)>,
}

impl Account {
    /// Root takes the account `name`, which packages make, or `nobody`.
    pub(crate) fn choose(name: &str) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { other: None });
        }
        let passwd =
            std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        let other = [name, "nobody"].iter().find_map(|name| find(&passwd, name));
        if other.is_none() {
            return Err(format!("running as root, and there is no account '{name}' or 'nobody'"));
        }
        Ok(Self { other })
    }

    pub(crate) fn own() -> Self {
        Self { other: None }
    }

    /// The program ends with the thread that started it. It gets no variables for clients, whose names begin with `variables`.
    pub(crate) fn command(&self, program: &Path, variables: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some((user, group)) = &self.other {
            command.args([
                format!("--reuid={user}"),
                format!("--regid={group}"),
                "--clear-groups".to_owned(),
            ]);
        }
        command.arg("--").arg(program);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(variables.as_bytes()) {
                command.env_remove(name);
            }
        }
        command
    }

    pub(crate) fn give(&self, path: &Path) -> Result<(), String> {
        let Some((user, group)) = self.other else { return Ok(()) };
        std::os::unix::fs::chown(path, Some(user), Some(group))
            .map_err(|error| format!("chown {}: {error}", path.display()))
    }
}

fn find(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let fields: Vec<&str> =
        passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|f| f[0] == name)?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// `None`, with a line on stderr, without root, or if that account can't reach the program.
pub fn as_nobody(program: &Path) -> Option<Command> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let nobody = find(&passwd, "nobody").filter(|_| rustix::process::geteuid().is_root());
    let command = || Account { other: nobody }.command(program, "PG");
    let reaches_it = command().arg("--version").output().is_ok_and(|done| done.status.success());
    if nobody.is_none() || !reaches_it {
        skipped(format!("this test is not root's, or nobody may not run {}", program.display()));
        return None;
    }
    Some(command())
}
