//! What sessions wait for, where the server counts no waits: sampled.
//!
//! Ten times a second the sessions at work are looked at. The time between two looks goes to the states seen, so that after
//! many looks the times are those of the states, as in the active session history of some databases. The time in which no
//! look succeeded is shown too, as an event of its own: [`NOT_SAMPLED`].

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{EngineError, WaitEvent};

const INTERVAL: Duration = Duration::from_millis(100);
/// Before another connection is made, where one broke or could not be made.
const CONNECT_AGAIN: Duration = Duration::from_secs(1);
/// A look that comes so late after the one before it says nothing of the time between them.
const TOO_LATE: Duration = Duration::from_secs(3);
/// How long the end of a look under way is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// The name of the event that holds the time in which no look succeeded: that of as many sessions as were seen at work last,
/// but of one at least, since nobody looked.
pub const NOT_SAMPLED: &str = "not sampled";
const UNKNOWN: &str = "unknown";

/// So many sessions in the same state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The database's own class of the state.
    pub class: String,
    /// The database's own name of the state.
    pub name: String,
    /// How many sessions are in it.
    pub sessions: u32,
}

/// A thread that looks until this is dropped.
pub struct Sampler {
    seen: Arc<Mutex<Seen>>,
    /// Dropped first, which ends the thread.
    stop: Option<Sender<()>>,
    /// Closed when it has ended.
    ended: Receiver<()>,
}

impl Sampler {
    /// Begins to look; `connect` makes a connection and returns what looks through it. Waits are no reason to end a run:
    /// where it fails, it is called again after a pause, and if the system has no thread left nothing is ever sampled.
    #[must_use]
    pub fn start<L>(connect: impl Fn() -> Result<L, EngineError> + Send + 'static) -> Self
    where
        L: FnMut() -> Result<Vec<Sample>, EngineError>,
    {
        let seen = Arc::new(Mutex::new(Seen::nothing(Instant::now())));
        let (stop, stopped) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let shared = Arc::clone(&seen);
        let watch = move || {
            watch(&connect, &shared, &stopped);
            drop::<Sender<()>>(ending);
        };
        if thread::Builder::new().name("sampler".into()).spawn(watch).is_err() {
            lock(&seen).blind = true;
        }
        Self { seen, stop: Some(stop), ended }
    }

    /// The times since it was started.
    #[must_use]
    pub fn events(&self) -> Vec<WaitEvent> {
        lock(&self.seen).events(Instant::now())
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.take();
        // So that its connection is gone with it, unless the server keeps it waiting.
        let _ = self.ended.recv_timeout(FAREWELL);
    }
}

fn watch<L>(connect: &impl Fn() -> Result<L, EngineError>, seen: &Mutex<Seen>, stopped: &Receiver<()>)
where
    L: FnMut() -> Result<Vec<Sample>, EngineError>,
{
    let goes_on_after = |pause| stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout);
    loop {
        if let Ok(mut look) = connect() {
            loop {
                if !goes_on_after(INTERVAL) {
                    return;
                }
                let Ok(samples) = look() else { break };
                lock(seen).add(samples, Instant::now());
            }
        }
        lock(seen).blind = true;
        if !goes_on_after(CONNECT_AGAIN) {
            return;
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was seen.
struct Seen {
    /// By class and name.
    times: BTreeMap<(String, String), Duration>,
    not_sampled: Duration,
    /// When it was looked last.
    last: Instant,
    /// Sessions at work then.
    sessions: u32,
    /// Whether a look has failed since.
    blind: bool,
}

impl Seen {
    fn nothing(now: Instant) -> Self {
        Self { times: BTreeMap::new(), not_sampled: Duration::ZERO, last: now, sessions: 0, blind: false }
    }

    fn add(&mut self, samples: Vec<Sample>, now: Instant) {
        let blind = self.unseen(now);
        let passed = if blind.is_zero() { now.saturating_duration_since(self.last) } else { Duration::ZERO };
        self.not_sampled += blind;
        self.sessions = samples.iter().fold(0, |sum, sample| sum.saturating_add(sample.sessions));
        (self.last, self.blind) = (now, false);
        for Sample { class, name, sessions } in samples {
            *self.times.entry((class, name)).or_default() += passed * sessions;
        }
    }

    /// The time of sessions that was not sampled since the last look; zero if the next one may still tell.
    fn unseen(&self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.last);
        if self.blind || passed > TOO_LATE { passed * self.sessions.max(1) } else { Duration::ZERO }
    }

    fn events(&self, now: Instant) -> Vec<WaitEvent> {
        let event = |class: &str, name: &str, time: Duration| WaitEvent {
            name: name.to_owned(),
            class: class.to_owned(),
            waits: None,
            time_us: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            background: false,
        };
        let not_sampled = self.not_sampled + self.unseen(now);
        let blind = (!not_sampled.is_zero()).then(|| event(UNKNOWN, NOT_SAMPLED, not_sampled));
        self.times.iter().map(|((class, name), time)| event(class, name, *time)).chain(blind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::ErrorKind;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn samples(sessions: u32) -> Vec<Sample> {
        vec![Sample { class: "IO".into(), name: "read".into(), sessions }]
    }

    fn times(seen: &Seen, now: Instant) -> Vec<(String, u64)> {
        seen.events(now).into_iter().map(|event| (event.name, event.time_us / 1000)).collect()
    }

    #[test]
    fn time_goes_to_what_was_seen_and_what_nobody_saw_is_told() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let read = |ms| ("read".to_owned(), ms);
        let unseen = |ms| (NOT_SAMPLED.to_owned(), ms);
        let mut seen = Seen::nothing(begin);
        seen.add(samples(2), at(100));
        seen.add(samples(3), at(200));
        assert_eq!(times(&seen, at(3200)), [read(500)], "the next look may still tell");
        assert_eq!(times(&seen, at(4200)), [read(500), unseen(12_000)], "three sessions were at work");
        seen.add(samples(1), at(5200));
        assert_eq!(times(&seen, at(5300)), [read(500), unseen(15_000)]);
        seen.blind = true;
        assert_eq!(times(&seen, at(5300)), [read(500), unseen(15_100)], "a look has failed");
        seen.add(samples(1), at(5400));
        seen.add(samples(1), at(5500));
        assert_eq!(times(&seen, at(5500)), [read(600), unseen(15_200)]);
    }

    /// Each connection is good for two looks, and every other one can't be made.
    #[test]
    fn it_connects_again_and_tells_how_long_it_was_blind() {
        let connections = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&connections);
        let lost = || EngineError::new(ErrorKind::Connection, "looking", "gone");
        let sampler = Sampler::start(move || {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            let mut looks = 0;
            if number.is_multiple_of(2) { Ok(()) } else { Err(lost()) }?;
            Ok(move || {
                looks += 1;
                if looks > 2 { Err(lost()) } else { Ok(samples(1)) }
            })
        });
        let begun = Instant::now();
        while connections.load(Ordering::SeqCst) < 4 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not connect again");
            thread::sleep(Duration::from_millis(10));
        }
        let events = sampler.events();
        let time = |name: &str| events.iter().find(|event| event.name == name).map(|event| event.time_us);
        assert!(time("read").is_some_and(|us| us > 0), "{events:?}");
        assert!(time(NOT_SAMPLED).is_some_and(|us| us >= 2_000_000), "two pauses at least: {events:?}");
    }

    #[test]
    fn a_server_that_does_not_answer_holds_nobody_up() {
        let (_release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let (asked, asking) = mpsc::channel();
        let sampler = Sampler::start(move || {
            let _ = asked.send(());
            let _ = held.lock().map(|held| held.recv());
            Ok(|| Ok(samples(1)))
        });
        asking.recv().unwrap();
        // It would wait for ever if the thread were joined.
        drop(sampler);
    }
}
