//! Settings of a server that change results, and advice on them.

use slob_engine::{Capabilities, SchemaState, Setting};
use slob_spec::{EngineOptions, Group, Kind, Param};

use crate::errors::table;

#[derive(Clone, Debug, Default)]
pub struct ServerSettings(pub Vec<Setting>);

impl ServerSettings {
    /// Names and values as a server gave them, in the order of `names`, which blanks separate.
    pub fn in_order(settings: impl IntoIterator<Item = (String, String)>, names: &str) -> Self {
        let mut settings: Vec<Setting> =
            settings.into_iter().map(|(name, value)| Setting::new(name, value)).collect();
        settings.sort_by_key(|setting| names.split(' ').position(|name| name == setting.name));
        Self(settings)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The advice of a table of names, values and advice, for each setting with such a value.
    pub fn advice(&self, text: &'static str) -> impl Iterator<Item = String> {
        let is_set = |name, value| self.get(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
        table(text).filter(move |[name, value, _]| is_set(name, value)).map(|[.., advice]| advice.to_owned())
    }
}

/// Names as a list of SQL literals.
pub fn literals<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    pub data: Option<u64>,
    pub cache: Option<u64>,
}

impl Sizes {
    /// The setting `cache` is the server's own; its host's page cache is checked elsewhere.
    pub fn advice(&self, cache: &str) -> Option<String> {
        let (data, room) = self.data.zip(self.cache).filter(|(data, room)| data <= room)?;
        let mib = |bytes: u64| bytes >> 20;
        Some(format!(
            "The data ({} MiB) fit into {cache} ({} MiB): reads will not leave the server. Load more, or lower {cache}, to test I/O.",
            mib(data),
            mib(room)
        ))
    }
}

/// `None` without a complete schema.
pub fn loaded_blocks(schemas: &[SchemaState]) -> Option<u64> {
    let blocks = schemas.iter().filter_map(|state| state.state.layout()).map(|layout| layout.all_blocks);
    Some(blocks.sum()).filter(|blocks| *blocks > 0)
}

const SERVER: &str = "server";
const STATEMENT: &str = "statement";
const CLIENT: &str = "client";

/// The parameter LOOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopPlace {
    /// A procedure, which joins consecutive SELECTs where that costs less.
    Server,
    /// A procedure with one statement for each operation.
    Statement,
    /// Prepared statements of this process.
    Client,
}

impl LoopPlace {
    pub const PARAM: Param = Param::new(
        "LOOP",
        Kind::Choice(&[
            (SERVER, "a procedure in the server executes whole batches; consecutive SELECTs are one statement where \
                      that is cheaper"),
            (STATEMENT, "the same with one statement for each operation"),
            (CLIENT, "this program sends operations one by one, for servers without procedures"),
        ]),
        Group::Servers,
    )
    .meaning("where the loop over the operations of a batch runs")
    .shipped(SERVER);

    pub fn from_options(options: &EngineOptions) -> Self {
        match options.get(Self::PARAM.key) {
            Some(CLIENT) => Self::Client,
            Some(STATEMENT) => Self::Statement,
            _ => Self::Server,
        }
    }

    pub fn is_in_server(self) -> bool {
        self != Self::Client
    }

    /// SELECTs of up to `joined_blocks` blocks are one statement.
    pub fn capabilities(self, joined_blocks: u16, direct_io: Option<bool>) -> Capabilities {
        Capabilities {
            stores_data: true,
            parallel_slices: true,
            batches_in_server: self.is_in_server(),
            joined_blocks,
            cancel: true,
            direct_io,
            ..Capabilities::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_their_order() {
        let given = [("b", "2"), ("a", "x")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = ServerSettings::in_order(given, "a b");
        assert_eq!(found.0[0].name, "a");
        assert_eq!((found.get("a"), found.number("a"), found.number("b")), (Some("x"), None, Some(2)));
        assert_eq!(found.advice("a | X | a is x\nb | x | b is x").collect::<Vec<_>>(), ["a is x"]);
    }

    #[test]
    fn data_that_fit_into_the_cache_are_mentioned() {
        let sizes = Sizes { data: Some(900 << 20), cache: Some(1 << 30) };
        assert!(sizes.advice("the_pool").is_some_and(|advice| advice.contains("the_pool (1024 MiB)")));
        for fine in [Sizes { cache: Some(1), ..sizes }, Sizes { data: None, ..sizes }, Sizes::default()] {
            assert_eq!(fine.advice("the_pool"), None, "{fine:?}");
        }
    }
}
