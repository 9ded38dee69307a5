//! The terminal that a dashboard is drawn on, and how it gets back as it was.
//!
//! The dashboard has the alternate screen: it fits any size, survives a resize (terminals fold the lines of the ordinary
//! screen anew, and a frame drawn among them with them), needs no answer from the terminal, and leaves the scrollback
//! alone: what was said before is there again afterwards, followed by what was said in between and by the report.

use std::io::{self, BufWriter, IsTerminal, Stderr, Write};
use std::mem::ManuallyDrop;
use std::sync::Once;

use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use super::paint::Look;
use crate::output;

/// Whether stderr is a terminal that a dashboard may have: one that can move its cursor, and on which this program
/// is in the foreground. A job in the background would be stopped by the first change of the terminal.
pub(super) fn is_ours() -> bool {
    let in_foreground = || tcgetpgrp(io::stderr()).is_ok_and(|group| group == getpgrp());
    output::is_interactive() && io::stderr().is_terminal() && in_foreground()
}

/// What the environment says of colours (<https://no-color.org>) and characters.
pub(super) fn look() -> Look {
    Look { colour: set("NO_COLOR").is_none(), unicode: takes_unicode() }
}

/// Whether the locale is one of UTF-8.
pub(crate) fn takes_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The screen while it is the dashboard's. Dropped, it is the shell's again: by [`restore`], since ratatui's own drop tells on
/// stderr what failed, and panics where the terminal is closed.
pub(super) struct Terminal(ManuallyDrop<ratatui::Terminal<CrosstermBackend<BufWriter<Stderr>>>>);

impl Terminal {
    /// Takes the screen. From here on a panic gives it back before it is told.
    pub(super) fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let tell = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                tell(panic);
            }));
        });
        // Asked first: where there is no size there is no dashboard.
        crossterm::terminal::size()?;
        enable_raw_mode()?;
        output::hold_back();
        let opened = execute!(io::stderr(), EnterAlternateScreen, cursor::Hide).and_then(|()| {
            ratatui::Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stderr())))
        });
        opened.map(|opened| Self(ManuallyDrop::new(opened))).inspect_err(|_| restore())
    }

    /// Whether nobody gave the screen back meanwhile.
    pub(super) fn is_open(&self) -> bool {
        output::is_held_back()
    }

    pub(super) fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(paint)?;
        self.0.backend_mut().flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the screen back if it was taken, and says what was held back. For every way out of the program.
pub(crate) fn restore() {
    output::release(|| {
        // There is nobody to tell, and nothing else to try.
        let _ = execute!(io::stderr(), cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    });
}
