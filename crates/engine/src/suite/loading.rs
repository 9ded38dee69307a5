//! Checks of loading, listing, reading back and removing.

use slob_method::{RowState, SchemaNo, Table};

use super::{Checked, LOAD, SCHEMAS, Subject, ensure, second, verify};
use crate::{Engine, EngineError, ErrorKind, Layout, LoadProgress, LoadState};

pub(super) fn describes_itself(subject: &Subject<'_>) -> Checked {
    let server = subject.engine()?.server()?;
    ensure(!server.product.is_empty() && !server.version.is_empty(), || "no product or version".into())?;
    ensure(server.block_bytes.is_power_of_two() && server.block_bytes >= 512, || {
        format!("a block of {} bytes", server.block_bytes)
    })
}

/// Schema 2 is stopped during its load, and resumed after opening the target again.
pub(super) fn loads_and_resumes(subject: &Subject<'_>) -> Checked {
    let engine = subject.engine()?;
    let progress = load_whole(engine.as_ref(), SchemaNo::FIRST)?;
    ensure(progress.rows() == LOAD.scale + LOAD.scan_blocks, || {
        format!("progress counted {} rows", progress.rows())
    })?;

    let slices: Vec<_> = LOAD.slices(second()?).collect();
    engine.create_schema(&LOAD, second()?)?;
    engine.load_slice(&LOAD, &slices[0], &progress)?;
    if subject.stores_data()? {
        let stopped = LoadProgress::default();
        stopped.stop();
        let error = engine.load_slice(&LOAD, &slices[1], &stopped).err();
        ensure(error.as_ref().map(EngineError::kind) == Some(ErrorKind::Cancelled), || {
            format!("a stopped load ended with {error:?}")
        })?;
        drop(engine);
        let states = subject.engine()?.schemas()?;
        let state = states.get(1).map(|state| &state.state);
        ensure(state == Some(&LoadState::Begun(vec![slices[0].clone()])), || {
            format!("after a stop the second schema is {state:?}")
        })?;
    }
    let engine = subject.engine()?;
    for slice in &slices[1..] {
        engine.load_slice(&LOAD, slice, &progress)?;
    }
    check_layout(engine.finish_schema(&LOAD, second()?)?)?;
    check_layout(engine.finish_schema(&LOAD, second()?)?)
}

fn load_whole(engine: &dyn Engine, schema: SchemaNo) -> Checked<LoadProgress> {
    let progress = LoadProgress::default();
    engine.create_schema(&LOAD, schema)?;
    for slice in LOAD.slices(schema) {
        engine.load_slice(&LOAD, &slice, &progress)?;
    }
    check_layout(engine.finish_schema(&LOAD, schema)?)?;
    Ok(progress)
}

fn check_layout(layout: Layout) -> Checked {
    ensure(layout.rows == LOAD.scale, || format!("{} rows instead of {}", layout.rows, LOAD.scale))
}

pub(super) fn lists_what_it_loaded(subject: &Subject<'_>) -> Checked {
    let states = subject.engine()?.schemas()?;
    let numbers: Vec<_> = states.iter().map(|state| state.schema.get()).collect();
    ensure(numbers == [1, 2], || format!("the schemas listed are {numbers:?}"))?;
    for state in states {
        ensure(state.load == LOAD, || format!("schema {} is listed as {:?}", state.schema, state.load))?;
        ensure(matches!(state.state, LoadState::Complete(_)), || {
            format!("schema {} is {:?}", state.schema, state.state)
        })?;
    }
    Ok(())
}

pub(super) fn one_row_per_block(subject: &Subject<'_>) -> Checked {
    for state in subject.engine()?.schemas()? {
        if let LoadState::Complete(layout) = state.state {
            ensure(layout.one_row_per_block(), || {
                format!("{} rows lie in {} blocks", layout.rows, layout.row_blocks)
            })?;
            ensure(layout.all_blocks > layout.row_blocks, || "scan table and index take no block".into())?;
        }
    }
    Ok(())
}

pub(super) fn refuses_to_replace(subject: &Subject<'_>) -> Checked {
    let result = subject.engine()?.create_schema(&LOAD, SchemaNo::FIRST);
    ensure(result.is_err(), || "schema 1 was created a second time".into())?;
    reads_back(subject)
}

pub(super) fn reads_back(subject: &Subject<'_>) -> Checked {
    let engine = subject.engine()?;
    for schema in SchemaNo::up_to(SCHEMAS) {
        for table in [Table::Main, Table::Scan] {
            let mut changed = 0;
            verify(engine.as_ref(), schema, table, &mut |_, state| {
                changed += u32::from(state != RowState::Loaded);
            })?;
            ensure(changed == 0, || format!("{changed} rows of a fresh {} are changed", table.name()))?;
        }
    }
    Ok(())
}

pub(super) fn drops(subject: &Subject<'_>) -> Checked {
    let engine = subject.engine()?;
    engine.drop_schema(SchemaNo::FIRST)?;
    if subject.stores_data()? {
        let left: Vec<_> = engine.schemas()?.into_iter().map(|state| state.schema.get()).collect();
        ensure(left == [2], || format!("after dropping schema 1 the schemas are {left:?}"))?;
        let again = engine.drop_schema(SchemaNo::FIRST);
        ensure(again.is_err(), || "a schema that is not there was dropped".into())?;
    }
    engine.drop_schema(second()?)?;
    ensure(engine.schemas()?.is_empty(), || "schemas are left".into())
}
