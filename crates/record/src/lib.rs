//! The run record: one versioned document.
//!
//! Field names carry units, absent values are left out, and histograms are whole, so that every report can be made again.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod csv;
mod digest;
mod durable;
mod error;
mod folder;
mod read;
mod record;
mod saved;
mod sign;

pub use csv::{KeptOperation, KeptOperations, OperationsWriter, read_operations, series_csv};
pub use digest::{digest_of, digest_of_text, read_digests};
pub use durable::{durable_create, durable_write, replace, temporary_beside};
pub use error::RecordError;
pub use folder::{
    CONF_FILE, RunDirectory, SIGNATURE_FILE, file_digest, is_hidden, leave_mark, runs_under_way,
    with_hidden_shown,
};
pub use read::{
    SeriesWanted, find_run, find_run_in, find_runs, find_runs_in, list_runs, on_all_cpus, read_record,
    read_record_with, read_records, record_file, record_in_page, run_folder, runs_named, signature_file,
};
pub use record::*;
pub use saved::{LoadCost, SavedLoad, SavedProbe, latest_load, latest_probe, save_load, save_probe};
pub use sign::{SignatureError, Signer, Signers, SigningKey};

/// Readers accept this and every older version.
pub const RECORD_VERSION: u32 = 1;
/// The record, in its folder.
pub const RUN_FILE: &str = "run.json";
/// The list of all operations, beside it.
pub const OPERATIONS_FILE: &str = "operations.csv";
