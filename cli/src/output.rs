//! Data go to stdout, messages to stderr.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Errno;
use serde::Serialize;
pub(crate) use slob_live::{is_interactive, say};
use slob_record::{durable_write, with_hidden_shown};

use crate::failure::{Failure, Outcome};

pub(crate) fn json(what: &str, value: &impl Serialize) -> Result<String, Failure> {
    let json = serde_json::to_string_pretty(value);
    Ok(json.map_err(|error| failed!("writing {what} as JSON: {error}"))? + "\n")
}

/// Shows hidden characters. A reader that has gone, as of `| head`, and a closed terminal are no errors.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_as_it_is(&with_hidden_shown(text))
}

fn print_as_it_is(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && !is_closed_terminal(&stdout, &error) => {
            Err(usage!("writing to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

/// A closed terminal is still a character device, but no terminal to `isatty`.
fn is_closed_terminal(stdout: &io::StdoutLock<'_>, error: &io::Error) -> bool {
    let is_device = |about: Stat| FileType::from_raw_mode(about.st_mode) == FileType::CharacterDevice;
    error.raw_os_error() == Some(Errno::IO.raw_os_error()) && fstat(stdout).is_ok_and(is_device)
}

pub(crate) fn done(text: &str) -> Outcome {
    print(text)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn write_page(page: &str, path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return print_as_it_is(page);
    }
    write_output(path, page)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

pub(crate) fn write_output(path: &Path, text: &str) -> Result<(), Failure> {
    write_whole(path, text)
        .map_err(|error| usage!("writing {}: {error}; name another file with -o", path.display()))
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    write_whole(path, text).map_err(|error| usage!("writing {}: {error}", path.display()))
}

pub(crate) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    durable_write(path, 0o666, |file| file.write_all(text.as_bytes()))
}

pub(crate) fn quoted(word: &str) -> String {
    // Only a word with a NUL byte can't be quoted, and no argument has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

/// Columns of the terminal that stdout is. Pipes have no width: programs read them, and people can scroll.
pub(crate) fn width() -> Option<usize> {
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    let size = || crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    let known = io::stdout().is_terminal().then(|| named().or_else(size)).flatten();
    known.filter(|columns| *columns > 0)
}

pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(usage!("{question} There is no terminal to ask on: use --yes"));
    }
    let _ = write!(io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| usage!("reading the answer: {error}"))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_codes_are_shown_and_reach_no_terminal_or_pipe() {
        assert_eq!(with_hidden_shown("db file\tsequential read\n"), "db file\tsequential read\n");
        let title = with_hidden_shown("\u{1b}]52;c;cm0gLXJm\u{7}read \u{9b}8m\r\u{202e}\u{e0041}");
        assert_eq!(title, r"\u001b]52;c;cm0gLXJm\u0007read \u009b8m\u000d\u202e\udb40\udc41");
        let json = serde_json::to_string("\u{1b}\u{9b}\u{202e}\u{e0041}").unwrap();
        let read: String = serde_json::from_str(&with_hidden_shown(&json)).unwrap();
        assert_eq!(read, "\u{1b}\u{9b}\u{202e}\u{e0041}", "JSON stays the same JSON");
    }
}
