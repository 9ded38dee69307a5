//! Loading, listing, reading back, removing.

use slob_method::{RowState, SchemaNo, Table};

use super::{LOAD, SCHEMAS, Subject, Verdict, ensure, second, text, verify};
use crate::{Engine, ErrorKind, Layout, LoadProgress, LoadState};

pub(super) fn describes_itself(subject: &Subject<'_>) -> Verdict {
    let server = subject.engine()?.server().map_err(text)?;
    ensure(!server.product.is_empty() && !server.version.is_empty(), || "no product or version".into())?;
    ensure(server.block_bytes.is_power_of_two() && server.block_bytes >= 512, || {
        format!("a block of {} bytes", server.block_bytes)
    })
}

pub(super) fn starts_empty(subject: &Subject<'_>) -> Verdict {
    ensure(subject.engine()?.schemas().map_err(text)?.is_empty(), || "there are schemas".into())
}

/// Loads schema 1 whole; schema 2 up to the first slice, then with a load that is told to stop, then the rest
/// after opening the target again.
pub(super) fn loads_and_resumes(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    let progress = load_whole(engine.as_ref(), SchemaNo::FIRST)?;
    ensure(progress.rows() == LOAD.scale + LOAD.scan_blocks, || {
        format!("progress counted {} rows", progress.rows())
    })?;

    let slices: Vec<_> = LOAD.slices(second()?).collect();
    engine.create_schema(&LOAD, second()?).map_err(text)?;
    engine.load_slice(&LOAD, &slices[0], &progress).map_err(text)?;
    if subject.stores_data()? {
        let stopped = LoadProgress::default();
        stopped.stop();
        let error = engine.load_slice(&LOAD, &slices[1], &stopped).err();
        ensure(error.as_ref().map(crate::EngineError::kind) == Some(ErrorKind::Cancelled), || {
            format!("a stopped load ended with {error:?}")
        })?;
        drop(engine);
        let states = subject.engine()?.schemas().map_err(text)?;
        let state = states.get(1).map(|state| &state.state);
        ensure(state == Some(&LoadState::Begun(vec![slices[0].clone()])), || {
            format!("after a stop the second schema is {state:?}")
        })?;
    }
    let engine = subject.engine()?;
    for slice in &slices[1..] {
        engine.load_slice(&LOAD, slice, &progress).map_err(text)?;
    }
    check_layout(engine.finish_schema(&LOAD, second()?).map_err(text)?)?;
    // Cut off after its work but before its caller heard of it, it must be able to do it again.
    check_layout(engine.finish_schema(&LOAD, second()?).map_err(text)?)
}

/// Loads a schema from its beginning to its end.
pub(super) fn load_whole(engine: &dyn Engine, schema: SchemaNo) -> Result<LoadProgress, String> {
    let progress = LoadProgress::default();
    engine.create_schema(&LOAD, schema).map_err(text)?;
    for slice in LOAD.slices(schema) {
        engine.load_slice(&LOAD, &slice, &progress).map_err(text)?;
    }
    check_layout(engine.finish_schema(&LOAD, schema).map_err(text)?)?;
    Ok(progress)
}

fn check_layout(layout: Layout) -> Verdict {
    ensure(layout.rows == LOAD.scale, || format!("{} rows instead of {}", layout.rows, LOAD.scale))
}

pub(super) fn lists_what_it_loaded(subject: &Subject<'_>) -> Verdict {
    if !subject.stores_data()? {
        return Ok(());
    }
    let states = subject.engine()?.schemas().map_err(text)?;
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

pub(super) fn one_row_per_block(subject: &Subject<'_>) -> Verdict {
    for state in subject.engine()?.schemas().map_err(text)? {
        if let LoadState::Complete(layout) = state.state {
            ensure(layout.one_row_per_block(), || {
                format!("{} rows lie in {} blocks", layout.rows, layout.row_blocks)
            })?;
            ensure(layout.all_blocks > layout.row_blocks, || "scan table and index take no block".into())?;
        }
    }
    Ok(())
}

pub(super) fn refuses_to_replace(subject: &Subject<'_>) -> Verdict {
    if !subject.stores_data()? {
        return Ok(());
    }
    let result = subject.engine()?.create_schema(&LOAD, SchemaNo::FIRST);
    ensure(result.is_err(), || "schema 1 was created a second time".into())?;
    reads_back(subject)
}

pub(super) fn reads_back(subject: &Subject<'_>) -> Verdict {
    if !subject.stores_data()? {
        return Ok(());
    }
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

pub(super) fn drops(subject: &Subject<'_>) -> Verdict {
    let engine = subject.engine()?;
    engine.drop_schema(SchemaNo::FIRST).map_err(text)?;
    if subject.stores_data()? {
        let left: Vec<_> =
            engine.schemas().map_err(text)?.into_iter().map(|state| state.schema.get()).collect();
        ensure(left == [2], || format!("after dropping schema 1 the schemas are {left:?}"))?;
        let again = engine.drop_schema(SchemaNo::FIRST);
        ensure(again.is_err(), || "a schema that is not there was dropped".into())?;
    }
    engine.drop_schema(second()?).map_err(text)?;
    ensure(engine.schemas().map_err(text)?.is_empty(), || "schemas are left".into())
}
