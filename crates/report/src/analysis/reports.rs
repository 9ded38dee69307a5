//! Runs from AWR and Statspack reports, and from what `awr_info` printed.

use std::collections::{BTreeMap, BTreeSet};

use slob_awr::Rates;
use slob_awr::info::{Head, Named, Row};

use super::Run;
use super::metric::{PREADS, PWRITES, READ_REQUESTS, READS, REDO, WRITE_REQUESTS, WRITES};
use super::model::Volume;
use crate::info::{AWR_COLUMNS, Column};

/// The run of a row, by SLOB.R's rules, with its FILE as the label. Whether its PREADS are blocks or requests the row does
/// not say.
#[must_use]
pub fn run_of_row(row: &Row) -> Run {
    let name = |head: Head, column: Column| match head {
        Head::Reads => PREADS,
        Head::Writes => PWRITES,
        _ => column.name(),
    };
    let known = |(head, column): (Head, Column)| Some((name(head, column).to_owned(), row.figure(head)?));
    let mut figures: BTreeMap<String, f64> = AWR_COLUMNS.into_iter().filter_map(known).collect();
    if let Some(mib) = row.figure(Head::RedoMib) {
        figures.insert(REDO.to_owned(), mib * 1_048_576.0);
    }
    let figure = |name: &str| figures.get(name).copied();
    let volume = Volume { reads: figure(PREADS), writes: figure(PWRITES), redo: figure(REDO) };
    let (models, sessions) = match row.writers_and_readers {
        Some(counts) => (volume.models_by_counts(counts), BTreeSet::from(counts)),
        None => {
            let sessions = row.figure(Head::Sessions).map(|sessions| sessions as u32);
            (vec![volume.model()], sessions.into_iter().collect())
        }
    };
    Run {
        id: row.file.clone(),
        label: row.file.clone(),
        models: models.into_iter().map(str::to_owned).collect(),
        sessions: sessions.into_iter().filter(|sessions| *sessions > 0).collect(),
        figures,
    }
}

/// The run of a report: that of its row, which knows requests from blocks.
#[must_use]
pub fn run_of_report(named: &Named) -> Run {
    let mut run = run_of_row(&Row::of(named));
    let rates = Rates::of(&named.report);
    let requests = |of: &str| run.figures.get(of).copied();
    let more = [
        (READ_REQUESTS, requests(PREADS)),
        (WRITE_REQUESTS, requests(PWRITES)),
        (READS, rates.physical_reads),
        (WRITES, rates.physical_writes),
    ];
    run.figures.extend(more.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?))));
    run
}
