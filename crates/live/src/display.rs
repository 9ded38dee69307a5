//! A dashboard on a terminal's alternate screen, lines elsewhere. A thread of its own draws and reads keys, so that neither
//! delays what is measured.

use std::io::{self, BufWriter, IsTerminal, Stderr, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use indicatif::ProgressBar;
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, getpgrp, getpid, kill_process};
use rustix::termios::tcgetpgrp;
use slob_facts::format::duration_us;
use slob_record::Interval;
use slob_run::{LoadEvent, LoadObserver, Phase, RunEvent, RunObserver, Tick};
use slob_spec::{LoadSpec, RunSpec};
use slob_stats::Merge;

use crate::frame::{self, Look};
use crate::metrics::Figures;
use crate::progress::{self, Progress, left_words};
use crate::state::{LoadState, RunState, sentence};
use crate::talk;
use crate::under_way::Notice;

const RUN_DELAY: Duration = Duration::from_millis(300);
/// Small loads end before that.
const LOAD_DELAY: Duration = Duration::from_millis(1500);

pub struct RunDisplay {
    state: RunState,
    screen: Option<Screen<RunState>>,
    lines: RunTalk,
    figures: Option<Figures>,
    notice: Notice,
    is_watched: bool,
}

impl RunDisplay {
    pub fn new(spec: &RunSpec, plain: bool, figures: Option<Figures>) -> Self {
        let state = RunState::new(spec);
        let screen = (!plain && can_draw()).then(|| Screen::start(state.clone(), frame::draw, RUN_DELAY));
        let notice = Notice::new(&spec.results_dir);
        let is_watched = notice.is_watched();
        Self { state, screen, lines: RunTalk::new(plain), figures, notice, is_watched }
    }
}

impl RunObserver for RunDisplay {
    fn wants_the_record(&self) -> bool {
        self.is_watched || self.screen.as_ref().is_some_and(Screen::is_on)
    }

    fn on_run(&mut self, event: &RunEvent<'_>) {
        let note = self.state.hear(event);
        if let Some(figures) = &self.figures {
            figures.set(&self.state);
        }
        if matches!(event, RunEvent::Tick(_) | RunEvent::Connecting { .. }) {
            self.is_watched = self.notice.is_watched();
        }
        if self.is_watched {
            self.notice.show(&self.state);
        }
        let Some(screen) = self.screen.as_ref().filter(|screen| screen.is_on()) else {
            return self.lines.on_run(event);
        };
        screen.update(|view| view.clone_from(&self.state));
        note.iter().for_each(|note| talk::say(note));
        // The script may print.
        match event {
            RunEvent::Script(_) => screen.pause(),
            _ => screen.resume(),
        }
    }
}

pub struct LoadDisplay {
    screen: Option<Screen<LoadState>>,
    state: Mutex<LoadState>,
    lines: Progress,
}

impl LoadDisplay {
    pub fn new(spec: &LoadSpec) -> Self {
        let state = LoadState::new(spec);
        let screen = can_draw().then(|| Screen::start(state.clone(), frame::draw_load, LOAD_DELAY));
        Self { screen, state: Mutex::new(state), lines: Progress::of_load(false) }
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
            talk::say(&note);
        }
    }
}

const SHORT: Duration = Duration::from_secs(60);
const LONG_EVERY_S: f64 = 10.0;

pub struct RunTalk {
    line: Option<ProgressBar>,
    /// Seconds that no line shows yet.
    pending: Option<Interval>,
}

impl RunTalk {
    /// `plain` forbids control codes.
    pub fn new(plain: bool) -> Self {
        Self { line: (!plain && talk::is_interactive()).then(progress::line), pending: None }
    }

    fn say(&self, text: &str) {
        match &self.line {
            Some(line) => line.suspend(|| talk::say(text)),
            None => talk::say(text),
        }
    }

    fn second(&mut self, tick: &Tick<'_>) {
        if let Some(shown) = &self.line {
            shown.set_message(second(tick));
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
        // Samples are not exactly a second apart.
        let full = pending.sampled_s.is_none_or(|seconds| seconds > LONG_EVERY_S - 0.5);
        if short || over || full {
            talk::say(&line(tick, &pending));
        } else {
            self.pending = Some(pending);
        }
    }
}

impl RunObserver for RunTalk {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Tick(tick) => self.second(tick),
            RunEvent::Verifying => self.line.iter().for_each(ProgressBar::finish_and_clear),
            _ => sentence(event).iter().for_each(|text| self.say(text)),
        }
    }
}

pub fn second(tick: &Tick<'_>) -> String {
    line(tick, tick.recent)
}

/// Counts are divided by the time between samples.
fn line(tick: &Tick<'_>, recent: &Interval) -> String {
    let seconds = recent.sampled_s.filter(|seconds| *seconds > 0.0).unwrap_or(1.0);
    let rate = |count: u64| count as f64 / seconds;
    let reads = recent.physical_reads.map_or("-".into(), |reads| format!("{:.0}", rate(reads)));
    let redo = recent.redo_bytes.map_or("-".into(), |bytes| format!("{:.1}", rate(bytes) / 1e6));
    let latency = |p| recent.latency.percentile(p).map_or("-".into(), |ns| duration_us(ns as f64 / 1e3));
    let phase = match tick.phase {
        Phase::WarmUp => "warm-up",
        Phase::Window => "measure",
    };
    let left = match (tick.operations, tick.left) {
        (Some((done, all)), _) => format!("{done} of {all} operations"),
        (None, Some(left)) => left_words(left, tick.is_most),
        (None, None) => String::new(),
    };
    format!(
        "{:>5.0} s {phase}  {reads:>8} reads/s  redo {redo:>6} MB/s  {:>8.0} op/s  p50 {:>7}  p99 {:>7}  {left}",
        tick.elapsed.as_secs_f64(),
        rate(recent.ops.total()),
        latency(50.0),
        latency(99.0),
    )
}

const LISTEN: Duration = Duration::from_millis(100);
const FRAME: Duration = Duration::from_millis(250);
/// The network may split an escape sequence.
const SEQUENCE: Duration = Duration::from_millis(50);

struct Screen<V: Clone>(Arc<Shared<V>>);

struct Shared<V> {
    view: Mutex<V>,
    paint: fn(&V, Look, &mut Frame<'_>),
    version: AtomicU64,
    terminal: Mutex<Option<Terminal>>,
    paused: AtomicBool,
    over: AtomicBool,
}

impl<V: Clone + Send + 'static> Screen<V> {
    /// `delay` prevents flicker of short work.
    fn start(view: V, paint: fn(&V, Look, &mut Frame<'_>), delay: Duration) -> Self {
        let shared = Arc::new(Shared {
            view: Mutex::new(view),
            paint,
            version: AtomicU64::new(0),
            terminal: Mutex::new(None),
            paused: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let look = look();
        let spawned = thread::Builder::new().name("dashboard".into()).spawn(move || {
            thread::sleep(delay);
            of_thread.show(look);
        });
        shared.over.store(spawned.is_err(), Ordering::SeqCst);
        Self(shared)
    }

    fn is_on(&self) -> bool {
        !self.0.over.load(Ordering::SeqCst)
    }

    fn update(&self, change: impl FnOnce(&mut V)) {
        change(&mut lock(&self.0.view));
        self.0.version.fetch_add(1, Ordering::SeqCst);
    }

    fn pause(&self) {
        self.0.paused.store(true, Ordering::SeqCst);
        self.0.close();
    }

    fn resume(&self) {
        self.0.paused.store(false, Ordering::SeqCst);
    }
}

impl<V: Clone> Drop for Screen<V> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.close();
    }
}

impl<V: Clone> Shared<V> {
    fn close(&self) {
        *lock(&self.terminal) = None;
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn show(&self, look: Look) {
        let mut keys = Keys::default();
        let mut drawn: Option<(u64, Instant)> = None;
        while !self.is_over() {
            if self.paused.load(Ordering::SeqCst) {
                thread::sleep(LISTEN);
                drawn = None;
                continue;
            }
            let version = self.version.load(Ordering::SeqCst);
            let due = drawn.is_none_or(|(last, at)| last != version && at.elapsed() >= FRAME);
            if due && self.draw(look).is_err() {
                self.over.store(true, Ordering::SeqCst);
                self.close();
                return;
            }
            if due {
                drawn = Some((version, Instant::now()));
            }
            match keys.listen() {
                Heard::Nothing => {}
                Heard::Resize => _ = self.version.fetch_add(1, Ordering::SeqCst),
                Heard::Stop => {
                    // The same as a signal from outside: results are kept.
                    let _ = kill_process(getpid(), Signal::INT);
                }
            }
        }
    }

    fn draw(&self, look: Look) -> std::io::Result<()> {
        let mut terminal = lock(&self.terminal);
        // Pausing and ending take the terminal away under the same lock.
        if self.is_over() || self.paused.load(Ordering::SeqCst) {
            return Ok(());
        }
        let screen = match terminal.take() {
            Some(_) if !talk::is_held_back() => {
                return Err(std::io::Error::other("the screen was given back"));
            }
            Some(screen) => screen,
            None => Terminal::open()?,
        };
        let view = lock(&self.view).clone();
        terminal.insert(screen).draw(|frame| (self.paint)(&view, look, frame))
    }
}

/// A view is replaced as a whole: it is sound even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Heard {
    Nothing,
    Resize,
    Stop,
}

#[derive(Default)]
struct Keys {
    asked_to_end: bool,
}

impl Keys {
    fn listen(&mut self) -> Heard {
        match event::poll(LISTEN).and_then(|there| there.then(event::read).transpose()) {
            Ok(Some(Event::Key(key))) => self.key(key),
            Ok(Some(Event::Resize(..))) => Heard::Resize,
            Ok(_) => Heard::Nothing,
            Err(_) => {
                thread::sleep(LISTEN);
                Heard::Nothing
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> Heard {
        if key.kind != KeyEventKind::Press {
            return Heard::Nothing;
        }
        let ends = match key.code {
            // Each Ctrl-C counts: the second one ends the program at once.
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Heard::Stop,
            KeyCode::Char('q' | 'Q') => true,
            KeyCode::Esc => !is_sequence(),
            _ => false,
        };
        if ends && !std::mem::replace(&mut self.asked_to_end, true) { Heard::Stop } else { Heard::Nothing }
    }
}

/// True if Esc began a sequence such as an arrow key's.
fn is_sequence() -> bool {
    let next = event::poll(SEQUENCE).and_then(|there| there.then(event::read).transpose());
    matches!(next, Ok(Some(Event::Key(KeyEvent { code: KeyCode::Char('[' | 'O'), .. }))))
}

/// Stderr must be a terminal with cursor control, and this program in its foreground: a background job would be stopped.
fn can_draw() -> bool {
    let in_foreground = || tcgetpgrp(io::stderr()).is_ok_and(|group| group == getpgrp());
    talk::is_interactive() && io::stderr().is_terminal() && in_foreground()
}

/// The environment decides (<https://no-color.org>).
fn look() -> Look {
    Look { colour: talk::set("NO_COLOR").is_none(), unicode: talk::takes_unicode() }
}

/// Its drop calls [`restore`]: ratatui's own drop panics if the terminal is closed.
struct Terminal(ManuallyDrop<ratatui::Terminal<CrosstermBackend<BufWriter<Stderr>>>>);

impl Terminal {
    /// A panic restores the screen before its message is printed.
    fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let tell = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                tell(panic);
            }));
        });
        // No size, no dashboard.
        crossterm::terminal::size()?;
        enable_raw_mode()?;
        talk::hold_back();
        let opened = execute!(io::stderr(), EnterAlternateScreen, cursor::Hide).and_then(|()| {
            ratatui::Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stderr())))
        });
        opened.map(|opened| Self(ManuallyDrop::new(opened))).inspect_err(|_| restore())
    }

    fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(paint)?;
        self.0.backend_mut().flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Call it on every way out of the program. Prints the lines held back too.
pub fn restore() {
    talk::release(|| {
        // Errors here have no remedy.
        let _ = execute!(io::stderr(), cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    });
}
