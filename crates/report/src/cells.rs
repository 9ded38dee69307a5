//! Cells of tables that spreadsheets open.

use std::borrow::Cow;

/// A cell of comma-separated values (RFC 4180), quoted where it must be.
#[must_use]
pub fn csv_cell(text: &str) -> String {
    let text = no_formula(text);
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// A cell that a pipe ends: a pipe within it becomes a slash, because the form knows no quotes.
#[must_use]
pub fn pipe_cell(text: &str) -> String {
    no_formula(text).replace(['|', '\n', '\r'], "/")
}

/// A name that somebody else chose, an event's or a file's, is no formula that a spreadsheet may carry out. Numbers stay as
/// they are.
fn no_formula(text: &str) -> Cow<'_, str> {
    let begins_one = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins_one && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_formulas() {
        assert_eq!(csv_cell("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
        assert_eq!(pipe_cell("@SUM(a|b)"), "'@SUM(a/b)");
        for text in ["-12.5", "+3", "-1e-3", "db file sequential read", "a-b", "", "1"] {
            assert_eq!((csv_cell(text), pipe_cell(text)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
