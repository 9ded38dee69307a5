//! A run told in lines: the display where there is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use slob_record::Interval;
use slob_run::{Phase, RunEvent, RunObserver, Tick};
use slob_stats::Merge;

use super::state::sentence;
use crate::output;
use crate::progress::duration;

/// Runs up to this length have a line for each second.
const SHORT: Duration = Duration::from_secs(60);
/// Seconds for which a longer run has one line.
const LONG_EVERY_S: f64 = 10.0;

/// Tells of a run in lines without control codes; on a terminal that can't have the dashboard, in one that changes.
pub(crate) struct RunTalk {
    line: Option<ProgressBar>,
    /// What no line was said for yet.
    pending: Option<Interval>,
}

impl RunTalk {
    /// `plain` asks for lines without control codes wherever they go.
    pub(crate) fn new(plain: bool) -> Self {
        let line = (!plain && output::is_interactive()).then(|| {
            let style =
                ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::new_spinner().with_style(style)
        });
        Self { line, pending: None }
    }

    fn say(&self, text: &str) {
        match &self.line {
            Some(line) => line.suspend(|| output::say(text)),
            None => output::say(text),
        }
    }

    fn second(&mut self, tick: &Tick<'_>) {
        if let Some(shown) = &self.line {
            shown.set_message(line(tick, tick.recent));
            shown.tick();
            return;
        }
        let pending = match self.pending.take() {
            Some(mut pending) => {
                pending.merge(tick.recent);
                pending
            }
            None => tick.recent.clone(),
        };
        let short = tick.left.is_none_or(|left| tick.elapsed + left <= SHORT);
        let over = tick.left.is_some_and(|left| left.is_zero());
        // Half a second of grace: samples are not exactly a second apart.
        let full = pending.sampled_s.is_none_or(|seconds| seconds > LONG_EVERY_S - 0.5);
        if short || over || full {
            output::say(&line(tick, &pending));
        } else {
            self.pending = Some(pending);
        }
    }
}

impl RunObserver for RunTalk {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Tick(tick) => self.second(tick),
            RunEvent::Verifying => {
                if let Some(line) = &self.line {
                    line.finish_and_clear();
                }
            }
            _ => {
                if let Some(text) = sentence(event) {
                    self.say(&text);
                }
            }
        }
    }
}

/// A second of a run, or a few. Counts are divided by the time between the samples.
fn line(tick: &Tick<'_>, recent: &Interval) -> String {
    let seconds = recent.sampled_s.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
    let rate = |count: u64| count as f64 / seconds;
    let reads = recent.physical_reads.map_or("-".into(), |reads| format!("{:.0}", rate(reads)));
    let redo = recent.redo_bytes.map_or("-".into(), |bytes| format!("{:.1}", rate(bytes) / 1e6));
    let us = |p| recent.latency.percentile(p).map_or("-".into(), |ns| format!("{:.0}", ns as f64 / 1e3));
    let phase = match tick.phase {
        Phase::WarmUp => "warm-up",
        Phase::Window => "measure",
    };
    let left = match (tick.operations, tick.left) {
        (Some((done, all)), _) => format!("{done} of {all} operations"),
        (None, Some(left)) => format!("{} left", duration(left.as_secs_f64())),
        (None, None) => String::new(),
    };
    format!(
        "{:>5.0} s {phase}  {:>8.0} op/s  {reads:>8} reads/s  p50 {:>6} us  p99 {:>7} us  redo {redo:>6} MB/s  {left}",
        tick.elapsed.as_secs_f64(),
        rate(recent.ops.total()),
        us(50.0),
        us(99.0),
    )
}
