//! Counters of the I/O that SQLite does, kept where it happens.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Instant;

use rustix::io::Errno;
use slob_engine::lock;
use slob_stats::{Histogram, SharedHistogram};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransferTotals {
    pub bytes: u64,
    pub ns: Histogram,
}

impl TransferTotals {
    pub fn count(&self) -> u64 {
        self.ns.count()
    }

    fn add(&mut self, transfers: &Transfers) {
        self.bytes += transfers.bytes.load(Relaxed);
        if let Some(ns) = transfers.ns.get() {
            self.ns.merge(&ns.snapshot());
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IoTotals {
    pub page_reads: TransferTotals,
    /// Checkpoints write them, or commits without a write-ahead log.
    pub page_writes: TransferTotals,
    pub file_syncs: TransferTotals,
    /// Two for each frame: header and page.
    pub log_writes: TransferTotals,
    pub log_syncs: TransferTotals,
}

impl IoTotals {
    fn add(&mut self, file: &FileMeter) {
        let (writes, syncs) = match file.kind {
            FileKind::Main => (&mut self.page_writes, &mut self.file_syncs),
            FileKind::Log => (&mut self.log_writes, &mut self.log_syncs),
        };
        writes.add(&file.writes);
        syncs.add(&file.syncs);
        self.page_reads.add(&file.reads);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Main,
    Log,
}

/// One thread writes. A histogram takes 19 KB and is made with the first transfer, as most sessions never write.
#[derive(Default)]
pub(super) struct Transfers {
    bytes: AtomicU64,
    ns: OnceLock<SharedHistogram>,
}

impl Transfers {
    #[inline]
    pub(super) fn record(&self, start: Instant, bytes: u64) {
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.ns.get_or_init(SharedHistogram::new).record(ns);
        self.bytes.store(self.bytes.load(Relaxed) + bytes, Relaxed);
    }
}

pub(super) struct FileMeter {
    pub(super) kind: FileKind,
    pub(super) reads: Transfers,
    pub(super) writes: Transfers,
    pub(super) syncs: Transfers,
}

impl FileMeter {
    pub(super) fn new(kind: FileKind) -> Self {
        Self { kind, reads: Transfers::default(), writes: Transfers::default(), syncs: Transfers::default() }
    }
}

/// SQLite itself only reports 'unable to open' or 'disk I/O error'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IoFault {
    #[error(
        "{path}: this file system does not support direct I/O (O_DIRECT); put the data on one that does (ext4, xfs), or use --buffered to measure through the page cache of the operating system"
    )]
    NoDirectIo { path: String },
    #[error("opening {path} failed: {errno}")]
    Open { path: String, errno: Errno },
    #[error("{action} of {path} at byte {offset} failed: {errno}")]
    Transfer { action: &'static str, path: String, offset: u64, errno: Errno },
}

#[derive(Default)]
struct State {
    open: Vec<Arc<FileMeter>>,
    closed: IoTotals,
    faults: HashMap<ThreadId, IoFault>,
}

/// Sums of the connections opened for one purpose, closed ones included.
pub struct Meter {
    pub(super) id: i64,
    state: Shared,
}

#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<State>>);

static METERS: Mutex<BTreeMap<i64, Shared>> = Mutex::new(BTreeMap::new());
static NEXT_ID: AtomicI64 = AtomicI64::new(1);

impl Default for Meter {
    fn default() -> Self {
        let (id, state) = (NEXT_ID.fetch_add(1, Relaxed), Shared::default());
        lock(&METERS).insert(id, state.clone());
        Self { id, state }
    }
}

impl Meter {
    pub fn totals(&self) -> IoTotals {
        let state = lock(&self.state.0);
        let mut totals = state.closed.clone();
        state.open.iter().for_each(|file| totals.add(file));
        totals
    }

    /// Faults are kept by thread.
    pub fn take_fault(&self) -> Option<IoFault> {
        lock(&self.state.0).faults.remove(&thread::current().id())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        lock(&METERS).remove(&self.id);
    }
}

impl Shared {
    /// Without a meter of that number, a file counts for itself.
    pub(super) fn find(id: i64) -> Self {
        lock(&METERS).get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn open(&self, file: FileMeter) -> Arc<FileMeter> {
        let file = Arc::new(file);
        lock(&self.0).open.push(Arc::clone(&file));
        file
    }

    pub(super) fn close(&self, file: &Arc<FileMeter>) {
        let mut state = lock(&self.0);
        if let Some(at) = state.open.iter().position(|open| Arc::ptr_eq(open, file)) {
            state.open.swap_remove(at);
            state.closed.add(file);
        }
    }

    pub(super) fn set_fault(&self, fault: IoFault) {
        lock(&self.0).faults.insert(thread::current().id(), fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(meter: &Meter, kind: FileKind) -> Arc<FileMeter> {
        Shared::find(meter.id).open(FileMeter::new(kind))
    }

    #[test]
    fn closed_files_still_count() {
        let meter = Meter::default();
        let (first, second) = (open(&meter, FileKind::Main), open(&meter, FileKind::Main));
        first.reads.record(Instant::now(), 8192);
        second.reads.record(Instant::now(), 8192);
        let totals = meter.totals();
        assert_eq!((totals.page_reads.count(), totals.page_reads.bytes), (2, 16_384));
        Shared::find(meter.id).close(&first);
        assert_eq!(meter.totals(), totals);
        Shared::find(meter.id).close(&first);
        assert_eq!(meter.totals(), totals, "a file is not counted twice");
    }

    #[test]
    fn logs_and_main_files_are_counted_separately() {
        let meter = Meter::default();
        open(&meter, FileKind::Main).writes.record(Instant::now(), 1);
        open(&meter, FileKind::Log).writes.record(Instant::now(), 10);
        open(&meter, FileKind::Log).syncs.record(Instant::now(), 0);
        let totals = meter.totals();
        assert_eq!((totals.page_writes.bytes, totals.log_writes.bytes), (1, 10));
        assert_eq!((totals.file_syncs.count(), totals.log_syncs.count()), (0, 1));
    }

    #[test]
    fn meters_do_not_mix_and_faults_are_reported_once() {
        let (one, other) = (Meter::default(), Meter::default());
        open(&one, FileKind::Main).reads.record(Instant::now(), 1);
        Shared::find(one.id).set_fault(IoFault::NoDirectIo { path: "/x".into() });
        assert_eq!((one.totals().page_reads.count(), other.totals().page_reads.count()), (1, 0));
        assert!(other.take_fault().is_none() && one.take_fault().is_some() && one.take_fault().is_none());
    }
}
