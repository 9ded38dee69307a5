//! The run record: everything that a run measured, in one versioned document.
//!
//! Field names carry their units, an absent figure is absent (`null` or left out), and histograms are kept whole,
//! so that every report can be made again, and better, years later. [`Record`] is what is saved;
//! [`RunDirectory`] is where; both know nothing of how a run is made or shown.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod abandoned;
mod course;
mod error;
mod files;
mod find;
mod interval;
mod marks;
mod model;
mod model_observed;
mod operations;
mod page;
mod probes;
mod read;
mod series;
mod server_report;
mod skip;
mod store;
mod workload;

pub use course::{LossRecord, Mark, UntilSteady};
pub use error::RecordError;
pub use files::{OPERATIONS_FILE, RUN_FILE};
pub use find::{find_run, find_runs, list_runs, run_folder};
pub use interval::Interval;
pub use marks::{MarkText, leave_mark, runs_under_way};
pub use model::{
    ConfigEntry, DbCpu, DeviceRecord, EdgeRecord, Edges, EndpointRecord, HostRecord, KindRecord, LoadRecord,
    LongestWait, Record, SchemaRecord, ServerRecord, SessionRecord, SettingRecord, Status, Verification,
    Window, error_of_session,
};
pub use model_observed::{ClientHostRecord, ObservedRecord};
pub use operations::{KeptOperation, KeptOperations, OperationsWriter, read_operations};
pub use page::record_in_page;
pub use probes::{SavedProbe, latest_probe, save_probe};
pub use read::{SeriesWanted, read_record, read_record_with, read_records};
pub use series::series_csv;
pub use server_report::{ReportedPair, ServerReportRecord};
pub use store::RunDirectory;
pub use workload::{HotSpotRecord, ThinkTimeRecord, WorkloadRecord};

/// The version of the record's schema. Readers accept this and every older version.
pub const RECORD_VERSION: u32 = 1;
