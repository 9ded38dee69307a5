//! Two runs side by side, or two groups of repeated runs: what differs, by how much, and is that more than noise?
//!
//! The order is that of AWR's compare-period report: what was different about the test, the load profile, latencies, CPU
//! and device, top events. With repeats the statement about noise is that of [`slob_stats::Comparison`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use slob_record::{Record, Status};
use slob_stats::{Comparison, PercentInterval, summary};

use crate::Confidence;
use crate::figure::{self, Better, Figure, Figures};
use crate::format::{ABSENT, fixed, micros, or_absent, percent, plural, signed_percent, significant, size};
use crate::html::chart::Chart;
use crate::html::escape;
use crate::html::layout::{Section, View};
use crate::html::run_charts;
use crate::measured::{ratio, timed_events};
use crate::page::{Column, Page, Table};
use crate::verdicts::{Answer, GroupVerdicts, group};

/// The differences between two sides, each of one run or of several repeated ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    pub first: Side,
    pub second: Side,
    pub confidence: Confidence,
    pub statements: Vec<String>,
    /// Parameters, server settings and platform that differ.
    pub changes: Vec<Change>,
    /// Figures side by side, whether they differ or not, if either side knows them.
    pub metrics: Vec<Metric>,
    pub events: Vec<EventPair>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    pub runs: Vec<String>,
    /// Runs that did not complete or have no window, and why.
    pub incomplete: Vec<String>,
    pub verdicts: GroupVerdicts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `parameter`, `server` or `platform`.
    pub of: &'static str,
    pub name: String,
    /// Absent if no run of the side has it. Runs that differ give several values, with ` / ` between.
    pub first: Option<String>,
    pub second: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    pub section: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub better: Better,
    /// The mean of the runs that know it.
    pub first: Option<f64>,
    pub second: Option<f64>,
    /// Why it can't be compared: the BAD verdicts that it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The difference of the means in percent of the first; absent if the first is 0, or if it can't be compared.
    pub difference_percent: Option<f64>,
    /// Absent if a run does not know it, or has a 0 or less, or if it can't be compared.
    pub comparison: Option<Comparison>,
}

/// An event on both sides, summed over the runs of each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventPair {
    pub name: String,
    pub class: String,
    /// Absent if it did not appear on this side.
    pub first: Option<EventShare>,
    pub second: Option<EventShare>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EventShare {
    /// Seconds for each second of the window: the mean number of sessions in it.
    pub s_per_s: f64,
    pub percent_of_db_time: Option<f64>,
    /// Mean of a wait; absent if waits are not counted.
    pub mean_us: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    #[error("the {0} side has no run: name one or more")]
    Empty(&'static str),
}

impl Diff {
    pub fn of(first: &[Record], second: &[Record], confidence: Confidence) -> Result<Self, DiffError> {
        for (side, records) in [("first", first), ("second", second)] {
            if records.is_empty() {
                return Err(DiffError::Empty(side));
            }
        }
        let figures = [first, second].map(|records| records.iter().map(Figures::of).collect::<Vec<_>>());
        let sides = [figures[0].as_slice(), &figures[1]];
        let verdicts = sides.map(|runs| {
            let judged: Vec<_> = runs.iter().map(Figures::judged).collect();
            GroupVerdicts::of(judged)
        });
        let metrics = metrics(sides, &verdicts, confidence);
        let changes = changes([first, second]);
        let mut statements = statements(&metrics, sides.map(<[_]>::len), confidence);
        statements.extend(changes.iter().find_map(Change::warning));
        let events = event_pairs(sides);
        let [of_first, of_second] = verdicts;
        let (first, second) = (Side::of(first, of_first), Side::of(second, of_second));
        Ok(Self { first, second, confidence, statements, changes, metrics, events })
    }

    pub fn text(&self) -> String {
        let mut page = Page::default();
        page.section("Comparison");
        for (name, side) in [("First", &self.first), ("Second", &self.second)] {
            page.fact(name, &side.words());
            side.incomplete.iter().for_each(|wrong| page.fact("", &format!("Caution: {wrong}.")));
        }
        page.section("Verdicts");
        self.write_verdicts(&mut page);
        page.section("In short");
        self.write_statements(&mut page);
        self.write_tables(&mut page);
        page.into_text()
    }

    /// True if every verdict of every run is good.
    pub fn are_good(&self) -> bool {
        self.first.verdicts.are_good() && self.second.verdicts.are_good()
    }

    fn write_verdicts(&self, page: &mut Page) {
        group::write(page, &[("first", &self.first.verdicts), ("second", &self.second.verdicts)]);
    }

    fn write_statements(&self, page: &mut Page) {
        self.statements.iter().for_each(|statement| page.hanging("  -", statement));
    }

    fn write_tables(&self, page: &mut Page) {
        page.section("What differs between the tests");
        match self.changes.is_empty() {
            true => page.paragraph("Nothing, as far as the records tell."),
            false => page.table(&self.changes_table()),
        }
        for (section, _) in SECTIONS {
            let metrics: Vec<&Metric> =
                self.metrics.iter().filter(|metric| metric.section == section).collect();
            if !metrics.is_empty() {
                page.section(section);
                page.table(&self.metrics_table(&metrics));
            }
        }
        if !self.events.is_empty() {
            page.section("Top timed events");
            page.table(&self.events_table());
        }
        page.line("");
        page.rule('-');
        let base = "second relative to first, in percent; '-' means not known.";
        let intervals = format!(
            " First and Second are means of the runs. Interval: contains the true difference with {} confidence; \
             * means that 0 is outside it. Intervals of percentiles allow for their 0.8 % error. By chance alone, one \
             figure in {} is marked.",
            self.confidence,
            fixed((1.0 / (1.0 - self.confidence.ratio())).round(), 0),
        );
        page.fact("Difference", &format!("{base}{}", if self.has_intervals() { &intervals } else { "" }));
    }

    fn has_intervals(&self) -> bool {
        self.first.is_group() && self.second.is_group()
    }

    fn changes_table(&self) -> Table {
        let mut table = Table::new([
            Column::left("").at_most(9),
            Column::left("Setting").at_most(26),
            Column::left("First").at_most(28),
            Column::left("Second").at_most(28),
        ]);
        for change in &self.changes {
            let [first, second] =
                [&change.first, &change.second].map(|value| or_absent(value.clone(), |value| value));
            table.row([change.of.to_owned(), change.name.clone(), first, second]);
        }
        table
    }

    fn metrics_table(&self, metrics: &[&Metric]) -> Table {
        let numbers = ["First", "Second", "Difference %"].map(Column::right);
        let interval = [Column::right("Interval %")];
        let interval = if self.has_intervals() { &interval[..] } else { &[] };
        let is_marked = self.has_intervals() || metrics.iter().any(|metric| metric.refused.is_some());
        let mark = [Column::left("")];
        let mark = if is_marked { &mark[..] } else { &[] };
        let mut table = Table::new([&[Column::left("").at_most(30)], &numbers[..], interval, mark].concat());
        for metric in metrics {
            let mut row = vec![
                metric.title.to_owned(),
                or_absent(metric.first, significant),
                or_absent(metric.second, significant),
                or_absent(metric.difference_percent, signed_percent),
            ];
            let interval = metric.comparison.and_then(|comparison| comparison.interval);
            if self.has_intervals() {
                row.push(or_absent(interval, |interval| {
                    format!("{} to {}", signed_percent(interval.low), signed_percent(interval.high))
                }));
            }
            let excludes_zero = interval.is_some_and(|interval| interval.excludes_zero());
            let mark = match (&metric.refused, excludes_zero) {
                (Some(_), _) => Answer::Bad.word(),
                (None, true) => "*",
                (None, false) => "",
            };
            row.extend(is_marked.then(|| mark.to_owned()));
            table.row(row);
        }
        table
    }

    fn events_table(&self) -> Table {
        let share =
            |head| [Column::right(head), Column::right("% DB time").at_most(7), Column::right("Mean us")];
        let names = [Column::left("Event").at_most(30), Column::left("Class").at_most(10)];
        let mut table = Table::new([&names[..], &share("First s/s"), &share("Second s/s")].concat());
        let cells = |share: Option<EventShare>| match share {
            None => [ABSENT; 3].map(str::to_owned),
            Some(share) => [
                significant(share.s_per_s),
                or_absent(share.percent_of_db_time, percent),
                or_absent(share.mean_us, micros),
            ],
        };
        for pair in &self.events {
            let names = [pair.name.clone(), pair.class.clone()];
            table.row([&names[..], &cells(pair.first), &cells(pair.second)].concat());
        }
        table
    }
}

impl Side {
    fn of(records: &[Record], verdicts: GroupVerdicts) -> Self {
        let runs = records.iter().map(|record| record.id.clone()).collect();
        let wrong = |record: &Record| match &record.status {
            Status::Failed { error } => Some(format!("{} failed: {error}", record.id)),
            Status::Interrupted => Some(format!("{} was interrupted", record.id)),
            Status::Completed if record.window.is_none() => {
                Some(format!("{} has no measured window", record.id))
            }
            Status::Completed => None,
        };
        Self { runs, incomplete: records.iter().filter_map(wrong).collect(), verdicts }
    }

    /// The ids of its runs; of more than four the first and the last.
    fn words(&self) -> String {
        let count = plural(self.runs.len() as u64, "run");
        match self.runs.as_slice() {
            [] => ABSENT.into(),
            [only] => only.clone(),
            few if few.len() <= 4 => format!("{count}: {}", few.join(", ")),
            [first, .., last] => format!("{count}: {first} to {last}"),
        }
    }

    fn is_group(&self) -> bool {
        self.runs.len() > 1
    }
}

/// The name of a setting: consecutive SELECTs are one statement, or one statement each.
const SELECTS: &str = "consecutive SELECTs";

impl Change {
    /// A warning if the sides executed different statements for the same operations.
    fn warning(&self) -> Option<String> {
        let (first, second) = (self.first.as_ref()?, self.second.as_ref()?);
        (self.name == SELECTS).then(|| {
            format!(
                "The two sides executed their SELECTs differently ({first}; {second}), so CPU and rates of cached reads \
                 can't be compared: repeat one side with the other's LOOP, or both with LOOP=statement."
            )
        })
    }
}

type Settings = Vec<(String, String)>;

/// Settings that differ, parameters first; of each kind by name.
fn changes(sides: [&[Record]; 2]) -> Vec<Change> {
    // The distinct values in the runs of both sides, by the place of the kind and the name.
    let mut values: BTreeMap<(usize, &'static str, String), [BTreeSet<String>; 2]> = BTreeMap::new();
    for (side, records) in sides.into_iter().enumerate() {
        for record in records {
            let kinds = [
                ("parameter", parameters(record)),
                ("server", server_settings(record)),
                ("platform", platform(record)),
            ];
            for (place, (of, settings)) in kinds.into_iter().enumerate() {
                for (name, value) in settings {
                    values.entry((place, of, name)).or_default()[side].insert(value);
                }
            }
        }
    }
    let differing = values.into_iter().filter(|(_, [first, second])| first != second);
    let change = |((_, of, name), sides): ((usize, &'static str, String), [BTreeSet<String>; 2])| {
        let words = |values: BTreeSet<String>| Vec::from_iter(values).join(" / ");
        let [first, second] = sides.map(|values| (!values.is_empty()).then(|| words(values)));
        Change { of, name, first, second }
    };
    differing.map(change).collect()
}

fn parameters(record: &Record) -> Settings {
    // These name a run and its folder, and make no difference.
    let names = ["RUN_NAME", "RESULTS_DIR"];
    let entries = record.configuration.iter().filter(|entry| !names.contains(&entry.key.as_str()));
    entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
}

fn server_settings(record: &Record) -> Settings {
    let server = &record.server;
    let settings = server.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone()));
    let joined = if server.joined_selects { "one statement" } else { "one statement each" };
    let direct_io = server.direct_io.map(|is_direct| if is_direct { "yes" } else { "no" });
    let more = [
        ("product", Some(server.product.clone())),
        ("version", Some(server.version.clone())),
        ("block bytes", Some(server.block_bytes.to_string())),
        (SELECTS, Some(joined.to_owned())),
        ("direct I/O", direct_io.map(str::to_owned)),
    ];
    settings.chain(known(more)).collect()
}

fn known<const N: usize>(facts: [(&str, Option<String>); N]) -> Settings {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn platform(record: &Record) -> Settings {
    let mut facts = vec![("slob version".to_owned(), record.slob_version.clone())];
    let Some(host) = &record.host else { return facts };
    let info = &host.info;
    facts.extend(known([
        ("host", Some(info.hostname.clone())),
        ("kernel", Some(info.kernel.clone())),
        ("architecture", Some(info.architecture.clone())),
        ("operating system", info.os.clone()),
        ("CPU model", info.cpu_model.clone()),
        ("CPUs", info.cpus_online.map(|cpus| cpus.to_string())),
        ("memory", info.memory_bytes.map(size)),
        ("virtualisation", info.virtualisation.clone()),
    ]));
    let Some(device) = host.device.as_ref().map(|device| &device.device) else { return facts };
    facts.extend(known([
        ("file system", Some(device.file_system.clone())),
        ("mount options", Some(device.mount_options.join(","))),
        ("device stack", Some(device.stack.join(" > "))),
    ]));
    for disk in &device.disks {
        let [scheduler, model] = ["scheduler", "model"].map(|what| format!("{what} of {}", disk.id.name));
        facts.extend(known([(&scheduler, disk.scheduler.clone()), (&model, disk.model.clone())]));
    }
    facts
}

const SECTIONS: [(&str, &[Figure]); 3] = [
    (
        "Load profile (per second)",
        &[
            figure::AVERAGE_ACTIVE_SESSIONS,
            figure::DB_CPUS,
            figure::OPERATIONS_PER_S,
            figure::SELECTS_PER_S,
            figure::UPDATES_PER_S,
            figure::SCANS_PER_S,
            figure::ROWS_PER_S,
            figure::LOGICAL_READS_PER_S,
            figure::PHYSICAL_READS_PER_S,
            figure::PHYSICAL_READ_MB_PER_S,
            figure::PHYSICAL_WRITES_PER_S,
            figure::PHYSICAL_WRITE_MB_PER_S,
            figure::REDO_MB_PER_S,
            figure::REDO_SYNCS_PER_S,
            figure::COMMITS_PER_S,
        ],
    ),
    (
        "Latency (us)",
        &[
            figure::OPERATION_MEAN_US,
            figure::OPERATION_P50_US,
            figure::OPERATION_P90_US,
            figure::OPERATION_P95_US,
            figure::OPERATION_P99_US,
            figure::OPERATION_P999_US,
            figure::OPERATION_MAX_US,
            figure::PHYSICAL_READ_MEAN_US,
            figure::PHYSICAL_READ_P50_US,
            figure::PHYSICAL_READ_P99_US,
            figure::REDO_SYNC_MEAN_US,
            figure::REDO_SYNC_P99_US,
        ],
    ),
    (
        "CPU and device",
        &[
            figure::HIT_PERCENT,
            figure::HOST_BUSY_PERCENT,
            figure::HOST_STEAL_PERCENT,
            figure::DB_CPU_PERCENT_OF_DB_TIME,
            figure::PHYSICAL_READS_PER_DB_CPU_S,
            figure::LOGICAL_READS_PER_DB_CPU_S,
            figure::DB_CPU_US_PER_PHYSICAL_READ,
            figure::DEVICE_READS_PER_S,
            figure::DEVICE_READ_MB_PER_S,
            figure::DEVICE_READ_AWAIT_US,
            figure::DEVICE_WRITES_PER_S,
            figure::DEVICE_WRITE_MB_PER_S,
            figure::DEVICE_WRITE_AWAIT_US,
            figure::DEVICE_QUEUE,
            figure::DEVICE_BUSY_PERCENT,
            figure::PERCENT_OF_CEILING,
        ],
    ),
];

fn metrics(sides: [&[Figures<'_>]; 2], verdicts: &[GroupVerdicts; 2], confidence: Confidence) -> Vec<Metric> {
    let all = SECTIONS
        .into_iter()
        .flat_map(|(section, figures)| figures.iter().map(move |figure| (section, figure)));
    all.filter_map(|(section, figure)| Metric::of(section, figure, sides, verdicts, confidence)).collect()
}

impl Metric {
    /// `None` if neither side knows the figure.
    fn of(
        section: &'static str,
        figure: &Figure,
        sides: [&[Figures<'_>]; 2],
        [of_first, of_second]: &[GroupVerdicts; 2],
        confidence: Confidence,
    ) -> Option<Self> {
        let [a, b] = sides.map(|runs| runs.iter().filter_map(|run| figure.of(run)).collect::<Vec<f64>>());
        if a.is_empty() && b.is_empty() {
            return None;
        }
        let (first, second) = (summary::mean(&a), summary::mean(&b));
        let difference = |(first, second): (f64, f64)| 100.0 * (second - first) / first.abs();
        // A mean over some of the runs must not look like one over all, nor equal bounds of buckets like no noise.
        let all_know = a.len() == sides[0].len() && b.len() == sides[1].len();
        let is_bound = sides.into_iter().flatten().any(|run| figure.is_bound(run));
        let refused = group::refusal(&[("first", of_first), ("second", of_second)], figure.rests_on);
        let is_sound = refused.is_none();
        let comparison =
            (all_know && !is_bound && is_sound).then(|| compared(figure, &a, &b, confidence)).flatten();
        Some(Self {
            section,
            name: figure.name,
            title: figure.title,
            unit: figure.unit,
            better: figure.better,
            first,
            second,
            difference_percent: first
                .zip(second)
                .filter(|(first, _)| *first != 0.0 && is_sound)
                .map(difference),
            comparison,
            refused,
        })
    }
}

fn compared(figure: &Figure, first: &[f64], second: &[f64], confidence: Confidence) -> Option<Comparison> {
    /// The error of the ratio of two percentiles of a histogram: each is within 1/128. Runs with percentiles in the same
    /// bucket would otherwise seem to have no noise at all.
    const PERCENTILE_PERCENT: f64 = 1.6;
    let comparison = Comparison::of(first, second, confidence.ratio())?;
    let widened = |interval: PercentInterval| match figure.is_percentile() {
        true => interval.widened(PERCENTILE_PERCENT),
        false => interval,
    };
    Some(Comparison { interval: comparison.interval.map(widened), ..comparison })
}

/// The figures of the statements, their names there, and the words for more and for less of them.
const SPOKEN: [(Figure, &str, [&str; 2]); 4] = [
    (figure::OPERATIONS_PER_S, "Operations/s", ["faster", "slower"]),
    (figure::PHYSICAL_READS_PER_S, "Physical reads/s", ["higher", "lower"]),
    (figure::OPERATION_P99_US, "p99 of an operation", ["longer", "shorter"]),
    (figure::REDO_MB_PER_S, "Redo MB/s", ["higher", "lower"]),
];

/// A sentence for each of the figures that matter most, and one about repeats.
fn statements(metrics: &[Metric], runs: [usize; 2], confidence: Confidence) -> Vec<String> {
    let find = |figure: &Figure| metrics.iter().find(|metric| metric.name == figure.name);
    // Operations are faster from a page cache too, but not better.
    let is_sound = metrics.iter().all(|metric| metric.refused.is_none());
    let spoken = SPOKEN.iter().filter_map(|(figure, title, words)| {
        let metric = find(figure)?;
        let better = if is_sound { metric.better } else { Better::Neither };
        Some(format!("{title}: {}", statement(&metric.comparison?, *words, better)))
    });
    // Figures that rest on the same verdicts have one sentence.
    let mut refused: Vec<(Vec<&str>, &str)> = Vec::new();
    for (figure, title, _) in &SPOKEN {
        let Some(reason) = find(figure).and_then(|metric| metric.refused.as_deref()) else { continue };
        match refused.iter_mut().find(|(_, other)| *other == reason) {
            Some((titles, _)) => titles.push(title),
            None => refused.push((vec![title], reason)),
        }
    }
    let refused = refused
        .into_iter()
        .map(|(titles, reason)| format!("{}: can't be compared. {reason}", titles.join(", ")));
    let repeats = match runs.into_iter().min() {
        Some(0 | 1) => "A single run on a side can't show whether a difference is more than noise: repeat both sides, three \
                        times or more."
            .into(),
        _ => {
            let [first, second] = runs.map(|runs| plural(runs as u64, "run"));
            format!(
                "From {first} and {second}; statements hold with {confidence} confidence (Welch's t interval on \
                 logarithms)."
            )
        }
    };
    refused.chain(spoken).chain([repeats]).collect()
}

fn statement(comparison: &Comparison, [more, less]: [&str; 2], better: Better) -> String {
    let word = |percent: f64| if percent > 0.0 { more } else { less };
    let Some(interval) = comparison.interval else {
        let size = shown_percent(comparison.percent.abs());
        let is_nothing = size.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        return match is_nothing {
            true => "the same on both sides.".into(),
            false => format!("second is {size} % {}.", word(comparison.percent)),
        };
    };
    if !interval.excludes_zero() {
        return noise(&interval);
    }
    let good = match (better, interval.low > 0.0) {
        (Better::Neither, _) => "",
        (Better::Higher, true) | (Better::Lower, false) => " (better)",
        _ => " (worse)",
    };
    format!("second is {} {}{good}.", range(&interval), word(interval.low))
}

/// The statement on an interval with 0 in it.
pub(crate) fn noise(interval: &PercentInterval) -> String {
    format!("no difference found: the noise is {} %.", shown_percent(interval.noise_percent()))
}

/// The ends of an interval without their signs, the smaller first: `3.2 % to 5.1 %`.
pub(crate) fn range(interval: &PercentInterval) -> String {
    let (low, high) = (interval.low.abs(), interval.high.abs());
    let (small, large) = (shown_percent(low.min(high)), shown_percent(low.max(high)));
    if small == large { format!("{small} %") } else { format!("{small} % to {large} %") }
}

/// A percentage with a decimal, below 1 with two.
pub(crate) fn shown_percent(percent: f64) -> String {
    fixed(percent, if percent < 0.995 { 2 } else { 1 })
}

/// The events that took most time on either side, summed over its runs.
fn event_pairs(sides: [&[Figures<'_>]; 2]) -> Vec<EventPair> {
    const MOST: usize = 10;
    // Class of each event, and seconds and waits on both sides.
    type Sum = Option<(f64, Option<u64>)>;
    let mut sums: BTreeMap<String, (String, [Sum; 2])> = BTreeMap::new();
    for (side, runs) in sides.into_iter().enumerate() {
        for event in runs.iter().flat_map(|run| timed_events(run.record)) {
            let (_, of_event) = sums.entry(event.name).or_insert((event.class, [None; 2]));
            let (time_s, waits) = of_event[side].get_or_insert((0.0, Some(0)));
            *time_s += event.time_s;
            // Unknown if a run did not count them.
            *waits = waits.zip(event.waits).map(|(sum, waits)| sum.saturating_add(waits));
        }
    }
    let windows = sides.map(|runs| {
        let measured = || runs.iter().filter(|run| run.is_measured());
        let window_s: f64 = measured().filter_map(|run| figure::WINDOW_S.of(run)).sum();
        (window_s, measured().map(|run| figure::DB_TIME_S.of(run)).sum::<Option<f64>>())
    });
    let share = |sum: Sum, (window_s, db_time_s): (f64, Option<f64>)| {
        let (time_s, waits) = sum?;
        Some(EventShare {
            s_per_s: ratio(time_s, window_s)?,
            percent_of_db_time: db_time_s.and_then(|db_time_s| ratio(100.0 * time_s, db_time_s)),
            mean_us: waits.and_then(|waits| ratio(time_s * 1e6, waits as f64)),
        })
    };
    let pair = |(name, (class, sums)): (String, (String, [Sum; 2]))| {
        let [first, second] = [0, 1].map(|side| share(sums[side], windows[side]));
        EventPair { name, class, first, second }
    };
    let mut pairs: Vec<EventPair> = sums.into_iter().map(pair).collect();
    let most = |pair: &EventPair| {
        [pair.first, pair.second].into_iter().flatten().map(|share| share.s_per_s).fold(0.0, f64::max)
    };
    pairs.sort_by(|a, b| most(b).total_cmp(&most(a)));
    pairs.truncate(MOST);
    pairs
}

/// The comparison as one HTML file that needs no network: tables, and the charts of both sides over each other.
///
/// `first` and `second` are the records of `diff`, with their series. The charts of a group of repeated runs are those of
/// the one with the median rate of operations; the figures are those of all.
pub fn diff_page(diff: &Diff, first: &[Record], second: &[Record]) -> String {
    let medians = [median(first), median(second)];
    let groups = medians.map(|record| {
        record.map(|record| run_charts::groups(record, &Figures::of(record))).unwrap_or_default()
    });
    let [of_first, of_second] = groups.map(Vec::into_iter);
    let charts = of_first
        .zip(of_second)
        .map(|(a, b)| Section::new(a.id, a.title).charts(Chart::overlay_all(&a.charts, &b.charts)));
    let [first, second] = [(&diff.first, medians[0]), (&diff.second, medians[1])].map(|(side, record)| {
        let drawn = record
            .filter(|_| side.is_group())
            .map(|run| format!("; the charts show the median one, {}", run.id));
        escape::text(&(side.words() + &drawn.unwrap_or_default()))
    });
    let cautions = diff.first.incomplete.iter().chain(&diff.second.incomplete);
    let cautions: String = cautions
        .map(|wrong| format!("<p class=\"banner doubt\">Caution: {}.</p>\n", escape::text(wrong)))
        .collect();
    let summary = Section::new("summary", "In short")
        .part("", |page| diff.write_statements(page))
        .part("Verdicts", |page| diff.write_verdicts(page));
    let figures = Section::new("figures", "Figures").part("", |page| diff.write_tables(page));
    View {
        title: "OpenSLOB comparison".into(),
        heading: "Comparison".into(),
        lead: format!(
            "<p class=\"lead\"><span class=\"key first\"></span>First: {first}<br><span class=\"key \
             second\"></span>Second: {second}</p>\n{cautions}"
        ),
        has_links: true,
        sections: [summary].into_iter().chain(charts).chain([figures]).collect(),
        source: "From the saved records of the runs alone.".into(),
    }
    .html()
}

/// The run of a group with the median rate of operations.
fn median(records: &[Record]) -> Option<&Record> {
    let rate = |record| figure::OPERATIONS_PER_S.of(&Figures::of(record)).unwrap_or_default();
    let mut rated: Vec<(f64, &Record)> = records.iter().map(|record| (rate(record), record)).collect();
    rated.sort_by(|a, b| a.0.total_cmp(&b.0));
    rated.get(rated.len().saturating_sub(1) / 2).map(|(_, record)| *record)
}

#[cfg(test)]
mod tests;
