//! HTML reports: tokens to tables. No tree is built: memory holds the text of a table and the finished tables.

use std::cell::Cell;
use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{IoReader, Span, Tokenizer};

use crate::input::OneReport;
use crate::kind::floor_boundary;
use crate::sections::TablesWanted;
use crate::table::{Document, Head, HeldBytes, Row, Table};
use crate::unpack::Blocks;

const COLUMNS: usize = 100;
/// A larger table is damaged, or one of texts: its beginning suffices.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The tokenizer holds a text, an attribute or a comment whole.
const MOST_BETWEEN: usize = 16 * 1024 * 1024;
const HEADING: usize = 200;

/// Closing tags are searched in these last bytes.
const TAIL_BYTES: usize = 8 * 1024;

pub(crate) fn read(report: &mut OneReport<'_, '_>, wanted: impl Fn(&str) -> TablesWanted) -> Document {
    let line = Cell::new(0);
    let (is_too_large, since_token) = (Cell::new(false), Cell::new(0));
    let mut tail = String::new();
    let mut reader = Reader::default();
    {
        let mut emitter =
            CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
                reader.line = line.get();
                reader.take(&event, &wanted);
                is_too_large.set(is_too_large.get() || reader.held().is_too_much());
                since_token.set(0);
                None
            });
        // Tags within style and script are none.
        emitter.naively_switch_states(true);
        // A line at a time, so that tokens know their line.
        let lines = Blocks::new(|| {
            if since_token.get() > MOST_BETWEEN {
                is_too_large.set(true);
            }
            let next = if is_too_large.get() { None } else { report.next() };
            let Some(piece) = next else { return Ok(None) };
            since_token.update(|bytes: usize| bytes + piece.text.len() + 1);
            line.set(piece.line);
            if tail.len() > 2 * TAIL_BYTES {
                tail.drain(..floor_boundary(&tail, tail.len() - TAIL_BYTES));
            }
            tail.push_str(&piece.text);
            let mut bytes = piece.text.into_bytes();
            bytes.extend(piece.ends_line.then_some(b'\n'));
            Ok(Some(bytes))
        });
        let mut tokenizer = Tokenizer::new_with_emitter(IoReader::new(lines), emitter);
        // The callback emits nothing, so that this runs to the end.
        tokenizer.by_ref().for_each(drop);
    }
    reader.close_table();
    reader.document.is_too_large = is_too_large.get() || reader.held().is_too_much();
    tail.make_ascii_lowercase();
    let ends = ["end of report", "</html>", "</body>"];
    reader.document.is_complete = ends.iter().any(|mark| tail.contains(mark));
    reader.document.last_line = report.last_line;
    reader.document
}

#[derive(Default)]
struct Reader {
    document: Document,
    line: usize,
    tag: String,
    attribute: String,
    summary: String,
    spans: (usize, usize),
    is_link: bool,
    /// The text of such elements is no title.
    in_list: bool,
    in_link: bool,
    in_code: bool,
    /// The text since the last block began, and the texts that may be a title.
    block: String,
    heading: String,
    caption: String,
    table: Option<(String, Option<Grid>)>,
}

impl Reader {
    fn take(&mut self, event: &CallbackEvent<'_>, wanted: &impl Fn(&str) -> TablesWanted) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                set_lower(&mut self.tag, name);
                self.summary.clear();
                self.spans = (1, 1);
                self.is_link = false;
            }
            CallbackEvent::AttributeName { name } => {
                set_lower(&mut self.attribute, name);
                self.is_link |= self.attribute == "href";
            }
            CallbackEvent::AttributeValue { value } => self.attribute_value(value),
            CallbackEvent::CloseStartTag { .. } => self.start_tag(wanted),
            CallbackEvent::EndTag { name } => {
                set_lower(&mut self.tag, name);
                self.end_tag();
            }
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

    fn start_tag(&mut self, wanted: &impl Fn(&str) -> TablesWanted) {
        let line = self.line;
        match self.tag.as_str() {
            "table" => {
                self.close_table();
                self.end_block(false);
                let title = self.title(wanted);
                let grid = title.as_ref().map(|_| Grid::default());
                self.table = Some((title.unwrap_or_default(), grid));
            }
            "tr" => self.with_grid(|grid| {
                grid.end_row();
                grid.line = line;
            }),
            "td" | "th" => {
                let (is_head, spans) = (self.tag == "th", self.spans);
                self.with_grid(|grid| {
                    grid.end_cell();
                    grid.open = Some(GridCell { is_head, spans, text: String::new() });
                });
            }
            "li" | "ul" => {
                self.end_block(false);
                self.in_list = true;
            }
            "a" => self.in_link = self.is_link,
            "style" | "script" | "title" => self.in_code = true,
            "p" | "br" | "hr" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" => self.end_block(false),
            _ => {}
        }
    }

    fn end_tag(&mut self) {
        match self.tag.as_str() {
            "table" => self.close_table(),
            "tr" => self.with_grid(Grid::end_row),
            "td" | "th" => self.with_grid(Grid::end_cell),
            "ul" | "li" => self.in_list = false,
            "a" => self.in_link = false,
            "style" | "script" | "title" => self.in_code = false,
            "h1" | "h2" | "h3" | "h4" | "h5" => self.end_block(true),
            "p" | "div" => self.end_block(false),
            _ => {}
        }
    }

    fn held(&self) -> HeldBytes {
        let open = self.table.as_ref().and_then(|(_, grid)| grid.as_ref());
        HeldBytes(self.document.held.0 + open.map_or(0, |grid| grid.held.0 + grid.bytes))
    }

    fn with_grid(&mut self, change: impl FnOnce(&mut Grid)) {
        if let Some(grid) = self.table.as_mut().and_then(|(_, grid)| grid.as_mut()) {
            change(grid);
        }
    }

    fn text(&mut self, text: &str) {
        if self.table.is_some() {
            self.with_grid(|grid| grid.text(text));
        } else if !(self.in_list || self.in_link || self.in_code) && self.block.len() < 1000 {
            self.block.push_str(text);
        }
    }

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
            self.document.begin_section(&title, self.line);
            self.heading.clone_from(&title);
        }
        self.caption = title;
    }

    fn title(&mut self, wanted: &impl Fn(&str) -> TablesWanted) -> Option<String> {
        let summary = std::mem::take(&mut self.summary);
        let summary = summary.split(". ").next().unwrap_or_default().trim();
        let candidates = [self.caption.as_str(), self.heading.as_str(), summary];
        let find = |want: TablesWanted| {
            candidates.into_iter().find(|title| !title.is_empty() && wanted(title) == want)
        };
        let title = find(TablesWanted::Types).or_else(|| find(TablesWanted::Print)).map(str::to_owned);
        // Tables of the database and its host have no title.
        let is_header = self.document.sections.len() <= 1;
        title.or_else(|| is_header.then(String::new))
    }

    fn close_table(&mut self) {
        let Some((title, Some(grid))) = self.table.take() else { return };
        self.document.held.0 += grid.held.0;
        self.document.held.table(&title);
        if grid.is_cut {
            self.document.cut_tables.push(title.clone());
        }
        let table = grid.table(&title);
        let has_label = |row: &&Row| row.cells.iter().any(|cell| cell.contains(':'));
        self.document.take_pairs(&title, table.rows.iter().filter(has_label).map(|row| &row.cells));
        if !table.rows.is_empty() {
            self.document.tables.push(table);
        }
    }
}

#[derive(Default)]
struct Grid {
    heading: Vec<Vec<GridCell>>,
    rows: Vec<Row>,
    cells: Vec<GridCell>,
    line: usize,
    open: Option<GridCell>,
    bytes: usize,
    held: HeldBytes,
    /// Rows beyond [`MOST_BYTES`] were dropped.
    is_cut: bool,
}

#[derive(Clone, Default)]
struct GridCell {
    is_head: bool,
    spans: (usize, usize),
    text: String,
}

impl Grid {
    fn text(&mut self, text: &str) {
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            self.is_cut = true;
            return;
        }
        if let Some(cell) = &mut self.open {
            cell.text.push_str(text);
        }
    }

    fn end_cell(&mut self) {
        if let Some(mut cell) = self.open.take()
            && self.cells.len() < COLUMNS
        {
            cell.text.truncate(cell.text.trim_end().len());
            cell.text.drain(..cell.text.len() - cell.text.trim_start().len());
            self.cells.push(cell);
        }
    }

    fn end_row(&mut self) {
        self.end_cell();
        let mut cells = std::mem::take(&mut self.cells);
        if cells.is_empty() || self.is_cut {
            return;
        }
        let is_heading = cells.iter().any(|cell| cell.is_head)
            && cells.iter().all(|cell| cell.is_head || cell.text.is_empty());
        if !is_heading {
            // A collected vector would keep the larger room of the cells.
            let mut texts = Vec::with_capacity(cells.len());
            texts.extend(cells.into_iter().map(|cell| cell.text));
            let cells = texts;
            self.held.row(&cells);
            self.rows.push(Row { line: self.line, cells });
        } else if self.rows.is_empty() && self.heading.len() < 8 {
            cells.iter_mut().for_each(|cell| cell.text.truncate(floor_boundary(&cell.text, HEADING)));
            self.heading.push(cells);
        }
    }

    fn table(mut self, title: &str) -> Table {
        self.end_row();
        Table { title: title.to_owned(), heads: heads(&self.heading), rows: self.rows }
    }
}

/// The lowest row has the headings, each with those above it.
fn heads(rows: &[Vec<GridCell>]) -> Vec<Head> {
    let mut grid: Vec<Vec<Option<&str>>> = vec![Vec::new(); rows.len()];
    for (at, row) in rows.iter().enumerate() {
        let mut column = 0;
        for cell in row {
            while grid[at].get(column).is_some_and(Option::is_some) {
                column += 1;
            }
            for below in grid.iter_mut().skip(at).take(cell.spans.1) {
                let end = (column + cell.spans.0).min(COLUMNS);
                if below.len() < end {
                    below.resize(end, None);
                }
                below[column.min(end)..end].fill(Some(&cell.text));
            }
            column = (column + cell.spans.0).min(COLUMNS);
        }
    }
    let Some((lowest, above)) = grid.split_last() else { return Vec::new() };
    let head = |(column, name): (usize, &Option<&str>)| {
        let name = name.unwrap_or_default();
        let over =
            above.iter().filter_map(|row| row.get(column).copied().flatten()).filter(|over| *over != name);
        Head::of(&over.collect::<String>(), name)
    };
    lowest.iter().enumerate().map(head).collect()
}

fn set_lower(text: &mut String, name: &[u8]) {
    text.clear();
    text.push_str(&String::from_utf8_lossy(name));
    text.make_ascii_lowercase();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, columns: usize, rows: usize) -> GridCell {
        GridCell { is_head: true, spans: (columns, rows), text: text.into() }
    }

    #[test]
    fn headings_over_several_columns_are_their_group() {
        let rows = [
            vec![cell("Event", 1, 2), cell("% of DB time", 2, 1)],
            vec![cell("1st", 1, 1), cell("2nd", 1, 1)],
        ];
        assert_eq!(
            heads(&rows),
            [Head::of("", "Event"), Head::of("% of DB time", "1st"), Head::of("% of DB time", "2nd")]
        );
        let blanks = [
            vec![cell("", 1, 1), cell("", 1, 1), cell("% of Waits", 1, 1)],
            vec![cell("Event", 1, 1), cell("Total", 1, 1), cell("<1ms", 1, 1)],
        ];
        assert_eq!(heads(&blanks)[2], Head::of("% of Waits", "<1ms"));
    }
}
