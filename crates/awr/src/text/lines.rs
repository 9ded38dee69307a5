//! Bytes to lines, without what SQL*Plus and file transfers put between them.

use std::borrow::Cow;

/// A line with its number in the file, from 1. Blank lines at the end of the file are left out.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: Cow<'a, str>,
}

/// Bytes as text: UTF-8, UTF-16 with a byte order mark, or else Latin-1, which every byte is.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |order: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        Cow::Owned(char::decode_utf16(units).map(|symbol| symbol.unwrap_or('?')).collect())
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
            }
        }
    }
}

/// The lines of a text: without CR and form feeds, which may be glued to a title, with tabs expanded, and without
/// the page heads of SQL*Plus: a blank line, `OUTPUT`, and a rule below it.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut after_page_head = false;
    for (index, raw) in text.split('\n').enumerate() {
        for piece in raw.split('\x0c') {
            let line = cleaned(piece);
            if line.trim() == "OUTPUT" {
                if lines.last().is_some_and(|last| last.text.is_empty()) {
                    lines.pop();
                }
                after_page_head = true;
                continue;
            }
            let is_rule = line.len() >= 20 && line.bytes().all(|byte| byte == b'-');
            if !(after_page_head && is_rule) {
                lines.push(Line { number: index + 1, text: line });
            }
            after_page_head = false;
        }
    }
    while lines.last().is_some_and(|last| last.text.is_empty()) {
        lines.pop();
    }
    lines
}

fn cleaned(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches([' ', '\r', '\t', '\u{a0}']);
    if !line.contains('\t') {
        return Cow::Borrowed(line);
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
    Cow::Owned(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.text.into_owned()).collect()
    }

    #[test]
    fn page_heads_form_feeds_and_carriage_returns_vanish() {
        let spool =
            "a\r\nb\r\n\r\nOUTPUT\r\n--------------------------------------\r\nc\r\n\x0cTitle\r\n\r\n";
        assert_eq!(texts(spool), ["a", "b", "c", "", "Title"]);
    }

    #[test]
    fn tabs_are_the_blanks_that_they_stand_for() {
        assert_eq!(texts("ab\tc"), ["ab      c"]);
    }

    #[test]
    fn all_encodings_are_text() {
        assert_eq!(decode(b"\xff\xfea\0b\0"), "ab");
        assert_eq!(decode(b"\xef\xbb\xbfab"), "ab");
        assert_eq!(decode(b"M\xe4rz"), "März");
    }
}
