//! Ending a batch from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use slob_engine::{Alarm, Cancel, EngineError, ErrorKind};

use crate::client::Break;

/// How often, and how many times, the server is asked again while the batch goes on.
const ASK_AGAIN: Duration = Duration::from_millis(100);
const MOST_TRIES: u32 = 100;

/// The handle of one session.
#[derive(Clone)]
pub(super) struct Canceller(Arc<Shared>);

struct Shared {
    asked: AtomicBool,
    running: AtomicBool,
    /// Ends the waits of an open loop, which are spent here.
    alarm: Alarm,
    breaker: Arc<dyn Break>,
}

impl Canceller {
    /// For the session whose calls `breaker` ends.
    pub(super) fn new(breaker: Arc<dyn Break>) -> Self {
        let [asked, running] = [false; 2].map(AtomicBool::new);
        Self(Arc::new(Shared { asked, running, alarm: Alarm::default(), breaker }))
    }

    /// Sleeps in a loop that runs here.
    pub(super) fn alarm(&self) -> &Alarm {
        &self.0.alarm
    }

    /// Carries out a batch, unless the session has been cancelled before.
    pub(super) fn guard<T>(&self, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
        self.0.running.store(true, Ordering::SeqCst);
        let result = if self.asked() { Err(cancelled(&"the session was cancelled")) } else { work() };
        self.0.running.store(false, Ordering::SeqCst);
        match result {
            // Whatever broke off on the way out of a cancelled batch, the cancellation is the reason.
            Err(error) if self.asked() => Err(cancelled(&error)),
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(foreign(&error)),
            result => result,
        }
    }

    fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }
}

fn cancelled(reason: &dyn ToString) -> EngineError {
    EngineError::new(ErrorKind::Cancelled, "executing a batch", reason.to_string())
}

/// The server says cancelled, but it was not us.
fn foreign(error: &EngineError) -> EngineError {
    EngineError::new(ErrorKind::Fatal, "executing a batch", error.to_string())
        .with_advice("somebody else ended it, for instance with ALTER SYSTEM CANCEL SQL or a resource plan")
}

impl Cancel for Canceller {
    fn cancel(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.0.alarm.cancel();
        // A request that arrives between two calls is lost: so it is repeated, in a thread of its own, since there may be
        // hundreds of sessions to cancel.
        let shared = Arc::clone(&self.0);
        thread::spawn(move || {
            for _ in 0..MOST_TRIES {
                if !shared.running.load(Ordering::SeqCst) {
                    break;
                }
                shared.breaker.break_call();
                thread::sleep(ASK_AGAIN);
            }
        });
    }
}
