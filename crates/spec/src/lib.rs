//! Configuration of loads and runs: parameters, `slob.conf`, sizes, targets, secrets.
//!
//! Everything here is pure: it turns text into checked values. Nothing reads a file, a clock or the environment, and no
//! engine is known by name: the caller passes the options of its engines as data.
//!
//! A [`Table`] lists the parameters; [`ConfFile::parse`] reads `slob.conf`; [`Settings::resolve`] decides every value
//! (defaults, file, environment, flags) and reports all bad ones together; [`LoadSpec::from_settings`] and
//! [`RunSpec::from_settings`] check that the values fit together.
//!
//! ```
//! use slob_spec::{ConfFile, Length, RunSpec, Settings, Table};
//!
//! # fn main() -> Result<(), slob_spec::SpecErrors> {
//! let table = Table::new("file:./slob-data", &[]);
//! let file = ConfFile::parse("slob.conf", "UPDATE_PCT=20 # a fifth\nRUN_TIME=1h\nSCALE=80M\n")?;
//! let flags = [("WORK_LOOP".to_owned(), "5000".to_owned())];
//! let resolved = Settings::resolve(&table, Some(&file), &[], &flags)?;
//! let run = RunSpec::from_settings(&resolved.settings)?.spec;
//! assert_eq!(run.workload.update_pct.get(), 20.0);
//! assert_eq!(run.length, Length::Operations(5000));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod conf;
mod observe;
mod param;
mod parameters;
mod rate;
mod redaction;
mod render;
mod settings;
mod spec;
mod table;
mod target;
mod types;
mod workload;

pub use conf::{ConfFile, SpecErrors};
pub use observe::{Observe, Observers, SshHost};
pub use param::{FromValue, Group, Kind, Param, Value};
pub use parameters::MAX_SESSIONS;
pub use rate::{RateSchedule, RateStep};
pub use redaction::Redaction;
pub use render::{init_text, markdown, to_conf_text};
pub use settings::{Entry, Origin, Resolved, Settings};
pub use spec::{Checked, EngineOptions, LoadSpec, RunSpec};
pub use table::Table;
pub use target::{BadTarget, Endpoint, Target, decode};
pub use types::{
    Amount, ArrivalProcess, BadValue, Decimal, Every, HotSpotSize, Length, MAX_SCALE_BLOCKS, Percent,
    RedoStress, RunName, Secret, SessionLoss, Size, StatisticsType, TraceWhen, UntilSteady, WarmUp, WorkUnit,
};
pub use workload::{HotSpot, Roles, ThinkTime, Workload, WorkloadError};
