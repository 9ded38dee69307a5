//! The demand at a point of a profile, and what of it the method does not model.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use serde::Serialize;

use slob_facts::Judged;
use slob_facts::format::{capitalised, length};

use crate::figure::{Figure, Figures, Kind, READS, WRITES};
use crate::profile::{DemandError, Histograms, Interval, Profile};
use crate::summary::{LONG_S, moment, rank};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Peak,
    P95,
    Median,
    Moment(DateTime),
}

impl FromStr for At {
    type Err = DemandError;

    fn from_str(text: &str) -> Result<Self, DemandError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "peak" | "max" => Ok(Self::Peak),
            "p95" => Ok(Self::P95),
            "median" | "p50" => Ok(Self::Median),
            moment => {
                let moment = moment.replacen(' ', "T", 1).to_ascii_uppercase();
                let points = "say peak, p95, median, or a moment such as '2026-11-20 10:00'";
                let refused = |_| DemandError::Usage(format!("'{text}' is no point of a profile: {points}"));
                moment.parse().map(Self::Moment).map_err(refused)
            }
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peak => f.write_str("peak"),
            Self::P95 => f.write_str("p95"),
            Self::Median => f.write_str("median"),
            Self::Moment(moment) => write!(f, "{}", moment.strftime("%Y-%m-%d %H:%M")),
        }
    }
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum By {
    #[default]
    Reads,
    Writes,
    Redo,
    Commits,
    LogicalReads,
    DbTime,
    Each,
}

impl By {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The first known figure counts. [`By::Each`] has none.
    fn words_and_figures(self) -> (&'static str, &'static [Figure]) {
        match self {
            Self::Reads => ("reads", &READS),
            Self::Writes => ("writes", &WRITES),
            Self::Redo => ("redo", &[Figure::RedoBytes]),
            Self::Commits => ("commits", &[Figure::Commits]),
            Self::LogicalReads => ("logical reads", &[Figure::LogicalReads]),
            Self::DbTime => ("active sessions", &[Figure::DbTime]),
            Self::Each => ("each figure", &[]),
        }
    }

    pub(crate) fn words(self) -> &'static str {
        self.words_and_figures().0
    }

    pub(crate) fn value(self, figures: &Figures) -> Option<f64> {
        figures.first(self.words_and_figures().1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    pub at: At,
    pub by: By,
    pub grow: f64,
    /// Ratio of the busiest minutes to their interval's mean.
    pub peak_factor: Option<f64>,
}

impl Default for Choice {
    fn default() -> Self {
        Self { at: At::Peak, by: By::Reads, grow: 1.0, peak_factor: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error(
        "neither physical reads nor commits are known of any interval: there is no demand to plan for; profile it from another source"
    )]
    NothingKnown,
    #[error("no interval knows its {0}: choose by another figure with --by")]
    ByUnknown(&'static str),
    #[error(
        "the database was idle: at most {reads} physical reads/s and {commits} commits/s in any interval; there is no demand to \
         plan for"
    )]
    Idle { reads: String, commits: String },
    #[error(
        "the only interval is {length} long, and its peak is averaged away: give reports of shorter intervals, or say with \
         --peak-factor by how much the busiest minutes exceeded the mean, such as --peak-factor 3; --at median plans for the mean"
    )]
    OneLong { length: String },
    #[error("no interval is of {moment}; the nearest begins at {nearest}")]
    NoSuchMoment { moment: String, nearest: String },
    #[error("{0} must be more than 0 and at most 1000")]
    BadFactor(&'static str),
}

/// Below these rates per second a database is idle.
const IDLE_READS: f64 = 1.0;
const IDLE_COMMITS: f64 = 0.1;
/// A figure that peaks elsewhere is listed from this ratio on.
const ELSEWHERE: f64 = 1.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadsAre {
    Requests,
    Blocks,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Demand {
    pub point: String,
    pub name: String,
    pub grow: f64,
    pub figures: Figures,
    pub reads_are: ReadsAre,
    #[serde(skip)]
    pub histograms: Histograms,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<Judged>,
    pub notes: Vec<String>,
}

impl Demand {
    pub fn times(&self, factor: f64) -> Self {
        Self { figures: self.figures.times(factor), grow: self.grow * factor, ..self.clone() }
    }
}

impl Profile {
    /// Fails if neither reads nor commits are known, the database was idle, no interval matches, or one long interval needs
    /// `peak_factor`.
    pub fn demand(&self, choice: &Choice) -> Result<Demand, ChoiceError> {
        let in_range = |factor: f64| factor > 0.0 && factor <= 1000.0;
        if !in_range(choice.grow) {
            return Err(ChoiceError::BadFactor("--grow"));
        }
        if !choice.peak_factor.is_none_or(in_range) {
            return Err(ChoiceError::BadFactor("--peak-factor"));
        }
        let whole = self.together();
        let intervals = &whole.intervals;
        refuse_idle(intervals)?;
        if let (At::Peak | At::P95, [only], None) = (choice.at, &intervals[..], choice.peak_factor)
            && only.seconds > LONG_S
        {
            return Err(ChoiceError::OneLong { length: length(only.seconds) });
        }
        let Chosen { point, name, figures, histograms, bad, mut notes } = match choice.by {
            By::Each if !matches!(choice.at, At::Moment(_)) => each(intervals, choice.at),
            by => one(intervals, choice.at, by)?,
        };
        if figures.get(Figure::Commits).is_none() {
            notes.push("The profile does not know commits: a plan for it has no UPDATEs.".to_owned());
        }
        notes.extend(bad.iter().map(|bad| format!("In the run that was profiled, {}.", bad.words())));
        let factor = choice.grow * choice.peak_factor.unwrap_or(1.0);
        if let Some(peak) = choice.peak_factor {
            notes.push(format!("Rates are {peak} times the interval's mean, as --peak-factor says."));
        }
        let reads_are = match figures.get(Figure::ReadRequests) {
            Some(_) => ReadsAre::Requests,
            None => ReadsAre::Blocks,
        };
        let grow = choice.grow;
        let name = if grow == 1.0 { name } else { format!("{name}, grown to {grow} times") };
        Ok(Demand { point, name, grow, figures: figures.times(factor), reads_are, histograms, bad, notes })
    }
}

fn refuse_idle(intervals: &[Interval]) -> Result<(), ChoiceError> {
    let most = |value: fn(&Figures) -> Option<f64>| {
        intervals.iter().filter_map(|interval| value(&interval.figures)).reduce(f64::max)
    };
    let (reads, commits) = (most(Figures::reads), most(|figures| figures.get(Figure::Commits)));
    if reads.is_none() && commits.is_none() {
        return Err(ChoiceError::NothingKnown);
    }
    if reads.unwrap_or(0.0) < IDLE_READS && commits.unwrap_or(0.0) < IDLE_COMMITS {
        let shown = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.2}"));
        return Err(ChoiceError::Idle { reads: shown(reads), commits: shown(commits) });
    }
    Ok(())
}

struct Chosen {
    point: String,
    name: String,
    figures: Figures,
    histograms: Histograms,
    bad: Vec<Judged>,
    notes: Vec<String>,
}

/// `peak hour`, `p95 interval of 60 s`, or `hour of 2026-11-20 10:00`.
fn short_name(at: At, seconds: f64) -> String {
    const HOUR_S: f64 = 3600.0;
    let is_hour = (seconds / HOUR_S - 1.0).abs() < 0.05;
    let span = if is_hour { "hour".to_owned() } else { format!("interval of {}", length(seconds)) };
    match at {
        At::Moment(_) => format!("{span} of {at}"),
        At::Peak | At::P95 | At::Median => format!("{at} {span}"),
    }
}

pub(crate) fn chosen(intervals: &[Interval], at: At, by: By) -> Result<&Interval, ChoiceError> {
    let mut known: Vec<&Interval> =
        intervals.iter().filter(|interval| by.value(&interval.figures).is_some()).collect();
    let value = |interval: &Interval| by.value(&interval.figures).unwrap_or(0.0);
    // Of equal intervals the earliest wins.
    known.sort_by(|one, other| value(one).total_cmp(&value(other)).then(other.begin.cmp(&one.begin)));
    let chosen = match at {
        At::Moment(moment) => Some(at_moment(intervals, moment)?),
        At::Peak => known.last().copied(),
        At::P95 => known.get(rank(known.len(), 0.95)).copied(),
        At::Median => known.get(rank(known.len(), 0.5)).copied(),
    };
    chosen.ok_or(ChoiceError::ByUnknown(by.words()))
}

fn one(intervals: &[Interval], at: At, by: By) -> Result<Chosen, ChoiceError> {
    let chosen = chosen(intervals, at, by)?;
    let by_words = if matches!(at, At::Moment(_)) { String::new() } else { format!(" by {}", by.words()) };
    let point = format!(
        "{at}{by_words}: {} of {}, {}",
        length(chosen.seconds),
        moment(chosen.begin, chosen.seconds),
        chosen.source
    );
    let mut notes = Vec::new();
    if at == At::Peak {
        notes.extend(elsewhere(intervals, chosen, by));
    }
    if let (At::Peak | At::P95, [_]) = (at, intervals) {
        notes.push(format!("There is one interval only: its {at} is all there is."));
    }
    let Interval { figures, histograms, bad, seconds, .. } = chosen.clone();
    Ok(Chosen { point, name: short_name(at, seconds), figures, histograms, bad, notes })
}

pub(crate) fn at_moment(intervals: &[Interval], moment: DateTime) -> Result<&Interval, ChoiceError> {
    let holds = |interval: &&Interval| interval.begin <= moment && moment < interval.end();
    // Snapshots are taken some seconds after the hour.
    let almost = |interval: &&Interval| {
        let late = interval.begin.duration_since(moment).as_secs_f64();
        (0.0..=0.1 * interval.seconds).contains(&late)
    };
    let apart = |interval: &&Interval| interval.begin.duration_since(moment).unsigned_abs();
    let shown = |moment: DateTime| moment.strftime("%Y-%m-%d %H:%M").to_string();
    let nearest = intervals.iter().min_by_key(apart);
    let found = intervals.iter().find(almost).or_else(|| intervals.iter().find(holds));
    found.ok_or_else(|| ChoiceError::NoSuchMoment {
        moment: shown(moment),
        nearest: nearest.map_or_else(|| "-".into(), |nearest| shown(nearest.begin)),
    })
}

/// Notes on other figures whose peak is not in the chosen interval.
fn elsewhere(intervals: &[Interval], chosen: &Interval, by: By) -> Vec<String> {
    let note = |other: &By| {
        let value = |interval: &Interval| other.value(&interval.figures);
        let here = value(chosen)?;
        let most = |one: &&Interval, another: &&Interval| {
            let [one, another] = [one, another].map(|interval| value(interval).unwrap_or(0.0));
            one.total_cmp(&another)
        };
        let peak = intervals.iter().max_by(most)?;
        let there = value(peak).filter(|there| *there > ELSEWHERE * here && *there > 0.0)?;
        let times = match here > 0.0 {
            true => format!("{:.1} times as high", there / here),
            false => "here there were none".to_owned(),
        };
        Some(format!(
            "{} peak at another time, {}: {times}; --by {} plans for that one, --by each for all at once.",
            capitalised(other.words()),
            moment(peak.begin, peak.seconds),
            other.name(),
        ))
    };
    By::ALL.iter().filter(|other| **other != by).filter_map(note).collect()
}

/// Each figure has its own point; means are those of the median interval.
fn each(intervals: &[Interval], at: At) -> Chosen {
    let value = |figure: Figure| {
        let mut values: Vec<f64> =
            intervals.iter().filter_map(|interval| interval.figures.get(figure)).collect();
        values.sort_by(f64::total_cmp);
        let q = match (at, figure.kind()) {
            (At::Peak, Kind::Rate) => 1.0,
            (At::P95, Kind::Rate) => 0.95,
            _ => 0.5,
        };
        values.get(rank(values.len(), q)).copied()
    };
    let figures = Figure::all().filter_map(|figure| Some((figure, value(figure)?))).collect();
    let note = "Each figure is at its own point: all of them together may never have been asked for at once.";
    let point = format!("{at} of each figure");
    Chosen {
        name: point.clone(),
        point,
        figures,
        histograms: Histograms::new(),
        bad: intervals.iter().flat_map(|interval| interval.bad.clone()).collect(),
        notes: vec![note.to_owned()],
    }
}

/// Work of production that the test lacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotModelled {
    pub what: &'static str,
    pub amount: f64,
    pub unit: &'static str,
    pub percent: Option<f64>,
    pub of: &'static str,
}

pub fn not_modelled(figures: &Figures, block_bytes: Option<u32>) -> Vec<NotModelled> {
    let get = |figure| figures.get(figure);
    let block = block_bytes.map(f64::from);
    let reads = get(Figure::ReadBlocks);
    let read_bytes = get(Figure::ReadBytes).or_else(|| Some(reads? * block?));
    let [all_read, all_written] = [Figure::AllReadBytes, Figure::AllWriteBytes].map(get);
    let own_writes =
        [get(Figure::WriteBlocks).zip(block).map(|(blocks, block)| blocks * block), get(Figure::RedoBytes)];
    let own_written: Option<f64> = own_writes.into_iter().sum();
    let beyond = |all: Option<f64>, own: Option<f64>| Some((all? - own?).max(0.0));
    let other_writes = "writes besides blocks and redo (archives, copies of the log, backups)";
    let [direct, temp_read, temp_written] =
        [Figure::DirectReadBlocks, Figure::TempReadBytes, Figure::TempWriteBytes].map(get);
    let [commits, rolled_back, executions] =
        [Figure::Commits, Figure::Rollbacks, Figure::Executions].map(get);
    let transactions = commits.zip(rolled_back).map(|(commits, rolled_back)| commits + rolled_back);
    let all = [
        ("blocks read several at a time", multi_block(figures), "blocks/s", reads, "physical reads"),
        ("blocks read around the buffer cache", direct, "blocks/s", reads, "physical reads"),
        ("temporary data read", temp_read, "bytes/s", all_read.or(read_bytes), "bytes read"),
        ("temporary data written", temp_written, "bytes/s", all_written, "bytes written"),
        ("reads of the server itself", beyond(all_read, read_bytes), "bytes/s", all_read, "bytes read"),
        (other_writes, beyond(all_written, own_written), "bytes/s", all_written, "bytes written"),
        ("transactions rolled back", rolled_back, "1/s", transactions, "transactions"),
        ("parses", get(Figure::Parses), "1/s", executions, "executions"),
        ("hard parses", get(Figure::HardParses), "1/s", executions, "executions"),
        ("network", get(Figure::NetworkBytes), "bytes/s", None, ""),
    ];
    let line = |(what, amount, unit, whole, of): (_, Option<f64>, _, Option<f64>, _)| {
        let amount = amount.filter(|amount| *amount > 0.0)?;
        let whole = whole.filter(|whole| *whole > 0.0);
        let percent = whole.map(|whole| (100.0 * amount / whole).min(100.0));
        Some(NotModelled { what, amount, unit, percent, of })
    };
    let mut list: Vec<NotModelled> = all.into_iter().filter_map(line).collect();
    list.sort_by(|one, other| other.percent.unwrap_or(0.0).total_cmp(&one.percent.unwrap_or(0.0)));
    list
}

/// Blocks of multi-block requests: all blocks less the single-block requests.
fn multi_block(figures: &Figures) -> Option<f64> {
    let blocks = figures.get(Figure::ReadBlocks)?;
    let single = figures.get(Figure::SingleBlockReads);
    match (single, figures.get(Figure::ReadRequests)) {
        (Some(single), _) => Some((blocks - single).max(0.0)),
        // Of r requests for b blocks at most r - 1 were for one block.
        (None, Some(requests)) => (blocks > 1.02 * requests).then_some(blocks - requests),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::hourly;

    impl Demand {
        pub(crate) fn of_peak(figures: impl Into<Figures>) -> Self {
            Self {
                name: "peak hour".into(),
                point: "peak".into(),
                grow: 1.0,
                figures: figures.into(),
                reads_are: ReadsAre::Requests,
                histograms: Default::default(),
                bad: Vec::new(),
                notes: Vec::new(),
            }
        }
    }

    #[test]
    fn points_are_read_as_people_say_them() {
        let moment = |text: &str| At::Moment(text.parse().unwrap());
        for (text, at) in [
            ("peak", At::Peak),
            ("P95", At::P95),
            ("median", At::Median),
            ("2026-11-20 10:00", moment("2026-11-20T10:00")),
            ("2026-11-20T10:00:30", moment("2026-11-20T10:00:30")),
            ("2026-11-20", moment("2026-11-20T00:00")),
        ] {
            assert_eq!(text.parse::<At>(), Ok(at), "{text}");
        }
        for bad in ["", "p99", "10:00", "2026-13-01"] {
            let error = bad.parse::<At>().unwrap_err().to_string();
            assert!(error.contains("peak, p95, median"), "{error}");
        }
    }

    fn demand(profile: &Profile, choice: Choice) -> Result<Demand, ChoiceError> {
        profile.demand(&choice)
    }

    #[test]
    fn a_point_is_an_interval_and_growth_multiplies_its_rates() {
        let profile = hourly(&[10.0, 40.0, 20.0]);
        let peak = demand(&profile, Choice { grow: 1.5, ..Choice::default() }).unwrap();
        assert_eq!(peak.figures.get(Figure::Commits), Some(60.0));
        assert_eq!(peak.point, "peak by reads: 60 min of 2026-11-20 01:00, report 1");
        let median = demand(&profile, Choice { at: At::Median, ..Choice::default() }).unwrap();
        assert_eq!(median.figures.reads(), Some(200.0));
        let at = |text: &str| demand(&profile, Choice { at: text.parse().unwrap(), ..Choice::default() });
        assert_eq!(at("2026-11-20 02:30").unwrap().figures.get(Figure::Commits), Some(20.0));
        let error = at("2026-11-21 02:30").unwrap_err().to_string();
        assert!(error.contains("the nearest begins at 2026-11-20 02:00"), "{error}");
    }

    #[test]
    fn figures_that_peak_elsewhere_are_noted() {
        let mut profile = hourly(&[10.0, 40.0, 20.0]);
        profile.intervals[0].figures.set(Figure::RedoBytes, 900.0);
        profile.intervals[1].figures.set(Figure::RedoBytes, 300.0);
        let peak = demand(&profile, Choice::default()).unwrap();
        assert!(
            peak.notes[0]
                .starts_with("Redo peak at another time, 2026-11-20 00:00: 3.0 times as high; --by redo")
        );
        profile.intervals[1].figures.set(Figure::RedoBytes, 0.0);
        profile.intervals.iter_mut().for_each(|interval| interval.seconds = 10.0);
        let peak = demand(&profile, Choice::default()).unwrap();
        assert!(
            peak.notes[0]
                .starts_with("Redo peak at another time, 2026-11-20 00:00:00: here there were none; --by")
        );
        assert!(peak.point.contains("10 s of 2026-11-20 01:00:00"), "{}", peak.point);
        let each = demand(&profile, Choice { by: By::Each, ..Choice::default() }).unwrap();
        assert_eq!((each.figures.get(Figure::RedoBytes), each.figures.reads()), (Some(900.0), Some(400.0)));
    }

    #[test]
    fn the_peak_of_one_long_interval_needs_a_peak_factor() {
        let mut profile = hourly(&[10.0]);
        assert!(demand(&profile, Choice::default()).unwrap().notes[0].contains("one interval only"));
        profile.intervals[0].seconds = 7.0 * 86_400.0;
        let error = demand(&profile, Choice::default()).unwrap_err();
        assert!(error.to_string().contains("7 days long") && error.to_string().contains("--peak-factor"));
        let told = demand(&profile, Choice { peak_factor: Some(3.0), ..Choice::default() }).unwrap();
        assert_eq!(told.figures.reads(), Some(300.0));
        demand(&profile, Choice { at: At::Median, ..Choice::default() }).unwrap();
    }

    #[test]
    fn nothing_is_planned_for_a_database_that_was_idle_or_not_known() {
        let idle = demand(&hourly(&[0.01, 0.02]), Choice::default()).unwrap_err();
        assert!(
            idle.to_string().contains("idle: at most 0.20 physical reads/s and 0.02 commits/s"),
            "{idle}"
        );
        let mut unknown = hourly(&[10.0]);
        unknown.intervals[0].figures = [(Figure::DbTime, 1.0)].into();
        assert_eq!(demand(&unknown, Choice::default()), Err(ChoiceError::NothingKnown));
        let by = Choice { by: By::Redo, ..Choice::default() };
        assert_eq!(demand(&hourly(&[10.0]), by), Err(ChoiceError::ByUnknown("redo")));
        let none = Choice { grow: 0.0, ..Choice::default() };
        assert_eq!(demand(&hourly(&[10.0]), none), Err(ChoiceError::BadFactor("--grow")));
    }

    #[test]
    fn what_is_not_known_is_not_listed_and_the_largest_comes_first() {
        let figures = Figures::from([
            (Figure::ReadBlocks, 1000.0),
            (Figure::SingleBlockReads, 900.0),
            (Figure::Commits, 30.0),
            (Figure::Rollbacks, 10.0),
            (Figure::TempReadBytes, 0.0),
        ]);
        let list = not_modelled(&figures, Some(8192));
        let lines: Vec<_> = list.iter().map(|line| (line.what, line.amount, line.percent)).collect();
        assert_eq!(
            lines,
            [
                ("transactions rolled back", 10.0, Some(25.0)),
                ("blocks read several at a time", 100.0, Some(10.0)),
            ]
        );
        assert!(not_modelled(&Figures::default(), None).is_empty());
    }

    #[test]
    fn bytes_beyond_blocks_and_redo_are_others() {
        let figures = Figures::from([
            (Figure::WriteBlocks, 100.0),
            (Figure::RedoBytes, 1e6),
            (Figure::AllWriteBytes, 4e6),
        ]);
        let list = not_modelled(&figures, Some(8192));
        assert_eq!(list[0].amount, 4e6 - 1e6 - 819_200.0);
        assert!(not_modelled(&figures, None).is_empty(), "nothing is known without the size of a block");
    }
}
