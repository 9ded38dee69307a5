//! Bytes to lines, without what SQL*Plus and file transfers put between them.

use std::collections::VecDeque;

use crate::split::Piece;

/// A line with its number in the file, from 1.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: String,
    /// Bytes before its first word.
    pub(super) indent: usize,
}

impl Line {
    fn new(number: usize, text: String) -> Self {
        let indent = text.len() - text.trim_start().len();
        Self { number, text, indent }
    }

    /// From the first word on.
    pub(super) fn words(&self) -> &str {
        &self.text[self.indent..]
    }
}

/// The lines of a text: without CR and form feeds, which may be glued to a title, with tabs expanded, and without
/// the page heads of SQL*Plus: a blank line, `OUTPUT`, and a rule below it. Blank lines at the end are left out.
pub(super) struct Lines<F> {
    pieces: F,
    ready: VecDeque<Line>,
    /// A blank line that may belong to a page head, or to the end of the file.
    blank: VecDeque<Line>,
    after_page_head: bool,
    /// The last line that is not blank.
    pub(super) last_line: usize,
}

impl<F: FnMut() -> Option<Piece>> Lines<F> {
    pub(super) fn new(pieces: F) -> Self {
        Self { pieces, ready: VecDeque::new(), blank: VecDeque::new(), after_page_head: false, last_line: 0 }
    }

    pub(super) fn next(&mut self) -> Option<Line> {
        while self.ready.is_empty() {
            let piece = (self.pieces)()?;
            if piece.text.contains('\x0c') {
                piece.text.split('\x0c').for_each(|part| self.take(piece.line, cleaned(part.to_owned())));
            } else {
                self.take(piece.line, cleaned(piece.text));
            }
        }
        self.ready.pop_front()
    }

    fn take(&mut self, number: usize, text: String) {
        let line = Line::new(number, text);
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
    // Nearly all lines end in one of these bytes or none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let mut pieces = text.split('\n').map(Piece::of);
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
    fn tabs_are_the_blanks_that_they_stand_for() {
        assert_eq!(texts("ab\tc"), ["ab      c"]);
    }
}
