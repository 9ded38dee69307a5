//! Checks of a report: figures that should agree, and statements that can't both be true.

mod rows;

use serde::Serialize;

use crate::figure::Figure;
use crate::histogram::{EVENTS, EventHistogram, duration};
use crate::info::{
    EXECUTES, LOGICAL_READS, Named, PHYSICAL_READS, PHYSICAL_WRITES, REDO, Rate, USER_CALLS, db_time_per_s,
    single_block_read,
};
use crate::lookup::total_of;
use crate::report::{FileIo, IoLine, Report, WaitEvent};

/// Two counters are not read at the same moment.
pub const AGREE_PERCENT: f64 = 3.0;
pub const CONTRADICT_PERCENT: f64 = 10.0;
/// Counters of waits are not read at the same moment: so many waits may come between.
const WAITS_BETWEEN: f64 = 10.0;
/// Waits without time, which tables leave out, and waits of instances for each other.
const HIDDEN_WAITS: f64 = 100.0;
/// A load whose sessions spent a smaller share in calls was not steady.
const IDLE_PERCENT: f64 = 5.0;
/// CPU is the limit from this share of the host's CPUs on.
const CPU_BOUND_PERCENT: f64 = 80.0;
const LONG_HOURS: f64 = 4.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checks {
    pub file: String,
    pub pairs: Vec<Pair>,
    pub rows: Vec<Rows>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rows {
    pub what: &'static str,
    pub first_source: &'static str,
    pub second_source: &'static str,
    pub pairs: usize,
    pub agree: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub what: String,
    pub first_source: &'static str,
    pub first: f64,
    pub second_source: &'static str,
    pub second: f64,
    /// Absent if the first is 0.
    pub difference_percent: Option<f64>,
    pub verdict: Verdict,
    pub note: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    /// Within 3 %, or within the precision of their print.
    Agree,
    /// Differs by a known fault of Oracle's: neither figure is in doubt.
    Explained,
    Differ,
    #[strum(serialize = "contradict each other")]
    Contradict,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Weight {
    Note,
    Doubt,
    Impossible,
}

impl Weight {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    pub weight: Weight,
    pub text: String,
    /// Explains terms; other warnings are of this report.
    pub is_general: bool,
}

impl Checks {
    pub fn of(named: &Named) -> Self {
        let report = &named.report;
        let mut pairs = comparisons(report);
        pairs.extend(waits(report));
        let mut rows = Vec::new();
        for family in rows::families(report) {
            let (what, [first_source, second_source]) = (family.what, family.sources);
            let mut own = family.pairs();
            let count = own.len();
            own.retain(|pair| pair.verdict != Verdict::Agree);
            let agree = count - own.len();
            rows.push(Rows { what, first_source, second_source, pairs: count, agree });
            pairs.append(&mut own);
        }
        rows.retain(|own| own.pairs > 0);
        Self { file: named.label(), pairs, rows, warnings: warnings(named) }
    }

    pub fn compared(&self) -> usize {
        self.pairs.len() + self.rows.iter().map(|rows| rows.agree).sum::<usize>()
    }

    /// `None` if no two figures could be compared.
    pub fn verdict(&self) -> Option<Verdict> {
        self.pairs.iter().map(|pair| pair.verdict).max()
    }

    pub fn is_contradictory(&self) -> bool {
        self.verdict() == Some(Verdict::Contradict)
            || self.warnings.iter().any(|warning| warning.weight == Weight::Impossible)
    }
}

fn compare(first: Figure, second: Figure) -> (Option<f64>, Verdict) {
    let difference = second.value - first.value;
    let percent = (first.value != 0.0).then(|| 100.0 * difference / first.value);
    // Rounding hides half a step of each; reading counters one after the other may add as much.
    let slack = first.resolution + second.resolution;
    let larger = first.value.abs().max(second.value.abs());
    let verdict = if difference.abs() <= slack.max(AGREE_PERCENT / 100.0 * larger) {
        Verdict::Agree
    } else if difference.abs() <= CONTRADICT_PERCENT / 100.0 * larger + slack {
        Verdict::Differ
    } else {
        Verdict::Contradict
    };
    (percent, verdict)
}

fn pair_of(what: String, [first_source, second_source]: [&'static str; 2], figures: [Figure; 2]) -> Pair {
    let [first, second] = figures;
    let (difference_percent, verdict) = compare(first, second);
    let [first, second] = figures.map(|figure| figure.value);
    Pair { what, first_source, first, second_source, second, difference_percent, verdict, note: None }
}

fn noted(
    what: &str,
    sources: [&'static str; 2],
    note: &'static str,
    [first, second]: [Option<Figure>; 2],
) -> Option<Pair> {
    let pair = pair_of(what.to_owned(), sources, [first?, second?]);
    Some(Pair { note: Some(note).filter(|_| pair.verdict != Verdict::Agree), ..pair })
}

const ALL_IO: [&str; 2] = ["IOStat by Function", "Instance Activity"];
const ALL_IO_NOTE: &str = "both count all I/O of the instance; over 10 % apart, do not build on either";
const TWO_IOSTATS: [&str; 2] = ["IOStat by Function", "IOStat by Filetype"];
const TWO_IOSTATS_NOTE: &str = "the same requests by another key";
const LOAD: [&str; 2] = ["Load Profile", "Instance Activity, total by elapsed time"];
const LOAD_NOTE: &str = "the load profile is divided by another time, or the counter was reset";
const WAITS: [&str; 2] = ["foreground + background events", "Wait Event Histogram"];
const WAITS_NOTE: &str = "the histogram is of foreground and background together, and read at another moment";
const FILES: [&str; 2] = ["Tablespace IO Stats", "File IO Stats"];
const FILES_NOTE: &str = "in some releases the columns of Tablespace IO Stats are printed under each other's headings: use the files";

fn comparisons(report: &Report) -> Vec<Pair> {
    let statistic = |name: &str| report.statistic_per_s(name);
    // Statistics with 'total' in their names count the I/O that IOStat counts.
    let all_io =
        |what, of_io: Option<Figure>, name: &str| noted(what, ALL_IO, ALL_IO_NOTE, [of_io, statistic(name)]);
    let written = |figure: Option<Figure>| figure.filter(|_| has_all_writes(report));
    let two_iostats = |what, of: fn(&IoLine) -> Option<Figure>| {
        let tables = [&report.io_by_function, &report.io_by_file_type];
        noted(what, TWO_IOSTATS, TWO_IOSTATS_NOTE, tables.map(|lines| of(&total_of(lines)?)))
    };
    let load = |what, rate: &Rate| noted(what, LOAD, LOAD_NOTE, load(report, rate));
    let files = |what, of: fn(&FileIo) -> Option<Figure>| noted(what, FILES, FILES_NOTE, files(report, of));
    let blocks = statistic("physical reads").zip(report.block_bytes());
    let top_cpu = report.top_events.iter().find(|event| event.name == "DB CPU");
    let log_writes = report.statistic_total("redo writes");
    let pairs = [
        all_io("read requests/s", io(report, |line| line.reads_per_s), "physical read total IO requests"),
        all_io(
            "bytes read/s",
            data_per_s(report, |line| line.read_bytes, |line| line.read_bytes_per_s),
            "physical read total bytes",
        ),
        all_io(
            "write requests/s",
            written(io(report, |line| line.writes_per_s)),
            "physical write total IO requests",
        ),
        all_io(
            "bytes written/s",
            written(data_per_s(report, |line| line.written_bytes, |line| line.written_bytes_per_s)),
            "physical write total bytes",
        ),
        two_iostats("read requests/s", |line| line.reads_per_s),
        two_iostats("write requests/s", |line| line.writes_per_s),
        load("blocks read/s", &PHYSICAL_READS),
        load("blocks written/s", &PHYSICAL_WRITES),
        load("logical reads/s", &LOGICAL_READS),
        load("bytes of redo/s", &REDO),
        load("executions/s", &EXECUTES),
        load("user calls/s", &USER_CALLS),
        noted(
            "bytes read/s by the application",
            ["physical reads x block size", "physical read bytes"],
            "tablespaces of another block size, or direct reads, are counted apart",
            [blocks.map(|(blocks, size)| blocks.times(size)), statistic("physical read bytes")],
        ),
        noted(
            "DB time (s)",
            ["header", "Time Model"],
            "one of them is of another interval",
            [report.interval.db_time_s, report.time_model_s("DB time")],
        ),
        noted(
            "DB CPU (s)",
            ["top events", "Time Model"],
            "",
            [top_cpu.and_then(|event| event.total_s), report.time_model_s("DB CPU")],
        )
        .map(|pair| Pair { note: None, ..pair }),
        noted(
            "elapsed (s)",
            ["header", "times of the snapshots"],
            "the host's clock was moved between the snapshots",
            [report.interval.elapsed_s, report.interval.by_clock()],
        ),
        noted(
            "writes of the log",
            ["Instance Activity 'redo writes'", "waits 'log file parallel write'"],
            "each write of the log is one wait; statistics count one member of a group",
            [
                log_writes.map(|writes| read_apart(writes, WAITS_BETWEEN)),
                waits_of(report, &report.background_events, "log file parallel write"),
            ],
        ),
        cpu_seconds(report),
        files("reads of files", |file| file.reads),
        files("writes of files", |file| file.writes),
    ];
    pairs.into_iter().flatten().collect()
}

/// Idle CPUs without ticks, and CPUs that a hypervisor takes, count as neither busy nor idle.
fn cpu_seconds(report: &Report) -> Option<Pair> {
    let possible = report.cpus().zip(report.elapsed_s()).map(|(cpus, seconds)| cpus * seconds);
    let times = report.os("BUSY_TIME").zip(report.os("IDLE_TIME"));
    let counted = times.map(|(busy, idle)| busy * 0.01 + idle * 0.01);
    let pair = noted(
        "CPU seconds of the host",
        ["CPUs x elapsed time", "BUSY_TIME + IDLE_TIME"],
        "the host took CPUs away (a hypervisor does), counts threads as CPUs, or the interval is another",
        [possible, counted].map(|seconds| Some(Figure { value: seconds?, resolution: 1.0 })),
    )?;
    let is_explained = pair.second < pair.first && pair.second > pair.first / 2.0;
    let verdict = if is_explained { pair.verdict.min(Verdict::Explained) } else { pair.verdict };
    Some(Pair { verdict, ..pair })
}

fn io(report: &Report, of: fn(&IoLine) -> Option<Figure>) -> Option<Figure> {
    of(&report.io_total()?)
}

/// The more precise of printed and computed rate counts.
fn data_per_s(
    report: &Report,
    data: fn(&IoLine) -> Option<Figure>,
    printed: fn(&IoLine) -> Option<Figure>,
) -> Option<Figure> {
    let divided = io(report, data).zip(report.elapsed_s()).and_then(|(data, seconds)| data.per(seconds));
    Figure::finer(divided, io(report, printed))
}

/// Some releases print neither a total nor the lines of both writers.
fn has_all_writes(report: &Report) -> bool {
    let has =
        |name: &str| report.io_by_function.iter().any(|line| line.name.to_uppercase().starts_with(name));
    has("TOTAL") || (has("DBWR") && has("LGWR"))
}

fn load(report: &Report, rate: &Rate) -> [Option<Figure>; 2] {
    let total = report.statistic(rate.statistic).and_then(|line| line.total).zip(report.elapsed_s());
    [rate.in_load_profile(report), total.and_then(|(total, seconds)| total.per(seconds))]
}

fn waits(report: &Report) -> Vec<Pair> {
    let pair = |own: &EventHistogram| {
        let lists = [&report.foreground_events, &report.background_events];
        let of_events = Figure::sum(lists.map(|events| waits_of(report, events, &own.event)))?;
        let is_of_storage = EVENTS.contains(&own.event.as_str());
        let hidden = if is_of_storage {
            WAITS_BETWEEN
        } else {
            HIDDEN_WAITS + AGREE_PERCENT / 100.0 * of_events.value
        };
        let counts = [of_events, own.waits?].map(|count| read_apart(count, hidden));
        let mut pair = pair_of(format!("waits '{}'", own.event), WAITS, counts);
        pair.note = Some(WAITS_NOTE).filter(|_| pair.verdict != Verdict::Agree);
        Some(pair)
    };
    report.histograms.iter().filter_map(pair).collect()
}

fn waits_of(report: &Report, events: &[WaitEvent], name: &str) -> Option<Figure> {
    report.event(events, name).ok()??.waits
}

fn read_apart(count: Figure, between: f64) -> Figure {
    Figure { resolution: count.resolution.max(between), ..count }
}

fn files(report: &Report, of: fn(&FileIo) -> Option<Figure>) -> [Option<Figure>; 2] {
    [&report.tablespaces, &report.files].map(|files| {
        let sum = Figure::sum(files.iter().map(of))?;
        Some(Figure { resolution: 1.0, ..sum })
    })
}

macro_rules! warning {
    ($condition:expr, $weight:ident, $($text:tt)+) => {
        ($condition).then(|| Warning { weight: Weight::$weight, text: format!($($text)+), is_general: false })
    };
}

fn warnings(named: &Named) -> Vec<Warning> {
    let report = &named.report;
    let lacks_writes = !report.io_by_function.is_empty() && !has_all_writes(report);
    let first = [
        idle(named),
        restart(report),
        cpu_of_host(report),
        cpu_beyond_db_time(report),
        busy_host(report),
        blocks_and_requests(report),
        two_peaks(report),
        warning!(
            lacks_writes,
            Note,
            "IOStat by Function has no total here, and no line of DBWR or of LGWR: its writes are not all writes, and are not compared"
        ),
        warning!(
            report.units_were_restored,
            Note,
            "IOStat's data per second has lost its unit, as text of 11.2 prints it: it was found again by Data / elapsed"
        ),
    ];
    let mut warnings: Vec<Warning> = first.into_iter().flatten().collect();
    warnings.extend(parts_beyond_the_whole(report));
    warnings.extend(more_physical_than_logical(report));
    warnings.extend(percentages(report));
    warnings.extend(timeouts(report));
    warnings.extend(histograms(report));
    warnings.extend(long_interval(report));
    warnings.extend(report.notes.iter().flat_map(|text| warning!(true, Note, "{text}")));
    warnings
}

fn idle(named: &Named) -> Option<Warning> {
    let active = db_time_per_s(&named.report)?.value;
    if let Some(sessions) = named.sessions().filter(|sessions| *sessions > 0) {
        let idle = 100.0 * (1.0 - active / f64::from(sessions));
        return warning!(
            idle > IDLE_PERCENT,
            Doubt,
            "of {sessions} sessions (by the file's name) {active:.1} were active on average: they were idle for {idle:.0} % of the \
             time, which lowers rates per second as much"
        );
    }
    // With fewer than one session on average, the instance was idle for the rest.
    let idle = 100.0 * (1.0 - active);
    warning!(
        idle > IDLE_PERCENT,
        Doubt,
        "idle for at least {idle:.1} % of the interval: {active:.3} sessions were active on average, but rates are divided by the \
         whole interval"
    )
}

/// A start of the instance resets its counters.
fn restart(report: &Report) -> Option<Warning> {
    let (started, begin) = report.database.started.zip(report.interval.begin_time())?;
    let precision_s = if report.database.started_to_the_minute { 60.0 } else { 3600.0 };
    warning!(
        started.duration_since(begin).as_secs_f64() > precision_s,
        Impossible,
        "the instance was started at {started}, after the first snapshot ({begin}): counters were reset within the interval"
    )
}

fn cpu_of_host(report: &Report) -> Option<Warning> {
    let possible = report.cpus()? * report.elapsed_s()?;
    let background = report.time_model_s("background cpu time");
    let used = report.db_cpu_s()?.value + background.map_or(0.0, |figure| figure.value);
    let percent = 100.0 * used / possible;
    let beyond = warning!(
        // Neither rounding nor snapshots taken one after the other explain so much.
        percent > 110.0,
        Impossible,
        "the database used {used:.0} s of CPU, but the host's CPUs had only {possible:.0} s"
    );
    let bound = warning!(
        percent > CPU_BOUND_PERCENT,
        Doubt,
        "the database kept {percent:.0} % of the host's CPUs busy: CPU was the limit, and waits are longer for it"
    );
    beyond.or(bound)
}

fn cpu_beyond_db_time(report: &Report) -> Option<Warning> {
    let (cpu, time) = (report.db_cpu_s()?, report.db_time_s()?);
    warning!(
        cpu.value > time.value + time.resolution + cpu.resolution,
        Note,
        "DB CPU ({:.1} s) exceeds DB time ({:.1} s): calls that had not ended count in one and not the other",
        cpu.value,
        time.value
    )
}

fn busy_host(report: &Report) -> Option<Warning> {
    let busy = 100.0 - report.host_cpu.as_ref()?.idle_percent?.value;
    warning!(
        busy > 90.0,
        Doubt,
        "the host's CPUs were {busy:.0} % busy: every wait includes waiting for a CPU"
    )
}

fn blocks_and_requests(report: &Report) -> Option<Warning> {
    let rate = |per_second: f64| match per_second < 1.0 {
        true => format!("{per_second:.3}"),
        false => format!("{per_second:.1}"),
    };
    let blocks = PHYSICAL_READS.per_s(report)?.value;
    let requests = report.statistic_per_s("physical read IO requests")?.value;
    let all = report.statistic_per_s("physical read total IO requests");
    let all = all.map(|all| format!(", and {}/s with those of the instance itself", rate(all.value)));
    let warning = warning!(
        requests > 0.0 && blocks > 0.0,
        Note,
        "'Physical reads' are blocks, not requests: {} blocks/s were read in {} requests/s{} ({:.2} blocks each)",
        rate(blocks),
        rate(requests),
        all.as_deref().unwrap_or_default(),
        blocks / requests
    )?;
    Some(Warning { is_general: true, ..warning })
}

fn two_peaks(report: &Report) -> Option<Warning> {
    let event = single_block_read(report)?;
    let words = report.histogram(&event.name)?.two_peaks()?.words(&event.name);
    let mean = duration(event.mean_us()?.known()?);
    warning!(true, Doubt, "the mean of '{}', {mean}, hides two kinds of waits: {words}", event.name)
}

fn parts_beyond_the_whole(report: &Report) -> impl Iterator<Item = Warning> {
    let parts = [("read", "IO requests"), ("write", "IO requests"), ("read", "bytes"), ("write", "bytes")];
    parts.into_iter().filter_map(|(side, what)| {
        let (application, all) = (format!("physical {side} {what}"), format!("physical {side} total {what}"));
        let (part, whole) = (report.statistic_total(&application)?, report.statistic_total(&all)?);
        warning!(
            part.value > whole.value * 1.01 + whole.resolution,
            Impossible,
            "'{application}' ({:.0}) exceeds '{all}' ({:.0}), of which it is a part",
            part.value,
            whole.value
        )
    })
}

fn more_physical_than_logical(report: &Report) -> Option<Warning> {
    let (physical, logical) = (PHYSICAL_READS.per_s(report)?.value, LOGICAL_READS.per_s(report)?.value);
    warning!(
        physical > logical * 1.05 + 1.0,
        Doubt,
        "more blocks were read physically ({physical:.0}/s) than logically ({logical:.0}/s): direct reads of temporary segments or \
         LOBs"
    )
}

/// With more parses than executions, 'Execute to Parse %' is negative.
fn percentages(report: &Report) -> impl Iterator<Item = Warning> {
    report.efficiency.iter().filter_map(|line| {
        let percent = line.percent?.value;
        let least = if line.name == "Execute to Parse %" { f64::NEG_INFINITY } else { 0.0 };
        let is_possible = (least..=100.0).contains(&percent);
        let warning = warning!(!is_possible, Note, "'{}' is {percent} %, which is impossible", line.name)?;
        // Counters are read one after the other. CPU time of parsing is rounded up.
        let is_near = percent > -1.0 && percent < 101.0 || line.name.starts_with("Parse CPU");
        Some(if is_near { warning } else { Warning { weight: Weight::Impossible, ..warning } })
    })
}

fn timeouts(report: &Report) -> impl Iterator<Item = Warning> {
    let lists =
        [&report.foreground_events, &report.background_events, &report.all_events, &report.wait_classes];
    lists.into_iter().flatten().filter_map(|event| {
        let (percent, name) = (event.timeouts_percent?.value, &event.name);
        warning!(
            percent > 100.0,
            Impossible,
            "{percent} % of the waits '{name}' timed out, which is impossible"
        )
    })
}

fn histograms(report: &Report) -> impl Iterator<Item = Warning> {
    let large = report.histograms.iter().filter(|own| own.waits.is_some_and(|waits| waits.value >= 100.0));
    let sums = large.filter_map(|own| {
        let sum: f64 = own.buckets.iter().map(|bucket| bucket.percent.value).sum();
        let is_off = (sum - 100.0).abs() > 2.0;
        warning!(is_off, Doubt, "the histogram of '{}' adds up to {sum:.1} %", own.event)
    });
    let cut = report.histograms.iter().find(|own| own.waits_were_cut);
    let text = "total waits of histograms have lost their unit, such as those of";
    sums.chain(cut.and_then(|own| warning!(true, Note, "{text} '{}': K was assumed", own.event)))
}

fn long_interval(report: &Report) -> Option<Warning> {
    let hours = report.elapsed_s()? / 3600.0;
    warning!(
        hours > LONG_HOURS,
        Doubt,
        "an interval of {hours:.1} hours averages over busy and quiet times: take shorter ones"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_no_contradiction_and_a_tenth_is() {
        let figure = |value, resolution| Figure { value, resolution };
        assert_eq!(compare(figure(0.0, 0.1), figure(0.09, 0.001)).1, Verdict::Agree);
        assert_eq!(compare(figure(1000.0, 0.1), figure(1010.0, 0.1)).1, Verdict::Agree);
        assert_eq!(compare(figure(1000.0, 0.1), figure(1060.0, 0.1)).1, Verdict::Differ);
        assert_eq!(compare(figure(1000.0, 0.1), figure(800.0, 0.1)), (Some(-20.0), Verdict::Contradict));
        assert_eq!(compare(figure(0.0, 0.0), figure(5.0, 0.0)), (None, Verdict::Contradict));
    }
}
