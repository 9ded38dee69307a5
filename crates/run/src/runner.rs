//! The timeline of a run.
//!
//! Connect every session; barrier; `pre`; start together; warm up; rest; snapshot A; measured window; rest; snapshot B; stop;
//! `post`; read some rows back; assemble the record. The sessions know when a phase ends, and rest while a snapshot is taken:
//! it counts what they did in the window, and nothing else. The window begins when they are released, and ends with their last
//! operation, so that it holds no idle time. Whatever goes wrong after the start, what was measured becomes a record.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_engine::{RunPlan, SessionPlan, within};
use slob_method::{Planner, SchemaNo};
use slob_record::{Record, RunDirectory, SavedProbe, Status, latest_probe};
use slob_spec::Length;

use crate::assemble::assemble;
use crate::batch_size::BatchSize;
use crate::context::RunContext;
use crate::hosts::{Hosts, Places};
use crate::journal::Journal;
use crate::observe::{RunEvent, RunObserver};
use crate::operations_file::OperationsFile;
use crate::parts::{Beside, Parts};
use crate::phases::Phases;
use crate::prepare::Prepared;
use crate::run_clock::RunClock;
use crate::sampler::Sampler;
use crate::server_report::OwnReport;
use crate::session::{Message, SessionEnd, Shared, Worker};
use crate::sessions::Sessions;
use crate::tally::Tally;
use crate::{RunError, RunErrorKind, ScriptMoment, verify};

/// Stack of a session's thread, in bytes; only what is touched takes memory.
const SESSION_STACK: usize = 1 << 20;
/// How long putting back what was changed on a server may take.
const PUT_BACK_PATIENCE: Duration = Duration::from_secs(10);

/// A run that was measured, if not to its planned end: the record, and the directory that waits to be published.
#[derive(Debug)]
pub struct Measured {
    /// What was measured.
    pub record: Record,
    /// Where it goes.
    pub directory: RunDirectory,
}

/// Runs.
///
/// # Errors
/// Only if nothing was measured: before the sessions started. Later failures are in the record's status.
pub fn run(
    context: &RunContext<'_>,
    prepared: &Prepared,
    observer: &mut dyn RunObserver,
) -> Result<Measured, RunError> {
    let spec = context.spec;
    let schemas: Vec<SchemaNo> = prepared.schemas.iter().map(|state| state.schema).collect();
    let plan = RunPlan {
        schemas: &schemas,
        sessions: prepared.homes.len() as u32,
        redo: prepared.workload.redo_of_updates(),
        scans: prepared.workload.scans(),
        stop: Some(context.stop),
    };
    let notes = context.engine.before_run(&plan).map_err(|error| RunError::while_preparing(&error))?;
    let journal = context.journal.map(|path| Journal::create(path, prepared)).transpose()?;
    // Nothing was updated: the next try may have the name.
    let remove_journal = || context.journal.map(std::fs::remove_file);
    let directory = RunDirectory::create(&spec.results_dir, Timestamp::now(), spec.run_name.as_str())
        .inspect_err(|_| drop(remove_journal()))
        .map_err(|error| {
            RunError::usage(error.to_string()).with_advice("name another folder with RESULTS_DIR")
        })?;
    let hosts = spec
        .host_counters
        .then(|| Hosts::look_for(context.engine.as_ref(), &spec.observe, spec.observe_copy));
    let sampler = Sampler::new(Arc::clone(&context.engine), &prepared.server, hosts);
    let places = sampler.places();
    let kept = OperationsFile::begin(spec.keep_operations, directory.path());
    let own_report = OwnReport::of(spec.statistics_type);
    let run_id = directory.id().to_owned();
    let probe = find_probe(&spec.results_dir, &places, prepared.server.block_bytes);
    let beside = Beside { places: Arc::clone(&places), probe };
    let mut timeline = Timeline { context, prepared, observer, kept, run_id, own_report, beside };
    match timeline.measure(&sampler, journal) {
        Ok(mut parts) => {
            let notes = notes.into_iter().chain(places.notes()).chain(sampler.faults());
            parts.notes.splice(0..0, notes);
            timeline.after(&mut parts);
            parts.server_report = timeline.own_report.store(&directory, &mut parts.notes);
            parts.marks = directory.marks(parts.started);
            let record = assemble(context, prepared, directory.id(), parts);
            Ok(Measured { record, directory })
        }
        Err(error) => {
            directory.discard();
            remove_journal();
            Err(error)
        }
    }
}

/// Of the device behind the data of the first server, on its host.
fn find_probe(results: &Path, places: &Places, block_bytes: u32) -> Option<SavedProbe> {
    let server = places.servers.iter().find(|server| server.found.is_ok())?;
    let (host, _) = server.seen_at?;
    let hostname = &places.hosts.get(host)?.info()?.hostname;
    latest_probe(results, hostname, &places.device()?, block_bytes)
}

/// What a run is given, and what it writes to.
pub(crate) struct Timeline<'a> {
    pub(crate) context: &'a RunContext<'a>,
    pub(crate) prepared: &'a Prepared,
    pub(crate) observer: &'a mut dyn RunObserver,
    pub(crate) kept: OperationsFile,
    pub(crate) run_id: String,
    pub(crate) own_report: OwnReport,
    pub(crate) beside: Beside,
}

impl Timeline<'_> {
    /// From the first connection to the end of the last session.
    fn measure(&mut self, sampler: &Sampler, journal: Option<Journal>) -> Result<Parts, RunError> {
        let (sender, messages) = mpsc::channel();
        let tally = Tally::new(RunClock::new(Instant::now())).keeping(self.kept.is_wanted());
        let shared = Arc::new(Shared::new(Arc::new(tally), journal));
        let workers = self.workers(&shared, &sender);
        drop(sender);
        let mut sessions = Sessions::new(shared, messages, workers.len() as u32);
        let result = self.spawn(workers).and_then(|()| self.connect(&mut sessions));
        if result.is_err() {
            sessions.shared.rendezvous.leave();
        }
        result.map(|()| Phases::new(self, sampler, sessions).carry_out())
    }

    /// Starts a thread for each session. The threads are not joined: one that hangs in its database must not
    /// hold up the record.
    fn spawn(&self, workers: Vec<Worker>) -> Result<(), RunError> {
        let count = workers.len();
        for worker in workers {
            let engine = Arc::clone(&self.context.engine);
            thread::Builder::new()
                .name(format!("session {}", worker.plan.number))
                .stack_size(SESSION_STACK)
                .spawn(move || worker.work(engine.as_ref()))
                .map_err(|error| {
                    RunError::failed(format!(
                        "starting a thread for each of {count} sessions: {error}; raise the limits of processes and memory \
                         (ulimit -u, ulimit -v, or those of a container), or use fewer schemas or threads"
                    ))
                })?;
        }
        Ok(())
    }

    fn workers(&self, shared: &Arc<Shared>, messages: &mpsc::Sender<Message>) -> Vec<Worker> {
        let prepared = self.prepared;
        let workload = prepared.workload;
        let load = prepared.schemas.first().map(|state| state.load);
        let content = load.map_or_else(|| slob_method::RowContent::new(0, false), |load| load.content());
        let update_text = Arc::new(content.update_text());
        let worker = |(number, home): (u32, SchemaNo)| Worker {
            plan: SessionPlan {
                attempt: 0,
                number,
                home,
                hot_schema: workload.hot_schema_every.is_some(),
                scans: workload.scans(),
                redo: workload.redo_of_updates(),
                update_text: Arc::clone(&update_text),
            },
            planner: match prepared.arrivals {
                Some(arrivals) => {
                    Planner::new(workload, prepared.seed, number, home).with_arrivals(arrivals, prepared.seed)
                }
                None => Planner::new(workload, prepared.seed, number, home),
            },
            operations: match prepared.length {
                Length::Operations(count) => Some(count),
                Length::Time(_) => None,
            },
            size: BatchSize::new(number, prepared.homes.len() as u32),
            on_loss: self.context.spec.session_loss,
            shared: Arc::clone(shared),
            messages: messages.clone(),
        };
        (0..).zip(prepared.homes.iter().copied()).map(worker).collect()
    }

    /// Waits until every session is connected, then calls `pre`.
    fn connect(&mut self, sessions: &mut Sessions) -> Result<(), RunError> {
        let begun = Instant::now();
        self.observer.on_run(&RunEvent::Connecting {
            run_id: &self.run_id,
            sessions: sessions.count,
            block_bytes: self.prepared.server.block_bytes,
        });
        let mut ready = 0;
        while ready < sessions.count {
            match sessions.messages.recv_timeout(Duration::from_millis(100)) {
                Ok(Message::Ready(number, canceller)) => {
                    ready += 1;
                    sessions.cancellers.extend(canceller.map(|canceller| (number, canceller)));
                }
                Ok(Message::Ended(end)) => return Err(connection_error(&end)),
                // Nobody has begun.
                Ok(Message::DoneAll(_)) => {}
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::failed("the sessions ended before they were connected"));
                }
            }
            if self.context.stop.load(Ordering::Relaxed) {
                return Err(RunError::interrupted("connecting the sessions"));
            }
        }
        self.observer.on_run(&RunEvent::Connected { sessions: ready, took: begun.elapsed() });
        self.call_script(ScriptMoment::Pre)
    }

    fn call_script(&mut self, moment: ScriptMoment) -> Result<(), RunError> {
        if let Some(script) = &self.prepared.script {
            self.observer.on_run(&RunEvent::Script(moment));
            script.call(moment, &self.run_id)?;
        }
        Ok(())
    }

    /// What follows when the sessions have ended: the server as it was, `post`, and a look at the data.
    fn after(&mut self, parts: &mut Parts) {
        let engine = Arc::clone(&self.context.engine);
        match within(PUT_BACK_PATIENCE, move || engine.after_run()) {
            Ok(notes) => parts.notes.extend(notes),
            Err(silence) => parts.notes.push(format!("restoring the server's settings: {silence}.")),
        }
        if let Err(error) = self.call_script(ScriptMoment::Post) {
            parts.fail(&error);
        }
        self.observer.on_run(&RunEvent::Verifying);
        let has_failed = parts.unfinished > 0 || matches!(parts.status, Status::Failed { .. });
        parts.verification = verify::sample(&self.context.engine, &self.prepared.schemas, has_failed);
    }
}

fn connection_error(end: &SessionEnd) -> RunError {
    match &end.error {
        Some(error) => {
            let error = RunError::while_preparing(error);
            let message = format!("connecting session {}: {error}", end.session);
            if error.kind() == RunErrorKind::Usage {
                RunError::usage(message)
            } else {
                RunError::failed(message)
            }
        }
        None => RunError::failed(format!("session {} ended before the start", end.session)),
    }
}
