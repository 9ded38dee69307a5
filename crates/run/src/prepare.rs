//! Checks before a run changes anything, and its statements as a script.

use std::sync::Arc;

use slob_engine::{
    Engine, EngineKind, Load, OpenSpec, PlannedLoad, Result, RunExtras, RunPlan, SchemaState, Scripts,
    Server, SessionPlan,
};
use slob_host::ThreadLimit;
use slob_method::{RowContent, SchemaNo};
use slob_spec::{LoadSpec, Observe, Observers, RunSpec, Target, Workload};

use crate::load::{check_block_size, fresh_seed, new_load, rows_of_slice, schema_count};
use crate::page_cache::PageCache;
use crate::sampler::Topology;
use crate::{ExternalScript, RunError};

#[derive(Clone, Debug)]
pub struct Prepared {
    pub server: Server,
    /// All complete; empty if the engine stores no data.
    pub schemas: Vec<SchemaState>,
    pub workload: Workload,
    /// The index is the session number.
    pub homes: Vec<SchemaNo>,
    pub script: Option<ExternalScript>,
}

impl Prepared {
    pub fn page_cache(&self, topology: &Topology, target: &Target) -> Option<PageCache> {
        let layouts = self.schemas.iter().filter_map(|state| state.state.layout());
        let blocks: u64 = layouts.map(|layout| layout.all_blocks).sum();
        PageCache::of(
            &self.server,
            topology,
            target,
            blocks.saturating_mul(u64::from(self.server.block_bytes)),
            0,
        )
    }
}

/// Fails with [`crate::RunErrorKind::Usage`] and the remedy if the run is impossible.
pub fn prepare(engine: &dyn Engine, spec: &RunSpec) -> Result<Prepared, RunError> {
    let server = engine.server().map_err(RunError::while_preparing)?;
    check_block_size(spec.block_sz, server.block_bytes)?;
    let schema_count = schema_count(spec.workload.schemas.get())?;
    let seed = spec.seed.unwrap_or_else(fresh_seed);
    let workload = spec.workload(server.block_bytes, seed, fresh_seed());
    workload.check().map_err(|error| RunError::usage(error.to_string()))?;
    let schemas = if server.capabilities.stores_data {
        let states = engine.schemas().map_err(RunError::while_preparing)?;
        usable_schemas(states, schema_count, &workload)?
    } else {
        Vec::new()
    };
    check_observers(engine, &spec.observe)?;
    let homes: Vec<SchemaNo> = homes_of(spec, schema_count).collect();
    check_thread_limits(homes.len() as u64, &server)?;
    let script = spec.external_script.as_deref();
    let script = script.map(|path| ExternalScript::new(path, &spec.results_dir)).transpose()?;
    Ok(Prepared { server, schemas, workload, homes, script })
}

/// Round-robin, so that the first sessions share no schema.
pub(crate) fn homes_of(spec: &RunSpec, schemas: u16) -> impl Iterator<Item = SchemaNo> {
    (0..spec.workload.threads_per_schema.get()).flat_map(move |_| SchemaNo::up_to(schemas))
}

fn check_thread_limits(sessions: u64, server: &Server) -> Result<(), RunError> {
    let connections = u64::from(!server.capabilities.embedded);
    slob_host::check_thread_limits(sessions, connections).map_err(|ThreadLimit { limit, most, remedy }| {
        RunError::usage(format!(
            "{sessions} sessions do not fit on this machine: {limit}; {remedy}, or run with at most {most} sessions (fewer \
             schemas or threads)"
        ))
    })
}

/// OBSERVE names one observer for all endpoints or one for each. Processes must exist.
pub(crate) fn check_observers(engine: &dyn Engine, observers: &Observers) -> Result<(), RunError> {
    let (endpoints, count) = (engine.endpoints().len().max(1), observers.count());
    if count != 1 && count != endpoints {
        return Err(RunError::usage(format!(
            "OBSERVE names {count} observers for {endpoints} endpoints; name one for all, or one for each"
        )));
    }
    for observe in observers.iter() {
        if let Observe::Pid(pid) = observe {
            slob_host::process_clock(*pid).map_err(|error| {
                RunError::usage(format!(
                    "OBSERVE={observe}: {error}; name the first process of the server, or use OBSERVE=auto"
                ))
            })?;
        }
    }
    Ok(())
}

/// Fails unless schemas `1..=count` are complete.
fn usable_schemas(
    states: Vec<SchemaState>,
    count: u16,
    workload: &Workload,
) -> Result<Vec<SchemaState>, RunError> {
    let total = states.len();
    let used: Vec<_> = states.into_iter().filter(|state| state.schema.get() <= count).collect();
    let missing = SchemaNo::up_to(count).find(|number| used.iter().all(|state| state.schema != *number));
    if let Some(number) = missing {
        return Err(RunError::usage(format!(
            "schema {number} is not loaded (the target holds {total} of the {count} that this run needs); \
             load it with `slob setup {count}`, or run with fewer schemas"
        )));
    }
    for state in &used {
        check_schema(state, workload)?;
    }
    if let Some(other) = used.iter().find(|state| state.load != used[0].load) {
        return Err(RunError::usage(format!(
            "schema {} was loaded with other parameters than schema 1, so they can't be used in one run; \
             drop it and load it again",
            other.schema
        )));
    }
    Ok(used)
}

fn check_schema(state: &SchemaState, workload: &Workload) -> Result<(), RunError> {
    let number = state.schema;
    if let Some(lack) = state.state.unusable(format_args!("schema {number}")) {
        return Err(RunError::usage(lack.to_string()));
    }
    if let Some(layout) = state.state.layout().filter(|layout| !layout.one_row_per_block()) {
        return Err(RunError::usage(format!(
            "schema {number} does not hold one row per block ({} rows in {} blocks), so operations would not touch \
             what they should; drop it and load it again",
            layout.rows, layout.row_blocks
        )));
    }
    if workload.scale_blocks > state.load.scale {
        return Err(RunError::usage(format!(
            "SCALE is {} blocks, but schema {number} was loaded with {}; set SCALE={} or lower, or drop the \
             schemas and load them with the larger scale",
            workload.scale_blocks, state.load.scale, state.load.scale
        )));
    }
    if !workload.scan_pct.is_zero() && state.load.scan_blocks == 0 {
        return Err(RunError::usage(format!(
            "SCAN_PCT is {}, but schema {number} was loaded without a scan table; set SCAN_PCT=0, or load with \
             SCAN_TABLE_SZ above 0",
            workload.scan_pct
        )));
    }
    Ok(())
}

/// The target is empty. Fails with [`crate::RunErrorKind::Usage`] if the engine can't write statements down.
pub fn script_of_load(engine: &EngineKind, open: &OpenSpec, spec: &LoadSpec) -> Result<String, RunError> {
    let (load, schemas) = planned(spec)?;
    let plan = PlannedLoad { load: &load, schemas: &schemas, block_bytes: spec.block_bytes() };
    write_down(engine, |scripts| (scripts.load)(open, &plan))
}

/// Prepares for a load and that many sessions. Fails as [`script_of_load`].
pub fn script_of_server(
    engine: &EngineKind,
    open: &OpenSpec,
    spec: &LoadSpec,
    sessions: u32,
) -> Result<String, RunError> {
    let (load, schemas) = planned(spec)?;
    let plan = PlannedLoad { load: &load, schemas: &schemas, block_bytes: spec.block_bytes() };
    write_down(engine, |scripts| (scripts.init)(open, &plan, sessions))
}

/// Other sessions differ only in their schema. Fails as [`script_of_load`].
pub fn script_of_run(engine: &EngineKind, open: &OpenSpec, spec: &RunSpec) -> Result<String, RunError> {
    let workload = &spec.workload;
    let schemas = schemas(workload.schemas.get())?;
    let (redo, scans) = (workload.redo_of_updates(), workload.scans());
    let plan = RunPlan { schemas: &schemas, sessions: workload.sessions(), redo, scans, stop: None };
    let session = SessionPlan {
        number: 0,
        attempt: 0,
        // Operations on the hot schema then go to another schema.
        home: schemas.last().copied().unwrap_or(SchemaNo::FIRST),
        hot_schema: workload.hot_schema_every.is_some(),
        scans,
        redo,
        update_text: Arc::new(RowContent::new(spec.seed.unwrap_or_default(), false).update_text()),
    };
    let extras = RunExtras { pauses: workload.think_time.is_some(), server_report: spec.statistics_type };
    write_down(engine, |scripts| (scripts.run)(open, &plan, &session, extras))
}

fn write_down(
    engine: &EngineKind,
    script: impl FnOnce(&Scripts) -> Result<String>,
) -> Result<String, RunError> {
    let scripts = engine.scripts.ok_or_else(|| {
        RunError::usage(format!(
            "the engine of '{}:' can't write down its statements without a connection; leave out --print-sql",
            engine.scheme
        ))
    })?;
    script(scripts).map_err(RunError::while_preparing)
}

fn planned(spec: &LoadSpec) -> Result<(Load, Vec<SchemaNo>), RunError> {
    let block_bytes = spec.block_bytes();
    let mut load = new_load(spec, block_bytes);
    load.slice_rows = rows_of_slice(false, load.scale.max(load.scan_blocks), block_bytes);
    Ok((load, schemas(spec.schemas.get())?))
}

fn schemas(count: u32) -> Result<Vec<SchemaNo>, RunError> {
    Ok(SchemaNo::up_to(schema_count(count)?).collect())
}
