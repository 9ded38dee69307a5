//! The user's own commands, with a time after which they are ended.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::command::CommandLine;

/// How often a command is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Once in the campaign, before the variant's first run.
    Prepare,
    /// At each switch to the variant.
    Bounce,
    /// Before each run.
    BeforeRun,
    /// After each run.
    AfterRun,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Prepare, Self::Bounce, Self::BeforeRun, Self::AfterRun];
}

impl fmt::Display for Moment {
    /// Its key in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prepare => "prepare",
            Self::Bounce => "bounce",
            Self::BeforeRun => "before_run",
            Self::AfterRun => "after_run",
        })
    }
}

/// A command of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The command.
    pub command: CommandLine,
    /// It is ended after that long.
    pub timeout: Duration,
}

/// Why a hook failed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// It could not be started or waited for.
    #[error("can't be run: {0}")]
    Start(std::io::Error),
    /// It did not exit with 0.
    #[error("ended with {0}; it must exit with 0")]
    Status(ExitStatus),
    /// It took too long.
    #[error("did not end within {} s and was ended; allow it more with `timeout`", .0.as_secs_f64())]
    Timeout(Duration),
    /// The user stopped the campaign.
    #[error("was ended, because the campaign was stopped")]
    Stopped,
}

impl Hook {
    /// Runs the command and waits for it. What it prints goes to stderr: stdout is for data.
    ///
    /// # Errors
    /// If it can't be started, exits with anything but 0, takes too long, or `stop` is set meanwhile.
    pub fn call(&self, environment: &[(&str, String)], stop: &AtomicBool) -> Result<(), HookError> {
        let mut child = self
            .command
            .command()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            // A group of its own, so that what the shell started can be ended with it.
            .process_group(0)
            .spawn()
            .map_err(HookError::Start)?;
        let begun = Instant::now();
        loop {
            match child.try_wait().map_err(HookError::Start)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(HookError::Status(status)),
                None if begun.elapsed() >= self.timeout => {
                    end(&mut child);
                    return Err(HookError::Timeout(self.timeout));
                }
                None if stop.load(Ordering::Relaxed) => {
                    end(&mut child);
                    return Err(HookError::Stopped);
                }
                None => thread::sleep(LOOK_EVERY),
            }
        }
    }
}

/// Ends a command and all that it started and that stayed in its group.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may just have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(command: &str, timeout_ms: u64) -> Result<(), HookError> {
        let hook =
            Hook { command: CommandLine::Shell(command.into()), timeout: Duration::from_millis(timeout_ms) };
        hook.call(&[("CAMPAIGN_VARIANT", "raw".into())], &AtomicBool::new(false))
    }

    #[test]
    fn its_exit_status_counts_and_it_knows_its_variant() {
        call("[ \"$CAMPAIGN_VARIANT\" = raw ]", 60_000).unwrap();
        assert!(matches!(call("exit 3", 60_000), Err(HookError::Status(status)) if status.code() == Some(3)));
    }

    #[test]
    fn a_program_gets_its_arguments_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a $(touch b); 'c'").display().to_string();
        let command = CommandLine::program(&["touch".into(), odd.clone()]).unwrap();
        assert_eq!(command.to_string(), format!("touch {odd:?}"));
        let hook = Hook { command, timeout: Duration::from_secs(60) };
        hook.call(&[], &AtomicBool::new(false)).unwrap();
        let names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, [std::path::PathBuf::from(odd)]);
        let none = CommandLine::program(&["no-such-program-anywhere".into()]).unwrap();
        let hook = Hook { command: none, timeout: Duration::from_secs(60) };
        assert!(matches!(hook.call(&[], &AtomicBool::new(false)), Err(HookError::Start(_))));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("late");
        let command = format!("(sleep 2; touch {0}) & sleep 60", file.display());
        assert!(matches!(call(&command, 100), Err(HookError::Timeout(_))));
        thread::sleep(Duration::from_millis(2500));
        assert!(!file.exists());
    }

    #[test]
    fn a_stop_ends_it() {
        let hook = Hook { command: CommandLine::Shell("sleep 60".into()), timeout: Duration::from_secs(60) };
        assert!(matches!(hook.call(&[], &AtomicBool::new(true)), Err(HookError::Stopped)));
    }
}
