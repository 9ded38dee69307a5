//! The numbers of schemas.

use std::num::NonZeroU16;

/// A schema's number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaNo(NonZeroU16);

impl SchemaNo {
    /// The first schema: the one that the hot-schema operations go to.
    pub const FIRST: Self = Self(NonZeroU16::MIN);

    /// `None` for 0.
    #[must_use]
    pub fn new(number: u16) -> Option<Self> {
        NonZeroU16::new(number).map(Self)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0.get()
    }

    /// The numbers `1..=count`.
    pub fn up_to(count: u16) -> impl Iterator<Item = Self> + Clone {
        (1..=count).filter_map(Self::new)
    }
}

impl std::fmt::Display for SchemaNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
