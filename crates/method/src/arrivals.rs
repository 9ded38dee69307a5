//! The open loop: when operations are meant to start, whether or not those before them are done.

use std::num::NonZeroU32;

use slob_spec::ArrivalProcess;

use crate::rng::Rng;

const SECOND_NS: u128 = 1_000_000_000;

/// The arrivals of a run, which are split over its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Operations per second of all sessions together.
    pub per_second: NonZeroU32,
    /// How many sessions share them.
    pub sessions: NonZeroU32,
    /// Their gaps. With Poisson arrivals each session's are a Poisson process, and so are all of them together.
    pub process: ArrivalProcess,
}

/// The arrivals of one session, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    session: u32,
    arrived: u64,
    next_ns: u64,
}

impl Schedule {
    /// The first arrivals of the sessions are one after the other where gaps are steady.
    pub(crate) fn new(arrivals: Arrivals, session: u32, rng: &mut Rng) -> Self {
        let mut schedule = Self { arrivals, session, arrived: 0, next_ns: 0 };
        schedule.next_ns = match arrivals.process {
            ArrivalProcess::Steady => schedule.steady_ns(0),
            ArrivalProcess::Poisson => schedule.gap_ns(rng),
        };
        schedule
    }

    /// When the next one is due, in nanoseconds after the start of the run.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Goes on to the one after it.
    pub(crate) fn advance(&mut self, rng: &mut Rng) {
        self.arrived += 1;
        self.next_ns = match self.arrivals.process {
            ArrivalProcess::Steady => self.steady_ns(self.arrived),
            ArrivalProcess::Poisson => self.next_ns.saturating_add(self.gap_ns(rng)),
        };
    }

    /// Computed from the start, so that rounding never adds up.
    fn steady_ns(&self, number: u64) -> u64 {
        let Arrivals { per_second, sessions, .. } = self.arrivals;
        let of_all =
            u128::from(number) * u128::from(sessions.get()) + u128::from(self.session % sessions.get());
        u64::try_from(of_all * SECOND_NS / u128::from(per_second.get())).unwrap_or(u64::MAX)
    }

    /// By inversion of the exponential distribution.
    fn gap_ns(&self, rng: &mut Rng) -> u64 {
        let Arrivals { per_second, sessions, .. } = self.arrivals;
        let mean_ns = SECOND_NS as f64 * f64::from(sessions.get()) / f64::from(per_second.get());
        // 53 random bits, from just above 0 to 1.
        let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * mean_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    fn dues(arrivals: Arrivals, session: u32, seed: u64, count: usize) -> Vec<u64> {
        let mut rng = Rng::new(seed);
        let mut schedule = Schedule::new(arrivals, session, &mut rng);
        let mut next = || {
            let due = schedule.next_ns();
            schedule.advance(&mut rng);
            due
        };
        (0..count).map(|_| next()).collect()
    }

    fn arrivals(per_second: u32, sessions: u32, process: ArrivalProcess) -> Arrivals {
        let number = |value| NonZeroU32::new(value).unwrap();
        Arrivals { per_second: number(per_second), sessions: number(sessions), process }
    }

    proptest! {
        #[test]
        fn steady_arrivals_of_all_sessions_are_evenly_spaced(rate in 1_u32..1_000_000, sessions in 1_u32..200) {
            let steady = arrivals(rate, sessions, ArrivalProcess::Steady);
            let mut all: Vec<u64> = (0..sessions).flat_map(|session| dues(steady, session, 1, 20)).collect();
            all.sort_unstable();
            for (number, due) in all.iter().enumerate() {
                let exact = number as f64 * 1e9 / f64::from(rate);
                prop_assert!((*due as f64 - exact).abs() <= 1.0, "arrival {number} at {due}, not {exact}");
            }
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential_distribution() {
        let poisson = arrivals(1000, 4, ArrivalProcess::Poisson);
        let times = dues(poisson, 2, 7, 50_000);
        assert!(times.is_sorted());
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // 4 ms on average; the standard error of 50,000 gaps is 0.5 %.
        assert!((mean / 4.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt());
    }
}
