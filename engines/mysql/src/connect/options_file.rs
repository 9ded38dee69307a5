//! Option files (`my.cnf`): what clients find there for their connections.

use std::collections::BTreeMap;
use std::path::Path;

use slob_engine::{EngineError, ErrorKind};

/// The groups that are meant for every client.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// Reads a file. Files that it includes are not read.
///
/// # Errors
/// If it can't be read.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, String>, EngineError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        EngineError::new(ErrorKind::Usage, format!("reading {}", path.display()), error.to_string())
            .with_advice("defaults-file must name an option file that this account may read")
    })?;
    Ok(parse(&text))
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
    fn passwords_may_be_quoted_and_escaped() {
        for (value, password) in
            [("\"a #b\"", "a #b"), ("'x=y'", "x=y"), ("a\\sb", "a b"), ("a\\\\b", "a\\b")]
        {
            assert_eq!(parse(&format!("[client]\npassword={value}"))["password"], password);
        }
    }
}
