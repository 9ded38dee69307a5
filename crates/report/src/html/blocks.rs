//! The sections of the text report as HTML.

use super::escape;
use crate::page::{Block, Table};

/// Blocks as HTML. Headings become those of subsections; rules and bare lines are for text only.
pub(crate) fn html(blocks: &[Block]) -> String {
    let mut html = String::new();
    let mut open = Group::None;
    for block in blocks {
        let next = Group::of(block);
        if next != open {
            html.push_str(open.close());
            html.push_str(next.open());
            open = next;
        }
        html.push_str(&one(block));
    }
    html + open.close()
}

/// Blocks that follow each other within one element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    None,
    Facts,
    List,
}

impl Group {
    fn of(block: &Block) -> Self {
        match block {
            Block::Fact(..) => Self::Facts,
            Block::Hanging(..) => Self::List,
            _ => Self::None,
        }
    }

    fn open(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Facts => "<dl class=\"facts\">\n",
            Self::List => "<ul>\n",
        }
    }

    fn close(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Facts => "</dl>\n",
            Self::List => "</ul>\n",
        }
    }
}

fn one(block: &Block) -> String {
    match block {
        Block::Section(title) => format!("<h3>{}</h3>\n", escape::prose(title)),
        Block::Fact(name, value) => {
            format!("<dt>{}</dt><dd>{}</dd>\n", escape::text(name), escape::text(value))
        }
        Block::Hanging(_, text) => format!("<li>{}</li>\n", escape::prose(text)),
        Block::Paragraph(text) => format!("<p class=\"note\">{}</p>\n", escape::prose(text)),
        Block::Table(table) => self::table(table),
        Block::Line(_) | Block::Rule(_) => String::new(),
    }
}

/// A table that scrolls sideways where there is no room for it, with a button that copies it.
fn table(table: &Table) -> String {
    let sides: Vec<&str> =
        table.heads().map(|(_, number)| if number { " class=\"n\"" } else { "" }).collect();
    let cells = |tag: &str, texts: &mut dyn Iterator<Item = &str>| {
        let cells = sides
            .iter()
            .zip(texts)
            .map(|(side, text)| format!("<{tag}{side}>{}</{tag}>", escape::prose(text)));
        cells.collect::<String>()
    };
    let head = cells("th", &mut table.heads().map(|(title, _)| title));
    let empty = "";
    let rows: String = table
        .rows()
        .iter()
        .map(|row| {
            let all = row.iter().map(String::as_str).chain(std::iter::repeat(empty));
            format!("<tr>{}</tr>\n", cells("td", &mut all.into_iter()))
        })
        .collect();
    framed(&head, &rows)
}

/// A table's rows in their frame.
pub(crate) fn framed(head: &str, rows: &str) -> String {
    format!(
        "<div class=\"table\"><button type=\"button\" class=\"copy\" title=\"Copy the table, for a spreadsheet\">Copy\
         </button><div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\
         </div></div>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Column, Page};

    #[test]
    fn tables_keep_their_numbers_to_the_right() {
        let mut page = Page::new();
        page.section("Operation latency (us)");
        let mut table = Table::new([Column::left("Kind"), Column::right("Count")]);
        table.row(["SELECT".into(), "18,000".into()]);
        page.table(&table);
        let html = html(&page.into_blocks());
        assert!(html.contains("<h3>Operation latency (µs)</h3>"), "{html}");
        assert!(html.contains("<td>SELECT</td><td class=\"n\">18,000</td>"), "{html}");
    }

    #[test]
    fn facts_are_one_list() {
        let mut page = Page::new();
        page.fact("Run", "a");
        page.fact("Seed", "1");
        let html = html(&page.into_blocks());
        assert_eq!((html.matches("<dl").count(), html.matches("</dl>").count()), (1, 1));
        assert!(html.contains("<dt>Seed</dt>"), "{html}");
    }
}
