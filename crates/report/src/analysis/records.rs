//! Runs from records.

use std::collections::BTreeSet;

use slob_record::{Record, Status};

use super::Run;
use super::metric::{PREADS, PWRITES, READS, REDO, WRITES};
use super::model::{self, Volume};
use crate::figure::{self, Figures};

/// A completed run as the analysis sees it, with its RUN_NAME as the label, and SLOB.R's model; `None` if it did not
/// complete: what it measured is no repeat of anything.
#[must_use]
pub fn run_of(record: &Record) -> Option<Run> {
    if record.status != Status::Completed || record.window.is_none() {
        return None;
    }
    let all = Figures::of(record);
    let named = figure::all().filter_map(|figure| Some((figure.name.to_owned(), figure.of(&all)?)));
    let mut figures: std::collections::BTreeMap<String, f64> = named.collect();
    if let Some(mb) = figures.get(figure::REDO_MB_PER_S.name) {
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
