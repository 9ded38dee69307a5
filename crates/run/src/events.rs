//! Events of loads and runs, for observers such as the live display.

use std::time::Duration;

use slob_engine::Layout;
use slob_method::SchemaNo;
use slob_record::{Interval, Record};

use crate::ScriptMoment;

/// Streams of a load call it.
pub trait LoadObserver: Sync {
    fn on_load(&self, event: &LoadEvent);
}

/// Bytes are those of whole blocks.
#[derive(Clone, Debug)]
pub enum LoadEvent {
    Began {
        rows: u64,
        bytes: u64,
        complete: usize,
        resumed: usize,
        streams: usize,
        /// The most that each stream loses at a cut-off.
        slice_bytes: u64,
    },
    /// Sent twice a second.
    Progress {
        rows: u64,
        of: u64,
        bytes: u64,
        elapsed: Duration,
    },
    /// Index and statistics follow.
    Finishing(SchemaNo),
    Finished(SchemaNo, Layout),
}

pub trait RunObserver {
    fn on_run(&mut self, event: &RunEvent<'_>);

    /// [`RunEvent::SoFar`] costs some milliseconds each time.
    fn wants_the_record(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug)]
pub enum RunEvent<'a> {
    /// Figures will not be the storage's, or lack what was asked for; the text says what helps.
    Warning(&'a str),
    /// All checks passed.
    Connecting {
        run_id: &'a str,
        sessions: u32,
        block_bytes: u32,
    },
    Connected {
        sessions: u32,
        took: Duration,
    },
    Script(ScriptMoment),
    Started,
    WindowBegan,
    Tick(Tick<'a>),
    /// Sent every few seconds as if the run ended now. It has no sessions yet.
    SoFar(&'a Record),
    WindowEnded,
    /// Sessions work on for a trace behind the window.
    Tracing(Duration),
    Interrupted,
    Verifying,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    WarmUp,
    Window,
}

#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    pub phase: Phase,
    /// Time since the sessions started.
    pub elapsed: Duration,
    /// `None` with WORK_LOOP.
    pub left: Option<Duration>,
    /// WARMUP=auto may end earlier.
    pub is_most: bool,
    pub recent: &'a Interval,
    pub sessions: u32,
    pub operations: Option<(u64, u64)>,
}
