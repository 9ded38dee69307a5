//! All sessions of a run, seen from its timeline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use slob_engine::Cancel;
use slob_record::error_of_session;

use crate::RunError;
use crate::rendezvous::Stragglers;
use crate::run_clock::RunClock;
use crate::session::{Message, SessionEnd, Shared};

/// How long sessions may take to finish what they are at when a phase ends, before the run goes on without their rest, or has
/// them cancelled.
const GRACE: Duration = Duration::from_secs(2);
/// How long those that rest may take to disconnect before the others, who had that time, are cancelled.
const GRACE_OF_RESTING: Duration = Duration::from_millis(200);
/// How long a cancelled session may take to end before the run goes on without it.
const PATIENCE: Duration = Duration::from_secs(30);
/// And so much more for each: thousands that wake at once share few CPUs, and end one after the other.
const PATIENCE_OF_EACH: Duration = Duration::from_millis(10);

/// The sessions of a run, seen from the timeline.
pub(crate) struct Sessions {
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) cancellers: BTreeMap<u32, Arc<dyn Cancel>>,
    pub(crate) ended: Vec<(Instant, SessionEnd)>,
    pub(crate) count: u32,
    /// Those that have done all their operations.
    done: BTreeSet<u32>,
}

/// How a phase ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// When the sessions were to begin nothing any more.
    pub(crate) closed: Instant,
    /// When they were done with what they were at then.
    pub(crate) last_work: Instant,
    pub(crate) stragglers: Stragglers,
}

impl Rest {
    /// From which the clock began to stand still at 0.
    pub(crate) fn before_the_start(clock: &RunClock) -> Self {
        let closed = clock.moment(Duration::ZERO);
        Self { closed, last_work: closed, stragglers: Stragglers::default() }
    }

    /// Whether nobody was at work any more.
    pub(crate) fn is_whole(&self) -> bool {
        self.stragglers == Stragglers::default()
    }
}

/// Why a wait ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The user asked to stop.
    Interrupted,
    /// A session failed.
    Failed,
    /// Every session has done all its operations.
    AllDone,
}

impl Sessions {
    /// So many, none of which has been heard of.
    pub(crate) fn new(shared: Arc<Shared>, messages: Receiver<Message>, count: u32) -> Self {
        let (cancellers, ended, done) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        Self { shared, messages, cancellers, ended, count, done }
    }

    /// Waits until a moment; sooner if there is a reason to end.
    pub(crate) fn wait_until(&mut self, moment: Instant, stop: &AtomicBool) -> Option<Wake> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Some(Wake::Interrupted);
            }
            let left = moment.saturating_duration_since(Instant::now());
            // Short waits, so that a wish to stop is heard soon.
            match self.messages.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(message) => {
                    if let Some(wake) = self.hear(message) {
                        return Some(wake);
                    }
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Some(Wake::AllDone),
            }
        }
    }

    fn hear(&mut self, message: Message) -> Option<Wake> {
        let end = match message {
            Message::Ended(end) => end,
            Message::DoneAll(number) => {
                self.done.insert(number);
                return self.all_done();
            }
            // It has connected again.
            Message::Ready(number, canceller) => {
                self.cancellers.extend(canceller.map(|canceller| (number, canceller)));
                return None;
            }
        };
        let failed = end.error.is_some() && !end.dropped;
        self.cancellers.remove(&end.session);
        self.done.remove(&end.session);
        self.ended.push((Instant::now(), *end));
        if failed { Some(Wake::Failed) } else { self.all_done() }
    }

    fn all_done(&self) -> Option<Wake> {
        ((self.ended.len() + self.done.len()) as u32 == self.count).then_some(Wake::AllDone)
    }

    /// Has the sessions rest at the end of a phase, which was to end at `until` if that was known, unless there was a reason to
    /// end it before.
    pub(crate) fn rest(&self, until: Option<Instant>, why: Option<Wake>) -> Rest {
        let rendezvous = &self.shared.rendezvous;
        rendezvous.close();
        let now = Instant::now();
        let closed = until.map_or(now, |until| until.min(now));
        let stragglers = rendezvous.wait_for_rest(GRACE + PATIENCE_OF_EACH * self.count);
        let last_work = rendezvous.last_work().unwrap_or(closed);
        let last_work = if why == Some(Wake::AllDone) { last_work } else { last_work.max(closed) };
        Rest { closed, last_work, stragglers }
    }

    fn patience(&self) -> Duration {
        GRACE + PATIENCE + PATIENCE_OF_EACH * self.count
    }

    /// Ends all sessions: those that rest by themselves, or after their batch; or cancelled.
    pub(crate) fn stop(&mut self, rest: &Rest) {
        self.shared.rendezvous.leave();
        let grace = if rest.is_whole() { GRACE } else { GRACE_OF_RESTING };
        let begun = Instant::now();
        let mut cancelled = false;
        while (self.ended.len() as u32) < self.count && begun.elapsed() < self.patience() {
            if !cancelled && begun.elapsed() >= grace {
                cancelled = true;
                self.cancellers.values().for_each(|canceller| canceller.cancel());
            }
            match self.messages.recv_timeout(Duration::from_millis(20)) {
                Ok(message) => drop(self.hear(message)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    /// Whether every session has lost its database and ended.
    pub(crate) fn all_dropped(&self) -> bool {
        self.ended.len() as u32 == self.count && self.ended.iter().all(|(_, end)| end.dropped)
    }

    /// Why a run failed some of whose sessions never came back.
    pub(crate) fn silent(&self) -> RunError {
        RunError::failed(format!(
            "{} of {} sessions have not answered for {} s after they were told to stop: their server does not answer, or \
             can't be reached",
            self.count - self.ended.len() as u32,
            self.count,
            self.patience().as_secs()
        ))
    }

    /// The first error of a session before `window_end`: later ones fail nothing that was measured.
    pub(crate) fn first_error(&self, window_end: Option<Instant>) -> Option<String> {
        let within = |at: Instant| window_end.is_none_or(|end| at < end);
        let errors = self.ended.iter().filter(|(at, end)| within(*at) && !end.dropped);
        let failed = errors.filter_map(|(_, end)| Some((end.session, end.error.as_ref()?))).next();
        failed.map(|(session, error)| error_of_session(session, &error.to_string()))
    }
}
