//! The thread that draws and listens to keys, so that neither can hold up what is measured.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use rustix::process::{Signal, getpid, kill_process};

use super::paint::Look;
use super::terminal::{self, Terminal};

/// How long a key may wait. It costs ten wake-ups a second.
const LISTEN: Duration = Duration::from_millis(100);
/// Between two frames.
const FRAME: Duration = Duration::from_millis(250);
/// The rest of an escape sequence that the network cut in two arrives within this time.
const SEQUENCE: Duration = Duration::from_millis(50);

/// What can be drawn.
pub(super) trait View: Clone + Send + 'static {
    /// Draws it.
    fn draw(&self, look: Look, frame: &mut Frame<'_>);
}

/// A view on a screen of its own, until it is dropped.
pub(super) struct Screen<V: View>(Arc<Shared<V>>);

struct Shared<V> {
    view: Mutex<V>,
    /// Grows with each change of the view.
    version: AtomicU64,
    terminal: Mutex<Option<Terminal>>,
    paused: AtomicBool,
    /// Over, or given up.
    over: AtomicBool,
}

impl<V: View> Screen<V> {
    /// Shows a view on the terminal. Nothing appears before `delay` is over, so that what is soon done does not flicker.
    pub(super) fn start(view: V, delay: Duration) -> Self {
        let shared = Arc::new(Shared {
            view: Mutex::new(view),
            version: AtomicU64::new(0),
            terminal: Mutex::new(None),
            paused: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let look = terminal::look();
        let spawned = thread::Builder::new().name("dashboard".into()).spawn(move || {
            thread::sleep(delay);
            of_thread.show(look);
        });
        shared.over.store(spawned.is_err(), Ordering::SeqCst);
        Self(shared)
    }

    /// Whether it is shown, or going to be.
    pub(super) fn is_on(&self) -> bool {
        !self.0.over.load(Ordering::SeqCst)
    }

    /// Shows another view from now on.
    pub(super) fn update(&self, change: impl FnOnce(&mut V)) {
        change(&mut lock(&self.0.view));
        self.0.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Gives the terminal to somebody else.
    pub(super) fn pause(&self) {
        self.0.paused.store(true, Ordering::SeqCst);
        self.0.close();
    }

    /// Takes it again.
    pub(super) fn resume(&self) {
        self.0.paused.store(false, Ordering::SeqCst);
    }
}

impl<V: View> Drop for Screen<V> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.close();
    }
}

impl<V: View> Shared<V> {
    /// Gives the terminal back.
    fn close(&self) {
        *lock(&self.terminal) = None;
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Draws and listens until it is over. Where that does not work there is no dashboard.
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
                    // The same way as a signal from outside: what was measured is kept.
                    let _ = kill_process(getpid(), Signal::INT);
                }
            }
        }
    }

    fn draw(&self, look: Look) -> std::io::Result<()> {
        let mut terminal = lock(&self.terminal);
        // Under the lock: whoever ended or paused it takes the terminal away under the same lock.
        if self.is_over() || self.paused.load(Ordering::SeqCst) {
            return Ok(());
        }
        let screen = match terminal.take() {
            Some(screen) if !screen.is_open() => {
                return Err(std::io::Error::other("the screen was given back"));
            }
            Some(screen) => screen,
            None => Terminal::open()?,
        };
        let view = lock(&self.view).clone();
        terminal.insert(screen).draw(|frame| view.draw(look, frame))
    }
}

/// A view is only ever replaced as a whole, so that it is sound even if somebody panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Heard {
    Nothing,
    Resize,
    Stop,
}

/// The keyboard.
#[derive(Default)]
struct Keys {
    /// The wish to end was told.
    told: bool,
}

impl Keys {
    /// Waits for a key, but not for long.
    fn listen(&mut self) -> Heard {
        match event::poll(LISTEN).and_then(|there| there.then(event::read).transpose()) {
            Ok(Some(Event::Key(key))) => self.key(key),
            Ok(Some(Event::Resize(..))) => Heard::Resize,
            Ok(_) => Heard::Nothing,
            // It may be better next time.
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
            // A second Ctrl-C counts too, as it does without a dashboard: it ends the program at once.
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Heard::Stop,
            KeyCode::Char('q' | 'Q') => true,
            KeyCode::Esc => !is_sequence(),
            _ => false,
        };
        if ends && !std::mem::replace(&mut self.told, true) { Heard::Stop } else { Heard::Nothing }
    }
}

/// Whether an Esc was no key but the beginning of a sequence such as an arrow's, the rest of which came later.
fn is_sequence() -> bool {
    let next = event::poll(SEQUENCE).and_then(|there| there.then(event::read).transpose());
    matches!(next, Ok(Some(Event::Key(KeyEvent { code: KeyCode::Char('[' | 'O'), .. }))))
}
