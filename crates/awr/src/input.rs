//! The text of a file as lines, and the borders between its reports. Memory holds a window of a large file.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use crate::kind::{Format, Kind, has_title, kind_of};

/// A spool may hold a page of other text before a report's title.
const HEAD_BYTES: usize = 64 * 1024;
/// Longer lines come in pieces: HTML may be written without line ends.
const PIECE_BYTES: usize = 64 * 1024;

/// An error may quote damaged bytes.
pub(crate) fn printable(error: &std::io::Error) -> String {
    error.to_string().chars().filter(|symbol| !symbol.is_control() && *symbol != '\u{fffd}').collect()
}

#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) ends_line: bool,
}

/// UTF-8, or else Latin-1, which every byte is.
pub(crate) struct Pieces<'a> {
    input: Box<dyn BufRead + 'a>,
    held: VecDeque<Piece>,
    line: usize,
    bytes: Vec<u8>,
    pub(crate) failure: Option<String>,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(input: Box<dyn BufRead + 'a>) -> Self {
        Self { input, held: VecDeque::new(), line: 1, bytes: Vec::new(), failure: None }
    }

    pub(crate) fn line(&self) -> usize {
        self.held.front().map_or(self.line, |piece| piece.line)
    }

    fn next(&mut self) -> Option<Piece> {
        if let Some(piece) = self.held.pop_front() {
            return Some(piece);
        }
        self.bytes.clear();
        match self.input.by_ref().take(PIECE_BYTES as u64).read_until(b'\n', &mut self.bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => {
                self.failure = Some(printable(&error));
                return None;
            }
        }
        let line = self.line;
        let ends_line = self.bytes.last() == Some(&b'\n');
        if ends_line {
            self.bytes.pop();
            self.line += 1;
        }
        let bytes = match line {
            1 => self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes),
            _ => &self.bytes,
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        };
        // A page without a line end at its end shares a line with the next page.
        if let Some(end) = page_end(&text)
            && !text[end..].trim().is_empty()
        {
            self.held.push_back(Piece { line, text: text[end..].to_owned(), ends_line });
            return Some(Piece { line, text: text[..end].to_owned(), ends_line: false });
        }
        Some(Piece { line, text, ends_line })
    }

    /// Consumes nothing. Returns the line of the title too.
    pub(crate) fn head(&mut self) -> Option<(Kind, Format, usize)> {
        let mut read: Vec<Piece> = Vec::new();
        let mut text = String::new();
        let mut found = None;
        while text.len() < HEAD_BYTES && found.is_none() {
            let Some(piece) = self.next() else { break };
            text.push_str(&piece.text);
            text.push('\n');
            if has_title(&piece.text) {
                found = kind_of(&text).map(|(kind, format)| (kind, format, piece.line));
            }
            read.push(piece);
        }
        read.into_iter().rev().for_each(|piece| self.held.push_front(piece));
        found
    }

    /// The first line that is not blank, without control characters, which a terminal would carry out.
    pub(crate) fn beginning(&self) -> (usize, String) {
        let first = self.held.iter().find(|piece| !piece.text.trim().is_empty());
        let (line, text) = first.map_or((1, ""), |piece| (piece.line, piece.text.trim()));
        let start = || text.chars().take(60);
        // Latin-1 gives bytes of packed data letters between U+0080 and U+00FF.
        let is_odd = |symbol: &char| symbol.is_control() || ('\u{80}'..'\u{100}').contains(symbol);
        if start().filter(is_odd).count() * 4 > start().count() {
            return (line, "binary data".to_owned());
        }
        (line, start().filter(|symbol| !symbol.is_control()).collect())
    }
}

pub(crate) struct OneReport<'r, 'a> {
    pieces: &'r mut Pieces<'a>,
    format: Format,
    has_title: bool,
    is_over: bool,
    indent: String,
    pub(crate) last_line: usize,
    pub(crate) next_at: Option<usize>,
}

impl<'r, 'a> OneReport<'r, 'a> {
    pub(crate) fn new(pieces: &'r mut Pieces<'a>, format: Format) -> Self {
        let indent = String::new();
        Self { pieces, format, has_title: false, is_over: false, indent, last_line: 0, next_at: None }
    }

    pub(crate) fn next(&mut self) -> Option<Piece> {
        if self.is_over {
            return None;
        }
        let mut piece = self.pieces.next()?;
        let is_html = self.format == Format::Html;
        let is_title = begins_report(&piece.text);
        let is_page = begins_page(&piece.text) && (is_html || !piece.text.starts_with(' '));
        if self.has_title && (is_title || is_page) {
            self.is_over = true;
            self.next_at = Some(piece.line);
            self.pieces.held.push_front(piece);
            return None;
        }
        // In a page without line ends the title is anywhere.
        self.has_title |= is_title || (!self.has_title && is_html && has_title(&piece.text));
        if !is_html {
            if is_title {
                let end = piece.text.find(|symbol: char| symbol.is_ascii_alphabetic()).unwrap_or(0);
                self.indent = piece.text[..end].replace('\x0c', "");
            }
            if !self.indent.is_empty() {
                self.remove_indent(&mut piece.text);
            }
        }
        if first_byte(&piece.text).is_some() {
            self.last_line = piece.line;
        }
        Some(piece)
    }

    fn remove_indent(&self, text: &mut String) {
        if text.starts_with(&self.indent) {
            text.drain(..self.indent.len());
        } else if self.indent.starts_with(text.trim_end()) {
            text.clear();
        }
    }

    pub(crate) fn skip(&mut self) {
        while self.next().is_some() {}
    }
}

/// Nothing but tags and blanks may precede the title.
fn begins_report(line: &str) -> bool {
    // Most lines are rejected here.
    if !matches!(first_byte(line), Some(b'W' | b'S' | b'<' | b'>' | b'|')) {
        return false;
    }
    let words = behind_tags(line);
    let is_title = words.starts_with("WORKLOAD REPOSITORY ") || words.starts_with("STATSPACK ");
    is_title && kind_of(words).is_some_and(|(kind, _)| kind.is_read())
}

fn behind_tags(line: &str) -> &str {
    let is_no_word =
        |symbol: char| matches!(symbol, '>' | '|') || symbol.is_whitespace() || symbol.is_control();
    let mut rest = line.trim_start_matches(is_no_word);
    while rest.starts_with('<') {
        let (_, after) = rest.split_once('>').unwrap_or_default();
        rest = after.trim_start_matches(is_no_word);
    }
    rest
}

fn first_byte(line: &str) -> Option<u8> {
    line.bytes().find(|byte| *byte > b' ')
}

fn page_end(line: &str) -> Option<usize> {
    const END: &str = "</html>";
    let is_end = |at: &usize| line.get(*at..at + END.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(END));
    let mut tags = line.match_indices('<').map(|(at, _)| at);
    let has_tags = first_byte(line) == Some(b'<');
    Some(has_tags.then(|| tags.find(is_end))?? + END.len())
}

fn begins_page(line: &str) -> bool {
    if first_byte(line) != Some(b'<') {
        return false;
    }
    let line = line.trim_start();
    let begins = |word: &str| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    begins("<html") || begins("<!doctype html")
}
