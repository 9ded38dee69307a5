//! Waits with a limit: for answers, and for changes that must be undone before the end.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A thread waits for this answer, and stays behind if it never comes.
///
/// Neither client libraries nor the kernel limit the silence of a connected server.
#[derive(Debug)]
pub struct PendingAnswer<T>(Receiver<T>);

/// Reason for a missing answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It did not come in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Silence(Duration),
    /// The system refused a thread.
    #[error("starting a thread that waits for the answer: {0}")]
    NoThread(io::Error),
    /// The thread panicked.
    #[error("the thread that waited for the answer ended without one")]
    Ended,
}

impl<T: Send + 'static> PendingAnswer<T> {
    /// Fails if the system refuses a thread.
    pub fn begin(question: impl FnOnce() -> T + Send + 'static) -> Result<Self, Unanswered> {
        let (sender, receiver) = sync_channel(1);
        let ask = move || {
            let _ = sender.send(question());
        };
        thread::Builder::new().name("asking".into()).spawn(ask).map_err(Unanswered::NoThread)?;
        Ok(Self(receiver))
    }

    /// May be repeated after [`Unanswered::Silence`].
    pub fn wait(&self, patience: Duration) -> Result<T, Unanswered> {
        self.0.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Unanswered::Silence(patience),
            RecvTimeoutError::Disconnected => Unanswered::Ended,
        })
    }
}

/// Fails without an answer within `patience`.
pub fn within<T: Send + 'static>(
    patience: Duration,
    question: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unanswered> {
    PendingAnswer::begin(question)?.wait(patience)
}

/// Locks a mutex whether or not a thread panicked with it: a session that panicked is reported by itself.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static UNFINISHED: Mutex<usize> = Mutex::new(0);
static FINISHED: Condvar = Condvar::new();

/// A temporary change on a shared server, undone even at a sudden end.
#[derive(Debug)]
pub struct Unfinished(());

impl Unfinished {
    /// Call this before the change; drop the value after undoing it.
    pub fn begin() -> Self {
        *lock(&UNFINISHED) += 1;
        Self(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *lock(&UNFINISHED) -= 1;
        FINISHED.notify_all();
    }
}

/// False if undoing takes longer.
pub fn wait_for_unfinished(longest: Duration) -> bool {
    let count = lock(&UNFINISHED);
    let waited = FINISHED.wait_timeout_while(count, longest, |count| *count > 0);
    *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn an_answer_comes_or_silence_is_reported() {
        assert_eq!(within(Duration::from_secs(60), || 7).unwrap(), 7);
        let (release, held) = channel();
        let asked = PendingAnswer::begin(move || held.recv()).unwrap();
        let silence = asked.wait(Duration::from_millis(20)).unwrap_err();
        assert_eq!(silence.to_string(), "no answer within 0.02 s");
        // It can still come.
        release.send(9).unwrap();
        assert_eq!(asked.wait(Duration::from_secs(60)).unwrap().unwrap(), 9);
        assert!(matches!(asked.wait(Duration::from_secs(60)), Err(Unanswered::Ended)));
    }

    #[test]
    fn waiting_ends_with_the_last_unfinished_change() {
        assert!(wait_for_unfinished(Duration::ZERO));
        let (one, other) = (Unfinished::begin(), Unfinished::begin());
        assert!(!wait_for_unfinished(Duration::from_millis(1)));
        drop(one);
        assert!(!wait_for_unfinished(Duration::ZERO));
        let waits = thread::spawn(|| wait_for_unfinished(Duration::from_secs(60)));
        drop(other);
        assert!(waits.join().unwrap());
    }
}
