//! ssh: its command line, the copy of this program that it carries, and its pipes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use slob_spec::SshHost;

use crate::protocol::{Answer, Hello, LONGEST_LINE, PROTOCOL, Question, Reply, Request, printable, send};

/// The remote command. It is the same for all hosts, so that no text of a target reaches a shell.
pub(crate) const OBSERVE: &str = "exec slob observe";

const END_PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of stderr that are kept, the last ones.
const KEPT_BYTES: usize = 4096;

/// Options that override the user's configuration: no question on a terminal, no forwarding, no endless wait for a host.
const OPTIONS: &str = "-T -a -x -oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=5 -oServerAliveCountMax=3 \
                       -oClearAllForwardings=yes -oPermitLocalCommand=no -oEscapeChar=none -oRequestTTY=no -oLogLevel=ERROR";

#[derive(Debug)]
pub(crate) struct Ssh {
    process: Child,
    input: Option<ChildStdin>,
    /// Lines with the moments of their arrival.
    lines: Receiver<(Instant, Vec<u8>)>,
    stderr: Arc<Mutex<Vec<u8>>>,
    questions: u64,
}

impl Ssh {
    /// Starts `client`, which runs `command` on the host.
    pub(crate) fn start(client: &Path, host: &SshHost, command: &str) -> Result<Self, String> {
        let mut ssh = Command::new(client);
        ssh.args(OPTIONS.split(' '));
        ssh.args(host.user().map(|user| format!("-l{user}")));
        ssh.args(host.port().map(|port| format!("-p{port}")));
        ssh.arg("--").arg(host.host()).arg(command);
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process =
            ssh.spawn().map_err(|error| format!("starting ssh: {error}; install OpenSSH's client"))?;
        let (input, output, errors) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let stderr = Arc::default();
        keep_stderr(errors, &stderr);
        Ok(Self { process, input, lines: read_lines(output), stderr, questions: 0 })
    }

    /// Sends a copy of this program, for a command of [`Copy::command`].
    pub(crate) fn send_copy(&mut self, mut copy: Copy) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("ssh takes no input")?;
        let fault = match io::copy(&mut (&mut copy.file).take(copy.bytes), input) {
            Ok(sent) if sent == copy.bytes => return Ok(()),
            Ok(_) => "this program's file was cut".to_owned(),
            // The missing hello explains a broken pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => error.to_string(),
        };
        Err(format!("sending a copy of this program: {fault}"))
    }

    /// Waits for the hello, which is the first line.
    pub(crate) fn hello(&mut self, host: &SshHost, patience: Duration) -> Result<Hello, String> {
        let line = match self.lines.recv_timeout(patience) {
            Ok((_, line)) => line,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(explain(host, self.exit_code(), &self.last_line()));
            }
            Err(RecvTimeoutError::Timeout) => {
                let (seconds, ssh) = (patience.as_secs(), host.command());
                return Err(format!("nothing was said within {seconds} s; try `{ssh} {OBSERVE}`"));
            }
        };
        let hello = Hello::parse(&line).map_err(|start| {
            format!(
                "the first words were {start}, which are no observer's: a login script of that account may print something; have it \
                 print nothing where there is no terminal"
            )
        })?;
        if hello.slob_observe == PROTOCOL { Ok(hello) } else { Err(other_version(&hello)) }
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

    /// Waits for the answer to a question, and ignores late answers to earlier ones.
    pub(crate) fn wait(&mut self, number: u64, until: Instant) -> Result<(Instant, Reply), String> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok((came, line)) => {
                    let answer = Answer::parse(&line)
                        .map_err(|start| format!("it said {start}, which is no answer"))?;
                    if answer.number == number {
                        return Ok((came, answer.body));
                    }
                    if answer.number > number {
                        return Err("it answered a question that was not asked".into());
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err("it did not answer in time".into()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.why_it_ended()),
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
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&stderr);
        printable(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default())
    }
}

/// The observer ends with its input, and ssh with it. One that hangs is killed.
impl Drop for Ssh {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.exit_code().is_none() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

fn read_lines(output: Option<impl Read + Send + 'static>) -> Receiver<(Instant, Vec<u8>)> {
    let (sender, receiver) = channel();
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
    // Without a thread the channel closes, like the output of an observer that ended.
    let _ = thread::Builder::new().name("observer's output".into()).spawn(read);
    receiver
}

fn keep_stderr(errors: Option<impl Read + Send + 'static>, kept: &Arc<Mutex<Vec<u8>>>) {
    let kept = Arc::clone(kept);
    let read = move || {
        let Some(mut errors) = errors else { return };
        let mut piece = [0; 512];
        while let Ok(read @ 1..) = errors.read(&mut piece) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&piece[..read]);
            let excess = kept.len().saturating_sub(KEPT_BYTES);
            kept.drain(..excess);
        }
    };
    let _ = thread::Builder::new().name("observer's errors".into()).spawn(read);
}

/// The reason for a missing hello, by ssh's exit code and its last line.
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

fn other_version(hello: &Hello) -> String {
    format!(
        "the slob there is release {} and speaks version {} of the observer's protocol, this one {PROTOCOL}: install this release \
         there, or let a copy be sent (--observe-copy)",
        printable(&hello.version).chars().take(40).collect::<String>(),
        hello.slob_observe
    )
}

#[derive(Debug)]
pub(crate) struct Copy {
    file: File,
    bytes: u64,
    sum: String,
}

impl Copy {
    /// The file that this process was started from, even if it was replaced since.
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

    /// The remote command that receives the copy, checks it and runs it.
    ///
    /// The file is private, and has lost its name before the first byte is written. It disappears with the last process
    /// that has it open. Only two numbers in the command depend on the program.
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
