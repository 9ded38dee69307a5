//! Replays the plan of a run and compares it with what its sessions did.
//!
//! Workload, seed and session number give the plan. The operations after a session's first `before_window` ones must match the
//! record in kinds and rows.

use slob_measure::OpCounts;
use slob_method::{Batch, Planner, SchemaNo};
use slob_record::{Record, SessionRecord};
use slob_spec::RunSpec;

use crate::prepare::homes_of;
use crate::tally::kind_of;

const BATCH: u64 = 4096;
const MOST_FAULTS: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    pub sessions: u32,
    pub operations: u64,
    pub faulty: u32,
    /// The first twenty differences.
    pub faults: Vec<String>,
}

/// Records of old releases lack this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record does not say where in their plans the sessions' windows began")]
pub struct NoReplay;

/// `spec` comes from the run's configuration. `on_operations` gets the operations replayed, and all.
pub fn replay(record: &Record, spec: &RunSpec, on_operations: &dyn Fn(u64, u64)) -> Result<Replay, NoReplay> {
    let sessions = &record.sessions;
    if !sessions.is_empty() && sessions.iter().all(|session| session.before_window.is_none()) {
        return Err(NoReplay);
    }
    Ok(repeat(record, spec, on_operations).unwrap_or_else(|fault| Replay {
        faulty: 1,
        faults: vec![fault],
        ..Replay::default()
    }))
}

fn repeat(record: &Record, spec: &RunSpec, on_operations: &dyn Fn(u64, u64)) -> Result<Replay, String> {
    let workload = &record.workload;
    workload.check().map_err(|error| error.to_string())?;
    if spec.workload(record.server.block_bytes, workload.seed, workload.nonce) != *workload {
        return Err("the workload in the record is not what its configuration makes".into());
    }
    let homes = homes(spec, record)?;
    let scan_rows = record.load.as_ref().map_or(0, |load| load.scan_blocks);
    let all = operations_to_plan(record)?;
    let mut replay = Replay::default();
    let mut repeated = 0;
    for (session, home) in record.sessions.iter().zip(homes) {
        let before = session
            .before_window
            .ok_or_else(|| format!("session {} lacks where in its plan its window began", session.session))?;
        let planner = Planner::new(workload.clone(), session.session, home);
        let (planned, rows) = plan(planner, before, session.operations(), scan_rows);
        replay.compare(session, planned, rows);
        repeated += before + session.operations();
        on_operations(repeated, all);
    }
    Ok(replay)
}

/// Fails if the record's schemas differ from the configuration's.
fn homes(spec: &RunSpec, record: &Record) -> Result<Vec<SchemaNo>, String> {
    let schemas = u16::try_from(spec.workload.schemas.get()).map_err(|error| error.to_string())?;
    let all: Vec<SchemaNo> = homes_of(spec, schemas).collect();
    let home = |session: &SessionRecord| {
        let home = all.get(session.session as usize).filter(|home| home.get() == session.schema);
        home.copied().ok_or_else(|| {
            format!("session {} in schema {} is none of the run's", session.session, session.schema)
        })
    };
    record.sessions.iter().map(home).collect()
}

/// Records have a series of operations. A damaged number must not take years.
fn operations_to_plan(record: &Record) -> Result<u64, String> {
    let series = record.series.points().filter_map(|point| point.value);
    let seen = series.fold(0_u64, |sum, interval| sum.saturating_add(interval.ops.total()));
    let of_session =
        |session: &SessionRecord| session.before_window.unwrap_or(0).saturating_add(session.operations());
    let all = record.sessions.iter().map(of_session).fold(0_u64, u64::saturating_add);
    if all > seen || all == u64::MAX {
        return Err(format!("the sessions did {all} operations, but the series has {seen}"));
    }
    Ok(all)
}

/// `count` operations follow the first `skipped` ones.
fn plan(mut planner: Planner, skipped: u64, count: u64, scan_rows: u64) -> (OpCounts, u64) {
    let (mut counts, mut rows) = (OpCounts::default(), 0);
    let mut batch = Batch::default();
    let (mut place, end) = (0, skipped + count);
    while place < end {
        planner.fill(&mut batch, (end - place).min(BATCH) as usize);
        // A batch ends its last transaction, and may have further operations.
        for op in batch.ops() {
            if (skipped..end).contains(&place) {
                counts.count(kind_of(op));
                rows += op.rows().unwrap_or(scan_rows);
            }
            place += 1;
        }
    }
    (counts, rows)
}

impl Replay {
    fn compare(&mut self, session: &SessionRecord, planned: OpCounts, rows: u64) {
        let OpCounts { selects, updates, scans } = planned;
        self.sessions += 1;
        self.operations += session.operations();
        if (selects, updates, scans, rows) == (session.selects, session.updates, session.scans, session.rows)
        {
            return;
        }
        self.faulty += 1;
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(format!(
                "session {}: {} SELECTs, {} UPDATEs, {} scans with {} rows; its plan has {selects}, {updates}, {scans} \
                 with {rows}",
                session.session, session.selects, session.updates, session.scans, session.rows
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use slob_spec::{Settings, Table};

    use super::*;

    /// A window may begin and end within a batch that ends its transaction.
    #[test]
    fn a_replay_ends_where_batches_end_beyond_its_operations() {
        let flags = [("UPDATE_PCT", "50"), ("WORK_UNIT", "3"), ("COMMIT_EVERY", "7")];
        let flags: Vec<_> =
            flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let settings = Settings::resolve(&Table::new("null:", &[]), None, &[], &flags).unwrap().settings;
        let workload = RunSpec::from_settings(&settings).unwrap().spec.workload(8192, 42, 1);
        let planner = || Planner::new(workload.clone(), 0, SchemaNo::FIRST);
        let mut batch = Batch::default();
        planner().fill(&mut batch, 200);
        let ops = batch.ops().to_vec();
        for skipped in 0..100 {
            for count in [0, 1, 2, 50] {
                let expected = ops[skipped..skipped + count].iter().fold(
                    (OpCounts::default(), 0),
                    |(mut counts, rows), op| {
                        counts.count(kind_of(op));
                        (counts, rows + op.rows().unwrap_or(0))
                    },
                );
                assert_eq!(plan(planner(), skipped as u64, count as u64, 0), expected, "{skipped}, {count}");
            }
        }
    }
}
