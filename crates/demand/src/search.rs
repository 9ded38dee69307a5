//! The searches for the knee and for headroom: functions of the runs so far, so that a search resumes after a kill.
//!
//! **The knee** is the smallest number of sessions whose throughput is within a tolerance of the best within the limit. The
//! search doubles sessions until two doublings gain too little or a limit breaks, then halves the gap.
//!
//! **Headroom** is how many times a demand is carried. The search doubles or halves the demand until most runs of one level hold
//! and of another break, then divides the gap by its geometric mean, and repeats both ends.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::options::Options;
use crate::step::times;

/// After this many runs a search for the knee ends with what it has.
const MOST_RUNS: usize = 40;

/// The same for headroom: 1x and both ends are repeated, the steps between them are not.
const MOST_STEPS_BETWEEN: u32 = 31;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KneeRules {
    pub most: NonZeroU32,
    /// A gain below this share of throughput does not count.
    pub tolerance: f64,
    pub repeats: NonZeroU32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KneePoint {
    pub threads: NonZeroU32,
    pub throughput: f64,
    pub over_limit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KneeFound {
    pub threads: Option<NonZeroU32>,
    pub why: KneeReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KneeReason {
    Saturated,
    Limit,
    Most,
    Unsettled,
}

/// In levels from 1 on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Raised {
    Threads { schemas: NonZeroU32 },
    Rate { step: NonZeroU32 },
}

impl Raised {
    pub(crate) fn count(self, level: NonZeroU32) -> u32 {
        match self {
            Self::Threads { schemas: each } | Self::Rate { step: each } => level.saturating_mul(each).get(),
        }
    }

    pub(crate) fn parameter(self, level: NonZeroU32) -> ((&'static str, String), String) {
        let count = self.count(level);
        match self {
            Self::Threads { .. } => (("THREADS_PER_SCHEMA", level.to_string()), format!("s{count}")),
            Self::Rate { .. } => (("RATE", count.to_string()), format!("r{count}")),
        }
    }

    pub(crate) fn words(self, level: NonZeroU32) -> String {
        match self {
            Self::Threads { .. } => format!("{:>5} sessions", self.count(level)),
            Self::Rate { .. } => format!("a rate of {:>7}/s", self.count(level)),
        }
    }
}

impl KneeFound {
    /// `refusal` is the error of the level that the target did not accept.
    pub(crate) fn words(self, raised: Raised, tolerance_percent: f64, refusal: Option<&str>) -> String {
        let percent = tolerance_percent;
        match (self.why, raised) {
            (KneeReason::Unsettled, _) => {
                "The runs differ too much to settle on a point: lengthen them with --run-time.".to_owned()
            }
            (KneeReason::Limit, Raised::Rate { .. }) if self.threads.is_none() => {
                "Even the lowest rate is not kept, or exceeds the latency limit.".to_owned()
            }
            (KneeReason::Limit | KneeReason::Saturated, Raised::Rate { .. }) => {
                format!("Higher rates are not kept within {percent} %, or exceed the latency limit.")
            }
            (KneeReason::Most, Raised::Rate { .. }) => {
                "Twice the rate of a closed loop was kept: start with more sessions.".to_owned()
            }
            (KneeReason::Saturated, Raised::Threads { .. }) => {
                format!("More sessions gain less than {percent} %: that is the knee.")
            }
            (KneeReason::Limit, Raised::Threads { .. }) if self.threads.is_none() => {
                "Even the fewest sessions exceed the latency limit.".to_owned()
            }
            (KneeReason::Limit, Raised::Threads { .. }) => {
                "More sessions exceed the latency limit.".to_owned()
            }
            (KneeReason::Most, Raised::Threads { .. }) => match refusal {
                Some(error) => format!("Throughput was still growing; more sessions failed: {error}"),
                None => "Throughput was still growing: allow more with --max-sessions.".to_owned(),
            },
        }
    }
}

/// `measure` may return `None` if the target refuses so many threads and fewer were measured, as its argument says.
pub(crate) fn search_knee<E>(
    rules: KneeRules,
    mut measure: impl FnMut(NonZeroU32, bool) -> Result<Option<KneePoint>, E>,
) -> Result<KneeFound, E> {
    let mut search = KneeSearch { rules, points: Vec::new() };
    while let Some(threads) = search.next() {
        let fewer = search.points.iter().map(|point| point.threads).filter(|other| *other < threads).max();
        match measure(threads, fewer.is_some())? {
            Some(point) => search.points.push(point),
            None => search.rules.most = fewer.unwrap_or(NonZeroU32::MIN),
        }
    }
    Ok(search.result())
}

#[derive(Clone, Debug)]
struct KneeSearch {
    rules: KneeRules,
    points: Vec<KneePoint>,
}

#[derive(Clone, Copy, Debug)]
struct KneeLevel {
    threads: u32,
    throughput: f64,
    over_limit: bool,
    runs: u32,
}

impl KneeSearch {
    fn next(&self) -> Option<NonZeroU32> {
        let threads = self.is_settled().then(|| self.to_measure(&self.levels())).flatten()?;
        NonZeroU32::new(threads)
    }

    fn is_settled(&self) -> bool {
        self.points.len() < MOST_RUNS
    }

    fn result(&self) -> KneeFound {
        let found = self.found(&self.levels());
        if self.is_settled() { found } else { KneeFound { why: KneeReason::Unsettled, ..found } }
    }

    fn to_measure(&self, levels: &[KneeLevel]) -> Option<u32> {
        self.doubling(levels).or_else(|| gap_at_limit(levels)).or_else(|| self.gap_at_knee(levels)).or_else(
            || {
                let knee = self.knee(levels)?;
                (knee.runs < self.rules.repeats.get()).then_some(knee.threads)
            },
        )
    }

    /// Mean throughput; a level is over the limit if most of its runs were.
    fn levels(&self) -> Vec<KneeLevel> {
        let mut by_threads: BTreeMap<u32, Vec<KneePoint>> = BTreeMap::new();
        for point in &self.points {
            by_threads.entry(point.threads.get()).or_default().push(*point);
        }
        let level = |(threads, points): (u32, Vec<KneePoint>)| KneeLevel {
            threads,
            throughput: points.iter().map(|point| point.throughput).sum::<f64>() / points.len() as f64,
            over_limit: 2 * points.iter().filter(|point| point.over_limit).count() > points.len(),
            runs: points.len() as u32,
        };
        by_threads.into_iter().map(level).collect()
    }

    /// `None` if it can't gain throughput.
    fn doubling(&self, levels: &[KneeLevel]) -> Option<u32> {
        let most = self.rules.most.get();
        let Some(last) = levels.last() else { return Some(1) };
        if last.threads >= most || levels.iter().any(|level| level.over_limit) {
            return None;
        }
        // Points within a gap do not show the gain of a doubling.
        let doublings: Vec<&KneeLevel> =
            levels.iter().filter(|level| level.threads.is_power_of_two() || level.threads == most).collect();
        let mut best = 0.0_f64;
        let mut flat = 0;
        for level in doublings {
            flat = if level.throughput < best * (1.0 + self.rules.tolerance) { flat + 1 } else { 0 };
            best = best.max(level.throughput);
        }
        (flat < 2).then(|| last.threads.saturating_mul(2).min(most))
    }

    fn gap_at_knee(&self, levels: &[KneeLevel]) -> Option<u32> {
        if self.still_growing(levels) {
            return None;
        }
        let knee = self.knee(levels)?;
        let below = levels.iter().rev().find(|level| level.threads < knee.threads)?;
        middle(below.threads, knee.threads)
    }

    /// True if the last level within the limit gained more than the tolerance per doubling over the best well below it.
    fn still_growing(&self, levels: &[KneeLevel]) -> bool {
        let Some(last) = within_limit(levels).last() else { return false };
        let below = || within_limit(levels).filter(|level| 4 * level.threads <= 3 * last.threads);
        let Some(best) = below().map(|level| level.throughput).reduce(f64::max) else { return false };
        let widest = below().map(|level| level.threads).max().unwrap_or(last.threads);
        let doublings = (f64::from(last.threads) / f64::from(widest)).log2();
        last.throughput >= best * (1.0 + self.rules.tolerance).powf(doublings)
    }

    /// The first level within the tolerance of the best; while throughput grows, the last level.
    fn knee(&self, levels: &[KneeLevel]) -> Option<KneeLevel> {
        if self.still_growing(levels) {
            return within_limit(levels).last().copied();
        }
        let within = || within_limit(levels);
        let best = within().map(|level| level.throughput).reduce(f64::max)?;
        within().find(|level| level.throughput >= (1.0 - self.rules.tolerance) * best).copied()
    }

    fn found(&self, levels: &[KneeLevel]) -> KneeFound {
        let Some(knee) = self.knee(levels) else {
            return KneeFound { threads: None, why: KneeReason::Limit };
        };
        let limited = levels.iter().any(|level| level.over_limit);
        let alone = within_limit(levels).count() == 1;
        let why = match self.still_growing(levels) || alone {
            true if limited => KneeReason::Limit,
            true => KneeReason::Most,
            false => KneeReason::Saturated,
        };
        KneeFound { threads: NonZeroU32::new(knee.threads), why }
    }
}

fn within_limit(levels: &[KneeLevel]) -> impl Iterator<Item = &KneeLevel> {
    levels.iter().take_while(|level| !level.over_limit)
}

fn gap_at_limit(levels: &[KneeLevel]) -> Option<u32> {
    let over = levels.iter().find(|level| level.over_limit)?;
    let within = within_limit(levels).last().map_or(0, |level| level.threads);
    middle(within, over.threads)
}

/// `None` if the gap is at most an eighth of its upper end.
fn middle(low: u32, high: u32) -> Option<u32> {
    let gap = high.saturating_sub(low);
    (gap > (high / 8).max(1)).then(|| low + gap / 2).filter(|threads| *threads > 0)
}

/// The search ends when the gap's ends are at most this ratio apart.
const GAP_RATIO: f64 = 1.1;
const LEAST_FACTOR: f64 = 1.0 / 32.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Held,
    Broke,
    /// No further step is made.
    Ended(HeadroomEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadroomEnd {
    Settled,
    Unsettled,
    /// A step does not count, and later ones would not either.
    NotCounted,
    /// By a step, or by the user.
    Failed,
    OutOfTime,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HeadroomFound {
    pub carries: Option<f64>,
    pub at_least: Option<f64>,
    pub less_than: Option<f64>,
    /// The least that broke in most runs.
    pub broken: Option<f64>,
    pub end: HeadroomEnd,
}

impl HeadroomFound {
    pub(crate) fn words(&self, options: &Options) -> String {
        match (self.end, self.carries, self.less_than) {
            (HeadroomEnd::NotCounted, ..) => "The search was ended by a step that does not count.".into(),
            (HeadroomEnd::Failed, ..) => "The search was interrupted: the same command continues it.".into(),
            (HeadroomEnd::OutOfTime, ..) => {
                "Its time was over before both ends were measured: leave out --quick.".into()
            }
            (HeadroomEnd::Unsettled, ..) => {
                "Its runs differ too much to settle: make them longer with --run-time.".into()
            }
            (_, None, _) => "Not even the least part of the demand was carried.".into(),
            (_, Some(_), None) => match self.broken {
                Some(broken) => format!(
                    "Runs at {} times the demand differ, and most of them broke: make them longer with --run-time.",
                    times(broken)
                ),
                None => {
                    format!("Nothing broke up to {} times the demand: allow more with --most.", options.most)
                }
            },
            (_, Some(_), Some(_)) => {
                let (repeats, times) = (options.repeats, if options.repeats == 1 { "time" } else { "times" });
                format!("Both ends were measured {repeats} {times}; steps are at most a tenth apart.")
            }
        }
    }
}

/// `rate` is the operations per second of the demand, with runs `at_one`; `measure` runs a multiple of it.
pub(crate) fn search_headroom<E>(
    options: &Options,
    rate: NonZeroU32,
    at_one: &[Step],
    mut measure: impl FnMut(f64) -> Result<Step, E>,
) -> Result<HeadroomFound, E> {
    let mut search = HeadroomSearch { options, rate, points: Vec::new() };
    let mut made = at_one.iter();
    while let Some(factor) = search.next() {
        let step = match made.next() {
            Some(step) => *step,
            None => measure(factor)?,
        };
        match step {
            Step::Held | Step::Broke => search.points.push((factor, step == Step::Held)),
            Step::Ended(end) => return Ok(headroom_found(&search.levels(), end)),
        }
    }
    let is_settled = search.to_measure(&search.levels()).is_none();
    let end = if is_settled { HeadroomEnd::Settled } else { HeadroomEnd::Unsettled };
    Ok(headroom_found(&search.levels(), end))
}

#[derive(Clone, Debug)]
struct HeadroomSearch<'a> {
    options: &'a Options,
    rate: NonZeroU32,
    points: Vec<(f64, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct HeadroomLevel {
    factor: f64,
    runs: u32,
    held: u32,
}

impl HeadroomLevel {
    fn holds(&self) -> bool {
        2 * self.held > self.runs
    }
}

impl HeadroomSearch<'_> {
    fn next(&self) -> Option<f64> {
        let most = (MOST_STEPS_BETWEEN + 3 * self.options.repeats) as usize;
        (self.points.len() < most).then(|| self.to_measure(&self.levels())).flatten()
    }

    fn levels(&self) -> Vec<HeadroomLevel> {
        let mut levels: Vec<HeadroomLevel> = Vec::new();
        for &(factor, held) in &self.points {
            let held = u32::from(held);
            match levels.iter_mut().find(|level| level.factor == factor) {
                Some(level) => (level.runs, level.held) = (level.runs + 1, level.held + held),
                None => levels.push(HeadroomLevel { factor, runs: 1, held }),
            }
        }
        levels.sort_by(|one, other| one.factor.total_cmp(&other.factor));
        levels
    }

    fn to_measure(&self, levels: &[HeadroomLevel]) -> Option<f64> {
        let at_one = levels.iter().find(|level| level.factor == 1.0);
        if at_one.is_none_or(|level| level.runs < self.options.repeats) {
            return Some(1.0);
        }
        match gap_ends(levels) {
            (None, None) => None,
            (Some(held), None) => match self.whole((held.factor * 2.0).min(self.options.most)) {
                higher if higher > held.factor => Some(higher),
                _ => self.again(held),
            },
            (None, Some(broken)) => match self.whole((broken.factor / 2.0).max(LEAST_FACTOR)) {
                lower if lower < broken.factor => Some(lower),
                _ => self.again(broken),
            },
            (Some(held), Some(broken)) => {
                let middle = self.whole((held.factor * broken.factor).sqrt());
                let is_between = middle > held.factor && middle < broken.factor;
                match broken.factor / held.factor > GAP_RATIO && is_between {
                    true => Some(middle),
                    false => self.again(held).or_else(|| self.again(broken)),
                }
            }
        }
    }

    fn whole(&self, factor: f64) -> f64 {
        let rate = f64::from(self.rate.get());
        let scale = 10f64.powi(2 - factor.log10().floor() as i32);
        let three_digits = (factor * scale).round() / scale;
        let whole = (three_digits * rate).round().max(1.0) / rate;
        whole.min((self.options.most * rate).floor() / rate)
    }

    fn again(&self, level: HeadroomLevel) -> Option<f64> {
        (level.runs < self.options.repeats).then_some(level.factor)
    }
}

fn gap_ends(levels: &[HeadroomLevel]) -> (Option<HeadroomLevel>, Option<HeadroomLevel>) {
    let broken = levels.iter().find(|level| !level.holds()).copied();
    let below = |level: &&HeadroomLevel| broken.is_none_or(|broken| level.factor < broken.factor);
    (levels.iter().rev().find(|level| below(level)).copied(), broken)
}

fn headroom_found(levels: &[HeadroomLevel], end: HeadroomEnd) -> HeadroomFound {
    let always = |level: &&HeadroomLevel| level.held == level.runs;
    let never = |level: &&HeadroomLevel| level.held == 0;
    let at_least = levels.iter().take_while(always).last();
    let less_than = levels.iter().rev().take_while(never).last();
    HeadroomFound {
        carries: gap_ends(levels).0.map(|level| level.factor),
        at_least: at_least.map(|level| level.factor),
        less_than: less_than.map(|level| level.factor),
        broken: gap_ends(levels).1.map(|level| level.factor),
        end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Result of a search on a simulated platform, and the factors tried.
    fn search(holds: impl FnMut(f64, usize) -> bool) -> (HeadroomFound, Vec<f64>) {
        search_from(1000, holds)
    }

    fn search_from(rate: u32, mut holds: impl FnMut(f64, usize) -> bool) -> (HeadroomFound, Vec<f64>) {
        let mut runs = Vec::new();
        let found = search_headroom(&Options::default(), NonZeroU32::new(rate).unwrap(), &[], |factor| {
            let held = holds(factor, runs.len());
            runs.push(factor);
            Ok::<_, ()>(if held { Step::Held } else { Step::Broke })
        });
        (found.unwrap(), runs)
    }

    #[test]
    fn the_demand_comes_first_and_both_ends_are_repeated() {
        let (found, runs) = search(|factor, _| factor <= 2.4);
        assert_eq!(runs[..6], [1.0, 1.0, 1.0, 2.0, 4.0, 2.83]);
        let carries = found.carries.unwrap();
        assert!((2.2..=2.4).contains(&carries), "{runs:?}");
        assert_eq!((found.at_least, found.end), (Some(carries), HeadroomEnd::Settled));
        assert!(found.less_than.unwrap() / carries <= GAP_RATIO + 0.01);
        assert_eq!(runs.iter().filter(|factor| **factor == carries).count(), 3);
    }

    #[test]
    fn factors_below_one_are_found() {
        let (found, runs) = search(|factor, _| factor <= 0.3);
        assert!((0.27..=0.3).contains(&found.carries.unwrap()), "{runs:?}");
        let (none, _) = search(|_, _| false);
        assert_eq!((none.carries, none.at_least), (None, None));
        let (all, _) = search(|_, _| true);
        assert_eq!((all.carries, all.less_than), (Some(64.0), None));
    }

    #[test]
    fn one_unlucky_run_of_three_at_the_demand_itself_breaks_nothing() {
        let (found, runs) = search(|factor, nth| nth != 0 && factor <= 1.5);
        assert!((1.36..=1.5).contains(&found.carries.unwrap()), "{runs:?}");
        assert_eq!(found.at_least, None);
    }

    /// 20 runs of each end are permitted, and the 41st was 'its runs differ too much'.
    #[test]
    fn many_repeats_settle() {
        let options = Options { repeats: 20, ..Options::default() };
        let rate = NonZeroU32::new(1000).unwrap();
        for limit in [0.3, 2.4, 50.0] {
            let step = |factor| Ok::<_, ()>(if factor <= limit { Step::Held } else { Step::Broke });
            let found = search_headroom(&options, rate, &[], step).unwrap();
            assert_eq!(found.end, HeadroomEnd::Settled, "{limit}");
            assert!(found.less_than.is_some(), "{limit}");
        }
    }

    /// 'Nothing broke up to 64 times' was said where two of three runs at 1x had broken.
    #[test]
    fn a_level_that_broke_in_most_runs_is_named() {
        let (found, _) = search(|factor, nth| factor < 1.0 || nth == 1);
        assert_eq!((found.less_than, found.broken), (None, Some(1.0)));
        let words = found.words(&Options::default());
        assert!(words.starts_with("Runs at 1 times the demand differ, and most of them broke"), "{words}");
        let (all, _) = search(|_, _| true);
        assert!(all.words(&Options::default()).starts_with("Nothing broke up to 64 times"));
    }

    #[test]
    fn no_test_is_made_twice_under_two_names() {
        // 0.062, 0.031 and 0.016 times 1/s were all 1/s.
        for rate in [1, 2, 5, 30] {
            let (_, runs) = search_from(rate, |_, _| false);
            let mut rates: Vec<u32> = runs.iter().map(|run| (run * f64::from(rate)).round() as u32).collect();
            assert_eq!(rates.iter().filter(|own| **own == rate).count(), 3, "{runs:?}");
            rates.dedup();
            let count = rates.len();
            rates.sort_unstable();
            rates.dedup();
            assert_eq!(rates.len(), count, "{runs:?}");
        }
        assert_eq!(search_from(1, |_, _| false).1, [1.0; 3]);
    }

    #[test]
    fn an_interrupted_search_says_what_it_knows() {
        for end in [HeadroomEnd::Failed, HeadroomEnd::OutOfTime] {
            let mut steps = [Step::Held, Step::Held, Step::Held, Step::Held, Step::Ended(end)].into_iter();
            let found = search_headroom(&Options::default(), NonZeroU32::MIN, &[], |_| {
                Ok::<_, ()>(steps.next().unwrap())
            })
            .unwrap();
            assert_eq!((found.carries, found.less_than, found.end), (Some(2.0), None, end));
        }
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
        assert!(found.less_than.unwrap() > found.at_least.unwrap() * GAP_RATIO, "{found:?}");
        assert_eq!(found.at_least, Some(2.0));
    }

    proptest! {
        #[test]
        fn without_noise_the_search_ends_with_the_true_factor(limit in 0.04..60.0_f64) {
            let (found, runs) = search(|factor, _| factor <= limit);
            prop_assert!(runs.len() < 27, "{runs:?}");
            prop_assert!(found.carries.unwrap() <= limit && limit < found.less_than.unwrap());
        }
    }

    fn knee_rules(most: u32) -> KneeRules {
        KneeRules {
            most: NonZeroU32::new(most).unwrap(),
            tolerance: 0.05,
            repeats: NonZeroU32::new(3).unwrap(),
        }
    }

    /// Result of a search on a curve of throughput by threads, and the threads tried.
    fn knee_of(most: u32, mut curve: impl FnMut(u32) -> (f64, bool)) -> (KneeFound, Vec<u32>) {
        let mut runs = Vec::new();
        let found = search_knee(knee_rules(most), |threads, _| {
            let (throughput, over_limit) = curve(threads.get());
            runs.push(threads.get());
            Ok::<_, ()>(Some(KneePoint { threads, throughput, over_limit }))
        });
        (found.unwrap(), runs)
    }

    /// A closed queue's bounds: throughput rises with the sessions until the bottleneck is busy (Denning and Buzen, "The
    /// operational analysis of queueing network models", *ACM Computing Surveys* 10 (1978) 225).
    fn bounded(threads: u32, capacity: f64) -> f64 {
        f64::from(threads).min(capacity)
    }

    #[test]
    fn the_knee_of_a_bounded_curve_is_found_in_few_runs() {
        let (found, runs) = knee_of(1024, |threads| (bounded(threads, 40.0), false));
        // 38 is 95 % of 40; gaps of an eighth are left.
        let threads = found.threads.unwrap().get();
        assert!((38..=43).contains(&threads) && found.why == KneeReason::Saturated, "{threads} {runs:?}");
        assert!(runs.len() <= 15, "{runs:?}");
        assert_eq!(runs.iter().filter(|run| **run == threads).count(), 3);
    }

    #[test]
    fn a_single_flat_doubling_is_not_the_end() {
        let (found, runs) = knee_of(1024, |threads| {
            let bad_luck = if threads == 8 { 0.5 } else { 1.0 };
            (bounded(threads, 100.0) * bad_luck, false)
        });
        assert!((95..=107).contains(&found.threads.unwrap().get()), "{runs:?}");
    }

    #[test]
    fn throughput_that_falls_beyond_its_peak_has_its_knee_before_it() {
        // Gunther's universal scalability law, *Guerrilla Capacity Planning* (2007), chapter 4: its peak is at 1/sqrt(0.001).
        let (found, runs) = knee_of(4096, |threads| {
            let n = f64::from(threads);
            (n / (1.0 + 0.02 * (n - 1.0) + 0.001 * n * (n - 1.0)), false)
        });
        assert!(
            (14..=34).contains(&found.threads.unwrap().get()) && found.why == KneeReason::Saturated,
            "{runs:?}"
        );
    }

    #[test]
    fn a_curve_without_a_knee_ends_at_the_most() {
        let (found, runs) = knee_of(100, |threads| (f64::from(threads), false));
        assert_eq!((found.threads.unwrap().get(), found.why), (100, KneeReason::Most), "{runs:?}");
    }

    #[test]
    fn a_limit_ends_it_where_it_is_passed() {
        let (found, runs) = knee_of(1024, |threads| (f64::from(threads), threads > 23));
        let threads = found.threads.unwrap().get();
        assert!((20..=23).contains(&threads) && found.why == KneeReason::Limit, "{threads} {runs:?}");
        let (found, runs) = knee_of(1024, |threads| (f64::from(threads), true));
        assert_eq!((found, runs), (KneeFound { threads: None, why: KneeReason::Limit }, vec![1]));
        // Saturated long before the limit: the limit is not what held it back.
        let (found, _) = knee_of(1024, |threads| (bounded(threads, 8.0), threads > 30));
        assert_eq!((found.threads.unwrap().get(), found.why), (8, KneeReason::Saturated));
    }

    #[test]
    fn one_session_can_be_all_there_is_to_get() {
        let (found, runs) = knee_of(64, |_| (100.0, false));
        assert_eq!(
            (found.threads.unwrap().get(), found.why, runs),
            (1, KneeReason::Saturated, vec![1, 2, 4, 1, 1])
        );
    }

    proptest! {
        /// With noise of up to 2 % to either side, the knee is within one doubling of the true one, and runs stay few.
        #[test]
        fn noise_moves_the_knee_by_less_than_a_doubling(capacity in 1.0_f64..500.0, noise in prop::collection::vec(-0.02_f64..0.02, 40)) {
            let mut noise = noise.into_iter().cycle();
            let (found, runs) = knee_of(2048, |threads| {
                (bounded(threads, capacity) * (1.0 + noise.next().unwrap_or(0.0)), false)
            });
            let ratio = f64::from(found.threads.unwrap().get()) / capacity.ceil();
            prop_assert!((0.5..=2.0).contains(&ratio), "{} {:?}", ratio, runs);
            prop_assert!(runs.len() <= 24, "{:?}", runs);
        }
    }
}
