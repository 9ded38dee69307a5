//! Tables for a terminal: no borders, words to the left, numbers to the right.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A column: its head, and which side its cells keep to.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    head: String,
    side: CellAlignment,
}

impl Column {
    /// Of words.
    pub(crate) fn left(head: impl Into<String>) -> Self {
        Self { head: head.into(), side: CellAlignment::Left }
    }

    /// Of numbers.
    pub(crate) fn right(head: impl Into<String>) -> Self {
        Self { head: head.into(), side: CellAlignment::Right }
    }
}

/// The lines of a table, each as long as its cells are.
pub(crate) fn table(
    columns: impl IntoIterator<Item = Column>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    lines(ContentArrangement::Disabled, columns, rows)
}

/// The same, with long cells wrapped at the width of the terminal.
pub(crate) fn wrapped_table(
    columns: impl IntoIterator<Item = Column>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    lines(ContentArrangement::Dynamic, columns, rows)
}

fn lines(
    arrangement: ContentArrangement,
    columns: impl IntoIterator<Item = Column>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let (heads, sides): (Vec<String>, Vec<CellAlignment>) =
        columns.into_iter().map(|column| (column.head, column.side)).unzip();
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(arrangement).set_header(heads);
    table.add_rows(rows);
    for (column, side) in table.column_iter_mut().zip(sides) {
        column.set_cell_alignment(side);
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
