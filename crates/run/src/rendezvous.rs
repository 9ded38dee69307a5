//! Sessions rest here before, between and after the phases of a run: connected, with no operation in flight. At an edge of the
//! window no session is at work, so every counter covers the same operations.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use slob_record::EdgeRecord;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Rest,
    /// Work, until this moment if the end is known.
    Work(Option<Instant>),
    Leave,
}

#[derive(Debug, Default)]
struct State {
    order: Order,
    /// Phases begun so far: a session that rests before its phase is over waits for the next one.
    phase: u32,
    /// Sessions that wait for a phase to begin.
    resting: u32,
    /// Sessions that have not come to rest since the phase began.
    engaged: u32,
    /// Operations that the database has and has not returned.
    in_flight: u64,
    last_work: Option<Instant>,
}

impl State {
    fn is_working(&self) -> bool {
        match self.order {
            Order::Work(until) => until.is_none_or(|until| Instant::now() < until),
            Order::Rest | Order::Leave => false,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Rendezvous {
    state: Mutex<State>,
    /// Wakes the sessions.
    ordered: Condvar,
    /// Wakes the timeline.
    rested: Condvar,
}

impl Rendezvous {
    /// Begins a phase, which ends at `until` if that is known: all resting sessions go to work.
    pub(crate) fn release(&self, until: Option<Instant>) {
        let mut state = self.lock();
        state.order = Order::Work(until);
        state.phase += 1;
        state.engaged += std::mem::take(&mut state.resting);
        state.last_work = None;
        self.ordered.notify_all();
    }

    pub(crate) fn close(&self) {
        self.order(Order::Rest);
    }

    /// Orders all sessions to disconnect.
    pub(crate) fn leave(&self) {
        self.order(Order::Leave);
    }

    fn order(&self, order: Order) {
        self.lock().order = order;
        self.ordered.notify_all();
    }

    /// Waits at most `patience` until all sessions rest. Returns those that do not.
    pub(crate) fn wait_for_rest(&self, patience: Duration) -> EdgeRecord {
        let waited = self.rested.wait_timeout_while(self.lock(), patience, |state| state.engaged > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        EdgeRecord { sessions_at_work: state.engaged, operations_under_way: state.in_flight }
    }

    /// The return of the last operation of the phase.
    pub(crate) fn last_work(&self) -> Option<Instant> {
        self.lock().last_work
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session in the rendezvous. Once dropped, for whatever reason, it is not waited for.
#[derive(Debug)]
pub(crate) struct Participant<'a> {
    rendezvous: &'a Rendezvous,
    engaged: bool,
    /// The last phase for which it was released.
    phase: u32,
}

/// Operations in flight, from before the database gets them until their outcomes are counted.
#[derive(Debug)]
pub(crate) struct InFlight<'a> {
    rendezvous: &'a Rendezvous,
    operations: u64,
    /// The end of the phase, if it is known.
    pub(crate) until: Option<Instant>,
}

impl<'a> Participant<'a> {
    pub(crate) fn new(rendezvous: &'a Rendezvous) -> Self {
        Self { rendezvous, engaged: false, phase: 0 }
    }

    /// Rests until the next phase; false if the session must disconnect.
    pub(crate) fn rest(&mut self) -> bool {
        self.step_out();
        let mut state = self.rendezvous.lock();
        let missed_its_begin = matches!(state.order, Order::Work(_)) && state.phase != self.phase;
        if missed_its_begin {
            state.engaged += 1;
        } else {
            state.resting += 1;
            let own = state.phase;
            let waits = |state: &mut State| state.order != Order::Leave && state.phase == own;
            let waited = self.rendezvous.ordered.wait_while(state, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if state.order == Order::Leave {
            return false;
        }
        (self.phase, self.engaged) = (state.phase, true);
        true
    }

    /// Stops the timeline from waiting for this session: its database is gone.
    pub(crate) fn step_out(&mut self) {
        if std::mem::take(&mut self.engaged) {
            let mut state = self.rendezvous.lock();
            state.engaged -= 1;
            if state.engaged == 0 {
                self.rendezvous.rested.notify_all();
            }
        }
    }

    /// Continues the phase with a new connection; false if the phase is over.
    pub(crate) fn step_in(&mut self) -> bool {
        let mut state = self.rendezvous.lock();
        if !state.is_working() {
            return false;
        }
        state.engaged += 1;
        (self.phase, self.engaged) = (state.phase, true);
        true
    }

    pub(crate) fn is_working(&self) -> bool {
        self.rendezvous.lock().is_working()
    }

    pub(crate) fn is_to_leave(&self) -> bool {
        self.rendezvous.lock().order == Order::Leave
    }

    pub(crate) fn begin(&self, operations: usize) -> Option<InFlight<'a>> {
        let mut state = self.rendezvous.lock();
        let Order::Work(until) = state.order else { return None };
        let operations = operations as u64;
        state.is_working().then(|| {
            state.in_flight += operations;
            InFlight { rendezvous: self.rendezvous, operations, until }
        })
    }

    /// Sleeps that long, or until the phase is over.
    pub(crate) fn sleep(&self, wait: Duration) {
        let state = self.rendezvous.lock();
        let Order::Work(until) = state.order else { return };
        let left = until.map_or(wait, |until| wait.min(until.saturating_duration_since(Instant::now())));
        let order = state.order;
        drop(self.rendezvous.ordered.wait_timeout_while(state, left, |state| state.order == order));
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.step_out();
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut state = self.rendezvous.lock();
        state.in_flight -= self.operations;
        state.last_work = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until that many sessions rest.
    fn wait_for(rendezvous: &Rendezvous, resting: u32) {
        while rendezvous.lock().resting < resting {
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
            while rendezvous.lock().in_flight == 0 {
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
            scope.spawn(|| participant.sleep(LONG));
            thread::sleep(Duration::from_millis(5));
            rendezvous.close();
        });
    }
}
