//! Where a connection parameter comes from: the target's query, then a service file, then the environment.

use std::collections::BTreeMap;

use slob_engine::EngineError;
use slob_server::{Environment, Keywords};
use slob_spec::Target;

use super::service;

/// The parameters that a target's query or a service file may hold, and their variables. Names as in libpq.
const KEYWORDS: Keywords = Keywords(&[
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
]);

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
        KEYWORDS.check(target, str::to_owned)?;
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
        let variable = || KEYWORDS.variable(keyword, self.environment);
        query.or_else(service).or_else(variable).filter(|value| !value.is_empty())
    }
}
