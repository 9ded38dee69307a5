//! The engine contract: what a database must be able to do to be tested by the SLOB method.
//!
//! An [`Engine`] stands for one target, a [`Session`] for one connection that runs the work loop. The contract is
//! small, blocking and object-safe: few, long calls, one thread per session. What an engine can't do or can't
//! know is said by its [`Capabilities`] and by absent values, never by zeros or names.
//!
//! The [`null`] engine is the contract without a database: it ships, and it is the skeleton to start from. The
//! [`suite`] is what every engine must pass.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod alarm;
mod client_loop;
mod contract;
mod error;
mod kind;
mod load;
pub mod null;
mod opening;
mod outcome;
mod patience;
mod plans;
mod scripts;
mod server;
mod server_report;
mod snapshot;
pub mod suite;
mod testimony;
mod unfinished;
mod whereabouts;
mod workload;

pub use alarm::Alarm;
pub use client_loop::{Perform, execute_each};
pub use contract::{Cancel, Engine, Session};
pub use error::{EngineError, ErrorKind};
pub use kind::EngineKind;
pub use load::{
    Lack, Layout, Load, LoadProgress, LoadState, SchemaState, Slice, damaged_schema, only_damaged,
};
pub use opening::{OpenSpec, Purpose};
pub use outcome::{OpOutcome, Outcome};
pub use patience::{Asked, Unanswered, within};
pub use plans::{RunPlan, SessionPlan};
pub use scripts::{PlannedLoad, RunExtras, ScriptOfLoad, ScriptOfRun, ScriptOfServer, Scripts};
pub use server::{Capabilities, Server, Setting};
pub use server_report::{Artefact, ServerReport, ServersWords};
pub use snapshot::{Seen, Snapshot};
// What an engine measures, so that it needs this room alone.
pub use slob_measure::{Counter, Counters, Figures, Latencies, Latency, LatencyKind, WaitEvent, WaitTotal};
pub use testimony::{Answer, Replay, Said};
pub use unfinished::{Unfinished, wait_for_unfinished};
pub use whereabouts::{Clues, Whereabouts};
pub use workload::Workload;
