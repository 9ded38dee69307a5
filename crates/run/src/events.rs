//! Events of loads and runs, for observers such as the live display.

use std::time::Duration;

use slob_engine::Layout;
use slob_method::SchemaNo;
use slob_record::{Interval, Record};

use crate::ScriptMoment;

/// Called from the streams of a load.
pub trait LoadObserver: Sync {
    fn on_load(&self, event: &LoadEvent);
}

/// An event of a load. Bytes are those of whole blocks.
#[derive(Clone, Debug)]
pub enum LoadEvent {
    Began {
        rows: u64,
        bytes: u64,
        complete: usize,
        resumed: usize,
        streams: usize,
        /// Bytes of the largest slice: each stream loses at most this much when it is cut off.
        slice_bytes: u64,
    },
    /// Sent twice a second.
    Progress {
        rows: u64,
        of: u64,
        bytes: u64,
        elapsed: Duration,
    },
    /// All rows of a schema are loaded; index and statistics follow.
    Finishing(SchemaNo),
    Finished(SchemaNo, Layout),
}

pub trait RunObserver {
    fn on_run(&mut self, event: &RunEvent<'_>);

    /// True to receive [`RunEvent::SoFar`], which costs some milliseconds each time.
    fn wants_the_record(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug)]
pub enum RunEvent<'a> {
    /// Figures will be others than those of the storage; with what helps.
    Warning(&'a str),
    /// All checks passed; the sessions connect now.
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
    /// Snapshot A is taken: the window begins.
    WindowBegan,
    Tick(Tick<'a>),
    /// The record as if the run ended now, every few seconds of the window. It holds no sessions yet.
    SoFar(&'a Record),
    /// Snapshot B is taken: the window is over.
    WindowEnded,
    /// The sessions go on for a trace behind the window.
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
    /// Time until the window ends; `None` with WORK_LOOP.
    pub left: Option<Duration>,
    /// Operations reported, and figures sampled, since the last tick.
    pub recent: &'a Interval,
    pub sessions: u32,
    /// Operations done, of all, for WORK_LOOP.
    pub operations: Option<(u64, u64)>,
}
