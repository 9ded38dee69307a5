//! libpq's password file and service files.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use slob_engine::{EngineError, ErrorKind, Result};
use slob_server::Environment;
use slob_spec::Secret;

/// The file has the form of libpq's documentation, 'The Password File'. `host` is `localhost` for a unix socket in its default
/// folder. The error is a sentence about a file that others can read.
pub(super) fn password(path: &Path, wanted: [&str; 4]) -> Result<Option<Secret>, String> {
    let Ok(about) = std::fs::metadata(path) else { return Ok(None) };
    if !about.is_file() {
        return Err(format!("{} is not a plain file, so it was not used", path.display()));
    }
    if about.mode() & 0o077 != 0 {
        let (path, mode) = (path.display(), about.mode() & 0o777);
        return Err(format!(
            "{path} has mode {mode:04o}, so it was not used; others may not read it: chmod 0600 {path}"
        ));
    }
    let text = std::fs::read_to_string(path).map(Secret::new);
    Ok(text.ok().and_then(|text| search(text.expose(), wanted)))
}

fn search(text: &str, wanted: [&str; 4]) -> Option<Secret> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        // libpq ignores text after a further colon.
        let [host, port, database, user, password, ..] = fields(line)[..] else { return None };
        let mut fields = [host, port, database, user].into_iter().zip(wanted);
        // A `*` with a backslash matches only itself.
        let fits = fields.all(|(field, wanted)| field == "*" || unescaped(field) == wanted);
        fits.then(|| Secret::new(unescaped(password)))
    })
}

fn fields(line: &str) -> Vec<&str> {
    let mut is_escaped = false;
    let is_end = |letter| {
        let is_end = letter == ':' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    };
    line.split(is_end).collect()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

/// Debian has the first one.
const SYSTEM_FOLDERS: [&str; 2] = ["/etc/postgresql-common", "/etc"];

/// The user's file wins over the system's (libpq, 'The Connection Service File').
pub(super) fn service(name: &str, environment: &Environment<'_>) -> Result<BTreeMap<String, String>> {
    let step = format!("looking up the service '{name}'");
    let places = service_files(environment);
    for place in &places {
        let Ok(text) = std::fs::read_to_string(place) else { continue };
        let found = section(&text, name).map_err(|line| {
            let message = format!("line {line} of {} is not key=value", place.display());
            EngineError::new(ErrorKind::Usage, step.as_str(), message)
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    Err(EngineError::new(ErrorKind::Usage, step, format!("it is in none of {}", places.join(", ")))
        .with_advice("name the file in PGSERVICEFILE, or correct the service's name"))
}

fn service_files(environment: &Environment<'_>) -> Vec<PathBuf> {
    let own = environment.variable("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| environment.home(".pg_service.conf"));
    let system = match environment.variable("PGSYSCONFDIR") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => SYSTEM_FOLDERS.map(PathBuf::from).to_vec(),
    };
    own.into_iter().chain(system.iter().map(|folder| folder.join("pg_service.conf"))).collect()
}

fn section(text: &str, name: &str) -> Result<Option<BTreeMap<String, String>>, usize> {
    let mut found: Option<BTreeMap<String, String>> = None;
    for (number, line) in (1_usize..).zip(text.lines().map(str::trim)) {
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if found.is_some() {
                break;
            }
            found = (title == name).then(BTreeMap::new);
        } else if let Some(pairs) = found.as_mut().filter(|_| !line.is_empty() && !line.starts_with('#')) {
            let (key, value) = line.split_once('=').ok_or(number)?;
            // The first value counts, as in libpq.
            pairs.entry(key.trim().to_owned()).or_insert_with(|| value.trim().to_owned());
        }
    }
    Ok(found)
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

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text = "# servers\n[a]\nhost=h1\n\n[b]\n host = h2 \nport=1\nport=2\n# x\n[c]\nnonsense\n";
        let pairs = section(text, "b").unwrap().unwrap();
        assert_eq!(
            pairs.into_iter().collect::<Vec<_>>(),
            [("host".into(), "h2".into()), ("port".into(), "1".into())]
        );
        assert_eq!(section(text, "d"), Ok(None));
        assert_eq!(section(text, "c"), Err(11));
    }
}
