//! Ending a batch from another thread, where it runs in a server that can be asked to end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use slob_engine::{Cancel, CancelToken, EngineError, ErrorKind};

/// How often, and how many times, the server is asked again while the batch goes on.
const ASK_AGAIN: Duration = Duration::from_millis(100);
const MOST_TRIES: u32 = 100;

/// Asks a server to end what a session is at.
pub trait Interrupt: Send + Sync {
    /// What asks, each time that it is called. Made in the thread that calls it, once for each cancellation, so that it may
    /// keep a connection. If it can't ask, the server is gone or full; the batch ends by itself or the next try does it.
    fn asker(&self) -> Box<dyn FnMut() + '_>;

    /// Who else may have ended a batch, for the advice of an error.
    fn others(&self) -> &'static str;
}

/// The handle of one session.
#[derive(Clone)]
pub struct Canceller(Arc<Shared>);

struct Shared {
    asked: AtomicBool,
    running: AtomicBool,
    /// Ends the waits that are spent here.
    alarm: CancelToken,
    interrupt: Box<dyn Interrupt>,
}

impl Canceller {
    /// For the session that `interrupt` ends.
    #[must_use]
    pub fn new(interrupt: impl Interrupt + 'static) -> Self {
        let [asked, running] = [false; 2].map(AtomicBool::new);
        let interrupt = Box::new(interrupt);
        Self(Arc::new(Shared { asked, running, alarm: CancelToken::default(), interrupt }))
    }

    /// Sleeps in a loop that runs here.
    #[must_use]
    pub fn alarm(&self) -> &CancelToken {
        &self.0.alarm
    }

    /// Carries out a batch, unless the session has been cancelled before.
    ///
    /// # Errors
    /// That of `work`; of kind [`ErrorKind::Cancelled`] if, and only if, the session was cancelled by this handle.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
        self.0.running.store(true, Ordering::SeqCst);
        let result = if self.asked() { Err(cancelled(&"the session was cancelled")) } else { work() };
        self.0.running.store(false, Ordering::SeqCst);
        match result {
            // Whatever broke off on the way out of a cancelled batch, the cancellation is the reason.
            Err(error) if self.asked() => Err(cancelled(&error)),
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(self.foreign(&error)),
            result => result,
        }
    }

    fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// The server says cancelled, but it was not us.
    fn foreign(&self, error: &EngineError) -> EngineError {
        EngineError::new(ErrorKind::Fatal, "executing a batch", error.to_string())
            .with_advice(format!("somebody else ended it, perhaps with {}", self.0.interrupt.others()))
    }
}

fn cancelled(reason: &dyn ToString) -> EngineError {
    EngineError::new(ErrorKind::Cancelled, "executing a batch", reason.to_string())
}

impl Cancel for Canceller {
    fn cancel(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.0.alarm.cancel();
        // Asking may take a connection, and a request that arrives between two statements is lost on the server: so it
        // is repeated, in a thread of its own, since there may be hundreds of sessions to cancel.
        let shared = Arc::clone(&self.0);
        let asking = move || {
            let mut ask = shared.interrupt.asker();
            for _ in 0..MOST_TRIES {
                if !shared.running.load(Ordering::SeqCst) {
                    break;
                }
                ask();
                thread::sleep(ASK_AGAIN);
            }
        };
        // Where the system has no thread left, one request has to do.
        if thread::Builder::new().spawn(asking).is_err() && self.0.running.load(Ordering::SeqCst) {
            (self.0.interrupt.asker())();
        }
    }
}
