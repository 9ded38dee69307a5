//! Service files: named sets of connection parameters (libpq, "The Connection Service File").

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use slob_engine::{EngineError, ErrorKind};
use slob_server::Environment;

/// Where Debian and others keep the system's file.
const SYSTEM_FOLDERS: [&str; 2] = ["/etc/postgresql-common", "/etc"];

/// The parameters of a service: from the user's file, else from the system's.
///
/// # Errors
/// If no file has it, or the file that has it is misspelt.
pub(super) fn read(
    name: &str,
    environment: &Environment<'_>,
) -> Result<BTreeMap<String, String>, EngineError> {
    let step = format!("looking up the service '{name}'");
    let places = places(environment);
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

fn places(environment: &Environment<'_>) -> Vec<PathBuf> {
    let own = environment.variable("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| environment.home(".pg_service.conf"));
    let system = match environment.variable("PGSYSCONFDIR") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => SYSTEM_FOLDERS.map(PathBuf::from).to_vec(),
    };
    own.into_iter()
        .chain(system.iter().map(|folder: &PathBuf| Path::join(folder, "pg_service.conf")))
        .collect()
}

/// The pairs of a `[name]` section; `Err` is the number of a line that can't be read.
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
            // The first one counts, as in libpq.
            pairs.entry(key.trim().to_owned()).or_insert_with(|| value.trim().to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

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
