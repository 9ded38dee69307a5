//! A page as data: what it says, apart from how it is shown; and the page as text.

mod table;
mod wrap;

use self::wrap::wrapped;

pub(crate) use self::table::{Column, Table};

/// Columns of a page.
pub(crate) const WIDTH: usize = 100;
/// Where the values of facts begin.
const FACT_INDENT: usize = 15;

/// A piece of a page.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// A heading.
    Section(String),
    /// A line as it is.
    Line(String),
    /// A rule over the whole width.
    Rule(char),
    /// A name and what it stands for.
    Fact(String, String),
    /// A paragraph with what its first line begins with.
    Hanging(String, String),
    /// A sentence or more.
    Paragraph(String),
    /// A table.
    Table(Table),
}

/// A page that grows downwards. What it says is kept apart from how it is shown, so that text and HTML show the same.
#[derive(Debug, Default)]
pub(crate) struct Page {
    blocks: Vec<Block>,
}

impl Page {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A heading.
    pub(crate) fn section(&mut self, title: &str) {
        self.blocks.push(Block::Section(title.to_owned()));
    }

    /// One line as it is, without blanks at its end.
    pub(crate) fn line(&mut self, line: &str) {
        self.blocks.push(Block::Line(line.to_owned()));
    }

    /// A rule over the whole width.
    pub(crate) fn rule(&mut self, character: char) {
        self.blocks.push(Block::Rule(character));
    }

    /// A name and what it stands for; long values go on below themselves.
    pub(crate) fn fact(&mut self, name: &str, value: &str) {
        self.blocks.push(Block::Fact(name.to_owned(), value.to_owned()));
    }

    /// A paragraph whose first line begins with `head`, and whose other lines are indented as far.
    pub(crate) fn hanging(&mut self, head: &str, text: &str) {
        self.blocks.push(Block::Hanging(head.to_owned(), text.to_owned()));
    }

    /// A sentence or more.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.blocks.push(Block::Paragraph(text.to_owned()));
    }

    /// A table.
    pub(crate) fn table(&mut self, table: &Table) {
        self.blocks.push(Block::Table(table.clone()));
    }

    pub(crate) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// What a section writes of a record, as text.
    #[cfg(test)]
    pub(crate) fn text_by(
        write: fn(&mut Self, &slob_record::Record),
        record: &slob_record::Record,
    ) -> String {
        let mut page = Self::new();
        write(&mut page, record);
        page.into_text()
    }

    /// The page as text of [`WIDTH`] columns.
    pub(crate) fn into_text(self) -> String {
        let mut typed = Typed::default();
        self.blocks.iter().for_each(|block| typed.block(block));
        typed.text
    }
}

/// A page as it is typed.
#[derive(Debug, Default)]
struct Typed {
    text: String,
    /// Whether the last thing written was a table: what is said about it keeps a distance.
    after_table: bool,
}

impl Typed {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Section(title) => self.section(title),
            Block::Line(line) => self.line(line),
            Block::Rule(character) => self.line(&character.to_string().repeat(WIDTH)),
            Block::Fact(name, value) => {
                self.hanging(&format!("{name:<width$}", width = FACT_INDENT - 1), value);
            }
            Block::Hanging(head, text) => self.hanging(head, text),
            Block::Paragraph(text) => self.paragraph(text),
            Block::Table(table) => self.table(table),
        }
    }

    /// A heading with its underline, and an empty line above.
    fn section(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.line("");
        }
        self.line(title);
        self.line(&"~".repeat(title.chars().count()));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
        self.after_table = false;
    }

    fn hanging(&mut self, head: &str, text: &str) {
        let indent = head.chars().count() + 1;
        let lines = wrapped(text, WIDTH.saturating_sub(indent));
        for (index, line) in lines.iter().enumerate() {
            let head = if index == 0 { head } else { "" };
            self.line(&format!("{head:<indent$}{line}"));
        }
    }

    /// Indented by two; after a table with an empty line above.
    fn paragraph(&mut self, text: &str) {
        if self.after_table {
            self.line("");
        }
        self.hanging(" ", text);
    }

    /// Indented by two.
    fn table(&mut self, table: &Table) {
        for line in table.lines() {
            self.line(&format!("  {line}"));
        }
        self.after_table = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_hang() {
        let mut page = Page::new();
        page.fact("Name", &"word ".repeat(30));
        let text = page.into_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("Name           word") && lines[1].starts_with("               word"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
    }
}
