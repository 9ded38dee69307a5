//! All sessions of a run, seen from its timeline.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use slob_engine::Cancel;

use crate::RunError;
use crate::session::{Message, SessionEnd, Shared};

/// How long sessions may take to finish their batch before they are cancelled.
const GRACE: Duration = Duration::from_secs(2);
/// How long a cancelled session may take to end before the run goes on without it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The sessions of a run, seen from the timeline.
pub(crate) struct Sessions {
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) cancellers: BTreeMap<u32, Arc<dyn Cancel>>,
    pub(crate) ended: Vec<(Instant, SessionEnd)>,
    pub(crate) count: u32,
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
            // It has connected again.
            Message::Ready(number, canceller) => {
                self.cancellers.extend(canceller.map(|canceller| (number, canceller)));
                return None;
            }
        };
        let failed = end.error.is_some() && !end.dropped;
        self.cancellers.remove(&end.session);
        self.ended.push((Instant::now(), *end));
        if failed {
            Some(Wake::Failed)
        } else {
            (self.ended.len() as u32 == self.count).then_some(Wake::AllDone)
        }
    }

    /// Ends all sessions: by themselves after their batch, or cancelled.
    pub(crate) fn stop(&mut self) {
        self.shared.stop();
        let begun = Instant::now();
        let mut cancelled = false;
        while (self.ended.len() as u32) < self.count && begun.elapsed() < GRACE + PATIENCE {
            if !cancelled && begun.elapsed() >= GRACE {
                cancelled = true;
                self.cancellers.values().for_each(|canceller| canceller.cancel());
            }
            match self.messages.recv_timeout(Duration::from_millis(20)) {
                Ok(message) => drop(self.hear(message)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.shared.idle.wait_until_closed(GRACE);
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
            (GRACE + PATIENCE).as_secs()
        ))
    }

    /// The first error of a session before `window_end`: later ones fail nothing that was measured.
    pub(crate) fn first_error(&self, window_end: Option<Instant>) -> Option<String> {
        let within = |at: Instant| window_end.is_none_or(|end| at < end);
        let errors = self.ended.iter().filter(|(at, end)| within(*at) && !end.dropped);
        let failed = errors.filter_map(|(_, end)| Some((end.session, end.error.as_ref()?))).next();
        failed.map(|(session, error)| format!("session {session}: {error}"))
    }
}
