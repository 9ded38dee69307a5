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
        end.take(&current.text, kind);
        reader.take(current, next.as_ref().map(|next| next.text.as_str()), &wanted);
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
    fn take(&mut self, line: Line, below: Option<&str>, wanted: &impl Fn(&str) -> bool) {
        let title = match headed(&line.text) {
            Some((title, db_inst)) => {
                self.document.take_periods(&line.text);
                if self.document.db_inst.is_none() {
                    self.document.db_inst = db_inst;
                }
                Some(title)
            }
            None => underlined(&line.text, below).or_else(|| bare(&line.text)),
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
    fn take(&mut self, text: &str, kind: Kind) {
        let may_lack = may_lack_end(kind);
        if may_lack && let Some((title, _)) = headed(text) {
            self.is_last_section = title.contains("Multi-Valued Parameters");
        }
        let is_rule = || may_lack && self.is_last_section && ruler::is_terminator(text);
        self.said = match self.said {
            _ if text.trim_start().starts_with("End of Report") || is_rule() => Some(0),
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
    let (title, rest) = line.split_once("DB/Inst:").or_else(|| line.split_once(" for DB:"))?;
    let title = title.trim();
    let title = title.strip_suffix(" First").unwrap_or(title).trim();
    if title.is_empty() || line.starts_with("     ") || line.starts_with("->") {
        return None;
    }
    let db_inst = rest.split_whitespace().next().and_then(|word| word.split_once('/'));
    Some((title.to_owned(), db_inst.map(|(db, instance)| (db.to_owned(), instance.to_owned()))))
}

/// A line above one that begins with tildes; what stands further to the right are headings.
fn underlined(line: &str, next: Option<&str>) -> Option<String> {
    let below = next?;
    let indent = below.len() - below.trim_start().len();
    if indent > 3 || !below.trim_start().starts_with("~~~~") {
        return None;
    }
    let text = line.trim_start();
    if line.len() - text.len() > 3 || !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let title = text.split("  ").next().unwrap_or(text).trim();
    Some(title.to_owned())
}

/// Titles that stand alone.
fn bare(line: &str) -> Option<String> {
    const TITLES: [&str; 2] = ["Shared Pool Statistics", "Top ADDM Findings"];
    let text = line.trim_start();
    let is_near = line.len() - text.len() < 4;
    TITLES.into_iter().find(|title| is_near && text.starts_with(title)).map(str::to_owned)
}

fn line_pairs(section: &str, line: &str) -> Vec<crate::table::Pair> {
    if !line.contains(':') || line.starts_with("->") {
        return Vec::new();
    }
    pairs(section, line.split("  ").filter(|piece| !piece.trim().is_empty()))
}
