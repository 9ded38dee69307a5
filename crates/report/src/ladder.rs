//! The ladders of a read and of a commit: their time by the database's clock, split into what the kernel saw below.

use std::cmp::Reverse;

use itertools::Itertools;
use slob_measure::{KernelTrace, Span};
use slob_record::{Record, TraceRecord};
use slob_spec::TraceWhen;

use slob_facts::Run;
use slob_facts::format::{Duration, Format, count, duration_us, seconds, size};
use slob_facts::ladder::{COMMIT, DATABASE, DATABASE_AND_OTHERS, Ladder, READ, REST};
use slob_facts::measured::{mean_us, percentile_us, ratio};
use slob_facts::table::{Cell, Table};
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Line, Stroke, Trace, Unit};
use slob_page::heat::shares;
use slob_page::{Column, Page};

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

const ROWS_OF_COMMIT: [(&str, Span); 9] = [
    ("Write calls into the log", Span::LogWrite),
    ("Calls that force the log", Span::LogSync),
    ("- file system, to the queue", Span::LogSubmit),
    ("- queue, to the driver", Span::LogInQueue),
    ("- device, to its last answer", Span::LogInDevice),
    ("- wake-up, to the queue of the flush", Span::LogToFlush),
    ("- device's flush", Span::LogFlush),
    ("- journal", Span::LogJournal),
    ("- wake-up, to the return", Span::LogWakeUp),
];

pub(crate) fn reads(page: &mut Page, figures: &Run<'_>) {
    let Some(trace) = &figures.record.trace else { return };
    page.section("Where a read's time goes");
    let ladder = Ladder::of_reads(figures.record);
    page.table(&table(trace, "Reads by the database", ladder.as_ref(), &ROWS));
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

pub(crate) fn commits(page: &mut Page, figures: &Run<'_>) {
    let Some(ladder) = Ladder::of_commits(figures.record) else { return };
    page.section("Where a commit's time goes");
    let own = if ladder.subject == COMMIT { "Commits by the database" } else { "Flushes by the database" };
    page.table(&table(ladder.trace, own, Some(&ladder), &ROWS_OF_COMMIT));
    let words = [Some(ladder.parts_words()), ladder.log_words(figures.record)];
    page.paragraph(&words.into_iter().flatten().collect::<Vec<_>>().join(" "));
}

fn table(trace: &TraceRecord, own: &str, ladder: Option<&Ladder<'_>>, rows: &[(&str, Span)]) -> Table {
    let heads = ["Number", "Per s", "Mean us", "p50 us", "p99 us", "p99.9 us", "Max us"];
    let mut table = Table::of_numbers(Column::left(""), heads);
    let own = ladder.and_then(|ladder| Some((own, ladder.database?)));
    let by_kernel = rows.iter().filter_map(|(name, span)| Some((*name, trace.kernel.span(*span)?)));
    for (name, durations) in own.into_iter().chain(by_kernel) {
        let at = |percent| Format::Micros.cell(percentile_us(durations, percent));
        let per_s = Format::Whole.cell(ratio(durations.count() as f64, trace.seconds));
        let begin =
            [name.into(), Cell::from(durations.count()), per_s, Format::Micros.cell(mean_us(durations))];
        table.row(begin.into_iter().chain([50.0, 99.0, 99.9, 100.0].map(at)));
    }
    table
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
        DATABASE | DATABASE_AND_OTHERS => Colour::Database,
        "page cache" | "write calls" => Colour::Logical,
        "file system" => Colour::System,
        "queue" => Colour::Waiting,
        "device" => Colour::Device,
        "device's flush" => Colour::Updates,
        "wake-up" => Colour::User,
        REST => Colour::Interrupts,
        _ => Colour::Stolen,
    }
}

pub(crate) fn charts_of_reads(record: &Record) -> Vec<Chart> {
    let Some(ladder) = Ladder::of_reads(record) else { return Vec::new() };
    let about = ladder.tail_words().unwrap_or_else(|| "The same reads, each by its own clock.".into());
    charts(&ladder, ["ladder", "ladder-durations"], ("read call", "in the device", Span::ReadInDevice), about)
}

pub(crate) fn charts_of_commits(record: &Record) -> Vec<Chart> {
    let Some(ladder) = Ladder::of_commits(record) else { return Vec::new() };
    let about = ladder.log_words(record).unwrap_or_else(|| "The log, by each clock.".into());
    let below = ("call that forces the log", "device's flush", Span::LogFlush);
    charts(&ladder, ["ladder-of-commits", "ladder-of-commits-durations"], below, about)
}

/// `below` names the call, and the part below it that has a line of its own.
fn charts(ladder: &Ladder<'_>, ids: [&str; 2], below: (&str, &str, Span), about: String) -> Vec<Chart> {
    let subject = ladder.subject;
    let source = "the kernel's trace of the server's processes, and the database's clock".to_owned();
    let bars = ladder.parts.iter().enumerate().map(|(place, part)| {
        let hover = format!("{}: {}", part.name, duration_us(part.us));
        Bars::new(part.name, colour(part.name), vec![Bar::new(-(place as f64), 0.7, part.us / 1e6, hover)])
    });
    let names = ladder.parts.iter().map(|part| part.name.to_owned()).collect();
    let x = Axis::linear(format!("mean time of a {subject}"), Unit::Seconds);
    let bars = Drawing::of_rows(x, names, 32, bars);
    let call = format!("by the kernel: {}", below.0);
    let lines = [
        ("by the database", Colour::Database, Stroke::Solid, ladder.database),
        (call.as_str(), Colour::Reads, Stroke::Solid, Some(&ladder.calls)),
        (below.1, Colour::Device, Stroke::Dot, ladder.trace.kernel.span(below.2)),
    ];
    let lines = lines.into_iter().filter_map(|(name, colour, stroke, durations)| {
        let (x, y) = shares(durations?);
        Some(Trace::Line(Line { stroke, ..Line::new(name, colour, x, y) }))
    });
    let x = Axis::log("duration", Unit::Seconds);
    let lines = Drawing::new(x, Axis::linear("share", Unit::Percent), lines.collect());
    let (title, by_clock) = match subject {
        READ => ("Where a read's time goes", "Reads by three clocks"),
        _ => ("Where a commit's time goes", "Commits and the log's flushes by three clocks"),
    };
    vec![
        Chart {
            id: ids[0].into(),
            title: title.into(),
            about: ladder.parts_words(),
            source: source.clone(),
            body: Ok(bars),
        },
        Chart { id: ids[1].into(), title: by_clock.into(), about, source, body: Ok(lines) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::{Counter, Latencies};
    use slob_testing::records::{self, traced, with_commits};

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
        let style = slob_page::layout::STYLE;
        let shown = |colour: Colour| {
            let name = format!("--c-{}: ", serde_json::to_value(colour).unwrap().as_str().unwrap());
            let themes = style.split(&name).skip(1).map(|rest| rest.split(';').next().unwrap());
            let themes: Vec<&str> = themes.collect();
            assert_eq!(themes.len(), 2, "{name}");
            themes
        };
        let record = with_commits(traced(records::direct_read_run(), 100));
        for chart in charts_of_reads(&record).into_iter().chain(charts_of_commits(&record)) {
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
            charts_of_reads(&record).is_empty()
                && charts_of_commits(&record).is_empty()
                && !crate::text_report(&record, None).contains("Where a read's time goes")
        );
        let record = traced(record, 100);
        assert_eq!(charts_of_reads(&record).len(), 2);
        let text = crate::text_report(&record, None);
        assert!(!text.contains("Where a commit's time goes"));
        assert!(
            text.contains("Where a read's time goes") && text.contains("10.0 % of the reads came from"),
            "{text}"
        );
    }

    #[test]
    fn a_traced_run_that_commits_shows_where_a_commits_time_goes() {
        let record = with_commits(traced(records::direct_read_run(), 0));
        let text = crate::text_report(&record, None);
        let section = text.split("Where a commit's time goes").nth(1).unwrap();
        for words in ["Commits by the database", "- device's flush", "A commit takes 1.00 ms", "carries 200"]
        {
            assert!(section.contains(words), "{words}: {section}");
        }
        let page = crate::html::run_page(&record);
        assert!(page.contains("mean time of a commit") && page.contains("ladder-of-a-commit"));
    }
}
