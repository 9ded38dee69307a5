//! What a load or a run is asked to do: parameters, `slob.conf`, sizes, targets, secrets.
//!
//! Everything here is pure: text comes in, checked values go out. Nothing reads a file, a clock or the
//! environment, and no engine is known by name: the caller passes its engines' own options as data.
//!
//! The way of a configuration: a [`Table`] says which parameters there are; [`ConfFile::parse`] reads
//! `slob.conf`; [`Settings::resolve`] decides every value (defaults, file, environment, flags) and reports
//! all bad ones together; [`LoadSpec::from_settings`] and [`RunSpec::from_settings`] check that the values
//! fit together.
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
//! assert_eq!(run.update_pct.get(), 20);
//! assert_eq!(run.length, Length::Operations(5000));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod conf;
mod error;
mod kind;
mod line_fault;
mod options;
mod origin;
mod param;
mod render;
mod settings;
mod spec;
mod table;
mod types;
mod value;
mod warning;

pub use conf::{Assignment, ConfFile};
pub use error::{SpecError, SpecErrors};
pub use kind::Kind;
pub use line_fault::LineFault;
pub use options::EngineOptions;
pub use origin::Origin;
pub use param::{Group, Param};
pub use render::{init_text, markdown, to_conf_text};
pub use settings::{Entry, Resolved, Settings};
pub use spec::{Checked, LoadSpec, RunSpec};
pub use table::{MAX_SESSIONS, Table};
pub use types::{
    ArrivalProcess, BadTarget, BadValue, Endpoint, HotSpot, Length, MAX_SCALE_BLOCKS, Observe, Observers,
    Percent, Rate, RedoStress, RunName, Secret, SessionLoss, Size, SshHost, StatisticsType, Target,
    ThinkTime, UntilSteady, WorkUnit,
};
pub use value::Value;
pub use warning::Warning;
