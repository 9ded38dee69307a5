//! The phases of a run: the warm-up, and the window. Sessions rest before and after each phase.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_measure::Figures;
use slob_record::{EdgeRecord, Interval, RateStepRecord, Record, UntilSteady as SteadyRecord};
use slob_spec::{Length, SessionLoss, TraceWhen, UntilSteady, WarmUp};
use slob_stats::{SteadyRule, SteadyWatch};

use crate::assemble::assemble;
use crate::events::{Phase, RunEvent, Tick};
use crate::sampler::{Sample, Sampler};
use crate::sessions::{EarlyEnd, PhaseEnd, Sessions};
use crate::settling::Settling;
use crate::tally::{Drain, GrowingSeries};
use crate::timeline::{Edge, Measurements, Timeline};

/// A common start waits for a sample.
const SAMPLE_TIME: Duration = Duration::from_millis(500);
/// A shorter window shortens it.
const TRACE_TIME: Duration = Duration::from_secs(10);
/// Observers get a record at this interval of the window.
const SHOWN_EVERY_S: u64 = 5;

pub(crate) struct Phases<'a, 'b> {
    timeline: &'b mut Timeline<'a>,
    sampler: &'b mut Sampler,
    sessions: Sessions,
    measured: Measurements,
    last_sample: Option<Sample>,
    steady: Option<SteadyStop>,
    settling: Option<Settling>,
    /// The run as it was at the first look of ABORT_ON.
    watched: Option<Record>,
    step: Option<(usize, Sample)>,
    phase: Phase,
    until: Option<Instant>,
}

impl<'a, 'b> Phases<'a, 'b> {
    /// The sessions are connected and rest.
    pub(crate) fn new(timeline: &'b mut Timeline<'a>, sampler: &'b mut Sampler, sessions: Sessions) -> Self {
        let measured = Measurements { started: Timestamp::now(), ..Measurements::default() };
        let settling = match timeline.context.spec.warmup {
            WarmUp::Auto(at_most) => Some(Settling::new(at_most)),
            WarmUp::For(_) => None,
        };
        let (last_sample, steady, watched, step) = (None, None, None, None);
        let (phase, until) = (Phase::WarmUp, None);
        Self {
            timeline,
            sampler,
            sessions,
            measured,
            last_sample,
            steady,
            settling,
            watched,
            step,
            phase,
            until,
        }
    }

    pub(crate) fn carry_out(mut self) -> Measurements {
        let (end, reason) = self.work();
        if reason == Some(EarlyEnd::Interrupted) {
            self.measured.interrupted = true;
            self.timeline.observer.on_run(&RunEvent::Interrupted);
        }
        self.sessions.stop(&end);
        self.finish()
    }

    /// Returns the end of the last phase, and the reason if it ended early.
    fn work(&mut self) -> (PhaseEnd, Option<EarlyEnd>) {
        let start = self.timeline.tally.clock.moment(Duration::ZERO);
        let mut end = PhaseEnd { closed: start, last_work: start, stragglers: EdgeRecord::default() };
        let mut reason = None;
        let warmup = Some(Phase::WarmUp).filter(|_| self.timeline.context.spec.warmup != WarmUp::NONE);
        for (number, phase) in warmup.into_iter().chain([Phase::Window]).enumerate() {
            self.begin(phase, &end);
            if number == 0 {
                self.timeline.observer.on_run(&RunEvent::Started);
            }
            reason = self.watch();
            end = self.sessions.rest(self.until, reason);
            if phase == Phase::WarmUp && reason.is_none() {
                reason = self.sessions.wait_until(Instant::now(), self.timeline.context.stop);
            }
            if reason.is_some() {
                break;
            }
        }
        self.end(&end);
        if reason.is_none() && self.traces(TraceWhen::After) {
            end = self.trace_behind_window();
        }
        (end, reason)
    }

    /// False if no trace is wanted now, or no host can be traced.
    fn traces(&mut self, when: TraceWhen) -> bool {
        if self.timeline.context.spec.trace != Some(when) {
            return false;
        }
        let notes =
            self.sampler.hosts.trace(self.timeline.prepared.server.block_bytes, self.timeline.context.stop);
        for note in &notes {
            self.timeline.observer.on_run(&RunEvent::Warning(note));
        }
        let is_traced = notes.is_empty();
        self.measured.notes.extend(notes);
        is_traced
    }

    /// These operations are no part of the measurements, so no early end spoils the run.
    fn trace_behind_window(&mut self) -> PhaseEnd {
        let time = match self.timeline.context.spec.length {
            Length::Time(window) => window.min(TRACE_TIME),
            Length::Operations(_) => TRACE_TIME,
        };
        self.timeline.tally.close();
        self.timeline.observer.on_run(&RunEvent::Tracing(time));
        let begin = self.sampler.sample(true, |_| ());
        let end = Instant::now() + time;
        self.sessions.shared.rendezvous.release(Some(end));
        let mut reason = None;
        while reason.is_none() && Instant::now() < end {
            let next_second = Instant::now() + Duration::from_secs(1);
            reason = self.sessions.wait_until(end.min(next_second), self.timeline.context.stop);
            // Finds processes of the server that have started since.
            self.sampler.sample(false, |_| ());
        }
        let rest = self.sessions.rest(Some(end), reason);
        let sample = self.sampler.sample(true, |_| ());
        self.measured.traced = Some((begin, sample));
        rest
    }

    /// Samples while the sessions rest.
    fn begin(&mut self, phase: Phase, last: &PhaseEnd) {
        let start = self.timeline.start.take();
        let wait_until = |moment: Instant| thread::sleep(moment.saturating_duration_since(Instant::now()));
        if let Some(start) = start {
            wait_until(start - SAMPLE_TIME);
        }
        let mut sample = match phase {
            Phase::WarmUp => self.sampler.sample(false, |_| ()),
            Phase::Window => {
                self.timeline.server_report.open(&self.timeline.context.engine);
                self.traces(TraceWhen::Window);
                self.sampler.sample(true, |_| ())
            }
        };
        if let Some(start) = start {
            wait_until(start);
            self.measured.started = Timestamp::now();
        }
        let now = Instant::now();
        // Only stragglers change counters, and the clock has been at rest until now.
        sample.taken = now;
        self.timeline.tally.clock.rest(now.saturating_duration_since(last.closed));
        let follows_another = self.last_sample.is_some();
        self.add_sample(sample.clone());
        if follows_another {
            self.tick();
            let warm_up_s = self.timeline.tally.clock.at(now).as_secs();
            self.settling.iter_mut().for_each(|all| all.watch_until(&self.measured.series, warm_up_s));
        }
        self.phase = phase;
        if phase == Phase::Window {
            self.note_step(&sample, false);
            self.timeline.tally.begin_window(sample.taken);
            let begin = self.timeline.tally.clock.at(sample.taken);
            self.measured.begin = Some(Edge { sample, stragglers: last.stragglers });
            let until_steady = self.timeline.context.spec.until_steady;
            self.steady = until_steady.map(|asked| SteadyStop::new(asked, begin));
            self.timeline.observer.on_run(&RunEvent::WindowBegan);
        }
        let warmup = Some(self.timeline.context.spec.warmup.at_most()).filter(|_| phase == Phase::WarmUp);
        let length = warmup.or(match self.timeline.context.spec.length {
            Length::Time(length) => Some(length),
            Length::Operations(_) => None,
        });
        self.timeline.tally.begin_phase(now, warmup);
        self.until = length.map(|length| now + length);
        self.sessions.shared.rendezvous.release(self.until);
    }

    fn add_sample(&mut self, sample: Sample) {
        if let Some(last) = &self.last_sample {
            self.measured.series.add_sampled(&self.timeline.tally.clock, last, &sample);
        }
        self.last_sample = Some(sample);
    }

    /// Called at the first sample after a step; `is_last` if the window ended, which may cut a step short.
    fn note_step(&mut self, sample: &Sample, is_last: bool) {
        let spec = self.timeline.context.spec;
        let Some(steps) = spec.workload.rate_per_s.as_ref().map(|rate| rate.steps()) else { return };
        if steps.len() == 1 || self.phase != Phase::Window {
            return;
        }
        let begin = match (spec.warmup, &self.measured.begin) {
            (WarmUp::For(warmup), _) => warmup,
            (WarmUp::Auto(_), Some(begin)) => self.timeline.tally.clock.at(begin.sample.taken),
            (WarmUp::Auto(_), None) => Duration::MAX,
        };
        let since_begin = self.timeline.tally.clock.at(sample.taken).saturating_sub(begin);
        let is_whole = self.until.is_none_or(|until| Instant::now() >= until);
        let at = match is_last && is_whole {
            true => steps.len(),
            false => steps.partition_point(|step| step.from <= since_begin) - 1,
        };
        if self.step.as_ref().is_some_and(|(before, _)| *before == at) {
            return;
        }
        let Some((before, first)) = self.step.replace((at, sample.clone())) else { return };
        // The counters of a late sample may be of several steps.
        if first.snapshot.is_some() && sample.snapshot.is_some() && before + 1 == at {
            let from_s = steps[before].from.as_secs_f64();
            self.measured.steps.push(RateStepRecord { from_s, ..self.stretch(&first, sample) });
        }
    }

    /// Counters are absent without both snapshots.
    fn stretch(&self, first: &Sample, last: &Sample) -> RateStepRecord {
        let snapshots = first.snapshot.as_ref().zip(last.snapshot.as_ref());
        let figures = snapshots.map(|(begin, end)| end.since(begin)).unwrap_or_default();
        let Figures { counters, server, latencies, events, .. } = figures;
        RateStepRecord {
            from_s: 0.0,
            begin_s: self.timeline.tally.clock.at(first.taken).as_secs_f64(),
            seconds: (last.taken - first.taken).as_secs_f64(),
            counters,
            server_counters: server,
            latencies,
            events,
        }
    }

    /// Looks at the stretch since `before`.
    fn is_to_abort(&mut self, before: Option<&Sample>, operations: Interval) -> bool {
        let (Some(before), Some(last)) = (before, &self.last_sample) else { return false };
        let stretch = self.stretch(before, last);
        let run = self.watched.take().unwrap_or_else(|| self.so_far(last.clone()));
        self.measured.aborted = self.timeline.abort.add(&run, &stretch, operations);
        self.watched = Some(run);
        self.measured.aborted.is_some()
    }

    /// Samples once a second.
    fn watch(&mut self) -> Option<EarlyEnd> {
        loop {
            let clock = &self.timeline.tally.clock;
            let sampled = self.last_sample.as_ref().map_or(Duration::ZERO, |last| clock.at(last.taken));
            if self.steady.as_mut().is_some_and(|steady| steady.is_reached(&self.measured.series, sampled)) {
                return None;
            }
            let next_second = clock.moment(Duration::from_secs(sampled.as_secs() + 1));
            self.end_warm_up_if_settled(sampled);
            let wake_at = self.until.map_or(next_second, |until| until.min(next_second));
            let reason = self.sessions.wait_until(wake_at, self.timeline.context.stop);
            if reason.is_some() || self.until.is_some_and(|until| Instant::now() >= until) {
                return reason;
            }
            let is_shown = self.timeline.observer.wants_the_record() && self.is_time_to_show();
            let sample = self.sampler.sample(is_shown, |_| ());
            self.note_step(&sample, false);
            let shown = is_shown.then(|| sample.clone());
            let is_watched = self.phase == Phase::Window && !self.timeline.abort.is_empty();
            let before = self.last_sample.clone().filter(|_| is_watched);
            self.add_sample(sample);
            let operations = self.tick();
            if let Some(sample) = shown {
                let record = self.so_far(sample);
                self.timeline.observer.on_run(&RunEvent::SoFar(&record));
            }
            if self.is_to_abort(before.as_ref(), operations) {
                return Some(EarlyEnd::Aborted);
            }
        }
    }

    fn end_warm_up_if_settled(&mut self, now: Duration) {
        let Some(settling) = self.settling.as_mut().filter(|_| self.phase == Phase::WarmUp) else { return };
        settling.ask(&self.timeline.context.engine);
        if let Some(end) = settling.end(&self.measured.series, now) {
            let tally = &self.timeline.tally;
            let until = tally.clock.moment(end);
            tally.end_phase(end);
            self.sessions.shared.rendezvous.shorten(until);
            self.until = Some(until);
        }
    }

    fn is_time_to_show(&self) -> bool {
        let Some(begin) = &self.measured.begin else { return false };
        let clock = &self.timeline.tally.clock;
        let second = clock.at(Instant::now()).saturating_sub(clock.at(begin.sample.taken)).as_secs();
        second > 0 && second.is_multiple_of(SHOWN_EVERY_S)
    }

    fn so_far(&self, sample: Sample) -> Record {
        let Measurements { started, begin, series, .. } = &self.measured;
        let so_far = Measurements {
            started: *started,
            ended: *started,
            begin: begin.clone(),
            series: series.so_far(self.timeline.tally.clock.at(sample.taken)),
            end: Some(Edge { sample, stragglers: EdgeRecord::default() }),
            ..Measurements::default()
        };
        assemble(self.timeline, so_far)
    }

    /// Samples while the sessions rest.
    fn end(&mut self, last: &PhaseEnd) {
        let mut ended = last.last_work;
        let mut sample = self.sampler.sample(true, |taken| {
            if !last.is_idle() {
                ended = taken;
            }
            self.timeline.tally.end_window(ended);
        });
        // A slow snapshot is no part of the last step.
        sample.taken = ended;
        self.note_step(&sample, true);
        self.add_sample(sample.clone());
        self.tick();
        self.measured.end = Some(Edge { sample, stragglers: last.stragglers });
        self.timeline.server_report.close();
        self.timeline.observer.on_run(&RunEvent::WindowEnded);
    }

    /// Returns what ended since the last call.
    fn tick(&mut self) -> Interval {
        let recent = self.measured.series.collect(&self.timeline.tally, Drain::Unlocked);
        self.timeline.operations_file.collect(&self.timeline.tally);
        let now = Instant::now();
        let (window, all) = match self.timeline.context.spec.length {
            Length::Time(length) => (length, None),
            Length::Operations(each) => (Duration::ZERO, Some(each * u64::from(self.sessions.count))),
        };
        let to_come = if self.phase == Phase::WarmUp { window } else { Duration::ZERO };
        let left = self.until.filter(|_| all.is_none() || self.phase == Phase::WarmUp);
        self.timeline.observer.on_run(&RunEvent::Tick(Tick {
            phase: self.phase,
            elapsed: self.timeline.tally.clock.at(now),
            left: left.map(|until| until.saturating_duration_since(now) + to_come),
            is_most: self.phase == Phase::WarmUp
                && self.settling.as_ref().is_some_and(|all| !all.is_settled()),
            recent: &recent,
            sessions: self.sessions.alive(),
            operations: all.map(|all| (self.sessions.shared.operations.load(Ordering::Relaxed), all)),
        }));
        recent
    }

    /// Sessions have ended, or are not waited for any more.
    fn finish(self) -> Measurements {
        let Self { timeline, sessions, mut measured, .. } = self;
        measured.ended = Timestamp::now();
        measured.error = sessions.error(measured.end_of_window());
        measured.series.collect(&timeline.tally, Drain::All);
        measured.notes.extend(timeline.operations_file.finish(&timeline.tally));
        measured.unfinished = sessions.alive();
        if measured.unfinished > 0 && timeline.context.spec.session_loss == SessionLoss::Fail {
            measured.error.get_or_insert_with(|| sessions.unanswered());
        }
        if let Some(why) = &measured.aborted {
            measured.notes.push(format!("ABORT_ON ended the run before its time: {why}."));
        }
        // A run that was stopped at once had no second to watch.
        measured.notes.extend(timeline.abort.notes().filter(|_| self.watched.is_some()));
        measured.until_steady = self.steady.as_ref().map(SteadyStop::record);
        let begin = measured.begin.as_ref().map(|begin| timeline.tally.clock.at(begin.sample.taken));
        if let Some((settling, begin)) = self.settling.as_ref().zip(begin) {
            measured.warm_up = Some(settling.record(begin.as_secs_f64()));
            measured.notes.extend(settling.notes(begin));
        }
        measured.sessions = sessions.ended;
        let window = timeline.tally.window_ns();
        for (_, end) in &mut measured.sessions {
            end.totals.finish(&window, end.next_due_ns);
        }
        measured
    }
}

/// Implements UNTIL_STEADY.
#[derive(Debug)]
struct SteadyStop {
    asked: UntilSteady,
    watch: SteadyWatch,
    reached: bool,
}

impl SteadyStop {
    /// Only seconds wholly in the window count; it begins at `begin` of the clock.
    fn new(asked: UntilSteady, begin: Duration) -> Self {
        let rule = SteadyRule {
            windows: UntilSteady::WINDOWS as usize,
            window_s: asked.window_s,
            tolerance: f64::from(asked.tolerance_percent) / 100.0,
        };
        let first_s = begin.as_secs() + u64::from(begin.subsec_nanos() > 0);
        Self { asked, watch: SteadyWatch::new(rule, first_s), reached: false }
    }

    fn is_reached(&mut self, series: &GrowingSeries, now: Duration) -> bool {
        let complete_s = GrowingSeries::complete_s(now);
        while self.watch.next_s() < complete_s && !self.reached {
            let operations = series.second(self.watch.next_s()).map_or(0, |second| second.ops.total());
            self.watch.push(operations as f64);
            self.reached = self.watch.is_steady();
        }
        self.reached
    }

    fn record(&self) -> SteadyRecord {
        let last = self.watch.last_windows();
        SteadyRecord {
            reached: self.reached,
            tolerance_percent: f64::from(self.asked.tolerance_percent),
            window_s: self.asked.window_s,
            since_s: last.as_ref().map(|last| last.since_s),
            operations_per_s: last.map(|last| last.rates).unwrap_or_default(),
        }
    }
}
