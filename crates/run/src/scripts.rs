//! What a load or a run would execute, written down without a connection, where the engine can do that.

use std::sync::Arc;

use slob_engine::{EngineKind, Load, OpenSpec, PlannedLoad, RunExtras, RunPlan, Scripts, SessionPlan};
use slob_method::{RowContent, SchemaNo};
use slob_spec::{LoadSpec, RunSpec};

use crate::RunError;
use crate::loader_plan::wanted;
use crate::loader_slices::Slicing;

/// All statements of a load, as if nothing were there yet.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] if the engine can't write them down, or not these.
pub fn script_of_load(engine: &EngineKind, open: &OpenSpec, spec: &LoadSpec) -> Result<String, RunError> {
    let (load, schemas) = planned(spec)?;
    let plan = PlannedLoad { load: &load, schemas: &schemas, block_bytes: spec.block_bytes() };
    let text = (scripts(engine)?.load)(open, &plan);
    text.map_err(|error| RunError::while_preparing(&error))
}

/// What prepares a server for the planned load, and for so many sessions at once.
///
/// # Errors
/// As [`script_of_load`].
pub fn script_of_server(
    engine: &EngineKind,
    open: &OpenSpec,
    spec: &LoadSpec,
    sessions: u32,
) -> Result<String, RunError> {
    let (load, schemas) = planned(spec)?;
    let plan = PlannedLoad { load: &load, schemas: &schemas, block_bytes: spec.block_bytes() };
    let text = (scripts(engine)?.init)(open, &plan, sessions);
    text.map_err(|error| RunError::while_preparing(&error))
}

/// All statements of a run: those before it, and those of one of its sessions, whose texts differ from the others' by the
/// schema only.
///
/// # Errors
/// As [`script_of_load`].
pub fn script_of_run(engine: &EngineKind, open: &OpenSpec, spec: &RunSpec) -> Result<String, RunError> {
    let schemas = numbers(spec.schemas.get())?;
    let redo = (spec.update_pct.get() > 0).then_some(spec.redo);
    let scans = spec.scan_pct.get() > 0 && spec.update_pct.get() < 100;
    let plan = RunPlan { schemas: &schemas, sessions: spec.sessions(), redo, scans, stop: None };
    let session = SessionPlan {
        number: 0,
        attempt: 0,
        // The last one, so that operations on the hot schema are another schema's.
        home: schemas.last().copied().unwrap_or(SchemaNo::FIRST),
        hot_schema: spec.hot_schema_every.is_some(),
        scans,
        redo,
        update_text: Arc::new(RowContent::new(spec.seed.unwrap_or_default(), false).update_text()),
    };
    let extras = RunExtras { pauses: spec.think.is_some(), server_report: spec.statistics_type };
    let text = (scripts(engine)?.run)(open, &plan, &session, extras);
    text.map_err(|error| RunError::while_preparing(&error))
}

fn scripts(engine: &EngineKind) -> Result<&'static Scripts, RunError> {
    engine.scripts.ok_or_else(|| {
        RunError::usage(format!(
            "the engine of '{}:' can't write down its statements without a connection; leave out --print-sql",
            engine.scheme
        ))
    })
}

fn planned(spec: &LoadSpec) -> Result<(Load, Vec<SchemaNo>), RunError> {
    let mut load = wanted(spec, spec.block_bytes());
    let rows = load.scale.max(load.scan_blocks);
    load.slice_rows = Slicing { whole_tables: false, rows, block_bytes: spec.block_bytes() }.rows_of_slice();
    Ok((load, numbers(spec.schemas.get())?))
}

fn numbers(count: u32) -> Result<Vec<SchemaNo>, RunError> {
    let count = u16::try_from(count).map_err(|_| RunError::usage("too many schemas"))?;
    Ok(SchemaNo::up_to(count).collect())
}
