//! The ladder of a read: its time by the database's clock, split into what the kernel saw below.

use slob_measure::{Counter, KernelTrace, LatencyKind, Span};
use slob_record::{Record, TraceRecord};
use slob_spec::TraceWhen;
use slob_stats::Histogram;

use crate::format::{Duration, Format, Percent, duration_us, plural, seconds};
use crate::html::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::html::run_charts::shares;
use crate::measured::{mean_us, percentile_us, ratio};
use crate::page::{Column, Page};
use crate::table::{Cell, Table};
use crate::verdicts::thresholds::COUNTERS_DIFFER;

/// Mean times of one read, in microseconds. The parts add up to the whole.
pub(crate) struct Ladder<'a> {
    trace: &'a TraceRecord,
    /// By the database's clock; absent if it has none.
    database_us: Option<f64>,
    /// Durations by the database's clock, if it keeps each.
    database: Option<&'a Histogram>,
    /// Read calls of the database's reads.
    calls: Histogram,
    parts: Vec<Part>,
}

/// A part of the mean read. It is negative if two clocks or two counts disagree.
struct Part {
    name: &'static str,
    colour: Colour,
    us: f64,
}

const PARTS: [(Span, &str, Colour); 6] = [
    (Span::ReadFromCache, "page cache", Colour::Logical),
    (Span::ReadWaited, "waiting without a request", Colour::Stolen),
    (Span::ReadSubmit, "file system", Colour::System),
    (Span::ReadInQueue, "queue", Colour::Waiting),
    (Span::ReadInDevice, "device", Colour::Device),
    (Span::ReadWakeUp, "wake-up", Colour::User),
];

impl<'a> Ladder<'a> {
    /// `None` without a trace, or if it saw no reads.
    pub(crate) fn of(record: &'a Record) -> Option<Self> {
        let trace = record.trace.as_ref()?;
        let kernel = &trace.kernel;
        let cached = cached_share(trace)?;
        let calls = match cached > 0.0 {
            true => kernel.reads(),
            false => waited(kernel),
        };
        let mean_of = |span: Span| kernel.span(span).and_then(mean_us).unwrap_or(0.0);
        let waited = waited(kernel);
        let cached_us = cached * mean_of(Span::ReadFromCache);
        let call_us = cached_us + (1.0 - cached) * mean_us(&waited).unwrap_or(0.0);
        let part = |(span, name, colour)| {
            let sum_ns = kernel.span(span).map_or(0, Histogram::sum) as f64;
            let us = ratio((1.0 - cached) * sum_ns / 1e3, waited.count() as f64).unwrap_or(0.0);
            Part { name, colour, us: if span == Span::ReadFromCache { cached_us } else { us } }
        };
        let mut parts: Vec<Part> = PARTS.map(part).into();
        let known_us: f64 = parts.iter().map(|part| part.us).sum();
        parts.push(Part { name: "rest of the call", colour: Colour::Interrupts, us: call_us - known_us });
        let database_us = database_us(trace);
        if let Some(database_us) = database_us {
            parts.insert(0, Part { name: "database", colour: Colour::Database, us: database_us - call_us });
        }
        let latency =
            trace.latencies.get(LatencyKind::PhysicalRead).filter(|latency| latency.exact.is_none());
        let database = latency.map(|latency| &latency.histogram).filter(|durations| !durations.is_empty());
        Some(Self { trace, database_us, database, calls, parts })
    }

    fn whole_us(&self) -> f64 {
        self.parts.iter().map(|part| part.us).sum()
    }

    /// The largest parts of the mean read in words.
    fn parts_words(&self) -> String {
        const LEAST: f64 = 0.01;
        let whole_us = self.whole_us();
        let mut parts: Vec<&Part> = self.parts.iter().filter(|part| part.us > LEAST * whole_us).collect();
        parts.sort_by(|a, b| b.us.total_cmp(&a.us));
        let words = parts.iter().map(|part| {
            let share = ratio(100.0 * part.us, whole_us).map(|share| format!(" ({} %)", Percent(share)));
            format!("{} took {}{}", part.name, duration_us(part.us), share.unwrap_or_default())
        });
        let clock = if self.database_us.is_some() { "the database's clock" } else { "the kernel's clock" };
        let parts = words.collect::<Vec<_>>().join(", ");
        format!("Of {} that a read takes by {clock}: {parts}.", duration_us(whole_us))
    }

    /// Where the slowest reads spent their time: of those beyond a power of two, about one of a thousand.
    fn tail_words(&self) -> Option<String> {
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

    fn page_cache_words(&self) -> Option<String> {
        let cached = Some(100.0 * cached_share(self.trace)?).filter(|percent| *percent >= 1.0)?;
        Some(format!(
            "{} % of the reads came from the page cache, without a request to a device.",
            Percent(cached)
        ))
    }

    fn neighbours_words(&self) -> Option<String> {
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

/// Read calls that waited, with requests of their own or without.
fn waited(kernel: &KernelTrace) -> Histogram {
    let mut waited = kernel.span(Span::ReadFromDevice).cloned().unwrap_or_default();
    kernel.span(Span::ReadWaited).into_iter().for_each(|more| waited.merge(more));
    waited
}

/// The share of the database's reads that the page cache served. Servers read more than their data, such as their log: by the
/// database's own count, calls that waited may be all of its reads.
pub(crate) fn cached_share(trace: &TraceRecord) -> Option<f64> {
    let cached = trace.kernel.span(Span::ReadFromCache).map_or(0, Histogram::count) as f64;
    let waited = waited(&trace.kernel).count() as f64;
    let by_calls = ratio(cached, cached + waited)?;
    let by_database = database_reads(trace).and_then(|reads| ratio(reads as f64 - waited, reads as f64));
    let by_database = by_database.map(|share| if share < COUNTERS_DIFFER.share() { 0.0 } else { share });
    Some(by_database.map_or(by_calls, |share| share.min(by_calls)))
}

/// Reads that the database counted in the traced stretch.
pub(crate) fn database_reads(trace: &TraceRecord) -> Option<u64> {
    let requests = trace.counters.get(Counter::PhysicalReadRequests);
    requests.or_else(|| trace.counters.get(Counter::PhysicalReads)).filter(|reads| *reads > 0)
}

fn database_us(trace: &TraceRecord) -> Option<f64> {
    let timed = trace.latencies.get(LatencyKind::PhysicalRead).and_then(|latency| latency.mean_us());
    let counted = || {
        ratio(trace.counters.get(Counter::PhysicalReadTimeNs)? as f64 / 1e3, database_reads(trace)? as f64)
    };
    timed.or_else(counted)
}

/// Rows of the table.
const ROWS: [(&str, Span); 13] = [
    ("Read calls from the page cache", Span::ReadFromCache),
    ("Read calls with requests", Span::ReadFromDevice),
    ("- file system, to the queue", Span::ReadSubmit),
    ("- queue, to the driver", Span::ReadInQueue),
    ("- device, to its answer", Span::ReadInDevice),
    ("- wake-up, to the return", Span::ReadWakeUp),
    ("Read calls, waiting without requests", Span::ReadWaited),
    ("Write calls", Span::Write),
    ("- queue", Span::WriteInQueue),
    ("- device", Span::WriteInDevice),
    ("fsync and fdatasync", Span::Sync),
    ("Others' reads, device", Span::NeighbourRead),
    ("Others' writes, device", Span::NeighbourWrite),
];

pub(crate) fn section(page: &mut Page, figures: &crate::Figures<'_>) {
    let Some(trace) = &figures.record.trace else { return };
    page.section("Where a read's time goes");
    let heads = ["Number", "Per s", "Mean us", "p50 us", "p99 us", "p99.9 us", "Max us"];
    let mut table = Table::of_numbers(Column::left(""), heads);
    let mut row = |name: &str, durations: &Histogram| {
        let at = |percent| Format::Micros.cell(percentile_us(durations, percent));
        table.row([
            name.into(),
            Cell::from(durations.count()),
            Format::Whole.cell(ratio(durations.count() as f64, trace.seconds)),
            Format::Micros.cell(mean_us(durations)),
            at(50.0),
            at(99.0),
            at(99.9),
            at(100.0),
        ]);
    };
    let ladder = Ladder::of(figures.record);
    if let Some(durations) = ladder.as_ref().and_then(|ladder| ladder.database) {
        row("Reads by the database", durations);
    }
    for (name, span) in ROWS {
        if let Some(durations) = trace.kernel.span(span) {
            row(name, durations);
        }
    }
    page.table(&table);
    match ladder {
        None => page.paragraph("The server's processes read no whole blocks by read calls meanwhile."),
        Some(ladder) => {
            page.paragraph(&ladder.parts_words());
            let more = [ladder.tail_words(), ladder.page_cache_words(), ladder.neighbours_words()];
            more.into_iter().flatten().for_each(|words| page.paragraph(&words));
        }
    }
    if let Some(requests) = requests_words(&trace.kernel) {
        page.paragraph(&requests);
    }
    let when = match trace.when {
        TraceWhen::After => "behind the window",
        TraceWhen::Window => "in the window",
    };
    page.paragraph(&format!(
        "Counted in the kernel for {} {when}, for all processes of the server. Requests that were merged into others have no times \
         of their own.",
        seconds(trace.seconds)
    ));
}

/// Own read requests by device and size, the most frequent first.
fn requests_words(trace: &KernelTrace) -> Option<String> {
    const SHOWN: usize = 4;
    let is_read = |requests: &&slob_measure::Requests| requests.span == Span::ReadInDevice.name();
    let mut requests: Vec<_> = trace.requests.iter().filter(is_read).collect();
    requests.sort_by_key(|requests| std::cmp::Reverse(requests.requests));
    let words = requests.iter().take(SHOWN).map(|one| {
        let mean_us = ratio(one.time_ns as f64 / 1e3, one.requests as f64).unwrap_or_default();
        let size = crate::format::size(one.bytes);
        format!(
            "{} of {size} to {} ({} each)",
            crate::format::count(one.requests),
            one.device,
            Duration(mean_us)
        )
    });
    let words = words.collect::<Vec<_>>().join(", ");
    (!words.is_empty()).then(|| format!("Read requests by size: {words}."))
}

/// The parts of the mean read as one bar, and the durations of reads by the database, by the kernel and by the device.
pub(crate) fn charts(record: &Record) -> Vec<Chart> {
    let Some(ladder) = Ladder::of(record) else { return Vec::new() };
    let source = "the kernel's trace of the server's processes, and the database's clock".to_owned();
    let bars = ladder.parts.iter().enumerate().map(|(place, part)| {
        let hover = format!("{}: {}", part.name, duration_us(part.us));
        let at = -(place as f64);
        let bar = Bar { at, width: 0.7, length: part.us / 1e6, error: None, cut: None, hover };
        Trace::Bars(Bars { is_horizontal: true, ..Bars::new(part.name, part.colour, vec![bar]) })
    });
    let names = ladder.parts.iter().enumerate().map(|(place, part)| (-(place as f64), part.name.to_owned()));
    let y = Axis::linear("", Unit::Plain).named(names);
    let height_px = 90 + 32 * ladder.parts.len() as u32;
    let bars = Drawing::new(Axis::linear("mean time of a read", Unit::Seconds), y, bars.collect());
    let in_device = ladder.trace.kernel.span(Span::ReadInDevice);
    let lines = [
        ("by the database", Colour::Database, Stroke::Solid, ladder.database),
        ("by the kernel: read call", Colour::Reads, Stroke::Solid, Some(&ladder.calls)),
        ("in the device", Colour::Device, Stroke::Dot, in_device),
    ];
    let lines = lines.into_iter().filter_map(|(name, colour, stroke, durations)| {
        let (x, y) = shares(durations?);
        Some(Trace::Line(Line { stroke, ..Line::new(name, colour, x, y) }))
    });
    let x = Axis::log("duration", Unit::Seconds);
    let lines = Drawing::new(x, Axis::linear("share", Unit::Percent), lines.collect());
    vec![
        Chart {
            id: "ladder".into(),
            title: "Where a read's time goes".into(),
            about: ladder.parts_words(),
            source: source.clone(),
            body: Ok(Drawing { height_px, ..bars }),
        },
        Chart {
            id: "ladder-durations".into(),
            title: "Reads by three clocks".into(),
            about: ladder.tail_words().unwrap_or_else(|| "The same reads, each by its own clock.".into()),
            source,
            body: Ok(lines),
        },
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture;
    use crate::verdicts::{Answer, Question, verdicts};
    use slob_measure::{Latencies, SlowReads};

    fn durations(of: &[(u64, u64)]) -> Histogram {
        let mut durations = Histogram::new();
        of.iter().for_each(|(us, n)| durations.record_n(us * 1000, *n));
        durations
    }

    /// A run whose reads took 200 us by the database, 180 of them in the call and 120 in the device; `cached` of 1000 came from
    /// the page cache in 2 us.
    pub(crate) fn traced(mut record: Record, cached: u64) -> Record {
        let reads = 1000 - cached;
        let spans = [
            (Span::ReadFromCache, 2, cached),
            (Span::ReadFromDevice, 180, reads),
            (Span::ReadSubmit, 5, reads),
            (Span::ReadInQueue, 10, reads),
            (Span::ReadInDevice, 120, reads),
            (Span::ReadWakeUp, 40, reads),
        ];
        let spans = spans.into_iter().filter(|(_, _, n)| *n > 0);
        let mut latencies = Latencies::default();
        latencies.set(LatencyKind::PhysicalRead, durations(&[(200, reads), (3, cached)]));
        record.trace = Some(TraceRecord {
            when: TraceWhen::After,
            seconds: 10.0,
            counters: [(Counter::PhysicalReads, 1000)].into(),
            latencies,
            kernel: KernelTrace {
                spans: spans.map(|(span, us, n)| (span, durations(&[(us, n)]))).collect(),
                ..KernelTrace::default()
            },
        });
        record
    }

    #[test]
    fn the_parts_of_a_read_add_up_to_what_the_database_says() {
        let record = traced(fixture::direct_read_run(), 0);
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
    fn reads_that_only_the_kernel_timed_are_named_as_its() {
        let mut record = traced(fixture::direct_read_run(), 0);
        let figures = |record: &Record| {
            let figures = crate::Figures::of(record);
            let mean = &crate::figure::PHYSICAL_READ_MEAN_US;
            (mean.of(&figures), mean.is_kernels(&figures), crate::figure::PHYSICAL_READ_P99_US.of(&figures))
        };
        let own = figures(&record);
        assert!(!own.1 && !crate::text_report(&record).contains("by the kernel's trace"));
        record.latencies = Latencies::default();
        record.counters = [(Counter::PhysicalReads, 1000)].into();
        record.server_counters = slob_measure::Counters::default();
        let (mean_us, is_kernels, p99_us) = figures(&record);
        assert!(is_kernels && mean_us != own.0 && (p99_us.unwrap() - 180.0).abs() < 3.0, "{p99_us:?}");
        let text = crate::text_report(&record);
        assert!(text.contains("Physical read latency, by the kernel's trace"), "{text}");
        assert!(text.contains("The kernel timed the physical reads"), "{text}");
        assert!(crate::compact_summary(&record).contains("us, by the kernel)"));
        let page = crate::html::run_page(&record);
        assert!(page.contains("physical read, by the kernel") && page.contains("it does not time its reads"));
        record.counters.set(Counter::PhysicalReadTimeNs, 5_000_000);
        assert!(!figures(&record).1, "a total of the database's own is preferred");
    }

    #[test]
    fn without_a_clock_of_the_database_the_ladder_begins_at_the_call() {
        let mut record = traced(fixture::direct_read_run(), 0);
        record.trace.as_mut().unwrap().latencies = Latencies::default();
        let ladder = Ladder::of(&record).unwrap();
        assert!((ladder.whole_us() - 180.0).abs() < 2.0);
        assert!(ladder.parts_words().contains("by the kernel's clock"), "{}", ladder.parts_words());
    }

    #[test]
    fn the_tail_is_whose_slow_reads_were_slow_there() {
        let mut record = traced(fixture::direct_read_run(), 0);
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
        let (answer, words) = physical(&traced(fixture::direct_read_run(), 900));
        assert_eq!(answer, Answer::Bad, "{words}");
        assert!(words.contains("10.0 % waited for their data"), "{words}");
        let (answer, words) = physical(&traced(fixture::direct_read_run(), 0));
        assert_eq!(answer, Answer::Good, "{words}");
    }

    #[test]
    fn a_run_without_a_trace_has_neither_section_nor_charts() {
        let record = fixture::direct_read_run();
        assert!(
            charts(&record).is_empty() && !crate::text_report(&record).contains("Where a read's time goes")
        );
        let record = traced(record, 100);
        assert_eq!(charts(&record).len(), 2);
        let text = crate::text_report(&record);
        assert!(
            text.contains("Where a read's time goes") && text.contains("10.0 % of the reads came from"),
            "{text}"
        );
    }
}
