//! What frames are made of: panels with a chart, bars, colours.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::{bar, border};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Sparkline};
use slob_report::Answer;

/// How a frame may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Whether there may be colours.
    pub(super) colour: bool,
    /// Whether the terminal can show more than ASCII.
    pub(super) unicode: bool,
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
    pub(super) fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Less important than the rest.
    pub(super) fn dim(self) -> Style {
        self.coloured(Color::DarkGray)
    }

    pub(super) fn answer(self, answer: Answer) -> Style {
        let colour = match answer {
            Answer::Good => Color::Green,
            Answer::Unknown => return self.dim(),
            Answer::Doubt => Color::Yellow,
            Answer::Bad => Color::Red,
        };
        self.coloured(colour).add_modifier(Modifier::BOLD)
    }

    pub(super) fn block<'a>(self) -> Block<'a> {
        Block::bordered()
            .border_set(if self.unicode { border::ROUNDED } else { ASCII_BORDER })
            .border_style(self.dim())
    }

    /// A bar of that width of which a share is filled.
    pub(super) fn bar(self, share: f64, width: usize) -> [Span<'static>; 2] {
        let filled = ((share.clamp(0.0, 1.0) * width as f64) as usize).min(width);
        let (full, rest) = if self.unicode { ("█", "░") } else { ("#", ".") };
        [
            Span::styled(full.repeat(filled), self.coloured(Color::Cyan)),
            Span::styled(rest.repeat(width - filled), self.dim()),
        ]
    }
}

/// A line of a chart: what is drawn, the newest last; absent is a gap.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// What tells it from another one in the same panel.
    pub(super) name: &'static str,
    pub(super) colour: Color,
    pub(super) values: Vec<Option<f64>>,
    /// What the top of the chart means; the largest value if there is none.
    pub(super) top: Option<f64>,
}

/// A chart with its figures.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    /// The newest figures.
    pub(super) now: String,
    /// Figures of all that is kept.
    pub(super) foot: String,
    pub(super) curves: Vec<Curve>,
}

impl Panel {
    /// Draws it with a border.
    pub(super) fn draw(&self, look: Look, frame: &mut Frame<'_>, area: Rect) {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let block = look
            .block()
            .title_top(Line::from(format!(" {} ", self.title)).left_aligned())
            .title_top(Line::styled(format!(" {} ", self.now), bold).right_aligned())
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

    /// Draws it as one line: title, figure, chart.
    pub(super) fn draw_line(&self, look: Look, frame: &mut Frame<'_>, area: Rect) {
        let widths = [Constraint::Length(11), Constraint::Length(15), Constraint::Fill(1)];
        let [title, now, chart] = Layout::horizontal(widths).areas(area);
        frame.render_widget(Paragraph::new(self.title.as_str()), title);
        frame.render_widget(Paragraph::new(format!("{} ", self.now)).right_aligned(), now);
        if let Some(curve) = self.curves.first() {
            curve.draw(look, frame, chart);
        }
    }
}

impl Curve {
    fn draw(&self, look: Look, frame: &mut Frame<'_>, area: Rect) {
        /// Heights are whole numbers; this many are enough for any terminal.
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
