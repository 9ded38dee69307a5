//! The password file (libpq, "The Password File"): lines of `host:port:database:user:password`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use slob_spec::Secret;

/// What looking into a password file gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The password of the first line that fits.
    Password(Secret),
    /// No file, or no line in it that fits.
    Nothing,
    /// A file that others can read, which is not used; the sentence says so.
    Ignored(String),
}

/// Looks for a password. `host` is `localhost` for a unix socket in its default folder.
pub(super) fn look_up(path: &Path, host: &str, port: u16, database: &str, user: &str) -> Found {
    let Ok(about) = std::fs::metadata(path) else { return Found::Nothing };
    if !about.is_file() {
        return Found::Ignored(format!("{} is not a plain file, so it was not used", path.display()));
    }
    if about.mode() & 0o077 != 0 {
        let (path, mode) = (path.display(), about.mode() & 0o777);
        return Found::Ignored(format!(
            "{path} has mode {mode:04o}, so it was not used; others may not read it: chmod 0600 {path}"
        ));
    }
    let text = std::fs::read_to_string(path).map(Secret::new);
    let wanted = [host, &port.to_string(), database, user];
    match text.ok().and_then(|text| search(text.expose(), wanted)) {
        Some(password) => Found::Password(password),
        None => Found::Nothing,
    }
}

fn search(text: &str, wanted: [&str; 4]) -> Option<Secret> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (fields, password) = split(line)?;
        let fits = fields.iter().zip(wanted).all(|(field, wanted)| field.raw == "*" || field.text == wanted);
        fits.then_some(password)
    })
}

struct Field<'a> {
    /// As written: only a `*` without a backslash stands for anything.
    raw: &'a str,
    text: String,
}

/// The four fields before the password, and the password.
fn split(line: &str) -> Option<([Field<'_>; 4], Secret)> {
    let mut rest = line;
    let mut next = || {
        let end = field_end(rest)?;
        let raw = &rest[..end];
        rest = &rest[end + 1..];
        Some(Field { raw, text: unescape(raw) })
    };
    let fields = [next()?, next()?, next()?, next()?];
    // What follows a further colon is no part of the password, as in libpq.
    let end = field_end(rest).unwrap_or(rest.len());
    Some((fields, Secret::new(unescape(&rest[..end]))))
}

/// Where the next colon without a backslash is.
fn field_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let found = byte == b':' && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search_plain(text: &str, wanted: [&str; 4]) -> Option<String> {
        search(text, wanted).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# host:5432:db:u:comment\nhost:5433:db:u:other\nhost:*:db:u:first\n*:*:*:*:any\n";
        assert_eq!(search_plain(text, ["host", "5432", "db", "u"]).as_deref(), Some("first"));
        assert_eq!(search_plain(text, ["h2", "5432", "db", "u"]).as_deref(), Some("any"));
        assert_eq!(search_plain("host:1:db:u:p", ["host", "2", "db", "u"]), None);
        assert_eq!(search_plain("nonsense", ["host", "2", "db", "u"]), None);
    }

    #[test]
    fn backslashes_protect_colons_stars_and_themselves() {
        let text = r"\*:1:d:u:star
::1:1:d:u:wrong
\:\:1:1:d\\b:u:a\:b\\c:rest";
        assert_eq!(search_plain(text, ["::1", "1", r"d\b", "u"]).as_deref(), Some(r"a:b\c"));
        assert_eq!(search_plain(text, ["host", "1", "d", "u"]), None);
        assert_eq!(search_plain(text, ["*", "1", "d", "u"]).as_deref(), Some("star"));
    }
}
