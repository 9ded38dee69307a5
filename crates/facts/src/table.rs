//! Tables of typed cells, and their forms: text, CSV, pipes, JSON, Markdown.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use itertools::Itertools;
use serde_json::{Map, Value as Json, json};
use slob_awr::info::Value;
use unicode_width::UnicodeWidthStr;

use crate::format::{ABSENT, Format, count, plain_number};

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    Count(u64),
    Number(f64, Format),
    /// The exact number is unknown.
    Bound(f64, Format),
    Absent,
}

impl Cell {
    pub fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => count(*n),
            Self::Number(value, format) => format.show(*value),
            Self::Bound(value, format) => format!("<= {}", format.show(*value)),
            Self::Absent => ABSENT.to_owned(),
        }
    }

    /// Machines get numbers without separators or exponent, with six digits at least.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => n.to_string(),
            Self::Number(value, _) | Self::Bound(value, _) => plain_number(*value),
            Self::Absent => String::new(),
        }
    }

    pub fn json(&self) -> Json {
        match self {
            Self::Text(text) => json!(text),
            Self::Count(n) => json!(n),
            Self::Number(value, _) | Self::Bound(value, _) => json!(value),
            Self::Absent => Json::Null,
        }
    }
}

impl Format {
    pub fn cell(self, value: impl Into<Option<f64>>) -> Cell {
        value.into().map_or(Cell::Absent, |value| Cell::Number(value, self))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Text(text) => Self::Text(text),
            Value::Number(number) => Self::Number(number, Format::Significant),
        }
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Self::Count(n)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

#[derive(Clone, Debug)]
pub struct Column {
    name: Option<&'static str>,
    pub head: String,
    pub is_of_numbers: bool,
    most: Option<usize>,
}

impl Column {
    pub fn left(head: impl AsRef<str>) -> Self {
        Self { name: None, head: head.as_ref().to_owned(), is_of_numbers: false, most: None }
    }

    pub fn right(head: impl AsRef<str>) -> Self {
        Self { is_of_numbers: true, ..Self::left(head) }
    }

    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    pub fn at_most(self, most: usize) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Numbers are never cut.
    fn widest(&self, most: usize) -> usize {
        self.most.unwrap_or(if self.is_of_numbers { usize::MAX } else { most })
    }

    fn name(&self) -> &str {
        self.name.unwrap_or(&self.head)
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// Number of first columns that name a row.
    names: usize,
}

const WIDEST_ON_PAGE: usize = 60;
/// Widest name of a row in a narrow terminal.
const WIDEST_NAME: usize = 24;
/// Words are not wrapped to less: a table gets parts below each other then.
const LEAST_WORDS: usize = 12;
const GAP: &str = "  ";

/// A column, and its cell of an item.
pub type ColumnOf<'a, T> = (Column, &'a dyn Fn(&T) -> Cell);

impl Table {
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), names: 1 }
    }

    pub fn named_by(self, names: usize) -> Self {
        Self { names, ..self }
    }

    pub fn of_numbers(first: Column, heads: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self::new(std::iter::once(first).chain(heads.into_iter().map(Column::right)))
    }

    /// A row for each item, by a function for each column.
    pub fn of<'a, T: 'a, const N: usize>(
        items: impl IntoIterator<Item = &'a T>,
        columns: [ColumnOf<'_, T>; N],
    ) -> Self {
        let (columns, cells): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let rows = items.into_iter().map(|item| cells.iter().map(|cell| cell(item)).collect()).collect();
        Self { rows, ..Self::new(columns) }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn with_rows<C: Into<Cell>>(
        mut self,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>,
    ) -> Self {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    /// Keeps the first columns and a range of named ones, without those empty in every row.
    pub fn part(&self, first: usize, names: RangeInclusive<&str>) -> Self {
        let place = |name: &str| self.columns.iter().position(|column| column.name() == name).unwrap_or(0);
        let is_known = |at: &usize| self.rows.iter().any(|row| row[*at] != Cell::Absent);
        let places = place(names.start())..=place(names.end());
        let places: Vec<usize> = (0..first).chain(places.filter(is_known)).collect();
        let cells = |row: &Vec<Cell>| places.iter().map(|at| row[*at].clone()).collect_vec();
        Self::new(places.iter().map(|at| self.columns[*at].clone())).with_rows(self.rows.iter().map(cells))
    }

    /// The table for a terminal: no rule below the heads, each line indented by a blank. To fit into `width`, if one is given,
    /// words are wrapped, or columns follow below.
    pub fn terminal(&self, width: Option<usize>) -> String {
        let lines = match width.map(|width| width.saturating_sub(1)) {
            None => self.lines(usize::MAX, false),
            Some(width) => match self.fitting(width) {
                Some(most) => self.lines(most, false),
                None => self.page_lines(width),
            },
        };
        lines.into_iter().map(|line| format!(" {line}").trim_end().to_owned() + "\n").collect()
    }

    /// The table without as many of the columns `spared`, in their order, as `width` asks for, and their heads.
    pub fn narrowed(&self, width: usize, spared: &[&str]) -> (Self, Vec<String>) {
        let (mut table, mut left_out) = (self.clone(), Vec::new());
        if table.lines(usize::MAX, false).iter().all(|line| line.width() < width) {
            return (table, left_out);
        }
        // A name is not broken before others are left out.
        table.columns.iter_mut().take(1).for_each(|names| names.most = Some(WIDEST_NAME));
        for name in spared {
            if table.fitting(width.saturating_sub(1)).is_some() {
                break;
            }
            let gone = table.columns.iter().filter(|column| column.head == *name);
            left_out.extend(gone.map(|column| column.head.clone()));
            table = table.without(&[name]);
        }
        (table, left_out)
    }

    pub fn without(&self, heads: &[&str]) -> Self {
        let kept = (0..self.columns.len()).filter(|at| !heads.contains(&self.columns[*at].head.as_str()));
        self.of_columns(&kept.collect_vec())
    }

    /// Columns beyond `width` follow below, with the names of the rows again.
    pub fn page_lines(&self, width: usize) -> Vec<String> {
        let names = 0..self.names.min(self.columns.len());
        let widths =
            (0..self.columns.len()).map(|at| self.width_of(at, WIDEST_ON_PAGE) + GAP.len()).collect_vec();
        let first: usize = widths[names.clone()].iter().sum();
        let mut parts: Vec<(usize, Vec<usize>)> = vec![(first, names.clone().collect())];
        for (at, own) in widths.iter().enumerate().skip(names.end) {
            let is_full =
                |(used, part): &(usize, Vec<usize>)| used + own > width + GAP.len() && part.len() > names.end;
            if parts.last().is_some_and(is_full) {
                parts.push((first, names.clone().collect()));
            }
            if let Some((used, part)) = parts.last_mut() {
                *used += own;
                part.push(at);
            }
        }
        let lines = parts.iter().map(|(_, part)| self.of_columns(part).lines(WIDEST_ON_PAGE, true));
        lines.collect_vec().join(&[String::new()][..])
    }

    fn of_columns(&self, part: &[usize]) -> Self {
        let row = |row: &Vec<Cell>| {
            part.iter().map(|at| row.get(*at).cloned().unwrap_or(Cell::Text(String::new()))).collect()
        };
        let columns = part.iter().map(|at| self.columns[*at].clone()).collect();
        Self { columns, rows: self.rows.iter().map(row).collect(), names: self.names }
    }

    fn width_of(&self, at: usize, most: usize) -> usize {
        let column = &self.columns[at];
        let cells =
            self.rows.iter().filter_map(|row| row.get(at)).map(Cell::show).chain([column.head.clone()]);
        let lines = cells.flat_map(|text| wrapped(&text, column.widest(most)));
        lines.map(|line| line.width()).max().unwrap_or(0)
    }

    fn lines(&self, most: usize, has_rule: bool) -> Vec<String> {
        let wrap = |(index, column): (usize, &Column), row: Option<&Vec<Cell>>| {
            let text = match row {
                None => column.head.clone(),
                Some(row) => row.get(index).map(Cell::show).unwrap_or_default(),
            };
            wrapped(&text, column.widest(most))
        };
        let wrapped_row = |row| self.columns.iter().enumerate().map(|column| wrap(column, row)).collect_vec();
        let rows = std::iter::once(None).chain(self.rows.iter().map(Some)).map(wrapped_row).collect_vec();
        let width = |index: usize| rows.iter().flat_map(|row| &row[index]).map(|line| line.width()).max();
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| width(index).unwrap_or(0)).collect();
        let pad = |((text, column), width): ((&str, &Column), &usize)| {
            let blanks = " ".repeat(width.saturating_sub(text.width()));
            if column.is_of_numbers { blanks + text } else { text.to_owned() + &blanks }
        };
        let line = |texts: &mut dyn Iterator<Item = &str>| {
            let cells: Vec<String> = texts.zip(&self.columns).zip(&widths).map(pad).collect();
            cells.join(GAP).trim_end().to_owned()
        };
        let mut lines = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let height = row.iter().map(Vec::len).max().unwrap_or(0);
            let part = |at| line(&mut row.iter().map(|cell| cell.get(at).map_or("", String::as_str)));
            lines.extend((0..height).map(part));
            if at == 0 && has_rule {
                let rule = widths.iter().map(|width| "-".repeat(*width)).collect_vec();
                lines.push(line(&mut rule.iter().map(String::as_str)));
            }
        }
        lines
    }

    /// The greatest width of words with which all columns fit into `width`; `None` if they would be cut too short.
    fn fitting(&self, width: usize) -> Option<usize> {
        let (fixed, words): (Vec<usize>, Vec<usize>) =
            (0..self.columns.len()).partition(|at| self.columns[*at].widest(0) > 0);
        let widths = |places: Vec<usize>| places.into_iter().map(move |at| self.width_of(at, usize::MAX));
        let fixed = widths(fixed).sum::<usize>() + GAP.len() * self.columns.len().saturating_sub(1);
        let words: Vec<usize> = widths(words).collect();
        let widest = words.iter().copied().max().unwrap_or(0).max(LEAST_WORDS);
        let fits = |most: &usize| fixed + words.iter().map(|own| own.min(most)).sum::<usize>() <= width;
        (LEAST_WORDS..=widest).rev().find(fits)
    }

    /// RFC 4180 with line feeds.
    pub fn csv(&self) -> String {
        let heads = self.columns.iter().map(|column| csv_cell(column.name())).join(",");
        let row = |row: &Vec<Cell>| row.iter().map(|cell| csv_cell(&cell.plain())).join(",");
        std::iter::once(heads).chain(self.rows.iter().map(row)).map(|line| line + "\n").collect()
    }

    /// The form of `awr_info`: each cell ends with a pipe.
    pub fn pipes(&self) -> String {
        let cell = |text: &str| pipe_cell(text) + "|";
        let heads: String = self.columns.iter().map(|column| cell(&column.head)).collect();
        let row = |row: &Vec<Cell>| row.iter().map(|value| cell(&value.plain())).collect();
        std::iter::once(heads).chain(self.rows.iter().map(row)).map(|line: String| line + "\n").collect()
    }

    pub fn to_json(&self) -> Json {
        let object = |row: &Vec<Cell>| {
            let members =
                self.columns.iter().zip(row).map(|(column, cell)| (column.name().to_owned(), cell.json()));
            Json::Object(members.collect::<Map<_, _>>())
        };
        Json::Array(self.rows.iter().map(object).collect())
    }

    pub fn json(&self) -> String {
        format!("{:#}\n", self.to_json())
    }

    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let heads = line(self.columns.iter().map(|column| column.head.clone()).collect());
        let rule = line(self.columns.iter().map(|_| "---".to_owned()).collect());
        let row = |row: &Vec<Cell>| line(row.iter().map(|cell| cell.show().replace('|', "\\|")).collect());
        [heads, rule].into_iter().chain(self.rows.iter().map(row)).collect()
    }
}

pub fn csv_cell(text: &str) -> String {
    let text = without_formula(text);
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// The form has no quotes: a pipe becomes a slash.
fn pipe_cell(text: &str) -> String {
    without_formula(text).replace(['|', '\n', '\r'], "/")
}

/// Names come from others: a spreadsheet must not run them as formulas.
fn without_formula(text: &str) -> Cow<'_, str> {
    let begins_one = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins_one && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Cuts longer words, and keeps a number with its percent sign.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    let glued = text.replace(" %", "\u{a0}%");
    for word in glued.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let letters: Vec<char> = word.replace('\u{a0}', " ").chars().collect();
        for (index, piece) in letters.chunks(width).enumerate() {
            let blank = usize::from(index == 0 && used > 0);
            if index > 0 || used + blank + piece.len() > width {
                lines.push(String::new());
                used = 0;
            }
            let blank = if used > 0 { blank } else { 0 };
            if let Some(line) = lines.last_mut() {
                line.extend(std::iter::repeat_n(' ', blank).chain(piece.iter().copied()));
            }
            used += blank + piece.len();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_keep_left_and_numbers_right() {
        let mut table = Table::new([Column::left("Name"), Column::right("Count")]);
        table.row([Cell::from("a"), Cell::Count(1_000_000)]);
        table.row(["longer"]);
        assert_eq!(
            table.page_lines(100),
            ["Name        Count", "------  ---------", "a       1,000,000", "longer"]
        );
        assert_eq!(table.terminal(None), " Name        Count\n a       1,000,000\n longer\n");
    }

    #[test]
    fn long_cells_are_wrapped_in_their_column() {
        let mut table = Table::new([Column::left("A").at_most(5), Column::left("B")]);
        table.row(["one two", "x"]);
        assert_eq!(table.page_lines(100), ["A    B", "---  -", "one  x", "two"]);
        let terminal = Table::new([Column::left("Key"), Column::left("Meaning")])
            .with_rows([["a", "what it is, in more words than fit"]]);
        let lines = terminal.terminal(Some(24));
        assert!(lines.lines().all(|line| line.width() <= 24) && lines.contains("what it is"), "{lines}");
    }

    #[test]
    fn a_terminal_cuts_no_number_and_may_be_spared_columns() {
        let mut table = Table::new([
            Column::left("ID"),
            Column::left("TARGET"),
            Column::right("IOPS"),
            Column::left("VERDICTS"),
        ]);
        table.row([
            Cell::from("20261120"),
            Cell::from("db://host/base"),
            Cell::Count(1_000_000),
            Cell::from("all GOOD but one"),
        ]);
        let wide = |text: &str| text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
        let wrapped = table.terminal(Some(50));
        assert!(
            wide(&wrapped) <= 50 && wrapped.contains("1,000,000") && wrapped.lines().count() > 2,
            "{wrapped}"
        );
        let below = table.terminal(Some(30));
        assert!(wide(&below) <= 30 && below.matches("20261120").count() > 1, "{below}");
        let (narrow, left_out) = table.narrowed(40, &["NAME", "TARGET", "IOPS"]);
        assert_eq!((left_out, narrow.columns.len()), (vec!["TARGET".to_owned()], 3));
        assert!(wide(&narrow.terminal(Some(40))) <= 40);
        assert_eq!(table.narrowed(100, &["TARGET"]).1, Vec::<String>::new());
    }

    #[test]
    fn columns_beyond_the_page_follow_below_with_the_names_of_the_rows() {
        let heads = ["A", "Kind", "first", "second", "third"].map(Column::left);
        let table = Table::new(heads).with_rows([["a", "k", "1", "2", "3"]]).named_by(2);
        let expected = [
            "A  Kind  first  second",
            "-  ----  -----  ------",
            "a  k     1      2",
            "",
            "A  Kind  third",
            "-  ----  -----",
            "a  k     3",
        ];
        assert_eq!(table.page_lines(22), expected);
        assert_eq!(table.page_lines(100).len(), 3);
        // A column that fits nowhere is not lost.
        assert_eq!(table.page_lines(1).len(), 3 * 4 - 1);
    }

    #[test]
    fn absent_is_a_mark_for_people_empty_for_machines_and_null_in_json() {
        let mut table =
            Table::new([Column::left("NAME").named("name"), Column::right("P99").named("p99_us")]);
        table.row([Cell::from("a,b\"c|d"), Cell::Bound(512.0, Format::Micros)]);
        table.row([Cell::from("e"), Cell::Absent]);
        assert_eq!(table.terminal(None), " NAME        P99\n a,b\"c|d  <= 512\n e             -\n");
        assert_eq!(table.csv(), "name,p99_us\n\"a,b\"\"c|d\",512\ne,\n");
        assert_eq!(table.pipes(), "NAME|P99|\na,b\"c/d|512|\ne||\n");
        let json: Json = serde_json::from_str(&table.json()).unwrap();
        assert_eq!((&json[0]["p99_us"], &json[1]["p99_us"]), (&json!(512.0), &Json::Null));
        assert!(table.markdown().ends_with("| a,b\"c\\|d | <= 512 |\n| e | - |\n"));
    }

    #[test]
    fn names_are_no_formulas() {
        assert_eq!(csv_cell("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
        assert_eq!(pipe_cell("@SUM(a|b)"), "'@SUM(a/b)");
        for text in ["-12.5", "+3", "-1e-3", "db file sequential read", "a-b", "", "1"] {
            assert_eq!((csv_cell(text), pipe_cell(text)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn words_fill_lines_and_long_ones_are_cut() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("about 99.7 % of it", 10), ["about", "99.7 % of", "it"]);
        assert_eq!(wrapped("abc", 0), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn wrapping_loses_no_letter_and_keeps_the_width(text in "[a-zé ]{0,200}", width in 1_usize..30) {
            let lines = wrapped(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
