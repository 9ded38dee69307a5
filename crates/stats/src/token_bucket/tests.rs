use std::f64::consts::TAU;

use super::*;
use crate::Shuffler;

struct Chance(Shuffler);

impl Chance {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.below(1_000_001) as f64 / 1e6
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let (one, other) = (self.between(1e-6, 1.0), self.between(0.0, TAU));
        (-2.0 * one.ln()).sqrt() * other.cos()
    }
}

fn seconds(rates: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    rates.into_iter().enumerate().map(|(second, rate)| (second as f64, rate)).collect()
}

/// Levels with the seconds that each holds.
fn levels(of: &[(usize, f64)], noise: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut chance = Chance(Shuffler::new(seed));
    let rates = of.iter().flat_map(|(length, level)| vec![*level; *length]);
    seconds(rates.map(|level| level * (1.0 + noise * chance.normal())).collect::<Vec<_>>())
}

/// A burst of 2 to 30 times the base, with a cliff within a second.
fn bucket(seed: u64) -> (TokenBucket, Vec<(f64, f64)>) {
    let mut chance = Chance(Shuffler::new(seed));
    let base_per_s = chance.between(100.0, 5000.0);
    let burst_per_s = base_per_s * chance.between(2.0, 30.0);
    let lasts_s = chance.between(30.0, 300.0);
    let seconds_after = chance.between(30.0, 200.0);
    let noise = [chance.between(0.0, 0.1), chance.between(0.0, 0.06)];
    let second = |second: usize| {
        let of_burst = (lasts_s - second as f64).clamp(0.0, 1.0);
        let noise = if of_burst > 0.0 { noise[0] } else { noise[1] };
        (of_burst * burst_per_s + (1.0 - of_burst) * base_per_s) * (1.0 + noise * chance.normal()).max(0.0)
    };
    let rates: Vec<f64> = (0..(lasts_s + seconds_after) as usize).map(second).collect();
    let credits = (burst_per_s - base_per_s) * lasts_s;
    (TokenBucket { burst_per_s, base_per_s, lasts_s, credits }, seconds(rates))
}

/// docs/evidence.md has the figures of 1,000.
#[test]
fn buckets_are_found_with_their_rates_and_moment() {
    let near = |found: f64, made: f64| (found / made - 1.0).abs() <= 0.05;
    let is_right = |seed: &u64| {
        let (made, series) = bucket(*seed);
        TokenBucket::fit(&series).is_some_and(|found| {
            near(found.burst_per_s, made.burst_per_s)
                && near(found.base_per_s, made.base_per_s)
                && near(found.lasts_s, made.lasts_s)
        })
    };
    let wrong: Vec<u64> = (0..80).filter(|seed| !is_right(seed)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Noise of 3 to 20 %, alone or with a drift, a memory, visits of others, or a rise.
fn without_bucket(seed: u64) -> Vec<(f64, f64)> {
    let mut chance = Chance(Shuffler::new(seed));
    let n = chance.between(40.0, 400.0) as usize;
    let noise = chance.between(0.03, 0.2);
    let memory = if seed % 5 == 2 { chance.between(0.5, 0.98) } else { 0.0 };
    let drift = if seed % 5 == 1 { chance.between(-0.9, 1.0) } else { 0.0 };
    let mut deviation = chance.normal();
    let mut rates: Vec<f64> = Vec::new();
    for second in 0..n {
        deviation = memory * deviation + (1.0_f64 - memory * memory).sqrt() * chance.normal();
        let level = 1000.0 * (1.0 + drift * second as f64 / n as f64);
        rates.push((level * (1.0 + noise * deviation)).max(0.0));
    }
    if seed % 5 == 3 {
        // The last visit ends before the series.
        for _ in 0..1 + chance.0.below(4) {
            let (begin, left) = (chance.0.below(n - 10), chance.between(0.1, 0.9));
            let end = begin + 1 + chance.0.below(n - 5 - begin);
            rates[begin..end].iter_mut().for_each(|rate| *rate *= left);
        }
    }
    if seed % 5 == 4 {
        let begin = chance.0.below(n);
        rates[begin..].iter_mut().for_each(|rate| *rate *= chance.between(1.5, 1.6));
    }
    seconds(rates)
}

#[test]
fn other_series_have_no_bucket() {
    let claimed: Vec<u64> =
        (0..1000).filter(|seed| TokenBucket::fit(&without_bucket(*seed)).is_some()).collect();
    assert!(claimed.is_empty(), "{claimed:?}");
}

#[test]
fn a_fall_is_a_cliff_if_it_is_sharp_and_its_level_is_flat() {
    let fits = |of: &[(usize, f64)]| TokenBucket::fit(&levels(of, 0.03, 1)).is_some();
    assert!(fits(&[(60, 3000.0), (40, 500.0)]));
    // Less than the smallest burst of a volume, or too short to be a level.
    assert!(!fits(&[(60, 3000.0), (40, 2200.0)]));
    assert!(!fits(&[(60, 3000.0), (7, 500.0)]) && !fits(&[(200, 3000.0), (15, 500.0)]));
    // A rise, a visit, a slow fall, and a level that goes on falling.
    assert!(!fits(&[(60, 500.0), (40, 3000.0)]));
    assert!(!fits(&[(60, 3000.0), (30, 500.0), (10, 3000.0)]));
    assert!(!fits(&[(40, 3000.0), (4, 2500.0), (4, 2000.0), (4, 1500.0), (4, 1000.0), (40, 500.0)]));
    assert!(!fits(&[(40, 3000.0), (20, 800.0), (20, 500.0)]));
    let uneven = levels(&[(60, 3000.0), (40, 500.0)], 0.4, 1);
    assert_eq!(TokenBucket::fit(&uneven), None);
}

/// The kernel's throttle let 450 to 545 reads/s through, with 500 as its limit and 16 in flight.
#[test]
fn a_limit_that_hands_out_portions_is_flat() {
    let throttled = [495.0, 541.0, 447.0, 524.0, 540.0, 542.0, 450.0, 494.0, 450.0, 545.0];
    let rates = std::iter::repeat_n(60_000.0, 40).chain(throttled.into_iter().cycle().take(60));
    let found = TokenBucket::fit(&seconds(rates)).unwrap();
    assert!((found.base_per_s - 500.0).abs() < 25.0 && found.lasts_s == 40.0, "{found:?}");
}

#[test]
fn stalls_neither_make_a_cliff_nor_hide_one() {
    let mut steady = levels(&[(100, 3000.0)], 0.03, 2);
    steady[70].1 = 0.0;
    assert_eq!(TokenBucket::fit(&steady), None);
    let mut falling = levels(&[(60, 3000.0), (40, 500.0)], 0.03, 3);
    for stalled in [20, 80] {
        falling[stalled].1 = 0.0;
    }
    let found = TokenBucket::fit(&falling).unwrap();
    assert!((found.lasts_s - 60.0).abs() < 1.0 && (found.base_per_s - 500.0).abs() < 10.0, "{found:?}");
}

#[test]
fn short_and_broken_series_have_none() {
    assert_eq!(TokenBucket::fit(&[]), None);
    assert_eq!(TokenBucket::fit(&seconds([5.0; 100])), None);
    assert_eq!(TokenBucket::fit(&seconds([0.0; 100])), None);
    assert_eq!(TokenBucket::fit(&seconds([f64::NAN; 100])), None);
    for length in 0..40 {
        let _ = TokenBucket::fit(&levels(&[(length, 10.0), (length / 2, 1.0)], 0.1, 4));
    }
}

#[test]
fn others_that_come_with_the_fall_explain_it() {
    let found = TokenBucket::fit(&levels(&[(60, 3000.0), (40, 500.0)], 0.03, 1)).unwrap();
    let others = |before, after| levels(&[(60, before), (40, after)], 0.03, 2);
    assert!(found.is_of_others(&others(100.0, 900.0)));
    for [before, after] in [[100.0, 500.0], [900.0, 900.0], [900.0, 100.0]] {
        assert!(!found.is_of_others(&others(before, after)));
    }
    assert!(!found.is_of_others(&[]), "they are not known");
}

/// Half an hour of samples each second.
#[test]
fn a_long_series_is_merged_for_its_changes() {
    let found = TokenBucket::fit(&levels(&[(1560, 16_000.0), (300, 3000.0)], 0.05, 5)).unwrap();
    assert!((found.lasts_s - 1560.0).abs() < 1.0, "{found:?}");
    assert!((found.credits / (13_000.0 * 1560.0) - 1.0).abs() < 0.01, "{found:?}");
}
