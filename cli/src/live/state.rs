//! Where a run stands: what its events told, gathered.

use std::collections::VecDeque;
use std::time::Duration;

use slob_record::Interval;
use slob_report::{Verdict, verdicts};
use slob_run::{Phase, RunEvent, ScriptMoment, Tick};
use slob_spec::{Length, RunSpec};
use slob_stats::Merge;

use super::second::Second;
use crate::output;

/// Seconds that are kept; more than any terminal shows.
const MOST_SECONDS: usize = 1800;
/// Notes that are kept.
const MOST_NOTES: usize = 50;

/// What a run does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Checking,
    Connecting,
    Script(ScriptMoment),
    WarmUp,
    Window,
    /// The window is over; the sessions end.
    Stopping,
    Verifying,
}

impl Stage {
    /// The stage in a word or two.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Checking => "checking",
            Self::Connecting => "connecting",
            Self::Script(_) => "script",
            Self::WarmUp => "warm-up",
            Self::Window => "window",
            Self::Stopping => "stopping",
            Self::Verifying => "verifying",
        }
    }
}

/// Where a run stands.
#[derive(Clone, Debug)]
pub(super) struct RunState {
    pub(super) target: String,
    pub(super) name: String,
    /// Of the warm-up and the window together; `None` with WORK_LOOP.
    pub(super) planned: Option<Duration>,
    pub(super) run_id: Option<String>,
    pub(super) block_bytes: Option<u32>,
    pub(super) stage: Stage,
    /// Sessions that the run is to have.
    pub(super) sessions: u32,
    /// Sessions at work; `None` before the start.
    pub(super) alive: Option<u32>,
    pub(super) elapsed: Duration,
    pub(super) left: Option<Duration>,
    /// With WORK_LOOP: operations done, of all.
    pub(super) operations: Option<(u64, u64)>,
    pub(super) history: VecDeque<Second>,
    /// Sums since the sessions were started, the warm-up included: what a scraper takes rates of.
    pub(super) totals: Interval,
    /// The newest last.
    pub(super) notes: VecDeque<String>,
    /// By the record so far.
    pub(super) verdicts: Vec<Verdict>,
    started: bool,
}

impl RunState {
    pub(super) fn new(spec: &RunSpec) -> Self {
        Self {
            target: spec.target.to_string(),
            name: spec.run_name.as_str().to_owned(),
            planned: match spec.length {
                Length::Time(length) => Some(spec.warmup + length),
                Length::Operations(_) => None,
            },
            run_id: None,
            block_bytes: None,
            stage: Stage::Checking,
            sessions: spec.schemas.get() * spec.threads_per_schema.get(),
            alive: None,
            elapsed: Duration::ZERO,
            left: None,
            operations: None,
            history: VecDeque::new(),
            totals: Interval::default(),
            notes: VecDeque::new(),
            verdicts: Vec::new(),
            started: false,
        }
    }

    /// Takes in what happened. What is worth a line beyond the moment is returned.
    pub(super) fn hear(&mut self, event: &RunEvent<'_>) -> Option<String> {
        match event {
            RunEvent::Connecting { run_id, sessions, block_bytes } => {
                self.stage = Stage::Connecting;
                self.run_id = Some((*run_id).to_owned());
                (self.sessions, self.block_bytes) = (*sessions, Some(*block_bytes));
                None
            }
            RunEvent::Script(moment) => {
                self.stage = Stage::Script(*moment);
                sentence(event)
            }
            RunEvent::Started => {
                self.started = true;
                self.alive = Some(self.sessions);
                if self.stage != Stage::Window {
                    self.stage = Stage::WarmUp;
                }
                None
            }
            RunEvent::WindowBegan => {
                self.stage = Stage::Window;
                None
            }
            RunEvent::Tick(tick) => self.tick(tick),
            RunEvent::SoFar(record) => {
                self.verdicts = verdicts(record).into();
                None
            }
            RunEvent::WindowEnded => {
                self.stage = Stage::Stopping;
                self.left = None;
                None
            }
            RunEvent::Connected { .. } | RunEvent::Interrupted => sentence(event),
            RunEvent::Verifying => {
                self.stage = Stage::Verifying;
                None
            }
        }
        .inspect(|line| self.note(line.clone()))
    }

    fn tick(&mut self, tick: &Tick<'_>) -> Option<String> {
        let measured = tick.phase == Phase::Window;
        if self.history.len() == MOST_SECONDS {
            self.history.pop_front();
        }
        self.history.push_back(Second::of(tick.recent, measured));
        self.totals.merge(tick.recent);
        (self.elapsed, self.left, self.operations) = (tick.elapsed, tick.left, tick.operations);
        let before = self.alive.replace(tick.sessions).unwrap_or(self.sessions);
        // With WORK_LOOP sessions end as they finish their work.
        let lost = tick.operations.is_none() && tick.sessions < before;
        let all = output::plural(u64::from(self.sessions), "session");
        lost.then(|| format!("{:.0} s: {} of {all} at work", tick.elapsed.as_secs_f64(), tick.sessions))
    }

    fn note(&mut self, line: String) {
        if self.notes.len() == MOST_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(line);
    }

    /// The newest second.
    pub(super) fn now(&self) -> Option<&Second> {
        self.history.back()
    }

    /// The seconds that lie within the window.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Second> {
        self.history.iter().filter(|second| second.measured)
    }

    /// How much of the planned work is done, from 0 to 1; `None` before the start.
    pub(super) fn done(&self) -> Option<f64> {
        let (done, all) = match (self.operations, self.planned) {
            (Some((done, all)), _) => (done as f64, all as f64),
            (None, Some(planned)) => (self.elapsed.as_secs_f64(), planned.as_secs_f64()),
            (None, None) => return None,
        };
        let share = (all > 0.0).then(|| (done / all).clamp(0.0, 1.0))?;
        match self.stage {
            Stage::Stopping | Stage::Verifying => Some(share),
            _ => self.started.then_some(share),
        }
    }
}

/// An event in words, if it is worth a line.
pub(super) fn sentence(event: &RunEvent<'_>) -> Option<String> {
    match event {
        RunEvent::Connected { sessions, took } => {
            let sessions = output::plural(u64::from(*sessions), "session");
            Some(format!("{sessions} connected in {:.1} s", took.as_secs_f64()))
        }
        RunEvent::Script(moment) => Some(format!("calling EXTERNAL_SCRIPT {moment}")),
        RunEvent::Interrupted => Some("interrupted: the results so far are kept".into()),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod fixture {
    use super::*;
    use slob_record::Record;

    /// A run of a record, for what its verdicts say.
    pub(in crate::live) const RUN: &str =
        include_str!("../../../crates/record/tests/fixtures/v1/20261121T014616Z-ten/run.json");
    /// When the first record so far is shown, in seconds of the window.
    const FIRST_SHOWN_S: u64 = 5;

    /// A run of eight sessions after five seconds of warm-up and that many seconds of its window of sixty.
    pub(in crate::live) fn state(window_s: u64, change: impl Fn(u64, Second) -> Second) -> RunState {
        let record = || serde_json::from_str::<Record>(RUN).unwrap();
        let mut state = RunState {
            target: "sqlite:/data/slob".into(),
            name: "evening".into(),
            planned: Some(Duration::from_secs(65)),
            run_id: Some("20261120T231840Z-evening".into()),
            block_bytes: Some(8192),
            stage: if window_s == 0 { Stage::WarmUp } else { Stage::Window },
            sessions: 8,
            alive: Some(8),
            elapsed: Duration::from_secs(5 + window_s),
            left: Some(Duration::from_secs(60 - window_s.min(60))),
            operations: None,
            history: VecDeque::new(),
            totals: Interval::default(),
            notes: VecDeque::from(["8 sessions connected in 0.1 s".to_owned()]),
            verdicts: if window_s < FIRST_SHOWN_S { Vec::new() } else { verdicts(&record()).into() },
            started: true,
        };
        for second in 0..5 + window_s {
            let wave = second % 7;
            let figures = Second {
                seconds: 1.0,
                host_seconds: 1.0,
                measured: second >= 5,
                operations: 460 + wave,
                p50_us: Some(15_000.0),
                p99_us: Some(60_000.0 + 1000.0 * wave as f64),
                response_p99_us: None,
                physical_reads: Some(29_000 + 100 * wave),
                redo_bytes: Some(24_000_000 + 500_000 * wave),
                device_reads: Some(29_100 + 100 * wave),
                device_read_bytes: Some((29_000 + 100 * wave) * 8192),
                device_busy_ms: Some(830),
                host_busy_s: Some(1.1),
                host_cpu_s: Some(4.0),
                db_cpu_s: Some(0.32),
            };
            state.history.push_back(change(second, figures));
        }
        state
    }
}
