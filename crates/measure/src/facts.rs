//! Facts of a database besides its work.

use serde::{Deserialize, Serialize};

/// Sizes of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Facts {
    /// Data of the whole server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// The server's cache of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Data in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
}

/// An estimate, or why there is none. Estimates are greater than unknown ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WorkingSet {
    /// No estimate can be defended.
    Unknown {
        /// A clause.
        why: String,
    },
    /// An estimate.
    Estimate {
        /// Size in bytes.
        bytes: u64,
        /// Meaning of the size.
        bound: Bound,
        /// Origin, as a clause.
        method: String,
    },
}

impl WorkingSet {
    /// No estimate, for this reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }
}

/// Meaning of an estimated size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The exact size.
    About,
    /// A lower bound.
    AtLeast,
    /// An upper bound.
    AtMost,
}

impl Bound {
    /// Word before the size: `about`, `at least`, `at most`.
    pub fn words(self) -> &'static str {
        match self {
            Self::About => "about",
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
        }
    }
}

impl Facts {
    /// Another source fills gaps. The larger working set counts: the busiest time needs it.
    pub fn or(self, other: Self) -> Self {
        Self {
            database_bytes: self.database_bytes.or(other.database_bytes),
            cache_bytes: self.cache_bytes.or(other.cache_bytes),
            working_set: self.working_set.max(other.working_set),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_working_sets_the_larger_counts_and_any_before_an_unknown_one() {
        let of = |bytes| WorkingSet::Estimate { bytes, bound: Bound::About, method: "x".into() };
        let facts = |working_set| Facts { working_set, ..Facts::default() };
        let larger = |one, other| facts(one).or(facts(other)).working_set;
        assert_eq!(larger(Some(of(5)), Some(of(7))), Some(of(7)));
        assert_eq!(larger(Some(WorkingSet::unknown("z")), Some(of(7))), Some(of(7)));
        assert_eq!(larger(None, Some(WorkingSet::unknown("z"))), Some(WorkingSet::unknown("z")));
    }

    #[test]
    fn facts_read_back_and_what_is_not_known_is_not_written() {
        let working_set = WorkingSet::Estimate { bytes: 5, bound: Bound::AtMost, method: "x".into() };
        for facts in [
            Facts { database_bytes: Some(9), cache_bytes: None, working_set: Some(working_set) },
            Facts { working_set: Some(WorkingSet::unknown("no rights")), ..Facts::default() },
        ] {
            let text = serde_json::to_string(&facts).unwrap();
            assert!(!text.contains("cache_bytes"), "{text}");
            assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
        }
    }
}
