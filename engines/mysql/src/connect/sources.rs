//! Where a connection parameter comes from: the target's query, then option files, then the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use slob_engine::EngineError;
use slob_server::{Environment, Keywords};
use slob_spec::Target;

use super::options_file::{self, Found};

/// The parameters that a target's query or an option file may hold, and their variables. Names as in the clients of the
/// servers.
const KEYWORDS: Keywords = Keywords(&[
    ("connect-timeout", None),
    ("defaults-file", None),
    ("host", Some("MYSQL_HOST")),
    ("password", Some("MYSQL_PWD")),
    ("port", Some("MYSQL_TCP_PORT")),
    ("socket", Some("MYSQL_UNIX_PORT")),
    ("ssl-ca", None),
    ("ssl-cert", None),
    ("ssl-key", None),
    ("ssl-mode", None),
    ("user", None),
]);
/// Read in this order, the later ones winning, as the clients do; then the one in the home folder.
const FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];

/// The parameters of a target.
pub(super) struct Sources<'a> {
    target: &'a Target,
    files: BTreeMap<String, String>,
    /// Why a password of a file was not taken.
    ignored: Option<String>,
    environment: &'a Environment<'a>,
}

impl<'a> Sources<'a> {
    /// Reads the option files, or the one that is named instead of them, and checks the names in the query.
    ///
    /// # Errors
    /// If the query has a parameter that is not known, or a named file can't be read.
    pub(super) fn new(target: &'a Target, environment: &'a Environment<'a>) -> Result<Self, EngineError> {
        KEYWORDS.check(target, spelt)?;
        let (mut files, mut ignored) = (BTreeMap::new(), None);
        let mut take = |found: Found| {
            files.extend(found.options);
            ignored = found.ignored.or(ignored.take());
        };
        if let Some(named) = target.query_value("defaults-file") {
            take(options_file::read(&PathBuf::from(named))?);
        } else {
            let usual = FILES.into_iter().map(PathBuf::from).chain(environment.home(".my.cnf"));
            for path in usual.filter(|path| path.is_file()) {
                // One that this account may not read is not meant for it.
                let _ = options_file::read(&path).map(&mut take);
            }
        }
        Ok(Self { target, files, ignored, environment })
    }

    /// Why a password that is in an option file was not taken.
    pub(super) fn ignored(&self) -> Option<&str> {
        self.ignored.as_deref()
    }

    /// The value of a parameter, if any source has it.
    pub(super) fn get(&self, keyword: &str) -> Option<String> {
        let query = self.query(keyword).map(str::to_owned);
        let file = || self.files.get(keyword).cloned();
        let variable = || KEYWORDS.variable(keyword, self.environment);
        query.or_else(file).or_else(variable).filter(|value| !value.is_empty())
    }

    /// The value in the target's query.
    pub(super) fn query(&self, keyword: &str) -> Option<&str> {
        let query = self.target.query().iter().rev();
        query.into_iter().find(|(name, _)| spelt(name) == keyword).map(|(_, value)| value.as_str())
    }
}

/// Underscores are as good as hyphens, as in option files.
fn spelt(name: &str) -> String {
    name.replace('_', "-")
}
