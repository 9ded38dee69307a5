//! The ladder of a read: its time by the database's clock, split into what the kernel saw below.

use std::cmp::Reverse;

use itertools::Itertools;
use slob_measure::{KernelTrace, Span};
use slob_record::Record;
use slob_spec::TraceWhen;
use slob_stats::Histogram;

use crate::html::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use crate::html::heat::shares;
use crate::page::{Column, Page};
use slob_facts::Run;
use slob_facts::format::{Duration, Format, count, duration_us, seconds, size};
use slob_facts::ladder::{DATABASE, Ladder, REST};
use slob_facts::measured::{mean_us, percentile_us, ratio};
use slob_facts::table::{Cell, Table};

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

pub(crate) fn section(page: &mut Page, figures: &Run<'_>) {
    let Some(trace) = &figures.record.trace else { return };
    page.section("Where a read's time goes");
    let heads = ["Number", "Per s", "Mean us", "p50 us", "p99 us", "p99.9 us", "Max us"];
    let mut table = Table::of_numbers(Column::left(""), heads);
    let mut row = |name: &str, durations: &Histogram| {
        let at = |percent| Format::Micros.cell(percentile_us(durations, percent));
        let per_s = Format::Whole.cell(ratio(durations.count() as f64, trace.seconds));
        let begin =
            [name.into(), Cell::from(durations.count()), per_s, Format::Micros.cell(mean_us(durations))];
        table.row(begin.into_iter().chain([50.0, 99.0, 99.9, 100.0].map(at)));
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

fn requests_words(trace: &KernelTrace) -> Option<String> {
    const SHOWN: usize = 4;
    let is_read = |requests: &&slob_measure::Requests| requests.span == Span::ReadInDevice.name();
    let own = trace.requests.iter().filter(is_read).sorted_by_key(|requests| Reverse(requests.requests));
    let mut words = own.take(SHOWN).map(|one| {
        let mean_us = ratio(one.time_ns as f64 / 1e3, one.requests as f64).unwrap_or_default();
        let (number, size) = (count(one.requests), size(one.bytes));
        format!("{number} of {size} to {} ({} each)", one.device, Duration(mean_us))
    });
    let words = words.join(", ");
    (!words.is_empty()).then(|| format!("Read requests by size: {words}."))
}

fn colour(part: &str) -> Colour {
    match part {
        DATABASE => Colour::Database,
        "page cache" => Colour::Logical,
        "file system" => Colour::System,
        "queue" => Colour::Waiting,
        "device" => Colour::Device,
        "wake-up" => Colour::User,
        REST => Colour::Interrupts,
        _ => Colour::Stolen,
    }
}

pub(crate) fn charts(record: &Record) -> Vec<Chart> {
    let Some(ladder) = Ladder::of(record) else { return Vec::new() };
    let source = "the kernel's trace of the server's processes, and the database's clock".to_owned();
    let bars = ladder.parts.iter().enumerate().map(|(place, part)| {
        let hover = format!("{}: {}", part.name, duration_us(part.us));
        Bars::new(part.name, colour(part.name), vec![Bar::new(-(place as f64), 0.7, part.us / 1e6, hover)])
    });
    let names = ladder.parts.iter().map(|part| part.name.to_owned()).collect();
    let bars = Drawing::of_rows(Axis::linear("mean time of a read", Unit::Seconds), names, 32, bars);
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
            body: Ok(bars),
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
mod tests {
    use super::*;
    use slob_measure::{Counter, Latencies};
    use slob_testing::records::{self, traced};

    #[test]
    fn reads_that_only_the_kernel_timed_are_named_as_its() {
        let mut record = traced(records::direct_read_run(), 0);
        let figures = |record: &Record| {
            let figures = Run::of(record);
            let mean = &slob_facts::figure::PHYSICAL_READ_MEAN_US;
            (
                mean.of(&figures),
                mean.is_kernels(&figures),
                slob_facts::figure::PHYSICAL_READ_P99_US.of(&figures),
            )
        };
        let own = figures(&record);
        assert!(!own.1 && !crate::text_report(&record, None).contains("by the kernel's trace"));
        record.latencies = Latencies::default();
        record.counters = [(Counter::PhysicalReads, 1000)].into();
        record.server_counters = slob_measure::Counters::default();
        let (mean_us, is_kernels, p99_us) = figures(&record);
        assert!(is_kernels && mean_us != own.0 && (p99_us.unwrap() - 180.0).abs() < 3.0, "{p99_us:?}");
        let text = crate::text_report(&record, None);
        assert!(text.contains("Physical read latency, by the kernel's trace"), "{text}");
        assert!(text.contains("The kernel timed the physical reads"), "{text}");
        assert!(crate::compact_summary(&record, None).contains("us, by the kernel)"));
        let page = crate::html::run_page(&record);
        assert!(page.contains("physical read, by the kernel") && page.contains("it does not time its reads"));
        record.counters.set(Counter::PhysicalReadTimeNs, 5_000_000);
        assert!(!figures(&record).1, "a total of the database's own is preferred");
    }

    /// The database's clock and the kernel's had one colour.
    #[test]
    fn lines_of_a_chart_have_different_colours_in_both_themes() {
        let style = include_str!("html/assets/style.css");
        let shown = |colour: Colour| {
            let name = format!("--c-{}: ", serde_json::to_value(colour).unwrap().as_str().unwrap());
            let themes = style.split(&name).skip(1).map(|rest| rest.split(';').next().unwrap());
            let themes: Vec<&str> = themes.collect();
            assert_eq!(themes.len(), 2, "{name}");
            themes
        };
        for chart in charts(&traced(records::direct_read_run(), 100)) {
            let colours = chart.body.unwrap().traces.into_iter().map(|trace| match trace {
                Trace::Line(line) => line.colour,
                Trace::Bars(bars) => bars.colour,
                other => panic!("{other:?}"),
            });
            let colours: Vec<Vec<&str>> = colours.map(shown).collect();
            for theme in [0, 1] {
                let different: std::collections::BTreeSet<_> = colours.iter().map(|of| of[theme]).collect();
                assert_eq!(different.len(), colours.len(), "{}: {colours:?}", chart.id);
            }
        }
    }

    #[test]
    fn a_run_without_a_trace_has_neither_section_nor_charts() {
        let record = records::direct_read_run();
        assert!(
            charts(&record).is_empty()
                && !crate::text_report(&record, None).contains("Where a read's time goes")
        );
        let record = traced(record, 100);
        assert_eq!(charts(&record).len(), 2);
        let text = crate::text_report(&record, None);
        assert!(
            text.contains("Where a read's time goes") && text.contains("10.0 % of the reads came from"),
            "{text}"
        );
    }
}
