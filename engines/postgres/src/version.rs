//! The server's version, asked once when a target is opened.

use postgres::Client;
use slob_engine::{EngineError, ErrorKind};

use crate::catalog::get;
use crate::error::failed;

/// The server's version as it numbers itself: 150006 is 15.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerVersion(pub(crate) u32);

impl ServerVersion {
    const OLDEST: Self = Self::major(13);

    /// The first release of a major version.
    pub(crate) const fn major(major: u32) -> Self {
        Self(major * 10_000)
    }

    /// Whether sessions can be told to publish their statistics when they become idle.
    pub(crate) fn can_flush(self) -> bool {
        self >= Self::major(15)
    }

    /// Asks a server.
    ///
    /// # Errors
    /// If it can't be asked, or is too old.
    pub(crate) fn ask(client: &mut Client) -> Result<Self, EngineError> {
        let step = "asking for the server's version";
        let row = client
            .query_one(
                "SELECT current_setting('server_version_num')::integer, current_setting('server_version')",
                &[],
            )
            .map_err(|error| failed(step, &error))?;
        let version = Self(get::<i32>(&row, 0, step)?.unsigned_abs());
        if version < Self::OLDEST {
            let message = format!("the server is PostgreSQL {}", get::<String>(&row, 1, step)?);
            return Err(EngineError::new(ErrorKind::Usage, step, message)
                .with_advice("13 is the oldest that is supported"));
        }
        Ok(version)
    }
}
