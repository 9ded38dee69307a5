//! Waiting for an answer, but not for ever.
//!
//! Client libraries bound how long a connection may take to be made, and the kernel how long a peer may be gone. Neither
//! bounds the silence of a server that is reached and does not answer: one that was stopped, or one behind a proxy that
//! passes nothing on.

use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// An answer that a thread of its own waits for. The thread stays behind if the answer never comes.
#[derive(Debug)]
pub struct Asked<T>(Receiver<T>);

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// It did not come in time.
    Silence(Duration),
    /// The question could not be asked, or the thread that waited for the answer ended.
    NotAsked(Option<io::Error>),
}

impl<T: Send + 'static> Asked<T> {
    /// Begins to ask.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn begin(question: impl FnOnce() -> T + Send + 'static) -> Result<Self, Unanswered> {
        let (sender, receiver) = sync_channel(1);
        let ask = move || {
            // Whoever asked may have lost patience.
            let _ = sender.send(question());
        };
        match thread::Builder::new().name("asking".into()).spawn(ask) {
            Ok(_) => Ok(Self(receiver)),
            Err(error) => Err(Unanswered::NotAsked(Some(error))),
        }
    }

    /// Waits for the answer; may be called again after [`Unanswered::Silence`].
    ///
    /// # Errors
    /// If it does not come within `patience`, or never will.
    pub fn wait(&self, patience: Duration) -> Result<T, Unanswered> {
        self.0.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => Unanswered::Silence(patience),
            RecvTimeoutError::Disconnected => Unanswered::NotAsked(None),
        })
    }
}

/// Asks, and waits that long for the answer.
///
/// # Errors
/// If it does not come in time.
pub fn within<T: Send + 'static>(
    patience: Duration,
    question: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unanswered> {
    Asked::begin(question)?.wait(patience)
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence(patience) => write!(f, "no answer within {} s", patience.as_secs_f64()),
            Self::NotAsked(Some(error)) => write!(f, "starting a thread that waits for the answer: {error}"),
            Self::NotAsked(None) => f.write_str("the thread that waited for the answer ended without one"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn an_answer_comes_or_silence_is_said() {
        assert_eq!(within(Duration::from_secs(60), || 7).unwrap(), 7);
        let (release, held) = channel();
        let asked = Asked::begin(move || held.recv()).unwrap();
        let silence = asked.wait(Duration::from_millis(20)).unwrap_err();
        assert_eq!(silence.to_string(), "no answer within 0.02 s");
        // It can still come.
        release.send(9).unwrap();
        assert_eq!(asked.wait(Duration::from_secs(60)).unwrap().unwrap(), 9);
        assert!(matches!(asked.wait(Duration::from_secs(60)), Err(Unanswered::NotAsked(None))));
    }
}
