//! MySQL or MariaDB, and its version.

use mysql::Conn;
use slob_engine::{EngineError, ErrorKind, Result};

use crate::sql::Ask;

/// TiDB takes the protocol and the tables, but has no pages of InnoDB.
const NO_PAGES: &str = "a row has no page of its own there, a range of keys is one request, and no counter says what \
                        was read: nothing the method says about blocks would hold there; docs/how-to/distributed.md \
                        describes what was tried";

pub(crate) struct Product {
    pub(crate) is_mariadb: bool,
    pub(crate) version: String,
}

impl Product {
    pub(crate) fn name(&self) -> &'static str {
        if self.is_mariadb { "MariaDB" } else { "MySQL" }
    }

    /// An old server, or another product, is an error of [`ErrorKind::Usage`].
    pub(crate) fn ask(conn: &mut Conn) -> Result<Self> {
        let step = "asking for the server's version";
        let version: String = conn.row(step, "SELECT VERSION()")?.get(0).unwrap_or_default();
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
    fn versions_are_parsed() {
        let product =
            |version: &str| Product { is_mariadb: version.contains("MariaDB"), version: version.into() };
        assert_eq!(product("10.11.6-MariaDB-0+deb12u1").number(), (10, 11));
        assert_eq!(product("8.0.36").number(), (8, 0));
        assert_eq!((product("8.4.0-1").name(), product("11.4.2-MariaDB").name()), ("MySQL", "MariaDB"));
    }
}
