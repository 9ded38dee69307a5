//! What a run shows while it goes on: one line per second.

use indicatif::{ProgressBar, ProgressStyle};
use slob_run::{Phase, RunEvent, RunObserver, Tick};

use crate::output;
use crate::progress::duration;

/// Tells of a run: on a terminal one line that changes, elsewhere one line per second.
pub(crate) struct RunTalk {
    line: Option<ProgressBar>,
}

impl RunTalk {
    pub(crate) fn new() -> Self {
        let line = output::is_interactive().then(|| {
            let style =
                ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::new_spinner().with_style(style)
        });
        Self { line }
    }

    fn say(&self, text: &str) {
        match &self.line {
            Some(line) => line.suspend(|| output::say(text)),
            None => output::say(text),
        }
    }

    fn second(&self, text: String) {
        match &self.line {
            Some(line) => {
                line.set_message(text);
                line.tick();
            }
            None => output::say(&text),
        }
    }
}

impl RunObserver for RunTalk {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Connected { sessions, took } => {
                self.say(&format!(
                    "{} connected in {:.1} s",
                    output::plural(u64::from(*sessions), "session"),
                    took.as_secs_f64()
                ));
            }
            RunEvent::Script(moment) => self.say(&format!("calling EXTERNAL_SCRIPT {moment}")),
            RunEvent::Started | RunEvent::WindowBegan | RunEvent::WindowEnded => {}
            RunEvent::Tick(tick) => self.second(line(tick)),
            RunEvent::Interrupted => self.say("interrupted: what was measured until now is kept"),
            RunEvent::Verifying => {
                if let Some(line) = &self.line {
                    line.finish_and_clear();
                }
            }
        }
    }
}

/// One second of a run. Counts are divided by the time between two samples, which is a second but for the edges.
fn line(tick: &Tick<'_>) -> String {
    let seconds = tick.recent.sampled_s.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
    let rate = |count: u64| count as f64 / seconds;
    let reads = tick.recent.physical_reads.map_or("-".into(), |reads| format!("{:.0}", rate(reads)));
    let redo = tick.recent.redo_bytes.map_or("-".into(), |bytes| format!("{:.1}", rate(bytes) / 1e6));
    let us = |p| tick.recent.latency.percentile(p).map_or("-".into(), |ns| format!("{:.0}", ns as f64 / 1e3));
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
        rate(tick.recent.ops.total()),
        us(50.0),
        us(99.0),
    )
}
