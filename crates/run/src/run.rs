//! The timeline of a run.
//!
//! Connect; `pre`; start together; warm up; rest; snapshot A; window; rest; snapshot B; stop; `post`; read some rows back;
//! assemble the record. Snapshots cover exactly the window's operations, because sessions rest. The window begins with their
//! release and ends with their last operation. Whatever fails after the start, the measurements become a record.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_demand::AbortWatch;
use slob_engine::{Outcome, RunPlan, Server, SessionPlan, within};
use slob_method::{Batch, Planner, RowContent, SchemaNo};
use slob_record::{Record, RunDirectory, SavedProbe, latest_probe};
use slob_spec::Length;

use crate::assemble::assemble;
use crate::cross_check::cross_check;
use crate::events::{RunEvent, RunObserver};
use crate::extras::{OperationsFile, ReportOfServer, ScriptMoment};
use crate::journal::Journal;
use crate::phases::Phases;
use crate::prepare::Prepared;
use crate::rendezvous::Rendezvous;
use crate::sampler::{Hosts, Sampler, Topology};
use crate::sessions::{BatchSize, ConnectLimit, Message, SessionEnd, Sessions, Shared, Worker};
use crate::tally::{RunClock, Tally};
use crate::timeline::{Measurements, RunContext, Timeline};
use crate::turns::{self, Turns};
use crate::{RunError, RunErrorKind, verify};

/// Only touched pages take memory.
const SESSION_STACK: usize = 1 << 20;
const RESTORE_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Measured {
    pub record: Record,
    /// Published with the record.
    pub directory: RunDirectory,
}

/// Fails only before the sessions start; later failures are in the record's status.
pub fn run(
    context: &RunContext<'_>,
    prepared: &Prepared,
    observer: &mut dyn RunObserver,
) -> Result<Measured, RunError> {
    let spec = context.spec;
    let abort = spec.abort_on.as_deref().unwrap_or_default().parse::<AbortWatch>();
    let abort = abort.map_err(|error| RunError::usage(error.to_string()))?;
    if context.common_start.is_some() && spec.warmup.is_auto() {
        let message = format!(
            "WARMUP={}: runs beside each other could not agree on the begin of their windows",
            spec.warmup
        );
        return Err(RunError::usage(message).with_advice("set WARMUP to the same time for all of them"));
    }
    let schemas: Vec<SchemaNo> = prepared.schemas.iter().map(|state| state.schema).collect();
    let plan = RunPlan {
        schemas: &schemas,
        sessions: prepared.homes.len() as u32,
        redo: prepared.workload.redo_of_updates(),
        scans: prepared.workload.scans(),
        stop: Some(context.stop),
    };
    let notes = context.engine.before_run(&plan).map_err(RunError::while_preparing)?;
    let journal = context.journal.map(|path| Journal::create(path, prepared)).transpose()?;
    // Nothing was updated: the next try may use the name.
    let remove_journal = || context.journal.map(std::fs::remove_file);
    let directory = RunDirectory::create(&spec.results_dir, Timestamp::now(), spec.run_name.as_str())
        .inspect_err(|_| drop(remove_journal()))
        .map_err(|error| {
            RunError::usage(error.to_string()).with_advice("name another folder with RESULTS_DIR")
        })?;
    let find = || Hosts::find(context.engine.as_ref(), &spec.observe, spec.observe_copy, context.stop);
    let hosts = spec.host_counters.then(find);
    let embedded = prepared.server.capabilities.embedded;
    let mut sampler = Sampler::new(Arc::clone(&context.engine), embedded, hosts);
    let topology = Arc::clone(&sampler.hosts.topology);
    let operations_file = OperationsFile::begin(spec.keep_operations, directory.path());
    let (clock, clock_step) = (RunClock::new(Instant::now()), prepared.server.clock_step_ns);
    let tally = Tally::new(clock, clock_step, operations_file.is_open());
    let sessions_take_turns =
        turns_advice(&topology, &prepared.server, prepared.homes.len() as u32).is_some();
    let mut timeline = Timeline {
        context,
        prepared,
        observer,
        run_id: directory.id().to_owned(),
        tally: Arc::new(tally.with_responses(sessions_take_turns)),
        operations_file,
        server_report: ReportOfServer::new(spec.statistics_type),
        probe: find_probe(&spec.results_dir, &topology, prepared.server.block_bytes),
        topology,
        abort,
        start: None,
    };
    match timeline.measure(&mut sampler, journal) {
        Ok(mut measured) => {
            let notes = notes.into_iter().chain(timeline.topology.notes()).chain(sampler.hosts.faults());
            measured.notes.splice(0..0, notes);
            timeline.after(&mut measured);
            measured.server_report = timeline.server_report.store(&directory);
            measured.notes.append(&mut timeline.server_report.notes);
            measured.marks = directory.marks(measured.started);
            let mut record = assemble(&timeline, measured);
            cross_check(&mut record, directory.path());
            Ok(Measured { record, directory })
        }
        Err(error) => {
            directory.discard();
            remove_journal();
            Err(error)
        }
    }
}

/// The latest one of the device behind the first server's data, on its host.
fn find_probe(results: &Path, topology: &Topology, block_bytes: u32) -> Option<SavedProbe> {
    let server = topology.servers.iter().find(|server| server.found.is_ok())?;
    let (host, _) = server.observed_at?;
    let hostname = &topology.hosts.get(host)?.info()?.hostname;
    latest_probe(results, hostname, topology.device()?, block_bytes)
}

impl Timeline<'_> {
    fn measure(&mut self, sampler: &mut Sampler, journal: Option<Journal>) -> Result<Measurements, RunError> {
        if self.context.stop.load(Ordering::Relaxed) {
            return Err(RunError::interrupted("the start of the run"));
        }
        let (sender, messages) = mpsc::channel();
        let sessions_count = self.prepared.homes.len() as u32;
        let shared_cpus = shared_cpus(&self.topology, &self.prepared.server, sessions_count);
        let shared = Arc::new(Shared {
            rendezvous: Rendezvous::default(),
            tally: Arc::clone(&self.tally),
            operations: AtomicU64::new(0),
            connecting: ConnectLimit::default(),
            turns: Turns::new(shared_cpus),
            journal,
        });
        let workers = self.workers(&shared, &sender, shared_cpus);
        drop(sender);
        let mut sessions = Sessions::new(shared, messages, workers.len() as u32);
        let result = self
            .spawn(workers)
            .and_then(|()| self.connect(&mut sessions))
            .and_then(|()| self.agree_on_start());
        if result.is_err() {
            sessions.shared.rendezvous.leave();
        }
        result?;
        let mut measured = Phases::new(self, sampler, sessions).carry_out();
        measured.notes.extend(shared_cpus.and_then(|cpus| turns::advice(sessions_count, cpus)));
        Ok(measured)
    }

    /// Threads are not joined: one that hangs in its database must not hold up the record.
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

    fn workers(
        &self,
        shared: &Arc<Shared>,
        messages: &mpsc::Sender<Message>,
        shared_cpus: Option<u32>,
    ) -> Vec<Worker> {
        let prepared = self.prepared;
        let workload = &prepared.workload;
        let load = prepared.schemas.first().map(|state| state.load);
        let content = load.map_or_else(|| RowContent::new(0, false), |load| load.content());
        let update_text = Arc::new(content.update_text());
        let worker = |(number, home): (u32, SchemaNo)| Worker {
            plan: SessionPlan {
                attempt: 0,
                number,
                home,
                hot_schema: workload.hot_schema_every.is_some(),
                scans: workload.of_session(number).scans(),
                redo: workload.of_session(number).redo_of_updates(),
                update_text: Arc::clone(&update_text),
            },
            planner: Planner::new(workload.clone(), number, home),
            operations: match self.context.spec.length {
                Length::Operations(count) => Some(count),
                Length::Time(_) => None,
            },
            size: BatchSize::new(number, prepared.homes.len() as u32, shared_cpus),
            on_loss: self.context.spec.session_loss,
            shared: Arc::clone(shared),
            messages: messages.clone(),
            batch: Batch::default(),
            outcome: Outcome::default(),
        };
        (0..).zip(prepared.homes.iter().copied()).map(worker).collect()
    }

    /// Calls `pre` after all sessions are connected.
    fn connect(&mut self, sessions: &mut Sessions) -> Result<(), RunError> {
        let begun = Instant::now();
        let page_cache = self.prepared.page_cache(&self.topology, &self.context.spec.target);
        if let Some((warning, remedy)) = page_cache.and_then(|cache| Some((cache.warning()?, cache.remedy())))
        {
            self.observer.on_run(&RunEvent::Warning(&format!("{warning}. {remedy}")));
        }
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
                Ok(Message::Ended(end)) => return Err(connection_error(*end)),
                // No session works yet.
                Ok(Message::DoneAll(_)) | Err(RecvTimeoutError::Timeout) => {}
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

    fn agree_on_start(&mut self) -> Result<(), RunError> {
        if let Some(common) = self.context.common_start {
            let start = common.agree(&self.run_id);
            self.start = Some(start.ok_or_else(|| RunError::interrupted("waiting for the common start"))?);
        }
        Ok(())
    }

    fn call_script(&mut self, moment: ScriptMoment) -> Result<(), RunError> {
        if let Some(script) = &self.prepared.script {
            self.observer.on_run(&RunEvent::Script(moment));
            script.call(moment, &self.run_id, self.context.stop)?;
        }
        Ok(())
    }

    fn after(&mut self, measured: &mut Measurements) {
        let engine = Arc::clone(&self.context.engine);
        match within(RESTORE_PATIENCE, move || engine.after_run()) {
            Ok(notes) => measured.notes.extend(notes),
            Err(silence) => measured.notes.push(format!("restoring the server's settings: {silence}.")),
        }
        match self.call_script(ScriptMoment::Post) {
            Ok(()) => {}
            Err(error) if error.kind == RunErrorKind::Interrupted => {
                measured.interrupted = true;
                measured.notes.push(format!("{error}."));
            }
            Err(error) => drop(measured.error.get_or_insert(error.to_string())),
        }
        self.observer.on_run(&RunEvent::Verifying);
        let has_failed = measured.unfinished > 0 || measured.error.is_some();
        measured.verification = verify::sample(&self.context.engine, &self.prepared.schemas, has_failed);
    }
}

/// `None` if sessions don't exceed CPUs, or the server is elsewhere. An embedded database has no threads; a server on an unknown
/// host counts as one here.
fn shared_cpus(topology: &Topology, server: &Server, sessions: u32) -> Option<u32> {
    let mut hosts = topology.hosts_of_database().peekable();
    let is_here = hosts.peek().is_none() || hosts.any(|(_, host)| host.is_here);
    let cpus = thread::available_parallelism().ok()?.get() as u32;
    (is_here && !server.capabilities.embedded && sessions > cpus).then_some(cpus)
}

/// `None` unless sessions exceed batches in flight.
pub fn turns_advice(topology: &Topology, server: &Server, sessions: u32) -> Option<String> {
    shared_cpus(topology, server, sessions).and_then(|cpus| turns::advice(sessions, cpus))
}

fn connection_error(end: SessionEnd) -> RunError {
    let Some(error) = end.error else {
        return RunError::failed(format!("session {} ended before the start", end.session));
    };
    let error = RunError::while_preparing(error);
    RunError::new(error.kind, format!("connecting session {}: {error}", end.session))
}
