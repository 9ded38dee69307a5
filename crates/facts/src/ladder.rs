//! The mean time of a read, and of a commit, by the database's clock, split into what the kernel saw below.

use itertools::Itertools;
use slob_measure::{Counter, KernelTrace, LatencyKind, Span};
use slob_record::{Record, TraceRecord};
use slob_stats::Histogram;

use crate::format::{Percent, count, duration_us, plural};
use crate::measured::{mean_us, ratio};
use crate::thresholds::COUNTERS_DIFFER;

/// Microseconds. The parts add up to the whole.
pub struct Ladder<'a> {
    pub trace: &'a TraceRecord,
    /// [`READ`], [`COMMIT`], or [`FLUSH`] where the database does not time its commits.
    pub subject: &'static str,
    /// Absent if the database has no clock.
    database_us: Option<f64>,
    pub database: Option<&'a Histogram>,
    pub calls: Histogram,
    pub parts: Vec<Part>,
}

/// A part is negative if two clocks or two counts disagree.
pub struct Part {
    pub name: &'static str,
    pub us: f64,
}

pub const READ: &str = "read";
pub const COMMIT: &str = "commit";
pub const FLUSH: &str = "flush of the log";

pub const DATABASE: &str = "database";
/// With several sessions, a commit may wait for that of another.
pub const DATABASE_AND_OTHERS: &str = "database, and waiting for others";
pub const REST: &str = "rest of the call";

const PARTS_OF_READ: [(Span, &str); 6] = [
    (Span::ReadFromCache, "page cache"),
    (Span::ReadWaited, "waiting without a request"),
    (Span::ReadSubmit, "file system"),
    (Span::ReadInQueue, "queue"),
    (Span::ReadInDevice, "device"),
    (Span::ReadWakeUp, "wake-up"),
];
const PARTS_OF_SYNC: [(&[Span], &str); 6] = [
    (&[Span::LogSubmit], "file system"),
    (&[Span::LogInQueue], "queue"),
    (&[Span::LogInDevice], "device"),
    (&[Span::LogFlush], "device's flush"),
    (&[Span::LogJournal], "journal"),
    (&[Span::LogToFlush, Span::LogWakeUp], "wake-up"),
];

impl<'a> Ladder<'a> {
    pub fn of_reads(record: &'a Record) -> Option<Self> {
        let trace = record.trace.as_ref()?;
        let kernel = &trace.kernel;
        let cached = cached_share(trace)?;
        let calls = if cached > 0.0 { kernel.reads() } else { waited(kernel) };
        let mean_of = |span: Span| kernel.span(span).and_then(mean_us).unwrap_or(0.0);
        let waited = waited(kernel);
        let cached_us = cached * mean_of(Span::ReadFromCache);
        let call_us = cached_us + (1.0 - cached) * mean_us(&waited).unwrap_or(0.0);
        let part = |(span, name)| {
            let sum_ns = kernel.span(span).map_or(0, Histogram::sum) as f64;
            let us = ratio((1.0 - cached) * sum_ns / 1e3, waited.count() as f64).unwrap_or(0.0);
            Part { name, us: if span == Span::ReadFromCache { cached_us } else { us } }
        };
        let mut parts: Vec<Part> = PARTS_OF_READ.map(part).into();
        let known_us: f64 = parts.iter().map(|part| part.us).sum();
        parts.push(Part { name: REST, us: call_us - known_us });
        let database_us = database_us(trace);
        if let Some(database_us) = database_us {
            parts.insert(0, Part { name: DATABASE, us: database_us - call_us });
        }
        let database = own_durations(trace, LatencyKind::PhysicalRead);
        Some(Self { trace, subject: READ, database_us, database, calls, parts })
    }

    /// Sessions share flushes, so a mean commit has the share of all flushes that falls to it, and waits for the rest.
    pub fn of_commits(record: &'a Record) -> Option<Self> {
        let trace = record.trace.as_ref()?;
        let kernel = &trace.kernel;
        let calls = kernel.span(Span::LogSync)?.clone();
        let timed_us = |counter| trace.counters.get(counter).map(|ns| ns as f64 / 1e3);
        let (forced_us, written_us) = (timed_us(Counter::RedoSyncTimeNs), timed_us(Counter::RedoWriteTimeNs));
        let (subject, times, database_us, kind) = match timed_commits(trace) {
            Some((commits, us)) => (COMMIT, commits as f64, Some(us), LatencyKind::Commit),
            _ => {
                let flushes = trace.counters.get(Counter::RedoSyncs).filter(|flushes| *flushes > 0);
                let flushes = flushes.unwrap_or(calls.count()) as f64;
                let us = forced_us.map(|us| (us + written_us.unwrap_or(0.0)) / flushes);
                (FLUSH, flushes, us, LatencyKind::RedoSync)
            }
        };
        let us = |span| kernel.span(span).map_or(0.0, |durations| durations.sum() as f64 / 1e3 / times);
        // A clock of syncs alone says nothing of writes.
        let is_written = subject == COMMIT || forced_us.is_none() || written_us.is_some();
        let write_us = if is_written { us(Span::LogWrite) } else { 0.0 };
        let mut parts = vec![Part { name: "write calls", us: write_us }];
        parts.extend(
            PARTS_OF_SYNC.map(|(spans, name)| Part { name, us: spans.iter().map(|span| us(*span)).sum() }),
        );
        let call_us = write_us + us(Span::LogSync);
        let known_us: f64 = parts.iter().map(|part| part.us).sum();
        parts.push(Part { name: REST, us: call_us - known_us });
        if let Some(database_us) = database_us {
            let waits = subject == COMMIT && committers(record) > 1;
            let name = if waits { DATABASE_AND_OTHERS } else { DATABASE };
            parts.insert(0, Part { name, us: database_us - call_us });
        }
        Some(Self { trace, subject, database_us, database: own_durations(trace, kind), calls, parts })
    }

    pub fn whole_us(&self) -> f64 {
        self.parts.iter().map(|part| part.us).sum()
    }

    pub fn parts_words(&self) -> String {
        const LEAST: f64 = 0.01;
        let whole_us = self.whole_us();
        let parts = self.parts.iter().filter(|part| part.us > LEAST * whole_us);
        let words = |part: &Part| {
            let share = ratio(100.0 * part.us, whole_us).map(|share| format!(" ({} %)", Percent(share)));
            format!("{} {}{}", part.name, duration_us(part.us), share.unwrap_or_default())
        };
        let parts = parts.sorted_by(|a, b| b.us.total_cmp(&a.us)).map(words).join(", ");
        let clock = if self.database_us.is_some() { "the database's clock" } else { "the kernel's clock" };
        format!("A {} takes {} by {clock}: {parts}.", self.subject, duration_us(whole_us))
    }

    /// Commits share flushes; `None` where nothing committed.
    pub fn log_words(&self, record: &Record) -> Option<String> {
        let commits = commits(self.trace)?;
        let per_s = ratio(commits as f64, self.trace.seconds)?;
        let flushes = self.trace.counters.get(Counter::RedoSyncs).unwrap_or(self.calls.count());
        let shared = ratio(commits as f64, flushes as f64).filter(|shared| *shared >= 1.05);
        let shared = shared.map(|shared| format!("; a flush serves {shared:.1} of them")).unwrap_or_default();
        let sessions = plural(committers(record).into(), "session");
        let begins = match self.subject {
            FLUSH => " This database does not time its commits, so these figures begin at the flush.",
            _ => "",
        };
        Some(format!(
            "The log carries {} commits/s with {sessions}{shared}.{begins}",
            count(per_s.round() as u64)
        ))
    }

    /// The slowest reads: those beyond a power of two, about one of a thousand.
    pub fn tail_words(&self) -> Option<String> {
        const RARE: f64 = 0.002;
        const ENOUGH: u64 = 20;
        let reads = self.trace.kernel.span(Span::ReadFromDevice)?.count() as f64;
        let mut slow = self.trace.kernel.slow_reads.iter();
        let (ns, slow) = slow.find(|(_, slow)| (slow.reads as f64) < RARE * reads)?;
        if slow.reads < ENOUGH {
            return None;
        }
        let share = ratio(100.0 * slow.in_device as f64, slow.reads as f64)?;
        let whose = match share {
            80.0.. => "The tail is the device's",
            20.0.. => "The tail is the device's in part",
            _ => "The tail is not the device's",
        };
        let from = duration_us(*ns as f64 / 1e3);
        Some(format!(
            "{whose}: of {} of {from} or more, {} % were as long in the device.",
            plural(slow.reads, "read"),
            Percent(share)
        ))
    }

    pub fn page_cache_words(&self) -> Option<String> {
        let cached = Some(100.0 * cached_share(self.trace)?).filter(|percent| *percent >= 1.0)?;
        let cached = Percent(cached);
        Some(format!("{cached} % of the reads came from the page cache, without a request to a device."))
    }

    pub fn neighbours_words(&self) -> Option<String> {
        let count = |spans: &[Span]| -> u64 {
            spans.iter().filter_map(|span| self.trace.kernel.span(*span)).map(Histogram::count).sum()
        };
        let others = count(&[Span::NeighbourRead, Span::NeighbourWrite]);
        let own = count(&[Span::ReadInDevice, Span::WriteInDevice]);
        let share = ratio(100.0 * others as f64, (own + others) as f64).filter(|share| *share >= 1.0)?;
        Some(format!(
            "Others sent {} % of the requests to these devices, the kernel's own writing of dirty pages included. They are not in \
             the figures above.",
            Percent(share)
        ))
    }
}

fn waited(kernel: &KernelTrace) -> Histogram {
    let mut waited = kernel.span(Span::ReadFromDevice).cloned().unwrap_or_default();
    kernel.span(Span::ReadWaited).into_iter().for_each(|more| waited.merge(more));
    waited
}

/// Servers read more than their data: by the database's count, calls that waited may be all of its reads.
pub fn cached_share(trace: &TraceRecord) -> Option<f64> {
    let cached = trace.kernel.span(Span::ReadFromCache).map_or(0, Histogram::count) as f64;
    let waited = waited(&trace.kernel).count() as f64;
    let by_calls = ratio(cached, cached + waited)?;
    let by_database = database_reads(trace).and_then(|reads| ratio(reads as f64 - waited, reads as f64));
    let by_database = by_database.map(|share| if share < COUNTERS_DIFFER.share() { 0.0 } else { share });
    Some(by_database.map_or(by_calls, |share| share.min(by_calls)))
}

pub fn database_reads(trace: &TraceRecord) -> Option<u64> {
    let requests = trace.counters.get(Counter::PhysicalReadRequests);
    requests.or_else(|| trace.counters.get(Counter::PhysicalReads)).filter(|reads| *reads > 0)
}

fn own_durations(trace: &TraceRecord, kind: LatencyKind) -> Option<&Histogram> {
    let latency = trace.latencies.get(kind).filter(|own| own.exact.is_none());
    latency.map(|latency| &latency.histogram).filter(|durations| !durations.is_empty())
}

/// Their number and mean.
fn timed_commits(trace: &TraceRecord) -> Option<(u64, f64)> {
    let latency = trace.latencies.get(LatencyKind::Commit)?;
    let commits = latency.exact.map_or(latency.histogram.count(), |exact| exact.waits);
    Some((commits, latency.mean_us()?))
}

/// A database may count transactions that only read.
fn commits(trace: &TraceRecord) -> Option<u64> {
    let timed = timed_commits(trace).map(|(commits, _)| commits);
    timed.or_else(|| trace.counters.get(Counter::Commits)).filter(|commits| *commits > 0)
}

/// Sessions that may commit.
fn committers(record: &Record) -> u32 {
    let workload = &record.workload;
    workload.roles().map_or_else(|| workload.sessions(), |roles| roles.writers)
}

fn database_us(trace: &TraceRecord) -> Option<f64> {
    let timed = trace.latencies.get(LatencyKind::PhysicalRead).and_then(|latency| latency.mean_us());
    let time_us = || Some(trace.counters.get(Counter::PhysicalReadTimeNs)? as f64 / 1e3);
    timed.or_else(|| ratio(time_us()?, database_reads(trace)? as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grade, Question, verdicts};
    use slob_measure::{Counters, Latencies, SlowReads};
    use slob_testing::records::{self, durations, traced, with_commits};

    #[test]
    fn the_parts_of_a_read_add_up_to_what_the_database_says() {
        let record = traced(records::direct_read_run(), 0);
        let ladder = Ladder::of_reads(&record).unwrap();
        let parts: Vec<_> = ladder.parts.iter().map(|part| (part.name, part.us.round())).collect();
        let expected = [
            ("database", 20.0),
            ("page cache", 0.0),
            ("waiting without a request", 0.0),
            ("file system", 5.0),
            ("queue", 10.0),
            ("device", 120.0),
            ("wake-up", 40.0),
            ("rest of the call", 5.0),
        ];
        assert_eq!(parts, expected);
        assert!((ladder.whole_us() - 200.0).abs() < 2.0);
        let words = ladder.parts_words();
        assert!(
            words.contains(
                "A read takes 200 us by the database's clock: device 120 us (60.0 %), wake-up 40.0 us"
            ),
            "{words}"
        );
    }

    #[test]
    fn without_a_clock_of_the_database_the_ladder_begins_at_the_call() {
        let mut record = traced(records::direct_read_run(), 0);
        record.trace.as_mut().unwrap().latencies = Latencies::default();
        let ladder = Ladder::of_reads(&record).unwrap();
        assert!((ladder.whole_us() - 180.0).abs() < 2.0);
        assert!(ladder.parts_words().contains("by the kernel's clock"), "{}", ladder.parts_words());
    }

    #[test]
    fn the_parts_of_a_commit_add_up_to_what_its_session_waits() {
        let mut record = with_commits(traced(records::direct_read_run(), 0));
        let named = |ladder: &Ladder<'_>| -> Vec<(&str, f64)> {
            ladder.parts.iter().map(|part| (part.name, part.us.round())).collect()
        };
        let below = [
            ("write calls", 20.0),
            ("file system", 10.0),
            ("queue", 5.0),
            ("device", 85.0),
            ("device's flush", 400.0),
            ("journal", 50.0),
            ("wake-up", 25.0),
            ("rest of the call", 5.0),
        ];
        let ladder = Ladder::of_commits(&record).unwrap();
        let expected: Vec<_> = [(DATABASE_AND_OTHERS, 400.0)].into_iter().chain(below).collect();
        assert_eq!((ladder.subject, named(&ladder)), (COMMIT, expected));
        assert!((ladder.whole_us() - 1000.0).abs() < 10.0, "{}", ladder.whole_us());
        let words = ladder.parts_words();
        let begin = "A commit takes 1.00 ms by the database's clock: ";
        assert!(words.starts_with(begin) && words.contains("device's flush 400 us (40."), "{words}");
        let carried = ladder.log_words(&record).unwrap();
        assert!(carried.contains("carries 200 commits/s with 4 sessions; a flush serves 2.0"), "{carried}");
        // A database that times its flushes alone.
        let trace = record.trace.as_mut().unwrap();
        trace.latencies = Latencies::default();
        trace.counters.set(Counter::RedoSyncTimeNs, 1_200_000_000);
        let ladder = Ladder::of_commits(&record).unwrap();
        let flush: Vec<_> = below[1..].iter().map(|(name, us)| (*name, 2.0 * us)).collect();
        let expected: Vec<_> = [(DATABASE, 40.0), ("write calls", 0.0)].into_iter().chain(flush).collect();
        assert_eq!((ladder.subject, named(&ladder)), (FLUSH, expected));
        assert!(ladder.log_words(&record).unwrap().contains("begin at the flush"));
        record.trace.as_mut().unwrap().counters = Counters::default();
        let ladder = Ladder::of_commits(&record).unwrap();
        assert!(ladder.parts_words().starts_with("A flush of the log takes 1.20 ms by the kernel's clock"));
        assert!(ladder.log_words(&record).is_none());
    }

    #[test]
    fn the_tail_is_whose_slow_reads_were_slow_there() {
        let mut record = traced(records::direct_read_run(), 0);
        for (in_device, words) in
            [(29, "is the device's:"), (12, "is the device's in part"), (3, "is not the device's")]
        {
            let trace = &mut record.trace.as_mut().unwrap().kernel;
            trace.spans.insert(Span::ReadFromDevice, durations(&[(180, 100_000)]));
            let slow = |reads, in_device| SlowReads { reads, in_device };
            trace.slow_reads = [(1 << 10, slow(100_000, 100_000)), (1 << 21, slow(30, in_device))].into();
            let tail = Ladder::of_reads(&record).unwrap().tail_words().unwrap();
            assert!(tail.contains(words) && tail.contains("30 reads of 2.10 ms or more"), "{tail}");
        }
    }

    #[test]
    fn reads_from_the_page_cache_decide_physical_read_by_read() {
        let physical = |record: &Record| {
            let verdict =
                verdicts(record).into_iter().find(|one| one.question == Question::Physical).unwrap();
            (verdict.answer, verdict.sentence())
        };
        let (answer, words) = physical(&traced(records::direct_read_run(), 900));
        assert_eq!(answer, Grade::Bad, "{words}");
        assert!(words.contains("10.0 % waited for their data"), "{words}");
        let (answer, words) = physical(&traced(records::direct_read_run(), 0));
        assert_eq!(answer, Grade::Good, "{words}");
    }
}
