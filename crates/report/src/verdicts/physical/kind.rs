//! What kind of a load it was: reads of the storage, cached reads, or writes.

use slob_measure::{Counter, LatencyKind};
use slob_record::Record;

use crate::counters::{counter, ratio};
use crate::figure::{self, Figures};
use crate::format::{fixed, percent};
use crate::latencies::latency_sum_s;

/// Above this hit ratio a run is a test of cached (logical) reads, and meant as one.
const CACHED_HIT_PERCENT: f64 = 99.0;
/// Above this share of DB time, writes and forced writes of the log are a load of their own.
const WRITES_PERCENT_OF_DB_TIME: f64 = 10.0;
/// Above this much log the storage has to write it, whoever waits for that.
const REDO_MB_PER_S: f64 = 1.0;

/// Whether the run read and wrote hardly anything physically, as a test of cached reads does on purpose.
pub(in crate::verdicts) fn is_cached_test(record: &Record, figures: &Figures<'_>) -> bool {
    hardly_reads(record, figures) && writes(record, figures).is_none()
}

/// Whether next to all block visits hit the buffer cache.
pub(super) fn hardly_reads(record: &Record, figures: &Figures<'_>) -> bool {
    counter(record, Counter::PhysicalReads) == Some(0)
        || figure::HIT_PERCENT.of(figures).is_some_and(|hits| hits > CACHED_HIT_PERCENT)
}

/// How much was written, in words, if that is a load of its own.
pub(super) fn writes(record: &Record, figures: &Figures<'_>) -> Option<String> {
    let redo = figure::REDO_MB_PER_S.of(figures);
    let share = percent_of_db_time(record, figures);
    let heavy = redo.is_some_and(|mb| mb > REDO_MB_PER_S)
        || share.is_some_and(|share| share > WRITES_PERCENT_OF_DB_TIME);
    let redo = redo.map(|mb| format!("{} MB/s of redo", fixed(mb, 1)));
    let what = if record.server.embedded { "page writes and redo syncs" } else { "redo syncs" };
    let share = share.map(|share| format!("{} % of DB time for {what}", percent(share)));
    heavy.then(|| redo.into_iter().chain(share).collect::<Vec<_>>().join(", "))
}

/// Forced writes of the log, and the pages that the sessions of an embedded database write themselves, in percent of DB
/// time; `None` if neither was measured. A server's pages are written by processes of its own, on nobody's DB time.
fn percent_of_db_time(record: &Record, figures: &Figures<'_>) -> Option<f64> {
    let kinds: &[LatencyKind] = if record.server.embedded {
        &[LatencyKind::PhysicalWrite, LatencyKind::RedoSync]
    } else {
        &[LatencyKind::RedoSync]
    };
    let seconds =
        kinds.iter().filter_map(|kind| latency_sum_s(record, *kind)).reduce(|all, one| all + one)?;
    ratio(100.0 * seconds, figure::DB_TIME_S.of(figures)?)
}
