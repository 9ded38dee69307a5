//! The user's own commands around runs, each with a timeout.

use std::fmt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slob_host::{ProgramGroup, Waited};
use strum::{Display, IntoStaticStr, VariantArray};

/// Its text is the key of the hook in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Moment {
    Prepare,
    Bounce,
    BeforeRun,
    AfterRun,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub command: CommandLine,
    pub timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("can't be run: {0}")]
    Start(std::io::Error),
    #[error("ended with {0}; it must exit with 0")]
    Status(ExitStatus),
    #[error("did not end within {} s and was ended; allow it more with `timeout`", .0.as_secs_f64())]
    Timeout(Duration),
    #[error("was ended, because the campaign was stopped")]
    Stopped,
}

impl Hook {
    /// Output goes to stderr: stdout is for data. Fails at a start error, an exit other than 0, the timeout, or `stop`.
    pub fn call(&self, environment: &[(&str, String)], stop: &AtomicBool) -> Result<(), HookError> {
        let mut command = self.command.command();
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        let mut program = ProgramGroup::start(&mut command).map_err(HookError::Start)?;
        match program.wait(self.timeout, Duration::ZERO, stop).map_err(HookError::Start)? {
            Waited::Ended(status) if status.success() => Ok(()),
            Waited::Ended(status) => Err(HookError::Status(status)),
            Waited::Late => Err(HookError::Timeout(self.timeout)),
            Waited::Stopped => Err(HookError::Stopped),
        }
    }
}

/// A line for the shell, or a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    Shell(String),
    Program(Vec<String>),
}

impl CommandLine {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Shell(name) => name.trim().is_empty(),
            Self::Program(words) => words.first().is_none_or(|name| name.trim().is_empty()),
        }
    }

    fn command(&self) -> Command {
        let words = match self {
            Self::Shell(line) => &["sh".to_owned(), "-c".to_owned(), line.clone()][..],
            Self::Program(words) => words.as_slice(),
        };
        let mut command = Command::new(words.first().map_or("", String::as_str));
        command.args(words.iter().skip(1));
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Program(words) => {
                f.write_str(words.first().map_or("", String::as_str))?;
                let plain = |word: &String| !word.is_empty() && !word.contains([' ', '"', '\\']);
                words.iter().skip(1).try_for_each(|word| match plain(word) {
                    true => write!(f, " {word}"),
                    false => write!(f, " {word:?}"),
                })
            }
        }
    }
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
    fn a_hook_must_exit_with_zero_and_knows_its_variant() {
        call("[ \"$CAMPAIGN_VARIANT\" = raw ]", 60_000).unwrap();
        assert!(matches!(call("exit 3", 60_000), Err(HookError::Status(status)) if status.code() == Some(3)));
    }

    #[test]
    fn a_program_gets_its_arguments_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a $(touch b); 'c'").display().to_string();
        let command = CommandLine::Program(vec!["touch".into(), odd.clone()]);
        assert_eq!(command.to_string(), format!("touch {odd:?}"));
        let hook = Hook { command, timeout: Duration::from_secs(60) };
        hook.call(&[], &AtomicBool::new(false)).unwrap();
        let names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, [std::path::PathBuf::from(odd)]);
        let none = CommandLine::Program(vec!["no-such-program-anywhere".into()]);
        let hook = Hook { command: none, timeout: Duration::from_secs(60) };
        assert!(matches!(hook.call(&[], &AtomicBool::new(false)), Err(HookError::Start(_))));
    }

    #[test]
    fn a_timeout_kills_the_whole_process_group() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("late");
        let command = format!("(sleep 1.5; touch {0}) & sleep 60", file.display());
        assert!(matches!(call(&command, 100), Err(HookError::Timeout(_))));
        std::thread::sleep(Duration::from_secs(2));
        assert!(!file.exists());
    }

    #[test]
    fn an_interruption_kills_the_hook() {
        let hook = Hook { command: CommandLine::Shell("sleep 60".into()), timeout: Duration::from_secs(60) };
        assert!(matches!(hook.call(&[], &AtomicBool::new(true)), Err(HookError::Stopped)));
    }
}
