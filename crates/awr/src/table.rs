//! What text and HTML have in common: titled tables of cells below headings.

use crate::figure::Figure;

/// A report as tables, before anything is known of what they mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// The tables of sections that are read.
    pub(crate) tables: Vec<Table>,
    /// Labels with the values after them, of sections that have no headings.
    pub(crate) pairs: Vec<Pair>,
    /// Every section: title and line.
    pub(crate) sections: Vec<(String, usize)>,
    /// `DB name/instance` as page heads have it.
    pub(crate) db_inst: Option<(String, String)>,
    /// Tables that are too large to be read to their end.
    pub(crate) cut_tables: Vec<String>,
    /// Elapsed and DB time of each period in seconds, as the titles of comparisons have them with decimals.
    pub(crate) periods: Vec<[Figure; 2]>,
    /// Whether the report's own end was found.
    pub(crate) is_complete: bool,
    /// The last line that is not blank.
    pub(crate) last_line: usize,
}

/// A label with the values after it: `Buffer Cache: 292M 292M`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) section: String,
    pub(crate) label: String,
    pub(crate) values: Vec<String>,
}

impl Document {
    /// Where a database prints `1.234,5`, its reports do too: every number becomes `1,234.5`. The elapsed minutes tell, which
    /// always have two decimals.
    pub(crate) fn with_decimal_points(mut self) -> Self {
        let elapsed = self.pairs.iter().find(|pair| pair.label.eq_ignore_ascii_case("elapsed"));
        let minutes = elapsed.and_then(|pair| pair.values.first()?.split_whitespace().next());
        let has_comma = minutes.is_some_and(|minutes| {
            let cut = minutes.len().saturating_sub(3);
            minutes.get(cut..).is_some_and(|end| end.starts_with(','))
        });
        if has_comma {
            let cells =
                self.tables.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.cells);
            let values = self.pairs.iter_mut().flat_map(|pair| &mut pair.values);
            cells.chain(values).for_each(exchange_points);
        }
        self
    }

    /// Takes the times of both periods from a title: `(Elapsed time: 901.55 sec  DB time: 6404.55 sec)`.
    pub(crate) fn take_periods(&mut self, title: &str) {
        let seconds = |text: &str, label: &str| {
            let (figure, rest) = crate::figure::prefix(text.split_once(label)?.1)?;
            rest.trim_start().starts_with("sec").then_some(figure)
        };
        if self.periods.is_empty() {
            let times = title.split("Elapsed time:").skip(1).map(|text| {
                Some([seconds(&format!("Elapsed time:{text}"), "Elapsed time:")?, seconds(text, "DB time:")?])
            });
            self.periods =
                times.collect::<Option<Vec<_>>>().filter(|times| times.len() == 2).unwrap_or_default();
        }
    }
}

/// Exchanges points and commas of a number; what is none stays.
fn exchange_points(text: &mut String) {
    let number = text.trim_start_matches('-');
    let end = number
        .find(|symbol: char| !(symbol.is_ascii_digit() || matches!(symbol, '.' | ',')))
        .unwrap_or(number.len());
    let (whole, decimals) = number[..end].split_once(',').unwrap_or((&number[..end], "0"));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split('.');
    let first_is_short =
        groups.next().is_some_and(|first| is_digits(first) && (first.len() <= 3 || !whole.contains('.')));
    let are_threes = groups.all(|group| group.len() == 3 && is_digits(group));
    if first_is_short && are_threes && is_digits(decimals) && end > 0 {
        let exchange = |symbol: char| match symbol {
            '.' => ',',
            ',' => '.',
            other => other,
        };
        *text = text.chars().map(exchange).collect();
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// The section's title.
    pub(crate) title: String,
    /// The columns' headings.
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Row>,
}

/// A column's heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    /// The heading that it shares with its neighbours, lower case without blanks.
    pub(crate) group: String,
    /// Its own, lower case without blanks: releases break lines differently.
    pub(crate) name: String,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Its line, from 1.
    pub(crate) line: usize,
    pub(crate) cells: Vec<String>,
}

impl Head {
    /// From headings as printed.
    pub(crate) fn of(group: &str, name: &str) -> Self {
        Self { group: squeeze(group), name: squeeze(name) }
    }
}

/// Lower case, without blanks.
pub(crate) fn squeeze(text: &str) -> String {
    text.chars()
        .filter(|symbol| !symbol.is_whitespace() && *symbol != '\u{a0}')
        .flat_map(char::to_lowercase)
        .collect()
}

impl Table {
    /// The first column whose heading fits.
    pub(crate) fn column(&self, fits: impl Fn(&str) -> bool) -> Option<usize> {
        self.heads.iter().position(|head| fits(&head.name))
    }

    /// Whether there is a column of this heading.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.column(|head| head == name).is_some()
    }
}

impl Row {
    /// The text of a cell; blank and absent are the same.
    pub(crate) fn text(&self, column: Option<usize>) -> Option<&str> {
        let text = self.cells.get(column?)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// The first cell, without the number of a footnote (`[1]`).
    pub(crate) fn name(&self) -> &str {
        let name = self.cells.first().map_or("", |cell| cell.trim());
        let noted = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
        match noted {
            Some((name, note)) if !note.is_empty() && note.bytes().all(|byte| byte.is_ascii_digit()) => {
                name.trim_end()
            }
            _ => name,
        }
    }
}

/// Labels with their values from the pieces of a line: a label ends with a colon.
pub(crate) fn pairs(section: &str, pieces: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    let mut label = String::new();
    for piece in pieces {
        let piece = piece.as_ref().trim();
        let split = if piece.contains(':') { piece.rsplit_once(": ") } else { None };
        let (head, tail) = match split {
            Some((head, tail)) if is_value(tail) => (Some(head), Some(tail)),
            _ if is_value(piece) => (None, Some(piece)),
            _ => (piece.strip_suffix(':').or(Some(piece)), None),
        };
        if let Some(head) = head {
            if !label.is_empty() {
                label.push(' ');
            }
            label.push_str(head.trim());
            if piece.ends_with(':') || tail.is_some() {
                let label = std::mem::take(&mut label).split_whitespace().collect::<Vec<_>>().join(" ");
                found.push(Pair { section: section.to_owned(), label, values: Vec::new() });
            }
        }
        if let (Some(value), Some(last)) = (tail, found.last_mut()) {
            last.values.push(value.trim().to_owned());
        }
    }
    found
}

fn is_value(text: &str) -> bool {
    let text = text.trim();
    let begins_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    begins_number(text)
        || text.starts_with('#')
        || text == "N/A"
        || text.strip_prefix('-').is_some_and(begins_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<(String, Vec<String>)> {
        let pieces = line.trim().split("  ").filter(|piece| !piece.trim().is_empty());
        pairs("", pieces).into_iter().map(|pair| (pair.label, pair.values)).collect()
    }

    #[test]
    fn labels_may_hold_blanks_and_stand_close_to_their_value() {
        let own = |label: &str, values: &[&str]| {
            (label.to_owned(), values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            read("            Buffer  Hit   %:   99.68    In-memory Sort %:  100.00"),
            [own("Buffer Hit %", &["99.68"]), own("In-memory Sort %", &["100.00"])]
        );
        assert_eq!(
            read("   Shared Pool Size:    51,170M    51,626M      Log Buffer: 1,543,604K"),
            [own("Shared Pool Size", &["51,170M", "51,626M"]), own("Log Buffer", &["1,543,604K"])]
        );
        assert_eq!(read("  Buffer Cache:  "), [own("Buffer Cache", &[])]);
    }
}
