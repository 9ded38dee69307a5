//! A file as the reports that it holds, each read by itself: an archive or a mail may hold several.

use std::io::{BufRead, Read};

use crate::kind::{self, Format, Kind};

/// How much of a file is searched for the line that says what it is; a spool may hold a page of talk before it.
const HEAD_BYTES: usize = 64 * 1024;
/// A line that is longer comes in pieces: HTML may be written without line ends.
const PIECE_BYTES: usize = 64 * 1024;

/// A line, or a piece of a long one.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Its line in the file, from 1.
    pub(crate) line: usize,
    /// Without the line's end.
    pub(crate) text: String,
    /// Whether the line ends with it.
    ends: bool,
}

impl Piece {
    /// A whole line.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        Self { line: 1, text: text.to_owned(), ends: true }
    }
}

/// The pieces of a file, as text: UTF-8, or else Latin-1, which every byte is.
pub(crate) struct Pieces<'a> {
    input: Box<dyn BufRead + 'a>,
    /// What was read ahead, in order.
    held: std::collections::VecDeque<Piece>,
    line: usize,
    bytes: Vec<u8>,
    /// Why no more could be read.
    pub(crate) failure: Option<String>,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(input: Box<dyn BufRead + 'a>) -> Self {
        Self { input, held: Default::default(), line: 1, bytes: Vec::new(), failure: None }
    }

    /// The line that comes next.
    pub(crate) fn line(&self) -> usize {
        self.held.front().map_or(self.line, |piece| piece.line)
    }

    pub(crate) fn next(&mut self) -> Option<Piece> {
        if let Some(piece) = self.held.pop_front() {
            return Some(piece);
        }
        self.bytes.clear();
        let limit = PIECE_BYTES as u64;
        match self.input.by_ref().take(limit).read_until(b'\n', &mut self.bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => {
                self.failure = Some(error.to_string());
                return None;
            }
        }
        let line = self.line;
        let ends = self.bytes.last() == Some(&b'\n');
        if ends {
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
        // A page that has no line end of its own stands before the next one in a line.
        if let Some(end) = page_end(&text)
            && !text[end..].trim().is_empty()
        {
            self.held.push_back(Piece { line, text: text[end..].to_owned(), ends });
            return Some(Piece { line, text: text[..end].to_owned(), ends: false });
        }
        Some(Piece { line, text, ends })
    }

    /// What the next report is, and the line where it says so; nothing is consumed but what stands before it. `None` if
    /// there is no report within the first pieces.
    pub(crate) fn head(&mut self) -> Option<(Kind, Format, usize)> {
        let mut read: Vec<Piece> = Vec::new();
        let mut text = String::new();
        let mut found = None;
        while text.len() < HEAD_BYTES && found.is_none() {
            let Some(piece) = self.next() else { break };
            text.push_str(&piece.text);
            text.push('\n');
            // The mark and what follows it stand in a line.
            if kind::has_mark(&piece.text) {
                found = kind::kind_of(&text).map(|(kind, format, _)| (kind, format, piece.line));
            }
            read.push(piece);
        }
        for piece in read.into_iter().rev() {
            self.held.push_front(piece);
        }
        found
    }

    /// The beginning of what comes next, for a message: no control characters, which a terminal would carry out.
    pub(crate) fn beginning(&self) -> (usize, String) {
        let first = self.held.iter().find(|piece| !piece.text.trim().is_empty());
        let (line, text) = first.map_or((1, ""), |piece| (piece.line, piece.text.trim()));
        (line, text.chars().filter(|symbol| !symbol.is_control()).take(60).collect())
    }
}

/// The pieces of one report: up to where the next one begins.
pub(crate) struct OneReport<'r, 'a> {
    pieces: &'r mut Pieces<'a>,
    format: Format,
    has_title: bool,
    is_over: bool,
    /// What a mail put before each line of a text.
    indent: String,
    /// Lines that were given out.
    pub(crate) last_line: usize,
    /// Where the next report begins.
    pub(crate) next_at: Option<usize>,
}

impl<'r, 'a> OneReport<'r, 'a> {
    pub(crate) fn new(pieces: &'r mut Pieces<'a>, format: Format) -> Self {
        Self {
            pieces,
            format,
            has_title: false,
            is_over: false,
            indent: String::new(),
            last_line: 0,
            next_at: None,
        }
    }

    pub(crate) fn next(&mut self) -> Option<Piece> {
        if self.is_over {
            return None;
        }
        let mut piece = self.pieces.next()?;
        let first = first_byte(&piece.text);
        let is_title = begins_report(&piece.text);
        let is_page = first == Some(b'<')
            && begins_page(&piece.text)
            && (self.format == Format::Html || !piece.text.starts_with(' '));
        if self.has_title && (is_title || is_page) {
            self.is_over = true;
            self.next_at = Some(piece.line);
            self.pieces.held.push_front(piece);
            return None;
        }
        // A page may be written without line ends.
        self.has_title |=
            is_title || (!self.has_title && self.format == Format::Html && kind::has_mark(&piece.text));
        if self.format == Format::Text {
            if is_title {
                let end = piece.text.find(|symbol: char| symbol.is_ascii_alphabetic()).unwrap_or(0);
                self.indent = piece.text[..end].replace('\x0c', "");
            }
            // A line that is shorter was blank.
            if !self.indent.is_empty() {
                let rest = piece.text.strip_prefix(&self.indent);
                let is_blank = self.indent.starts_with(piece.text.trim_end());
                piece.text =
                    rest.map(str::to_owned).unwrap_or(if is_blank { String::new() } else { piece.text });
            }
        }
        if first_byte(&piece.text).is_some() {
            self.last_line = piece.line;
        }
        Some(piece)
    }

    /// The rest is of no use.
    pub(crate) fn skip(&mut self) {
        while self.next().is_some() {}
    }
}

/// The same as bytes, for a reader of tokens; a line at a time, so that tokens can be told from lines.
pub(crate) struct Bytes<'o, 'r, 'a> {
    report: &'o mut OneReport<'r, 'a>,
    line: &'o std::cell::Cell<usize>,
    /// Of the last pieces, where marks of the end are looked for.
    tail: &'o std::cell::RefCell<String>,
    ready: Vec<u8>,
    at: usize,
}

/// So much of the end is searched for what ends a page.
const TAIL_BYTES: usize = 8 * 1024;

impl<'o, 'r, 'a> Bytes<'o, 'r, 'a> {
    pub(crate) fn new(
        report: &'o mut OneReport<'r, 'a>,
        line: &'o std::cell::Cell<usize>,
        tail: &'o std::cell::RefCell<String>,
    ) -> Self {
        Self { report, line, tail, ready: Vec::new(), at: 0 }
    }
}

impl Read for Bytes<'_, '_, '_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.ready.len() {
            let Some(piece) = self.report.next() else { return Ok(0) };
            self.line.set(piece.line);
            let mut tail = self.tail.borrow_mut();
            if tail.len() > 2 * TAIL_BYTES {
                let keep = kind::floor_boundary(&tail, tail.len() - TAIL_BYTES);
                tail.drain(..keep);
            }
            tail.push_str(&piece.text);
            self.ready = piece.text.into_bytes();
            if piece.ends {
                self.ready.push(b'\n');
            }
            self.at = 0;
            if self.ready.is_empty() {
                // An empty piece is not the end.
                return self.read(into);
            }
        }
        let count = into.len().min(self.ready.len() - self.at);
        into[..count].copy_from_slice(&self.ready[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Whether a line is the title of a report that is read: what it is called, with nothing but tags and blanks before it.
fn begins_report(line: &str) -> bool {
    // Most lines are none, and there are many.
    if !matches!(first_byte(line), Some(b'W' | b'S' | b'<' | b'>' | b'|')) {
        return false;
    }
    let Some(at) = line.find("WORKLOAD REPOSITORY ").or_else(|| line.find("STATSPACK ")) else {
        return false;
    };
    let mut is_tag = false;
    let before_is_blank = line[..at].chars().all(|symbol| {
        is_tag = (is_tag && symbol != '>') || symbol == '<';
        is_tag || matches!(symbol, '>' | '|') || symbol.is_whitespace() || symbol.is_control()
    });
    before_is_blank && kind::kind_of(&line[at..]).is_some_and(|(kind, ..)| kind.is_read())
}

/// The first byte that is neither a blank nor a control character.
fn first_byte(line: &str) -> Option<u8> {
    line.bytes().find(|byte| *byte > b' ')
}

/// Where a page ends within a line.
fn page_end(line: &str) -> Option<usize> {
    const ENDS: [&str; 2] = ["</html>", "</HTML>"];
    let has_tags = first_byte(line) == Some(b'<');
    has_tags.then(|| ENDS.iter().find_map(|end| Some(line.find(end)? + end.len())))?
}

/// Whether an HTML page begins.
fn begins_page(line: &str) -> bool {
    let line = line.trim_start();
    if !line.starts_with('<') {
        return false;
    }
    let begins = |word: &str| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    begins("<html") || begins("<!doctype html")
}
