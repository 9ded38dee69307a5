//! What our sessions wait for: sampled, since PostgreSQL counts no waits.
//!
//! Ten times a second each active session of ours is looked at. One that waits for nothing is on a CPU, or wants to be.
//! The time between two looks goes to what was seen, so that after many looks the times are those of the waits, as in
//! the active session history of other databases. Pauses of the plan are not waits.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use postgres::{Client, Statement};
use slob_engine::WaitEvent;

use crate::connect::Connector;

const INTERVAL: Duration = Duration::from_millis(100);
const QUERY: &str = include_str!("../sql/sample.sql");

/// Class and name.
type Event = (String, String);
type Times = BTreeMap<Event, Duration>;

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
            let Ok((mut client, query)) = connect(&connector, endpoint) else { return };
            let mut last = Instant::now();
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let Ok(seen) = look(&mut client, &query) else { return };
                let now = Instant::now();
                let mut times = shared.lock().unwrap_or_else(PoisonError::into_inner);
                for (event, sessions) in seen {
                    *times.entry(event).or_default() += (now - last) * sessions;
                }
                last = now;
            }
        });
        Self { times, stop: Some(stop), thread: Some(thread) }
    }

    /// The times so far.
    pub(crate) fn events(&self) -> Vec<WaitEvent> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let event = |((class, name), time): (&Event, &Duration)| WaitEvent {
            name: name.clone(),
            class: class.clone(),
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

fn connect(
    connector: &Connector,
    endpoint: usize,
) -> Result<(Client, Statement), Box<dyn std::error::Error>> {
    let mut client = connector.connect(endpoint)?;
    client.batch_execute("SET application_name = 'slob monitor'")?;
    let query = client.prepare(QUERY)?;
    Ok((client, query))
}

fn look(client: &mut Client, query: &Statement) -> Result<Vec<(Event, u32)>, postgres::Error> {
    let row = |row: postgres::Row| {
        let sessions: i64 = row.try_get(2)?;
        Ok(((row.try_get(0)?, row.try_get(1)?), u32::try_from(sessions).unwrap_or(u32::MAX)))
    };
    client.query(query, &[])?.into_iter().map(row).collect()
}
