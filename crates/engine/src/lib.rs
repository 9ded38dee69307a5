//! The engine contract: what a database must do to be tested by the SLOB method.
//!
//! An [`Engine`] is one target, a [`Session`] one connection. Calls are few, long and blocking, with one thread per session.
//! [`Capabilities`] and absent values say what an engine can't do or know.
//!
//! The [`null`] engine is the skeleton of new ones, and every engine must pass the [`suite`].
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod board;
mod contract;
mod error;
mod execution;
mod load;
pub mod null;
mod recording;
mod server;
mod snapshot;
pub mod suite;
mod waiting;

pub use board::{Board, BoardKind, Value};
pub use contract::{
    BlockReader, Cancel, Engine, EngineKind, OpenSpec, PlannedLoad, Purpose, ReadBlock, RunExtras, RunPlan,
    Scripts, Session, SessionPlan, TargetLock, target_in_use,
};
pub use error::{EngineError, ErrorKind, Result};
pub use execution::{CancelToken, OpOutcome, Outcome, Perform, execute_each, nanoseconds};
pub use load::{
    Layout, Load, LoadProgress, LoadState, SchemaState, Slice, Unusable, damaged_schema, only_damaged,
};
pub use recording::{Call, Recording};
pub use server::{
    Answer, Capabilities, CapturedAnswer, Clues, FetchedReport, ReportFile, Server, ServerLocation,
    ServerReport, ServerTotals,
};
pub use slob_measure::{
    Bound, Counter, Counters, Debt, Facts, Figures, Latencies, Latency, LatencyKind, Peer, Setting,
    WaitEvent, WaitTotal, WorkingSet,
};
pub use snapshot::{ServerSnapshot, Snapshot};
pub use waiting::{PendingAnswer, Unanswered, Unfinished, lock, wait_for_unfinished, within};
