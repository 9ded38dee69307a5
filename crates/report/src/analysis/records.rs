//! Runs from records.

use std::collections::BTreeSet;

use slob_record::{Record, Status};

use super::Run;
use super::metric::{PREADS, PWRITES, READS, REDO, WRITES};
use super::model::{self, Volume};
use crate::info::{Row, all_columns};

/// A completed run as the analysis sees it, with its RUN_NAME as the label, and SLOB.R's model; `None` if it did not
/// complete: what it measured is no repeat of anything.
#[must_use]
pub fn run_of(record: &Record) -> Option<Run> {
    if record.status != Status::Completed || record.window.is_none() {
        return None;
    }
    let row = Row::of(record);
    let columns = all_columns().filter(|column| !column.is_text() && !column.needs_series);
    let mut figures: std::collections::BTreeMap<String, f64> = columns
        .filter_map(|column| Some((column.name.to_owned(), column.value(&row)?.as_number()?)))
        .collect();
    if let Some(mb) = figures.get("redo_mb_per_s") {
        figures.insert(REDO.to_owned(), mb * 1e6);
    }
    let known = |name: &str| figures.get(name).copied();
    let volume = Volume { reads: known(READS), writes: known(WRITES), redo: known(REDO) };
    let model = match record.workload.update_pct {
        0 => model::READS,
        _ => volume.redo_or_writes(f64::from(record.server.block_bytes)),
    };
    // What `slob info` prints below these heads.
    let printed = [(PREADS, volume.reads), (PWRITES, volume.writes)];
    figures.extend(printed.into_iter().filter_map(|(head, figure)| Some((head.to_owned(), figure?))));
    Some(Run {
        id: record.id.clone(),
        label: record.name.clone(),
        models: BTreeSet::from([model.to_owned()]),
        sessions: BTreeSet::from([record.workload.sessions()]),
        figures,
    })
}
