//! Text reports: lines to sections, sections to tables.
//!
//! A section begins where a line names the database (`Title   DB/Inst: X/y  Snaps: 1-2`) or is underlined with tildes.
//! A table begins with a ruler, a line of dashes: its runs are the columns, and the words above them the headings.

mod lines;
mod ruler;
mod section;

use crate::kind::Kind;
use crate::split::Piece;
use crate::table::{Document, pairs};
use lines::{Line, Lines};

/// Reads a text report. Sections for which `wanted` is false are named, but not kept: of a report only the section that is
/// read is in memory.
pub(crate) fn read(
    pieces: impl FnMut() -> Option<Piece>,
    kind: Kind,
    wanted: impl Fn(&str) -> bool,
) -> Document {
    let mut lines = Lines::new(pieces);
    let mut reader = Reader { is_wanted: true, ..Reader::default() };
    let mut end = End::default();
    let mut line = lines.next();
    while let Some(current) = line {
        let next = lines.next();
        end.take(&current, kind);
        reader.take(current, next.as_ref(), &wanted);
        line = next;
    }
    reader.end_section();
    reader.document.last_line = lines.last_line;
    reader.document.is_complete = end.is_complete();
    reader.document
}

/// The section that is being read, and what was read before it.
#[derive(Default)]
struct Reader {
    document: Document,
    title: String,
    is_wanted: bool,
    body: Vec<Line>,
}

impl Reader {
    fn take(&mut self, line: Line, below: Option<&Line>, wanted: &impl Fn(&str) -> bool) {
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
            self.document.sections.push((title.clone(), line.number));
            self.is_wanted = wanted(&title);
            self.title = title;
        }
        if self.is_wanted {
            self.body.push(line);
        }
    }

    fn end_section(&mut self) {
        let body = std::mem::take(&mut self.body);
        if !self.is_wanted || body.is_empty() {
            return;
        }
        self.document.tables.extend(section::tables(&self.title, &body));
        // Statements are full of colons, and have no labels.
        if self.title.starts_with("SQL ordered by") || self.title.starts_with("Top SQL") {
            return;
        }
        for line in &body {
            self.document.pairs.extend(line_pairs(&self.title, &line.text));
        }
    }
}

/// Whether a report has its end. Comparisons and global reports have none of their own in some releases: theirs is the
/// rule below the last section.
#[derive(Default)]
struct End {
    /// Lines since it was said.
    said: Option<usize>,
    /// Whether the section is one that is the last where there is no other end.
    is_last_section: bool,
}

/// What may follow the end: a prompt, a signature.
const LINES_AFTER_END: usize = 200;

impl End {
    fn take(&mut self, line: &Line, kind: Kind) {
        let may_lack = may_lack_end(kind);
        if may_lack && let Some((title, _)) = headed(&line.text) {
            self.is_last_section = title.contains("Multi-Valued Parameters");
        }
        let is_rule = || may_lack && self.is_last_section && ruler::is_terminator(&line.text);
        self.said = match self.said {
            _ if line.words().starts_with("End of Report") || is_rule() => Some(0),
            Some(lines) if lines < LINES_AFTER_END => Some(lines + 1),
            _ => None,
        };
    }

    fn is_complete(&self) -> bool {
        self.said.is_some()
    }
}

fn may_lack_end(kind: Kind) -> bool {
    kind.is_comparison() || kind == Kind::AwrGlobal
}

/// `Title   DB/Inst: ORCL/orcl1  Snaps: 2-3`, with the database and the instance.
fn headed(line: &str) -> Option<(String, Option<(String, String)>)> {
    let after = |mark: &str| {
        let mut colons = line.match_indices(':').map(|(at, _)| at);
        let at = colons.find(|at| line[..*at].ends_with(mark))?;
        Some((&line[..at - mark.len()], &line[at + 1..]))
    };
    // Most lines have no colon, and there are many.
    let (title, rest) = line.contains(':').then(|| after("DB/Inst").or_else(|| after(" for DB")))??;
    let title = title.trim();
    let title = title.strip_suffix(" First").unwrap_or(title).trim();
    if title.is_empty() || line.starts_with("     ") || line.starts_with("->") {
        return None;
    }
    let db_inst = rest.split_whitespace().next().and_then(|word| word.split_once('/'));
    Some((title.to_owned(), db_inst.map(|(db, instance)| (db.to_owned(), instance.to_owned()))))
}

/// A line above one that begins with tildes; what stands further to the right are headings.
fn underlined(line: &Line, below: Option<&Line>) -> Option<String> {
    let below = below?;
    if below.indent > 3 || !below.words().starts_with("~~~~") {
        return None;
    }
    let text = line.words();
    if line.indent > 3 || !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let title = text.split("  ").next().unwrap_or(text).trim();
    Some(title.to_owned())
}

/// Titles that stand alone.
fn bare(line: &Line) -> Option<String> {
    const TITLES: [&str; 2] = ["Shared Pool Statistics", "Top ADDM Findings"];
    let is_near = line.indent < 4;
    TITLES.into_iter().find(|title| is_near && line.words().starts_with(title)).map(str::to_owned)
}

fn line_pairs(section: &str, line: &str) -> Vec<crate::table::Pair> {
    if !line.contains(':') || line.starts_with("->") {
        return Vec::new();
    }
    pairs(section, pieces(line).filter(|piece| !piece.trim().is_empty()))
}

/// What stands between two blanks or more.
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
