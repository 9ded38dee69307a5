//! Option files (`my.cnf`): what clients find there for their connections.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use slob_engine::{EngineError, ErrorKind};

const PASSWORD: &str = "password";
/// The groups that are meant for every client.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// What a file says.
pub(super) struct Found {
    pub(super) options: BTreeMap<String, String>,
    /// Why the password that is in it was not taken.
    pub(super) ignored: Option<String>,
}

/// Reads a file. Files that it includes are not read. A password that others can read is not taken, as libpq does it with its
/// own file: who gives one away by accident shall notice.
///
/// # Errors
/// If it can't be read.
pub(super) fn read(path: &Path) -> Result<Found, EngineError> {
    let failed = |error: std::io::Error| {
        EngineError::new(ErrorKind::Usage, format!("reading {}", path.display()), error.to_string())
            .with_advice("defaults-file must name an option file that this account may read")
    };
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    let mut options = parse(&std::fs::read_to_string(path).map_err(failed)?);
    let visible = mode & 0o077 != 0 && options.remove(PASSWORD).is_some_and(|password| !password.is_empty());
    let ignored = visible.then(|| {
        let path = path.display();
        format!("{path} has mode {mode:04o}, so its password was not used; others may not read it: chmod 0600 {path}")
    });
    Ok(Found { options, ignored })
}

/// Names with hyphens, and their values without quotes. What is wrong in a file is other programs' business.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    let mut ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            ours = GROUPS.contains(&group.trim());
        } else if ours
            && !line.starts_with(['#', ';', '!'])
            && let Some((name, value)) = line.split_once('=')
        {
            options.insert(name.trim().replace('_', "-"), unquoted(value.trim()));
        }
    }
    options
}

/// The value between quotes, or up to a comment, with the escapes that clients know.
fn unquoted(value: &str) -> String {
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first));
    let inner = match quote {
        Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
        None => value.split(" #").next().unwrap_or_default().trim_end(),
    };
    let mut text = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => text.extend(letters.next().map(|next| match next {
                's' => ' ',
                't' => '\t',
                'n' => '\n',
                other => other,
            })),
            (letter, false) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_clients_groups_count() {
        let text = "[mysqld]\nport=1\n[client]\n# user=x\nuser = joe # her too\nssl_ca=/a/ca.pem\n[mysql]\nuser=bill\n[client-server]\nport=3307\n!includedir /etc\nskip-ssl\n";
        let options = parse(text);
        let all: Vec<_> = options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(all, [("port", "3307"), ("ssl-ca", "/a/ca.pem"), ("user", "joe")]);
    }

    #[test]
    fn a_password_that_others_can_read_is_not_taken() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[client]\nuser=joe\npassword=S3CRET\n").unwrap();
        for (mode, taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let found = read(file.path()).unwrap();
            assert_eq!(found.options.contains_key("password"), taken, "{mode:o}");
            assert_eq!(found.options["user"], "joe");
            let why = found.ignored.unwrap_or_default();
            assert!(taken == why.is_empty() && !why.contains("S3CRET"), "{why}");
            assert!(taken || why.contains("chmod 0600"), "{why}");
        }
    }

    #[test]
    fn passwords_may_be_quoted_and_escaped() {
        for (value, password) in
            [("\"a #b\"", "a #b"), ("'x=y'", "x=y"), ("a\\sb", "a b"), ("a\\\\b", "a\\b")]
        {
            assert_eq!(parse(&format!("[client]\npassword={value}"))["password"], password);
        }
    }
}
