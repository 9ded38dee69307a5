//! From samples to profiles: each looked at, each database by itself.

use std::collections::BTreeMap;

use crate::model::{Interval, LeftOut, PROFILE_VERSION, Profile, Source, Subject};
use crate::sample::Sample;

/// Intervals of one instance may overlap by this share of the shorter one: clocks tick in seconds, snapshots take some.
const OVERLAP: f64 = 0.02;

/// A profile of each database that samples are of, in the order of their names. Samples that are no sound interval are in
/// `left_out`; so is one that was given twice, and one that overlaps with another of the same instance.
#[must_use]
pub fn collect(samples: Vec<Sample>, source: Source) -> Vec<Profile> {
    let mut profiles: BTreeMap<(String, Option<String>, Option<String>), Profile> = BTreeMap::new();
    for sample in samples {
        let Subject { name, id, container, .. } = &sample.subject;
        let key = (name.clone(), id.clone(), container.clone());
        let profile = profiles.entry(key).or_insert_with(|| Profile {
            profile_version: PROFILE_VERSION,
            source,
            subject: Subject::default(),
            intervals: Vec::new(),
            left_out: Vec::new(),
        });
        profile.subject = merged(&sample.subject, &profile.subject);
        match sample.checked() {
            Ok(interval) => profile.intervals.push(interval),
            Err(refused) => profile.left_out.push(refused),
        }
    }
    let mut profiles: Vec<Profile> = profiles.into_values().collect();
    profiles.iter_mut().for_each(Profile::order);
    profiles
}

/// What is known of a database by either; the first wins.
fn merged(one: &Subject, other: &Subject) -> Subject {
    Subject {
        name: one.name.clone(),
        id: one.id.clone(),
        container: one.container.clone(),
        version: one.version.clone().or_else(|| other.version.clone()),
        block_bytes: one.block_bytes.or(other.block_bytes),
        cpus: one.cpus.or(other.cpus),
    }
}

impl Profile {
    /// Puts intervals in order, and takes those out that overlap with others of the same instance.
    pub(crate) fn order(&mut self) {
        let mut intervals = std::mem::take(&mut self.intervals);
        intervals.sort_by(|one, other| {
            let place = |interval: &Interval| (interval.begin, interval.instance.clone());
            // Of reports of the same interval the one that knows more is kept.
            let known = |interval: &Interval| std::cmp::Reverse(interval.figures.iter().count());
            let length = one.seconds.round().total_cmp(&other.seconds.round());
            place(one).cmp(&place(other)).then(length).then(known(one).cmp(&known(other)))
        });
        intervals.into_iter().for_each(|interval| self.admit(interval));
    }

    /// An interval that begins after all that are there, or why it can't stand beside them.
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

    /// Adds what a watch has just seen, however much is there. Returns what was left out of it.
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

    /// The same with another profile of the same database.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.subject = merged(&self.subject, &other.subject);
        self.source = if self.source == other.source { self.source } else { Source::Mixed };
        self.intervals.extend(other.intervals);
        self.left_out.extend(other.left_out);
        self.order();
        self
    }
}

/// Why an interval can't stand beside an earlier one of its instance.
fn overlap(earlier: &Interval, interval: &Interval) -> Option<String> {
    if earlier.begin == interval.begin && (earlier.seconds - interval.seconds).abs() < 1.0 {
        return Some(format!("{} is of the same interval", earlier.source));
    }
    let common = earlier.end().duration_since(interval.begin).as_secs_f64();
    let slack = OVERLAP * earlier.seconds.min(interval.seconds);
    (common > slack.max(1.0)).then(|| format!("it overlaps with {} by {common:.0} s", earlier.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    fn sample(source: &str, begin: &str, instance: Option<&str>) -> Sample {
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
            sample("b", "2026-11-20T11:00", None),
            Sample { subject: other, ..sample("t", "2026-11-20T10:00", None) },
            sample("a", "2026-11-20T10:00:00", None),
        ];
        let profiles = collect(samples, Source::Reports);
        let names: Vec<&str> = profiles.iter().map(|profile| profile.subject.name.as_str()).collect();
        assert_eq!(names, ["PROD", "TEST"]);
        let sources: Vec<&str> = profiles[0].intervals.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(sources, ["a", "b"]);
    }

    #[test]
    fn what_is_there_twice_counts_once_and_is_named() {
        let samples = vec![
            sample("a", "2026-11-20T10:00", Some("1")),
            sample("copy", "2026-11-20T10:00", Some("1")),
            sample("second", "2026-11-20T10:00", Some("2")),
            sample("half", "2026-11-20T10:30", Some("1")),
            sample("next", "2026-11-20T10:59:50", Some("1")),
        ];
        let profile = collect(samples, Source::Reports).remove(0);
        let kept: Vec<&str> = profile.intervals.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(kept, ["a", "second", "next"]);
        let why: Vec<&str> = profile.left_out.iter().map(|one| one.why.as_str()).collect();
        assert_eq!(why, ["a is of the same interval", "it overlaps with a by 1800 s"]);
        assert_eq!(profile.instances(), ["1", "2"]);
    }

    #[test]
    fn what_is_appended_stands_where_collecting_would_put_it() {
        let begins = ["10:00", "11:00", "11:30", "13:00", "12:00"];
        let samples = begins.map(|time| sample(time, &format!("2026-11-20T{time}"), None));
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
        let one = of(sample("a", "2026-11-20T10:00", None), Source::Reports);
        let both = one.with(of(sample("run", "2026-11-19T10:00", None), Source::Runs));
        assert_eq!((both.source, both.intervals[0].source.as_str()), (Source::Mixed, "run"));
    }
}
