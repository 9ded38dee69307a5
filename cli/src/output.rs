//! Data on stdout, talk on stderr.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use crate::failure::Failure;
use crate::live;

/// Prints data. A reader that has seen enough (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("writing to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a page to a file, which is said, or to stdout for `-`.
pub(crate) fn write_page(page: &str, path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return print(page);
    }
    fs::write(path, page).map_err(|error| {
        Failure::usage(format!("writing {}: {error}; name another file with -o", path.display()))
    })?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// `1 schema`, `2 schemas`.
pub(crate) fn plural(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Says a line to the user, when the dashboard is gone if there is one. If nobody listens, there is nobody to tell.
pub(crate) fn say(line: &str) {
    if live::hold_back(line) {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether talk goes to a terminal that can rewrite its lines.
pub(crate) fn is_interactive() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Asks a question that only `y` or `yes` answers with yes.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!("{question} There is no terminal to ask on: say --yes")));
    }
    let _ = write!(io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::usage(format!("reading the answer: {error}")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
