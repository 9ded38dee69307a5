//! The charts of a run.

use itertools::Itertools;
use slob_host::{CpuTimes, DeviceUse};
use slob_measure::{LatencyKind, OpCounts, OpKind};
use slob_record::{Interval, Record, SessionRecord};
use slob_stats::{Histogram, Point};

use slob_facts::format::{count, duration_us, fixed, percent, plural};
use slob_facts::measured::{
    OfferedLoad, TimedEvent, asked_rate, certain_backlog, device_name, is_coarse, kernels_reads, latency,
    percentile_us, ratio, session_mean_us, timed_events, wait_times,
};
use slob_facts::{Lead, Run, figure};
use slob_page::chart::{
    Axis, Bar, Bars, Chart, Colour, Drawing, Fill, Heat, Line, Stroke, Trace, Unit, time_unit,
};
use slob_page::heat::{self, Durations, below_step_sentence, counts_of_rows, low_edge_ns, rows, two_peaks};
use slob_page::layout::Section;

pub(crate) fn groups(record: &Record, figures: &Run<'_>) -> Vec<Section> {
    let time = Timeline::of(record);
    let (mut latency, response) = (vec![heat_map(&time), latency_bands(&time)], response(&time));
    let at = if figures.lead() == Lead::Response { 0 } else { latency.len() };
    latency.splice(at..at, response);
    latency.extend([percentiles(record), read_histogram(record)]);
    let waits = [top_events(figures)].into_iter().chain(sessions(record)).collect();
    let group = |id: &str, title: &str, charts| Section::new(id, title).charts(charts);
    let (of_reads, of_commits) =
        (crate::ladder::charts_of_reads(record), crate::ladder::charts_of_commits(record));
    let groups = [
        group("latency", "Latency", latency),
        group("ladder-of-a-read", "Where a read's time goes", of_reads),
        group("ladder-of-a-commit", "Where a commit's time goes", of_commits),
        group("throughput", "Throughput", vec![reads(&time), operations(&time)]),
        group("cpu", "CPU", vec![host_cpu(&time), database_cpu(&time, figures)]),
        group("device", "Device", device(&time).into()),
        group("waits", "Waits and sessions", waits),
    ];
    groups.into_iter().filter(|group| !group.charts.is_empty()).collect()
}

struct Timeline<'a> {
    record: &'a Record,
    unit_s: f64,
    unit: &'static str,
    width_s: f64,
}

impl<'a> Timeline<'a> {
    fn of(record: &'a Record) -> Self {
        let series = &record.series;
        let (unit_s, unit) = time_unit((series.start_s() + series.len() as u64 * series.width_s()) as f64);
        Self { record, unit_s, unit, width_s: series.width_s() as f64 }
    }

    fn edges(&self) -> Vec<f64> {
        let series = &self.record.series;
        let edge = |at: usize| (series.start_s() as f64 + at as f64 * self.width_s) / self.unit_s;
        (0..=series.len()).map(edge).collect()
    }

    fn line(&self, name: &str, colour: Colour, y: Vec<Option<f64>>) -> Line {
        let middle = |point: Point<'_, Interval>| (point.start_s as f64 + self.width_s / 2.0) / self.unit_s;
        Line::new(name, colour, self.record.series.points().map(middle).collect(), y)
    }

    fn percentile(&self, of: fn(&Interval) -> &Histogram, percent: f64) -> Vec<Option<f64>> {
        let seconds = |interval: &Interval| Some(percentile_us(of(interval), percent)? / 1e6);
        self.record.series.points().map(|point| seconds(point.value?)).collect()
    }

    /// Intervals in which sessions stopped are left out: of few operations each is a large share.
    fn latencies(&self) -> impl Iterator<Item = Option<&'a Histogram>> {
        let whole = |point| Some(&self.whole(&point)?.latency).filter(|latency| !latency.is_empty());
        self.record.series.points().map(whole)
    }

    fn per_second(&self, of: impl Fn(&Interval) -> u64) -> Vec<Option<f64>> {
        let rate = |point: Point<'_, Interval>| ratio(of(self.whole(&point)?) as f64, point.covered_s as f64);
        self.record.series.points().map(rate).collect()
    }

    /// `of` gets the seconds between the samples.
    fn sampled(&self, of: impl Fn(&Interval, f64) -> Option<f64>) -> Vec<Option<f64>> {
        self.timed(|interval| interval.sampled_s, of)
    }

    /// `of` gets the seconds by that host's clock.
    fn observed(&self, of: impl Fn(&Interval, f64) -> Option<f64>) -> Vec<Option<f64>> {
        self.timed(|interval| interval.observed_s.or(interval.sampled_s), of)
    }

    fn timed(
        &self,
        seconds: impl Fn(&Interval) -> Option<f64>,
        of: impl Fn(&Interval, f64) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let value = |point: Point<'_, Interval>| {
            let interval = self.whole(&point)?;
            of(interval, seconds(interval).filter(|seconds| *seconds > 0.0)?)
        };
        self.record.series.points().map(value).collect()
    }

    /// `None` if sessions stopped within it: that would look like a fall of the rate.
    fn whole(&self, point: &Point<'a, Interval>) -> Option<&'a Interval> {
        const SLACK: f64 = 0.02;
        let ended_s = || self.record.ended.duration_since(self.record.started).as_secs_f64();
        let stopped_s = self.record.window.map_or_else(ended_s, |window| window.begin_s + window.seconds);
        point.value.filter(|_| point.start_s as f64 + self.width_s * (1.0 - SLACK) <= stopped_s)
    }

    /// `reason` applies if no line is visible.
    fn lines(&self, y: Axis, reason: &str, lines: impl IntoIterator<Item = Line>) -> Result<Drawing, String> {
        let known: Vec<Line> = lines.into_iter().filter(Line::is_known).collect();
        if self.record.series.is_empty() {
            return Err("the run ended before its first second was recorded".into());
        }
        if known.iter().all(|line| line.is_hidden) {
            return Err(reason.to_owned());
        }
        Ok(self.drawing(y, known.into_iter().map(Trace::Line).collect()))
    }

    fn drawing(&self, y: Axis, traces: Vec<Trace>) -> Drawing {
        let edges = self.edges();
        let (begin, end) = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(0.0));
        let window = self.record.window.map(|window| [window.begin_s, window.begin_s + window.seconds]);
        let shades = match window.map(|ends| ends.map(|at_s| at_s / self.unit_s)) {
            None => vec![(begin, end)],
            Some([from, to]) => {
                [(begin, from), (to, end)].into_iter().filter(|(from, to)| from < to).collect()
            }
        };
        let marks = self.record.marks.iter().map(|mark| (mark.at_s / self.unit_s, mark.text.clone()));
        let marks = marks.filter(|(at, _)| (begin..=end).contains(at)).collect();
        let x = Axis::linear(format!("{} from the start of the sessions", self.unit), Unit::Plain);
        Drawing { is_timeline: true, shades, marks, ..Drawing::new(x.ranging(begin, end), y, traces) }
    }
}

/// False for lines that stay at zero, which only crowd a legend.
fn rises(line: &Line) -> bool {
    line.y.iter().flatten().any(|value| *value > 0.0)
}

fn reads(time: &Timeline<'_>) -> Chart {
    let resolution = match time.record.series.width_s() {
        1 => "second by second".into(),
        width => format!("in intervals of {width} s"),
    };
    let physical = time.sampled(|interval, seconds| Some(interval.physical_reads? as f64 / seconds));
    let logical = time.sampled(|interval, seconds| Some(interval.logical_reads? as f64 / seconds));
    let device = time.observed(|interval, seconds| Some(interval.device?.reads as f64 / seconds));
    let lines = [
        time.line("physical reads", Colour::Reads, physical),
        Line { stroke: Stroke::Dot, ..time.line("device reads", Colour::Device, device) },
        Line { is_hidden: true, ..time.line("logical reads", Colour::Logical, logical) },
    ];
    let reason = "neither the database nor the device counted reads while the run lasted";
    Chart {
        id: "reads-over-time".into(),
        title: "Reads over time".into(),
        about: format!(
            "Blocks read per second, {resolution}. Physical and device reads differ by what a cache below the \
             database serves, and by merged requests. Shaded: outside the measured window."
        ),
        source: "the database's counters; the kernel's counters of the device".into(),
        body: time.lines(Axis::linear("reads per second", Unit::Count), reason, lines),
    }
}

const NO_OPERATION: &str = "no operation ended while the run lasted";

fn operations(time: &Timeline<'_>) -> Chart {
    let kind = |name, colour, of: fn(&OpCounts) -> u64| {
        time.line(name, colour, time.per_second(|interval| of(&interval.ops))).stacked()
    };
    let kinds = [
        kind("SELECT", Colour::Reads, |ops| ops.selects),
        kind("UPDATE", Colour::Updates, |ops| ops.updates),
        kind("SCAN", Colour::Scans, |ops| ops.scans),
    ];
    let redo = time.sampled(|interval, seconds| Some(interval.redo_bytes? as f64 / 1e6 / seconds));
    let redo = Line { on_right: true, ..time.line("redo", Colour::Redo, redo) };
    let right = redo.is_known().then(|| Axis::linear("redo MB/s", Unit::Plain));
    let y = Axis::linear("operations per second", Unit::Count);
    let lines = kinds.into_iter().filter(rises).chain(demanded(time)).chain([redo]);
    let body = time.lines(y, NO_OPERATION, lines);
    Chart {
        id: "operations-over-time".into(),
        title: "Operations and redo over time".into(),
        about: "Operations that ended in each interval, per second, stacked by kind, with RATE if it was set; redo on the \
                right where the database counts it."
            .into(),
        source: "this program's count of operations; the database's counter of redo".into(),
        body: body.map(|drawing| Drawing { right, ..drawing }),
    }
}

fn demanded(time: &Timeline<'_>) -> Option<Line> {
    let schedule = time.record.workload.rate_per_s.as_ref()?;
    let last_s = time.edges().last()? * time.unit_s;
    let at = |from_s: f64| (from_s + time.record.workload.warmup_s).min(last_s) / time.unit_s;
    let ends = |(nth, (from_s, to_s, rate)): (usize, (f64, f64, u32))| {
        let begin = if nth == 0 { 0.0 } else { at(from_s) };
        [(begin, Some(f64::from(rate))), (at(to_s), Some(f64::from(rate)))]
    };
    let (x, y) = schedule.spans().enumerate().flat_map(ends).unzip();
    Some(Line { stroke: Stroke::Dot, ..Line::new("RATE", Colour::Text, x, y) })
}

const BANDS: [(f64, &str); 5] =
    [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9"), (100.0, "max")];

fn latency_bands(time: &Timeline<'_>) -> Chart {
    let band = |(step, (percent, name)): (u8, &(f64, &str))| {
        let y = time.percentile(|interval| &interval.latency, *percent);
        let fill = if step == 0 { Fill::Nothing } else { Fill::ToPrevious };
        Line { fill, ..time.line(name, Colour::Latency(step), y) }
    };
    let bands = (0..).zip(&BANDS).map(band);
    Chart {
        id: "latency-over-time".into(),
        title: "Operation latency over time".into(),
        about: "Percentiles of the operations that ended in each interval, all kinds together. Averages hide what the \
                upper bands show."
            .into(),
        source: "the clock around each operation; a histogram for each interval".into(),
        body: time.lines(Axis::log("latency", Unit::Seconds), NO_OPERATION, bands).map(|body| body.tall(360)),
    }
}

fn heat_map(time: &Timeline<'_>) -> Chart {
    let y = Axis::log("latency", Unit::Seconds);
    let mut all = Histogram::new();
    time.latencies().flatten().for_each(|own| all.merge(own));
    let peaks = two_peaks(&all);
    let body = match heat(time) {
        None => time.lines(y, NO_OPERATION, []),
        Some(heat) => {
            let border_s = peaks.map(|peaks| peaks.border_us / 1e6);
            let own = |latency: Option<&Histogram>| {
                latency.map(|latency| Durations { border_s, ..durations(latency) }).unwrap_or_default()
            };
            let durations = time.latencies().map(own).collect_vec();
            let lines = heat::lines(&durations, peaks.is_some_and(|peaks| peaks.may_be_a_caches()));
            let lines = lines.map(|(name, stroke, y)| Line { stroke, ..time.line(name, Colour::Text, y) });
            let traces = [Trace::Heat(heat)].into_iter().chain(lines.map(Trace::Line));
            Ok(Drawing { shades: Vec::new(), ..time.drawing(y, traces.collect()).tall(420) })
        }
    };
    let peaks = peaks.map(|peaks| {
        let border = duration_us(peaks.border_us);
        format!(
            " One mean hides two peaks: {:.0} % of the operations are shorter than {border}, {:.0} % are longer.",
            peaks.short_percent, peaks.long_percent
        )
    });
    Chart {
        id: "latency-heat-map".into(),
        title: "Operation latency, all of it, and its mean".into(),
        about: format!(
            "Each cell is the share of the operations of its interval that took so long, from green to red on a linear \
             scale. The line is their mean: operations are where the colour is.{}{}",
            below_step_sentence(&all),
            peaks.unwrap_or_default()
        ),
        source: "the clock around each operation; a histogram for each interval".into(),
        body,
    }
}

fn heat(time: &Timeline<'_>) -> Option<Heat> {
    let cells = |latency: Option<&Histogram>| {
        let rows = latency.map(rows).unwrap_or_default();
        rows.into_iter().map(|(row, n)| (row, row + 1, n as f64)).collect()
    };
    let columns: Vec<Vec<_>> = time.latencies().map(cells).collect();
    Heat::of("operations", time.edges(), &columns, |row| low_edge_ns(row) / 1e9)
}

fn durations(latency: &Histogram) -> Durations {
    let seconds = |(low, high, n): (u64, u64, u64)| (low as f64 / 1e9, high as f64 / 1e9, n as f64);
    Durations {
        buckets: latency.known_buckets().map(seconds).collect(),
        has_unknown: latency.below_clock_step().is_some(),
        mean_s: latency.mean().map(|mean_ns| mean_ns / 1e9),
        border_s: None,
    }
}

/// Absent in a closed loop whose sessions take no turns: response and service times are nearly equal there.
fn response(time: &Timeline<'_>) -> Option<Chart> {
    let load = OfferedLoad::of_window(time.record);
    let is_known =
        || time.record.series.points().any(|point| point.value.is_some_and(|one| !one.response.is_empty()));
    if load.is_none() && !is_known() {
        return None;
    }
    let line = |name: &str, colour, stroke, of, percent| Line {
        stroke,
        ..time.line(name, colour, time.percentile(of, percent))
    };
    let lines = [
        line("response p50", Colour::Updates, Stroke::Solid, |interval| &interval.response, 50.0),
        line("response p99", Colour::Updates, Stroke::Dot, |interval| &interval.response, 99.0),
        line("service p50", Colour::Reads, Stroke::Solid, |interval| &interval.latency, 50.0),
        line("service p99", Colour::Reads, Stroke::Dot, |interval| &interval.latency, 99.0),
    ];
    let backlog = certain_backlog(time.record).map_or_else(String::new, |backlog| {
        let due = if backlog == 1 { "was" } else { "were" };
        format!(" At the end of the window {} {due} due and not done.", plural(backlog, "operation"))
    });
    Some(Chart {
        id: "response-over-time".into(),
        title: "Response and service time".into(),
        about: match load {
            Some(load) => format!(
                "{} were to start. Service time is an operation's own; response time counts from the moment at \
                 which it was due. Where the system can't keep up, operations wait, and response time alone grows.{backlog}",
                asked_rate(time.record, load.per_second().0)
            ),
            None => "Service time is an operation's own; response time counts from the moment at which its session was \
                     ready for it. With more sessions than the CPUs can serve, most of it is a wait for a turn."
                .into(),
        },
        source: "the plan of arrivals and the clock around each operation; histograms for each interval"
            .into(),
        body: time.lines(Axis::log("time", Unit::Seconds), NO_OPERATION, lines),
    })
}

const LABELLED: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

fn percentiles(record: &Record) -> Chart {
    Chart {
        id: "latency-distribution".into(),
        title: "Latency by percentile".into(),
        about: "What latency which share of operations and reads kept. The scale gives each further nine of the \
                percentile the same room: the tail is on the right."
            .into(),
        source: "the clock around each operation, and the database's around each read and sync, where it has one; the \
                 whole window"
            .into(),
        body: percentile_curves(record),
    }
}

fn percentile_curves(record: &Record) -> Result<Drawing, String> {
    record.window.ok_or("the run ended before its measured window")?;
    let operations = |kind| record.operations.get(&kind).map(|figures| &figures.latency);
    let reads = wait_times(record, LatencyKind::PhysicalRead);
    let read = if kernels_reads(record).is_some() { "physical read, by the kernel" } else { "physical read" };
    let histograms = [
        ("SELECT", Colour::Reads, Stroke::Solid, operations(OpKind::Select)),
        ("UPDATE", Colour::Updates, Stroke::Solid, operations(OpKind::Update)),
        ("SCAN", Colour::Scans, Stroke::Solid, operations(OpKind::Scan)),
        (read, Colour::Device, Stroke::Dot, reads.as_deref()),
        ("redo sync", Colour::Redo, Stroke::Dot, latency(record, LatencyKind::RedoSync)),
    ];
    let known = histograms.into_iter().filter_map(|(name, colour, stroke, histogram)| {
        Some((name, colour, stroke, histogram.filter(|histogram| !histogram.is_empty())?))
    });
    let known = known.collect_vec();
    let most = known.iter().map(|(.., histogram)| histogram.count()).max();
    let most = most.ok_or("no operation ended within the window")?;
    let traces = known.into_iter().map(|(name, colour, stroke, histogram)| {
        let (x, y) = percentile_curve(histogram);
        Trace::Line(Line { stroke, ..Line::new(name, colour, x, y) })
    });
    // The scale of the axis: of so many operations one is slower.
    let labels = LABELLED.map(|percent| (100.0 / (100.0 - percent), percent.to_string()));
    let x = Axis::log("percentile", Unit::Plain).ranging(1.0, most as f64).named(labels);
    Ok(Drawing::new(x, Axis::log("latency", Unit::Seconds), traces.collect()))
}

/// The scale is that of HdrHistogram's percentile plots.
fn percentile_curve(histogram: &Histogram) -> (Vec<f64>, Vec<Option<f64>>) {
    const POINTS_PER_DECADE: f64 = 24.0;
    let last = histogram.count() as f64;
    let steps = (last.log10() * POINTS_PER_DECADE).ceil() as u32;
    let places = (0..steps).map(|step| 10_f64.powf(f64::from(step) / POINTS_PER_DECADE));
    let inner = places.map(|one_in| (one_in, 100.0 - 100.0 / one_in));
    let seconds = |percent| Some(percentile_us(histogram, percent)? / 1e6);
    inner.chain([(last, 100.0)]).map(|(x, percent)| (x, seconds(percent))).unzip()
}

fn read_histogram(record: &Record) -> Chart {
    let bounds =
        "Physical reads of the window by the upper bound of the bucket in which the database counts each.";
    let calls =
        "Read calls of the server's processes by how long each took: the database does not time its reads.";
    let reads = "Physical reads of the window by how long each took, from the call to its return.";
    let (about, source) = match is_coarse(record, LatencyKind::PhysicalRead) {
        true => (bounds, "the database's own histogram of its waits"),
        false if kernels_reads(record).is_some() => (calls, "the kernel's trace"),
        false => (reads, "the database's clock around each read"),
    };
    let histogram = wait_times(record, LatencyKind::PhysicalRead);
    let body = match (record.window, histogram.as_deref()) {
        (None, _) => Err("the run ended before its measured window".into()),
        (_, None) => Err("this database does not measure its single reads, or there were none".into()),
        (_, Some(histogram)) => {
            let bars = Trace::Bars(Bars::new("physical reads", Colour::Reads, histogram_bars(histogram)));
            let x = Axis::log("latency of a physical read", Unit::Seconds);
            let mean = histogram.mean().map(|ns| (ns / 1e9, String::new()));
            let drawing = Drawing::new(x, Axis::linear("reads", Unit::Count), vec![bars]);
            Ok(Drawing { marks: mean.into_iter().collect(), ..drawing })
        }
    };
    let mean = histogram.as_deref().and_then(Histogram::mean);
    let mean = mean
        .map(|ns| format!(" The dashed line is the mean, {}.", duration_us(ns / 1e3)))
        .unwrap_or_default();
    Chart {
        id: "read-histogram".into(),
        title: "Physical read latency".into(),
        about: format!("{about}{mean} A peak far on the left is a cache's, not the device's."),
        source: source.into(),
        body,
    }
}

fn histogram_bars(histogram: &Histogram) -> Vec<Bar> {
    let counts = counts_of_rows(histogram);
    let bar = |(row, n): (i32, u64)| {
        let (low, high) = (low_edge_ns(row), low_edge_ns(row + 1));
        let [from, to] = [low, high].map(|ns| duration_us(ns / 1e3));
        let share = percent(100.0 * n as f64 / histogram.count() as f64);
        Bar::between(
            low / 1e9,
            high / 1e9,
            n as f64,
            format!("{from} to {to}: {} reads, {share} %", count(n)),
        )
    };
    counts.into_iter().map(bar).collect()
}

type Mode = (&'static str, Colour, fn(&CpuTimes) -> f64);
const MODES: [Mode; 5] = [
    ("user", Colour::User, |cpu| cpu.user_s + cpu.nice_s),
    ("system", Colour::System, |cpu| cpu.system_s),
    ("interrupts", Colour::Interrupts, |cpu| cpu.irq_s + cpu.softirq_s),
    ("stolen", Colour::Stolen, |cpu| cpu.steal_s),
    ("I/O wait", Colour::Waiting, |cpu| cpu.iowait_s),
];

fn host_cpu(time: &Timeline<'_>) -> Chart {
    let mode = |(name, colour, of): &Mode| {
        let share = time.observed(|interval, _| {
            let cpu = interval.host_cpu?;
            ratio(100.0 * of(&cpu), cpu.total_s())
        });
        time.line(name, *colour, share).stacked()
    };
    let modes = MODES.iter().map(mode).filter(rises);
    let y = Axis::linear("share of all CPUs", Unit::Percent).ranging(0.0, 100.0);
    Chart {
        id: "host-cpu".into(),
        title: "CPU of the host by mode".into(),
        about: "Share of all CPUs. The rest up to 100 % was idle; stolen time went to other guests of the hypervisor; I/O wait is idle time too."
            .into(),
        source: "/proc/stat, which the kernel samples at its tick".into(),
        body: time.lines(y, "the host's CPU was not sampled", modes),
    }
}

fn database_cpu(time: &Timeline<'_>, figures: &Run<'_>) -> Chart {
    let user = time.observed(|interval, seconds| Some(interval.db_cpu?.user_s / seconds));
    let system = time.observed(|interval, seconds| Some(interval.db_cpu?.system_s / seconds));
    let lines = [
        time.line("user", Colour::Database, user).stacked(),
        time.line("system", Colour::System, system).stacked(),
    ];
    let reason = "the CPU of the database's processes can't be seen from here";
    let cpus = figure::HOST_CPUS.of(figures).map(|cpus| format!(" of {cpus}")).unwrap_or_default();
    let processes = time.record.db_cpu.as_ref().map(|db| format!(", of {}", db.source));
    Chart {
        id: "database-cpu".into(),
        title: "CPU of the database".into(),
        about: format!("CPUs{cpus} that the database kept busy: the price of its I/O."),
        source: format!("/proc{}", processes.unwrap_or_default()),
        body: time.lines(Axis::linear("CPUs busy", Unit::Plain), reason, lines),
    }
}

fn device(time: &Timeline<'_>) -> [Chart; 3] {
    let host = time.record.host.as_ref();
    let source = match device_name(time.record) {
        Some(name) => format!("the kernel's counters of {name}, for everybody on this host"),
        None => "the kernel's block statistics".into(),
    };
    let reason = match host.map(|host| host.device_note.as_deref()) {
        Some(Some(note)) => note.trim_end_matches('.'),
        Some(None) => "no block device behind the data was sampled",
        None => "host counters were switched off, or the run ended before they were read",
    };
    let line = |name: &str, colour, of: fn(&DeviceUse, f64) -> Option<f64>| {
        time.line(name, colour, time.observed(|interval, seconds| of(interval.device.as_ref()?, seconds)))
    };
    let chart = |id: &str, title: &str, about: &str, y: Axis, lines: Vec<Line>| Chart {
        id: id.into(),
        title: title.into(),
        about: about.into(),
        source: source.clone(),
        body: time.lines(y, reason, lines).map(|body| body.tall(240)),
    };
    let read = |of: &DeviceUse, _| ratio(of.read_time_ms as f64 / 1e3, of.reads as f64);
    let write = |of: &DeviceUse, _| ratio(of.write_time_ms as f64 / 1e3, of.writes as f64);
    let requests = |of: &DeviceUse, seconds| ratio(of.weighted_ms as f64, seconds * 1e3);
    let utilisation = |of: &DeviceUse, seconds| Some(ratio(of.busy_ms as f64 / 10.0, seconds)?.min(100.0));
    [
        chart(
            "device-await",
            "Time of a request",
            "Mean time of a read and of a write, queueing included (iostat's r_await and w_await).",
            Axis::linear("mean time", Unit::Seconds),
            vec![line("read", Colour::Device, read), line("write", Colour::Updates, write)],
        ),
        chart(
            "device-queue",
            "Requests in flight",
            "Mean length of the queue (iostat's aqu-sz).",
            Axis::linear("requests", Unit::Plain),
            vec![line("requests", Colour::Device, requests)],
        ),
        chart(
            "device-utilisation",
            "Utilisation",
            "Share of the time with at least one request in flight. A device that serves many at once is not full at \
             100 %.",
            Axis::linear("utilisation", Unit::Percent).ranging(0.0, 105.0),
            vec![line("utilisation", Colour::Device, utilisation)],
        ),
    ]
}

fn top_events(figures: &Run<'_>) -> Chart {
    const MOST: usize = 10;
    let mut events = timed_events(figures.record);
    events.truncate(MOST);
    let db_time_s = figure::DB_TIME_S.of(figures);
    let bar = |(place, event): (u32, &TimedEvent)| {
        Bar::new(-f64::from(place), 0.7, event.time_s, event_words(event, db_time_s))
    };
    let bars = Bars::new("time", Colour::Reads, (0..).zip(&events).map(bar).collect());
    let names = events.iter().map(|event| shortened(&event.name)).collect();
    let drawing = Drawing::of_rows(Axis::linear("seconds, all sessions", Unit::Plain), names, 32, [bars]);
    Chart {
        id: "top-events".into(),
        title: "Top timed events".into(),
        about: "Where the sessions' time went within the window, longest first.".into(),
        source: match figures.record.server.embedded {
            true => "the clock around each read, write and sync".into(),
            false => "the database's wait events".into(),
        },
        body: match events.is_empty() {
            true => Err("this database reports no wait events, or the run ended before its window".into()),
            false => Ok(drawing),
        },
    }
}

fn event_words(event: &TimedEvent, db_time_s: Option<f64>) -> String {
    let share = db_time_s.and_then(|db_time_s| ratio(100.0 * event.time_s, db_time_s));
    let share = share.map(|share| format!(", {} % of DB time", percent(share))).unwrap_or_default();
    let waits = event.waits.map(|waits| format!(", {} waits", count(waits))).unwrap_or_default();
    format!("{}: {} s{share}{waits}", event.name, fixed(event.time_s, 1))
}

fn shortened(name: &str) -> String {
    const LETTERS: usize = 28;
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(['\u{2026}']).collect()
}

const MOST_SESSIONS: usize = 64;
const BINS: usize = 40;

fn sessions(record: &Record) -> [Chart; 2] {
    let are_many = record.sessions.len() > MOST_SESSIONS;
    let each = if are_many { "How many sessions had how much of it." } else { "A bar for each session." };
    let chart = |id: &str, title: &str, body| Chart {
        id: id.into(),
        title: title.into(),
        about: format!("{each} Sessions that do the same work should look the same."),
        source: "this program's count and clock for each session; the whole window".into(),
        body,
    };
    let operations = |session: &SessionRecord| Some(session.operations() as f64);
    let operations = per_session(record, "operations", Unit::Count, operations);
    let mean_s = |session: &SessionRecord| Some(session_mean_us(record, session)? / 1e6);
    let latencies = per_session(record, "mean latency", Unit::Seconds, mean_s);
    [
        chart("session-operations", "Operations of the sessions", operations),
        chart("session-latency", "Mean latency of the sessions", latencies),
    ]
}

fn per_session(
    record: &Record,
    what: &str,
    unit: Unit,
    of: impl Fn(&SessionRecord) -> Option<f64>,
) -> Result<Drawing, String> {
    const MOST_NAMES: usize = 16;
    let value = |session: &SessionRecord| Some((session.session, of(session)?));
    let values: Vec<(u32, f64)> = record.sessions.iter().filter_map(value).collect();
    if values.is_empty() || record.window.is_none() {
        return Err("no session worked within a measured window".into());
    }
    let shown = |value: f64| match unit {
        Unit::Seconds => duration_us(value * 1e6),
        _ => count(value.round() as u64),
    };
    let axis = Axis::linear(what, unit);
    let trace = |bars| vec![Trace::Bars(Bars::new(what, Colour::Reads, bars))];
    let drawing = if record.sessions.len() > MOST_SESSIONS {
        let bars = distribution(values.iter().map(|(_, value)| *value), shown);
        Drawing::new(axis, Axis::linear("sessions", Unit::Count), trace(bars))
    } else {
        let bar = |(session, value): &(u32, f64)| {
            let hover = format!("session {session}: {}", shown(*value));
            Bar::new(f64::from(*session), 0.8, *value, hover)
        };
        let named = values.iter().step_by(values.len().div_ceil(MOST_NAMES));
        let named = named.map(|(session, _)| (f64::from(*session), session.to_string()));
        let sessions = Axis::linear("session", Unit::Plain).named(named);
        Drawing::new(sessions, axis, trace(values.iter().map(bar).collect()))
    };
    Ok(drawing.tall(260))
}

fn distribution(values: impl Iterator<Item = f64> + Clone, shown: impl Fn(f64) -> String) -> Vec<Bar> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    // If all are the same, one bar around that value is wide enough to be seen.
    let same = (most.abs() / 100.0).max(f64::MIN_POSITIVE);
    let width = if most > least { (most - least) / BINS as f64 } else { same };
    let mut counts = [0_u64; BINS];
    values.for_each(|value| counts[(((value - least) / width) as usize).min(BINS - 1)] += 1);
    let bar = |(bin, n): (u32, &u64)| {
        let low = least + f64::from(bin) * width;
        let hover = format!("{} to {}: {}", shown(low), shown(low + width), plural(*n, "session"));
        Bar::between(low, low + width, *n as f64, hover)
    };
    (0..).zip(&counts).filter(|(_, n)| **n > 0).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::Counter;
    use slob_testing::records;

    fn body(record: &Record, id: &str) -> Result<Drawing, String> {
        let groups = groups(record, &Run::of(record));
        let mut charts = groups.into_iter().flat_map(|group| group.charts);
        charts.find(|chart| chart.id == id).unwrap().body
    }

    /// The lines of a chart of the run.
    fn lines_of(record: &Record, id: &str) -> Vec<Line> {
        let line = |trace| match trace {
            Trace::Line(line) => line,
            other => panic!("{other:?}"),
        };
        body(record, id).unwrap().traces.into_iter().map(line).collect()
    }

    fn bars_of(record: &Record, id: &str) -> Vec<Bar> {
        match &body(record, id).unwrap().traces[..] {
            [Trace::Bars(bars)] => bars.bars.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The heat map and the lines over it.
    fn heat_of(record: &Record) -> (Heat, Vec<Trace>) {
        let mut traces = body(record, "latency-heat-map").unwrap().traces;
        let Trace::Heat(heat) = traces.remove(0) else { panic!("{traces:?}") };
        (heat, traces)
    }

    #[test]
    fn reads_are_per_second_between_samples() {
        let record = records::direct_read_run();
        let lines = lines_of(&record, "reads-over-time");
        let [physical, device, logical] = &lines[..] else { panic!("{lines:?}") };
        // 298 SELECTs of 65 reads in 1.001 s.
        assert!((physical.y[0].unwrap() - 298.0 * 65.0 / 1.001).abs() < 1e-9);
        assert_eq!((physical.y.len(), physical.x[0], device.stroke), (72, 0.5, Stroke::Dot));
        assert!(logical.is_hidden && !physical.is_hidden);
        // The window, and with it the sessions, ended within the 71st second.
        assert!(physical.y[69].is_some() && physical.y[70].is_none());
        // The window is 10.25 to 70.25 s of 72.
        let shades = body(&record, "reads-over-time").unwrap().shades;
        assert_eq!(shades, [(0.0, 10.25), (70.25, 72.0)]);
    }

    /// What follows the sessions, as the reading of a trace, keeps a run going.
    #[test]
    fn the_interval_in_which_sessions_stop_is_no_column_however_long_the_run_goes_on() {
        let mut record = records::direct_read_run();
        record.ended += jiff::SignedDuration::from_secs(20);
        let (heat, _) = heat_of(&record);
        assert!(heat.percents.iter().all(|row| row[70..].iter().all(|percent| *percent == 0.0)));
        assert!(heat.percents.iter().any(|row| row[69] > 0.0));
    }

    #[test]
    fn a_gap_in_the_samples_is_a_gap_in_the_line() {
        let mut record = records::direct_read_run();
        records::with_gap(&mut record, 20..30);
        let physical = &lines_of(&record, "reads-over-time")[0];
        assert!(physical.y[19].is_some() && physical.y[20].is_none() && physical.y[29].is_none());
    }

    #[test]
    fn a_run_without_a_series_has_no_chart() {
        let reason = body(&records::failed_run(), "reads-over-time").unwrap_err();
        assert!(reason.contains("before its first second"));
    }

    #[test]
    fn kinds_that_never_ran_are_left_out_and_redo_has_its_own_axis() {
        let lines = lines_of(&records::update_run(), "operations-over-time");
        assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["SELECT", "redo"]);
        assert!(body(&records::update_run(), "operations-over-time").unwrap().right.is_some());
        assert!(body(&records::direct_read_run(), "operations-over-time").unwrap().right.is_none());
    }

    #[test]
    fn latency_bands_lie_above_each_other() {
        let lines = lines_of(&records::direct_read_run(), "latency-over-time");
        assert_eq!(lines.len(), BANDS.len());
        for pair in lines.windows(2) {
            assert!(pair[0].y.iter().zip(&pair[1].y).all(|(low, high)| low.unwrap() <= high.unwrap()));
        }
    }

    #[test]
    fn the_heat_map_is_the_first_chart() {
        let record = records::direct_read_run();
        let groups = groups(&record, &Run::of(&record));
        assert_eq!(groups[0].charts[0].id, "latency-heat-map");
    }

    #[test]
    fn every_interval_of_the_heat_map_adds_up_to_all_operations() {
        let record = records::direct_read_run();
        let (heat, lines) = heat_of(&record);
        assert_eq!(heat.x_edges.len(), record.series.len() + 1);
        assert_eq!(heat.y_edges.len(), heat.percents.len() + 1);
        for (column, point) in record.series.points().enumerate() {
            let sum: f64 = heat.percents.iter().map(|row| row[column]).sum();
            // Sessions stopped within the last one.
            let is_whole = point.value.unwrap().ops.total() > 0 && column < 70;
            assert!((sum - if is_whole { 100.0 } else { 0.0 }).abs() < 1e-6, "{sum} in column {column}");
        }
        let Trace::Line(mean) = &lines[0] else { panic!("{lines:?}") };
        let exact = record.series.points().next().unwrap().value.unwrap().latency.mean().unwrap();
        assert_eq!((mean.name.as_str(), mean.y[0]), ("mean of all", Some(exact / 1e9)));
    }

    #[test]
    fn the_outer_rows_of_the_heat_map_hold_the_extremes() {
        let (heat, _) = heat_of(&records::update_run());
        let sum = |row: &Vec<f64>| row.iter().sum::<f64>();
        assert!(sum(heat.percents.first().unwrap()) > 0.0 && sum(heat.percents.last().unwrap()) > 0.0);
    }

    #[test]
    fn rows_of_the_heat_map_hold_values_between_their_edges() {
        let mut histogram = Histogram::new();
        for ns in [1, 100, 1_000, 123_456, 1_000_000_000, 1 << 42] {
            histogram.clear();
            histogram.record(ns);
            let (row, n) = rows(&histogram)[0];
            let middle = ns as f64;
            assert_eq!(n, 1);
            // A bucket is up to 1/64 wide, and may straddle an edge.
            assert!(
                low_edge_ns(row) * 0.99 <= middle && middle <= low_edge_ns(row + 1) * 1.02,
                "{ns} in {row}"
            );
        }
    }

    #[test]
    fn an_open_loop_has_both_times_and_its_backlog() {
        let mut record = records::direct_read_run();
        assert!(response(&Timeline::of(&record)).is_none());
        record.workload.rate_per_s = "1200".parse().ok();
        record.backlog = Some(300);
        records::with_responses(&mut record, 10);
        let about = response(&Timeline::of(&record)).unwrap().about;
        assert!(about.contains("300 operations were due"), "{about}");
        let lines = lines_of(&record, "response-over-time");
        let y = |at: usize| lines[at].y[20].unwrap();
        // Ten times the service time.
        assert!((y(0) / y(2) / 10.0 - 1.0).abs() < 0.02, "{} {}", y(0), y(2));
    }

    #[test]
    fn percentile_curves_rise_to_the_maximum() {
        let record = records::direct_read_run();
        let histogram = &record.operations[&OpKind::Select].latency;
        let (x, y) = percentile_curve(histogram);
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]) && y.windows(2).all(|pair| pair[0] <= pair[1]));
        let is_near = |seconds: f64, ns: Option<u64>| (seconds - ns.unwrap() as f64 / 1e9).abs() < 1e-12;
        assert!(is_near(y.last().unwrap().unwrap(), histogram.max()), "{y:?}");
        assert!(is_near(y[0].unwrap(), histogram.min()), "{y:?}");
    }

    #[test]
    fn one_operation_is_a_point_of_the_curve() {
        let mut histogram = Histogram::new();
        histogram.record(5_000);
        assert_eq!(percentile_curve(&histogram), (vec![1.0], vec![Some(5e-6)]));
    }

    #[test]
    fn every_kind_and_every_measured_latency_has_a_curve() {
        assert_eq!(lines_of(&records::update_run(), "latency-distribution").len(), 4);
        assert!(body(&records::failed_run(), "latency-distribution").is_err());
    }

    #[test]
    fn bars_of_the_read_histogram_hold_all_reads_and_touch() {
        let record = records::direct_read_run();
        let bars = bars_of(&record, "read-histogram");
        let sum: f64 = bars.iter().map(|bar| bar.length).sum();
        assert_eq!(sum, record.counters.get(Counter::PhysicalReads).unwrap() as f64);
        let (first, second) = (&bars[0], &bars[1]);
        assert!((first.at + first.width / 2.0 - (second.at - second.width / 2.0)).abs() < 1e-12);
    }

    #[test]
    fn a_database_without_a_clock_for_reads_has_no_read_histogram() {
        let reason = body(&records::page_cache_run(), "read-histogram").unwrap_err();
        assert!(reason.contains("does not measure"), "{reason}");
    }

    #[test]
    fn cpu_modes_that_took_nothing_are_left_out() {
        let lines = lines_of(&records::direct_read_run(), "host-cpu");
        // Nothing was stolen.
        assert_eq!(lines.len(), MODES.len() - 1);
        assert!((lines[0].y[0].unwrap() - 100.0 * 0.55 / 16.0).abs() < 1e-9);
    }

    #[test]
    fn unsampled_hosts_give_the_reason() {
        let mut record = records::direct_read_run();
        records::with_gap(&mut record, 0..72);
        record.host.as_mut().unwrap().device_note = Some("the data lie on another host.".into());
        let reason = body(&record, "database-cpu").unwrap_err();
        assert!(reason.contains("can't be seen"), "{reason}");
        for chart in device(&Timeline::of(&record)) {
            assert_eq!(chart.body.unwrap_err(), "the data lie on another host");
        }
    }

    #[test]
    fn requests_that_did_not_happen_have_no_mean_time() {
        // The fixture's device only reads, and took no time for it.
        assert_eq!(lines_of(&records::direct_read_run(), "device-await").len(), 1);
    }

    #[test]
    fn the_longest_event_is_on_top() {
        let record = records::page_cache_run();
        let bars = bars_of(&record, "top-events");
        assert_eq!((bars[0].at, bars[0].length), (0.0, 140.0));
        assert!(bars[0].hover.contains("29,538,360 waits"), "{}", bars[0].hover);
        assert_eq!(body(&record, "top-events").unwrap().y.names[2], (-2.0, "client read".into()));
        assert_eq!(shortened(&"n".repeat(40)).chars().count(), 28);
    }

    #[test]
    fn few_sessions_have_a_bar_each() {
        let bars = bars_of(&records::direct_read_run(), "session-operations");
        let lengths: Vec<f64> = bars.iter().map(|bar| bar.length).collect();
        assert_eq!(lengths, [4536.0, 4464.0, 4482.0, 4518.0]);
    }

    #[test]
    fn many_sessions_are_counted_and_none_is_lost() {
        let mut record = records::direct_read_run();
        let one = record.sessions[0].clone();
        record.sessions = (0..4096)
            .map(|session| SessionRecord { session, selects: 1000 + u64::from(session) % 37, ..one.clone() })
            .collect();
        let bars = bars_of(&record, "session-operations");
        assert!(bars.len() <= BINS);
        assert_eq!(bars.iter().map(|bar| bar.length).sum::<f64>(), 4096.0);
        record.sessions = vec![record.sessions[0].clone(); 100];
        let bars = bars_of(&record, "session-operations");
        assert_eq!((bars.len(), bars[0].length), (1, 100.0), "equal sessions are one bar");
    }
}
