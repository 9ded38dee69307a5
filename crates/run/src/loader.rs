//! Loading: several streams work off the plan's slices.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Engine, EngineError, ErrorKind, Layout, LoadProgress, Slice};
use slob_method::SchemaNo;

use crate::RunError;
use crate::loader_plan::{LoadPlan, SchemaWork, Start, rows_of};
use crate::loader_space::room_left;
use crate::observe::{LoadEvent, LoadObserver};
use crate::session::panicked;

const REPORT_EVERY: Duration = Duration::from_millis(500);

/// What a load did.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSummary {
    /// Rows that were loaded.
    pub rows: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// How long it took, index, statistics and verification of the layout included.
    pub took: Duration,
    /// The schemas that were completed, and how they lie.
    pub layouts: Vec<(SchemaNo, Layout)>,
    /// Schemas that had been complete before.
    pub complete_before: usize,
}

/// Loads what the plan says is missing. What is loaded stays, whatever happens: the next load goes on from there.
///
/// # Errors
/// Of the first stream that fails; with [`crate::RunErrorKind::Interrupted`] when `stop` was set; and if a schema does
/// not hold one row per block in the end.
pub fn load(
    engine: &dyn Engine,
    plan: &LoadPlan,
    stop: &AtomicBool,
    observer: &dyn LoadObserver,
) -> Result<LoadSummary, RunError> {
    let begun = Instant::now();
    let loader = Loader::new(engine, plan, observer);
    let streams = plan.streams.clamp(1, loader.most_streams());
    observer.on_load(&LoadEvent::Began {
        rows: plan.rows(),
        bytes: plan.bytes(),
        complete: plan.complete,
        resumed: plan.work.iter().filter(|work| work.start == Start::Resume).count(),
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
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    schemas: Vec<SchemaProgress>,
    layouts: Vec<(SchemaNo, Layout)>,
    /// Rows of the slices that are in place.
    rows_in_place: u64,
    /// Something was created or loaded.
    touched: bool,
    error: Option<EngineError>,
}

struct SchemaProgress {
    work: SchemaWork,
    /// Slices, or the creation, that streams are busy with.
    busy: usize,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Creating,
    Loading,
    Finishing,
}

/// What a stream does next.
enum Task {
    Create(usize),
    Load(usize, Slice),
    Finish(usize),
}

impl<'a> Loader<'a> {
    fn new(engine: &'a dyn Engine, plan: &'a LoadPlan, observer: &'a dyn LoadObserver) -> Self {
        let schema = |work: &SchemaWork| SchemaProgress {
            work: work.clone(),
            busy: 0,
            stage: if work.start == Start::Resume { Stage::Loading } else { Stage::New },
        };
        let schemas = plan.work.iter().map(schema).collect();
        let state =
            Mutex::new(State { schemas, layouts: Vec::new(), rows_in_place: 0, touched: false, error: None });
        Self { engine, plan, observer, progress: LoadProgress::default(), state, changed: Condvar::new() }
    }

    /// More streams than this would have nothing to do.
    fn most_streams(&self) -> usize {
        let slices: usize = self.plan.work.iter().map(|work| work.slices.len()).sum();
        let most = if self.plan.parallel_slices { slices } else { self.plan.work.len() };
        most.max(1)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body of a stream: one task after the other until nothing is left or something failed.
    fn stream(&self) {
        while let Some(task) = self.next_task() {
            // A panic must not leave the other streams waiting.
            let result = catch_unwind(AssertUnwindSafe(|| self.perform(&task)))
                .unwrap_or_else(|_| Err(panicked("a stream of the load")));
            let mut state = self.lock();
            let (Task::Create(i) | Task::Load(i, _) | Task::Finish(i)) = task;
            state.schemas[i].busy -= 1;
            if state.schemas[i].stage == Stage::Creating {
                state.schemas[i].stage = Stage::Loading;
            }
            state.touched |= result.is_ok();
            if let (Task::Load(_, slice), Ok(_)) = (&task, &result) {
                state.rows_in_place += rows_of(slice);
            }
            match result {
                Ok(Some(layout)) => {
                    let schema = state.schemas[i].work.schema;
                    state.layouts.push((schema, layout));
                }
                Ok(None) => {}
                Err(error) => {
                    state.error.get_or_insert(error);
                    self.progress.stop();
                }
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if self.progress.stopped() {
                return None;
            }
            if let Some(task) = state.pick(self.plan.parallel_slices) {
                return Some(task);
            }
            if state.schemas.iter().all(|schema| schema.stage == Stage::Finishing) {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn perform(&self, task: &Task) -> Result<Option<Layout>, EngineError> {
        let (Task::Create(i) | Task::Load(i, _) | Task::Finish(i)) = task;
        let SchemaWork { schema, start, load, .. } = &self.plan.work[*i];
        match task {
            Task::Create(_) => {
                if *start == Start::Replace {
                    self.engine.drop_schema(*schema)?;
                }
                self.engine.create_schema(load, *schema).map(|()| None)
            }
            Task::Load(_, slice) => self.engine.load_slice(load, slice, &self.progress).map(|()| None),
            Task::Finish(_) => {
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
        match state.error {
            Some(error) if !state.touched && error.kind() != ErrorKind::Cancelled => {
                return Err(RunError::while_preparing(&error));
            }
            Some(error) if error.kind() != ErrorKind::Cancelled => {
                let missing = self.plan.rows().saturating_sub(state.rows_in_place);
                return Err(cut_off(&error, self.plan, missing * u64::from(self.plan.block_bytes)));
            }
            Some(_) => return Err(stopped()),
            None if state.layouts.len() < self.plan.work.len() && stop.load(Ordering::Relaxed) => {
                return Err(stopped());
            }
            None => {}
        }
        if let Some((schema, layout)) = state.layouts.iter().find(|(_, layout)| !layout.one_row_per_block()) {
            return Err(RunError::failed(format!(
                "schema {schema} does not hold one row per block: {} rows lie in {} blocks",
                layout.rows, layout.row_blocks
            )));
        }
        let rows = self.plan.rows();
        let mut layouts = state.layouts;
        layouts.sort_by_key(|(schema, _)| *schema);
        Ok(LoadSummary {
            rows,
            bytes: self.plan.bytes(),
            took: begun.elapsed(),
            layouts,
            complete_before: self.plan.complete,
        })
    }
}

/// The error of a load of which something is in place.
fn cut_off(error: &EngineError, plan: &LoadPlan, missing_bytes: u64) -> RunError {
    let room = room_left(error, plan.data_path.as_deref(), missing_bytes);
    let room = room.map_or_else(String::new, |room| format!("; {room}"));
    RunError::failed(format!("{error}{room}; what is loaded is kept, and `slob setup` resumes from there"))
}

impl State {
    /// Marks the next task as begun and returns it; `None` if there is none now. Without parallel slices a stream
    /// takes the first schema that no stream is busy with.
    fn pick(&mut self, parallel_slices: bool) -> Option<Task> {
        for (i, schema) in self.schemas.iter_mut().enumerate() {
            let idle = schema.busy == 0;
            let task = match schema.stage {
                Stage::New => {
                    schema.stage = Stage::Creating;
                    Task::Create(i)
                }
                Stage::Loading if idle || parallel_slices => match schema.work.slices.pop_front() {
                    Some(slice) => Task::Load(i, slice),
                    None if idle => {
                        schema.stage = Stage::Finishing;
                        Task::Finish(i)
                    }
                    None => continue,
                },
                _ => continue,
            };
            schema.busy += 1;
            return Some(task);
        }
        None
    }
}

/// What is loaded stays.
fn stopped() -> RunError {
    RunError::interrupted("the load").with_advice("the same command resumes it")
}
