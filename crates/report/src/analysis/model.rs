//! SLOB.R's models, and how it tells a run's.
//!
//! Of a run whose writers and readers were counted: READS if it has readers; REDO if redo bytes / (writes x block size) is
//! more than 2 and it is not READS; WRITES if it has writers and is not REDO.
//!
//! Where only sessions were counted, a run is READS if what is written and redo are each at most 1 % of what is read; what
//! is not READS is REDO or WRITES by the same ratio.

pub(super) const READS: &str = "READS";
pub(super) const REDO: &str = "REDO";
pub(super) const WRITES: &str = "WRITES";

/// What SLOB.R takes for the size of a block.
const BLOCK_BYTES: f64 = 8192.0;
/// Above this many bytes of redo per byte written a run is one of redo.
const REDO_RATIO: f64 = 2.0;
/// Up to this share of what is read, what is written is the database's own housekeeping.
const HOUSEKEEPING: f64 = 0.01;

/// What a run read and wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Volume {
    /// Reads per second.
    pub(super) reads: Option<f64>,
    /// Writes per second.
    pub(super) writes: Option<f64>,
    /// Bytes of redo per second.
    pub(super) redo: Option<f64>,
}

impl Volume {
    /// SLOB.R's rules, by which a run with readers and writers is of two models.
    pub(super) fn models_by_counts(self, [writers, readers]: [u32; 2]) -> Vec<&'static str> {
        let is_reads = readers > 0;
        let is_redo = !is_reads && self.redo_or_writes(BLOCK_BYTES) == REDO;
        let mut models = Vec::new();
        models.extend(is_reads.then_some(READS));
        models.extend(is_redo.then_some(REDO));
        models.extend((writers > 0 && !is_redo).then_some(WRITES));
        models
    }

    /// The model of a run of which only this is known.
    pub(super) fn model(self) -> &'static str {
        let read_bytes = self.reads.unwrap_or(0.0) * BLOCK_BYTES;
        let little = |bytes: f64| bytes <= HOUSEKEEPING * read_bytes;
        if little(self.redo.unwrap_or(0.0)) && little(self.writes.unwrap_or(0.0) * BLOCK_BYTES) {
            return READS;
        }
        self.redo_or_writes(BLOCK_BYTES)
    }

    /// Of a run that writes: is it one of redo? Redo without any block written is; without redo there is nothing to call so.
    pub(super) fn redo_or_writes(self, block_bytes: f64) -> &'static str {
        match self.redo.zip(self.writes) {
            Some((redo, writes)) if redo > REDO_RATIO * writes * block_bytes => REDO,
            _ => WRITES,
        }
    }
}
