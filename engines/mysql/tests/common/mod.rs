//! What the tests of this engine share.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::sync::Arc;

use slob_engine::{
    Engine, EngineError, Load, LoadProgress, OpenSpec, Purpose, RunPlan, Session, SessionPlan,
};
use slob_engine_mysql::KIND;
use slob_method::{Batch, PlanSeed, Planner, SchemaNo, Workload};
use slob_spec::{EngineOptions, Percent, RedoStress, RunSpec, Settings, Table, WorkUnit};

use crate::server::MariaDb;

/// Four slices of the main table, which are loaded one by one, and a scan table in a single one.
pub(crate) const LOAD: Load =
    Load { seed: 7, scale: 1000, scan_blocks: 50, obfuscated: false, slice_rows: 256 };
pub(crate) const FIRST: SchemaNo = SchemaNo::FIRST;

/// The engine's options as flags give them.
pub(crate) fn options(flags: &[(&str, &str)]) -> EngineOptions {
    let table = Table::new("mysql://localhost", &[KIND.params]);
    let flags: Vec<_> = flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let resolved = Settings::resolve(&table, None, &[], &flags).expect("sound settings");
    RunSpec::from_settings(&resolved.settings).expect("a sound run").spec.options
}

pub(crate) fn open(target: &str, options: &EngineOptions) -> Result<Box<dyn Engine>, EngineError> {
    let target = target.parse().expect("a target");
    (KIND.open)(&OpenSpec::new(target, Purpose::Load, options.clone()))
}

/// A run of one session on the first schema.
pub(crate) const RUN: RunPlan<'_> =
    RunPlan { schemas: &[FIRST], sessions: 1, redo: Some(RedoStress::Lite), scans: false, stop: None };

/// A server with one schema, and the engine of an account that has what the documentation asks for.
pub(crate) struct Loaded {
    pub(crate) server: MariaDb,
    pub(crate) target: String,
    pub(crate) engine: Box<dyn Engine>,
}

pub(crate) fn loaded(settings: &[&str], flags: &[(&str, &str)]) -> Option<Loaded> {
    let server = MariaDb::start_or_skip(settings)?;
    let target = server.plain_target();
    let engine = open(&target, &options(flags)).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    Some(Loaded { server, target, engine })
}

impl Loaded {
    pub(crate) fn as_administrator(&self) -> Box<dyn Engine> {
        open(&self.server.target("root"), &options(&[])).expect("it opens")
    }
}

/// Loads a schema with two streams at a time.
pub(crate) fn load_schema(engine: &dyn Engine, load: &Load, schema: SchemaNo) {
    engine.create_schema(load, schema).expect("an empty place");
    let slices: Vec<_> = load.slices(schema).collect();
    let progress = LoadProgress::default();
    for pair in slices.chunks(2) {
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

pub(crate) fn session(
    engine: &dyn Engine,
    number: u32,
    redo: RedoStress,
) -> Result<Box<dyn Session>, EngineError> {
    let update_text = Arc::new(LOAD.content().update_text());
    engine.session(&SessionPlan {
        attempt: 0,
        number,
        home: FIRST,
        hot_schema: false,
        scans: true,
        redo: Some(redo),
        update_text,
    })
}

/// Operations on the first schema.
pub(crate) fn batch(update_pct: u8, unit: u16, nonce: u64, count: usize) -> Batch {
    let unit = WorkUnit::new(unit).expect("a work unit");
    let workload = Workload {
        scale: LOAD.scale,
        update_pct: Percent::new(update_pct).expect("a percentage"),
        scan_pct: Percent::new(0).expect("a percentage"),
        select_unit: unit,
        update_unit: unit,
        redo: RedoStress::Lite,
        hot_spot: None,
        hot_schema_every: None,
        think: None,
    };
    let mut batch = Batch::default();
    Planner::new(workload, PlanSeed { seed: nonce, nonce }, 0, FIRST).fill(&mut batch, count);
    batch
}
