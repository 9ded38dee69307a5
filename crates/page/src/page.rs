//! A page as blocks, and its text. HTML shows the same blocks.

use slob_facts::table::wrapped;

pub use slob_facts::table::{Column, ColumnOf, Table};

/// Columns of files and pipes, which do not depend on a terminal.
pub const WIDTH: usize = 100;
/// Narrower lines break words and numbers.
const LEAST_WIDTH: usize = 60;
const FACT_INDENT: usize = 15;

/// The width of a text on a terminal of so many columns, if it is less than that of files.
pub fn narrow(columns: Option<usize>) -> Option<usize> {
    columns.filter(|columns| *columns < WIDTH).map(|columns| columns.max(LEAST_WIDTH))
}

#[derive(Clone, Debug)]
pub enum Block {
    Section(String),
    Line(String),
    Ends(String, String),
    Rule(char),
    Fact(String, String),
    Hanging(String, String),
    Paragraph(String),
    Table(Table),
}

#[derive(Clone, Debug, Default)]
pub struct Page {
    pub blocks: Vec<Block>,
}

impl Page {
    pub fn section(&mut self, title: &str) {
        self.blocks.push(Block::Section(title.to_owned()));
    }

    pub fn table_under(&mut self, title: &str, table: &Table) {
        if !table.is_empty() {
            self.section(title);
            self.table(table);
        }
    }

    pub fn list(&mut self, items: impl IntoIterator<Item = impl AsRef<str>>) {
        items.into_iter().for_each(|item| self.hanging("  -", item.as_ref()));
    }

    pub fn line(&mut self, line: &str) {
        self.blocks.push(Block::Line(line.to_owned()));
    }

    pub fn ends(&mut self, left: &str, right: &str) {
        self.blocks.push(Block::Ends(left.to_owned(), right.to_owned()));
    }

    pub fn rule(&mut self, character: char) {
        self.blocks.push(Block::Rule(character));
    }

    /// Long values go on below themselves.
    pub fn fact(&mut self, name: &str, value: &str) {
        self.blocks.push(Block::Fact(name.to_owned(), value.to_owned()));
    }

    /// Further lines are indented as far as `head` is long.
    pub fn hanging(&mut self, head: &str, text: &str) {
        self.blocks.push(Block::Hanging(head.to_owned(), text.to_owned()));
    }

    pub fn paragraph(&mut self, text: &str) {
        self.blocks.push(Block::Paragraph(text.to_owned()));
    }

    /// Nothing without a row.
    pub fn table(&mut self, table: &Table) {
        self.blocks.extend((!table.is_empty()).then(|| Block::Table(table.clone())));
    }

    pub fn into_markdown(self) -> String {
        let block = |block: &Block| match block {
            Block::Section(title) => format!("## {title}\n\n"),
            Block::Line(_) | Block::Ends(..) | Block::Rule(_) => String::new(),
            Block::Fact(name, value) if name.trim().is_empty() => format!("- {value}\n"),
            Block::Fact(name, value) => format!("- **{name}**: {value}\n"),
            Block::Hanging(head, text) if head.trim().len() > 1 => format!("- {} {text}\n", head.trim()),
            Block::Hanging(_, text) => format!("- {text}\n"),
            Block::Paragraph(text) => format!("{text}\n\n"),
            Block::Table(table) => table.markdown() + "\n",
        };
        let is_item = |block: &Block| matches!(block, Block::Fact(..) | Block::Hanging(..));
        let parts = self.blocks.chunk_by(|a, b| is_item(a) == is_item(b));
        let part = |part: &[Block]| {
            let end = if is_item(&part[0]) { "\n" } else { "" };
            part.iter().map(block).collect::<String>() + end
        };
        parts.map(part).collect::<String>().trim_end().to_owned() + "\n"
    }

    /// For a terminal of so many columns, or for files and pipes.
    pub fn into_text(self, columns: Option<usize>) -> String {
        let width = narrow(columns).unwrap_or(WIDTH);
        let mut text = Text { width, text: String::new(), after_table: false };
        self.blocks.iter().for_each(|block| text.block(block));
        text.text
    }
}

#[derive(Debug)]
struct Text {
    width: usize,
    text: String,
    /// A paragraph keeps a distance from a table.
    after_table: bool,
}

impl Text {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Section(title) => {
                if !self.text.is_empty() {
                    self.line("");
                }
                self.line(title);
                self.line(&"~".repeat(title.chars().count()));
            }
            Block::Line(line) => self.line(line),
            Block::Ends(left, right) => {
                self.line(&format!("{left}{right:>width$}", width = self.width.saturating_sub(left.len())));
            }
            Block::Rule(character) => self.line(&character.to_string().repeat(self.width)),
            Block::Fact(name, value) => {
                self.hanging(&format!("{name:<width$}", width = FACT_INDENT - 1), value);
            }
            Block::Hanging(head, text) => self.hanging(head, text),
            Block::Paragraph(text) => {
                if self.after_table {
                    self.line("");
                }
                self.hanging(" ", text);
            }
            Block::Table(table) => {
                table.page_lines(self.width - 2).iter().for_each(|line| self.line(&format!("  {line}")));
                self.after_table = true;
            }
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
        self.after_table = false;
    }

    fn hanging(&mut self, head: &str, text: &str) {
        let indent = head.chars().count() + 1;
        for (index, line) in wrapped(text, self.width.saturating_sub(indent)).iter().enumerate() {
            let head = if index == 0 { head } else { "" };
            self.line(&format!("{head:<indent$}{line}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_lists_and_tables() {
        let mut page = Page::default();
        page.section("In short");
        page.fact("First", "a");
        page.hanging("  -", "b");
        page.hanging("device:", "d");
        page.paragraph("c");
        page.table(&Table::new([Column::left("A")]).with_rows([["x|y"]]));
        assert_eq!(
            page.into_markdown(),
            "## In short\n\n- **First**: a\n- b\n- device: d\n\nc\n\n| A |\n| --- |\n| x\\|y |\n"
        );
    }

    #[test]
    fn a_page_fits_into_a_narrow_terminal() {
        let mut page = Page::default();
        page.ends("LEFT", "right");
        page.rule('=');
        page.paragraph(&"word ".repeat(30));
        page.table(&Table::new(["A", "B", "C"].map(Column::right)).with_rows([[
            "1".repeat(30),
            "2".repeat(30),
            "3".repeat(30),
        ]]));
        for width in [100, 80, 72] {
            let text = page.clone().into_text(Some(width));
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert_eq!(widest, Some(width), "{text}");
            assert!(text.starts_with("LEFT ") && text.lines().next().unwrap().ends_with("right"));
        }
    }

    #[test]
    fn long_values_hang() {
        let mut page = Page::default();
        page.fact("Name", &"word ".repeat(30));
        let text = page.into_text(None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("Name           word") && lines[1].starts_with("               word"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
    }
}
