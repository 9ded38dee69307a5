//! A profile: what a database did, interval by interval.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use slob_facts::Judged;
use slob_measure::Facts;

use crate::figure::{Figure, Figures, Kind};

/// Readers accept this version and older ones.
pub const PROFILE_VERSION: u32 = 1;

/// A rate per second above this is a wrapped or misread counter.
pub(crate) const IMPOSSIBLE_PER_S: f64 = 1e14;
/// More than a century.
const MOST_SECONDS: f64 = 4e9;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DemandError {
    /// Nothing was changed.
    #[error("{0}")]
    Usage(String),
    /// A run did not measure what it is for.
    #[error("{0}")]
    Failed(String),
}

impl DemandError {
    pub(crate) fn measured_nothing(run: &str) -> Self {
        Self::Failed(format!("run {run} measured nothing"))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub profile_version: u32,
    pub source: Source,
    pub subject: Subject,
    pub intervals: Vec<Interval>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    #[default]
    Reports,
    Live,
    Runs,
    Mixed,
}

#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    pub name: String,
    pub id: Option<String>,
    /// The container of a database within a database.
    pub container: Option<String>,
    pub version: Option<String>,
    pub block_bytes: Option<u32>,
    pub cpus: Option<u32>,
    #[serde(flatten)]
    pub facts: Facts,
}

impl Subject {
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.id, &self.container) == (&other.name, &other.id, &other.container)
    }

    pub fn or(self, other: Self) -> Self {
        Self {
            version: self.version.or(other.version),
            block_bytes: self.block_bytes.or(other.block_bytes),
            cpus: self.cpus.or(other.cpus),
            facts: self.facts.or(other.facts),
            ..self
        }
    }

    pub fn words(&self) -> String {
        match &self.container {
            Some(container) => format!("{} ({container})", self.name),
            None => self.name.clone(),
        }
    }
}

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub source: String,
    pub instance: Option<String>,
    /// The source's clock.
    pub begin: DateTime,
    pub seconds: f64,
    pub figures: Figures,
    #[serde(default, skip_serializing_if = "Histograms::is_empty")]
    pub histograms: Histograms,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<Judged>,
}

impl Interval {
    pub fn end(&self) -> DateTime {
        self.after(self.seconds)
    }

    fn after(&self, seconds: f64) -> DateTime {
        self.begin.saturating_add(SignedDuration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    fn sound(&self) -> Result<(), String> {
        let place = format!("the interval of {} from {}", self.begin, self.source);
        if !(self.seconds > 0.0 && self.seconds <= MOST_SECONDS) {
            return Err(format!("{place} is {} s long", self.seconds));
        }
        let is_possible = |value: f64| (0.0..IMPOSSIBLE_PER_S).contains(&value);
        if let Some((figure, value)) = self.figures.iter().find(|(_, value)| !is_possible(*value)) {
            return Err(format!("{place} has {value} as {}", figure.name()));
        }
        let is_bucket = |bucket: &Bucket| {
            let ends = bucket.to_us.is_none_or(|to_us| is_possible(to_us) && to_us >= bucket.from_us);
            ends && is_possible(bucket.from_us) && is_possible(bucket.waits)
        };
        match self.histograms.iter().find(|(_, buckets)| !buckets.iter().all(is_bucket)) {
            Some((name, _)) => Err(format!("{place} has a histogram of '{name}' with impossible buckets")),
            None => Ok(()),
        }
    }

    /// Its middle decides the hour and day that it counts for.
    pub fn middle(&self) -> DateTime {
        self.after(self.seconds / 2.0)
    }
}

#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    pub from_us: f64,
    pub to_us: Option<f64>,
    /// A count or a percentage: only proportions matter.
    pub waits: f64,
}

/// Keys are `read` of one block and `commit` of waits for the log.
pub type Histograms = BTreeMap<String, Vec<Bucket>>;

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    pub source: String,
    pub begin: Option<DateTime>,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    pub from: DateTime,
    pub to: DateTime,
}

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("this is no profile: {0}; `slob profile` writes them")]
    Json(#[from] serde_json::Error),
    #[error(
        "this profile has version {found}, this release knows up to {PROFILE_VERSION}: use a later release"
    )]
    Version { found: u32 },
    #[error("this profile holds what no source tells: {0}; make it again with `slob profile`")]
    Unsound(String),
    #[error("this profile holds no interval")]
    Empty,
}

impl Profile {
    pub fn new(source: Source, subject: Subject) -> Self {
        let (intervals, left_out) = (Vec::new(), Vec::new());
        Self { profile_version: PROFILE_VERSION, source, subject, intervals, left_out }
    }

    /// Leaves out overlapping intervals. Fails for other texts, later versions, no intervals, or impossible values.
    pub fn read(text: &[u8]) -> Result<Self, ProfileError> {
        #[derive(Deserialize)]
        struct Head {
            profile_version: u32,
        }
        let head: Head = serde_json::from_slice(text)?;
        if head.profile_version > PROFILE_VERSION {
            return Err(ProfileError::Version { found: head.profile_version });
        }
        let mut profile: Self = serde_json::from_slice(text)?;
        if profile.intervals.is_empty() {
            return Err(ProfileError::Empty);
        }
        profile.intervals.iter().try_for_each(Interval::sound).map_err(ProfileError::Unsound)?;
        profile.order();
        Ok(profile)
    }

    /// Empty if all intervals are of the whole database.
    pub fn instances(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.intervals.iter().filter_map(|interval| interval.instance.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub fn of_instance(&self, instance: &str) -> Self {
        let own = |interval: &&Interval| interval.instance.as_deref() == Some(instance);
        Self { intervals: self.intervals.iter().filter(own).cloned().collect(), ..self.clone() }
    }
}

/// Allowed difference of clocks and snapshots: seconds, and share of the interval.
const APART_S: f64 = 30.0;
const APART_SHARE: f64 = 0.05;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub subject: Subject,
    pub source: String,
    pub instance: Option<String>,
    pub begin: Option<DateTime>,
    pub end: Option<DateTime>,
    /// A monotonic clock measures it if the source has one.
    pub seconds: Option<f64>,
    pub figures: Figures,
    pub histograms: Histograms,
    pub bad: Vec<Judged>,
    pub faults: Vec<String>,
}

impl Sample {
    /// The interval, or why it is rejected.
    pub(crate) fn checked(self) -> Result<Interval, LeftOut> {
        let refuse = |why: String| LeftOut { source: self.source.clone(), begin: self.begin, why };
        if let Some(fault) = self.faults.first() {
            return Err(refuse(fault.clone()));
        }
        let Some(begin) = self.begin else { return Err(refuse("it does not say when it began".into())) };
        let by_clock = self.end.map(|end| end.duration_since(begin).as_secs_f64());
        let Some(seconds) = self.seconds.or(by_clock) else {
            return Err(refuse("it does not say how long it was".into()));
        };
        if seconds <= 0.0 || !seconds.is_finite() {
            return Err(refuse(format!("it ended before it began ({seconds:.0} s): a clock jumped")));
        }
        if let Some(by_clock) = by_clock
            && (by_clock - seconds).abs() > APART_S.max(APART_SHARE * seconds)
        {
            return Err(refuse(format!(
                "a clock jumped: it lasted {seconds:.0} s, but its times are {by_clock:.0} s apart"
            )));
        }
        let wrong = self.figures.iter().find(|(_, value)| !(0.0..IMPOSSIBLE_PER_S).contains(value));
        if let Some((figure, value)) = wrong {
            return Err(refuse(format!(
                "{} is {value:.0} {}: a counter wrapped or was reset",
                figure.title(),
                figure.unit()
            )));
        }
        if self.figures.is_empty() {
            return Err(refuse("it has no figures".into()));
        }
        let Self { source, instance, figures, histograms, bad, .. } = self;
        Ok(Interval { source, instance, begin, seconds, figures, histograms, bad })
    }
}

/// Allowed overlap as a share of the shorter interval: clocks tick in seconds.
const OVERLAP: f64 = 0.02;

/// One profile per database, ordered by name. Unsound, repeated and overlapping samples are in `left_out`.
pub fn collect(samples: Vec<Sample>, source: Source) -> Vec<Profile> {
    let mut profiles: BTreeMap<(String, Option<String>, Option<String>), Profile> = BTreeMap::new();
    for sample in samples {
        let Subject { name, id, container, .. } = &sample.subject;
        let key = (name.clone(), id.clone(), container.clone());
        let profile = profiles.entry(key).or_insert_with(|| Profile::new(source, Subject::default()));
        profile.subject = sample.subject.clone().or(std::mem::take(&mut profile.subject));
        match sample.checked() {
            Ok(interval) => profile.intervals.push(interval),
            Err(refused) => profile.left_out.push(refused),
        }
    }
    let mut profiles: Vec<Profile> = profiles.into_values().collect();
    profiles.iter_mut().for_each(Profile::order);
    profiles
}

impl Profile {
    pub(crate) fn order(&mut self) {
        let mut intervals = std::mem::take(&mut self.intervals);
        intervals.sort_by(|one, other| {
            let place = |interval: &Interval| (interval.begin, interval.instance.clone());
            // Of reports of the same interval the one with more figures is kept.
            let known = |interval: &Interval| Reverse(interval.figures.iter().count());
            let length = one.seconds.round().total_cmp(&other.seconds.round());
            place(one).cmp(&place(other)).then(length).then(known(one).cmp(&known(other)))
        });
        intervals.into_iter().for_each(|interval| self.admit(interval));
    }

    /// The interval must begin last.
    fn admit(&mut self, interval: Interval) {
        let same = |kept: &&Interval| kept.instance == interval.instance;
        let last = self.intervals.iter().rev().find(same);
        match last.and_then(|last| overlap(last, &interval)) {
            Some(why) => {
                self.left_out.push(LeftOut { source: interval.source, begin: Some(interval.begin), why });
            }
            None => self.intervals.push(interval),
        }
    }

    pub fn append(&mut self, sample: Sample) -> &[LeftOut] {
        let known = self.left_out.len();
        match sample.checked() {
            Ok(interval) if self.intervals.last().is_none_or(|last| last.begin <= interval.begin) => {
                self.admit(interval);
            }
            // The clock was set back.
            Ok(interval) => {
                self.intervals.push(interval);
                self.order();
            }
            Err(refused) => self.left_out.push(refused),
        }
        &self.left_out[known..]
    }

    pub fn add(&mut self, other: Self) {
        self.subject = std::mem::take(&mut self.subject).or(other.subject);
        self.source = if self.source == other.source { self.source } else { Source::Mixed };
        self.intervals.extend(other.intervals);
        self.left_out.extend(other.left_out);
        self.order();
    }
}

fn overlap(earlier: &Interval, interval: &Interval) -> Option<String> {
    if earlier.begin == interval.begin && (earlier.seconds - interval.seconds).abs() < 1.0 {
        return Some(format!("{} is of the same interval", earlier.source));
    }
    let common = earlier.end().duration_since(interval.begin).as_secs_f64();
    let slack = OVERLAP * earlier.seconds.min(interval.seconds);
    (common > slack.max(1.0)).then(|| format!("it overlaps with {} by {common:.0} s", earlier.source))
}

/// Snapshots of a cluster's instances may differ by this share of an interval.
const TOGETHER: f64 = 0.1;

impl Profile {
    /// Adds up simultaneous intervals of all instances. An interval that lacks an instance is left out.
    pub fn together(&self) -> Self {
        let instances = self.instances();
        if instances.len() < 2 {
            return self.clone();
        }
        let mut whole = Self { intervals: Vec::new(), ..self.clone() };
        let mut slots: Vec<Vec<&Interval>> = Vec::new();
        for interval in &self.intervals {
            if interval.instance.is_none() {
                whole.intervals.push(interval.clone());
                continue;
            }
            // Intervals are sorted: earlier slots are of other times.
            let near =
                |slot: &&mut Vec<&Interval>| slot.first().is_some_and(|first| is_near(first, interval));
            let belongs = |slot: &&mut Vec<&Interval>| {
                slot.first().is_some_and(|first| is_same_time(first, interval))
                    && slot.iter().all(|one| one.instance != interval.instance)
            };
            match slots.iter_mut().rev().take_while(near).find(belongs) {
                Some(slot) => slot.push(interval),
                None => slots.push(vec![interval]),
            }
        }
        let of_all = whole.intervals.clone();
        for slot in slots {
            if slot.len() == instances.len() {
                // A report of all instances is the better source.
                let sum = sum(&slot);
                if !of_all.iter().any(|own| is_same_time(own, &sum)) {
                    whole.intervals.push(sum);
                }
                continue;
            }
            let there: Vec<&str> = slot.iter().filter_map(|one| one.instance.as_deref()).collect();
            let missing: Vec<&str> = instances.iter().filter(|name| !there.contains(name)).copied().collect();
            whole.left_out.push(LeftOut {
                source: slot.iter().map(|one| one.source.as_str()).collect::<Vec<_>>().join(", "),
                begin: slot.first().map(|one| one.begin),
                why: format!("of the whole database: instance {} is missing", missing.join(", ")),
            });
        }
        whole.intervals.sort_by_key(|interval| interval.begin);
        whole
    }
}
fn is_same_time(one: &Interval, other: &Interval) -> bool {
    let shorter = one.seconds.min(other.seconds);
    is_near(one, other) && is_near(other, one) && (one.seconds - other.seconds).abs() <= TOGETHER * shorter
}

fn is_near(one: &Interval, other: &Interval) -> bool {
    other.begin.duration_since(one.begin).as_secs_f64().abs() <= TOGETHER * other.seconds
}

/// Weights means by their waits. Figures that one instance lacks are absent.
fn sum(slot: &[&Interval]) -> Interval {
    let value = |figure: Figure| -> Option<f64> {
        let values: Option<Vec<f64>> = slot.iter().map(|one| one.figures.get(figure)).collect();
        let values = values?;
        if figure.kind() == Kind::Rate {
            return Some(values.iter().sum());
        }
        let weight = figure.weight()?;
        let weights: Option<Vec<f64>> = slot.iter().map(|one| one.figures.get(weight)).collect();
        let weights = weights.filter(|weights| weights.iter().sum::<f64>() > 0.0)?;
        let weighed: f64 = values.iter().zip(&weights).map(|(value, weight)| value * weight).sum();
        Some(weighed / weights.iter().sum::<f64>())
    };
    let figures: Figures = Figure::all().filter_map(|figure| Some((figure, value(figure)?))).collect();
    let seconds = slot.iter().map(|one| one.seconds).sum::<f64>() / slot.len() as f64;
    Interval {
        source: slot.iter().map(|one| one.source.as_str()).collect::<Vec<_>>().join(" + "),
        instance: None,
        begin: slot[0].begin,
        seconds,
        figures,
        histograms: histograms(slot),
        bad: slot.iter().flat_map(|one| one.bad.clone()).collect(),
    }
}

/// Drops histograms with different edges.
fn histograms(slot: &[&Interval]) -> Histograms {
    let Some((first, others)) = slot.split_first() else { return BTreeMap::new() };
    let mut sums = first.histograms.clone();
    sums.retain(|name, buckets| {
        others.iter().all(|other| {
            let theirs = other.histograms.get(name).filter(|theirs| theirs.len() == buckets.len());
            let Some(theirs) = theirs else { return false };
            let is_alike = buckets.iter().zip(theirs).all(|(one, other)| one.from_us == other.from_us);
            if is_alike {
                buckets.iter_mut().zip(theirs).for_each(|(one, other)| one.waits += other.waits);
            }
            is_alike
        })
    });
    sums
}

pub fn merge(profiles: Vec<Profile>) -> Vec<Profile> {
    let mut merged: Vec<Profile> = Vec::new();
    for profile in profiles {
        match merged.iter_mut().find(|own| own.subject.is_same(&profile.subject)) {
            Some(own) => own.add(profile),
            None => merged.push(profile),
        }
    }
    merged
}

/// Fails if no profile is of the database, or one has no interval of the instance.
pub fn choose(
    profiles: Vec<Profile>,
    database: Option<&str>,
    instance: Option<&str>,
) -> Result<Vec<Profile>, DemandError> {
    let names = unique_names(&profiles);
    let is_of = |profile: &Profile, name: &str| {
        profile.subject.name.eq_ignore_ascii_case(name) || profile.subject.id.as_deref() == Some(name)
    };
    let mut chosen: Vec<Profile> =
        profiles.into_iter().filter(|profile| database.is_none_or(|name| is_of(profile, name))).collect();
    if let Some(name) = database.filter(|_| chosen.is_empty()) {
        let known = names.join(", ");
        return Err(DemandError::Usage(format!("nothing is of the database {name}; there are {known}")));
    }
    let Some(instance) = instance else { return Ok(chosen) };
    for profile in &mut chosen {
        let known = profile.instances();
        if !known.contains(&instance) {
            let known = match known.is_empty() {
                true => "it has none".to_owned(),
                false => format!("there are {}", known.join(", ")),
            };
            let why =
                format!("no interval of {} is of instance {instance}; {known}", profile.subject.words());
            return Err(DemandError::Usage(why));
        }
        *profile = profile.of_instance(instance);
    }
    Ok(chosen)
}

/// Databases of the same name get their number.
pub fn unique_names(profiles: &[Profile]) -> Vec<String> {
    let words: Vec<String> = profiles.iter().map(|profile| profile.subject.words()).collect();
    let name = |(profile, own): (&Profile, &String)| {
        let is_alone = words.iter().filter(|other| *other == own).count() == 1;
        match profile.subject.id.as_ref().filter(|_| !is_alone) {
            Some(id) => format!("{own} {id}"),
            None => own.clone(),
        }
    };
    profiles.iter().zip(&words).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_hour() -> Sample {
        Sample {
            source: "a".into(),
            begin: Some("2026-11-20T10:00".parse().unwrap()),
            end: Some("2026-11-20T11:00".parse().unwrap()),
            seconds: Some(3601.0),
            figures: [(Figure::Commits, 5.0)].into(),
            ..Sample::default()
        }
    }

    fn why(sample: Sample) -> String {
        sample.checked().unwrap_err().why
    }

    #[test]
    fn a_sound_sample_keeps_its_own_length() {
        assert_eq!(an_hour().checked().unwrap().seconds, 3601.0);
        let by_clock = Sample { seconds: None, ..an_hour() };
        assert_eq!(by_clock.checked().unwrap().seconds, 3600.0);
    }

    #[test]
    fn each_fault_of_a_sample_is_named() {
        let wrapped = Sample { figures: [(Figure::RedoBytes, -7.0)].into(), ..an_hour() };
        assert!(why(wrapped).contains("Redo is -7 bytes/s: a counter wrapped"));
        let far = Sample { figures: [(Figure::RedoBytes, 2e17)].into(), ..an_hour() };
        assert!(why(far).contains("wrapped"));
        let jumped = Sample { seconds: Some(7200.0), ..an_hour() };
        assert!(why(jumped).contains("a clock jumped: it lasted 7200 s, but its times are 3600 s apart"));
        let back = Sample { end: an_hour().begin, seconds: None, ..an_hour() };
        assert!(why(back).contains("a clock jumped"));
        assert!(why(Sample { begin: None, ..an_hour() }).contains("when it began"));
        assert!(why(Sample { figures: Figures::default(), ..an_hour() }).contains("no figures"));
        assert_eq!(why(Sample { faults: vec!["restarted".into()], ..an_hour() }), "restarted");
    }

    fn hour_of(source: &str, begin: &str, instance: Option<&str>) -> Sample {
        Sample {
            subject: Subject { name: "PROD".into(), ..Subject::default() },
            source: source.into(),
            instance: instance.map(str::to_owned),
            begin: Some(begin.parse().unwrap()),
            seconds: Some(3600.0),
            figures: [(Figure::Commits, 1.0)].into(),
            ..Sample::default()
        }
    }

    #[test]
    fn databases_are_apart_and_intervals_in_order() {
        let other = Subject { name: "TEST".into(), ..Subject::default() };
        let samples = vec![
            hour_of("b", "2026-11-20T11:00", None),
            Sample { subject: other, ..hour_of("t", "2026-11-20T10:00", None) },
            hour_of("a", "2026-11-20T10:00:00", None),
        ];
        let profiles = collect(samples, Source::Reports);
        let names: Vec<&str> = profiles.iter().map(|profile| profile.subject.name.as_str()).collect();
        assert_eq!(names, ["PROD", "TEST"]);
        let sources: Vec<&str> = profiles[0].intervals.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(sources, ["a", "b"]);
    }

    #[test]
    fn repeated_intervals_count_once() {
        let samples = vec![
            hour_of("a", "2026-11-20T10:00", Some("1")),
            hour_of("copy", "2026-11-20T10:00", Some("1")),
            hour_of("second", "2026-11-20T10:00", Some("2")),
            hour_of("half", "2026-11-20T10:30", Some("1")),
            hour_of("next", "2026-11-20T10:59:50", Some("1")),
        ];
        let profile = collect(samples, Source::Reports).remove(0);
        let kept: Vec<&str> = profile.intervals.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(kept, ["a", "second", "next"]);
        let why: Vec<&str> = profile.left_out.iter().map(|one| one.why.as_str()).collect();
        assert_eq!(why, ["a is of the same interval", "it overlaps with a by 1800 s"]);
        assert_eq!(profile.instances(), ["1", "2"]);
    }

    #[test]
    fn append_gives_the_same_profile_as_collect() {
        let begins = ["10:00", "11:00", "11:30", "13:00", "12:00"];
        let samples = begins.map(|time| hour_of(time, &format!("2026-11-20T{time}"), None));
        let mut watched = collect(vec![samples[0].clone()], Source::Live).remove(0);
        let left: Vec<usize> =
            samples[1..].iter().map(|sample| watched.append(sample.clone()).len()).collect();
        assert_eq!(left, [0, 1, 0, 0]);
        let faulty = Sample { faults: vec!["restarted".into()], ..samples[0].clone() };
        assert_eq!(watched.append(faulty)[0].why, "restarted");
        watched.left_out.pop();
        assert_eq!(watched, collect(samples.to_vec(), Source::Live).remove(0));
    }

    #[test]
    fn profiles_of_two_sources_become_one() {
        let of = |sample, source| collect(vec![sample], source).remove(0);
        let one = of(hour_of("a", "2026-11-20T10:00", None), Source::Reports);
        let mut both = one;
        both.add(of(hour_of("run", "2026-11-19T10:00", None), Source::Runs));
        assert_eq!((both.source, both.intervals[0].source.as_str()), (Source::Mixed, "run"));
    }

    fn hour_of_rac(instance: Option<&str>, begin: &str, commits: f64, us: f64) -> Sample {
        Sample {
            subject: Subject { name: "RAC".into(), ..Subject::default() },
            figures: [(Figure::Commits, commits), (Figure::CommitUs, us)].into(),
            ..hour_of(instance.unwrap_or("all"), begin, instance)
        }
    }

    #[test]
    fn instances_add_up_and_a_missing_one_is_named() {
        let samples = vec![
            hour_of_rac(Some("1"), "2026-11-20T10:00", 10.0, 100.0),
            hour_of_rac(Some("2"), "2026-11-20T10:00:20", 30.0, 500.0),
            hour_of_rac(Some("1"), "2026-11-20T11:00", 10.0, 100.0),
        ];
        let profile = collect(samples, Source::Reports).remove(0);
        let whole = profile.together();
        assert_eq!(whole.intervals.len(), 1);
        assert_eq!(whole.intervals[0].figures, [(Figure::Commits, 40.0), (Figure::CommitUs, 400.0)].into());
        assert_eq!(whole.left_out[0].why, "of the whole database: instance 2 is missing");
        assert_eq!(profile.of_instance("1").intervals.len(), 2);
    }

    #[test]
    fn a_report_of_all_instances_is_not_added_to_theirs() {
        let samples = vec![
            hour_of_rac(Some("1"), "2026-11-20T10:00", 10.0, 100.0),
            hour_of_rac(Some("2"), "2026-11-20T10:00", 30.0, 500.0),
            hour_of_rac(None, "2026-11-20T10:00", 41.0, 390.0),
        ];
        let whole = collect(samples, Source::Reports).remove(0).together();
        assert_eq!(whole.intervals.len(), 1);
        assert_eq!(whole.intervals[0].figures.get(Figure::Commits), Some(41.0));
    }

    #[test]
    fn a_profile_of_an_earlier_release_reads_and_its_facts_are_not_known() {
        let text = r#"{"profile_version": 1, "source": "live", "subject": {"name": "PROD", "cpus": 4}, "intervals": [
            {"source": "live", "begin": "2026-11-20T10:00:00", "seconds": 60.0, "figures": {"commits_per_s": 5.0}}]}"#;
        let profile = Profile::read(text.as_bytes()).unwrap();
        assert_eq!((profile.subject.cpus, profile.subject.facts), (Some(4), Facts::default()));
    }
}
