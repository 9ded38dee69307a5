//! The dashboard of a run: a function from its state to a frame.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use slob_report::format::{count, duration_us, fixed, or_absent, percent};
use slob_report::{Answer, Question, figure};
use slob_stats::summary;

use super::hints::{Hint, hints};
use super::paint::{Curve, Look, Panel};
use super::second::Second;
use super::state::{RunState, Stage};
use crate::progress::duration;

/// From here on there is room for panels; below, each figure has a line.
const PANELS_FROM: (u16, u16) = (60, 18);
/// From this width on there is room for three panels side by side.
const THREE_PANELS_FROM: u16 = 120;
/// Below this there is room for one line only.
const LINES_FROM: (u16, u16) = (30, 5);

/// Draws a run.
pub(super) fn draw(state: &RunState, look: Look, frame: &mut Frame<'_>) {
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
    draw_head(state, look, frame, areas[0]);
    draw_progress(state, look, frame, areas[1]);
    let wide = area.width >= THREE_PANELS_FROM;
    let panels = panels(state);
    let chosen: Vec<&Panel> = match wide {
        true => panels.iter().collect(),
        false => panels.iter().take(4).collect(),
    };
    let columns = if wide { 3 } else { 2 };
    let bands = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).split(areas[2]);
    for (band, row) in bands.iter().zip(chosen.chunks(columns)) {
        let cells = Layout::horizontal(row.iter().map(|_| Constraint::Fill(1))).split(*band);
        for (cell, panel) in cells.iter().zip(row) {
            panel.draw(look, frame, *cell);
        }
    }
    draw_hints(state, look, frame, areas[3]);
    draw_notes(state, look, frame, areas[4]);
}

fn draw_lines(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let panels = panels(state);
    let lines = panels.len().min(usize::from(area.height) - 3);
    let rows = std::iter::repeat_n(Constraint::Length(1), lines + 3).chain([Constraint::Fill(1)]);
    let areas = Layout::vertical(rows).split(area);
    draw_head(state, look, frame, areas[0]);
    draw_progress(state, look, frame, areas[1]);
    for (panel, area) in panels.iter().take(lines).zip(areas.iter().skip(2)) {
        panel.draw_line(look, frame, *area);
    }
    let answers = hints(state).into_iter().flat_map(|hint| {
        let word = hint.question.title().trim_end_matches('?');
        [Span::raw(format!("{word} ")), Span::styled(format!("{}  ", short(&hint)), look.answer(hint.answer))]
    });
    frame.render_widget(Line::from_iter(answers), areas[2 + lines]);
    draw_notes(state, look, frame, areas[3 + lines]);
}

/// What there is room for in a corner of a screen.
fn one_line(state: &RunState) -> String {
    let now = state.now();
    format!(
        "{} {} {}",
        state.stage.word(),
        duration(state.elapsed.as_secs_f64()),
        or_absent(now, |now| match now.physical_reads_per_s() {
            Some(reads) => format!("{} reads/s", fixed(reads, 0)),
            None => format!("{} op/s", fixed(now.operations_per_s(), 0)),
        })
    )
}

fn draw_head(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let name = Some(&state.name).filter(|name| !name.is_empty());
    let name = name.map(|name| format!("  {name}")).unwrap_or_default();
    let head =
        Line::from(vec![Span::styled("slob run", bold), Span::raw(format!("  {}{name}", state.target))]);
    let keys = if area.width >= 60 { "q: end the run, keep the results" } else { "q: end" };
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(keys.len() as u16 + 1)]).areas(area);
    frame.render_widget(head, left);
    frame.render_widget(Line::styled(keys, look.dim()).right_aligned(), right);
}

fn draw_progress(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let stage = match state.stage {
        Stage::Script(moment) => format!("script {moment}"),
        stage => stage.word().to_owned(),
    };
    let time = match (state.operations, state.planned, state.left) {
        (Some((done, all)), _, _) => format!("{} of {} operations", count(done), count(all)),
        (None, Some(planned), Some(left)) => format!(
            "{} of {}, {} left",
            duration(state.elapsed.as_secs_f64()),
            duration(planned.as_secs_f64()),
            duration(left.as_secs_f64())
        ),
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

/// Columns of a hint's question and answer, and of the frame.
const HINT_HEAD: usize = 21;

fn draw_hints(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let block = look.block().title_top(" Verdicts so far ");
    let line = |hint: &Hint| {
        Line::from(vec![
            Span::raw(format!("{:<10} ", hint.question.title())),
            Span::styled(format!("{:<7} ", hint.answer.word()), look.answer(hint.answer)),
            Span::raw(cut_at_a_word(&hint.sentence, usize::from(area.width).saturating_sub(HINT_HEAD))),
        ])
    };
    let lines: Vec<Line<'_>> = hints(state).iter().map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// What there is room for; what is left out is in the report.
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

/// The newest notes, the newest at the bottom.
fn draw_notes(state: &RunState, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let first = state.notes.len().saturating_sub(usize::from(area.height));
    let notes: Vec<Line<'_>> = state.notes.iter().skip(first).map(|note| Line::raw(note.as_str())).collect();
    frame.render_widget(Paragraph::new(notes).style(look.dim()), area);
}

fn short(hint: &Hint) -> &'static str {
    match (hint.question, hint.answer) {
        (_, Answer::Unknown) => "?",
        (Question::CpuBound, Answer::Good) => "no",
        (_, Answer::Good) => "yes",
        (_, Answer::Doubt) => "doubt",
        (Question::CpuBound, Answer::Bad) => "YES",
        (_, Answer::Bad) => "NO",
    }
}

type Figure = fn(&Second) -> Option<f64>;

/// The panels, the most telling first.
fn panels(state: &RunState) -> Vec<Panel> {
    let whole: fn(f64) -> String = |value| fixed(value, 0);
    let operations = panel(
        state,
        figure::OPERATIONS_PER_S.heading,
        |second| Some(second.operations_per_s()),
        whole,
        Color::Green,
    );
    let reads = panel(state, "Reads/s", Second::physical_reads_per_s, whole, Color::Green);
    let latency = latency(state);
    let redo =
        panel(state, figure::REDO_MB_PER_S.heading, Second::redo_mb_per_s, |mb| fixed(mb, 1), Color::Magenta);
    let device = panel(state, "Device r/s", Second::device_reads_per_s, whole, Color::Blue);
    let counted = state.history.iter().any(|second| second.physical_reads.is_some());
    match counted || state.history.is_empty() {
        true => vec![reads, latency, redo, cpu(state), operations, device_busy(state, device)],
        false => vec![operations, latency, redo, cpu(state), device_busy(state, device)],
    }
}

fn panel(state: &RunState, title: &str, figure: Figure, show: fn(f64) -> String, colour: Color) -> Panel {
    Panel {
        title: title.to_owned(),
        now: or_absent(state.now().and_then(figure), show),
        foot: foot(state, figure, show),
        curves: vec![Curve {
            name: "",
            colour,
            values: state.history.iter().map(figure).collect(),
            top: None,
        }],
    }
}

/// Mean and extremes over the window; before it, over the warm-up, which is said.
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
    if let Some(us) = response {
        panel.now += &format!(", response {}", duration_us(us));
    }
    panel
}

fn cpu(state: &RunState) -> Panel {
    let shares = |figure: Figure| state.history.iter().map(figure).collect();
    let now = |figure: Figure| or_absent(state.now().and_then(figure), percent);
    let (host, database): (Figure, Figure) = (Second::host_busy_percent, Second::db_percent_of_host);
    let curve =
        |name, colour, figure: Figure| Curve { name, colour, values: shares(figure), top: Some(100.0) };
    let cpus = state.now().and_then(Second::db_cpus);
    Panel {
        title: "CPU %".to_owned(),
        now: format!("{}, DB {}", now(host), now(database)),
        foot: cpus.map_or_else(
            || "not known".to_owned(),
            |cpus| format!("the database has {} CPUs", fixed(cpus, 2)),
        ),
        curves: vec![curve("host", Color::Red, host), curve("DB", Color::Cyan, database)],
    }
}

fn device_busy(state: &RunState, mut panel: Panel) -> Panel {
    if let Some(busy) = state.now().and_then(Second::device_busy_percent) {
        panel.now += &format!(", {} % busy", percent(busy));
    }
    panel
}

#[cfg(test)]
mod tests;
