use std::time::Duration;

use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use slob_engine::Layout as Rows;
use slob_method::SchemaNo;
use slob_run::LoadEvent;

use super::*;
use crate::state::fixture;

const PLAIN: Look = Look { colour: false, unicode: true };

fn screen(state: &RunState, look: Look, width: u16, height: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(state, look, frame)).unwrap();
    terminal.backend().clone()
}

#[test]
fn a_usual_terminal() {
    assert_snapshot!(screen(&fixture::state(40, |_, second| second), PLAIN, 80, 24));
}

#[test]
fn a_large_terminal() {
    assert_snapshot!(screen(&fixture::state(55, |_, second| second), PLAIN, 200, 50));
}

#[test]
fn a_small_terminal() {
    assert_snapshot!(screen(&fixture::state(40, |_, second| second), PLAIN, 40, 10));
}

/// Of 60 columns, two durations left none to the name of the first.
#[test]
fn a_figure_keeps_its_name_beside_responses() {
    let late = |second: Second| Second { response_p99_us: Some(31_300.0), ..second };
    let state = fixture::state(40, |_, second| late(second));
    for (width, has_responses) in [(60, false), (200, true)] {
        let shown = screen(&state, PLAIN, width, 18).to_string();
        assert!(shown.contains(" p99 latency "), "{shown}");
        assert_eq!(shown.contains(", response 31.3 ms"), has_responses, "{shown}");
    }
}

#[test]
fn what_is_not_known_is_absent() {
    let unknown = |second: Second| Second {
        measured: second.measured,
        operations_per_s: second.operations_per_s,
        ..Second::default()
    };
    assert_snapshot!(screen(&fixture::state(12, |_, second| unknown(second)), PLAIN, 80, 24));
}

#[test]
fn before_the_first_figure() {
    let mut state = fixture::state(0, |_, second| second);
    state.history.clear();
    (state.stage, state.alive) = (Stage::Connecting, None);
    assert_snapshot!(screen(&state, PLAIN, 80, 24));
}

#[test]
fn a_terminal_of_ascii_gets_ascii_without_colours() {
    let ascii = Look { colour: false, unicode: false };
    let backend = screen(&fixture::state(30, |_, second| second), ascii, 80, 24);
    assert!(backend.to_string().is_ascii(), "{backend}");
    let coloured = |look| {
        let backend = screen(&fixture::state(30, |_, second| second), look, 80, 24);
        backend.buffer().content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(!coloured(PLAIN));
    assert!(coloured(Look { colour: true, ..PLAIN }));
}

#[test]
fn no_size_is_too_small_or_too_large() {
    for (first, window_s) in [0, 1, 30].into_iter().enumerate() {
        let mut state = fixture::state(window_s, |_, second| second);
        state.alive = Some(5);
        // Each width for one of the three windows.
        let widths = (first as u16..90).step_by(3);
        for (width, height) in widths.flat_map(|width| [0, 1, 2, 4, 8, 17, 24].map(|h| (width, h))) {
            screen(&state, PLAIN, width, height);
        }
        screen(&state, PLAIN, 500, 200);
    }
}

/// A load of four schemas, one of them complete before.
fn load_state() -> LoadState {
    let mut state = LoadState { target: "sqlite:/data/slob".into(), schemas: 4, ..LoadState::default() };
    let (rows, bytes) = (400_000, 400_000 * 8192);
    state.hear(&LoadEvent::Began { rows, bytes, complete: 1, resumed: 0, streams: 2, slice_bytes: 64 << 20 });
    for half in 1..60 {
        let loaded = half * 4000 + half % 5 * 300;
        let elapsed = Duration::from_millis(500 * half);
        state.hear(&LoadEvent::Progress { rows: loaded, of: rows, bytes: loaded * 8192, elapsed });
    }
    let layout = Rows { rows: 100_000, row_blocks: 100_000, all_blocks: 100_900 };
    state.hear(&LoadEvent::Finished(SchemaNo::FIRST, layout));
    state
}

fn load_screen(state: &LoadState, width: u16, height: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw_load(state, PLAIN, frame)).unwrap();
    terminal.backend().clone()
}

#[test]
fn a_load_in_three_sizes() {
    let state = load_state();
    assert_snapshot!(load_screen(&state, 80, 24));
    assert_snapshot!(load_screen(&state, 200, 50));
    assert_snapshot!(load_screen(&state, 40, 10));
}

#[test]
fn a_load_fits_any_size() {
    let state = load_state();
    for width in 0..60 {
        // Every third height, other ones for the next width.
        (width % 3..14).step_by(3).for_each(|height| drop(load_screen(&state, width, height)));
    }
}
