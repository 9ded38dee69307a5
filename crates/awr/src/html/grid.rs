//! A table's cells, with headings over several columns and rows.

use crate::table::{Head, Row, Table};

/// No table has more.
const COLUMNS: usize = 100;

/// Rows as they come; headings first.
#[derive(Default)]
pub(super) struct Grid {
    heading: Vec<Vec<Cell>>,
    rows: Vec<Row>,
    cells: Vec<Cell>,
    line: usize,
    open: Option<Cell>,
    bytes: usize,
    /// Whether rows were left out, for there were too many.
    pub(super) is_cut: bool,
}

/// A larger table is a damaged one, or one of texts: its beginning will do.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// A cell.
#[derive(Clone, Default)]
pub(super) struct Cell {
    is_head: bool,
    columns: usize,
    rows: usize,
    text: String,
}

impl Cell {
    pub(super) fn new(is_head: bool, (columns, rows): (usize, usize)) -> Self {
        Self { is_head, columns, rows, text: String::new() }
    }
}

impl Grid {
    pub(super) fn row(&mut self, line: usize) {
        self.end_row();
        self.line = line;
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        self.end_cell();
        self.open = Some(cell);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            self.is_cut = true;
            return;
        }
        if let Some(cell) = &mut self.open {
            cell.text.push_str(text);
        }
    }

    pub(super) fn end_cell(&mut self) {
        if let Some(mut cell) = self.open.take()
            && self.cells.len() < COLUMNS
        {
            cell.text = cell.text.trim().to_owned();
            self.cells.push(cell);
        }
    }

    pub(super) fn end_row(&mut self) {
        self.end_cell();
        let cells = std::mem::take(&mut self.cells);
        if cells.is_empty() || self.is_cut {
            return;
        }
        let is_heading = cells.iter().any(|cell| cell.is_head)
            && cells.iter().all(|cell| cell.is_head || cell.text.is_empty());
        if !is_heading {
            let cells = cells.into_iter().map(|cell| cell.text).collect();
            self.rows.push(Row { line: self.line, cells });
        } else if self.rows.is_empty() && self.heading.len() < 8 {
            self.heading.push(cells);
        }
    }

    pub(super) fn table(mut self, title: &str) -> Table {
        self.end_row();
        Table { title: title.to_owned(), heads: heads(&self.heading), rows: self.rows }
    }
}

/// The headings of the lowest row, each with those above it.
fn heads(rows: &[Vec<Cell>]) -> Vec<Head> {
    let mut grid: Vec<Vec<Option<&str>>> = vec![Vec::new(); rows.len()];
    for (at, row) in rows.iter().enumerate() {
        let mut column = 0;
        for cell in row {
            while grid[at].get(column).is_some_and(Option::is_some) {
                column += 1;
            }
            for below in grid.iter_mut().skip(at).take(cell.rows) {
                let end = (column + cell.columns).min(COLUMNS);
                if below.len() < end {
                    below.resize(end, None);
                }
                below[column.min(end)..end].fill(Some(&cell.text));
            }
            column = (column + cell.columns).min(COLUMNS);
        }
    }
    let Some((lowest, above)) = grid.split_last() else { return Vec::new() };
    let head = |(column, name): (usize, &Option<&str>)| {
        let name = name.unwrap_or_default();
        let over =
            above.iter().filter_map(|row| row.get(column).copied().flatten()).filter(|over| *over != name);
        Head::of(&over.collect::<String>(), name)
    };
    lowest.iter().enumerate().map(head).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, columns: usize, rows: usize) -> Cell {
        Cell { is_head: true, columns, rows, text: text.into() }
    }

    #[test]
    fn headings_over_several_columns_are_their_group() {
        let rows = [
            vec![cell("Event", 1, 2), cell("% of DB time", 2, 1)],
            vec![cell("1st", 1, 1), cell("2nd", 1, 1)],
        ];
        assert_eq!(
            heads(&rows),
            [Head::of("", "Event"), Head::of("% of DB time", "1st"), Head::of("% of DB time", "2nd")]
        );
        let blanks = [
            vec![cell("", 1, 1), cell("", 1, 1), cell("% of Waits", 1, 1)],
            vec![cell("Event", 1, 1), cell("Total", 1, 1), cell("<1ms", 1, 1)],
        ];
        assert_eq!(heads(&blanks)[2], Head::of("% of Waits", "<1ms"));
    }
}
