//! Which display a run or a load has, decided once.

use std::sync::Mutex;
use std::time::Duration;

use ratatui::Frame;
use slob_run::{LoadEvent, LoadObserver, RunEvent, RunObserver};
use slob_spec::{LoadSpec, RunSpec};

use super::lines::RunTalk;
use super::load::LoadState;
use super::metrics::Figures;
use super::paint::Look;
use super::screen::{Screen, View};
use super::state::RunState;
use super::{frame, terminal};
use crate::output;
use crate::progress::LoadTalk;

/// A run shows itself soon: there is always a second of it to see.
const RUN_DELAY: Duration = Duration::from_millis(300);
/// Small loads are over before that.
const LOAD_DELAY: Duration = Duration::from_millis(1500);

impl View for RunState {
    fn draw(&self, look: Look, frame: &mut Frame<'_>) {
        frame::draw(self, look, frame);
    }
}

/// Shows a run: the dashboard on a terminal, lines elsewhere, and figures for whoever scrapes them.
pub(crate) struct RunDisplay {
    state: RunState,
    screen: Option<Screen<RunState>>,
    lines: RunTalk,
    figures: Option<Figures>,
}

impl RunDisplay {
    /// `plain` asks for lines; `figures` is where a server finds what it serves.
    pub(crate) fn new(spec: &RunSpec, plain: bool, figures: Option<Figures>) -> Self {
        let state = RunState::new(spec);
        let screen = (!plain && terminal::is_ours()).then(|| Screen::start(state.clone(), RUN_DELAY));
        Self { state, screen, lines: RunTalk::new(plain), figures }
    }
}

impl RunObserver for RunDisplay {
    fn wants_the_record(&self) -> bool {
        self.screen.as_ref().is_some_and(Screen::is_on)
    }

    fn on_run(&mut self, event: &RunEvent<'_>) {
        let note = self.state.hear(event);
        if let Some(figures) = &self.figures {
            figures.set(&self.state);
        }
        let Some(screen) = self.screen.as_ref().filter(|screen| screen.is_on()) else {
            return self.lines.on_run(event);
        };
        screen.update(|view| view.clone_from(&self.state));
        if let Some(note) = note {
            output::say(&note);
        }
        // The script may want to tell something.
        match event {
            RunEvent::Script(_) => screen.pause(),
            _ => screen.resume(),
        }
    }
}

impl View for LoadState {
    fn draw(&self, look: Look, frame: &mut Frame<'_>) {
        super::load::draw(self, look, frame);
    }
}

/// Shows a load: the dashboard on a terminal, lines elsewhere.
pub(crate) struct LoadDisplay {
    screen: Option<Screen<LoadState>>,
    state: Mutex<LoadState>,
    lines: LoadTalk,
}

impl LoadDisplay {
    /// The dashboard if it can be had.
    pub(crate) fn new(spec: &LoadSpec) -> Self {
        let state = LoadState::new(spec);
        let screen = terminal::is_ours().then(|| Screen::start(state.clone(), LOAD_DELAY));
        Self { screen, state: Mutex::new(state), lines: LoadTalk::new(false) }
    }
}

impl LoadObserver for LoadDisplay {
    fn on_load(&self, event: &LoadEvent) {
        let Some(screen) = self.screen.as_ref().filter(|screen| screen.is_on()) else {
            return self.lines.on_load(event);
        };
        let Ok(mut state) = self.state.lock() else { return };
        let note = state.hear(event);
        screen.update(|view| view.clone_from(&state));
        if let Some(note) = note {
            output::say(&note);
        }
    }
}
