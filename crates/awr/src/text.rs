//! Text reports: lines to sections, sections to tables.
//!
//! A section begins where a line names the database (`Title   DB/Inst: X/y  Snaps: 1-2`) or has tildes below. The runs of a
//! ruler, a line of dashes, are the columns of a table.

use std::collections::VecDeque;
use std::ops::Range;

use crate::figure::number;
use crate::input::Piece;
use crate::kind::Kind;
use crate::sections::{TablesWanted, is_sql_id};
use crate::table::{Document, Head, HeldBytes, Row, TEXT, Table};

const HEADING_LINES: usize = 6;
/// A line of more runs is no ruler.
const COLUMNS: usize = 100;
const MOST_OF_SECTION: usize = 64 * 1024 * 1024;
/// Consecutive blank lines; reports have a page of them.
const MOST_BLANK: usize = 100_000;
/// A prompt or a signature may follow the end.
const LINES_AFTER_END: usize = 200;

pub(crate) fn read(
    pieces: impl FnMut() -> Option<Piece>,
    kind: Kind,
    wanted: impl Fn(&str) -> TablesWanted,
) -> Document {
    let mut lines = Lines::new(pieces);
    let mut reader = Reader { is_wanted: true, ..Reader::default() };
    let mut end = End { may_lack: kind.is_comparison() || kind == Kind::AwrGlobal, ..End::default() };
    let mut line = lines.next();
    while let Some(current) = line.filter(|_| !reader.is_too_large() && !lines.are_too_many()) {
        let next = lines.next();
        end.take(&current);
        reader.take(current, next.as_ref(), &wanted);
        line = next;
    }
    let is_too_large = reader.is_too_large() || lines.are_too_many();
    reader.end_section();
    reader.document.is_too_large = is_too_large || reader.is_too_large();
    reader.document.last_line = lines.last_line;
    reader.document.is_complete = end.lines_since.is_some();
    reader.document
}

struct Line {
    number: usize,
    text: String,
    indent: usize,
}

impl Line {
    fn words(&self) -> &str {
        &self.text[self.indent..]
    }
}

/// Expands tabs; drops CR, form feeds (even glued to a title), and page heads of SQL*Plus: a blank line, `OUTPUT`, and a rule.
struct Lines<F> {
    pieces: F,
    ready: VecDeque<Line>,
    /// Blank lines that may belong to a page head or to the end of the file.
    blank: VecDeque<Line>,
    after_page_head: bool,
    last_line: usize,
}

impl<F: FnMut() -> Option<Piece>> Lines<F> {
    fn new(pieces: F) -> Self {
        Self { pieces, ready: VecDeque::new(), blank: VecDeque::new(), after_page_head: false, last_line: 0 }
    }

    fn next(&mut self) -> Option<Line> {
        while self.ready.is_empty() {
            if self.are_too_many() {
                return None;
            }
            let piece = (self.pieces)()?;
            if piece.text.contains('\x0c') {
                piece.text.split('\x0c').for_each(|part| self.take(piece.line, cleaned(part.to_owned())));
            } else {
                self.take(piece.line, cleaned(piece.text));
            }
        }
        self.ready.pop_front()
    }

    fn are_too_many(&self) -> bool {
        self.blank.len().max(self.ready.len()) > MOST_BLANK
    }

    fn take(&mut self, number: usize, text: String) {
        let indent = text.len() - text.trim_start().len();
        let line = Line { number, text, indent };
        if line.words() == "OUTPUT" {
            self.blank.pop_back();
            self.after_page_head = true;
            return;
        }
        let is_rule = || line.text.len() >= 20 && line.text.bytes().all(|byte| byte == b'-');
        if std::mem::take(&mut self.after_page_head) && is_rule() {
            return;
        }
        if line.text.is_empty() {
            self.blank.push_back(line);
            return;
        }
        self.last_line = number;
        self.ready.append(&mut self.blank);
        self.ready.push_back(line);
    }
}

fn cleaned(mut line: String) -> String {
    // Nearly all lines end in one of these bytes or in none.
    let plain =
        line.bytes().rposition(|byte| !matches!(byte, b' ' | b'\r' | b'\t')).map_or(0, |last| last + 1);
    line.truncate(plain);
    if line.ends_with('\u{a0}') {
        line.truncate(line.trim_end_matches([' ', '\r', '\t', '\u{a0}']).len());
    }
    if !line.contains('\t') {
        return line;
    }
    let mut expanded = String::with_capacity(line.len() + 32);
    let mut column = 0;
    for symbol in line.chars() {
        if symbol == '\t' {
            let blanks = 8 - column % 8;
            expanded.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            expanded.push(symbol);
            column += 1;
        }
    }
    expanded
}

#[derive(Default)]
struct Reader {
    document: Document,
    title: String,
    is_wanted: bool,
    body: Vec<Line>,
    body_bytes: usize,
}

impl Reader {
    fn is_too_large(&self) -> bool {
        self.document.held.is_too_much() || self.body_bytes > MOST_OF_SECTION
    }

    fn take(&mut self, line: Line, below: Option<&Line>, wanted: &impl Fn(&str) -> TablesWanted) {
        let title = match headed(&line.text) {
            Some((title, db_inst)) => {
                self.document.take_periods(&line.text);
                if self.document.db_inst.is_none() {
                    self.document.db_inst = db_inst;
                }
                Some(title)
            }
            None => underlined(&line, below).or_else(|| bare(&line)),
        };
        if let Some(title) = title {
            self.end_section();
            self.document.begin_section(&title, line.number);
            self.is_wanted = wanted(&title) != TablesWanted::Nothing;
            self.title = title;
        }
        if self.is_wanted {
            self.body_bytes += size_of::<Line>() + TEXT + line.text.len();
            self.body.push(line);
        }
    }

    fn end_section(&mut self) {
        let body = std::mem::take(&mut self.body);
        self.body_bytes = 0;
        if !self.is_wanted || body.is_empty() {
            return;
        }
        self.document.tables.extend(tables(&self.title, &body, &mut self.document.held));
        let has_label = |line: &&Line| line.text.contains(':') && !line.text.starts_with("->");
        let lines = body.iter().filter(has_label).map(|line| pieces(&line.text));
        self.document.take_pairs(&self.title, lines);
    }
}

/// Comparisons and global reports of some releases end with the rule below their last section.
#[derive(Default)]
struct End {
    may_lack: bool,
    lines_since: Option<usize>,
    /// The last section if there is no other end.
    is_last_section: bool,
}

impl End {
    fn take(&mut self, line: &Line) {
        if self.may_lack
            && let Some((title, _)) = headed(&line.text)
        {
            self.is_last_section = title.contains("Multi-Valued Parameters");
        }
        let is_last_rule = self.may_lack && self.is_last_section && is_terminator(&line.text);
        self.lines_since = match self.lines_since {
            _ if is_last_rule || line.words().starts_with("End of Report") => Some(0),
            Some(lines) if lines < LINES_AFTER_END => Some(lines + 1),
            _ => None,
        };
    }
}

fn headed(line: &str) -> Option<(String, Option<(String, String)>)> {
    // Most lines have no colon.
    if !line.contains(':') || line.starts_with("     ") || line.starts_with("->") {
        return None;
    }
    let before_mark = |(colon, _): (usize, &str)| {
        let before = &line[..colon];
        let title = before.strip_suffix("DB/Inst").or_else(|| before.strip_suffix(" for DB"))?;
        Some((title, &line[colon + 1..]))
    };
    let (title, rest) = line.match_indices(':').find_map(before_mark)?;
    let title = title.trim();
    let title = title.strip_suffix(" First").unwrap_or(title).trim();
    if title.is_empty() {
        return None;
    }
    let db_inst = rest.split_whitespace().next().and_then(|word| word.split_once('/'));
    Some((title.to_owned(), db_inst.map(|(db, instance)| (db.to_owned(), instance.to_owned()))))
}

fn underlined(line: &Line, below: Option<&Line>) -> Option<String> {
    if !below.is_some_and(|below| below.indent <= 3 && below.words().starts_with("~~~~")) {
        return None;
    }
    let is_title = line.indent <= 3 && line.words().starts_with(|first: char| first.is_ascii_alphabetic());
    is_title.then(|| line.words().split("  ").next().unwrap_or_default().trim().to_owned())
}

fn bare(line: &Line) -> Option<String> {
    const TITLES: [&str; 2] = ["Shared Pool Statistics", "Top ADDM Findings"];
    let is_near = line.indent < 4;
    TITLES.into_iter().find(|title| is_near && line.words().starts_with(title)).map(str::to_owned)
}

fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(' ');
        let end = rest.as_bytes().windows(2).position(|pair| pair == b"  ").unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The runs of dashes and tildes. Tildes alone underline a title or a sum.
fn ruler(line: &str) -> Option<Vec<Range<usize>>> {
    if !begins_rule(line)
        || !line.contains('-')
        || !line.bytes().all(|byte| matches!(byte, b'-' | b'~' | b' '))
        || is_terminator(line)
    {
        return None;
    }
    let runs: Vec<_> = words(line).map(|(_, run)| run).collect();
    (runs.len() <= COLUMNS).then_some(runs)
}

/// Rejects most lines quickly.
fn begins_rule(line: &str) -> bool {
    line.bytes().find(|byte| *byte != b' ').is_some_and(|byte| matches!(byte, b'-' | b'~'))
}

/// The end of a section: indented, one run, longer than any column.
fn is_terminator(line: &str) -> bool {
    if !begins_rule(line) {
        return false;
    }
    let rule = line.trim_start();
    line.len() - rule.len() >= 10 && rule.len() >= 52 && rule.bytes().all(|byte| byte == b'-')
}

/// A ruler over shared headings: more runs lie wholly below it than it has.
fn groups(above: &[Range<usize>], below: &[Range<usize>]) -> bool {
    let inside = |run: &Range<usize>, over: &Range<usize>| over.start <= run.start && run.end <= over.end;
    let covered = below.iter().filter(|run| above.iter().any(|over| inside(run, over))).count();
    covered > above.len() || (covered == above.len() && covered > 1 && above.len() < below.len())
}

/// A table that page heads cut comes in pieces, each with its headings.
fn tables(title: &str, lines: &[Line], held: &mut HeldBytes) -> Vec<Table> {
    if title.starts_with("Tablespace IO") || title.starts_with("File IO") {
        return two_line_tables(title, lines, held);
    }
    let is_sql = title.starts_with("SQL ordered by") || title.starts_with("Top SQL with");
    let mut tables: Vec<(Table, Vec<Range<usize>>)> = Vec::new();
    let mut is_open = false;
    for (index, line) in lines.iter().enumerate() {
        if held.is_too_much() {
            break;
        }
        let text = line.text.as_str();
        if is_terminator(text) {
            is_open = false;
        } else if let Some(runs) = ruler(text) {
            if is_group_ruler(&runs, &lines[index + 1..]) {
                continue;
            }
            let first = heading_start(lines, index);
            if let Some((table, _)) = tables.last_mut() {
                table.rows.retain(|row| row.line < lines[first].number);
            }
            let mut columns = runs;
            if columns.first().is_some_and(|first| first.start >= 4) {
                columns.insert(0, 0..columns[0].start - 1);
            }
            let heads = heads(title, &columns, &lines[first..index]);
            held.heads(&heads);
            held.table(title);
            tables.push((Table { title: title.to_owned(), heads, rows: Vec::new() }, columns));
            is_open = true;
        } else if is_open
            && !line.words().is_empty()
            && !text.starts_with("->")
            && let Some((table, columns)) = tables.last_mut()
        {
            // The text of a statement knows no columns.
            let has_columns = !is_sql || text.split_ascii_whitespace().any(is_sql_id);
            let cells = if has_columns { cells(text, columns) } else { vec![line.text.clone()] };
            held.row(&cells);
            table.rows.push(Row { line: line.number, cells });
        }
    }
    tables.into_iter().map(|(table, _)| table).filter(|table| !table.rows.is_empty()).collect()
}

fn is_group_ruler(runs: &[Range<usize>], below: &[Line]) -> bool {
    let near = below.iter().take(HEADING_LINES).take_while(|line| !line.text.is_empty());
    let next = near.map(|line| ruler(&line.text)).find(Option::is_some).flatten();
    next.is_some_and(|next| groups(runs, &next))
}

fn heading_start(lines: &[Line], ruler_at: usize) -> usize {
    let mut first = ruler_at;
    while first > 0 && ruler_at - first < HEADING_LINES {
        let text = lines[first - 1].text.as_str();
        if text.trim().is_empty()
            || text.starts_with("->")
            || is_terminator(text)
            || text.contains("DB/Inst:")
        {
            break;
        }
        first -= 1;
    }
    first
}

fn heads(title: &str, columns: &[Range<usize>], heading: &[Line]) -> Vec<Head> {
    let mut names = vec![String::new(); columns.len()];
    let mut shared = vec![String::new(); columns.len()];
    let group_ruler = heading.iter().rposition(|line| ruler(&line.text).is_some());
    let (groups, own) = heading.split_at(group_ruler.map_or(0, |at| at + 1));
    if let Some((over, above)) = groups.split_last() {
        let over = ruler(&over.text).unwrap_or_default();
        for (word, span) in above.iter().flat_map(|line| words(&line.text)) {
            let run = over.iter().max_by_key(|run| overlap(run, &span));
            if let Some(run) = run.filter(|run| overlap(run, &span) > 0) {
                share(columns, run, word, &mut shared);
            }
        }
    }
    for line in own {
        // A line may hold title and headings. A short title may be a heading too, such as Statspack's `Host Name`.
        let is_titled = title.len() > 10 && line.words().starts_with(title);
        let from = if is_titled { line.indent + title.len() } else { 0 };
        let words = words(&line.text).filter(|(_, span)| span.start >= from);
        own_heads(columns, words, &mut names, &mut shared);
    }
    names.iter().zip(&shared).map(|(name, group)| Head::of(group, name)).collect()
}

/// The columns below the dashes share `---- Read ----`.
fn own_heads<'l>(
    columns: &[Range<usize>],
    words: impl Iterator<Item = (&'l str, Range<usize>)>,
    names: &mut [String],
    shared: &mut [String],
) {
    let mut dashes: Option<Range<usize>> = None;
    let mut caption = String::new();
    for (word, span) in words {
        let is_dashes = word.len() > 1 && word.bytes().all(|byte| byte == b'-');
        match (&mut dashes, is_dashes) {
            (None, true) => dashes = Some(span),
            (Some(open), true) => {
                share(columns, &(open.start..span.end), &caption, shared);
                caption.clear();
                dashes = None;
            }
            (Some(_), false) => caption.push_str(word),
            (None, false) if word.bytes().all(|byte| byte == b'~') => {}
            (None, false) => {
                if let Some(column) = nearest(columns, &span) {
                    names[column].push(' ');
                    names[column].push_str(word);
                }
            }
        }
    }
}

fn share(columns: &[Range<usize>], run: &Range<usize>, heading: &str, shared: &mut [String]) {
    let below = columns.iter().zip(shared).filter(|(column, _)| overlap(run, column) > 0);
    below.for_each(|(_, shared)| shared.push_str(heading));
}

fn words(line: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let start_of = move |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    line.split_whitespace().map(move |word| (word, start_of(word)..start_of(word) + word.len()))
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> usize {
    one.end.min(other.end).saturating_sub(one.start.max(other.start))
}

fn nearest(columns: &[Range<usize>], span: &Range<usize>) -> Option<usize> {
    let distance =
        |range: &Range<usize>| range.start.saturating_sub(span.end).max(span.start.saturating_sub(range.end));
    (0..columns.len()).min_by_key(|at| (usize::MAX - overlap(&columns[*at], span), distance(&columns[*at])))
}

/// A word on the border goes to the column that it overlaps more: some columns are printed beside their rulers.
fn cells(line: &str, columns: &[Range<usize>]) -> Vec<String> {
    if !line.is_ascii() {
        // Columns are characters: an umlaut in a name must not shift the cells behind it.
        let plain: String = line.chars().map(|symbol| if symbol.is_ascii() { symbol } else { '?' }).collect();
        let bytes: Vec<usize> = line.char_indices().map(|(byte, _)| byte).chain([line.len()]).collect();
        let cut = |at: usize| bytes.get(at).copied().unwrap_or(line.len());
        return bounds(&plain, columns)
            .windows(2)
            .map(|pair| line[cut(pair[0])..cut(pair[1])].trim().to_owned())
            .collect();
    }
    bounds(line, columns).windows(2).map(|pair| line[pair[0]..pair[1]].trim_ascii().to_owned()).collect()
}

fn bounds(line: &str, columns: &[Range<usize>]) -> Vec<usize> {
    let is_word = |at: usize| line.as_bytes().get(at).is_some_and(|byte| *byte != b' ');
    let mut bounds: Vec<usize> = Vec::with_capacity(columns.len() + 1);
    for (column, range) in columns.iter().enumerate() {
        let mut at = range.start.min(line.len());
        if column > 0 && at > 0 && is_word(at - 1) && is_word(at) {
            let before = &columns[column - 1];
            let reach = before.start..range.end;
            let start = (reach.start..at).rev().find(|at| !is_word(*at)).map_or(reach.start, |at| at + 1);
            let end = (at..reach.end).find(|at| !is_word(*at)).unwrap_or(reach.end);
            at = if overlap(before, &(start..end)) > overlap(range, &(start..end)) { end } else { start };
        }
        bounds.push(at.min(line.len()).max(bounds.last().copied().unwrap_or(0)));
    }
    bounds.push(line.len());
    bounds
}

/// Rows of these tables have a line of names and a line of numbers.
fn two_line_tables(title: &str, lines: &[Line], held: &mut HeldBytes) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut numbers: Vec<Range<usize>> = Vec::new();
    let mut pending: Vec<String> = Vec::new();
    let mut heading: Vec<Head> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if held.is_too_much() {
            break;
        }
        let text = line.text.as_str();
        if is_terminator(text) || text.trim().is_empty() {
            continue;
        }
        if let Some(runs) = ruler(text) {
            let last_ruler = lines[..index].iter().rposition(|line| ruler(&line.text).is_some());
            let first = heading_start(lines, index).max(last_ruler.map_or(0, |at| at + 1));
            let above = &lines[first..index];
            if runs.len() <= 2 {
                heading = heads(title, &runs, above);
                names = runs;
            } else {
                let mut all = heading.clone();
                all.extend(heads(title, &runs, above));
                held.heads(&all);
                held.table(title);
                tables.push(Table { title: title.to_owned(), heads: all, rows: Vec::new() });
                numbers = runs;
            }
            pending.clear();
            continue;
        }
        let is_numbers = !pending.is_empty() && text.split_whitespace().all(is_number);
        match tables.last_mut() {
            Some(table) if is_numbers => {
                let mut row = std::mem::take(&mut pending);
                row.extend(cells(text, &numbers));
                held.row(&row);
                table.rows.push(Row { line: line.number, cells: row });
            }
            _ => pending = cells(text, &names),
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn is_number(word: &str) -> bool {
    word == "N/A" || word.bytes().all(|byte| byte == b'#') || number(word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let piece = |text: &str| Piece { line: 1, text: text.to_owned(), ends_line: true };
        let mut pieces = text.split('\n').map(piece);
        let mut lines = Lines::new(|| pieces.next());
        std::iter::from_fn(|| lines.next()).map(|line| line.text).collect()
    }

    #[test]
    fn page_heads_form_feeds_and_carriage_returns_vanish() {
        let spool =
            "a\r\nb\r\n\r\nOUTPUT\r\n--------------------------------------\r\nc\r\n\x0cTitle\r\n\r\n";
        assert_eq!(texts(spool), ["a", "b", "c", "", "Title"]);
    }

    #[test]
    fn tabs_are_expanded() {
        assert_eq!(texts("ab\tc"), ["ab      c"]);
    }

    #[test]
    fn a_ruler_is_no_terminator_and_no_underline() {
        assert_eq!(ruler("--- -- ----").unwrap(), [0..3, 4..6, 7..11]);
        assert_eq!(ruler("~~~~ ----").unwrap(), [0..4, 5..9]);
        assert!(ruler("~~~~~~~~~").is_none() && ruler("").is_none() && ruler("a --- b").is_none());
        let rule = format!("{}{}", " ".repeat(26), "-".repeat(54));
        assert!(is_terminator(&rule) && ruler(&rule).is_none());
        // The rule above a histogram's columns looks alike, but is shorter.
        assert!(ruler(&format!("{}{}", " ".repeat(33), "-".repeat(47))).is_some());
    }
}
