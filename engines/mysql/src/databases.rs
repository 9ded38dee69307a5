//! The servers of a target, as a run uses them: MySQL or MariaDB, and its version.

use std::sync::Mutex;

use mysql::Conn;
use slob_engine::{EngineError, ErrorKind, OpenSpec, Result};
use slob_server::{Connector as _, Environment, LoadedSchemas, LoopPlace, Servers};

use crate::connect::Connector;
use crate::globals::Globals;
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
    fn ask(conn: &mut Conn) -> Result<Self> {
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

    /// A stretch looks each key up; a statement reads neighbours in the index, so wide operations are cheaper without.
    /// docs/evidence.md has the measurements.
    pub(crate) fn widest_stretch(&self, loop_place: LoopPlace) -> u16 {
        match loop_place {
            LoopPlace::Server if self.is_mariadb => 16,
            LoopPlace::Server => 8,
            LoopPlace::Statement | LoopPlace::Client => 0,
        }
    }

    fn number(&self) -> (u32, u32) {
        let mut parts = self.version.split(['.', '-']).map_while(|part| part.parse().ok());
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

pub(crate) struct Databases {
    pub(crate) servers: Servers<Connector>,
    pub(crate) product: Product,
    pub(crate) loop_place: LoopPlace,
    pub(crate) loaded: LoadedSchemas,
    /// The end of the run restores it.
    pub(crate) changed: Mutex<Vec<Globals>>,
}

impl Databases {
    pub(crate) fn open(spec: &OpenSpec) -> Result<Self> {
        let connector = Connector::new(&spec.target, &Environment::process())?;
        // Another product may not know the settings.
        let product = Product::ask(&mut connector.connect_any()?)?;
        Ok(Self {
            servers: Servers::connect(connector)?,
            product,
            loop_place: LoopPlace::from_options(&spec.options),
            loaded: LoadedSchemas::default(),
            changed: Mutex::default(),
        })
    }

    /// Consecutive SELECTs of up to so many keys are one statement.
    pub(crate) fn joined_keys(&self) -> u16 {
        self.product.widest_stretch(self.loop_place)
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
