//! Pairs of figures that should agree.

use super::{Pair, Verdict, verdict};
use crate::figure::Figure;
use crate::report::{Report, WaitEvent};

/// Every pair that the report has both figures of.
pub(super) fn pairs(report: &Report) -> Vec<Pair> {
    let mut pairs = Vec::new();
    pairs.extend(io_against_activity(report));
    pairs.extend(function_against_file_type(report));
    pairs.extend(load_against_activity(report));
    pairs.extend(times(report));
    pairs.extend(waits(report));
    pairs.extend(host(report));
    pairs.extend(tablespaces_against_files(report));
    pairs
}

#[derive(Default)]
struct Sides {
    what: &'static str,
    sources: [&'static str; 2],
    figures: [Option<Figure>; 2],
    note: Option<&'static str>,
    /// Whether a fault of Oracle's that is known makes of the first figure the second.
    explains: Option<fn(f64, f64) -> bool>,
}

impl Sides {
    fn pair(self) -> Option<Pair> {
        let [first, second] = self.figures;
        let (first, second) = first.zip(second)?;
        let (difference_percent, verdict) = verdict(first, second);
        let is_known =
            verdict > Verdict::Agree && self.explains.is_some_and(|fits| fits(first.value, second.value));
        let verdict = if is_known { Verdict::Explained } else { verdict };
        Some(Pair {
            what: self.what,
            first_source: self.sources[0],
            first: first.value,
            second_source: self.sources[1],
            second: second.value,
            difference_percent,
            verdict,
            note: self.note.filter(|_| verdict != Verdict::Agree),
        })
    }
}

const FUNCTION: &str = "IOStat by Function";
const ACTIVITY: &str = "Instance Activity";
const IO_NOTE: &str = "both count all I/O of the instance; over 10 % apart, do not build on either";

/// All I/O with all I/O: 'total' statistics count what IOStat counts.
fn io_against_activity(report: &Report) -> Vec<Pair> {
    let total = report.io_total();
    let total = total.as_ref();
    let seconds = report.elapsed_s();
    let rate = |bytes: Option<Figure>| bytes.zip(seconds).and_then(|(bytes, seconds)| bytes.per(seconds));
    let sides = |what, ours: Option<Figure>, statistic: &str| Sides {
        what,
        sources: [FUNCTION, ACTIVITY],
        figures: [ours, report.statistic_per_s(statistic)],
        note: Some(IO_NOTE),
        ..Sides::default()
    };
    let bytes = |of: Option<Figure>, per_s: Option<Figure>| Figure::finer(rate(of), per_s);
    let reads = [
        sides("read requests/s", total.and_then(|line| line.reads_per_s), "physical read total IO requests"),
        sides(
            "bytes read/s",
            total.and_then(|line| bytes(line.read_bytes, line.read_bytes_per_s)),
            "physical read total bytes",
        ),
    ];
    let writes = [
        sides(
            "write requests/s",
            total.and_then(|line| line.writes_per_s),
            "physical write total IO requests",
        ),
        sides(
            "bytes written/s",
            total.and_then(|line| bytes(line.written_bytes, line.written_bytes_per_s)),
            "physical write total bytes",
        ),
    ];
    let writes = writes.into_iter().filter(|_| has_all_writes(report));
    reads.into_iter().chain(writes).filter_map(Sides::pair).collect()
}

/// Statspack of some releases leaves DBWR out of its table, and has no total: its writes are not all writes.
pub(super) fn has_all_writes(report: &Report) -> bool {
    report.io_by_function.iter().any(|line| line.name.starts_with("TOTAL") || line.name.starts_with("DBWR"))
}

fn function_against_file_type(report: &Report) -> Vec<Pair> {
    let (Some(function), Some(file_type)) = (report.io_total(), report.file_type_total()) else {
        return Vec::new();
    };
    let sides = |what, first, second| Sides {
        what,
        sources: [FUNCTION, "IOStat by Filetype"],
        figures: [first, second],
        note: Some("the same requests by another key"),
        ..Sides::default()
    };
    [
        sides("read requests/s", function.reads_per_s, file_type.reads_per_s),
        sides("write requests/s", function.writes_per_s, file_type.writes_per_s),
    ]
    .into_iter()
    .filter_map(Sides::pair)
    .collect()
}

/// Names of a load profile's line in all releases, the statistic it is made of, and what it is.
const LOAD: [(&[&str], &str, &str); 6] = [
    (&["Physical read (blocks)", "Physical reads"], "physical reads", "blocks read/s"),
    (&["Physical write (blocks)", "Physical writes"], "physical writes", "blocks written/s"),
    (&["Logical read (blocks)", "Logical reads"], "session logical reads", "logical reads/s"),
    (&["Redo size (bytes)", "Redo size"], "redo size", "bytes of redo/s"),
    (&["Executes (SQL)", "Executes"], "execute count", "executions/s"),
    (&["User calls"], "user calls", "user calls/s"),
];

fn load_against_activity(report: &Report) -> Vec<Pair> {
    let sides = |(names, statistic, what): (&[&str], &str, &'static str)| {
        let line = report.statistic(statistic);
        let total = line.and_then(|line| line.total).zip(report.elapsed_s());
        Sides {
            what,
            sources: ["Load Profile", "Instance Activity, total by elapsed time"],
            figures: [
                report.load(names).and_then(|line| line.per_second),
                total.and_then(|(total, seconds)| total.per(seconds)),
            ],
            note: Some("the load profile is divided by another time, or the counter was reset"),
            ..Sides::default()
        }
    };
    let mut pairs: Vec<Pair> = LOAD.into_iter().filter_map(|load| sides(load).pair()).collect();
    let blocks = report.statistic_per_s("physical reads").zip(report.block_bytes());
    let application = Sides {
        what: "bytes read/s by the application",
        sources: ["physical reads x block size", "physical read bytes"],
        figures: [
            blocks.map(|(blocks, size)| blocks.times(size)),
            report.statistic_per_s("physical read bytes"),
        ],
        note: Some("tablespaces of another block size, or direct reads, are counted apart"),
        ..Sides::default()
    };
    pairs.extend(application.pair());
    pairs
}

fn times(report: &Report) -> Vec<Pair> {
    let top_cpu =
        report.top_events.iter().find(|event| event.name == "DB CPU").and_then(|event| event.total_s);
    let clock = report.interval.begin.as_ref().and_then(|snapshot| snapshot.time);
    let clock = clock.zip(report.interval.end.as_ref().and_then(|snapshot| snapshot.time));
    let clock = clock.map(|(begin, end)| end.duration_since(begin).as_secs_f64());
    [
        Sides {
            what: "DB time (s)",
            sources: ["header", "Time Model"],
            figures: [report.interval.db_time_s, report.time_model_s("DB time")],
            note: Some("one of them is of another interval"),
            ..Sides::default()
        },
        Sides {
            what: "DB CPU (s)",
            sources: ["top events", "Time Model"],
            figures: [top_cpu, report.time_model_s("DB CPU")],
            note: None,
            ..Sides::default()
        },
        Sides {
            what: "elapsed (s)",
            sources: ["header", "times of the snapshots"],
            figures: [report.interval.elapsed_s, clock.map(|value| Figure { value, resolution: 1.0 })],
            note: Some("the host's clock was moved between the snapshots"),
            ..Sides::default()
        },
    ]
    .into_iter()
    .filter_map(Sides::pair)
    .collect()
}

/// Counters of waits are not read at one moment: so many waits may come between.
const BETWEEN: f64 = 10.0;

fn read_apart(count: Figure) -> Figure {
    Figure { resolution: count.resolution.max(BETWEEN), ..count }
}

fn waits(report: &Report) -> Vec<Pair> {
    let find =
        |events: &[WaitEvent], name: &str| report.event(events, name).one().and_then(|event| event.waits);
    let both = |name: &str| {
        let foreground = find(&report.foreground_events, name);
        let background = find(&report.background_events, name);
        match (foreground, background) {
            (Some(one), Some(other)) => {
                Some(Figure { value: one.value + other.value, resolution: one.resolution + other.resolution })
            }
            (one, other) => one.or(other),
        }
    };
    let histogram = |name: &str| report.histogram(name)?.waits;
    let of_histogram = |name: &'static str, what| Sides {
        what,
        sources: ["foreground + background events", "Wait Event Histogram"],
        figures: [both(name).map(read_apart), histogram(name).map(read_apart)],
        note: Some("the histogram is of foreground and background together, and read at another moment"),
        ..Sides::default()
    };
    let log_writes = report.statistic_total("redo writes");
    [
        of_histogram("db file sequential read", "waits 'db file sequential read'"),
        of_histogram("log file sync", "waits 'log file sync'"),
        of_histogram("log file parallel write", "waits 'log file parallel write'"),
        Sides {
            what: "writes of the log",
            sources: ["Instance Activity 'redo writes'", "waits 'log file parallel write'"],
            figures: [log_writes.map(read_apart), find(&report.background_events, "log file parallel write")],
            note: Some("each write of the log is one wait; statistics count one member of a group"),
            ..Sides::default()
        },
    ]
    .into_iter()
    .filter_map(Sides::pair)
    .collect()
}

/// Centiseconds of all CPUs.
fn host(report: &Report) -> Vec<Pair> {
    let centiseconds = |name: &str| {
        let line = report.os_statistics.iter().find(|line| line.name == name)?;
        line.value.map(|figure| figure.times(0.01))
    };
    let busy_and_idle = centiseconds("BUSY_TIME").zip(centiseconds("IDLE_TIME"));
    let all = busy_and_idle.map(|(busy, idle)| Figure { value: busy.value + idle.value, resolution: 1.0 });
    let possible = report
        .cpus()
        .zip(report.elapsed_s())
        .map(|(cpus, seconds)| Figure { value: cpus * seconds, resolution: 1.0 });
    let host = Sides {
        what: "CPU seconds of the host",
        sources: ["CPUs x elapsed time", "BUSY_TIME + IDLE_TIME"],
        figures: [possible, all],
        note: Some(
            "the host took CPUs away (a hypervisor does), counts threads as CPUs, or the interval is another",
        ),
        // Idle CPUs that stop their ticks, and those that a hypervisor takes, are counted as neither.
        explains: Some(|possible, counted| counted < possible && counted > possible / 2.0),
    };
    host.pair().into_iter().collect()
}

fn tablespaces_against_files(report: &Report) -> Vec<Pair> {
    if report.files.is_empty() {
        return Vec::new();
    }
    let sum = |files: &[crate::report::FileIo], of: fn(&crate::report::FileIo) -> Option<Figure>| {
        let all: Vec<Figure> = files.iter().filter_map(of).collect();
        let value = all.iter().map(|figure| figure.value).sum();
        (!all.is_empty()).then_some(Figure { value, resolution: 1.0 })
    };
    let sides = |what, of: fn(&crate::report::FileIo) -> Option<Figure>| Sides {
        what,
        sources: ["Tablespace IO Stats", "File IO Stats"],
        figures: [sum(&report.tablespaces, of), sum(&report.files, of)],
        note: Some(
            "in some releases the columns of Tablespace IO Stats are printed under each other's headings: use the files",
        ),
        ..Sides::default()
    };
    [sides("reads of files", |file| file.reads), sides("writes of files", |file| file.writes)]
        .into_iter()
        .filter_map(Sides::pair)
        .collect()
}
