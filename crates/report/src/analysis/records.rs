//! Runs from records.

use std::collections::BTreeSet;

use slob_record::{Record, Status};

use super::metric::{READS, REDO, WRITES};
use super::{Run, awr_info};
use crate::figure::{self, Figures};

/// A completed run as the analysis sees it, with its RUN_NAME as the label, and SLOB.R's model; `None` if it did not
/// complete: what it measured is no repeat of anything.
#[must_use]
pub fn run_of(record: &Record) -> Option<Run> {
    if record.status != Status::Completed || record.window.is_none() {
        return None;
    }
    let known = Figures::of(record);
    let named = figure::all().filter_map(|figure| Some((figure.name.to_owned(), figure.of(&known)?)));
    let mut figures: std::collections::BTreeMap<String, f64> = named.collect();
    if let Some(mb) = figures.get(figure::REDO_MB_PER_S.name) {
        figures.insert(REDO.to_owned(), mb * 1e6);
    }
    let model = if record.workload.update_pct == 0 {
        awr_info::READS
    } else {
        let known = |name: &str| figures.get(name).copied();
        awr_info::redo_or_writes(known(REDO), known(WRITES), f64::from(record.server.block_bytes))
    };
    debug_assert!(figures.get(READS).is_none_or(|reads| reads.is_finite()));
    Some(Run {
        id: record.id.clone(),
        label: record.name.clone(),
        models: BTreeSet::from([model.to_owned()]),
        sessions: BTreeSet::from([record.workload.sessions()]),
        figures,
    })
}
