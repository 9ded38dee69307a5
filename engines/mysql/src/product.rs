//! The makers and the version of a server, asked once when a target is opened.

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, ErrorKind};

use crate::error::failed;

/// Why TiDB is refused: it takes the protocol and the tables, and has nothing of InnoDB.
const NO_PAGES: &str = "a row has no page of its own there, a range of keys is one request, and no counter says what \
                        was read: nothing the method says about blocks would hold there; docs/distributed.md \
                        describes what was tried";

/// The makers and the version of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Whether it is MariaDB, which counts and names some things otherwise than MySQL.
    pub(crate) is_mariadb: bool,
    /// The version in full, as the server says it.
    pub(crate) version: String,
}

impl Product {
    /// The makers' name for it.
    pub(crate) fn name(&self) -> &'static str {
        if self.is_mariadb { "MariaDB" } else { "MySQL" }
    }

    /// Asks a server.
    ///
    /// # Errors
    /// If it can't be asked, is too old, or speaks the protocol and is something else.
    pub(crate) fn ask(conn: &mut Conn) -> Result<Self, EngineError> {
        let step = "asking for the server's version";
        let version: Option<String> =
            conn.query_first("SELECT VERSION()").map_err(|error| failed(step, &error))?;
        let version = version.unwrap_or_default();
        if version.contains("TiDB") {
            let message = format!("the server is {version}, which keeps rows in a log-structured merge tree");
            return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(NO_PAGES));
        }
        let product = Self { is_mariadb: version.contains("MariaDB"), version };
        let (oldest, text) = if product.is_mariadb { ((10, 6), "10.6") } else { ((8, 0), "8.0") };
        if product.number() < oldest {
            let message = format!("the server is {} {}", product.name(), product.version);
            return Err(EngineError::new(ErrorKind::Usage, step, message)
                .with_advice(format!("{text} is the oldest that is supported")));
        }
        Ok(product)
    }

    fn number(&self) -> (u32, u32) {
        let mut parts = self.version.split(['.', '-']).map_while(|part| part.parse().ok());
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        let product =
            |version: &str| Product { is_mariadb: version.contains("MariaDB"), version: version.into() };
        assert_eq!(product("10.11.6-MariaDB-0+deb12u1").number(), (10, 11));
        assert_eq!(product("8.0.36").number(), (8, 0));
        assert_eq!((product("8.4.0-1").name(), product("11.4.2-MariaDB").name()), ("MySQL", "MariaDB"));
    }
}
