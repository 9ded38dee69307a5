//! Tables of aligned columns.

use super::wrap::wrapped;

/// Blanks between columns.
const GAP: usize = 2;

/// Which side of a column its cells keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// A column's head, side and greatest width.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    title: String,
    side: Side,
    most: usize,
}

impl Column {
    /// A column of words.
    pub(crate) fn left(title: &str) -> Self {
        Self { title: title.to_owned(), side: Side::Left, most: 60 }
    }

    /// A column of numbers.
    pub(crate) fn right(title: &str) -> Self {
        Self { side: Side::Right, ..Self::left(title) }
    }

    /// The same column, whose longer cells are wrapped to that width.
    pub(crate) fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }
}

/// A table: heads, a rule, rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. Cells that are missing stay empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The heads of the columns, each with whether its cells are numbers.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (&str, bool)> {
        self.columns.iter().map(|column| (column.title.as_str(), column.side == Side::Right))
    }

    /// The cells of each row; those that are missing are empty.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The lines of the table.
    pub(crate) fn lines(&self) -> Vec<String> {
        let heads: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let head = self.cells(&heads);
        let rows: Vec<Vec<Vec<String>>> = self.rows.iter().map(|row| self.cells(row)).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|index| {
                let cells = rows.iter().chain([&head]).flat_map(|row| &row[index]);
                cells.map(|line| line.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let rule: Vec<Vec<String>> = widths.iter().map(|width| vec!["-".repeat(*width)]).collect();
        [&head, &rule].into_iter().chain(&rows).flat_map(|row| self.row_lines(row, &widths)).collect()
    }

    /// The cells of a row, each wrapped to its column's greatest width.
    fn cells(&self, row: &[String]) -> Vec<Vec<String>> {
        let cell = |(index, column): (usize, &Column)| {
            row.get(index).map_or_else(|| vec![String::new()], |text| wrapped(text, column.most))
        };
        self.columns.iter().enumerate().map(cell).collect()
    }

    fn row_lines(&self, row: &[Vec<String>], widths: &[usize]) -> Vec<String> {
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let cells = row.iter().zip(widths).zip(&self.columns).map(|((cell, width), column)| {
                let text = cell.get(at).map_or("", String::as_str);
                match column.side {
                    Side::Left => format!("{text:<width$}"),
                    Side::Right => format!("{text:>width$}"),
                }
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_left_and_numbers_right() {
        let mut table = Table::new([Column::left("Name"), Column::right("Count")]);
        table.row(["a".into(), "1,000,000".into()]);
        table.row(["longer".into()]);
        assert!(!table.is_empty());
        assert_eq!(table.lines(), ["Name        Count", "------  ---------", "a       1,000,000", "longer"]);
    }

    #[test]
    fn long_cells_are_wrapped_in_their_column() {
        let mut table = Table::new([Column::left("A").at_most(5), Column::left("B")]);
        table.row(["one two".into(), "x".into()]);
        assert_eq!(table.lines(), ["A    B", "---  -", "one  x", "two"]);
    }
}
