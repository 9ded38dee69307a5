//! Durable writes, as databases make them for a log: through the page cache, and flushed to stable storage.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;

use rustix::io::ReadWriteFlags;
use serde::{Deserialize, Serialize};

use super::result::ProbeStep;
use super::scratch::{Random, Scratch};
use super::sessions::{self, BlockTransfer, Order};
use super::{ProbePlan, StepKind, StepPlan};
use crate::{Device, HostError};

/// So the default steps take ten seconds, with their files.
pub(super) const MOST_SECONDS: f64 = 0.9;
/// Overwritten bytes of all streams, as large as a segment of PostgreSQL's log. A multiple of each step's flush.
const OVERWRITTEN_BYTES: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurableWrite {
    /// Each record has so many.
    pub bytes: u32,
    /// Records that share a flush.
    pub records: u32,
    pub flush: Flush,
    /// The file grows; otherwise its blocks are overwritten in order.
    pub appended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    Fdatasync,
    /// Each write is a flush.
    #[serde(rename = "o_dsync")]
    Dsync,
}

impl DurableWrite {
    /// PostgreSQL's and InnoDB's logs have allocated blocks.
    pub const COMMIT: Self = Self { bytes: 8192, records: 1, flush: Flush::Fdatasync, appended: false };

    pub fn bytes_per_flush(self) -> u64 {
        u64::from(self.bytes) * u64::from(self.records)
    }

    /// The rate of commits by streams, and then what another write would change.
    pub(super) fn steps() -> impl Iterator<Item = StepPlan> {
        let commit = Self::COMMIT;
        let appended = Self { appended: true, ..commit };
        let steps = [
            (1, commit),
            (4, commit),
            (16, commit),
            (1, Self { records: 16, ..commit }),
            (1, appended),
            (16, appended),
            (1, Self { flush: Flush::Dsync, ..commit }),
            (1, Self { bytes: 512, ..commit }),
            (1, Self { bytes: 65_536, ..commit }),
        ];
        let step =
            |(streams, write)| StepPlan { kind: StepKind::DurableWrite(write), sessions_or_depth: streams };
        steps.into_iter().map(step)
    }
}

pub(super) fn run(
    plan: &ProbePlan,
    step: StepPlan,
    write: DurableWrite,
    device: Option<&Device>,
    stop: &AtomicBool,
) -> ProbeStep {
    let file_bytes = OVERWRITTEN_BYTES / u64::from(step.sessions_or_depth);
    let opened = (0..step.sessions_or_depth).map(|_| open(plan, write, file_bytes));
    let files: Vec<File> = match opened.collect() {
        Ok(files) => files,
        Err(e) => return ProbeStep::failed(step, e.to_string()),
    };
    let transfers = files.iter().map(|file| -> BlockTransfer<'_> {
        let mut end = 0;
        Box::new(move |flushed, _| {
            if !write.appended && end >= file_bytes {
                end = 0;
            }
            for record in flushed.chunks(write.bytes as usize) {
                match write.flush {
                    Flush::Fdatasync => file.write_all_at(record, end)?,
                    Flush::Dsync => write_durably(file, record, end)?,
                }
                end += record.len() as u64;
            }
            if write.flush == Flush::Fdatasync { file.sync_data() } else { Ok(()) }
        })
    });
    let block_bytes = write.bytes_per_flush() as u32;
    let seconds_per_step = plan.seconds_of(step);
    let plan = ProbePlan { block_bytes, seconds_per_step, buffer_blocks: 1, ..plan.clone() };
    let counters = || device.and_then(|device| device.counters().ok()?);
    let before = counters();
    let done = sessions::time(&plan, step, Order::Random, transfers.collect(), stop);
    let device = before.and_then(|before| counters()?.since(&before));
    ProbeStep { device, ..done }
}

/// The flag does for a write what `O_DSYNC` does for a file.
fn write_durably(file: &File, record: &[u8], offset: u64) -> io::Result<()> {
    let written = rustix::io::pwritev2(file, &[IoSlice::new(record)], offset, ReadWriteFlags::DSYNC)?;
    if written == record.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Blocks that are overwritten are on stable storage before.
fn open(plan: &ProbePlan, write: DurableWrite, file_bytes: u64) -> Result<File, HostError> {
    /// No stream of the sessions, and none of the scratch file.
    const DATA_STREAM: u64 = u64::MAX - 1;
    let scratch = Scratch::create(&plan.dir)?;
    if !write.appended {
        let mut data = vec![0; file_bytes as usize];
        Random::new(plan.seed, DATA_STREAM).fill(&mut data);
        let file = scratch.reopen(false)?;
        // A write pays for all blocks of its folio in the page cache, which is as large as the write that made it.
        let mut records = (0..).step_by(write.bytes as usize).zip(data.chunks(write.bytes as usize));
        let filled = records.try_for_each(|(offset, record)| file.write_all_at(record, offset));
        filled.map_err(HostError::io("fill a log in", &plan.dir))?;
    }
    scratch.sync()?;
    scratch.reopen(false)
}
