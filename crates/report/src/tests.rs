//! Hand-made records, and tests of all views together.

pub(crate) mod fixture;
