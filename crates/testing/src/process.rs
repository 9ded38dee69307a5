//! A running server process.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// A server process, with a thread that waits for its end.
///
/// The thread is also its parent for the death signal: that is tied to the thread that started a process, and the
/// thread of a test may end before a server that several tests share.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    ended: Receiver<()>,
}

impl Process {
    /// Starts it, its messages going to `log`.
    ///
    /// # Errors
    /// If it can't be started.
    pub(crate) fn spawn(mut command: Command, log: Option<File>) -> Result<Self, String> {
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
        Ok(Self { pid, ended })
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it ends within `limit`.
    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        // Also true when the end was reported before: the thread is gone then.
        !matches!(self.ended.recv_timeout(limit), Err(mpsc::RecvTimeoutError::Timeout))
    }

    /// Sends `signal` and waits for the end; after a minute it is killed.
    pub(crate) fn end(self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
        if !self.ends_within(Duration::from_secs(60)) {
            let _ = kill_process(self.pid, Signal::KILL);
            self.ends_within(Duration::from_secs(10));
        }
    }
}
