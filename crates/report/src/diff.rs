//! Runs, or groups of repeated runs, side by side: what differs by more than noise ([`slob_stats::Comparison`]).
//! The order is that of AWR's compare-period report.

mod views;

use std::collections::BTreeMap;

use serde::Serialize;
use slob_measure::LatencyKind;
use slob_record::{Record, Status};
use slob_stats::summary::{mean, mean_interval};
use slob_stats::{Comparison, Histogram};

use self::views::Charts;

use crate::Confidence;
use crate::change::{Change, compared, noise, range, shown_percent};
use crate::group::Group as Runs;
use crate::html::heat::octaves;
use crate::settings::{DifferingSetting, PerGroup, differing};
use slob_facts::figure::{self, Better};
use slob_facts::format::plural;
use slob_facts::measured::{kernels_reads, latency, ratio, timed_events};
use slob_facts::verdicts::refusal;
use slob_facts::{Claim, Figure, GroupVerdicts, Question};

pub type NamedRuns<'a> = (&'a str, &'a [Record]);

#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    #[serde(flatten)]
    pub groups: PerGroup<Group>,
    pub confidence: Confidence,
    pub statements: Vec<String>,
    pub changes: Vec<DifferingSetting>,
    /// All figures that a group knows, different or not.
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
    /// Names the BAD verdicts that it rests on.
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
    /// The longest of all groups.
    pub step_us: f64,
    #[serde(flatten)]
    pub percents: PerGroup<Option<f64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistributionRow {
    pub from_us: f64,
    pub to_us: f64,
    /// Absent for a group that did not count them.
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
    /// Absent if waits are not counted.
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
        let metrics = metrics(&sides, confidence);
        let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
        let records: Vec<&[Record]> = groups.iter().map(|(_, records)| *records).collect();
        let changes = differing(&records);
        let mut statements = statements(&metrics, &sides, confidence);
        statements.extend(changes.iter().filter_map(|change| change.warning(&names)));
        let (events, distributions) = (events(&sides), distributions(&records));
        let each = sides.into_iter().zip(records);
        let groups = PerGroup(each.map(|(side, records)| Group::of(&side, records)).collect());
        let charts = Charts::default();
        Ok(Self { groups, confidence, statements, changes, metrics, distributions, events, charts })
    }

    /// `groups` must be those compared, with their series.
    pub fn with_charts(self, groups: &[NamedRuns<'_>]) -> Self {
        Self { charts: Charts::of(&self.distributions, groups), ..self }
    }
}

impl Group {
    fn of(side: &Runs<'_>, records: &[Record]) -> Self {
        let runs = records.iter().map(|record| record.id.clone()).collect();
        let wrong = |record: &Record| match &record.status {
            Status::Failed { error } => Some(format!("{} failed: {error}", record.id)),
            Status::Interrupted => Some(format!("{} was interrupted", record.id)),
            Status::Completed if record.window.is_none() => {
                Some(format!("{} has no measured window", record.id))
            }
            Status::Completed => None,
        };
        let incomplete = records.iter().filter_map(wrong).chain(side.unlike()).collect();
        Self { name: side.name.clone(), runs, incomplete, verdicts: side.verdicts.clone() }
    }

    fn is_repeated(&self) -> bool {
        self.runs.len() > 1
    }
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
            figure::HOST_USER_PERCENT,
            figure::HOST_SYSTEM_PERCENT,
            figure::HOST_IO_WAIT_PERCENT,
            figure::HOST_STEAL_PERCENT,
            figure::HOST_LOAD,
            figure::DB_CPU_PERCENT_OF_DB_TIME,
            figure::PHYSICAL_READS_PER_DB_CPU_S,
            figure::LOGICAL_READS_PER_DB_CPU_S,
            figure::IOPS_PER_CORE,
            figure::IOPS_PER_DB_CORE,
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

fn metrics(sides: &[Runs<'_>], confidence: Confidence) -> Vec<Metric> {
    let all = SECTIONS
        .into_iter()
        .flat_map(|(section, figures)| figures.iter().map(move |figure| (section, figure)));
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
        let verdicts: Vec<_> = sides.iter().map(|side| (side.name.as_str(), &side.verdicts)).collect();
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
        |side: &Runs<'_>| side.verdicts.against(&Question::ALL, Claim::Compared).map(|worst| worst.question);
    match sides.windows(2).all(|pair| bad(&pair[0]) == bad(&pair[1])) {
        true => Vec::new(),
        false => sides.iter().filter(|side| bad(side).is_some()).map(|side| side.name.as_str()).collect(),
    }
}

impl Difference {
    fn of(figure: &Figure, sides: &[Runs<'_>], [a, b]: [&[f64]; 2], confidence: Confidence) -> Self {
        let mut clocks = sides.iter().flat_map(|side| &side.runs).map(|run| figure.is_kernels(run));
        let is_one_clock = clocks.next().is_none_or(|first| clocks.all(|clock| clock == first));
        let are_comparable = is_one_clock && sides.iter().all(|side| side.is_comparable(figure));
        let percent = |(first, second): (f64, f64)| 100.0 * (second - first) / first.abs();
        Self {
            difference_percent: mean(a)
                .zip(mean(b))
                .filter(|(first, _)| is_one_clock && *first != 0.0)
                .map(percent),
            comparison: are_comparable.then(|| compared(figure, a, b, confidence)).flatten(),
        }
    }
}

impl Ranking {
    fn of(figure: &Figure, sides: &[Runs<'_>], values: &[Vec<f64>], confidence: Confidence) -> Self {
        let interval = |(side, values): (&Runs<'_>, &Vec<f64>)| {
            let (low, high) =
                mean_interval(values, confidence.ratio()).filter(|_| side.is_comparable(figure))?;
            // The interval of two very different runs reaches below 0, which no rate or time does.
            Some((low.max(0.0), high))
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
        let mut ranked: Vec<(&str, &[f64], f64)> = ranked
            .filter_map(|(side, values)| Some((side.name.as_str(), values.as_slice(), mean(values)?)))
            .collect();
        match figure.better {
            Better::Higher => ranked.sort_by(|a, b| b.2.total_cmp(&a.2)),
            Better::Lower => ranked.sort_by(|a, b| a.2.total_cmp(&b.2)),
            Better::Neither => return alone,
        }
        let [(_, best_values, best_mean), others @ ..] = ranked.as_slice() else { return alone };
        // The statements on the best and each other hold together.
        let confidence = confidence.of_each(others.len());
        let comparisons: Vec<Option<Comparison>> =
            others.iter().map(|(_, values, _)| compared(figure, values, best_values, confidence)).collect();
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
        let lead = comparisons.first().copied();
        Self { best, next, lead: lead.flatten(), ..alone }
    }
}

/// Figure, its name in sentences, and the words for more and less.
const SPOKEN: [(Figure, &str, [&str; 2]); 4] = [
    (figure::OPERATIONS_PER_S, "Operations/s", ["faster", "slower"]),
    (figure::PHYSICAL_READS_PER_S, "Physical reads/s", ["higher", "lower"]),
    (figure::OPERATION_P99_US, "p99 of an operation", ["longer", "shorter"]),
    (figure::REDO_MB_PER_S, "Redo MB/s", ["higher", "lower"]),
];

fn statements(metrics: &[Metric], sides: &[Runs<'_>], confidence: Confidence) -> Vec<String> {
    let find = |figure: &Figure| metrics.iter().find(|metric| metric.name == figure.name);
    // Operations are faster from a page cache too, but not better.
    let is_sound = metrics.iter().all(|metric| metric.refused.is_none());
    let spoken = SPOKEN.iter().filter_map(|(figure, title, words)| {
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
    // Figures that rest on the same verdicts share a sentence.
    let mut refused: Vec<(Vec<&str>, String)> = Vec::new();
    for (figure, title, _) in &SPOKEN {
        let Some(metric) = find(figure) else { continue };
        let Some(reason) = &metric.refused else { continue };
        // More reasons fill a page, and the verdicts hold them too.
        const FEW: usize = 2;
        let sentence = match &metric.compared {
            Compared::Pair(_) => format!("can't be compared. {reason}"),
            Compared::Ranked(Ranking { invalid, .. }) => {
                let reason = if invalid.len() > FEW { "Their verdicts say why." } else { reason };
                format!("{} can't be compared. {reason}", invalid.join(", "))
            }
        };
        match refused.iter_mut().find(|(_, other)| *other == sentence) {
            Some((titles, _)) => titles.push(title),
            None => refused.push((vec![title], sentence)),
        }
    }
    let refused = refused.into_iter().map(|(titles, sentence)| format!("{}: {sentence}", titles.join(", ")));
    let unlike = unlike(sides);
    let unranked = (sides.len() > 2 && !unlike.is_empty())
        .then(|| format!("Not ranked, because a verdict is BAD: {}.", unlike.join(", ")));
    refused.chain(spoken).chain(unranked).chain([repeats(sides, confidence)]).collect()
}

fn repeats(sides: &[Runs<'_>], confidence: Confidence) -> String {
    let fewest = sides.iter().map(|side| side.runs.len()).min().unwrap_or(0);
    match (sides, fewest) {
        ([_, _], 0 | 1) => {
            "A single run on a side can't show whether a difference is more than noise: repeat both sides, \
                            three times or more."
                .into()
        }
        (_, 0 | 1) => {
            "A group of a single run can't show whether a difference is more than noise: repeat each, three \
                       times or more."
                .into()
        }
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
    /// `None` if fewer than two groups were ranked.
    fn statement(&self, [more, less]: [&str; 2]) -> Option<String> {
        let (lead, next) = (self.lead?, self.next.as_ref()?);
        let word = if lead.percent > 0.0 { more } else { less };
        Some(match (self.best.as_slice(), lead.interval) {
            ([], Some(interval)) => noise(&interval),
            ([], None) => "the same in all groups.".into(),
            ([best], Some(interval)) => {
                format!("{best} is best, {} {word} than {next}, the next.", range(&interval))
            }
            ([best], None) => {
                format!("{best} is {} % {word} than {next}, the next.", shown_percent(lead.percent.abs()))
            }
            ([firsts @ .., last], interval) => {
                let noise = interval.map(|interval| shown_percent(interval.noise_percent()));
                let noise = noise.map(|percent| format!(": the noise is {percent} %")).unwrap_or_default();
                format!(
                    "{} and {last} are best, without a difference between them{noise}.",
                    firsts.join(", ")
                )
            }
        })
    }
}

fn events(sides: &[Runs<'_>]) -> Vec<Event> {
    const MOST: usize = 10;
    // Class of each event, and seconds and waits in each group.
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
    let mut events: Vec<Event> = sums.into_iter().map(event).collect();
    let most = |event: &Event| event.shares.iter().flatten().map(|share| share.s_per_s).fold(0.0, f64::max);
    events.sort_by(|a, b| most(b).total_cmp(&most(a)));
    events.truncate(MOST);
    events
}

type Add = fn(&Record, &mut Histogram);

fn distributions(groups: &[&[Record]]) -> Vec<Distribution> {
    let operations: Add = |record, all| {
        let kinds = record.operations.values().filter(|_| record.window.is_some());
        kinds.for_each(|kind| all.merge(&kind.latency));
    };
    let own: Add =
        |record, all| latency(record, LatencyKind::PhysicalRead).into_iter().for_each(|own| all.merge(own));
    let traced: Add = |record, all| kernels_reads(record).into_iter().for_each(|own| all.merge(&own));
    // Durations by two clocks are not one distribution.
    let are_traced =
        groups.iter().flat_map(|group| group.iter()).all(|record| kernels_reads(record).is_some());
    let reads = if are_traced { traced } else { own };
    let distribution = |(name, add): (&'static str, Add)| {
        let of_group = |records: &&[Record]| {
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
        let all = || counts.iter().flatten().flat_map(BTreeMap::keys);
        let octaves = all().min().zip(all().max()).map_or(0..0, |(lowest, highest)| *lowest..highest + 1);
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
        let counts_of = histograms.iter().map(|own| own.as_ref().map(Histogram::count));
        let counts_of = PerGroup(counts_of.collect());
        let rows = octaves.map(row).collect();
        Some(Self { name, counts: counts_of, below_clock_step, rows, histograms })
    }
}

#[cfg(test)]
mod tests;
