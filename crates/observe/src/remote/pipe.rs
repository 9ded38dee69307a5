//! The pipe to an observer, and what comes through it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::message::{Answer, Ask, LONGEST_LINE, Question, Told};

/// An ssh that was told to end does so within that time.
const END_PATIENCE: Duration = Duration::from_millis(500);
/// So much of what is said on stderr is kept.
const KEPT_BYTES: usize = 4096;

/// A running ssh, with an observer at its other end if all is well.
#[derive(Debug)]
pub(super) struct Pipe {
    ssh: Child,
    input: Option<ChildStdin>,
    lines: Receiver<(Instant, Vec<u8>)>,
    said: Arc<Mutex<Vec<u8>>>,
    asked: u64,
}

impl Pipe {
    /// Of an ssh whose three streams are pipes.
    pub(super) fn to(mut ssh: Child) -> Self {
        let (input, output, errors) = (ssh.stdin.take(), ssh.stdout.take(), ssh.stderr.take());
        let said = Arc::default();
        keep_said(errors, &said);
        Self { ssh, input, lines: read_lines(output), said, asked: 0 }
    }

    /// Where what is written goes to the other end.
    pub(super) fn input(&mut self) -> Option<&mut ChildStdin> {
        self.input.as_mut()
    }

    /// The first line; `None` if there is none until the end, and the other error if it does not come in time.
    pub(super) fn first_line(&self, patience: Duration) -> Result<Option<Vec<u8>>, RecvTimeoutError> {
        match self.lines.recv_timeout(patience) {
            Ok((_, line)) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(timeout) => Err(timeout),
        }
    }

    /// Asks; returns the number of the question.
    ///
    /// # Errors
    /// If nobody reads it.
    pub(super) fn send(&mut self, ask: Ask) -> Result<u64, String> {
        self.asked += 1;
        let mut line =
            serde_json::to_vec(&Question { number: self.asked, ask }).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let sent = self.input.as_mut().map(|input| input.write_all(&line));
        match sent {
            Some(Ok(())) => Ok(self.asked),
            _ => Err(self.why_it_ended()),
        }
    }

    /// Waits for the answer to a question; those to earlier ones, which were not waited for, are passed over.
    ///
    /// # Errors
    /// If it does not come in time, or is none.
    pub(super) fn wait(&mut self, number: u64, until: Instant) -> Result<(Instant, Told), String> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok((came, line)) => {
                    let answer = Answer::parse(&line)
                        .map_err(|garbled| format!("it said {garbled}, which is no answer"))?;
                    if answer.number == number {
                        return Ok((came, answer.told));
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
        let said = self.last_said();
        let said = if said.is_empty() { said } else { format!(" ({said})") };
        format!("the connection or the observer ended{code}{said}")
    }

    /// Of an ssh that ends by itself just now.
    pub(super) fn exit_code(&mut self) -> Option<i32> {
        let until = Instant::now() + END_PATIENCE;
        loop {
            match self.ssh.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    /// The last line on stderr that says something, as far as it can be printed.
    pub(super) fn last_said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        last.chars().filter(|char| !char.is_control()).collect()
    }
}

/// The observer ends with its input, and ssh with it; one that hangs is killed.
impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.exit_code().is_none() {
            let _ = self.ssh.kill();
        }
        let _ = self.ssh.wait();
    }
}

/// Each line with the moment at which it came.
fn read_lines(output: Option<ChildStdout>) -> Receiver<(Instant, Vec<u8>)> {
    let (sender, receiver) = channel();
    let read = move || {
        let Some(output) = output else { return };
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = output.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line);
            // What does not end is no line.
            if !read.is_ok_and(|read| read > 0)
                || !line.ends_with(b"\n")
                || sender.send((Instant::now(), line)).is_err()
            {
                return;
            }
        }
    };
    // Without a thread there are no lines, and that is what will be said.
    let _ = thread::Builder::new().name("observer's words".into()).spawn(read);
    receiver
}

/// Keeps the end of what is said on stderr.
fn keep_said(errors: Option<ChildStderr>, said: &Arc<Mutex<Vec<u8>>>) {
    let said = Arc::clone(said);
    let read = move || {
        let Some(mut errors) = errors else { return };
        let mut piece = [0; 512];
        while let Ok(read @ 1..) = errors.read(&mut piece) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend_from_slice(&piece[..read]);
            let too_much = said.len().saturating_sub(KEPT_BYTES);
            said.drain(..too_much);
        }
    };
    let _ = thread::Builder::new().name("observer's errors".into()).spawn(read);
}
