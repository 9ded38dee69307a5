//! The search for the knee: the fewest sessions that get what there is to get.
//!
//! **The knee** is the smallest number of sessions whose throughput is within a share (5 % unless told otherwise) of the
//! best throughput measured; with a latency limit, of the best within the limit. Where throughput still grows at the end,
//! there is no knee, and the end is what is found. The search doubles the sessions until
//! two doublings in a row gained less than that share (one could be noise), a limit is passed, or there are no more
//! sessions to try; then it halves the gap in which the knee lies until that is an eighth; then it measures the point
//! found again, so that what is reported does not rest on a single lucky run.
//!
//! The search is a function of the points measured so far, so its course depends on nothing else.

mod limit;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

pub use limit::Limit;

/// Past this number of runs the search ends with what it has, whatever the noise.
const MOST_RUNS: usize = 40;

/// What the search keeps to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchRules {
    /// The most threads to try.
    pub most: NonZeroU32,
    /// The share of throughput that does not count: 0.05 is 5 %.
    pub tolerance: f64,
    /// How often the point found is measured in all.
    pub repeats: NonZeroU32,
}

/// One run at some number of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Threads of each schema.
    pub threads: NonZeroU32,
    /// Operations per second.
    pub throughput: f64,
    /// Whether it passed the latency limit; no if there is none.
    pub over_limit: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Measure at this number of threads.
    Measure(NonZeroU32),
    /// The search is over.
    Found(Found),
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Threads of each schema at the knee; `None` if even the first point passed the limit.
    pub threads: Option<NonZeroU32>,
    /// Why there is no more beyond.
    pub why: Why,
}

/// Why there is no more beyond the point found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// More sessions gained less than the tolerance.
    Saturated,
    /// More sessions passed the latency limit.
    Limit,
    /// There were no more sessions to try: throughput was still growing.
    Most,
    /// The search did not settle within the runs that it may make.
    Unsettled,
}

/// The search: tell it points, ask what next.
#[derive(Clone, Debug)]
pub struct Search {
    rules: SearchRules,
    points: Vec<Point>,
}

/// All runs at one number of threads.
#[derive(Clone, Copy, Debug)]
struct Level {
    threads: u32,
    throughput: f64,
    over_limit: bool,
    runs: u32,
}

impl Search {
    /// A search that has seen nothing yet.
    #[must_use]
    pub fn new(rules: SearchRules) -> Self {
        Self { rules, points: Vec::new() }
    }

    /// Tells what a run came to.
    pub fn add(&mut self, point: Point) {
        self.points.push(point);
    }

    /// Every run so far, in order.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Whether something was measured with fewer threads than that.
    #[must_use]
    pub fn has_fewer_than(&self, threads: NonZeroU32) -> bool {
        self.points.iter().any(|point| point.threads < threads)
    }

    /// Takes that many threads, and more, out of the search: they can't be had.
    pub fn end_below(&mut self, threads: NonZeroU32) {
        let below = self.points.iter().map(|point| point.threads).filter(|have| *have < threads).max();
        self.rules.most = below.unwrap_or(NonZeroU32::MIN);
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Next {
        let levels = self.levels();
        let settled = self.points.len() < MOST_RUNS;
        if let Some(threads) = settled.then(|| self.to_measure(&levels)).flatten().and_then(NonZeroU32::new) {
            return Next::Measure(threads);
        }
        let found = self.found(&levels);
        Next::Found(if settled { found } else { Found { why: Why::Unsettled, ..found } })
    }

    fn to_measure(&self, levels: &[Level]) -> Option<u32> {
        self.doubling(levels).or_else(|| gap_at_limit(levels)).or_else(|| self.gap_at_knee(levels)).or_else(
            || {
                let knee = self.knee(levels)?;
                (knee.runs < self.rules.repeats.get()).then_some(knee.threads)
            },
        )
    }

    /// Runs by threads; throughput is the mean of the runs, a limit is passed if more than half of them passed it.
    fn levels(&self) -> Vec<Level> {
        let mut by_threads: BTreeMap<u32, Vec<Point>> = BTreeMap::new();
        for point in &self.points {
            by_threads.entry(point.threads.get()).or_default().push(*point);
        }
        let level = |(threads, points): (u32, Vec<Point>)| Level {
            threads,
            throughput: points.iter().map(|point| point.throughput).sum::<f64>() / points.len() as f64,
            over_limit: 2 * points.iter().filter(|point| point.over_limit).count() > points.len(),
            runs: points.len() as u32,
        };
        by_threads.into_iter().map(level).collect()
    }

    /// The next doubling, unless there is no use in it.
    fn doubling(&self, levels: &[Level]) -> Option<u32> {
        let most = self.rules.most.get();
        let Some(last) = levels.last() else { return Some(1) };
        if last.threads >= most || levels.iter().any(|level| level.over_limit) {
            return None;
        }
        // Points that halved a gap lie between the doublings, and say nothing of what a doubling gains.
        let doublings: Vec<&Level> =
            levels.iter().filter(|level| level.threads.is_power_of_two() || level.threads == most).collect();
        let mut best = 0.0_f64;
        let mut flat = 0;
        for level in doublings {
            flat = if level.throughput < best * (1.0 + self.rules.tolerance) { flat + 1 } else { 0 };
            best = best.max(level.throughput);
        }
        (flat < 2).then(|| last.threads.saturating_mul(2).min(most))
    }

    /// The gap in which throughput comes within the tolerance of the best.
    fn gap_at_knee(&self, levels: &[Level]) -> Option<u32> {
        if self.still_growing(levels) {
            return None;
        }
        let knee = self.knee(levels)?;
        let below = levels.iter().rev().find(|level| level.threads < knee.threads)?;
        middle(below.threads, knee.threads)
    }

    /// Whether the last level within the limit gained more than the tolerance, as of a doubling, over the best below it.
    /// Levels that are nearly as wide say nothing of growth.
    fn still_growing(&self, levels: &[Level]) -> bool {
        let Some(last) = within_limit(levels).last() else { return false };
        let below = || within_limit(levels).filter(|level| 4 * level.threads <= 3 * last.threads);
        let Some(best) = below().map(|level| level.throughput).reduce(f64::max) else { return false };
        let widest = below().map(|level| level.threads).max().unwrap_or(last.threads);
        let doublings = (f64::from(last.threads) / f64::from(widest)).log2();
        last.throughput >= best * (1.0 + self.rules.tolerance).powf(doublings)
    }

    /// The first level within the tolerance of the best, among those within the limit; the last of them if throughput
    /// was still growing there, and the knee lies beyond.
    fn knee(&self, levels: &[Level]) -> Option<Level> {
        if self.still_growing(levels) {
            return within_limit(levels).last().copied();
        }
        let within = || within_limit(levels);
        let best = within().map(|level| level.throughput).reduce(f64::max)?;
        within().find(|level| level.throughput >= (1.0 - self.rules.tolerance) * best).copied()
    }

    fn found(&self, levels: &[Level]) -> Found {
        let Some(knee) = self.knee(levels) else { return Found { threads: None, why: Why::Limit } };
        let limited = levels.iter().any(|level| level.over_limit);
        let alone = within_limit(levels).count() == 1;
        let why = match self.still_growing(levels) || alone {
            true if limited => Why::Limit,
            true => Why::Most,
            false => Why::Saturated,
        };
        Found { threads: NonZeroU32::new(knee.threads), why }
    }
}

/// The levels below the first that passed the limit.
fn within_limit(levels: &[Level]) -> impl Iterator<Item = &Level> {
    levels.iter().take_while(|level| !level.over_limit)
}

/// The gap between the last level within the limit and the first beyond it.
fn gap_at_limit(levels: &[Level]) -> Option<u32> {
    let over = levels.iter().find(|level| level.over_limit)?;
    let within = within_limit(levels).last().map_or(0, |level| level.threads);
    middle(within, over.threads)
}

/// The middle of a gap, unless the gap is an eighth or a single step. Below 1 there is nothing.
fn middle(low: u32, high: u32) -> Option<u32> {
    let gap = high.saturating_sub(low);
    (gap > (high / 8).max(1)).then(|| low + gap / 2).filter(|threads| *threads > 0)
}
