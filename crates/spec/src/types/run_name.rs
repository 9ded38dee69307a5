//! The name of a run, which becomes part of a directory's name.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::BadValue;

/// A run's name: 1 to 64 of the letters a-z and A-Z, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RunName(String);

impl RunName {
    /// The words for what is permitted.
    pub(crate) const PERMITTED: &'static str = "1 to 64 letters a-z, digits, '.', '_' or '-'";
    const MAX_CHARS: usize = 64;

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=Self::MAX_CHARS).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadValue::expected(Self::PERMITTED))
        }
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_to_what_any_file_system_takes() {
        assert!("raw-8k_v2.1".parse::<RunName>().is_ok());
        assert!("x".repeat(64).parse::<RunName>().is_ok());
        for bad in ["", "a b", "a/b", "é", &"x".repeat(65)] {
            assert!(bad.parse::<RunName>().is_err(), "{bad:?}");
        }
    }
}
