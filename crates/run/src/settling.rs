//! The end of a warm-up with WARMUP=auto.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slob_engine::{Debt, Engine, within};
use slob_record::{AutoWarmUp, Interval, UntilSteady};
use slob_stats::SettleWatch;

use crate::tally::{GrowingSeries, LONGEST_BATCH};

/// Watches the warm-up, whose clock begins at 0.
#[derive(Debug)]
pub(crate) struct Settling {
    at_most: Duration,
    watch: SettleWatch,
    debts: Debts,
    is_settled: bool,
}

impl Settling {
    pub(crate) fn new(at_most: Duration) -> Self {
        Self {
            at_most,
            watch: SettleWatch::new(at_most.as_secs()),
            debts: Debts::default(),
            is_settled: false,
        }
    }

    /// Asks the server for its debts.
    pub(crate) fn ask(&mut self, engine: &Arc<dyn Engine>) {
        self.debts.ask(engine);
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// The planned end, once the load has settled: a whole second, by which batches under way have ended. Later calls return
    /// `None`.
    pub(crate) fn end(&mut self, series: &GrowingSeries, now: Duration) -> Option<Duration> {
        if self.is_settled {
            return None;
        }
        self.watch_until(series, GrowingSeries::complete_s(now));
        let end = Duration::from_secs((now + LONGEST_BATCH).as_secs() + 1);
        (self.is_settled && end < self.at_most).then_some(end)
    }

    /// Only complete seconds count: those before `end_s`.
    pub(crate) fn watch_until(&mut self, series: &GrowingSeries, end_s: u64) {
        while !self.is_settled && self.watch.next_s() < end_s {
            let (operations, responses_ns) = series.second(self.watch.next_s()).map_or((0, 0), counted);
            self.watch.push(operations, responses_ns);
            let is_steady = self.watch.is_settled();
            self.is_settled = is_steady && self.debts.are_settled(self.watch.next_s());
        }
    }

    pub(crate) fn notes(&self, took: Duration) -> Vec<String> {
        let names: Vec<&str> = self.debts.last.iter().map(|debt| debt.name.as_str()).collect();
        let limit = (!self.is_settled && took >= self.at_most).then(|| {
            let what = if self.watch.is_settled() {
                "the server's work was not done"
            } else {
                "the load was not steady"
            };
            let left =
                if names.is_empty() { String::new() } else { format!(" (left: {})", names.join(", ")) };
            format!("The warm-up ended at its limit of {} s: {what}{left}.", self.at_most.as_secs_f64())
        });
        limit.into_iter().chain(self.debts.fault.clone()).collect()
    }

    /// It took `seconds`.
    pub(crate) fn record(&self, seconds: f64) -> AutoWarmUp {
        let last = self.watch.last_windows();
        let steady = UntilSteady {
            reached: self.watch.is_settled(),
            tolerance_percent: 100.0 * SettleWatch::TOLERANCE,
            window_s: last.as_ref().map_or(0, |last| last.window_s),
            since_s: last.as_ref().map(|last| last.since_s),
            operations_per_s: last.as_ref().map(|last| last.rates.clone()).unwrap_or_default(),
        };
        let responses_ns = last.map(|last| last.responses_ns).unwrap_or_default();
        let responses_us = responses_ns.into_iter().map(|ns| ns / 1e3).collect();
        let [debts_at_begin, debts_at_end] = [&self.debts.first, &self.debts.last].map(Clone::clone);
        let at_most_s = self.at_most.as_secs_f64();
        AutoWarmUp { at_most_s, seconds, steady, responses_us, debts_at_begin, debts_at_end }
    }
}

/// The server is asked once a second what loads and earlier runs left to it.
#[derive(Debug, Default)]
struct Debts {
    first: Vec<Debt>,
    last: Vec<Debt>,
    /// Amounts at each asking, 0 before the first one.
    amounts: BTreeMap<String, Vec<u64>>,
    asked: usize,
    /// It is asked no more.
    fault: Option<String>,
}

impl Debts {
    /// A server may take longer while it is at work.
    const PATIENCE: Duration = Duration::from_secs(5);
    /// A debt that falls by less is not worked off.
    const FALLS: f64 = 0.97;
    const LEAST_ASKINGS: usize = 5;

    fn ask(&mut self, engine: &Arc<dyn Engine>) {
        if self.fault.is_some() {
            return;
        }
        let of_thread = Arc::clone(engine);
        let fault = match within(Self::PATIENCE, move || of_thread.debts()) {
            Ok(Ok(debts)) => return self.add(debts),
            Ok(Err(error)) => error.to_string(),
            Err(silence) => silence.to_string(),
        };
        self.fault = Some(format!("What earlier work left to the server is not known: {fault}."));
    }

    fn add(&mut self, debts: Vec<Debt>) {
        for debt in &debts {
            self.amounts.entry(debt.name.clone()).or_insert_with(|| vec![0; self.asked]).push(debt.amount);
        }
        self.asked += 1;
        self.amounts.values_mut().for_each(|amounts| amounts.resize(self.asked, 0));
        if self.asked == 1 {
            self.first.clone_from(&debts);
        }
        self.last = debts;
    }

    /// Nothing with an end is under way, and no amount fell in the last sixth of `seconds`.
    fn are_settled(&self, seconds: u64) -> bool {
        let askings = (seconds as usize / 6).max(Self::LEAST_ASKINGS);
        let falls = |amounts: &Vec<u64>| {
            let [.., last] = amounts[..] else { return false };
            let before = amounts[amounts.len().saturating_sub(askings)];
            last > 0 && (last as f64) < Self::FALLS * before as f64
        };
        self.last.iter().all(|debt| !debt.under_way) && !self.amounts.values().any(falls)
    }
}

/// Without response times, those of a closed loop whose sessions take no turns are the durations.
fn counted(second: &Interval) -> (u64, u64) {
    let responses = if second.response.is_empty() { &second.latency } else { &second.response };
    (responses.count(), responses.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first asking after which the debts are settled.
    fn settled_after(askings: impl IntoIterator<Item = Vec<Debt>>) -> Option<usize> {
        let mut debts = Debts::default();
        askings.into_iter().position(|all| {
            debts.add(all);
            debts.are_settled(10)
        })
    }

    #[test]
    fn work_under_way_is_waited_for_and_other_work_while_it_falls() {
        assert_eq!(settled_after([vec![]]), Some(0));
        let checkpoint = |nth| if nth < 7 { vec![Debt::under_way("checkpoint", 1, "")] } else { Vec::new() };
        assert_eq!(settled_after((0..20).map(checkpoint)), Some(7));
        let purge =
            |nth: u64| vec![Debt::new("history", 500_u64.saturating_sub(50 * nth).max(100), "undo logs")];
        let mut debts = Debts::default();
        let settled: Vec<bool> = (0..16)
            .map(|nth| {
                debts.add(purge(nth));
                debts.are_settled(10)
            })
            .collect();
        assert_eq!(settled.iter().position(|is| !is), Some(1), "{settled:?}");
        assert_eq!(settled.iter().rposition(|is| !is), Some(11), "{settled:?}");
        assert_eq!((debts.first[0].amount, debts.last[0].amount), (500, 100));
    }

    #[test]
    fn a_load_that_dirties_pages_all_the_time_has_no_debt_that_falls() {
        let rising = |nth: u64| vec![Debt::new("dirty pages", (100 * nth).min(1000), "pages")];
        assert!((1..30).all(|most| {
            let mut debts = Debts::default();
            (0..most).for_each(|nth| debts.add(rising(nth)));
            debts.are_settled(10)
        }));
    }
}
