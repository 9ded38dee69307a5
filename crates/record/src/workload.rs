//! The workload of a run, as it is saved.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// The workload of a run, in blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRecord {
    /// Schemas used.
    pub schemas: u32,
    /// Sessions of each schema.
    pub threads_per_schema: u32,
    /// Active data set of each schema, in blocks.
    pub scale_blocks: u64,
    /// Blocks of a SELECT.
    pub work_unit: u16,
    /// Blocks of an UPDATE.
    pub update_work_unit: u16,
    /// Percent of operations that are UPDATEs.
    pub update_pct: u8,
    /// Percent of the others that are scans.
    pub scan_pct: u8,
    /// LITE or HEAVY.
    pub redo_stress: String,
    /// Seconds of the planned window; absent with WORK_LOOP.
    pub run_time_s: Option<f64>,
    /// Operations per session, with WORK_LOOP.
    pub work_loop: Option<u64>,
    /// Seconds before the window.
    pub warmup_s: f64,
    /// The seed of the plan.
    pub seed: u64,
    /// The number that makes this run's updates differ from other runs'.
    pub nonce: u64,
    /// The hot spot.
    #[serde(default, deserialize_with = "values_or_words")]
    pub hot_spot: Option<HotSpotRecord>,
    /// Number of operations of which one goes to schema 1.
    pub hot_schema_every: Option<u32>,
    /// Pauses between operations.
    #[serde(default, deserialize_with = "values_or_words")]
    pub think_time: Option<ThinkTimeRecord>,
    /// Open loop: operations per second to start, over all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u32>,
    /// Open loop: arrivals, steady or poisson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
}

impl WorkloadRecord {
    /// All sessions.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        self.schemas.saturating_mul(self.threads_per_schema)
    }
}

/// Blocks that a part of the operations visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotSpotRecord {
    /// First block, from 1.
    pub first_block: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of SELECTs and UPDATEs of which one visits it.
    pub every: u32,
}

/// Pauses of uniformly distributed length between operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTimeRecord {
    /// Number of operations of which one is followed by a pause.
    pub every: u32,
    /// Shortest pause in microseconds.
    pub min_us: u32,
    /// Longest pause in microseconds.
    pub max_us: u32,
}

/// Values that release 0.1.0 saved as a sentence.
trait OfWords: Sized {
    /// The values of the sentence; `None` for another text.
    fn of_words(words: &str) -> Option<Self>;
}

impl OfWords for HotSpotRecord {
    /// 'blocks 129 to 384 on every 3rd operation'.
    fn of_words(words: &str) -> Option<Self> {
        let (blocks, operations) = words.strip_prefix("blocks ")?.split_once(" on ")?;
        let (first, last) = blocks.split_once(" to ")?;
        let (first_block, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let blocks = last.checked_sub(first_block)?.checked_add(1)?;
        Some(Self { first_block, blocks, every: every(operations)? })
    }
}

impl OfWords for ThinkTimeRecord {
    /// '0.0005 to 0.02 s after every 11th operation'.
    fn of_words(words: &str) -> Option<Self> {
        let (pauses, operations) = words.split_once(" s after ")?;
        let (min, max) = pauses.split_once(" to ")?;
        let us = |seconds: &str| Some((seconds.parse::<f64>().ok()? * 1e6).round() as u32);
        Some(Self { every: every(operations)?, min_us: us(min)?, max_us: us(max)? })
    }
}

/// 'every operation', 'every 3rd operation'.
fn every(words: &str) -> Option<u32> {
    let nth = words.strip_prefix("every ")?.strip_suffix("operation")?;
    if nth.is_empty() { Some(1) } else { nth.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok() }
}

fn values_or_words<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: OfWords + Deserialize<'de>,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Saved<T> {
        Values(T),
        Words(String),
    }
    match Option::<Saved<T>>::deserialize(from)? {
        None => Ok(None),
        Some(Saved::Values(values)) => Ok(Some(values)),
        Some(Saved::Words(words)) => match T::of_words(&words) {
            Some(values) => Ok(Some(values)),
            None => Err(D::Error::custom(format!("'{words}' is not a sentence of any release"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_of_the_first_release_are_read() {
        for (words, every) in
            [("every operation", 1), ("every 2nd operation", 2), ("every 111th operation", 111)]
        {
            let hot = HotSpotRecord::of_words(&format!("blocks 129 to 384 on {words}"));
            assert_eq!(hot, Some(HotSpotRecord { first_block: 129, blocks: 256, every }));
            let think = ThinkTimeRecord::of_words(&format!("0.0005 to 3600 s after {words}"));
            assert_eq!(think, Some(ThinkTimeRecord { every, min_us: 500, max_us: 3_600_000_000 }));
        }
        for damaged in ["", "blocks 3 to 1 on every operation", "blocks 1 to 3 on every nth operation"] {
            assert_eq!(HotSpotRecord::of_words(damaged), None, "{damaged}");
        }
        assert_eq!(ThinkTimeRecord::of_words("some to 1 s after every operation"), None);
    }
}
