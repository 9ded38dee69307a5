//! A small load, and operations on it.

use std::sync::Arc;
use std::time::Instant;

use slob_engine::{
    Engine, EngineError, EngineKind, ErrorKind, Load, LoadProgress, OpenSpec, Outcome, Purpose, Result,
    RunPlan, Session, SessionPlan, suite,
};
use slob_method::{Action, Batch, KeyRange, Op, Planner, SchemaNo};
use slob_spec::{EngineOptions, Percent, RedoStress, RunSpec, Settings, Table, WorkUnit, Workload};

/// Four slices of the main table, and one of the scan table.
pub const LOAD: Load = Load { seed: 7, scale: 1000, scan_blocks: 50, obfuscated: false, slice_rows: 256 };
pub const FIRST: SchemaNo = SchemaNo::FIRST;
pub const RUN: RunPlan<'_> =
    RunPlan { schemas: &[FIRST], sessions: 1, redo: Some(RedoStress::Lite), scans: false, stop: None };

pub fn schema(number: u16) -> SchemaNo {
    SchemaNo::new(number).expect("schemas are counted from 1")
}

/// Flags give them.
pub fn options(kind: &EngineKind, flags: &[(&str, &str)]) -> EngineOptions {
    let table = Table::new("null:", &[kind.params]);
    let flags: Vec<_> = flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let resolved = Settings::resolve(&table, None, &[], &flags).expect("sound settings");
    RunSpec::from_settings(&resolved.settings).expect("a sound run").spec.options
}

pub fn open(kind: &EngineKind, target: &str, flags: &[(&str, &str)]) -> Result<Box<dyn Engine>> {
    let target = target.parse().expect("a target");
    (kind.open)(&OpenSpec::new(target, Purpose::Load, options(kind, flags)))
}

/// The target must be empty.
pub fn passes_the_contract_suite(open: &dyn Fn() -> Result<Box<dyn Engine>>) {
    let verdicts = suite::run(open, &mut |_, _| true).expect("an empty target");
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Two streams load at a time if the engine can.
pub fn load_schema(engine: &dyn Engine, load: &Load, schema: SchemaNo) {
    engine.create_schema(load, schema).expect("an empty place");
    let slices: Vec<_> = load.slices(schema).collect();
    let progress = LoadProgress::default();
    let parallel = engine.server().expect("a server").capabilities.parallel_slices;
    for pair in slices.chunks(if parallel { 2 } else { 1 }) {
        std::thread::scope(|scope| {
            for slice in pair {
                scope.spawn(|| engine.load_slice(load, slice, &progress).expect("a slice"));
            }
        });
    }
    let layout = engine.finish_schema(load, schema).expect("all slices are there");
    assert!(layout.one_row_per_block(), "{layout:?}");
    assert_eq!(layout.rows, load.scale);
}

/// The session scans and updates.
pub fn session_plan(load: &Load, number: u32, redo: RedoStress) -> SessionPlan {
    let update_text = Arc::new(load.content().update_text());
    let (home, redo) = (FIRST, Some(redo));
    SessionPlan { attempt: 0, number, home, hot_schema: false, scans: true, redo, update_text }
}

/// A session of schema 2 with operations on the hot schema 1.
pub fn plan_beside_hot(number: u32, redo: Option<RedoStress>) -> SessionPlan {
    let home = schema(2);
    let plan = session_plan(&LOAD, number, RedoStress::Lite);
    SessionPlan { home, hot_schema: true, scans: false, redo, ..plan }
}

pub fn session(engine: &dyn Engine, number: u32, redo: RedoStress) -> Result<Box<dyn Session>> {
    engine.session(&session_plan(&LOAD, number, redo))
}

/// Rows lie anywhere in a table of `scale`.
pub fn workload(scale: u64, update_pct: u8, unit: u16) -> Workload {
    let unit = WorkUnit::new(unit).expect("a work unit");
    let update_pct = Percent::new(update_pct).expect("a percentage");
    Workload { update_pct, ..Workload::selects(scale, unit) }
}

/// Each `nonce` writes other values.
pub fn batch(update_pct: u8, unit: u16, nonce: u64, count: usize) -> Batch {
    planned(workload(LOAD.scale, update_pct, unit), nonce, 0, count)
}

/// No pause follows.
pub fn select(first: u64, blocks: u16) -> Op {
    Op { action: Action::Select(KeyRange { first, blocks }), schema: FIRST, pause_us: 0, commits: true }
}

pub fn executed(session: &mut dyn Session, batch: &Batch, deadline: Option<Instant>) -> Outcome {
    let mut outcome = Outcome::new();
    session.execute(batch, deadline, &mut outcome).expect("it runs");
    for (op, done) in batch.ops().iter().zip(outcome.ops()) {
        assert!(op.rows().is_none_or(|rows| rows == done.rows), "{op} saw {} rows", done.rows);
    }
    outcome
}

/// The error is of that kind, and says all these words.
#[track_caller]
pub fn assert_says(error: &EngineError, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    let said = error.to_string();
    words.iter().for_each(|words| assert!(said.contains(words), "no '{words}' in {said}"));
}

pub fn took(outcome: &Outcome) -> u64 {
    outcome.ops().iter().map(|op| op.duration_ns).sum()
}

/// An even number has the one behind the middle.
pub fn median(mut of: Vec<u64>) -> u64 {
    of.sort_unstable();
    of[of.len() / 2]
}

pub fn planned(workload: Workload, nonce: u64, session: u32, count: usize) -> Batch {
    let mut batch = Batch::default();
    Planner::new(Workload { seed: nonce, nonce, ..workload }, session, FIRST).fill(&mut batch, count);
    batch
}
