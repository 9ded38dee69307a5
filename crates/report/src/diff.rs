//! Runs, or groups of repeated runs, side by side: what differs by more than noise ([`slob_stats::Comparison`]).
//! The order is that of AWR's compare-period report.

mod views;

use std::collections::BTreeMap;

use itertools::Itertools;
use serde::Serialize;
use slob_measure::LatencyKind;
use slob_record::{Record, Status};
use slob_stats::summary::{mean, mean_interval};
use slob_stats::{Comparison, Histogram};

use self::views::Charts;

use crate::Confidence;
use crate::change::{Change, compared, noise, range, said_once, shown_percent};
use crate::group::{Group as Runs, is_one_clock};
use slob_facts::figure::{self, Better};
use slob_facts::format::plural;
use slob_facts::measured::{kernels_reads, latency, ratio, timed_events};
use slob_facts::settings::{DifferingSetting, PerGroup, differing};
use slob_facts::verdicts::refusal;
use slob_facts::{Claim, Figure, GroupVerdicts, Lead, Question};
use slob_page::heat::octaves;

pub type NamedRuns<'a> = (&'a str, &'a [Record]);

#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    #[serde(flatten)]
    pub groups: PerGroup<Group>,
    pub confidence: Confidence,
    /// The duration that leads in the runs of all groups.
    pub leads: Lead,
    pub statements: Vec<String>,
    pub changes: Vec<DifferingSetting>,
    pub metrics: Vec<Metric>,
    pub distributions: Vec<Distribution>,
    pub events: Vec<Event>,
    #[serde(skip)]
    charts: Charts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    pub name: String,
    pub runs: Vec<String>,
    pub incomplete: Vec<String>,
    pub verdicts: GroupVerdicts,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    pub section: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub better: Better,
    #[serde(flatten)]
    pub means: PerGroup<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    #[serde(flatten)]
    pub compared: Compared,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Compared {
    Pair(Difference),
    Ranked(Ranking),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// In percent of the first; absent if that is 0, or if the means can't be compared.
    pub difference_percent: Option<f64>,
    /// Absent if a run does not know the figure, or has a 0 or less.
    pub comparison: Option<Comparison>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// Absent for a single run, and for bounds of buckets.
    pub intervals: Vec<Option<(f64, f64)>>,
    /// The best group, and those that noise does not tell from it. Groups with BAD verdicts that others lack are not ranked.
    pub best: Vec<String>,
    pub invalid: Vec<String>,
    pub next: Option<String>,
    pub lead: Option<Comparison>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    pub name: &'static str,
    #[serde(flatten)]
    pub counts: PerGroup<Option<u64>>,
    /// Durations below the step of the clock, which are in no other row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_clock_step: Option<BelowClockStep>,
    pub rows: Vec<DistributionRow>,
    #[serde(skip)]
    histograms: Vec<Option<Histogram>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BelowClockStep {
    pub step_us: f64,
    #[serde(flatten)]
    pub percents: PerGroup<Option<f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistributionRow {
    pub from_us: f64,
    pub to_us: f64,
    #[serde(flatten)]
    pub percents: PerGroup<Option<f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    pub name: String,
    pub class: String,
    #[serde(flatten)]
    pub shares: PerGroup<Option<EventShare>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EventShare {
    /// Seconds for each second of the window: the mean number of sessions in it.
    pub s_per_s: f64,
    pub percent_of_db_time: Option<f64>,
    pub mean_us: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} has no run: name one or more")]
pub struct DiffError(String);

impl Diff {
    pub fn of(groups: &[NamedRuns<'_>], confidence: Confidence) -> Result<Self, DiffError> {
        if let Some((name, _)) = groups.iter().find(|(_, records)| records.is_empty()) {
            return Err(DiffError((*name).to_owned()));
        }
        let sides: Vec<Runs<'_>> = groups.iter().map(|(name, records)| Runs::of(name, records)).collect();
        let leads = Lead::of_all(sides.iter().map(Runs::lead));
        let metrics = metrics(leads, &sides, confidence);
        let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
        let records = sides.iter().map(Runs::records).collect_vec();
        let changes = differing(&records);
        let mut statements = statements(leads, &metrics, &sides, confidence);
        statements.extend(changes.iter().filter_map(|change| change.warning(&names)));
        let (events, distributions) = (events(&sides), distributions(&records));
        let groups = PerGroup(sides.iter().map(Group::of).collect());
        let charts = Charts::default();
        Ok(Self { groups, confidence, leads, statements, changes, metrics, distributions, events, charts })
    }

    pub fn with_charts(self, groups: &[NamedRuns<'_>]) -> Self {
        Self { charts: Charts::of(&self.distributions, groups), ..self }
    }
}

impl Group {
    fn of(side: &Runs<'_>) -> Self {
        let wrong = |record: &Record| match &record.status {
            Status::Failed { error } => Some(format!("{} failed: {error}", record.id)),
            Status::Aborted { reason } => Some(format!("{} was aborted: {reason}", record.id)),
            Status::Interrupted => Some(format!("{} was interrupted", record.id)),
            Status::Completed if record.window.is_none() => {
                Some(format!("{} has no measured window", record.id))
            }
            Status::Completed => None,
        };
        let incomplete = side.runs.iter().filter_map(|run| wrong(run.record)).chain(side.unlike()).collect();
        Self { name: side.name.clone(), runs: side.ids(), incomplete, verdicts: side.verdicts.clone() }
    }

    fn is_repeated(&self) -> bool {
        self.runs.len() > 1
    }
}

/// The figures of each section, by their names in [`figure`].
macro_rules! sections {
    ($($title:literal: $($figure:ident)*;)*) => { &[$(($title, &[$(figure::$figure),*])),*] };
}

const SECTIONS: &[(&str, &[Figure])] = sections! {
    "Load profile (per second)":
        AVERAGE_ACTIVE_SESSIONS DB_CPUS OPERATIONS_PER_S SELECTS_PER_S UPDATES_PER_S SCANS_PER_S ROWS_PER_S
        LOGICAL_READS_PER_S PHYSICAL_READS_PER_S PHYSICAL_READ_MB_PER_S PHYSICAL_WRITES_PER_S PHYSICAL_WRITE_MB_PER_S
        REDO_MB_PER_S REDO_SYNCS_PER_S COMMITS_PER_S;
    "Latency (us)":
        RESPONSE_MEAN_US RESPONSE_P50_US RESPONSE_P90_US RESPONSE_P95_US RESPONSE_P99_US RESPONSE_P999_US RESPONSE_MAX_US
        OPERATION_MEAN_US OPERATION_P50_US OPERATION_P90_US OPERATION_P95_US OPERATION_P99_US OPERATION_P999_US
        OPERATION_MAX_US PHYSICAL_READ_MEAN_US PHYSICAL_READ_P50_US PHYSICAL_READ_P99_US REDO_SYNC_MEAN_US REDO_SYNC_P99_US;
    "CPU and device":
        WAITING_PERCENT HIT_PERCENT HOST_BUSY_PERCENT HOST_USER_PERCENT HOST_SYSTEM_PERCENT HOST_IO_WAIT_PERCENT HOST_STEAL_PERCENT HOST_LOAD
        DB_CPU_PERCENT_OF_DB_TIME PHYSICAL_READS_PER_DB_CPU_S LOGICAL_READS_PER_DB_CPU_S IOPS_PER_CORE IOPS_PER_DB_CORE
        DB_CPU_US_PER_PHYSICAL_READ DEVICE_READS_PER_S DEVICE_READ_MB_PER_S DEVICE_READ_AWAIT_US DEVICE_WRITES_PER_S
        DEVICE_WRITE_MB_PER_S DEVICE_WRITE_AWAIT_US DEVICE_QUEUE DEVICE_BUSY_PERCENT PERCENT_OF_CEILING REDO_PERCENT_OF_CEILING;
};

/// Responses come first where they lead, and are left out where they do not.
fn metrics(lead: Lead, sides: &[Runs<'_>], confidence: Confidence) -> Vec<Metric> {
    let is_shown = |figure: &&Figure| lead == Lead::Response || !figure.is_of_responses();
    let all = SECTIONS
        .iter()
        .flat_map(|(section, figures)| figures.iter().filter(is_shown).map(move |figure| (*section, figure)));
    all.filter_map(|(section, figure)| Metric::of(section, figure, sides, confidence)).collect()
}

impl Metric {
    fn of(
        section: &'static str,
        figure: &Figure,
        sides: &[Runs<'_>],
        confidence: Confidence,
    ) -> Option<Self> {
        let values: Vec<Vec<f64>> = sides.iter().map(|side| side.values(figure)).collect();
        if values.iter().all(Vec::is_empty) {
            return None;
        }
        let verdicts = sides.iter().map(|side| (side.name.as_str(), &side.verdicts)).collect_vec();
        // Nothing happened in any group: there is nothing to refuse.
        let is_idle = values.iter().flatten().all(|value| *value == 0.0);
        let refused = if is_idle { None } else { refusal(&verdicts, figure.rests_on) };
        let compared = match (sides, values.as_slice()) {
            ([_, _], [a, b]) if refused.is_none() => {
                Compared::Pair(Difference::of(figure, sides, [a, b], confidence))
            }
            ([_, _], _) => Compared::Pair(Difference::default()),
            _ => Compared::Ranked(Ranking::of(figure, sides, &values, confidence)),
        };
        Some(Self {
            section,
            name: figure.name,
            title: figure.title,
            unit: figure.unit,
            better: figure.better,
            means: PerGroup(values.iter().map(|values| mean(values)).collect()),
            refused,
            compared,
        })
    }
}

/// Operations are faster from a page cache too, but not better.
fn unlike<'a>(sides: &'a [Runs<'_>]) -> Vec<&'a str> {
    let bad =
        |side: &Runs<'_>| side.verdicts.against(&Question::ALL, Claim::Compared).map(|bad| bad.question);
    if sides.iter().map(bad).all_equal() {
        return Vec::new();
    }
    sides.iter().filter(|side| bad(side).is_some()).map(|side| side.name.as_str()).collect()
}

impl Difference {
    fn of(figure: &Figure, sides: &[Runs<'_>], [a, b]: [&[f64]; 2], confidence: Confidence) -> Self {
        let is_one_clock = is_one_clock(sides.iter().flat_map(|side| &side.runs), figure);
        let are_comparable = is_one_clock && sides.iter().all(|side| side.is_comparable(figure));
        let percent = |(first, second): (f64, f64)| 100.0 * (second - first) / first.abs();
        let means = mean(a).zip(mean(b)).filter(|(first, _)| is_one_clock && *first != 0.0);
        Self {
            difference_percent: means.map(percent),
            comparison: are_comparable.then(|| compared(figure, a, b, confidence)).flatten(),
        }
    }
}

impl Ranking {
    fn of(figure: &Figure, sides: &[Runs<'_>], values: &[Vec<f64>], confidence: Confidence) -> Self {
        let interval = |(side, values): (&Runs<'_>, &Vec<f64>)| {
            let interval = mean_interval(values, confidence.ratio()).filter(|_| side.is_comparable(figure));
            // The interval of two very different runs reaches below 0, which no rate or time does.
            interval.map(|(low, high)| (low.max(0.0), high))
        };
        let intervals = sides.iter().zip(values).map(interval).collect();
        let is_invalid = |side: &&Runs<'_>| side.verdicts.against(figure.rests_on, Claim::Compared).is_some();
        let invalid = sides.iter().filter(is_invalid).map(|side| side.name.clone()).collect();
        let alone = Self { intervals, invalid, ..Self::default() };
        let unlike = unlike(sides);
        let is_ranked = |side: &Runs<'_>| {
            side.is_comparable(figure)
                && !alone.invalid.contains(&side.name)
                && !unlike.contains(&side.name.as_str())
        };
        let ranked = sides.iter().zip(values).filter(|(side, _)| is_ranked(side));
        let ranked =
            ranked.filter_map(|(side, values)| Some((side.name.as_str(), values.as_slice(), mean(values)?)));
        let ranked: Vec<(&str, &[f64], f64)> = match figure.better {
            Better::Higher => ranked.sorted_by(|a, b| b.2.total_cmp(&a.2)).collect(),
            Better::Lower => ranked.sorted_by(|a, b| a.2.total_cmp(&b.2)).collect(),
            Better::Neither => return alone,
        };
        let [(_, best_values, best_mean), others @ ..] = ranked.as_slice() else { return alone };
        // The statements on the best and each other hold together.
        let confidence = confidence.of_each(others.len());
        let compared =
            |(_, values, _): &(&str, &[f64], f64)| compared(figure, values, best_values, confidence);
        let comparisons = others.iter().map(compared).collect_vec();
        let is_told_apart = |other: &(&str, &[f64], f64), comparison: &Option<Comparison>| match comparison {
            Some(Comparison { interval: Some(interval), .. }) => interval.excludes_zero(),
            Some(_) => other.2 != *best_mean,
            None => false,
        };
        // A group behind one that is told apart is not marked, however much its runs differ.
        let apart = others.iter().zip(&comparisons).position(|(other, one)| is_told_apart(other, one));
        let best = match apart {
            None => Vec::new(),
            Some(tied) => ranked[..=tied].iter().map(|(name, ..)| (*name).to_owned()).collect(),
        };
        let next = others.first().map(|(name, ..)| (*name).to_owned());
        Self { best, next, lead: comparisons.first().copied().flatten(), ..alone }
    }
}

const SPOKEN: [(&Figure, &str, [&str; 2]); 4] = [
    (&figure::OPERATIONS_PER_S, "Operations/s", ["faster", "slower"]),
    (&figure::PHYSICAL_READS_PER_S, "Physical reads/s", ["higher", "lower"]),
    (&figure::OPERATION_P99_US, "", ["longer", "shorter"]),
    (&figure::REDO_MB_PER_S, "Redo MB/s", ["higher", "lower"]),
];

fn statements(lead: Lead, metrics: &[Metric], sides: &[Runs<'_>], confidence: Confidence) -> Vec<String> {
    let spoken = SPOKEN.map(|(figure, title, words)| match lead.instead_of(figure) {
        leading if title.is_empty() => (leading, leading.heading, words),
        leading => (leading, title, words),
    });
    let find = |figure: &Figure| metrics.iter().find(|metric| metric.name == figure.name);
    let is_sound = metrics.iter().all(|metric| metric.refused.is_none());
    let sentences = spoken.iter().filter_map(|(figure, title, words)| {
        let metric = find(figure)?;
        let sentence = match &metric.compared {
            Compared::Pair(difference) => {
                let better = if is_sound { metric.better } else { Better::Neither };
                let change = Change { first: "first", second: "second", words: *words, better };
                change.sentence(&difference.comparison?)
            }
            Compared::Ranked(ranking) => ranking.statement(*words)?,
        };
        Some(format!("{title}: {sentence}"))
    });
    let refused = spoken.iter().filter_map(|(figure, title, _)| {
        let metric = find(figure)?;
        let reason = metric.refused.as_deref()?;
        // More reasons fill a page, and the verdicts hold them too.
        const FEW: usize = 2;
        let sentence = match &metric.compared {
            Compared::Pair(_) => format!("can't be compared. {reason}"),
            Compared::Ranked(Ranking { invalid, .. }) => {
                let reason = if invalid.len() > FEW { "Their verdicts say why." } else { reason };
                format!("{} can't be compared. {reason}", invalid.join(", "))
            }
        };
        Some((*title, sentence))
    });
    let refused = said_once(refused);
    let unlike = unlike(sides);
    let unranked = (sides.len() > 2 && !unlike.is_empty())
        .then(|| format!("Not ranked, because a verdict is BAD: {}.", unlike.join(", ")));
    refused.into_iter().chain(sentences).chain(unranked).chain([repeats(sides, confidence)]).collect()
}

fn repeats(sides: &[Runs<'_>], confidence: Confidence) -> String {
    let single = |side, each| {
        format!(
            "{side} can't show whether a difference is more than noise: repeat {each}, three times or more."
        )
    };
    match (sides, sides.iter().map(|side| side.runs.len()).min()) {
        ([_, _], None | Some(0 | 1)) => single("A single run on a side", "both sides"),
        (_, None | Some(0 | 1)) => single("A group of a single run", "each"),
        ([first, second], _) => {
            let [first, second] = [first, second].map(|side| plural(side.runs.len() as u64, "run"));
            format!(
                "From {first} and {second}; statements hold with {confidence} confidence (Welch's t interval on \
                 logarithms)."
            )
        }
        _ => format!(
            "From {} in {} groups; the statements on a figure hold together with {confidence} confidence (Welch's t \
             interval on logarithms, Bonferroni).",
            plural(sides.iter().map(|side| side.runs.len() as u64).sum(), "run"),
            sides.len()
        ),
    }
}

impl Ranking {
    fn statement(&self, [more, less]: [&str; 2]) -> Option<String> {
        let (lead, next) = (self.lead?, self.next.as_ref()?);
        let word = if lead.percent > 0.0 { more } else { less };
        Some(match (self.best.as_slice(), lead.interval) {
            ([], Some(interval)) => noise(&interval),
            ([], None) => "the same in all groups.".into(),
            ([best], interval) => {
                let single = || format!("{} %", shown_percent(lead.percent.abs()));
                let size = interval.as_ref().map_or_else(single, range);
                format!("{best} is best, {size} {word} than {next}, the next.")
            }
            ([firsts @ .., last], interval) => {
                let noise = interval.map(|interval| shown_percent(interval.noise_percent()));
                let noise = noise.map(|percent| format!(": the noise is {percent} %")).unwrap_or_default();
                let firsts = firsts.join(", ");
                format!("{firsts} and {last} are best, without a difference between them{noise}.")
            }
        })
    }
}

fn events(sides: &[Runs<'_>]) -> Vec<Event> {
    const MOST: usize = 10;
    type Sum = Option<(f64, Option<u64>)>;
    let mut sums: BTreeMap<String, (String, Vec<Sum>)> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        for event in side.runs.iter().flat_map(|run| timed_events(run.record)) {
            let (_, of_event) =
                sums.entry(event.name).or_insert_with(|| (event.class, vec![None; sides.len()]));
            let (time_s, waits) = of_event[place].get_or_insert((0.0, Some(0)));
            *time_s += event.time_s;
            // Unknown if a run did not count them.
            *waits = waits.zip(event.waits).map(|(sum, waits)| sum.saturating_add(waits));
        }
    }
    let window = |side: &Runs<'_>| {
        let measured = || side.runs.iter().filter(|run| run.is_measured());
        let window_s: f64 = measured().filter_map(|run| figure::WINDOW_S.of(run)).sum();
        (window_s, measured().map(|run| figure::DB_TIME_S.of(run)).sum::<Option<f64>>())
    };
    let windows: Vec<_> = sides.iter().map(window).collect();
    let share = |(sum, (window_s, db_time_s)): (Sum, &(f64, Option<f64>))| {
        let (time_s, waits) = sum?;
        Some(EventShare {
            s_per_s: ratio(time_s, *window_s)?,
            percent_of_db_time: db_time_s.and_then(|db_time_s| ratio(100.0 * time_s, db_time_s)),
            mean_us: waits.and_then(|waits| ratio(time_s * 1e6, waits as f64)),
        })
    };
    let event = |(name, (class, sums)): (String, (String, Vec<Sum>))| Event {
        name,
        class,
        shares: PerGroup(sums.into_iter().zip(&windows).map(share).collect()),
    };
    let most = |event: &Event| event.shares.iter().flatten().map(|share| share.s_per_s).fold(0.0, f64::max);
    sums.into_iter().map(event).sorted_by(|a, b| most(b).total_cmp(&most(a))).take(MOST).collect()
}

type Add = fn(&Record, &mut Histogram);

fn distributions(groups: &[Vec<&Record>]) -> Vec<Distribution> {
    let operations: Add = |record, all| {
        let kinds = record.operations.values().filter(|_| record.window.is_some());
        kinds.for_each(|kind| all.merge(&kind.latency));
    };
    let own: Add =
        |record, all| latency(record, LatencyKind::PhysicalRead).into_iter().for_each(|own| all.merge(own));
    let traced: Add = |record, all| kernels_reads(record).into_iter().for_each(|own| all.merge(&own));
    // Durations by two clocks are not one distribution.
    let are_traced = groups.iter().flatten().all(|record| kernels_reads(record).is_some());
    let reads = if are_traced { traced } else { own };
    let distribution = |(name, add): (&'static str, Add)| {
        let of_group = |records: &Vec<&Record>| {
            let mut all = Histogram::new();
            records.iter().for_each(|record| add(record, &mut all));
            (!all.is_empty()).then_some(all)
        };
        Distribution::of(name, groups.iter().map(of_group).collect())
    };
    [("operations", operations), ("physical reads", reads)].into_iter().filter_map(distribution).collect()
}

impl Distribution {
    fn of(name: &'static str, histograms: Vec<Option<Histogram>>) -> Option<Self> {
        if histograms.iter().all(Option::is_none) {
            return None;
        }
        let known = |own: &Histogram| -> BTreeMap<i32, u64> {
            octaves(own).into_iter().skip(usize::from(own.below_clock_step().is_some())).collect()
        };
        let counts: Vec<Option<BTreeMap<i32, u64>>> =
            histograms.iter().map(|own| own.as_ref().map(known)).collect();
        let octaves = counts.iter().flatten().flat_map(BTreeMap::keys).minmax().into_option();
        let octaves = octaves.map_or(0..0, |(lowest, highest)| *lowest..highest + 1);
        let percents = |count: &dyn Fn(usize, &Histogram) -> u64| {
            let percent = |(group, own): (usize, &Option<Histogram>)| {
                own.as_ref().map(|own| 100.0 * count(group, own) as f64 / own.count() as f64)
            };
            PerGroup(histograms.iter().enumerate().map(percent).collect())
        };
        let row = |octave: i32| DistributionRow {
            from_us: f64::from(octave).exp2(),
            to_us: f64::from(octave + 1).exp2(),
            percents: percents(&|group, _| {
                counts[group].as_ref().and_then(|own| own.get(&octave).copied()).unwrap_or(0)
            }),
        };
        let steps = histograms.iter().flatten().filter_map(Histogram::below_clock_step);
        let below_clock_step = steps.map(|(step_ns, _)| step_ns).max().map(|step_ns| BelowClockStep {
            step_us: step_ns as f64 / 1e3,
            percents: percents(&|_, own| own.below_clock_step().map_or(0, |(_, number)| number)),
        });
        let rows = octaves.map(row).collect();
        let counts = PerGroup(histograms.iter().map(|own| own.as_ref().map(Histogram::count)).collect());
        Some(Self { name, counts, below_clock_step, rows, histograms })
    }
}

#[cfg(test)]
mod tests;
