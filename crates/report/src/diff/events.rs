//! Top timed events side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::timed::timed_events;

/// How many are shown.
const TOP: usize = 10;

/// An event on both sides. Of several runs the sums count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventPair {
    /// The database's name for it.
    pub name: String,
    /// The database's class for it.
    pub class: String,
    /// Of the first side; absent if it did not appear there.
    pub first: Option<EventShare>,
    /// Of the second side.
    pub second: Option<EventShare>,
}

/// An event on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EventShare {
    /// Seconds for each second of the window: how many sessions were in it, on average.
    pub s_per_s: f64,
    /// The same in percent of DB time.
    pub percent_of_db_time: Option<f64>,
    /// Mean of a wait in microseconds; absent where waits are not counted.
    pub mean_us: Option<f64>,
}

/// The events that took most on either side.
pub(super) fn pairs(first: &[Figures<'_>], second: &[Figures<'_>]) -> Vec<EventPair> {
    let (a, b) = (sums(first), sums(second));
    let (of_a, of_b) = (Whole::of(first), Whole::of(second));
    let names: BTreeMap<&String, &String> =
        b.iter().chain(&a).map(|(name, sum)| (name, &sum.class)).collect();
    let pair = |(name, class): (&String, &String)| EventPair {
        name: name.clone(),
        class: class.clone(),
        first: a.get(name).and_then(|sum| of_a.share(sum)),
        second: b.get(name).and_then(|sum| of_b.share(sum)),
    };
    let mut pairs: Vec<EventPair> = names.into_iter().map(pair).collect();
    let most = |pair: &EventPair| {
        [pair.first, pair.second].into_iter().flatten().map(|share| share.s_per_s).fold(0.0, f64::max)
    };
    pairs.sort_by(|a, b| most(b).total_cmp(&most(a)));
    pairs.truncate(TOP);
    pairs
}

/// An event summed over runs.
struct Sum {
    class: String,
    time_s: f64,
    /// `None` once a run did not count them.
    waits: Option<u64>,
}

fn sums(runs: &[Figures<'_>]) -> BTreeMap<String, Sum> {
    let mut sums = BTreeMap::<String, Sum>::new();
    for event in runs.iter().flat_map(|run| timed_events(run)) {
        let sum = sums.entry(event.name).or_insert(Sum { class: event.class, time_s: 0.0, waits: Some(0) });
        sum.time_s += event.time_s;
        sum.waits = sum.waits.zip(event.waits).map(|(sum, waits)| sum.saturating_add(waits));
    }
    sums
}

/// Windows and DB time of a side, summed.
struct Whole {
    window_s: f64,
    db_time_s: Option<f64>,
}

impl Whole {
    fn of(runs: &[Figures<'_>]) -> Self {
        let measured = || runs.iter().filter(|run| run.is_measured());
        Self {
            window_s: measured().filter_map(|run| figure::WINDOW_S.of(run)).sum(),
            db_time_s: measured().map(|run| figure::DB_TIME_S.of(run)).sum(),
        }
    }

    fn share(&self, sum: &Sum) -> Option<EventShare> {
        Some(EventShare {
            s_per_s: ratio(sum.time_s, self.window_s)?,
            percent_of_db_time: self.db_time_s.and_then(|db_time_s| ratio(100.0 * sum.time_s, db_time_s)),
            mean_us: sum.waits.and_then(|waits| ratio(sum.time_s * 1e6, waits as f64)),
        })
    }
}
