//! Waits of sessions, sampled where the server counts none.
//!
//! Active sessions are read ten times a second. The time between two samples goes to the states found, as in the active session
//! history of some databases.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Result, WaitEvent, lock};

const INTERVAL: Duration = Duration::from_millis(100);
/// A failure precedes the new connection.
const RECONNECT: Duration = Duration::from_secs(1);
/// A later sample says nothing about the time before it.
const TOO_LATE: Duration = Duration::from_secs(3);
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Counts for as many sessions as were active last, at least one.
pub const NOT_SAMPLED: &str = "not sampled";
const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub class: String,
    pub name: String,
    pub sessions: u32,
}

/// Samples until the drop.
pub struct Sampler {
    times: Arc<Mutex<Times>>,
    /// Its drop ends the thread.
    stop: Option<Sender<()>>,
    /// Closed at the end of the thread.
    ended: Receiver<()>,
}

impl Sampler {
    /// A failure does not end a run: `connect` is called again after a pause. Without a thread nothing is sampled.
    pub fn start<S>(connect: impl Fn() -> Result<S> + Send + 'static) -> Self
    where
        S: FnMut() -> Result<Vec<Sample>>,
    {
        Self::with_pause(RECONNECT, connect)
    }

    fn with_pause<S>(reconnect: Duration, connect: impl Fn() -> Result<S> + Send + 'static) -> Self
    where
        S: FnMut() -> Result<Vec<Sample>>,
    {
        let times = Arc::new(Mutex::new(Times::new(Instant::now())));
        let (stop, stopped) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let shared = Arc::clone(&times);
        let run = move || {
            run(&connect, reconnect, &shared, &stopped);
            drop::<Sender<()>>(ending);
        };
        if thread::Builder::new().name("sampler".into()).spawn(run).is_err() {
            lock(&times).failed = true;
        }
        Self { times, stop: Some(stop), ended }
    }

    pub fn events(&self) -> Vec<WaitEvent> {
        lock(&self.times).events(Instant::now())
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.take();
        // A silent server may still keep the connection open.
        let _ = self.ended.recv_timeout(END_TIMEOUT);
    }
}

fn run<S>(connect: &impl Fn() -> Result<S>, reconnect: Duration, times: &Mutex<Times>, stopped: &Receiver<()>)
where
    S: FnMut() -> Result<Vec<Sample>>,
{
    let goes_on_after = |pause| stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout);
    loop {
        if let Ok(mut sample) = connect() {
            loop {
                if !goes_on_after(INTERVAL) {
                    return;
                }
                let Ok(samples) = sample() else { break };
                lock(times).add(samples, Instant::now());
            }
        }
        lock(times).failed = true;
        if !goes_on_after(reconnect) {
            return;
        }
    }
}

struct Times {
    /// Keyed by class and name.
    states: BTreeMap<(String, String), Duration>,
    not_sampled: Duration,
    last: Instant,
    sessions: u32,
    failed: bool,
}

impl Times {
    fn new(now: Instant) -> Self {
        Self { states: BTreeMap::new(), not_sampled: Duration::ZERO, last: now, sessions: 0, failed: false }
    }

    fn add(&mut self, samples: Vec<Sample>, now: Instant) {
        let missed = self.missed(now);
        let passed = if missed.is_zero() { now.saturating_duration_since(self.last) } else { Duration::ZERO };
        self.not_sampled += missed;
        self.sessions = samples.iter().fold(0, |sum, sample| sum.saturating_add(sample.sessions));
        (self.last, self.failed) = (now, false);
        for Sample { class, name, sessions } in samples {
            *self.states.entry((class, name)).or_default() += passed * sessions;
        }
    }

    fn missed(&self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.last);
        if self.failed || passed > TOO_LATE { passed * self.sessions.max(1) } else { Duration::ZERO }
    }

    fn events(&self, now: Instant) -> Vec<WaitEvent> {
        let event = |class: &str, name: &str, time: Duration| WaitEvent {
            name: name.to_owned(),
            class: class.to_owned(),
            waits: None,
            time_us: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            background: false,
        };
        let not_sampled = self.not_sampled + self.missed(now);
        let missed = (!not_sampled.is_zero()).then(|| event(UNKNOWN, NOT_SAMPLED, not_sampled));
        self.states.iter().map(|((class, name), time)| event(class, name, *time)).chain(missed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::EngineError;
    use slob_engine::ErrorKind;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn samples(sessions: u32) -> Vec<Sample> {
        vec![Sample { class: "IO".into(), name: "read".into(), sessions }]
    }

    fn shown(times: &Times, now: Instant) -> Vec<(String, u64)> {
        times.events(now).into_iter().map(|event| (event.name, event.time_us / 1000)).collect()
    }

    #[test]
    fn time_goes_to_the_sampled_states_and_the_rest_is_not_sampled() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let read = |ms| ("read".to_owned(), ms);
        let missed = |ms| (NOT_SAMPLED.to_owned(), ms);
        let mut times = Times::new(begin);
        times.add(samples(2), at(100));
        times.add(samples(3), at(200));
        assert_eq!(shown(&times, at(3200)), [read(500)], "the next sample may still cover it");
        assert_eq!(shown(&times, at(4200)), [read(500), missed(12_000)], "three sessions were active");
        times.add(samples(1), at(5200));
        assert_eq!(shown(&times, at(5300)), [read(500), missed(15_000)]);
        times.failed = true;
        assert_eq!(shown(&times, at(5300)), [read(500), missed(15_100)], "a sample has failed");
        times.add(samples(1), at(5400));
        times.add(samples(1), at(5500));
        assert_eq!(shown(&times, at(5500)), [read(600), missed(15_200)]);
    }

    /// Each connection takes two samples, and every other one fails.
    #[test]
    fn it_reconnects_and_counts_the_time_without_samples() {
        let connections = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&connections);
        let lost = || EngineError::new(ErrorKind::Connection, "sampling", "gone");
        let pause = Duration::from_millis(50);
        let sampler = Sampler::with_pause(pause, move || {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            let mut taken = 0;
            if number.is_multiple_of(2) { Ok(()) } else { Err(lost()) }?;
            Ok(move || {
                taken += 1;
                if taken > 2 { Err(lost()) } else { Ok(samples(1)) }
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
        assert!(time(NOT_SAMPLED).is_some_and(|us| us >= 100_000), "two pauses at least: {events:?}");
    }

    #[test]
    fn a_server_that_does_not_answer_does_not_block_the_end() {
        let (_release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let (asked, asking) = mpsc::channel();
        let sampler = Sampler::start(move || {
            let _ = asked.send(());
            let _ = held.lock().map(|held| held.recv());
            Ok(|| Ok(samples(1)))
        });
        asking.recv().unwrap();
        // If the thread were joined, this would never return.
        drop(sampler);
    }
}
