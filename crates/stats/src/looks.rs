//! Looks at measurements that grow until they decide: each look may err, and all together no more than one test would.

use std::f64::consts::E;

/// The confidence of one look's intervals, so that those of all looks hold together with `confidence`.
///
/// Each look spends a part of the error that is allowed. The parts are the increments of the spending function
/// `alpha ln(1 + (e - 1) t)` (Lan and DeMets, *Biometrika* 70 (1983) 659, after Pocock) at the share `t` of the most measurements.
/// By Boole's inequality their sum bounds the error of a series that stops at any look, whatever the correlation of its looks. That
/// is wider than exact boundaries and needs no normal approximation, so that it holds for few measurements.
///
/// `None` unless `look` is from 1 to `most`, and `confidence` between 0 and 1.
pub fn confidence_of_look(confidence: f64, look: u32, most: u32) -> Option<f64> {
    if !((1..=most).contains(&look) && confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let spent = |look: u32| (1.0 - confidence) * ((E - 1.0) * f64::from(look) / f64::from(most)).ln_1p();
    Some(1.0 - (spent(look) - spent(look - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparison, Shuffler};

    #[test]
    fn the_looks_spend_together_what_one_test_may_err() {
        for most in [1, 2, 11, 100] {
            let spent: f64 = (1..=most).map(|look| 1.0 - confidence_of_look(0.95, look, most).unwrap()).sum();
            assert!((spent - 0.05).abs() < 1e-12, "{most} looks spend {spent}");
        }
        assert!((confidence_of_look(0.95, 1, 1).unwrap() - 0.95).abs() < 1e-12);
        assert_eq!(
            [(0.95, 0, 3), (0.95, 4, 3), (1.0, 1, 3)].map(|(c, k, n)| confidence_of_look(c, k, n)),
            [None; 3]
        );
    }

    /// Rates with 1 % of noise, by the central limit of twelve draws.
    fn rate(random: &mut Shuffler, mean: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| random.below(1 << 30) as f64 / (1u64 << 30) as f64).sum();
        mean * (1.0 + 0.01 * (sum - 6.0))
    }

    #[derive(Default)]
    struct Decided {
        passed: u32,
        failed: u32,
        runs: u32,
    }

    /// Series of at most 12 runs against 5 of a baseline, which end when a loss of 3 % is told from noise.
    fn series(count: u32, loss: f64, corrected: bool) -> Decided {
        let mut random = Shuffler::new(20_261_128);
        let mut all = Decided::default();
        for _ in 0..count {
            let base: Vec<f64> = (0..5).map(|_| rate(&mut random, 1000.0)).collect();
            let mut side = vec![rate(&mut random, 1000.0 * (1.0 - loss))];
            for look in 1..=11 {
                side.push(rate(&mut random, 1000.0 * (1.0 - loss)));
                let confidence = if corrected { confidence_of_look(0.95, look, 11).unwrap() } else { 0.95 };
                let interval = Comparison::of(&base, &side, confidence).unwrap().interval.unwrap();
                let (passed, failed) = (interval.low >= -3.0, interval.high < -3.0);
                all.passed += u32::from(passed);
                all.failed += u32::from(failed);
                if passed || failed {
                    break;
                }
            }
            all.runs += side.len() as u32;
        }
        all
    }

    /// A series whose true loss is none is wrong where it fails; one whose loss is the limit, wherever it decides.
    #[test]
    fn series_that_stop_when_they_decide_are_wrong_in_at_most_five_of_a_hundred() {
        let same = series(200, 0.0, true);
        assert!(
            same.failed <= 10 && same.passed > 60,
            "{} failed, {} passed of 200",
            same.failed,
            same.passed
        );
        let at_the_limit = series(200, 0.03, true);
        let wrong = at_the_limit.passed + at_the_limit.failed;
        assert!(wrong <= 10, "{wrong} of 200 decided at the limit");
        // Without the correction this test would fail.
        let naive = series(200, 0.03, false);
        assert!(naive.passed + naive.failed > 20, "{}", naive.passed + naive.failed);
    }

    #[test]
    fn a_true_loss_is_found_with_fewer_runs_than_the_most() {
        let lost = series(200, 0.10, true);
        assert!(lost.failed >= 190 && lost.passed == 0, "{} of 200", lost.failed);
        assert!(lost.runs < 200 * 8, "{} runs", lost.runs);
    }
}
