//! HTML reports: tokens to tables. No tree is built, so that memory is that of the text and its tables.

mod grid;

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use crate::kind::floor_boundary;
use crate::table::{Document, pairs};
use grid::{Cell, Grid};

/// Reads an HTML report. Tables for whose titles `wanted` is false are named, but not read.
pub(crate) fn read(text: &str, wanted: impl Fn(&str) -> bool) -> Document {
    let mut reader = Reader { bytes: text.as_bytes(), line: 1, ..Reader::default() };
    {
        let mut emitter =
            CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| -> Option<Infallible> {
                reader.take(&event, span.start, &wanted);
                None
            });
        // The contents of style and script are no tags.
        emitter.naively_switch_states(true);
        let mut tokenizer = Tokenizer::new_with_emitter(text, emitter);
        // Nothing is emitted: this runs to the end.
        tokenizer.by_ref().for_each(drop);
    }
    reader.close_table(&wanted);
    let tail = &text[floor_boundary(text, text.len().saturating_sub(8 * 1024))..];
    let has = |mark: &str| tail.contains(mark) || tail.to_ascii_lowercase().contains(mark);
    reader.document.is_complete = has("End of Report") || has("</html>") || has("</body>");
    reader.document.last_line = text.trim_end().bytes().filter(|byte| *byte == b'\n').count() + 1;
    reader.document
}

#[derive(Default)]
struct Reader<'a> {
    bytes: &'a [u8],
    document: Document,
    /// Where tokens are told from lines.
    at: usize,
    line: usize,
    /// The start tag whose attributes come.
    tag: String,
    attribute: String,
    summary: String,
    spans: (usize, usize),
    is_link: bool,
    /// Depth of elements whose text is no title: lists, links, styles.
    silent: Silent,
    /// The text since the last block began, and the titles it may be.
    block: String,
    heading: String,
    caption: String,
    table: Option<Open>,
}

#[derive(Default)]
struct Silent {
    list: bool,
    link: bool,
    code: bool,
}

/// A table that is being read.
struct Open {
    grid: Grid,
    summary: String,
}

impl<'a> Reader<'a> {
    fn take(&mut self, event: &CallbackEvent<'_>, start: usize, wanted: &impl Fn(&str) -> bool) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = lower(name);
                self.summary.clear();
                self.spans = (1, 1);
                self.is_link = false;
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute = lower(name);
                self.is_link |= self.attribute == "href";
            }
            CallbackEvent::AttributeValue { value } => self.attribute_value(value),
            CallbackEvent::CloseStartTag { .. } => {
                self.advance(start);
                self.start_tag(wanted);
            }
            CallbackEvent::EndTag { name } => self.end_tag(&lower(name), wanted),
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            _ => {}
        }
    }

    fn attribute_value(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        let span = || text.trim().parse::<usize>().unwrap_or(1).clamp(1, 64);
        match self.attribute.as_str() {
            "summary" => self.summary = text.into_owned(),
            "colspan" => self.spans.0 = span(),
            "rowspan" => self.spans.1 = span(),
            _ => {}
        }
    }

    /// Counts lines up to a place in the text.
    fn advance(&mut self, to: usize) {
        let to = to.min(self.bytes.len());
        if to > self.at {
            self.line += self.bytes[self.at..to].iter().filter(|byte| **byte == b'\n').count();
            self.at = to;
        }
    }

    fn start_tag(&mut self, wanted: &impl Fn(&str) -> bool) {
        let line = self.line;
        match self.tag.as_str() {
            "table" => {
                self.close_table(wanted);
                self.end_block(false);
                let summary = std::mem::take(&mut self.summary);
                self.table = Some(Open { grid: Grid::default(), summary });
            }
            "tr" => self.with_grid(|grid| grid.row(line)),
            "td" | "th" => {
                let cell = Cell::new(self.tag == "th", self.spans);
                self.with_grid(|grid| grid.cell(cell));
            }
            "li" | "ul" => {
                self.end_block(false);
                self.silent.list = true;
            }
            "a" => self.silent.link = self.is_link,
            "style" | "script" | "title" => self.silent.code = true,
            "p" | "br" | "hr" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" => self.end_block(false),
            _ => {}
        }
    }

    fn end_tag(&mut self, name: &str, wanted: &impl Fn(&str) -> bool) {
        match name {
            "table" => self.close_table(wanted),
            "tr" => self.with_grid(Grid::end_row),
            "td" | "th" => self.with_grid(Grid::end_cell),
            "ul" | "li" => self.silent.list = false,
            "a" => self.silent.link = false,
            "style" | "script" | "title" => self.silent.code = false,
            "h1" | "h2" | "h3" | "h4" | "h5" => self.end_block(true),
            "p" | "div" => self.end_block(false),
            _ => {}
        }
    }

    fn with_grid(&mut self, change: impl FnOnce(&mut Grid)) {
        if let Some(open) = &mut self.table {
            change(&mut open.grid);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.table {
            open.grid.text(text);
        } else if !(self.silent.list || self.silent.link || self.silent.code) && self.block.len() < 1000 {
            self.block.push_str(text);
        }
    }

    /// A text between blocks may be the title of the table that follows.
    fn end_block(&mut self, is_heading: bool) {
        if self.table.is_some() {
            return;
        }
        let block = std::mem::take(&mut self.block);
        let title = block.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() || title.len() > 120 || title.starts_with("No data exists") {
            return;
        }
        if is_heading {
            self.document.sections.push((title.clone(), self.line));
            self.heading.clone_from(&title);
        }
        self.caption = title;
    }

    fn close_table(&mut self, wanted: &impl Fn(&str) -> bool) {
        let Some(open) = self.table.take() else { return };
        let summary = open.summary.split(". ").next().unwrap_or_default().trim().to_owned();
        let candidates = [self.caption.as_str(), self.heading.as_str(), summary.as_str()];
        let title = candidates.into_iter().find(|title| wanted(title)).map(str::to_owned);
        // What the database and its host are is in tables without a title of their own.
        let is_header = self.document.sections.len() <= 1;
        if title.is_none() && !is_header {
            return;
        }
        let title = title.unwrap_or_default();
        let table = open.grid.table(&title);
        for row in &table.rows {
            self.document.pairs.extend(pairs(&title, &row.cells));
        }
        if !table.rows.is_empty() {
            self.document.tables.push(table);
        }
    }
}

fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_lowercase()
}
