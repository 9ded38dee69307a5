//! All statements of a load or a run, written down without a connection, for engines that support it.

use std::sync::Arc;

use slob_engine::{
    EngineError, EngineKind, Load, OpenSpec, PlannedLoad, RunExtras, RunPlan, Scripts, SessionPlan,
};
use slob_method::{RowContent, SchemaNo};
use slob_spec::{LoadSpec, RunSpec};

use crate::RunError;
use crate::load::{new_load, rows_of_slice};
use crate::prepare::schema_count;

/// The statements of a load into an empty target.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] if the engine can't write them down.
pub fn script_of_load(engine: &EngineKind, open: &OpenSpec, spec: &LoadSpec) -> Result<String, RunError> {
    let (load, schemas) = planned(spec)?;
    let plan = PlannedLoad { load: &load, schemas: &schemas, block_bytes: spec.block_bytes() };
    write_down(engine, |scripts| (scripts.load)(open, &plan))
}

/// The statements that prepare a server for a load and for that many sessions. Errors as of [`script_of_load`].
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

/// The statements before a run, and those of one session: other sessions differ only in their schema. Errors as of
/// [`script_of_load`].
pub fn script_of_run(engine: &EngineKind, open: &OpenSpec, spec: &RunSpec) -> Result<String, RunError> {
    let schemas = schemas(spec.schemas.get())?;
    let redo = (spec.update_pct.get() > 0).then_some(spec.redo);
    let scans = spec.scan_pct.get() > 0 && spec.update_pct.get() < 100;
    let plan = RunPlan { schemas: &schemas, sessions: spec.sessions(), redo, scans, stop: None };
    let session = SessionPlan {
        number: 0,
        attempt: 0,
        // The last schema, so that operations on the hot schema go to another one.
        home: schemas.last().copied().unwrap_or(SchemaNo::FIRST),
        hot_schema: spec.hot_schema_every.is_some(),
        scans,
        redo,
        update_text: Arc::new(RowContent::new(spec.seed.unwrap_or_default(), false).update_text()),
    };
    let extras = RunExtras { pauses: spec.think.is_some(), server_report: spec.statistics_type };
    write_down(engine, |scripts| (scripts.run)(open, &plan, &session, extras))
}

fn write_down(
    engine: &EngineKind,
    script: impl FnOnce(&Scripts) -> Result<String, EngineError>,
) -> Result<String, RunError> {
    let scripts = engine.scripts.ok_or_else(|| {
        RunError::usage(format!(
            "the engine of '{}:' can't write down its statements without a connection; leave out --print-sql",
            engine.scheme
        ))
    })?;
    script(scripts).map_err(|error| RunError::while_preparing(&error))
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
