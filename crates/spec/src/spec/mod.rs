//! What a load and a run are asked to do, checked as far as that needs no server.

mod access;
mod load;
mod run;
#[cfg(test)]
mod tests;

pub use load::LoadSpec;
pub use run::RunSpec;

use crate::warning::Warning;

/// A specification that passed its checks, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    /// The specification.
    pub spec: T,
    /// What its author probably did not mean.
    pub warnings: Vec<Warning>,
}
