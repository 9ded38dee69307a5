//! What loading and running tell whoever watches.

use std::time::Duration;

use slob_engine::Layout;
use slob_method::SchemaNo;
use slob_record::{Interval, Record};

use crate::script::ScriptMoment;

/// Hears what a load does; called from its streams.
pub trait LoadObserver: Sync {
    /// Something happened.
    fn on_load(&self, event: &LoadEvent);
}

/// What happens in a load.
#[derive(Clone, Debug)]
pub enum LoadEvent {
    /// The load begins.
    Began {
        /// Rows that are to be loaded.
        rows: u64,
        /// Their bytes, in blocks.
        bytes: u64,
        /// Schemas that are already complete.
        complete: usize,
        /// Schemas of which a part is already there.
        resumed: usize,
        /// Streams at work.
        streams: usize,
        /// Bytes of the largest slice, in blocks: what each stream loses at most when it is cut off.
        slice_bytes: u64,
    },
    /// Twice a second.
    Progress {
        /// Rows loaded by this call.
        rows: u64,
        /// Rows that it is to load.
        of: u64,
        /// Bytes loaded by this call, in blocks.
        bytes: u64,
        /// Time since it began.
        elapsed: Duration,
    },
    /// A schema's data are there; index and statistics follow.
    Finishing(SchemaNo),
    /// A schema is complete.
    Finished(SchemaNo, Layout),
}

/// Hears what a run does; called from its timeline.
pub trait RunObserver {
    /// Something happened.
    fn on_run(&mut self, event: &RunEvent<'_>);

    /// Whether [`RunEvent::SoFar`] is wanted, which costs some milliseconds each time.
    fn wants_the_record(&self) -> bool {
        false
    }
}

/// What happens in a run.
#[derive(Clone, Debug)]
pub enum RunEvent<'a> {
    /// The checks are passed; the sessions are being connected.
    Connecting {
        /// The run's id.
        run_id: &'a str,
        /// Sessions that it is to have.
        sessions: u32,
        /// Bytes of the target's blocks.
        block_bytes: u32,
    },
    /// All sessions are connected.
    Connected {
        /// How many.
        sessions: u32,
        /// How long it took.
        took: Duration,
    },
    /// The external script is called.
    Script(ScriptMoment),
    /// The sessions start.
    Started,
    /// Snapshot A was taken: the window begins.
    WindowBegan,
    /// Once a second.
    Tick(Tick<'a>),
    /// What the record would be if the run ended now, every few seconds of the window, for whoever wants it. Its sessions have not
    /// told of themselves yet.
    SoFar(&'a Record),
    /// Snapshot B was taken: the window is over.
    WindowEnded,
    /// The user asked to stop.
    Interrupted,
    /// Rows are read back.
    Verifying,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the window.
    WarmUp,
    /// Within it.
    Window,
}

/// A second of a run.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// Where the run stands.
    pub phase: Phase,
    /// Time since the sessions started.
    pub elapsed: Duration,
    /// Time until the window ends; `None` with WORK_LOOP.
    pub left: Option<Duration>,
    /// Operations reported, and figures sampled, since the last tick.
    pub recent: &'a Interval,
    /// Sessions at work.
    pub sessions: u32,
    /// For WORK_LOOP: operations done, of all.
    pub operations: Option<(u64, u64)>,
}
