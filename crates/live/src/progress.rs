//! Progress of loads, probes and verifications.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use slob_facts::format::plural;
use slob_run::{LoadEvent, LoadObserver};

use crate::talk;

const LINE_EVERY: Duration = Duration::from_secs(5);

/// A bar on a terminal, else lines.
pub struct Progress {
    what: &'static str,
    /// Begin of the present work, and its total.
    begun: Mutex<(Instant, u64)>,
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Shows nothing before the first [`Progress::at`].
    pub fn new(what: &'static str) -> Self {
        Self::with_bar(what, talk::is_interactive())
    }

    /// `plain` forbids control codes.
    pub fn of_load(plain: bool) -> Self {
        Self::with_bar("loading", !plain && talk::is_interactive())
    }

    fn with_bar(what: &'static str, has_bar: bool) -> Self {
        let now = Instant::now();
        let bar = has_bar.then(|| {
            let characters = if talk::takes_unicode() { "█░" } else { "#." };
            let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3} % {msg}");
            ProgressBar::new(0)
                .with_prefix(what)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars(characters))
        });
        Self { what, begun: Mutex::new((now, 0)), bar, last_line: Mutex::new(now) }
    }

    /// `detail` is a figure such as a rate.
    pub fn at(&self, done: u64, of: u64, detail: &str) {
        let text = format!("{detail}{}", self.eta(done, of));
        if let Some(bar) = &self.bar {
            bar.set_length(of);
            bar.set_position(done);
            bar.set_message(text);
            return;
        }
        let Ok(mut last) = self.last_line.try_lock() else { return };
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            talk::say(&format!("{}: {:.0} % {text}", self.what, 100.0 * done as f64 / of.max(1) as f64));
        }
    }

    fn eta(&self, done: u64, of: u64) -> String {
        let Ok(mut begun) = self.begun.lock() else { return String::new() };
        // Another total is of other work, such as a probe's next part.
        if begun.1 != of {
            *begun = (Instant::now(), of);
            return String::new();
        }
        let elapsed = begun.0.elapsed().as_secs_f64();
        if done == 0 || done >= of {
            return String::new();
        }
        format!(", {} left", duration(elapsed / done as f64 * (of - done) as f64))
    }

    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| talk::say(line)),
            None => talk::say(line),
        }
    }

    pub fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// A line of the terminal that changes.
pub fn line() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

/// `45 s`, `3 min 20 s`, `2 h 05 min`
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

pub(crate) fn left_words(left: Duration, is_most: bool) -> String {
    let at_most = if is_most { "at most " } else { "" };
    format!("{at_most}{} left", duration(left.as_secs_f64()))
}

impl LoadObserver for Progress {
    fn on_load(&self, event: &LoadEvent) {
        if let LoadEvent::Progress { rows, of, bytes, elapsed } = event {
            let rate = *bytes as f64 / 1e6 / elapsed.as_secs_f64().max(1e-9);
            self.at(*rows, *of, &format!("{rate:.0} MB/s"));
        }
        if let Some(text) = load_sentence(event) {
            self.say(&text);
        }
    }
}

pub(crate) fn load_sentence(event: &LoadEvent) -> Option<String> {
    match event {
        LoadEvent::Began { rows: 0, resumed: 0, .. }
        | LoadEvent::Progress { .. }
        | LoadEvent::Finishing(_) => None,
        LoadEvent::Began { bytes, resumed, streams, slice_bytes, .. } => {
            let going_on = if *resumed > 0 { ", resuming an earlier load" } else { "" };
            let streams = plural(*streams as u64, "stream");
            let gb = *bytes as f64 / 1e9;
            let lost = *slice_bytes as f64 / 1e6;
            Some(format!(
                "loading {gb:.2} GB with {streams}{going_on}; if interrupted, it resumes with at most {lost:.0} MB \
                 per stream to load again"
            ))
        }
        LoadEvent::Finished(schema, layout) => Some(format!(
            "schema {schema}: {} rows in {} blocks, {} blocks in all",
            layout.rows, layout.row_blocks, layout.all_blocks
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_or_two_units() {
        let texts = [0.4, 59.6, 200.0, 7500.0].map(duration);
        assert_eq!(texts, ["0 s", "1 min 00 s", "3 min 20 s", "2 h 05 min"]);
    }
}
