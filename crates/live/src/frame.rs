//! The dashboards of a run and a load: functions from a state to a frame.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::{bar, border};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Sparkline};
use slob_facts::format::{count, duration_us, fixed, or_absent, percent, plural};
use slob_facts::{Grade, figure};
use slob_stats::summary;

use crate::progress::{duration, left_words};
use crate::state::{Hint, LoadState, RunState, Second, Stage, hints};

const PANELS_FROM: (u16, u16) = (60, 18);
const THREE_PANELS_FROM: u16 = 120;
const LINES_FROM: (u16, u16) = (30, 5);

pub(crate) fn draw(state: &RunState, look: Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    let fits = |least: (u16, u16)| area.width >= least.0 && area.height >= least.1;
    if fits(PANELS_FROM) {
        draw_panels(state, look, frame, area);
    } else if fits(LINES_FROM) {
        draw_lines(state, look, frame, area);
    } else {
        frame.render_widget(Paragraph::new(one_line(state)), area);
    }
}

fn draw_panels(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let notes = if area.height >= 30 { 6 } else { 1 };
    let rows = [1, 1].map(Constraint::Length).into_iter().chain([
        Constraint::Fill(1),
        Constraint::Length(5),
        Constraint::Length(notes),
    ]);
    let areas = Layout::vertical(rows).split(area);
    draw_run_head(state, look, frame, areas[0]);
    draw_progress(state, look, frame, areas[1]);
    let wide = area.width >= THREE_PANELS_FROM;
    let panels = panels(state);
    let (columns, most) = if wide { (3, panels.len()) } else { (2, 4) };
    let chosen: Vec<&Panel> = panels.iter().take(most).collect();
    let bands = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).split(areas[2]);
    for (band, row) in bands.iter().zip(chosen.chunks(columns)) {
        let cells = Layout::horizontal(row.iter().map(|_| Constraint::Fill(1))).split(*band);
        for (cell, panel) in cells.iter().zip(row) {
            panel.draw(look, frame, *cell);
        }
    }
    draw_hints(state, look, frame, areas[3]);
    draw_notes(&state.notes, look, frame, areas[4]);
}

fn draw_lines(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let panels = panels(state);
    let lines = panels.len().min(usize::from(area.height) - 3);
    let rows = std::iter::repeat_n(Constraint::Length(1), lines + 3).chain([Constraint::Fill(1)]);
    let areas = Layout::vertical(rows).split(area);
    draw_run_head(state, look, frame, areas[0]);
    draw_progress(state, look, frame, areas[1]);
    for (panel, area) in panels.iter().take(lines).zip(areas.iter().skip(2)) {
        panel.draw_line(look, frame, *area);
    }
    let answers = hints(state).into_iter().flat_map(|hint| {
        let word = hint.question.title().trim_end_matches('?');
        [Span::raw(format!("{word} ")), Span::styled(format!("{}  ", short(&hint)), look.answer(hint.answer))]
    });
    frame.render_widget(Line::from_iter(answers), areas[2 + lines]);
    draw_notes(&state.notes, look, frame, areas[3 + lines]);
}

fn one_line(state: &RunState) -> String {
    let now = state.now();
    format!(
        "{} {} {}",
        state.stage.word(),
        duration(state.elapsed.as_secs_f64()),
        or_absent(now, |now| match now.physical_reads_per_s {
            Some(reads) => format!("{} reads/s", fixed(reads, 0)),
            None => format!("{} op/s", fixed(now.operations_per_s, 0)),
        })
    )
}

fn draw_head(
    [command, subject]: [&str; 2],
    [keys, short_keys]: [&str; 2],
    look: Look,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let head = Line::from(vec![Span::styled(command.to_owned(), bold), Span::raw(format!("  {subject}"))]);
    let keys = if area.width >= 60 { keys } else { short_keys };
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(keys.len() as u16 + 1)]).areas(area);
    frame.render_widget(head, left);
    frame.render_widget(Line::styled(keys.to_owned(), look.dim()).right_aligned(), right);
}

fn draw_run_head(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let name = if state.name.is_empty() { String::new() } else { format!("  {}", state.name) };
    let keys = ["q: end the run, keep the results", "q: end"];
    draw_head(["slob run", &format!("{}{name}", state.target)], keys, look, frame, area);
}

fn draw_progress(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let stage = match state.stage {
        Stage::Script(moment) => format!("script {moment}"),
        stage => stage.word().to_owned(),
    };
    let time = match (state.operations, state.planned, state.left) {
        (Some((done, all)), _, _) => format!("{} of {} operations", count(done), count(all)),
        (None, Some(planned), Some(left)) => {
            let [elapsed, planned] = [state.elapsed, planned].map(|time| duration(time.as_secs_f64()));
            format!("{elapsed} of {planned}, {}", left_words(left, state.is_most))
        }
        _ => String::new(),
    };
    let all = u64::from(state.sessions);
    let sessions = match state.alive {
        Some(alive) if alive < state.sessions => {
            format!("{} of {} sessions", count(u64::from(alive)), count(all))
        }
        _ => format!("{} session{}", count(all), if all == 1 { "" } else { "s" }),
    };
    let [head, tail] = [format!("{stage:<10} "), format!(" {time}  {sessions}")];
    let width = usize::from(area.width).saturating_sub(head.len() + tail.len());
    let style = Style::new().add_modifier(Modifier::BOLD);
    let mut spans = vec![Span::styled(head, style)];
    if let Some(share) = state.done() {
        spans.extend(look.bar(share, width));
    }
    spans.push(Span::raw(tail));
    frame.render_widget(Line::from(spans), area);
}

const HINT_HEAD: usize = 21;

fn draw_hints(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let block = look.block().title_top(" Verdicts so far ");
    let line = |hint: &Hint| {
        Line::from(vec![
            Span::raw(format!("{:<13} ", hint.question.title())),
            Span::styled(format!("{:<7} ", hint.answer.word()), look.answer(hint.answer)),
            Span::raw(cut_at_a_word(&hint.sentence, usize::from(area.width).saturating_sub(HINT_HEAD))),
        ])
    };
    let lines: Vec<Line<'_>> = hints(state).iter().map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn cut_at_a_word(sentence: &str, width: usize) -> String {
    const MORE: &str = " ...";
    if sentence.chars().count() <= width {
        return sentence.to_owned();
    }
    let mut cut = String::new();
    for word in sentence.split(' ') {
        if cut.chars().count() + 1 + word.chars().count() + MORE.len() > width {
            break;
        }
        if !cut.is_empty() {
            cut.push(' ');
        }
        cut.push_str(word);
    }
    cut + MORE
}

fn draw_notes(notes: &VecDeque<String>, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let first = notes.len().saturating_sub(usize::from(area.height));
    let notes: Vec<Line<'_>> = notes.iter().skip(first).map(|note| Line::raw(note.as_str())).collect();
    frame.render_widget(Paragraph::new(notes).style(look.dim()), area);
}

fn short(hint: &Hint) -> &'static str {
    match hint.answer {
        Grade::Unknown => "?",
        Grade::Good => "yes",
        Grade::Doubt => "doubt",
        Grade::Bad => "NO",
    }
}

type Figure = fn(&Second) -> Option<f64>;

fn panels(state: &RunState) -> Vec<Panel> {
    let whole: fn(f64) -> String = |value| fixed(value, 0);
    let operations_per_s: Figure = |second| Some(second.operations_per_s);
    let operations = panel(state, figure::OPERATIONS_PER_S.heading, operations_per_s, whole, Color::Green);
    let reads = panel(state, "Reads/s", |second| second.physical_reads_per_s, whole, Color::Green);
    let latency = latency(state);
    let redo_mb: Figure = |second| Some(second.redo_bytes_per_s? / 1e6);
    let redo = panel(state, figure::REDO_MB_PER_S.heading, redo_mb, |mb| fixed(mb, 1), Color::Magenta);
    let device = panel(state, "Device r/s", |second| second.device_reads_per_s, whole, Color::Blue);
    let counted = state.history.iter().any(|second| second.physical_reads_per_s.is_some());
    match counted || state.history.is_empty() {
        true => vec![reads, latency, redo, cpu(state), operations, device_busy(state, device)],
        false => vec![operations, latency, redo, cpu(state), device_busy(state, device)],
    }
}

fn panel(state: &RunState, title: &str, figure: Figure, show: fn(f64) -> String, colour: Color) -> Panel {
    let values = state.history.iter().map(figure).collect();
    Panel {
        title: title.to_owned(),
        now: or_absent(state.now().and_then(figure), show),
        more: None,
        foot: foot(state, figure, show),
        curves: vec![Curve { name: "", colour, values, top: None }],
    }
}

/// The figures are of the warm-up before the window.
fn foot(state: &RunState, figure: Figure, show: fn(f64) -> String) -> String {
    let measured: Vec<f64> = state.measured().filter_map(figure).collect();
    let (what, values) = match measured.is_empty() {
        true => ("warm-up: ", state.history.iter().filter_map(figure).collect()),
        false => ("", measured),
    };
    let [mean, least, most] = [summary::mean, summary::minimum, summary::maximum].map(|of| of(&values));
    match (mean, least, most) {
        (Some(mean), Some(least), Some(most)) => {
            format!("{what}mean {}, {} to {}", show(mean), show(least), show(most))
        }
        _ => "not known".to_owned(),
    }
}

fn latency(state: &RunState) -> Panel {
    let mut panel = panel(state, "p99 latency", |second| second.p99_us, duration_us, Color::Yellow);
    let response = state.now().and_then(|now| now.response_p99_us);
    panel.more = response.map(|us| format!("response {}", duration_us(us)));
    panel
}

fn cpu(state: &RunState) -> Panel {
    let shares = |figure: Figure| state.history.iter().map(figure).collect();
    let now = |figure: Figure| or_absent(state.now().and_then(figure), percent);
    let (host, database): (Figure, Figure) =
        (|second| second.host_busy_percent, |second| second.db_percent_of_host);
    let curve =
        |name, colour, figure: Figure| Curve { name, colour, values: shares(figure), top: Some(100.0) };
    let cpus = state.now().and_then(|now| now.db_cpus);
    Panel {
        title: "CPU %".to_owned(),
        now: now(host),
        more: Some(format!("DB {}", now(database))),
        foot: match cpus {
            Some(cpus) => format!("the database has {} CPUs", fixed(cpus, 2)),
            None => "not known".to_owned(),
        },
        curves: vec![curve("host", Color::Red, host), curve("DB", Color::Cyan, database)],
    }
}

fn device_busy(state: &RunState, mut panel: Panel) -> Panel {
    let busy = state.now().and_then(|now| now.device_busy_percent);
    panel.more = busy.map(|busy| format!("{} % busy", percent(busy)));
    panel
}

pub(crate) fn draw_load(state: &LoadState, look: Look, frame: &mut Frame<'_>) {
    let area = frame.area();
    let chart = if area.height >= 9 { 12.min(area.height - 5) } else { 0 };
    let rows = [1, 1, 1, chart].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let areas = Layout::vertical(rows).split(area);
    draw_head(["slob setup", &state.target], ["q: stop, resume later", "q: end"], look, frame, areas[0]);
    draw_load_progress(state, look, frame, areas[1]);
    draw_schemas(state, look, frame, areas[2]);
    if chart > 0 {
        rates(state).draw(look, frame, areas[3]);
    }
    draw_notes(&state.notes, look, frame, areas[4]);
}

fn draw_load_progress(state: &LoadState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let share = state.share();
    let left_s = state.elapsed.as_secs_f64() * (1.0 - share) / share;
    let left = match share {
        _ if share <= 0.0 => String::new(),
        _ if share >= 1.0 => "  index, statistics".to_owned(),
        _ => format!("  {} left", duration(left_s)),
    };
    let tail = format!(" {:>5} %  {}{left}", percent(100.0 * share), duration(state.elapsed.as_secs_f64()));
    let width = usize::from(area.width).saturating_sub(tail.len());
    let line = look.bar(share, width).into_iter().chain([Span::raw(tail)]);
    frame.render_widget(Line::from_iter(line), area);
}

fn draw_schemas(state: &LoadState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let done = state.complete + state.finished.len();
    let finishing = match state.finishing.len() {
        0 => String::new(),
        count => format!(", {count} with all rows"),
    };
    let text = format!(
        "{done} of {} schemas complete{finishing}; {}; {} of {} rows",
        count(u64::from(state.schemas)),
        plural(state.streams as u64, "stream"),
        count(state.rows),
        count(state.of)
    );
    let width = usize::from(area.width).saturating_sub(text.len() + 2).min(40);
    let share = done as f64 / f64::from(state.schemas);
    let line = [Span::raw(text), Span::raw("  ")].into_iter().chain(look.bar(share, width));
    frame.render_widget(Line::from_iter(line), area);
}

fn rates(state: &LoadState) -> Panel {
    let show = |value: Option<f64>| or_absent(value, |mb| fixed(mb, 0));
    let (mean, all) = (show(state.mean_mb_per_s()), fixed(state.bytes as f64 / 1e6, 0));
    let values = state.mb_per_s.iter().copied().map(Some).collect();
    Panel {
        title: "MB/s".to_owned(),
        now: show(state.mb_per_s.back().copied()),
        more: None,
        foot: format!("mean {mean}, {all} MB in all"),
        curves: vec![Curve { name: "", colour: Color::Green, values, top: None }],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colour: bool,
    pub(crate) unicode: bool,
}

const ASCII_BARS: bar::Set<'_> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "=",
    five_eighths: "=",
    half: "-",
    three_eighths: "-",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

const ASCII_BORDER: border::Set<'_> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Look {
    pub(crate) fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    pub(crate) fn dim(self) -> Style {
        self.coloured(Color::DarkGray)
    }

    pub(crate) fn answer(self, answer: Grade) -> Style {
        let colour = match answer {
            Grade::Good => Color::Green,
            Grade::Unknown => return self.dim(),
            Grade::Doubt => Color::Yellow,
            Grade::Bad => Color::Red,
        };
        self.coloured(colour).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn block<'a>(self) -> Block<'a> {
        Block::bordered()
            .border_set(if self.unicode { border::ROUNDED } else { ASCII_BORDER })
            .border_style(self.dim())
    }

    pub(crate) fn bar(self, share: f64, width: usize) -> [Span<'static>; 2] {
        let filled = ((share.clamp(0.0, 1.0) * width as f64) as usize).min(width);
        let (full, rest) = if self.unicode { ("█", "░") } else { ("#", ".") };
        [
            Span::styled(full.repeat(filled), self.coloured(Color::Cyan)),
            Span::styled(rest.repeat(width - filled), self.dim()),
        ]
    }
}

/// The newest value is last; `None` is a gap.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) colour: Color,
    pub(crate) values: Vec<Option<f64>>,
    /// The largest value is the default.
    pub(crate) top: Option<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) now: String,
    /// Beside it, where there is room.
    pub(crate) more: Option<String>,
    pub(crate) foot: String,
    pub(crate) curves: Vec<Curve>,
}

impl Panel {
    pub(crate) fn draw(&self, look: Look, frame: &mut Frame<'_>, area: Rect) {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        // Two corners, and a blank on each side of both.
        let now = self.now_within(usize::from(area.width).saturating_sub(self.title.chars().count() + 6));
        let block = look
            .block()
            .title_top(Line::from(format!(" {} ", self.title)).left_aligned())
            .title_top(Line::styled(format!(" {now} "), bold).right_aligned())
            .title_bottom(Line::styled(format!(" {} ", self.foot), look.dim()).right_aligned());
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let parts = Layout::vertical(self.curves.iter().map(|_| Constraint::Fill(1))).split(inner);
        for (curve, part) in self.curves.iter().zip(parts.iter()) {
            let several = self.curves.len() > 1;
            let label = if several { curve.name.len() as u16 + 1 } else { 0 };
            let [name, chart] =
                Layout::horizontal([Constraint::Length(label), Constraint::Fill(1)]).areas(*part);
            frame.render_widget(Paragraph::new(curve.name), name);
            curve.draw(look, frame, chart);
        }
    }

    fn now_within(&self, width: usize) -> String {
        let both = self.more.as_ref().map(|more| format!("{}, {more}", self.now));
        both.filter(|both| both.chars().count() <= width).unwrap_or_else(|| self.now.clone())
    }

    pub(crate) fn draw_line(&self, look: Look, frame: &mut Frame<'_>, area: Rect) {
        let widths = [Constraint::Length(11), Constraint::Length(15), Constraint::Fill(1)];
        let [title, now, chart] = Layout::horizontal(widths).areas(area);
        frame.render_widget(Paragraph::new(self.title.as_str()), title);
        let newest = self.now_within(usize::from(now.width).saturating_sub(1));
        frame.render_widget(Paragraph::new(format!("{newest} ")).right_aligned(), now);
        if let Some(curve) = self.curves.first() {
            curve.draw(look, frame, chart);
        }
    }
}

impl Curve {
    fn draw(&self, look: Look, frame: &mut Frame<'_>, area: Rect) {
        const STEPS: f64 = 10_000.0;
        let shown = &self.values[self.values.len().saturating_sub(usize::from(area.width))..];
        let largest = shown.iter().flatten().copied().fold(0.0, f64::max);
        let top = self.top.unwrap_or(largest);
        let heights = shown.iter().map(|value| {
            value
                .filter(|value| value.is_finite() && top > 0.0)
                .map(|value| (value / top * STEPS).round() as u64)
        });
        let line = Sparkline::default()
            .data(heights)
            .max(STEPS as u64)
            .absent_value_symbol(" ")
            .bar_set(if look.unicode { bar::NINE_LEVELS } else { ASCII_BARS })
            .style(look.coloured(self.colour));
        frame.render_widget(line, area);
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
