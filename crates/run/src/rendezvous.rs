//! Sessions rest here around the phases of a run: connected, with no operation in flight. Counters at an edge of the window then
//! cover the same operations.
//!
//! Sessions share no lock: one that holds it without a CPU would keep all others from work.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use slob_record::EdgeRecord;
use slob_stats::nanoseconds;

use crate::lock;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Rest,
    /// The moment is the end of the phase, if known.
    Work(Option<Instant>),
    Leave,
}

impl Order {
    fn is_work(self) -> bool {
        match self {
            Self::Work(until) => until.is_none_or(|until| Instant::now() < until),
            Self::Rest | Self::Leave => false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    order: Order,
    /// Phases begun so far.
    phase: u32,
}

#[derive(Debug)]
pub(crate) struct Rendezvous {
    /// Only the timeline writes.
    orders: RwLock<Orders>,
    resting: AtomicU32,
    /// They have not come to rest since the phase began.
    engaged: AtomicU32,
    /// The database has these and has not returned them.
    in_flight: AtomicU64,
    start: Instant,
    /// Nanoseconds after `start`; 0 is none.
    last_work_ns: AtomicU64,
    /// The timeline wakes them.
    threads: Mutex<Vec<Thread>>,
    /// Wakes the timeline.
    rested: (Mutex<()>, Condvar),
}

impl Default for Rendezvous {
    fn default() -> Self {
        Self {
            orders: RwLock::default(),
            resting: AtomicU32::new(0),
            engaged: AtomicU32::new(0),
            in_flight: AtomicU64::new(0),
            start: Instant::now(),
            last_work_ns: AtomicU64::new(0),
            threads: Mutex::default(),
            rested: Default::default(),
        }
    }
}

impl Rendezvous {
    /// All resting sessions begin a phase, which may end at `until`.
    pub(crate) fn release(&self, until: Option<Instant>) {
        self.last_work_ns.store(0, Ordering::SeqCst);
        self.give(|orders| {
            *orders = Orders { order: Order::Work(until), phase: orders.phase + 1 };
            self.engaged.fetch_add(self.resting.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        });
    }

    /// The phase ends at `until`, earlier than planned.
    pub(crate) fn shorten(&self, until: Instant) {
        self.give(|orders| orders.order = Order::Work(Some(until)));
    }

    pub(crate) fn close(&self) {
        self.give(|orders| orders.order = Order::Rest);
    }

    pub(crate) fn leave(&self) {
        self.give(|orders| orders.order = Order::Leave);
    }

    fn give(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.orders.write().unwrap_or_else(PoisonError::into_inner));
        lock(&self.threads).iter().for_each(Thread::unpark);
    }

    /// Returns the sessions that do not rest after `patience`.
    pub(crate) fn wait_for_rest(&self, patience: Duration) -> EdgeRecord {
        let (mutex, rested) = &self.rested;
        let engaged = || self.engaged.load(Ordering::SeqCst);
        drop(rested.wait_timeout_while(lock(mutex), patience, |()| engaged() > 0));
        let operations_under_way = self.in_flight.load(Ordering::SeqCst);
        EdgeRecord { sessions_at_work: engaged(), operations_under_way }
    }

    pub(crate) fn last_work(&self) -> Option<Instant> {
        let ns = self.last_work_ns.load(Ordering::SeqCst);
        (ns > 0).then(|| self.start + Duration::from_nanos(ns))
    }

    fn orders(&self) -> RwLockReadGuard<'_, Orders> {
        self.orders.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session's thread makes it. Dropping it ends the wait for this session.
#[derive(Debug)]
pub(crate) struct Participant<'a> {
    rendezvous: &'a Rendezvous,
    engaged: bool,
    phase: u32,
}

/// Operations that the database may have, until their outcomes are counted.
#[derive(Debug)]
pub(crate) struct InFlight<'a> {
    rendezvous: &'a Rendezvous,
    operations: u64,
    pub(crate) until: Option<Instant>,
}

impl<'a> Participant<'a> {
    pub(crate) fn new(rendezvous: &'a Rendezvous) -> Self {
        lock(&rendezvous.threads).push(thread::current());
        Self { rendezvous, engaged: false, phase: 0 }
    }

    /// False if the session must disconnect.
    pub(crate) fn rest(&mut self) -> bool {
        self.step_out();
        let rendezvous = self.rendezvous;
        let orders = rendezvous.orders();
        let mut now = *orders;
        if matches!(now.order, Order::Work(_)) && now.phase != self.phase {
            // It missed the begin.
            rendezvous.engaged.fetch_add(1, Ordering::SeqCst);
            drop(orders);
        } else {
            rendezvous.resting.fetch_add(1, Ordering::SeqCst);
            drop(orders);
            let own = now.phase;
            while now.order != Order::Leave && now.phase == own {
                thread::park();
                now = *rendezvous.orders();
            }
        }
        if now.order == Order::Leave {
            return false;
        }
        (self.phase, self.engaged) = (now.phase, true);
        true
    }

    /// The session's database is gone, so the timeline must not wait.
    pub(crate) fn step_out(&mut self) {
        if std::mem::take(&mut self.engaged) && self.rendezvous.engaged.fetch_sub(1, Ordering::SeqCst) == 1 {
            let (mutex, rested) = &self.rendezvous.rested;
            drop(lock(mutex));
            rested.notify_all();
        }
    }

    /// The session has a new connection. False if the phase is over.
    pub(crate) fn step_in(&mut self) -> bool {
        let orders = self.rendezvous.orders();
        if !orders.order.is_work() {
            return false;
        }
        self.rendezvous.engaged.fetch_add(1, Ordering::SeqCst);
        (self.phase, self.engaged) = (orders.phase, true);
        true
    }

    pub(crate) fn is_working(&self) -> bool {
        self.rendezvous.orders().order.is_work()
    }

    pub(crate) fn is_to_leave(&self) -> bool {
        self.rendezvous.orders().order == Order::Leave
    }

    pub(crate) fn begin(&self, operations: usize) -> Option<InFlight<'a>> {
        let orders = self.rendezvous.orders();
        let Order::Work(until) = orders.order else { return None };
        let operations = operations as u64;
        orders.order.is_work().then(|| {
            self.rendezvous.in_flight.fetch_add(operations, Ordering::SeqCst);
            InFlight { rendezvous: self.rendezvous, operations, until }
        })
    }

    /// The end of the phase ends the sleep.
    pub(crate) fn sleep(&self, wait: Duration) {
        let order = self.rendezvous.orders().order;
        let Order::Work(until) = order else { return };
        let end = Instant::now() + wait;
        let end = until.map_or(end, |until| until.min(end));
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.rendezvous.orders().order != order {
                return;
            }
            thread::park_timeout(left);
        }
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.step_out();
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.rendezvous.in_flight.fetch_sub(self.operations, Ordering::SeqCst);
        self.rendezvous
            .last_work_ns
            .fetch_max(nanoseconds(self.rendezvous.start.elapsed()), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until that many sessions rest.
    fn wait_for(rendezvous: &Rendezvous, resting: u32) {
        while rendezvous.resting.load(Ordering::SeqCst) < resting {
            thread::yield_now();
        }
    }

    fn all_rest(rendezvous: &Rendezvous) -> bool {
        rendezvous.wait_for_rest(Duration::ZERO).sessions_at_work == 0
    }

    #[test]
    fn all_sessions_work_in_each_phase_and_rest_at_its_edge() {
        let rendezvous = Rendezvous::default();
        thread::scope(|scope| {
            let session = || {
                let mut participant = Participant::new(&rendezvous);
                let mut phases = 0;
                while participant.rest() {
                    phases += 1;
                    while let Some(in_flight) = participant.begin(3) {
                        drop(in_flight);
                    }
                }
                phases
            };
            let sessions: Vec<_> = (0..4).map(|_| scope.spawn(session)).collect();
            wait_for(&rendezvous, 4);
            for _ in 0..2 {
                let until = Instant::now() + Duration::from_millis(20);
                rendezvous.release(Some(until));
                assert_eq!(rendezvous.wait_for_rest(LONG), EdgeRecord::default());
                assert!(Instant::now() >= until);
                assert!(rendezvous.last_work().is_some_and(|last| last > until - Duration::from_millis(20)));
                wait_for(&rendezvous, 4);
            }
            rendezvous.leave();
            assert!(sessions.into_iter().all(|session| session.join().is_ok_and(|phases| phases == 2)));
        });
    }

    #[test]
    fn sessions_still_at_work_are_reported_with_their_operations() {
        let rendezvous = Rendezvous::default();
        thread::scope(|scope| {
            let session = scope.spawn(|| {
                let mut participant = Participant::new(&rendezvous);
                assert!(participant.rest());
                let in_flight = participant.begin(7);
                while !participant.is_to_leave() {
                    thread::yield_now();
                }
                drop(in_flight);
            });
            wait_for(&rendezvous, 1);
            rendezvous.release(None);
            while rendezvous.in_flight.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            rendezvous.close();
            let stragglers = rendezvous.wait_for_rest(Duration::from_millis(10));
            assert_eq!(stragglers, EdgeRecord { sessions_at_work: 1, operations_under_way: 7 });
            rendezvous.leave();
            assert!(session.join().is_ok());
            assert_eq!(rendezvous.wait_for_rest(LONG), EdgeRecord::default());
        });
    }

    #[test]
    fn a_session_that_has_done_all_rests_and_is_not_woken_by_the_same_phase() {
        let rendezvous = Rendezvous::default();
        thread::scope(|scope| {
            let session = scope.spawn(|| {
                let mut participant = Participant::new(&rendezvous);
                let mut phases = 0;
                while participant.rest() {
                    phases += 1;
                }
                phases
            });
            wait_for(&rendezvous, 1);
            rendezvous.release(None);
            wait_for(&rendezvous, 1);
            assert!(all_rest(&rendezvous));
            thread::sleep(Duration::from_millis(10));
            rendezvous.release(None);
            wait_for(&rendezvous, 1);
            rendezvous.leave();
            assert!(session.join().is_ok_and(|phases| phases == 2));
        });
    }

    #[test]
    fn a_session_without_its_database_is_not_waited_for() {
        let rendezvous = Rendezvous::default();
        let mut participant = Participant::new(&rendezvous);
        assert!(!participant.step_in());
        rendezvous.release(None);
        assert!(participant.step_in() && !all_rest(&rendezvous));
        participant.step_out();
        assert!(all_rest(&rendezvous));
        rendezvous.close();
        assert!(!participant.step_in() && participant.begin(1).is_none());
    }

    #[test]
    fn a_sleep_ends_with_the_phase() {
        let rendezvous = Rendezvous::default();
        let participant = Participant::new(&rendezvous);
        rendezvous.release(Some(Instant::now() + Duration::from_millis(5)));
        participant.sleep(LONG);
        assert!(!participant.is_working());
        rendezvous.release(None);
        thread::scope(|scope| {
            scope.spawn(|| Participant::new(&rendezvous).sleep(LONG));
            thread::sleep(Duration::from_millis(5));
            rendezvous.close();
        });
    }
}
