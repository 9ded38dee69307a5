//! Who connects, to which database, with which password.

use std::path::PathBuf;

use slob_engine::EngineError;
use slob_server::{Environment, user};
use slob_spec::{Secret, Target};

use super::endpoint::Endpoint;
use super::passfile::{self, Found};
use super::sources::Sources;

/// A user and a database.
pub(super) struct Login {
    pub(super) user: String,
    pub(super) database: String,
    password: Option<Secret>,
    passfile: Option<PathBuf>,
}

impl Login {
    /// The user defaults to the account's name, the database to the user's, as in libpq.
    ///
    /// # Errors
    /// If there is no user.
    pub(super) fn new(
        target: &Target,
        sources: &Sources<'_>,
        environment: &Environment<'_>,
    ) -> Result<Self, EngineError> {
        let user = user(target, || sources.get("user"), environment, "postgres://USER@host/database")?;
        let database = target.database().map(str::to_owned).or_else(|| sources.get("dbname"));
        let database = database.unwrap_or_else(|| user.clone());
        let password = target.password().cloned().or_else(|| sources.get("password").map(Secret::new));
        let passfile = sources.get("passfile").map(PathBuf::from).or_else(|| environment.home(".pgpass"));
        Ok(Self { user, database, password, passfile })
    }

    /// The password for an endpoint, and what people should know if it is refused or missing.
    pub(super) fn password(&self, endpoint: &Endpoint) -> (Option<Secret>, Option<String>) {
        let file = match (&self.password, &self.passfile) {
            (Some(password), _) => return (Some(password.clone()), None),
            (None, Some(file)) => file,
            (None, None) => return (None, None),
        };
        let host = endpoint.passfile_host();
        match passfile::look_up(file, &host, endpoint.port, &self.database, &self.user) {
            Found::Password(password) => {
                (Some(password), Some(format!("the one that was used is from {}", file.display())))
            }
            Found::Nothing => (None, None),
            Found::Ignored(why) => (None, Some(why)),
        }
    }
}
