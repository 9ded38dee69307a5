//! An observer at the other end that has said hello.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use slob_spec::SshHost;

use super::copy::Copy;
use super::pipe::Pipe;
use super::ssh;
use crate::message::{Ask, Hello, PROTOCOL, Told};

/// From the start of ssh to the hello: connecting and logging in.
const HELLO_PATIENCE: Duration = Duration::from_secs(30);
/// A copy of this program goes first, over a line of whatever speed.
const COPY_PATIENCE: Duration = Duration::from_secs(600);

/// A running observer.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) pipe: Pipe,
    pub(super) hello: Hello,
}

impl Link {
    /// Starts ssh, and the observer at its other end, and waits for the hello.
    ///
    /// # Errors
    /// With what is wrong and what to do, to follow a colon.
    pub(super) fn open(client: &Path, host: &SshHost, with_copy: bool) -> Result<Self, String> {
        let copy = with_copy.then(Copy::of_this_program).transpose()?;
        let command = copy.as_ref().map_or_else(|| ssh::OBSERVE.to_owned(), Copy::command);
        let mut pipe = Pipe::to(ssh::start(client, host, &command)?);
        if let Some(copy) = copy {
            send(copy, &mut pipe)?;
        }
        let patience = if with_copy { COPY_PATIENCE } else { HELLO_PATIENCE };
        let hello = hello(&mut pipe, host, patience)?;
        Ok(Self { pipe, hello })
    }

    /// Asks, and waits that long for the answer.
    ///
    /// # Errors
    /// With what is wrong.
    pub(super) fn ask(&mut self, ask: Ask, patience: Duration) -> Result<Told, String> {
        let number = self.pipe.send(ask)?;
        Ok(self.pipe.wait(number, Instant::now() + patience)?.1)
    }
}

fn hello(pipe: &mut Pipe, host: &SshHost, patience: Duration) -> Result<Hello, String> {
    let line = pipe.first_line(patience).map_err(|_| {
        format!("nothing was said within {} s; try `{} {}`", patience.as_secs(), host.command(), ssh::OBSERVE)
    })?;
    let Some(line) = line else { return Err(ssh::explain(host, pipe.exit_code(), &pipe.last_said())) };
    let hello = Hello::parse(&line).map_err(|garbled| {
        format!(
            "the first words were {garbled}, which are no observer's: a login script of that account may print something; have it \
             print nothing where there is no terminal"
        )
    })?;
    if hello.slob_observe == PROTOCOL { Ok(hello) } else { Err(ssh::other_version(&hello)) }
}

fn send(mut copy: Copy, pipe: &mut Pipe) -> Result<(), String> {
    let input = pipe.input().ok_or("ssh takes no input")?;
    match copy.send(input) {
        // Why nobody read it is told where the hello does not come.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("sending a copy of this program: {error}"))
        }
        _ => Ok(()),
    }
}
