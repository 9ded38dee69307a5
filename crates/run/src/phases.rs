//! The phases of a run: the warm-up, if there is one, and the window, each between two rests of its sessions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slob_record::Status;
use slob_spec::{Length, SessionLoss};

use crate::assemble::assemble;
use crate::observe::{Phase, RunEvent, Tick};
use crate::parts::Parts;
use crate::runner::Timeline;
use crate::sampler::{Sample, Sampler};
use crate::sessions::{Rest, Sessions, Wake};
use crate::tally::Tally;
use crate::until_steady::SteadyUntil;

/// How often whoever watches is shown the record so far, in seconds.
const SHOWN_EVERY_S: u64 = 5;

/// Leads the sessions through them.
pub(crate) struct Phases<'a, 'b> {
    timeline: &'b mut Timeline<'a>,
    sampler: &'b Sampler,
    sessions: Sessions,
    tally: Arc<Tally>,
    parts: Parts,
    phase: Phase,
    /// When the phase ends, if that is known.
    until: Option<Instant>,
}

impl<'a, 'b> Phases<'a, 'b> {
    /// Of sessions that are connected and rest.
    pub(crate) fn new(timeline: &'b mut Timeline<'a>, sampler: &'b Sampler, sessions: Sessions) -> Self {
        let tally = Arc::clone(&sessions.shared.tally);
        let beside = timeline.beside.clone();
        let parts = Parts { beside, ..Parts::new(Timestamp::now(), Arc::clone(&tally)) };
        Self { timeline, sampler, sessions, tally, parts, phase: Phase::WarmUp, until: None }
    }

    /// From the start of the sessions to their end.
    pub(crate) fn carry_out(mut self) -> Parts {
        let (rest, why) = self.work();
        if why == Some(Wake::Interrupted) {
            self.parts.status = Status::Interrupted;
            self.timeline.observer.on_run(&RunEvent::Interrupted);
        }
        self.sessions.stop(&rest);
        self.finish()
    }

    /// All phases. Returns how the last one ended, and why, if it was before its time.
    fn work(&mut self) -> (Rest, Option<Wake>) {
        let mut rest = Rest::before_the_start(self.tally.clock());
        if !self.timeline.prepared.warmup.is_zero() {
            self.begin(Phase::WarmUp, &rest);
            self.timeline.observer.on_run(&RunEvent::Started);
            let why = self.watch();
            rest = self.sessions.rest(self.until, why);
            let why = why.or_else(|| self.sessions.wait_until(Instant::now(), self.timeline.context.stop));
            if why.is_some() {
                self.end(&rest);
                return (rest, why);
            }
        }
        self.begin(Phase::Window, &rest);
        if self.timeline.prepared.warmup.is_zero() {
            self.timeline.observer.on_run(&RunEvent::Started);
        }
        let why = self.watch();
        let rest = self.sessions.rest(self.until, why);
        self.end(&rest);
        (rest, why)
    }

    /// Samples while the sessions rest, then has them begin a phase.
    fn begin(&mut self, phase: Phase, rest: &Rest) {
        let sample = match phase {
            Phase::WarmUp => self.sampler.take(),
            Phase::Window => {
                self.timeline.own_report.open(&self.timeline.context.engine);
                self.sampler.take_edge(|_| ())
            }
        };
        let now = Instant::now();
        // Nothing came to be between the sample and now.
        let taken = if rest.is_whole() { now } else { sample.taken };
        let sample = Sample { taken, ..sample };
        self.tally.clock().rest(now.saturating_duration_since(rest.closed));
        let length = self.length_of(phase);
        let ends_another = self.parts.last.is_some();
        self.parts.sampled(sample.clone());
        if ends_another {
            self.tick();
        }
        if phase == Phase::Window {
            self.tally.edges().begin(taken);
            self.window_began(&sample, rest);
        }
        self.tally.begin_phase(length.filter(|_| phase == Phase::WarmUp));
        (self.phase, self.until) = (phase, length.map(|length| now + length));
        self.sessions.shared.rendezvous.release(self.until);
    }

    fn length_of(&self, phase: Phase) -> Option<Duration> {
        match (phase, self.timeline.prepared.length) {
            (Phase::WarmUp, _) => Some(self.timeline.prepared.warmup),
            (Phase::Window, Length::Time(length)) => Some(length),
            (Phase::Window, Length::Operations(_)) => None,
        }
    }

    fn window_began(&mut self, sample: &Sample, rest: &Rest) {
        self.parts.begin = Some(sample.clone());
        self.parts.begin_stragglers = rest.stragglers;
        let begin = self.tally.clock().at(sample.taken);
        let asked = self.timeline.context.spec.until_steady;
        self.parts.until_steady = asked.map(|asked| SteadyUntil::new(asked, begin));
        self.timeline.observer.on_run(&RunEvent::WindowBegan);
    }

    /// Samples once a second until the phase is over, or there is a reason to end it.
    fn watch(&mut self) -> Option<Wake> {
        loop {
            if self.parts.is_steady() {
                return None;
            }
            let tick_at = self.parts.next_second();
            let wake_at = self.until.map_or(tick_at, |until| until.min(tick_at));
            let why = self.sessions.wait_until(wake_at, self.timeline.context.stop);
            if why.is_some() || self.until.is_some_and(|until| Instant::now() >= until) {
                return why;
            }
            let is_shown = self.timeline.observer.wants_the_record() && self.is_time_to_show();
            self.parts.sampled(if is_shown { self.sampler.take_edge(|_| ()) } else { self.sampler.take() });
            self.tick();
            if is_shown {
                self.show();
            }
        }
    }

    /// Whether a second of the window is about to end after which its record so far is shown.
    fn is_time_to_show(&self) -> bool {
        let Some(begin) = &self.parts.begin else { return false };
        let clock = self.tally.clock();
        let second = (clock.at(Instant::now()).saturating_sub(clock.at(begin.taken))).as_secs();
        second > 0 && second.is_multiple_of(SHOWN_EVERY_S)
    }

    /// Shows what the record would be if the run ended now.
    fn show(&mut self) {
        let Timeline { context, prepared, run_id, .. } = &*self.timeline;
        let record = assemble(context, prepared, run_id, self.parts.so_far());
        self.timeline.observer.on_run(&RunEvent::SoFar(&record));
    }

    /// Samples while the sessions rest after their last phase.
    fn end(&mut self, rest: &Rest) {
        let mut ended = rest.last_work;
        let sample = self.sampler.take_edge(|taken| {
            if !rest.is_whole() {
                ended = taken;
            }
            self.tally.edges().end(ended);
        });
        self.parts.sampled(Sample { taken: ended, ..sample });
        self.tick();
        self.parts.end_stragglers = rest.stragglers;
        self.parts.end.clone_from(&self.parts.last);
        self.timeline.own_report.close();
        self.timeline.observer.on_run(&RunEvent::WindowEnded);
    }

    fn tick(&mut self) {
        let recent = self.parts.series.collect(&self.tally);
        self.timeline.kept.collect(&self.tally);
        let now = Instant::now();
        let count = self.sessions.count;
        let all = match self.timeline.prepared.length {
            Length::Operations(each) => Some(each * u64::from(count)),
            Length::Time(_) => None,
        };
        let window = match (self.phase, self.timeline.prepared.length) {
            (Phase::WarmUp, Length::Time(length)) => length,
            (Phase::Window, _) | (_, Length::Operations(_)) => Duration::ZERO,
        };
        let left = self.until.filter(|_| all.is_none() || self.phase == Phase::WarmUp);
        self.timeline.observer.on_run(&RunEvent::Tick(Tick {
            phase: self.phase,
            elapsed: self.tally.clock().at(now),
            left: left.map(|until| until.saturating_duration_since(now) + window),
            recent: &recent,
            sessions: count - self.sessions.ended.len() as u32,
            operations: all.map(|all| (self.sessions.shared.operations(), all)),
        }));
    }

    /// When the sessions have ended, or are not waited for any more.
    fn finish(mut self) -> Parts {
        let Self { sessions, tally, .. } = self;
        let parts = &mut self.parts;
        parts.ended = Timestamp::now();
        if let Some(error) = sessions.first_error(parts.end.as_ref().map(|sample| sample.taken)) {
            parts.status = Status::Failed { error };
        }
        if sessions.all_dropped() {
            parts.status = Status::Failed { error: "every session lost its database".into() };
        }
        parts.series.flush_all(&tally);
        parts.notes.extend(self.timeline.kept.finish(&tally));
        parts.unfinished = sessions.count - sessions.ended.len() as u32;
        if parts.unfinished > 0 && self.timeline.context.spec.session_loss == SessionLoss::Fail {
            parts.fail(&sessions.silent());
        }
        parts.sessions = sessions.ended;
        self.parts
    }
}
