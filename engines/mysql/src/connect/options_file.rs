//! Option files (`my.cnf`) of clients.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use slob_engine::{EngineError, ErrorKind, Result};
use slob_server::Environment;
use slob_spec::Target;

const PASSWORD: &str = "password";
/// Clients limit included files too.
const DEEPEST: usize = 10;
/// Later files win, the one in the home folder last.
const FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];
const GROUP_SUFFIX: &str = "MYSQL_GROUP_SUFFIX";

#[derive(Default)]
pub(super) struct Options {
    pub(super) options: BTreeMap<String, String>,
    pub(super) ignored: Option<String>,
}

impl Options {
    fn add(&mut self, later: Self) {
        self.options.extend(later.options);
        self.ignored = later.ignored.or(self.ignored.take());
    }
}

/// The file that the target names replaces the others, and must be readable.
pub(super) fn of_client(target: &Target, environment: &Environment<'_>) -> Result<Options> {
    let suffix = environment.variable(GROUP_SUFFIX);
    let with_suffix = suffix.iter().flat_map(|suffix| GROUPS.map(|group| format!("{group}{suffix}")));
    let groups: Vec<String> = GROUPS.map(str::to_owned).into_iter().chain(with_suffix).collect();
    if let Some(named) = target.query_value("defaults-file") {
        return read(Path::new(named), &groups, 0);
    }
    let mut options = Options::default();
    let usual = FILES.into_iter().map(PathBuf::from).chain(environment.home(".my.cnf"));
    let read = usual.filter(|path| path.is_file()).filter_map(|path| read(&path, &groups, 0).ok());
    read.for_each(|later| options.add(later));
    Ok(options)
}

/// Included files may be missing. A password that others can read is ignored, as in libpq.
fn read(path: &Path, groups: &[String], depth: usize) -> Result<Options> {
    let failed = |error: std::io::Error| {
        EngineError::new(ErrorKind::Usage, format!("reading {}", path.display()), error.to_string())
            .with_advice("defaults-file must name an option file that this account may read")
    };
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    let mut found = Options::default();
    for line in parse(&std::fs::read_to_string(path).map_err(failed)?, groups) {
        match line {
            Line::Option(name, value) if name == PASSWORD && mode & 0o077 != 0 && !value.is_empty() => {
                let path = path.display();
                found.ignored = Some(format!(
                    "{path} has mode {mode:04o}, so its password was not used; others may not read it: chmod 0600 {path}"
                ));
            }
            Line::Option(name, value) => drop(found.options.insert(name, value)),
            Line::Include(..) if depth == DEEPEST => {}
            Line::Include(paths) => {
                let read = paths.iter().filter_map(|path| read(path, groups, depth + 1).ok());
                read.for_each(|included| found.add(included));
            }
        }
    }
    Ok(found)
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// Names have hyphens, values no quotes.
    Option(String, String),
    Include(Vec<PathBuf>),
}

/// Skips lines that make no sense.
fn parse(text: &str, groups: &[String]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            ours = groups.iter().any(|name| name == group.trim());
        } else if let Some(folder) = line.strip_prefix("!includedir ") {
            lines.push(Line::Include(files_of(Path::new(folder.trim()))));
        } else if let Some(path) = line.strip_prefix("!include ") {
            lines.push(Line::Include(vec![PathBuf::from(path.trim())]));
        } else if ours
            && !line.starts_with(['#', ';', '!'])
            && let Some((name, value)) = line.split_once('=')
        {
            let name = name.trim().replace('_', "-");
            let name = name.strip_prefix("loose-").unwrap_or(&name).to_owned();
            lines.push(Line::Option(name, unquoted(value.trim())));
        }
    }
    lines
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "cnf")).collect();
    files.sort();
    files
}

/// Knows the clients' escapes.
fn unquoted(value: &str) -> String {
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first));
    let inner = match quote {
        Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
        None => value.split(" #").next().unwrap_or_default().trim_end(),
    };
    let mut text = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        let escaped = |next| match next {
            's' => ' ',
            't' => '\t',
            'n' => '\n',
            other => other,
        };
        text.extend(if letter == '\\' { letters.next().map(escaped) } else { Some(letter) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<String> {
        ["client", "client-server"].map(str::to_owned).into()
    }

    fn options(text: &str) -> Vec<(String, String)> {
        let option = |line| match line {
            Line::Option(name, value) => Some((name, value)),
            Line::Include(_) => None,
        };
        parse(text, &groups()).into_iter().filter_map(option).collect()
    }

    fn private(path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn only_the_clients_groups_count() {
        let text = "[mysqld]\nport=1\n[client]\n# user=x\nuser = joe # her too\nssl_ca=/a/ca.pem\n[mysql]\nuser=bill\n[client-server]\nloose-port=3307\n!includedir /nowhere\nskip-ssl\n";
        let expected = [("user", "joe"), ("ssl-ca", "/a/ca.pem"), ("port", "3307")];
        assert_eq!(options(text), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// Debian's /etc/mysql/my.cnf says nothing itself, and includes folders.
    #[test]
    fn included_files_count_at_their_place_and_folders_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        private(&at("20.cnf"), "[client]\nport=2\nuser=late\n");
        private(&at("10.cnf"), "[client]\nport=1\nuser=early\npassword=word\n");
        private(&at("30.txt"), "[client]\nport=3\n");
        let main = format!(
            "!includedir {}\n[mysqld]\n!include {}\n[client]\nuser=own\n!include /nowhere\n",
            folder.path().display(),
            at("30.txt").display()
        );
        private(&at("main"), &main);
        let found = read(&at("main"), &groups(), 0).unwrap();
        let all: Vec<_> = found.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(all, [("password", "word"), ("port", "3"), ("user", "own")]);
        private(&at("loop"), &format!("!include {}\n[client]\nport=7\n", at("loop").display()));
        assert_eq!(read(&at("loop"), &groups(), 0).unwrap().options["port"], "7", "it ends");
    }

    #[test]
    fn a_password_that_others_can_read_is_not_taken() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[client]\nuser=joe\npassword=S3CRET\n").unwrap();
        for (mode, taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let found = read(file.path(), &groups(), 0).unwrap();
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
            let [(_, read)] = &options(&format!("[client]\npassword={value}"))[..] else {
                panic!("one option")
            };
            assert_eq!(read, password);
        }
    }
}
