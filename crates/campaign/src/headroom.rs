//! The search for headroom: how many times a demand is carried.
//!
//! The demand itself is tried first, then twice as much, and so on until a step breaks; or half, and so on until one holds. Then
//! the gap is divided by its geometric mean until its ends are a tenth apart. Both ends are tried again: what is reported
//! does not rest on single runs, and where repeats disagree the interval is as wide as they do.
//!
//! The search is a function of the steps so far, so its course depends on nothing else, and goes on after a kill where it was.

/// The ends of the gap are at most this far apart, as a ratio, when the search ends.
const NEAR: f64 = 1.1;
/// Nobody asks whether a thousandth of a demand is carried.
const LEAST: f64 = 1.0 / 32.0;
/// Past this number of runs the search ends with what it has, whatever the noise.
const MOST_RUNS: usize = 40;

/// What the search keeps to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadroomRules {
    /// The most times the demand to try.
    pub most: f64,
    /// How often both ends are measured in all.
    pub repeats: u32,
}

/// A run at so many times the demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadroomPoint {
    /// How many times.
    pub factor: f64,
    /// Whether no limit broke.
    pub held: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeadroomNext {
    /// Run at so many times the demand.
    Measure(f64),
    /// It is over.
    Found(HeadroomFound),
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadroomFound {
    /// So many times the demand is carried; `None` if not even the least that was tried.
    pub carries: Option<f64>,
    /// So many times were carried in every run.
    pub at_least: Option<f64>,
    /// So many times were carried in no run; `None` if nothing broke.
    pub less_than: Option<f64>,
    /// Whether the search ended before it was sure, because its runs differ too much.
    pub unsettled: bool,
}

/// The search: tell it points, ask what next.
#[derive(Clone, Debug)]
pub struct HeadroomSearch {
    rules: HeadroomRules,
    points: Vec<HeadroomPoint>,
}

/// All runs at one factor.
#[derive(Clone, Copy, Debug)]
struct Level {
    factor: f64,
    runs: u32,
    held: u32,
}

impl Level {
    /// As most of its runs did; where they are even, it broke.
    fn holds(&self) -> bool {
        2 * self.held > self.runs
    }
}

impl HeadroomSearch {
    /// A search that has seen nothing yet.
    #[must_use]
    pub fn new(rules: HeadroomRules) -> Self {
        Self { rules, points: Vec::new() }
    }

    /// Tells what a run came to.
    pub fn add(&mut self, point: HeadroomPoint) {
        self.points.push(point);
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> HeadroomNext {
        let levels = self.levels();
        let settled = self.points.len() < MOST_RUNS;
        if let Some(factor) = settled.then(|| self.to_measure(&levels)).flatten() {
            return HeadroomNext::Measure(factor);
        }
        HeadroomNext::Found(found(&levels, !settled))
    }

    /// What is known though the search was not ended: nothing of what lies beyond the steps so far.
    #[must_use]
    pub fn so_far(&self) -> HeadroomFound {
        found(&self.levels(), false)
    }

    fn levels(&self) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::new();
        for point in &self.points {
            let held = u32::from(point.held);
            match levels.iter_mut().find(|level| level.factor == point.factor) {
                Some(level) => (level.runs, level.held) = (level.runs + 1, level.held + held),
                None => levels.push(Level { factor: point.factor, runs: 1, held }),
            }
        }
        levels.sort_by(|one, other| one.factor.total_cmp(&other.factor));
        levels
    }

    fn to_measure(&self, levels: &[Level]) -> Option<f64> {
        let (held, broken) = ends(levels);
        match (held, broken) {
            (None, None) => Some(1.0),
            (Some(held), None) if held.factor < self.rules.most => {
                Some(rounded((held.factor * 2.0).min(self.rules.most)))
            }
            (Some(held), None) => self.again(held),
            (None, Some(broken)) if broken.factor > LEAST => Some(rounded(broken.factor / 2.0)),
            (None, Some(broken)) => self.again(broken),
            (Some(held), Some(broken)) => {
                let middle = rounded((held.factor * broken.factor).sqrt());
                let is_between = middle > held.factor && middle < broken.factor;
                match broken.factor / held.factor > NEAR && is_between {
                    true => Some(middle),
                    false => self.again(held).or_else(|| self.again(broken)),
                }
            }
        }
    }

    fn again(&self, level: Level) -> Option<f64> {
        (level.runs < self.rules.repeats).then_some(level.factor)
    }
}

/// The highest level that holds below the lowest that does not, and that one.
fn ends(levels: &[Level]) -> (Option<Level>, Option<Level>) {
    let broken = levels.iter().find(|level| !level.holds()).copied();
    let below = |level: &&Level| broken.is_none_or(|broken| level.factor < broken.factor);
    (levels.iter().rev().find(|level| below(level)).copied(), broken)
}

fn found(levels: &[Level], unsettled: bool) -> HeadroomFound {
    let always = |level: &&Level| level.held == level.runs;
    let never = |level: &&Level| level.held == 0;
    let at_least = levels.iter().take_while(always).last();
    let less_than = levels.iter().rev().take_while(never).last();
    HeadroomFound {
        carries: ends(levels).0.map(|level| level.factor),
        at_least: at_least.map(|level| level.factor),
        less_than: less_than.map(|level| level.factor),
        unsettled,
    }
}

/// Three digits: a name for a run, and no false precision.
fn rounded(factor: f64) -> f64 {
    let scale = 10f64.powi(2 - factor.log10().floor() as i32);
    (factor * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULES: HeadroomRules = HeadroomRules { most: 64.0, repeats: 3 };

    /// Searches a platform that carries so much; returns what was found and the factors tried.
    fn search(mut holds: impl FnMut(f64, usize) -> bool) -> (HeadroomFound, Vec<f64>) {
        let mut search = HeadroomSearch::new(RULES);
        loop {
            match search.next() {
                HeadroomNext::Measure(factor) => {
                    let held = holds(factor, search.points.len());
                    search.add(HeadroomPoint { factor, held });
                }
                HeadroomNext::Found(found) => {
                    return (found, search.points.iter().map(|point| point.factor).collect());
                }
            }
        }
    }

    #[test]
    fn the_demand_comes_first_and_both_ends_are_repeated() {
        let (found, runs) = search(|factor, _| factor <= 2.4);
        assert_eq!(runs[..4], [1.0, 2.0, 4.0, 2.83]);
        let carries = found.carries.unwrap();
        assert!((2.2..=2.4).contains(&carries), "{runs:?}");
        assert_eq!((found.at_least, found.unsettled), (Some(carries), false));
        assert!(found.less_than.unwrap() / carries <= NEAR + 0.01);
        assert_eq!(runs.iter().filter(|factor| **factor == carries).count(), 3);
    }

    #[test]
    fn less_than_the_demand_is_found_too_and_nothing_at_all_is_said() {
        let (found, runs) = search(|factor, _| factor <= 0.3);
        assert!((0.27..=0.3).contains(&found.carries.unwrap()), "{runs:?}");
        let (none, _) = search(|_, _| false);
        assert_eq!((none.carries, none.at_least), (None, None));
        let (all, _) = search(|_, _| true);
        assert_eq!((all.carries, all.less_than), (Some(64.0), None));
    }

    #[test]
    fn runs_that_disagree_widen_the_interval() {
        // The first run at each factor above 2 holds, later ones do not.
        let mut seen = Vec::new();
        let (found, _) = search(|factor, _| {
            let is_first = !seen.contains(&factor.to_bits());
            seen.push(factor.to_bits());
            factor <= 2.0 || (is_first && factor < 3.0)
        });
        assert!(found.less_than.unwrap() > found.at_least.unwrap() * NEAR, "{found:?}");
        assert_eq!(found.at_least, Some(2.0));
    }

    proptest! {
        #[test]
        fn it_ends_and_what_it_finds_is_true_of_a_platform_without_noise(limit in 0.04..60.0_f64) {
            let (found, runs) = search(|factor, _| factor <= limit);
            prop_assert!(runs.len() < 25, "{runs:?}");
            prop_assert!(found.carries.unwrap() <= limit && limit < found.less_than.unwrap());
        }
    }
}
