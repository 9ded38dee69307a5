//! Adding up counts.

/// The sum of counts; the largest number where it is beyond that. No server counts so far, but a damaged record may say so.
pub(crate) fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
