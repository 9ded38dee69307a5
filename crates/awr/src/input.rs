//! The bytes of a file as the reports in it: unpacking, decoding, and the borders between reports.
//!
//! Everything streams: memory holds a window of a large file.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

use crate::kind::{Format, Kind, has_title, kind_of};

/// Bytes that decide how a file is packed and encoded.
const SNIFFED: usize = 4096;
/// A file may be packed twice by accident; more layers are an attack.
const MOST_LAYERS: usize = 2;
/// Bytes that are searched for a report's title; a spool may hold a page of talk before it.
const HEAD_BYTES: usize = 64 * 1024;
/// Longer lines come in pieces: HTML may be written without line ends.
const PIECE_BYTES: usize = 64 * 1024;

/// Unpacks gzip and bzip2 and decodes UTF-16; other bytes stay as they are.
pub(crate) fn plain<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    unpacked(Box::new(input), MOST_LAYERS)
}

fn unpacked<'a>(mut input: Box<dyn Read + 'a>, layers: usize) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::with_capacity(SNIFFED);
    input.by_ref().take(SNIFFED as u64).read_to_end(&mut head)?;
    let order = utf16_order(&head);
    let is_gzip = head.starts_with(&[0x1f, 0x8b]);
    let is_bzip2 = head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY");
    let whole = Cursor::new(head).chain(input);
    if layers > 0 && is_gzip {
        return unpacked(Box::new(MultiGzDecoder::new(whole)), layers - 1);
    }
    if layers > 0 && is_bzip2 {
        return unpacked(Box::new(MultiBzDecoder::new(whole)), layers - 1);
    }
    Ok(match order {
        Some(order) => Box::new(BufReader::new(utf8_of(whole, order))),
        None => Box::new(BufReader::with_capacity(64 * 1024, whole)),
    })
}

type ByteOrder = fn([u8; 2]) -> u16;

/// The byte order of UTF-16, from its mark or from the zeros between western letters; `None` for other encodings.
fn utf16_order(head: &[u8]) -> Option<ByteOrder> {
    match head {
        [0xff, 0xfe, ..] => return Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return Some(u16::from_be_bytes),
        _ => {}
    }
    let pairs = head.chunks_exact(2);
    let count = pairs.len();
    let mostly_zero = |at: usize| {
        let zeros = pairs.clone().filter(|pair| pair[at] == 0 && pair[1 - at] != 0).count();
        count >= 8 && zeros * 10 >= count * 9
    };
    match (mostly_zero(1), mostly_zero(0)) {
        (true, _) => Some(u16::from_le_bytes),
        (_, true) => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// Decodes UTF-16 to UTF-8.
fn utf8_of(mut input: impl Read, order: ByteOrder) -> impl Read {
    // The first half of a surrogate pair at the end of a block.
    let mut odd: Option<u16> = None;
    Blocks::new(move || {
        let mut bytes = Vec::with_capacity(16 * 1024);
        if input.by_ref().take(16 * 1024).read_to_end(&mut bytes)? == 0 && odd.is_none() {
            return Ok(None);
        }
        let is_end = bytes.is_empty();
        let units = bytes.chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        let mut units: Vec<u16> = odd.take().into_iter().chain(units).collect();
        if !is_end {
            odd = units.pop_if(|last| (0xd800..0xdc00).contains(last));
        }
        let symbols = char::decode_utf16(units).map(|symbol| symbol.unwrap_or('?'));
        let text: String = symbols.filter(|symbol| *symbol != '\u{feff}').collect();
        Ok(Some(text.into_bytes()))
    })
}

/// A reader of the blocks that a function gives, up to its first `None`.
pub(crate) struct Blocks<F> {
    next: F,
    ready: Cursor<Vec<u8>>,
}

impl<F: FnMut() -> io::Result<Option<Vec<u8>>>> Blocks<F> {
    pub(crate) fn new(next: F) -> Self {
        Self { next, ready: Cursor::default() }
    }
}

impl<F: FnMut() -> io::Result<Option<Vec<u8>>>> Read for Blocks<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready.position() == self.ready.get_ref().len() as u64 {
            let Some(block) = (self.next)()? else { return Ok(0) };
            self.ready = Cursor::new(block);
        }
        self.ready.read(into)
    }
}

/// A line, or a piece of a long one.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) ends_line: bool,
}

/// The pieces of a file as text: UTF-8, or else Latin-1, which every byte is.
pub(crate) struct Pieces<'a> {
    input: Box<dyn BufRead + 'a>,
    /// Pieces that were read ahead, in order.
    held: VecDeque<Piece>,
    line: usize,
    bytes: Vec<u8>,
    /// The error that ended the input.
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
                self.failure = Some(error.to_string());
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

    /// Looks ahead for the next report: its kind, and the line of its title. Nothing is consumed.
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

    /// The first line that is not blank and its start, for a message: without control characters, which a terminal would
    /// carry out.
    pub(crate) fn beginning(&self) -> (usize, String) {
        let first = self.held.iter().find(|piece| !piece.text.trim().is_empty());
        let (line, text) = first.map_or((1, ""), |piece| (piece.line, piece.text.trim()));
        (line, text.chars().filter(|symbol| !symbol.is_control()).take(60).collect())
    }
}

/// The pieces of one report, up to the beginning of the next one.
pub(crate) struct OneReport<'r, 'a> {
    pieces: &'r mut Pieces<'a>,
    format: Format,
    has_title: bool,
    is_over: bool,
    /// Text that a mail put before each line.
    indent: String,
    pub(crate) last_line: usize,
    /// The line where the next report begins.
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
            // A shorter line was blank.
            text.clear();
        }
    }

    pub(crate) fn skip(&mut self) {
        while self.next().is_some() {}
    }
}

/// True for the title of a report that is read, with nothing but tags and blanks before it.
fn begins_report(line: &str) -> bool {
    // Most lines are rejected here.
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
    before_is_blank && kind_of(&line[at..]).is_some_and(|(kind, _)| kind.is_read())
}

/// The first byte that is neither a blank nor a control character.
fn first_byte(line: &str) -> Option<u8> {
    line.bytes().find(|byte| *byte > b' ')
}

/// The byte behind the end of an HTML page within a line.
fn page_end(line: &str) -> Option<usize> {
    const ENDS: [&str; 2] = ["</html>", "</HTML>"];
    let has_tags = first_byte(line) == Some(b'<');
    has_tags.then(|| ENDS.iter().find_map(|end| Some(line.find(end)? + end.len())))?
}

fn begins_page(line: &str) -> bool {
    if first_byte(line) != Some(b'<') {
        return false;
    }
    let line = line.trim_start();
    let begins = |word: &str| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    begins("<html") || begins("<!doctype html")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        plain(bytes).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn packed_files_are_unpacked() {
        let text = "WORKLOAD REPOSITORY report for\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(&gzip), text);
        assert_eq!(read(&[gzip.clone(), gzip].concat()), text.repeat(2));
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bzip2.write_all(text.as_bytes()).unwrap();
        assert_eq!(read(&bzip2.finish().unwrap()), text);
    }

    #[test]
    fn utf16_needs_no_mark() {
        let text = "WORKLOAD REPOSITORY report für \u{1f600} all\n".repeat(2000);
        for order in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            assert_eq!(read(&utf16(&text, order)), text);
            assert_eq!(read(&utf16(&format!("\u{feff}{text}"), order)), text);
        }
        assert!(utf16_order(b"an ordinary text of bytes").is_none());
    }
}
