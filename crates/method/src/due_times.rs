//! Due times of an open loop, by RATE and ARRIVALS.

use slob_spec::{ArrivalProcess, RateSchedule, Workload};

use crate::rng::{self, Rng};

/// Separates the random numbers of arrivals from those of keys.
const ARRIVALS: u64 = 0x0a22_17a1;
const SECOND_US: u128 = 1_000_000;
const SECOND_NS: f64 = 1e9;

/// Operations are due on schedule even if earlier ones are late. Poisson arrivals are a Poisson process for each session and for
/// all.
#[derive(Clone, Debug)]
pub(crate) struct DueTimes {
    rate: RateSchedule,
    /// The rate's own time begins after it, or earlier ([`DueTimes::begin_window`]).
    warmup_us: u64,
    /// They share the rate.
    sessions: u32,
    process: ArrivalProcess,
    session: u32,
    /// The rate must not change the keys.
    rng: Rng,
    arrived: u64,
    /// The latest operation is due in this step.
    step: usize,
    /// Millionths of operations, of all sessions.
    due_before: u128,
    /// The latest draw: mean gaps after a moment.
    drawn: (f64, u64),
    /// Nanoseconds after the start of the run.
    pub(crate) next_ns: u64,
}

impl DueTimes {
    /// Steady gaps spread first arrivals evenly. `None` in a closed loop.
    pub(crate) fn new(workload: &Workload, session: u32) -> Option<Self> {
        let (rate, process) = workload.rate_per_s.clone().zip(workload.arrivals)?;
        let warmup_us = (workload.warmup_s * 1e6).round() as u64;
        let sessions = workload.sessions();
        let (arrived, step, due_before, drawn, next_ns) = (0, 0, 0, (0.0, 0), 0);
        let rng = Rng::new(rng::key(&[workload.seed, u64::from(session), ARRIVALS]));
        let mut due_times = Self {
            rate,
            warmup_us,
            sessions,
            process,
            session,
            rng,
            arrived,
            step,
            due_before,
            drawn,
            next_ns,
        };
        due_times.find_next();
        Some(due_times)
    }

    pub(crate) fn advance(&mut self) {
        self.arrived += 1;
        self.find_next();
    }

    /// The window begins at `ns`, earlier than planned. Operations that are planned already keep their due times.
    pub(crate) fn begin_window(&mut self, ns: u64) {
        let us = ns / 1000;
        if us < self.warmup_us {
            (self.warmup_us, self.step, self.due_before) = (us, 0, 0);
            self.place_next();
        }
    }

    fn find_next(&mut self) {
        if self.process == ArrivalProcess::Poisson {
            // 53 random bits, from just above 0 to 1.
            let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            self.drawn = (-uniform.ln(), self.next_ns);
        }
        self.place_next();
    }

    fn place_next(&mut self) {
        self.next_ns = match self.process {
            ArrivalProcess::Steady => self.steady_ns(),
            ArrivalProcess::Poisson => self.poisson_ns(),
        };
    }

    fn per_second(&self) -> u32 {
        self.rate.steps()[self.step].per_second
    }

    /// Microseconds after the start of the run. No step follows the last one.
    fn begin_us(&self, step: usize) -> u64 {
        match self.rate.steps().get(step) {
            _ if step == 0 => 0,
            None => u64::MAX,
            Some(step) => {
                let from_us = u64::try_from(step.from.as_micros()).unwrap_or(u64::MAX);
                from_us.saturating_add(self.warmup_us)
            }
        }
    }

    /// Whole numbers from the begin of the step don't add up rounding errors.
    fn steady_ns(&mut self) -> u64 {
        let nth =
            u128::from(self.arrived) * u128::from(self.sessions) + u128::from(self.session % self.sessions);
        let due = nth * SECOND_US;
        loop {
            let (begin_us, end_us) = (self.begin_us(self.step), self.begin_us(self.step + 1));
            let due_at_end = self.due_before + u128::from(end_us - begin_us) * u128::from(self.per_second());
            if due < due_at_end {
                let since_ns = (due - self.due_before) * 1000 / u128::from(self.per_second());
                return u64::try_from(u128::from(begin_us) * 1000 + since_ns).unwrap_or(u64::MAX);
            }
            if end_us == u64::MAX {
                return u64::MAX;
            }
            self.step += 1;
            self.due_before = due_at_end;
        }
    }

    /// Inverts the exponential distribution. A gap goes on in the next step at its rate.
    fn poisson_ns(&mut self) -> u64 {
        let (mut mean_gaps, mut from_ns) = self.drawn;
        loop {
            let end_ns = self.begin_us(self.step + 1).saturating_mul(1000);
            if self.per_second() > 0 {
                let mean_ns = SECOND_NS * f64::from(self.sessions) / f64::from(self.per_second());
                let due_ns = from_ns.saturating_add((mean_gaps * mean_ns) as u64);
                if due_ns < end_ns {
                    return due_ns;
                }
                mean_gaps = (mean_gaps - end_ns.saturating_sub(from_ns) as f64 / mean_ns).max(0.0);
            }
            if end_ns == u64::MAX {
                return u64::MAX;
            }
            self.step += 1;
            from_ns = from_ns.max(end_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    use proptest::prelude::*;
    use slob_spec::WorkUnit;

    fn dues(open_loop: &Workload, session: u32, count: usize) -> Vec<u64> {
        let mut due_times = DueTimes::new(open_loop, session).unwrap();
        let mut next = || {
            let due = due_times.next_ns;
            due_times.advance();
            due
        };
        (0..count).map(|_| next()).collect()
    }

    fn open_loop(rate: &str, sessions: u32, process: ArrivalProcess) -> Workload {
        Workload {
            threads_per_schema: NonZeroU32::new(sessions).unwrap(),
            rate_per_s: Some(rate.parse().unwrap()),
            arrivals: Some(process),
            ..Workload::selects(100, WorkUnit::new(1).unwrap())
        }
    }

    proptest! {
        #[test]
        fn steady_arrivals_of_all_sessions_are_evenly_spaced(rate in 1_u32..1_000_000, sessions in 1_u32..200) {
            let steady = open_loop(&rate.to_string(), sessions, ArrivalProcess::Steady);
            let mut all: Vec<u64> = (0..sessions).flat_map(|session| dues(&steady, session, 20)).collect();
            all.sort_unstable();
            for (number, due) in all.iter().enumerate() {
                let exact = number as f64 * 1e9 / f64::from(rate);
                prop_assert!((*due as f64 - exact).abs() <= 1.0, "arrival {number} at {due}, not {exact}");
            }
        }
    }

    /// Due times of all sessions before the end, sorted.
    fn dues_before(open_loop: &Workload, end_ns: u64) -> Vec<u64> {
        let of_session = |session| {
            let mut due_times = DueTimes::new(open_loop, session).unwrap();
            let mut dues = Vec::new();
            while due_times.next_ns < end_ns {
                dues.push(due_times.next_ns);
                due_times.advance();
            }
            dues
        };
        let mut all: Vec<u64> = (0..open_loop.sessions()).flat_map(of_session).collect();
        all.sort_unstable();
        all
    }

    fn within(dues: &[u64], from_us: u64, to_us: u64) -> u64 {
        (dues.partition_point(|due| *due < to_us * 1000) - dues.partition_point(|due| *due < from_us * 1000))
            as u64
    }

    proptest! {
        #[test]
        fn each_step_of_a_schedule_has_its_exact_number_of_arrivals(
            steps in proptest::collection::vec((0_u32..3000, 1_u64..3_000_000), 1..8),
            sessions in 1_u32..20,
            warmup_us in 0_u64..2_000_000,
        ) {
            let mut from_us = 0;
            let step = |&(per_second, length_us): &(u32, u64)| {
                let step = format!("{per_second}@{}.{:06}s", from_us / 1_000_000, from_us % 1_000_000);
                from_us += length_us;
                step
            };
            let text = steps.iter().map(step).collect::<Vec<_>>().join(",");
            prop_assume!(steps.iter().any(|step| step.0 > 0));
            let steady = open_loop(&text, sessions, ArrivalProcess::Steady);
            let steady = Workload { warmup_s: warmup_us as f64 / 1e6, ..steady };
            let dues = dues_before(&steady, (warmup_us + from_us) * 1000);
            let (mut begin_us, mut before) = (0, 0_u64);
            for (nth, (per_second, length_us)) in steps.into_iter().enumerate() {
                let length_us = if nth == 0 { length_us + warmup_us } else { length_us };
                let after = before + u64::from(per_second) * length_us;
                // Arrival number n is due once n operations are.
                let exact = after.div_ceil(1_000_000) - before.div_ceil(1_000_000);
                prop_assert_eq!(within(&dues, begin_us, begin_us + length_us), exact, "step {} of {}", nth, text);
                (begin_us, before) = (begin_us + length_us, after);
            }
        }
    }

    #[test]
    fn random_arrivals_follow_each_step_of_a_schedule() {
        let poisson = Workload { seed: 3, ..open_loop("4000@0s,0@5s,1000@6s", 4, ArrivalProcess::Poisson) };
        let dues = dues_before(&poisson, 16_000_000_000);
        let seconds = |from: u64, to: u64| within(&dues, from * 1_000_000, to * 1_000_000) as f64;
        assert_eq!(seconds(5, 6), 0.0);
        // Five standard deviations of counts with these means.
        assert!((seconds(0, 5) - 20_000.0).abs() < 707.0, "{}", seconds(0, 5));
        assert!((seconds(6, 16) - 10_000.0).abs() < 500.0, "{}", seconds(6, 16));
    }

    #[test]
    fn a_window_that_begins_early_has_the_schedule_of_a_warm_up_of_that_length() {
        for process in [ArrivalProcess::Steady, ArrivalProcess::Poisson] {
            for rates in ["3@0s,900@2s,0@4s,50@5s", "0@0s,200@1s", "50@0s,0@1s"] {
                let planned = |warmup_s| {
                    DueTimes::new(&Workload { warmup_s, ..open_loop(rates, 8, process) }, 5).unwrap()
                };
                let (mut early, mut fixed) = (planned(300.0), planned(7.25));
                while early.next_ns < 7_250_000_000 {
                    assert_eq!(early.next_ns, fixed.next_ns);
                    early.advance();
                    fixed.advance();
                }
                early.begin_window(u64::MAX);
                early.begin_window(7_250_000_000);
                // Whoever reconnects says it once more, perhaps with another moment.
                early.begin_window(7_250_000_001);
                for number in 0..200 {
                    assert_eq!(early.next_ns, fixed.next_ns, "{process:?}, {rates}, arrival {number}");
                    early.advance();
                    fixed.advance();
                }
            }
        }
    }

    #[test]
    fn a_schedule_that_ends_at_0_has_no_more_arrivals() {
        for process in [ArrivalProcess::Steady, ArrivalProcess::Poisson] {
            let due = *dues(&open_loop("10@0s,0@1s", 2, process), 0, 40).last().unwrap();
            assert_eq!(due, u64::MAX);
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential_distribution() {
        let poisson = Workload { seed: 7, ..open_loop("1000", 4, ArrivalProcess::Poisson) };
        let times = dues(&poisson, 2, 50_000);
        assert!(times.is_sorted());
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // 4 ms on average; the standard error of 50,000 gaps is 0.5 %.
        assert!((mean / 4.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt());
    }
}
