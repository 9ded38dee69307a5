use proptest::prelude::*;

use super::*;

fn rules(most: u32) -> SearchRules {
    SearchRules {
        most: NonZeroU32::new(most).unwrap(),
        tolerance: 0.05,
        repeats: NonZeroU32::new(3).unwrap(),
    }
}

/// Searches a curve of throughput by threads; returns what was found and the runs made.
fn search(most: u32, mut curve: impl FnMut(u32) -> (f64, bool)) -> (Found, Vec<u32>) {
    let mut search = Search::new(rules(most));
    loop {
        match search.next() {
            Next::Measure(threads) => {
                let (throughput, over_limit) = curve(threads.get());
                search.add(Point { threads, throughput, over_limit });
            }
            Next::Found(found) => {
                return (found, search.points().iter().map(|point| point.threads.get()).collect());
            }
        }
    }
}

/// A closed queue's bounds: throughput rises with the sessions until the bottleneck is busy (Denning and Buzen, "The
/// operational analysis of queueing network models", *ACM Computing Surveys* 10 (1978) 225).
fn bounded(threads: u32, capacity: f64) -> f64 {
    f64::from(threads).min(capacity)
}

#[test]
fn the_knee_of_a_bounded_curve_is_found_in_few_runs() {
    let (found, runs) = search(1024, |threads| (bounded(threads, 40.0), false));
    // 38 is 95 % of 40; gaps of an eighth are left.
    let threads = found.threads.unwrap().get();
    assert!((38..=43).contains(&threads) && found.why == Why::Saturated, "{threads} {runs:?}");
    assert!(runs.len() <= 15, "{runs:?}");
    assert_eq!(runs.iter().filter(|run| **run == threads).count(), 3);
}

#[test]
fn a_single_flat_doubling_is_not_the_end() {
    let (found, runs) = search(1024, |threads| {
        let bad_luck = if threads == 8 { 0.5 } else { 1.0 };
        (bounded(threads, 100.0) * bad_luck, false)
    });
    assert!((95..=107).contains(&found.threads.unwrap().get()), "{runs:?}");
}

#[test]
fn throughput_that_falls_beyond_its_peak_has_its_knee_before_it() {
    // Gunther's universal scalability law, *Guerrilla Capacity Planning* (2007), chapter 4: its peak is at 1/sqrt(0.001).
    let (found, runs) = search(4096, |threads| {
        let n = f64::from(threads);
        (n / (1.0 + 0.02 * (n - 1.0) + 0.001 * n * (n - 1.0)), false)
    });
    assert!((14..=34).contains(&found.threads.unwrap().get()) && found.why == Why::Saturated, "{runs:?}");
}

#[test]
fn a_curve_without_a_knee_ends_at_the_most() {
    let (found, runs) = search(100, |threads| (f64::from(threads), false));
    assert_eq!((found.threads.unwrap().get(), found.why), (100, Why::Most), "{runs:?}");
}

#[test]
fn a_limit_ends_it_where_it_is_passed() {
    let (found, runs) = search(1024, |threads| (f64::from(threads), threads > 23));
    let threads = found.threads.unwrap().get();
    assert!((20..=23).contains(&threads) && found.why == Why::Limit, "{threads} {runs:?}");
    let (found, runs) = search(1024, |threads| (f64::from(threads), true));
    assert_eq!((found, runs), (Found { threads: None, why: Why::Limit }, vec![1]));
    // Saturated long before the limit: the limit is not what held it back.
    let (found, _) = search(1024, |threads| (bounded(threads, 8.0), threads > 30));
    assert_eq!((found.threads.unwrap().get(), found.why), (8, Why::Saturated));
}

#[test]
fn one_session_can_be_all_there_is_to_get() {
    let (found, runs) = search(64, |_| (100.0, false));
    assert_eq!((found.threads.unwrap().get(), found.why, runs), (1, Why::Saturated, vec![1, 2, 4, 1, 1]));
}

proptest! {
    /// With noise of up to 2 % to either side, the knee is within one doubling of the true one, and runs stay few.
    #[test]
    fn noise_moves_it_by_less_than_a_doubling(capacity in 1.0_f64..500.0, noise in prop::collection::vec(-0.02_f64..0.02, 40)) {
        let mut noise = noise.into_iter().cycle();
        let (found, runs) = search(2048, |threads| {
            (bounded(threads, capacity) * (1.0 + noise.next().unwrap_or(0.0)), false)
        });
        let ratio = f64::from(found.threads.unwrap().get()) / capacity.ceil();
        prop_assert!((0.5..=2.0).contains(&ratio), "{} {:?}", ratio, runs);
        prop_assert!(runs.len() <= 24, "{:?}", runs);
    }
}
