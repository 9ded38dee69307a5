//! The timeline of a run.
//!
//! Connect every session; barrier; `pre`; start together; warm up; snapshot A; measured window; snapshot B; stop;
//! `post`; read some rows back; assemble the record. The sessions work on while both snapshots are taken, so the
//! window holds no idle time. Whatever goes wrong after the start, what was measured becomes a record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_engine::{RunPlan, SessionPlan, within};
use slob_host::{Device, HostInfo};
use slob_method::{Planner, SchemaNo};
use slob_record::{Record, RunDirectory, Status, latest_probe};
use slob_spec::{Length, SessionLoss};

use crate::assemble::assemble;
use crate::context::RunContext;
use crate::journal::Journal;
use crate::observe::{Phase, RunEvent, RunObserver, Tick};
use crate::operations_file::OperationsFile;
use crate::parts::Parts;
use crate::prepare::Prepared;
use crate::sampler::{Sample, Sampler};
use crate::server_report::OwnReport;
use crate::session::{Message, SessionEnd, Shared, Worker};
use crate::sessions::{Sessions, Wake};
use crate::tally::Tally;
use crate::until_steady::SteadyUntil;
use crate::{RunError, RunErrorKind, ScriptMoment, verify};

/// Stack of a session's thread, in bytes; only what is touched takes memory.
const SESSION_STACK: usize = 1 << 20;
/// Should all else fail, no session starts an operation this long after the planned end.
const LAST_RESORT: Duration = Duration::from_secs(60);
/// So much later where the server takes snapshots of its own too, during which the sessions stay at work.
const SERVERS_SNAPSHOTS: Duration = Duration::from_secs(900);
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
        .map_err(|error| RunError::usage(error.to_string()))?;
    let device = prepared.server.data_path.as_deref().and_then(|path| Device::behind(path).ok());
    let sampler =
        Sampler::new(Arc::clone(&context.engine), &prepared.server, device.clone(), spec.host_counters);
    let kept = OperationsFile::begin(spec.keep_operations, directory.path());
    let own_report = OwnReport::of(spec.statistics_type);
    let run_id = directory.id().to_owned();
    let mut timeline = Timeline { context, prepared, observer, kept, run_id, own_report };
    match timeline.measure(&sampler, journal) {
        Ok(mut parts) => {
            parts.device = device;
            parts.notes.splice(0..0, notes);
            parts.probe = find_probe(&spec.results_dir, &parts, prepared.server.block_bytes);
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

fn find_probe(results: &Path, parts: &Parts, block_bytes: u32) -> Option<slob_record::SavedProbe> {
    latest_probe(results, &HostInfo::read().hostname, parts.device.as_ref()?, block_bytes)
}

struct Timeline<'a> {
    context: &'a RunContext<'a>,
    prepared: &'a Prepared,
    observer: &'a mut dyn RunObserver,
    kept: OperationsFile,
    run_id: String,
    own_report: OwnReport,
}

impl Timeline<'_> {
    /// From the first connection to the end of the last session.
    fn measure(&mut self, sampler: &Sampler, journal: Option<Journal>) -> Result<Parts, RunError> {
        let (sender, messages) = mpsc::channel();
        let shared = Arc::new(Shared::new(journal));
        let workers = self.workers(&shared, &sender);
        drop(sender);
        let count = workers.len() as u32;
        let mut sessions =
            Sessions { shared, messages, cancellers: BTreeMap::new(), ended: Vec::new(), count };
        let result = self.spawn(workers).and_then(|()| self.connect(&mut sessions));
        if result.is_err() {
            sessions.shared.gate.call_off();
        }
        result.map(|()| self.started(sampler, sessions))
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

    /// From the start of the sessions to their end.
    fn started(&mut self, sampler: &Sampler, mut sessions: Sessions) -> Parts {
        if self.prepared.warmup.is_zero() {
            self.own_report.open(&self.context.engine);
        }
        let first = sampler.take_edge(|_| ());
        let start = Instant::now();
        if let Length::Time(length) = self.prepared.length {
            let snapshots = if self.own_report.is_wanted() { SERVERS_SNAPSHOTS } else { Duration::ZERO };
            sessions.shared.set_deadline(start + self.prepared.warmup + length + LAST_RESORT + snapshots);
        }
        let tally = Arc::new(Tally::new(start).keeping(self.kept.is_wanted()));
        let mut parts = Parts::new(Timestamp::now(), Arc::clone(&tally));
        if self.prepared.warmup.is_zero() {
            // Before the start, so that every operation counts, from the very first.
            tally.edges().begin(first.taken);
            self.window_began(&mut parts, &first);
        }
        sessions.shared.gate.start(tally.clone());
        self.observer.on_run(&RunEvent::Started);
        self.watch(sampler, first, &mut sessions, &mut parts);
        sessions.stop();
        parts.ended = Timestamp::now();
        if let Some(error) = sessions.first_error(parts.end.as_ref().map(|sample| sample.taken)) {
            parts.status = Status::Failed { error };
        }
        if sessions.all_dropped() {
            parts.status = Status::Failed { error: "every session lost its database".into() };
        }
        parts.series.flush_all(&tally);
        parts.notes.extend(self.kept.finish(&tally));
        parts.unfinished = sessions.count - sessions.ended.len() as u32;
        if parts.unfinished > 0 && self.context.spec.session_loss == SessionLoss::Fail {
            parts.fail(&sessions.silent());
        }
        parts.sessions = sessions.ended;
        parts
    }

    /// Samples once a second, and at the edges of the window, until the window ends.
    fn watch(&mut self, sampler: &Sampler, first: Sample, sessions: &mut Sessions, parts: &mut Parts) {
        let tally = Arc::clone(&parts.tally);
        let start = tally.start();
        let begin_at = start + self.prepared.warmup;
        let length = match self.prepared.length {
            Length::Time(length) => Some(length),
            Length::Operations(_) => None,
        };
        let (mut last, mut next_second) = (first, 1);
        loop {
            // Counted from where the window really began, so that a late beginning does not shorten it.
            let end_at = parts.begin.as_ref().zip(length).map(|(begin, length)| begin.taken + length);
            let tick_at = start + Duration::from_secs(next_second);
            let edge_at = if parts.begin.is_none() { Some(begin_at) } else { end_at };
            let steady = parts.is_steady(last.taken);
            let wake_at = if steady { last.taken } else { edge_at.map_or(tick_at, |edge| edge.min(tick_at)) };
            let why = sessions.wait_until(wake_at, self.context.stop);
            let now = Instant::now();
            let over = why.is_some() || steady || end_at.is_some_and(|end| now >= end);
            let opening = !over && parts.begin.is_none() && now >= begin_at;
            if opening {
                self.own_report.open(&self.context.engine);
            }
            let sample = if opening {
                sampler.take_edge(|taken| tally.edges().begin(taken))
            } else if over {
                sampler.take_edge(|taken| tally.edges().end(taken))
            } else {
                sampler.take()
            };
            parts.series.add_sampled(start, &last, &sample);
            if opening {
                self.window_began(parts, &sample);
            }
            if over || sample.taken >= tick_at {
                next_second = (sample.taken - start).as_secs() + 1;
                let planned = length.map(|length| end_at.unwrap_or(begin_at + length));
                self.tick(sessions, parts, &tally, planned);
            }
            if over {
                parts.end = Some(sample);
                self.own_report.close();
                self.observer.on_run(&RunEvent::WindowEnded);
                if why == Some(Wake::Interrupted) {
                    parts.status = Status::Interrupted;
                    self.observer.on_run(&RunEvent::Interrupted);
                }
                return;
            }
            last = sample;
        }
    }

    fn window_began(&mut self, parts: &mut Parts, sample: &Sample) {
        parts.begin = Some(sample.clone());
        let begin = sample.taken.saturating_duration_since(parts.tally.start());
        parts.until_steady = self.context.spec.until_steady.map(|asked| SteadyUntil::new(asked, begin));
        self.observer.on_run(&RunEvent::WindowBegan);
    }

    fn tick(&mut self, sessions: &Sessions, parts: &mut Parts, tally: &Tally, end_at: Option<Instant>) {
        let recent = parts.series.collect(tally);
        self.kept.collect(tally);
        let now = Instant::now();
        let all = match self.prepared.length {
            Length::Operations(count) => Some(count * u64::from(sessions.count)),
            Length::Time(_) => None,
        };
        self.observer.on_run(&RunEvent::Tick(Tick {
            phase: if parts.begin.is_some() { Phase::Window } else { Phase::WarmUp },
            elapsed: now - tally.start(),
            left: end_at.map(|end| end.saturating_duration_since(now)),
            recent: &recent,
            sessions: sessions.count - sessions.ended.len() as u32,
            operations: all.map(|all| (sessions.shared.operations(), all)),
        }));
    }

    /// What follows when the sessions have ended: the server as it was, `post`, and a look at the data.
    fn after(&mut self, parts: &mut Parts) {
        let engine = Arc::clone(&self.context.engine);
        match within(PUT_BACK_PATIENCE, move || engine.after_run()) {
            Ok(notes) => parts.notes.extend(notes),
            Err(silence) => parts.notes.push(format!("putting the server's settings back: {silence}.")),
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
