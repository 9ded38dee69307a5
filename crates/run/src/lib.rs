//! Loading and running by an engine's contract.
//!
//! [`load`] fills a target, [`run`] measures it, [`verify`] reads it back, [`Watch`] profiles it. They report to observers, do
//! not print or exit, and know no database by name.
#![forbid(unsafe_code)]

mod assemble;
mod cross_check;
mod error;
mod events;
mod extras;
mod journal;
mod load;
mod page_cache;
mod phases;
mod prepare;
mod rendezvous;
mod replay;
mod run;
mod sampler;
mod sessions;
mod settling;
mod site;
mod space;
mod tally;
mod timeline;
mod turns;
mod verify;
mod watch;

pub use error::{RunError, RunErrorKind};
pub use events::{LoadEvent, LoadObserver, Phase, RunEvent, RunObserver, Tick};
pub use extras::{ExternalScript, ScriptMoment};
pub use journal::Acknowledged;
pub use load::{LoadPlan, LoadSummary, Loaded, LocalData, load, plan_load};
pub use page_cache::PageCache;
pub use prepare::{Prepared, prepare, script_of_load, script_of_run, script_of_server};
pub use replay::{NoReplay, Replay, replay};
pub use run::{Measured, run, turns_advice};
pub use sampler::{Hosts, ObservedHost, ObservedServer, Topology};
pub use site::{Activity, Site};
pub use timeline::{CommonStart, RunContext};
pub use verify::{VerifySummary, verify};
pub use watch::{Watch, WatchError, WatchEvent};

use slob_engine::lock;
