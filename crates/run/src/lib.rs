//! Loading and running: the method carried out by an engine, measured.
//!
//! [`load`] fills a target, [`run`] measures it, [`verify`] reads it back. All three are handed an engine by its
//! contract and report what happens to an observer; none prints, exits, or knows a database by name.
#![forbid(unsafe_code)]

mod assemble;
mod batch_size;
mod context;
mod data_here;
mod endpoints;
mod error;
mod growing_series;
mod hosts;
mod journal;
mod loaded;
mod loader;
mod loader_plan;
mod loader_slices;
mod loader_space;
mod losses;
mod observe;
mod observed;
mod operations_file;
mod parts;
mod phases;
mod prepare;
mod random;
mod rendezvous;
mod replay;
mod run_clock;
mod runner;
mod sampler;
mod script;
mod scripts;
mod server_report;
mod session;
mod session_totals;
mod sessions;
mod tally;
mod together;
mod until_steady;
mod verify;
mod workload;

pub use context::RunContext;
pub use data_here::DataHere;
pub use error::{RunError, RunErrorKind};
pub use hosts::{HostPlace, Hosts, Places, ServerPlace};
pub use journal::{Acknowledged, Journal};
pub use loaded::Loaded;
pub use loader::{LoadSummary, load};
pub use loader_plan::{LoadPlan, plan_load, plan_load_anywhere};
pub use observe::{LoadEvent, LoadObserver, Phase, RunEvent, RunObserver, Tick};
pub use observed::fits_into_memory;
pub use prepare::{Prepared, check_observers, prepare};
pub use random::fresh_seed;
pub use replay::{NoReplay, Replay, replay};
pub use runner::{Measured, run};
pub use script::{ExternalScript, ScriptMoment};
pub use scripts::{script_of_load, script_of_run, script_of_server};
pub use verify::{VerifySummary, verify};
