//! What our sessions do: sampled, where the server counts no waits.
//!
//! Ten times a second each working session of ours is looked at. The time between two looks goes to the states seen, so
//! that after many looks the times are those of the states. Pauses of the plan are no work.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::WaitEvent;

use crate::connect::Connector;

const INTERVAL: Duration = Duration::from_millis(100);
/// Sessions of ours are those whose default database is a schema.
const QUERY: &str = "SELECT STATE, COUNT(*) FROM information_schema.PROCESSLIST
    WHERE COMMAND IN ('Query', 'Execute') AND DB LIKE 'slob%' AND ID <> CONNECTION_ID()
      AND USER = SUBSTRING_INDEX(USER(), '@', 1) AND STATE IS NOT NULL AND STATE <> 'User sleep'
    GROUP BY STATE";
/// What a state is, for want of a better word of the server's.
const CLASS: &str = "state";

type Times = BTreeMap<String, Duration>;

/// A thread that samples until it is dropped.
pub(crate) struct Sampler {
    times: Arc<Mutex<Times>>,
    /// Dropped first, which ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts it. If the server can't be asked there are no events: waits are no reason to end a run.
    pub(crate) fn start(connector: Arc<Connector>, endpoint: usize) -> Self {
        let times = Arc::<Mutex<Times>>::default();
        let (stop, stopped) = mpsc::channel::<()>();
        let shared = Arc::clone(&times);
        let thread = thread::spawn(move || {
            let Ok(mut conn) = connector.connect(endpoint) else { return };
            let mut last = Instant::now();
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let Ok(seen) = look(&mut conn) else { return };
                let now = Instant::now();
                let mut times = shared.lock().unwrap_or_else(PoisonError::into_inner);
                for (state, sessions) in seen {
                    *times.entry(state).or_default() += (now - last) * sessions;
                }
                last = now;
            }
        });
        Self { times, stop: Some(stop), thread: Some(thread) }
    }

    /// The times so far.
    pub(crate) fn events(&self) -> Vec<WaitEvent> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let event = |(state, time): (&String, &Duration)| WaitEvent {
            name: if state.is_empty() { "none".into() } else { state.clone() },
            class: CLASS.into(),
            waits: None,
            time_us: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
            background: false,
        };
        times.iter().map(event).collect()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to tell.
            let _ = thread.join();
        }
    }
}

fn look(conn: &mut Conn) -> Result<Vec<(String, u32)>, mysql::Error> {
    conn.query(QUERY)
}
