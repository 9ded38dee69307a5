//! Durations of a server's I/O, counted by its kernel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slob_stats::Histogram;
use strum::{EnumString, IntoStaticStr};

use crate::counters::known_names;

/// A part of a read, a write or a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[repr(i32)]
pub enum Span {
    /// Block reads from the page cache.
    ReadFromCache,
    /// Block reads that caused requests.
    ReadFromDevice,
    /// Block reads that waited without requests: another thread reads the block, or a control group throttles.
    ReadWaited,
    /// Time from the call to its first queued request.
    ReadSubmit,
    /// Reads from the queue to the driver.
    ReadInQueue,
    /// Reads from the driver to the answer.
    ReadInDevice,
    /// Time from the last answer to the end of the call: interrupt, CPU, copying.
    ReadWakeUp,
    /// Calls that write 512 bytes or more.
    Write,
    /// Writes from the queue to the driver.
    WriteInQueue,
    /// Writes from the driver to the answer.
    WriteInDevice,
    /// fsync and fdatasync.
    Sync,
    /// Others' reads on these devices.
    NeighbourRead,
    /// Others' writes on these devices, with the kernel's own.
    NeighbourWrite,
    /// Calls that write into the log without requests.
    LogWrite,
    /// Calls that force the log: fsync, fdatasync, and writes that caused requests.
    LogSync,
    /// Time from such a call to its first queued request, and between its requests.
    LogSubmit,
    /// From there to the driver.
    LogInQueue,
    /// From the driver to the last answer with data, without the time between requests.
    LogInDevice,
    /// Time from there to the queue of the flush: interrupt, CPU, file system.
    LogToFlush,
    /// Flushes of the device's cache, from the queue to the answer.
    LogFlush,
    /// Time from the call's own last answer to that of the file system's journal.
    LogJournal,
    /// Time from the last answer to the end of the call.
    LogWakeUp,
}

impl Span {
    /// All spans by their numbers.
    pub const ALL: [Self; 22] = [
        Self::ReadFromCache,
        Self::ReadFromDevice,
        Self::ReadWaited,
        Self::ReadSubmit,
        Self::ReadInQueue,
        Self::ReadInDevice,
        Self::ReadWakeUp,
        Self::Write,
        Self::WriteInQueue,
        Self::WriteInDevice,
        Self::Sync,
        Self::NeighbourRead,
        Self::NeighbourWrite,
        Self::LogWrite,
        Self::LogSync,
        Self::LogSubmit,
        Self::LogInQueue,
        Self::LogInDevice,
        Self::LogToFlush,
        Self::LogFlush,
        Self::LogJournal,
        Self::LogWakeUp,
    ];

    /// Name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Reads that took some time or longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowReads {
    /// Number of these reads.
    pub reads: u64,
    /// Their requests spent as much time in the device.
    pub in_device: u64,
}

/// Requests of one kind and size at one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Name of the device.
    pub device: String,
    /// [`Span::name`] of the time in the device.
    pub span: String,
    /// Largest power of two that the size reaches.
    pub bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Time in the device.
    pub time_ns: u64,
}

/// Counts of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelTrace {
    /// Spans that did not occur are absent.
    #[serde(deserialize_with = "known_names")]
    pub spans: BTreeMap<Span, Histogram>,
    /// Keys are powers of two, in nanoseconds.
    pub slow_reads: BTreeMap<u64, SlowReads>,
    /// Requests by device, kind and size.
    pub requests: Vec<Requests>,
}

impl KernelTrace {
    /// `None` if it did not occur.
    pub fn span(&self, span: Span) -> Option<&Histogram> {
        self.spans.get(&span).filter(|histogram| !histogram.is_empty())
    }

    /// All reads of whole blocks.
    pub fn reads(&self) -> Histogram {
        let mut all = Histogram::new();
        let spans = [Span::ReadFromCache, Span::ReadFromDevice, Span::ReadWaited];
        spans.into_iter().filter_map(|span| self.span(span)).for_each(|one| all.merge(one));
        all
    }

    /// Counts since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let spans = self.spans.iter().map(|(span, now)| {
            (*span, earlier.spans.get(span).map_or_else(|| now.clone(), |before| now.since(before)))
        });
        let slow_reads = self.slow_reads.iter().map(|(ns, now)| {
            let before = earlier.slow_reads.get(ns).copied().unwrap_or_default();
            let reads = now.reads.saturating_sub(before.reads);
            (*ns, SlowReads { reads, in_device: now.in_device.saturating_sub(before.in_device) })
        });
        let requests = self.requests.iter().map(|now| {
            let is_same = |before: &&Requests| {
                (&before.device, &before.span, before.bytes) == (&now.device, &now.span, now.bytes)
            };
            let before = earlier.requests.iter().find(is_same);
            let (requests, time_ns) = before.map_or((0, 0), |before| (before.requests, before.time_ns));
            Requests {
                requests: now.requests.saturating_sub(requests),
                time_ns: now.time_ns.saturating_sub(time_ns),
                ..now.clone()
            }
        });
        Self {
            spans: spans.filter(|(_, durations)| !durations.is_empty()).collect(),
            slow_reads: slow_reads.filter(|(_, slow)| slow.reads > 0).collect(),
            requests: requests.filter(|some| some.requests > 0).collect(),
        }
    }

    /// Adds another host's counts.
    pub fn add(&mut self, other: &Self) {
        for (span, durations) in &other.spans {
            self.spans.entry(*span).or_default().merge(durations);
        }
        for (ns, slow) in &other.slow_reads {
            let sum = self.slow_reads.entry(*ns).or_default();
            sum.reads = sum.reads.saturating_add(slow.reads);
            sum.in_device = sum.in_device.saturating_add(slow.in_device);
        }
        self.requests.extend(other.requests.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(reads: &[u64], requests: u64) -> KernelTrace {
        let mut durations = Histogram::new();
        reads.iter().for_each(|ns| durations.record(*ns));
        let slow = SlowReads { reads: requests, in_device: requests / 2 };
        let of_device = Requests {
            device: "vda".into(),
            span: Span::ReadInDevice.name().into(),
            bytes: 8192,
            requests,
            time_ns: 100 * requests,
        };
        KernelTrace {
            spans: [(Span::ReadFromDevice, durations)].into(),
            slow_reads: [(1 << 20, slow)].into(),
            requests: vec![of_device],
        }
    }

    #[test]
    fn a_trace_between_two_moments_holds_what_was_counted_there() {
        let (before, after) = (trace(&[100], 2), trace(&[100, 7, 7], 6));
        assert_eq!(after.since(&before), trace(&[7, 7], 4));
        assert_eq!(after.since(&after), KernelTrace::default());
        let mut both = trace(&[7, 7], 4);
        both.add(&trace(&[5], 1));
        assert_eq!(both.reads().count(), 3);
        assert_eq!(both.slow_reads[&(1 << 20)], SlowReads { reads: 5, in_device: 2 });
    }

    #[test]
    fn a_saved_trace_reads_back_without_spans_of_other_releases() {
        let text = serde_json::to_string(&trace(&[7], 1)).unwrap();
        assert_eq!(serde_json::from_str::<KernelTrace>(&text).unwrap(), trace(&[7], 1));
        let other = text.replace("read_from_device", "read_from_the_moon");
        assert!(serde_json::from_str::<KernelTrace>(&other).unwrap().spans.is_empty());
        assert!(Span::ALL.iter().enumerate().all(|(number, span)| *span as usize == number));
    }
}
