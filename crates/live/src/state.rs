//! The state of a run or a load, gathered from its events. Everything shown is a function of it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use slob_facts::format::{count, duration_us, fixed, plural};
use slob_facts::{Grade, Question, Verdict, verdicts};
use slob_record::Interval;
use slob_run::{LoadEvent, Phase, RunEvent, ScriptMoment, Tick};
use slob_spec::{Length, LoadSpec, RunSpec};
use slob_stats::Merge;

use crate::progress;

const MOST_SECONDS: usize = 1800;
const MOST_NOTES: usize = 50;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Stage {
    #[default]
    Checking,
    Connecting,
    Script(ScriptMoment),
    WarmUp,
    Window,
    Stopping,
    Tracing,
    Verifying,
}

impl Stage {
    pub(crate) fn word(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RunState {
    pub(crate) target: String,
    pub(crate) name: String,
    /// Warm-up and window; `None` with WORK_LOOP.
    pub(crate) planned: Option<Duration>,
    pub(crate) run_id: Option<String>,
    pub(crate) block_bytes: Option<u32>,
    pub(crate) stage: Stage,
    pub(crate) sessions: u32,
    /// `None` before the start.
    pub(crate) alive: Option<u32>,
    pub(crate) elapsed: Duration,
    pub(crate) left: Option<Duration>,
    /// WARMUP=auto may end earlier.
    pub(crate) is_most: bool,
    /// Operations done and planned with WORK_LOOP.
    pub(crate) operations: Option<(u64, u64)>,
    pub(crate) history: VecDeque<Second>,
    /// Since the start, warm-up included, for scrapers.
    pub(crate) totals: Interval,
    pub(crate) notes: VecDeque<String>,
    pub(crate) verdicts: Vec<Verdict>,
    started: bool,
}

impl RunState {
    pub(crate) fn new(spec: &RunSpec) -> Self {
        Self {
            target: spec.target.to_string(),
            name: spec.run_name.as_str().to_owned(),
            planned: match spec.length {
                Length::Time(length) => Some(spec.warmup.at_most() + length),
                Length::Operations(_) => None,
            },
            sessions: spec.workload.sessions(),
            ..Self::default()
        }
    }

    pub(crate) fn hear(&mut self, event: &RunEvent<'_>) -> Option<String> {
        let mut line = sentence(event);
        match event {
            RunEvent::Connecting { run_id, sessions, block_bytes } => {
                self.stage = Stage::Connecting;
                self.run_id = Some((*run_id).to_owned());
                (self.sessions, self.block_bytes) = (*sessions, Some(*block_bytes));
            }
            RunEvent::Script(moment) => self.stage = Stage::Script(*moment),
            RunEvent::Started => {
                self.started = true;
                self.alive = Some(self.sessions);
                if self.stage != Stage::Window {
                    self.stage = Stage::WarmUp;
                }
            }
            RunEvent::WindowBegan => self.stage = Stage::Window,
            RunEvent::Tick(tick) => line = self.tick(tick),
            RunEvent::SoFar(record) => self.verdicts = verdicts(record).into(),
            RunEvent::WindowEnded => (self.stage, self.left) = (Stage::Stopping, None),
            RunEvent::Tracing(_) => self.stage = Stage::Tracing,
            RunEvent::Verifying => self.stage = Stage::Verifying,
            RunEvent::Warning(_) | RunEvent::Connected { .. } | RunEvent::Interrupted => {}
        }
        let note = |line: &String| line.lines().next().unwrap_or_default().to_owned();
        line.inspect(|line| push(&mut self.notes, note(line), MOST_NOTES))
    }

    fn tick(&mut self, tick: &Tick<'_>) -> Option<String> {
        let measured = tick.phase == Phase::Window;
        push(&mut self.history, Second::of(tick.recent, measured), MOST_SECONDS);
        self.totals.merge(tick.recent);
        (self.elapsed, self.left, self.operations) = (tick.elapsed, tick.left, tick.operations);
        if std::mem::replace(&mut self.is_most, tick.is_most) && !tick.is_most {
            self.planned = tick.left.map(|left| tick.elapsed + left);
        }
        let before = self.alive.replace(tick.sessions).unwrap_or(self.sessions);
        // With WORK_LOOP sessions end when their work is done.
        let lost = tick.operations.is_none() && tick.sessions < before;
        let all = plural(u64::from(self.sessions), "session");
        lost.then(|| format!("{:.0} s: {} of {all} at work", tick.elapsed.as_secs_f64(), tick.sessions))
    }

    pub(crate) fn now(&self) -> Option<&Second> {
        self.history.back()
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &Second> {
        self.history.iter().filter(|second| second.measured)
    }

    /// `None` before the start.
    pub(crate) fn done(&self) -> Option<f64> {
        let (done, all) = match (self.operations, self.planned) {
            (Some((done, all)), _) => (done as f64, all as f64),
            (None, Some(planned)) => (self.elapsed.as_secs_f64(), planned.as_secs_f64()),
            (None, None) => return None,
        };
        let share = (all > 0.0).then(|| (done / all).clamp(0.0, 1.0))?;
        match self.stage {
            Stage::Stopping | Stage::Tracing | Stage::Verifying => Some(share),
            _ => self.started.then_some(share),
        }
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(item);
}

pub(crate) fn sentence(event: &RunEvent<'_>) -> Option<String> {
    match event {
        RunEvent::Warning(text) => Some(format!("warning: {text}")),
        RunEvent::Connected { sessions, took } => {
            let sessions = plural(u64::from(*sessions), "session");
            Some(format!("{sessions} connected in {:.1} s", took.as_secs_f64()))
        }
        RunEvent::Script(moment) => Some(format!("calling EXTERNAL_SCRIPT {moment}")),
        RunEvent::Tracing(time) => {
            Some(format!("the window is over; tracing reads and writes for {} s more", time.as_secs()))
        }
        RunEvent::Interrupted => Some("interrupted: the results so far are kept".into()),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;
    use slob_record::Record;

    /// A recorded run, for its verdicts.
    pub(crate) const RUN: &str = include_str!("../../record/tests/fixtures/v1/20261121T014616Z-ten/run.json");
    /// Seconds of the window before the first verdicts.
    const FIRST_SHOWN_S: u64 = 5;

    /// A run of eight sessions: five seconds of warm-up, then `window_s` of a window of sixty.
    pub(crate) fn state(window_s: u64, change: impl Fn(u64, Second) -> Second) -> RunState {
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
            is_most: false,
            operations: None,
            history: VecDeque::new(),
            totals: Interval::default(),
            notes: VecDeque::from(["8 sessions connected in 0.1 s".to_owned()]),
            verdicts: if window_s < FIRST_SHOWN_S { Vec::new() } else { verdicts(&record()).into() },
            started: true,
        };
        for second in 0..5 + window_s {
            let wave = second % 7;
            let reads = 29_000 + 100 * wave;
            let figures = Second {
                measured: second >= 5,
                operations_per_s: 460.0 + wave as f64,
                p50_us: Some(15_000.0),
                p99_us: Some(60_000.0 + 1000.0 * wave as f64),
                response_p99_us: None,
                physical_reads_per_s: Some(reads as f64),
                redo_bytes_per_s: Some(24e6 + 500e3 * wave as f64),
                device_reads_per_s: Some((reads + 100) as f64),
                device_busy_percent: Some(83.0),
                host_busy_percent: Some(27.5),
                db_cpus: Some(0.32),
                db_percent_of_host: Some(8.0),
            };
            state.history.push_back(change(second, figures));
        }
        state
    }
}

/// A verdict on the window so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) question: Question,
    pub(crate) answer: Grade,
    pub(crate) sentence: String,
}

const QUESTIONS: [Question; 3] = [Question::Physical, Question::CpuToSpare, Question::Steady];

pub(crate) fn hints(state: &RunState) -> [Hint; 3] {
    let too_early = match state.stage {
        Stage::Window => "Too early to tell.",
        _ => "The window has not begun.",
    };
    QUESTIONS.map(|question| match state.verdicts.iter().find(|verdict| verdict.question == question) {
        Some(verdict) => Hint { question, answer: verdict.answer, sentence: verdict.sentence() },
        None => Hint { question, answer: Grade::Unknown, sentence: too_early.to_owned() },
    })
}

/// The figures of one second of a run; `None` if a figure was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Second {
    /// True within the measured window.
    pub(crate) measured: bool,
    pub(crate) operations_per_s: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    /// In an open loop: from the intended start to the end.
    pub(crate) response_p99_us: Option<f64>,
    pub(crate) physical_reads_per_s: Option<f64>,
    pub(crate) redo_bytes_per_s: Option<f64>,
    pub(crate) device_reads_per_s: Option<f64>,
    pub(crate) device_busy_percent: Option<f64>,
    pub(crate) host_busy_percent: Option<f64>,
    pub(crate) db_cpus: Option<f64>,
    pub(crate) db_percent_of_host: Option<f64>,
}

impl Second {
    /// The known figures in words.
    pub(crate) fn shown(&self) -> Vec<(String, String)> {
        let whole = |rate: f64| count(rate.round() as u64);
        let figures = [
            ("IOPS", self.physical_reads_per_s.map(whole)),
            ("operations/s", Some(whole(self.operations_per_s))),
            ("p99 of an operation", self.p99_us.map(duration_us)),
            ("p99 of a response", self.response_p99_us.map(duration_us)),
            ("redo MB/s", self.redo_bytes_per_s.map(|bytes| fixed(bytes / 1e6, 1))),
            ("device busy %", self.device_busy_percent.map(|percent| fixed(percent, 0))),
            ("host busy %", self.host_busy_percent.map(|percent| fixed(percent, 0))),
        ];
        figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn of(interval: &Interval, measured: bool) -> Self {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let known = |seconds: Option<f64>| seconds.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
        let seconds = known(interval.sampled_s);
        // The database's host has a clock of its own.
        let host_seconds = known(interval.observed_s.or(interval.sampled_s));
        let per_s = |count: Option<u64>| count.map(|count| count as f64 / seconds);
        let host_cpu_s = interval.host_cpu.map(|cpu| cpu.total_s()).filter(|all| *all > 0.0);
        let db_cpu_s = interval.db_cpu.map(|cpu| cpu.total_s());
        Self {
            measured,
            operations_per_s: interval.ops.total() as f64 / seconds,
            p50_us: us(interval.latency.percentile(50.0)),
            p99_us: us(interval.latency.percentile(99.0)),
            response_p99_us: us(interval.response.percentile(99.0)),
            physical_reads_per_s: per_s(interval.physical_reads),
            redo_bytes_per_s: per_s(interval.redo_bytes),
            device_reads_per_s: interval.device.map(|device| device.reads as f64 / host_seconds),
            device_busy_percent: interval
                .device
                .map(|device| (device.busy_ms as f64 / host_seconds / 10.0).min(100.0)),
            host_busy_percent: interval
                .host_cpu
                .filter(|_| host_cpu_s.is_some())
                .and_then(|cpu| cpu.busy_percent()),
            db_cpus: db_cpu_s.map(|used| used / host_seconds),
            db_percent_of_host: db_cpu_s.zip(host_cpu_s).map(|(used, all)| 100.0 * used / all),
        }
    }
}

/// Two rates each second.
const MOST_RATES: usize = 1200;

#[derive(Clone, Debug, Default)]
pub(crate) struct LoadState {
    pub(crate) target: String,
    pub(crate) schemas: u32,
    /// Schemas complete before this load.
    pub(crate) complete: usize,
    pub(crate) streams: usize,
    pub(crate) rows: u64,
    pub(crate) of: u64,
    pub(crate) bytes: u64,
    pub(crate) elapsed: Duration,
    pub(crate) finishing: BTreeSet<u16>,
    pub(crate) finished: BTreeSet<u16>,
    pub(crate) mb_per_s: VecDeque<f64>,
    pub(crate) notes: VecDeque<String>,
}

impl LoadState {
    pub(crate) fn new(spec: &LoadSpec) -> Self {
        Self { target: spec.target.to_string(), schemas: spec.schemas.get(), ..Self::default() }
    }

    /// Applies an event. Returns a line if the event is worth one.
    pub(crate) fn hear(&mut self, event: &LoadEvent) -> Option<String> {
        match event {
            LoadEvent::Began { rows, complete, streams, .. } => {
                (self.of, self.complete, self.streams) = (*rows, *complete, *streams);
            }
            LoadEvent::Progress { rows, of, bytes, elapsed } => {
                let time_s = elapsed.saturating_sub(self.elapsed).as_secs_f64();
                if time_s > 0.0 {
                    let mb_per_s = bytes.saturating_sub(self.bytes) as f64 / 1e6 / time_s;
                    push(&mut self.mb_per_s, mb_per_s, MOST_RATES);
                }
                (self.rows, self.of, self.bytes, self.elapsed) = (*rows, *of, *bytes, *elapsed);
            }
            LoadEvent::Finishing(schema) => _ = self.finishing.insert(schema.get()),
            LoadEvent::Finished(schema, _) => {
                self.finishing.remove(&schema.get());
                self.finished.insert(schema.get());
            }
        }
        progress::load_sentence(event).inspect(|line| push(&mut self.notes, line.clone(), MOST_NOTES))
    }

    pub(crate) fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.rows as f64 / self.of as f64 }
    }

    pub(crate) fn mean_mb_per_s(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 / 1e6 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use slob_record::Record;

    use super::fixture::{self, RUN};
    use super::*;

    #[test]
    fn verdicts_wait_for_the_window() {
        for (window_s, words) in [(0, "The window has not begun."), (3, "Too early to tell.")] {
            let hints = hints(&fixture::state(window_s, |_, second| second));
            assert!(
                hints.iter().all(|hint| hint.answer == Grade::Unknown && hint.sentence == words),
                "{hints:?}"
            );
        }
    }

    #[test]
    fn verdicts_so_far_use_the_words_of_the_report() {
        let state = fixture::state(30, |_, second| second);
        for hint in hints(&state) {
            let verdict = state.verdicts.iter().find(|verdict| verdict.question == hint.question).unwrap();
            assert_eq!((hint.answer, hint.sentence), (verdict.answer, verdict.sentence()));
        }
    }

    /// A record so far has no sessions; their time is that of all operations.
    #[test]
    fn a_record_so_far_has_the_verdicts_of_the_whole_one() {
        let whole: Record = serde_json::from_str(RUN).unwrap();
        let so_far = Record { sessions: Vec::new(), verification: None, ..whole.clone() };
        let named = |record: &Record| {
            let of_window =
                verdicts(record).into_iter().filter(|verdict| QUESTIONS.contains(&verdict.question));
            of_window
                .map(|verdict| (verdict.question, verdict.answer, verdict.sentence()))
                .collect::<Vec<_>>()
        };
        assert_eq!(named(&so_far), named(&whole));
    }
}
