//! In which order the runs of a plan are made.

use serde::{Deserialize, Serialize};

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In rounds, each of which holds every cell once, shuffled: a drift of the machine hits all variants alike. It is
    /// the randomised block design of Fisher, *The Design of Experiments* (1935), with time as the block.
    Interleaved,
    /// Variant by variant, all repeats of a cell in a row: SLOB's own way. A drift falls upon the later variants.
    Blocked,
}
