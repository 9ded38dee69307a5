//! The dashboard of a load.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use slob_report::format::{count, fixed, percent};
use slob_run::LoadEvent;
use slob_spec::LoadSpec;

use super::paint::{Curve, Look, Panel};
use crate::progress::{self, duration};

/// Rates that are kept, two for each second.
const MOST_RATES: usize = 1200;
const MOST_NOTES: usize = 50;

/// Where a load stands: what its events told, gathered.
#[derive(Clone, Debug)]
pub(super) struct LoadState {
    target: String,
    schemas: u32,
    /// Complete before this load.
    complete: usize,
    streams: usize,
    rows: u64,
    of: u64,
    bytes: u64,
    elapsed: Duration,
    finishing: BTreeSet<u16>,
    finished: BTreeSet<u16>,
    mb_per_s: VecDeque<f64>,
    notes: VecDeque<String>,
}

impl LoadState {
    pub(super) fn new(spec: &LoadSpec) -> Self {
        Self {
            target: spec.target.to_string(),
            schemas: spec.schemas.get(),
            complete: 0,
            streams: 0,
            rows: 0,
            of: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            finishing: BTreeSet::new(),
            finished: BTreeSet::new(),
            mb_per_s: VecDeque::new(),
            notes: VecDeque::new(),
        }
    }

    /// Takes in what happened. What is worth a line beyond the moment is returned.
    pub(super) fn hear(&mut self, event: &LoadEvent) -> Option<String> {
        match event {
            LoadEvent::Began { rows, complete, streams, .. } => {
                (self.of, self.complete, self.streams) = (*rows, *complete, *streams);
            }
            LoadEvent::Progress { rows, of, bytes, elapsed } => {
                let time_s = elapsed.saturating_sub(self.elapsed).as_secs_f64();
                if time_s > 0.0 {
                    if self.mb_per_s.len() == MOST_RATES {
                        self.mb_per_s.pop_front();
                    }
                    self.mb_per_s.push_back(bytes.saturating_sub(self.bytes) as f64 / 1e6 / time_s);
                }
                (self.rows, self.of, self.bytes, self.elapsed) = (*rows, *of, *bytes, *elapsed);
            }
            LoadEvent::Finishing(schema) => _ = self.finishing.insert(schema.get()),
            LoadEvent::Finished(schema, _) => {
                self.finishing.remove(&schema.get());
                self.finished.insert(schema.get());
            }
        }
        progress::load_sentence(event).inspect(|line| {
            if self.notes.len() == MOST_NOTES {
                self.notes.pop_front();
            }
            self.notes.push_back(line.clone());
        })
    }

    fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.rows as f64 / self.of as f64 }
    }

    /// MB/s since the beginning.
    fn mean_mb_per_s(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 / 1e6 / seconds)
    }
}

/// Draws a load.
pub(super) fn draw(state: &LoadState, look: Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    let chart = if area.height >= 9 { 12.min(area.height - 5) } else { 0 };
    let rows = [1, 1, 1, chart].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let areas = Layout::vertical(rows).split(area);
    draw_head(state, look, frame, areas[0]);
    draw_progress(state, look, frame, areas[1]);
    draw_schemas(state, look, frame, areas[2]);
    if chart > 0 {
        rates(state).draw(look, frame, areas[3]);
    }
    let first = state.notes.len().saturating_sub(usize::from(areas[4].height));
    let notes: Vec<Line<'_>> = state.notes.iter().skip(first).map(|note| Line::raw(note.as_str())).collect();
    frame.render_widget(Paragraph::new(notes).style(look.dim()), areas[4]);
}

fn draw_head(state: &LoadState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let head = Line::from(vec![Span::styled("slob setup", bold), Span::raw(format!("  {}", state.target))]);
    let keys = if area.width >= 60 { "q: stop, resume later" } else { "q: end" };
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(keys.len() as u16 + 1)]).areas(area);
    frame.render_widget(head, left);
    frame.render_widget(Line::styled(keys, look.dim()).right_aligned(), right);
}

fn draw_progress(state: &LoadState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let share = state.share();
    let left = if share <= 0.0 {
        String::new()
    } else if share >= 1.0 {
        "  index, statistics".to_owned()
    } else {
        let left_s = state.elapsed.as_secs_f64() * (1.0 - share) / share;
        format!("  {} left", duration(left_s))
    };
    let tail = format!(" {:>5} %  {}{left}", percent(100.0 * share), duration(state.elapsed.as_secs_f64()));
    let width = usize::from(area.width).saturating_sub(tail.len());
    let line = look.bar(share, width).into_iter().chain([Span::raw(tail)]);
    frame.render_widget(Line::from_iter(line), area);
}

/// How many schemas are where.
fn draw_schemas(state: &LoadState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let done = state.complete + state.finished.len();
    let finishing = match state.finishing.len() {
        0 => String::new(),
        count => format!(", {count} with all rows"),
    };
    let streams = if state.streams == 1 { "stream" } else { "streams" };
    let text = format!(
        "{done} of {} schemas complete{finishing}; {} {streams}; {} of {} rows",
        count(u64::from(state.schemas)),
        state.streams,
        count(state.rows),
        count(state.of)
    );
    let width = usize::from(area.width).saturating_sub(text.len() + 2).min(40);
    let share = done as f64 / f64::from(state.schemas);
    let line = [Span::raw(text), Span::raw("  ")].into_iter().chain(look.bar(share, width));
    frame.render_widget(Line::from_iter(line), area);
}

fn rates(state: &LoadState) -> Panel {
    let show = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |mb| fixed(mb, 0));
    Panel {
        title: "MB/s".to_owned(),
        now: show(state.mb_per_s.back().copied()),
        foot: format!(
            "mean {}, {} MB in all",
            show(state.mean_mb_per_s()),
            fixed(state.bytes as f64 / 1e6, 0)
        ),
        curves: vec![Curve {
            name: "",
            colour: Color::Green,
            values: state.mb_per_s.iter().copied().map(Some).collect(),
            top: None,
        }],
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use slob_engine::Layout as Rows;
    use slob_method::SchemaNo;

    use super::*;

    fn state() -> LoadState {
        let mut state = LoadState {
            target: "sqlite:/data/slob".into(),
            schemas: 4,
            complete: 0,
            streams: 0,
            rows: 0,
            of: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            finishing: BTreeSet::new(),
            finished: BTreeSet::new(),
            mb_per_s: VecDeque::new(),
            notes: VecDeque::new(),
        };
        let (rows, bytes) = (400_000, 400_000 * 8192);
        state.hear(&LoadEvent::Began {
            rows,
            bytes,
            complete: 1,
            resumed: 0,
            streams: 2,
            slice_bytes: 64 << 20,
        });
        for half in 1..60 {
            let loaded = half * 4000 + half % 5 * 300;
            let elapsed = Duration::from_millis(500 * half);
            state.hear(&LoadEvent::Progress { rows: loaded, of: rows, bytes: loaded * 8192, elapsed });
        }
        let layout = Rows { rows: 100_000, row_blocks: 100_000, all_blocks: 100_900 };
        state.hear(&LoadEvent::Finished(SchemaNo::FIRST, layout));
        state
    }

    fn screen(width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let look = Look { colour: false, unicode: true };
        terminal.draw(|frame| draw(&state(), look, frame)).unwrap();
        terminal.backend().clone()
    }

    #[test]
    fn three_sizes() {
        assert_snapshot!(screen(80, 24));
        assert_snapshot!(screen(200, 50));
        assert_snapshot!(screen(40, 10));
    }

    #[test]
    fn no_size_is_too_small() {
        (0..60).flat_map(|width| (0..14).map(move |height| (width, height))).for_each(|(width, height)| {
            screen(width, height);
        });
    }
}
