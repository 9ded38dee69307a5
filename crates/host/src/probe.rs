//! The device probe: limits of the device, through the same file system and without a database.
//!
//! Steps fill a scratch file and read it at random: by sessions with one `pread` at a time, as databases do, and at a queue
//! depth, the device's own limit. Further steps write as a log does, each write flushed. The last one reads until burst credits
//! are spent.

mod buffers;
mod cliff;
mod durable;
mod queued_reads;
mod result;
mod scratch;
mod sessions;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use slob_stats::{Histogram, nanoseconds};

use self::buffers::AlignedBuffer;
pub use self::cliff::UntilCliff;
pub use self::durable::{DurableWrite, Flush};
pub use self::result::{IoInterface, ProbeResult, ProbeStep, StepFigures};
use self::result::{Measured, cpu_since};
use self::scratch::{Random, Scratch};
pub use self::sessions::BlockTransfer;
use self::sessions::Order;
use crate::{Device, Group, HostError, free_space, own_cpu};

const FILL_BYTES: u64 = 1 << 20;

const MOST_PARALLEL: u32 = 4096;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    #[serde(serialize_with = "crate::files::lossy_path")]
    pub dir: PathBuf,
    /// A multiple of 1 MiB, and more than the caches of the storage.
    pub file_bytes: u64,
    /// A power of two from 512 to 1 MiB.
    pub block_bytes: u32,
    pub seconds_per_step: f64,
    /// Each number is a step.
    pub sync_sessions: Vec<u32>,
    /// Each depth is a step.
    pub async_depths: Vec<u32>,
    pub write: bool,
    /// Writes that are flushed, at most a second for each step; false in records of older releases.
    #[serde(default)]
    pub durable: bool,
    /// After all steps the fastest reads go on for at most so many seconds, until burst credits are spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_cliff_s: Option<f64>,
    /// Otherwise the page cache takes part.
    pub direct: bool,
    /// A single block stays in the CPU's cache, as with fio. A database reads into a much larger cache.
    pub buffer_blocks: usize,
    pub seed: u64,
}

impl ProbePlan {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            file_bytes: 1 << 30,
            block_bytes: 8192,
            seconds_per_step: 5.0,
            sync_sessions: vec![1, 2, 4, 8, 16],
            async_depths: vec![16, 64],
            write: false,
            durable: false,
            until_cliff_s: None,
            direct: true,
            buffer_blocks: 1,
            seed: 1,
        }
    }

    /// Reads come first, since writes may leave the device busy.
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
        if self.durable {
            all.extend(DurableWrite::steps());
        }
        all
    }

    /// Then no scratch file is filled: durable writes have files of their own.
    pub fn is_durable_only(&self) -> bool {
        self.durable && self.steps().iter().all(|step| step.kind.durable().is_some())
    }

    /// The plan with other random blocks, so that no cache holds them since an earlier step.
    #[must_use]
    pub fn of_turn(&self, turn: u64) -> Self {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        Self { seed: self.seed ^ turn.wrapping_mul(GOLDEN), ..self.clone() }
    }

    fn seconds_of(&self, step: StepPlan) -> f64 {
        match step.kind {
            StepKind::DurableWrite(_) => self.seconds_per_step.min(durable::MOST_SECONDS),
            _ => self.seconds_per_step,
        }
    }

    fn blocks(&self) -> u64 {
        self.file_bytes / u64::from(self.block_bytes)
    }

    fn check(&self) -> Result<(), HostError> {
        let Self { block_bytes, file_bytes, seconds_per_step, until_cliff_s, buffer_blocks, .. } = self;
        let counts = self.sync_sessions.iter().chain(&self.async_depths);
        let bad_count = counts.copied().find(|count| !(1..=MOST_PARALLEL).contains(count));
        let what = if !(block_bytes.is_power_of_two() && (512..=1 << 20).contains(block_bytes)) {
            format!("block_bytes is {block_bytes}: use a power of two from 512 to 1048576")
        } else if *file_bytes == 0 || !file_bytes.is_multiple_of(FILL_BYTES) {
            format!("file_bytes is {file_bytes}: use a multiple of 1 MiB (1048576)")
        } else if !(*seconds_per_step > 0.0 && *seconds_per_step <= 86_400.0) {
            format!("seconds_per_step is {seconds_per_step}: use more than 0, up to a day")
        } else if let Some(seconds) =
            until_cliff_s.filter(|seconds| !(*seconds > 0.0 && *seconds <= 86_400.0))
        {
            format!("until_cliff_s is {seconds}: use more than 0, up to a day")
        } else if !(1..=1 << 20).contains(buffer_blocks) {
            format!("buffer_blocks is {buffer_blocks}: use 1 to 1048576")
        } else if let Some(count) = bad_count {
            format!("{count} sessions or requests in flight: use 1 to {MOST_PARALLEL}")
        } else {
            return Ok(());
        };
        Err(HostError::BadPlan { what })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPlan {
    pub kind: StepKind,
    /// Requests in flight of an asynchronous step.
    pub sessions_or_depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Each session reads one block at a time.
    SyncRead,
    /// One thread has many reads in flight.
    AsyncRead,
    /// Each session writes one block at a time, without a flush.
    SyncWrite,
    /// Writes of 1 MiB fill the file in order, with one flush at the end.
    SequentialWrite,
    /// Each stream writes to a file of its own, and waits for stable storage. An operation is a flush.
    DurableWrite(DurableWrite),
}

impl StepKind {
    pub fn durable(self) -> Option<DurableWrite> {
        match self {
            Self::DurableWrite(write) => Some(write),
            _ => None,
        }
    }
}

/// A live display shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeEvent {
    /// The scratch file is being written.
    Filling { written_bytes: u64, total_bytes: u64 },
    /// `number` counts from 1 after the filling, and `of` is the total.
    StepStarted { step: StepPlan, number: usize, of: usize, seconds: f64 },
    /// The filling counts as the sequential write.
    StepFinished(Box<ProbeStep>),
    /// A second of the reads until the cliff, of at most so many.
    Sampled { second: u64, of: u64, iops: f64 },
}

impl ProbeEvent {
    /// The work done, the total, and the name of the step.
    pub fn progress(&self) -> Option<(u64, u64, String)> {
        Some(match self {
            Self::Filling { written_bytes, total_bytes } => {
                (*written_bytes, *total_bytes, "writing the scratch file".to_owned())
            }
            Self::StepStarted { number, of, .. } => {
                (*number as u64 - 1, *of as u64, format!("step {number} of {of}"))
            }
            Self::Sampled { second, of, iops } => {
                (*second, *of, format!("{iops:.0} reads/s, until burst credits are spent"))
            }
            Self::StepFinished(_) => return None,
        })
    }
}

/// The scratch file has no name, so it disappears however this ends. A failing step has an [`error`](ProbeStep::error), and the
/// next one follows. After `stop`, the last step is cut short. Fails on an invalid plan, a missing or full folder, or without
/// direct I/O.
pub fn run_probe(
    plan: &ProbePlan,
    event: &mut dyn FnMut(ProbeEvent),
    stop: &AtomicBool,
) -> Result<ProbeResult, HostError> {
    plan.check()?;
    let limits = Group::of_process(process::id()).as_ref().map(Group::limits);
    let mut result = ProbeResult {
        plan: plan.clone(),
        steps: Vec::new(),
        until_cliff: None,
        limits: limits.filter(|limits| !limits.io.is_empty() || limits.cpus.is_some()),
        interrupted: false,
    };
    let (file, filled) = match plan.is_durable_only() {
        true => (Scratch::create(&plan.dir)?, None),
        false => filled(plan, event, stop).map(|(file, step)| (file, Some(step)))?,
    };
    if let Some(filled) = filled {
        event(ProbeEvent::StepFinished(Box::new(filled.clone())));
        result.steps.push(filled);
    }
    let device = Device::behind(&plan.dir).ok();
    let steps = plan.steps();
    for (index, step) in steps.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let seconds = plan.seconds_of(*step);
        event(ProbeEvent::StepStarted { step: *step, number: index + 1, of: steps.len(), seconds });
        let plan = &plan.of_turn(index as u64 + 1);
        let done = match step.kind {
            StepKind::AsyncRead => queued_reads::run(plan, *step, &file, stop, &AtomicU64::new(0)),
            StepKind::DurableWrite(write) => durable::run(plan, *step, write, device.as_ref(), stop),
            _ => sessions::run(plan, *step, Order::Random, &file, stop, &AtomicU64::new(0)),
        };
        event(ProbeEvent::StepFinished(Box::new(done.clone())));
        result.steps.push(done);
    }
    if let Some((seconds, step)) = plan.until_cliff_s.zip(result.fastest_read())
        && !stop.load(Ordering::Relaxed)
    {
        let plan = plan.of_turn(steps.len() as u64 + 1);
        result.until_cliff = Some(cliff::run(&plan, step, seconds, &file, event, stop));
    }
    result.interrupted = stop.load(Ordering::Relaxed);
    Ok(result)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// Direct I/O.
    Device,
    /// The page cache has none of the blocks.
    FileSystem,
    /// The page cache has all blocks.
    PageCache,
}

impl ReadPath {
    pub const ALL: [Self; 3] = [Self::Device, Self::FileSystem, Self::PageCache];
}

#[derive(Debug)]
pub struct PathProbe {
    plan: ProbePlan,
    scratch: Scratch,
}

impl PathProbe {
    /// Fails as [`run_probe`] does.
    pub fn fill(
        plan: &ProbePlan,
        event: &mut dyn FnMut(ProbeEvent),
        stop: &AtomicBool,
    ) -> Result<Self, HostError> {
        let (scratch, _) = filled(plan, event, stop)?;
        Ok(Self { plan: plan.clone(), scratch })
    }

    /// Each `turn` reads other random blocks. Fails if the file can't be put into the page cache.
    pub fn read(&self, path: ReadPath, turn: u64, stop: &AtomicBool) -> Result<ProbeStep, HostError> {
        let sessions = *self.plan.sync_sessions.first().unwrap_or(&1);
        let step = StepPlan { kind: StepKind::SyncRead, sessions_or_depth: sessions };
        let order = match path {
            ReadPath::FileSystem => {
                uncache(&self.scratch.reopen(false)?);
                Order::Once(sessions.into())
            }
            ReadPath::PageCache => {
                self.scratch.cache()?;
                Order::Random
            }
            ReadPath::Device => Order::Random,
        };
        let plan = ProbePlan { direct: path == ReadPath::Device, ..self.plan.of_turn(turn) };
        Ok(sessions::run(&plan, step, order, &self.scratch, stop, &AtomicU64::new(0)))
    }
}

/// The reads cover [`ProbePlan::file_bytes`].
pub fn time_reads(
    plan: &ProbePlan,
    readers: Vec<BlockTransfer<'_>>,
    stop: &AtomicBool,
) -> Result<ProbeStep, HostError> {
    plan.check()?;
    let step = StepPlan { kind: StepKind::SyncRead, sessions_or_depth: readers.len() as u32 };
    Ok(sessions::time(plan, step, Order::Random, readers, stop))
}

fn filled(
    plan: &ProbePlan,
    event: &mut dyn FnMut(ProbeEvent),
    stop: &AtomicBool,
) -> Result<(Scratch, ProbeStep), HostError> {
    /// Stream of the data; sessions use those from 0.
    const DATA_STREAM: u64 = u64::MAX;
    plan.check()?;
    let scratch = Scratch::create(&plan.dir)?;
    let total_bytes = plan.file_bytes;
    let free_bytes = free_space(&plan.dir)?;
    if free_bytes < total_bytes {
        let (path, needed_bytes) = (plan.dir.clone(), total_bytes);
        return Err(HostError::NotEnoughSpace { path, needed_bytes, free_bytes });
    }
    let file = scratch.reopen(plan.direct)?;
    let cpu_before = own_cpu().ok();
    let start = Instant::now();
    let mut random = Random::new(plan.seed, DATA_STREAM);
    let mut buffer = AlignedBuffer::new(FILL_BYTES as usize);
    random.fill(buffer.as_mut_slice());
    let mut latency = Histogram::new();
    let mut written_bytes = 0;
    while written_bytes < total_bytes && !stop.load(Ordering::Relaxed) {
        random.restamp(buffer.as_mut_slice());
        let before = Instant::now();
        file.write_all_at(buffer.as_mut_slice(), written_bytes)
            .map_err(HostError::io("fill the scratch file in", scratch.dir()))?;
        latency.record(nanoseconds(before.elapsed()));
        written_bytes += FILL_BYTES;
        event(ProbeEvent::Filling { written_bytes, total_bytes });
    }
    scratch.sync()?;
    let (seconds, cpu_s) = (start.elapsed().as_secs_f64(), cpu_since(cpu_before));
    let measured = Measured { latency, bytes_per_operation: FILL_BYTES, seconds, cpu_s };
    if !plan.direct {
        uncache(&file);
    }
    let step = StepPlan { kind: StepKind::SequentialWrite, sessions_or_depth: 1 };
    Ok((scratch, ProbeStep::measured(step, IoInterface::Pwrite, measured, None)))
}

fn uncache(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(test)]
mod tests;
