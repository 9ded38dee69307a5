//! ssh: its command line, the copy of this program that it carries, and its pipes.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use slob_engine::lock;
use slob_host::ProgramGroup;
use slob_spec::SshHost;

use crate::protocol::{Answer, Hello, LONGEST_LINE, PROTOCOL, Question, Reply, Request, printable, send};

/// The caller's user can't stop it.
pub static NEVER: AtomicBool = AtomicBool::new(false);

/// It is the same for all hosts, so that no text of a target reaches a shell.
pub(crate) const OBSERVE: &str = "exec slob observe";

const END_PATIENCE: Duration = Duration::from_millis(500);
/// A wish to stop waits no longer.
const NOTICED_WITHIN: Duration = Duration::from_millis(50);
/// An observer that prints without end must not fill the memory.
const WAITING_LINES: usize = 2;
/// The last bytes of stderr count.
const KEPT_BYTES: usize = 4096;

/// They override the user's configuration: no question on a terminal, no forwarding, no endless wait.
const OPTIONS: &str = "-T -a -x -oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=5 -oServerAliveCountMax=3 \
                       -oClearAllForwardings=yes -oPermitLocalCommand=no -oEscapeChar=none -oRequestTTY=no -oLogLevel=ERROR";

#[derive(Debug)]
pub(crate) struct Ssh {
    process: ProgramGroup,
    input: Option<ChildStdin>,
    sent: Receiver<Result<ChildStdin, String>>,
    /// The moment is that of arrival.
    lines: Receiver<(Instant, Vec<u8>)>,
    stderr: Arc<Mutex<Vec<u8>>>,
    questions: u64,
}

impl Ssh {
    /// `client` runs [`OBSERVE`] on the host, or a copy of this program.
    pub(crate) fn start(client: &Path, host: &SshHost, copy: Option<ProgramCopy>) -> Result<Self, String> {
        let command = copy.as_ref().map_or_else(|| OBSERVE.to_owned(), ProgramCopy::command);
        let mut ssh = Command::new(client);
        ssh.args(OPTIONS.split(' '));
        ssh.args(host.user().map(|user| format!("-l{user}")));
        ssh.args(host.port().map(|port| format!("-p{port}")));
        ssh.arg("--").arg(host.host()).arg(command);
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = ProgramGroup::start(&mut ssh)
            .map_err(|error| format!("starting ssh: {error}; install OpenSSH's client"))?;
        let child = process.child();
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stderr = Arc::default();
        keep_stderr(errors, &stderr);
        let (input, sent) = (None, send_copy(input, copy));
        Ok(Self { process, input, sent, lines: read_lines(output), stderr, questions: 0 })
    }

    /// The hello is the first line.
    pub(crate) fn hello(
        &mut self,
        host: &SshHost,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Hello, String> {
        let until = Instant::now() + patience;
        let line = match receive(&self.lines, until, stop) {
            Ok((_, line)) => line,
            Err(missing) => return Err(self.why_no_hello(host, patience, missing)),
        };
        let hello = Hello::parse(&line).map_err(|start| {
            format!(
                "the first words were {start}, which are no observer's: a login script of that account may print something; have it \
                 print nothing where there is no terminal"
            )
        })?;
        if hello.slob_observe != PROTOCOL {
            return Err(format!(
                "the slob there is release {} and speaks version {} of the observer's protocol, this one {PROTOCOL}: install this release \
                 there, or let a copy be sent (--observe-copy)",
                printable(&hello.version).chars().take(40).collect::<String>(),
                hello.slob_observe
            ));
        }
        let input = receive(&self.sent, until, stop);
        self.input = Some(input.map_err(|missing| self.why_no_hello(host, patience, missing))??);
        Ok(hello)
    }

    fn why_no_hello(&mut self, host: &SshHost, patience: Duration, missing: Missing) -> String {
        if let Ok(Err(fault)) = self.sent.try_recv() {
            return fault;
        }
        let (seconds, ssh) = (patience.as_secs(), host.command());
        match missing {
            Missing::Ended => explain(host, self.exit_code(), &self.last_line()),
            Missing::Late => format!("nothing was said within {seconds} s; try `{ssh} {OBSERVE}`"),
            Missing::Stopped => INTERRUPTED.into(),
        }
    }

    /// Returns the number of the request.
    pub(crate) fn send(&mut self, request: Request) -> Result<u64, String> {
        self.questions += 1;
        let question = Question { number: self.questions, body: request };
        match self.input.as_mut().map(|input| send(input, &question)) {
            Some(Ok(())) => Ok(self.questions),
            _ => Err(self.why_it_ended()),
        }
    }

    /// Ignores late answers to earlier requests.
    pub(crate) fn wait(
        &mut self,
        number: u64,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<(Instant, Reply), String> {
        loop {
            let (came, line) = match receive(&self.lines, until, stop) {
                Ok(line) => line,
                Err(Missing::Ended) => return Err(self.why_it_ended()),
                Err(Missing::Late) => return Err(LATE.into()),
                Err(Missing::Stopped) => return Err(INTERRUPTED.into()),
            };
            let answer =
                Answer::parse(&line).map_err(|start| format!("it said {start}, which is no answer"))?;
            match answer.number.cmp(&number) {
                Less if came > until => return Err(LATE.into()),
                Less => {}
                Equal => return Ok((came, answer.body)),
                Greater => return Err("it answered a question that was not asked".into()),
            }
        }
    }

    fn why_it_ended(&mut self) -> String {
        let code = self.exit_code();
        let code = code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        let line = self.last_line();
        let line = if line.is_empty() { line } else { format!(" ({line})") };
        format!("the connection or the observer ended{code}{line}")
    }

    fn exit_code(&mut self) -> Option<i32> {
        let until = Instant::now() + END_PATIENCE;
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    fn last_line(&self) -> String {
        let stderr = lock(&self.stderr);
        let text = String::from_utf8_lossy(&stderr);
        printable(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default())
    }
}

/// The observer ends with its input, and ssh with it. One that hangs is killed.
impl Drop for Ssh {
    fn drop(&mut self) {
        drop(self.input.take());
        self.exit_code();
    }
}

const LATE: &str = "it did not answer in time";
pub(crate) const INTERRUPTED: &str = "interrupted";

#[derive(Clone, Copy)]
enum Missing {
    Late,
    Ended,
    Stopped,
}

fn receive<T>(receiver: &Receiver<T>, until: Instant, stop: &AtomicBool) -> Result<T, Missing> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(NOTICED_WITHIN)) {
            _ if stop.load(Ordering::Relaxed) => return Err(Missing::Stopped),
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Disconnected) => return Err(Missing::Ended),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(Missing::Late),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Hands the input back. A thread waits for a host that does not read.
fn send_copy(input: Option<ChildStdin>, copy: Option<ProgramCopy>) -> Receiver<Result<ChildStdin, String>> {
    let (sender, receiver) = sync_channel(1);
    let send = move || {
        let Some(mut input) = input else { return };
        let sent = copy.map_or(Ok(()), |copy| copy.send(&mut input));
        let _ = sender.send(sent.map(|()| input));
    };
    // Without a thread there is no hello, and the channel closes.
    let _ = thread::Builder::new().name("observer's input".into()).spawn(send);
    receiver
}

fn read_lines(output: Option<impl Read + Send + 'static>) -> Receiver<(Instant, Vec<u8>)> {
    let (sender, receiver) = sync_channel(WAITING_LINES);
    let read = move || {
        let Some(output) = output else { return };
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = output.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line);
            if read.is_err() || !line.ends_with(b"\n") || sender.send((Instant::now(), line)).is_err() {
                return;
            }
        }
    };
    // Without a thread the channel closes.
    let _ = thread::Builder::new().name("observer's output".into()).spawn(read);
    receiver
}

fn keep_stderr(errors: Option<impl Read + Send + 'static>, kept: &Arc<Mutex<Vec<u8>>>) {
    let kept = Arc::clone(kept);
    let read = move || {
        let Some(mut errors) = errors else { return };
        let mut piece = [0; 512];
        while let Ok(read @ 1..) = errors.read(&mut piece) {
            let mut kept = lock(&kept);
            kept.extend_from_slice(&piece[..read]);
            let excess = kept.len().saturating_sub(KEPT_BYTES);
            kept.drain(..excess);
        }
    };
    let _ = thread::Builder::new().name("observer's errors".into()).spawn(read);
}

/// ssh's exit code and its last line decide.
fn explain(host: &SshHost, code: Option<i32>, last_line: &str) -> String {
    let quoted = if last_line.is_empty() { "nothing was said".to_owned() } else { format!("'{last_line}'") };
    // Shells exit with 127 if they do not find the program.
    match code {
        Some(127) => format!(
            "there is no slob in the PATH of that account ({quoted}): install it there, or let a copy be sent (--observe-copy)"
        ),
        Some(126) => format!(
            "the program can't be run there: {quoted}; for a copy, TMPDIR of that account must name a folder from which programs \
             may be run"
        ),
        _ if last_line.contains("GLIBC") => format!(
            "this program does not run on the system there ({quoted}): use the static binary of the release, here or there"
        ),
        Some(2) if last_line.contains("observe") || last_line.contains("--help") => format!(
            "the slob there knows no observer ({quoted}): install this release there, or let a copy be sent (--observe-copy)"
        ),
        Some(255) => format!("ssh says {quoted}; {}", remedy(host, last_line)),
        Some(code) => format!("it ended with exit code {code}: {quoted}"),
        None => format!("it was ended: {quoted}"),
    }
}

fn remedy(host: &SshHost, last_line: &str) -> String {
    let try_it = format!("`{} true` must work without a question", host.command());
    if last_line.contains("ermission denied") {
        return format!("log in with a key: ssh-copy-id, or an agent (ssh-add); {try_it}");
    }
    if last_line.contains("ost key verification failed") || last_line.contains("IDENTIFICATION HAS CHANGED") {
        return format!("connect once by hand and see whether the host's key is the right one; {try_it}");
    }
    if last_line.contains("resolve") {
        return "check the host's name, or name another one (--observe ssh:HOST)".into();
    }
    try_it
}

#[derive(Debug)]
pub(crate) struct ProgramCopy {
    file: File,
    bytes: u64,
    sum: String,
}

impl ProgramCopy {
    /// The file may have been replaced since the start.
    pub(crate) fn of_this_program() -> Result<Self, String> {
        let read = || -> io::Result<Self> {
            let mut file = File::open("/proc/self/exe")?;
            let mut sum = Sha256::new();
            let mut piece = vec![0; 1 << 16];
            while let read @ 1.. = file.read(&mut piece)? {
                sum.update(&piece[..read]);
            }
            let bytes = file.stream_position()?;
            file.rewind()?;
            let sum = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(Self { file, bytes, sum })
        };
        read().map_err(|error| format!("reading this program's own file: {error}"))
    }

    fn send(mut self, input: &mut ChildStdin) -> Result<(), String> {
        let fault = match io::copy(&mut (&mut self.file).take(self.bytes), input) {
            Ok(sent) if sent == self.bytes => return Ok(()),
            Ok(_) => "this program's file was cut".to_owned(),
            // The missing hello explains a broken pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => error.to_string(),
        };
        Err(format!("sending a copy of this program: {fault}"))
    }

    /// The host receives the copy, checks it and runs it.
    ///
    /// The file is private, and loses its name before the first byte. Only two numbers in the command depend on the program.
    pub(crate) fn command(&self) -> String {
        let Self { bytes, sum, .. } = self;
        // The kernel does not run a file that is open for writing, so descriptor 4 is for reading.
        format!(
            "exec sh -c 'umask 077; f=$(mktemp) || exit 125; exec 3>\"$f\" 4<\"$f\" || exit 125; chmod 700 \"$f\"; rm -f \"$f\"; \
             head -c {bytes} >&3; exec 3>&-; \
             s=$(sha256sum </proc/self/fd/4) || exit 124; \
             case \"$s\" in {sum}*) exec /proc/self/fd/4 observe 4<&4 ;; *) echo \"the copy of slob arrived damaged\" >&2; exit 123 ;; esac'"
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::*;
    use crate::local::LocalObserver;

    /// A program that says hello as this one does, between other commands.
    pub(crate) fn client(folder: &Path, before: &str, then: &str) -> PathBuf {
        let path = folder.join("ssh");
        let hello = serde_json::to_string(&LocalObserver::hello()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{before}\ncat <<'END'\n{hello}\nEND\n{then}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn an_observer_that_prints_without_end_neither_fills_the_memory_nor_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let stale = serde_json::to_string(&Answer { number: 0, body: Reply::Tracing }).unwrap();
        let client = client(folder.path(), "", &format!("exec yes '{stale}'"));
        let host = "localhost".parse().unwrap();
        let mut ssh = Ssh::start(&client, &host, None).unwrap();
        ssh.hello(&host, Duration::from_secs(60), &NEVER).unwrap();
        // The lines go on while nothing is asked.
        thread::sleep(Duration::from_millis(300));
        let begun = Instant::now();
        let number = ssh.send(Request::Sample { edge: false }).unwrap();
        let late = ssh.wait(number, begun + Duration::from_millis(300), &NEVER).unwrap_err();
        assert_eq!(late, LATE);
        let peak = slob_host::peak_memory_bytes().unwrap();
        assert!(peak < 100 << 20, "{peak} bytes");
    }
}
