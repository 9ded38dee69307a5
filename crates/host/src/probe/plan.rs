//! What a probe is asked to do.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::HostError;

/// Size of one write while the scratch file is filled.
pub(super) const FILL_BYTES: u64 = 1 << 20;

/// Most sessions of a synchronous step, and most requests in flight of an asynchronous one.
const MOST_PARALLEL: u32 = 4096;

/// A probe: where, how large, which steps. [`ProbePlan::new`] gives the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// Folder of the scratch file: on the file system in question.
    #[serde(serialize_with = "crate::lossy::path")]
    pub dir: PathBuf,
    /// Size of the scratch file: a multiple of 1 MiB. Choose it larger than the caches of the storage in question.
    pub file_bytes: u64,
    /// Size of each random read and write: a power of two from 512 to 1 MiB.
    pub block_bytes: u32,
    /// Length of each step.
    pub seconds_per_step: f64,
    /// Numbers of sessions of the synchronous steps, one step each.
    pub sync_sessions: Vec<u32>,
    /// Queue depths of the asynchronous steps, one step each.
    pub async_depths: Vec<u32>,
    /// Whether to measure random writes too, at each of `sync_sessions`.
    pub write: bool,
    /// Direct I/O (`O_DIRECT`). Without it the page cache takes part in all steps.
    pub direct: bool,
    /// Blocks in the buffer of each synchronous session, used in turn. 1 is what fio does: the block then stays in
    /// the CPU's cache. A database reads into a cache much larger than that, so its fair baseline is a larger
    /// buffer.
    pub buffer_blocks: usize,
    /// Seed of the data and of the offsets.
    pub seed: u64,
}

impl ProbePlan {
    /// A plan for `dir`: 1 GiB, blocks of 8 KiB, 5 s per step, 1 to 16 sessions, depths 16 and 64, reads only,
    /// direct.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            file_bytes: 1 << 30,
            block_bytes: 8192,
            seconds_per_step: 5.0,
            sync_sessions: vec![1, 2, 4, 8, 16],
            async_depths: vec![16, 64],
            write: false,
            direct: true,
            buffer_blocks: 1,
            seed: 1,
        }
    }

    /// The steps after the filling, in their order: reads first, since writes may leave the device busy.
    pub fn steps(&self) -> Vec<StepPlan> {
        let steps = |kind, counts: &[u32]| {
            let plans = counts.iter().map(|count| StepPlan { kind, sessions_or_depth: *count });
            plans.collect::<Vec<_>>()
        };
        let mut all = steps(StepKind::SyncRead, &self.sync_sessions);
        all.extend(steps(StepKind::AsyncRead, &self.async_depths));
        if self.write {
            all.extend(steps(StepKind::SyncWrite, &self.sync_sessions));
        }
        all
    }

    /// Blocks in the scratch file.
    pub(super) fn blocks(&self) -> u64 {
        self.file_bytes / u64::from(self.block_bytes)
    }

    pub(super) fn check(&self) -> Result<(), HostError> {
        let bad = |what: String| Err(HostError::BadPlan { what });
        if !(self.block_bytes.is_power_of_two() && (512..=1 << 20).contains(&self.block_bytes)) {
            return bad(format!(
                "block_bytes is {}: use a power of two from 512 to 1048576",
                self.block_bytes
            ));
        }
        if self.file_bytes == 0 || !self.file_bytes.is_multiple_of(FILL_BYTES) {
            return bad(format!("file_bytes is {}: use a multiple of 1 MiB (1048576)", self.file_bytes));
        }
        if !(self.seconds_per_step > 0.0 && self.seconds_per_step <= 86_400.0) {
            return bad(format!(
                "seconds_per_step is {}: use more than 0, up to a day",
                self.seconds_per_step
            ));
        }
        if !(1..=1 << 20).contains(&self.buffer_blocks) {
            return bad(format!("buffer_blocks is {}: use 1 to 1048576", self.buffer_blocks));
        }
        let counts = self.sync_sessions.iter().chain(&self.async_depths);
        match counts.copied().find(|count| !(1..=MOST_PARALLEL).contains(count)) {
            Some(count) => bad(format!("{count} sessions or requests in flight: use 1 to {MOST_PARALLEL}")),
            None => Ok(()),
        }
    }
}

/// One step of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPlan {
    /// What it measures.
    pub kind: StepKind,
    /// Sessions of a synchronous step, requests in flight of an asynchronous one.
    pub sessions_or_depth: u32,
}

/// What a step measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Random reads of one block, one at a time in each session.
    SyncRead,
    /// Random reads of one block, many in flight from one thread.
    AsyncRead,
    /// Random writes of one block, one at a time in each session, not flushed one by one.
    SyncWrite,
    /// Filling the file: writes of 1 MiB one after the other, flushed once at the end.
    SequentialWrite,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_a_good_plan_and_reads_come_first() {
        let plan = ProbePlan { write: true, ..ProbePlan::new("/x") };
        plan.check().unwrap();
        let kinds: Vec<_> = plan.steps().iter().map(|step| (step.kind, step.sessions_or_depth)).collect();
        assert_eq!((kinds.len(), kinds[0]), (12, (StepKind::SyncRead, 1)));
        assert_eq!((kinds[6], kinds[7]), ((StepKind::AsyncRead, 64), (StepKind::SyncWrite, 1)));
    }

    #[test]
    fn a_value_that_makes_no_sense_is_named() {
        let good = ProbePlan::new("/x");
        let cases = [
            ("block_bytes", ProbePlan { block_bytes: 3000, ..good.clone() }),
            ("block_bytes", ProbePlan { block_bytes: 0, ..good.clone() }),
            ("file_bytes", ProbePlan { file_bytes: 0, ..good.clone() }),
            ("file_bytes", ProbePlan { file_bytes: (1 << 20) + 512, ..good.clone() }),
            ("seconds_per_step", ProbePlan { seconds_per_step: f64::NAN, ..good.clone() }),
            ("buffer_blocks", ProbePlan { buffer_blocks: 0, ..good.clone() }),
            ("0 sessions", ProbePlan { sync_sessions: vec![4, 0], ..good.clone() }),
            ("in flight", ProbePlan { async_depths: vec![5000], ..good }),
        ];
        for (word, plan) in cases {
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}
