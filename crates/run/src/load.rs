//! Loading: what is missing on a target, and the streams that load it.

use std::collections::VecDeque;
use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{
    Capabilities, Engine, EngineError, ErrorKind, Layout, Load, LoadProgress, LoadState, Result, SchemaState,
    Server, Slice,
};
use slob_host::Device;
use slob_method::SchemaNo;
use slob_observe::{NEVER, Observer};
use slob_spec::{LoadSpec, Size};

use crate::error::panicked;
use crate::events::{LoadEvent, LoadObserver};
use crate::space::{check_free_space, check_room, nearest_existing, space_hint};
use crate::{RunError, lock};

#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub load: Load,
    pub streams: usize,
    work: Vec<SchemaWork>,
    complete: usize,
    parallel_slices: bool,
    block_bytes: u32,
    /// Schemas to remove first make room.
    freed: u64,
    data_path: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct SchemaWork {
    schema: SchemaNo,
    load: Load,
    steps: VecDeque<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Create,
    /// The data may never have reached the disk.
    Replace,
    Load(Slice),
    Finish,
}

/// Changes nothing. Fails with [`crate::RunErrorKind::Usage`] for data with other parameters, or without room.
pub fn plan_load(engine: &dyn Engine, spec: &LoadSpec) -> Result<LoadPlan, RunError> {
    let server = engine.server().map_err(RunError::while_preparing)?;
    let mut plan = LoadPlan::new(engine, spec, &server)?;
    plan.data_path = LocalData::find(engine, server.capabilities.embedded).ok().map(|data| data.path);
    if let Some(path) = &plan.data_path {
        check_free_space(path, plan.needed_bytes())?;
    }
    Ok(plan)
}

impl LoadPlan {
    /// Works as [`plan_load`], without a look at the free space.
    pub fn new(engine: &dyn Engine, spec: &LoadSpec, server: &Server) -> Result<Self, RunError> {
        let (capabilities, block_bytes) = (&server.capabilities, server.block_bytes);
        check_block_size(spec.block_sz, block_bytes)?;
        let states = engine.schemas().map_err(RunError::while_preparing)?;
        let count = schema_count(spec.schemas.get())?;
        let mut load = new_load(spec, block_bytes);
        if let Some(first) = states.first() {
            // New schemas belong to the existing load.
            load.seed = spec.seed.unwrap_or(first.load.seed);
        }
        load.slice_rows =
            rows_of_slice(capabilities.whole_tables, load.scale.max(load.scan_blocks), block_bytes);
        let mut plan = Self {
            load,
            streams: streams(spec, capabilities),
            work: Vec::new(),
            complete: 0,
            parallel_slices: capabilities.parallel_slices,
            block_bytes,
            freed: 0,
            data_path: None,
        };
        for schema in SchemaNo::up_to(count) {
            plan.add(schema, states.iter().find(|state| state.schema == schema))?;
        }
        Ok(plan)
    }

    fn add(&mut self, schema: SchemaNo, there: Option<&SchemaState>) -> Result<(), RunError> {
        let (mut first, mut load, mut done) = (Some(Step::Create), self.load, &[][..]);
        if let Some(state) = there {
            check_same(schema, &state.load, &load, self.block_bytes)?;
            match &state.state {
                LoadState::Complete(_) => {
                    self.complete += 1;
                    return Ok(());
                }
                LoadState::Damaged => {
                    let lack = state.state.unusable(format_args!("schema {schema}"));
                    return Err(RunError::usage(lack.map_or_else(String::new, |lack| lack.to_string())));
                }
                // Its slices keep their size.
                LoadState::Begun(slices) => (first, load, done) = (None, state.load, slices.as_slice()),
                LoadState::Unsynced(slices) => {
                    self.freed += slices.iter().map(rows_of).sum::<u64>();
                    first = Some(Step::Replace);
                }
            }
        }
        let slices = load.slices(schema).filter(|slice| !done.contains(slice)).map(Step::Load);
        let steps = first.into_iter().chain(slices).chain([Step::Finish]).collect();
        self.work.push(SchemaWork { schema, load, steps });
        Ok(())
    }

    pub fn replaced(&self) -> impl Iterator<Item = SchemaNo> {
        self.work.iter().filter(|work| work.steps.contains(&Step::Replace)).map(|work| work.schema)
    }

    fn resumed(&self) -> impl Iterator<Item = &SchemaWork> {
        self.work.iter().filter(|work| !matches!(work.steps.front(), Some(Step::Create | Step::Replace)))
    }

    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.work.iter().flat_map(|work| &work.steps).filter_map(|step| match step {
            Step::Load(slice) => Some(slice),
            _ => None,
        })
    }

    pub fn seed(&self) -> Option<u64> {
        self.work.first().map(|work| work.load.seed)
    }

    pub fn rows(&self) -> u64 {
        self.slices().map(rows_of).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.rows() * u64::from(self.block_bytes)
    }

    /// The most that each stream loses at a cut-off.
    fn slice_bytes(&self) -> u64 {
        self.slices().map(rows_of).max().unwrap_or(0) * u64::from(self.block_bytes)
    }

    fn needed_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.freed * u64::from(self.block_bytes))
    }

    pub fn check_room(&self, place: &dyn Display, free_bytes: u64) -> Result<(), RunError> {
        check_room(place, free_bytes, self.needed_bytes())
    }

    /// `rows_in_place` are loaded.
    fn cut_off(&self, error: &EngineError, rows_in_place: u64) -> RunError {
        let missing = self.rows().saturating_sub(rows_in_place) * u64::from(self.block_bytes);
        let room = space_hint(error, self.data_path.as_deref(), missing);
        let room = room.map_or_else(String::new, |room| format!("; {room}"));
        RunError::failed(format!(
            "{error}{room}; what is loaded is kept, and `slob setup` resumes from there"
        ))
    }
}

fn streams(spec: &LoadSpec, server: &Capabilities) -> usize {
    let asked = spec.streams.get() as usize;
    if spec.streams_are_set || !server.loads_wait_for_blocks {
        return asked;
    }
    asked.max(2 * thread::available_parallelism().map_or(1, usize::from))
}

fn rows_of(slice: &Slice) -> u64 {
    slice.positions.end - slice.positions.start
}

pub(crate) fn schema_count(asked: u32) -> Result<u16, RunError> {
    u16::try_from(asked).map_err(|_| RunError::usage("too many schemas"))
}

/// Every JSON reader keeps numbers below 2^48 exactly. 0 asks for a random seed.
pub(crate) fn fresh_seed() -> u64 {
    // Its keys come from the operating system's generator.
    (RandomState::new().hash_one(0u8) >> 16).max(1)
}

/// BLOCK_SZ can't change the block size of an engine.
pub(crate) fn check_block_size(asked: Option<u32>, real: u32) -> Result<(), RunError> {
    let Some(asked) = asked.filter(|asked| *asked != real) else { return Ok(()) };
    Err(RunError::usage(format!(
        "BLOCK_SZ is {asked}, but the blocks of this target have {real} bytes; set BLOCK_SZ={real} or leave it out"
    )))
}

/// The size of slices depends on the target.
pub(crate) fn new_load(spec: &LoadSpec, block_bytes: u32) -> Load {
    Load {
        seed: spec.seed.unwrap_or_else(fresh_seed),
        scale: spec.scale.blocks(block_bytes),
        scan_blocks: spec.scan_table.map_or(0, |size| size.blocks(block_bytes)),
        obfuscated: spec.obfuscate,
        slice_rows: 0,
    }
}

fn check_same(schema: SchemaNo, there: &Load, wanted: &Load, block_bytes: u32) -> Result<(), RunError> {
    let size = |blocks: u64| {
        let bytes = blocks.saturating_mul(block_bytes.into());
        format!("{} ({bytes} bytes)", size_text(blocks, block_bytes))
    };
    let parameters = [
        ("SCALE", size(there.scale), size(wanted.scale)),
        ("SCAN_TABLE_SZ", size(there.scan_blocks), size(wanted.scan_blocks)),
        ("OBFUSCATE_COLUMNS", there.obfuscated.to_string(), wanted.obfuscated.to_string()),
        ("SEED", there.seed.to_string(), wanted.seed.to_string()),
    ];
    match parameters.into_iter().find(|(_, there, wanted)| there != wanted) {
        None => Ok(()),
        Some((key, there, wanted)) => Err(RunError::usage(format!(
            "schema {schema} is already there, loaded with {key}={there}, not {wanted}; nothing was touched. Leave \
             {key} out to load more schemas like it; to replace what is there, call `slob drop`, then this command again"
        ))),
    }
}

/// Bounds what a kill costs, and memory of engines that buffer a slice.
const PIECE_BYTES: u64 = 64 << 20;
/// A larger table in one slice would cost hours after a kill.
const WHOLE_TABLE_BYTES: u64 = 64 << 30;

/// On PostgreSQL 15 and 18, one stream of a whole table is faster than two of pieces, whose blocks are read and written again.
pub(crate) fn rows_of_slice(whole_tables: bool, rows: u64, block_bytes: u32) -> u64 {
    let block_bytes = u64::from(block_bytes);
    if whole_tables && rows.saturating_mul(block_bytes) <= WHOLE_TABLE_BYTES {
        return rows.max(1);
    }
    (PIECE_BYTES / block_bytes).max(1)
}

const REPORT_EVERY: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, PartialEq)]
pub struct LoadSummary {
    pub rows: u64,
    pub bytes: u64,
    pub took: Duration,
    pub layouts: Vec<(SchemaNo, Layout)>,
    pub complete_before: usize,
}

/// Loaded slices stay: the next load resumes. Fails with the error of the first stream, or if a schema does not hold one row per
/// block.
pub fn load(
    engine: &dyn Engine,
    plan: &LoadPlan,
    stop: &AtomicBool,
    observer: &dyn LoadObserver,
) -> Result<LoadSummary, RunError> {
    let begun = Instant::now();
    let loader = Loader::new(engine, plan, observer);
    // More streams would have nothing to do.
    let most = if plan.parallel_slices { plan.slices().count() } else { plan.work.len() };
    let streams = plan.streams.clamp(1, most.max(1));
    observer.on_load(&LoadEvent::Began {
        rows: plan.rows(),
        bytes: plan.bytes(),
        complete: plan.complete,
        resumed: plan.resumed().count(),
        streams,
        slice_bytes: plan.slice_bytes(),
    });
    thread::scope(|scope| {
        let workers: Vec<_> = (0..streams).map(|_| scope.spawn(|| loader.stream())).collect();
        let mut reported = begun;
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(20));
            if stop.load(Ordering::Relaxed) {
                loader.progress.stop();
            }
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                loader.report(begun);
            }
        }
    });
    loader.report(begun);
    loader.into_summary(begun, stop)
}

struct Loader<'a> {
    engine: &'a dyn Engine,
    plan: &'a LoadPlan,
    observer: &'a dyn LoadObserver,
    progress: LoadProgress,
    state: Mutex<LoaderState>,
    changed: Condvar,
}

#[derive(Default)]
struct LoaderState {
    schemas: Vec<SchemaProgress>,
    layouts: Vec<(SchemaNo, Layout)>,
    rows_in_place: u64,
    /// Something was created or loaded.
    touched: bool,
    error: Option<EngineError>,
}

struct SchemaProgress {
    steps: VecDeque<Step>,
    /// Streams at work on this schema.
    busy: usize,
    /// The only stream creates or completes the schema.
    exclusive: bool,
}

impl<'a> Loader<'a> {
    fn new(engine: &'a dyn Engine, plan: &'a LoadPlan, observer: &'a dyn LoadObserver) -> Self {
        let schema =
            |work: &SchemaWork| SchemaProgress { steps: work.steps.clone(), busy: 0, exclusive: false };
        let state = LoaderState { schemas: plan.work.iter().map(schema).collect(), ..LoaderState::default() };
        let (progress, changed) = (LoadProgress::default(), Condvar::new());
        Self { engine, plan, observer, progress, state: Mutex::new(state), changed }
    }

    fn stream(&self) {
        while let Some((i, step)) = self.next_step() {
            let work = &self.plan.work[i];
            // If an engine panics, the other streams must not wait for this one.
            let result = catch_unwind(AssertUnwindSafe(|| self.perform(work, &step)))
                .unwrap_or_else(|_| Err(panicked("a stream of the load")));
            let mut state = lock(&self.state);
            state.schemas[i].busy -= 1;
            state.schemas[i].exclusive = false;
            state.touched |= result.is_ok();
            match (result, step) {
                (Ok(Some(layout)), _) => state.layouts.push((work.schema, layout)),
                (Ok(None), Step::Load(slice)) => state.rows_in_place += rows_of(&slice),
                (Ok(None), _) => {}
                (Err(error), _) => {
                    state.error.get_or_insert(error);
                    self.progress.stop();
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn next_step(&self) -> Option<(usize, Step)> {
        let mut state = lock(&self.state);
        loop {
            if self.progress.stopped() || state.schemas.iter().all(|schema| schema.steps.is_empty()) {
                return None;
            }
            if let Some(step) = state.pick(self.plan.parallel_slices) {
                return Some(step);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn perform(&self, work: &SchemaWork, step: &Step) -> Result<Option<Layout>> {
        let SchemaWork { schema, load, .. } = work;
        match step {
            Step::Create => self.engine.create_schema(load, *schema).map(|()| None),
            Step::Replace => {
                self.engine.drop_schema(*schema)?;
                self.engine.create_schema(load, *schema).map(|()| None)
            }
            Step::Load(slice) => self.engine.load_slice(load, slice, &self.progress).map(|()| None),
            Step::Finish => {
                self.observer.on_load(&LoadEvent::Finishing(*schema));
                let layout = self.engine.finish_schema(load, *schema)?;
                self.observer.on_load(&LoadEvent::Finished(*schema, layout));
                Ok(Some(layout))
            }
        }
    }

    fn report(&self, begun: Instant) {
        let rows = self.progress.rows();
        self.observer.on_load(&LoadEvent::Progress {
            rows,
            of: self.plan.rows(),
            bytes: rows * u64::from(self.plan.block_bytes),
            elapsed: begun.elapsed(),
        });
    }

    fn into_summary(self, begun: Instant, stop: &AtomicBool) -> Result<LoadSummary, RunError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_whole = state.layouts.len() == self.plan.work.len();
        match state.error {
            Some(error) if error.kind() != ErrorKind::Cancelled => {
                return Err(if state.touched {
                    self.plan.cut_off(&error, state.rows_in_place)
                } else {
                    RunError::while_preparing(error)
                });
            }
            None if is_whole || !stop.load(Ordering::Relaxed) => {}
            _ => return Err(RunError::interrupted("the load").with_advice("the same command resumes it")),
        }
        if let Some((schema, layout)) = state.layouts.iter().find(|(_, layout)| !layout.one_row_per_block()) {
            return Err(RunError::failed(format!(
                "schema {schema} does not hold one row per block: {} rows lie in {} blocks",
                layout.rows, layout.row_blocks
            )));
        }
        let mut layouts = state.layouts;
        layouts.sort_by_key(|(schema, _)| *schema);
        Ok(LoadSummary {
            rows: self.plan.rows(),
            bytes: self.plan.bytes(),
            took: begun.elapsed(),
            layouts,
            complete_before: self.plan.complete,
        })
    }
}

impl LoaderState {
    /// Begins the next possible step: of the first schema that no stream is busy with, or with parallel slices of the first
    /// one that has slices left.
    fn pick(&mut self, parallel_slices: bool) -> Option<(usize, Step)> {
        let is_possible = |schema: &SchemaProgress| match schema.steps.front() {
            Some(Step::Load(_)) => !schema.exclusive && (schema.busy == 0 || parallel_slices),
            Some(Step::Create | Step::Replace | Step::Finish) => schema.busy == 0,
            None => false,
        };
        let i = self.schemas.iter().position(is_possible)?;
        let schema = &mut self.schemas[i];
        let step = schema.steps.pop_front()?;
        schema.busy += 1;
        schema.exclusive = !matches!(step, Step::Load(_));
        Some((i, step))
    }
}

#[derive(Clone, Debug)]
pub struct LocalData {
    /// The folder of an embedded database may not exist yet.
    pub path: PathBuf,
    pub device: Result<Device, String>,
}

impl LocalData {
    /// The error says why the data are elsewhere or invisible. `embedded` data are this program's.
    pub fn find(engine: &dyn Engine, embedded: bool) -> Result<Self, String> {
        let server = engine.locations().into_iter().next().ok_or("this target has no server to look for")?;
        if embedded {
            let path = server.clues.data.ok_or("this target keeps no files")?;
            let device = Device::behind(nearest_existing(&path)).map_err(|error| error.to_string());
            return Ok(Self { path, device });
        }
        let found = Observer::local().find(server.clues, &NEVER)?;
        let missing = found.lacking.join(" ");
        let path = found.path.ok_or_else(|| missing.clone())?;
        Ok(Self { path, device: found.data.ok_or(missing) })
    }

    pub fn folder(&self) -> &Path {
        nearest_existing(&self.path)
    }
}

const MIB: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub load: Load,
    /// Schemas have no gap from 1 on, complete or not.
    pub schemas: u32,
    pub block_bytes: u32,
}

impl Loaded {
    /// `None` if nothing is loaded, or if the engine stores no data.
    pub fn at(engine: &dyn Engine) -> Result<Option<Self>, RunError> {
        let server = engine.server().map_err(RunError::while_preparing)?;
        if !server.capabilities.stores_data {
            return Ok(None);
        }
        let states = engine.schemas().map_err(RunError::while_preparing)?;
        Ok(Self::of(&states, server.block_bytes))
    }

    /// States are in order of their schemas.
    fn of(states: &[SchemaState], block_bytes: u32) -> Option<Self> {
        let load = states.first()?.load;
        let without_gap =
            states.iter().zip(1_u32..).take_while(|(state, number)| u32::from(state.schema.get()) == *number);
        let schemas = u32::try_from(without_gap.count()).unwrap_or(u32::MAX);
        (schemas > 0).then_some(Self { load, schemas, block_bytes })
    }

    /// SCALE as `slob.conf` has it.
    pub fn scale(&self) -> String {
        self.size(self.load.scale)
    }

    /// Parameters that a run shares with the load, as texts of `slob.conf`.
    pub fn of_run(&self) -> Vec<(&'static str, String)> {
        let schemas = ("SCHEMAS", self.schemas.to_string());
        [schemas].into_iter().chain(self.sizes()).collect()
    }

    /// Parameters that a load of more schemas shares with this one.
    pub fn of_load(&self) -> Vec<(&'static str, String)> {
        let obfuscated = if self.load.obfuscated { "TRUE" } else { "FALSE" };
        self.sizes().into_iter().chain([("OBFUSCATE_COLUMNS", obfuscated.to_owned())]).collect()
    }

    fn sizes(&self) -> [(&'static str, String); 2] {
        [("SCALE", self.scale()), ("SCAN_TABLE_SZ", self.size(self.load.scan_blocks))]
    }

    fn size(&self, blocks: u64) -> String {
        size_text(blocks, self.block_bytes)
    }
}

/// Sizes that are no whole MiB are in blocks.
fn size_text(blocks: u64, block_bytes: u32) -> String {
    match blocks.checked_mul(u64::from(block_bytes)) {
        Some(bytes) if bytes > 0 && bytes.is_multiple_of(MIB) => Size::Bytes(bytes).to_string(),
        _ => Size::Blocks(blocks).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_size_that_is_written_out_is_the_servers_or_refused() {
        for real in [8192, 16_384] {
            assert!(check_block_size(None, real).is_ok() && check_block_size(Some(real), real).is_ok());
        }
        for (asked, real) in [(8192, 16_384), (16_384, 8192)] {
            let error = check_block_size(Some(asked), real).unwrap_err();
            assert_eq!(error.kind, crate::RunErrorKind::Usage);
            assert!(error.to_string().contains(&format!("set BLOCK_SZ={real}")), "{error}");
        }
    }

    #[test]
    fn whole_tables_are_slices_only_where_that_pays() {
        assert_eq!(rows_of_slice(true, 131_072, 8192), 131_072);
        assert_eq!(rows_of_slice(false, 131_072, 8192), 8192);
    }

    #[test]
    fn a_table_that_takes_hours_is_loaded_in_pieces() {
        let rows = WHOLE_TABLE_BYTES / 8192;
        assert_eq!(rows_of_slice(true, rows, 8192), rows);
        assert_eq!(rows_of_slice(true, rows + 1, 8192), 8192);
        assert_eq!(rows_of_slice(true, u64::MAX, 8192), 8192);
    }

    fn states(numbers: &[u16], load: Load) -> Vec<SchemaState> {
        let state = |number: &u16| SchemaState {
            schema: SchemaNo::up_to(*number).last().unwrap(),
            load,
            filler_bytes: 0,
            state: LoadState::Begun(Vec::new()),
        };
        numbers.iter().map(state).collect()
    }

    #[test]
    fn parameters_are_written_as_they_were_asked_for_and_schemas_count_up_to_a_gap() {
        let load = Load { seed: 1, scale: 8192, scan_blocks: 100, obfuscated: true, slice_rows: 9 };
        let loaded = Loaded::of(&states(&[1, 2, 4], load), 8192).unwrap();
        let text = |pairs: Vec<(&'static str, String)>| {
            pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(text(loaded.of_run()), "SCHEMAS=2 SCALE=64M SCAN_TABLE_SZ=100");
        assert_eq!(text(loaded.of_load()), "SCALE=64M SCAN_TABLE_SZ=100 OBFUSCATE_COLUMNS=TRUE");
        assert_eq!(Loaded::of(&states(&[2], load), 8192), None);
        assert_eq!(Loaded::of(&[], 8192), None);
    }

    #[test]
    fn a_size_reads_back_as_the_same_blocks_whatever_their_size() {
        for block_bytes in [512, 8192, 16_384, 65_536] {
            for blocks in [0, 1, 100, 127, 128, 10_000, 131_072] {
                let load = Load { seed: 1, scale: blocks, scan_blocks: 0, obfuscated: false, slice_rows: 9 };
                let loaded = Loaded { load, schemas: 1, block_bytes };
                let size: Size = loaded.size(blocks).parse().unwrap();
                assert_eq!(size.blocks(block_bytes), blocks, "{block_bytes}");
            }
        }
    }
}
