//! A run's plan once more: what its sessions did, held against what they were to do.
//!
//! A plan depends on the workload, the seed and the session's number alone, so that a record is enough to repeat it: from
//! a session's operation after `before_window` on, as many as it did must be of the kinds, and have the rows, that the
//! record says. One operation that was left out, done twice or taken for another one shows.

use slob_method::{Action, Batch, PlanSeed, Planner, SchemaNo};
use slob_record::{Record, SessionRecord};
use slob_spec::RunSpec;

use crate::workload::{homes_of, workload_of, workload_record};

/// Operations that are planned at once.
const BATCH: u64 = 4096;
/// Faults that are put into words.
const MOST_WORDS: usize = 20;

/// What came of repeating a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Sessions whose plan was repeated.
    pub sessions: u32,
    /// Their operations within the window.
    pub operations: u64,
    /// Sessions that did something else.
    pub faulty: u32,
    /// What they did, and what they were to do; of the first twenty.
    pub faults: Vec<String>,
}

/// Why a plan can't be repeated: the record is of a release that did not note where in its plan each session's window began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record does not say where in their plans the sessions' windows began")]
pub struct NoReplay;

/// Repeats the plan of a run. `spec` is what the record's configuration says; `on_operations` hears how many of all
/// operations were repeated. What can't be is a fault of the record.
///
/// # Errors
/// See [`NoReplay`].
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
    let workload = workload_of(spec, record.server.block_bytes);
    workload.check().map_err(|error| error.to_string())?;
    let seed = PlanSeed { seed: record.workload.seed, nonce: record.workload.nonce };
    if workload_record(spec, &workload, seed) != record.workload {
        return Err("the workload in the record is not what its configuration makes".into());
    }
    let homes = homes(spec, record)?;
    let scan_rows = record.load.as_ref().map_or(0, |load| load.scan_blocks);
    let all = planned_again(record)?;
    let mut replay = Replay::default();
    let mut repeated = 0;
    for (session, home) in record.sessions.iter().zip(homes) {
        let before = session
            .before_window
            .ok_or_else(|| format!("session {} lacks where in its plan its window began", session.session))?;
        let planner = Planner::new(workload, seed, session.session, home);
        let planned = Planned::of(planner, before, session.operations(), scan_rows);
        replay.compare(session, &planned);
        repeated += before + session.operations();
        on_operations(repeated, all);
    }
    Ok(replay)
}

/// The schema of each session of the record, which must be what the configuration gives it.
fn homes(spec: &RunSpec, record: &Record) -> Result<Vec<SchemaNo>, String> {
    let schemas = u16::try_from(spec.schemas.get()).map_err(|error| error.to_string())?;
    let all: Vec<SchemaNo> = homes_of(spec, schemas).collect();
    let home = |session: &SessionRecord| {
        let home = all.get(session.session as usize).filter(|home| home.get() == session.schema);
        home.copied().ok_or_else(|| {
            format!("session {} in schema {} is none of the run's", session.session, session.schema)
        })
    };
    record.sessions.iter().map(home).collect()
}

/// Operations that have to be planned again, which are no more than the series has: a damaged number must not keep anybody
/// waiting for years.
fn planned_again(record: &Record) -> Result<u64, String> {
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

impl Replay {
    fn compare(&mut self, session: &SessionRecord, planned: &Planned) {
        let Planned { selects, updates, scans, rows } = *planned;
        self.sessions += 1;
        self.operations += session.operations();
        if (selects, updates, scans, rows) == (session.selects, session.updates, session.scans, session.rows)
        {
            return;
        }
        self.faulty += 1;
        if self.faults.len() < MOST_WORDS {
            self.faults.push(format!(
                "session {}: {} SELECTs, {} UPDATEs, {} scans with {} rows; its plan has {selects}, {updates}, {scans} \
                 with {rows}",
                session.session, session.selects, session.updates, session.scans, session.rows
            ));
        }
    }
}

/// What a stretch of a plan holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Planned {
    selects: u64,
    updates: u64,
    scans: u64,
    rows: u64,
}

impl Planned {
    /// Of `count` operations after the first `skipped` ones.
    fn of(mut planner: Planner, skipped: u64, count: u64, scan_rows: u64) -> Self {
        let mut planned = Self::default();
        let mut batch = Batch::default();
        for (count, counts) in [(skipped, false), (count, true)] {
            let mut left = count;
            while left > 0 {
                planner.fill(&mut batch, left.min(BATCH) as usize);
                left -= batch.ops().len() as u64;
                if counts {
                    batch.ops().iter().for_each(|op| planned.add(op, scan_rows));
                }
            }
        }
        planned
    }

    fn add(&mut self, op: &slob_method::Op, scan_rows: u64) {
        match op.action {
            Action::Select(_) => self.selects += 1,
            Action::Update(..) => self.updates += 1,
            Action::Scan => self.scans += 1,
        }
        self.rows += op.rows().unwrap_or(scan_rows);
    }
}
