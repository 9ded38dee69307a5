//! What a load has to do: everything that was asked for and is not there yet.

use std::collections::VecDeque;
use std::fmt::Display;
use std::path::PathBuf;
use std::thread;

use slob_engine::{Capabilities, Engine, Load, LoadState, Server, Slice};
use slob_method::SchemaNo;
use slob_spec::LoadSpec;

use crate::RunError;
use crate::data_here::DataHere;
use crate::loader_slices::Slicing;
use crate::loader_space::{check_room, check_space};
use crate::prepare::check_block_size;
use crate::random::fresh_seed;

/// A load that can begin.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The decisions of the load.
    pub load: Load,
    /// Streams at work.
    pub streams: usize,
    /// Schemas that lack something, each with the slices that it lacks.
    pub(crate) work: VecDeque<SchemaWork>,
    /// Schemas that are complete.
    pub(crate) complete: usize,
    /// Whether slices of one schema may be loaded at the same time.
    pub(crate) parallel_slices: bool,
    /// Bytes of a block.
    pub(crate) block_bytes: u32,
    /// Rows whose room is free again once what can't be relied on is removed.
    freed: u64,
    /// Where the data are, on this machine.
    pub(crate) data_path: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub(crate) struct SchemaWork {
    pub(crate) schema: SchemaNo,
    pub(crate) start: Start,
    /// The decisions that it was begun with.
    pub(crate) load: Load,
    pub(crate) slices: VecDeque<Slice>,
}

/// What comes before the slices of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It does not exist yet.
    Create,
    /// What is there can't be relied on: it is removed first.
    Replace,
    /// It exists.
    Resume,
}

impl LoadPlan {
    /// Schemas that are loaded again from their start, because what is there may never have reached the disk.
    pub fn replaced(&self) -> impl Iterator<Item = SchemaNo> {
        self.work.iter().filter(|work| work.start == Start::Replace).map(|work| work.schema)
    }

    /// Rows that are to be loaded.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let slices = self.work.iter().flat_map(|work| &work.slices);
        slices.map(rows_of).sum()
    }

    /// Bytes of the blocks of these rows.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.rows() * u64::from(self.block_bytes)
    }

    /// Checks that they fit into what is free at a place, wherever that is.
    ///
    /// # Errors
    /// With [`crate::RunErrorKind::Usage`] and the figures.
    pub fn check_room(&self, place: &dyn Display, free_bytes: u64) -> Result<(), RunError> {
        check_room(place, free_bytes, self.needed_bytes())
    }

    fn needed_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.freed * u64::from(self.block_bytes))
    }

    /// Bytes of the blocks of the largest slice: what each stream loads again at most after it was cut off.
    #[must_use]
    pub fn slice_bytes(&self) -> u64 {
        let slices = self.work.iter().flat_map(|work| &work.slices);
        slices.map(rows_of).max().unwrap_or(0) * u64::from(self.block_bytes)
    }
}

/// Streams that wait for the device most of the time keep it busy only if there are more of them than CPUs.
fn streams(spec: &LoadSpec, server: &Capabilities) -> usize {
    let asked = spec.streams.get() as usize;
    if spec.streams_are_set || !server.loads_wait_for_blocks {
        return asked;
    }
    asked.max(2 * thread::available_parallelism().map_or(1, usize::from))
}

pub(crate) fn rows_of(slice: &Slice) -> u64 {
    slice.positions.end - slice.positions.start
}

/// Compares what is asked for with what is there. Changes nothing.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] if what is there was loaded with other parameters, or there is no room.
pub fn plan_load(engine: &dyn Engine, spec: &LoadSpec) -> Result<LoadPlan, RunError> {
    let server = engine.server().map_err(|error| RunError::while_preparing(&error))?;
    let mut plan = plan_load_anywhere(engine, spec, &server)?;
    plan.data_path = DataHere::find(engine, server.capabilities.embedded).ok().map(|data| data.path);
    if let Some(path) = &plan.data_path {
        check_space(path, plan.needed_bytes())?;
    }
    Ok(plan)
}

/// The same where the server is known already, without a look at what its host has room for.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] if what is there was loaded with other parameters.
pub fn plan_load_anywhere(
    engine: &dyn Engine,
    spec: &LoadSpec,
    server: &Server,
) -> Result<LoadPlan, RunError> {
    check_block_size(spec.block_sz, server.block_bytes)?;
    let states = engine.schemas().map_err(|error| RunError::while_preparing(&error))?;
    let count = u16::try_from(spec.schemas.get()).map_err(|_| RunError::usage("too many schemas"))?;
    let mut load = wanted(spec, server.block_bytes);
    if let Some(first) = states.first() {
        // More schemas for a target that has some: they belong to the same load.
        load.seed = spec.seed.unwrap_or(first.load.seed);
    }
    load.slice_rows = Slicing {
        whole_tables: server.capabilities.whole_tables,
        rows: load.scale.max(load.scan_blocks),
        block_bytes: server.block_bytes,
    }
    .rows_of_slice();
    let mut plan = LoadPlan {
        load,
        streams: streams(spec, &server.capabilities),
        work: VecDeque::new(),
        complete: 0,
        parallel_slices: server.capabilities.parallel_slices,
        block_bytes: server.block_bytes,
        freed: 0,
        data_path: None,
    };
    for schema in SchemaNo::up_to(count) {
        let state = states.iter().find(|state| state.schema == schema);
        if let Some(state) = state {
            check_same(schema, &state.load, &load)?;
        }
        let (start, load, done) = match state.map(|state| (&state.state, state.load)) {
            Some((LoadState::Complete(_), _)) => {
                plan.complete += 1;
                continue;
            }
            Some((state @ LoadState::Damaged, _)) => {
                let lack = state.lack(format_args!("schema {schema}"));
                return Err(RunError::usage(lack.map_or_else(String::new, |lack| lack.to_string())));
            }
            // By the slices of the load that was begun, whatever the size of new ones.
            Some((LoadState::Begun(done), begun)) => (Start::Resume, begun, done.as_slice()),
            Some((LoadState::Unsynced(there), _)) => {
                plan.freed += there.iter().map(rows_of).sum::<u64>();
                (Start::Replace, load, [].as_slice())
            }
            None => (Start::Create, load, [].as_slice()),
        };
        let slices = load.slices(schema).filter(|slice| !done.contains(slice)).collect();
        plan.work.push_back(SchemaWork { schema, start, load, slices });
    }
    Ok(plan)
}

/// The decisions of a new load, but for the size of its slices.
pub(crate) fn wanted(spec: &LoadSpec, block_bytes: u32) -> Load {
    Load {
        seed: spec.seed.unwrap_or_else(fresh_seed),
        scale: spec.scale.blocks(block_bytes),
        scan_blocks: spec.scan_table.map_or(0, |size| size.blocks(block_bytes)),
        obfuscated: spec.obfuscate,
        // Decided when it is known what is there.
        slice_rows: 0,
    }
}

fn check_same(schema: SchemaNo, there: &Load, wanted: &Load) -> Result<(), RunError> {
    let differs = |key: &str, there: &dyn std::fmt::Display, wanted: &dyn std::fmt::Display| {
        Err(RunError::usage(format!(
            "schema {schema} is already there, loaded with {key}={there}, not {wanted}; load with {key}={there}, \
             or remove the schemas first with `slob drop`"
        )))
    };
    if there.scale != wanted.scale {
        return differs("SCALE", &there.scale, &wanted.scale);
    }
    if there.scan_blocks != wanted.scan_blocks {
        return differs("SCAN_TABLE_SZ", &there.scan_blocks, &wanted.scan_blocks);
    }
    if there.obfuscated != wanted.obfuscated {
        return differs("OBFUSCATE_COLUMNS", &there.obfuscated, &wanted.obfuscated);
    }
    if there.seed != wanted.seed {
        return differs("SEED", &there.seed, &wanted.seed);
    }
    Ok(())
}
