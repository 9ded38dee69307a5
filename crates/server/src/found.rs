//! The settings of a server that change results, and advice on them.

use slob_engine::{SchemaState, Setting};

/// The settings found, by name.
#[derive(Clone, Debug, Default)]
pub struct Found(pub Vec<Setting>);

impl Found {
    /// Names and values as a server gave them, in the order of `names`.
    #[must_use]
    pub fn in_order(settings: impl IntoIterator<Item = (String, String)>, names: &[&str]) -> Self {
        let mut settings: Vec<Setting> =
            settings.into_iter().map(|(name, value)| Setting::new(name, value)).collect();
        settings.sort_by_key(|setting| names.iter().position(|name| *name == setting.name));
        Self(settings)
    }

    /// The value of a setting.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
    }

    /// The same, if it is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The advice of those of `spoilers` (name, value, advice) that are found.
    pub fn spoilt_by(&self, spoilers: &[(&str, &str, &str)]) -> impl Iterator<Item = String> {
        spoilers
            .iter()
            .filter(|(name, spoilt, _)| self.get(name) == Some(*spoilt))
            .map(|(.., text)| (*text).into())
    }
}

/// How much there is of what decides whether reads reach a device, in bytes; what is not known is absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// The blocks of all complete schemas.
    pub data: Option<u64>,
    /// The server's buffer cache.
    pub cache: Option<u64>,
}

impl Sizes {
    /// Advice where data fit into the server's cache, which the setting `cache` is the size of. Whether they fit into the page
    /// cache is for whoever sees the server's host.
    #[must_use]
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

/// Blocks of all complete schemas; `None` if there is none.
#[must_use]
pub fn loaded_blocks(schemas: &[SchemaState]) -> Option<u64> {
    let blocks = schemas.iter().filter_map(|state| state.state.layout()).map(|layout| layout.all_blocks);
    Some(blocks.sum()).filter(|blocks| *blocks > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_their_order() {
        let given = [("b", "2"), ("a", "x")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = Found::in_order(given, &["a", "b"]);
        assert_eq!(found.0[0].name, "a");
        assert_eq!((found.get("a"), found.number("a"), found.number("b")), (Some("x"), None, Some(2)));
        let spoilers = [("a", "x", "a is x"), ("b", "x", "b is x")];
        assert_eq!(found.spoilt_by(&spoilers).collect::<Vec<_>>(), ["a is x"]);
    }

    #[test]
    fn data_that_fit_into_the_cache_are_told() {
        let sizes = Sizes { data: Some(900 << 20), cache: Some(1 << 30) };
        assert!(sizes.advice("the_pool").is_some_and(|advice| advice.contains("the_pool (1024 MiB)")));
        for fine in [Sizes { cache: Some(1), ..sizes }, Sizes { data: None, ..sizes }, Sizes::default()] {
            assert_eq!(fine.advice("the_pool"), None, "{fine:?}");
        }
    }
}
