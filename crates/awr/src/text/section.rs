//! The tables of a section.

use std::borrow::Cow;
use std::ops::Range;

use super::lines::Line;
use super::ruler::{groups, is_terminator, ruler};
use crate::table::{Head, Row, Table};

/// No heading is higher.
const HEADING_LINES: usize = 6;

/// The tables of a section, in their order. A table that page heads cut in pieces comes in pieces, each with its
/// headings.
pub(super) fn tables(title: &str, lines: &[Line]) -> Vec<Table> {
    if is_two_line(title) {
        return two_line_tables(title, lines);
    }
    let is_sql = title.starts_with("SQL ordered by") || title.starts_with("Top SQL with");
    let mut tables: Vec<Open> = Vec::new();
    let mut is_open = false;
    for (index, line) in lines.iter().enumerate() {
        let text = line.text.as_str();
        if is_terminator(text) {
            is_open = false;
        } else if let Some(runs) = ruler(text) {
            if is_group_ruler(&runs, &lines[index + 1..]) {
                continue;
            }
            let first = heading_start(lines, index);
            if let Some(open) = tables.last_mut() {
                open.table.rows.retain(|row| row.line < lines[first].number);
            }
            tables.push(Open::of(title, &runs, &lines[first..index]));
            is_open = true;
        } else if is_open
            && !line.words().is_empty()
            && !text.starts_with("->")
            && let Some(open) = tables.last_mut()
        {
            // The text of a statement knows no columns.
            let has_columns = !is_sql || text.split(' ').any(crate::extract::is_id);
            let cells = if has_columns { cells(text, &open.columns) } else { vec![line.text.clone()] };
            open.table.rows.push(Row { line: line.number, cells });
        }
    }
    tables.into_iter().map(|open| open.table).filter(|table| !table.rows.is_empty()).collect()
}

/// A table with the columns that its rows are cut by.
struct Open {
    table: Table,
    columns: Vec<Range<usize>>,
}

impl Open {
    fn of(title: &str, runs: &[Range<usize>], heading: &[Line]) -> Self {
        let mut columns = runs.to_vec();
        // Labels that stand before the first run.
        if columns.first().is_some_and(|first| first.start >= 4) {
            columns.insert(0, 0..columns[0].start - 1);
        }
        let heads = heads(title, &columns, heading);
        Self { table: Table { title: title.to_owned(), heads, rows: Vec::new() }, columns }
    }
}

/// Whether a ruler stands over the headings of another one.
fn is_group_ruler(runs: &[Range<usize>], below: &[Line]) -> bool {
    let near = below.iter().take(HEADING_LINES).take_while(|line| !line.text.is_empty());
    let next = near.map(|line| ruler(&line.text)).find(Option::is_some).flatten();
    next.is_some_and(|next| groups(runs, &next))
}

/// Where the headings above a ruler begin: after a blank line, a note, or the end of another table.
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
    for (index, line) in heading.iter().enumerate() {
        match group_ruler {
            Some(at) if index < at => {
                let over = ruler(&heading[at].text).unwrap_or_default();
                for (word, span) in words(&line.text) {
                    let Some(run) = over.iter().max_by_key(|run| overlap(run, &span)) else { continue };
                    for (column, range) in columns.iter().enumerate() {
                        if overlap(run, range) > 0 && overlap(run, &span) > 0 {
                            shared[column].push_str(word);
                        }
                    }
                }
            }
            Some(at) if index == at => {}
            _ => own_heads(columns, untitled(title, &line.text).as_ref(), &mut names, &mut shared),
        }
    }
    names.iter().zip(&shared).map(|(name, group)| Head::of(group, name)).collect()
}

/// Headings may begin in the line of the section's title, which is none of them.
fn untitled<'a>(title: &str, line: &'a str) -> Cow<'a, str> {
    let indent = line.len() - line.trim_start().len();
    // A title that is also a heading, such as Statspack's `Host Name`, is not followed by blanks alone.
    match line[indent..].strip_prefix(title) {
        Some(rest) if title.len() > 10 => Cow::Owned(format!("{}{rest}", " ".repeat(indent + title.len()))),
        _ => Cow::Borrowed(line),
    }
}

/// The words of a line of headings go to the columns below them. `---- Read ----` is shared by the columns below the
/// dashes.
fn own_heads(columns: &[Range<usize>], line: &str, names: &mut [String], shared: &mut [String]) {
    let mut dashes: Option<Range<usize>> = None;
    let mut caption = String::new();
    for (word, span) in words(line) {
        let is_dashes = word.len() > 1 && word.bytes().all(|byte| byte == b'-');
        match (&mut dashes, is_dashes) {
            (None, true) => dashes = Some(span),
            (Some(open), true) => {
                for (column, range) in columns.iter().enumerate() {
                    if overlap(&(open.start..span.end), range) > 0 {
                        shared[column].push_str(&caption);
                    }
                }
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

/// The cells of a line: each from its column's start to that of the next. The last one takes the rest. Where Oracle
/// prints a column beside its ruler, the word on the border goes to the column that it overlaps more.
fn cells(line: &str, columns: &[Range<usize>]) -> Vec<String> {
    if !line.is_ascii() {
        // Columns are characters: a name with an umlaut must not shift those behind it.
        let plain: String = line.chars().map(|symbol| if symbol.is_ascii() { symbol } else { '?' }).collect();
        let bytes: Vec<usize> = line.char_indices().map(|(byte, _)| byte).chain([line.len()]).collect();
        let cut = |at: usize| bytes.get(at).copied().unwrap_or(line.len());
        return bounds(&plain, columns)
            .windows(2)
            .map(|pair| line[cut(pair[0])..cut(pair[1])].trim().to_owned())
            .collect();
    }
    bounds(line, columns).windows(2).map(|pair| line[pair[0]..pair[1]].trim().to_owned()).collect()
}

/// Where the columns of an ASCII line begin, and its end; they never go back.
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

/// Sections whose rows have a line of names and a line of numbers.
fn is_two_line(title: &str) -> bool {
    title.starts_with("Tablespace IO") || title.starts_with("File IO")
}

fn two_line_tables(title: &str, lines: &[Line]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut numbers: Vec<Range<usize>> = Vec::new();
    let mut pending: Vec<String> = Vec::new();
    let mut heading: Vec<Head> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = line.text.as_str();
        if is_terminator(text) || text.trim().is_empty() {
            continue;
        }
        if let Some(runs) = ruler(text) {
            let above = &lines[heading_start(lines, index).max(last_ruler(lines, index))..index];
            if runs.len() <= 2 {
                heading = heads(title, &runs, above);
                names = runs;
            } else {
                let mut all = heading.clone();
                all.extend(heads(title, &runs, above));
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
                table.rows.push(Row { line: line.number, cells: row });
            }
            _ => pending = cells(text, &names),
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The line after the last ruler before this one: headings do not reach over it.
fn last_ruler(lines: &[Line], before: usize) -> usize {
    lines[..before].iter().rposition(|line| ruler(&line.text).is_some()).map_or(0, |at| at + 1)
}

fn is_number(word: &str) -> bool {
    word == "N/A" || word.bytes().all(|byte| byte == b'#') || crate::figure::number(word).is_some()
}
