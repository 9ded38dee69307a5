//! The mean time of a read by the database's clock, split into what the kernel saw below.

use itertools::Itertools;
use slob_measure::{Counter, KernelTrace, LatencyKind, Span};
use slob_record::{Record, TraceRecord};
use slob_stats::Histogram;

use crate::format::{Percent, duration_us, plural};
use crate::measured::{mean_us, ratio};
use crate::thresholds::COUNTERS_DIFFER;

/// Microseconds. The parts add up to the whole.
pub struct Ladder<'a> {
    pub trace: &'a TraceRecord,
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

pub const DATABASE: &str = "database";
pub const REST: &str = "rest of the call";

const PARTS: [(Span, &str); 6] = [
    (Span::ReadFromCache, "page cache"),
    (Span::ReadWaited, "waiting without a request"),
    (Span::ReadSubmit, "file system"),
    (Span::ReadInQueue, "queue"),
    (Span::ReadInDevice, "device"),
    (Span::ReadWakeUp, "wake-up"),
];

impl<'a> Ladder<'a> {
    pub fn of(record: &'a Record) -> Option<Self> {
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
        let mut parts: Vec<Part> = PARTS.map(part).into();
        let known_us: f64 = parts.iter().map(|part| part.us).sum();
        parts.push(Part { name: REST, us: call_us - known_us });
        let database_us = database_us(trace);
        if let Some(database_us) = database_us {
            parts.insert(0, Part { name: DATABASE, us: database_us - call_us });
        }
        let latency = trace.latencies.get(LatencyKind::PhysicalRead).filter(|own| own.exact.is_none());
        let database = latency.map(|latency| &latency.histogram).filter(|durations| !durations.is_empty());
        Some(Self { trace, database_us, database, calls, parts })
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
            format!("{} took {}{}", part.name, duration_us(part.us), share.unwrap_or_default())
        };
        let parts = parts.sorted_by(|a, b| b.us.total_cmp(&a.us)).map(words).join(", ");
        let clock = if self.database_us.is_some() { "the database's clock" } else { "the kernel's clock" };
        format!("Of {} that a read takes by {clock}: {parts}.", duration_us(whole_us))
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

fn database_us(trace: &TraceRecord) -> Option<f64> {
    let timed = trace.latencies.get(LatencyKind::PhysicalRead).and_then(|latency| latency.mean_us());
    let time_us = || Some(trace.counters.get(Counter::PhysicalReadTimeNs)? as f64 / 1e3);
    timed.or_else(|| ratio(time_us()?, database_reads(trace)? as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grade, Question, verdicts};
    use slob_measure::{Latencies, SlowReads};
    use slob_testing::records::{self, durations, traced};

    #[test]
    fn the_parts_of_a_read_add_up_to_what_the_database_says() {
        let record = traced(records::direct_read_run(), 0);
        let ladder = Ladder::of(&record).unwrap();
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
            words.contains("by the database's clock: device took 120 us (60.0 %), wake-up took 40"),
            "{words}"
        );
    }

    #[test]
    fn without_a_clock_of_the_database_the_ladder_begins_at_the_call() {
        let mut record = traced(records::direct_read_run(), 0);
        record.trace.as_mut().unwrap().latencies = Latencies::default();
        let ladder = Ladder::of(&record).unwrap();
        assert!((ladder.whole_us() - 180.0).abs() < 2.0);
        assert!(ladder.parts_words().contains("by the kernel's clock"), "{}", ladder.parts_words());
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
            let tail = Ladder::of(&record).unwrap().tail_words().unwrap();
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
