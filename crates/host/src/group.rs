//! Programs that this one starts, in process groups that do not outlive their use.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

const POLL_EVERY: Duration = Duration::from_millis(20);
/// SIGKILL follows SIGTERM after this time.
const GRACE: Duration = Duration::from_secs(1);
/// A hanging start must not hold up the exit.
const LIST_PATIENCE: Duration = Duration::from_millis(100);

/// Their first process was not reaped, so the kernel gives the number to no other.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The drop ends a running program with all that it has started.
#[derive(Debug)]
pub struct ProgramGroup {
    child: Child,
    /// `None` once the program was reaped.
    group: Option<Pid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Ended(ExitStatus),
    Late,
    Stopped,
}

impl ProgramGroup {
    /// No signal of the terminal reaches it.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut running = running();
        let child = command.process_group(0).spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        running.extend(group);
        Ok(Self { child, group })
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// A set `stop` leaves `after_stop` at most. Fails if the program asks at the terminal.
    pub fn wait(&mut self, most: Duration, after_stop: Duration, stop: &AtomicBool) -> io::Result<Waited> {
        let begun = Instant::now();
        let mut stopped: Option<Instant> = None;
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(Waited::Ended(status));
            }
            if self.group.is_some_and(asks_at_terminal) {
                return Err(io::Error::other(
                    "it was stopped because it asked at the terminal, which it can't do here",
                ));
            }
            if stop.load(Ordering::Relaxed)
                && stopped.get_or_insert_with(Instant::now).elapsed() >= after_stop
            {
                return Ok(Waited::Stopped);
            }
            if begun.elapsed() >= most {
                return Ok(Waited::Late);
            }
            thread::sleep(POLL_EVERY);
        }
    }

    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut running = running();
        let status = self.child.try_wait()?;
        if status.is_some() {
            let group = self.group.take();
            running.retain(|other| Some(*other) != group);
        }
        Ok(status)
    }
}

impl Drop for ProgramGroup {
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        // A process that has ended can't be signalled.
        let _ = kill_process_group(group, Signal::TERM);
        // One that is stopped could not end.
        let _ = kill_process_group(group, Signal::CONT);
        let until = Instant::now() + GRACE;
        while is_running(group) && Instant::now() < until {
            thread::sleep(POLL_EVERY);
        }
        // Programs that it started may go on without it.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
        running().retain(|other| *other != group);
    }
}

/// It is not reaped.
fn is_running(process: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(process), options), Ok(None))
}

/// The kernel stops a group that may not use the terminal. A stop by a user does not count.
fn asks_at_terminal(process: Pid) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Ok(Some(status)) = waitid(WaitId::Pid(process), options) else { return false };
    let signal = status.stopping_signal();
    [Signal::TTIN, Signal::TTOU].into_iter().any(|asked| signal == Some(asked.as_raw()))
}

/// A hanging start keeps the list: then nothing is killed.
pub fn end_programs() {
    let until = Instant::now() + LIST_PATIENCE;
    let running = loop {
        match RUNNING.try_lock() {
            Ok(running) => break running,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => return,
            Err(TryLockError::WouldBlock) => thread::sleep(POLL_EVERY),
        }
    };
    for group in running.iter() {
        let _ = kill_process_group(*group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The child ignores the wish to end too.
    fn stubborn() -> ProgramGroup {
        ProgramGroup::start(Command::new("sh").args(["-c", "trap '' TERM; sleep 1000 & wait; sleep 1000"]))
            .unwrap()
    }

    fn group_exists(group: Pid) -> bool {
        rustix::process::test_kill_process_group(group).is_ok()
    }

    #[test]
    fn a_group_that_ignores_the_wish_to_end_is_killed() {
        let mut program = stubborn();
        let group = program.group.unwrap();
        let never = AtomicBool::new(false);
        assert_eq!(program.wait(Duration::from_millis(50), Duration::ZERO, &never).unwrap(), Waited::Late);
        assert!(running().contains(&group) && group_exists(group));
        drop(program);
        assert!(!running().contains(&group));
        // The kernel reaps what has no parent in its own time.
        while group_exists(group) {
            thread::sleep(POLL_EVERY);
        }
    }

    #[test]
    fn a_program_that_asks_at_the_terminal_ends_the_wait() {
        let never = AtomicBool::new(false);
        let hour = Duration::from_secs(3600);
        for signal in ["TTIN", "TTOU"] {
            let script = format!("sleep 1000 & kill -{signal} $$; wait");
            let mut program = ProgramGroup::start(Command::new("sh").args(["-c", &script])).unwrap();
            let group = program.group.unwrap();
            let error = program.wait(hour, hour, &never).unwrap_err();
            assert!(error.to_string().contains("asked at the terminal"), "{error}");
            drop(program);
            assert!(!running().contains(&group));
            while group_exists(group) {
                thread::sleep(POLL_EVERY);
            }
        }
    }

    #[test]
    fn a_program_that_a_user_stopped_is_waited_for() {
        let mut program =
            ProgramGroup::start(Command::new("sh").args(["-c", "kill -STOP $$; exit 3"])).unwrap();
        let group = program.group.unwrap();
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(group), stopped).unwrap();
        let never = AtomicBool::new(false);
        assert_eq!(program.wait(Duration::ZERO, Duration::ZERO, &never).unwrap(), Waited::Late);
        kill_process_group(group, Signal::CONT).unwrap();
        let ended = program.wait(Duration::from_secs(1000), Duration::ZERO, &never).unwrap();
        assert!(matches!(ended, Waited::Ended(status) if status.code() == Some(3)), "{ended:?}");
    }

    #[test]
    fn a_stop_ends_the_wait_after_its_grace() {
        let mut program = stubborn();
        let stop = AtomicBool::new(true);
        let waited = program.wait(Duration::from_secs(1000), Duration::from_millis(100), &stop).unwrap();
        assert_eq!(waited, Waited::Stopped);
        let mut quick = ProgramGroup::start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        let ended = quick.wait(Duration::from_secs(1000), Duration::from_secs(1000), &stop).unwrap();
        assert!(matches!(ended, Waited::Ended(status) if status.code() == Some(3)), "{ended:?}");
    }
}
