//! The instances of a cluster together.

use std::collections::BTreeMap;

use crate::figure::{Figure, Figures, Kind};
use crate::model::{Histograms, Interval, LeftOut, Profile};

/// Snapshots of a cluster's instances are taken within this share of an interval.
const TOGETHER: f64 = 0.1;

impl Profile {
    /// The database as a whole: intervals of all instances at the same time are added up. A time at which an instance is
    /// missing is no interval of the whole, and named.
    #[must_use]
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
            // They are in order: what began much earlier is of another time, and so is all before it.
            let near =
                |slot: &&mut Vec<&Interval>| slot.first().is_some_and(|first| is_near(first, interval));
            match slots.iter_mut().rev().take_while(near).find(|slot| belongs(slot, interval)) {
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

/// Whether one began about when the other did, measured by the other's length.
fn is_near(one: &Interval, other: &Interval) -> bool {
    other.begin.duration_since(one.begin).as_secs_f64().abs() <= TOGETHER * other.seconds
}

fn belongs(slot: &[&Interval], interval: &Interval) -> bool {
    slot.first().is_some_and(|first| is_same_time(first, interval))
        && slot.iter().all(|one| one.instance != interval.instance)
}

/// Rates added up, means weighed by their waits. What one of them lacks is absent.
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
    }
}

/// Buckets of the same edges added up. Where edges differ, or are shares and not counts, nothing is.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::collect;
    use crate::model::{Source, Subject};
    use crate::sample::Sample;

    fn sample(instance: Option<&str>, begin: &str, commits: f64, us: f64) -> Sample {
        Sample {
            subject: Subject { name: "RAC".into(), ..Subject::default() },
            source: instance.unwrap_or("all").into(),
            instance: instance.map(str::to_owned),
            begin: Some(begin.parse().unwrap()),
            seconds: Some(3600.0),
            figures: [(Figure::Commits, commits), (Figure::CommitUs, us)].into(),
            ..Sample::default()
        }
    }

    #[test]
    fn instances_add_up_and_one_that_is_missing_is_named() {
        let samples = vec![
            sample(Some("1"), "2026-11-20T10:00", 10.0, 100.0),
            sample(Some("2"), "2026-11-20T10:00:20", 30.0, 500.0),
            sample(Some("1"), "2026-11-20T11:00", 10.0, 100.0),
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
            sample(Some("1"), "2026-11-20T10:00", 10.0, 100.0),
            sample(Some("2"), "2026-11-20T10:00", 30.0, 500.0),
            sample(None, "2026-11-20T10:00", 41.0, 390.0),
        ];
        let whole = collect(samples, Source::Reports).remove(0).together();
        assert_eq!(whole.intervals.len(), 1);
        assert_eq!(whole.intervals[0].figures.get(Figure::Commits), Some(41.0));
    }
}
