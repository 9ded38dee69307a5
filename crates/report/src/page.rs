//! A page as blocks, and its text. HTML shows the same blocks.

use slob_facts::table::wrapped;

pub(crate) use slob_facts::table::{Column, Table};

pub(crate) const WIDTH: usize = 100;
const FACT_INDENT: usize = 15;

#[derive(Clone, Debug)]
pub(crate) enum Block {
    Section(String),
    Line(String),
    Rule(char),
    Fact(String, String),
    Hanging(String, String),
    Paragraph(String),
    Table(Table),
}

#[derive(Clone, Debug, Default)]
pub struct Page {
    pub(crate) blocks: Vec<Block>,
}

impl Page {
    pub(crate) fn section(&mut self, title: &str) {
        self.blocks.push(Block::Section(title.to_owned()));
    }

    pub(crate) fn table_under(&mut self, title: &str, table: &Table) {
        if !table.is_empty() {
            self.section(title);
            self.table(table);
        }
    }

    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = impl AsRef<str>>) {
        items.into_iter().for_each(|item| self.hanging("  -", item.as_ref()));
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.blocks.push(Block::Line(line.to_owned()));
    }

    pub(crate) fn rule(&mut self, character: char) {
        self.blocks.push(Block::Rule(character));
    }

    /// Long values go on below themselves.
    pub(crate) fn fact(&mut self, name: &str, value: &str) {
        self.blocks.push(Block::Fact(name.to_owned(), value.to_owned()));
    }

    /// Further lines are indented as far as `head` is long.
    pub(crate) fn hanging(&mut self, head: &str, text: &str) {
        self.blocks.push(Block::Hanging(head.to_owned(), text.to_owned()));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.blocks.push(Block::Paragraph(text.to_owned()));
    }

    pub(crate) fn table(&mut self, table: &Table) {
        self.blocks.push(Block::Table(table.clone()));
    }

    pub(crate) fn into_markdown(self) -> String {
        let block = |block: &Block| match block {
            Block::Section(title) => format!("## {title}\n\n"),
            Block::Line(_) | Block::Rule(_) => String::new(),
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

    pub(crate) fn into_text(self) -> String {
        let mut text = Text::default();
        self.blocks.iter().for_each(|block| text.block(block));
        text.text
    }
}

#[derive(Debug, Default)]
struct Text {
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
            Block::Rule(character) => self.line(&character.to_string().repeat(WIDTH)),
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
                table.page_lines(WIDTH - 2).iter().for_each(|line| self.line(&format!("  {line}")));
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
        for (index, line) in wrapped(text, WIDTH.saturating_sub(indent)).iter().enumerate() {
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
    fn long_values_hang() {
        let mut page = Page::default();
        page.fact("Name", &"word ".repeat(30));
        let text = page.into_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("Name           word") && lines[1].starts_with("               word"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
    }
}
