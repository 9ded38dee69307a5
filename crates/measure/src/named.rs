//! Maps whose keys have names: saved as an object, in the order of the names.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A key that is saved by its name.
pub(crate) trait Named: Copy + Ord + 'static {
    /// Every key, in the order of their names.
    const EVERY: &'static [Self];

    fn saved_name(self) -> &'static str;
}

pub(crate) fn serialize<K: Named, V: Serialize, S: Serializer>(
    map: &BTreeMap<K, V>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(map.iter().map(|(key, value)| (key.saved_name(), value)))
}

/// Names of another release are passed over.
pub(crate) fn deserialize<'de, K: Named, V: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<K, V>, D::Error> {
    let by_name = BTreeMap::<String, V>::deserialize(from)?;
    let key = |name: &str| K::EVERY.iter().copied().find(|key| key.saved_name() == name);
    Ok(by_name.into_iter().filter_map(|(name, value)| Some((key(&name)?, value))).collect())
}

#[cfg(test)]
pub(crate) fn assert_in_order_of_names<K: Named + std::fmt::Debug>() {
    let names: Vec<&str> = K::EVERY.iter().map(|key| key.saved_name()).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    assert!(K::EVERY.is_sorted(), "{:?}", K::EVERY);
}
