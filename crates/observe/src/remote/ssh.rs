//! The system's ssh.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use slob_spec::SshHost;

use crate::message::{Hello, PROTOCOL};

/// What is run there: the same words for every host, so that no text of a target reaches a shell.
pub(super) const OBSERVE: &str = "exec slob observe";

/// Options that hold whatever the user's configuration says: nothing is asked on a terminal, nothing is forwarded, and a host that
/// does not answer is given up.
const OPTIONS: [&str; 12] = [
    "-T",
    "-a",
    "-x",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oClearAllForwardings=yes",
    "-oPermitLocalCommand=no",
    "-oEscapeChar=none",
    "-oRequestTTY=no",
    "-oLogLevel=ERROR",
];

/// Starts ssh, which runs `command` on the host.
///
/// # Errors
/// If there is no ssh.
pub(super) fn start(client: &Path, host: &SshHost, command: &str) -> Result<Child, String> {
    let mut ssh = Command::new(client);
    ssh.args(OPTIONS);
    ssh.args(host.user().map(|user| format!("-l{user}")));
    ssh.args(host.port().map(|port| format!("-p{port}")));
    ssh.arg("--").arg(host.host()).arg(command);
    ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ssh.spawn().map_err(|error| format!("starting ssh: {error}; install OpenSSH's client"))
}

/// Why there was no hello, by ssh's exit code and its last words.
pub(super) fn explain(host: &SshHost, code: Option<i32>, said: &str) -> String {
    let said_so = if said.is_empty() { "nothing was said".to_owned() } else { format!("'{said}'") };
    // A shell says 127 for a program that it does not find.
    match code {
        Some(127) => format!(
            "there is no slob in the PATH of that account ({said_so}): install it there, or let a copy be sent (--observe-copy)"
        ),
        Some(126) => format!(
            "the program can't be run there: {said_so}; for a copy, TMPDIR of that account must name a folder from which programs \
             may be run"
        ),
        _ if said.contains("GLIBC") => format!(
            "this program does not run on the system there ({said_so}): use the static binary of the release, here or there"
        ),
        Some(2) if said.contains("observe") || said.contains("slob --help") || said.contains("--help") => {
            format!(
                "the slob there knows no observer ({said_so}): install this release there, or let a copy be sent (--observe-copy)"
            )
        }
        Some(255) => format!("ssh says {said_so}; {}", remedy(host, said)),
        Some(code) => format!("it ended with exit code {code}: {said_so}"),
        None => format!("it was ended: {said_so}"),
    }
}

fn remedy(host: &SshHost, said: &str) -> String {
    let try_it = format!("`{} true` must work without a question", host.command());
    if said.contains("ermission denied") {
        return format!("log in with a key: ssh-copy-id, or an agent (ssh-add); {try_it}");
    }
    if said.contains("ost key verification failed") || said.contains("IDENTIFICATION HAS CHANGED") {
        return format!("connect once by hand and see whether the host's key is the right one; {try_it}");
    }
    if said.contains("resolve") {
        return "check the host's name, or name another one (--observe ssh:HOST)".into();
    }
    try_it
}

/// An observer that speaks otherwise.
pub(super) fn other_version(hello: &Hello) -> String {
    format!(
        "the slob there is release {} and speaks version {} of the observer's protocol, this one {PROTOCOL}: install this release \
         there, or let a copy be sent (--observe-copy)",
        hello.version.chars().filter(|char| !char.is_control()).take(40).collect::<String>(),
        hello.slob_observe
    )
}
