//! Where the sessions rest before, between and after the phases of a run, connected and with nothing under way: an edge of the
//! window is a moment at which nobody is at work, so that every counter is of the same operations.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the sessions are to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    /// Rest until the next phase.
    #[default]
    Rest,
    /// Work, up to that moment if it is known.
    Work(Option<Instant>),
    /// Disconnect.
    Leave,
}

#[derive(Debug, Default)]
struct State {
    order: Order,
    /// How many phases have begun: a session that rests before its phase is over waits for the next one.
    phase: u32,
    /// Sessions that wait for a phase to begin.
    resting: u32,
    /// Sessions that have not come to rest since the phase began.
    engaged: u32,
    /// Operations that were handed over to the database and have not come back.
    under_way: u64,
    /// When the last of them came back.
    last_work: Option<Instant>,
}

/// The meeting point of the sessions and the timeline.
#[derive(Debug, Default)]
pub(crate) struct Rendezvous {
    state: Mutex<State>,
    /// What the sessions wait for.
    ordered: Condvar,
    /// What the timeline waits for.
    rested: Condvar,
}

/// Who had not come to rest when the timeline went on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stragglers {
    pub(crate) sessions: u32,
    /// The operations that they were at, at most.
    pub(crate) operations: u64,
}

impl Rendezvous {
    /// Begins a phase: all who rest go to work, up to that moment if there is one.
    pub(crate) fn release(&self, until: Option<Instant>) {
        let mut state = self.lock();
        state.order = Order::Work(until);
        state.phase += 1;
        state.engaged += std::mem::take(&mut state.resting);
        state.last_work = None;
        self.ordered.notify_all();
    }

    /// Ends a phase: nothing is begun any more.
    pub(crate) fn close(&self) {
        self.order(Order::Rest);
    }

    /// Ends the sessions' part of the run: they disconnect.
    pub(crate) fn leave(&self) {
        self.order(Order::Leave);
    }

    fn order(&self, order: Order) {
        self.lock().order = order;
        self.ordered.notify_all();
    }

    /// Waits until everybody rests, for `patience` at most, and says who does not.
    pub(crate) fn wait_for_rest(&self, patience: Duration) -> Stragglers {
        let waited = self.rested.wait_timeout_while(self.lock(), patience, |state| state.engaged > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Stragglers { sessions: state.engaged, operations: state.under_way }
    }

    /// When the last operation of the phase came back.
    pub(crate) fn last_work(&self) -> Option<Instant> {
        self.lock().last_work
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's place in it; a session that is dropped, by whatever, is not waited for.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    rendezvous: &'a Rendezvous,
    engaged: bool,
    /// The phase that it was released to last.
    phase: u32,
}

/// Operations that are under way in the database, from before they are handed over until what came of them is counted.
#[derive(Debug)]
pub(crate) struct UnderWay<'a> {
    rendezvous: &'a Rendezvous,
    operations: u64,
    /// When the phase ends, if that is known.
    pub(crate) until: Option<Instant>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(rendezvous: &'a Rendezvous) -> Self {
        Self { rendezvous, engaged: false, phase: 0 }
    }

    /// Rests until the next phase; false if the session is to disconnect.
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

    /// Is not waited for from now on: its database is gone.
    pub(crate) fn step_out(&mut self) {
        if std::mem::take(&mut self.engaged) {
            let mut state = self.rendezvous.lock();
            state.engaged -= 1;
            if state.engaged == 0 {
                self.rendezvous.rested.notify_all();
            }
        }
    }

    /// Has its database again: goes on with the phase if it is not over; false if it is.
    pub(crate) fn step_in(&mut self) -> bool {
        let mut state = self.rendezvous.lock();
        if !state.is_working() {
            return false;
        }
        state.engaged += 1;
        (self.phase, self.engaged) = (state.phase, true);
        true
    }

    /// Whether something may be begun.
    pub(crate) fn is_working(&self) -> bool {
        self.rendezvous.lock().is_working()
    }

    /// Whether the session is to disconnect.
    pub(crate) fn is_to_leave(&self) -> bool {
        self.rendezvous.lock().order == Order::Leave
    }

    /// Begins that many operations; `None` if the phase is over.
    pub(crate) fn begin(&self, operations: usize) -> Option<UnderWay<'a>> {
        let mut state = self.rendezvous.lock();
        let Order::Work(until) = state.order else { return None };
        let operations = operations as u64;
        state.is_working().then(|| {
            state.under_way += operations;
            UnderWay { rendezvous: self.rendezvous, operations, until }
        })
    }

    /// Sleeps for so long, or until the phase is over.
    pub(crate) fn sleep(&self, wait: Duration) {
        let state = self.rendezvous.lock();
        let Order::Work(until) = state.order else { return };
        let left = until.map_or(wait, |until| wait.min(until.saturating_duration_since(Instant::now())));
        let order = state.order;
        drop(self.rendezvous.ordered.wait_timeout_while(state, left, |state| state.order == order));
    }
}

impl State {
    fn is_working(&self) -> bool {
        match self.order {
            Order::Work(until) => until.is_none_or(|until| Instant::now() < until),
            Order::Rest | Order::Leave => false,
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.step_out();
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = self.rendezvous.lock();
        state.under_way -= self.operations;
        state.last_work = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until so many rest.
    fn wait_for(rendezvous: &Rendezvous, resting: u32) {
        while rendezvous.lock().resting < resting {
            thread::yield_now();
        }
    }

    fn all_rest(rendezvous: &Rendezvous) -> bool {
        rendezvous.wait_for_rest(Duration::ZERO).sessions == 0
    }

    #[test]
    fn everybody_works_in_each_phase_and_rests_at_its_edge() {
        let rendezvous = Rendezvous::default();
        thread::scope(|scope| {
            let session = || {
                let mut place = Place::new(&rendezvous);
                let mut phases = 0;
                while place.rest() {
                    phases += 1;
                    while let Some(under_way) = place.begin(3) {
                        drop(under_way);
                    }
                }
                phases
            };
            let sessions: Vec<_> = (0..4).map(|_| scope.spawn(session)).collect();
            wait_for(&rendezvous, 4);
            for _ in 0..2 {
                let until = Instant::now() + Duration::from_millis(20);
                rendezvous.release(Some(until));
                assert_eq!(rendezvous.wait_for_rest(LONG), Stragglers::default());
                assert!(Instant::now() >= until);
                assert!(rendezvous.last_work().is_some_and(|last| last > until - Duration::from_millis(20)));
                wait_for(&rendezvous, 4);
            }
            rendezvous.leave();
            assert!(sessions.into_iter().all(|session| session.join().is_ok_and(|phases| phases == 2)));
        });
    }

    #[test]
    fn who_is_still_at_it_is_told_with_what() {
        let rendezvous = Rendezvous::default();
        thread::scope(|scope| {
            let session = scope.spawn(|| {
                let mut place = Place::new(&rendezvous);
                assert!(place.rest());
                let under_way = place.begin(7);
                while !place.is_to_leave() {
                    thread::yield_now();
                }
                drop(under_way);
            });
            wait_for(&rendezvous, 1);
            rendezvous.release(None);
            while rendezvous.lock().under_way == 0 {
                thread::yield_now();
            }
            rendezvous.close();
            let stragglers = rendezvous.wait_for_rest(Duration::from_millis(10));
            assert_eq!(stragglers, Stragglers { sessions: 1, operations: 7 });
            rendezvous.leave();
            assert!(session.join().is_ok());
            assert_eq!(rendezvous.wait_for_rest(LONG), Stragglers::default());
        });
    }

    #[test]
    fn who_has_done_all_rests_while_the_others_work_and_is_not_woken_by_the_same_phase() {
        let rendezvous = Rendezvous::default();
        thread::scope(|scope| {
            let session = scope.spawn(|| {
                let mut place = Place::new(&rendezvous);
                let mut phases = 0;
                while place.rest() {
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
    fn who_lost_its_database_is_not_waited_for_until_it_is_back() {
        let rendezvous = Rendezvous::default();
        let mut place = Place::new(&rendezvous);
        assert!(!place.step_in());
        rendezvous.release(None);
        assert!(place.step_in() && !all_rest(&rendezvous));
        place.step_out();
        assert!(all_rest(&rendezvous));
        rendezvous.close();
        assert!(!place.step_in() && place.begin(1).is_none());
    }

    #[test]
    fn a_sleep_ends_with_the_phase() {
        let rendezvous = Rendezvous::default();
        let place = Place::new(&rendezvous);
        rendezvous.release(Some(Instant::now() + Duration::from_millis(5)));
        place.sleep(LONG);
        assert!(!place.is_working());
        rendezvous.release(None);
        thread::scope(|scope| {
            scope.spawn(|| place.sleep(LONG));
            thread::sleep(Duration::from_millis(5));
            rendezvous.close();
        });
    }
}
