//! A bound on batches in flight, for sessions that share CPUs with their server.
//!
//! With few batches in flight, this program's threads get their share, and sessions their turns in order. The bound rises while
//! CPUs are idle, so it does not hold back I/O. A higher priority would not help: the kernel may first share CPUs between login
//! sessions.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use slob_host::CpuTimes;

use crate::lock;

const UNBOUND: usize = usize::MAX;
/// For each CPU: this program's threads run in good time, and no CPU is idle.
const FOR_EACH_CPU: usize = 16;
/// A percentage of CPU time.
const BUSY: f64 = 90.0;

/// Ticks measure so much CPU time well.
const ENOUGH_S: f64 = 0.1;

#[derive(Debug)]
pub(crate) struct Turns {
    least: usize,
    bound: AtomicUsize,
    taken: AtomicUsize,
    waiting: Mutex<VecDeque<Arc<WaitingThread>>>,
}

#[derive(Debug)]
struct WaitingThread {
    thread: Thread,
    is_called: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

fn least(cpus: u32) -> usize {
    FOR_EACH_CPU * cpus as usize
}

/// `None` if batches in flight suffice.
pub(crate) fn advice(sessions: u32, cpus: u32) -> Option<String> {
    let least = least(cpus);
    (sessions as usize > least).then(|| {
        format!(
            "{sessions} sessions share {cpus} CPUs with their server: while the CPUs are busy, only {least} batches are in flight, \
             and the other sessions wait outside operations; use fewer sessions, or run this program on another host."
        )
    })
}

impl Turns {
    /// `None` is unbounded.
    pub(crate) fn new(shared_cpus: Option<u32>) -> Self {
        let least = shared_cpus.map_or(UNBOUND, least);
        let (bound, taken) = (AtomicUsize::new(least), AtomicUsize::new(0));
        Self { least, bound, taken, waiting: Mutex::default() }
    }

    /// `None` if the phase ends before.
    pub(crate) fn take(&self, is_working: impl Fn() -> bool) -> Option<Turn<'_>> {
        if self.least == UNBOUND {
            return Some(Turn(self));
        }
        let mut waiting = lock(&self.waiting);
        if waiting.is_empty() && self.taken.load(SeqCst) < self.bound.load(SeqCst) {
            self.taken.fetch_add(1, SeqCst);
            return Some(Turn(self));
        }
        let own = Arc::new(WaitingThread { thread: thread::current(), is_called: AtomicBool::new(false) });
        waiting.push_back(Arc::clone(&own));
        drop(waiting);
        while !own.is_called.load(SeqCst) && is_working() {
            thread::park();
        }
        let mut waiting = lock(&self.waiting);
        if !own.is_called.load(SeqCst) {
            waiting.retain(|other| !Arc::ptr_eq(other, &own));
        }
        drop(waiting);
        own.is_called.load(SeqCst).then(|| Turn(self))
    }

    fn call(&self) {
        let mut waiting = lock(&self.waiting);
        while self.taken.load(SeqCst) < self.bound.load(SeqCst) {
            let Some(next) = waiting.pop_front() else { return };
            self.taken.fetch_add(1, SeqCst);
            next.is_called.store(true, SeqCst);
            next.thread.unpark();
        }
    }

    pub(crate) fn adapt(&self, last: &mut Option<CpuTimes>) {
        if self.least == UNBOUND {
            return;
        }
        let Ok(now) = CpuTimes::read() else { return };
        let used = now.since(last.get_or_insert(now));
        let Some(busy) = used.busy_percent().filter(|_| used.total_s() >= ENOUGH_S) else { return };
        *last = Some(now);
        let (bound, is_reached) = (self.bound.load(SeqCst), !lock(&self.waiting).is_empty());
        self.bound.store(adapted(bound, self.least, busy, is_reached), SeqCst);
        self.call();
    }
}

/// A bound without waiters does not rise: it would take seconds to fall again.
fn adapted(bound: usize, least: usize, busy: f64, is_reached: bool) -> usize {
    match busy < BUSY {
        true if is_reached => 2 * bound,
        true => bound,
        false => (bound - bound / 4).max(least),
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.0.least != UNBOUND {
            self.0.taken.fetch_sub(1, SeqCst);
            self.0.call();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_of_asking_and_no_more_than_the_bound() {
        let turns = Turns::new(Some(1));
        let (order, most) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let first: Vec<_> = (0..FOR_EACH_CPU).map(|_| turns.take(|| true).unwrap()).collect();
        thread::scope(|scope| {
            for number in 0..8 {
                let (turns, order, most) = (&turns, &order, &most);
                scope.spawn(move || {
                    let turn = turns.take(|| true).unwrap();
                    most.fetch_max(turns.taken.load(SeqCst), SeqCst);
                    order.lock().unwrap().push(number);
                    drop(turn);
                });
                while lock(&turns.waiting).len() <= number {
                    thread::yield_now();
                }
            }
            let mut held = first;
            // With one free turn they follow each other.
            held.truncate(FOR_EACH_CPU - 1);
            while order.lock().unwrap().len() < 8 {
                thread::yield_now();
            }
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(most.load(SeqCst) <= FOR_EACH_CPU);
        assert_eq!(turns.taken.load(SeqCst), 0);
    }

    #[test]
    fn who_waits_leaves_with_the_phase() {
        let turns = Turns::new(Some(1));
        let all: Vec<_> = (0..FOR_EACH_CPU).map(|_| turns.take(|| true)).collect();
        assert!(turns.take(|| false).is_none());
        assert!(lock(&turns.waiting).is_empty());
        drop(all);
        assert!(turns.take(|| false).is_some(), "a free turn needs no wait");
    }

    #[test]
    fn only_sessions_that_wait_for_turns_are_mentioned() {
        assert_eq!(advice(32, 2), None);
        assert!(advice(33, 2).unwrap().starts_with("33 sessions share 2 CPUs"));
    }

    #[test]
    fn the_bound_rises_while_cpus_are_idle() {
        let after =
            |bound, busy: &[f64]| busy.iter().fold(bound, |bound, busy| adapted(bound, 8, *busy, true));
        assert_eq!(after(8, &[40.0; 7]), 1024);
        assert_eq!(adapted(8, 8, 40.0, false), 8, "nobody waits");
        assert_eq!(after(8, &[99.0; 7]), 8);
        assert_eq!(after(64, &[99.0, 99.0]), 36);
    }
}
