//! The names of accounts and of what is in them.

use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;

/// The comment that marks the table of ours in a schema begins with it.
pub(crate) const COMMENT: &str = "OpenSLOB";
/// Characters of a prefix; with the number it must fit the 30 of old releases.
const LONGEST: usize = 20;

/// The common beginning of the accounts' names, in capitals: no name needs quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    /// Takes it over.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it is not a name.
    pub(crate) fn new(text: &str) -> Result<Self, EngineError> {
        let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let good = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(name)
            && !text.ends_with(|last: char| last.is_ascii_digit())
            && text.len() <= LONGEST;
        if good {
            return Ok(Self(text.to_ascii_uppercase()));
        }
        let message = format!("'{text}' can't begin the names of accounts");
        Err(EngineError::new(ErrorKind::Usage, "reading ORACLE_PREFIX", message).with_advice(format!(
            "use a letter, then letters, digits or _, at most {LONGEST} in all, and no digit at the end"
        )))
    }

    /// The text, for queries.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The account of a schema.
    pub(crate) fn user(&self, schema: SchemaNo) -> String {
        format!("{}{schema}", self.0)
    }

    /// The schema of an account; `None` if its name is not one of ours.
    pub(crate) fn schema_of(&self, user: &str) -> Option<SchemaNo> {
        let digits = user.strip_prefix(&self.0)?;
        if digits.starts_with('0') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        SchemaNo::new(digits.parse().ok()?)
    }
}

/// A name in a statement: as it is where it needs no quotes, else in quotes.
pub(crate) fn identifier(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$#".contains(&byte));
    if plain { name.to_ascii_uppercase() } else { format!("\"{}\"", name.replace('"', "")) }
}

/// Texts in a list of a query.
pub(crate) fn literals(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_schemas_and_back() {
        let prefix = Prefix::new("slob").unwrap();
        let seven = SchemaNo::new(7).unwrap();
        assert_eq!(prefix.user(seven), "SLOB7");
        assert_eq!(prefix.schema_of("SLOB7"), Some(seven));
        for other in ["SLOB", "SLOB0", "SLOB07", "SLOB7X", "USER7", "SLOB99999"] {
            assert_eq!(prefix.schema_of(other), None, "{other}");
        }
    }

    #[test]
    fn what_could_end_a_name_is_refused() {
        for bad in ["", "1a", "a b", "a\"", "a;", "slob1", "abcdefghijklmnopqrstu"] {
            assert_eq!(Prefix::new(bad).err().map(|error| error.kind()), Some(ErrorKind::Usage), "{bad}");
        }
        assert_eq!(
            (identifier("data1").as_str(), identifier("my \"data").as_str()),
            ("DATA1", "\"my data\"")
        );
    }
}
