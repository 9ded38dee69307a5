//! Where a connection parameter comes from: the target's query, then a service file, then the environment.

use std::collections::BTreeMap;

use slob_engine::{EngineError, ErrorKind};
use slob_spec::Target;

use super::environment::Environment;
use super::service;

/// The parameters that a target's query or a service file may hold, and their variables. Names as in libpq.
const KEYWORDS: &[(&str, Option<&str>)] = &[
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("dbname", Some("PGDATABASE")),
    ("host", Some("PGHOST")),
    ("options", Some("PGOPTIONS")),
    ("passfile", Some("PGPASSFILE")),
    ("password", Some("PGPASSWORD")),
    ("port", Some("PGPORT")),
    ("service", Some("PGSERVICE")),
    ("ssl", None),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("user", Some("PGUSER")),
];

/// The parameters of a target.
pub(super) struct Sources<'a> {
    target: &'a Target,
    service: BTreeMap<String, String>,
    environment: &'a Environment<'a>,
}

impl<'a> Sources<'a> {
    /// Reads the service file if a service is named, and checks the names in the query.
    ///
    /// # Errors
    /// If the query has a parameter that is not known, or the service is not found.
    pub(super) fn new(target: &'a Target, environment: &'a Environment<'a>) -> Result<Self, EngineError> {
        for (name, _) in target.query() {
            check(name)?;
        }
        let mut sources = Self { target, service: BTreeMap::new(), environment };
        if let Some(name) = sources.get("service") {
            // Parameters that mean nothing here, such as application_name, are meant for other programs.
            sources.service = service::read(&name, environment)?;
        }
        Ok(sources)
    }

    /// The value of a parameter, if any source has it.
    pub(super) fn get(&self, keyword: &str) -> Option<String> {
        let query = self.target.query_value(keyword).map(str::to_owned);
        let service = || self.service.get(keyword).cloned();
        query.or_else(service).or_else(|| self.variable(keyword)).filter(|value| !value.is_empty())
    }

    fn variable(&self, keyword: &str) -> Option<String> {
        let (_, variable) = KEYWORDS.iter().find(|(name, _)| *name == keyword)?;
        self.environment.variable((*variable)?)
    }
}

fn check(name: &str) -> Result<(), EngineError> {
    if KEYWORDS.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    let known: Vec<_> = KEYWORDS.iter().map(|(known, _)| *known).collect();
    let message = format!("'{name}' in its query is not a parameter of a connection");
    Err(EngineError::new(ErrorKind::Usage, "reading the target", message)
        .with_advice(format!("known are {}", known.join(", "))))
}
