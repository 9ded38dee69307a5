//! What a hook calls: a line for the shell, or a program with its arguments as they are.

use std::fmt;
use std::process::Command;

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A line for `sh -c`.
    Shell(String),
    /// A program, looked for in PATH, and its arguments. No shell sees them.
    Program(String, Vec<String>),
}

impl CommandLine {
    /// The program with its arguments, if there is one.
    #[must_use]
    pub fn program(words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        Some(Self::Program(program.clone(), arguments.to_vec()))
    }

    /// Whether there is nothing to call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let (Self::Shell(name) | Self::Program(name, _)) = self;
        name.trim().is_empty()
    }

    pub(crate) fn command(&self) -> Command {
        match self {
            Self::Shell(line) => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                command
            }
            Self::Program(program, arguments) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        }
    }
}

impl fmt::Display for CommandLine {
    /// A line as it was written; a program with its arguments in quotes where a reader could take one for two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Program(program, arguments) => {
                f.write_str(program)?;
                let plain = |word: &String| !word.is_empty() && !word.contains([' ', '"', '\\']);
                arguments.iter().try_for_each(|word| match plain(word) {
                    true => write!(f, " {word}"),
                    false => write!(f, " {word:?}"),
                })
            }
        }
    }
}
