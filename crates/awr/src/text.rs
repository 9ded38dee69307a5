//! Text reports: lines to sections, sections to tables.
//!
//! A section begins where a line names the database (`Title   DB/Inst: X/y  Snaps: 1-2`) or is underlined with tildes.
//! A table begins with a ruler, a line of dashes: its runs are the columns, and the words above them the headings.

mod lines;
mod ruler;
mod section;

use crate::kind::Kind;
use crate::table::{Document, pairs};
use lines::Line;

pub(crate) use lines::decode;

/// Reads a text report. Sections for which `wanted` is false are named, but not read.
pub(crate) fn read(text: &str, kind: Kind, wanted: impl Fn(&str) -> bool) -> Document {
    let lines = lines::lines(text);
    let mut document = Document {
        last_line: lines.last().map_or(0, |line| line.number),
        is_complete: is_complete(&lines, kind),
        ..Document::default()
    };
    let starts = starts(&lines, &mut document);
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(lines.len(), |next| next.index);
        let is_header = start.title.is_empty();
        if !is_header {
            document.sections.push((start.title.clone(), lines[start.index].number));
        }
        if !is_header && !wanted(&start.title) {
            continue;
        }
        let body = &lines[start.index..end];
        document.tables.extend(section::tables(&start.title, body));
        for line in body {
            document.pairs.extend(line_pairs(&start.title, &line.text));
        }
    }
    document
}

/// Where a section begins.
struct Start {
    index: usize,
    title: String,
}

fn starts(lines: &[Line], document: &mut Document) -> Vec<Start> {
    let mut starts = vec![Start { index: 0, title: String::new() }];
    for (index, line) in lines.iter().enumerate() {
        if let Some((title, db_inst)) = headed(&line.text) {
            if document.db_inst.is_none() {
                document.db_inst = db_inst;
            }
            starts.push(Start { index, title });
        } else if let Some(title) = underlined(&line.text, lines.get(index + 1).map(|next| &*next.text)) {
            starts.push(Start { index, title });
        } else if let Some(title) = bare(&line.text) {
            starts.push(Start { index, title });
        }
    }
    starts
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

/// Whether a report has its end. Comparisons and global reports have none of their own in some releases: theirs is the
/// rule below the last section.
fn is_complete(lines: &[Line], kind: Kind) -> bool {
    let tail = &lines[lines.len().saturating_sub(200)..];
    if tail.iter().any(|line| line.text.trim_start().starts_with("End of Report")) {
        return true;
    }
    let may_lack = kind.is_comparison() || kind == Kind::AwrGlobal;
    let last_section = || lines.iter().rev().find_map(|line| headed(&line.text).map(|(title, _)| title));
    may_lack
        && lines.last().is_some_and(|line| ruler::is_terminator(&line.text))
        && last_section().is_some_and(|title| title.contains("Multi-Valued Parameters"))
}
