//! HTML reports: tokens to tables. No tree is built, so that memory is that of the text and its tables.

mod grid;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{IoReader, Span, Tokenizer};

use crate::split::{Bytes, OneReport};
use crate::table::{Document, pairs};
use grid::Grid;

/// Reads an HTML report. Tables for whose titles `wanted` is false are named, but not kept.
pub(crate) fn read(report: &mut OneReport<'_, '_>, wanted: impl Fn(&str) -> bool) -> Document {
    let line = Cell::new(0);
    let tail = RefCell::new(String::new());
    let mut reader = Reader::default();
    {
        let mut emitter =
            CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
                reader.line = line.get();
                reader.take(&event, &wanted);
                None
            });
        // The contents of style and script are no tags.
        emitter.naively_switch_states(true);
        let bytes = IoReader::new(Bytes::new(report, &line, &tail));
        let mut tokenizer = Tokenizer::new_with_emitter(bytes, emitter);
        // Nothing is emitted: this runs to the end.
        tokenizer.by_ref().for_each(drop);
    }
    reader.close_table();
    let tail = tail.into_inner().to_ascii_lowercase();
    let ends = ["end of report", "</html>", "</body>"];
    reader.document.is_complete = ends.iter().any(|mark| tail.contains(mark));
    reader.document.last_line = report.last_line;
    reader.document
}

#[derive(Default)]
struct Reader {
    document: Document,
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
    title: String,
    /// None of a table that nobody wants.
    grid: Option<Grid>,
}

impl Reader {
    fn take(&mut self, event: &CallbackEvent<'_>, wanted: &impl Fn(&str) -> bool) {
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
            CallbackEvent::CloseStartTag { .. } => self.start_tag(wanted),
            CallbackEvent::EndTag { name } => self.end_tag(&lower(name)),
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

    fn start_tag(&mut self, wanted: &impl Fn(&str) -> bool) {
        let line = self.line;
        match self.tag.as_str() {
            "table" => {
                self.close_table();
                self.end_block(false);
                let title = self.title(wanted);
                let grid = title.as_ref().map(|_| Grid::default());
                self.table = Some(Open { title: title.unwrap_or_default(), grid });
            }
            "tr" => self.with_grid(|grid| grid.row(line)),
            "td" | "th" => {
                let cell = grid::Cell::new(self.tag == "th", self.spans);
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

    fn end_tag(&mut self, name: &str) {
        match name {
            "table" => self.close_table(),
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
        if let Some(grid) = self.table.as_mut().and_then(|open| open.grid.as_mut()) {
            change(grid);
        }
    }

    fn text(&mut self, text: &str) {
        if self.table.is_some() {
            self.with_grid(|grid| grid.text(text));
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
        self.document.take_periods(&title);
        if title.is_empty() || title.len() > 120 || title.starts_with("No data exists") {
            return;
        }
        if is_heading {
            self.document.sections.push((title.clone(), self.line));
            self.heading.clone_from(&title);
        }
        self.caption = title;
    }

    /// What the table that begins is about; `None` if nobody wants it.
    fn title(&mut self, wanted: &impl Fn(&str) -> bool) -> Option<String> {
        let summary = std::mem::take(&mut self.summary);
        let summary = summary.split(". ").next().unwrap_or_default().trim();
        let candidates = [self.caption.as_str(), self.heading.as_str(), summary];
        let title = candidates.into_iter().find(|title| wanted(title)).map(str::to_owned);
        // What the database and its host are is in tables without a title of their own.
        let is_header = self.document.sections.len() <= 1;
        title.or_else(|| is_header.then(String::new))
    }

    fn close_table(&mut self) {
        let Some(Open { title, grid: Some(grid) }) = self.table.take() else { return };
        if grid.is_cut {
            self.document.cut_tables.push(title.clone());
        }
        let table = grid.table(&title);
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
