//! Text that must not be shown.

use std::fmt;

/// A password. It is neither printable nor serialisable; [`Secret::expose`] is the only way to its text, so
/// that a search for that word finds every use.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What stands for a secret wherever it would be shown.
pub(crate) const MASK: &str = "********";

impl Secret {
    /// Takes the text of a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the call that hands it to a database client and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Drop for Secret {
    /// Overwrites the text, so that a core dump of a long run has one copy less.
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Without this the compiler may see that nobody reads the zeros and drop the store.
        std::hint::black_box(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        let secret = Secret::new("tiger");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "******** Some(********)");
        assert_eq!(secret.expose(), "tiger");
    }
}
